use guestright_units::Time;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A point in simulated time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// A span of simulated time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Instant {
    /// The start of every run.
    pub const START: Self = Self(0);
    /// Later than everything else.
    pub const NEVER: Self = Self(u64::MAX);

    /// The span since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The same point in the microseconds that machines outside the simulator count in, rounded down.
    #[must_use]
    pub const fn time(self) -> Time {
        Time(self.0 / 1_000)
    }

    /// The point that such a machine names.
    #[must_use]
    pub const fn from_time(time: Time) -> Self {
        Self(time.0.saturating_mul(1_000))
    }
}

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

impl Add<Nanos> for Instant {
    type Output = Self;

    fn add(self, span: Nanos) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Nanos> for Instant {
    fn add_assign(&mut self, span: Nanos) {
        *self = *self + span;
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
