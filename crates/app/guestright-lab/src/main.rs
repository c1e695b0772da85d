//! `guestright-lab`: experiments, single ends of tunnels, and the telephone tools of paper D.
//!
//! One file per subcommand in `commands`; this file only parses, dispatches and reports failures. `guestright lab …` and
//! `guestright tunnel …` start this program.

mod commands;

use clap::Parser;
use guestright_cli::output::Output;
use guestright_cli::{arguments, program};
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
  guestright-lab receipts
  guestright-lab traffic send 192.0.2.7 --calls 7
  guestright-lab tunnel wireguard --config home.conf --interface wg0
  guestright-lab call 192.0.2.7 --profile pgpfone --insecure-for-study";

fn main() -> ExitCode {
    let cli: Cli = arguments::parse();
    program::start_log(cli.log);
    program::exit_code(NAME, cli.command.run(&mut Output::new(&mut std::io::stdout())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent_and_shows_examples() {
        guestright_testbed::help::check(Cli::command(), "guestright-lab ");
    }
}
