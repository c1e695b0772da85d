//! Bit-planes as probable and improbable bits: the codes of `w2`.
//!
//! The first byte says which plane is the highest; 0 is silence. Then for each plane, from that one on and from low to high
//! frequencies, the two transforms of a packet side by side: whether a coefficient that was 0 stays 0, and if not its
//! sign; or the next bit of one that was not. How probable each is depends on how large the coefficients around it are so
//! far, on its frequency, and on how many planes came before. [`table`] says where it begins, and it follows what comes.

mod table;

use crate::FRAME_SAMPLES;
use crate::planes::{Known, Planes, below};
use crate::range::{Binary, Reader, Writer};

/// As probable as not.
const EVEN: u16 = 1 << 15;
/// A probability goes 1/32 of the way to what came.
const FOLLOW: u32 = 5;
/// Steps of how large the neighbours are.
const SIZES: usize = 8;
/// Bands of frequencies.
const BANDS: usize = 8;
/// Planes that are told apart, from the highest one.
const DEPTHS: usize = 4;
/// Contexts of a coefficient that was 0, and then those of one that was not.
const ZEROS: usize = SIZES * BANDS * DEPTHS;
/// All of them.
const CONTEXTS: usize = ZEROS + 3;

/// Writes until `bytes` are full or everything is said; gives how many were used.
pub(crate) fn write(planes: &Planes, bytes: &mut [u8]) -> usize {
    let top = planes.top();
    let Some((first, bytes)) = bytes.split_first_mut() else { return 0 };
    *first = u8::try_from(top << 4).unwrap_or(0);
    if top == 0 {
        return 1;
    }
    let mut writer = Writer::new(bytes);
    // To be full is no failure.
    let _ = walk(top, planes, &mut Known::new(), &mut writer);
    1 + writer.finish()
}

/// Reads until there is nothing more.
pub(crate) fn read(bytes: &[u8]) -> Known {
    let mut known = Known::new();
    if let Some((first, bytes)) = bytes.split_first() {
        let planes = Planes { magnitude: [0; FRAME_SAMPLES], is_negative: [false; FRAME_SAMPLES] };
        // Nothing more to come is no failure.
        let _ = walk(u32::from(first >> 4), &planes, &mut known, &mut Reader::new(bytes));
    }
    known
}

/// Both directions: an encoder gets to know what a decoder will.
fn walk(top: u32, wanted: &Planes, known: &mut Known, coder: &mut impl Binary) -> Option<()> {
    let mut model = Model::new();
    for (depth, plane) in below(top).enumerate() {
        for at in 0..FRAME_SAMPLES {
            let bit = wanted.magnitude[at] >> plane & 1 == 1;
            if known.magnitude[at] == 0 {
                let context = zero_context(known, at, plane, depth);
                if model.code(context, bit, coder)? {
                    known.found(at, coder.bit(EVEN, wanted.is_negative[at])?, plane);
                }
            } else {
                let context = ZEROS + usize::try_from(known.refined(at, plane)).unwrap_or(0).min(2);
                let bit = model.code(context, bit, coder)?;
                known.refine(at, bit, plane);
            }
        }
    }
    Some(())
}

/// Probabilities to be zero, of 65,536.
struct Model([u16; CONTEXTS]);

impl Model {
    fn new() -> Self {
        Self(table::ZERO)
    }

    fn code(&mut self, context: usize, wanted: bool, coder: &mut impl Binary) -> Option<bool> {
        let zero = &mut self.0[context];
        let bit = coder.bit(*zero, wanted)?;
        if bit {
            *zero -= *zero >> FOLLOW;
        } else {
            *zero += (u16::MAX - *zero) >> FOLLOW;
        }
        Some(bit)
    }
}

/// The context of a coefficient that was 0.
fn zero_context(known: &Known, at: usize, plane: u32, depth: usize) -> usize {
    let size = |away: isize| {
        let at = at.checked_add_signed(away);
        at.and_then(|at| known.magnitude.get(at)).map_or(0, |magnitude| (magnitude >> plane).min(3))
    };
    // The two transforms lie side by side: the other one's coefficient of the same frequency is before or after this one.
    let other = if at.is_multiple_of(2) { 1 } else { -1 };
    let sum = 2 * (size(-2) + size(2) + size(other)) + size(-4) + size(4) + size(other - 2) + size(other + 2);
    let size = match sum {
        0..=2 => sum,
        3..=4 => 3,
        5..=6 => 4,
        7..=9 => 5,
        10..=14 => 6,
        15.. => 7,
    };
    let band = match at / 2 {
        0..=3 => 0,
        4..=7 => 1,
        8..=15 => 2,
        16..=31 => 3,
        32..=63 => 4,
        64..=95 => 5,
        96..=127 => 6,
        128.. => 7,
    };
    let size = usize::try_from(size).unwrap_or(0);
    (depth.min(DEPTHS - 1) * BANDS + band) * SIZES + size
}
