//! What stands in a folder of results.

use super::record::{Digests, Record, sha256};
use super::table::{results, table};
use crate::failure::{Failure, Outcome};
use anyhow::anyhow;
use guestright_experiment::{Evaluation, Judged, Plan, Provenance, Results, report_html};
use guestright_figure::short;
use guestright_results::{file, parquet, picture};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The rows, for programs.
pub(super) const PARQUET: &str = "rows.parquet";
/// The rows, for people and spreadsheets.
pub(super) const CSV: &str = "rows.csv";
/// What was found, for programs.
pub(super) const EVALUATION: &str = "evaluation.json";
/// What was found, for people.
pub(super) const REPORT: &str = "report.html";
/// The most numbers of a claim that are printed.
const PARTS_MAX: usize = 8;
/// The most bytes of rows.
const BYTES_MAX: u64 = 4 << 30;
/// How many points of a picture there are for each of its pixels.
const SCALE: f32 = 2.0;

/// A plan that was run.
pub(super) struct Finished {
    pub(super) evaluation: Evaluation,
    pub(super) record: Record,
    /// Where its rows are.
    pub(super) folder: PathBuf,
}

/// Writes the rows of a plan into its folder.
pub(super) fn write_rows(folder: &Path, plan: &Plan, results: &Results) -> Result<Digests, Failure> {
    let (binary, text) = (parquet::emit(&table(plan, results))?, results.csv(plan));
    file::write(&folder.join(PARQUET), &binary).map_err(Failure::config)?;
    file::write(&folder.join(CSV), text.as_bytes()).map_err(Failure::config)?;
    Ok(Digests { rows_parquet: sha256(&binary), rows_csv: sha256(text.as_bytes()) })
}

/// Writes the figures of each plan into its folder, and one report of all.
pub(super) fn write_report(out: &Path, finished: &[Finished]) -> Outcome {
    for Finished { evaluation, .. } in finished {
        write_figures(&out.join(&evaluation.name).join("figures"), evaluation)?;
    }
    let evaluations: Vec<&Evaluation> = finished.iter().map(|one| &one.evaluation).collect();
    let text = serde_json::to_string_pretty(&evaluations)? + "\n";
    file::write(&out.join(EVALUATION), text.as_bytes()).map_err(Failure::config)?;
    file::write(&out.join(REPORT), page(out, finished).as_bytes()).map_err(Failure::config)
}

/// The report, with links to rows that lie within its folder.
fn page(out: &Path, finished: &[Finished]) -> String {
    let evaluations: Vec<Evaluation> = finished.iter().map(|one| one.evaluation.clone()).collect();
    let link = |one: &Finished| {
        let within = one.folder.strip_prefix(out).ok()?.join(CSV);
        within.to_str().map(str::to_owned)
    };
    let rows = finished.iter().map(|one| link(one).unwrap_or_default()).collect();
    report_html(&evaluations, &Provenance { title: String::new(), facts: facts(finished), rows })
}

/// Who made the rows, where, and in what time.
fn facts(finished: &[Finished]) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, texts: Vec<String>| {
        let texts: BTreeSet<String> = texts.into_iter().collect();
        let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        if !texts.is_empty() {
            facts.push((name.to_owned(), texts.join("; ")));
        }
    };
    let each = |what: fn(&Record) -> String| finished.iter().map(|one| what(&one.record)).collect::<Vec<_>>();
    fact(
        "program",
        each(|record| {
            let commit = record.program.commit.as_ref().map(|commit| format!(", commit {commit}"));
            let sha256 = record.program.sha256.get(..16).unwrap_or_default();
            format!("guestright {}{}, SHA-256 {sha256}…", record.program.version, commit.unwrap_or_default())
        }),
    );
    fact(
        "computer",
        each(|record| {
            let processor = record.host.processor.as_deref().unwrap_or("a processor without a name");
            format!(
                "{}, {processor}, {} cores, {} threads",
                record.host.system, record.host.cores, record.threads
            )
        }),
    );
    fact("runs", vec![finished.iter().map(|one| one.record.runs).sum::<usize>().to_string()]);
    let seconds: f64 = finished.iter().map(|one| one.record.seconds).sum();
    fact("time", vec![format!("{seconds:.0} s")]);
    fact("began", each(|record| record.started.clone()).into_iter().min().into_iter().collect());
    fact("ended", each(|record| record.ended.clone()).into_iter().max().into_iter().collect());
    facts
}

