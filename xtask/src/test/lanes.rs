//! All test programs, in three lanes side by side: the system tests ([`system`]), others that wait for kernels and clocks,
//! and those that compute.
//!
//! `cargo test` runs one program after the other, and leaves the cores idle while a network's test waits for a timeout.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{SEED_VARIABLE, Tally, seed, system, threads, watch};
use crate::steps::{cargo, messages};
use crate::workspace;

/// Rooms whose tests use the kernel: networks, sockets, other programs. They wait more than they compute.
const WAITING: [&str; 3] = ["crates/io", "crates/run", "crates/app"];

/// Behind this many units of niceness the computing tests leave the processor to what measures time.
const NICENESS: &str = "10";

/// How many of the slowest programs are named at the end.
const SLOWEST: usize = 8;

const ALL: [&str; 3] = ["test", "--workspace", "--all-features"];

/// A program of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Package and target: `guestright-tunnel esp`.
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Where Cargo would run it.
    pub(super) folder: PathBuf,
}

/// What a program's tests spend their time with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Whole systems, which take longest.
    System,
    /// Other waiting for kernels and clocks.
    Waiting,
    Computing,
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) tally: Tally,
    pub(super) took: Vec<(Duration, String)>,
}

pub(super) fn run() -> Result<()> {
    let began = Instant::now();
    let (computing, waiting): (Vec<_>, Vec<_>) =
        build()?.into_iter().partition(|program| program.work() == Work::Computing);
    let (systems, waiting): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition(|program| program.work() == Work::System);
    let reports = std::thread::scope(|scope| {
        let system = scope.spawn(|| system::run(&systems));
        let waiting = scope.spawn(|| lane(waiting, false));
        let computing = lane(computing, true).and_then(with_documentation);
        [system.join(), waiting.join()]
            .map(|lane| lane.expect("a lane returns its errors"))
            .into_iter()
            .chain([computing])
            .collect::<Result<Vec<_>>>()
    })?;
    let mut report = Report::default();
    for lane in reports {
        report.tally.add(lane.tally);
        report.took.extend(lane.took);
    }
    report.took.sort_by(|left, right| right.cmp(left));
    println!();
    for (took, name) in report.took.iter().take(SLOWEST) {
        println!("{:>7.1} s  {name}", took.as_secs_f64());
    }
    report.tally.finish(began)
}

/// Builds all test programs.
fn build() -> Result<Vec<Program>> {
    let messages = messages(cargo(&ALL).arg("--no-run"))?;
    let programs: Vec<_> =
        messages.lines().filter_map(|message| program(message).transpose()).collect::<Result<_>>()?;
    ensure!(!programs.is_empty(), "Cargo built no tests");
    Ok(programs)
}

/// The test program that a message of Cargo's is about, if it is about one.
fn program(message: &str) -> Result<Option<Program>> {
    let message: Value = serde_json::from_str(message).context("read a message of Cargo's")?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return Ok(None);
    }
    let Some(path) = message["executable"].as_str() else { return Ok(None) };
    let manifest = Path::new(message["manifest_path"].as_str().context("an artifact has no manifest")?);
    let folder = manifest.parent().context("a manifest is in a folder")?;
    let package = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let target = message["target"]["name"].as_str().unwrap_or_default();
    Ok(Some(Program { name: format!("{package} {target}"), path: path.into(), folder: folder.to_owned() }))
}

impl Program {
    /// The program as Cargo would start it.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder).env(SEED_VARIABLE, seed());
        command
    }

    fn work(&self) -> Work {
        let folder = self.folder.strip_prefix(workspace::root()).unwrap_or(&self.folder);
        if !WAITING.iter().any(|room| folder.starts_with(room)) {
            Work::Computing
        } else if self.name.ends_with(" system") {
            Work::System
        } else {
            Work::Waiting
        }
    }
}

fn lane(programs: Vec<Program>, is_nice: bool) -> Result<Report> {
    let mut report = Report::default();
    for program in programs {
        let began = Instant::now();
        let mut command = if is_nice { nice(&program.command()) } else { program.command() };
        command.env("RUST_TEST_THREADS", threads());
        report.tally.add(watch(&mut command, &format!("{} | ", program.name))?);
        report.took.push((began.elapsed(), program.name));
    }
    Ok(report)
}

/// The same command, which gives way to others.
fn nice(command: &Command) -> Command {
    with_niceness(command, NICENESS)
}

/// The same command, behind so many units of niceness (nice(1)).
pub(super) fn with_niceness(command: &Command, niceness: &str) -> Command {
    let mut nice = Command::new("nice");
    nice.args(["-n", niceness]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        nice.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => nice.env(name, value),
            // What Cargo tells the program that it runs would tell the next one that everything has to be built again.
            None => nice.env_remove(name),
        };
    }
    nice
}

/// Adds the examples in the documentation, which only Cargo can run.
fn with_documentation(mut report: Report) -> Result<Report> {
    let began = Instant::now();
    let mut command = cargo(&ALL);
    command.args(["--doc", "--no-fail-fast"]).env(SEED_VARIABLE, seed());
    let mut command = nice(&command);
    report.tally.add(watch(&mut command, "documentation | ")?);
    report.took.push((began.elapsed(), "documentation".to_owned()));
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gives_way_keeps_what_was_set_and_what_was_taken_away() {
        let mut command = Command::new("cargo");
        command.arg("test").env("KEPT", "1").env_remove("TAKEN_AWAY");
        let nice = nice(&command);
        let environment: Vec<_> = nice.get_envs().collect();
        assert_eq!(environment, [("KEPT".as_ref(), Some("1".as_ref())), ("TAKEN_AWAY".as_ref(), None)]);
        assert!(nice.get_args().skip(2).eq(["cargo", "test"]));
    }

    fn artifact(test: bool, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/pure/tunnel/Cargo.toml",
            "target":{{"name":"esp"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
        )
    }

    #[test]
    fn finds_the_test_programs_among_the_messages() {
        let found = program(&artifact(true, r#""/w/target/debug/deps/esp-1""#)).unwrap();
        let want = Program {
            name: "tunnel esp".to_owned(),
            path: "/w/target/debug/deps/esp-1".into(),
            folder: "/w/crates/pure/tunnel".into(),
        };
        assert_eq!(found.as_ref(), Some(&want));
        // Whatever it draws, it draws again the next time.
        let command = want.command();
        let drawn_from = command.get_envs().find(|(name, _)| *name == "PROPTEST_RNG_SEED");
        assert_eq!(drawn_from.and_then(|(_, value)| value?.to_str()), Some(&*seed()));
        assert_eq!(program(&artifact(true, "null")).unwrap(), None);
        assert_eq!(program(&artifact(false, r#""/w/target/debug/guestright""#)).unwrap(), None);
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#).unwrap(), None);
        program("Compiling").unwrap_err();
    }

    #[test]
    fn what_uses_the_kernel_does_not_wait_for_what_computes() {
        let lane = |folder: &str, name: &str| {
            let folder = workspace::root().join(folder);
            Program { name: name.to_owned(), path: PathBuf::new(), folder }.work()
        };
        assert_eq!(lane("crates/app/guestright", "guestright system"), Work::System);
        assert_eq!(lane("crates/app/guestright", "guestright guestright"), Work::Waiting);
        assert_eq!(lane("crates/io/tun", "tun guestright_tun"), Work::Waiting);
        assert_eq!(lane("crates/pure/tunnel", "tunnel esp"), Work::Computing);
        assert_eq!(lane("xtask", "xtask xtask"), Work::Computing);
    }
}
