//! The receiving end of a connection.
//!
//! - Every second segment is acknowledged, the others after a delay (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2).
//!   The RFCs count full-sized segments; here, as in BSD, every segment counts.
//! - At once is acknowledged what is out of order, what was there already, what fills a gap (RFC 5681, section 4.2),
//!   the end of the stream, and the first segments of a connection if so set (Linux's quick acknowledgements).
//! - The application reads at once: the window is the same all the time.
//! - With timestamps the stamp that is echoed is that of the earliest segment which is not acknowledged yet (RFC 7323,
//!   section 4.3).

use super::segment::{Flags, Flow, HEADER_BYTES, Report, Sack, Segment, packet_bytes};
use super::timer::{LazyTimer, TcpEvent, Timer};
use crate::error::SettingsError;
use guestright_congestion::{WINDOW_MAX, WaveMeter};
use guestright_engine::{Agenda, Instant, Nanos};
use std::sync::Arc;

/// How a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverSettings {
    /// The receive window, in bytes.
    pub window: u32,
    /// Every how many segments are acknowledged; 1: each at once.
    pub acknowledge_every: u32,
    /// The longest that an acknowledgement is put off.
    pub delay: Nanos,
    /// How many of the first segments are acknowledged at once.
    pub quick: u32,
    /// Whether segments carry timestamps (12 bytes each).
    pub timestamps: bool,
    /// Whether acknowledgements tell what has arrived behind gaps (RFC 2018).
    pub sack: bool,
    /// How a mark of congestion is told: on every acknowledgement until the sender says that it has reduced its window
    /// (RFC 3168), or, if set, on the acknowledgement of what was marked and on no other, which goes at once (nearly RFC 8257).
    pub echo_each_mark: bool,
    /// Whether the answer to a SYN is ns-2's: an acknowledgement without options.
    pub syn_packet: bool,
    /// Bytes of headers without options: 40 with IPv4.
    pub header_bytes: u32,
}

impl ReceiverSettings {
    /// RFC 5681 and RFC 1122: every second segment or after 200 ms; 65535 bytes of window, no options.
    #[must_use]
    pub const fn rfc5681() -> Self {
        Self {
            window: 65_535,
            acknowledge_every: 2,
            delay: Nanos::from_millis(200),
            quick: 0,
            timestamps: false,
            sack: false,
            echo_each_mark: false,
            syn_packet: false,
            header_bytes: HEADER_BYTES,
        }
    }

    /// ns-2.35's `Agent/TCPSink`: an acknowledgement for each packet, for a sender with `window_` set to `window`.
    #[must_use]
    pub const fn ns2(segment: u32, window: u32) -> Self {
        Self {
            window: window.saturating_mul(segment),
            acknowledge_every: 1,
            syn_packet: true,
            ..Self::rfc5681()
        }
    }

    /// A computer with Linux 2.6.8: timestamps, the first 16 segments at once (`TCP_MAX_QUICKACKS`), then every second
    /// or after 40 ms (`TCP_DELACK_MIN`); 65535 bytes of window. Not modelled: the window that grows, a delay that follows the
    /// arrivals.
    #[must_use]
    pub const fn linux_2_6_8() -> Self {
        Self { delay: Nanos::from_millis(40), quick: 16, timestamps: true, ..Self::rfc5681() }
    }
}

/// What a receiver has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Segments with payload that arrived.
    pub segments: u64,
    /// Of these, those that brought nothing new.
    pub duplicates: u64,
    /// Of these, those behind a gap.
    pub out_of_order: u64,
    /// Segments thrown away: outside the window, or of more gaps than are remembered.
    pub refused: u64,
    pub acknowledgements: u64,
}

/// Gaps that are remembered at most; a segment that would make one more is thrown away, and comes again.
const GAPS_MAX: usize = 4_096;

/// The receiving end of a connection.
///
/// After [`handle_segment`](Self::handle_segment) and [`handle`](Self::handle), call
/// [`poll_segment`](Self::poll_segment) until there is none: each is an acknowledgement to be sent. The delayed ones come of
/// a timer, so events have to be handed in too. [`super::Sender`] has an example with both.
///
/// What is needed for each packet comes first, as there.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    settings: Arc<ReceiverSettings>,
    /// Everything before this offset has arrived.
    next: u64,
    /// `next` as it was in the last acknowledgement.
    acknowledged: u64,
    /// What has arrived behind gaps: (first, behind the last), in order, never touching.
    islands: Vec<(u64, u64)>,
    flow: Flow,
    /// Segments since the last acknowledgement.
    unacknowledged: u32,
    quick_left: u32,
    /// Acknowledgements to be sent.
    due: u32,
    /// The stamp to be echoed, if there was any.
    echo: Option<u32>,
    syn_due: bool,
    /// A mark was seen, and is still to be told.
    marked: bool,
    /// Where the stream ends, once that is known.
    end: Option<u64>,
    finished_at: Option<Instant>,
    timer: LazyTimer,
    stats: ReceiverStats,
    waves: WaveMeter,
    /// Places in the islands that something came into lately, the last first.
    recent: [Option<u64>; Sack::MAX],
}

