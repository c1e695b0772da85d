use super::receiver::Receiver;
use super::reports::Reports;
use super::sender::Sender;
use super::{Delay, DelaySource};
use crate::playout::{Counts, Fate, Incoming, Playout};
use crate::reports::Reception;
use guestright_units::{Micros, Time};

/// A packet that came, as an analyser wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedPacket {
    /// The sequence number in the packet.
    pub sequence: u16,
    /// The timestamp in the packet.
    pub timestamp: u32,
    pub marker: bool,
    pub payload_type: u8,
    /// Bytes of payload, decrypted.
    pub payload_bytes: usize,
    /// When it came.
    pub arrival: Time,
    /// How long it was on its way, as far as that is known.
    pub delay: Option<Delay>,
    /// It came before.
    pub is_duplicate: bool,
}

impl ReceivedPacket {
    /// What became of `packet` in a buffer. The numbers are those in the packet, which the buffer has widened; how long it
    /// was on its way is not known.
    #[must_use]
    pub fn new(packet: &Incoming<'_>, sequence: u16, timestamp: u32, fate: Fate) -> Self {
        Self {
            sequence,
            timestamp,
            marker: packet.marker,
            payload_type: packet.payload_type,
            payload_bytes: packet.payload.len(),
            arrival: packet.arrived,
            delay: None,
            is_duplicate: fate == Fate::Duplicate,
        }
    }
}

/// What a second was like. Every count is of this second alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// When it began.
    pub start: Time,
    pub end: Time,
    /// Packets that should have come, by their sequence numbers.
    pub expected: u64,
    /// Packets that came for the first time.
    pub received: u64,
    /// Expected and not come by the end of the second. One that comes later counts as received then, and as reordered.
    pub lost: u64,
    /// Came after their turn.
    pub late: u64,
    /// Came again.
    pub duplicates: u64,
    /// Came after one with a higher number.
    pub reordered: u64,
    /// Dropped because the buffer was full.
    pub overflow: u64,
    /// Intervals that were concealed.
    pub concealed: u64,
    /// RFC 3550 jitter at the end of the second.
    pub jitter: Option<Micros>,
    /// One-way delay of the packets of this second, as far as it is known: its bounds hold for their mean.
    pub delay: Option<Delay>,
    /// The last measured round trip.
    pub round_trip: Option<Micros>,
    /// What the buffer added to the packet that was played last.
    pub buffered: Option<Micros>,
}

/// What the call was like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Packets that we sent.
    pub sent: u64,
    /// Bytes of payload in them.
    pub sent_octets: u64,
    /// Of them with comfort noise.
    pub sent_noise: u64,
    /// Talkspurts that we sent.
    pub talkspurts: u64,
    /// Frames that were not sent, because there were no keys yet.
    pub withheld: u64,
    /// Packets that should have come.
    pub expected: u64,
    /// What became of those that came.
    pub playout: Counts,
    /// Packets that came again. With protection most of them do not get as far as the buffer.
    pub duplicates: u64,
    /// Datagrams that were refused: forged, strange, malformed.
    pub refused: u64,
    /// RFC 3550 jitter at the end.
    pub jitter: Option<Micros>,
    /// The shortest measured round trip.
    pub round_trip_min: Option<Micros>,
    /// The last measured round trip.
    pub round_trip: Option<Micros>,
    /// What the peer said last: packets that it lost since the beginning.
    pub peer_lost: Option<i32>,
    /// What the peer said last: its share of loss in its last interval, in 1/256.
    pub peer_fraction_lost: Option<u8>,
    /// Seconds in which the clocks contradicted the round trip.
    pub contradictions: u64,
    /// Reports that came.
    pub reports: u64,
}

/// The parts of a session that know what becomes of packets that come.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) receiver: &'a Receiver,
    pub(super) playout: &'a Playout,
    pub(super) reports: &'a Reports,
}

#[derive(Debug)]
pub(super) struct Statistics {
    start: Time,
    highest: Option<u64>,
    highest_at_start: Option<u64>,
    before: Counts,
    received: u64,
    pub(super) duplicates: u64,
    delay_sum: i128,
    delay_count: i128,
    pub(super) refused: u64,
    expected_before: u64,
    contradictions: u64,
    duplicates_before: u64,
}

