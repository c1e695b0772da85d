//! A claim judged somewhere else than where it says.

use super::judge::{Judged, Part, Verdict, band, judge_groups, point_of};
use super::sample::Curves;
use crate::plan::{Claim, Order, Test};
use crate::statistics::number;
use crate::value::Value;

/// What is put in the place of what the claim says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Move {
    /// Another value of an axis.
    Axis(usize, Value),
    /// Another case.
    Case(usize),
}

/// A number that a claim is about: ours, or for an order the step from one to the next.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Subject {
    /// What it is, where the claim has several.
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) number: Option<f64>,
    /// How far it is inside of what the claim wants; below 0 if it is outside. Nothing if nothing is wanted.
    margin: Option<f64>,
}

pub(super) struct Moved {
    pub(super) verdict: Verdict,
    pub(super) subjects: Vec<Subject>,
}

impl Moved {
    /// The number that decides: the one that is least inside, or farthest outside. Nothing where one is not known, or
    /// where nothing is wanted of several.
    pub(super) fn deciding(&self) -> Option<&Subject> {
        if let [one] = self.subjects.as_slice() {
            return Some(one);
        }
        if self.subjects.iter().any(|subject| subject.margin.is_none()) {
            return None;
        }
        let margin = |subject: &Subject| subject.margin.unwrap_or(f64::INFINITY);
        self.subjects.iter().min_by(|a, b| margin(a).total_cmp(&margin(b)))
    }
}

impl Moved {
    /// The share of its numbers that are outside of what the claim wants, or not known: 0 if it reproduces, and above 0 if not.
    pub(super) fn share_outside(&self) -> f64 {
        match self.verdict.judged {
            Judged::Reproduces | Judged::Prediction => return 0.0,
            Judged::DoesNotReproduce | Judged::CannotBeComputed => {}
        }
        let is_outside = |subject: &&Subject| subject.margin.is_none_or(|margin| margin < 0.0);
        // On an open end, and where every seed is asked, a margin of the mean does not say it.
        let outside = self.subjects.iter().filter(is_outside).count().max(1);
        number(outside) / number(self.subjects.len().max(1))
    }
}

pub(super) fn judge_moved(curves: &Curves<'_>, claim: &Claim, moves: &[Move]) -> Moved {
    let mut claim = claim.clone();
    for term in &mut claim.terms {
        let dimensions = curves.dimensions(term.of);
        for one in moves {
            match one {
                Move::Axis(axis, value) if dimensions[*axis] => term.at[*axis] = Some(value.clone()),
                Move::Axis(..) => {}
                Move::Case(case) => term.case = *case,
            }
        }
    }
    let (verdict, groups) = judge_groups(curves, &claim);
    let subjects = match &claim.test {
        Test::Order(order, slack) => steps(&verdict, &groups, *order, *slack),
        Test::Within(_) | Test::WithinPercent(_) | Test::Band(_) | Test::Prediction => {
            verdict.parts.iter().map(|part| subject(part, &claim.test)).collect()
        }
    };
    Moved { verdict, subjects }
}

fn subject(part: &Part, test: &Test) -> Subject {
    let margin = |ours: f64| {
        let band = band(test, part.published)?;
        let low = band.low.map_or(f64::INFINITY, |low| ours - low.value);
        let high = band.high.map_or(f64::INFINITY, |high| high.value - ours);
        Some(low.min(high))
    };
    Subject {
        name: point_of(part),
        unit: part.unit.clone(),
        number: part.ours,
        margin: part.ours.and_then(margin),
    }
}

/// The steps of an order, each from one number to the next.
fn steps(verdict: &Verdict, groups: &[Vec<usize>], order: Order, slack: f64) -> Vec<Subject> {
    let rises = matches!(order, Order::Increasing | Order::NonDecreasing);
    let step = |two: &[usize]| {
        let [first, second] = two else { return None };
        let (a, b) = (&verdict.parts[*first], &verdict.parts[*second]);
        let number = a.ours.zip(b.ours).map(|(a, b)| b - a);
        Some(Subject {
            name: format!("from {} to {}", point_of(a), point_of(b)),
            unit: b.unit.clone(),
            number,
            margin: number.map(|number| slack + if rises { number } else { -number }),
        })
    };
    groups.iter().flat_map(|group| group.windows(2)).filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(margins: &[Option<f64>]) -> Moved {
        let subject = |(index, margin): (usize, &Option<f64>)| Subject {
            name: index.to_string(),
            unit: String::new(),
            number: Some(1.0),
            margin: *margin,
        };
        let verdict = Verdict {
            id: String::new(),
            text: String::new(),
            source: String::new(),
            wanted: String::new(),
            by: String::new(),
            judged: Judged::Reproduces,
            fitted: false,
            unclear: false,
            parts: Vec::new(),
            reason: String::new(),
        };
        Moved { verdict, subjects: margins.iter().enumerate().map(subject).collect() }
    }

    #[test]
    fn the_least_margin_decides() {
        let deciding =
            |margins: &[Option<f64>]| moved(margins).deciding().map(|subject| subject.name.clone());
        assert_eq!(deciding(&[]), None);
        assert_eq!(deciding(&[None]).as_deref(), Some("0"), "the only one, even if nothing is wanted");
        assert_eq!(deciding(&[Some(2.0), Some(1.0), Some(3.0)]).as_deref(), Some("1"));
        assert_eq!(deciding(&[Some(2.0), Some(-1.0), Some(-3.0)]).as_deref(), Some("2"), "farthest outside");
        assert_eq!(deciding(&[Some(1.0), Some(1.0)]).as_deref(), Some("0"), "the first of several");
        assert_eq!(deciding(&[Some(1.0), None]), None, "one that is not known might decide");
    }
}
