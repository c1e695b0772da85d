//! `guestright-lab run`: plans become rows, figures, and a report.

mod progress;

use super::counted;
use super::files::{self, Printing};
use super::netns_worker;
use super::plans::{self, Source};
use anyhow::anyhow;
use guestright_bench::folder::{self, Finished, plan_folders};
use guestright_bench::kept::{KeptRows, Looked, ProgramId};
use guestright_bench::netns::{self, Sockets};
use guestright_bench::pool::{self, Done};
use guestright_bench::record::{self, HostRecord, PlanRecord, Program, Record};
use guestright_bench::table::hexadecimal;
use guestright_bench::{BenchError, cost};
use guestright_cli::failure::{Failure, INTERRUPTED, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals::Signals;
use guestright_clock::Clock;
use guestright_experiment::{self as experiment, Plan, Platform, Row, SettingError, evaluate};
use guestright_results::file;
use progress::{Progress, scaled};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Finished runs of a plan, in its folder.
const JOURNAL: &str = "partial.csv";

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

/// Why a run gave nothing.
#[derive(Debug)]
enum Broken {
    Setting(SettingError),
    Sockets(BenchError),
}

/// What the threads and the signals tell.
enum Message {
    Done(usize, Done<Result<experiment::Outcome, Broken>>),
    Stop,
}

/// A plan and what was kept of its rows.
struct Task {
    source: Source,
    plan: Plan,
    platform: Platform,
    looked: Looked,
    /// Which one it is, from 1, and of how many.
    position: (usize, usize),
}

/// What is the same for all plans.
struct Session<'a> {
    options: &'a Run,
    command: String,
    program: Program,
    host: HostRecord,
    threads: usize,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
}

impl Run {
    pub(super) fn run(&self, out: &mut Output) -> Outcome {
        let plans = self.plans()?;
        let (sender, receiver) = channel();
        stop_at_signals(sender.clone())?;
        self.run_plans(plans, (sender, receiver), out)
    }

    /// The plans, all of them good and each under a name of its own.
    fn plans(&self) -> Result<Vec<(Source, Plan)>, Failure> {
        let mut names = BTreeSet::new();
        let mut plans = Vec::new();
        for source in plans::find(&self.words)? {
            let plan = self.adapted(&source, source.parse()?)?;
            if !names.insert(plan.name().to_owned()) {
                let error = anyhow!("two of the plans have the name {}", plan.name());
                return Err(
                    Failure::config(error).hint("give one of them another `name`, or run them one by one")
                );
            }
            plans.push((source, plan));
        }
        Ok(plans)
    }

    /// A plan as the options want it.
    fn adapted(&self, source: &Source, plan: Plan) -> Result<Plan, Failure> {
        for platform in self.platforms(&plan) {
            if !plan.on().contains(&platform) {
                let name = platform.name();
                let error = anyhow!("{} is not made for {name}", source.name);
                return Err(Failure::config(error).hint(format!("add \"{name}\" to its `on`")));
            }
        }
        let plan = if self.quick { plan.quick() } else { plan };
        let Some(seeds) = self.seeds else { return Ok(plan) };
        plan.with_seeds(seeds).ok_or_else(|| {
            let error = anyhow!("{} would have more than {} runs", source.name, Plan::RUNS_MAX);
            Failure::user(error).hint("give a smaller number with --seeds")
        })
    }

    /// Where a plan runs: each platform once, in the order of the report.
    fn platforms(&self, plan: &Plan) -> Vec<Platform> {
        if self.on.is_empty() {
            return plan.on().iter().copied().take(1).collect();
        }
        let mut platforms: Vec<Platform> = self.on.iter().map(|on| on.platform()).collect();
        platforms.sort();
        platforms.dedup();
        platforms
    }

