//! Several plans, run into one folder: their rows, figures, and one report.
//!
//! Finished runs are kept at once ([`KeptRows`]), so that a batch that was stopped goes on from there. Nothing is changed
//! before all plans are known to be good and no other program writes to their folders.

mod error;

use crate::cost;
use crate::error::BenchError;
use crate::folder::{self, Finished};
use crate::kept::{KeptRows, Looked, ProgramId};
use crate::netns::{self, Sockets};
use crate::numbers::{counted, scaled};
use crate::plan_files::Source;
use crate::pool::{self, Done};
use crate::record::{HostRecord, PlanRecord, Program, Record};
use crate::shards::{Shard, ShardRecord};
use guestright_clock::Clock;
use guestright_error::RunError;
use guestright_experiment::{Outcome, Plan, Platform, Results, Row, Run, SettingError, evaluate};
use guestright_results::file;
use guestright_units::UnixSeconds;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

pub use error::BatchError;

/// Finished runs of a plan, in its folder.
const JOURNAL: &str = "partial.csv";

/// How plans are run, and where to.
///
/// [`Settings::select`] finds the plans that can be run so, and [`Settings::run`] runs them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of all results.
    pub out: PathBuf,
    /// Where plans run; each on its first platform, if there is none.
    pub platforms: Vec<Platform>,
    /// Fewer points and seeds, as each plan says.
    pub is_quick: bool,
    /// How often each point is run, instead of what the plan says.
    pub seeds: Option<u32>,
    /// How many runs are simulated at the same time; as many as there are cores, if not given.
    pub threads: Option<usize>,
    pub earlier: Earlier,
    /// The part of the runs that [`Settings::run_shard`] makes.
    pub shard: Option<Shard>,
    /// What was typed, for the record.
    pub command: String,
    /// Who runs them, for the record.
    pub program: Program,
    /// The words with which this program makes runs on real sockets, in a process of its own ([`netns::serve`]).
    pub worker: &'static [&'static str],
}

/// What becomes of what is in the folder already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Earlier {
    /// Finished runs are not made again, and results of a whole plan are not replaced by fewer.
    #[default]
    Used,
    /// The same, and without any the batch fails.
    Needed,
    /// All of it is replaced.
    Replaced,
}

/// What happens in a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// A sentence for whoever watches.
    Sentence(String),
    /// The runs of a plan begin: its name for people, how many there are, and how many of them are kept.
    Began { label: &'a str, runs: usize, kept: usize },
    /// A run was made; packets are made at this rate, in a second.
    RunMade { rate: f64 },
    /// The runs of the plan have ended, well or not.
    Ended,
}

