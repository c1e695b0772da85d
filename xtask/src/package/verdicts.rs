//! Scripts that run steps and report each (`scripts/package/steps.sh`), counted.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::acceptance::verdicts::{Report, Verdicts};
use crate::steps;

/// What passed so far, and a sentence for each thing that did not.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failures: Vec<String>,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
    }

    /// Counts one check.
    pub(super) fn count(&mut self, name: &str, result: Result<()>) {
        match result {
            Ok(()) => {
                println!("{name}: passed");
                self.passed += 1;
            }
            Err(error) => {
                println!("{name}: FAILED\n{error:#}");
                self.failures.push(format!("{name}: {error:#}"));
            }
        }
    }

    /// Runs a script, shows what it says, and counts its steps. `name` goes before each line.
    pub(super) fn run(&mut self, name: &str, command: &mut Command) {
        let mut verdicts = Verdicts::default();
        if let Err(error) = follow(name, command, &mut verdicts) {
            self.failures.push(format!("{name}: {error:#}"));
        }
        self.passed += verdicts.passed();
        self.failures.extend(verdicts.failures().into_iter().map(|failure| format!("{name}: {failure}")));
    }
}

fn follow(name: &str, command: &mut Command, verdicts: &mut Verdicts) -> Result<()> {
    let line = steps::line(command);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("start `{line}`"))?;
    let output = child.stdout.take().context("its output is ours")?;
    for text in BufReader::new(output).split(b'\n') {
        let text = text.context("read what it says")?;
        let text = String::from_utf8_lossy(&text);
        if let Some(report) = Report::read(&text) {
            verdicts.record(&report);
        }
        println!("{name}  {}", text.trim_end());
    }
    child.wait().context("wait for it").map(drop)
}
