//! `run.json`: how rows came about, so that they explain themselves.

use crate::plan_files::Source;
use crate::table::hexadecimal;
use guestright_error::{OrFail as _, RunError};
use guestright_experiment::{Plan, Platform};
use guestright_results::{Host, file};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The most bytes of a record.
const BYTES_MAX: u64 = 8 << 20;
/// How much of the program's file is read at once.
const PIECE: usize = 1 << 18;
/// The name of its file.
pub const FILE: &str = "run.json";

/// How the rows of a plan came about. Times stand here and nowhere else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub plan: PlanRecord,
    /// Where it ran.
    #[serde(default = "simulator")]
    pub platform: Platform,
    /// Whether `[quick]` was asked for.
    pub quick: bool,
    /// How often each point was run, and with which chance: hexadecimal digits, replication by replication.
    pub seeds: Vec<String>,
    pub runs: usize,
    /// Runs that had been made before an interruption.
    pub runs_kept: usize,
    pub packets: u64,
    pub events: u64,
    /// What was typed. Empty in records of earlier versions.
    #[serde(default)]
    pub command: String,
    pub program: Program,
    pub host: HostRecord,
    pub threads: usize,
    /// In UTC.
    pub started: String,
    pub ended: String,
    pub seconds: f64,
    /// SHA-256 of the files beside it.
    pub digests: Digests,
}

/// Records had no platform when there was only one.
const fn simulator() -> Platform {
    Platform::Sim
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    pub name: String,
    /// Where its text was.
    pub source: String,
    pub text: String,
    /// Of the text.
    pub text_sha256: String,
    /// Of everything that the runs depend on.
    pub runs_digest: String,
}

/// Who simulated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    pub version: String,
    /// The commit that it was built from: `GUESTRIGHT_COMMIT`, or what Git said (`build.rs`).
    pub commit: Option<String>,
    /// Of the program's file.
    pub sha256: String,
}

/// Where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    pub system: String,
    pub processor: Option<String>,
    pub cores: usize,
}

/// What the files beside it have to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    pub rows_parquet: String,
    pub rows_csv: String,
}

impl PlanRecord {
    pub fn new(source: &Source, plan: &Plan) -> Self {
        Self {
            name: plan.name().to_owned(),
            source: source.name.clone(),
            text: source.text.clone(),
            text_sha256: sha256(source.text.as_bytes()),
            runs_digest: plan.digest(),
        }
    }
}

impl Program {
    /// This program, built from `commit` if that is known. It is read from the disk, as it runs even if another was put in
    /// its place meanwhile.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn this(commit: Option<&str>) -> Result<Self, RunError> {
        let digest = || {
            let mut file = BufReader::with_capacity(PIECE, File::open("/proc/self/exe")?);
            let mut digest = Sha256::new();
            loop {
                let piece = file.fill_buf()?;
                let length = piece.len();
                if length == 0 {
                    return Ok::<_, std::io::Error>(digest.finalize());
                }
                digest.update(piece);
                file.consume(length);
            }
        };
        let digest = digest().or_network(|| "read this program's own file, /proc/self/exe".to_owned())?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: commit.map(str::to_owned),
            sha256: hexadecimal(&digest),
        })
    }
}

impl HostRecord {
    pub fn this() -> Self {
        let Host { system, processor, cores } = Host::look();
        Self { system, processor, cores }
    }
}

impl Record {
    /// Writes it into a folder.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), RunError> {
        let text = serde_json::to_string_pretty(self).map_err(RunError::bug)? + "\n";
        file::write(&folder.join(FILE), text.as_bytes()).map_err(RunError::config)
    }

    /// Reads that of a folder.
    ///
    /// # Errors
    /// It cannot be read or understood.
    pub fn read(folder: &Path) -> Result<Self, RunError> {
        let path = folder.join(FILE);
        let bytes = file::read(&path, BYTES_MAX).map_err(RunError::config)?;
        let record = serde_json::from_slice(&bytes).or_config(|| format!("read {}", path.display()));
        let hint = "it is not what `guestright-lab run` wrote; run the plan again";
        record.map_err(|error| error.with_hint(hint))
    }

    /// The seeds of a plan, as they stand here.
    pub(crate) fn seeds_of(plan: &Plan) -> Vec<String> {
        (0..plan.seeds()).map(|number| hexadecimal(&plan.seed(number).0)).collect()
    }

    /// The plan as it was run, by its text here.
    pub fn source(&self, folder: &Path) -> Source {
        Source { name: format!("the plan in {}", folder.join(FILE).display()), text: self.plan.text.clone() }
    }

    /// `plan`, shortened and with as many seeds as when these rows of `folder` were made.
    ///
    /// # Errors
    /// It has not so many seeds.
    pub(crate) fn as_run(&self, plan: Plan, folder: &Path) -> Result<Plan, RunError> {
        let plan = if self.quick { plan.quick() } else { plan };
        let seeds = u32::try_from(self.seeds.len()).unwrap_or(u32::MAX);
        let too_many = || RunError::config(format!("{} has too many seeds", folder.display()));
        plan.with_seeds(seeds).ok_or_else(too_many)
    }
}

/// A command line of the program `name` as one would type it into a shell.
pub fn command_line(name: &str, words: impl Iterator<Item = OsString>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+%".contains(c);
    let word = |word: OsString| {
        let word = word.to_string_lossy().into_owned();
        if !word.is_empty() && word.chars().all(is_plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let words: Vec<String> = [name.to_owned()].into_iter().chain(words.map(word)).collect();
    words.join(" ")
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed_again() {
        let line = |words: &[&str]| command_line("guestright-lab", words.iter().map(OsString::from));
        assert_eq!(line(&["run", "paper-b", "--quick"]), "guestright-lab run paper-b --quick");
        assert_eq!(line(&["run", "my plan.toml", ""]), "guestright-lab run 'my plan.toml' ''");
        assert_eq!(line(&["run", "it's;rm"]), "guestright-lab run 'it'\\''s;rm'");
    }
}
