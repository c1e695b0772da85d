//! Many captures, one after the other: each is shown when it was read, and then little is kept of it.

use crate::line::{self, Line, lines};
use crate::tally::Tally;
use crate::{json, table};
use guestright_capture::Report;
use guestright_error::RunError;
use serde_json::{Value, json};
use std::io::Write;

/// More lines are not kept for the table: the worst are.
const LINES_MAX: usize = 10_000;

/// How it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A table of one file, with all that is known.
    One,
    /// A line for each stream of many files.
    Many,
    /// JSON: docs/mos.md describes it.
    Json,
}

/// See the module. Call [`Batch::add`] or [`Batch::fail`] for each file, then [`Batch::finish`].
#[derive(Debug)]
pub struct Batch {
    shown: Shown,
    files: u64,
    failed: Vec<(String, String)>,
    lines: Vec<Line>,
    left_out: u64,
    tally: Tally,
}

impl Batch {
    pub fn new(shown: Shown) -> Self {
        let tally = Tally::default();
        Self { shown, files: 0, failed: Vec::new(), lines: Vec::new(), left_out: 0, tally }
    }

    /// What all streams amount to so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// All lines, as far as they were kept: the worst were.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// A capture with streams.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(
        &mut self,
        name: &str,
        report: &Report,
        notes: &[String],
        out: &mut dyn Write,
    ) -> Result<(), RunError> {
        for (number, stream) in report.streams.iter().enumerate() {
            for line in lines(name, number, stream) {
                self.tally.add(&line);
                self.lines.push(line);
            }
        }
        if self.lines.len() > 2 * LINES_MAX {
            self.shorten();
        }
        match self.shown {
            Shown::One => write!(out, "{}", table::report(name, report, notes)).map_err(RunError::Output),
            Shown::Many => Ok(()),
            Shown::Json => self.write_json(&json::report(name, report, notes), out),
        }?;
        self.files += 1;
        Ok(())
    }

    /// A file that could not be read, or had no stream. `report`: what was found in it nevertheless.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn fail(
        &mut self,
        name: &str,
        error: &Value,
        report: Option<(&Report, &[String])>,
        out: &mut dyn Write,
    ) -> Result<(), RunError> {
        let sentence = error["sentence"].as_str().unwrap_or_default().to_owned();
        self.failed.push((name.to_owned(), sentence));
        if self.shown == Shown::Json {
            let found = report.map(|(report, notes)| json::report(name, report, notes));
            let mut value = found.unwrap_or_else(|| json!({ "file": name }));
            value["error"] = error.clone();
            self.write_json(&value, out)?;
        }
        self.files += 1;
        Ok(())
    }

    /// Shows the rest.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&mut self, out: &mut dyn Write) -> Result<(), RunError> {
        self.shorten();
        match self.shown {
            Shown::One => Ok(()),
            Shown::Many => self.write_table(out),
            Shown::Json => {
                let open = if self.files == 0 { "{\"files\":[" } else { "" };
                writeln!(out, "{open}\n],\n\"summary\":{:#}}}", self.summary())
            }
        }
        .map_err(RunError::Output)
    }

    /// What a program reads of all files together.
    pub fn summary(&self) -> Value {
        let mut summary = self.tally.to_json();
        summary["files"] = json!(self.files);
        summary["files_failed"] = json!(self.failed.len());
        summary
    }

    fn write_json(&self, value: &Value, out: &mut dyn Write) -> Result<(), RunError> {
        let before = if self.files == 0 { "{\"files\":[\n" } else { ",\n" };
        write!(out, "{before}{value:#}").map_err(RunError::Output)
    }

    fn write_table(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let files = self.files;
        writeln!(out, "{files} files: {}", self.tally.to_text())?;
        for (name, sentence) in &self.failed {
            writeln!(out, "  not rated: {name}: {sentence}")?;
        }
        if !self.lines.is_empty() {
            write!(out, "\n{}", line::table(&self.lines))?;
        }
        if self.left_out > 0 {
            writeln!(out, " and {} more that are no worse", self.left_out)?;
        }
        Ok(())
    }

    /// Keeps the worst lines.
    fn shorten(&mut self) {
        line::sort_worst_first(&mut self.lines);
        self.left_out += self.lines.len().saturating_sub(LINES_MAX) as u64;
        self.lines.truncate(LINES_MAX);
    }
}
