//! The curve `W(t) = C (t - K)^3 + Wmax`, and the friendly window beside it.

use super::CubicSettings;
use crate::controller::WINDOW_MAX;
use crate::millionths::Millionths;
use crate::scale::mul_div;
use guestright_units::{Micros, Time};

/// Times further than that from `K` give windows beyond any bound for the least `C` and segment (10^4 s).
const DISTANCE_MAX: u64 = 10_000_000_000;

/// Up to that the cube fits 64 bits.
const SHORT_DISTANCE: u64 = 2_600_000;

/// The curve of one congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Curve {
    began: Time,
    /// K, in microseconds.
    flat_after: u64,
    flat_at: u64,
    /// `C` times the segment, in millionths of bytes per second cubed.
    steepness: u64,
}

impl Curve {
    /// From `window` at `began` on, flat at `max`.
    pub(super) fn new(began: Time, window: u64, max: u64, segment: u64, c: Millionths) -> Self {
        let steepness = segment * u64::from(c.0);
        // K^3 = (Wmax - cwnd) / (C SMSS) in s^3; 10^18 us^3 are one, and steepness is in millionths. A window above Wmax
        // starts on the flat part: K = 0 (section 4.2).
        let cube = u128::from(max.saturating_sub(window)) * 1_000_000 * 1_000_000_000_000_000_000
            / u128::from(steepness);
        Self { began, flat_after: cube_root(cube).min(DISTANCE_MAX), flat_at: max.max(window), steepness }
    }

    pub(super) const fn began(&self) -> Time {
        self.began
    }

    /// The same, with a pause in it.
    pub(super) fn delayed(mut self, by: Micros) -> Self {
        self.began = self.began + by;
        self
    }

    /// `W(t)`, from nothing to [`WINDOW_MAX`].
    pub(super) fn window(&self, elapsed: Micros) -> u64 {
        let distance = elapsed.0.abs_diff(self.flat_after).min(DISTANCE_MAX);
        // Divided in two steps: 10^30 us^3 times 6.5 * 10^12 would not fit 128 bits.
        let cube = if distance <= SHORT_DISTANCE {
            distance * distance * distance / 1_000_000_000_000
        } else {
            let distance = u128::from(distance);
            u64::try_from(distance * distance * distance / 1_000_000_000_000).unwrap_or(u64::MAX)
        };
        let bytes = mul_div(cube, self.steepness, 1_000_000_000_000).min(WINDOW_MAX);
        if elapsed.0 >= self.flat_after {
            (self.flat_at + bytes).min(WINDOW_MAX)
        } else {
            self.flat_at.saturating_sub(bytes)
        }
    }
}

/// The window that standard TCP would have (section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Friend {
    window: u64,
    counted: u128,
}

impl Friend {
    pub(super) fn new(window: u64) -> Self {
        Self { window, counted: 0 }
    }

    pub(super) const fn window(&self) -> u64 {
        self.window
    }

    /// `W_est += alpha * acknowledged / cwnd`, in segments.
    pub(super) fn advance(&mut self, bytes: u64, window: u64, prior: u64, settings: &CubicSettings) {
        let segment = u64::from(settings.reno.segment);
        let beta = u64::from(settings.beta.0);
        // alpha = 3 (1 - beta) / (1 + beta), 1 from the window before the loss on; over the same denominator, for what is left
        // over of the division. Windows are no more than 2^30, segments than 2^16, these than 2^22.
        let denominator = 1_000_000 + beta;
        let numerator = if self.window >= prior { denominator } else { 3 * (1_000_000 - beta) };
        let whole = u128::from(window.max(1) * denominator);
        self.counted += u128::from(numerator * segment) * u128::from(bytes.min(window));
        let more = self.counted / whole;
        self.counted %= whole;
        self.window = (self.window + u64::try_from(more).unwrap_or(WINDOW_MAX)).min(WINDOW_MAX);
    }
}

/// The cube root, rounded down, digit by digit.
fn cube_root(of: u128) -> u64 {
    let mut root: u128 = 0;
    // 2^42 cubed is 2^126.
    for bit in (0..=41_u32).rev() {
        let tried = root | (1 << bit);
        if tried * tried * tried <= of {
            root = tried;
        }
    }
    u64::try_from(root).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cube_roots_by_hand() {
        for (of, want) in [(0, 0), (1, 1), (7, 1), (8, 2), (26, 2), (27, 3), (10_u128.pow(18), 1_000_000)] {
            assert_eq!(cube_root(of), want, "{of}");
        }
    }

    #[test]
    fn the_curve_by_hand() {
        // 100 segments of 1000 bytes, reduced to 70: K = cbrt(30 / 0.4) = cbrt(75) = 4.217163 s.
        let curve = Curve::new(Time(5), 70_000, 100_000, 1_000, Millionths(400_000));
        assert_eq!((curve.began(), curve.flat_after), (Time(5), 4_217_163));
        // At 0 it is where it began: 0.4 * 75 = 30 segments below. At K it is flat, a second later 0.4 segments above, and
        // 2 s later 3.2.
        assert_eq!(curve.window(Micros(0)), 70_001);
        assert_eq!(curve.window(Micros(4_217_163)), 100_000);
        assert_eq!(curve.window(Micros(5_217_163)), 100_400);
        assert_eq!(curve.window(Micros(6_217_163)), 103_200);
        // A second before K: 0.4 below.
        assert_eq!(curve.window(Micros(3_217_163)), 99_600);
    }

    proptest! {
        #[test]
        fn roots_are_roots(of in 0_u128..(1 << 125)) {
            let root = u128::from(cube_root(of));
            prop_assert!(root * root * root <= of);
            prop_assert!((root + 1) * (root + 1) * (root + 1) > of);
        }

        #[test]
        fn the_curve_never_falls(
            window in 1_000_u64..1_000_000,
            more in 0_u64..1_000_000,
            c in 1_u32..100_000_000,
            first in 0_u64..100_000_000,
            later in 0_u64..100_000_000,
        ) {
            let curve = Curve::new(Time(0), window, window + more, 1_000, Millionths(c));
            prop_assert!(curve.window(Micros(first)) <= curve.window(Micros(first + later)));
        }
    }
}
