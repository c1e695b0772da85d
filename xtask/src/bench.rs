//! The benchmarks, one package after the other, so that they do not disturb each other.

use anyhow::{Context as _, Result};

use crate::steps::{Done, Steps, cargo, execute};
use crate::workspace;

/// The packages whose cost we watch, and the features that their benchmarks take.
const PACKAGES: [(&str, &str); 3] =
    [("guestright-receipt", "legacy-suites"), ("guestright-reciprocity", ""), ("guestright-store", "")];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let packages = workspace::packages()?;
    let mut steps = Steps::default();
    for (name, features) in PACKAGES {
        let package = packages.iter().find(|package| package.name == name);
        let package = package.with_context(|| format!("no package {name} in the workspace"))?;
        steps.run(name, || {
            if !package.has_benches {
                return Ok(Done::Skipped("it has no benchmarks".to_owned()));
            }
            let command = ["bench", "--package", name, "--features", features, "--bench", "*", "--"];
            execute(cargo(&command).args(arguments))
        });
    }
    steps.finish()
}
