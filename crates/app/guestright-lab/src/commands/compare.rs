//! `guestright-lab compare`: what differs between two results.

use anyhow::anyhow;
use guestright_bench::compared::Compared;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use serde_json::json;
use std::path::PathBuf;

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
        let compared = Compared::read(&self.first, &self.second)?;
        let Compared { only_first, only_second, comparisons } = &compared;
        if self.json {
            let answer = json!({
                "only_first": only_first,
                "only_second": only_second,
                "comparisons": comparisons,
                "differ": compared.differing(),
            });
            writeln!(out, "{answer}")?;
        } else {
            for comparison in comparisons {
                writeln!(out, "{}", comparison.text())?;
            }
            for (folder, names) in [(&self.first, only_first), (&self.second, only_second)] {
                if !names.is_empty() {
                    writeln!(out, "only in {}: {}", folder.display(), names.join(", "))?;
                }
            }
        }
        out.flush()?;
        if compared.is_same() { Ok(()) } else { Err(Failure::user(anyhow!("the results differ"))) }
    }
}
