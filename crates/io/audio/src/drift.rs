//! Two clocks that say they are the same and are not.
//!
//! A sound card's 48,000 Hz are up to some hundred ppm more or less than those of the computer. Between them is a ring;
//! how full it is tells which one is faster. A proportional and integral controller keeps it at a target by stretching
//! the speech by a few ppm, which nobody hears.
//!
//! With the error `e` in seconds of sound, the correction is `K e + K²/4 ∫e dt`, which is critically damped: the fill
//! level is an integrator itself. `K` is 0.1/s, so that it settles within a minute and a period of the sound card has
//! next to no influence.

/// K, per second.
const PROPORTIONAL: f64 = 0.1;
/// K²/4, per second squared.
const INTEGRAL: f64 = PROPORTIONAL * PROPORTIONAL / 4.0;
/// Fill levels are averaged over about this many seconds.
const AVERAGED: f64 = 1.0;
/// The largest correction: 5,000 ppm, 9 hundredths of a semitone.
const CORRECTION_MAX: f64 = 0.005;
/// The largest lasting one.
const LASTING_MAX: f64 = 0.002;

/// Keeps a ring between two clocks at a fill level.
#[derive(Clone, Debug)]
pub struct Drift {
    rate_hz: f64,
    target: f64,
    average: Option<f64>,
    lasting: f64,
}

impl Drift {
    /// For a ring of samples at `rate_hz` that is to hold `target` of them.
    #[must_use]
    pub fn new(rate_hz: u32, target: usize) -> Self {
        let target = crate::sample::count(target);
        Self { rate_hz: f64::from(rate_hz.max(1)), target, average: None, lasting: 0.0 }
    }

    /// The fill level after `elapsed` seconds. Gives what the number of samples is to be multiplied with on the way: for
    /// both directions, since a ring that is too full wants fewer samples in, or more taken out.
    pub fn measured(&mut self, filled: usize, elapsed: f64) -> f64 {
        let filled = crate::sample::count(filled);
        let average = self.average.get_or_insert(filled);
        *average += (filled - *average) * (elapsed / AVERAGED).clamp(0.0, 1.0);
        let error = (*average - self.target) / self.rate_hz;
        self.lasting = (self.lasting + INTEGRAL * error * elapsed).clamp(-LASTING_MAX, LASTING_MAX);
        1.0 - (PROPORTIONAL * error + self.lasting).clamp(-CORRECTION_MAX, CORRECTION_MAX)
    }

    /// Something was thrown away or was missing: the fill level begins anew, the clocks are as they were.
    pub fn restart(&mut self, target: usize) {
        self.target = crate::sample::count(target);
        self.average = None;
    }

    /// By how many millionths the clock that fills the ring is faster, as far as is known: after a minute or two, and at
    /// any one moment to within some hundred, because a card's periods beat with the caller's.
    #[must_use]
    pub fn parts_per_million(&self) -> f64 {
        self.lasting * 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An hour with a card that brings 10 ms at a time and is off by some ppm. Gives the fill levels of the last half
    /// hour, in ms, and what is believed of the clock, on average.
    fn hour(ppm: f64) -> (f64, f64, f64) {
        let mut drift = Drift::new(48_000, 1_920);
        let (mut filled, mut card, mut now) = (1_920.0, 0.0, 0.0);
        let (mut least, mut most, mut believed) = (f64::MAX, f64::MIN, 0.0);
        for step in 0..180_000 {
            now += 0.02;
            while card < now * (1.0 + ppm / 1e6) {
                card += 0.01;
                filled += 480.0;
            }
            let ratio = drift.measured(crate::sample::whole(filled), 0.02);
            filled -= 960.0 / ratio;
            assert!(filled >= 0.0, "{ppm} ppm: empty after {now} s");
            assert!(filled < 3_840.0, "{ppm} ppm: full after {now} s");
            if step > 90_000 {
                (least, most) = (least.min(filled), most.max(filled));
                believed += drift.parts_per_million() / 89_999.0;
            }
        }
        (least / 48.0, most / 48.0, believed)
    }

    #[test]
    fn clocks_apart_are_kept_together_for_an_hour() {
        for ppm in [-500.0, -100.0, -3.0, 0.0, 20.0, 300.0] {
            let (least, most, believed) = hour(ppm);
            // After a read of 20 ms, 20 ms are left, and a card's period more or less.
            assert!(least > 5.0 && most < 35.0, "{ppm} ppm: {least} to {most} ms");
            assert!((believed - ppm).abs() < 15.0, "{ppm} ppm: believed {believed}");
        }
    }

    #[test]
    fn nonsense_is_limited() {
        let mut drift = Drift::new(48_000, 1_920);
        for _ in 0..10_000 {
            assert!(drift.measured(usize::MAX, 1e9) >= 1.0 - CORRECTION_MAX);
        }
        drift.restart(1_920);
        for _ in 0..10_000 {
            assert!(drift.measured(0, 0.02) <= 1.0 + CORRECTION_MAX);
        }
        assert!(Drift::new(0, 0).measured(0, 0.0).is_finite());
    }
}
