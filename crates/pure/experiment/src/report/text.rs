//! An evaluation as plain text.

use super::numbers::{cases, count, interval, or_dash, ours, point_of, sign, spread};
use super::{assumption, map};
use crate::evaluate::{Cell, Evaluation, Judged, SettingLine, Standing, TableNumbers, Verdict};
use std::fmt::Write;

/// The most numbers of a claim that are printed.
const PARTS_MAX: usize = 12;

pub(super) fn evaluation(evaluation: &Evaluation) -> String {
    let mut out = String::new();
    let quick = if evaluation.quick { ", quick" } else { "" };
    let _ = writeln!(out, "{} ({}{quick})\n", evaluation.title, evaluation.name);
    let _ = writeln!(out, "{}", evaluation.question.trim());
    let seeds = evaluation.seeds;
    let _ = writeln!(
        out,
        "\n{} on {}: {} runs, {seeds} for each point, {} packets, {} events",
        evaluation.testbed,
        evaluation.platform.name(),
        evaluation.runs,
        evaluation.packets,
        evaluation.events
    );
    if evaluation.missing > 0 {
        let _ = writeln!(out, "{} runs are missing", evaluation.missing);
    }
    let is_set = |line: &&SettingLine| line.standing != Standing::Default && line.by_case.is_empty();
    let set: Vec<_> = evaluation.settings.iter().filter(is_set).collect();
    if !set.is_empty() {
        out.push_str("\nSettings\n");
        for line in set {
            let fitted = if line.fitted { " (fitted)" } else { "" };
            let _ = writeln!(out, "  {} = {} {}{fitted}", line.name, line.value, line.unit);
        }
    }
    let mut cases = cases(evaluation);
    for row in cases.iter_mut().flat_map(|table| &mut table.rows) {
        // What a case is about has room on paper only.
        row.iter_mut().for_each(|cell| cell.spread.clear());
    }
    for table in cases.iter().chain(&evaluation.tables) {
        let _ = writeln!(out, "\n{}\n{}", table.title, grid(table));
    }
    if !evaluation.claims.is_empty() {
        out.push_str("\nVerdicts\n");
        evaluation.claims.iter().for_each(|claim| verdict(claim, &mut out));
        out.push('\n');
        summary(evaluation, &mut out);
    }
    map::text(evaluation, &mut out);
    assumption::text(evaluation, &mut out);
    for fit in &evaluation.fits {
        let settings: Vec<_> = fit.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let _ = writeln!(out, "\nFitted: {}\n  {}", settings.join(", "), fit.how.trim());
    }
    for note in &evaluation.notes {
        let _ = writeln!(out, "\n{}\n{}", note.title, note.text.trim());
    }
    // Blank ends of lines come from values without a unit.
    let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n"))
}

/// The tables alone, each of them short.
pub(super) fn tables(evaluation: &Evaluation, rows_max: usize) -> String {
    let mut out = String::new();
    for table in &evaluation.tables {
        let (short, same) = without_repetition(table, rows_max);
        let _ = writeln!(out, "\n{}\n{}", table.title, grid(&short));
        if !same.is_empty() {
            let _ = writeln!(out, "  in every row: {}", same.join(", "));
        }
        if table.rows.len() > rows_max {
            let _ = writeln!(out, "  {} more rows", table.rows.len() - rows_max);
        }
    }
    let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// A table without the columns that say the same in every row, and what they say; without its note, which is for paper.
fn without_repetition(table: &TableNumbers, rows_max: usize) -> (TableNumbers, Vec<String>) {
    let is_same = |column: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(column)).map(|cell| &cell.text);
        let first = cells.next();
        table.rows.len() > 1 && cells.all(|other| Some(other) == first)
    };
    let (same, different): (Vec<usize>, Vec<usize>) =
        (0..table.head.len()).partition(|column| is_same(*column));
    let words = |column: &usize| {
        let cell = table.rows.first().and_then(|row| row.get(*column));
        let text = cell.map(|cell| cell.text.as_str()).filter(|text| !text.is_empty() && *text != "–")?;
        Some(format!("{} {text}", table.head[*column]))
    };
    let chosen = |row: &Vec<Cell>| different.iter().filter_map(|column| row.get(*column).cloned()).collect();
    let short = TableNumbers {
        head: different.iter().map(|column| table.head[*column].clone()).collect(),
        rows: table.rows.iter().take(rows_max).map(chosen).collect(),
        note: String::new(),
        ..table.clone()
    };
    (short, same.iter().filter_map(words).collect())
}

