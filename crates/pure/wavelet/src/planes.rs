//! Coefficients as signs and bit-planes, and back.

use crate::FRAME_SAMPLES;

/// Planes of a magnitude: orthonormal transforms of 160 samples in 16 bits have no more.
pub(crate) const PLANES: u32 = 19;
/// The lowest highest plane: less is silence. With it, the highest plane fits into four bits.
const TOP_MIN: u32 = 4;
/// Where in the interval that is left a coefficient is put. Small ones are more frequent than large ones.
const WITHIN: f32 = 0.4;

/// What is encoded.
#[derive(Debug)]
pub(crate) struct Planes {
    pub(crate) magnitude: [u32; FRAME_SAMPLES],
    pub(crate) is_negative: [bool; FRAME_SAMPLES],
}

impl Planes {
    pub(crate) fn new(coefficients: &[f32; FRAME_SAMPLES]) -> Self {
        let mut planes = Self { magnitude: [0; FRAME_SAMPLES], is_negative: [false; FRAME_SAMPLES] };
        let pairs = planes.magnitude.iter_mut().zip(&mut planes.is_negative);
        for ((magnitude, is_negative), coefficient) in pairs.zip(coefficients) {
            *magnitude = whole(coefficient.abs());
            *is_negative = *coefficient < 0.0;
        }
        planes
    }

    /// The highest plane as it is sent: 0 is silence.
    pub(crate) fn top(&self) -> u32 {
        let most = self.magnitude.iter().copied().max().unwrap_or(0);
        most.checked_ilog2().map_or(0, |plane| (plane + 1).saturating_sub(TOP_MIN))
    }
}

/// The planes that follow after what was sent as the highest one; none in silence.
pub(crate) fn below(top: u32) -> impl Iterator<Item = u32> {
    let planes = if top == 0 { 0 } else { (top + TOP_MIN).min(PLANES) };
    (0..planes).rev()
}

#[expect(clippy::cast_possible_truncation, reason = "it is within the range of the planes")]
#[expect(clippy::cast_sign_loss, reason = "it is not negative")]
fn whole(magnitude: f32) -> u32 {
    magnitude.min(524_287.0) as u32
}

/// What is known so far of what was encoded.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) magnitude: [u32; FRAME_SAMPLES],
    pub(crate) is_negative: [bool; FRAME_SAMPLES],
    /// The lowest plane that is known of each coefficient that is not 0.
    pub(crate) lowest: [u32; FRAME_SAMPLES],
}

impl Known {
    pub(crate) fn new() -> Self {
        Self {
            magnitude: [0; FRAME_SAMPLES],
            is_negative: [false; FRAME_SAMPLES],
            lowest: [0; FRAME_SAMPLES],
        }
    }

    /// A coefficient turned out to be in this plane.
    pub(crate) fn found(&mut self, at: usize, is_negative: bool, plane: u32) {
        self.magnitude[at] = 1 << plane;
        self.is_negative[at] = is_negative;
        self.lowest[at] = plane;
    }

    /// One more bit of it.
    pub(crate) fn refine(&mut self, at: usize, bit: bool, plane: u32) {
        self.magnitude[at] |= u32::from(bit) << plane;
        self.lowest[at] = plane;
    }

    /// How many bits of it are known below its highest one, before that of `plane`.
    pub(crate) fn refined(&self, at: usize, plane: u32) -> u32 {
        self.magnitude[at].checked_ilog2().map_or(0, |highest| highest.saturating_sub(plane + 1))
    }

    /// The best guess.
    #[expect(clippy::cast_precision_loss, reason = "magnitudes have 19 bits")]
    pub(crate) fn coefficients(&self) -> [f32; FRAME_SAMPLES] {
        let mut coefficients = [0.0; FRAME_SAMPLES];
        for (at, coefficient) in coefficients.iter_mut().enumerate() {
            if self.magnitude[at] > 0 {
                let magnitude = self.magnitude[at] as f32 + WITHIN * (1_u32 << self.lowest[at]) as f32;
                *coefficient = if self.is_negative[at] { -magnitude } else { magnitude };
            }
        }
        coefficients
    }
}