impl Receiver {
    /// The receiver of `flow`; its settings may be shared with others.
    ///
    /// # Errors
    ///
    /// If the window is none or larger than TCP can have, or acknowledgements are for no segment or for more than 255.
    pub fn new(flow: Flow, settings: impl Into<Arc<ReceiverSettings>>) -> Result<Self, SettingsError> {
        let settings = settings.into();
        let window = u64::from(settings.window);
        if window == 0 || window > WINDOW_MAX {
            return Err(SettingsError::Window { flow: flow.0, got: window, min: 1, max: WINDOW_MAX });
        }
        if settings.acknowledge_every == 0 || settings.acknowledge_every > 255 {
            return Err(SettingsError::AcknowledgeEvery { flow: flow.0, got: settings.acknowledge_every });
        }
        Ok(Self {
            flow,
            next: 0,
            islands: Vec::with_capacity(16),
            end: None,
            finished_at: None,
            unacknowledged: 0,
            quick_left: settings.quick,
            settings,
            due: 0,
            syn_due: false,
            echo: None,
            acknowledged: 0,
            recent: [None; Sack::MAX],
            marked: false,
            waves: WaveMeter::default(),
            timer: LazyTimer::new(flow, Timer::Acknowledgement),
            stats: ReceiverStats::default(),
        })
    }

    #[must_use]
    pub const fn flow(&self) -> Flow {
        self.flow
    }

