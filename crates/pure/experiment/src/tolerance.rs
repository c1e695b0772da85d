//! How far the means of results made elsewhere may be from ours.

use crate::plan::Plan;
use crate::results::Results;
use crate::statistics::{Estimate, number, student_quantile};
use std::collections::BTreeMap;

/// How far apart numbers are that differ only by rounding, as a share of their size.
const ROUNDING: f64 = 1e-9;
/// What is allowed where one seed says nothing about the spread: as a share of the number.
const UNKNOWN: f64 = 1e-6;

/// How far the mean over the seeds of a point may be from ours: by the larger of two distances.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    pub metric: &'static str,
    pub unit: &'static str,
    /// In the metric's unit.
    pub absolute: f64,
    /// As a share of our mean.
    pub relative: f64,
}

/// The tolerance of each metric of a plan.
///
/// The absolute one is what other seeds would do: with the variance `s²` of a metric within its points (pooled over all of
/// them, `f` degrees of freedom) and `n` seeds, two means of a point differ by more than `t √(2 s² / n)` at any of `p` points
/// in one of twenty comparisons, `t` being Student's quantile at `1 − 0.025 / p` (Bonferroni).
#[must_use]
pub fn tolerances(plan: &Plan, results: &Results) -> Vec<Tolerance> {
    let mut points: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for run in plan.runs() {
        let point = run.point.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        points.entry((run.case, point)).or_default().push(run.index);
    }
    let metrics = plan.metrics().iter().enumerate();
    let tolerance = |(index, metric): (usize, &crate::MetricInfo)| {
        let value = |run: &usize| results.get(*run).and_then(|row| row.numbers[index]);
        let estimates = points.values().map(|runs| Estimate::of(runs.iter().map(value).collect()));
        let (absolute, relative) = match pooled(estimates) {
            Some(absolute) => (absolute, ROUNDING),
            None => (0.0, UNKNOWN),
        };
        Tolerance { metric: metric.name, unit: metric.unit, absolute, relative }
    };
    metrics.map(tolerance).collect()
}

/// The distance of two means of a point, `None` if no point has two values.
fn pooled(estimates: impl Iterator<Item = Estimate>) -> Option<f64> {
    let (mut squares, mut freedom, mut points, mut least) = (0.0, 0.0, 0_usize, f64::INFINITY);
    for estimate in estimates {
        let Some(deviation) = estimate.deviation else { continue };
        let count = number(estimate.count());
        squares += (count - 1.0) * deviation * deviation;
        freedom += count - 1.0;
        points += 1;
        least = least.min(count);
    }
    if points == 0 {
        return None;
    }
    let quantile = student_quantile(1.0 - 0.025 / number(points), freedom);
    Some(quantile * (2.0 * squares / freedom / least).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(values: &[f64]) -> Estimate {
        Estimate::of(values.iter().copied().map(Some).collect())
    }

    /// Two points with variances 2 and 0 and two seeds each: s² = 1 with two degrees of freedom.
    #[test]
    fn the_distance_is_that_of_students_test_over_all_points() {
        // For 2 degrees of freedom: t(p) = (2p − 1) √(2 / (4 p (1 − p))), Abramowitz and Stegun 26.7.5 inverted.
        let p: f64 = 0.9875;
        let want = (2.0 * p - 1.0) * (2.0 / (4.0 * p * (1.0 - p))).sqrt();
        let got = pooled([estimate(&[1.0, 3.0]), estimate(&[5.0, 5.0])].into_iter()).unwrap();
        assert!((got - want).abs() < 1e-3, "{got}, {want}");
    }

    #[test]
    fn one_seed_says_nothing_and_equal_seeds_allow_nothing() {
        assert_eq!(pooled([estimate(&[1.0]), estimate(&[])].into_iter()), None);
        assert_eq!(pooled([estimate(&[1.0, 1.0])].into_iter()), Some(0.0));
    }
}
