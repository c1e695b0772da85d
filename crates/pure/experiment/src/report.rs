//! Evaluations for people: one HTML file, and text for the terminal.

mod assumption;
mod figure;
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
    /// What is above everything; "Laboratory report" if empty.
    pub title: String,
    /// Names with values, in the order in which they are printed: version, commit, date, host, command.
    pub facts: Vec<(String, String)>,
    /// For each evaluation where its rows are, as a link relative to the report: `paper-a-voice/rows.csv`. What is empty
    /// or not there gets no link.
    pub rows: Vec<String>,
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
}