    fn run_plans(
        &self,
        plans: Vec<(Source, Plan)>,
        (sender, receiver): (Sender<Message>, Receiver<Message>),
        out: &mut Output,
    ) -> Outcome {
        file::make_folder(&self.out).map_err(Failure::config)?;
        let (program, host) = (Program::this(option_env!("GUESTRIGHT_COMMIT"))?, HostRecord::this());
        let threads = self.threads.map_or(host.cores, usize::from);
        let command = record::command_line(crate::NAME, std::env::args_os().skip(1));
        let session = Session { options: self, command, program, host, threads, sender, receiver };
        let plans: Vec<(Source, Plan, Platform)> = plans
            .into_iter()
            .flat_map(|(source, plan)| {
                let platforms = self.platforms(&plan).into_iter();
                platforms.map(move |platform| (source.clone(), plan.clone(), platform))
            })
            .collect();
        for (_, plan, platform) in &plans {
            session.check_replaced(plan, *platform)?;
            match platform {
                Platform::Netns => netns::check_plan(plan)?,
                Platform::Sim | Platform::Real => cost::check_platform(plan, *platform)?,
            }
        }
        // All are opened before the first is run: whoever writes there too is noticed at once. Nothing is changed until
        // all is well.
        let of = plans.len();
        let tasks = plans.into_iter().zip(1..).map(|((source, plan, platform), number)| {
            let path = self.out.join(folder::folder_name(plan.name(), platform)).join(JOURNAL);
            let looked = KeptRows::look(&path, &plan, session.program_id(), self.fresh)?;
            Ok(Task { source, plan, platform, looked, position: (number, of) })
        });
        let tasks: Vec<Task> = tasks.collect::<Result<_, Failure>>()?;
        session.check_resume(&tasks)?;
        let (mut finished, mut journals) = (Vec::new(), Vec::new());
        for task in tasks {
            let (done, journal) = session.run_plan(task, out)?;
            finished.push(done);
            journals.push(journal);
        }
        session.check_stopped(|| "before the report was written; all runs are kept".to_owned())?;
        folder::write_report(&self.out, &finished)?;
        // Only now: until here an interruption could have wanted them.
        journals.into_iter().try_for_each(KeptRows::finish)?;
        let shown = files::show(&self.out, &finished, self.printing, out);
        if self.printing.is_text() {
            self.show_others(&finished, out)?;
        }
        shown
    }

    /// Plans that were run before into this folder, and are not in the report that was just written.
    fn show_others(&self, finished: &[Finished], out: &mut Output) -> Outcome {
        let folders = plan_folders(&self.out).unwrap_or_default();
        let names = folders.iter().filter_map(|folder| folder.file_name()?.to_str());
        let is_other = |name: &&str| finished.iter().all(|one| folder::name_of(&one.evaluation) != *name);
        let others: Vec<&str> = names.filter(is_other).collect();
        if !others.is_empty() {
            let (others, folder) = (others.join(", "), self.out.display());
            writeln!(out, "also here: {others}; `guestright-lab report {folder}` makes one page of all")?;
        }
        Ok(())
    }
}

