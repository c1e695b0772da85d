//! Two evaluations side by side: before and after, simulated and measured.

use crate::evaluate::{Evaluation, Judged, PlacedNumber};
use crate::statistics::{Estimate, number, student_quantile};
use guestright_figure::short;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What differs between two evaluations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What the first is: its plan and where it ran.
    pub first: String,
    pub second: String,
    /// Whether both ran on the same chance, so that differences are taken seed by seed.
    pub paired: bool,
    /// Every number that at least one has and that both could have: measures, points of figures, cells of tables, and
    /// the numbers of claims.
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
    pub point: String,
    /// The first's mean.
    pub first: Option<f64>,
    /// The second's.
    pub second: Option<f64>,
    /// Second minus first.
    pub difference: Option<f64>,
    /// The 95 % confidence interval of the difference: Student's over the pairs, or Welch's.
    pub interval: Option<(f64, f64)>,
    /// Whether the interval leaves out 0; without an interval, whether they differ at all. A number that only one of
    /// them has differs, and so does one that is only a bound in one of them.
    pub differs: bool,
    /// What the numbers do not say: seeds without one, bounds; empty if nothing.
    #[serde(default)]
    pub note: String,
}

/// A claim that became another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimChange {
    pub id: String,
    /// What it says.
    pub text: String,
    /// The first's verdict.
    pub first: Option<Judged>,
    /// The second's.
    pub second: Option<Judged>,
}

/// What a number is and where, and which of several of the same name and place.
type Key = (String, String, usize);

/// Numbers in the order of the report, found by their keys.
#[derive(Default)]
struct Numbers<'a> {
    numbers: Vec<(Key, &'a Estimate)>,
    /// How many have a name and place.
    counts: BTreeMap<(String, String), usize>,
    index: BTreeMap<Key, usize>,
}

impl<'a> Numbers<'a> {
    fn push(&mut self, of: String, point: String, estimate: &'a Estimate) {
        let count = self.counts.entry((of.clone(), point.clone())).or_default();
        let key = (of, point, *count);
        *count += 1;
        self.index.insert(key.clone(), self.numbers.len());
        self.numbers.push((key, estimate));
    }

    fn find(&self, key: &Key) -> Option<&'a Estimate> {
        self.index.get(key).map(|index| self.numbers[*index].1)
    }
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
    for (key, estimate) in &ours.numbers {
        match theirs.find(key) {
            Some(other) => numbers.extend(changes(key, estimate, other, paired)),
            None => only.push(format!("first: {}, {}", key.0, key.1)),
        }
    }
    let unknown = theirs.numbers.iter().filter(|(key, _)| ours.find(key).is_none());
    only.extend(unknown.map(|(key, _)| format!("second: {}, {}", key.0, key.1)));
    let (claims, claims_same) = claims(first, second);
    Comparison { first: what(first), second: what(second), paired, numbers, claims, claims_same, only }
}

fn what(evaluation: &Evaluation) -> String {
    let quick = if evaluation.quick { ", quick" } else { "" };
    format!("{} on {}{quick}", evaluation.name, evaluation.platform.name())
}

/// Every number of an evaluation that has an estimate: of every measure, point of a metric, cell and part.
fn numbers_of(evaluation: &Evaluation) -> Numbers<'_> {
    let mut numbers = Numbers::default();
    for measure in &evaluation.measures {
        for placed in &measure.numbers {
            numbers.push(measure.id.clone(), point_of(placed), &placed.estimate);
        }
    }
    for figure in &evaluation.figures {
        for series in &figure.series {
            for point in &series.points {
                let of = format!("figure {}, {}", figure.id, series.quantity);
                numbers.push(of, format!("{}, x = {}", series.name, point.label), &point.estimate);
            }
        }
    }
    for map in &evaluation.maps {
        for cell in map.panels.iter().flat_map(|panel| &panel.cells) {
            if let Some(estimate) = &cell.estimate {
                numbers.push(format!("map {}, {}", map.id, map.what), cell.point.clone(), estimate);
            }
        }
    }
    for table in &evaluation.tables {
        for row in &table.rows {
            let labels = row.iter().take_while(|cell| cell.is_label());
            let labels = labels.map(|cell| cell.text.as_str()).collect::<Vec<_>>().join(", ");
            for (cell, head) in row.iter().zip(&table.head).filter(|(cell, _)| !cell.published) {
                if let Some(estimate) = &cell.estimate {
                    numbers.push(format!("table {}, {head}", table.id), labels.clone(), estimate);
                }
            }
        }
    }
    for claim in &evaluation.claims {
        for part in &claim.parts {
            let point = if part.point.is_empty() { String::new() } else { format!(", {}", part.point) };
            let of = format!("claim {}, {}", claim.id, part.quantity);
            numbers.push(of, format!("{}{point}", part.case), &part.estimate);
        }
    }
    numbers
}

