//! `guestright-lab merge`: shards become results.

use super::files::{self, Printing};
use super::plans;
use guestright_bench::{record, shards};
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use std::path::PathBuf;

/// Make results of shards: the same rows, figures and verdicts as one computer would have made
///
/// Shards of another version are refused. Those of another build of this version are not, and it says so.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab merge /shared/results --out lab-results
  guestright-lab merge from-one-computer from-another --out lab-results")]
pub(crate) struct Merge {
    /// Folders that `guestright-lab run --shard` wrote to
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Where results go
    #[arg(long, value_name = "DIR", default_value = "lab-results")]
    out: PathBuf,
    #[command(flatten)]
    printing: Printing,
}

impl Merge {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        let command = record::command_line(crate::NAME, std::env::args_os().skip(1));
        let merged = shards::merge(&self.folders, &self.out, &command, &plans::program()?)?;
        if let Some(builds) = &merged.builds {
            tracing::warn!(%builds, "shards are not all of one build; rows may differ from those of one");
        }
        files::show(&self.out, &merged.finished, self.printing, out)
    }
}