/// Receives a batch's events. If it fails, the batch ends with its error.
pub type OnEvent<'a> = &'a mut dyn FnMut(Event<'_>) -> Result<(), RunError>;

/// Why a run gave nothing.
#[derive(Debug)]
enum Broken {
    Setting(SettingError),
    Sockets(BenchError),
}

/// What threads send to the batch.
#[derive(Debug)]
enum Message {
    Done(usize, Done<Result<Outcome, Broken>>),
    Stop,
}

/// With it another thread asks a batch to stop.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Message>);

impl Stopper {
    /// Whether the batch is still there.
    #[must_use]
    pub fn stop(&self) -> bool {
        self.0.send(Message::Stop).is_ok()
    }
}

/// Where a batch receives its finished runs, and the wish to stop.
#[derive(Debug)]
pub struct Inbox {
    sender: Sender<Message>,
    receiver: Receiver<Message>,
}

/// The two ends of a wish to stop.
#[must_use]
pub fn stopper() -> (Stopper, Inbox) {
    let (sender, receiver) = channel();
    (Stopper(sender.clone()), Inbox { sender, receiver })
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
struct Batch<'a> {
    settings: &'a Settings,
    host: HostRecord,
    threads: usize,
    inbox: Inbox,
    on_event: OnEvent<'a>,
}

impl Settings {
    /// The plans as these settings want them, all of them good and each under a name of its own.
    ///
    /// # Errors
    /// A plan has a mistake or the name of another, is not for a platform that is wanted, or would have too many runs.
    pub fn select(&self, sources: Vec<Source>) -> Result<Vec<(Source, Plan)>, BatchError> {
        let mut names = BTreeSet::new();
        let mut plans = Vec::new();
        for source in sources {
            let plan = self.adapted(&source, source.parse()?)?;
            if !names.insert(plan.name().to_owned()) {
                return Err(BatchError::SameName { name: plan.name().to_owned() });
            }
            plans.push((source, plan));
        }
        Ok(plans)
    }

    fn adapted(&self, source: &Source, plan: Plan) -> Result<Plan, BatchError> {
        for platform in self.platforms(&plan) {
            if !plan.on().contains(&platform) {
                return Err(BatchError::NotMadeFor { plan: source.name.clone(), platform: platform.name() });
            }
        }
        let plan = if self.is_quick { plan.quick() } else { plan };
        let Some(seeds) = self.seeds else { return Ok(plan) };
        plan.with_seeds(seeds).ok_or_else(|| BatchError::TooManyRuns { plan: source.name.clone() })
    }

    /// Where a plan runs: each platform once, in the order of the report.
    fn platforms(&self, plan: &Plan) -> Vec<Platform> {
        if self.platforms.is_empty() {
            return plan.on().iter().copied().take(1).collect();
        }
        let mut platforms = self.platforms.clone();
        platforms.sort();
        platforms.dedup();
        platforms
    }

    /// Runs plans of [`Settings::select`], and writes rows, records, figures and one report.
    ///
    /// # Errors
    /// A plan cannot be run here, a run failed, results cannot be written or would be replaced, it was stopped, or
    /// `on_event` failed.
    pub fn run(
        &self,
        plans: Vec<(Source, Plan)>,
        inbox: Inbox,
        on_event: OnEvent<'_>,
    ) -> Result<Vec<Finished>, BatchError> {
        let (mut batch, tasks) = self.begin(plans, inbox, on_event)?;
        let (mut finished, mut journals) = (Vec::new(), Vec::new());
        for task in tasks {
            let (done, journal) = batch.run_plan(task)?;
            finished.push(done);
            journals.push(journal);
        }
        batch.check_stopped()?;
        folder::write_report(&self.out, &finished)?;
        // Only now: until here an interruption could have wanted them.
        journals.into_iter().try_for_each(KeptRows::finish)?;
        Ok(finished)
    }

    /// Runs the [`Settings::shard`] of plans of [`Settings::select`]: its rows are kept, and [`crate::shards::merge`] makes
    /// results of all shards.
    ///
    /// # Errors
    /// As [`Settings::run`]; or a plan is not to be simulated.
    pub fn run_shard(
        &self,
        plans: Vec<(Source, Plan)>,
        inbox: Inbox,
        on_event: OnEvent<'_>,
    ) -> Result<(), BatchError> {
        let shard = self.shard.unwrap_or(Shard { number: 1, of: 1 });
        let (mut batch, tasks) = self.begin(plans, inbox, on_event)?;
        if let Some(task) = tasks.iter().find(|task| task.platform != Platform::Sim) {
            return Err(BatchError::ShardOf {
                plan: task.source.name.clone(),
                platform: task.platform.name(),
            });
        }
        // All of them before the first run: what is missing is known from them.
        for Task { source, plan, .. } in &tasks {
            let folder = self.out.join(folder::folder_name(plan.name(), Platform::Sim));
            ShardRecord::new(shard, source, plan, &self.program).write(&folder)?;
        }
        for task in tasks {
            let Made { name, runs, .. } = batch.make_plan(task)?;
            batch.say(format!("{name}: shard {shard} is made, {}", counted(runs, "run")))?;
        }
        batch.check_stopped()
    }

    fn begin<'a>(
        &'a self,
        plans: Vec<(Source, Plan)>,
        inbox: Inbox,
        on_event: OnEvent<'a>,
    ) -> Result<(Batch<'a>, Vec<Task>), BatchError> {
        file::make_folder(&self.out).map_err(RunError::config)?;
        let host = HostRecord::this();
        let threads = self.threads.unwrap_or(host.cores);
        let batch = Batch { settings: self, host, threads, inbox, on_event };
        let tasks = batch.tasks(plans)?;
        batch.check_resume(&tasks)?;
        Ok((batch, tasks))
    }

    /// How many runs of a plan are to be there in the end.
    fn count(&self, plan: &Plan) -> usize {
        self.shard.map_or(plan.run_count(), |shard| shard.count(plan.run_count()))
    }

    /// How many of them are not yet.
    fn missing(&self, plan: &Plan, results: &Results) -> usize {
        let is_mine = |index: &usize| self.shard.is_none_or(|shard| shard.has(*index));
        (0..plan.run_count()).filter(is_mine).filter(|index| results.get(*index).is_none()).count()
    }
}

