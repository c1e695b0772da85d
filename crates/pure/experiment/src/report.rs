//! Evaluations for people: one HTML file, and text for the terminal.

mod assumption;
mod claims;
mod figure;
mod files;
mod html;
mod map;
mod numbers;
mod style;
mod text;
mod verdict;

use crate::evaluate::Evaluation;

/// What a report says of how it came about; the program knows it, this crate does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// What is above everything; if empty, the paper or the experiment that the report is about.
    pub title: String,
    /// Names with values below the title, in their order: command, commit, date.
    pub head: Vec<(String, String)>,
    /// Names with values at the end, in their order: version, host.
    pub facts: Vec<(String, String)>,
    /// For each evaluation the files beside the report.
    pub files: Vec<Files>,
}

/// Files beside a report, as links relative to it. What is empty or not there gets no link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The rows: `paper-a-voice/rows.csv`.
    pub csv: String,
    /// The rows: `paper-a-voice/rows.parquet`.
    pub parquet: String,
    /// The folder in which each figure is under its id, as SVG and PNG: `paper-a-voice/figures`.
    pub figures: String,
    /// What the CSV file has in it. It is put into the page, so that a page that is sent away alone keeps it.
    pub rows: String,
}

/// One HTML file about all evaluations: it needs no network, no script and no other file to be read.
pub fn report_html(evaluations: &[Evaluation], provenance: &Provenance) -> String {
    html::page(evaluations, provenance)
}

impl Evaluation {
    /// Verdicts and tables as plain text.
    pub fn text(&self) -> String {
        text::evaluation(self)
    }

    /// Its tables as plain text, of each at most so many rows. Columns that say the same in every row stand below.
    pub fn tables_text(&self, rows_max: usize) -> String {
        text::tables(self, rows_max)
    }
}
