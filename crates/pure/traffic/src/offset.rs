//! How far two clocks are apart, as an interval that is sure to hold the truth.
//!
//! An exchange gives four times (RFC 5905, section 8, calls them T1 to T4): a question leaves at T1 by our clock and
//! arrives at T2 by theirs, the answer leaves at T3 by theirs and arrives at T4 by ours. No datagram arrives before
//! it left, so `theirs − ours` lies between `T3 − T4` and `T2 − T1`. Nothing is assumed about the way being as fast in
//! one direction as in the other. Each exchange narrows the interval, those with little queueing the most (the minimum
//! filter of RFC 5905, section 10, as a set), and time widens it, because clocks drift. Every packet of voice that
//! arrives is half an exchange, and narrows it from one side.

use guestright_quality::Interval;
use guestright_units::{Micros, Time};
use serde::Serialize;

/// How fast two quartz clocks may drift apart: 100 ppm each.
pub const DRIFT_PPM_MAX: f64 = 200.0;
/// Exchanges that took longer say nothing worth having.
const ROUND_TRIP_MAX: Micros = Micros::from_seconds(2);

/// Where the knowledge about the two clocks comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClockSource {
    /// From exchanges during the run.
    Exchange,
    /// Both ends read one clock, by the user's word.
    Shared,
    /// Both clocks are kept right to within this much, by the word of the user or of the kernel (both errors added).
    Stated(Micros),
}

/// Four times of one exchange, in µs of the two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The question left, our clock.
    pub asked: Time,
    /// The question arrived, their clock.
    pub arrived: Time,
    /// The answer left, their clock.
    pub answered: Time,
    /// The answer arrived, our clock.
    pub received: Time,
}

/// What is known about the two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClockSummary {
    /// `theirs − ours` at the last exchange, µs.
    pub offset_us: Interval,
    /// How much faster theirs runs, parts per million. `None`: the run was too short to tell.
    pub drift_ppm: Option<Interval>,
    /// Exchanges that were taken.
    pub exchanges: u64,
    /// The fastest exchange, µs.
    pub round_trip_us: Option<f64>,
    /// How often a clock was set during the run. Delays around it are wrong.
    pub steps: u64,
}

/// Follows the offset of another clock.
#[derive(Clone, Debug)]
pub struct ClockMeter {
    source: ClockSource,
    current: Option<Bound>,
    first: Option<Bound>,
    exchanges: u64,
    steps: u64,
    round_trip: Option<Micros>,
}

/// The offset at a time of ours.
#[derive(Clone, Copy, Debug)]
struct Bound {
    at: Time,
    us: Interval,
}

impl Bound {
    /// The same, later: wider by what the clocks may have drifted.
    fn widened(self, at: Time) -> Self {
        let age = at.since(self.at).0.max(self.at.since(at).0);
        let drift = as_f64(i128::from(age)) * DRIFT_PPM_MAX / 1e6;
        Self { at, us: Interval::new(self.us.low - drift, self.us.high + drift) }
    }

    fn intersection(self, other: Interval) -> Option<Interval> {
        let (low, high) = (self.us.low.max(other.low), self.us.high.min(other.high));
        (low <= high).then_some(Interval { low, high })
    }
}

impl ClockMeter {
    /// A meter that has seen no exchange.
    pub const fn new(source: ClockSource) -> Self {
        Self { source, current: None, first: None, exchanges: 0, steps: 0, round_trip: None }
    }

    pub fn wants_exchanges(&self) -> bool {
        self.source == ClockSource::Exchange
    }

