//! What is printed of a folder of results.

use anyhow::anyhow;
use guestright_bench::folder::{Finished, REPORT, name_of};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_experiment::{Evaluation, Judged, Tally};
use guestright_figure::short;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

/// The most numbers of a claim that are printed, unless they are its answer.
const PARTS_MAX: usize = 8;
/// The most rows of a table that are printed.
const ROWS_MAX: usize = 48;
/// How much is printed of what was found, and with which exit code the program says it.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Printing {
    /// Print what was found as JSON
    #[arg(long, conflicts_with = "details")]
    json: bool,
    /// Print settings, tables and every number too, as they stand in the report
    #[arg(long)]
    details: bool,
    /// Which verdicts make the exit code 1
    #[arg(long, value_enum, value_name = "VERDICTS", default_value_t = FailOn::Unjudged)]
    fail_on: FailOn,
}

/// Which verdicts are a failure of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// None: the exit code says only whether there is a report
    Never,
    /// Those that could not be computed, as when runs are missing
    Unjudged,
    /// \"does not reproduce\"
    Contradicted,
    /// Both
    Any,
}

impl FailOn {
    /// What is wrong with these results, if anything is.
    fn complaint(self, finished: &[Finished]) -> Option<Failure> {
        let names = |fits: &dyn Fn(&Evaluation) -> bool| {
            let evaluations = finished.iter().map(|one| &one.evaluation).filter(|one| fits(one));
            let names: Vec<String> = evaluations.map(name_of).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let unjudged =
            names(&|one| !one.is_complete()).filter(|_| matches!(self, Self::Unjudged | Self::Any));
        if let Some(names) = unjudged {
            let error = anyhow!("not every verdict could be computed: {names}");
            return Some(Failure::user(error).hint("the report says of each claim what is missing"));
        }
        let contradicted = names(&|one| one.count(Judged::DoesNotReproduce) > 0);
        let names = contradicted.filter(|_| matches!(self, Self::Contradicted | Self::Any))?;
        let error = anyhow!("claims that do not reproduce: {names}");
        Some(Failure::user(error).hint("the report says of each what was measured and what was expected"))
    }
}

impl Printing {
    /// Whether somebody reads along.
    pub(super) const fn is_text(self) -> bool {
        !self.json
    }
}

/// Prints what was found, and says where it is. Fails on the verdicts that were named.
pub(super) fn show(folder: &Path, finished: &[Finished], printing: Printing, out: &mut Output) -> Outcome {
    let report = folder.join(REPORT);
    if printing.json {
        let evaluations: Vec<&Evaluation> = finished.iter().map(|one| &one.evaluation).collect();
        let tally = Tally::of(evaluations.iter().copied());
        writeln!(out, "{}", json!({ "report": report, "tally": tally, "evaluations": evaluations }))?;
    } else {
        for Finished { evaluation, .. } in finished {
            let text = if printing.details { evaluation.text() } else { verdicts(evaluation) };
            writeln!(out, "\n{}", text.trim_end())?;
        }
        let tally = Tally::of(finished.iter().map(|one| &one.evaluation));
        writeln!(out, "\n{}\nreport: {}", tally.words(), report.display())?;
    }
    out.flush()?;
    printing.fail_on.complaint(finished).map_or(Ok(()), Err)
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
