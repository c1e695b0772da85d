//! One RTP stream, packet by packet: what each second was like, and the whole.
//!
//! Losses are found by sequence numbers (RFC 3550, Appendix A.1), and belong to the second in which the missing packet
//! was due. A packet may overtake others for as long as [`AnalyserConfig::settle`]; so a row comes out that much after
//! its second. Memory is bounded, whatever a peer sends.

mod rows;
mod sequence;
mod stretch;
mod summary;
#[cfg(test)]
mod tests;

pub use rows::{Row, WorstRow};
pub use stretch::Stretch;
pub use summary::{Counts, Summary, Talkspurts};

use std::collections::VecDeque;

use guestright_units::{Micros, Time};

use crate::codec::Codec;
use crate::dejitter::{BufferConfig, DejitterBuffer, Fate};
use crate::delay::DelayMeter;
use crate::interval::Interval;
use crate::jitter::JitterMeter;
use crate::judge::Judge;
use crate::labelled::{Buffers, Discarded};
use crate::loss::LossPattern;
use rows::{RowSums, Worst};
use sequence::{Position, Sequence};
use stretch::WorstStretch;
use summary::SpurtMeter;

/// Rows that wait to be fetched. When nobody fetches them, the oldest are dropped and counted.
const ROWS_MAX: usize = 7_200;
/// After so many intervals without a packet the seconds between are left out.
const SILENT_ROWS_MAX: u64 = 600;

/// How a stream is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnalyserConfig {
    /// The codec, as far as it is known.
    pub codec: Option<Codec>,
    /// Ticks per second of the RTP timestamp.
    pub clock_rate_hz: u32,
    /// Sound in one packet, where it is known. Otherwise it is learnt from the timestamps, and is 20 ms until then.
    pub packet: Option<Micros>,
    /// The length of a row.
    pub interval: Micros,
    /// How long a packet may be on its way when those sent after it have arrived.
    pub settle: Micros,
    /// The buffer whose losses are counted.
    pub buffer: BufferConfig,
    /// A one-way delay of the network in ms that somebody stated, for packets that carry none of their own.
    pub delay_ms: Option<Interval>,
    /// The advantage factor `A`.
    pub advantage: f64,
    /// The number of the first packet, where that is known: what is missing before the first that arrives is lost.
    pub first_sequence: Option<u16>,
}

impl AnalyserConfig {
    /// For a codec, with rows of 1 s and paper A's buffer.
    pub fn new(codec: Codec) -> Self {
        Self { codec: Some(codec), ..Self::unknown(codec.facts().clock_rate_hz) }
    }

    /// For a stream whose codec is not known.
    pub const fn unknown(clock_rate_hz: u32) -> Self {
        Self {
            codec: None,
            clock_rate_hz,
            packet: None,
            interval: Micros(1_000_000),
            settle: Micros(1_000_000),
            buffer: BufferConfig::PAPER_A,
            delay_ms: None,
            advantage: 0.0,
            first_sequence: None,
        }
    }
}

/// What the analyser wants to know of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// The RTP sequence number.
    pub sequence: u16,
    /// The RTP timestamp.
    pub timestamp: u32,
    /// The RTP marker: the first packet of a talkspurt.
    pub marker: bool,
    /// Octets of payload.
    pub payload_bytes: usize,
    /// When it arrived, by the receiver's clock.
    pub arrival: Time,
    /// How long it was on its way, ms, if both clocks are known.
    pub delay_ms: Option<Interval>,
}

/// What a packet was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The next one, or one after a gap.
    New(Fate),
    /// One that others had overtaken.
    Reordered(Fate),
    /// One that is here already.
    Duplicate,
    /// One that comes so late that its loss has been counted.
    Stale,
    /// Its number is far from all others; if the next one follows it, the sender has started anew.
    Stray,
}

