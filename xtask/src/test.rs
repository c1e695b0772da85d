//! Every test, with one count at the end.

mod lanes;
mod system;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};

use crate::steps::{Done, Steps, cargo, line};
use crate::workspace::{self, Room};

/// The target of a test that stands in the library itself.
const LIBRARY: &str = "";
/// What takes minutes, or an hour: package, target and name of tests that are `#[ignore]`d elsewhere. `cargo xtask test
/// nightly` runs them, in a release build.
const NIGHTLY: [[&str; 3]; 8] = [
    ["guestright-credit", LIBRARY, "holds::tests::ten_thousand_runs_break_no_rule"],
    ["guestright-legacy", "schedules", "ten_thousand_schedules_do"],
    ["guestright-firewall", "access_point", "what_orders_and_queues_cost"],
    ["guestright", "system", "fast_line::a_guest_on_a_fast_line"],
    [
        "guestright",
        "system",
        "renewal::ten_renewals_pass_unattended_and_each_end_has_its_sentence_on_both_sides",
    ],
    ["guestright", "system", "way_home::day::a_laptop_goes_through_a_day_whose_home_is_gone_for_an_hour"],
    ["guestright", "system", "soak::hours_of_visits_leave_memory_and_descriptors_as_they_were"],
    [
        "guestright",
        "system",
        "way_home::hostile_access_point::in_1000_random_scripts_nothing_leaves_and_nobody_comes_in",
    ],
];

/// What proptest draws its cases from is a number in this variable: that of the caller, else always the same one, so that a
/// run can be repeated. Only a night has a fresh one.
const SEED_VARIABLE: &str = "PROPTEST_RNG_SEED";
const SEED: &str = "1";

/// How many tests of one program run at once. They wait more than they compute, but networks take memory.
const THREADS: (usize, usize) = (2, 4);

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => lanes::run(),
        [one] if one == "nightly" => nightly(),
        some => chosen(some),
    }
}

fn nightly() -> Result<()> {
    let mut steps = Steps::default();
    let seed = std::env::var(SEED_VARIABLE).or_else(|_| fresh_seed())?;
    let again = format!("{SEED_VARIABLE}={seed} cargo xtask test nightly");
    println!("`{again}` draws the same cases once more");
    steps.run("properties", || {
        let tally = watch(properties()?.env(SEED_VARIABLE, &seed), "")?;
        ensure!(tally.is_good() && tally.passed > 0, "{:?}; `{again}` repeats it", tally.names_failed);
        Ok(Done::Passed)
    });
    for [package, target, test] in NIGHTLY {
        steps.run(test, || {
            let mut command = cargo(&["test", "--release", "--all-features", "--package", package]);
            if target == LIBRARY {
                command.arg("--lib")
            } else {
                command.args(["--test", target])
            };
            command.args(["--", "--exact", "--include-ignored", "--nocapture", test]);
            let tally = watch(command.env(SEED_VARIABLE, &seed), "")?;
            // A name that nothing has is no failure to Cargo.
            ensure!(tally.is_good() && tally.passed == 1, "{} of 1 passed", tally.passed);
            Ok(Done::Passed)
        });
    }
    steps.run("programs of routers", crate::router::nightly);
    steps.finish()
}

/// The tests of all packages that compute and draw cases, as `cargo xtask test` builds them.
fn properties() -> Result<Command> {
    let mut command = cargo(&["test", "--all-features", "--no-fail-fast"]);
    for package in workspace::packages()? {
        let draws = package.dependencies.iter().any(|dependency| dependency.name == "proptest");
        if draws && Room::of(&package.folder).is_sealed() {
            command.args(["--package", &package.name]);
        }
    }
    Ok(command)
}

/// Another number each night.
fn fresh_seed() -> Result<String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    Ok(since.as_secs().to_string())
}

fn seed() -> String {
    std::env::var(SEED_VARIABLE).unwrap_or_else(|_| SEED.to_owned())
}

