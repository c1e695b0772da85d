//! The sending end of a connection.

mod settings;
mod view;

pub use settings::SenderSettings;

use super::receiver::stamp;
use super::segment::{Flags, Flow, Segment};
use super::timer::{LazyTimer, TcpEvent, Timer};
use crate::error::SettingsError;
use guestright_congestion::{
    Ack, Controller, Duplicate, Flight, Progress, Recovery, RetransmissionTimeout, WINDOW_MAX,
};
use guestright_engine::{Agenda, Instant, Nanos};
use guestright_units::Micros;

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
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Acknowledgements of new data.
    pub acknowledgements: u64,
    /// Duplicate acknowledgements.
    pub duplicates: u64,
    /// Segments that made no sense: of another connection, or acknowledging what was never sent.
    pub refused: u64,
}

/// So many bytes are for ever: 584 years at 1 Gbit/s.
const ENDLESS: u64 = u64::MAX / 8;

/// The sending end of a connection, with congestion control `C`.
#[derive(Clone, Debug)]
pub struct Sender<C> {
    flow: Flow,
    settings: SenderSettings,
    controller: C,
    recovery: Recovery,
    timeout: RetransmissionTimeout,
    state: SenderState,
    finished_at: Option<Instant>,
    /// Everything before is acknowledged: SND.UNA.
    acknowledged: u64,
    /// Sent next: SND.NXT; goes back at a timeout.
    next: u64,
    /// Never sent is what is from here on.
    fresh: u64,
    /// What the application has written.
    written: u64,
    closed: bool,
    /// The receiver's window.
    window: u64,
    /// The SYN, or the segment at `acknowledged`, is to be sent now, whatever the window says.
    retransmit: bool,
    /// Timeouts since the last progress.
    retries: u32,
    /// The segment whose round trip is timed when there are no timestamps: its end, when it was sent.
    timed: Option<(u64, Instant)>,
    sent_at: Instant,
    /// When pacing lets the next segment go.
    release_at: Instant,
    retransmission: LazyTimer,
    pacing: LazyTimer,
    stats: SenderStats,
}

