//! Numbers as a report says them.

use crate::evaluate::{CaseText, Cell, Evaluation, FigurePoint, Judged, Part, SettingLine, TableNumbers};
use crate::statistics::Estimate;
use guestright_figure::short;

/// `7`, or a dash.
pub(super) fn or_dash(number: Option<f64>) -> String {
    number.map_or_else(|| "–".to_owned(), short)
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
    let ours = estimate.curve.or(estimate.mean);
    let seeds = format!("{} of {}", estimate.count(), estimate.values.len());
    [point.label.clone(), or_dash(ours), interval(estimate), spread(estimate), seeds]
}
