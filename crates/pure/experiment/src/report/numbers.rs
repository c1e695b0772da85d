//! Numbers as a report says them.

use crate::evaluate::{CaseText, Cell, Evaluation, FigurePoint, Judged, Part, SettingLine, TableNumbers};
use crate::statistics::Estimate;
use guestright_figure::short;

/// `7`, or a dash.
pub(super) fn or_dash(number: Option<f64>) -> String {
    number.map_or_else(|| "–".to_owned(), short)
}

/// A number of a claim: `7`, `at least 7`, `60 (64 fails)`, or a dash.
pub(super) fn ours(part: &Part) -> String {
    let bound = if part.ours.is_some() && !part.bound.is_empty() {
        format!("{} ", part.bound.trim_start_matches("a bound"))
    } else {
        String::new()
    };
    let shown = part.ours == part.estimate.curve;
    format!("{}{}{}", bound.trim_start(), or_dash(part.ours), next(&part.estimate, shown))
}

/// The number from the mean curve, as [`ours`].
pub(super) fn from_curve(estimate: &Estimate) -> String {
    let bound = estimate.curve_bound.filter(|_| estimate.curve_beyond && estimate.curve.is_some());
    let bound = bound.map(|bound| format!("{} ", bound.words())).unwrap_or_default();
    format!("{bound}{}{}", or_dash(estimate.curve), next(estimate, true))
}

/// ` (64 fails)`, where a coarse sweep leaves room between.
fn next(estimate: &Estimate, shown: bool) -> String {
    let next = estimate.fails_at.filter(|_| shown);
    next.map(|next| format!(" ({} fails)", short(next))).unwrap_or_default()
}

/// `6.6 … 7.2`, or nothing.
pub(super) fn interval(estimate: &Estimate) -> String {
    estimate.interval.map(|(low, high)| format!("{} … {}", short(low), short(high))).unwrap_or_default()
}

/// `6 … 7, mostly 7`, or nothing if there is but one value.
pub(super) fn spread(estimate: &Estimate) -> String {
    let Some((least, most)) = estimate.range.filter(|_| estimate.count() > 1) else { return String::new() };
    if least.to_bits() == most.to_bits() {
        return format!("all {}", short(least));
    }
    let mode = estimate.mode.map(|mode| format!(", mostly {}", short(mode))).unwrap_or_default();
    format!("{} … {}{mode}", short(least), short(most))
}

/// How many claims have a verdict: `8 (3 fitted)`.
pub(super) fn count(evaluation: &Evaluation, judged: Judged) -> String {
    let fitted = evaluation.claims.iter().filter(|claim| claim.judged == judged && claim.fitted).count();
    let all = evaluation.count(judged);
    if fitted > 0 { format!("{all} ({fitted} fitted)") } else { all.to_string() }
}

/// Where a number is, in one line.
pub(super) fn place(part: &Part) -> String {
    if part.point.is_empty() { part.case.clone() } else { format!("{}, {}", part.case, part.point) }
}

/// A sign beside the words, for those who look for it.
pub(super) const fn sign(judged: Judged) -> &'static str {
    match judged {
        Judged::Reproduces => "✓",
        Judged::DoesNotReproduce => "✗",
        Judged::CannotBeComputed => "?",
        Judged::Prediction => "→",
    }
}

/// The cases and what they differ in, as a table; nothing if they do not.
pub(super) fn cases(evaluation: &Evaluation) -> Option<TableNumbers> {
    let differ: Vec<&SettingLine> =
        evaluation.settings.iter().filter(|line| line.by_case.len() == evaluation.cases.len()).collect();
    if differ.is_empty() {
        return None;
    }
    let name = |line: &&SettingLine| {
        let unit = if line.unit.is_empty() { String::new() } else { format!(" ({})", line.unit) };
        format!("{}{unit}{}", line.name, if line.fitted { ", fitted" } else { "" })
    };
    let cell = |text: &String| Cell { text: text.clone(), ..Cell::default() };
    let row = |(index, case): (usize, &CaseText)| {
        let title = Cell { text: case.title.clone(), spread: case.about.clone(), ..Cell::default() };
        let values = differ.iter().filter_map(|line| line.by_case.get(index));
        std::iter::once(title).chain(values.map(cell)).collect()
    };
    Some(TableNumbers {
        id: "cases".to_owned(),
        title: "Cases".to_owned(),
        head: std::iter::once("Case".to_owned()).chain(differ.iter().map(name)).collect(),
        rows: evaluation.cases.iter().enumerate().map(row).collect(),
        note: String::new(),
    })
}

/// A point of a figure as a row: x, ours, interval, spread, how many seeds.
pub(super) fn figure_row(point: &FigurePoint) -> [String; 5] {
    let estimate = &point.estimate;
    let ours = if estimate.curve.is_some() { from_curve(estimate) } else { or_dash(estimate.mean) };
    let seeds = format!("{} of {}", estimate.count(), estimate.values.len());
    [point.label.clone(), ours, interval(estimate), spread(estimate), seeds]
}
