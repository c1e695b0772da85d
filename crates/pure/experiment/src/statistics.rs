//! Means and how sure they are.

use libm::{exp, lgamma, log};
use serde::{Deserialize, Serialize};

/// Which way a bound goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The number is this or more.
    AtLeast,
    /// The number is this or less.
    AtMost,
}

impl Bound {
    pub const fn words(self) -> &'static str {
        match self {
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
        }
    }
}

/// What several runs say about one number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Estimate {
    /// One for each seed; nothing where it was not measured or cannot be computed.
    pub values: Vec<Option<f64>>,
    /// Their mean.
    pub mean: Option<f64>,
    /// Their standard deviation (of a sample, dividing by n - 1); from two values on.
    pub deviation: Option<f64>,
    /// The lower and upper end of the 95 % confidence interval of the mean (Student); from two values on.
    pub interval: Option<(f64, f64)>,
    /// The middle one.
    pub median: Option<f64>,
    /// The least and the most.
    pub range: Option<(f64, f64)>,
    /// The most frequent one, the least of them if there are several; nothing if all differ.
    pub mode: Option<f64>,
    /// The same number taken from the mean curve instead of from each seed's own. For a metric, the mean.
    pub curve: Option<f64>,
    /// How many seeds' sweeps ended before the number was reached: theirs is only a bound.
    pub beyond: usize,
    /// Which of the seeds those are; empty if nobody knows, or none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounded: Vec<bool>,
    /// Whether the sweep ended before the mean curve's number was reached.
    pub curve_beyond: bool,
    /// Which way the seeds' bounds go, if all go the same way.
    pub bound: Option<Bound>,
    /// Which way the mean curve's goes, if that is known.
    pub curve_bound: Option<Bound>,
    /// Where the mean curve's condition first fails, if that is not the next whole number.
    pub fails_at: Option<f64>,
    /// How many runs are missing that it needs.
    pub missing: usize,
    /// Why there is no number, if there is none.
    pub why: Option<String>,
}

