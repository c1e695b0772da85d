//! `guestright`: households share their Wi-Fi with passers-by and are guests on everybody else's in turn.
//!
//! One file per subcommand in `commands`; this file only parses, dispatches and reports failures.

mod commands;
mod loops;
mod qr;
mod settings;
mod study_program;

use clap::{CommandFactory, Parser};
use guestright_cli::failure::Failure;
use guestright_host::{control, gateway_files, ike_files};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Share your Wi-Fi with passers-by, and be a guest on everybody else's.
///
/// No company, no coin, no account: whoever is served signs receipts, and each access point decides from the receipts
/// that it knows whom to serve and how well.
#[derive(Debug, Parser)]
#[command(name = "guestright", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    /// How much to log on standard error: off, error, warn, info, debug, trace
    #[arg(long, global = true, default_value = "warn", value_name = "LEVEL")]
    log: LevelFilter,

    #[command(subcommand)]
    command: commands::Command,
}

const EXAMPLES: &str = "Examples:
  guestright demo                     the whole community on this computer
  guestright team init --dir family   make a team
  guestright doctor                   what this computer can do";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if study_program::is_profile_call(&arguments) {
        return report(&study_program::hand_over(&arguments));
    }
    let cli = Cli::parse();
    // The WireGuard library calls a member that has gone away an error; we say what matters ourselves.
    let all = cli.log == LevelFilter::TRACE;
    // The SIP library logs messages as they are, and keys are in some (RFC 4568): never.
    let ours = filter_fn(move |about| {
        let target = about.target();
        (all || !target.starts_with("boringtun")) && !target.starts_with("rsipstack")
    });
    tracing_subscriber::fmt()
        .with_max_level(cli.log)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .finish()
        .with(ours)
        .init();
    let mut out = std::io::stdout();
    match cli.command.run(&mut out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
}

fn report(failure: &Failure) -> ExitCode {
    // If standard error is gone there is nobody left to tell.
    let _ = write!(std::io::stderr(), "{failure}");
    failure.exit_code()
}

/// The command line as data, for completions and manual pages.
fn command_line() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        fn check(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            if !command.is_hide_set() && command.get_name() != "help" {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains("guestright "), "{path} has no example in its help");
            }
            command.get_subcommands().for_each(|sub| check(sub, &path));
        }
        check(&Cli::command(), "");
    }
}
