//! What the doctor has found, answer as it is found, and the verdict below it.

use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};

/// One thing that was looked at.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) what: &'static str,
    pub(super) good: bool,
    /// Whether its lack counts.
    pub(super) needed: bool,
    pub(super) says: String,
    /// What to do where it is not good.
    pub(super) to_do: Cow<'static, str>,
}

impl Finding {
    /// What a look has come to: what is there, or what is wrong and what to do about it.
    pub(super) fn of(what: &'static str, needed: bool, look: Result<String, (String, String)>) -> Self {
        let good = look.is_ok();
        let (says, to_do) = look.map_or_else(|wrong| wrong, |says| (says, String::new()));
        Self { what, good, needed, says, to_do: to_do.into() }
    }
}

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
            writeln!(out, "{}", Value::Array(findings.iter().map(in_json).collect()))?;
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

fn in_json(finding: &Finding) -> Value {
    json!({ "what": finding.what, "good": finding.good, "needed": finding.needed, "says": finding.says,
        "to_do": if finding.good { None } else { Some(&finding.to_do) } })
}

/// Never "everything" beside a "no".
fn verdict(role: Option<&str>, missing: usize, lacking: usize) -> String {
    let can = role.map_or_else(|| "do".to_owned(), |role| format!("be {role}"));
    match (role, missing, lacking) {
        (Some(_), 0, 0) => format!("this computer can {can}"),
        (None, 0, 0) => "this computer can do everything".to_owned(),
        (Some(_), 0, _) => format!("this computer can {can}, without what is marked \"no\""),
        (None, 0, _) => "this computer can do what is needed, without what is marked \"no\"".to_owned(),
        (Some(_), ..) => format!("this computer cannot {can} yet: what is marked \"NO\" is missing"),
        (None, ..) => "something is missing: what is marked \"NO\"".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_never_said_beside_a_no() {
        for role in [None, Some("an access point")] {
            for (missing, lacking) in [(0, 0), (0, 1), (1, 0), (2, 3)] {
                let answer = verdict(role, missing, lacking);
                assert_eq!(
                    answer.contains("everything"),
                    role.is_none() && missing + lacking == 0,
                    "{answer}"
                );
                assert_eq!(answer.contains("\"no\""), missing == 0 && lacking > 0, "{answer}");
                assert_eq!(answer.contains("NO"), missing > 0, "{answer}");
            }
        }
    }
}
