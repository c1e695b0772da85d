//! The sending end of a connection.

mod history;
mod incoming;
mod outgoing;
mod rate;
mod sack;
mod settings;
mod view;

pub use settings::SenderSettings;

use super::segment::{Flow, Segment};
use super::timer::{LazyTimer, TcpEvent, Timer};
use crate::error::SettingsError;
use guestright_congestion::{Controller, Recovery, RecoveryKind, RetransmissionTimeout, WINDOW_MAX};
use guestright_engine::{Agenda, Instant};
use history::History;
use rate::Meter;
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
    /// Duplicate acknowledgements.
    pub duplicates: u64,
    /// Marks of congestion that were answered, no more than one for each window.
    pub marks: u64,
    /// Segments that made no sense: of another connection, or acknowledging what was never sent.
    pub refused: u64,
}

/// So many bytes are for ever: 584 years at 1 Gbit/s.
const ENDLESS: u64 = u64::MAX / 8;

/// The sending end of a connection, with congestion control `C`.
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
    tell_reduced: bool,
    /// Timeouts since the last progress.
    retries: u32,
    /// The segment whose round trip is timed when there are no timestamps: its end, when it was sent.
    timed: Option<(u64, Instant)>,
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
            tell_reduced: false,
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
            SenderState::Open => self.hear(segment, agenda),
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
}
