//! Runs what ns-2 ran, and says whether the two agree. `compare/run.sh` calls it.
//!
//! - `compare files FOLDER` writes what both are given into FOLDER, and prints a line `AGENT FOLDER/LOAD ROW` for each run.
//! - `compare pack NAME` makes of what `scripted.tcl` prints (on standard input) a line of `scripted.csv`.
//! - `compare judge ROWS SCRIPTED` reads ns-2's rows and lines from two files, and prints a table and a line for
//!   everything that must agree. Exit code 1 if something differs, 2 if it could not be compared.
//! - `compare rows` prints our rows; `compare trace SCRIPT AGENT` what our sender sends.

#![expect(clippy::print_stderr, reason = "what is wrong is its output too")]

#[path = "../compare/agents.rs"]
mod agents;
#[path = "../compare/chain.rs"]
mod chain;
#[path = "../compare/files.rs"]
mod files;
#[path = "../compare/ours.rs"]
mod ours;
#[path = "../compare/scenario.rs"]
mod scenario;
#[path = "../compare/script.rs"]
mod script;
#[path = "../compare/traces.rs"]
mod traces;
#[path = "../compare/verdict.rs"]
mod verdict;

use agents::Agent;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;
use verdict::{Finding, Tolerance};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result =
        match arguments[..] {
            ["files", folder] => write_files(Path::new(folder)).map(|()| true),
            ["pack", name] => pack(name).map(|()| true),
            ["judge", rows, scripted] => judge(rows, scripted),
            ["rows"] => rows().map(|()| true),
            ["trace", name, agent] => trace(name, agent).map(|()| true),
            _ => Err("arguments: files FOLDER, pack NAME, judge ROWS SCRIPTED, rows, or trace SCRIPT AGENT"
                .to_owned()),
        };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("compare: {problem}");
            ExitCode::from(2)
        }
    }
}

fn print(text: &str) -> Result<(), String> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(|error| format!("write: {error}"))
}

fn write_files(folder: &Path) -> Result<(), String> {
    let cases = scenario::cases();
    let loads: BTreeSet<_> = cases.iter().map(|case| case.load).collect();
    for load in loads {
        let folder = folder.join(files::folder(&load));
        let to_message = |error: std::io::Error| format!("write {}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(to_message)?;
        for (name, text) in files::files(&load)? {
            std::fs::write(folder.join(name), text).map_err(to_message)?;
        }
    }
    for case in cases {
        let scenario::Load { flows, bulk, per_million, seed } = case.load;
        let folder = folder.join(files::folder(&case.load));
        print(&format!(
            "{} {} {},{flows},{bulk},{per_million},{seed}",
            case.agent,
            folder.display(),
            case.agent
        ))?;
    }
    Ok(())
}

fn pack(name: &str) -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| format!("read standard input: {error}"))?;
    print(&format!("{name},{}", script::Trace::of_ns2(&text)?))
}

fn rows() -> Result<(), String> {
    for case in scenario::cases() {
        print(&verdict::emit(&case, &ours::run(&case)?))?;
    }
    Ok(())
}

fn trace(name: &str, agent: &str) -> Result<(), String> {
    let script = script::scripts()?.into_iter().find(|script| script.name == name);
    let script = script.ok_or_else(|| format!("no script {name:?} in scripted.txt"))?;
    let agent = Agent::named(agent).ok_or_else(|| format!("no agent {agent:?}"))?;
    for (at, packet) in chain::run(agent, &script)?.sends {
        print(&format!("{at},{packet}"))?;
    }
    Ok(())
}

fn judge(rows: &str, scripted: &str) -> Result<bool, String> {
    let read = |name: &str| std::fs::read_to_string(name).map_err(|error| format!("read {name}: {error}"));
    let theirs = verdict::parse(&read(rows)?)?;
    let traces = traces::parse(&read(scripted)?)?;
    if theirs.is_empty() || traces.is_empty() {
        return Err(format!("no rows in {rows} or {scripted}; give those of run.sh"));
    }
    let ours = ours::measure(theirs.keys().copied())?;
    print(&verdict::table(&theirs, &ours))?;
    let (mut findings, table) = traces::compare(&traces)?;
    print(&table)?;
    findings.extend(verdict::compare(&theirs, &ours, &Tolerance::DEMANDED));
    for finding in &findings {
        print(&finding.to_string())?;
    }
    let differs = findings.iter().filter(|finding| !finding.agrees()).count();
    print(&format!("{} of {} agree", findings.len() - differs, findings.len()))?;
    Ok(findings.iter().all(Finding::agrees))
}
