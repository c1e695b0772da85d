//! What stands around the commands of a program: the log before them, and the exit code after them.

use crate::failure::Outcome;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Logs to standard error from now on.
pub fn start_log(level: LevelFilter) {
    // The WireGuard library calls a member that has gone away an error; we say what matters ourselves.
    let all = level == LevelFilter::TRACE;
    // The SIP library logs messages as they are, and keys are in some (RFC 4568): never.
    let ours = filter_fn(move |about| {
        let target = about.target();
        (all || !target.starts_with("boringtun")) && !target.starts_with("rsipstack")
    });
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .finish()
        .with(ours)
        .init();
}

/// Says on standard error what went wrong, if anything did, and with which code the program of this name ends.
#[must_use]
pub fn exit_code(program: &str, outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is gone there is nobody left to tell.
            let _ = write!(std::io::stderr(), "{}", failure.message(program));
            failure.exit_code()
        }
    }
}
