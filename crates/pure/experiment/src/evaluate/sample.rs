//! The number of a quantity at a place, for every seed and for the mean curve.

use crate::plan::{Condition, Coordinates, Curve, MeasureKind, Pick, Plan, Quantity, Relation};
use crate::results::Results;
use crate::statistics::{Bound, Estimate};
use crate::value::Value;
use guestright_figure::short;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Rows, found by case and point.
#[derive(Debug)]
pub(super) struct Curves<'a> {
    pub(super) plan: &'a Plan,
    results: &'a Results,
    /// For each case the place of its first run.
    starts: Vec<usize>,
    /// The runs whose rows were asked for, where somebody wants to know.
    asked: Option<RefCell<BTreeSet<usize>>>,
}

/// A number that a curve gave.
enum Got {
    Number(f64),
    /// The last place where a condition held, and the next, where it fails.
    Last(f64, f64),
    /// The sweep ended before, or began too late: at least this, or at most.
    Beyond(f64, Bound),
    Nothing(String),
}

impl<'a> Curves<'a> {
    pub(super) fn new(plan: &'a Plan, results: &'a Results) -> Self {
        let mut start = 0;
        let mut starts = Vec::new();
        for case in &plan.grid.cases {
            starts.push(start);
            start += case.points() * seeds(plan);
        }
        Self { plan, results, starts, asked: None }
    }

    /// Notes which runs are asked for from now on.
    pub(super) fn noting(self) -> Self {
        Self { asked: Some(RefCell::default()), ..self }
    }

    /// The runs that were asked for since the last time.
    pub(super) fn take_asked(&self) -> BTreeSet<usize> {
        self.asked.as_ref().map(RefCell::take).unwrap_or_default()
    }

    /// Every place of a case that has these dimensions, where it agrees with what is fixed already.
    pub(super) fn combinations(
        &self,
        case: usize,
        dimensions: &[bool],
        fixed: &Coordinates,
    ) -> Vec<Coordinates> {
        let mut combinations = vec![vec![None; dimensions.len()]];
        for (axis, has) in dimensions.iter().enumerate() {
            if !has {
                continue;
            }
            let values = self.plan.grid.cases[case].values[axis].iter();
            let values: Vec<&Value> =
                values.filter(|value| fixed[axis].as_ref().is_none_or(|fixed| fixed == *value)).collect();
            let longer = |coordinates: Coordinates| {
                values
                    .iter()
                    .map(move |value| {
                        let mut extended = coordinates.clone();
                        extended[axis] = Some((*value).clone());
                        extended
                    })
                    .collect::<Vec<_>>()
            };
            combinations = combinations.into_iter().flat_map(longer).collect();
        }
        combinations
    }

    pub(super) fn dimensions(&self, of: Quantity) -> Vec<bool> {
        match of {
            Quantity::Metric(_) => vec![true; self.plan.axes.len()],
            Quantity::Measure(index) => self.plan.measures[index].dimensions.clone(),
        }
    }

    pub(super) fn has_case(&self, of: Quantity, case: usize) -> bool {
        match of {
            Quantity::Metric(_) => true,
            Quantity::Measure(index) => self.plan.measures[index].cases.contains(&case),
        }
    }

    /// Whether it is, at its root, a place on an axis.
    pub(super) fn is_axis_position(&self, of: Quantity) -> bool {
        let Quantity::Measure(index) = of else { return false };
        match &self.plan.measures[index].kind {
            MeasureKind::Along { curve, .. } => curve.is_axis_position(),
            MeasureKind::Relation { of, .. } => self.is_axis_position(*of),
        }
    }

    pub(super) fn name(&self, of: Quantity) -> &str {
        match of {
            Quantity::Metric(index) => self.plan.metrics()[index].name,
            Quantity::Measure(index) => &self.plan.measures[index].title,
        }
    }

    pub(super) fn unit(&self, of: Quantity) -> &str {
        match of {
            Quantity::Metric(index) => self.plan.metrics()[index].unit,
            Quantity::Measure(index) => &self.plan.measures[index].unit,
        }
    }

