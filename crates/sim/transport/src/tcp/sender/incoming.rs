//! What acknowledgements and the retransmission timer say.

use super::{Sender, SenderState};
use crate::tcp::receiver::stamp;
use crate::tcp::segment::Segment;
use crate::tcp::timer::TcpEvent;
use guestright_congestion::{Ack, Controller, Duplicate, Flight, Progress, RecoveryKind};
use guestright_engine::{Agenda, Instant, Nanos};
use guestright_units::Micros;

impl<C: Controller> Sender<C> {
    /// The SYN is acknowledged.
    pub(super) fn open(&mut self, segment: &Segment, agenda: &mut impl Agenda<TcpEvent>) {
        self.state = SenderState::Open;
        self.window = segment.window.into();
        self.retransmission.stop();
        if self.retries > 0 {
            if !self.settings.syn_packet {
                self.timeout.on_late_open();
            }
            self.controller.on_late_open();
        } else if let Some((_, at)) = self.timed {
            self.timeout.on_acknowledged(at.time(), agenda.now().time());
        }
        self.retries = 0;
        self.timed = None;
        // No SYN of an earlier attempt.
        self.retransmit = false;
        if self.settings.idle_timer {
            self.restart_timer(agenda);
        }
    }

    /// An acknowledgement has come while the connection is open.
    pub(super) fn hear(&mut self, segment: &Segment, agenda: &mut impl Agenda<TcpEvent>) {
        self.burst = self.recovery.burst().unwrap_or(u32::MAX);
        if segment.ack < self.acknowledged {
            return;
        }
        if segment.flags.echo {
            self.hear_mark(segment, agenda.now());
        }
        let sacked = if self.settings.recovery.kind == RecoveryKind::Sack {
            self.history.take_blocks(segment)
        } else {
            0
        };
        if segment.ack > self.acknowledged {
            self.progress(segment, sacked, agenda);
        } else if self.is_duplicate(segment, sacked) {
            self.duplicate(sacked, agenda);
        }
        self.window = segment.window.into();
        self.burst = if self.extra > 0 { 1 } else { self.recovery.burst().unwrap_or(u32::MAX) };
    }

    fn is_duplicate(&self, segment: &Segment, sacked: u64) -> bool {
        let plain = segment.len == 0
            && !segment.flags.syn
            && u64::from(segment.window) == self.window
            && (self.fresh > self.acknowledged || self.settings.idle_timer);
        // With selective acknowledgements, those that bring news of what has arrived (RFC 6675, section 2).
        plain && (self.settings.recovery.kind != RecoveryKind::Sack || sacked > 0)
    }

    /// A mark of congestion is answered once for each window (RFC 3168, section 6.1.2).
    fn hear_mark(&mut self, segment: &Segment, now: Instant) {
        let answered = self.marked_at.is_some_and(|at| segment.ack <= at);
        if !self.settings.ecn || answered || self.recovery.is_active() {
            return;
        }
        self.stats.marks += 1;
        self.marked_at = Some(self.fresh);
        self.tell_reduced = true;
        let flight = self.flight(now);
        self.controller.on_mark(&flight);
    }

    fn progress(&mut self, segment: &Segment, sacked: u64, agenda: &mut impl Agenda<TcpEvent>) {
        let now = agenda.now();
        let mut ack = self.acknowledge(segment, sacked, now);
        let kind = self.settings.recovery.kind;
        match self.recovery.on_ack(ack.acknowledged, ack.bytes) {
            Progress::Open => self.controller.on_ack(&ack),
            Progress::Recovered => self.controller.on_recovered(&ack),
            Progress::Partial { restart_timer } => {
                ack.deflated = self.recovery.deflated();
                self.controller.on_recovery_ack(&ack);
                if kind == RecoveryKind::Sack {
                    self.history.find_lost(self.acknowledged, self.settings.recovery.segment);
                } else {
                    self.retransmit = true;
                }
                if !self.settings.recovery.dupwnd {
                    self.timed = None;
                }
                if !restart_timer {
                    return;
                }
            }
        }
        if self.fresh > self.acknowledged || self.settings.idle_timer {
            self.restart_timer(agenda);
        } else {
            self.retransmission.stop();
        }
        if self.recovery.is_worried() {
            let overdue = self.is_overdue(now);
            if self.recovery.on_worried_ack(overdue) {
                self.retransmit = true;
                self.timed = self.timed.filter(|_| kind == RecoveryKind::Vegas);
            }
        }
        if self.closed && self.acknowledged > self.written {
            self.state = SenderState::Finished;
            self.finished_at = Some(now);
        }
    }

