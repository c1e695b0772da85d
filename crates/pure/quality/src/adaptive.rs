//! A dejitter buffer that follows the jitter, as most receivers have one today.
//!
//! It keeps a histogram of how much later than the fastest packet each one came, in which old packets weigh less and less,
//! and waits so long that 98 % of them would have been in time: the way of WebRTC's buffer, in short. The wait changes at
//! once where a talkspurt begins, and otherwise by stretching or shrinking sound by 5 % at most.

use crate::dejitter::Fate;
use guestright_units::{Micros, Time};

/// The share of packets that should be in time.
const IN_TIME: f64 = 0.98;
/// Weight of the past in the histogram: 500 packets.
const PAST: f64 = 0.998;
/// The width of a class, µs, and how many there are: 500 ms, and what is later.
const CLASS_US: f64 = 5_000.0;
const CLASSES: usize = 101;
/// The wait before anything is known, µs: three packets.
const FIRST_WAIT_US: f64 = 60_000.0;
/// How fast the playing point may move within a talkspurt: this share of the sound in between.
const STRETCH: f64 = 0.05;
/// Timestamps that jump by more are another stream of them, µs.
const BREAK_US: f64 = 10_000_000.0;
/// How fast the fastest packet is forgotten, because clocks drift: 100 µs in a second of sound.
const DRIFT: f64 = 1e-4;

/// An adaptive dejitter buffer that holds no sound, only times.
#[derive(Clone, Debug)]
pub struct AdaptiveBuffer {
    /// The most that it waits behind the fastest packet, µs.
    wait_us_max: f64,
    clock_rate_hz: f64,
    /// The timestamp before, as it came and unwrapped in µs of sound.
    last: Option<(u32, f64)>,
    state: Option<Box<State>>,
    /// Sum and number of the waits, behind the fastest packet, of what was played.
    wait_us_sum: f64,
    played: u64,
}

/// All in µs; a transit is an arrival less a timestamp, so only differences mean something.
#[derive(Clone, Debug)]
struct State {
    first_arrival: Time,
    least: f64,
    wait: f64,
    packets: f64,
    /// Shares of the packets by their class; together 1.
    shares: [f64; CLASSES],
}

impl State {
    fn new(first_arrival: Time, transit: f64, wait: f64) -> Self {
        let mut shares = [0.0; CLASSES];
        shares[class(wait)] = 1.0;
        Self { first_arrival, least: transit, wait, packets: 1.0, shares }
    }

    fn learn(&mut self, behind: f64) {
        // Plain shares until there are enough packets for the weight.
        self.packets += 1.0;
        let present = (1.0 / self.packets).max(1.0 - PAST);
        self.shares.iter_mut().for_each(|share| *share *= 1.0 - present);
        self.shares[class(behind)] += present;
    }

    /// The wait for which enough packets are in time.
    #[expect(clippy::cast_precision_loss, reason = "a hundred classes")]
    fn wanted(&self) -> f64 {
        let mut sum = 0.0;
        let enough = |share: &f64| {
            sum += share;
            sum >= IN_TIME
        };
        let index = self.shares.iter().position(enough).unwrap_or(CLASSES - 1);
        index as f64 * CLASS_US
    }
}

/// The class whose upper bound is the next one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is held within the classes")]
#[expect(clippy::cast_precision_loss, reason = "a hundred classes")]
fn class(behind: f64) -> usize {
    (behind / CLASS_US).ceil().clamp(0.0, (CLASSES - 1) as f64) as usize
}

impl AdaptiveBuffer {
    /// An empty buffer that waits `wait_max` at most.
    #[expect(clippy::cast_precision_loss, reason = "microseconds of a buffer")]
    pub fn new(wait_max: Micros, clock_rate_hz: u32) -> Self {
        Self {
            wait_us_max: wait_max.0 as f64,
            clock_rate_hz: f64::from(clock_rate_hz.max(1)),
            last: None,
            state: None,
            wait_us_sum: 0.0,
            played: 0,
        }
    }

    /// The sender began anew.
    pub fn restart(&mut self) {
        (self.last, self.state) = (None, None);
    }

