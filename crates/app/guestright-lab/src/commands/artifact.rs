//! `guestright-lab artifact`: what a referee needs, in one folder or file.

use super::plans;
use super::run::{failure, progress, stop_at_signals};
use guestright_bench::artifact::{self, Wish};
use guestright_bench::batch::{self, Event};
use guestright_bench::record;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use std::path::PathBuf;

/// Pack what a referee needs: plans, seeds, results, a script for each figure, and one that compares
///
/// It runs the plans, quickly and then whole, and writes README.md with the steps and the minutes and gigabytes that they
/// took here, run.sh, figures/PLAN--FIGURE.sh, verify.py, tolerances.csv, seeds.csv, versions.json, expected/ with the
/// results, LICENSE files, CITATION.cff and SHA256SUMS. README.md says where the points of ACM's badges and of SOSP's check
/// list are. verify.py compares bytes first, and then each metric within its tolerance.
///
/// If it is interrupted, the same command goes on where it was.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab artifact paper-b --out paper-b.tar
  guestright-lab artifact my-plan.toml --quick --out artifact
  guestright-lab artifact my-plan.toml --seeds 40 --with-program --json")]
pub(crate) struct Artifact {
    /// Files, folders, or names of built-in plans (`guestright-lab list`)
    #[arg(required = true, value_name = "PLAN")]
    words: Vec<String>,
    /// Only the quick runs, not those of the whole plans
    #[arg(long)]
    quick: bool,
    /// The folder that is made, or with the ending .tar the file
    #[arg(long, value_name = "PATH", default_value = "lab-artifact")]
    out: PathBuf,
    /// How many runs are made at the same time; as many as there are cores, if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// How often each point of the whole plans is run, instead of what they say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "quick")]
    seeds: Option<u32>,
    /// Pack this program too
    #[arg(long)]
    with_program: bool,
    /// Print what was packed as JSON
    #[arg(long)]
    json: bool,
}

impl Artifact {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        let wish = Wish {
            out: self.out.clone(),
            plans: plans::find(&self.words)?,
            is_quick: self.quick,
            seeds: self.seeds,
            threads: self.threads.map(usize::from),
            with_program: self.with_program,
            command: record::command_line(crate::NAME, std::env::args_os().skip(1)),
            program: plans::program()?,
        };
        let ((first, quick), (second, full)) = (batch::stopper(), batch::stopper());
        stop_at_signals(vec![first, second])?;
        let mut shown = None;
        let on_event = &mut |event: Event<'_>| progress::show(event, !self.json, &mut shown, out);
        let packed = wish.pack((quick, full), on_event).map_err(failure)?;
        if self.json {
            writeln!(out, "{}", serde_json::to_string(&packed).map_err(Failure::bug)?)?;
        } else {
            write!(out, "{}", artifact::in_text(&packed))?;
        }
        Ok(())
    }
}
