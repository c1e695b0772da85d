//! The hand that leads the worker: outside of the sandbox, where files are written.

use super::request::Request;
use super::router;
use super::worker::{Answer, Bed, Late, Note, Order};
use crate::error::{BenchError, Doing};
use crate::table::hexadecimal;
use guestright_emulator::tcp;
use guestright_experiment::{Outcome, Plan, Results, Run, Testbed};
use guestright_netns::Sandbox;
use guestright_results::Journal;
use guestright_world::{tcp as router_bed, transports};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};

/// Beside the rows: how each run went, a line of JSON for each.
const NOTES: &str = "emulation.jsonl";
/// What a run takes beside its own time, in seconds: hosts, connections, a quiet path.
const AROUND_S: f64 = 0.5;
/// The same over QUIC, whose ends take leave of each other.
const AROUND_QUIC_S: f64 = 2.5;
/// Above this, the emulator is said to be late.
const LATE_US: u64 = 2_000;

/// Makes runs on real sockets, one after the other.
#[derive(Debug)]
pub struct Sockets {
    worker: Mutex<Led>,
}

#[derive(Debug)]
struct Led {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    notes: Journal,
    made: Vec<Note>,
}

/// Whether every run of a plan can be made on real sockets of this computer.
///
/// # Errors
/// [`BenchError::NotOnSockets`] for another testbed, and [`BenchError::Refused`] with everything that is not to be had.
pub fn check_plan(plan: &Plan) -> Result<(), BenchError> {
    let got = plan.testbed().name();
    let Some(bed) = Bed::of(got) else {
        let want = [transports::NAME, router_bed::NAME];
        return Err(BenchError::NotOnSockets { plan: plan.name().to_owned(), got, want });
    };
    let offered = tcp::offered()?;
    let mut refusals = BTreeSet::new();
    for run in plan.runs() {
        let read = match bed {
            Bed::Transports => Request::read(&run.settings, &offered).map(drop),
            Bed::Tcp => router::Request::read(&run.settings, run.seed.clone()).map(drop),
        };
        if let Err(error) = read {
            refusals.insert(format!("case {}: {error}", run.case));
        }
    }
    if refusals.is_empty() {
        return Ok(());
    }
    Err(BenchError::Refused { plan: plan.name().to_owned(), refusals: refusals.into_iter().collect() })
}

/// About how many seconds the runs that are missing will take, if that can be known: a transfer of so many bytes ends
/// when it does.
#[must_use]
pub fn seconds_missing(plan: &Plan, results: &Results) -> Option<f64> {
    if Bed::of(plan.testbed().name()) != Some(Bed::Transports) {
        return None;
    }
    let missing = plan.runs().into_iter().filter(|run| results.get(run.index).is_none());
    let seconds = missing.map(|run| {
        let is_quic = run.settings.text("transport").is_ok_and(|transport| transport.starts_with("quic"));
        let around = if is_quic { AROUND_QUIC_S } else { AROUND_S };
        run.settings.float("duration_s").unwrap_or(0.0) + around
    });
    Some(seconds.sum())
}

impl Sockets {
    /// Starts the worker, which is this program with these arguments; there it calls [`serve`](super::serve). It ends with
    /// the thread that calls this. What is told of runs goes into the folder.
    ///
    /// # Errors
    /// If this computer makes no sandboxes, the worker cannot be started, or the folder cannot be written to.
    pub fn start(folder: &Path, worker: &[&str]) -> Result<Self, BenchError> {
        let mode = Sandbox::probe().map_err(BenchError::NoSandbox)?;
        let program = std::env::current_exe()?;
        let mut command = Sandbox::command(mode, &program, worker);
        // Ctrl-C is for us.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().doing("start the process that makes runs on real sockets")?;
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let (mut notes, kept) = Journal::open(&folder.join(NOTES))?;
        match kept.head {
            Some(_) => notes.go_on(kept.lines.len()),
            None => notes.begin(&json!({ "notes": "one line for each run" }).to_string()),
        }?;
        Ok(Self { worker: Mutex::new(Led { child, orders, answers, notes, made: Vec::new() }) })
    }

