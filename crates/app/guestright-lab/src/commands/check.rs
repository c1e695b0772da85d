//! `guestright-lab check`: whether plans are sensible.

use super::plans;
use anyhow::anyhow;
use guestright_bench::numbers::counted;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;

/// Check plans without running them
///
/// A plan with a mistake is refused: with its line, the reason, and what to do. Every point of the sweep is shown to the
/// testbed, and every name in a claim, a figure or a table has to mean something.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab check my-plan.toml
  guestright-lab check experiments")]
pub(crate) struct Check {
    /// Files, folders, or names of built-in plans
    #[arg(required = true, value_name = "PLAN")]
    words: Vec<String>,
}

impl Check {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        let sources = plans::find(&self.words)?;
        let (mut refused, count) = (Vec::new(), sources.len());
        for source in sources {
            match source.parse() {
                Ok(plan) => {
                    let (full, quick) = (counted(plan.run_count(), "run"), plan.quick().run_count());
                    writeln!(out, "{}: good, {full}, {quick} with --quick", source.name)?;
                }
                Err(error) => refused.push(Failure::from(error)),
            }
        }
        match refused.len() {
            0 => Ok(()),
            1 if count == 1 => Err(refused.remove(0)),
            bad => {
                let texts: Vec<String> = refused.iter().map(|failure| failure.what()).collect();
                let error = anyhow!("{bad} of {count} plans have mistakes\n{}", texts.join("\n"));
                Err(Failure::config(error).hint(plans::MISTAKE_HINT))
            }
        }
    }
}