    pub(super) fn estimate(&self, of: Quantity, case: usize, at: &Coordinates) -> Estimate {
        match of {
            Quantity::Metric(index) => self.metric(index, case, at),
            Quantity::Measure(index) => match &self.plan.measures[index].kind {
                MeasureKind::Along { of, over, curve } => self.along(*of, case, at, *over, curve),
                MeasureKind::Relation { how, of, to, to_case, to_at } => {
                    let there =
                        at.iter().zip(to_at).map(|(own, other)| other.clone().or_else(|| own.clone()));
                    let there: Coordinates = there.collect();
                    let of = self.estimate(*of, case, at);
                    relate(*how, &of, &self.estimate(*to, to_case.unwrap_or(case), &there))
                }
            },
        }
    }

    fn metric(&self, metric: usize, case: usize, at: &Coordinates) -> Estimate {
        let mut point = 0;
        for (values, value) in self.plan.grid.cases[case].values.iter().zip(at) {
            let Some(index) = values.iter().position(|other| Some(other) == value.as_ref()) else {
                let why = Some("the case has no such point".to_owned());
                return Estimate { values: vec![None; seeds(self.plan)], why, ..Estimate::default() };
            };
            point = point * values.len() + index;
        }
        let first = self.starts[case] + point * seeds(self.plan);
        if let Some(asked) = &self.asked {
            asked.borrow_mut().extend(first..first + seeds(self.plan));
        }
        let rows = || (first..first + seeds(self.plan)).map(|index| self.results.get(index));
        let estimate = Estimate::of(rows().map(|row| *row?.numbers.get(metric)?).collect());
        let why = estimate.mean.is_none().then(|| "it was not measured".to_owned());
        Estimate { missing: rows().filter(Option::is_none).count(), why, ..estimate }
    }

