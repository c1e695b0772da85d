//! `guestright-lab`: experiments, tunnels measured, and the telephone tools of paper D.

mod commands;

use clap::Parser;
use guestright_cli::failure::Outcome;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;

/// Measure, and study the telephone tools of paper D.
#[derive(Debug, Parser)]
#[command(name = "guestright-lab", version, arg_required_else_help = true)]
struct Cli {
    /// How much to log on standard error: off, error, warn, info, debug, trace
    #[arg(long, global = true, default_value = "warn", value_name = "LEVEL")]
    log: LevelFilter,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Call(Box<commands::call::Call>),
}

impl Command {
    fn run(self, out: &mut impl Write) -> Outcome {
        match self {
            Self::Call(command) => command.run(out),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    tracing_subscriber::fmt()
        .with_max_level(cli.log)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    match cli.command.run(&mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is gone there is nobody left to tell.
            let _ = write!(std::io::stderr(), "{failure}");
            failure.exit_code()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
