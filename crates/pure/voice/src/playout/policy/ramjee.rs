//! The first and the fourth algorithm of Ramjee, Kurose, Towsley, Schulzrinne, "Adaptive Playout Mechanisms for
//! Packetized Audio Applications in Wide-Area Networks", INFOCOM 1994. Each holds a talkspurt for the mean delay and four
//! times its mean deviation.

use super::{Arrival, Policy};

/// Deviations that a talkspurt is held above the mean.
const DEVIATIONS: f64 = 4.0;

/// Algorithm 1: slow averages, gain 0.998002.
#[derive(Clone, Debug)]
pub struct Ramjee1 {
    deviations: f64,
    averages: Option<Averages>,
}

/// Mean delay and mean deviation, in µs.
#[derive(Clone, Copy, Debug)]
struct Averages {
    mean: f64,
    deviation: f64,
}

impl Averages {
    #[expect(clippy::cast_possible_truncation, reason = "a delay in µs is far below 2^63")]
    fn play_after(averages: Option<Self>, deviations: f64, first: &Arrival) -> i64 {
        averages.map_or_else(|| first.delay(), |it| (it.mean + deviations * it.deviation) as i64)
    }
}

#[expect(clippy::cast_precision_loss, reason = "microseconds since 1970 are below 2^52")]
fn delay_of(arrival: &Arrival) -> f64 {
    arrival.delay() as f64
}

impl Ramjee1 {
    const ALPHA: f64 = 0.998_002;

    /// Holds a talkspurt for so many mean deviations above the mean, at least 0; the paper has 4.
    #[must_use]
    pub fn with_deviations(deviations: f64) -> Self {
        Self { deviations: deviations.max(0.0), averages: None }
    }
}

impl Default for Ramjee1 {
    fn default() -> Self {
        Self::with_deviations(DEVIATIONS)
    }
}

impl Policy for Ramjee1 {
    fn name(&self) -> &'static str {
        "ramjee-1"
    }

    fn arrived(&mut self, arrival: &Arrival) {
        let delay = delay_of(arrival);
        let before = self.averages.unwrap_or(Averages { mean: delay, deviation: 0.0 });
        let mean = Self::ALPHA * before.mean + (1.0 - Self::ALPHA) * delay;
        let deviation = Self::ALPHA * before.deviation + (1.0 - Self::ALPHA) * (delay - mean).abs();
        self.averages = Some(Averages { mean, deviation });
    }

    fn play_after(&mut self, first: &Arrival) -> i64 {
        Averages::play_after(self.averages, self.deviations, first)
    }

    fn restart(&mut self) {
        self.averages = None;
    }
}

/// Algorithm 4: gain 0.875, and a mode in which it follows a sudden rise of the delay, and the slope down from it, at
/// once.
#[derive(Clone, Debug)]
pub struct Ramjee4 {
    deviations: f64,
    averages: Option<Averages>,
    /// The last two delays, the later first.
    last: Option<(f64, f64)>,
    /// In the spike: how steep the last delays were.
    spike: Option<f64>,
}

impl Ramjee4 {
    const ALPHA: f64 = 0.875;
    /// The algorithm counts in samples of 125 µs: a jump by more than 800 of them begins a spike.
    const JUMP: f64 = 800.0 * 125.0;
    /// A slope of at most 63 of them ends it.
    const FLAT: f64 = 63.0 * 125.0;

    /// Holds a talkspurt for so many mean deviations above the mean, at least 0; the paper has 4.
    #[must_use]
    pub fn with_deviations(deviations: f64) -> Self {
        Self { deviations: deviations.max(0.0), averages: None, last: None, spike: None }
    }
}

impl Default for Ramjee4 {
    fn default() -> Self {
        Self::with_deviations(DEVIATIONS)
    }
}

impl Policy for Ramjee4 {
    fn name(&self) -> &'static str {
        "ramjee-4"
    }

    fn arrived(&mut self, arrival: &Arrival) {
        let delay = delay_of(arrival);
        let (Some(before), Some((last, last_but_one))) = (self.averages, self.last) else {
            self.averages = Some(Averages { mean: delay, deviation: 0.0 });
            self.last = Some((delay, delay));
            return;
        };
        self.last = Some((delay, last));
        match self.spike {
            None if (delay - last).abs() > 2.0 * before.deviation + Self::JUMP => self.spike = Some(0.0),
            None => {}
            Some(slope) => {
                let slope = slope / 2.0 + ((2.0 * delay - last - last_but_one) / 8.0).abs();
                self.spike = Some(slope);
                if slope <= Self::FLAT {
                    self.spike = None;
                    return;
                }
            }
        }
        let mean = if self.spike.is_some() {
            before.mean + delay - last
        } else {
            Self::ALPHA * before.mean + (1.0 - Self::ALPHA) * delay
        };
        let deviation = Self::ALPHA * before.deviation + (1.0 - Self::ALPHA) * (delay - mean).abs();
        self.averages = Some(Averages { mean, deviation });
    }

    fn play_after(&mut self, first: &Arrival) -> i64 {
        Averages::play_after(self.averages, self.deviations, first)
    }

    fn restart(&mut self) {
        *self = Self::with_deviations(self.deviations);
    }
}
