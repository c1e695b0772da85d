//! Every test, with one count at the end.

use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};

use crate::steps::{Done, Steps, cargo, line};

/// What takes minutes: package, target and name of tests that are `#[ignore]`d elsewhere. `cargo xtask test nightly` runs
/// them, in a release build.
const NIGHTLY: [[&str; 3]; 2] = [
    ["guestright-legacy", "schedules", "ten_thousand_schedules_do"],
    ["guestright-firewall", "access_point", "what_orders_and_queues_cost"],
];

/// Tests that build networks wait more than they compute, but each takes memory.
const THREADS: (usize, usize) = (2, 4);

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments == ["nightly"] { nightly() } else { cargo_test(arguments) }
}

fn nightly() -> Result<()> {
    let mut steps = Steps::default();
    for [package, target, test] in NIGHTLY {
        steps.run(test, || {
            let mut command = cargo(&["test", "--release", "--all-features", "--package", package]);
            command.args(["--test", target, "--", "--exact", "--include-ignored", "--nocapture", test]);
            let (tally, success) = watch(&mut command)?;
            // A name that nothing has is no failure to Cargo.
            ensure!(success && tally.passed == 1, "{} of 1 passed", tally.passed);
            Ok(Done::Passed)
        });
    }
    steps.finish()
}

fn cargo_test(arguments: &[String]) -> Result<()> {
    let began = Instant::now();
    let mut command = cargo(&["test", "--workspace", "--all-features", "--no-fail-fast"]);
    command.args(arguments);
    if arguments.is_empty() && std::io::stdout().is_terminal() {
        command.args(["--", "--color=always"]);
    }
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let cores = std::thread::available_parallelism().map_or(THREADS.0, usize::from);
        command.env("RUST_TEST_THREADS", cores.clamp(THREADS.0, THREADS.1).to_string());
    }
    let (tally, success) = watch(&mut command)?;
    for name in &tally.names_failed {
        println!("failed: {name}");
    }
    println!(
        "\ntests: {} passed; {} failed; {} ignored; {} suites; {:.0} s",
        tally.passed,
        tally.failed,
        tally.ignored,
        tally.suites,
        began.elapsed().as_secs_f64()
    );
    if !success {
        bail!("tests failed, or did not compile: see above");
    }
    Ok(())
}

/// Runs the command, passes on what it says and counts along.
fn watch(command: &mut Command) -> Result<(Tally, bool)> {
    let line = line(command);
    println!("$ {line}");
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("start `{line}`"))?;
    let output = child.stdout.take().expect("standard output is piped");
    let mut tally = Tally::default();
    let mut out = std::io::stdout().lock();
    for text in BufReader::new(output).split(b'\n') {
        let text = text.with_context(|| format!("output of `{line}`"))?;
        tally.count(&String::from_utf8_lossy(&text));
        out.write_all(&text)?;
        out.write_all(b"\n")?;
    }
    let status = child.wait().with_context(|| format!("wait for `{line}`"))?;
    Ok((tally, status.success()))
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    suites: u32,
    passed: u32,
    failed: u32,
    ignored: u32,
    names_failed: Vec<String>,
}

impl Tally {
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
        assert_eq!(tally, Tally { suites: 2, passed: 6, failed: 1, ignored: 1, names_failed });
    }
}
