//! What differs between two folders of results.

use crate::folder;
use guestright_error::{OrFail as _, RunError};
use guestright_experiment::{Comparison, Evaluation, compare};
use guestright_results::file;
use std::path::Path;

/// The most bytes of what was found.
const BYTES_MAX: u64 = 256 << 20;

/// Two results beside each other.
#[derive(Debug)]
pub struct Compared {
    /// Plans of the first folder that the second has not.
    pub only_first: Vec<String>,
    /// Plans of the second folder that the first has not.
    pub only_second: Vec<String>,
    /// Each plan of the first folder with that of the same name in the second; at least one.
    pub comparisons: Vec<Comparison>,
}

impl Compared {
    /// Reads what was found in both folders.
    ///
    /// # Errors
    /// It cannot be read, or they have no plan in common.
    pub fn read(first: &Path, second: &Path) -> Result<Self, RunError> {
        let (ours, others) = (evaluations(first)?, evaluations(second)?);
        let comparisons = pairs(&ours, &others).map(|(one, other)| compare(one, other)).collect::<Vec<_>>();
        if comparisons.is_empty() {
            let (first, second) = (first.display(), second.display());
            return Err(RunError::user(format!("{first} and {second} have no plan in common"))
                .with_hint("name two folders with results of the same plans"));
        }
        let (only_first, only_second) = (alone(&ours, &others), alone(&others, &ours));
        Ok(Self { only_first, only_second, comparisons })
    }

    /// How many plans have a number, a verdict or a part that is not in both alike.
    pub fn differing(&self) -> usize {
        let differs = |comparison: &&Comparison| {
            let Comparison { numbers, claims, only, .. } = comparison;
            numbers.iter().any(|number| number.differs) || !claims.is_empty() || !only.is_empty()
        };
        self.comparisons.iter().filter(differs).count()
    }

    /// Whether both have the same plans, and none of them differs.
    pub fn is_same(&self) -> bool {
        self.differing() == 0 && self.only_first.is_empty() && self.only_second.is_empty()
    }
}

/// What was simulated with what was simulated, where there is such a thing.
fn pairs<'a>(
    ours: &'a [Evaluation],
    others: &'a [Evaluation],
) -> impl Iterator<Item = (&'a Evaluation, &'a Evaluation)> {
    let partner = |one: &Evaluation| {
        let same = others.iter().filter(|other| other.name == one.name);
        same.clone().find(|other| other.platform == one.platform).or_else(|| same.clone().next())
    };
    ours.iter().filter_map(move |one| Some((one, partner(one)?)))
}

fn alone(all: &[Evaluation], others: &[Evaluation]) -> Vec<String> {
    let is_alone = |one: &&Evaluation| others.iter().all(|other| other.name != one.name);
    all.iter().filter(is_alone).map(|one| one.name.clone()).collect()
}

fn evaluations(folder: &Path) -> Result<Vec<Evaluation>, RunError> {
    let path = folder.join(folder::EVALUATION);
    let hint = "name a folder that `guestright-lab run` or `guestright-lab report` wrote";
    let bytes = file::read(&path, BYTES_MAX).map_err(|error| RunError::config(error).with_hint(hint))?;
    let read = serde_json::from_slice(&bytes).or_config(|| format!("read {}", path.display()));
    read.map_err(|error| error.with_hint("it was written by another version; run the plans again"))
}