/// The tests that the arguments choose, which are those of `cargo test`.
fn chosen(arguments: &[String]) -> Result<()> {
    let began = Instant::now();
    let mut command = cargo(&["test", "--workspace", "--all-features", "--no-fail-fast"]);
    command.args(arguments).env("RUST_TEST_THREADS", threads()).env(SEED_VARIABLE, seed());
    watch(&mut command, "")?.finish(began)
}

/// How many tests of one program run at once: what the caller says, else as many as there are cores, within [`THREADS`].
/// Twice as many let a visitor's receipts come too late beside three other networks.
fn threads() -> String {
    std::env::var("RUST_TEST_THREADS").unwrap_or_else(|_| {
        let cores = std::thread::available_parallelism().map_or(THREADS.0, usize::from);
        cores.clamp(THREADS.0, THREADS.1).to_string()
    })
}

/// Runs the command, passes on what it prints, each line behind the prefix, and counts along.
fn watch(command: &mut Command, prefix: &str) -> Result<Tally> {
    let line = line(command);
    println!("{prefix}$ {line}");
    // One pipe for both, so that a line about a failure stands where it was printed.
    let (reader, writer) = std::io::pipe().context("open a pipe")?;
    command.stderr(writer.try_clone().context("share a pipe")?).stdout(writer).stdin(Stdio::null());
    let mut child = command.spawn().with_context(|| format!("start `{line}`"))?;
    // The command holds our ends of the pipe, which would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut tally = Tally::default();
    for text in BufReader::new(reader).split(b'\n') {
        let text = text.with_context(|| format!("output of `{line}`"))?;
        let text = String::from_utf8_lossy(&text);
        tally.count(&text);
        println!("{prefix}{text}");
    }
    if !child.wait().with_context(|| format!("wait for `{line}`"))?.success() {
        tally.commands_failed.push(line);
    }
    Ok(tally)
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    suites: u32,
    passed: u32,
    failed: u32,
    ignored: u32,
    names_failed: Vec<String>,
    commands_failed: Vec<String>,
}

impl Tally {
    fn is_good(&self) -> bool {
        self.failed == 0 && self.commands_failed.is_empty()
    }

    fn add(&mut self, other: Self) {
        self.suites += other.suites;
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.names_failed.extend(other.names_failed);
        self.commands_failed.extend(other.commands_failed);
    }

    /// Prints the one line that counts, after the names of what failed.
    fn finish(self, began: Instant) -> Result<()> {
        let is_good = self.is_good();
        for command in &self.commands_failed {
            println!("failed: `{command}`");
        }
        for name in &self.names_failed {
            println!("failed: {name}");
        }
        println!(
            "\ntests: {} passed; {} failed; {} ignored; {} suites; {:.0} s",
            self.passed,
            self.failed,
            self.ignored,
            self.suites,
            began.elapsed().as_secs_f64()
        );
        ensure!(is_good, "tests failed, or did not compile: see above");
        Ok(())
    }

    fn count(&mut self, line: &str) {
        let line = without_colour(line);
        if let Some(test) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.names_failed.push(test.to_owned());
        }
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        self.suites += 1;
        for count in counts.split("; ") {
            let Some((number, what)) = count.split_once(' ') else {
                continue;
            };
            let number: u32 = number.parse().unwrap_or(0);
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// The line without the escape sequences `ESC … m`, and without what else is in `ESC ( B`.
fn without_colour(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = match part.strip_prefix("(B") {
            Some(rest) => rest,
            None => part.split_once('m').map_or("", |(_, rest)| rest),
        };
        plain.push_str(rest);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_the_runner_says() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test a::b ... ok",
            "test a::c ... \u{1b}[31mFAILED\u{1b}(B\u{1b}[m",
            "test result: \u{1b}[31mFAILED\u{1b}(B\u{1b}[m. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out",
            "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.00s",
        ] {
            tally.count(line);
        }
        let names_failed = vec!["a::c".to_owned()];
        assert_eq!(
            tally,
            Tally { suites: 2, passed: 6, failed: 1, ignored: 1, names_failed, ..Tally::default() }
        );
    }
}
