//! The process that makes runs on real sockets, in a sandbox.

use guestright_bench::netns;
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;

/// How [`Run`](super::run::Run) starts it.
pub(super) const WORDS: [&str; 1] = ["netns-worker"];

/// Makes runs on real sockets (`guestright-lab run --on netns` calls this itself)
#[derive(Debug, clap::Args)]
pub(crate) struct Worker {}

impl Worker {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        Ok(netns::serve(std::io::stdin().lock(), out)?)
    }
}