    fn acknowledge(&mut self, segment: &Segment, sacked: u64, now: Instant) -> Ack {
        let bytes = segment.ack - self.acknowledged;
        let full = u64::from(self.settings.recovery.segment);
        let window_limited = self.next - self.acknowledged + full > self.controller.window();
        let taken = self.history.acknowledge(self.acknowledged, segment.ack);
        self.acknowledged = segment.ack;
        self.next = self.next.max(segment.ack);
        self.retransmit = false;
        // What was sent before a timeout may have waited for what was sent again. One that goes back is told by `is_past`.
        let waited = self.retries > 0 && !self.controller.goes_back();
        self.retries = 0;
        self.stats.acknowledgements += 1;
        self.time_round_trip(segment, now);
        // What comes out of a recovery, or was sent before a timeout, may have waited for what was lost before it.
        let straight = self.settings.recovery.kind == RecoveryKind::Vegas
            || !self.recovery.is_active() && self.recovery.is_past(segment.ack) && !waited;
        let round_trip = match taken.last {
            _ if self.settings.timestamps => Some(self.since_stamp(segment, now)),
            Some((sent_at, 1)) if straight => Some(Micros(now.since(sent_at).0 / 1_000)),
            _ => None,
        };
        let rate =
            self.meter.as_mut().and_then(|meter| meter.deliver(segment.ack, taken.fresh_bytes + sacked, now));
        Ack {
            now: now.time(),
            bytes,
            acknowledged: segment.ack,
            next: self.next,
            in_flight: self.on_its_way(),
            round_trip,
            window_limited,
            segments: taken.segments,
            rate,
            wave: segment.report.map(super::super::segment::Report::read),
            marked: if segment.flags.echo { bytes } else { 0 },
            deflated: 0,
        }
    }

    /// A round-trip time for the timeout.
    fn time_round_trip(&mut self, segment: &Segment, now: Instant) {
        if self.settings.timestamps {
            self.timeout.on_round_trip(self.since_stamp(segment, now));
        } else if let Some((_, at)) = self.timed.take_if(|(end, _)| *end <= segment.ack) {
            self.timeout.on_acknowledged(at.time(), now.time());
        }
    }

    /// Of the very segment that was sent, so also good if it was sent twice (RFC 7323, section 4.1).
    fn since_stamp(&self, segment: &Segment, now: Instant) -> Micros {
        Micros(stamp(now).wrapping_sub(segment.echo).into())
    }

    fn duplicate(&mut self, sacked: u64, agenda: &mut impl Agenda<TcpEvent>) {
        let now = agenda.now();
        self.stats.duplicates += 1;
        let mut flight = self.flight(now);
        flight.duplicates = self.recovery.duplicates().saturating_add(1);
        let kind = self.settings.recovery.kind;
        if let Some(meter) = &mut self.meter
            && sacked > 0
        {
            meter.deliver(self.acknowledged, sacked, now);
        }
        let (at, fresh) = (self.acknowledged, self.fresh);
        let outcome = match kind {
            RecoveryKind::Vegas => {
                let segment = u64::from(self.settings.recovery.segment);
                let on_its_way = u32::try_from((self.next - at) / segment + 1).unwrap_or(u32::MAX);
                let overdue = self.is_overdue(now);
                self.recovery.on_vegas_duplicate(at, fresh, overdue, on_its_way)
            }
            RecoveryKind::Sack if self.history.find_lost(at, self.settings.recovery.segment) => {
                self.recovery.on_overdue(at, fresh)
            }
            RecoveryKind::Reno | RecoveryKind::NewReno
                if !self.settings.recovery.dupwnd && self.is_overdue(now) =>
            {
                self.recovery.on_overdue(at, fresh)
            }
            RecoveryKind::Reno | RecoveryKind::NewReno | RecoveryKind::Sack => {
                self.recovery.on_duplicate(at, fresh)
            }
        };
        match outcome {
            Duplicate::Ignore => {}
            Duplicate::Nothing => self.controller.on_duplicate_ack(&flight),
            Duplicate::SendOne => {
                self.controller.on_duplicate_ack(&flight);
                self.extra = u64::from(flight.duplicates) * u64::from(self.settings.recovery.segment);
            }
            Duplicate::Loss => self.lose(&flight, agenda),
        }
    }

