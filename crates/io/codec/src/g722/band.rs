//! One of the two bands of G.722: adaptive differential coding with a predictor of two poles and six zeros.
//!
//! Blocks 2 to 4 of ITU-T G.722, figures 8 to 15, with the names of the Recommendation in the comments. Numbers are
//! whole and have the Recommendation's scale: 15 bits of signal, factors in 1/32768.

/// Block 3, table 12: the logarithmic step as a linear one.
const STEPS: [i32; 32] = [
    2048, 2093, 2139, 2186, 2233, 2282, 2332, 2383, 2435, 2489, 2543, 2599, 2656, 2714, 2774, 2834, 2896,
    2960, 3025, 3091, 3158, 3228, 3298, 3371, 3444, 3520, 3597, 3676, 3756, 3838, 3922, 4008,
];

/// The state of a band; encoder and decoder have the same as long as nothing was lost.
#[derive(Clone, Debug)]
pub(super) struct Band {
    /// NB: the logarithm of the quantiser's step.
    step_log: i32,
    /// DET: the quantiser's step.
    pub(super) step: i32,
    /// S: what the predictor expects next.
    pub(super) expected: i32,
    /// SZ: the zeros' part of it.
    by_zeros: i32,
    /// R: what was reconstructed, newest first.
    reconstructed: [i32; 2],
    /// P: the same without the poles' part.
    partly: [i32; 2],
    /// A: the poles' factors.
    poles: [i32; 2],
    /// D: quantised differences, newest first.
    differences: [i32; 6],
    /// B: the zeros' factors.
    zeros: [i32; 6],
}

/// What differs between the bands in the adaptation of the step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adaptation {
    /// The largest logarithm.
    most: i32,
    /// By how much it is shifted to become a step.
    shift: i32,
}

/// Blocks 3L: LOGSCL and SCALEL.
pub(super) const LOW: Adaptation = Adaptation { most: 18_432, shift: 8 };
/// Blocks 3H: LOGSCH and SCALEH.
pub(super) const HIGH: Adaptation = Adaptation { most: 22_528, shift: 10 };

impl Band {
    /// A band at rest. The steps are those that the Recommendation begins with: 32 (low) and 8 (high).
    pub(super) const fn new(step: i32) -> Self {
        Self {
            step_log: 0,
            step,
            expected: 0,
            by_zeros: 0,
            reconstructed: [0; 2],
            partly: [0; 2],
            poles: [0; 2],
            differences: [0; 6],
            zeros: [0; 6],
        }
    }

    /// INVQ: the difference that a quantiser's output level stands for.
    pub(super) fn difference(&self, level: i32) -> i32 {
        (self.step * level) >> 15
    }

    /// One sample further: the step adapts by `weight` (W), the predictor to the quantised `difference`.
    pub(super) fn advance(&mut self, weight: i32, difference: i32, adaptation: Adaptation) {
        self.step_log = (((self.step_log * 127) >> 7) + weight).clamp(0, adaptation.most);
        let mantissa = STEPS[usize::try_from((self.step_log >> 6) & 31).unwrap_or(0)];
        let shift = adaptation.shift - (self.step_log >> 11);
        self.step = if shift < 0 { mantissa << -shift } else { mantissa >> shift } << 2;
        self.predict(difference);
    }

    /// Block 4.
    fn predict(&mut self, difference: i32) {
        let now = saturate(self.expected + difference); // RECONS
        let partly = saturate(self.by_zeros + difference); // PARREC
        self.adapt_poles(partly);
        self.adapt_zeros(difference);
        self.reconstructed = [now, self.reconstructed[0]]; // DELAYA
        self.partly = [partly, self.partly[0]];
        self.differences.rotate_right(1);
        self.differences[0] = difference;
        let scaled = |factor: i32, value: i32| (factor * saturate(value + value)) >> 15;
        let by_poles = saturate(
            scaled(self.poles[0], self.reconstructed[0]) + scaled(self.poles[1], self.reconstructed[1]), // FILTEP
        );
        let by_zeros =
            self.zeros.iter().zip(&self.differences).map(|(zero, value)| scaled(*zero, *value)).sum();
        self.by_zeros = saturate(by_zeros); // FILTEZ
        self.expected = saturate(by_poles + self.by_zeros); // PREDIC
    }

    /// UPPOL2 and UPPOL1.
    fn adapt_poles(&mut self, partly: i32) {
        let (like_last, like_one_before) =
            (same_sign(partly, self.partly[0]), same_sign(partly, self.partly[1]));
        let first = saturate(self.poles[0] << 2);
        let turned = if like_last { (-first).min(32_767) } else { first };
        let second =
            (turned >> 7) + if like_one_before { 128 } else { -128 } + ((self.poles[1] * 32_512) >> 15);
        self.poles[1] = second.clamp(-12_288, 12_288);
        let first = saturate(((self.poles[0] * 32_640) >> 15) + if like_last { 192 } else { -192 });
        let limit = saturate(15_360 - self.poles[1]);
        self.poles[0] = first.clamp(-limit, limit);
    }

    fn adapt_zeros(&mut self, difference: i32) {
        let step = if difference == 0 { 0 } else { 128 };
        for (zero, earlier) in self.zeros.iter_mut().zip(&self.differences) {
            let towards = if same_sign(*earlier, difference) { step } else { -step };
            *zero = saturate(((*zero * 32_640) >> 15) + towards);
        }
    }
}

fn same_sign(one: i32, other: i32) -> bool {
    (one < 0) == (other < 0)
}

/// All sums of the Recommendation are limited to 16 bits.
pub(super) fn saturate(value: i32) -> i32 {
    value.clamp(i32::from(i16::MIN), i32::from(i16::MAX))
}
