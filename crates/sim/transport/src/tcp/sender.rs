//! The sending end of a connection.

mod history;
mod rate;
mod sack;
mod settings;

pub use settings::SenderSettings;

use super::receiver::stamp;
use super::segment::{Flags, Flow, Report, Segment, packet_bytes};
use super::timer::{LazyTimer, TcpEvent, Timer};
use crate::error::SettingsError;
use guestright_congestion::{
    Ack, Controller, Duplicate, Flight, Progress, Recovery, RecoveryKind, RetransmissionTimeout, Sent,
    WINDOW_MAX,
};
use guestright_engine::{Agenda, Instant, Nanos};
use guestright_units::Micros;
use history::{History, Transmissions};
use rate::Meter;
use std::num::NonZeroU32;
use std::sync::Arc;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderState {
    /// Nothing was written yet, and it is to be opened first.
    Closed,
    /// A SYN is on its way.
    Opening,
    /// Data may flow.
    Open,
    /// The end of the stream is acknowledged.
    Finished,
    /// Given up: a segment was sent too often.
    Aborted,
}

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Segments sent, all of them.
    pub segments: u64,
    /// Of these, those with bytes that were sent before.
    pub again: u64,
    /// Recoveries begun: fast retransmits.
    pub losses: u64,
    /// Retransmission timeouts with something on its way.
    pub timeouts: u64,
    /// Retransmission timeouts with nothing on its way ([`SenderSettings::idle_timer`]).
    pub idle_timeouts: u64,
    /// Acknowledgements of new data.
    pub acknowledgements: u64,
    pub duplicates: u64,
    /// Marks of congestion that were answered, no more than one for each window.
    pub marks: u64,
    /// Segments that made no sense: of another connection, or acknowledging what was never sent.
    pub refused: u64,
}

impl SenderStats {
    /// What was counted since an earlier time of the same sender.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            segments: self.segments - before.segments,
            again: self.again - before.again,
            losses: self.losses - before.losses,
            timeouts: self.timeouts - before.timeouts,
            idle_timeouts: self.idle_timeouts - before.idle_timeouts,
            acknowledgements: self.acknowledgements - before.acknowledgements,
            duplicates: self.duplicates - before.duplicates,
            marks: self.marks - before.marks,
            refused: self.refused - before.refused,
        }
    }
}

/// A segment whose round trip is timed.
#[derive(Clone, Copy, Debug)]
struct Timed {
    /// The offset behind it.
    end: u64,
    sent_at: Instant,
}

/// So many bytes are for ever: 584 years at 1 Gbit/s.
const ENDLESS: u64 = u64::MAX / 8;

