use std::ops::{Add, AddAssign, Mul, Sub};

/// A span of time, in nanoseconds: what frames on the air are counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// A span of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of `seconds` seconds.
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// The time that `bits` take at `bits_per_second`, rounded up; for ever if the rate is 0.
    #[must_use]
    pub const fn of_bits(bits: u64, bits_per_second: u64) -> Self {
        if bits_per_second == 0 {
            return Self(u64::MAX);
        }
        #[expect(clippy::cast_possible_truncation, reason = "2^64 ns are 584 years")]
        Self((bits as u128 * 1_000_000_000).div_ceil(bits_per_second as u128) as u64)
    }

    /// In seconds, for statistics.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "spans are far below 2^52 ns, or need no more digits")]
    pub const fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// In milliseconds, for statistics.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "spans are far below 2^52 ns, or need no more digits")]
    pub const fn as_millis(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;

    fn mul(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}
