//! Two evaluations side by side: before and after, simulated and measured.

use crate::evaluate::{Evaluation, Judged, PlacedNumber};
use crate::statistics::{Estimate, number, student_quantile};
use guestright_figure::short;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What differs between two evaluations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What the first is: its plan and where it ran.
    pub first: String,
    /// What the second is.
    pub second: String,
    /// Whether both ran on the same chance, so that differences are taken seed by seed.
    pub paired: bool,
    /// Every number that both have.
    pub numbers: Vec<NumberChange>,
    /// Every claim whose verdict differs, or which only one of them has.
    pub claims: Vec<ClaimChange>,
    /// How many claims have the same verdict in both.
    pub claims_same: usize,
    /// What only one of them has, in words.
    pub only: Vec<String>,
}

/// A number of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberChange {
    /// The measure's id, or a figure's and what it draws.
    pub of: String,
    /// The case, and the values of the axes.
    pub place: String,
    /// The first's mean.
    pub first: Option<f64>,
    /// The second's.
    pub second: Option<f64>,
    /// Second minus first.
    pub difference: Option<f64>,
    /// The 95 % confidence interval of the difference: Student's over the pairs, or Welch's.
    pub interval: Option<(f64, f64)>,
    /// Whether the interval leaves out 0; without an interval, whether they differ at all.
    pub differs: bool,
}

/// A claim that became another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimChange {
    /// Its id.
    pub id: String,
    /// What it says.
    pub text: String,
    /// The first's verdict.
    pub first: Option<Judged>,
    /// The second's.
    pub second: Option<Judged>,
}

/// Puts two evaluations side by side; numbers are matched by their names and places.
pub fn compare(first: &Evaluation, second: &Evaluation) -> Comparison {
    let paired = first.chance == second.chance
        && first.platform == second.platform
        && first.seeds == second.seeds
        && first.testbed == second.testbed;
    let (ours, theirs) = (numbers_of(first), numbers_of(second));
    let mut only = Vec::new();
    let mut numbers = Vec::new();
    for (of, place, estimate) in &ours {
        match theirs.iter().find(|other| other.0 == *of && other.1 == *place) {
            Some((_, _, other)) => numbers.push(change(of, place, estimate, other, paired)),
            None => only.push(format!("first: {of}, {place}")),
        }
    }
    for (of, place, _) in &theirs {
        if !ours.iter().any(|other| other.0 == *of && other.1 == *place) {
            only.push(format!("second: {of}, {place}"));
        }
    }
    let (claims, claims_same) = claims(first, second);
    Comparison { first: what(first), second: what(second), paired, numbers, claims, claims_same, only }
}

fn what(evaluation: &Evaluation) -> String {
    let quick = if evaluation.quick { ", quick" } else { "" };
    format!("{} on {}{quick}", evaluation.name, evaluation.platform.name())
}

/// Every measure, and every point of every figure that draws a metric.
fn numbers_of(evaluation: &Evaluation) -> Vec<(String, String, &Estimate)> {
    let mut numbers = Vec::new();
    for measure in &evaluation.measures {
        for placed in &measure.numbers {
            numbers.push((measure.id.clone(), place(placed), &placed.estimate));
        }
    }
    for figure in &evaluation.figures {
        for series in &figure.series {
            for point in &series.points {
                let of = format!("figure {}, {}", figure.id, series.quantity);
                numbers.push((of, format!("{}, x = {}", series.name, point.label), &point.estimate));
            }
        }
    }
    numbers
}

fn place(placed: &PlacedNumber) -> String {
    let at: String = placed.at.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
    format!("{}{at}", placed.case)
}

fn change(of: &str, place: &str, first: &Estimate, second: &Estimate, paired: bool) -> NumberChange {
    let difference = first.mean.zip(second.mean).map(|(a, b)| b - a);
    let interval = if paired {
        let pairs = first.values.iter().zip(&second.values).map(|(a, b)| Some((*b)? - (*a)?));
        Estimate::of(pairs.collect()).interval
    } else {
        welch(first, second)
    };
    let differs = match interval {
        Some((low, high)) => low > 0.0 || high < 0.0,
        None => difference.is_some_and(|difference| difference != 0.0),
    };
    NumberChange {
        of: of.to_owned(),
        place: place.to_owned(),
        first: first.mean,
        second: second.mean,
        difference,
        interval,
        differs,
    }
}