/// The sending end of a connection, with congestion control `C`.
///
/// After [`write`](Self::write), [`close`](Self::close), [`handle_segment`](Self::handle_segment) and
/// [`handle`](Self::handle), call [`poll_segment`](Self::poll_segment) until there is none. Timers go to the agenda, and come
/// back as [`TcpEvent`]s: hand each to both ends, they know their own. [`super::Receiver`] is used alike.
///
/// ```
/// use guestright_congestion::{Reno, RenoSettings};
/// use guestright_engine::Queue;
/// use guestright_transport::{Flow, Receiver, ReceiverSettings, Sender, SenderSettings};
///
/// let control = Reno::new(RenoSettings::linux_2_6_8(1_448))?;
/// let mut sender = Sender::new(Flow(0), SenderSettings::rfc(1_448), control)?;
/// let mut receiver = Receiver::new(Flow(0), ReceiverSettings::rfc5681())?;
/// let mut agenda = Queue::new();
/// sender.write(10_000);
/// sender.close();
/// loop {
///     while let Some(segment) = sender.poll_segment(&mut agenda) {
///         receiver.handle_segment(&segment, &mut agenda); // A link would be in between.
///         while let Some(acknowledgement) = receiver.poll_segment(&mut agenda) {
///             sender.handle_segment(&acknowledgement, &mut agenda);
///         }
///     }
///     let Some((_, event)) = agenda.pop() else { break };
///     sender.handle(event, &mut agenda);
///     receiver.handle(event, &mut agenda);
///     while let Some(acknowledgement) = receiver.poll_segment(&mut agenda) {
///         sender.handle_segment(&acknowledgement, &mut agenda); // It was delayed.
///     }
/// }
/// assert_eq!((sender.acknowledged(), receiver.delivered()), (10_000, 10_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Of thousands of senders few are in the processor's cache when they are needed. So what is needed for each packet comes
/// first, side by side, and what many have in common may be shared.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender<C> {
    settings: Arc<SenderSettings>,
    /// Everything before is acknowledged: SND.UNA.
    acknowledged: u64,
    /// Sent next: SND.NXT; goes back at a timeout.
    next: u64,
    /// Never sent is what is from here on.
    fresh: u64,
    /// What the application has written.
    written: u64,
    /// The receiver's window.
    window: u64,
    /// Bytes that the window is larger by until all is drained: limited transmit as ns-2 does it.
    extra: u64,
    flow: Flow,
    /// How many segments may be sent until something happens again; `u32::MAX`: what the window lets.
    burst: u32,
    state: SenderState,
    closed: bool,
    /// The SYN, or the segment at `acknowledged`, is to be sent now, whatever the window says.
    retransmit: bool,
    /// The next segment tells that the window was reduced for a mark (CWR).
    cwr_pending: bool,
    /// Timeouts since the last progress.
    retries: u32,
    /// The segment whose round trip is timed when there are no timestamps.
    timed: Option<Timed>,
    retransmission: LazyTimer,
    sent_at: Instant,
    history: History,
    /// Only if the controller wants it.
    meter: Option<Box<Meter>>,
    recovery: Recovery,
    timeout: RetransmissionTimeout,
    stats: SenderStats,
    controller: C,
    pacing: LazyTimer,
    /// When pacing lets the next segment go.
    release_at: Instant,
    started_at: Instant,
    /// The last mark was answered when this was to be sent next.
    marked_at: Option<u64>,
    finished_at: Option<Instant>,
}

/// A segment that may be sent.
#[derive(Clone, Copy)]
struct Choice {
    seq: u64,
    len: u16,
    fin: bool,
    /// Whatever the window says.
    forced: bool,
}

impl<C: Controller> Sender<C> {
    /// The sender of `flow`; its settings may be shared with others.
    ///
    /// # Errors
    ///
    /// If a setting of the recovery or of the timeout cannot be.
    pub fn new(
        flow: Flow,
        settings: impl Into<Arc<SenderSettings>>,
        controller: C,
    ) -> Result<Self, SettingsError> {
        let settings = settings.into();
        let congestion = |error| SettingsError::Congestion { flow: flow.0, error };
        let window = u64::from(settings.window);
        if window == 0 || window > WINDOW_MAX {
            return Err(SettingsError::Window { flow: flow.0, got: window, min: 1, max: WINDOW_MAX });
        }
        let recovery = Recovery::new(settings.recovery).map_err(congestion)?;
        Ok(Self {
            flow,
            recovery,
            timeout: RetransmissionTimeout::new(settings.timeout).map_err(congestion)?,
            history: if settings.recovery.kind == RecoveryKind::Vegas {
                History::ring(settings.recovery.segment, settings.window)
            } else {
                History::new()
            },
            meter: controller.wants_rate().then(|| Box::new(Meter::new())),
            controller,
            state: if settings.handshake { SenderState::Closed } else { SenderState::Open },
            settings,
            finished_at: None,
            acknowledged: 0,
            next: 0,
            fresh: 0,
            written: 0,
            closed: false,
            window,
            retransmit: false,
            burst: u32::MAX,
            extra: 0,
            retries: 0,
            timed: None,
            started_at: Instant::START,
            sent_at: Instant::START,
            release_at: Instant::START,
            marked_at: None,
            cwr_pending: false,
            retransmission: LazyTimer::new(flow, Timer::Retransmission),
            pacing: LazyTimer::new(flow, Timer::Pacing),
            stats: SenderStats::default(),
        })
    }