fn point_of(placed: &PlacedNumber) -> String {
    let at: String = placed.at.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
    format!("{}{at}", placed.case)
}

/// The seed by seed change of a number, and of the one from the mean curve where that is another.
fn changes(key: &Key, first: &Estimate, second: &Estimate, paired: bool) -> Vec<NumberChange> {
    let (of, point) = (key.0.as_str(), key.1.as_str());
    let mut changes = Vec::new();
    if first.mean.is_some() || second.mean.is_some() {
        changes.push(change(of, point, first, second, paired));
    }
    let has_curve = |estimate: &Estimate| estimate.curve != estimate.mean || estimate.curve_beyond;
    if has_curve(first) || has_curve(second) {
        changes.push(curve_change(of, point, first, second, paired));
    }
    changes
}

fn change(of: &str, point: &str, first: &Estimate, second: &Estimate, paired: bool) -> NumberChange {
    let difference = first.mean.zip(second.mean).map(|(a, b)| b - a);
    let interval = mean_interval(first, second, paired);
    let apart = match interval {
        Some((low, high)) => low > 0.0 || high < 0.0,
        None => difference.is_some_and(|difference| difference != 0.0),
    };
    let vanished = first.mean.is_some() != second.mean.is_some();
    // With the same seeds, a seed that has a number in one of them only is a difference of its own.
    let known = |estimate: &Estimate| estimate.values.iter().map(Option::is_some).collect::<Vec<_>>();
    let gaps = paired && known(first) != known(second);
    let bounds = paired && first.beyond != second.beyond;
    let count = |estimate: &Estimate| format!("{} of {} seeds", estimate.count(), estimate.values.len());
    let note = match (gaps, bounds) {
        (true, _) => format!("{} have a number, then {}", count(first), count(second)),
        (false, true) => format!("a bound in {} seeds, then in {}", first.beyond, second.beyond),
        (false, false) => String::new(),
    };
    NumberChange {
        of: of.to_owned(),
        point: point.to_owned(),
        first: first.mean,
        second: second.mean,
        difference,
        interval,
        differs: apart || vanished || gaps || bounds,
        note,
    }
}

fn mean_interval(first: &Estimate, second: &Estimate, paired: bool) -> Option<(f64, f64)> {
    if !paired {
        return welch(first, second);
    }
    let pairs = first.values.iter().zip(&second.values).map(|(a, b)| Some((*b)? - (*a)?));
    Estimate::of(pairs.collect()).interval
}

