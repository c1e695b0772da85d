//! Runs of a plan that several computers share.
//!
//! Each makes one *shard*: every so-many-th run, into a folder that may be the same for all or one of its own. In a plan's
//! folder a shard has two files: `shard-3-of-40.csv`, its finished runs ([`KeptRows`]), and `shard-3-of-40.json`, how they
//! came about ([`ShardRecord`]). Both are there from the beginning, so that [`missing`] knows what is still to be made,
//! and [`merge`] makes of all of them the bytes that one computer would have written.
//!
//! Shards of another version are refused; of another build of this version they are accepted, with a warning, since
//! builds of the same source on two computers differ as well.

use crate::folder::{self, Finished};
use crate::kept::KeptRows;
use crate::numbers::counted;
use crate::plan_files::Source;
use crate::record::{HostRecord, PlanRecord, Program, Record};
use guestright_clock::Clock;
use guestright_error::{OrFail as _, RunError};
use guestright_experiment::{Plan, Platform, Results, Testbed, evaluate};
use guestright_results::file;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The most bytes of a shard's record.
const BYTES_MAX: u64 = 8 << 20;
/// The most folders and files that are looked at.
const FILES_MAX: usize = 100_000;

/// Which part of the runs is made: number 3 of 40.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// From 1.
    pub number: u32,
    pub of: u32,
}

impl Shard {
    /// The most shards of a plan: as many as one array of SLURM may have by default.
    pub const OF_MAX: u32 = 1_000;

    /// Whether it has the run of this index.
    ///
    /// Of every `of` runs in a row each shard has one. Which one moves on from row to row: as sweeps grow, a shard that had
    /// the last run of each would have only long ones.
    #[must_use]
    pub const fn has(self, index: usize) -> bool {
        Self::number_of(index, self.of) == self.number
    }

    const fn number_of(index: usize, of: u32) -> u32 {
        let of = of as usize;
        #[expect(clippy::cast_possible_truncation, reason = "at most OF_MAX")]
        let number = ((index % of + index / of) % of) as u32;
        number + 1
    }

    /// How many of so many runs it has.
    #[must_use]
    pub fn count(self, runs: usize) -> usize {
        (0..runs).filter(|index| self.has(*index)).count()
    }

    /// The name of its journal in a plan's folder.
    #[must_use]
    pub fn journal(self) -> String {
        format!("shard-{}-of-{}.csv", self.number, self.of)
    }

    fn record(self) -> String {
        format!("shard-{}-of-{}.json", self.number, self.of)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// `3/40`.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').map(|(number, of)| (number.parse(), of.parse()));
        match numbers {
            Some((Ok(number), Ok(of))) if 1 <= number && number <= of && of <= Self::OF_MAX => {
                Ok(Self { number, of })
            }
            _ => Err(format!("a shard is 1/N to N/N with N at most {}, for example 3/40", Self::OF_MAX)),
        }
    }
}

/// How the rows of a shard came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardRecord {
    pub shard: Shard,
    pub plan: PlanRecord,
    pub quick: bool,
    /// How often each point is run.
    pub seeds: u32,
    pub program: Program,
}

impl ShardRecord {
    pub(crate) fn new(shard: Shard, source: &Source, plan: &Plan, program: &Program) -> Self {
        let (quick, seeds) = (plan.is_quick(), plan.seeds());
        Self { shard, plan: PlanRecord::new(source, plan), quick, seeds, program: program.clone() }
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), RunError> {
        let text = serde_json::to_string_pretty(self).map_err(RunError::bug)? + "\n";
        file::write(&folder.join(self.shard.record()), text.as_bytes()).map_err(RunError::config)
    }

    fn read(path: &Path) -> Result<Self, RunError> {
        let bytes = file::read(path, BYTES_MAX).map_err(RunError::config)?;
        let record: Self = serde_json::from_slice(&bytes).or_config(|| format!("read {}", path.display()))?;
        let Shard { number, of } = record.shard;
        if path.file_name().and_then(|name| name.to_str()) != Some(record.shard.record().as_str())
            || !(1..=of).contains(&number)
            || of > Shard::OF_MAX
        {
            return Err(RunError::config(format!("{} is not the record of a shard", path.display())));
        }
        Ok(record)
    }

    /// The plan as it is run.
    fn plan(&self, path: &Path, testbeds: &'static [&'static dyn Testbed]) -> Result<Plan, RunError> {
        let source = Source { name: path.display().to_string(), text: self.plan.text.clone() };
        let plan = source.parse_with(testbeds)?;
        let plan = if self.quick { plan.quick() } else { plan };
        let plan = plan.with_seeds(self.seeds);
        let is_same = |plan: &Plan| plan.digest() == self.plan.runs_digest && plan.name() == self.plan.name;
        let plan = plan.filter(is_same);
        plan.ok_or_else(|| {
            RunError::config(format!("{}: its runs are not those of its plan's text", path.display()))
                .with_hint("it was changed, or another version made it; make the shard again")
        })
    }
}