impl Session<'_> {
    fn program_id(&self) -> ProgramId<'_> {
        ProgramId { version: &self.program.version, sha256: &self.program.sha256 }
    }

    /// Finished results of a whole plan are not replaced by fewer without a word.
    fn check_replaced(&self, plan: &Plan, platform: Platform) -> Outcome {
        let folder = self.options.out.join(folder::folder_name(plan.name(), platform));
        let Ok(found) = Record::read(&folder) else { return Ok(()) };
        let seeds = usize::try_from(plan.seeds()).unwrap_or(usize::MAX);
        let fewer = self.options.seeds.is_some() && seeds < found.seeds.len();
        if self.options.fresh || found.quick || !(plan.is_quick() || fewer) {
            return Ok(());
        }
        let (folder, had) = (folder.display(), found.seeds.len());
        let now = if plan.is_quick() { "a quick run".to_owned() } else { counted(seeds, "seed") };
        let error = anyhow!(
            "{folder} has the finished results of the whole plan, with {had} seeds; {now} would replace them"
        );
        Err(Failure::user(error).hint("give another folder with --out, or replace them with --fresh"))
    }

    /// A signal ends the work also when no run is being waited for.
    fn check_stopped(&self, when: impl Fn() -> String) -> Outcome {
        match self.receiver.try_recv() {
            Ok(Message::Stop) => {
                let error = anyhow!("stopped {}", when());
                Err(Failure::interrupted(error).hint("the same command goes on from there"))
            }
            Ok(Message::Done(..)) | Err(_) => Ok(()),
        }
    }

    /// Whoever says --resume wants no run to be made twice.
    fn check_resume(&self, tasks: &[Task]) -> Outcome {
        if !self.options.resume {
            return Ok(());
        }
        let hint = "leave --resume out to make all runs";
        for Task { plan, looked, .. } in tasks {
            if let Some(why) = &looked.afresh {
                return Err(Failure::user(anyhow!("{} cannot go on: {why}", plan.name())).hint(hint));
            }
        }
        if tasks.iter().all(|task| task.looked.results.missing() == task.plan.run_count()) {
            let folder = self.options.out.display();
            return Err(Failure::user(anyhow!("{folder} has no finished runs to go on with")).hint(hint));
        }
        Ok(())
    }

    fn run_plan(&self, task: Task, out: &mut Output) -> Result<(Finished, KeptRows), Failure> {
        let mut clock = Clock::start();
        let started = clock.now().unix_seconds();
        if self.options.printing.is_text() {
            self.announce(&task, out)?;
        }
        let Task { source, plan, platform, looked, position: (number, of) } = task;
        let (mut kept, mut results) = looked.begin()?;
        let (all, missing) = (plan.run_count(), results.missing());
        let name = folder::folder_name(plan.name(), platform);
        let label = if of > 1 { format!("{number} of {of}, {name}") } else { name.clone() };
        let folder = self.options.out.join(&name);
        // From this thread, which outlives it: the kernel ends it with the thread that started it.
        let sockets = match platform {
            Platform::Netns if missing > 0 => Some(Arc::new(Sockets::start(&folder, &netns_worker::WORDS)?)),
            Platform::Sim | Platform::Netns | Platform::Real => None,
        };
        let mut progress = Progress::new(&label, all, all - missing);
        let made = self.make((&plan, platform, sockets.as_ref()), &mut results, &mut kept, &mut progress);
        let seconds = progress.seconds();
        progress.clear();
        made?;
        let (digests, rows) = folder::write_rows(&folder, &plan, &results)?;
        let record = Record {
            plan: PlanRecord::new(&source, &plan),
            platform,
            quick: plan.is_quick(),
            seeds: (0..plan.seeds()).map(|number| hexadecimal(&plan.seed(number).0)).collect(),
            runs: all,
            runs_kept: all - missing,
            packets: results.packets(),
            events: results.events(),
            command: self.command.clone(),
            program: self.program.clone(),
            host: self.host.clone(),
            threads: if platform == Platform::Sim { self.threads } else { 1 },
            started: started.to_string(),
            ended: clock.now().unix_seconds().to_string(),
            seconds,
            digests,
        };
        record.write(&folder)?;
        if self.options.printing.is_text() {
            let rate = scaled(progress.rate());
            let made = counted(missing, "run");
            writeln!(out, "{name}: {made} in {seconds:.1} s, {rate} packets/s")?;
            if let Some(sockets) = &sockets {
                writeln!(out, "{name}: {}", sockets.accuracy())?;
            }
            out.flush()?;
        }
        let evaluation = evaluate(&plan, &results, platform);
        Ok((Finished { evaluation, record, folder, rows }, kept))
    }

    /// Says what there is to do, and what is there.
    fn announce(
        &self,
        Task { source, plan, platform, looked, position }: &Task,
        out: &mut Output,
    ) -> Outcome {
        let name = folder::folder_name(plan.name(), *platform);
        let (all, missing) = (plan.run_count(), looked.results.missing());
        let folder = self.options.out.display();
        match &looked.afresh {
            Some(why) => writeln!(out, "{name}: begins afresh; {why}")?,
            None if missing < all => {
                writeln!(out, "{name}: goes on; {} of {all} runs are there", all - missing)?
            }
            None => {}
        }
        if looked.damaged > 0 {
            let lines = counted(looked.damaged, "damaged line");
            writeln!(out, "{name}: {lines} at the end of {folder}/{name}/{JOURNAL} cannot be used")?;
        }
        if looked.strangers > 0 {
            let rows = counted(looked.strangers, "kept row");
            writeln!(out, "{name}: {rows} of other runs of this plan stay in {folder}/{name}/{JOURNAL}")?;
        }
        let before = Record::read(&self.options.out.join(&name)).ok();
        if before.is_some_and(|before| before.plan.runs_digest == plan.digest()) {
            let hint = format!("`guestright-lab report {folder} --with {}`", source.name);
            writeln!(
                out,
                "{name}: the same runs were made before; {hint} makes figures anew without running"
            )?;
        }
        let which = match position {
            (_, 1) => String::new(),
            (number, of) => format!("plan {number} of {of}, "),
        };
        let how = match platform {
            Platform::Sim => format!("{} at a time", self.threads),
            Platform::Real => "one after the other, on this computer".to_owned(),
            Platform::Netns => {
                let seconds = netns::seconds_missing(plan, &looked.results).ceil();
                format!("on real sockets, one after the other: about {seconds:.0} s")
            }
        };
        writeln!(out, "{name}: {which}{} to make, {how}", counted(missing, "run"))?;
        Ok(out.flush()?)
    }

    /// Makes the runs that are missing.
    fn make(
        &self,
        (plan, platform, sockets): (&Plan, Platform, Option<&Arc<Sockets>>),
        results: &mut experiment::Results,
        kept: &mut KeptRows,
        progress: &mut Progress,
    ) -> Outcome {
        let mut jobs = plan.runs();
        jobs.retain(|run| results.get(run.index).is_none());
        // Sweeps grow as a rule: the long runs of each replication first, so that no thread is left alone with one. The
        // replications one after the other, so that the time left is known early.
        jobs.sort_by_key(|run| (run.replication, Reverse(run.index)));
        let runs = jobs.clone();
        let testbed = plan.testbed();
        let sender = self.sender.clone();
        // Real time passes once, and what is measured here must not have another run beside it.
        let threads = if platform == Platform::Sim { self.threads } else { 1 };
        let sockets = sockets.cloned();
        let work = move |run: &experiment::Run| match &sockets {
            None => testbed.run(&run.settings, run.seed.clone()).map_err(Broken::Setting),
            Some(sockets) => sockets.run(run, testbed).map_err(Broken::Sockets),
        };
        pool::start(jobs, threads, work, move |index, done| sender.send(Message::Done(index, done)).is_ok())
            .map_err(Failure::network)?;
        for _ in 0..runs.len() {
            match self.receiver.recv() {
                Ok(Message::Done(index, done)) => {
                    let row = row(plan, &runs[index], done)?;
                    kept.add(plan, &runs[index], &row)?;
                    progress.done(row.packets);
                    results.insert(runs[index].index, row).map_err(Failure::bug)?;
                }
                Ok(Message::Stop) | Err(_) => {
                    let (all, missing) = (plan.run_count(), results.missing());
                    let error =
                        anyhow!("stopped: {} of {all} runs of {} are kept", all - missing, plan.name());
                    return Err(Failure::interrupted(error).hint("the same command goes on from there"));
                }
            }
        }
        Ok(())
    }
}

