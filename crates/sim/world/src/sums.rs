/// The mean; nothing of nothing.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    (count > 0.0).then(|| sum / count)
}

/// Jain's fairness index: 1 if all have the same, 1 over their number if one has everything.
///
/// Source: R. Jain, D. Chiu, W. Hawe, *A Quantitative Measure of Fairness and Discrimination*, DEC-TR-301, 1984.
#[expect(clippy::cast_precision_loss, reason = "stations and flows are few")]
pub(crate) fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_for_equals_and_least_for_one_alone() {
        let close = |shares: &[f64], want: f64| assert!((jain(shares) - want).abs() < 1e-12, "{shares:?}");
        close(&[3.0, 3.0, 3.0], 1.0);
        close(&[5.0, 0.0, 0.0, 0.0], 0.25);
        close(&[1.0, 3.0], 0.8);
    }

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(mean(std::iter::empty()), None);
        assert_eq!(mean([1.0, 4.0].into_iter()), Some(2.5));
    }
}
