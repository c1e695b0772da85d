//! Tests of whole systems: each in a process of its own, as many at once as leave the processors time to spare.
//!
//! They wait most of the time, for timeouts and for speech that is played, and then compute all at once. A fixed number
//! of threads is too small for the one and too large for the other; and `libtest` begins with the first letter of the
//! alphabet, so that the last to begin may be the longest.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::Tally;
use super::lanes::{Program, Report, with_niceness};
use crate::steps::line;

/// No more tests than this many for each core run at once: their networks take memory.
const TESTS_PER_CORE: usize = 6;
/// A test is begun while at least this part of the processors' time is idle, or spent on tests that give way.
const SPARE_PART_MIN: f64 = 0.25;
/// Over this time that part is measured. What has begun meanwhile has shown by then what it needs.
const WINDOW: Duration = Duration::from_millis(300);
/// Those that take longest begin first: half a minute to one and a half, most of it waiting.
const LONGEST: [&str; 16] = [
    "a_minute_of_silence",
    "way_home::moving::",
    "a_laptop_goes_through",
    "retention::",
    "phones::",
    "demo::the_demo",
    "metrics::",
    "credit::",
    "zero_install::",
    "way_home::day::",
    "advise::every_transport",
    "openwrt::",
    "faults::",
    "setup::",
    "way_home::",
    "plans::",
];

/// Tests in which people talk, in real time: a word that comes late because something else computes is lost, as it would be in a
/// call. They go first, where the caller may say so.
const SPOKEN: [&str; 8] = [
    "call::",
    "voice::",
    "mos::",
    "demo::",
    "meter::",
    "talking::",
    "moving::",
    "way_home::day::a_laptop_goes_through",
];
const SPOKEN_NICENESS: &str = "-10";

/// One test of one program.
struct Test<'a> {
    program: &'a Program,
    name: String,
}

struct Done {
    name: String,
    program: String,
    took: Duration,
    passed: bool,
    text: String,
}

/// Runs every test of these programs.
pub(super) fn run(programs: &[Program]) -> Result<Report> {
    let began = Instant::now();
    let mut waiting: VecDeque<Test<'_>> = sorted(programs)?.into();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut report = Report::default();
    let mut processors = Processors::read()?;
    let (sender, done) = mpsc::channel::<Result<Done>>();
    let mut running = 0;
    std::thread::scope(|scope| {
        while running > 0 || !waiting.is_empty() {
            let may_begin =
                running < cores || (running < cores * TESTS_PER_CORE && processors.have_time()?);
            if may_begin && let Some(test) = waiting.pop_front() {
                let sender = sender.clone();
                scope.spawn(move || drop(sender.send(one(&test))));
                running += 1;
                if running < cores {
                    continue;
                }
            }
            match done.recv_timeout(WINDOW) {
                Ok(test) => {
                    running -= 1;
                    report.add(test?);
                }
                Err(_nothing_within_the_window) => {}
            }
        }
        anyhow::Ok(())
    })?;
    for program in programs {
        report.tally.suites += 1;
        report.took.push((began.elapsed(), program.name.clone()));
    }
    Ok(report)
}

impl Report {
    fn add(&mut self, test: Done) {
        let verdict = if test.passed { "ok" } else { "FAILED" };
        println!("{} | test {} ... {verdict} ({:.1} s)", test.program, test.name, test.took.as_secs_f64());
        if test.passed {
            self.tally.passed += 1;
        } else {
            self.tally.failed += 1;
            test.text.lines().for_each(|line| println!("{} | {line}", test.program));
            self.tally.names_failed.push(test.name);
        }
    }
}

/// All tests, those that take longest first.
fn sorted(programs: &[Program]) -> Result<Vec<Test<'_>>> {
    let mut tests = Vec::new();
    for program in programs {
        let ignored = names(program, &["--ignored"])?;
        let all = names(program, &[])?.into_iter().filter(|name| !ignored.contains(name));
        tests.extend(all.map(|name| Test { program, name }));
    }
    tests.sort_by_key(|test| {
        LONGEST.iter().position(|part| test.name.contains(part)).unwrap_or(LONGEST.len())
    });
    Ok(tests)
}

/// The names of a program's tests.
fn names(program: &Program, more: &[&str]) -> Result<Vec<String>> {
    let mut command = program.command();
    command.args(["--list", "--format", "terse"]).args(more);
    let output = command.output().with_context(|| format!("start `{}`", line(&command)))?;
    ensure!(output.status.success(), "`{}` failed: {}", line(&command), output.status);
    let names = String::from_utf8(output.stdout).context("names of tests")?;
    Ok(names.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

fn one(test: &Test<'_>) -> Result<Done> {
    let began = Instant::now();
    let mut command = test.program.command();
    command.args(["--exact", &test.name]);
    if SPOKEN.iter().any(|part| test.name.contains(part)) && rustix::process::geteuid().is_root() {
        command = with_niceness(&command, SPOKEN_NICENESS);
    }
    command.stdin(Stdio::null());
    let output = command.output().with_context(|| format!("start `{}`", line(&command)))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    let mut tally = Tally::default();
    text.lines()
        .rev()
        .find(|line| line.contains("test result: "))
        .into_iter()
        .for_each(|line| tally.count(line));
    let passed = output.status.success() && tally.passed == 1 && tally.failed == 0;
    let (name, program) = (test.name.clone(), test.program.name.clone());
    Ok(Done { name, program, took: began.elapsed(), passed, text })
}

/// What the processors did until some moment.
struct Processors {
    spare: u64,
    all: u64,
    at: Instant,
}

impl Processors {
    fn read() -> Result<Self> {
        let text = std::fs::read_to_string("/proc/stat").context("/proc/stat")?;
        let (spare, all) = parse(&text).context("/proc/stat has no line `cpu`")?;
        Ok(Self { spare, all, at: Instant::now() })
    }

    /// Whether there was time to spare in the last window; once for each window.
    fn have_time(&mut self) -> Result<bool> {
        if self.at.elapsed() < WINDOW {
            return Ok(false);
        }
        let now = Self::read()?;
        let all = now.all.saturating_sub(self.all).max(1);
        let part = now.spare.saturating_sub(self.spare) as f64 / all as f64;
        *self = now;
        Ok(part >= SPARE_PART_MIN)
    }
}

/// Time that nobody or only what gives way has used, and all time (proc(5)).
fn parse(text: &str) -> Option<(u64, u64)> {
    let times: Vec<u64> = text
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .map_while(|time| time.parse().ok())
        .collect();
    let [_user, nice, _system, idle, waiting, ..] = times.as_slice() else { return None };
    Some((nice + idle + waiting, times.iter().take(8).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_processors_did() {
        let text = "cpu  100 20 30 400 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!(parse(text), Some((470, 621)));
        assert_eq!(parse("cpu 1 2\n"), None);
        assert_eq!(parse(""), None);
    }
}
