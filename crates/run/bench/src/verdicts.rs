//! What stands on a terminal of results: verdicts, and which of them are a failure.

use crate::folder::{self, Finished, REPORT, name_of};
use guestright_error::RunError;
use guestright_experiment::{Evaluation, Judged, Tally};
use guestright_figure::short;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// The most numbers of a claim that are shown, unless they are its answer.
const PARTS_MAX: usize = 8;
/// The most rows of a table that are shown.
const ROWS_MAX: usize = 48;

/// Which verdicts are a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailOn {
    /// Those that could not be computed, as when runs are missing.
    pub unjudged: bool,
    /// "does not reproduce".
    pub contradicted: bool,
}

impl FailOn {
    /// Whether there is no such verdict among the results.
    ///
    /// # Errors
    /// There is; its plans are named.
    pub fn check(self, finished: &[Finished]) -> Result<(), RunError> {
        let names = |fits: &dyn Fn(&Evaluation) -> bool| {
            let evaluations = finished.iter().map(|one| &one.evaluation).filter(|one| fits(one));
            let names: Vec<String> = evaluations.map(name_of).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        if let Some(names) = names(&|one| !one.is_complete()).filter(|_| self.unjudged) {
            let error = RunError::user(format!("not every verdict could be computed: {names}"));
            return Err(error.with_hint("the report says of each claim what is missing"));
        }
        let contradicted = names(&|one| one.count(Judged::DoesNotReproduce) > 0);
        if let Some(names) = contradicted.filter(|_| self.contradicted) {
            let error = RunError::user(format!("claims that do not reproduce: {names}"));
            return Err(error.with_hint("the report says of each what was measured and what was expected"));
        }
        Ok(())
    }
}

/// All that was found, and where the report in `folder` is.
pub fn in_json(folder: &Path, finished: &[Finished]) -> Value {
    let evaluations: Vec<&Evaluation> = finished.iter().map(|one| &one.evaluation).collect();
    let tally = Tally::of(evaluations.iter().copied());
    json!({ "report": folder.join(REPORT), "tally": tally, "evaluations": evaluations })
}

/// The same for people; with `details`, settings, tables and every number as they stand in the report.
pub fn in_text(folder: &Path, finished: &[Finished], details: bool) -> String {
    let mut text = String::new();
    for Finished { evaluation, .. } in finished {
        let verdicts = if details { evaluation.text() } else { verdicts(evaluation) };
        let _ = writeln!(text, "\n{}", verdicts.trim_end());
    }
    let tally = Tally::of(finished.iter().map(|one| &one.evaluation));
    let _ = writeln!(text, "\n{}\nreport: {}", tally.words(), folder.join(REPORT).display());
    text
}

/// A line about plans that were run before into this folder and are not in the report that was just written; nothing if
/// there are none.
pub fn others(folder: &Path, finished: &[Finished]) -> String {
    let others = folder::others(folder, finished);
    if others.is_empty() {
        return String::new();
    }
    let (others, folder) = (others.join(", "), folder.display());
    format!("also here: {others}; `guestright-lab report {folder}` makes one page of all\n")
}

/// A line for each claim, and one for each of its numbers if they are few or, as in a prediction, the answer.
fn verdicts(evaluation: &Evaluation) -> String {
    let quick = if evaluation.quick { ", quick" } else { "" };
    let mut text = format!("{} ({}{quick})\n", evaluation.title, name_of(evaluation));
    for claim in &evaluation.claims {
        let fitted = if claim.fitted { " (fitted)" } else { "" };
        let words = format!("{}{fitted}", claim.judged.words());
        let _ = writeln!(text, "  {words:<27} {}: {}", claim.id, claim.text);
        let is_long = claim.parts.len() > PARTS_MAX && claim.judged != Judged::Prediction;
        let shown = if is_long { &[] } else { claim.parts.as_slice() };
        if is_long {
            let _ = writeln!(text, "  {:<27}   {} numbers; --details shows them", "", claim.parts.len());
        }
        for part in shown {
            let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), short);
            let published =
                part.published.map(|published| format!(", published {}", number(Some(published))));
            let (ours, published) = (number(part.ours), published.unwrap_or_default());
            let location: Vec<&str> = [part.case.as_str(), part.point.as_str()]
                .into_iter()
                .filter(|word| !word.is_empty())
                .collect();
            let ours = format!("{ours} {}", part.unit);
            let _ = writeln!(text, "  {:<27}   {}: {}{published}", "", location.join(", "), ours.trim_end());
        }
        if claim.judged == Judged::CannotBeComputed {
            for line in claim.reason.lines() {
                let _ = writeln!(text, "  {:<27}   {line}", "");
            }
        }
    }
    // Where no paper has an answer, the tables are it.
    if evaluation.paper.is_none() {
        text.push_str(&evaluation.tables_text(ROWS_MAX));
    }
    text
}
