//! `guestright-lab report`: figures and report again, from rows that are there.

use super::files::{self, Printing};
use super::plans;
use anyhow::{Context, anyhow};
use guestright_bench::folder::{self, Finished, plan_folders};
use guestright_bench::record::Record;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_experiment::{Plan, evaluate};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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
        let mut finished = Vec::new();
        for folder in &self.folders {
            for folder in plan_folders(folder)? {
                finished.push(again(&folder, &others)?);
            }
        }
        check_with(&others, &finished)?;
        let mut names = BTreeSet::new();
        if let Some(twice) = finished.iter().find(|one| !names.insert(folder::name_of(&one.evaluation))) {
            let error = anyhow!("the plan {} has results in two of the folders", twice.record.plan.name);
            return Err(Failure::user(error).hint("`guestright-lab compare` puts two results side by side"));
        }
        let out_folder = self.out.as_ref().unwrap_or(&self.folders[0]);
        folder::write_report(out_folder, &finished)?;
        files::show(out_folder, &finished, self.printing, out)
    }
}

/// Whoever names a plan means some of the rows.
fn check_with(others: &[Plan], finished: &[Finished]) -> Outcome {
    let names: BTreeSet<&str> = finished.iter().map(|one| one.record.plan.name.as_str()).collect();
    let Some(unused) = others.iter().find(|plan| !names.contains(plan.name())) else { return Ok(()) };
    let error = anyhow!("the folders have no results of the plan {}, which --with names", unused.name());
    let names: Vec<&str> = names.into_iter().collect();
    Err(Failure::user(error).hint(format!("they have results of {}", names.join(", "))))
}

fn again(folder: &Path, others: &[Plan]) -> Result<Finished, Failure> {
    let record = Record::read(folder)?;
    let plan = match others.iter().find(|plan| plan.name() == record.plan.name) {
        Some(plan) => plan.clone(),
        None => record.source(folder).parse()?,
    };
    let plan = if record.quick { plan.quick() } else { plan };
    let seeds = u32::try_from(record.seeds.len()).unwrap_or(u32::MAX);
    let plan = plan.with_seeds(seeds).with_context(|| format!("{} has too many seeds", folder.display()));
    let plan = plan.map_err(Failure::config)?;
    let results = folder::read_rows(folder, &plan, &record.digests)?;
    let evaluation = evaluate(&plan, &results, record.platform);
    let rows = results.csv(&plan);
    Ok(Finished { evaluation, record, folder: folder.to_owned(), rows })
}