    /// Takes an exchange. One that contradicts itself (an answer before its question) or took too long is dropped.
    pub fn handle_exchange(&mut self, exchange: Exchange) {
        let Exchange { asked, arrived, answered, received } = exchange;
        let took = received.since(asked);
        let us = Interval { low: difference(answered, received), high: difference(arrived, asked) };
        if received < asked || answered < arrived || took > ROUND_TRIP_MAX || us.low > us.high {
            return;
        }
        self.exchanges += 1;
        let round_trip = Micros(took.0.saturating_sub(answered.since(arrived).0));
        self.round_trip = Some(self.round_trip.map_or(round_trip, |least| least.min(round_trip)));
        let merged = self.current.map(|current| current.widened(received).intersection(us));
        let us = match merged {
            None => us,
            Some(Some(both)) => both,
            Some(None) => {
                // No drift explains it: one of the clocks was set.
                self.steps += 1;
                self.first = None;
                us
            }
        };
        let bound = Bound { at: received, us };
        // The first second counts as the start of the run.
        let early = self.first.is_none_or(|first| {
            received.since(first.at) < Micros(1_000_000) && us.width() < first.us.width()
        });
        if early {
            self.first = Some(bound);
        }
        self.current = Some(bound);
    }

    /// Something that they sent at `sent` arrived at `arrival`: also a bound, on one side. What contradicts the
    /// exchanges is left to the next exchange to explain.
    pub fn handle_arrival(&mut self, sent: Time, arrival: Time) {
        let Some(current) = self.current else { return };
        let bound = current.widened(arrival);
        let least = Interval { low: difference(sent, arrival), high: f64::INFINITY };
        if least.low > bound.us.low
            && let Some(us) = bound.intersection(least)
        {
            self.current = Some(Bound { at: arrival, us });
        }
    }

    /// `theirs − ours` in µs, at a time of ours; `None` before the first exchange.
    pub fn offset_us(&self, now: Time) -> Option<Interval> {
        match self.source {
            ClockSource::Shared => Some(Interval::ZERO),
            ClockSource::Stated(error) => Some(Interval::around(0.0, as_f64(i128::from(error.0)))),
            ClockSource::Exchange => Some(self.current?.widened(now).us),
        }
    }

    /// How long something was on its way that left at `sent` by their clock and arrived at `arrival` by ours, ms.
    pub fn delay_ms(&self, sent: Time, arrival: Time) -> Option<Interval> {
        let offset = self.offset_us(arrival)?;
        let apparent = difference(arrival, sent);
        Some(Interval { low: (apparent + offset.low) / 1e3, high: (apparent + offset.high) / 1e3 })
    }

    /// What is known by now.
    pub fn summary(&self) -> Option<ClockSummary> {
        let offset_us = match (self.source, self.current) {
            (ClockSource::Exchange, current) => current?.us,
            (ClockSource::Shared | ClockSource::Stated(_), _) => self.offset_us(Time(0))?,
        };
        Some(ClockSummary {
            offset_us,
            drift_ppm: self.drift_ppm(),
            exchanges: self.exchanges,
            round_trip_us: self.round_trip.map(|least| as_f64(i128::from(least.0))),
            steps: self.steps,
        })
    }

    /// The slopes that lead from the first bound to the last, if 10 s lie between them.
    fn drift_ppm(&self) -> Option<Interval> {
        let (first, last) = (self.first?, self.current?);
        let span = last.at.since(first.at);
        if span < Micros::from_seconds(10) {
            return None;
        }
        let ppm = |us: f64| (us / as_f64(i128::from(span.0)) * 1e6).clamp(-DRIFT_PPM_MAX, DRIFT_PPM_MAX);
        Some(Interval::new(ppm(last.us.low - first.us.high), ppm(last.us.high - first.us.low)))
    }
}