    fn along(&self, of: Quantity, case: usize, at: &Coordinates, over: usize, curve: &Curve) -> Estimate {
        let estimate_at = |x: &Value| {
            let mut coordinates = at.clone();
            coordinates[over] = Some(x.clone());
            self.estimate(of, case, &coordinates)
        };
        if let Curve::At(x) = curve {
            return estimate_at(x);
        }
        let values = &self.plan.grid.cases[case].values[over];
        let mut points: Vec<(f64, Estimate)> =
            values.iter().filter_map(|x| Some((x.number()?, estimate_at(x)))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let of_seed = |seed: usize| {
            let y = |(x, estimate): &(f64, Estimate)| (*x, estimate.values.get(seed).copied().flatten());
            follow(curve, &points.iter().map(y).collect::<Vec<_>>())
        };
        let got: Vec<Got> = (0..seeds(self.plan)).map(of_seed).collect();
        let means: Vec<_> = points.iter().map(|(x, estimate)| (*x, estimate.curve)).collect();
        let mean = follow(curve, &means);
        let missing = points.iter().map(|(_, estimate)| estimate.missing).sum();
        let number = |got: &Got| match got {
            Got::Number(number) | Got::Last(number, _) | Got::Beyond(number, _) => Some(*number),
            Got::Nothing(_) => None,
        };
        let why = match &mean {
            Got::Nothing(why) => Some(why.clone()),
            Got::Number(_) | Got::Last(..) | Got::Beyond(..) => None,
        };
        let bound = |got: &Got| match got {
            Got::Beyond(_, bound) => Some(*bound),
            Got::Number(_) | Got::Last(..) | Got::Nothing(_) => None,
        };
        let bounds: Vec<Bound> = got.iter().filter_map(bound).collect();
        // What a bound of bounds is, nobody knows.
        let plain = points.iter().all(|(_, estimate)| estimate.beyond == 0 && !estimate.curve_beyond);
        let before = points.iter().map(|(_, estimate)| estimate.beyond).max().unwrap_or(0);
        Estimate {
            curve: number(&mean),
            beyond: bounds.len().max(before),
            bounded: if bounds.is_empty() {
                Vec::new()
            } else {
                got.iter().map(|got| bound(got).is_some()).collect()
            },
            bound: bounds.first().copied().filter(|first| plain && bounds.iter().all(|other| other == first)),
            curve_bound: bound(&mean).filter(|_| plain),
            fails_at: match mean {
                Got::Last(last, next) if !is_next(last, next) => Some(next),
                Got::Last(..) | Got::Number(_) | Got::Beyond(..) | Got::Nothing(_) => None,
            },
            curve_beyond: matches!(mean, Got::Beyond(..))
                || points.iter().any(|(_, estimate)| estimate.curve_beyond),
            missing,
            why,
            ..Estimate::of(got.iter().map(number).collect())
        }
    }
}

fn seeds(plan: &Plan) -> usize {
    usize::try_from(plan.grid.seeds).unwrap_or(usize::MAX)
}

fn relate(how: Relation, of: &Estimate, to: &Estimate) -> Estimate {
    let relation = |of: Option<f64>, to: Option<f64>| {
        let (of, to) = (of?, to?);
        let number = match how {
            Relation::Ratio => of / to,
            Relation::Difference => of - to,
            Relation::Change => 100.0 * (of - to) / to,
        };
        Some(number).filter(|number| number.is_finite())
    };
    let values = of.values.iter().zip(&to.values).map(|(of, to)| relation(*of, *to)).collect();
    let curve = relation(of.curve, to.curve);
    let zero = || Some("what it is compared with is 0".to_owned());
    let why = if curve.is_some() { None } else { of.why.clone().or_else(|| to.why.clone()).or_else(zero) };
    Estimate {
        curve,
        beyond: of.beyond.max(to.beyond),
        curve_beyond: of.curve_beyond || to.curve_beyond,
        missing: of.missing + to.missing,
        why,
        ..Estimate::of(values)
    }
}

/// One number from a curve, whose points come from the left.
fn follow(curve: &Curve, points: &[(f64, Option<f64>)]) -> Got {
    match curve {
        Curve::Largest(condition, otherwise) => {
            prefix(*condition, otherwise.map(|or| before(or, 1.0, points)), Bound::AtLeast, points.iter())
        }
        Curve::Smallest(condition, otherwise) => {
            let otherwise = otherwise.map(|or| before(or, -1.0, points));
            prefix(*condition, otherwise, Bound::AtMost, points.iter().rev())
        }
        Curve::Crossing(level) => cross(*level, points),
        Curve::Over { pick, from, to } => {
            let inside: Vec<_> = points.iter().filter(|(x, _)| (*from..=*to).contains(x)).collect();
            over(*pick, &inside)
        }
        Curve::At(_) => Got::Nothing("a point is not a curve".to_owned()),
    }
}

/// Whether two places are whole numbers without another between them.
fn is_next(one: f64, other: f64) -> bool {
    one.fract() == 0.0 && other.fract() == 0.0 && (one - other).abs() <= 1.0
}

/// What `otherwise` says if the condition fails at the very first point. It is a number only where it is no farther from
/// that point than the points are from each other; what lies between was not tried, and all that is known is a bound.
/// `side` is 1 if the first point is the least, -1 if it is the most.
fn before(otherwise: f64, side: f64, points: &[(f64, Option<f64>)]) -> Got {
    let first_point = if side > 0.0 { points.first() } else { points.last() };
    let Some((first, _)) = first_point else { return Got::Nothing("there are no points".to_owned()) };
    let whole = points.iter().all(|(x, _)| x.fract() == 0.0);
    let steps = points.windows(2).map(|two| two[1].0 - two[0].0);
    let step = steps.reduce(f64::min).unwrap_or(if whole { 1.0 } else { 0.0 });
    let far = side * (first - otherwise);
    if far > 0.0 && far <= step * (1.0 + 1e-9) {
        return Got::Last(otherwise, *first);
    }
    let bound = if side > 0.0 { Bound::AtMost } else { Bound::AtLeast };
    Got::Beyond(if whole { first - side } else { *first }, bound)
}

/// The last point before the condition first fails.
fn prefix<'p>(
    condition: Condition,
    otherwise: Option<Got>,
    bound: Bound,
    points: impl Iterator<Item = &'p (f64, Option<f64>)>,
) -> Got {
    let mut last: Option<f64> = None;
    for (x, y) in points {
        let Some(y) = y else { return Got::Nothing(format!("it was not measured at {}", short(*x))) };
        if !condition.holds(*y) {
            let nothing = || Got::Nothing(format!("the condition fails already at {}", short(*x)));
            return last.map(|last| Got::Last(last, *x)).or(otherwise).unwrap_or_else(nothing);
        }
        last = Some(*x);
    }
    last.map_or_else(|| Got::Nothing("there are no points".to_owned()), |last| Got::Beyond(last, bound))
}

