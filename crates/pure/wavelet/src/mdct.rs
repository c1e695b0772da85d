//! The modified discrete cosine transform of 20 ms, overlapping by half, with a sine window.
//!
//! Orthonormal: with the window's halves power-complementary, overlapping and adding gives the samples back (Princen and
//! Bradley, "Analysis/synthesis filter bank design based on time domain aliasing cancellation", IEEE Trans. ASSP 34
//! (1986)). It is computed as a DCT-IV of 160 by a complex DFT of 80 = 5 x 16.

use std::f64::consts::PI;

/// Samples that a transform goes forward by, and coefficients that it has.
pub(crate) const HOP: usize = 160;
const HALF: usize = HOP / 2;
/// The DFT's first stage has so many points, and its second one the rest.
const FIRST: usize = 5;
const SECOND: usize = HALF / FIRST;

/// A complex number.
type Complex = (f32, f32);

fn multiply(one: Complex, other: Complex) -> Complex {
    (one.0 * other.0 - one.1 * other.1, one.0 * other.1 + one.1 * other.0)
}

#[derive(Clone, Debug)]
pub(crate) struct Mdct {
    /// The rising half of the window.
    window: [f32; HOP],
    /// exp(-2 pi i n / 80).
    roots: [Complex; HALF],
    /// exp(-pi i (8 n + 1) / 1280).
    twiddles: [Complex; HALF],
}

#[expect(clippy::cast_possible_truncation, reason = "tables have the precision of what they are used with")]
fn turn(angle: f64) -> Complex {
    (libm::cos(angle) as f32, -libm::sin(angle) as f32)
}

#[expect(clippy::cast_precision_loss, reason = "small whole numbers")]
fn number(whole: usize) -> f64 {
    whole as f64
}

impl Mdct {
    pub(crate) fn new() -> Self {
        let hop = number(HOP);
        Self {
            window: std::array::from_fn(|at| -turn((number(at) + 0.5) * PI / (2.0 * hop)).1),
            roots: std::array::from_fn(|at| turn(2.0 * PI * number(at) / number(HALF))),
            twiddles: std::array::from_fn(|at| turn(PI * (8.0 * number(at) + 1.0) / (8.0 * hop))),
        }
    }

    /// Coefficients of `before` and `now`, which follow one another.
    pub(crate) fn forward(&self, before: &[f32; HOP], now: &[f32; HOP]) -> [f32; HOP] {
        let first = |at: usize| before[at] * self.window[at];
        let second = |at: usize| now[at] * self.window[HOP - 1 - at];
        let folded = std::array::from_fn(|at| match at.checked_sub(HALF) {
            None => -second(HALF - 1 - at) - second(HALF + at),
            Some(at) => first(at) - first(HOP - 1 - at),
        });
        self.dct4(&folded)
    }

    /// Adds the first half of what `coefficients` say to `overlap`, which becomes the samples, and gives the second one,
    /// the next overlap.
    pub(crate) fn backward(&self, coefficients: &[f32; HOP], overlap: &mut [f32; HOP]) -> [f32; HOP] {
        let folded = self.dct4(coefficients);
        let (second, first) = folded.split_at(HALF);
        let mut next = [0.0; HOP];
        for at in 0..HALF {
            let mirrored = HOP - 1 - at;
            overlap[at] += first[at] * self.window[at];
            overlap[mirrored] -= first[at] * self.window[mirrored];
            next[HALF - 1 - at] = -second[at] * self.window[HALF + at];
            next[HALF + at] = -second[at] * self.window[HALF - 1 - at];
        }
        next
    }

    /// The overlap that these samples would have left.
    pub(crate) fn overlap(&self, samples: &[f32; HOP]) -> [f32; HOP] {
        let fading = |at: usize| samples[at] * self.window[HOP - 1 - at];
        std::array::from_fn(|at| (fading(at) + fading(HOP - 1 - at)) * self.window[HOP - 1 - at])
    }

    /// The orthonormal DCT of the fourth kind, its own inverse.
    fn dct4(&self, values: &[f32; HOP]) -> [f32; HOP] {
        let turned: [Complex; HALF] =
            std::array::from_fn(|at| multiply((values[2 * at], values[HOP - 1 - 2 * at]), self.twiddles[at]));
        let transformed = self.dft(&turned);
        let mut result = [0.0; HOP];
        let scale = (2.0 / 160.0_f32).sqrt();
        for (at, (value, twiddle)) in transformed.iter().zip(&self.twiddles).enumerate() {
            let (real, imaginary) = multiply(*value, *twiddle);
            result[2 * at] = scale * real;
            result[HOP - 1 - 2 * at] = -scale * imaginary;
        }
        result
    }

    fn dft(&self, values: &[Complex; HALF]) -> [Complex; HALF] {
        let sum = |terms: &mut dyn Iterator<Item = (Complex, usize)>| {
            terms.fold((0.0, 0.0), |sum: Complex, (value, turns)| {
                let term = multiply(value, self.roots[turns % HALF]);
                (sum.0 + term.0, sum.1 + term.1)
            })
        };
        let mut between = [[(0.0, 0.0); SECOND]; FIRST];
        for (one, row) in between.iter_mut().enumerate() {
            for (column, value) in row.iter_mut().enumerate() {
                let mut terms = (0..FIRST).map(|at| (values[SECOND * at + column], at * one * SECOND));
                *value = multiply(sum(&mut terms), self.roots[column * one]);
            }
        }
        std::array::from_fn(|at| {
            let (one, two) = (at % FIRST, at / FIRST);
            sum(&mut between[one].iter().enumerate().map(|(column, value)| (*value, column * two * FIRST)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: u32) -> [f32; HOP] {
        let mut seed = seed;
        std::array::from_fn(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from((seed >> 16) as u16) - 32_768.0
        })
    }

    #[test]
    fn it_is_the_transform_of_the_textbook() {
        let (mdct, before, now) = (Mdct::new(), noise(1), noise(2));
        let got = mdct.forward(&before, &now);
        for (frequency, got) in got.iter().enumerate() {
            let term = |at: usize| {
                let sample = f64::from(if at < HOP { before[at] } else { now[at - HOP] });
                let window = libm::sin((number(at) + 0.5) * PI / 320.0);
                let angle = PI / 160.0 * (number(at) + 0.5 + 80.0) * (number(frequency) + 0.5);
                sample * window * libm::cos(angle)
            };
            let want: f64 = (0..2 * HOP).map(term).sum::<f64>() * (2.0 / 160.0_f64).sqrt();
            assert!((f64::from(*got) - want).abs() < 0.5, "{frequency}: {got}, and it is {want}");
        }
    }

    #[test]
    fn overlapping_and_adding_gives_the_samples_back() {
        let mdct = Mdct::new();
        let blocks = [[0.0; HOP], noise(3), noise(4), noise(5)];
        let mut overlap = [0.0; HOP];
        for (at, two) in blocks.windows(2).enumerate() {
            let next = mdct.backward(&mdct.forward(&two[0], &two[1]), &mut overlap);
            assert!(overlap.iter().zip(&two[0]).all(|(one, other)| (one - other).abs() < 0.05), "block {at}");
            overlap = next;
        }
    }

    #[test]
    fn an_overlap_of_known_samples_fits_to_what_follows() {
        let mdct = Mdct::new();
        let (known, next) = (noise(6), noise(7));
        let mut overlap = mdct.overlap(&known);
        mdct.backward(&mdct.forward(&known, &next), &mut overlap);
        assert!(overlap.iter().zip(&known).all(|(one, other)| (one - other).abs() < 0.05));
    }
}