impl Estimate {
    /// What `values` say, one for each seed.
    pub fn of(values: Vec<Option<f64>>) -> Self {
        let mut known: Vec<f64> =
            values.iter().copied().flatten().filter(|value| value.is_finite()).collect();
        let Some(first) = known.first().copied() else { return Self { values, ..Self::default() } };
        let count = number(known.len());
        // Summed in the order of the seeds, so that the same rows give the same digits. Differences from the first, so
        // that equal values have a mean and a deviation without rounding.
        let mean = first + known.iter().map(|value| value - first).sum::<f64>() / count;
        let squares = known.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
        let deviation = (known.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
        let half = deviation.map(|deviation| student_95(known.len() - 1) * deviation / count.sqrt());
        known.sort_by(f64::total_cmp);
        Self {
            mean: Some(mean),
            deviation,
            interval: half.map(|half| (mean - half, mean + half)),
            median: Some(median(&known)),
            range: Some((known[0], known[known.len() - 1])),
            mode: mode(&known),
            curve: Some(mean),
            values,
            ..Self::default()
        }
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        self.values.iter().flatten().count()
    }
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

fn mode(sorted: &[f64]) -> Option<f64> {
    let mut best: Option<(usize, f64)> = None;
    for same in sorted.chunk_by(|a, b| a == b) {
        if best.is_none_or(|(count, _)| same.len() > count) {
            best = Some((same.len(), same[0]));
        }
    }
    best.filter(|(count, _)| *count > 1 || sorted.len() == 1).map(|(_, value)| value)
}

/// The 0.975 quantile of Student's distribution: half of a 95 % interval, in standard errors.
pub fn student_95(freedom: usize) -> f64 {
    student_quantile(0.975, number(freedom.max(1)))
}

/// The quantile of Student's distribution with `freedom` degrees of freedom (any number from 1) at `share`, between 0.5
/// and 1. With `libm` alone, so that it has the same digits everywhere.
///
/// Source: the distribution function by the incomplete beta function, Abramowitz and Stegun, 26.7.1 and 26.5.8.
pub(crate) fn student_quantile(share: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 2.0_f64);
    while high < 1e9 && student_share(high, freedom) < share {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if student_share(middle, freedom) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The share of Student's distribution below `t`, which is at least 0.
fn student_share(t: f64, freedom: f64) -> f64 {
    1.0 - incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t)) / 2.0
}

/// The regularized incomplete beta function, by its continued fraction (Lentz's way).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1.0 - x));
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for step in 1..1_000_u32 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut factor = 1.0;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            factor = d * c;
            product *= factor;
        }
        if (factor - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

pub(crate) fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_quantiles_are_the_printed_ones() {
        // The 0.975 column of the usual table, as in NIST/SEMATECH's e-Handbook, 1.3.6.7.2.
        #[rustfmt::skip]
        let cases = [
            (1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (10, 2.228), (19, 2.093),
            (29, 2.045), (30, 2.042), (60, 2.000), (100, 1.984), (999, 1.962),
        ];
        for (freedom, want) in cases {
            let got = student_95(freedom);
            assert!((got - want).abs() < 5.1e-4, "{freedom}: {got}, {want}");
        }
        // 0.95 and 0.995 with 10 degrees of freedom.
        assert!((student_quantile(0.95, 10.0) - 1.812).abs() < 5e-4);
        assert!((student_quantile(0.995, 10.0) - 3.169).abs() < 5e-4);
    }

    #[test]
    fn a_sample_with_known_numbers() {
        let estimate = Estimate::of([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].map(Some).to_vec());
        assert_eq!((estimate.mean, estimate.median, estimate.mode), (Some(5.0), Some(4.5), Some(4.0)));
        assert_eq!((estimate.range, estimate.count()), (Some((2.0, 9.0)), 8));
        // The squares of the distances from 5 sum to 32; 32/7 has the root 2.1381; over the root of 8, times 2.3646.
        let (low, high) = estimate.interval.unwrap();
        assert!((estimate.deviation.unwrap() - 2.138_089_935).abs() < 1e-9);
        assert!((high - 6.787_483).abs() < 1e-4 && (low - 3.212_517).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn few_values_say_little() {
        assert_eq!(Estimate::of(vec![None, None]).mean, None);
        let one = Estimate::of(vec![None, Some(3.0)]);
        assert_eq!((one.mean, one.interval, one.mode, one.count()), (Some(3.0), None, Some(3.0), 1));
        let same = Estimate::of(vec![Some(0.1); 20]);
        assert_eq!(
            (same.mean, same.interval),
            (Some(0.1), Some((0.1, 0.1))),
            "no rounding where nothing differs"
        );
        assert_eq!(Estimate::of(vec![Some(1.0), Some(2.0)]).mode, None);
    }

    #[test]
    fn the_middle_and_the_most_frequent() {
        #[rustfmt::skip]
        let cases: [(&[f64], f64, Option<f64>); 8] = [
            (&[3.0],                     3.0, Some(3.0)),
            (&[1.0, 2.0],                1.5, None),
            (&[2.0, 1.0, 9.0],           2.0, None),
            (&[4.0, 1.0, 3.0, 2.0],      2.5, None),
            (&[5.0, 1.0, 5.0],           5.0, Some(5.0)),
            // The least of two that are as frequent.
            (&[2.0, 1.0, 2.0, 1.0],      1.5, Some(1.0)),
            (&[7.0, 3.0, 7.0, 3.0, 7.0], 7.0, Some(7.0)),
            (&[-1.0, 0.0, 0.0, 8.0],     0.0, Some(0.0)),
        ];
        for (values, median, mode) in cases {
            let estimate = Estimate::of(values.iter().copied().map(Some).collect());
            assert_eq!((estimate.median, estimate.mode), (Some(median), mode), "{values:?}");
        }
    }

    #[test]
    fn what_is_not_finite_is_in_no_mean() {
        let estimate =
            Estimate::of([f64::NAN, 1.0, f64::INFINITY, 3.0, f64::NEG_INFINITY].map(Some).to_vec());
        assert_eq!(
            (estimate.mean, estimate.median, estimate.range),
            (Some(2.0), Some(2.0), Some((1.0, 3.0)))
        );
        // 1 and 3 deviate by the root of 2 from 2, with one degree of freedom.
        assert!((estimate.deviation.unwrap() - 2.0_f64.sqrt()).abs() < 1e-12);
        let (low, high) = estimate.interval.unwrap();
        assert!((low - (2.0 - 12.706)).abs() < 1e-3 && (high - (2.0 + 12.706)).abs() < 1e-3, "{low} {high}");
        let nothing = Estimate::of(vec![Some(f64::NAN)]);
        assert_eq!((nothing.mean, nothing.mode, nothing.range, nothing.curve), (None, None, None, None));
    }

    proptest::proptest! {
        #[test]
        fn the_order_of_values_matters_nowhere_and_a_shift_shifts(
            values in proptest::collection::vec(-64_i32..64, 2..9), turn in 0_usize..8, shift in -99_i32..99,
        ) {
            let of = |values: &[i32], shift: i32| {
                Estimate::of(values.iter().map(|value| Some(f64::from(value + shift))).collect())
            };
            let near = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-9;
            let mut turned = values.clone();
            turned.rotate_left(turn % values.len());
            let (one, other, moved) = (of(&values, 0), of(&turned, 0), of(&values, shift));
            proptest::prop_assert!(near(one.mean, other.mean) && near(one.deviation, other.deviation));
            proptest::prop_assert_eq!((one.median, one.mode, one.range), (other.median, other.mode, other.range));
            let by = |number: Option<f64>| number.map(|number| number + f64::from(shift));
            proptest::prop_assert!(near(by(one.mean), moved.mean) && near(one.deviation, moved.deviation));
            proptest::prop_assert_eq!((by(one.median), by(one.mode)), (moved.median, moved.mode));
            let ((least, most), (low, high), mean) = (one.range.unwrap(), one.interval.unwrap(), one.mean.unwrap());
            proptest::prop_assert!(least <= mean + 1e-9 && mean <= most + 1e-9 && low <= mean && mean <= high);
        }
    }
}
