//! Delays in bounded memory: mean, least, largest, quantiles.
//!
//! Quantiles come from counts in classes whose limits grow by 2 %, so they are within 1 % of the truth, whatever the
//! distribution (the idea of DDSketch, Masson and others, VLDB 2019). Below 0.01 ms everything is one class.

use std::collections::BTreeMap;

use libm::{log, pow};
use serde::Serialize;

use crate::interval::Interval;

const GROWTH: f64 = 1.02;
const LN_GROWTH: f64 = 0.019_802_627_296_179_73;
const LEAST_MS: f64 = 0.01;
/// The last class starts near 100 s.
const CLASS_MAX: u16 = 814;

/// Collects one-way delays, each of them an interval.
#[derive(Clone, Debug, Default)]
pub struct DelayMeter {
    low: Sketch,
    high: Sketch,
}

/// What the delays amount to, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DelaySummary {
    /// How many packets had one.
    pub count: u64,
    /// The mean of all.
    pub mean_ms: Interval,
    /// The delay of the fastest packet.
    pub least_ms: Interval,
    /// Half of the packets were not slower. Quantiles are within 1 %.
    pub median_ms: Interval,
    /// 95 % of the packets were not slower.
    pub p95_ms: Interval,
    /// 99 % of the packets were not slower.
    pub p99_ms: Interval,
    /// The delay of the slowest packet.
    pub largest_ms: Interval,
}

impl DelayMeter {
    /// Takes the delay of one packet in ms. What is not a number is left out.
    pub fn add(&mut self, delay_ms: Interval) {
        if delay_ms.is_finite() {
            self.low.add(delay_ms.low);
            self.high.add(delay_ms.high);
        }
    }

    /// The mean in ms, if there was any.
    pub fn mean_ms(&self) -> Option<Interval> {
        Some(Interval::new(self.low.mean()?, self.high.mean()?))
    }

    /// A quantile in ms, `share` from 0 to 1; within 1 %.
    pub fn quantile_ms(&self, share: f64) -> Option<Interval> {
        Some(Interval::new(self.low.quantile(share)?, self.high.quantile(share)?))
    }

    /// The figures so far; `None` if there was no delay.
    pub fn summary(&self) -> Option<DelaySummary> {
        Some(DelaySummary {
            count: self.low.count,
            mean_ms: self.mean_ms()?,
            least_ms: Interval::new(self.low.least, self.high.least),
            median_ms: self.quantile_ms(0.5)?,
            p95_ms: self.quantile_ms(0.95)?,
            p99_ms: self.quantile_ms(0.99)?,
            largest_ms: Interval::new(self.low.largest, self.high.largest),
        })
    }
}

#[derive(Clone, Debug, Default)]
struct Sketch {
    count: u64,
    sum: f64,
    least: f64,
    largest: f64,
    classes: BTreeMap<u16, u64>,
}

impl Sketch {
    fn add(&mut self, value: f64) {
        if self.count == 0 {
            (self.least, self.largest) = (value, value);
        }
        self.least = self.least.min(value);
        self.largest = self.largest.max(value);
        self.count += 1;
        self.sum += value;
        *self.classes.entry(class_of(value)).or_default() += 1;
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (share.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0);
        let mut seen = 0;
        for (class, count) in &self.classes {
            seen += count;
            if seen as f64 >= rank {
                return Some(middle_of(*class).clamp(self.least, self.largest));
            }
        }
        None
    }
}

fn class_of(value: f64) -> u16 {
    if value <= LEAST_MS {
        return 0;
    }
    let class = (log(value / LEAST_MS) / LN_GROWTH).ceil().clamp(1.0, f64::from(CLASS_MAX));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 1 ..= 814 above")]
    let class = class as u16;
    class
}

/// The value that is least wrong for a class, relative to its limits. Class 0 is clamped by the least value.
fn middle_of(class: u16) -> f64 {
    if class == 0 {
        f64::NEG_INFINITY
    } else {
        LEAST_MS * pow(GROWTH, f64::from(class)) * 2.0 / (1.0 + GROWTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_delay_is_no_figure() {
        assert_eq!(DelayMeter::default().summary(), None);
        let mut meter = DelayMeter::default();
        meter.add(Interval::exact(f64::NAN));
        assert_eq!(meter.summary(), None);
    }

    #[test]
    fn clock_error_goes_through() {
        let mut meter = DelayMeter::default();
        for delay in [10.0, 20.0, 30.0] {
            meter.add(Interval::around(delay, 15.0));
        }
        let summary = meter.summary().unwrap();
        assert_eq!(summary.mean_ms, Interval::new(5.0, 35.0));
        assert_eq!(summary.least_ms, Interval::new(-5.0, 25.0));
        assert_eq!(summary.largest_ms, Interval::new(15.0, 45.0));
    }

    proptest! {
        #[test]
        fn quantiles_are_within_one_percent(
            mut delays in prop::collection::vec(0.02..5_000.0_f64, 1..300),
            share in 0.0..=1.0_f64,
        ) {
            let mut meter = DelayMeter::default();
            delays.iter().for_each(|delay| meter.add(Interval::exact(*delay)));
            delays.sort_by(f64::total_cmp);
            let rank = (share * delays.len() as f64).ceil().max(1.0);
            let position = (1..=delays.len()).find(|n| *n as f64 >= rank).unwrap();
            let want = delays[position - 1];
            let got = meter.quantile_ms(share).unwrap().low;
            prop_assert!((got - want).abs() <= want * 0.0101, "{} {}", got, want);
        }

        #[test]
        fn memory_does_not_grow(delays in prop::collection::vec(any::<f64>(), 0..3000)) {
            let mut meter = DelayMeter::default();
            delays.iter().for_each(|delay| meter.add(Interval::exact(*delay)));
            prop_assert!(meter.low.classes.len() <= usize::from(CLASS_MAX) + 1);
        }
    }
}
