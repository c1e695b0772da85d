//! Runs what another simulator ran, and says whether the two agree.
//!
//! In: rows of `compare/scenario.cc` on standard input. Out: a table, and a line for everything that must agree; with
//! `--rows`, our rows instead. Exit code 1 if something differs, 2 if it could not be compared. `compare/run.sh` runs
//! both.

#![expect(clippy::print_stderr, reason = "what is wrong is its output too")]

#[path = "../compare/ours.rs"]
mod ours;
#[path = "../compare/scenario.rs"]
mod scenario;
#[path = "../compare/verdict.rs"]
mod verdict;

use std::io::{Read, Write};
use std::process::ExitCode;
use verdict::{Measured, Tolerance};

/// What the rows were measured with: `compare/run.sh`.
const SECONDS: f64 = 60.0;

fn main() -> ExitCode {
    match compare() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("compare: {problem}");
            ExitCode::from(2)
        }
    }
}

fn compare() -> Result<bool, String> {
    let rows_only = std::env::args().skip(1).any(|argument| argument == "--rows");
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| format!("read standard input: {error}"))?;
    let theirs = verdict::parse(&text)?;
    if theirs.is_empty() {
        return Err("standard input has no rows; give those of compare/scenario.cc".to_owned());
    }
    let ours = ours::measure(&theirs)?;
    let mut out = std::io::stdout().lock();
    let mut write = |text: &str| writeln!(out, "{text}").map_err(|error| format!("write: {error}"));
    if rows_only {
        write(rows(&ours).trim_end())?;
        return Ok(true);
    }
    write(&verdict::table(&theirs, &ours, SECONDS))?;
    let findings = theirs.iter().flat_map(|(case, theirs)| {
        verdict::compare(case, theirs, &ours[case], SECONDS, &Tolerance::DEMANDED)
    });
    let findings: Vec<_> = findings.collect();
    for finding in &findings {
        write(&finding.to_string())?;
    }
    Ok(findings.iter().all(verdict::Finding::agrees))
}

fn rows(measured: &Measured) -> String {
    let mut text = String::new();
    for ((scenario, channels, bytes), samples) in measured {
        for (calls, sample) in samples {
            for (run, counts) in &sample.runs {
                let verdict::Counts { offered, delivered, arrived, delay_ns, variation_ns } = counts;
                text += &format!(
                    "{scenario},{channels},{bytes},{calls},{run},{offered},{delivered},{arrived},{delay_ns},{variation_ns}\n"
                );
            }
        }
    }
    text
}
