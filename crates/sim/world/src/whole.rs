use guestright_engine::Nanos;

/// Whole nanoseconds; what is negative is 0. IEEE 754 makes the same of it on every computer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts saturate, settings have limits"
)]
pub(crate) fn nanos(ns: f64) -> Nanos {
    Nanos((ns + 0.5) as u64)
}

/// Of so many Mb/s the bits per second, of a share the parts in a million.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "settings have limits")]
pub(crate) fn millionfold(number: f64) -> u64 {
    (number * 1e6 + 0.5) as u64
}