/// The length of a row.
const ROW: Micros = Micros::from_seconds(1);
/// After such a pause in the program around us no rows are made up for the time between.
const ROWS_BEHIND_MAX: u64 = 60;

impl Statistics {
    pub(super) fn new(now: Time) -> Self {
        Self {
            start: now,
            highest: None,
            highest_at_start: None,
            before: Counts::default(),
            received: 0,
            duplicates: 0,
            delay_sum: 0,
            delay_count: 0,
            refused: 0,
            expected_before: 0,
            contradictions: 0,
            duplicates_before: 0,
        }
    }

    pub(super) fn packet(&mut self, sequence: u64, fate: Fate, delay: Option<i64>) {
        if fate == Fate::Duplicate {
            self.duplicates += 1;
            return;
        }
        self.received += 1;
        // The first packet of all is the first that was expected.
        self.highest_at_start.get_or_insert(sequence.saturating_sub(1));
        self.highest = self.highest.max(Some(sequence));
        if let Some(delay) = delay {
            self.delay_sum += i128::from(delay);
            self.delay_count += 1;
        }
    }

    pub(super) fn restart_source(&mut self) {
        self.expected_before += self.expected();
        (self.highest, self.highest_at_start) = (None, None);
    }

    fn expected(&self) -> u64 {
        self.highest.zip(self.highest_at_start).map_or(0, |(now, start)| now.saturating_sub(start))
    }

    pub(super) fn row_end(&self) -> Time {
        self.start + ROW
    }

    pub(super) fn row_if_over(&mut self, now: Time, sources: &Sources<'_>) -> Option<Row> {
        if now < self.row_end() {
            return None;
        }
        let behind = now.since(self.start).0 / ROW.0;
        let end = if behind > ROWS_BEHIND_MAX { now } else { self.row_end() };
        Some(self.row(end, sources))
    }

    /// The rest of a second, at the end of the call.
    pub(super) fn row_at_end(&mut self, now: Time, sources: &Sources<'_>) -> Option<Row> {
        let whole = self.row_if_over(now, sources);
        whole.or_else(|| (now > self.start).then(|| self.row(now, sources)))
    }

    fn row(&mut self, end: Time, sources: &Sources<'_>) -> Row {
        let Sources { receiver, playout, reports } = *sources;
        let counts = playout.counts();
        let expected = self.expected_before + self.expected();
        let mean = self.delay_sum.checked_div(self.delay_count).and_then(|mean| i64::try_from(mean).ok());
        let delay = if self.received == 0 { None } else { reports.delay(mean) };
        let is_contradiction = delay.is_some_and(|delay| delay.source == DelaySource::Contradiction);
        self.contradictions += u64::from(is_contradiction);
        let row = Row {
            start: self.start,
            end,
            expected,
            received: self.received,
            lost: expected.saturating_sub(self.received),
            late: counts.late - self.before.late,
            duplicates: self.duplicates,
            reordered: counts.reordered - self.before.reordered,
            overflow: counts.overflow - self.before.overflow,
            concealed: counts.concealed - self.before.concealed,
            jitter: receiver.look().map(Reception::jitter),
            delay,
            round_trip: reports.round_trip(),
            buffered: playout.added(),
        };
        self.start = end;
        self.duplicates_before += self.duplicates;
        self.before = counts;
        (self.received, self.duplicates, self.expected_before) = (0, 0, 0);
        (self.delay_sum, self.delay_count) = (0, 0);
        self.highest_at_start = self.highest;
        row
    }

    pub(super) fn summary(&self, sender: &Sender, sources: &Sources<'_>) -> Summary {
        let Sources { receiver, playout, reports } = *sources;
        Summary {
            sent: sender.packets,
            sent_octets: sender.octets,
            sent_noise: sender.noise_packets,
            talkspurts: sender.talkspurts,
            withheld: sender.withheld,
            expected: receiver.look().map_or(0, Reception::expected),
            playout: playout.counts(),
            duplicates: self.duplicates_before + self.duplicates,
            refused: self.refused,
            jitter: receiver.look().map(Reception::jitter),
            round_trip_min: reports.round_trip_min,
            round_trip: reports.round_trip(),
            peer_lost: reports.peer_block.map(|block| block.cumulative_lost),
            peer_fraction_lost: reports.peer_block.map(|block| block.fraction_lost),
            contradictions: self.contradictions,
            reports: reports.reports_received,
        }
    }
}
