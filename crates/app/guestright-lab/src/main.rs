//! `guestright-lab`: experiments, single ends of tunnels, and the telephone tools of paper D.
//!
//! One file per subcommand in `commands`; this file only parses, dispatches and reports failures. `guestright lab …` and
//! `guestright tunnel …` start this program.

mod commands;

use clap::{CommandFactory, Parser};
use guestright_cli::program;
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;

/// Measure: the experiments of the papers, in virtual time and on real networks
///
/// What `guestright lab`, `guestright tunnel` and `guestright call --profile` start. Experiments become rows, figures and a report with a verdict for each
/// claim; transports and tunnels are measured on live paths.
#[derive(Debug, Parser)]
#[command(name = NAME, version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    /// How much to log on standard error: off, error, warn, info, debug, trace
    #[arg(long, global = true, default_value = "warn", value_name = "LEVEL")]
    log: LevelFilter,

    #[command(subcommand)]
    command: commands::Command,
}

const NAME: &str = "guestright-lab";

const EXAMPLES: &str = "Examples:
  guestright-lab list
  guestright-lab run paper-a paper-b --quick
  guestright-lab advise 192.0.2.7
  guestright-lab overhead
  guestright-lab traffic send 192.0.2.7 --calls 7
  guestright-lab tunnel wireguard --config home.conf --interface wg0
  guestright-lab call 192.0.2.7 --profile pgpfone --insecure-for-study";

fn main() -> ExitCode {
    let cli = Cli::parse();
    program::start_log(cli.log);
    program::exit_code(NAME, cli.command.run(&mut std::io::stdout()))
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
                assert!(help.contains("guestright-lab "), "{path} has no example in its help");
            }
            command.get_subcommands().for_each(|sub| check(sub, &path));
        }
        check(&Cli::command(), "");
    }
}
