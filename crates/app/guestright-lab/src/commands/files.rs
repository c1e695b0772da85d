//! What stands in a folder of results.

use super::record::{Digests, Record, sha256};
use super::table::{results, table};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_experiment::{
    Evaluation, Files, Judged, Plan, Platform, Provenance, Results, Tally, beside, report_html,
};
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
/// The folder of a plan's pictures.
const FIGURES: &str = "figures";
/// The most numbers of a claim that are printed, unless they are its answer.
const PARTS_MAX: usize = 8;
/// The most rows of a table that are printed.
const ROWS_MAX: usize = 48;
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
    /// Its rows, as its CSV file has them.
    pub(super) rows: String,
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

/// Writes the rows of a plan into its folder: also as the text that it gives back.
pub(super) fn write_rows(
    folder: &Path,
    plan: &Plan,
    results: &Results,
) -> Result<(Digests, String), Failure> {
    let (binary, text) = (parquet::emit(&table(plan, results)).map_err(Failure::bug)?, results.csv(plan));
    file::write(&folder.join(PARQUET), &binary).map_err(Failure::config)?;
    file::write(&folder.join(CSV), text.as_bytes()).map_err(Failure::config)?;
    Ok((Digests { rows_parquet: sha256(&binary), rows_csv: sha256(text.as_bytes()) }, text))
}

/// Writes the figures of each plan into its folder, and one report of all.
pub(super) fn write_report(out: &Path, finished: &[Finished]) -> Outcome {
    file::make_folder(out).map_err(Failure::config)?;
    for one in finished {
        write_figures(&figures_of(out, one), &one.evaluation)?;
    }
    let besides = besides(finished);
    for evaluation in &besides {
        write_figures(&out.join(&evaluation.name).join(FIGURES), evaluation)?;
    }
    let evaluations: Vec<&Evaluation> = finished.iter().map(|one| &one.evaluation).chain(&besides).collect();
    let text = serde_json::to_string_pretty(&evaluations).map_err(Failure::bug)? + "\n";
    file::write(&out.join(EVALUATION), text.as_bytes()).map_err(Failure::config)?;
    file::write(&out.join(REPORT), page(out, finished, besides).as_bytes()).map_err(Failure::config)
}

/// Where the figures of a plan go.
fn figures_of(out: &Path, Finished { evaluation, folder, .. }: &Finished) -> PathBuf {
    // A report into a plan's own folder belongs to that plan.
    let own = if is_same(out, folder) { out.to_owned() } else { out.join(name_of(evaluation)) };
    own.join(FIGURES)
}

/// The report, with links to what is beside it.
fn page(out: &Path, finished: &[Finished], besides: Vec<Evaluation>) -> String {
    let mut evaluations: Vec<Evaluation> = finished.iter().map(|one| one.evaluation.clone()).collect();
    let own = finished.iter().map(|one| Files {
        csv: link(out, &one.folder.join(CSV)),
        parquet: link(out, &one.folder.join(PARQUET)),
        figures: link(out, &figures_of(out, one)),
        rows: one.rows.clone(),
    });
    let pictures = besides
        .iter()
        .map(|one| Files { figures: link(out, &out.join(&one.name).join(FIGURES)), ..Files::default() });
    let files = own.chain(pictures).collect();
    evaluations.extend(besides);
    let (head, facts) = (head(finished), facts(finished));
    report_html(&evaluations, &Provenance { title: String::new(), head, facts, files })
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

/// Names with values, each value once.
#[derive(Default)]
struct Facts(Vec<(String, String)>);

impl Facts {
    fn add(&mut self, name: &str, texts: impl IntoIterator<Item = String>) {
        let texts: BTreeSet<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        if !texts.is_empty() {
            self.0.push((name.to_owned(), texts.into_iter().collect::<Vec<_>>().join("; ")));
        }
    }
}

/// What a reader wants to know first. All of it is from the records, so that a report made again is the same.
fn head(finished: &[Finished]) -> Vec<(String, String)> {
    let mut head = Facts::default();
    let each = |what: fn(&Record) -> String| finished.iter().map(move |one| what(&one.record));
    head.add("Command", each(|record| record.command.clone()));
    head.add(
        "Program",
        each(|record| {
            let commit = record.program.commit.as_ref().map(|commit| format!(", commit {commit}"));
            format!("guestright-lab {}{}", record.program.version, commit.unwrap_or_default())
        }),
    );
    let (first, last) =
        (each(|record| record.started.clone()).min(), each(|record| record.ended.clone()).max());
    head.add("Date", first.zip(last).map(|(first, last)| format!("{first} to {last}")));
    head.0
}

/// Who made the rows, where, and in what time.
fn facts(finished: &[Finished]) -> Vec<(String, String)> {
    let mut facts = Facts::default();
    let mut fact = |name: &str, texts: Vec<String>| facts.add(name, texts);
    let each = |what: fn(&Record) -> String| finished.iter().map(|one| what(&one.record)).collect::<Vec<_>>();
    fact(
        "program",
        each(|record| {
            let sha256 = record.program.sha256.get(..16).unwrap_or_default();
            format!("guestright-lab {}, SHA-256 {sha256}…", record.program.version)
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
    facts.0
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
