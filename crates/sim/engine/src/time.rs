use guestright_units::{Nanos, Time};
use std::ops::{Add, AddAssign};

/// A point in simulated time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

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