    /// A segment is lost, and is sent again.
    fn lose(&mut self, flight: &Flight, agenda: &mut impl Agenda<TcpEvent>) {
        self.stats.losses += 1;
        self.controller.on_loss(flight);
        self.timed = None;
        match self.settings.recovery.kind {
            RecoveryKind::Sack => self.history.lose_first(),
            RecoveryKind::Vegas => {
                // So does ns-2: its Vegas takes the coarse timeout's default.
                self.timeout.on_timeout();
                self.retransmit = true;
                if flight.transmissions == 1 {
                    self.recovery.on_vegas_resent();
                }
            }
            RecoveryKind::Reno | RecoveryKind::NewReno => {
                self.retransmit = self.fresh > self.acknowledged;
            }
        }
        self.restart_timer(agenda);
    }

    /// Whether the first segment that is not acknowledged is older than the fine-grained timeout.
    fn is_overdue(&self, now: Instant) -> bool {
        let Some(timeout) = self.controller.fine_timeout() else { return false };
        let timeout = Nanos::from_micros(timeout.0);
        let sent = self.fresh > self.acknowledged;
        if !sent && !self.settings.unsent_expires {
            return false;
        }
        match self.history.first(self.acknowledged) {
            Some((sent_at, _)) => now.since(sent_at) >= timeout,
            // As ns-2 has it, where it was sent a second before the first segment.
            None => now.since(self.started_at) + Nanos::from_seconds(1) >= timeout,
        }
    }

    /// The retransmission timer went off.
    pub(super) fn time_out(&mut self, agenda: &mut impl Agenda<TcpEvent>) {
        if !matches!(self.state, SenderState::Opening | SenderState::Open) {
            return;
        }
        let now = agenda.now();
        self.burst = u32::MAX;
        let idle = self.state == SenderState::Open && self.fresh <= self.acknowledged;
        self.timed = None;
        if idle {
            self.stats.idle_timeouts += 1;
            if self.settings.recovery.kind != RecoveryKind::Vegas {
                self.controller.on_idle_timeout();
                self.recovery.on_timeout(self.fresh);
                self.restart_timer(agenda);
                return;
            }
        } else {
            self.stats.timeouts += 1;
            self.retries = self.retries.saturating_add(1);
            if self.retries > self.settings.retries_max {
                self.state = SenderState::Aborted;
                self.finished_at = Some(now);
                return;
            }
        }
        let flight = Flight { repeated: self.retries > 1, ..self.flight(now) };
        if self.state == SenderState::Opening {
            self.timeout.on_timeout();
            self.retransmit = true;
            if self.settings.syn_packet {
                self.controller.on_timeout(&flight);
                self.recovery.on_timeout(self.fresh);
            }
            return;
        }
        self.controller.on_timeout(&flight);
        if self.controller.backs_off() {
            self.timeout.on_timeout();
        }
        if !self.controller.goes_back() {
            self.retransmit = true;
            self.restart_timer(agenda);
            return;
        }
        self.recovery.on_timeout(self.fresh);
        self.retransmit = false;
        if self.settings.recovery.kind == RecoveryKind::Sack {
            self.history.lose_all();
        } else {
            // Everything is sent again as the window lets it, except what turns out to have arrived.
            self.next = self.acknowledged;
        }
        if self.settings.idle_timer {
            self.restart_timer(agenda);
        }
    }

    fn flight(&self, now: Instant) -> Flight {
        let sack = self.settings.recovery.kind == RecoveryKind::Sack;
        let departed = if sack { 0 } else { self.recovery.departed() };
        let first = self.history.first(self.acknowledged);
        Flight {
            now: now.time(),
            in_flight: self.on_its_way().saturating_sub(departed),
            next: self.next,
            repeated: false,
            first_sent: first.map_or_else(Default::default, |(sent_at, _)| sent_at.time()),
            transmissions: first.map_or(0, |(_, sends)| sends),
            duplicates: self.recovery.duplicates(),
        }
    }
}
