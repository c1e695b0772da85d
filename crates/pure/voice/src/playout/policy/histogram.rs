//! A histogram of delays that forgets, as libwebrtc's NetEQ has it.
//!
//! Constants: `delay_manager.h`, `underrun_optimizer.cc` and `reorder_optimizer.cc` in `modules/audio_coding/neteq`,
//! <https://chromium.googlesource.com/external/webrtc/+/master/modules/audio_coding/neteq/delay_manager.h>. NetEQ
//! stretches time and changes its delay within talkspurts as well; here the same target is applied between them.

use super::{Arrival, Policy, WindowMinimum};
use guestright_units::{Micros, Time};

/// Holds a talkspurt for the 95 % quantile of the worst delays of each half second, or for longer if packets overtake each
/// other and the wait for them pays.
#[derive(Clone, Debug)]
pub struct Histogram {
    quantile: f64,
    underrun: Buckets,
    reorder: Buckets,
    base: WindowMinimum,
    highest: Option<(u64, i64)>,
    /// The worst relative delay since then, not yet entered.
    interval: Option<(Time, i64)>,
}

const FORGET: f64 = 0.983;
const REORDER_FORGET: f64 = 0.999_3;
/// The first values count more: the factor is at most 1 - 2 / (n + 1).
const START_WEIGHT: f64 = 2.0;
const RESAMPLE: Micros = Micros::from_millis(500);
const BUCKETS: usize = 100;
const BUCKET_MS: f64 = 20.0;
/// A per cent of loss is worth that much delay.
const MS_PER_LOSS_PERCENT: f64 = 20.0;
const START_MS: f64 = 80.0;
/// Delays are taken relative to the fastest packet of the last 2 s.
const HISTORY: Micros = Micros::from_seconds(2);

impl Histogram {
    /// NetEQ's own.
    pub const QUANTILE: f64 = 0.95;

    /// Has seen nothing: holds for 80 ms.
    #[must_use]
    pub fn new() -> Self {
        Self::with_quantile(Self::QUANTILE)
    }

    /// Aims at another quantile than NetEQ; values are brought between 0.5 and 1.
    #[must_use]
    pub fn with_quantile(quantile: f64) -> Self {
        Self {
            quantile: quantile.clamp(0.5, 1.0),
            underrun: Buckets::new(FORGET, Some(START_WEIGHT)),
            reorder: Buckets::new(REORDER_FORGET, None),
            base: WindowMinimum::new(HISTORY),
            highest: None,
            interval: None,
        }
    }

    /// The delay above the fastest packet that it aims at, in ms.
    fn target_ms(&self) -> f64 {
        let underrun = match self.underrun.quantile(self.quantile) {
            Some(bucket) => (as_f64(bucket) + 1.0) * BUCKET_MS,
            None => START_MS,
        };
        underrun.max(self.reorder.cheapest_ms())
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Policy for Histogram {
    fn name(&self) -> &'static str {
        "histogram"
    }

    fn arrived(&mut self, arrival: &Arrival) {
        let delay = arrival.delay();
        let base = self.base.add(delay, arrival.arrived);
        let relative = delay - base;
        let is_reordered = self.highest.is_some_and(|(highest, _)| arrival.sequence < highest);
        // Packets that come in order are entered as not reordered: delay 0.
        self.reorder.add(if is_reordered { relative } else { 0 });
        if !is_reordered {
            self.highest = Some((arrival.sequence, delay));
        }
        match &mut self.interval {
            Some((since, worst)) if arrival.arrived.since(*since) <= RESAMPLE => {
                *worst = (*worst).max(relative)
            }
            interval => {
                if let Some((_, worst)) = interval.replace((arrival.arrived, relative)) {
                    self.underrun.add(worst);
                }
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most 2 s in µs")]
    fn play_after(&mut self, first: &Arrival) -> i64 {
        let base = self.base.get().unwrap_or_else(|| first.delay());
        base + (self.target_ms() * 1e3) as i64
    }

    fn restart(&mut self) {
        *self = Self::with_quantile(self.quantile);
    }
}

/// Shares of 1 in buckets of 20 ms.
#[derive(Clone, Debug)]
struct Buckets {
    shares: Vec<f64>,
    forget: f64,
    start_weight: Option<f64>,
    count: f64,
}

impl Buckets {
    fn new(forget: f64, start_weight: Option<f64>) -> Self {
        Self { shares: vec![0.0; BUCKETS], forget, start_weight, count: 0.0 }
    }

    fn add(&mut self, delay: i64) {
        let bucket = usize::try_from(delay.max(0) / 20_000).unwrap_or(usize::MAX).min(BUCKETS - 1);
        let forget = match self.start_weight {
            Some(weight) => self.forget.min((1.0 - weight / (self.count + 1.0)).max(0.0)),
            None if self.count == 0.0 => 0.0,
            None => self.forget,
        };
        self.count += 1.0;
        self.shares.iter_mut().for_each(|share| *share *= forget);
        self.shares[bucket] += 1.0 - forget;
    }

    /// The first bucket at which the sum reaches `quantile`.
    fn quantile(&self, quantile: f64) -> Option<usize> {
        if self.count == 0.0 {
            return None;
        }
        let mut sum = 0.0;
        self.shares.iter().position(|share| {
            sum += share;
            sum >= quantile
        })
    }

    /// The delay at which waiting and losing together cost least.
    fn cheapest_ms(&self) -> f64 {
        if self.count == 0.0 {
            return 0.0;
        }
        let (mut best, mut best_cost, mut lost) = (0.0, f64::INFINITY, 1.0);
        for (bucket, share) in self.shares.iter().enumerate() {
            lost -= share;
            let delay = as_f64(bucket) * BUCKET_MS;
            let cost = delay + 100.0 * lost.max(0.0) * MS_PER_LOSS_PERCENT;
            if cost < best_cost {
                (best, best_cost) = (delay + if bucket == 0 { 0.0 } else { BUCKET_MS }, cost);
            }
        }
        best
    }
}

#[expect(clippy::cast_precision_loss, reason = "a bucket's number")]
fn as_f64(bucket: usize) -> f64 {
    bucket as f64
}
