//! Which small faults in the code the tests do not notice: cargo-mutants on the crates that decide who is served, who
//! owes what, and whether a paper's figures are met.
//!
//! `docs/mutants.md` lists the faults that no test notices, each with the reason why none has to.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::steps::{cargo, line};
use crate::workspace;

/// Code that is tried.
struct Subject {
    package: &'static str,
    /// Its files, as a glob below the package's `src`; all if there is none.
    files: Option<&'static str>,
    /// Of so many mutants one is tried: a minute tries three to ten.
    sample: u32,
}

const SUBJECTS: [Subject; 4] = [
    Subject { package: "guestright-receipt", files: None, sample: 1 },
    Subject { package: "guestright-reciprocity", files: None, sample: 8 },
    Subject { package: "guestright-roaming", files: None, sample: 8 },
    Subject { package: "guestright-experiment", files: Some("evaluate{.rs,/**}"), sample: 8 },
];

/// The least share of mutants, in per cent, that the tests have to catch in each package.
const SCORE_MIN: u32 = 85;

const LIST: &str = "docs/mutants.md";

/// Other versions make other mutants, which the list does not know.
const INSTALL: &str = "cargo install cargo-mutants@27.1.0 --locked";

/// What ends a run that came to its end: all caught, some missed, some ran into the timeout.
const FINISHED: [i32; 3] = [0, 2, 3];

/// Property tests take the same way each time, so that who survives does not depend on chance. They are short, and do
/// not look for a smaller case: one is enough.
///
/// The code is optimised a little: most of the time goes into the tests.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("CARGO_PROFILE_DEV_OPT_LEVEL", "1"),
    ("PROPTEST_CASES", "32"),
    ("PROPTEST_RNG_SEED", "1"),
    ("PROPTEST_MAX_SHRINK_ITERS", "0"),
    ("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true"),
];

/// Leading arguments that name packages choose them; the rest goes to cargo-mutants in place of the usual sample, e.g.
/// `--shard 0/1` for all mutants, or `--re Registers`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let is_package = |argument: &&String| SUBJECTS.iter().any(|subject| subject.package == *argument);
    let chosen: Vec<&String> = arguments.iter().take_while(is_package).collect();
    let arguments = &arguments[chosen.len()..];
    ensure!(is_installed(), "cargo-mutants is not installed ({INSTALL})");
    let text = fs::read_to_string(workspace::root().join(LIST)).context(LIST)?;
    let list = parse_list(&text);
    let mut problems = Vec::new();
    let mut lines = Vec::new();
    for subject in &SUBJECTS {
        let Subject { package, sample, .. } = *subject;
        if !chosen.is_empty() && !chosen.iter().any(|chosen| *chosen == package) {
            continue;
        }
        let usual = ["--sharding=round-robin".to_owned(), format!("--shard=0/{sample}")];
        let is_usual = arguments.is_empty();
        let outcomes = mutate(subject, if is_usual { &usual } else { arguments })?;
        let tally = Tally::of(&outcomes);
        lines.push(format!("{package}: {}", tally.line()));
        if tally.score() < f64::from(SCORE_MIN) {
            problems.push(format!("{package}: {:.1} % are caught, {SCORE_MIN} % have to be", tally.score()));
        }
        problems.extend(compare(&outcomes, &list, is_usual && sample == 1));
    }
    println!("\n{}", lines.join("\n"));
    if problems.is_empty() {
        return Ok(());
    }
    bail!("mutants: {} wrong\n  {}", problems.len(), problems.join("\n  "));
}

