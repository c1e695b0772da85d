//! Runs on many threads, while Python goes on.

use guestright_experiment::{Outcome, Plan, Results, Run, SettingError};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::cmp::Reverse;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The most runs at a time: what the program's `--threads` takes.
const THREADS_MAX: usize = 1_024;
/// How long Ctrl-C waits at most until it is seen.
const LOOK: Duration = Duration::from_millis(50);

/// A run's index, and what became of it; nothing if it panicked.
type Done = (usize, Option<Result<Outcome, SettingError>>);

/// Makes runs of a plan.
///
/// # Errors
/// The number of threads is not from 1 to 1,024, a testbed refused a run, `progress` raised an exception, or a signal did.
/// Runs that are being made then come to their end in the background, and no new one is begun.
pub(crate) fn make(
    py: Python<'_>,
    plan: &Arc<Plan>,
    runs: &Arc<Vec<Run>>,
    indices: Vec<usize>,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Results> {
    let wanted = indices.len();
    let threads = threads_of(threads)?.min(wanted.max(1));
    let mut crew = Crew::start(plan, runs, indices, threads)?;
    let mut results = Results::new(plan);
    let mut made = 0;
    while made < wanted {
        let finished = &mut crew.finished;
        let done = py.detach(move || finished.recv_timeout(LOOK));
        py.check_signals()?;
        match done {
            Ok((index, outcome)) => {
                let outcome = outcome.ok_or_else(|| panicked(plan, index))?;
                let outcome =
                    outcome.map_err(|error| PyValueError::new_err(format!("run {index}: {error}")))?;
                let run = &runs[index];
                results
                    .record(plan, run, &outcome)
                    .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
                made += 1;
                if let Some(progress) = progress {
                    progress.call1(py, (made, wanted))?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the threads have ended early"));
            }
        }
    }
    Ok(results)
}

fn threads_of(threads: Option<usize>) -> PyResult<usize> {
    match threads {
        None => Ok(std::thread::available_parallelism().map_or(1, NonZero::get)),
        Some(threads) if (1..=THREADS_MAX).contains(&threads) => Ok(threads),
        Some(threads) => Err(PyValueError::new_err(format!(
            "threads is {threads}; a whole number from 1 to {THREADS_MAX} is wanted"
        ))),
    }
}

fn panicked(plan: &Plan, index: usize) -> PyErr {
    PyRuntimeError::new_err(format!(
        "run {index} of {} ended in a panic\nhint: this is a mistake of the simulator: please report it with the plan",
        plan.name()
    ))
}

/// Threads that make runs. Dropped, they begin no other.
struct Crew {
    finished: Receiver<Done>,
    over: Arc<AtomicBool>,
}

impl Crew {
    fn start(plan: &Arc<Plan>, runs: &Arc<Vec<Run>>, mut jobs: Vec<usize>, threads: usize) -> PyResult<Self> {
        // In the order of the program: the long runs of each replication first, one replication after the other.
        jobs.sort_by_key(|index| (runs[*index].replication, Reverse(*index)));
        let (sender, finished) = channel();
        let over = Arc::new(AtomicBool::new(false));
        let worker = Worker {
            plan: Arc::clone(plan),
            runs: Arc::clone(runs),
            jobs: Arc::new(jobs),
            next: Arc::new(AtomicUsize::new(0)),
            over: Arc::clone(&over),
            sender,
        };
        for number in 0..threads {
            let worker = worker.clone();
            std::thread::Builder::new().name(format!("run-{number}")).spawn(move || worker.work())?;
        }
        Ok(Self { finished, over })
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

#[derive(Clone)]
struct Worker {
    plan: Arc<Plan>,
    runs: Arc<Vec<Run>>,
    jobs: Arc<Vec<usize>>,
    next: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    sender: Sender<Done>,
}

impl Worker {
    fn work(&self) {
        while !self.over.load(Ordering::Relaxed) {
            let Some(index) = self.jobs.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return };
            let run = &self.runs[*index];
            let outcome =
                catch_unwind(AssertUnwindSafe(|| self.plan.testbed().run(&run.settings, run.seed.clone())));
            if self.sender.send((*index, outcome.ok())).is_err() {
                return;
            }
        }
    }
}
