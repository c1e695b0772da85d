use guestright_units::{Micros, Time};
use std::fmt;

/// A point in time of a capture: nanoseconds since the Unix epoch.
///
/// Captures go down to nanoseconds; [`Time`] to microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    /// This point as the other rooms count it, rounded down to a microsecond.
    pub const fn time(self) -> Time {
        Time(self.0 / 1_000)
    }

    /// Nanoseconds since `earlier`; negative if `earlier` is later.
    pub fn nanos_since(self, earlier: Stamp) -> i64 {
        let difference = i128::from(self.0) - i128::from(earlier.0);
        i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
    }

    /// The span since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Stamp) -> Micros {
        Micros(self.0.saturating_sub(earlier.0) / 1_000)
    }

    /// From `ticks` of `per_second` since `seconds` after the epoch; held at the ends of what a `Stamp` can say.
    pub(crate) fn from_ticks(ticks: u64, per_second: u64, seconds: i64) -> Self {
        let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(per_second.max(1));
        // At most 2^64 * 10^9 < 2^94: far from the ends of an i128.
        let nanos = i128::try_from(nanos).unwrap_or(i128::MAX / 2) + i128::from(seconds) * 1_000_000_000;
        Self(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

impl From<Time> for Stamp {
    fn from(time: Time) -> Self {
        Self(time.0.saturating_mul(1_000))
    }
}

impl fmt::Display for Stamp {
    /// RFC 3339 in UTC, to the millisecond.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.time().unix_seconds().to_string();
        write!(f, "{}.{:03}Z", seconds.trim_end_matches('Z'), self.0 / 1_000_000 % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_any_resolution_and_offset_become_nanoseconds() {
        #[rustfmt::skip]
        let cases = [
            (1_500_000,  1_000_000,     0,                1_500_000_000),
            (3,          2,             1,                2_500_000_000),
            (5,          1,             -5,               0),
            (5,          1,             -6,               0),
            (u64::MAX,   1,             i64::MAX,         u64::MAX),
            (u64::MAX,   1_000_000_000, 0,                u64::MAX),
            (7,          0,             0,                7_000_000_000),
        ];
        for (ticks, per_second, seconds, want) in cases {
            assert_eq!(
                Stamp::from_ticks(ticks, per_second, seconds),
                Stamp(want),
                "{ticks}/{per_second}+{seconds}"
            );
        }
    }

    #[test]
    fn says_the_time_for_people() {
        assert_eq!(Stamp(1_795_176_123_045_000_000).to_string(), "2026-11-20T12:02:03.045Z");
    }
}