/// The row of a run.
fn row(
    plan: &Plan,
    run: &experiment::Run,
    done: Done<Result<experiment::Outcome, Broken>>,
) -> Result<Row, Failure> {
    let which = || {
        let point: Vec<String> =
            plan.axes().zip(&run.point).map(|(axis, value)| format!("{axis} = {value}")).collect();
        format!("run {} of {} (case {}, {})", run.index, plan.name(), run.case, point.join(", "))
    };
    match done {
        Done::Well(Ok(outcome)) => Row::new(plan, &outcome).map_err(Failure::bug),
        Done::Well(Err(Broken::Setting(error))) => Err(Failure::config(anyhow!(error).context(which()))),
        Done::Well(Err(Broken::Sockets(error))) => Err(Failure::from(error).within(which())),
        Done::Broken => Err(Failure::user(anyhow!("{} ended in a panic", which()))
            .hint("this is a mistake of the simulator: please report it with the plan")),
    }
}

/// The first signal ends the work in order, the second at once.
fn stop_at_signals(sender: Sender<Message>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::network)?;
    let mut signals = {
        let _inside = runtime.enter();
        Signals::register().map_err(Failure::network)?
    };
    let wait = move || {
        runtime.block_on(signals.recv());
        if sender.send(Message::Stop).is_ok() {
            runtime.block_on(signals.recv());
        }
        // Files are written whole or not at all, so this leaves nothing behind that is wrong.
        std::process::exit(INTERRUPTED.into());
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(Failure::network)?;
    Ok(())
}

#[cfg(test)]
mod tests;
