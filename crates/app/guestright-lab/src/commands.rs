//! The subcommands.

mod advise;
mod artifact;
mod call;
mod check;
mod compare;
mod files;
mod list;
mod merge;
mod missing;
mod netns_worker;
mod overhead;
mod plans;
mod receipts;
mod report;
mod run;
mod traffic;
mod tunnel;

use clap::CommandFactory as _;
use guestright_cli::completions::{Completions, Manual};
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::List),
    Check(check::Check),
    Run(run::Run),
    Missing(missing::Missing),
    Merge(merge::Merge),
    Report(report::Report),
    Compare(compare::Compare),
    Artifact(artifact::Artifact),
    Advise(advise::Advise),
    /// Hidden: see [`netns_worker::Worker`].
    #[command(hide = true, name = "netns-worker")]
    NetnsWorker(netns_worker::Worker),
    Overhead(overhead::Overhead),
    Receipts(receipts::Receipts),
    Traffic(traffic::Traffic),
    Tunnel(tunnel::Tunnel),
    Call(Box<call::Call>),
    Completions(Completions),
    Manual(Manual),
}

impl Command {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        match self {
            Self::List(command) => command.run(out),
            Self::Check(command) => command.run(out),
            Self::Run(command) => command.run(out),
            Self::Missing(command) => command.run(out),
            Self::Merge(command) => command.run(out),
            Self::Report(command) => command.run(out),
            Self::Compare(command) => command.run(out),
            Self::Artifact(command) => command.run(out),
            Self::Advise(command) => command.run(out),
            Self::NetnsWorker(command) => command.run(out),
            Self::Overhead(command) => command.run(out),
            Self::Receipts(command) => command.run(out),
            Self::Traffic(command) => command.run(out),
            Self::Tunnel(command) => command.run(out),
            Self::Call(command) => command.run(out),
            Self::Completions(command) => command.run(crate::Cli::command(), out),
            Self::Manual(command) => command.run(crate::Cli::command(), out),
        }
    }
}