fn is_installed() -> bool {
    let version = cargo(&["mutants", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Tries mutants of the code in a copy of the checkout.
fn mutate(subject: &Subject, arguments: &[String]) -> Result<Vec<Outcome>> {
    let Subject { package, files, .. } = subject;
    let folder = format!("target/mutants/{package}");
    fs::create_dir_all(workspace::root().join(&folder)).with_context(|| format!("make {folder}"))?;
    let mut command: Command = cargo(&["mutants", "--package", package, "--output", &folder]);
    command.args(["--all-features", "--test-workspace=false", "--cargo-test-arg=--tests", "--timeout=120"]);
    let glob = files.map(|files| format!("--file=**/src/{files}"));
    command.args(glob).arg("--no-shuffle").args(arguments).envs(ENVIRONMENT);
    let line = line(&command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("start `{line}`"))?;
    ensure!(status.code().is_some_and(|code| FINISHED.contains(&code)), "`{line}` failed: {status}");
    let report = format!("{folder}/mutants.out/outcomes.json");
    let text = fs::read_to_string(workspace::root().join(&report)).with_context(|| report.clone())?;
    read_outcomes(&serde_json::from_str(&text).with_context(|| report.clone())?).context(report)
}

/// A mutant and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    file: String,
    /// Line and column.
    position: String,
    /// What was changed in which function.
    change: String,
    verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Caught,
    Missed,
    /// A test never ended, which is as good as one that fails. On a busy computer it may only have been slow.
    TimedOut,
    /// It does not compile.
    Unviable,
}

fn read_outcomes(report: &Value) -> Option<Vec<Outcome>> {
    let outcomes = workspace::array(&report["outcomes"]).iter();
    let mutants = outcomes.filter(|outcome| outcome["scenario"]["Mutant"].is_object());
    mutants.map(read_outcome).collect()
}

fn read_outcome(outcome: &Value) -> Option<Outcome> {
    let mutant = &outcome["scenario"]["Mutant"];
    let file = mutant["file"].as_str()?;
    let (position, change) = mutant["name"].as_str()?.strip_prefix(file)?.split_once(": ")?;
    let verdict = match outcome["summary"].as_str()? {
        "CaughtMutant" => Verdict::Caught,
        "MissedMutant" => Verdict::Missed,
        "Timeout" => Verdict::TimedOut,
        "Unviable" => Verdict::Unviable,
        _ => return None,
    };
    let (file, position, change) = (file.to_owned(), position.to_owned(), change.to_owned());
    Some(Outcome { file, position, change, verdict })
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    caught: u32,
    missed: u32,
    timed_out: u32,
    unviable: u32,
}

impl Tally {
    fn of(outcomes: &[Outcome]) -> Self {
        let count = |verdict| {
            let count = outcomes.iter().filter(|outcome| outcome.verdict == verdict).count();
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        Self {
            caught: count(Verdict::Caught),
            missed: count(Verdict::Missed),
            timed_out: count(Verdict::TimedOut),
            unviable: count(Verdict::Unviable),
        }
    }

    /// The share of mutants, in per cent, that the tests noticed.
    fn score(&self) -> f64 {
        let noticed = f64::from(self.caught) + f64::from(self.timed_out);
        let all = noticed + f64::from(self.missed);
        if all > 0.0 { 100.0 * noticed / all } else { 100.0 }
    }

    fn line(&self) -> String {
        let Self { caught, missed, timed_out, unviable } = self;
        let all = caught + missed + timed_out + unviable;
        let score = self.score();
        format!(
            "{all} mutants: {caught} caught, {missed} missed, {timed_out} timed out, {unviable} unviable; \
             score {score:.1} %"
        )
    }
}

/// How often a change, by its file and its words, is on the list.
type List = BTreeMap<(String, String), usize>;

/// The list in Markdown: the file is a heading, the change a line of the form ``- `change`: why``.
fn parse_list(text: &str) -> List {
    let mut list = List::new();
    let mut file = "";
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## `").and_then(|rest| rest.strip_suffix('`')) {
            file = heading;
        } else if let Some((change, _)) = line.strip_prefix("- `").and_then(|rest| rest.split_once("`: ")) {
            *list.entry((file.to_owned(), change.to_owned())).or_default() += 1;
        }
    }
    list
}

/// Survivors that are not on the list and, if `all` mutants of the files were tried, what is on it and no survivor.
fn compare(outcomes: &[Outcome], list: &List, all: bool) -> Vec<String> {
    let mut left = list.clone();
    let mut problems = Vec::new();
    for Outcome { file, position, change, .. } in outcomes.iter().filter(|o| o.verdict == Verdict::Missed) {
        match left.get_mut(&(file.clone(), change.clone())) {
            Some(times) if *times > 0 => *times -= 1,
            _ => problems
                .push(format!("{file}{position}: no test notices `{change}`, and {LIST} does not say why")),
        }
    }
    if all {
        let is_ours = |file: &str| outcomes.iter().any(|outcome| outcome.file == file);
        let stale = left.iter().filter(|((file, _), times)| **times > 0 && is_ours(file));
        let stale = stale.map(|((file, change), _)| format!("{LIST}: `{change}` in {file} does not survive"));
        problems.extend(stale);
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"outcomes": [
        {"scenario": "Baseline", "summary": "Success"},
        {"scenario": {"Mutant": {"name": "a.rs:1:2: replace < with <= in f", "file": "a.rs"}}, "summary": "MissedMutant"},
        {"scenario": {"Mutant": {"name": "a.rs:3:4: replace < with <= in f", "file": "a.rs"}}, "summary": "MissedMutant"},
        {"scenario": {"Mutant": {"name": "a.rs:5:6: replace g -> u8 with 0", "file": "a.rs"}}, "summary": "CaughtMutant"},
        {"scenario": {"Mutant": {"name": "a.rs:5:6: replace g -> u8 with 1", "file": "a.rs"}}, "summary": "Timeout"},
        {"scenario": {"Mutant": {"name": "b.rs:7:8: replace h -> T with Default::default()", "file": "b.rs"}},
         "summary": "Unviable"}
    ]}"#;

    fn outcomes() -> Vec<Outcome> {
        read_outcomes(&serde_json::from_str(REPORT).unwrap()).unwrap()
    }

    #[test]
    fn the_score_counts_timeouts_as_caught_and_leaves_out_what_does_not_compile() {
        let tally = Tally::of(&outcomes());
        assert_eq!(tally, Tally { caught: 1, missed: 2, timed_out: 1, unviable: 1 });
        assert_eq!(tally.line(), "5 mutants: 1 caught, 2 missed, 1 timed out, 1 unviable; score 50.0 %");
    }

    #[test]
    fn each_survivor_needs_a_reason_of_its_own() {
        let once = "## `a.rs`\n\n- `replace < with <= in f`: equal is\n  the same.\n";
        assert_eq!(
            compare(&outcomes(), &parse_list(once), true),
            ["a.rs:3:4: no test notices `replace < with <= in f`, and docs/mutants.md does not say why"]
        );
        let twice = format!("{once}- `replace < with <= in f`: as above.\n");
        assert_eq!(compare(&outcomes(), &parse_list(&twice), true), [""; 0]);
    }

    #[test]
    fn a_reason_without_a_survivor_is_wrong_only_when_all_were_tried() {
        let text = "## `a.rs`\n- `replace < with <= in f`: why.\n- `replace < with <= in f`: why.\n\
                    - `replace g -> u8 with 0`: why.\n## `c.rs`\n- `replace i with ()`: another package.\n";
        let list = parse_list(text);
        assert_eq!(
            compare(&outcomes(), &list, true),
            ["docs/mutants.md: `replace g -> u8 with 0` in a.rs does not survive"]
        );
        assert_eq!(compare(&outcomes(), &list, false), [""; 0]);
    }
}
