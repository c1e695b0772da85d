//! How long certificates hold: a line in `status`, and what `doctor` finds.

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_clock::Clock;
use guestright_host::renewal::{SPARE, describe, is_later};
use guestright_identity::Certificate;
use guestright_roaming::renewal::Notice;
use guestright_setup::paths;
use serde_json::Value;
use std::path::PathBuf;

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

/// What is to be said of a certificate's file: whether it is in order, and a sentence.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) good: bool,
    pub(crate) says: String,
}

/// The certificates that lie where programs of ours look for them.
pub(crate) fn examine() -> Vec<Found> {
    let renewed = renewed();
    let mut found = Vec::new();
    for directory in DIRECTORIES {
        let Ok(entries) = std::fs::read_dir(directory) else { continue };
        let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "cert"));
        paths.sort();
        found.extend(paths.into_iter().map(|path| examine_file(path, &renewed)));
    }
    found
}

/// What programs have renewed, in their state directories.
fn renewed() -> Vec<Certificate> {
    let directories = STATES.iter().filter_map(|states| std::fs::read_dir(states).ok()).flatten();
    let below = directories.filter_map(|entry| Some(entry.ok()?.path()));
    let all = STATES.iter().map(PathBuf::from).chain(below);
    all.filter_map(|state| guestright_keys::read_certificate(&state.join(SPARE)).ok()).collect()
}

fn examine_file(path: PathBuf, renewed: &[Certificate]) -> Found {
    let now = Clock::start().now().unix_seconds();
    match guestright_keys::read_certificate(&path) {
        Ok(certificate) => {
            let later = renewed.iter().filter(|it| is_later(it, &certificate));
            let certificate = later.max_by_key(|it| it.not_after()).unwrap_or(&certificate);
            let status = describe(&Notice::of(certificate, now));
            let warning = status["warning"].as_str();
            let holds = format!("{} until {}", certificate.role(), certificate.not_after());
            Found { good: warning.is_none(), says: warning.map_or(holds, str::to_owned), path }
        }
        Err(error) => Found { good: false, says: error.to_string(), path },
    }
}
