//! The hand that leads the worker: outside of the sandbox, where files are written.

use super::request::Request;
use super::worker::{Answer, Late, Note, Order};
use crate::commands::table::hexadecimal;
use anyhow::{Context, anyhow};
use guestright_cli::failure::{Failure, Outcome};
use guestright_emulator::tcp;
use guestright_experiment::{self as experiment, Plan, Results, Run, Testbed};
use guestright_netns::Sandbox;
use guestright_results::Journal;
use guestright_world::transports;
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
pub(in crate::commands) struct Sockets {
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
pub(in crate::commands) fn check(plan: &Plan) -> Outcome {
    if plan.testbed().name() != transports::NAME {
        let error = anyhow!(
            "{}: the testbed {} is not on real sockets; only {} is",
            plan.name(),
            plan.testbed().name(),
            transports::NAME
        );
        return Err(Failure::config(error).hint("run it on the simulator"));
    }
    let offered = tcp::offered().map_err(Failure::network)?;
    let mut refusals = BTreeSet::new();
    for run in plan.runs() {
        if let Err(error) = Request::read(&run.settings, &offered) {
            refusals.insert(format!("case {}: {error}", run.case));
        }
    }
    if refusals.is_empty() {
        return Ok(());
    }
    let refusals: Vec<String> = refusals.into_iter().collect();
    let error = anyhow!("{} cannot be run on real sockets here\n{}", plan.name(), refusals.join("\n"));
    Err(Failure::config(error).hint("change these settings, or run it on the simulator"))
}

/// How long the runs that are missing will take, in words.
pub(in crate::commands) fn takes(plan: &Plan, results: &Results) -> String {
    let missing = plan.runs().into_iter().filter(|run| results.get(run.index).is_none());
    let seconds = missing.map(|run| {
        let is_quic = run.settings.text("transport").is_ok_and(|transport| transport.starts_with("quic"));
        let around = if is_quic { AROUND_QUIC_S } else { AROUND_S };
        run.settings.float("duration_s").unwrap_or(0.0) + around
    });
    let seconds: f64 = seconds.sum();
    format!("on real sockets, one after the other: about {:.0} s", seconds.ceil())
}

impl Sockets {
    /// Starts the worker. It ends with the thread that calls this; what is told of runs goes into the folder.
    pub(in crate::commands) fn start(folder: &Path) -> Result<Self, Failure> {
        let mode = Sandbox::probe().map_err(|error| {
            Failure::network(error).hint("`guestright doctor` says what else this computer needs")
        })?;
        let program = std::env::current_exe()?;
        let mut command = Sandbox::command(mode, &program, ["netns-worker"]);
        // Ctrl-C is for us.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("start the process that makes runs on real sockets")?;
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("its answers")?);
        let (mut notes, kept) = Journal::open(&folder.join(NOTES)).map_err(Failure::config)?;
        match kept.head {
            Some(_) => notes.go_on(kept.lines.len()),
            None => notes.begin(&json!({ "notes": "one line for each run" }).to_string()),
        }
        .map_err(Failure::config)?;
        Ok(Self { worker: Mutex::new(Led { child, orders, answers, notes, made: Vec::new() }) })
    }

    /// Makes a run.
    pub(in crate::commands) fn run(
        &self,
        run: &Run,
        testbed: &dyn Testbed,
    ) -> Result<experiment::Outcome, Failure> {
        let mut led = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let order = Order { settings: (*run.settings).clone(), seed: run.seed.0 };
        let row = match led.ask(&order)? {
            Answer::Measured(row) => row,
            Answer::Failed(what) => return Err(Failure::network(anyhow!(what))),
        };
        let mut outcome = experiment::Outcome::default();
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
        led.notes.add(&line.to_string()).map_err(Failure::config)?;
        led.made.push(row.note);
        Ok(outcome)
    }

    /// How late packets were, and what could not be had.
    pub(in crate::commands) fn accuracy(&self) -> String {
        let led = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        said(&led.made)
    }
}

fn said(notes: &[Note]) -> String {
    let over = |of: fn(&Note) -> Late| {
        let all = || notes.iter().map(of);
        let mut halves: Vec<u64> = all().map(|late| late.p50_us).collect();
        halves.sort_unstable();
        Late {
            p50_us: halves.get(halves.len() / 2).copied().unwrap_or(0),
            p99_us: all().map(|late| late.p99_us).max().unwrap_or(0),
            max_us: all().map(|late| late.max_us).max().unwrap_or(0),
        }
    };
    let (emulator, voice) = (over(|note| note.emulator), over(|note| note.voice));
    let mut text = format!(
        "packets left the path {} µs late (half of them), {} µs (99 of 100 in the worst run), {} µs (at most); \
         speech was made {}, {}, {} µs late",
        emulator.p50_us, emulator.p99_us, emulator.max_us, voice.p50_us, voice.p99_us, voice.max_us
    );
    if notes.iter().any(|note| !note.urgent) {
        text += "; the kernel gave no fixed priority, so a busy computer makes it worse";
    }
    if emulator.p99_us > LATE_US || voice.p99_us > LATE_US {
        text += "; delays are only as good as that: run it again on an idle computer";
    }
    text
}

impl Led {
    fn ask(&mut self, order: &Order) -> Result<Answer, Failure> {
        let ended = |child: &mut Child| {
            let status = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            Failure::network(anyhow!("the process that makes runs on real sockets has ended ({status})"))
                .hint("its last words are above; the same command goes on from here")
        };
        let Some(orders) = &mut self.orders else { return Err(ended(&mut self.child)) };
        let text = serde_json::to_string(order)? + "\n";
        if orders.write_all(text.as_bytes()).and_then(|()| orders.flush()).is_err() {
            self.orders = None;
            return Err(ended(&mut self.child));
        }
        let mut line = String::new();
        self.answers.read_line(&mut line).context("read what the run gave")?;
        if line.is_empty() {
            self.orders = None;
            return Err(ended(&mut self.child));
        }
        Ok(serde_json::from_str(&line).context("understand what the run gave")?)
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
        let good =
            Note { emulator: late(10, 50, 90), voice: late(20, 40, 60), urgent: true, ..Note::default() };
        let bad = Note { emulator: late(30, 3_000, 9_000), urgent: false, ..good.clone() };
        let text = said(std::slice::from_ref(&good));
        assert!(
            text.contains("10 µs late (half of them), 50 µs") && text.contains("20, 40, 60 µs"),
            "{text}"
        );
        assert!(!text.contains("priority") && !text.contains("again"), "{text}");
        let text = said(&[good, bad]);
        assert!(text.contains("3000 µs (99 of 100") && text.contains("9000 µs (at most)"), "{text}");
        assert!(text.contains("no fixed priority") && text.contains("run it again"), "{text}");
    }
}
