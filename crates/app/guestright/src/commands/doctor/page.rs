//! What the doctor has found, answer as it is found, and the verdict below it.

use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::examine::{Finding, verdict};
use serde_json::Value;
use std::io::{IsTerminal as _, Write as _};

/// The findings, one below the other, or as one JSON document at the end.
pub(super) struct Page<'a, 'b> {
    json: bool,
    out: &'a mut Output<'b>,
    findings: Vec<Finding>,
}

impl<'a, 'b> Page<'a, 'b> {
    pub(super) fn new(json: bool, out: &'a mut Output<'b>) -> Self {
        Self { json, out, findings: Vec::new() }
    }

    pub(super) fn add(&mut self, finding: Finding) -> Result<(), Failure> {
        if !self.json {
            let mark = match (finding.good, finding.needed) {
                (true, _) => "yes",
                (false, true) => "NO ",
                (false, false) => "no ",
            };
            writeln!(self.out, "{mark}  {:<28} {}", finding.what, finding.says)?;
            if !finding.good {
                writeln!(self.out, "     {:<28} {}", "", finding.to_do)?;
            }
            self.out.flush()?;
        }
        self.findings.push(finding);
        Ok(())
    }

    /// Says what is waited for, to whoever sits before a terminal. It is no finding, so it does not go among them.
    pub(super) fn trying(&mut self, what: &str) -> Result<(), Failure> {
        if !self.json && std::io::stderr().is_terminal() {
            // If nobody reads it, nothing is lost.
            let _ = writeln!(std::io::stderr(), "...  trying {what}");
        }
        Ok(())
    }

    /// The verdict; `role` says what this computer is to be.
    ///
    /// # Errors
    /// Something that is needed is missing.
    pub(super) fn end(self, role: Option<&str>) -> Outcome {
        let Self { json, out, findings } = self;
        let count =
            |needed| findings.iter().filter(|finding| !finding.good && finding.needed == needed).count();
        let (missing, lacking) = (count(true), count(false));
        if json {
            writeln!(out, "{}", Value::Array(findings.iter().map(Finding::in_json).collect()))?;
        } else {
            writeln!(out, "\n{}", verdict(role, missing, lacking))?;
        }
        if missing == 0 {
            return Ok(());
        }
        let are = if missing == 1 { "one thing that is needed is" } else { "things that are needed are" };
        let count = if missing == 1 { String::new() } else { format!("{missing} ") };
        Err(Failure::user(anyhow!("{count}{are} missing")).hint("see to what is marked NO"))
    }
}
