//! Samples as numbers.

/// A sample in -1..1 as 16 bits; what is too loud is cut off.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a conversion from a float saturates, which is what is wanted"
)]
pub(crate) fn from_float(value: f32) -> i16 {
    (value * 32_768.0).round() as i16
}

/// 16 bits in -1..1.
pub(crate) fn to_float(sample: i16) -> f32 {
    f32::from(sample) / 32_768.0
}

/// A count as a float: exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts of samples are far below 2^53")]
pub(crate) fn count(count: usize) -> f64 {
    count as f64
}

/// A number of samples from a sum that is one, or 0 below 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion from a float saturates"
)]
pub(crate) fn whole(value: f64) -> usize {
    value.round() as usize
}
