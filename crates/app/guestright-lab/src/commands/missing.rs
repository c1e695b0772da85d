//! `guestright-lab missing`: which shards are not made.

use super::plans;
use guestright_bench::shards;
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use std::path::PathBuf;

/// Print which shards have runs that are not made, as SLURM's --array takes them: 3,7-9
///
/// It prints nothing if all runs are there. Shards may be at work meanwhile.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab missing /shared/results
  sbatch --array=$(guestright-lab missing /shared/results) sweep.sh")]
pub(crate) struct Missing {
    /// Folders that `guestright-lab run --shard` wrote to
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
}

impl Missing {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        let missing = shards::missing(&self.folders, &plans::program()?.version)?;
        if missing.runs > 0 {
            writeln!(out, "{}", missing.array())?;
        }
        Ok(())
    }
}
