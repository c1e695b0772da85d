//! `guestright`: households share their Wi-Fi with passers-by and are guests on everybody else's in turn.
//!
//! One file per subcommand in `commands`; this file only parses, dispatches and reports failures.

mod commands;
mod loops;
mod qr;
mod settings;
mod study_program;

use clap::Parser;
use guestright_cli::output::Output;
use guestright_cli::program;
use guestright_host::{control, gateway_files, ike_files};
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
        return program::exit_code("guestright", Err(study_program::hand_over(arguments)));
    }
    let cli = Cli::parse();
    program::start_log(cli.log);
    program::exit_code("guestright", cli.command.run(cli.log, &mut Output::new(&mut std::io::stdout())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent_and_shows_examples() {
        guestright_testbed::help::check(Cli::command(), "guestright ");
    }
}
