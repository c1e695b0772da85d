//! Makes the runs that another simulator made.

use super::scenario::{self, Plan, Shape};
use super::verdict::{Case, LOSS_MAX, Measured, Sample};
use std::collections::BTreeMap;

/// Further runs of two cells above their capacity. The queue of the second access point gets just as many packets there
/// as it can send, and wanders: the mean delay of a run of 60 s is up to 6 % off.
const FURTHER_RUNS: u32 = 20;

/// What we measure where `theirs` was measured.
///
/// # Errors
///
/// A scenario that there is not.
pub(crate) fn measure(theirs: &Measured) -> Result<Measured, String> {
    theirs.iter().map(|(case, samples)| Ok((case.clone(), measure_case(case, samples)?))).collect()
}

fn measure_case(case: &Case, samples: &BTreeMap<u32, Sample>) -> Result<BTreeMap<u32, Sample>, String> {
    let (name, channels, bytes) = case;
    let shape = Shape::named(name, *channels);
    let shape = shape.ok_or_else(|| format!("no scenario {name} with {channels} channels"))?;
    let mut ours = BTreeMap::new();
    for (calls, theirs) in samples {
        let wanders = matches!(shape, Shape::TwoCells { .. }) && theirs.loss() > LOSS_MAX;
        let further = if wanders { FURTHER_RUNS } else { 0 };
        let runs = theirs.runs.keys().copied().chain(10_001..=10_000 + further);
        let runs = runs.map(|run| (run, scenario::run(&Plan::new(shape, *bytes, *calls, run))));
        ours.insert(*calls, Sample { runs: runs.collect() });
    }
    Ok(ours)
}