/// A place in the sequence, until it is settled.
#[derive(Clone, Copy, Debug)]
struct Slot {
    row: u64,
    due: Time,
    arrived: bool,
    discarded: bool,
    /// Which of the labelled buffers discarded it.
    labelled: Discarded,
    spurt: bool,
    /// Whether whoever watches may have missed it: then it is not counted if it is missing.
    unseen: bool,
}

impl Slot {
    /// A packet that has not come.
    const fn missing(row: u64, due: Time) -> Self {
        let labelled = [false; 3];
        Self { row, due, arrived: false, discarded: false, labelled, spurt: false, unseen: false }
    }
}

/// Analyses one stream.
#[derive(Clone, Debug)]
pub struct Analyser {
    config: AnalyserConfig,
    sequence: Sequence,
    slots: VecDeque<Slot>, // The last one is the highest number so far.
    /// Whether the first slot is the beginning of a sequence, of which nothing is settled: what came first may have
    /// overtaken others.
    begins: bool,
    clock: Option<Clock>,
    packet_ticks: Option<u32>,
    last_timestamp: u32,
    buffer: DejitterBuffer,
    labelled: Buffers,
    /// Whether the gap before the next packet may be the watcher's own.
    unseen: bool,
    jitter: JitterMeter,
    row_jitter: JitterMeter,
    delay: DelayMeter,
    counts: Counts,
    network: LossPattern,
    playout: LossPattern,
    spurts: SpurtMeter,
    open: VecDeque<RowSums>,
    rows: VecDeque<Row>,
    worst: Worst,
    worst_stretch: WorstStretch,
}

/// Where the rows begin, and how far time has come.
#[derive(Clone, Copy, Debug)]
struct Clock {
    first: Time,
    origin: Time, // The start of row 0, were there no breaks.
    last: Time,
}

impl Analyser {
    /// An analyser that has seen nothing.
    pub fn new(config: AnalyserConfig) -> Self {
        Self {
            config,
            sequence: Sequence::before(config.first_sequence),
            slots: VecDeque::new(),
            begins: false,
            clock: None,
            packet_ticks: None,
            last_timestamp: 0,
            buffer: DejitterBuffer::new(config.buffer, config.clock_rate_hz),
            labelled: Buffers::new(config.clock_rate_hz),
            unseen: false,
            jitter: JitterMeter::default(),
            row_jitter: JitterMeter::default(),
            delay: DelayMeter::default(),
            counts: Counts::default(),
            network: LossPattern::default(),
            playout: LossPattern::default(),
            spurts: SpurtMeter::default(),
            open: VecDeque::new(),
            rows: VecDeque::new(),
            worst: Worst::default(),
            worst_stretch: WorstStretch::default(),
        }
    }

    /// What is missing right before the next packet may have been dropped by whoever watches, and not by the network: it
    /// is counted as [`Counts::unseen`], and neither as expected nor as lost.
    pub fn expect_unseen(&mut self) {
        self.unseen = true;
    }

    /// Takes a packet, in the order of arrival. A time before the one of the packet before is taken for the same.
    pub fn handle_packet(&mut self, packet: &Packet) -> Taken {
        let now = self.advance_clock(packet.arrival);
        self.counts.packets += 1;
        self.counts.payload_bytes += u64::try_from(packet.payload_bytes).unwrap_or(u64::MAX);
        let taken = match self.sequence.classify(packet.sequence, self.slots.len()) {
            Position::First => {
                self.begins = true;
                Taken::New(self.handle_next(packet, now, 1))
            }
            Position::Ahead(steps) => Taken::New(self.handle_next(packet, now, steps)),
            Position::Behind(steps) => self.handle_behind(packet, now, steps),
            Position::Old(steps) if self.begins => {
                self.begin_earlier(steps);
                self.handle_behind(packet, now, steps)
            }
            Position::Old(_) => self.count_stale(),
            Position::Stray => {
                self.counts.strays += 1;
                Taken::Stray
            }
            Position::Restart => {
                self.restart();
                self.begins = true;
                Taken::New(self.handle_next(packet, now, 1))
            }
        };
        self.unseen = false;
        self.settle(now);
        taken
    }

