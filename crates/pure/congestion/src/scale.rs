//! Products that are divided, without an overflow and without 128 bits where 64 are enough.

/// `a * b / by`, rounded down; `u64::MAX` if it is more than that, and if `by` is zero.
#[inline]
pub(crate) fn mul_div(a: u64, b: u64, by: u64) -> u64 {
    if by == 0 {
        return u64::MAX;
    }
    match a.checked_mul(b) {
        Some(product) => product / by,
        None => u64::try_from(u128::from(a) * u128::from(b) / u128::from(by)).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_does_not_fit_is_the_largest() {
        assert_eq!(mul_div(7, 3, 2), 10);
        assert_eq!(mul_div(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(mul_div(u64::MAX, 2, 1), u64::MAX);
        assert_eq!(mul_div(1, 1, 0), u64::MAX);
    }

    proptest! {
        #[test]
        fn both_ways_are_the_same(a: u64, b: u64, by in 1_u64..) {
            let exact = u128::from(a) * u128::from(b) / u128::from(by);
            prop_assert_eq!(u128::from(mul_div(a, b, by)), exact.min(u64::MAX.into()));
        }
    }
}
