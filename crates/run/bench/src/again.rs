//! Finished results that are judged again, without running anything.

use crate::folder::{self, Finished, plan_folders};
use crate::record::Record;
use guestright_error::RunError;
use guestright_experiment::{Plan, evaluate};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The results in these folders, each by the plan of its name among `others`, or else by the plan as it was run.
///
/// # Errors
/// They cannot be read or are of another plan, one of `others` has no results, or a plan has results in two folders.
pub fn judge(folders: &[PathBuf], others: &[Plan]) -> Result<Vec<Finished>, RunError> {
    let mut finished = Vec::new();
    for folder in folders {
        for folder in plan_folders(folder)? {
            finished.push(judge_one(&folder, others)?);
        }
    }
    check_used(others, &finished)?;
    let mut names = BTreeSet::new();
    if let Some(twice) = finished.iter().find(|one| !names.insert(folder::name_of(&one.evaluation))) {
        let error = format!("the plan {} has results in two of the folders", twice.record.plan.name);
        return Err(RunError::user(error).with_hint("`guestright-lab compare` puts two results side by side"));
    }
    Ok(finished)
}

/// Whoever names a plan means some of the rows.
fn check_used(others: &[Plan], finished: &[Finished]) -> Result<(), RunError> {
    let names: BTreeSet<&str> = finished.iter().map(|one| one.record.plan.name.as_str()).collect();
    let Some(unused) = others.iter().find(|plan| !names.contains(plan.name())) else { return Ok(()) };
    let error = format!("the folders have no results of the plan {}, which --with names", unused.name());
    let names: Vec<&str> = names.into_iter().collect();
    Err(RunError::user(error).with_hint(format!("they have results of {}", names.join(", "))))
}

fn judge_one(folder: &Path, others: &[Plan]) -> Result<Finished, RunError> {
    let record = Record::read(folder)?;
    let plan = match others.iter().find(|plan| plan.name() == record.plan.name) {
        Some(plan) => plan.clone(),
        None => record.source(folder).parse()?,
    };
    let plan = record.as_run(plan, folder)?;
    let results = folder::read_rows(folder, &plan, &record.digests)?;
    let evaluation = evaluate(&plan, &results, record.platform);
    let rows = results.csv(&plan);
    Ok(Finished { evaluation, record, folder: folder.to_owned(), rows })
}
