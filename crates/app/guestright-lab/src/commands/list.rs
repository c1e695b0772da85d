//! `guestright-lab list`: plans, and testbeds with what can be set and what is measured.

use super::plans::{self, Source};
use guestright_bench::numbers::counted;
use guestright_bench::{in_json, in_words};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_experiment::{Plan, Testbed};
use serde_json::Value;

/// Show the experiments that there are, or the testbeds that experiments are made with
///
/// Without a PLAN it shows those that are built into this program: the repository's folder `experiments`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab list
  guestright-lab list paper-a
  guestright-lab list --testbeds
  guestright-lab list --testbeds voice --json")]
pub(crate) struct List {
    /// Files, folders, or names of built-in plans; with --testbeds the names of testbeds
    #[arg(value_name = "PLAN")]
    words: Vec<String>,
    /// Show testbeds: every setting with its default and its limits, every metric with its unit
    #[arg(long)]
    testbeds: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        if self.testbeds { self.list_testbeds(out) } else { self.list_plans(out) }
    }

    fn list_plans(&self, out: &mut Output) -> Outcome {
        let sources = if self.words.is_empty() { plans::built_in() } else { plans::find(&self.words)? };
        let plans: Vec<(Source, Plan)> = sources
            .into_iter()
            .map(|source| source.parse().map(|plan| (source, plan)))
            .collect::<Result<_, _>>()?;
        if self.json {
            let plans: Vec<Value> = plans.iter().map(|(source, plan)| in_json::plan(source, plan)).collect();
            writeln!(out, "{}", Value::from(plans))?;
            return Ok(());
        }
        plans.iter().try_for_each(|(source, plan)| writeln!(out, "{}", in_words::plan(source, plan)))?;
        writeln!(out, "{}; `guestright-lab run PLAN --quick` runs one", counted(plans.len(), "plan"))?;
        Ok(())
    }

    fn list_testbeds(&self, out: &mut Output) -> Outcome {
        let all = plans::testbeds();
        if let Some(unknown) =
            self.words.iter().find(|word| all.iter().all(|testbed| testbed.name() != *word))
        {
            let names: Vec<&str> = all.iter().map(|testbed| testbed.name()).collect();
            let error = anyhow::anyhow!("there is no testbed {unknown}");
            return Err(Failure::user(error).hint(format!("there are {}", names.join(", "))));
        }
        let wanted = |testbed: &&&dyn Testbed| {
            self.words.is_empty() || self.words.iter().any(|word| word == testbed.name())
        };
        let testbeds = all.iter().filter(wanted);
        if self.json {
            let testbeds: Vec<Value> = testbeds.map(|testbed| in_json::testbed(*testbed)).collect();
            writeln!(out, "{}", Value::from(testbeds))?;
            return Ok(());
        }
        for testbed in testbeds {
            writeln!(out, "{}", in_words::testbed(*testbed))?;
        }
        Ok(())
    }
}
