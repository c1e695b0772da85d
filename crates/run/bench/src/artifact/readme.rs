//! The README of an artifact: steps, times, and what a referee's check lists ask for.

use super::{Level, LevelMeasured, Wish, each, scripts};
use crate::record::Record;
use guestright_experiment::Judged;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Everything that stands there, section by section.
pub(super) fn text(levels: &[Level], measured: &[LevelMeasured], wish: &Wish) -> String {
    let sections = [
        head(levels),
        first_steps(measured),
        contents(wish),
        environment(levels, wish),
        experiments(levels, measured),
        figures(levels),
        claims(levels),
        VERIFICATION.to_owned(),
        BADGES.to_owned(),
        CHECK_LIST.to_owned(),
    ];
    sections.join("\n")
}

const VERIFICATION: &str = "\
## How results are compared

`./verify.py [quick|full] [DIR]` needs Python 3.8 and nothing besides; it does not use the program that made the results.

1. *Bytes.* The SHA-256 of `rows.parquet` and `rows.csv` are those of `expected/`. Runs are made in virtual time with the
   seeds of `seeds.csv`, so this is what is expected on every computer with the same version of the program.
2. *Tolerances*, where bytes differ. For each metric, the mean over the seeds of every point is compared with the expected
   one. `tolerances.csv` states for each metric and point how far it may be, in the metric's unit: what other seeds would do,
   at any point, in at most one of twenty comparisons if their numbers are normal, from the spread of the point's own seeds
   or that of all points, whichever is larger; and a share of the number for rounding, larger where one seed says nothing of
   the spread. A metric has to be measured in the same seeds.

| exit code | meaning |
| --- | --- |
| 0 | all bytes are the same |
| 3 | bytes differ, every number is within its tolerance |
| 1 | a number is beyond its tolerance; it is named |
| 2 | the results cannot be compared: they are missing, damaged, or of other points or seeds |
";

const BADGES: &str = "\
## ACM's badges

Artifact Review and Badging, version 1.1, <https://www.acm.org/publications/policies/artifact-review-and-badging-current>.

| badge | what it asks | where |
| --- | --- | --- |
| Artifacts Available | a public archive with a lasting identifier | to be done by the authors: this folder goes to such an archive as it is; `SHA256SUMS` names every byte, `CITATION.cff` and the licences are in it |
| Artifacts Evaluated: Functional | documented, consistent, complete, exercisable | this file; `plans/` and `run.sh`; `expected/`; the first steps above |
| Artifacts Evaluated: Reusable | well enough documented and structured for reuse | a plan is a text that states every setting; `guestright-lab list --testbeds` explains each, and another plan needs no code |
| Results Reproduced | others obtain the main results with the artifact | `run.sh full`, `verify.py full`; the section on claims has the verdicts |
";

const CHECK_LIST: &str = "\
## SOSP's check list

| point | where |
| --- | --- |
| archive with irrevocable versions, not GitHub | to be done by the authors, see above |
| a licence | `LICENSE-APACHE`, `LICENSE-MIT` |
| a README that names the paper | the head of this file, `CITATION.cff` |
| description of each component | the section on what is in here |
| exact environment | the section on the environment, `versions.json` |
| a minimal working example | the first steps |
| expected use of resources per experiment | the section on experiments, measured |
| precise dependencies | `Cargo.lock` of the commit; Python 3.8 for `verify.py` |
| example input for each kind of experiment | `plans/` |
| all code and data relevant to the paper, and only those | the plans that were named, and their results |
| a single script per experiment | `run.sh LEVEL PLAN`, and one for each figure in `figures/` |
| a script from results to what people read | `guestright-lab report results/LEVEL`; the scripts in `figures/` |
| scripts can be run twice | they go on where they were, or make the same again |
| active time of a few minutes | each step above is one line |
";

fn head(levels: &[Level]) -> String {
    let mut text = "# Artifact\n".to_owned();
    let mut seen = BTreeSet::new();
    for (_, one) in each(levels) {
        let evaluation = &one.evaluation;
        if !seen.insert(&evaluation.name) {
            continue;
        }
        let _ = write!(
            text,
            "\n**{}** (`{}`). {}\n",
            line(&evaluation.title),
            evaluation.name,
            line(&evaluation.question)
        );
        if let Some(paper) = &evaluation.paper {
            let parts = [&paper.name, &paper.title, &paper.authors, &paper.published];
            let parts: Vec<String> =
                parts.into_iter().filter(|part| !part.is_empty()).map(|part| line(part)).collect();
            let _ = writeln!(text, "The paper: {}.", parts.join(", "));
        }
        if !evaluation.source.is_empty() {
            let _ = writeln!(text, "Published figures are those of {}.", line(&evaluation.source));
        }
    }
    text
}

fn first_steps(measured: &[LevelMeasured]) -> String {
    let mut text =
        "## First steps\n\nIn the folder of this file:\n\n```sh\nsha256sum --check --quiet SHA256SUMS\n"
            .to_owned();
    for level in measured {
        let (name, minutes) = (level.level, minutes(level.minutes));
        let _ = writeln!(text, "./run.sh {name}       # {minutes}\n./verify.py {name}    # a moment");
    }
    text.push_str("```\n\nTimes were measured when the expected results were made, on the computer below.\n");
    text
}

