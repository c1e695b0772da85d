//! `guestright-lab report`: figures and report again, from rows that are there.

use super::files::{self, Printing};
use super::plans;
use guestright_bench::{again, folder};
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_experiment::Plan;
use std::path::PathBuf;

/// Make the report of finished experiments again, without running them
///
/// It takes the plans as they were run, from run.json. With --with it takes those given instead, where they have the
/// same name: for another figure, table or claim over the same rows.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab report lab-results
  guestright-lab report results-of-paper-a results-of-paper-b --out both
  guestright-lab report lab-results --with my-plan.toml")]
pub(crate) struct Report {
    /// Folders that `guestright-lab run` wrote, or a plan's folder within one
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Where the report goes; into the first folder, if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Take these plans, by name, instead of those in the folders
    #[arg(long, value_name = "PLAN")]
    with: Vec<String>,
    #[command(flatten)]
    printing: Printing,
}

impl Report {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        let others = if self.with.is_empty() { vec![] } else { plans::find(&self.with)? };
        let others: Vec<Plan> = others.iter().map(plans::Source::parse).collect::<Result<_, _>>()?;
        let finished = again::judge(&self.folders, &others)?;
        let out_folder = self.out.as_ref().unwrap_or(&self.folders[0]);
        folder::write_report(out_folder, &finished)?;
        files::show(out_folder, &finished, self.printing, out)
    }
}
