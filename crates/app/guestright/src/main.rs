//! `guestright`: households share their Wi-Fi with passers-by and are guests on everybody else's in turn.
//!
//! One file per subcommand in `commands`; this file only parses, dispatches and reports failures.

mod commands;
mod loops;
#[cfg(feature = "computer")]
mod qr;
mod reloaded;
mod settings;
#[cfg(feature = "computer")]
mod study_program;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use guestright_cli::output::Output;
use guestright_cli::program;
use guestright_host::{control, gateway_files};
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;

/// Share your Wi-Fi with passers-by, and be a guest on everybody else's.
///
/// No company, no coin, no account: whoever is served signs receipts, and each access point decides from the receipts
/// that it knows whom to serve and how well. Experiments and single ends of tunnels are in a second program,
/// guestright-lab, which `guestright lab` and `guestright tunnel` start.
#[derive(Debug, Parser)]
#[command(name = "guestright", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    /// How much to log on standard error, or in systemd's journal: off, error, warn, info, debug, trace [default: info for ap
    /// and home, warn for everything else]
    #[arg(long, global = true, value_name = "LEVEL")]
    log: Option<LevelFilter>,

    #[command(subcommand)]
    command: commands::Command,
}

const EXAMPLES: &str = "Examples:
  guestright demo                     the whole community on this computer
  guestright team init --dir family   make a team
  guestright doctor                   what this computer can do";

fn main() -> ExitCode {
    #[cfg(feature = "computer")]
    {
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
        if study_program::is_profile_call(&arguments) {
            return program::exit_code("guestright", Err(study_program::hand_over(arguments)));
        }
    }
    let command = program::with_negative_numbers(Cli::command());
    let cli = match command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return program::usage("guestright", &error),
    };
    let log = cli.log.unwrap_or_else(|| cli.command.usual_log());
    program::start_log(log);
    program::exit_code("guestright", cli.command.run(log, &mut Output::new(&mut std::io::stdout())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands below this one that ask or do something, by their names.
    fn leaves(command: &clap::Command, path: &str, found: &mut Vec<(String, bool)>) {
        let has_json = command.get_arguments().any(|argument| argument.get_id() == "json");
        let mut subcommands = command.get_subcommands().peekable();
        if subcommands.peek().is_none() {
            found.push((path.to_owned(), has_json));
        }
        subcommands.for_each(|below| leaves(below, format!("{path} {}", below.get_name()).trim(), found));
    }

    #[test]
    fn every_command_has_json() {
        let mut found = Vec::new();
        leaves(&Cli::command(), "", &mut found);
        let without: Vec<_> = found.iter().filter(|(_, has)| !has).map(|(path, _)| path.as_str()).collect();
        // Two make files of other kinds, and two are another program's.
        assert_eq!(without, ["tunnel", "lab", "completions", "manual"], "among {}", found.len());
    }

    #[test]
    fn the_command_line_is_consistent_and_shows_examples() {
        guestright_testbed::help::check(Cli::command(), "guestright ");
    }
}
