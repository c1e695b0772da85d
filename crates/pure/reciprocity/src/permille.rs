use std::fmt;

/// A share in thousandths; more than 1000 is more than the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PerMille(pub u16);

impl PerMille {
    /// All of it: 1000.
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
    use std::convert::Infallible;

    /// Draws this number, always.
    struct Draw(u32);

    impl rand::TryRng for Draw {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            Ok(self.0)
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(self.0.into())
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
            bytes.fill(0);
            Ok(())
        }
    }

    #[test]
    fn what_has_no_probability_never_happens_and_what_is_certain_always_does() {
        for draw in [0, 1, u32::MAX / 2, u32::MAX] {
            assert!(!PerMille(0).happens(&mut Draw(draw)), "{draw}");
            assert!(PerMille(1_000).happens(&mut Draw(draw)), "{draw}");
        }
        assert!(PerMille(500).happens(&mut Draw(u32::MAX / 2)));
        assert!(!PerMille(500).happens(&mut Draw(u32::MAX / 2 + 1)));
    }

    #[test]
    fn prints_as_a_fraction_and_rounds_up() {
        assert_eq!(PerMille(5).to_string(), "0.005");
        assert_eq!(PerMille(1_250).to_string(), "1.250");
        assert_eq!(PerMille(750).of_rounded_up(3), 3);
        assert_eq!(PerMille(2_000).of_rounded_up(u64::MAX), u64::MAX);
    }
}