/// The first place where the curve is on the level: at a point, or between two on the line that joins them.
fn cross(level: f64, points: &[(f64, Option<f64>)]) -> Got {
    let mut before: Option<(f64, f64)> = None;
    for (x, y) in points {
        let Some(y) = y else { return Got::Nothing(format!("it was not measured at {}", short(*x))) };
        let there = y - level;
        if there == 0.0 {
            return Got::Number(*x);
        }
        if let Some((last, here)) = before
            && (here < 0.0) != (there < 0.0)
        {
            return Got::Number(last + (x - last) * here / (here - there));
        }
        before = Some((*x, there));
    }
    Got::Nothing(format!("it does not cross {}", short(level)))
}

fn over(pick: Pick, points: &[&(f64, Option<f64>)]) -> Got {
    let mut known = Vec::new();
    for (x, y) in points {
        let Some(y) = y else { return Got::Nothing(format!("it was not measured at {}", short(*x))) };
        known.push((*x, *y));
    }
    let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    // The first of several: `min_by` takes the first, `max_by` the last.
    let most = known.iter().rev().max_by(by_height);
    let least = known.iter().min_by(by_height);
    let (Some(most), Some(least)) = (most, least) else {
        return Got::Nothing("there are no points in between".to_owned());
    };
    Got::Number(match pick {
        Pick::Max => most.1,
        Pick::Min => least.1,
        Pick::ArgMax => most.0,
        Pick::ArgMin => least.0,
        Pick::Mean => known.iter().map(|point| point.1).sum::<f64>() / crate::statistics::number(known.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn got(curve: &Curve, points: &[(f64, f64)]) -> Result<(f64, bool), String> {
        let point = |(x, y): &(f64, f64)| (*x, Some(*y).filter(|y| y.is_finite()));
        match follow(curve, &points.iter().map(point).collect::<Vec<_>>()) {
            Got::Number(number) | Got::Last(number, _) => Ok((number, false)),
            Got::Beyond(number, _) => Ok((number, true)),
            Got::Nothing(why) => Err(why),
        }
    }

    /// All points are bad; the number and the way of its bound.
    fn fails_at_once(kind: fn(Condition, Option<f64>) -> Curve, or: f64, xs: &[f64]) -> (f64, Option<Bound>) {
        let points: Vec<_> = xs.iter().map(|x| (*x, Some(1.0))).collect();
        match follow(&kind(Condition::AtLeast(3.6), Some(or)), &points) {
            Got::Number(number) | Got::Last(number, _) => (number, None),
            Got::Beyond(number, bound) => (number, Some(bound)),
            Got::Nothing(why) => panic!("{why}"),
        }
    }

    #[test]
    fn what_was_not_tried_is_only_a_bound() {
        let (most, least) = (Some(Bound::AtMost), Some(Bound::AtLeast));
        #[rustfmt::skip]
        let largest: [(f64, &[f64], _); 8] = [
            (0.0, &[1.0, 2.0, 3.0],   (0.0, None)),
            (0.0, &[6.0, 7.0, 8.0],   (5.0, most)),
            (5.0, &[6.0, 7.0, 8.0],   (5.0, None)),
            (0.0, &[1.0, 5.0, 9.0],   (0.0, None)),
            (0.0, &[8.0, 12.0, 14.0], (7.0, most)),
            (0.0, &[1.0],             (0.0, None)),
            (0.0, &[0.5, 0.75],       (0.5, most)),
            (9.0, &[6.0, 7.0, 8.0],   (5.0, most)),
        ];
        for (or, xs, want) in largest {
            assert_eq!(fails_at_once(Curve::Largest, or, xs), want, "{or} {xs:?}");
        }
        assert_eq!(fails_at_once(Curve::Smallest, 9.0, &[6.0, 7.0, 8.0]), (9.0, None));
        assert_eq!(fails_at_once(Curve::Smallest, 20.0, &[6.0, 7.0, 8.0]), (9.0, least));
    }

    #[test]
    fn a_curve_gives_the_number_that_is_asked_for() {
        let cliff = [(1.0, 4.0), (2.0, 3.9), (3.0, 3.2), (4.0, 3.7), (5.0, 1.0)];
        let gap = [(1.0, 4.0), (2.0, f64::NAN), (3.0, 1.0)];
        let good = Condition::AtLeast(3.6);
        let over = |pick, from, to| Curve::Over { pick, from, to };
        #[rustfmt::skip]
        let cases = [
            // Point 4 is good again, but behind a bad one.
            (Curve::Largest(good, None),                        &cliff[..],  Ok((2.0, false))),
            (Curve::Largest(Condition::AtLeast(0.5), None),     &cliff,      Ok((5.0, true))),
            (Curve::Largest(Condition::AtLeast(5.0), Some(0.0)), &cliff,     Ok((0.0, false))),
            (Curve::Largest(Condition::AtLeast(5.0), None),     &cliff,      Err("the condition fails already at 1".to_owned())),
            (Curve::Largest(good, None),                        &gap,        Err("it was not measured at 2".to_owned())),
            (Curve::Smallest(Condition::AtMost(3.8), None),     &cliff,      Ok((3.0, false))),
            (Curve::Smallest(Condition::AtMost(9.0), None),     &cliff,      Ok((1.0, true))),
            (Curve::Crossing(3.55),                             &cliff,      Ok((2.5, false))),
            (Curve::Crossing(9.0),                              &cliff,      Err("it does not cross 9".to_owned())),
            (over(Pick::Max, 2.0, 4.0),                         &cliff,      Ok((3.9, false))),
            (over(Pick::Min, 2.0, 4.0),                         &cliff,      Ok((3.2, false))),
            (over(Pick::ArgMax, 2.0, 4.0),                      &cliff,      Ok((2.0, false))),
            (over(Pick::ArgMin, f64::NEG_INFINITY, 4.0),        &cliff,      Ok((3.0, false))),
            (over(Pick::Mean, 1.0, 1.0),                        &cliff,      Ok((4.0, false))),
            (over(Pick::Mean, 8.0, 9.0),                        &cliff,      Err("there are no points in between".to_owned())),
        ];
        for (curve, points, want) in cases {
            match (got(&curve, points), want) {
                (Ok((x, beyond)), Ok((want, want_beyond))) => {
                    assert!((x - want).abs() < 1e-9 && beyond == want_beyond, "{curve:?}: {x} {beyond}");
                }
                (got, want) => assert_eq!(got, want, "{curve:?}"),
            }
        }
    }

    /// Where a curve crosses 2; the gaps are `None`.
    fn crossing(points: &[(f64, Option<f64>)]) -> Result<f64, String> {
        match cross(2.0, points) {
            Got::Number(number) => Ok(number),
            Got::Nothing(why) => Err(why),
            Got::Last(..) | Got::Beyond(..) => panic!("a crossing is a number or nothing"),
        }
    }

    #[test]
    fn a_curve_crosses_at_its_points_and_between_them() {
        let of = |ys: &[f64]| {
            let points: Vec<_> = ys.iter().zip(1_u32..).map(|(y, x)| (f64::from(x), Some(*y))).collect();
            crossing(&points)
        };
        let never = || Err("it does not cross 2".to_owned());
        #[rustfmt::skip]
        let cases: [(&[f64], Result<f64, String>); 14] = [
            (&[],                   never()),
            (&[1.0],                never()),
            (&[2.0],                Ok(1.0)),
            (&[1.0, 1.5],           never()),
            (&[3.0, 2.5, 4.0],      never()),
            (&[1.0, 3.0],           Ok(1.5)),
            (&[3.0, 1.0],           Ok(1.5)),
            (&[1.0, 2.0],           Ok(2.0)),
            (&[3.0, 2.0],           Ok(2.0)),
            (&[2.0, 5.0],           Ok(1.0)),
            // It touches the level and turns back.
            (&[1.0, 2.0, 1.0],      Ok(2.0)),
            (&[1.0, 1.5, 4.0, 1.0], Ok(2.2)),
            // Flat on the level: the first place of all.
            (&[1.0, 2.0, 2.0, 2.0], Ok(2.0)),
            (&[4.0, 3.0, 3.0, 1.0], Ok(3.5)),
        ];
        for (ys, want) in cases {
            assert_eq!(of(ys), want, "{ys:?}");
        }
    }

    #[test]
    fn near_is_not_across() {
        // The product of two such distances is less than the least double, so that it is 0.
        let near = |sign: f64| 2.0 + sign * 1e-15;
        assert_eq!(crossing(&[(1.0, Some(near(1.0))), (2.0, Some(near(1.0)))]), crossing(&[]));
        let level = |level, points: &[(f64, Option<f64>)]| match cross(level, points) {
            Got::Number(number) => Some(number),
            Got::Last(..) | Got::Beyond(..) | Got::Nothing(_) => None,
        };
        let tiny = [(1.0, Some(1e-200)), (2.0, Some(1e-200)), (3.0, Some(-1e-200))];
        assert_eq!(level(0.0, &tiny), Some(2.5));
        assert_eq!(level(0.0, &tiny[..2]), None);
        // A point on the level is that point, without the rounding of a line to it.
        let third = [(0.1, Some(-0.7)), (0.3, Some(0.0))];
        assert_eq!(level(0.0, &third), Some(0.3));
    }

    #[test]
    fn a_gap_hides_what_is_behind_it_and_nothing_before_it() {
        let missing = |x: &str| Err(format!("it was not measured at {x}"));
        let (low, high, level) = (Some(1.0), Some(3.0), Some(2.0));
        assert_eq!(crossing(&[(1.0, None)]), missing("1"));
        assert_eq!(crossing(&[(1.0, None), (2.0, low), (3.0, high)]), missing("1"));
        assert_eq!(crossing(&[(1.0, low), (2.0, None), (3.0, high)]), missing("2"));
        assert_eq!(crossing(&[(1.0, low), (2.0, None)]), missing("2"));
        assert_eq!(crossing(&[(1.0, low), (2.0, high), (3.0, None)]), Ok(1.5));
        assert_eq!(crossing(&[(1.0, level), (2.0, None)]), Ok(1.0));
    }

    proptest::proptest! {
        /// On whichever side a curve begins: the place is between two of its points on either side of the level.
        #[test]
        fn a_crossing_is_between_a_point_below_and_one_above(
            ys in proptest::collection::vec(-4_i32..5, 1..9), flip in proptest::bool::ANY,
        ) {
            let sign = if flip { -1.0 } else { 1.0 };
            let points: Vec<_> = ys.iter().zip(0_u32..).map(|(y, x)| (f64::from(x), Some(sign * f64::from(*y)))).collect();
            let known: Vec<f64> = points.iter().filter_map(|(_, y)| *y).collect();
            let first = (0..known.len()).find(|index| known[*index] == 0.0 || known[*index] * known[0] < 0.0);
            match (cross(0.0, &points), first) {
                (Got::Number(x), Some(0)) => proptest::prop_assert_eq!(x, 0.0),
                (Got::Number(x), Some(index)) => {
                    let (left, right) = (points[index - 1].0, points[index].0);
                    proptest::prop_assert!(left < x && x <= right, "{} in {:?}", x, known);
                    let line = known[index - 1] + (x - left) * (known[index] - known[index - 1]);
                    proptest::prop_assert!(line.abs() < 1e-9, "{}", line);
                }
                (Got::Nothing(_), None) => {}
                (_, first) => proptest::prop_assert!(false, "{:?} {:?}", first, known),
            }
        }
    }
}