    /// The application writes `bytes`.
    ///
    /// # Panics
    ///
    /// After [`Self::close`].
    pub fn write(&mut self, bytes: u64) {
        assert!(!self.closed, "flow {}: written after the end of the stream", self.flow.0);
        self.written = self.written.saturating_add(bytes).min(ENDLESS);
        self.burst = u32::MAX;
    }

    /// The application has always something to send.
    ///
    /// # Panics
    ///
    /// After [`Self::close`].
    pub fn write_endless(&mut self) {
        self.write(ENDLESS);
    }

    /// The stream ends with what was written.
    pub const fn close(&mut self) {
        self.closed = true;
    }

    /// A segment of the receiver has arrived.
    pub fn handle_segment(&mut self, segment: &Segment, agenda: &mut impl Agenda<TcpEvent>) {
        let absurd = segment.flow != self.flow || !segment.flags.ack || segment.ack > self.fresh;
        match self.state {
            SenderState::Closed | SenderState::Aborted => self.stats.refused += 1,
            SenderState::Opening if segment.flags.syn && !absurd => self.open(segment, agenda),
            SenderState::Opening => self.stats.refused += 1,
            SenderState::Open | SenderState::Finished if absurd => self.stats.refused += 1,
            SenderState::Finished => {}
            SenderState::Open => self.handle_acknowledgement(segment, agenda),
        }
    }

    /// A timer has gone off. Events of the receiver's timers are none of its business.
    pub fn handle(&mut self, event: TcpEvent, agenda: &mut impl Agenda<TcpEvent>) {
        if event.flow != self.flow {
            return;
        }
        match event.timer {
            Timer::Retransmission => {
                if self.retransmission.is_over(agenda) {
                    self.time_out(agenda);
                }
            }
            Timer::Pacing => {
                self.pacing.is_over(agenda);
            }
            Timer::Acknowledgement => {}
        }
    }

    /// A segment to be sent. To be asked after each call of anything else, until there is none.
    pub fn poll_segment(&mut self, agenda: &mut impl Agenda<TcpEvent>) -> Option<Segment> {
        match self.state {
            SenderState::Finished | SenderState::Aborted => None,
            SenderState::Closed if self.written == 0 && !self.closed => None,
            SenderState::Closed => {
                self.state = SenderState::Opening;
                Some(self.syn(agenda))
            }
            SenderState::Opening => self.retransmit.then(|| self.syn(agenda)),
            SenderState::Open => self.poll_data(agenda),
        }
    }

