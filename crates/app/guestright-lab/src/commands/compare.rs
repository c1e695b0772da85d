//! `guestright-lab compare`: what differs between two results.

use anyhow::{Context, anyhow};
use guestright_bench::folder;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_experiment::{Comparison, Evaluation, compare};
use guestright_results::file;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The most bytes of what was found.
const BYTES_MAX: u64 = 256 << 20;

/// Say what differs between two results: numbers with the confidence interval of the difference, and verdicts
///
/// Plans are matched by their names. Where both ran on the same seeds, differences are taken seed by seed. A number
/// differs if the 95 % interval of the difference leaves out 0: of numbers that are the same but for other seeds, one in
/// twenty does.
///
/// It ends with 0 if nothing differs, with 1 if something does, as diff does.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab compare results-of-monday results-of-tuesday
  guestright-lab compare before after --json")]
pub(crate) struct Compare {
    /// A folder that `guestright-lab run` wrote
    #[arg(value_name = "DIR_A")]
    first: PathBuf,
    /// Another one
    #[arg(value_name = "DIR_B")]
    second: PathBuf,
    /// Print everything that was compared as JSON
    #[arg(long)]
    json: bool,
}

impl Compare {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        let (first, second) = (read(&self.first)?, read(&self.second)?);
        let named = |all: &[Evaluation], name: &str| all.iter().any(|one| one.name == name);
        let alone = |all: &[Evaluation], others: &[Evaluation]| -> Vec<String> {
            all.iter().map(|one| one.name.clone()).filter(|name| !named(others, name)).collect()
        };
        let (only_first, only_second) = (alone(&first, &second), alone(&second, &first));
        // What was simulated with what was simulated, where there is such a thing.
        let partner = |one: &Evaluation| {
            let same = second.iter().filter(|other| other.name == one.name);
            same.clone().find(|other| other.platform == one.platform).or_else(|| same.clone().next())
        };
        let pairs = first.iter().filter_map(|one| Some((one, partner(one)?)));
        let comparisons: Vec<Comparison> = pairs.map(|(one, other)| compare(one, other)).collect();
        if comparisons.is_empty() {
            let error =
                anyhow!("{} and {} have no plan in common", self.first.display(), self.second.display());
            return Err(Failure::user(error).hint("name two folders with results of the same plans"));
        }
        let differ = comparisons.iter().filter(|comparison| differs(comparison)).count();
        if self.json {
            let answer = json!({
                "only_first": only_first,
                "only_second": only_second,
                "comparisons": comparisons,
                "differ": differ,
            });
            writeln!(out, "{answer}")?;
        } else {
            for comparison in &comparisons {
                writeln!(out, "{}", comparison.text())?;
            }
            for (folder, names) in [(&self.first, &only_first), (&self.second, &only_second)] {
                if !names.is_empty() {
                    writeln!(out, "only in {}: {}", folder.display(), names.join(", "))?;
                }
            }
        }
        out.flush()?;
        if differ == 0 && only_first.is_empty() && only_second.is_empty() {
            return Ok(());
        }
        Err(Failure::user(anyhow!("the results differ")))
    }
}

fn differs(comparison: &Comparison) -> bool {
    let Comparison { numbers, claims, only, .. } = comparison;
    numbers.iter().any(|number| number.differs) || !claims.is_empty() || !only.is_empty()
}

fn read(folder: &Path) -> Result<Vec<Evaluation>, Failure> {
    let path = folder.join(folder::EVALUATION);
    let hint = "name a folder that `guestright-lab run` or `guestright-lab report` wrote";
    let bytes = file::read(&path, BYTES_MAX).map_err(|error| Failure::config(error).hint(hint))?;
    let read = serde_json::from_slice(&bytes).with_context(|| format!("read {}", path.display()));
    read.map_err(|error| {
        Failure::config(error).hint("it was written by another version; run the plans again")
    })
}
