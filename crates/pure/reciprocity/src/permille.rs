use std::fmt;

/// A share in thousandths; more than 1000 is more than the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PerMille(pub u16);

impl PerMille {
    pub const WHOLE: Self = Self(1_000);

    /// The share of `bytes`, rounded up and at most the largest `u64`.
    pub(crate) fn of_rounded_up(self, bytes: u64) -> u64 {
        u64::try_from((u128::from(bytes) * u128::from(self.0)).div_ceil(1_000)).unwrap_or(u64::MAX)
    }

    /// Whether an event of this probability happens. Draws one number, whatever the probability.
    pub(crate) fn happens(self, rng: &mut impl rand::Rng) -> bool {
        (u64::from(rng.next_u32()) * 1_000) >> 32 < u64::from(self.0)
    }
}

impl fmt::Display for PerMille {
    /// As a fraction with three digits, for example `0.750`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_a_fraction_and_rounds_up() {
        assert_eq!(PerMille(5).to_string(), "0.005");
        assert_eq!(PerMille(1_250).to_string(), "1.250");
        assert_eq!(PerMille(750).of_rounded_up(3), 3);
        assert_eq!(PerMille(2_000).of_rounded_up(u64::MAX), u64::MAX);
    }
}