    /// The SYN is acknowledged.
    fn open(&mut self, segment: &Segment, agenda: &mut impl Agenda<TcpEvent>) {
        self.state = SenderState::Open;
        self.window = segment.window.into();
        self.retransmission.stop();
        if self.retries > 0 {
            if !self.settings.syn_packet {
                self.timeout.on_late_open();
            }
            self.controller.on_late_open();
        } else if let Some(timed) = self.timed {
            self.timeout.on_acknowledged(timed.sent_at.time(), agenda.now().time());
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
    fn handle_acknowledgement(&mut self, segment: &Segment, agenda: &mut impl Agenda<TcpEvent>) {
        self.burst = self.recovery.burst().unwrap_or(u32::MAX);
        if segment.ack < self.acknowledged {
            return;
        }
        if segment.flags.echo {
            self.handle_mark(segment, agenda.now());
        }
        let sacked = if self.settings.recovery.kind == RecoveryKind::Sack {
            self.history.accept_blocks(segment)
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
    fn handle_mark(&mut self, segment: &Segment, now: Instant) {
        let answered = self.marked_at.is_some_and(|at| segment.ack <= at);
        if !self.settings.ecn || answered || self.recovery.is_active() {
            return;
        }
        self.stats.marks += 1;
        self.marked_at = Some(self.fresh);
        self.cwr_pending = true;
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
        let left = self.history.acknowledge(self.acknowledged, segment.ack);
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
        let round_trip = match left.last {
            _ if self.settings.timestamps => Some(self.since_stamp(segment, now)),
            Some(Transmissions { last, count: 1 }) if straight => Some(Micros(now.since(last).0 / 1_000)),
            _ => None,
        };
        let rate =
            self.meter.as_mut().and_then(|meter| meter.deliver(segment.ack, left.fresh_bytes + sacked, now));
        Ack {
            now: now.time(),
            bytes,
            acknowledged: segment.ack,
            next: self.next,
            in_flight: self.on_its_way(),
            round_trip,
            window_limited,
            segments: left.segments,
            rate,
            wave: segment.report.map(Report::read),
            marked: if segment.flags.echo { bytes } else { 0 },
            deflated: 0,
        }
    }

    /// A round-trip time for the timeout.
    fn time_round_trip(&mut self, segment: &Segment, now: Instant) {
        if self.settings.timestamps {
            self.timeout.on_round_trip(self.since_stamp(segment, now));
        } else if let Some(timed) = self.timed.take_if(|timed| timed.end <= segment.ack) {
            self.timeout.on_acknowledged(timed.sent_at.time(), now.time());
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
            RecoveryKind::Sack => {
                self.history.lose_first();
                // RFC 6675, section 5, step 4.3: at once, however much is on its way; the others wait for room (step C).
                self.retransmit = self.first_lost().is_some();
            }
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
            Some(sent) => now.since(sent.last) >= timeout,
            // As ns-2 has it, where it was sent a second before the first segment.
            None => now.since(self.started_at) + Nanos::from_seconds(1) >= timeout,
        }
    }

    /// The retransmission timer went off.
    fn time_out(&mut self, agenda: &mut impl Agenda<TcpEvent>) {
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
            first_sent: first.map_or_else(Default::default, |sent| sent.last.time()),
            transmissions: first.map_or(0, |sent| sent.count),
            duplicates: self.recovery.duplicates(),
        }
    }

    fn poll_data(&mut self, agenda: &mut impl Agenda<TcpEvent>) -> Option<Segment> {
        let choice = self.choose(agenda.now());
        let Some(choice) = choice.filter(|choice| choice.forced || self.burst > 0) else {
            self.extra = 0;
            return None;
        };
        if !self.paced(u32::from(choice.len), agenda) {
            return None;
        }
        if !choice.forced && self.burst < u32::MAX {
            self.burst -= 1;
        }
        Some(self.emit(choice, agenda))
    }

    /// What may be sent now.
    fn choose(&mut self, now: Instant) -> Option<Choice> {
        let segment = u64::from(self.settings.recovery.segment);
        if self.retransmit {
            if let Some((seq, end)) = self.first_lost() {
                // Alone: what is behind it may have arrived.
                return Some(Choice { forced: true, ..self.lost(seq, end) });
            }
            // What was sent before, no more; or all of a segment that never was, if that counts as expired.
            let seq = self.acknowledged;
            let sent = self.fresh.min(self.written.max(seq)) - seq;
            let is_expired = sent == 0 && !self.closed && self.settings.unsent_expires;
            let len = if is_expired { segment } else { segment.min(sent) };
            let fin = self.closed && self.fresh > self.written && seq + len == self.written;
            if len > 0 || fin {
                return Some(Choice { seq, len: short(len), fin, forced: true });
            }
            // Everything has arrived, and what seemed lost were doubles.
            self.retransmit = false;
        }
        let end = self.written + u64::from(self.closed);
        if self.settings.recovery.kind == RecoveryKind::Sack && self.history.holes > 0 {
            if self.next >= end && self.recovery.is_active() && self.history.next_lost(0).is_none() {
                self.history.lose_next();
            }
            if let Some((seq, end)) = self.history.next_lost(self.acknowledged) {
                return self.choose_lost(seq, end);
            }
        }
        if self.next >= end {
            self.limited();
            return None;
        }
        if self.fresh == self.acknowledged && !self.settings.idle_timer {
            self.wake(now);
        }
        let mut len = segment.min(self.written - self.next);
        let on_its_way = self.on_its_way();
        let mut room = self.usable_window().saturating_sub(on_its_way);
        if self.history.holes > 0 {
            // Segments that have left the network still take the receiver's room.
            room = room.min(self.window.saturating_sub(self.next - self.acknowledged));
        }
        if len > room {
            // No small segments because of a window that is not a multiple of a segment, unless all would stand still.
            if on_its_way > 0 || room == 0 {
                return None;
            }
            len = room;
        }
        let last = self.next + len == self.written;
        if self.settings.nagle && len < segment && on_its_way > 0 && !(self.closed && last) {
            return None;
        }
        Some(Choice { seq: self.next, len: short(len), fin: self.closed && last, forced: false })
    }

    /// A segment that selective acknowledgements or a timeout have found lost.
    fn choose_lost(&self, seq: u64, end: u64) -> Option<Choice> {
        let on_its_way = self.on_its_way();
        if on_its_way > 0 && on_its_way + (end - seq) > self.usable_window() {
            return None;
        }
        Some(self.lost(seq, end))
    }

    fn lost(&self, seq: u64, end: u64) -> Choice {
        let fin = end > self.written;
        Choice { seq, len: short(end - u64::from(fin) - seq), fin, forced: false }
    }

    /// The first segment that is not acknowledged, if selective acknowledgements have found it lost and it was not sent again.
    fn first_lost(&self) -> Option<(u64, u64)> {
        self.history.next_lost(self.acknowledged).filter(|(seq, _)| *seq == self.acknowledged)
    }

    /// The application, not the window, keeps the sender from sending more.
    fn limited(&mut self) {
        let on_its_way = self.next.saturating_sub(self.acknowledged);
        if on_its_way < self.controller.window()
            && let Some(meter) = &mut self.meter
        {
            meter.limit(on_its_way);
        }
    }

    /// Whether pacing lets a segment go now; if not, the timer is set.
    fn paced(&mut self, len: u32, agenda: &mut impl Agenda<TcpEvent>) -> bool {
        let Some(rate) = self.controller.pacing() else { return true };
        let now = agenda.now();
        if now < self.release_at {
            self.pacing.set(self.release_at, agenda);
            return false;
        }
        let bits = u64::from(self.settings.header_bytes + self.settings.options() + len) * 8;
        self.release_at = now + Nanos::of_bits(bits, rate.0.get());
        true
    }

    fn emit(&mut self, choice: Choice, agenda: &mut impl Agenda<TcpEvent>) -> Segment {
        let now = agenda.now();
        let Choice { seq, len, fin, forced } = choice;
        let again = seq < self.fresh;
        let mut segment = Segment {
            seq,
            flow: self.flow,
            stamp: stamp(now),
            len,
            flags: Flags { fin, again, capable: self.settings.ecn, ..Flags::default() },
            ..Segment::default()
        };
        let end = segment.end();
        self.retransmit = false;
        if !again && self.cwr_pending {
            segment.flags.reduced = true;
            self.cwr_pending = false;
        }
        let idle = self.fresh <= self.acknowledged;
        if seq == 0 && !forced {
            self.started_at = now;
        }
        self.history.send(seq, end, self.fresh, now);
        if let Some(meter) = &mut self.meter {
            meter.send(seq, end, idle, now);
        }
        // A segment that is sent before its time does not move what is sent next (ns-2).
        if !forced || !self.settings.idle_timer {
            self.next = self.next.max(end);
        }
        self.fresh = self.fresh.max(end);
        if again {
            self.stats.again += 1;
        } else if self.timed.is_none() {
            self.timed = Some(Timed { end, sent_at: now });
        }
        let sent = Sent {
            now: now.time(),
            offset: seq,
            bytes: len.into(),
            in_flight: self.next.saturating_sub(self.acknowledged),
            again,
            last: self.next >= self.written,
        };
        self.controller.on_sent(&sent);
        segment.wave = self.controller.wave().map(|wave| NonZeroU32::MIN.saturating_add(wave));
        self.sent(idle, agenda);
        segment
    }

    fn syn(&mut self, agenda: &mut impl Agenda<TcpEvent>) -> Segment {
        let now = agenda.now();
        let again = self.retransmit;
        self.retransmit = false;
        self.timed = (!again).then_some(Timed { end: 0, sent_at: now });
        self.stats.again += u64::from(again);
        self.sent(true, agenda);
        Segment {
            flow: self.flow,
            stamp: stamp(now),
            flags: Flags { syn: true, again, ..Flags::default() },
            ..Segment::default()
        }
    }

    /// A segment has left; `idle`: nothing had been on its way.
    fn sent(&mut self, idle: bool, agenda: &mut impl Agenda<TcpEvent>) {
        self.sent_at = agenda.now();
        self.stats.segments += 1;
        // A timer that runs on starts anew with the first segment after a pause; not that of ns-2's Vegas.
        let anew = idle && self.settings.idle_timer && self.settings.recovery.kind != RecoveryKind::Vegas;
        if anew || !self.retransmission.is_set() {
            self.restart_timer(agenda);
        }
    }

    /// Something is to be sent, and nothing is on its way.
    fn wake(&mut self, now: Instant) {
        let idle = Micros(now.since(self.sent_at).0 / 1_000);
        if self.stats.segments > 0 && idle > self.timeout.timeout() {
            self.controller.on_idle(idle);
            // Once for each pause.
            self.sent_at = now;
        }
    }

    fn restart_timer(&mut self, agenda: &mut impl Agenda<TcpEvent>) {
        let deadline = agenda.now() + Nanos::from_micros(self.timeout.timeout().0);
        self.retransmission.set(deadline, agenda);
    }

    /// Bytes on their way, as they count for the window.
    fn on_its_way(&self) -> u64 {
        if self.history.holes > 0 {
            self.history.pipe(self.acknowledged, self.next)
        } else {
            self.next - self.acknowledged
        }
    }

    /// Bytes that may be on their way: the congestion window with what recovery adds to it, and the receiver's window.
    fn usable_window(&self) -> u64 {
        let inflation =
            if self.settings.recovery.kind == RecoveryKind::Sack { 0 } else { self.recovery.inflation() };
        let congestion = self.controller.window().saturating_add_signed(inflation) + self.extra;
        // No window at all is for a timer that opens it again.
        let none = self.settings.recovery.kind == RecoveryKind::Vegas && self.settings.idle_timer;
        let least = if none { 0 } else { self.settings.recovery.segment.into() };
        congestion.max(least).min(self.window)
    }
}

impl<C> Sender<C> {
    #[must_use]
    pub const fn flow(&self) -> Flow {
        self.flow
    }

    /// The congestion control.
    #[must_use]
    pub const fn controller(&self) -> &C {
        &self.controller
    }

    /// The estimate of the round-trip time, and the timeout made of it.
    #[must_use]
    pub const fn timeout(&self) -> &RetransmissionTimeout {
        &self.timeout
    }

    /// How far the connection has come.
    #[must_use]
    pub const fn state(&self) -> SenderState {
        self.state
    }

    /// When the end of the stream was acknowledged, or the connection given up.
    #[must_use]
    pub const fn finished_at(&self) -> Option<Instant> {
        self.finished_at
    }

    /// Bytes that were acknowledged, each once.
    #[must_use]
    pub const fn acknowledged(&self) -> u64 {
        if self.acknowledged > self.written { self.written } else { self.acknowledged }
    }

    /// Bytes that the application has written and nobody has acknowledged: its send buffer.
    #[must_use]
    pub const fn backlog(&self) -> u64 {
        self.written.saturating_sub(self.acknowledged)
    }

    /// Bytes on their way.
    #[must_use]
    pub const fn in_flight(&self) -> u64 {
        self.next.saturating_sub(self.acknowledged)
    }

    /// Whether a fast recovery goes on.
    #[must_use]
    pub const fn in_recovery(&self) -> bool {
        self.recovery.is_active()
    }

    /// What it has done so far.
    #[must_use]
    pub const fn stats(&self) -> SenderStats {
        self.stats
    }

    /// Bytes of the IP packet that carries `segment`.
    #[must_use]
    pub fn packet_bytes(&self, segment: &Segment) -> u32 {
        let settings = &self.settings;
        packet_bytes(segment, settings.header_bytes, settings.timestamps, settings.syn_packet)
    }
}

fn short(len: u64) -> u16 {
    u16::try_from(len).expect("a segment is no longer than the settings let it")
}