/// A plan whose runs are made.
struct Made {
    source: Source,
    plan: Plan,
    platform: Platform,
    name: String,
    kept: KeptRows,
    results: Results,
    /// How many runs there are, and how many of them were made now.
    runs: usize,
    made: usize,
    clock: Clock,
    started: UnixSeconds,
    pace: Pace,
    seconds: f64,
    accuracy: Option<String>,
}

impl Batch<'_> {
    fn program_id(&self) -> ProgramId<'_> {
        ProgramId { version: &self.settings.program.version, sha256: &self.settings.program.sha256 }
    }

    /// The name of the file of finished runs.
    fn journal(&self) -> String {
        self.settings.shard.map_or_else(|| JOURNAL.to_owned(), Shard::journal)
    }

    fn say(&mut self, sentence: String) -> Result<(), RunError> {
        (self.on_event)(Event::Sentence(sentence))
    }

    /// Each plan on each of its platforms.
    fn tasks(&self, plans: Vec<(Source, Plan)>) -> Result<Vec<Task>, BatchError> {
        let plans: Vec<(Source, Plan, Platform)> = plans
            .into_iter()
            .flat_map(|(source, plan)| {
                let platforms = self.settings.platforms(&plan).into_iter();
                platforms.map(move |platform| (source.clone(), plan.clone(), platform))
            })
            .collect();
        for (_, plan, platform) in &plans {
            if self.settings.shard.is_none() {
                self.check_replaced(plan, *platform)?;
            }
            match platform {
                Platform::Netns => netns::check_plan(plan)?,
                Platform::Sim | Platform::Real => cost::check_platform(plan, *platform)?,
            }
        }
        // All are opened before the first is run: whoever writes there too is noticed at once. Nothing is changed until
        // all is well.
        let of = plans.len();
        let tasks = plans.into_iter().zip(1..).map(|((source, plan, platform), number)| {
            let path =
                self.settings.out.join(folder::folder_name(plan.name(), platform)).join(self.journal());
            let is_fresh = self.settings.earlier == Earlier::Replaced;
            let looked = KeptRows::look(&path, &plan, self.program_id(), is_fresh)?;
            Ok(Task { source, plan, platform, looked, position: (number, of) })
        });
        tasks.collect()
    }

    /// Finished results of a whole plan are not replaced by fewer without a word.
    fn check_replaced(&self, plan: &Plan, platform: Platform) -> Result<(), BatchError> {
        let folder = self.settings.out.join(folder::folder_name(plan.name(), platform));
        let Ok(found) = Record::read(&folder) else { return Ok(()) };
        let seeds = usize::try_from(plan.seeds()).unwrap_or(usize::MAX);
        let fewer = self.settings.seeds.is_some() && seeds < found.seeds.len();
        let is_replaced = self.settings.earlier == Earlier::Replaced;
        if is_replaced || found.quick || !(plan.is_quick() || fewer) {
            return Ok(());
        }
        let now = if plan.is_quick() { "a quick run".to_owned() } else { counted(seeds, "seed") };
        Err(BatchError::WouldReplace { folder, had: found.seeds.len(), now })
    }

    /// A wish to stop ends the batch also when no run is being waited for.
    fn check_stopped(&self) -> Result<(), BatchError> {
        match self.inbox.receiver.try_recv() {
            Ok(Message::Stop) => Err(BatchError::Stopped(
                "stopped before the report was written; all runs are kept".to_owned(),
            )),
            Ok(Message::Done(..)) | Err(_) => Ok(()),
        }
    }

    /// Where earlier runs are needed, no run is to be made twice.
    fn check_resume(&self, tasks: &[Task]) -> Result<(), BatchError> {
        if self.settings.earlier != Earlier::Needed {
            return Ok(());
        }
        for Task { plan, looked, .. } in tasks {
            if let Some(why) = &looked.afresh {
                return Err(BatchError::CannotGoOn { plan: plan.name().to_owned(), why: why.clone() });
            }
        }
        if tasks.iter().all(|task| task.looked.results.missing() == task.plan.run_count()) {
            return Err(BatchError::NothingToGoOn { folder: self.settings.out.clone() });
        }
        Ok(())
    }

    fn run_plan(&mut self, task: Task) -> Result<(Finished, KeptRows), BatchError> {
        let made = self.make_plan(task)?;
        let Made { source, plan, platform, name, kept, results, runs, .. } = made;
        let Made { made, mut clock, started, pace, seconds, accuracy, .. } = made;
        let folder = self.settings.out.join(&name);
        let (digests, rows) = folder::write_rows(&folder, &plan, &results)?;
        let record = Record {
            plan: PlanRecord::new(&source, &plan),
            platform,
            quick: plan.is_quick(),
            seeds: Record::seeds_of(&plan),
            runs,
            runs_kept: runs - made,
            packets: results.packets(),
            events: results.events(),
            command: self.settings.command.clone(),
            program: self.settings.program.clone(),
            host: self.host.clone(),
            threads: self.threads_on(platform),
            started: started.to_string(),
            ended: clock.now().unix_seconds().to_string(),
            seconds,
            digests,
        };
        record.write(&folder)?;
        let (made, rate) = (counted(made, "run"), scaled(pace.rate()));
        self.say(format!("{name}: {made} in {seconds:.1} s, {rate} packets/s"))?;
        if let Some(accuracy) = accuracy {
            self.say(format!("{name}: {accuracy}"))?;
        }
        let evaluation = evaluate(&plan, &results, platform);
        Ok((Finished { evaluation, record, folder, rows }, kept))
    }

    /// Makes what is missing of a plan, or of the shard of it.
    fn make_plan(&mut self, task: Task) -> Result<Made, BatchError> {
        let mut clock = Clock::start();
        let started = clock.now().unix_seconds();
        self.announce(&task)?;
        let (runs, made) = self.to_make(&task);
        let Task { source, plan, platform, looked, position: (number, of) } = task;
        let (mut kept, mut results) = looked.begin()?;
        let name = folder::folder_name(plan.name(), platform);
        let label = if of > 1 { format!("{number} of {of}, {name}") } else { name.clone() };
        // From this thread, which outlives it: the kernel ends it with the thread that started it.
        let sockets = match platform {
            Platform::Netns if made > 0 => {
                let folder = self.settings.out.join(&name);
                Some(Arc::new(Sockets::start(&folder, self.settings.worker)?))
            }
            Platform::Sim | Platform::Netns | Platform::Real => None,
        };
        (self.on_event)(Event::Began { label: &label, runs, kept: runs - made })?;
        let mut pace = Pace { began: Instant::now(), packets: 0 };
        let well = self.make((&plan, platform, sockets.as_ref()), &mut results, &mut kept, &mut pace);
        let seconds = pace.seconds();
        (self.on_event)(Event::Ended)?;
        well?;
        let accuracy = sockets.as_ref().map(|sockets| sockets.accuracy());
        Ok(Made {
            source,
            plan,
            platform,
            name,
            kept,
            results,
            runs,
            made,
            clock,
            started,
            pace,
            seconds,
            accuracy,
        })
    }

    /// How many runs of a task there are, and how many of them are missing.
    fn to_make(&self, task: &Task) -> (usize, usize) {
        (self.settings.count(&task.plan), self.settings.missing(&task.plan, &task.looked.results))
    }

    /// Real time passes once, and what is measured here must not have another run beside it.
    fn threads_on(&self, platform: Platform) -> usize {
        if platform == Platform::Sim { self.threads } else { 1 }
    }

    /// Says what there is to do, and what is there.
    fn announce(&mut self, task: &Task) -> Result<(), RunError> {
        let Task { source, plan, platform, looked, position } = task;
        let name = folder::folder_name(plan.name(), *platform);
        let (all, missing) = self.to_make(task);
        let settings = self.settings;
        let (folder, journal) = (settings.out.display(), self.journal());
        match &looked.afresh {
            Some(why) => self.say(format!("{name}: begins afresh; {why}"))?,
            None if missing < all => {
                self.say(format!("{name}: goes on; {} of {all} runs are there", all - missing))?;
            }
            None => {}
        }
        if looked.damaged > 0 {
            let lines = counted(looked.damaged, "damaged line");
            self.say(format!("{name}: {lines} at the end of {folder}/{name}/{journal} cannot be used"))?;
        }
        if looked.strangers > 0 {
            let rows = counted(looked.strangers, "kept row");
            self.say(format!("{name}: {rows} of other runs of this plan stay in {folder}/{name}/{journal}"))?;
        }
        let before = Record::read(&self.settings.out.join(&name)).ok();
        if before.is_some_and(|before| before.plan.runs_digest == plan.digest()) {
            let hint = format!("`guestright-lab report {folder} --with {}`", source.name);
            self.say(format!(
                "{name}: the same runs were made before; {hint} makes figures anew without running"
            ))?;
        }
        let which = match position {
            (_, 1) => String::new(),
            (number, of) => format!("plan {number} of {of}, "),
        };
        let how = match platform {
            Platform::Sim => format!("{} at a time", self.threads),
            Platform::Real => "one after the other, on this computer".to_owned(),
            Platform::Netns => {
                let about = netns::seconds_missing(plan, &looked.results)
                    .map(|seconds| format!(": about {:.0} s", seconds.ceil()));
                format!("on real sockets, one after the other{}", about.unwrap_or_default())
            }
        };
        self.say(format!("{name}: {which}{} to make, {how}", counted(missing, "run")))
    }

    /// Makes the runs that are missing.
    fn make(
        &mut self,
        (plan, platform, sockets): (&Plan, Platform, Option<&Arc<Sockets>>),
        results: &mut Results,
        kept: &mut KeptRows,
        pace: &mut Pace,
    ) -> Result<(), BatchError> {
        let mut jobs = plan.runs();
        let is_mine = |run: &Run| self.settings.shard.is_none_or(|shard| shard.has(run.index));
        jobs.retain(|run| is_mine(run) && results.get(run.index).is_none());
        // Sweeps grow as a rule: the long runs of each replication first, so that no thread is left alone with one. The
        // replications one after the other, so that the time left is known early.
        jobs.sort_by_key(|run| (run.replication, Reverse(run.index)));
        let runs = jobs.clone();
        let testbed = plan.testbed();
        let sender = self.inbox.sender.clone();
        let sockets = sockets.cloned();
        let work = move |run: &Run| match &sockets {
            None => testbed.run(&run.settings, run.seed.clone()).map_err(Broken::Setting),
            Some(sockets) => sockets.run(run, testbed).map_err(Broken::Sockets),
        };
        let on_done = move |index, done| sender.send(Message::Done(index, done)).is_ok();
        pool::start(jobs, self.threads_on(platform), work, on_done).map_err(RunError::network)?;
        for _ in 0..runs.len() {
            match self.inbox.receiver.recv() {
                Ok(Message::Done(index, done)) => {
                    let row = row(plan, &runs[index], done)?;
                    kept.add(plan, &runs[index], &row)?;
                    pace.packets = pace.packets.saturating_add(row.packets);
                    (self.on_event)(Event::RunMade { rate: pace.rate() })?;
                    results.insert(runs[index].index, row).map_err(RunError::bug)?;
                }
                Ok(Message::Stop) | Err(_) => {
                    let (all, missing) = (self.settings.count(plan), self.settings.missing(plan, results));
                    let kept =
                        format!("stopped: {} of {all} runs of {} are kept", all - missing, plan.name());
                    return Err(BatchError::Stopped(kept));
                }
            }
        }
        Ok(())
    }
}

/// How fast the runs of a plan are made.
struct Pace {
    began: Instant,
    packets: u64,
}

impl Pace {
    fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Packets in a second.
    fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let packets = self.packets as f64;
        packets / self.seconds().max(1e-3)
    }
}

/// The row of a run.
fn row(plan: &Plan, run: &Run, done: Done<Result<Outcome, Broken>>) -> Result<Row, BatchError> {
    let which = || {
        let point: Vec<String> =
            plan.axes().zip(&run.point).map(|(axis, value)| format!("{axis} = {value}")).collect();
        format!("run {} of {} (case {}, {})", run.index, plan.name(), run.case, point.join(", "))
    };
    match done {
        Done::Well(Ok(outcome)) => Ok(Row::new(plan, &outcome).map_err(RunError::bug)?),
        Done::Well(Err(Broken::Setting(source))) => Err(BatchError::Refused { run: which(), source }),
        Done::Well(Err(Broken::Sockets(source))) => Err(BatchError::OnSockets { run: which(), source }),
        Done::Broken => Err(BatchError::Panicked { run: which() }),
    }
}

#[cfg(test)]
mod tests;