    /// Makes a run.
    ///
    /// # Errors
    /// If the run fails, the worker has ended, or the notes cannot be written.
    pub fn run(&self, run: &Run, testbed: &dyn Testbed) -> Result<Outcome, BenchError> {
        let mut led = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let bed = Bed::of(testbed.name())
            .ok_or_else(|| BenchError::Run(format!("{} is not made on sockets", testbed.name())))?;
        let order = Order { testbed: bed, settings: (*run.settings).clone(), seed: run.seed.0 };
        let row = match led.ask(&order)? {
            Answer::Measured(row) => row,
            Answer::Failed(what) => return Err(BenchError::Run(what)),
        };
        let mut outcome = Outcome::default();
        for metric in testbed.metrics() {
            outcome.set(metric.name, row.metrics.get(metric.name).copied().flatten());
        }
        (outcome.packets, outcome.events) = (row.packets, row.events);
        let line = json!({
            "run": run.index,
            "case": run.case,
            "seed": hexadecimal(&run.seed.0),
            "note": row.note,
        });
        led.notes.add(&line.to_string())?;
        led.made.push(row.note);
        Ok(outcome)
    }

    /// How late packets were, and what could not be had.
    #[must_use]
    pub fn accuracy(&self) -> String {
        let led = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        describe(&led.made)
    }
}

fn describe(notes: &[Note]) -> String {
    let over = |all: Vec<Late>| {
        let mut halves: Vec<u64> = all.iter().map(|late| late.p50_us).collect();
        halves.sort_unstable();
        Late {
            p50_us: halves.get(halves.len() / 2).copied().unwrap_or(0),
            p99_us: all.iter().map(|late| late.p99_us).max().unwrap_or(0),
            max_us: all.iter().map(|late| late.max_us).max().unwrap_or(0),
        }
    };
    let emulator = over(notes.iter().map(|note| note.emulator).collect());
    let voice = over(notes.iter().filter_map(|note| note.voice).collect());
    let mut text = format!(
        "packets left the path {} µs late (half of them), {} µs (99 of 100 in the worst run), {} µs (at most)",
        emulator.p50_us, emulator.p99_us, emulator.max_us
    );
    if notes.iter().any(|note| note.voice.is_some()) {
        let Late { p50_us, p99_us, max_us } = voice;
        text += &format!("; speech was made {p50_us}, {p99_us}, {max_us} µs late");
    }
    if notes.iter().any(|note| !note.urgent) {
        text += "; the kernel gave no fixed priority, so a busy computer makes it worse";
    }
    if emulator.p99_us > LATE_US || voice.p99_us > LATE_US {
        text += "; delays are only as good as that: run it again on an idle computer";
    }
    text
}

impl Led {
    fn ask(&mut self, order: &Order) -> Result<Answer, BenchError> {
        let ended = |child: &mut Child| {
            let status = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            BenchError::WorkerEnded { status }
        };
        let Some(orders) = &mut self.orders else { return Err(ended(&mut self.child)) };
        let text = serde_json::to_string(order)? + "\n";
        if orders.write_all(text.as_bytes()).and_then(|()| orders.flush()).is_err() {
            self.orders = None;
            return Err(ended(&mut self.child));
        }
        let mut line = String::new();
        self.answers.read_line(&mut line).doing("read what the run gave")?;
        if line.is_empty() {
            self.orders = None;
            return Err(ended(&mut self.child));
        }
        serde_json::from_str(&line).doing("understand what the run gave")
    }
}

impl Drop for Led {
    fn drop(&mut self) {
        // Without orders it ends by itself, unless it is in the middle of a run.
        self.orders = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_the_worst_of_all_runs() {
        let late = |p50_us, p99_us, max_us| Late { p50_us, p99_us, max_us };
        let good = Note {
            emulator: late(10, 50, 90),
            voice: Some(late(20, 40, 60)),
            urgent: true,
            ..Note::default()
        };
        let bad = Note { emulator: late(30, 3_000, 9_000), urgent: false, ..good.clone() };
        let text = describe(std::slice::from_ref(&good));
        assert!(
            text.contains("10 µs late (half of them), 50 µs") && text.contains("20, 40, 60 µs"),
            "{text}"
        );
        assert!(!text.contains("priority") && !text.contains("again"), "{text}");
        let text = describe(&[good, bad]);
        assert!(text.contains("3000 µs (99 of 100") && text.contains("9000 µs (at most)"), "{text}");
        assert!(text.contains("no fixed priority") && text.contains("run it again"), "{text}");
    }
}
