//! A dejitter buffer of fixed size, as paper A assumes one: what it would play, and what comes too late or too soon.
//!
//! Paper A, section 4.2: a buffer of 120 ms, and the first packet is played when it is half full, after 60 ms or 3
//! packets. That sentence can be read in two ways, so the rule is a parameter: [`Anchor`].

mod floor;

use floor::Floor;
use guestright_units::{Micros, Time};
use serde::Serialize;

/// A packet whose playing time is further away than this is not of the same stream of timestamps, µs.
const BREAK_US: i128 = 10_000_000;

/// When the first packet is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Anchor {
    /// Half of the buffer's length after the first packet came (paper A: 60 ms).
    #[default]
    HalfTime,
    /// When packets for half of the buffer's length are there (paper A: 3 packets, so some 40 ms after the first
    /// came). After half of the buffer's length it starts in any case.
    HalfPackets,
}

/// A dejitter buffer's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferConfig {
    /// How much sound it holds.
    pub capacity: Micros,
    /// When it begins to play.
    pub anchor: Anchor,
    /// Whether it begins anew with each talkspurt, and when the delay's floor has moved: clocks drift, paths change,
    /// and receivers follow. Paper A's never does; a long call needs it.
    pub follows: bool,
}

impl BufferConfig {
    /// Paper A's: 120 ms, played from half occupancy on, anchored once.
    pub const PAPER_A: Self = Self { capacity: Micros(120_000), anchor: Anchor::HalfTime, follows: false };

    /// Of paper A's size, and follows as receivers do: for calls of any length, between any clocks.
    pub const FOLLOWING: Self = Self { follows: true, ..Self::PAPER_A };

    /// The delay that it adds: half of its length.
    pub const fn delay(&self) -> Micros {
        Micros(self.capacity.0 / 2)
    }
}

impl Default for BufferConfig {
    fn default() -> Self {
        Self::PAPER_A
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is played in time.
    Played,
    /// Its time is over.
    Late,
    /// It is so early that the buffer is full.
    Overflow,
}

/// A dejitter buffer that holds no sound, only times.
#[derive(Clone, Debug)]
pub struct DejitterBuffer {
    config: BufferConfig,
    clock_rate_hz: u32,
    last: Option<(u32, i64)>, // The timestamp before, as it came and unwrapped.
    state: State,
    floor: Floor,
    moves: u64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Empty,
    Filling { first_arrival: Time, least_ticks: i64, packets: u32 },
    Playing { start: Time, anchor_ticks: i64 },
}

impl DejitterBuffer {
    /// An empty buffer for a stream with so many timestamp ticks per second.
    pub fn new(config: BufferConfig, clock_rate_hz: u32) -> Self {
        let (floor, state) = (Floor::default(), State::Empty);
        Self { config, clock_rate_hz: clock_rate_hz.max(1), last: None, state, floor, moves: 0 }
    }

    /// How often it began anew because the delay's floor had moved.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Forgets the stream; the next packet is a first one.
    pub fn restart(&mut self) {
        self.last = None;
        self.state = State::Empty;
        self.floor = Floor::default();
    }

    /// Takes a packet that came at `arrival`, in the order of arrival. `packet_ticks` is how much sound it holds;
    /// `talkspurt`: it is the first after a silence.
    pub fn push(&mut self, arrival: Time, timestamp: u32, packet_ticks: u32, talkspurt: bool) -> Fate {
        let ticks = self.unwrap_timestamp(timestamp);
        if self.config.follows {
            let moved = self.floor.update(arrival, ticks, self.clock_rate_hz);
            self.moves += u64::from(moved);
            if moved || talkspurt {
                self.state = State::Empty;
            }
        }
        if let State::Playing { start, anchor_ticks } = self.state {
            if self.ahead_us(start, anchor_ticks, ticks, arrival).abs() <= BREAK_US {
                return self.judge(start, anchor_ticks, ticks, arrival);
            }
            self.state = State::Empty;
        }
        self.fill(arrival, ticks, packet_ticks)
    }

    fn unwrap_timestamp(&mut self, timestamp: u32) -> i64 {
        let ticks = match self.last {
            None => 0,
            Some((last, ticks)) => {
                ticks.saturating_add(i64::from(timestamp.wrapping_sub(last).cast_signed()))
            }
        };
        self.last = Some((timestamp, ticks));
        ticks
    }

    /// The first packets: nothing plays yet, so none of them is late.
    fn fill(&mut self, arrival: Time, ticks: i64, packet_ticks: u32) -> Fate {
        let half = self.config.delay();
        if self.config.anchor == Anchor::HalfTime {
            self.state = State::Playing { start: arrival + half, anchor_ticks: ticks };
            return Fate::Played;
        }
        let (first_arrival, least_ticks, packets) = match self.state {
            State::Filling { first_arrival, least_ticks, packets } => {
                (first_arrival, least_ticks.min(ticks), packets + 1)
            }
            State::Empty | State::Playing { .. } => (arrival, ticks, 1),
        };
        let held_us =
            u64::from(packets) * u64::from(packet_ticks) * 1_000_000 / u64::from(self.clock_rate_hz);
        let over = first_arrival + half;
        if held_us >= half.0 || arrival >= over {
            // If the half time is over before enough came, it began to play then.
            let start = if arrival < over { arrival } else { over };
            self.state = State::Playing { start, anchor_ticks: least_ticks };
            return self.judge(start, least_ticks, ticks, arrival);
        }
        self.state = State::Filling { first_arrival, least_ticks, packets };
        Fate::Played
    }