/// The interval of a difference of means whose samples have spreads of their own; the degrees of freedom are
/// Welch and Satterthwaite's (B. L. Welch, Biometrika 34, 1947).
fn welch(first: &Estimate, second: &Estimate) -> Option<(f64, f64)> {
    let share = |estimate: &Estimate| {
        let (deviation, count) = (estimate.deviation?, number(estimate.count()));
        Some((deviation * deviation / count, count - 1.0))
    };
    let ((a, a_freedom), (b, b_freedom)) = (share(first)?, share(second)?);
    let difference = second.mean? - first.mean?;
    if a + b == 0.0 {
        return Some((difference, difference));
    }
    let freedom = (a + b) * (a + b) / (a * a / a_freedom + b * b / b_freedom);
    let half = student_quantile(0.975, freedom.max(1.0)) * (a + b).sqrt();
    Some((difference - half, difference + half))
}

fn claims(first: &Evaluation, second: &Evaluation) -> (Vec<ClaimChange>, usize) {
    let mut changes = Vec::new();
    let mut same = 0;
    for claim in &first.claims {
        let other = second.claims.iter().find(|other| other.id == claim.id).map(|other| other.judged);
        if other == Some(claim.judged) {
            same += 1;
            continue;
        }
        let (id, text) = (claim.id.clone(), claim.text.clone());
        changes.push(ClaimChange { id, text, first: Some(claim.judged), second: other });
    }
    for claim in &second.claims {
        if !first.claims.iter().any(|other| other.id == claim.id) {
            let (id, text) = (claim.id.clone(), claim.text.clone());
            changes.push(ClaimChange { id, text, first: None, second: Some(claim.judged) });
        }
    }
    (changes, same)
}

impl Comparison {
    /// As JSON, for people too.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("names are texts and numbers are finite")
    }

    /// As plain text: claims that changed, then numbers that differ, then how many do not.
    pub fn text(&self) -> String {
        let mut out = format!("first:  {}\nsecond: {}\n", self.first, self.second);
        out.push_str(if self.paired {
            "same seeds: differences are taken seed by seed\n"
        } else {
            "other seeds: differences are of means (Welch)\n"
        });
        let words = |judged: Option<Judged>| judged.map_or("not there", Judged::words);
        let _ = writeln!(out, "\nClaims: {} the same, {} not", self.claims_same, self.claims.len());
        for claim in &self.claims {
            let (first, second) = (words(claim.first), words(claim.second));
            let _ = writeln!(out, "  {}: {first} -> {second}: {}", claim.id, claim.text);
        }
        let differ: Vec<_> = self.numbers.iter().filter(|number| number.differs).collect();
        let _ = writeln!(out, "\nNumbers: {} of {} differ at 95 %", differ.len(), self.numbers.len());
        for number in differ {
            let [first, second, difference] = [number.first, number.second, number.difference]
                .map(|value| value.map_or("–".to_owned(), short));
            let interval = number.interval.map(|(low, high)| format!(" ({} … {})", short(low), short(high)));
            let interval = interval.unwrap_or_default();
            let (of, place) = (&number.of, &number.place);
            let _ = writeln!(out, "  {of} [{place}]: {first} -> {second}, {difference}{interval}");
        }
        if !self.only.is_empty() {
            let _ = writeln!(out, "\nOnly in one of them: {}", self.only.len());
            for line in self.only.iter().take(20) {
                let _ = writeln!(out, "  {line}");
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn welchs_interval_is_students_where_they_agree() {
        let of = |values: &[f64]| Estimate::of(values.iter().copied().map(Some).collect());
        let half = |a: &[f64], b: &[f64]| {
            let (low, high) = welch(&of(a), &of(b)).unwrap();
            (f64::midpoint(low, high), (high - low) / 2.0)
        };
        // Same spread and size: 8 degrees of freedom, 2.306 times a standard error of 1.
        let (middle, width) = half(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 3.0, 4.0, 5.0, 6.0]);
        assert!((middle - 1.0).abs() < 1e-9 && (width - 2.306).abs() < 1e-3, "{middle} {width}");
        // One without spread: the other's 4 degrees of freedom, 2.776 times the root of 2.5/5.
        let (middle, width) = half(&[3.0, 3.0, 3.0], &[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!(middle.abs() < 1e-9 && (width - 1.963).abs() < 1e-3, "{middle} {width}");
        assert_eq!(welch(&of(&[2.0, 2.0]), &of(&[5.0, 5.0])), Some((3.0, 3.0)));
        assert_eq!(welch(&of(&[2.0]), &of(&[5.0, 6.0])), None);
    }
}
