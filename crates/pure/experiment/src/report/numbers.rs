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

/// What the seeds say one by one: `6 … 7, mostly 7`, or `7 in every seed`; nothing if only one has a number.
pub(super) fn spread(estimate: &Estimate) -> String {
    let Some((least, most)) = estimate.range.filter(|_| estimate.count() > 1) else { return String::new() };
    if least.to_bits() == most.to_bits() {
        let (count, all) = (estimate.count(), estimate.values.len());
        let seeds = if count == all { "every seed".to_owned() } else { format!("{count} of {all} seeds") };
        return format!("{} in {seeds}", short(least));
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
pub(super) fn point_of(part: &Part) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Bound;

    fn estimate(values: &[f64]) -> Estimate {
        Estimate::of(values.iter().copied().map(Some).collect())
    }

    fn part(ours: Option<f64>, bound: &str, estimate: Estimate) -> Part {
        Part {
            quantity: String::new(),
            unit: String::new(),
            case: "A".to_owned(),
            point: String::new(),
            ours,
            bound: bound.to_owned(),
            estimate,
            published: None,
            judged: Judged::Prediction,
            unclear: false,
            reason: String::new(),
        }
    }

    #[test]
    fn a_spread_is_said_from_two_values_on() {
        #[rustfmt::skip]
        let cases: [(&[f64], &str); 6] = [
            (&[],                 ""),
            (&[2.0],              ""),
            (&[2.0, 2.0],         "2 in every seed"),
            (&[1.0, 2.0],         "1 … 2"),
            (&[3.0, 1.0, 3.0],    "1 … 3, mostly 3"),
            (&[-1.5, 0.25, 0.25], "-1.5 … 0.25, mostly 0.25"),
        ];
        for (values, want) in cases {
            assert_eq!(spread(&estimate(values)), want, "{values:?}");
        }
        let gap = Estimate::of(vec![Some(2.0), None, Some(2.0)]);
        assert_eq!(spread(&gap), "2 in 2 of 3 seeds");
        assert_eq!(interval(&estimate(&[2.0])), "");
        // Twice 0.5 beside 1.5: a standard error of 0.5, times 12.706.
        assert_eq!(interval(&estimate(&[1.0, 2.0])), "-4.85 … 7.85");
    }

    #[test]
    fn our_number_has_its_bound_and_the_point_that_fails() {
        let coarse = Estimate { fails_at: Some(64.0), ..estimate(&[60.0, 60.0]) };
        #[rustfmt::skip]
        let cases = [
            (Some(7.0),  "",         estimate(&[7.0]), "7"),
            (Some(7.0),  "at least", estimate(&[7.0]), "at least 7"),
            (Some(7.0),  "at most",  estimate(&[7.0]), "at most 7"),
            (Some(7.0),  "a bound",  estimate(&[7.0]), "7"),
            (None,       "at least", estimate(&[]),    "–"),
            (Some(60.0), "",         coarse.clone(),   "60 (64 fails)"),
            // What fails belongs to the mean curve's number, not to another.
            (Some(59.0), "",         coarse.clone(),   "59"),
        ];
        for (number, bound, estimate, want) in cases {
            assert_eq!(ours(&part(number, bound, estimate)), want, "{number:?} {bound}");
        }
        assert_eq!(from_curve(&coarse), "60 (64 fails)");
        let least = Estimate { curve_beyond: true, curve_bound: Some(Bound::AtLeast), ..estimate(&[8.0]) };
        assert_eq!(from_curve(&least), "at least 8");
        assert_eq!(from_curve(&Estimate { curve_beyond: false, ..least.clone() }), "8");
        assert_eq!(from_curve(&Estimate { curve: None, ..least }), "–");
    }

    #[test]
    fn a_place_is_the_case_and_its_point() {
        let at = |point: &str| Part { point: point.to_owned(), ..part(None, "", estimate(&[])) };
        assert_eq!(
            (point_of(&at("")), point_of(&at("calls = 6"))),
            ("A".to_owned(), "A, calls = 6".to_owned())
        );
    }

    #[test]
    fn a_row_of_a_figure_counts_its_seeds() {
        let values = vec![Some(1.0), None, Some(3.0)];
        let point = FigurePoint { x: 5.0, label: "five".to_owned(), estimate: Estimate::of(values) };
        let row = figure_row(&point);
        assert_eq!(row, ["five", "2", "-10.71 … 14.71", "1 … 3", "2 of 3"].map(str::to_owned));
        let none = FigurePoint { estimate: Estimate::of(vec![None]), ..point };
        assert_eq!(figure_row(&none), ["five", "–", "", "", "0 of 1"].map(str::to_owned));
    }
}