impl<C: Controller> Sender<C> {
    /// The sender of `flow`.
    ///
    /// # Errors
    ///
    /// If a setting of the recovery or of the timeout cannot be.
    pub fn new(flow: Flow, settings: SenderSettings, controller: C) -> Result<Self, SettingsError> {
        let congestion = |error| SettingsError::Congestion { flow: flow.0, error };
        let window = u64::from(settings.window);
        if window == 0 || window > WINDOW_MAX {
            return Err(SettingsError::Window { flow: flow.0, got: window, min: 1, max: WINDOW_MAX });
        }
        Ok(Self {
            flow,
            settings,
            controller,
            recovery: Recovery::new(settings.recovery).map_err(congestion)?,
            timeout: RetransmissionTimeout::new(settings.timeout).map_err(congestion)?,
            state: if settings.handshake { SenderState::Closed } else { SenderState::Open },
            finished_at: None,
            acknowledged: 0,
            next: 0,
            fresh: 0,
            written: 0,
            closed: false,
            window,
            retransmit: false,
            retries: 0,
            timed: None,
            sent_at: Instant::START,
            release_at: Instant::START,
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
            SenderState::Open => {
                if segment.ack > self.acknowledged {
                    self.progress(segment, agenda);
                } else if segment.ack == self.acknowledged
                    && segment.len == 0
                    && !segment.flags.syn
                    && u64::from(segment.window) == self.window
                    && self.fresh > self.acknowledged
                {
                    self.duplicate(agenda);
                }
                if segment.ack >= self.acknowledged {
                    self.window = segment.window.into();
                }
            }
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
                    self.time_out(agenda.now());
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
            SenderState::Open => {
                let (seq, len, fin) = self.choose(agenda.now())?;
                if !self.paced(u32::from(len), agenda) {
                    return None;
                }
                Some(self.emit(seq, len, fin, agenda))
            }
        }
    }

    /// What may be sent now: offset, length, whether it is the last.
    fn choose(&mut self, now: Instant) -> Option<(u64, u16, bool)> {
        let segment = u64::from(self.settings.recovery.segment);
        if self.retransmit {
            // What was sent before, no more.
            let seq = self.acknowledged;
            let len = segment.min(self.fresh.min(self.written) - seq);
            return Some((seq, short(len), self.fresh > self.written && seq + len == self.written));
        }
        let end = self.written + u64::from(self.closed);
        if self.next >= end {
            return None;
        }
        if self.fresh == self.acknowledged {
            self.wake(now);
        }
        let mut len = segment.min(self.written - self.next);
        let on_its_way = self.next - self.acknowledged;
        let room = self.usable_window().saturating_sub(on_its_way);
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
        Some((self.next, short(len), self.closed && last))
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

    fn emit(&mut self, seq: u64, len: u16, fin: bool, agenda: &mut impl Agenda<TcpEvent>) -> Segment {
        let now = agenda.now();
        let again = seq < self.fresh;
        let segment = Segment {
            seq,
            ack: 0,
            flow: self.flow,
            window: 0,
            stamp: stamp(now),
            echo: 0,
            len,
            flags: Flags { fin, again, ..Flags::default() },
        };
        self.retransmit = false;
        self.next = self.next.max(segment.end());
        self.fresh = self.fresh.max(segment.end());
        if again {
            self.stats.again += 1;
        } else if self.timed.is_none() {
            self.timed = Some((segment.end(), now));
        }
        self.sent(agenda);
        segment
    }

    fn syn(&mut self, agenda: &mut impl Agenda<TcpEvent>) -> Segment {
        let now = agenda.now();
        let again = self.retransmit;
        self.retransmit = false;
        self.timed = (!again).then_some((0, now));
        self.stats.again += u64::from(again);
        self.sent(agenda);
        Segment {
            seq: 0,
            ack: 0,
            flow: self.flow,
            window: 0,
            stamp: stamp(now),
            echo: 0,
            len: 0,
            flags: Flags { syn: true, again, ..Flags::default() },
        }
    }

    fn sent(&mut self, agenda: &mut impl Agenda<TcpEvent>) {
        self.sent_at = agenda.now();
        self.stats.segments += 1;
        if !self.retransmission.is_set() {
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

    fn open(&mut self, segment: &Segment, agenda: &mut impl Agenda<TcpEvent>) {
        self.state = SenderState::Open;
        self.window = segment.window.into();
        self.retransmission.stop();
        if self.retries > 0 {
            self.timeout.on_late_open();
            self.controller.on_late_open();
        } else if let Some((_, at)) = self.timed {
            self.timeout.on_round_trip(Micros(agenda.now().since(at).0 / 1_000));
        }
        self.retries = 0;
        self.timed = None;
        // No SYN of an earlier attempt.
        self.retransmit = false;
    }

    fn progress(&mut self, segment: &Segment, agenda: &mut impl Agenda<TcpEvent>) {
        let now = agenda.now();
        let ack = self.acknowledge(segment, now);
        match self.recovery.on_ack(ack.acknowledged, ack.bytes) {
            Progress::Open => self.controller.on_ack(&ack),
            Progress::Recovered => self.controller.on_recovered(&ack),
            Progress::Partial { restart_timer } => {
                self.controller.on_recovery_ack(&ack);
                self.retransmit = true;
                self.timed = None;
                if !restart_timer {
                    return;
                }
            }
        }
        if self.fresh > self.acknowledged {
            self.restart_timer(agenda);
        } else {
            self.retransmission.stop();
        }
        if self.closed && self.acknowledged > self.written {
            self.state = SenderState::Finished;
            self.finished_at = Some(now);
        }
    }

    fn acknowledge(&mut self, segment: &Segment, now: Instant) -> Ack {
        let bytes = segment.ack - self.acknowledged;
        let full = u64::from(self.settings.recovery.segment);
        let window_limited = self.next - self.acknowledged + full > self.controller.window();
        self.acknowledged = segment.ack;
        self.next = self.next.max(segment.ack);
        self.retransmit = false;
        self.retries = 0;
        self.stats.acknowledgements += 1;
        let round_trip = self.round_trip(segment, now);
        if let Some(round_trip) = round_trip {
            self.timeout.on_round_trip(round_trip);
        }
        Ack {
            now: now.time(),
            bytes,
            acknowledged: segment.ack,
            next: self.next,
            in_flight: self.next - segment.ack,
            round_trip,
            window_limited,
            ..Ack::default()
        }
    }

    fn round_trip(&mut self, segment: &Segment, now: Instant) -> Option<Micros> {
        if self.settings.timestamps {
            // Of the very segment that was sent, so also good if it was sent twice (RFC 7323, section 4.1).
            return Some(Micros(stamp(now).wrapping_sub(segment.echo).into()));
        }
        let (_, at) = self.timed.take_if(|(end, _)| *end <= segment.ack)?;
        Some(Micros(now.since(at).0 / 1_000))
    }

    fn duplicate(&mut self, agenda: &mut impl Agenda<TcpEvent>) {
        self.stats.duplicates += 1;
        let flight = self.flight(agenda.now());
        match self.recovery.on_duplicate(self.acknowledged, self.fresh) {
            Duplicate::Nothing => self.controller.on_duplicate_ack(&flight),
            Duplicate::Loss => {
                self.stats.losses += 1;
                self.controller.on_loss(&flight);
                self.retransmit = true;
                self.timed = None;
                self.restart_timer(agenda);
            }
        }
    }

    fn time_out(&mut self, now: Instant) {
        if !matches!(self.state, SenderState::Opening | SenderState::Open) {
            return;
        }
        self.stats.timeouts += 1;
        self.retries += 1;
        if self.retries > self.settings.retries_max {
            self.state = SenderState::Aborted;
            self.finished_at = Some(now);
            return;
        }
        self.timed = None;
        if self.state == SenderState::Opening {
            self.timeout.on_timeout();
            self.retransmit = true;
            return;
        }
        let flight = Flight { repeated: self.retries > 1, ..self.flight(now) };
        self.controller.on_timeout(&flight);
        self.timeout.on_timeout();
        self.recovery.on_timeout(self.fresh);
        self.retransmit = false;
        // Everything is sent again as the window lets it, except what turns out to have arrived.
        self.next = self.acknowledged;
    }

    fn flight(&self, now: Instant) -> Flight {
        let on_its_way = self.next - self.acknowledged;
        Flight {
            now: now.time(),
            in_flight: on_its_way.saturating_sub(self.recovery.departed()),
            next: self.next,
            ..Flight::default()
        }
    }

    fn restart_timer(&mut self, agenda: &mut impl Agenda<TcpEvent>) {
        let deadline = agenda.now() + Nanos::from_micros(self.timeout.timeout().0);
        self.retransmission.set(deadline, agenda);
    }

    /// Bytes that may be on their way: the congestion window with what recovery adds to it, and the receiver's window.
    fn usable_window(&self) -> u64 {
        let congestion = self.controller.window().saturating_add_signed(self.recovery.inflation());
        congestion.max(self.settings.recovery.segment.into()).min(self.window)
    }
}

fn short(len: u64) -> u16 {
    u16::try_from(len).expect("a segment is no longer than the settings let it")
}
