//! `guestright-lab run`: plans become rows, figures, and a report.

pub(super) mod progress;

use super::files::{self, Printing};
use super::netns_worker;
use super::plans;
use guestright_bench::batch::{self, BatchError, Earlier, Settings, Stopper};
use guestright_bench::record;
use guestright_bench::shards::Shard;
use guestright_bench::verdicts;
use guestright_cli::failure::{Failure, INTERRUPTED, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals;
use guestright_error::Fault as _;
use guestright_experiment::Platform;
use std::path::PathBuf;

/// Run experiments: plans become rows, figures, and one report with a verdict for each claim
///
/// Into the folder of --out it writes report.html (one file, without scripts), evaluation.json, and for each plan a
/// folder with rows.parquet, rows.csv, run.json and figures. The same plans give the same rows on every computer and
/// with any number of threads.
///
/// Finished runs are kept in PLAN/partial.csv at once. If the program is interrupted, the same command goes on where it
/// was, unless the program has changed since. A quick run leaves the rows of the whole plan there.
///
/// With --on netns, runs are made on real sockets and the kernel's TCP: in network namespaces, through the simulator's
/// links in real time, one after the other. With --on sim --on netns, the report has both, side by side. Plans that
/// measure this computer itself (what codecs and ciphers cost) are for --on real; other computers give other rows.
///
/// It ends with 0 if every verdict could be computed, also if one is "does not reproduce"; --fail-on says it otherwise.
/// Ctrl-C ends it with 130.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab run paper-a paper-b --quick
  guestright-lab run my-plan.toml --seeds 40 --out results --threads 4
  guestright-lab run today/netns --on sim --on netns --quick
  guestright-lab run paper-b --fail-on contradicted
  guestright-lab run paper-c --shard 3/40 --out /shared/results
  guestright-lab run operator --json")]
pub(crate) struct Run {
    /// Files, folders, or names of built-in plans (`guestright-lab list`)
    #[arg(required = true, value_name = "PLAN")]
    words: Vec<String>,
    /// Fewer points and seeds, as the plan's table `quick` says: minutes instead of an hour
    #[arg(long)]
    quick: bool,
    /// Where results go
    #[arg(long, value_name = "DIR", default_value = "lab-results")]
    out: PathBuf,
    /// Where plans run, for several give it several times; each plan's first platform, if not given
    #[arg(long, value_enum, value_name = "PLATFORM")]
    on: Vec<On>,
    #[command(flatten)]
    printing: Printing,
    /// How many runs are made at the same time; as many as there are cores, if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// How often each point is run, instead of what the plan says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: Option<u32>,
    /// End if there is nothing to go on with
    #[arg(long, conflicts_with = "fresh")]
    resume: bool,
    /// Make every run anew, and replace what is there
    #[arg(long)]
    fresh: bool,
    /// Make one of N parts of the runs: on N computers, 1/N to N/N, and then `guestright-lab merge`
    #[arg(long, value_name = "I/N", conflicts_with_all = ["json", "details", "fail_on"])]
    shard: Option<Shard>,
}

/// A platform that runs can be made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum On {
    /// In virtual time
    Sim,
    /// On real sockets, in network namespaces of this computer
    Netns,
    /// This computer itself
    Real,
}

impl On {
    const fn platform(self) -> Platform {
        match self {
            Self::Sim => Platform::Sim,
            Self::Netns => Platform::Netns,
            Self::Real => Platform::Real,
        }
    }
}

impl Run {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        let settings = self.settings()?;
        let plans = settings.select(plans::find(&self.words)?).map_err(failure)?;
        let (stopper, inbox) = batch::stopper();
        stop_at_signals(vec![stopper])?;
        let mut progress = None;
        let is_text = self.printing.is_text();
        let on_event = &mut |event: batch::Event<'_>| progress::show(event, is_text, &mut progress, out);
        if self.shard.is_some() {
            return settings.run_shard(plans, inbox, on_event).map_err(failure);
        }
        let finished = settings.run(plans, inbox, on_event).map_err(failure)?;
        let shown = files::show(&self.out, &finished, self.printing, out);
        if self.printing.is_text() {
            write!(out, "{}", verdicts::others(&self.out, &finished))?;
        }
        shown
    }

    fn settings(&self) -> Result<Settings, Failure> {
        Ok(Settings {
            out: self.out.clone(),
            platforms: self.on.iter().map(|on| on.platform()).collect(),
            is_quick: self.quick,
            seeds: self.seeds,
            threads: self.threads.map(usize::from),
            earlier: match (self.resume, self.fresh) {
                (_, true) => Earlier::Replaced,
                (true, false) => Earlier::Needed,
                (false, false) => Earlier::Used,
            },
            shard: self.shard,
            command: record::command_line(crate::NAME, std::env::args_os().skip(1)),
            program: plans::program()?,
            worker: &netns_worker::WORDS,
        })
    }
}

/// A batch that was stopped ends as a program that a signal has ended.
pub(super) fn failure(error: BatchError) -> Failure {
    match (&error, error.hint()) {
        (BatchError::Stopped(_), Some(hint)) => Failure::interrupted(error).hint(hint),
        _ => Failure::from(error),
    }
}

/// The first signal ends the work in order, the second at once.
pub(super) fn stop_at_signals(stoppers: Vec<Stopper>) -> Outcome {
    let mut is_second = false;
    let on_signal = move || {
        // Every one of them: the batch that runs now, and those after it.
        let is_stopped = stoppers.iter().map(Stopper::stop).fold(false, |any, one| any | one);
        if is_second || !is_stopped {
            // Files are written whole or not at all, so this leaves nothing behind that is wrong.
            std::process::exit(INTERRUPTED.into());
        }
        is_second = true;
        true
    };
    signals::watch(on_signal).map_err(Failure::network)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        run: Run,
    }

    fn settings(options: &str) -> Settings {
        let words = ["run", "plan"].into_iter().chain(options.split_whitespace());
        Line::parse_from(words).run.settings().unwrap()
    }

    #[test]
    fn each_option_becomes_the_setting_of_its_name() {
        let rows = [("", Earlier::Used), ("--resume", Earlier::Needed), ("--fresh", Earlier::Replaced)];
        for (options, want) in rows {
            assert_eq!(settings(options).earlier, want, "{options}");
        }
        let all = settings("--quick --seeds 3 --threads 2 --out there --on netns");
        assert_eq!((all.is_quick, all.seeds, all.threads), (true, Some(3), Some(2)));
        assert_eq!((all.out, all.platforms), (PathBuf::from("there"), vec![Platform::Netns]));
        let none = settings("");
        assert_eq!((none.is_quick, none.seeds, none.threads, none.platforms), (false, None, None, vec![]));
    }
}
