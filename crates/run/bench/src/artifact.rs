//! An artifact: a folder, or one file, with which a referee makes a paper's results again and compares them.
//!
//! In: plans, and how they are to be run ([`Wish`]). Out: the plans, their seeds, their results, quick and whole, a script for each figure, a script that compares, and a README with the steps, what they
//! take, and the points of ACM's badges and SOSP's check lists.

mod readme;
mod scripts;
#[cfg(test)]
mod tests;

use crate::batch::{BatchError, Earlier, Inbox, OnEvent, Settings};
use crate::folder::{self, CSV, EVALUATION, Finished, PARQUET, REPORT, name_of};
use crate::numbers::counted;
use crate::plan_files::Source;
use crate::record::{self, Program, sha256};
use guestright_error::{OrFail as _, RunError};
use guestright_experiment::{Plan, Platform, Results, tolerances};
use guestright_results::file;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const CITATION: &str = include_str!("../../../../CITATION.cff");
const LICENCES: [(&str, &str); 2] = [
    ("LICENSE-APACHE", include_str!("../../../../LICENSE-APACHE")),
    ("LICENSE-MIT", include_str!("../../../../LICENSE-MIT")),
];
/// The most bytes of one file.
const BYTES_MAX: u64 = 4 << 30;
/// Files that are programs.
const EXECUTABLE: [&str; 3] = [".sh", ".py", "bin/guestright-lab"];
/// The folder of the results that a referee's should be like.
const EXPECTED: &str = "expected";
/// The hashes of all other files.
const SUMS: &str = "SHA256SUMS";

/// Results of plans, made in one go.
#[derive(Debug)]
struct Level {
    /// Quick ones, or those of the whole plans.
    is_quick: bool,
    finished: Vec<Finished>,
    /// The most memory that the program had until they were there, if the kernel says so.
    peak_bytes: Option<u64>,
}

impl Level {
    const fn name(&self) -> &'static str {
        level_name(self.is_quick)
    }

    /// Time that passed while the runs were made.
    fn seconds(&self) -> f64 {
        self.finished.iter().map(|one| one.record.seconds).sum()
    }
}

/// What is to be packed, and where to.
#[derive(Debug)]
pub struct Wish {
    /// A folder, or with the ending `.tar` a file.
    pub out: PathBuf,
    pub plans: Vec<Source>,
    /// Whether the whole plans are left out.
    pub is_quick: bool,
    /// How often each point of the whole plans is run, if it is not what they say.
    pub seeds: Option<u32>,
    /// As in [`Settings`].
    pub threads: Option<usize>,
    /// Whether the program's own file goes in too.
    pub with_program: bool,
    /// What was typed, for the records.
    pub command: String,
    /// Who runs the plans, for the records.
    pub program: Program,
}

/// What was packed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Packed {
    /// The folder, or the file.
    pub artifact: PathBuf,
    pub files: usize,
    pub bytes: u64,
    pub figures: usize,
    pub levels: Vec<LevelMeasured>,
}

/// What making the runs of a level took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelMeasured {
    pub level: &'static str,
    pub runs: usize,
    pub minutes: f64,
    pub threads: usize,
    pub memory_gigabytes: Option<f64>,
    pub disk_gigabytes: f64,
}

impl Wish {
    /// Makes the runs, quick and whole, and packs their results with what goes with them. `inboxes` are for the one and the
    /// other.
    ///
    /// # Errors
    /// The folder has something else, a plan has a mistake or a run failed, it was stopped, or a file cannot be written.
    pub fn pack(&self, inboxes: (Inbox, Inbox), on_event: OnEvent<'_>) -> Result<Packed, BatchError> {
        check_folder(&workshop(&self.out))?;
        let mut levels = vec![self.make(true, inboxes.0, on_event)?];
        if !self.is_quick {
            levels.push(self.make(false, inboxes.1, on_event)?);
        }
        Ok(pack(self, &levels)?)
    }

