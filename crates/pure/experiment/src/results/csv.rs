//! Rows as comma-separated values (RFC 4180), a line for each run.

use super::{Adopted, Results, ResultsError, Row};
use crate::plan::{Plan, Run};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The most bytes of a field that is read.
const FIELD_MAX: usize = 10_000;

impl Results {
    /// The first line, with its end: run, case, the axes, replication, the run's key, the metrics, packets and events.
    pub fn csv_header(plan: &Plan) -> String {
        let axes = plan.axes().map(str::to_owned);
        let metrics = plan.metrics().iter().map(|metric| metric.name.to_owned());
        let names = ["run", "case"].map(str::to_owned).into_iter().chain(axes);
        let names = names.chain(["replication", "key"].map(str::to_owned)).chain(metrics);
        line(names.chain(["simulated_packets", "simulated_events"].map(str::to_owned)))
    }

    /// The line of one run, with its end. Lines may be written in any order.
    pub fn csv_row(plan: &Plan, run: &Run, row: &Row) -> String {
        let front = [run.index.to_string(), run.case.clone()].into_iter();
        let point = run.point.iter().map(ToString::to_string);
        let middle = [run.replication.to_string(), plan.key(run).to_string()];
        // `{:?}` is the shortest text that reads as the same number again.
        let number = |number: &Option<f64>| number.map(|number| format!("{number:?}")).unwrap_or_default();
        let end = [row.packets.to_string(), row.events.to_string()];
        line(front.chain(point).chain(middle).chain(row.numbers.iter().map(number)).chain(end))
    }

    /// All rows that are there, in the order of the runs.
    pub fn csv(&self, plan: &Plan) -> String {
        let mut text = Self::csv_header(plan);
        for run in plan.runs() {
            if let Some(row) = self.get(run.index) {
                text.push_str(&Self::csv_row(plan, &run, row));
            }
        }
        text
    }

    /// Reads rows again. A row belongs to every run with the same key: rows of an earlier version of the plan, whose
    /// sweep was shorter, are still good. A last line that was cut off in the middle is left out.
    ///
    /// # Errors
    ///
    /// When the columns are not the plan's, or a line is not a row.
    pub fn from_csv(plan: &Plan, text: &str) -> Result<Adopted, ResultsError> {
        let want = Self::csv_header(plan);
        let (header, rest) = text.split_once('\n').unwrap_or((text, ""));
        if header.trim_end_matches('\r') != want.trim_end() {
            let got = header.chars().take(400).collect();
            return Err(ResultsError::Columns { got, want: want.trim_end().to_owned() });
        }
        let mut indexes_by_key: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for run in plan.runs() {
            indexes_by_key.entry(plan.key(&run).to_string()).or_default().push(run.index);
        }
        let mut adopted = Adopted { results: Self::new(plan), strangers: 0 };
        let mut lines = Lines { rest, line: 1 };
        while let Some(fields) = lines.next()? {
            let (key, row) = read_row(plan, &fields).map_err(|reason| lines.error(reason))?;
            match indexes_by_key.get(key) {
                Some(indexes) => {
                    for index in indexes {
                        adopted.results.insert(*index, row.clone())?;
                    }
                }
                None => adopted.strangers += 1,
            }
        }
        Ok(adopted)
    }
}

fn read_row<'a>(plan: &Plan, fields: &'a [String]) -> Result<(&'a str, Row), String> {
    let (axes, metrics) = (plan.axes().count(), plan.metrics().len());
    let want = axes + metrics + 6;
    if fields.len() != want {
        return Err(format!("{} fields, but {want} columns", fields.len()));
    }
    let key = fields[axes + 3].as_str();
    let number = |text: &String| {
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.map(Some).ok_or_else(|| format!("`{}` is not a number", text.escape_debug()))
    };
    let numbers = fields[axes + 4..want - 2].iter().map(number).collect::<Result<_, _>>()?;
    let count = |text: &String| text.parse().map_err(|_| format!("`{}` is not a count", text.escape_debug()));
    let row = Row { numbers, packets: count(&fields[want - 2])?, events: count(&fields[want - 1])? };
    Ok((key, row))
}

/// A line of fields, quoted where they must be.
pub(crate) fn line(fields: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for (index, field) in fields.enumerate() {
        if index > 0 {
            text.push(',');
        }
        if field.contains([',', '"', '\n', '\r']) {
            let _ = write!(text, "\"{}\"", field.replace('"', "\"\""));
        } else {
            text.push_str(&field);
        }
    }
    text.push('\n');
    text
}

/// The lines of a text, split into fields.
struct Lines<'a> {
    rest: &'a str,
    line: usize,
}

impl Lines<'_> {
    fn error(&self, reason: impl Into<String>) -> ResultsError {
        ResultsError::Line { line: self.line, reason: reason.into() }
    }

    /// The next line's fields; nothing at the end, or if the last line has no end.
    fn next(&mut self) -> Result<Option<Vec<String>>, ResultsError> {
        self.line += 1;
        let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
        let mut characters = self.rest.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            if field.len() > FIELD_MAX {
                return Err(self.error(format!("a field has more than {FIELD_MAX} bytes")));
            }
            match (character, quoted) {
                ('"', true) if characters.next_if(|next| next.1 == '"').is_some() => field.push('"'),
                ('"', true) => quoted = false,
                ('"', false) if field.is_empty() => quoted = true,
                (',', false) => fields.push(std::mem::take(&mut field)),
                ('\r', false) if characters.peek().is_some_and(|next| next.1 == '\n') => {}
                ('\n', false) => {
                    fields.push(field);
                    self.rest = &self.rest[at + 1..];
                    return Ok(Some(fields));
                }
                (other, _) => field.push(other),
            }
        }
        Ok(None)
    }
}
