//! The process that makes runs on real sockets, in a sandbox.

use super::failure::failure;
use guestright_bench::netns;
use guestright_cli::failure::Outcome;
use std::io::Write;

/// How [`Run`](super::run::Run) starts it.
pub(super) const WORDS: [&str; 1] = ["netns-worker"];

/// Makes runs on real sockets (`guestright-lab run --on netns` calls this itself)
#[derive(Debug, clap::Args)]
pub(crate) struct Worker {}

impl Worker {
    pub(super) fn run(&self, out: &mut impl Write) -> Outcome {
        netns::serve(std::io::stdin().lock(), out).map_err(failure)
    }
}
