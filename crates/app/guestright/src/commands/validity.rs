//! How long certificates hold: a line in `status`, and what `doctor` finds.

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_host::examine::{CertificateFile, certificate_files};
use guestright_setup::paths;
use serde_json::Value;

/// The settings files and member's files that `doctor` looks for, below the current directory and in their usual directory.
const DIRECTORIES: [&str; 2] = [".", paths::SETTINGS];

/// Below these lie what programs have renewed and could not put in the place of the old one.
const STATES: [&str; 2] = [paths::STATE, "."];

/// A line of `status`: until when, and what a person has to do; `width` is that of the first column.
pub(crate) fn print(status: &Value, name: &str, width: usize, out: &mut Output) -> Outcome {
    let Some(until) = status["not_after"].as_str() else { return Ok(()) };
    match status["warning"].as_str() {
        Some(warning) => writeln!(out, "{name:<width$}WARNING: {warning}")?,
        None => writeln!(out, "{name:<width$}holds until {until}")?,
    }
    Ok(())
}

/// The certificates that lie where programs of ours look for them.
pub(crate) fn examine() -> Vec<CertificateFile> {
    certificate_files(&DIRECTORIES, &STATES)
}