    /// Time has passed. Settles what is old enough, so that rows come out while nothing arrives.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.clock.is_some() {
            let now = self.advance_clock(now);
            self.settle(now);
        }
    }

    /// So many more packets were sent after the last that arrived, as somebody else knows; they are lost. `from`: when
    /// the first of them was due, if none has arrived at all.
    pub fn handle_missing(&mut self, count: u64, from: Time) {
        self.settle_slots(None);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "1 µs at least, ms at most"
        )]
        let step = Micros((self.packet_ms() * 1e3).clamp(1.0, 1e9).round() as u64);
        let mut due = self.clock.map_or(from, |clock| clock.last + step);
        for _ in 0..count {
            let now = self.advance_clock(due);
            let row = self.row_of(now);
            self.open_rows(row);
            self.slots.push_back(Slot::missing(row, now));
            self.settle(now);
            due = due + step;
        }
        self.sequence.skip(count);
    }

    /// The stream is over: settles everything. More packets may follow; they continue the sequence.
    ///
    /// There are no rows for the silence behind the last packet, as far as they have not come out yet.
    pub fn finish(&mut self) {
        self.settle_slots(None);
        while self.open.back().is_some_and(RowSums::is_empty) {
            self.open.pop_back();
        }
        while !self.open.is_empty() {
            self.close_row();
        }
    }

    /// The next row, oldest first.
    pub fn poll_row(&mut self) -> Option<Row> {
        self.rows.pop_front()
    }

    /// The figures over everything that is settled; after [`Analyser::finish`], over everything.
    pub fn summary(&self) -> Summary {
        summary::summarise(self)
    }

    /// The settings that it was made with.
    pub const fn config(&self) -> &AnalyserConfig {
        &self.config
    }

    /// How often the dejitter buffer began anew because the delay's floor had moved.
    pub fn buffer_moves(&self) -> u64 {
        self.buffer.moves()
    }

    /// The judge for this stream: the codec, the length of packets as stated or learnt, and the buffer's delay.
    pub fn judge(&self) -> Judge {
        Judge {
            codec: self.config.codec,
            packet_ms: self.packet_ms(),
            playout_ms: self.config.buffer.delay().as_seconds() * 1e3,
            sensitivity: crate::emodel::DelaySensitivity::Default,
            advantage: self.config.advantage,
        }
    }

    fn packet_ms(&self) -> f64 {
        match (self.config.packet, self.packet_ticks) {
            (Some(packet), _) => packet.as_seconds() * 1e3,
            (None, Some(ticks)) => f64::from(ticks) * 1e3 / f64::from(self.config.clock_rate_hz.max(1)),
            (None, None) => 20.0,
        }
    }

    /// Never lets time go back. The first packet starts row 0; after a long silence the rows go on where they were.
    fn advance_clock(&mut self, now: Time) -> Time {
        let interval = self.interval();
        let Some(clock) = &mut self.clock else {
            self.clock = Some(Clock { first: now, origin: now, last: now });
            self.open.push_back(RowSums::new(0));
            return now;
        };
        let now = now.max(clock.last);
        clock.last = now;
        let (current, wanted) = (self.open.back().map_or(0, |row| row.index), clock.row(now, interval));
        if wanted > current.saturating_add(SILENT_ROWS_MAX) {
            self.settle_slots(None);
            self.skip_to(now, current + 1);
        }
        now
    }

    /// Makes row `index` begin at `now`, leaving out the silence before it.
    fn skip_to(&mut self, now: Time, index: u64) {
        let interval = self.interval();
        if let Some(clock) = &mut self.clock {
            clock.origin = Time(now.0.saturating_sub(index.saturating_mul(interval.0)));
        }
        self.counts.silences += 1;
        self.open_rows(index);
    }

    fn interval(&self) -> Micros {
        Micros(self.config.interval.0.max(1_000))
    }

    fn row_of(&self, time: Time) -> u64 {
        self.clock.map_or(0, |clock| clock.row(time, self.interval()))
    }

    /// Opens rows up to `index`. The jitter of the row before is complete then.
    fn open_rows(&mut self, index: u64) {
        while self.open.back().is_none_or(|row| row.index < index) {
            let next = self.open.back().map_or(index, |row| row.index + 1);
            if let Some(row) = self.open.back_mut() {
                row.jitter = Some(self.row_jitter.jitter());
                self.row_jitter.next_interval();
            }
            self.open.push_back(RowSums::new(next));
        }
    }

    fn handle_next(&mut self, packet: &Packet, now: Time, steps: u16) -> Fate {
        let row = self.row_of(now);
        self.open_rows(row);
        let oldest = self.open.front().map_or(row, |open| open.index);
        let before = self.slots.back().map_or(now, |slot| slot.due);
        for step in 1..steps {
            let share = now.since(before).0.saturating_mul(u64::from(step)) / u64::from(steps);
            let due = before + Micros(share);
            let row = self.row_of(due).clamp(oldest, row);
            self.slots.push_back(Slot { unseen: self.unseen, ..Slot::missing(row, due) });
        }
        let spurt = self.starts_talkspurt(packet, steps);
        let (fate, labelled) = self.receive(packet, now, spurt);
        let discarded = fate != Fate::Played;
        self.slots.push_back(Slot { arrived: true, discarded, labelled, spurt, ..Slot::missing(row, now) });
        fate
    }

    fn handle_behind(&mut self, packet: &Packet, now: Time, steps: u16) -> Taken {
        let position = self.slots.len().checked_sub(usize::from(steps) + 1);
        match position.and_then(|index| self.slots.get(index)) {
            Some(slot) if slot.arrived => {
                self.counts.duplicates += 1;
                Taken::Duplicate
            }
            Some(_) => {
                let row = self.row_of(now);
                self.open_rows(row);
                let (fate, labelled) = self.receive(packet, now, packet.marker);
                self.counts.reordered += 1;
                if let Some(slot) = position.and_then(|index| self.slots.get_mut(index)) {
                    (slot.arrived, slot.discarded, slot.labelled) = (true, fate != Fate::Played, labelled);
                    slot.spurt |= packet.marker;
                }
                Taken::Reordered(fate)
            }
            None => self.count_stale(),
        }
    }

    /// Makes slots before the first, so that there are `steps` before the last. When they were due nobody knows; it was
    /// not after the first. The first of them begins the talkspurt now.
    fn begin_earlier(&mut self, steps: u16) {
        while self.slots.len() <= usize::from(steps) {
            let Some(first) = self.slots.front_mut() else { return };
            let earlier = Slot { spurt: first.spurt, ..Slot::missing(first.row, first.due) };
            first.spurt = false;
            self.slots.push_front(earlier);
        }
    }

    fn count_stale(&mut self) -> Taken {
        self.counts.stale += 1;
        Taken::Stale
    }

    /// A marker, or timestamps that went on while sequence numbers did not: the sender was silent.
    fn starts_talkspurt(&mut self, packet: &Packet, steps: u16) -> bool {
        let ticks = packet.timestamp.wrapping_sub(self.last_timestamp);
        let first = self.slots.is_empty() && self.network.expected() == 0;
        self.last_timestamp = packet.timestamp;
        if first || packet.marker || steps != 1 {
            return first || packet.marker;
        }
        let plausible = ticks > 0 && ticks <= self.config.clock_rate_hz / 4; // No packet holds more than 250 ms.
        if plausible && self.packet_ticks.is_none_or(|least| ticks < least) {
            self.packet_ticks = Some(ticks);
        }
        self.packet_ticks.is_some_and(|usual| ticks >= usual.saturating_mul(2) && ticks < u32::MAX / 2)
    }

    /// Everything that is measured when a packet arrives.
    fn receive(&mut self, packet: &Packet, now: Time, spurt: bool) -> (Fate, Discarded) {
        let rate = self.config.clock_rate_hz;
        self.jitter.add(now, packet.timestamp, rate);
        self.row_jitter.add(now, packet.timestamp, rate);
        let ticks = self.packet_ticks.unwrap_or(rate / 50);
        let fate = self.buffer.push(now, packet.timestamp, ticks, spurt);
        let labelled = self.labelled.push(now, packet.timestamp, ticks, spurt);
        let Some(row) = self.open.back_mut() else { return (fate, labelled) };
        row.received += 1;
        match fate {
            Fate::Played => {}
            Fate::Late => {
                row.late += 1;
                self.counts.late += 1;
            }
            Fate::Overflow => {
                row.overflow += 1;
                self.counts.overflow += 1;
            }
        }
        if let Some(delay) = packet.delay_ms {
            row.delay.add(delay);
            self.delay.add(delay);
        }
        (fate, labelled)
    }

    fn restart(&mut self) {
        self.settle_slots(None);
        self.counts.restarts += 1;
        self.jitter.restart();
        self.row_jitter.restart();
        self.buffer.restart();
        self.labelled.restart();
    }

    fn settle(&mut self, now: Time) {
        let before = Time(now.0.saturating_sub(self.config.settle.0));
        self.settle_slots(Some(before));
        let current = self.row_of(now);
        self.open_rows(current);
        let interval = self.interval();
        while let (Some(clock), Some(row)) = (self.clock, self.open.front()) {
            let pending = self.slots.front().is_some_and(|slot| slot.row <= row.index);
            if pending || row.index >= current || clock.end(row.index, interval) > before {
                break;
            }
            self.close_row();
        }
    }

    /// Settles the places that are due before a time and those far behind the highest; `None`: all.
    fn settle_slots(&mut self, before: Option<Time>) {
        while let Some(slot) = self.slots.front().copied() {
            let near = self.slots.len() <= sequence::BEHIND_MAX;
            if before.is_some_and(|before| near && slot.due > before) {
                return;
            }
            self.slots.pop_front();
            self.begins = false;
            self.settle_slot(slot);
        }
    }

    fn settle_slot(&mut self, slot: Slot) {
        if slot.unseen && !slot.arrived {
            self.counts.unseen += 1;
            return;
        }
        let (lost, unplayed) = (!slot.arrived, !slot.arrived || slot.discarded);
        let begins_run = unplayed && !self.playout.is_in_run();
        self.counts.received += u64::from(slot.arrived);
        self.network.push(lost);
        self.labelled.settle(lost, slot.labelled);
        self.playout.push(unplayed);
        self.spurts.push(slot.spurt, unplayed);
        // A place found missing after its row was closed counts in the oldest row that is open.
        let row = self.open.iter_mut().find(|row| row.index >= slot.row);
        if let Some(row) = row {
            row.network.push(lost);
            row.playout.push(unplayed);
            row.runs_begun += u64::from(begins_run);
        }
    }

    fn close_row(&mut self) {
        let Some(mut sums) = self.open.pop_front() else { return };
        if sums.jitter.is_none() {
            sums.jitter = Some(self.row_jitter.jitter());
            self.row_jitter.next_interval();
        }
        let start = self.clock.map_or(Micros(0), |clock| clock.start(sums.index, self.interval()));
        let row = rows::row(&sums, start, self.interval(), &self.config, &self.judge());
        self.worst.follow(&row);
        self.worst_stretch.follow(&row, self.config.codec);
        if self.rows.len() == ROWS_MAX {
            self.rows.pop_front();
            self.counts.rows_dropped += 1;
        }
        self.rows.push_back(row);
    }
}

impl Clock {
    fn row(&self, time: Time, interval: Micros) -> u64 {
        time.since(self.origin).0 / interval.0
    }

    fn end(&self, index: u64, interval: Micros) -> Time {
        self.origin + Micros(index.saturating_add(1).saturating_mul(interval.0))
    }

    /// The start of a row since the first packet.
    fn start(&self, index: u64, interval: Micros) -> Micros {
        (self.origin + Micros(index.saturating_mul(interval.0))).since(self.first)
    }
}