    /// Makes the expected results of a level.
    fn make(&self, is_quick: bool, inbox: Inbox, on_event: OnEvent<'_>) -> Result<Level, BatchError> {
        let settings = Settings {
            out: workshop(&self.out).join(EXPECTED).join(level_name(is_quick)),
            platforms: vec![Platform::Sim],
            is_quick,
            seeds: self.seeds.filter(|_| !is_quick),
            threads: self.threads,
            earlier: Earlier::Used,
            shard: None,
            command: self.command.clone(),
            program: self.program.clone(),
            worker: &[], // Nothing runs on real sockets here.
        };
        let selected = settings.select(self.plans.clone())?;
        let finished = settings.run(selected, inbox, on_event)?;
        Ok(Level { is_quick, finished, peak_bytes: peak_bytes() })
    }
}

const fn level_name(is_quick: bool) -> &'static str {
    if is_quick { "quick" } else { "full" }
}

/// The folder in which an artifact is made: that of its name, or for a `.tar` one beside it.
fn workshop(out: &Path) -> PathBuf {
    if is_tar(out) { out.with_extension("tar.making") } else { out.to_owned() }
}

/// Whether the folder may become an artifact: it is not there, is empty, or has become one or begun to.
///
/// # Errors
/// It has something else.
fn check_folder(folder: &Path) -> Result<(), RunError> {
    let Ok(mut entries) = fs::read_dir(folder) else { return Ok(()) };
    if entries.next().is_none() || folder.join(EXPECTED).is_dir() {
        return Ok(());
    }
    let error = format!("{} has files that are no artifact's", folder.display());
    Err(RunError::user(error).with_hint("name another folder with --out, or an empty one"))
}

/// The largest size of this program's memory until now, in bytes (`VmHWM` of proc(5)).
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Makes the artifact around results that are in `expected/LEVEL` of the workshop of `out`.
///
/// # Errors
/// Something cannot be read or written.
fn pack(wish: &Wish, levels: &[Level]) -> Result<Packed, RunError> {
    let (out, folder) = (wish.out.as_path(), workshop(&wish.out));
    for old in ["plans", "figures", "bin"] {
        if folder.join(old).is_dir() {
            remove(&folder.join(old))?;
        }
    }
    let mut files = expected_files(&folder, levels)?;
    remove_others(&folder, levels, &files)?;
    let measured =
        levels.iter().map(|level| measure(&folder, level, &files)).collect::<Result<Vec<_>, _>>()?;
    let mut written = scripts::all(levels, wish);
    let figures = written.keys().filter(|name| name.starts_with("figures/")).count();
    written.insert("seeds.csv".to_owned(), seeds(levels));
    written.insert("tolerances.csv".to_owned(), tolerance_table(levels)?);
    written.insert("versions.json".to_owned(), versions(levels)?);
    written.insert("README.md".to_owned(), readme::text(levels, &measured, wish));
    written.insert("CITATION.cff".to_owned(), CITATION.to_owned());
    written.extend(LICENCES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    for (name, text) in &written {
        write(&folder, name, text.as_bytes())?;
    }
    files.extend(written.into_keys());
    if wish.with_program {
        let program = file::read(Path::new("/proc/self/exe"), BYTES_MAX).map_err(RunError::config)?;
        write(&folder, "bin/guestright-lab", &program)?;
        files.insert("bin/guestright-lab".to_owned());
    }
    let bytes = write_sums(&folder, &mut files)?;
    if is_tar(out) {
        write_tar(out, &folder, &files).or_config(|| format!("write {}", out.display()))?;
        fs::remove_dir_all(&folder).or_config(|| format!("remove {}", folder.display()))?;
    }
    Ok(Packed { artifact: out.to_owned(), files: files.len(), bytes, figures, levels: measured })
}

/// What was packed, for people.
#[must_use]
pub fn in_text(packed: &Packed) -> String {
    let mut text = format!(
        "{}: {}, {:.1} MB, {}\n",
        packed.artifact.display(),
        counted(packed.files, "file"),
        megabytes(packed.bytes),
        counted(packed.figures, "script") + " for figures"
    );
    for level in &packed.levels {
        let memory =
            level.memory_gigabytes.map_or_else(String::new, |memory| format!(", {memory:.2} GB of memory"));
        text.push_str(&format!(
            "{}: {}, {:.1} minutes on {}{memory}, {:.3} GB on the disk\n",
            level.level,
            counted(level.runs, "run"),
            level.minutes,
            counted(level.threads, "thread"),
            level.disk_gigabytes
        ));
    }
    text + "README.md in it has the steps; ./verify.py compares\n"
}

fn is_tar(out: &Path) -> bool {
    out.extension().is_some_and(|extension| extension == "tar")
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), RunError> {
    let path = folder.join(name);
    file::write(&path, bytes).map_err(RunError::config)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(mode(name)))
        .or_config(|| format!("make {} a program", path.display()))
}

