//! A value that is known between two bounds.

use std::fmt;

use serde::Serialize;

/// A closed interval of real numbers, `low <= high`.
///
/// A one-way delay is the difference of two clocks, so it is known only as well as the clocks agree. The interval
/// carries that error into R and the mean opinion score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The least possible value.
    pub low: f64,
    /// The largest possible value.
    pub high: f64,
}

impl Interval {
    /// Nothing, exactly.
    pub const ZERO: Self = Self { low: 0.0, high: 0.0 };

    /// The interval between two bounds, in whatever order they come.
    pub const fn new(one: f64, other: f64) -> Self {
        if one <= other { Self { low: one, high: other } } else { Self { low: other, high: one } }
    }

    /// A value that is known exactly.
    pub const fn exact(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// `middle ± error`.
    pub const fn around(middle: f64, error: f64) -> Self {
        Self::new(middle - error, middle + error)
    }

    /// The same error around a value that is larger by `shift`.
    #[must_use]
    pub const fn plus(self, shift: f64) -> Self {
        Self { low: self.low + shift, high: self.high + shift }
    }

    /// Both bounds raised to at least `floor`.
    #[must_use]
    pub const fn at_least(self, floor: f64) -> Self {
        Self { low: self.low.max(floor), high: self.high.max(floor) }
    }

    /// The value halfway between the bounds.
    pub const fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// How wide it is.
    pub const fn width(self) -> f64 {
        self.high - self.low
    }

    /// Whether a value can be the true one.
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Whether both bounds are numbers.
    pub const fn is_finite(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

impl fmt::Display for Interval {
    /// `3.60`, or `3.41 to 3.60`, with the precision of the format (two digits by default).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        let (low, high) = (format!("{:.digits$}", self.low), format!("{:.digits$}", self.high));
        if low == high { f.write_str(&low) } else { write!(f, "{low} to {high}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_come_in_any_order() {
        assert_eq!(Interval::new(3.0, -1.0), Interval { low: -1.0, high: 3.0 });
        assert_eq!(Interval::around(5.0, 2.0), Interval::around(5.0, -2.0));
        assert!(Interval::new(1.0, 2.0).contains(2.0) && !Interval::new(1.0, 2.0).contains(2.1));
    }

    #[test]
    fn prints_one_number_when_there_is_one() {
        assert_eq!(Interval::exact(3.6).to_string(), "3.60");
        assert_eq!(format!("{:.1}", Interval::new(3.41, 3.6)), "3.4 to 3.6");
        assert_eq!(format!("{:.1}", Interval::new(3.58, 3.6)), "3.6");
    }
}
