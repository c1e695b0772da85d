//! Samples as numbers.

/// The nearest 16-bit sample; what is too loud is cut off.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a conversion from a float saturates, which is what is wanted"
)]
pub(crate) fn from_float(value: f32) -> i16 {
    value.round() as i16
}

/// The nearest 16-bit sample; what is too loud is cut off.
#[expect(clippy::cast_possible_truncation, reason = "clamped to the range before")]
pub(crate) fn saturate(value: i32) -> i16 {
    value.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
}

/// A count as a float. Counts of samples are far below 2^24.
#[expect(clippy::cast_precision_loss, reason = "counts of samples are far below 2^24")]
pub(crate) fn ratio(part: usize, whole: usize) -> f32 {
    part as f32 / whole as f32
}