    /// How long before its playing time a packet came, µs; negative if it came after.
    fn ahead_us(&self, start: Time, anchor_ticks: i64, ticks: i64, arrival: Time) -> i128 {
        let media_us = i128::from(ticks - anchor_ticks) * 1_000_000 / i128::from(self.clock_rate_hz);
        i128::from(start.0) + media_us - i128::from(arrival.0)
    }

    fn judge(&self, start: Time, anchor_ticks: i64, ticks: i64, arrival: Time) -> Fate {
        let ahead = self.ahead_us(start, anchor_ticks, ticks, arrival);
        if ahead < 0 {
            Fate::Late
        } else if ahead > i128::from(self.config.capacity.0) {
            Fate::Overflow
        } else {
            Fate::Played
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Fate::{Late, Overflow, Played};

    /// Packets of 20 ms at 8 kHz, by number, with their arrivals in ms.
    fn fates(config: BufferConfig, packets: &[(u32, u64)]) -> Vec<Fate> {
        let mut buffer = DejitterBuffer::new(config, 8000);
        packets
            .iter()
            .map(|(number, arrival_ms)| {
                buffer.push(Time(arrival_ms * 1000), number.wrapping_mul(160), 160, *number == 0)
            })
            .collect()
    }

    #[test]
    fn a_packet_may_be_60_ms_slower_than_the_first_but_not_61() {
        let config = BufferConfig::PAPER_A;
        assert_eq!(fates(config, &[(0, 5), (1, 85), (2, 106)]), [Played, Played, Late]);
    }

    #[test]
    fn a_packet_may_be_60_ms_faster_than_the_first_but_not_61() {
        // The first one took long; those behind it come early.
        let config = BufferConfig::PAPER_A;
        assert_eq!(fates(config, &[(0, 100), (4, 120), (5, 139)]), [Played, Played, Overflow]);
    }

    #[test]
    fn the_other_reading_starts_with_the_third_packet() {
        let config = BufferConfig { anchor: Anchor::HalfPackets, ..BufferConfig::PAPER_A };
        // Starts at 40 ms; packet 5 plays at 140.
        assert_eq!(fates(config, &[(0, 0), (1, 20), (2, 40), (5, 140)]), [Played; 4]);
        assert_eq!(fates(config, &[(0, 0), (1, 20), (2, 40), (5, 141)]), [Played, Played, Played, Late]);
        assert_eq!(fates(BufferConfig::PAPER_A, &[(0, 0), (1, 20), (2, 40), (5, 160)]), [Played; 4]);
    }

    #[test]
    fn a_buffer_that_does_not_fill_starts_after_the_half_time() {
        let config = BufferConfig { anchor: Anchor::HalfPackets, ..BufferConfig::PAPER_A };
        assert_eq!(fates(config, &[(0, 0), (6, 120), (7, 201)]), [Played, Played, Late]);
    }

    #[test]
    fn packets_that_change_places_before_the_start_are_played() {
        let config = BufferConfig { anchor: Anchor::HalfPackets, ..BufferConfig::PAPER_A };
        assert_eq!(fates(config, &[(1, 0), (0, 1), (2, 40), (3, 100)]), [Played; 4]);
    }

    #[test]
    fn timestamps_wrap() {
        let mut buffer = DejitterBuffer::new(BufferConfig::PAPER_A, 8000);
        let first = u32::MAX - 200;
        for number in 0..6_u32 {
            let timestamp = first.wrapping_add(number * 160);
            assert_eq!(
                buffer.push(Time(u64::from(number) * 20_000), timestamp, 160, false),
                Played,
                "{number}"
            );
        }
    }

    #[test]
    fn drift_ends_in_lateness_unless_talkspurts_anchor_anew() {
        let drifting = |each| {
            let config = BufferConfig { follows: each, ..BufferConfig::PAPER_A };
            let mut buffer = DejitterBuffer::new(config, 8000);
            // 1 ms slower with each packet of 20 ms; a talkspurt every 50.
            (0..500_u64)
                .filter(|n| {
                    buffer.push(Time(n * 21_000), u32::try_from(n * 160).unwrap(), 160, n % 50 == 0) == Late
                })
                .count()
        };
        assert_eq!(drifting(false), 439);
        assert_eq!(drifting(true), 0);
    }

    #[test]
    fn a_break_in_the_timestamps_anchors_anew() {
        let mut buffer = DejitterBuffer::new(BufferConfig::PAPER_A, 8000);
        assert_eq!(buffer.push(Time(0), 0, 160, false), Played);
        assert_eq!(buffer.push(Time(20_000), 3_000_000_000, 160, false), Played);
        assert_eq!(buffer.push(Time(40_000), 3_000_000_160, 160, false), Played);
    }
}