    /// Bytes that the application has got, each once and in order.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        // FIN has the place of a byte, but is none.
        self.next - self.finished_at.is_some() as u64
    }

    /// When the last byte of a stream that ends was delivered.
    #[must_use]
    pub const fn finished_at(&self) -> Option<Instant> {
        self.finished_at
    }

    /// What it has done so far.
    #[must_use]
    pub const fn stats(&self) -> ReceiverStats {
        self.stats
    }

    /// Bytes of the IP packet that carries `segment`.
    #[must_use]
    pub fn packet_bytes(&self, segment: &Segment) -> u32 {
        let settings = &self.settings;
        packet_bytes(segment, settings.header_bytes, settings.timestamps, settings.syn_packet)
    }

    /// A segment of the sender has arrived.
    pub fn handle_segment(&mut self, segment: &Segment, agenda: &mut impl Agenda<TcpEvent>) {
        let newer = self.echo.is_none_or(|echo| segment.stamp.wrapping_sub(echo) < 1 << 31);
        if segment.seq <= self.acknowledged && newer {
            self.echo = Some(segment.stamp);
        }
        if segment.flags.syn {
            self.syn_due = true;
            self.due += 1;
            return;
        }
        if segment.flags.reduced && !self.settings.echo_each_mark {
            self.marked = false;
        }
        if segment.flags.marked {
            self.marked = true;
        }
        if let Some(wave) = segment.wave {
            self.waves.on_segment(wave.get() - 1, segment.len.into(), agenda.now().time());
        }
        if segment.flags.fin {
            self.end = Some(segment.end());
        }
        if segment.end() > segment.seq {
            self.accept(segment, agenda);
        }
        if self.finished_at.is_none() && self.end == Some(self.next) {
            self.finished_at = Some(agenda.now());
            self.due = self.due.max(1);
        }
        if segment.flags.marked && self.settings.echo_each_mark {
            self.due = self.due.max(1);
        }
    }

    /// A timer has gone off. Events of the sender's timers are none of its business.
    pub fn handle(&mut self, event: TcpEvent, agenda: &mut impl Agenda<TcpEvent>) {
        if event.flow == self.flow
            && event.timer == Timer::Acknowledgement
            && self.timer.is_over(agenda)
            && self.unacknowledged > 0
        {
            self.due = self.due.max(1);
        }
    }

    /// An acknowledgement to be sent.
    pub fn poll_segment(&mut self, agenda: &mut impl Agenda<TcpEvent>) -> Option<Segment> {
        if self.due == 0 {
            return None;
        }
        self.due -= 1;
        self.unacknowledged = 0;
        self.acknowledged = self.next;
        self.timer.stop();
        self.stats.acknowledgements += 1;
        let syn = std::mem::take(&mut self.syn_due);
        let echo = self.marked;
        if self.settings.echo_each_mark {
            self.marked = false;
        }
        Some(Segment {
            ack: self.next,
            flow: self.flow,
            window: self.settings.window,
            stamp: stamp(agenda.now()),
            echo: self.echo.unwrap_or(0),
            flags: Flags { syn, ack: true, echo, ..Flags::default() },
            report: self.waves.report().map(Report::new),
            sack: if self.settings.sack && !syn && !self.islands.is_empty() {
                self.blocks()
            } else {
                Sack::default()
            },
            ..Segment::default()
        })
    }

    /// What has arrived behind gaps; that of the segment which came last goes first (RFC 2018, section 4).
    fn blocks(&self) -> Sack {
        let mut sack = Sack::default();
        let mut reported = [usize::MAX; Sack::MAX];
        for (count, offset) in self.recent.iter().flatten().enumerate() {
            let island = self.islands.partition_point(|island| island.1 <= *offset);
            if let Some(&(first, end)) = self.islands.get(island)
                && first <= *offset
                && !reported.contains(&island)
            {
                reported[count] = island;
                sack.push(self.next, first, end);
            }
        }
        sack
    }

    /// Remembers for selective acknowledgements that something came to `place`, in front of what is remembered already.
    fn remember(&mut self, offset: u64) {
        let island = self.islands.partition_point(|island| island.1 <= offset);
        let Some(&(first, end)) = self.islands.get(island) else { return };
        let others = self.recent;
        let mut free = self.recent.iter_mut();
        if let Some(newest) = free.next() {
            *newest = Some(offset);
        }
        let elsewhere =
            others.into_iter().filter(|other| other.is_some_and(|other| other < first || other >= end));
        for (slot, other) in free.zip(elsewhere.chain(std::iter::repeat(None))) {
            *slot = other;
        }
    }

    fn accept(&mut self, segment: &Segment, agenda: &mut impl Agenda<TcpEvent>) {
        self.stats.segments += 1;
        let quick = self.quick_left > 0;
        self.quick_left = self.quick_left.saturating_sub(1);
        let end = segment.end();
        // FIN has a number and takes no room: with the last byte that fits it is accepted.
        let last = end - u64::from(segment.flags.fin);
        if last > self.next + u64::from(self.settings.window) {
            self.stats.refused += 1;
            self.due += 1;
        } else if end <= self.next {
            self.stats.duplicates += 1;
            self.due += 1;
        } else if segment.seq > self.next {
            self.keep(segment.seq, end);
            if self.settings.sack {
                self.remember(segment.seq);
            }
            self.due += 1;
        } else {
            let gap = !self.islands.is_empty();
            self.next = end;
            self.join();
            self.unacknowledged += 1;
            if gap || quick || self.unacknowledged >= self.settings.acknowledge_every {
                self.due += 1;
            } else if !self.timer.is_set() {
                self.timer.set(agenda.now() + self.settings.delay, agenda);
            }
        }
    }

    /// Remembers what has arrived behind a gap.
    fn keep(&mut self, first: u64, end: u64) {
        // Those that touch [first, end]: from the first one that ends at `first` or later to the last that starts at
        // `end` or before.
        let from = self.islands.partition_point(|island| island.1 < first);
        let to = self.islands.partition_point(|island| island.0 <= end);
        if from == to {
            if self.islands.len() == GAPS_MAX {
                self.stats.refused += 1;
                return;
            }
            self.stats.out_of_order += 1;
            self.islands.insert(from, (first, end));
            return;
        }
        let (old_first, old_end) = (self.islands[from].0, self.islands[to - 1].1);
        if to - from == 1 && old_first <= first && end <= old_end {
            self.stats.duplicates += 1;
            return;
        }
        self.stats.out_of_order += 1;
        self.islands[from] = (old_first.min(first), old_end.max(end));
        self.islands.drain(from + 1..to);
    }

    /// Takes what is no longer behind a gap.
    fn join(&mut self) {
        let mut joined = 0;
        for island in &self.islands {
            if island.0 > self.next {
                break;
            }
            self.next = self.next.max(island.1);
            joined += 1;
        }
        if joined > 0 {
            self.islands.drain(..joined);
        }
    }
}

/// A timestamp: microseconds modulo 2^32.
#[expect(clippy::cast_possible_truncation, reason = "the clock of timestamps wraps")]
pub(super) const fn stamp(now: Instant) -> u32 {
    now.time().0 as u32
}
