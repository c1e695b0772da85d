//! What stands in a folder of results.

use super::record::{Digests, Record, sha256};
use super::table::{results, table};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_experiment::{Evaluation, Judged, Plan, Platform, Provenance, Results, beside, report_html};
use guestright_figure::short;
use guestright_results::{file, parquet, picture};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The rows, for programs.
pub(super) const PARQUET: &str = "rows.parquet";
/// The rows, for people and spreadsheets.
pub(super) const CSV: &str = "rows.csv";
/// What was found, for programs.
pub(super) const EVALUATION: &str = "evaluation.json";
/// What was found, for people.
pub(super) const REPORT: &str = "report.html";
/// The most numbers of a claim that are printed, unless they are its answer.
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

/// The name of the folder of a plan's results on a platform.
pub(super) fn folder_name(plan: &str, platform: Platform) -> String {
    match platform {
        Platform::Sim => plan.to_owned(),
        Platform::Netns | Platform::Real => format!("{plan}-{}", platform.name()),
    }
}

/// The same of what was found.
pub(super) fn name_of(evaluation: &Evaluation) -> String {
    folder_name(&evaluation.name, evaluation.platform)
}

/// Every two results of one plan on two platforms, side by side.
fn besides(finished: &[Finished]) -> Vec<Evaluation> {
    let mut found = Vec::new();
    for (index, one) in finished.iter().enumerate() {
        let others = finished.iter().skip(index + 1);
        found.extend(others.filter_map(|other| beside(&one.evaluation, &other.evaluation)));
    }
    found
}

/// Writes the rows of a plan into its folder.
pub(super) fn write_rows(folder: &Path, plan: &Plan, results: &Results) -> Result<Digests, Failure> {
    let (binary, text) = (parquet::emit(&table(plan, results)).map_err(Failure::bug)?, results.csv(plan));
    file::write(&folder.join(PARQUET), &binary).map_err(Failure::config)?;
    file::write(&folder.join(CSV), text.as_bytes()).map_err(Failure::config)?;
    Ok(Digests { rows_parquet: sha256(&binary), rows_csv: sha256(text.as_bytes()) })
}

/// Writes the figures of each plan into its folder, and one report of all.
pub(super) fn write_report(out: &Path, finished: &[Finished]) -> Outcome {
    file::make_folder(out).map_err(Failure::config)?;
    for Finished { evaluation, folder, .. } in finished {
        // A report into a plan's own folder belongs to that plan.
        let own = if is_same(out, folder) { out.to_owned() } else { out.join(name_of(evaluation)) };
        write_figures(&own.join("figures"), evaluation)?;
    }
    let besides = besides(finished);
    for evaluation in &besides {
        write_figures(&out.join(&evaluation.name).join("figures"), evaluation)?;
    }
    let evaluations: Vec<&Evaluation> = finished.iter().map(|one| &one.evaluation).chain(&besides).collect();
    let text = serde_json::to_string_pretty(&evaluations).map_err(Failure::bug)? + "\n";
    file::write(&out.join(EVALUATION), text.as_bytes()).map_err(Failure::config)?;
    file::write(&out.join(REPORT), page(out, finished, besides).as_bytes()).map_err(Failure::config)
}

/// The report, with links to the rows.
fn page(out: &Path, finished: &[Finished], besides: Vec<Evaluation>) -> String {
    let mut evaluations: Vec<Evaluation> = finished.iter().map(|one| one.evaluation.clone()).collect();
    evaluations.extend(besides);
    let rows = finished.iter().map(|one| link(out, &one.folder.join(CSV))).collect();
    report_html(&evaluations, &Provenance { title: String::new(), facts: facts(finished), rows })
}

/// Whether two paths lead to one folder.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// The address of a file for a page in a folder: from there, or the whole path if the way is not known.
fn link(folder: &Path, file: &Path) -> String {
    let way = || {
        let parent = file.parent()?.canonicalize().ok()?;
        Some(way(&folder.canonicalize().ok()?, &parent.join(file.file_name()?)))
    };
    let path = way().or_else(|| std::path::absolute(file).ok()).unwrap_or_else(|| file.to_owned());
    // RFC 3986, section 2.3: what else stands in a path is encoded.
    let encoded = path.as_os_str().as_bytes().iter().map(|byte| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
        other if other.is_ascii_alphanumeric() => char::from(*other).to_string(),
        other => format!("%{other:02X}"),
    });
    encoded.collect()
}

/// The way from a folder to a file, both of them without symbolic links.
fn way(folder: &Path, file: &Path) -> PathBuf {
    let common = folder.components().zip(file.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    up.chain(file.components().skip(common)).collect()
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
    let figures = evaluation.figures.iter().map(|figure| (&figure.id, figure.svg()));
    let maps = evaluation.maps.iter().map(|map| (&map.id, map.svg()));
    for (id, svg) in figures.chain(maps) {
        // A figure of which no number is known has no picture; the report says so.
        let Ok(svg) = svg else { continue };
        let png = picture::png(&svg, SCALE).map_err(Failure::bug)?;
        for (ending, bytes) in [("svg", svg.as_bytes()), ("png", png.as_slice())] {
            let name = format!("{id}.{ending}");
            file::write(&folder.join(&name), bytes).map_err(Failure::config)?;
            written.insert(name);
        }
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let name = entry.map_err(Failure::config)?.file_name().to_string_lossy().into_owned();
        if (name.ends_with(".svg") || name.ends_with(".png")) && !written.contains(&name) {
            std::fs::remove_file(folder.join(&name)).map_err(Failure::config)?;
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
pub(super) fn show(folder: &Path, finished: &[Finished], printing: Printing, out: &mut Output) -> Outcome {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_the_page_to_the_rows() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        for folder in ["out/plan", "other/deep", "odd #1?/plan"] {
            std::fs::create_dir_all(path(folder)).unwrap();
        }
        std::os::unix::fs::symlink(path("out"), path("linked")).unwrap();
        let cases = [
            ("out", "out/plan", "plan/rows.csv"),
            ("other", "out/plan", "../out/plan/rows.csv"),
            ("other/deep", "linked/plan", "../../out/plan/rows.csv"),
            ("linked", "out/plan", "plan/rows.csv"),
            ("out/plan", "out/plan/.", "rows.csv"),
            ("out", "odd #1?/plan", "../odd%20%231%3F/plan/rows.csv"),
        ];
        for (out, folder, want) in cases {
            assert_eq!(link(&path(out), &path(folder).join(CSV)), want, "{out} to {folder}");
        }
        let gone = link(&path("none"), &path("out/plan/rows.csv"));
        assert!(gone.starts_with('/') && gone.ends_with("/out/plan/rows.csv"), "{gone}");
    }

    #[test]
    fn one_folder_has_many_names() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("deep");
        std::fs::create_dir(&deep).unwrap();
        assert!(is_same(&deep, &deep.join("../deep/")) && !is_same(&deep, home.path()));
        assert!(!is_same(&deep, &home.path().join("none")));
    }
}