fn verdict(claim: &Verdict, out: &mut String) {
    let fitted = if claim.fitted { ", fitted" } else { "" };
    let unclear = if claim.unclear { ", not sure at 95 %" } else { "" };
    let words = claim.judged.words();
    let _ = writeln!(out, "  {} {words}{fitted}{unclear}: {} [{}]", sign(claim.judged), claim.text, claim.id);
    let expected = if claim.judged == Judged::Prediction {
        String::new()
    } else {
        format!("expected: {}; ", claim.wanted)
    };
    let _ = writeln!(out, "      {expected}measured: {}", claim.by);
    // A long curve is in the report; here is what does not fit of it.
    let long = claim.parts.len() > PARTS_MAX;
    let shown = claim.parts.iter().filter(|part| !long || part.judged != Judged::Reproduces);
    if long {
        let _ = writeln!(out, "      {} numbers", claim.parts.len());
    }
    for part in shown.take(PARTS_MAX) {
        let published = part.published.map(|published| format!(", published {}", or_dash(Some(published))));
        let interval = Some(interval(&part.estimate)).filter(|text| !text.is_empty());
        let interval = interval.map(|text| format!(", 95 % {text}"));
        let spread = Some(spread(&part.estimate)).filter(|text| !text.is_empty());
        let varies = part.estimate.range.is_some_and(|(least, most)| least.to_bits() != most.to_bits());
        let spread = spread.map(|text| format!(", {}{text}", if varies { "seeds " } else { "" }));
        let more: String = [published, interval, spread].into_iter().flatten().collect();
        let ours = format!("{} {}", ours(part), part.unit);
        let _ = writeln!(out, "      {}: {}{more}", point_of(part), ours.trim_end());
    }
    for line in claim.reason.lines() {
        let _ = writeln!(out, "      ! {line}");
    }
}

fn summary(evaluation: &Evaluation, out: &mut String) {
    let all = [Judged::Reproduces, Judged::DoesNotReproduce, Judged::CannotBeComputed, Judged::Prediction];
    let parts: Vec<String> = all
        .iter()
        .filter(|judged| evaluation.count(**judged) > 0)
        .map(|judged| format!("{} {}", count(evaluation, *judged), judged.words()))
        .collect();
    let _ = writeln!(out, "  {} claims: {}", evaluation.claims.len(), parts.join(", "));
}

/// Columns as wide as what is in them.
fn grid(table: &TableNumbers) -> String {
    let words = |cell: &Cell| {
        if cell.spread.is_empty() { cell.text.clone() } else { format!("{} ({})", cell.text, cell.spread) }
    };
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(words).collect()).collect();
    let all = || std::iter::once(&table.head).chain(&rows);
    let width = |column: usize| {
        all().filter_map(|row| row.get(column)).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.head.len()).map(width).collect();
    let mut out = String::new();
    for (index, row) in all().enumerate() {
        out.push(' ');
        for (text, width) in row.iter().zip(&widths) {
            let blank = " ".repeat(width.saturating_sub(text.chars().count()));
            let _ = write!(out, " {text}{blank} ");
        }
        out.push('\n');
        if index == 0 {
            let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            let _ = writeln!(out, "  {}", rule.join("  "));
        }
    }
    if !table.note.is_empty() {
        let _ = writeln!(out, "  {}", table.note.trim());
    }
    out.trim_end().to_owned()
}
