#[cfg(feature = "lab")]
mod advise;
#[cfg(feature = "lab")]
mod check;
#[cfg(feature = "lab")]
mod compare;
#[cfg(feature = "lab")]
mod cost;
#[cfg(all(test, feature = "lab"))]
mod fake;
#[cfg(feature = "lab")]
mod files;
#[cfg(feature = "lab")]
mod list;
#[cfg(feature = "lab")]
mod netns;
mod out;
mod overhead;
#[cfg(feature = "lab")]
mod plans;
#[cfg(feature = "lab")]
mod record;
#[cfg(feature = "lab")]
mod report;
#[cfg(feature = "lab")]
mod run;
#[cfg(feature = "lab")]
mod table;
mod traffic;

use guestright_cli::failure::Outcome;
use std::io::Write;

/// Measure: the experiments of the papers, in virtual time and on real networks
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright lab list
  guestright lab run paper-a paper-b --quick
  guestright lab advise 192.0.2.7
  guestright lab overhead
  guestright lab traffic send 192.0.2.7 --calls 7")]
pub(crate) struct Lab {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LabCommand {
    #[cfg(feature = "lab")]
    List(list::List),
    #[cfg(feature = "lab")]
    Check(check::Check),
    #[cfg(feature = "lab")]
    Run(run::Run),
    #[cfg(feature = "lab")]
    Report(report::Report),
    #[cfg(feature = "lab")]
    Compare(compare::Compare),
    #[cfg(feature = "lab")]
    Advise(advise::Advise),
    /// Hidden: see [`netns::Worker`].
    #[cfg(feature = "lab")]
    #[command(hide = true, name = "netns-worker")]
    NetnsWorker(netns::Worker),
    Overhead(overhead::Overhead),
    Traffic(traffic::Traffic),
}

impl Lab {
    pub(crate) fn run(self, out: &mut impl Write) -> Outcome {
        let out = &mut out::StandardOutput(out);
        match self.command {
            #[cfg(feature = "lab")]
            LabCommand::List(command) => command.run(out),
            #[cfg(feature = "lab")]
            LabCommand::Check(command) => command.run(out),
            #[cfg(feature = "lab")]
            LabCommand::Run(command) => command.run(out),
            #[cfg(feature = "lab")]
            LabCommand::Report(command) => command.run(out),
            #[cfg(feature = "lab")]
            LabCommand::Compare(command) => command.run(out),
            #[cfg(feature = "lab")]
            LabCommand::Advise(command) => command.run(out),
            #[cfg(feature = "lab")]
            LabCommand::NetnsWorker(command) => command.run(out),
            LabCommand::Overhead(command) => command.run(out),
            LabCommand::Traffic(command) => command.run(out),
        }
    }
}

/// "1 run", "2 runs".
#[cfg(feature = "lab")]
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
