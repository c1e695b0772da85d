//! What stands in a folder of results.

use crate::record::{self, Digests, Record, sha256};
use crate::table::{results, table};
use guestright_error::{OrFail as _, RunError};
use guestright_experiment::{Evaluation, Files, Plan, Platform, Provenance, Results, beside, report_html};
use guestright_results::{file, parquet, picture};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The rows, for programs.
pub const PARQUET: &str = "rows.parquet";
/// The rows, for people and spreadsheets.
pub const CSV: &str = "rows.csv";
/// What was found, for programs.
pub const EVALUATION: &str = "evaluation.json";
/// What was found, for people.
pub const REPORT: &str = "report.html";
/// The folder of a plan's pictures.
pub(crate) const FIGURES: &str = "figures";
/// The most bytes of rows.
const BYTES_MAX: u64 = 4 << 30;
/// How many points of a picture there are for each of its pixels.
const SCALE: f32 = 2.0;

/// A plan that was run.
#[derive(Debug)]
pub struct Finished {
    pub evaluation: Evaluation,
    pub record: Record,
    /// Where its rows are.
    pub folder: PathBuf,
    /// Its rows, as its CSV file has them.
    pub rows: String,
}

/// The name of the folder of a plan's results on a platform.
pub fn folder_name(plan: &str, platform: Platform) -> String {
    match platform {
        Platform::Sim => plan.to_owned(),
        Platform::Netns | Platform::Real => format!("{plan}-{}", platform.name()),
    }
}

/// The same of what was found.
pub fn name_of(evaluation: &Evaluation) -> String {
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
///
/// # Errors
/// They cannot be written.
pub fn write_rows(folder: &Path, plan: &Plan, results: &Results) -> Result<(Digests, String), RunError> {
    let (binary, text) = (parquet::emit(&table(plan, results)).map_err(RunError::bug)?, results.csv(plan));
    file::write(&folder.join(PARQUET), &binary).map_err(RunError::config)?;
    file::write(&folder.join(CSV), text.as_bytes()).map_err(RunError::config)?;
    Ok((Digests { rows_parquet: sha256(&binary), rows_csv: sha256(text.as_bytes()) }, text))
}

/// Writes the figures of each plan into its folder, and one report of all.
///
/// # Errors
/// They cannot be written.
pub fn write_report(out: &Path, finished: &[Finished]) -> Result<(), RunError> {
    file::make_folder(out).map_err(RunError::config)?;
    for one in finished {
        write_figures(&figures_of(out, one), &one.evaluation)?;
    }
    let besides = besides(finished);
    for evaluation in &besides {
        write_figures(&out.join(&evaluation.name).join(FIGURES), evaluation)?;
    }
    let evaluations: Vec<&Evaluation> = finished.iter().map(|one| &one.evaluation).chain(&besides).collect();
    let text = serde_json::to_string_pretty(&evaluations).map_err(RunError::bug)? + "\n";
    file::write(&out.join(EVALUATION), text.as_bytes()).map_err(RunError::config)?;
    file::write(&out.join(REPORT), page(out, finished, besides).as_bytes()).map_err(RunError::config)
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
fn write_figures(folder: &Path, evaluation: &Evaluation) -> Result<(), RunError> {
    let mut written = BTreeSet::new();
    let figures = evaluation.figures.iter().map(|figure| (&figure.id, figure.svg()));
    let maps = evaluation.maps.iter().map(|map| (&map.id, map.svg()));
    for (id, svg) in figures.chain(maps) {
        // A figure of which no number is known has no picture; the report says so.
        let Ok(svg) = svg else { continue };
        let png = picture::png(&svg, SCALE).map_err(RunError::bug)?;
        for (ending, bytes) in [("svg", svg.as_bytes()), ("png", png.as_slice())] {
            let name = format!("{id}.{ending}");
            file::write(&folder.join(&name), bytes).map_err(RunError::config)?;
            written.insert(name);
        }
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let name = entry.map_err(RunError::config)?.file_name().to_string_lossy().into_owned();
        if (name.ends_with(".svg") || name.ends_with(".png")) && !written.contains(&name) {
            std::fs::remove_file(folder.join(&name)).map_err(RunError::config)?;
        }
    }
    Ok(())
}

/// The rows of a plan, from its folder: from the CSV file, or if it is not there from the other one.
///
/// # Errors
/// They cannot be read, or are not as they were written.
pub fn read_rows(folder: &Path, plan: &Plan, digests: &Digests) -> Result<Results, RunError> {
    let path = folder.join(CSV);
    if !path.exists() {
        let path = folder.join(PARQUET);
        let table = parquet::parse(read(&path, &digests.rows_parquet)?);
        let results = table.map_err(RunError::config).and_then(|table| results(plan, &table));
        return fitting(results, &path);
    }
    let bytes = read(&path, &digests.rows_csv)?;
    let text =
        String::from_utf8(bytes).map_err(|_| RunError::config(format!("{} is no text", path.display())))?;
    let adopted = Results::from_csv(plan, &text).map_err(RunError::config);
    Ok(fitting(adopted, &path)?.results)
}

fn fitting<T>(rows: Result<T, RunError>, path: &Path) -> Result<T, RunError> {
    let rows = rows.or_config(|| format!("read {}", path.display()));
    rows.map_err(|error| error.with_hint("the rows are those of another plan or program; run the plan again"))
}

/// Reads rows that are as they were written.
fn read(path: &Path, sha: &str) -> Result<Vec<u8>, RunError> {
    let bytes = file::read(path, BYTES_MAX).map_err(RunError::config)?;
    if sha256(&bytes) == sha {
        return Ok(bytes);
    }
    let error =
        format!("{} has changed since it was written: its digest is not the one in run.json", path.display());
    Err(RunError::config(error).with_hint("take back the change, or run the plan again"))
}

/// The folder itself, or those within it: where records are.
///
/// # Errors
/// There are none.
pub fn plan_folders(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    if folder.join(record::FILE).is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let hint = "name a folder that `guestright-lab run` wrote";
    let entries = std::fs::read_dir(folder).map_err(|error| {
        let (kind, folder) = (error.kind(), folder.display());
        let words = if kind == ErrorKind::NotFound {
            format!("there is no folder {folder}")
        } else if kind == ErrorKind::NotADirectory {
            format!("{folder} is a file, not a folder")
        } else {
            format!("cannot look into {folder}: {error}")
        };
        RunError::config(words).with_hint(hint)
    })?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(RunError::config)?.path();
        if path.join(record::FILE).is_file() {
            found.push(path);
        }
    }
    if found.is_empty() {
        let error = format!("{} has no results: no {} in it", folder.display(), record::FILE);
        return Err(RunError::config(error).with_hint(hint));
    }
    found.sort();
    Ok(found)
}

/// The plans that have results in a folder beside these.
pub fn others(folder: &Path, finished: &[Finished]) -> Vec<String> {
    let folders = plan_folders(folder).unwrap_or_default();
    let names = folders.iter().filter_map(|folder| folder.file_name()?.to_str());
    let is_other = |name: &&str| finished.iter().all(|one| name_of(&one.evaluation) != *name);
    names.filter(is_other).map(str::to_owned).collect()
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
