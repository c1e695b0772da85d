//! Fairness between flows.

/// Jain's fairness index: 1 if all have the same, 1 over their number if one has everything; not a number if nobody has
/// anything.
///
/// Source: R. Jain, D. Chiu, W. Hawe, *A Quantitative Measure of Fairness and Discrimination*, DEC-TR-301, 1984; paper C,
/// section 4.3.
///
/// ```
/// assert_eq!(guestright_quality::jain(&[5.0, 0.0, 0.0, 0.0]), 0.25);
/// ```
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "stations and flows are few")]
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fairness_is_one_for_equals_and_least_for_one_alone() {
        let close = |shares: &[f64], want: f64| assert!((jain(shares) - want).abs() < 1e-12, "{shares:?}");
        close(&[3.0, 3.0, 3.0], 1.0);
        close(&[5.0, 0.0, 0.0, 0.0], 0.25);
        close(&[1.0, 3.0], 0.8);
        assert!(jain(&[0.0, 0.0]).is_nan());
    }

    proptest! {
        #[test]
        fn fairness_knows_no_unit_and_no_order(mut shares in prop::collection::vec(0.1..1e6_f64, 1..50), unit in 0.01..100.0_f64) {
            let fairness = jain(&shares);
            let count = shares.len() as f64;
            prop_assert!((1.0 / count - 1e-9..=1.0 + 1e-9).contains(&fairness), "{}", fairness);
            shares.reverse();
            shares.iter_mut().for_each(|share| *share *= unit);
            prop_assert!((jain(&shares) - fairness).abs() < 1e-9);
        }
    }
}
