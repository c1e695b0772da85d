//! How far the means of results made elsewhere may be from ours.

use crate::plan::Plan;
use crate::results::Results;
use crate::statistics::{Estimate, number, student_quantile};
use std::collections::BTreeMap;
use std::iter::once;

/// How far apart numbers are that differ only by rounding, as a share of their size.
const ROUNDING: f64 = 1e-9;
/// What is allowed where one seed says nothing about the spread: as a share of the number.
const UNKNOWN: f64 = 1e-6;

/// How far the mean over the seeds of a point may be from ours: by the larger of two distances.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    pub metric: &'static str,
    pub unit: &'static str,
    /// The case and the value on each axis, in words: `case = slow, calls = 2`.
    pub point: String,
    /// In the metric's unit.
    pub absolute: f64,
    /// As a share of our mean.
    pub relative: f64,
}

/// The tolerance of each metric of a plan at each point.
///
/// The absolute one is what other seeds would do: with the variance `s²` of the `n` seeds of a point, two means of it differ by
/// more than `t √(2 s² / n)` at any of `p` points in at most one of twenty comparisons if the seeds' numbers are normal, `t`
/// being Student's quantile for `n − 1` degrees of freedom at `1 − 0.025 / p` (Bonferroni). A few seeds that are close to each
/// other by chance do not make it small: the variance pooled over all points gives the least that is allowed.
#[must_use]
pub fn tolerances(plan: &Plan, results: &Results) -> Vec<Tolerance> {
    let mut points: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for run in plan.runs() {
        let point = once(run.case.clone()).chain(run.point.iter().map(ToString::to_string)).collect();
        points.entry(point).or_default().push(run.index);
    }
    let words = |values: &Vec<String>| {
        let pairs = once("case").chain(plan.axes()).zip(values);
        pairs.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
    };
    let mut found = Vec::new();
    for (index, metric) in plan.metrics().iter().enumerate() {
        let value = |run: &usize| results.get(*run).and_then(|row| row.numbers[index]);
        let estimates: Vec<Estimate> =
            points.values().map(|runs| Estimate::of(runs.iter().map(value).collect())).collect();
        for (point, distance) in points.keys().zip(distances(&estimates)) {
            let (absolute, relative) = distance.map_or((0.0, UNKNOWN), |distance| (distance, ROUNDING));
            let (metric, unit, point) = (metric.name, metric.unit, words(point));
            found.push(Tolerance { metric, unit, point, absolute, relative });
        }
    }
    found
}

/// The distance of two means of each point, `None` if no point has two values.
fn distances(estimates: &[Estimate]) -> Vec<Option<f64>> {
    let (mut squares, mut freedom) = (0.0, 0);
    for estimate in estimates {
        let Some(deviation) = estimate.deviation else { continue };
        squares += number(estimate.count() - 1) * deviation * deviation;
        freedom += estimate.count() - 1;
    }
    if freedom == 0 {
        return vec![None; estimates.len()];
    }
    let points = estimates.iter().filter(|estimate| estimate.mean.is_some()).count();
    // Most points have the same number of seeds.
    let mut quantiles = BTreeMap::new();
    let mut distance = |variance: f64, freedom: usize, count: usize| {
        let quantile = quantiles
            .entry(freedom)
            .or_insert_with(|| student_quantile(1.0 - 0.025 / number(points), number(freedom)));
        *quantile * (2.0 * variance / number(count.max(1))).sqrt()
    };
    let each = estimates.iter().map(|estimate| {
        let count = estimate.count();
        let least = distance(squares / number(freedom), freedom, count);
        let own = estimate.deviation.map(|deviation| distance(deviation * deviation, count - 1, count));
        Some(own.map_or(least, |own| own.max(least)))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(values: &[f64]) -> Estimate {
        Estimate::of(values.iter().copied().map(Some).collect())
    }

    /// Student's quantile for two degrees of freedom: Abramowitz and Stegun 26.7.5 inverted.
    fn of_two(share: f64) -> f64 {
        (2.0 * share - 1.0) * (2.0 / (4.0 * share * (1.0 - share))).sqrt()
    }

    fn is_near(got: Option<f64>, want: f64) -> bool {
        got.is_some_and(|got| (got - want).abs() < 1e-3 * want)
    }

    /// Two points with variances 2 and 0 and two seeds each: s² = 1 with two degrees of freedom.
    #[test]
    fn seeds_that_agree_by_chance_are_allowed_what_all_points_do() {
        let got = distances(&[estimate(&[1.0, 3.0]), estimate(&[5.0, 5.0])]);
        assert!(is_near(got[1], of_two(0.9875)), "{got:?}");
    }

    /// Twenty points of three seeds, one of which spreads by s = 10: pooled alone, it would be beyond in half of all
    /// comparisons.
    #[test]
    fn a_point_that_spreads_more_than_the_others_is_allowed_its_own_spread() {
        let mut estimates = vec![estimate(&[7.0, 7.0, 7.0]); 20];
        estimates[4] = estimate(&[-10.0, 0.0, 10.0]);
        let got = distances(&estimates);
        assert!(is_near(got[4], of_two(1.0 - 0.025 / 20.0) * 10.0 * (2.0_f64 / 3.0).sqrt()), "{got:?}");
        assert!(got[3].unwrap() < 6.0, "{got:?}");
    }

    #[test]
    fn a_point_with_fewer_seeds_is_allowed_more() {
        let got = distances(&[estimate(&[1.0, 2.0, 3.0]), estimate(&[2.0])]);
        assert!(is_near(got[1], of_two(0.9875) * 2.0_f64.sqrt()), "{got:?}");
    }

    #[test]
    fn one_seed_says_nothing_and_equal_seeds_allow_nothing() {
        assert_eq!(distances(&[estimate(&[1.0]), estimate(&[])]), [None, None]);
        assert_eq!(distances(&[estimate(&[1.0, 1.0])]), [Some(0.0)]);
    }
}