/// The shards of one plan that were found.
#[derive(Debug)]
struct Found {
    plan: Plan,
    records: Vec<(PathBuf, ShardRecord)>,
    results: Results,
}

/// What is not there yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// How many runs, of all plans.
    pub runs: usize,
    /// The numbers of the shards that have them.
    pub shards: BTreeSet<u32>,
}

impl Missing {
    /// The numbers as SLURM's `--array` takes them: `3,7-9`; nothing if nothing is missing.
    #[must_use]
    pub fn array(&self) -> String {
        let mut spans: Vec<(u32, u32)> = Vec::new();
        for number in &self.shards {
            match spans.last_mut() {
                Some((_, last)) if *last + 1 == *number => *last = *number,
                _ => spans.push((*number, *number)),
            }
        }
        let spans = spans.into_iter().map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        });
        spans.collect::<Vec<_>>().join(",")
    }
}

/// What shards became.
#[derive(Debug)]
pub struct Merged {
    pub finished: Vec<Finished>,
    /// Who made which, where it was not all one build, or another than this.
    pub builds: Option<String>,
}

/// What the shards in these folders have not made.
///
/// # Errors
/// There are no shards, or they do not belong together.
pub fn missing(folders: &[PathBuf], version: &str) -> Result<Missing, RunError> {
    missing_of(&find(folders, version, crate::plan_files::testbeds())?)
}

/// Writes what the shards in these folders have made into `out`, as one computer would have.
///
/// # Errors
/// As [`missing`]; or runs are missing, or results cannot be written.
pub fn merge(folders: &[PathBuf], out: &Path, command: &str, program: &Program) -> Result<Merged, RunError> {
    merge_with(folders, out, command, program, crate::plan_files::testbeds())
}

fn missing_of(found: &BTreeMap<String, Found>) -> Result<Missing, RunError> {
    let mut ofs: Vec<u32> = records(found).map(|record| record.shard.of).collect();
    ofs.sort_unstable();
    ofs.dedup();
    let [of] = ofs[..] else {
        let of: Vec<String> = ofs.iter().map(ToString::to_string).collect();
        return Err(RunError::user(format!("there are shards of {} here", of.join(" and of ")))
            .with_hint("name only folders of shards that belong together"));
    };
    let mut missing = Missing::default();
    for Found { results, .. } in found.values() {
        let open = (0..results.rows().len()).filter(|index| results.get(*index).is_none());
        for index in open {
            missing.runs += 1;
            missing.shards.insert(Shard::number_of(index, of));
        }
    }
    Ok(missing)
}

fn records(found: &BTreeMap<String, Found>) -> impl Iterator<Item = &ShardRecord> {
    found.values().flat_map(|found| found.records.iter().map(|(_, record)| record))
}

fn merge_with(
    folders: &[PathBuf],
    out: &Path,
    command: &str,
    program: &Program,
    testbeds: &'static [&'static dyn Testbed],
) -> Result<Merged, RunError> {
    let found = find(folders, &program.version, testbeds)?;
    let open: usize = found.values().map(|found| found.results.missing()).sum();
    if open > 0 {
        let which = missing_of(&found).map_or_else(|_| String::new(), |missing| missing.array());
        let which = if which.is_empty() { which } else { format!(", of shards {which}") };
        let error =
            format!("{} still missing{which}", counted(open, "run") + if open == 1 { " is" } else { " are" });
        return Err(RunError::user(error).with_hint(
            "make them with the same command and --shard; `guestright-lab missing` prints the shards' numbers",
        ));
    }
    check_replaced(out, &found)?;
    let builds = builds(&found, program);
    let host = HostRecord::this();
    let mut finished = Vec::new();
    for (name, found) in found {
        finished.push(write(&out.join(name), found, command, &host)?);
    }
    folder::write_report(out, &finished)?;
    Ok(Merged { finished, builds })
}

/// Finished results of a whole plan are not replaced by fewer, as `run` does not either.
fn check_replaced(out: &Path, found: &BTreeMap<String, Found>) -> Result<(), RunError> {
    for (name, Found { plan, .. }) in found {
        let folder = out.join(name);
        let Ok(there) = Record::read(&folder) else { continue };
        let seeds = usize::try_from(plan.seeds()).unwrap_or(usize::MAX);
        if !there.quick && (plan.is_quick() || seeds < there.seeds.len()) {
            let had = counted(there.seeds.len(), "seed");
            let error =
                format!("{} has finished results of {had}, and these shards have fewer", folder.display());
            return Err(RunError::user(error).with_hint("name another folder with --out, or remove that one"));
        }
    }
    Ok(())
}

