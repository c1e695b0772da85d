use crate::settings::SettingsError;

/// A factor in millionths: 0.3125 is 312,500, without an error of rounding.
///
/// Decimal parameters of algorithms (alpha, beta, gains) are kept so, because sums of whole numbers are the same on any
/// computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millionths(pub u32);

impl Millionths {
    pub const ZERO: Self = Self(0);
    pub const HALF: Self = Self(500_000);
    pub const ONE: Self = Self(1_000_000);

    /// `numerator / denominator`, rounded down; [`Self::ONE`] if the denominator is zero, the largest factor if the quotient
    /// is larger than that.
    #[must_use]
    pub const fn ratio(numerator: u32, denominator: u32) -> Self {
        if denominator == 0 {
            return Self::ONE;
        }
        let parts = numerator as u64 * 1_000_000 / denominator as u64;
        #[expect(clippy::cast_possible_truncation, reason = "no more than u32::MAX")]
        if parts > u32::MAX as u64 { Self(u32::MAX) } else { Self(parts as u32) }
    }

    /// The nearest to `value`; `None` if that is no number from 0 to 4294.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        let parts = value * 1e6;
        // Not a number compares as false.
        if !(parts >= 0.0 && parts < f64::from(u32::MAX)) {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 and u32::MAX")]
        Some(Self((parts + 0.5) as u32))
    }

    /// As a number.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1e6
    }

    /// So much of `whole`, rounded down.
    #[must_use]
    pub const fn of(self, whole: u64) -> u64 {
        let part = whole as u128 * self.0 as u128 / 1_000_000;
        #[expect(clippy::cast_possible_truncation, reason = "no more than u64::MAX")]
        if part > u64::MAX as u128 { u64::MAX } else { part as u64 }
    }

    /// What is left of one; nothing of more.
    #[must_use]
    pub const fn complement(self) -> Self {
        Self(1_000_000_u32.saturating_sub(self.0))
    }

    pub(crate) fn check(self, name: &'static str, min: Self, max: Self) -> Result<(), SettingsError> {
        if self < min || self > max {
            return Err(SettingsError::Factor { name, got: self.0, min: min.0, max: max.0 });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact() {
        for (value, want) in [(0.0, 0), (0.125, 125_000), (0.3125, 312_500), (0.1, 100_000), (4.0, 4_000_000)]
        {
            assert_eq!(Millionths::from_f64(value), Some(Millionths(want)), "{value}");
        }
        assert_eq!(Millionths::ratio(19, 21), Millionths(904_761));
        assert_eq!(Millionths::ratio(1, 0), Millionths::ONE);
        assert_eq!(Millionths::ratio(u32::MAX, 1), Millionths(u32::MAX));
        assert_eq!(Millionths(700_000).of(1_000), 700);
        assert_eq!(Millionths(700_000).complement(), Millionths(300_000));
        assert_eq!(Millionths(u32::MAX).of(u64::MAX), u64::MAX);
        assert_eq!(Millionths(u32::MAX).complement(), Millionths::ZERO);
    }

    #[test]
    fn what_is_no_factor_is_none() {
        for value in [-0.000_001, 4_295.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Millionths::from_f64(value), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn comes_back_from_a_number(parts in 0_u32..u32::MAX) {
            prop_assert_eq!(Millionths::from_f64(Millionths(parts).as_f64()), Some(Millionths(parts)));
        }
    }
}
