//! Steps: run one after the other with a heading and a duration each; a failure does not stop the ones after it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::workspace;

/// How a step ended that did not fail.
pub(crate) enum Done {
    Passed,
    /// Not run, and why.
    Skipped(String),
}

/// What ran so far.
#[derive(Default)]
pub(crate) struct Steps {
    finished: Vec<Finished>,
}

struct Finished {
    name: String,
    verdict: String,
    took: Duration,
    failed: bool,
}

impl Steps {
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<Done>) {
        println!("\n--- {name}");
        let began = Instant::now();
        let result = step();
        let took = began.elapsed();
        let (verdict, failed) = match result {
            Ok(Done::Passed) => ("passed".to_owned(), false),
            Ok(Done::Skipped(why)) => (format!("skipped: {why}"), false),
            Err(error) => {
                eprintln!("{error:#}");
                ("FAILED".to_owned(), true)
            }
        };
        println!("--- {name}: {verdict}, {:.1} s", took.as_secs_f64());
        self.finished.push(Finished { name: name.to_owned(), verdict, took, failed });
    }

    /// Prints one line per step and fails with the names of those that failed.
    pub(crate) fn finish(self) -> Result<()> {
        if self.finished.is_empty() {
            return Ok(());
        }
        println!();
        for Finished { name, verdict, took, .. } in &self.finished {
            println!("{:>7.1} s  {name}: {verdict}", took.as_secs_f64());
        }
        let failed: Vec<_> =
            self.finished.iter().filter(|step| step.failed).map(|step| &*step.name).collect();
        if failed.is_empty() {
            return Ok(());
        }
        bail!("{} of {} steps failed: {}", failed.len(), self.finished.len(), failed.join(", "));
    }
}

/// The Cargo that runs us, in the root of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(workspace::root());
    // What `cargo run` says about this program: build scripts that look at it would run again each time (ring's does,
    // and with it a quarter of the workspace is built anew).
    let about_us = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| about_us(name)) {
        command.env_remove(name);
    }
    command
}

/// What Cargo says of what it builds by this command, a JSON text per line.
pub(crate) fn messages(command: &mut Command) -> Result<String> {
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let line = line(command);
    println!("$ {line}");
    let output = command.output().with_context(|| format!("start `{line}`"))?;
    ensure!(output.status.success(), "`{line}` failed: {}", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("output of `{line}`"))
}

/// Whether there is such a program, which says its version.
pub(crate) fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Prints the command so that it can be repeated, and runs it.
pub(crate) fn execute(command: &mut Command) -> Result<Done> {
    let line = line(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("start `{line}`"))?;
    ensure!(status.success(), "`{line}` failed: {status}");
    Ok(Done::Passed)
}

/// What a command prints on its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = line(command);
    let output = command.output().with_context(|| format!("start `{line}`"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{line}` failed: {}\n{}", output.status, errors.trim_end());
    String::from_utf8(output.stdout).with_context(|| format!("output of `{line}`"))
}

/// Fails if a subcommand of Cargo's is not here in the version that our calls are written for; `scripts/setup.sh` installs the
/// same, in the group that is named.
pub(crate) fn check_cargo_tool(tool: &str, version: &str, group: &str) -> Result<()> {
    let word = tool.trim_start_matches("cargo-");
    let output = cargo(&[word, "--version"]).output().context("start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || text.split_whitespace().last() != Some(version) {
        bail!("{tool} {version} is needed (there is `{}`): sh scripts/setup.sh {group}", text.trim());
    }
    Ok(())
}

/// Fails with everything that is wrong, if anything is; says how much was looked at otherwise.
pub(crate) fn report(check: &str, looked_at: &str, problems: &[String]) -> Result<()> {
    if problems.is_empty() {
        println!("{check}: {looked_at}, nothing wrong");
        return Ok(());
    }
    bail!("{check}: {} wrong\n  {}", problems.len(), problems.join("\n  "));
}

/// Whether nobody watches and everything has to be checked.
pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

/// The command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let variables = command
        .get_envs()
        .filter_map(|(key, value)| Some(format!("{}={:?}", key.to_string_lossy(), value?.to_string_lossy())));
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    variables.chain([name]).chain(arguments).collect::<Vec<_>>().join(" ")
}