/// The builds of which the rows are, if that is not this one alone.
fn builds(found: &BTreeMap<String, Found>, program: &Program) -> Option<String> {
    let name = |program: &Program| {
        let digest = || format!("a program with SHA-256 {}…", program.sha256.get(..16).unwrap_or_default());
        program.commit.as_ref().map_or_else(digest, |commit| format!("commit {commit}"))
    };
    let mut builds: BTreeMap<String, BTreeSet<Shard>> = BTreeMap::new();
    for record in records(found) {
        builds.entry(name(&record.program)).or_default().insert(record.shard);
    }
    let own = name(program);
    if builds.len() == 1 && builds.contains_key(&own) {
        return None;
    }
    let builds =
        builds.iter().map(|(build, shards)| format!("{} by {build}", counted(shards.len(), "shard")));
    Some(format!("{}, merged by {own}", builds.collect::<Vec<_>>().join(", ")))
}

/// Writes the rows of a plan.
fn write(folder: &Path, found: Found, command: &str, host: &HostRecord) -> Result<Finished, RunError> {
    let Found { plan, records, results } = found;
    let now = Clock::start().now().unix_seconds().to_string();
    let (digests, rows) = folder::write_rows(folder, &plan, &results)?;
    let (_, first) = records.first().expect("a plan was found by its first record");
    let record = Record {
        plan: first.plan.clone(),
        platform: Platform::Sim,
        quick: plan.is_quick(),
        seeds: Record::seeds_of(&plan),
        runs: plan.run_count(),
        runs_kept: plan.run_count(),
        packets: results.packets(),
        events: results.events(),
        command: command.to_owned(),
        program: first.program.clone(),
        host: host.clone(),
        threads: records.len(),
        started: now.clone(),
        ended: now,
        seconds: 0.0,
        digests,
    };
    record.write(folder)?;
    let evaluation = evaluate(&plan, &results, Platform::Sim);
    Ok(Finished { evaluation, record, folder: folder.to_owned(), rows })
}

/// The shards in these folders, plan by plan, with all that they have made.
fn find(
    folders: &[PathBuf],
    version: &str,
    testbeds: &'static [&'static dyn Testbed],
) -> Result<BTreeMap<String, Found>, RunError> {
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    for path in record_paths(folders)? {
        let record = ShardRecord::read(&path)?;
        check_version(&path, &record, version)?;
        let name = record.plan.name.clone();
        if let Some(other) = found.get(&name) {
            check_same(&path, &record, other)?;
        } else {
            let plan = record.plan(&path, testbeds)?;
            let results = Results::new(&plan);
            found.insert(name.clone(), Found { plan, records: vec![], results });
        }
        let one = found.get_mut(&name).expect("it was found or made above");
        let journal = path.with_extension("csv");
        let rows = KeptRows::rows(&journal, &one.plan, version).map_err(RunError::config)?;
        for (index, row) in rows.results.rows().iter().enumerate() {
            if let Some(row) = row {
                one.results.insert(index, row.clone()).map_err(RunError::bug)?;
            }
        }
        one.records.push((path, record));
    }
    if found.is_empty() {
        let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        return Err(RunError::user(format!("there are no shards in {}", names.join(", ")))
            .with_hint("name the folders that `guestright-lab run PLAN --shard I/N --out DIR` wrote"));
    }
    Ok(found)
}

fn check_version(path: &Path, record: &ShardRecord, want: &str) -> Result<(), RunError> {
    let got = &record.program.version;
    if got == want {
        return Ok(());
    }
    let error = format!("{} was made by guestright {got}, this is {want}", path.display());
    Err(RunError::user(error).with_hint("merge shards with the version that made them, or make them again"))
}

fn check_same(path: &Path, record: &ShardRecord, other: &Found) -> Result<(), RunError> {
    let (first, theirs) = other.records.first().expect("a plan was found by its first record");
    if record.plan.runs_digest == theirs.plan.runs_digest && record.quick == theirs.quick {
        return Ok(());
    }
    let (path, first) = (path.display(), first.display());
    let error = format!("{path} and {first} have other runs of the plan {}", record.plan.name);
    Err(RunError::user(error).with_hint("one of them is of an older plan, of --quick, or of other --seeds"))
}

/// Records of shards in these folders and in those directly within them.
fn record_paths(folders: &[PathBuf]) -> Result<Vec<PathBuf>, RunError> {
    let mut paths = BTreeSet::new();
    for folder in folders {
        for entry in entries(folder)? {
            if entry.is_dir() {
                paths.extend(entries(&entry)?.into_iter().filter(|path| is_record(path)));
            } else if is_record(&entry) {
                paths.insert(entry);
            }
            if paths.len() > FILES_MAX {
                return Err(RunError::user(format!("there are more than {FILES_MAX} shards")));
            }
        }
    }
    Ok(paths.into_iter().collect())
}

fn is_record(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("shard-") && name.contains("-of-") && name.ends_with(".json")
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let entries = std::fs::read_dir(folder).or_config(|| format!("look into {}", folder.display()))?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(RunError::config)).collect()
}

#[cfg(test)]
mod tests;