/// The number from the mean curve has no interval. With the same seeds any difference is one; with others it counts
/// unless the seeds' own numbers can not be told apart.
fn curve_change(of: &str, point: &str, first: &Estimate, second: &Estimate, paired: bool) -> NumberChange {
    let bound = |estimate: &Estimate| (estimate.curve_beyond, estimate.curve_bound);
    let same = first.curve == second.curve && bound(first) == bound(second);
    let vanished = first.curve.is_some() != second.curve.is_some();
    let together = !paired
        && mean_interval(first, second, paired).is_some_and(|(low, high)| (low..=high).contains(&0.0));
    let words = |estimate: &Estimate| match (estimate.curve_beyond, estimate.curve_bound) {
        (false, _) => "a number",
        (true, Some(bound)) => bound.words(),
        (true, None) => "a bound",
    };
    let note = if bound(first) == bound(second) {
        String::new()
    } else {
        format!("{}, then {}", words(first), words(second))
    };
    NumberChange {
        of: format!("{of}, from the mean curve"),
        point: point.to_owned(),
        first: first.curve,
        second: second.curve,
        difference: first.curve.zip(second.curve).map(|(a, b)| b - a),
        interval: None,
        differs: vanished || (!same && !together),
        note,
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

/// A verdict: its name, what it is about, and what it is.
type NamedVerdict = (String, String, Judged);

/// Every verdict of an evaluation: of claims, of the cells of maps, and with other assumptions.
fn verdicts(evaluation: &Evaluation) -> Vec<NamedVerdict> {
    let mut found: Vec<NamedVerdict> = Vec::new();
    for claim in &evaluation.claims {
        found.push((claim.id.clone(), claim.text.clone(), claim.judged));
    }
    for map in &evaluation.maps {
        for cell in map.panels.iter().flat_map(|panel| &panel.cells) {
            if let (Some(judged), Some(claim)) = (cell.judged, &map.claim) {
                found.push((format!("map {}, {claim} at {}", map.id, cell.point), map.what.clone(), judged));
            }
        }
    }
    for one in &evaluation.assumptions {
        for effect in &one.effects {
            for (index, (judged, value)) in effect.judged.iter().zip(&one.values).enumerate() {
                if index != effect.base {
                    let name = format!("{} with {} {value}", effect.claim, one.varied);
                    found.push((name, effect.text.clone(), *judged));
                }
            }
        }
    }
    found
}

fn claims(first: &Evaluation, second: &Evaluation) -> (Vec<ClaimChange>, usize) {
    let (ours, theirs) = (verdicts(first), verdicts(second));
    let index = |all: &[NamedVerdict]| {
        all.iter().map(|(id, _, judged)| (id.clone(), *judged)).collect::<BTreeMap<_, _>>()
    };
    let (our_index, their_index) = (index(&ours), index(&theirs));
    let mut changes = Vec::new();
    let mut same = 0;
    for (id, text, judged) in ours {
        let second = their_index.get(&id).copied();
        if second == Some(judged) {
            same += 1;
        } else {
            changes.push(ClaimChange { id, text, first: Some(judged), second });
        }
    }
    for (id, text, judged) in theirs {
        if !our_index.contains_key(&id) {
            changes.push(ClaimChange { id, text, first: None, second: Some(judged) });
        }
    }
    (changes, same)
}

impl Comparison {
    /// Whether no number is in both: then nothing was compared, which is not the same as no difference.
    pub const fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

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
        if self.numbers.is_empty() {
            out.push_str("\nNumbers: nothing was compared; no number is in both\n");
        } else {
            let _ = writeln!(out, "\nNumbers: {} of {} differ at 95 %", differ.len(), self.numbers.len());
        }
        let repeated = lines(&differ, &mut out);
        if repeated > 0 {
            let _ = writeln!(out, "  and {repeated} in tables and claims that repeat one of these");
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

/// A line for each number; for those of tables and claims only where no line before says the same. How many were left
/// out.
fn lines(numbers: &[&NumberChange], out: &mut String) -> usize {
    let mut repeated = 0;
    let mut seen = BTreeSet::new();
    for number in numbers {
        let bits = [number.first, number.second, number.difference].map(|value| value.map(f64::to_bits));
        let (of, point) = (&number.of, &number.point);
        let is_new = seen.insert((bits, &number.note));
        if !is_new && (of.starts_with("table ") || of.starts_with("claim ")) {
            repeated += 1;
            continue;
        }
        let [first, second, difference] =
            [number.first, number.second, number.difference].map(|value| value.map_or("–".to_owned(), short));
        let interval = number.interval.map(|(low, high)| format!(" ({} … {})", short(low), short(high)));
        let interval = interval.unwrap_or_default();
        let note = if number.note.is_empty() { String::new() } else { format!("; {}", number.note) };
        let _ = writeln!(out, "  {of} [{point}]: {first} -> {second}, {difference}{interval}{note}");
    }
    repeated
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

    fn of(values: &[Option<f64>]) -> Estimate {
        Estimate::of(values.to_vec())
    }

    /// Difference, whether it differs, and the note.
    fn changed(first: &Estimate, second: &Estimate, paired: bool) -> (Option<f64>, bool, String) {
        let change = change("m", "here", first, second, paired);
        assert_eq!((change.of.as_str(), change.point.as_str()), ("m", "here"));
        (change.difference, change.differs, change.note)
    }

    #[test]
    fn pairs_tell_apart_what_means_do_not() {
        let (first, second) = (of(&[1.0, 5.0, 9.0].map(Some)), of(&[2.0, 6.0, 10.0].map(Some)));
        let none = String::new;
        assert_eq!(changed(&first, &second, true), (Some(1.0), true, none()), "each seed rises by 1");
        assert_eq!(changed(&first, &second, false), (Some(1.0), false, none()), "the spread is 4");
        assert_eq!(changed(&second, &first, true), (Some(-1.0), true, none()));
        assert_eq!(changed(&first, &first, true), (Some(0.0), false, none()));
        // With one seed there is no interval: any difference is one.
        let (one, other) = (of(&[Some(1.0)]), of(&[Some(1.5)]));
        assert_eq!(changed(&one, &other, true), (Some(0.5), true, none()));
        assert_eq!(changed(&one, &one, true), (Some(0.0), false, none()));
    }

    #[test]
    fn a_number_in_one_of_them_only_differs() {
        let (some, none) = (of(&[Some(1.0), Some(2.0)]), of(&[None, None]));
        let note = "2 of 2 seeds have a number, then 0 of 2 seeds".to_owned();
        assert_eq!(changed(&some, &none, true), (None, true, note));
        assert_eq!(changed(&some, &none, false), (None, true, String::new()));
        // Another seed has the number: with the same chance that is a difference.
        let (left, right) = (of(&[Some(1.0), None]), of(&[None, Some(1.0)]));
        let note = "1 of 2 seeds have a number, then 1 of 2 seeds".to_owned();
        assert_eq!(changed(&left, &right, true), (Some(0.0), true, note));
        assert_eq!(changed(&left, &right, false), (Some(0.0), false, String::new()));
    }

    #[test]
    fn a_bound_is_another_thing_than_a_number() {
        let number = of(&[Some(8.0), Some(8.0)]);
        let bound = Estimate { beyond: 2, ..number.clone() };
        let note = "a bound in 0 seeds, then in 2".to_owned();
        assert_eq!(changed(&number, &bound, true), (Some(0.0), true, note));
        assert_eq!(changed(&number, &bound, false), (Some(0.0), false, String::new()));
        let way = |curve_bound| Estimate { curve_beyond: true, curve_bound, ..number.clone() };
        let (least, most, some) = (
            way(Some(crate::statistics::Bound::AtLeast)),
            way(Some(crate::statistics::Bound::AtMost)),
            way(None),
        );
        for (first, second, note) in [
            (&number, &least, "a number, then at least"),
            (&least, &most, "at least, then at most"),
            (&some, &number, "a bound, then a number"),
            (&least, &least, ""),
        ] {
            let change = curve_change("m", "here", first, second, true);
            assert_eq!((change.note.as_str(), change.differs), (note, !note.is_empty()));
            assert_eq!((change.of.as_str(), change.difference), ("m, from the mean curve", Some(0.0)));
        }
    }

    #[test]
    fn a_line_that_repeats_another_is_counted_instead() {
        let number = |of: &str, second: f64| NumberChange {
            of: of.to_owned(),
            point: "p".to_owned(),
            first: Some(1.0),
            second: Some(second),
            difference: Some(second - 1.0),
            interval: Some((0.25, 0.75)),
            differs: true,
            note: String::new(),
        };
        let all = [number("m", 1.5), number("table t, m", 1.5), number("claim c, m", 2.0), number("n", 1.5)];
        let mut out = String::new();
        assert_eq!(lines(&all.iter().collect::<Vec<_>>(), &mut out), 1);
        assert_eq!(
            out,
            "  m [p]: 1 -> 1.5, 0.5 (0.25 … 0.75)\n  claim c, m [p]: 1 -> 2, 1 (0.25 … 0.75)\n  \
             n [p]: 1 -> 1.5, 0.5 (0.25 … 0.75)\n"
        );
    }
}