fn mode(name: &str) -> u32 {
    if EXECUTABLE.iter().any(|end| name.ends_with(end)) { 0o755 } else { 0o644 }
}

/// The names of the results' files, within the folder of the artifact.
fn expected_files(folder: &Path, levels: &[Level]) -> Result<BTreeSet<String>, RunError> {
    let mut files = BTreeSet::new();
    for level in levels {
        let base = format!("{EXPECTED}/{}", level.name());
        files.extend([EVALUATION, REPORT].map(|name| format!("{base}/{name}")));
        for one in &level.finished {
            let base = format!("{base}/{}", name_of(&one.evaluation));
            files.extend([PARQUET, CSV, record::FILE].map(|name| format!("{base}/{name}")));
            let Ok(entries) = fs::read_dir(folder.join(&base).join(folder::FIGURES)) else { continue };
            for entry in entries {
                let name = entry.map_err(RunError::config)?.file_name().to_string_lossy().into_owned();
                files.insert(format!("{base}/{}/{name}", folder::FIGURES));
            }
        }
    }
    Ok(files)
}

/// Removes results of an earlier artifact that this one does not have: `verify.py` would ask for them.
fn remove_others(folder: &Path, levels: &[Level], files: &BTreeSet<String>) -> Result<(), RunError> {
    for is_quick in [true, false] {
        let base = format!("{EXPECTED}/{}", level_name(is_quick));
        let Ok(entries) = fs::read_dir(folder.join(&base)) else { continue };
        if !levels.iter().any(|level| level.is_quick == is_quick) {
            remove(&folder.join(&base))?;
            continue;
        }
        for entry in entries {
            let entry = entry.map_err(RunError::config)?;
            let name = format!("{base}/{}", entry.file_name().to_string_lossy());
            let within = format!("{name}/");
            if !files.iter().any(|file| *file == name || file.starts_with(&within)) {
                remove(&entry.path())?;
            }
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), RunError> {
    let is_folder = path.is_dir() && !path.is_symlink();
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.or_config(|| format!("remove {} of an earlier artifact", path.display()))
}

fn measure(folder: &Path, level: &Level, files: &BTreeSet<String>) -> Result<LevelMeasured, RunError> {
    let base = format!("{EXPECTED}/{}/", level.name());
    let own = files.iter().filter(|name| name.starts_with(&base)).map(|name| size(folder, name));
    let bytes: u64 = own.sum::<Result<u64, RunError>>()?;
    Ok(LevelMeasured {
        level: level.name(),
        runs: level.finished.iter().map(|one| one.record.runs).sum(),
        minutes: level.seconds() / 60.0,
        threads: level.finished.iter().map(|one| one.record.threads).max().unwrap_or(1),
        memory_gigabytes: level.peak_bytes.map(|bytes| megabytes(bytes) / 1e3),
        disk_gigabytes: megabytes(bytes) / 1e3,
    })
}

fn size(folder: &Path, name: &str) -> Result<u64, RunError> {
    let path = folder.join(name);
    Ok(fs::metadata(&path).or_config(|| format!("look at {}", path.display()))?.len())
}

/// The seeds of every plan.
fn seeds(levels: &[Level]) -> String {
    let mut text = "level,plan,replication,seed\n".to_owned();
    for (level, one) in each(levels) {
        for (replication, seed) in one.record.seeds.iter().enumerate() {
            text.push_str(&format!("{},{},{replication},{seed}\n", level.name(), one.record.plan.name));
        }
    }
    text
}

fn each(levels: &[Level]) -> impl Iterator<Item = (&Level, &Finished)> {
    levels.iter().flat_map(|level| level.finished.iter().map(move |one| (level, one)))
}

/// How far each metric's means may be from the expected ones.
fn tolerance_table(levels: &[Level]) -> Result<String, RunError> {
    let mut text = "level,plan,metric,unit,absolute,relative,point\n".to_owned();
    for (level, one) in each(levels) {
        let (plan, results) = rows(one)?;
        for tolerance in tolerances(&plan, &results) {
            let (level, plan, metric) = (level.name(), plan.name(), tolerance.metric);
            let (unit, absolute, relative) = (tolerance.unit, tolerance.absolute, tolerance.relative);
            let point = tolerance.point.replace('"', "\"\"");
            text.push_str(&format!("{level},{plan},{metric},{unit},{absolute:?},{relative:?},\"{point}\"\n"));
        }
    }
    Ok(text)
}

/// The plan as it was run, and its rows.
fn rows(one: &Finished) -> Result<(Plan, Results), RunError> {
    let plan = one.record.as_run(one.record.source(&one.folder).parse()?, &one.folder)?;
    let results = Results::from_csv(&plan, &one.rows).map_err(RunError::bug)?.results;
    Ok((plan, results))
}

/// Who made the results, where, with which command.
fn versions(levels: &[Level]) -> Result<String, RunError> {
    let all: Vec<_> = each(levels)
        .map(|(level, one)| {
            serde_json::json!({
                "level": level.name(),
                "plan": one.record.plan.name,
                "plan_sha256": one.record.plan.text_sha256,
                "program": one.record.program,
                "host": one.record.host,
                "threads": one.record.threads,
                "started": one.record.started,
                "seconds": one.record.seconds,
            })
        })
        .collect();
    Ok(serde_json::to_string_pretty(&all).map_err(RunError::bug)? + "\n")
}

/// Writes the hashes of these files, and counts their bytes.
fn write_sums(folder: &Path, files: &mut BTreeSet<String>) -> Result<u64, RunError> {
    let (mut text, mut total) = (String::new(), 0);
    for name in files.iter() {
        let bytes = file::read(&folder.join(name), BYTES_MAX).map_err(RunError::config)?;
        total += bytes.len() as u64;
        text.push_str(&format!("{}  {name}\n", sha256(&bytes)));
    }
    write(folder, SUMS, text.as_bytes())?;
    files.insert(SUMS.to_owned());
    Ok(total + text.len() as u64)
}

/// Packs these files into one. Neither the time nor the owner stands in it: the same files give the same bytes.
fn write_tar(out: &Path, folder: &Path, files: &BTreeSet<String>) -> std::io::Result<()> {
    let root = out.file_stem().map_or_else(|| "artifact".into(), |stem| stem.to_string_lossy().into_owned());
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let part = parent.join(format!(".{root}.tar.part"));
    let mut archive = tar::Builder::new(File::create(&part)?);
    for name in files {
        let file = File::open(folder.join(name))?;
        let mut header = tar::Header::new_gnu();
        header.set_size(file.metadata()?.len());
        header.set_mode(mode(name));
        header.set_mtime(0);
        archive.append_data(&mut header, format!("{root}/{name}"), file)?;
    }
    archive.into_inner()?.sync_all()?;
    fs::rename(part, out)
}

/// The texts of the plans, by the names of their files.
fn plan_texts(levels: &[Level]) -> BTreeMap<String, String> {
    let texts = each(levels)
        .map(|(_, one)| (format!("plans/{}.toml", one.record.plan.name), one.record.plan.text.clone()));
    texts.collect()
}
