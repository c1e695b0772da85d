pub(crate) use guestright_quality::jain;

/// The mean; nothing of nothing.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(mean(std::iter::empty()), None);
        assert_eq!(mean([1.0, 4.0].into_iter()), Some(2.5));
    }
}