/// Writes pictures, and takes away those of figures that are no more.
fn write_figures(folder: &Path, evaluation: &Evaluation) -> Outcome {
    let mut written = BTreeSet::new();
    for figure in &evaluation.figures {
        // A figure of which no number is known has no picture; the report says so.
        let Ok(svg) = figure.svg() else { continue };
        let png = picture::png(&svg, SCALE)?;
        for (ending, bytes) in [("svg", svg.as_bytes()), ("png", png.as_slice())] {
            let name = format!("{}.{ending}", figure.id);
            file::write(&folder.join(&name), bytes).map_err(Failure::config)?;
            written.insert(name);
        }
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if (name.ends_with(".svg") || name.ends_with(".png")) && !written.contains(&name) {
            std::fs::remove_file(folder.join(&name))?;
        }
    }
    Ok(())
}

/// How much is printed of what was found.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Printing {
    /// Print what was found as JSON
    #[arg(long, conflicts_with = "details")]
    json: bool,
    /// Print settings, tables and every number too, as they stand in the report
    #[arg(long)]
    details: bool,
}

impl Printing {
    /// Whether somebody reads along.
    pub(super) const fn is_text(self) -> bool {
        !self.json
    }
}

/// Prints what was found, and says where it is. Fails if a verdict could not be computed.
pub(super) fn show(
    folder: &Path,
    finished: &[Finished],
    printing: Printing,
    out: &mut impl Write,
) -> Outcome {
    let report = folder.join(REPORT);
    if printing.json {
        let evaluations: Vec<&Evaluation> = finished.iter().map(|one| &one.evaluation).collect();
        writeln!(out, "{}", json!({ "report": report, "evaluations": evaluations }))?;
    } else {
        for Finished { evaluation, .. } in finished {
            let text = if printing.details { evaluation.text() } else { verdicts(evaluation) };
            writeln!(out, "\n{}", text.trim_end())?;
        }
        writeln!(out, "\nreport: {}", report.display())?;
    }
    out.flush()?;
    let incomplete: Vec<&str> = finished
        .iter()
        .filter(|one| !one.evaluation.is_complete())
        .map(|one| one.evaluation.name.as_str())
        .collect();
    if incomplete.is_empty() {
        return Ok(());
    }
    let error = anyhow!("not every verdict could be computed: {}", incomplete.join(", "));
    Err(Failure::user(error).hint("the report says of each claim what is missing"))
}

/// A line for each claim, and one for each of its numbers if they are few.
fn verdicts(evaluation: &Evaluation) -> String {
    let quick = if evaluation.quick { ", quick" } else { "" };
    let mut text = format!("{} ({}{quick})\n", evaluation.title, evaluation.name);
    for claim in &evaluation.claims {
        let fitted = if claim.fitted { " (fitted)" } else { "" };
        let words = format!("{}{fitted}", claim.judged.words());
        let _ = writeln!(text, "  {words:<27} {}: {}", claim.id, claim.text);
        let shown = if claim.parts.len() > PARTS_MAX { &[] } else { claim.parts.as_slice() };
        for part in shown {
            let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), short);
            let published =
                part.published.map(|published| format!(", published {}", number(Some(published))));
            let (ours, published) = (number(part.ours), published.unwrap_or_default());
            let place: Vec<&str> = [part.case.as_str(), part.point.as_str()]
                .into_iter()
                .filter(|word| !word.is_empty())
                .collect();
            let ours = format!("{ours} {}", part.unit);
            let _ = writeln!(text, "  {:<27}   {}: {}{published}", "", place.join(", "), ours.trim_end());
        }
        if claim.judged == Judged::CannotBeComputed {
            for line in claim.reason.lines() {
                let _ = writeln!(text, "  {:<27}   {line}", "");
            }
        }
    }
    text
}

/// The rows of a plan, from its folder: from the CSV file, or if it is not there from the other one.
pub(super) fn read_rows(folder: &Path, plan: &Plan, digests: &Digests) -> Result<Results, Failure> {
    let path = folder.join(CSV);
    if !path.exists() {
        let path = folder.join(PARQUET);
        let table = parquet::parse(read(&path, &digests.rows_parquet)?);
        let results = table.map_err(anyhow::Error::from).and_then(|table| results(plan, &table));
        return results.map_err(|error| strange(error, &path));
    }
    let bytes = read(&path, &digests.rows_csv)?;
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::config(anyhow!("{} is no text", path.display())))?;
    let adopted = Results::from_csv(plan, &text).map_err(|error| strange(error.into(), &path))?;
    Ok(adopted.results)
}

fn strange(error: anyhow::Error, path: &Path) -> Failure {
    let error = error.context(format!("read {}", path.display()));
    Failure::config(error).hint("the rows are those of another plan or program; run the plan again")
}

/// Reads rows that are as they were written.
fn read(path: &Path, sha: &str) -> Result<Vec<u8>, Failure> {
    let bytes = file::read(path, BYTES_MAX).map_err(Failure::config)?;
    if sha256(&bytes) == sha {
        return Ok(bytes);
    }
    let error =
        anyhow!("{} has changed since it was written: its digest is not the one in run.json", path.display());
    Err(Failure::config(error).hint("take back the change, or run the plan again"))
}