/// `one − other` in µs, with its sign.
fn difference(one: Time, other: Time) -> f64 {
    as_f64(i128::from(one.0) - i128::from(other.0))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a day has fewer than 2^37 µs; clocks apart by more than 2^52 are not clocks"
)]
fn as_f64(us: i128) -> f64 {
    us as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers of a test")]
    /// An exchange at `at`, with our clock right and theirs ahead by `offset` and faster by `ppm`.
    fn exchange(at: u64, there: u64, back: u64, offset: i64, ppm: f64) -> Exchange {
        let theirs =
            |ours: u64| Time((ours as f64 * (1.0 + ppm / 1e6)) as u64 + (10_000_000_000 + offset) as u64);
        let asked = 1_000_000_000 + at;
        Exchange {
            asked: Time(asked),
            arrived: theirs(asked + there),
            answered: theirs(asked + there + 5),
            received: Time(asked + there + 5 + back),
        }
    }

    #[test]
    fn knows_nothing_before_the_first_exchange() {
        let meter = ClockMeter::new(ClockSource::Exchange);
        assert_eq!((meter.offset_us(Time(5)), meter.summary()), (None, None));
        assert_eq!(
            ClockMeter::new(ClockSource::Shared).delay_ms(Time(1_000), Time(4_000)),
            Some(Interval::exact(3.0))
        );
        let stated = ClockMeter::new(ClockSource::Stated(Micros(500)));
        assert_eq!(stated.delay_ms(Time(1_000), Time(4_000)), Some(Interval::new(2.5, 3.5)));
    }

    #[test]
    fn a_symmetric_exchange_bounds_the_offset_by_half_a_round_trip() {
        let mut meter = ClockMeter::new(ClockSource::Exchange);
        meter.handle_exchange(exchange(0, 1_000, 1_000, 777, 0.0));
        let offset = meter.summary().unwrap().offset_us;
        assert_eq!(offset, Interval::around(10_000_000_777.0, 1_000.0));
        assert_eq!(meter.summary().unwrap().round_trip_us, Some(2_000.0));
    }

    #[test]
    fn lies_and_slow_answers_are_dropped() {
        let mut meter = ClockMeter::new(ClockSource::Exchange);
        let good = exchange(0, 10, 10, 0, 0.0);
        meter.handle_exchange(Exchange { answered: Time(0), ..good });
        meter.handle_exchange(Exchange { received: Time(0), ..good });
        meter.handle_exchange(exchange(0, 3_000_000, 0, 0, 0.0));
        // An answer that claims to have been under way for less than no time.
        meter.handle_exchange(Exchange { answered: Time(good.answered.0 + 1_000), ..good });
        assert_eq!(meter.summary(), None);
    }

    #[test]
    fn a_clock_that_is_set_is_noticed() {
        let mut meter = ClockMeter::new(ClockSource::Exchange);
        for n in 0..20 {
            meter.handle_exchange(exchange(n * 1_000_000, 300, 300, if n < 10 { 0 } else { 250_000 }, 0.0));
        }
        let summary = meter.summary().unwrap();
        assert_eq!(summary.steps, 1);
        assert!(summary.offset_us.contains(10_000_250_000.0));
    }

    #[test]
    fn drift_is_told_when_there_is_time_to_tell() {
        let mut meter = ClockMeter::new(ClockSource::Exchange);
        for n in 0..90 {
            meter.handle_exchange(exchange(n * 1_000_000, 200, 200, 0, 50.0));
        }
        let drift = meter.summary().unwrap().drift_ppm.unwrap();
        assert!(drift.contains(50.0) && drift.width() < 20.0, "{drift:?}");
    }

    proptest! {
        /// Whatever the way does in either direction, and whatever the clocks drift: the truth is within the bounds.
        #[test]
        fn the_truth_is_within_the_bounds(
            ways in prop::collection::vec((0..50_000_u64, 0..50_000_u64), 1..60),
            offset in -1_000_000_000..1_000_000_000_i64,
            ppm in -150.0..150.0_f64,
        ) {
            let mut meter = ClockMeter::new(ClockSource::Exchange);
            for (n, (there, back)) in ways.iter().enumerate() {
                let exchange = exchange(n as u64 * 1_000_000, *there, *back, offset, ppm);
                meter.handle_exchange(exchange);
                // A packet that left with the answer, and was as fast as the next exchange's.
                let arrival = exchange.received + Micros(ways[(n + 1) % ways.len()].1);
                meter.handle_arrival(exchange.answered, arrival);
                let delay = meter.delay_ms(exchange.answered, arrival).unwrap();
                prop_assert!(delay.low >= -0.005, "{:?}", delay);
            }
            prop_assert_eq!(meter.summary().unwrap().steps, 0);
            let now = 1_000_000_000 + ways.len() as u64 * 1_000_000;
            let truth = now as f64 * ppm / 1e6 + 10_000_000_000.0 + offset as f64;
            let bounds = meter.offset_us(Time(now)).unwrap();
            prop_assert!(bounds.low - 2.0 <= truth && truth <= bounds.high + 2.0, "{:?} {}", bounds, truth);
        }
    }
}
