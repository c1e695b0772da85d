mod traffic;

use crate::failure::Outcome;
use std::io::Write;

/// Measure: the experiments of the papers, on real networks
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright lab traffic listen
  guestright lab traffic send 192.0.2.7 --calls 7")]
pub(crate) struct Lab {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LabCommand {
    Traffic(traffic::Traffic),
}

impl Lab {
    pub(crate) fn run(self, out: &mut impl Write) -> Outcome {
        match self.command {
            LabCommand::Traffic(command) => command.run(out),
        }
    }
}