    /// Takes a packet in the order of arrival.
    pub fn push(&mut self, arrival: Time, timestamp: u32, talkspurt: bool) -> Fate {
        let (media, step) = self.unwrap_timestamp(timestamp);
        if step.abs() > BREAK_US {
            self.state = None;
        }
        let first_arrival = self.state.as_ref().map_or(arrival, |state| state.first_arrival);
        #[expect(clippy::cast_precision_loss, reason = "microseconds of a call")]
        let transit = arrival.since(first_arrival).0 as f64 - media;
        let wait_us_max = self.wait_us_max;
        let state = self.state.get_or_insert_with(|| {
            Box::new(State::new(first_arrival, transit, FIRST_WAIT_US.min(wait_us_max)))
        });
        state.least = (state.least + step.max(0.0) * DRIFT).min(transit);
        state.learn(transit - state.least);
        let most = if talkspurt { f64::INFINITY } else { step.abs() * STRETCH };
        let wanted = state.wanted().min(wait_us_max);
        state.wait += (wanted - state.wait).clamp(-most, most);
        if transit > state.least + state.wait {
            return Fate::Late;
        }
        self.wait_us_sum += state.wait;
        self.played += 1;
        Fate::Played
    }

    /// How long it waited behind the fastest packet in the mean, ms; `None` if nothing was played.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn mean_wait_ms(&self) -> Option<f64> {
        (self.played > 0).then(|| self.wait_us_sum / self.played as f64 / 1e3)
    }

    /// The sound up to a timestamp, and how much that is more than up to the one before, µs.
    fn unwrap_timestamp(&mut self, timestamp: u32) -> (f64, f64) {
        let (media, step) = self.last.map_or((0.0, 0.0), |(last, media)| {
            let step = f64::from(timestamp.wrapping_sub(last).cast_signed()) * 1e6 / self.clock_rate_hz;
            (media + step, step)
        });
        self.last = Some((timestamp, media));
        (media, step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packets of 20 ms with these transits in ms: how many are late, and the mean wait.
    fn run(wait_max_ms: u64, transits: impl Iterator<Item = u64>) -> (usize, f64) {
        let mut buffer = AdaptiveBuffer::new(Micros::from_millis(wait_max_ms), 8_000);
        let late = (0_u32..)
            .zip(transits)
            .filter(|(number, transit)| {
                let arrival = Time(u64::from(*number) * 20_000 + transit * 1_000);
                buffer.push(arrival, number.wrapping_mul(160).wrapping_add(u32::MAX - 500), *number == 0)
                    == Fate::Late
            })
            .count();
        (late, buffer.mean_wait_ms().unwrap_or(0.0))
    }

    #[test]
    fn an_even_path_is_waited_for_less_and_less() {
        let (late, wait) = run(500, std::iter::repeat_n(30, 3_000));
        assert_eq!(late, 0);
        assert!(wait < 10.0, "it began with 60 ms, and is near 0 after 2 s: {wait}");
    }

    #[test]
    fn an_uneven_path_is_waited_for_longer_and_loses_little() {
        // 0 to 120 ms, evenly spread: 98 % come within 118.
        let (late, wait) = run(500, (0..10_000_u64).map(|number| number * 78 % 121));
        assert!(late < 400 && (110.0..125.0).contains(&wait), "{late} {wait}");
        let (late, wait) = run(50, (0..10_000_u64).map(|number| number * 78 % 121));
        assert!(late > 5_000 && wait <= 50.0, "it may wait 50 ms: {late} {wait}");
    }

    #[test]
    fn a_path_that_becomes_longer_is_followed() {
        let (late, _) = run(500, (0..6_000_u64).map(|number| if number < 3_000 { 20 } else { 120 }));
        assert!((1..150).contains(&late), "at 5 % it takes 2 s: {late}");
    }

    proptest! {
        /// No wait is longer than what it may be, whatever comes.
        #[test]
        fn never_waits_longer_than_it_may(
            transits in prop::collection::vec(0_u64..3_000, 1..300), wait_max_ms in 1_u64..600,
        ) {
            let (_, wait) = run(wait_max_ms, transits.into_iter());
            #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
            let max = wait_max_ms as f64;
            prop_assert!((0.0..=max + 1e-6).contains(&wait), "{} {}", wait, max);
        }
    }
}