fn minutes(minutes: f64) -> String {
    if minutes < 0.1 {
        format!("{:.0} seconds", (minutes * 60.0).ceil())
    } else {
        format!("{minutes:.1} minutes")
    }
}

fn contents(wish: &Wish) -> String {
    let program =
        if wish.with_program { "| `bin/guestright-lab` | the program that made the results |\n" } else { "" };
    format!(
        "## What is in here

| file | what it is |
| --- | --- |
| `plans/*.toml` | the experiments: every setting, sweep, figure and claim |
| `seeds.csv` | the seed of each replication, by which a run can be repeated alone |
| `expected/LEVEL/PLAN/rows.parquet`, `rows.csv` | results, a row for each run |
| `expected/LEVEL/PLAN/run.json` | how they came about: plan, program, computer, times, hashes |
| `expected/LEVEL/PLAN/figures/` | pictures; `expected/LEVEL/report.html` has all of them with tables and verdicts |
| `run.sh` | makes the runs, into `results/LEVEL` |
| `figures/PLAN--FIGURE.sh` | draws one figure, and compares its bytes |
| `verify.py`, `tolerances.csv` | compares results with the expected ones |
| `versions.json` | versions, commit, computer and times |
{program}| `SHA256SUMS` | the hash of every file |
| `CITATION.cff`, `LICENSE-*` | how to cite it, and what may be done with it |
"
    )
}

fn environment(levels: &[Level], wish: &Wish) -> String {
    let each_once = |what: fn(&Record) -> String| {
        let all: BTreeSet<String> = each(levels).map(|(_, one)| what(&one.record)).collect();
        all.into_iter().collect::<Vec<_>>().join("; ")
    };
    let program = each_once(|record| format!("guestright-lab {}", record.program.version));
    let commit = each_once(|record| record.program.commit.clone().unwrap_or_else(|| "not known".to_owned()));
    let sha256 = each_once(|record| record.program.sha256.clone());
    let computer = each_once(|record| {
        let processor = record.host.processor.as_deref().unwrap_or("a processor without a name");
        format!("{}, {processor}, {} cores", record.host.system, record.host.cores)
    });
    let own = if wish.with_program {
        "\nThe scripts take `bin/guestright-lab`, or the program that `GUESTRIGHT_LAB` names.\n"
    } else {
        "\nThe scripts take `guestright-lab` from `PATH`, or the program that `GUESTRIGHT_LAB` names.\n"
    };
    format!(
        "## Environment

| what | which |
| --- | --- |
| program | {program} |
| commit | {commit} |
| SHA-256 of its file | {sha256} |
| computer | {computer} |

To build it: check out the commit and run `cargo build --release --locked -p guestright-lab`, with the Rust that the
`rust-version` in `Cargo.toml` names or a later one. Everything that it needs is in `Cargo.lock`. Runs need no network and no
rights.
{own}"
    )
}

fn experiments(levels: &[Level], measured: &[LevelMeasured]) -> String {
    let mut text = "## Experiments, and what they take\n\n| level | plan | runs | seeds | minutes | threads |\n| --- | --- | --- | --- | --- | --- |\n".to_owned();
    for (level, one) in each(levels) {
        let record = &one.record;
        let (seeds, minutes) = (record.seeds.len(), record.seconds / 60.0);
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {seeds} | {minutes:.2} | {} |",
            level.name(),
            record.plan.name,
            record.runs,
            record.threads
        );
        if record.runs_kept > 0 {
            let _ = writeln!(
                text,
                "| | | {} of them made before an interruption, not in the time | | | |",
                record.runs_kept
            );
        }
    }
    text.push('\n');
    for level in measured {
        let memory = level
            .memory_gigabytes
            .map_or_else(|| "not known".to_owned(), |memory| format!("at most {memory:.2} GB"));
        let _ = writeln!(
            text,
            "- {}: {memory} of memory, {:.4} GB on the disk.",
            level.level, level.disk_gigabytes
        );
    }
    text
}

fn figures(levels: &[Level]) -> String {
    let mut rows = BTreeSet::new();
    for (_, one) in each(levels) {
        for (id, title) in scripts::figures(&one.evaluation) {
            rows.insert(format!("| {} | `{}` |", line(title), scripts::script(&one.evaluation.name, id)));
        }
        for table in &one.evaluation.tables {
            rows.insert(format!(
                "| {} (table) | `run.sh LEVEL {}`, in `report.html` |",
                line(&table.title),
                one.evaluation.name
            ));
        }
    }
    let rows: Vec<String> = rows.into_iter().collect();
    format!("## Figures and tables\n\n| what | script |\n| --- | --- |\n{}\n", rows.join("\n"))
}

fn claims(levels: &[Level]) -> String {
    let mut text =
        "## Claims\n\n| level | plan | claim | published in | ours |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for (level, one) in each(levels) {
        for claim in &one.evaluation.claims {
            let fitted = if claim.fitted && claim.judged != Judged::Prediction { ", fitted" } else { "" };
            let _ = writeln!(
                text,
                "| {} | `{}` | {} | {} | {}{fitted} |",
                level.name(),
                one.evaluation.name,
                line(&claim.text),
                line(&claim.source),
                claim.judged.words()
            );
        }
    }
    text
}

/// A plan's words as part of a line of Markdown.
fn line(text: &str) -> String {
    let escaped: String = text.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
    let words: Vec<&str> = escaped.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}
