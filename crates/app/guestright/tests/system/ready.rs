//! How soon programs are ready after they were started.

use crate::town::{Program, Rules, Town, inside};
use std::process::Command;
use std::time::{Duration, Instant};

/// How often each is started.
const ROUNDS: usize = 11;
/// What is measured.
const WHAT: [&str; 4] = ["--version", "home", "ap", "visit, until it is served"];

/// Starts a command on a host, without anything before it, and waits for the line with this word. How long that took.
fn start(town: &Town, program: &str, host: &str, words: &[&str], ready: &str) -> (Program, Duration) {
    let mut command = Command::new(program);
    command.args(words).current_dir(&town.directory);
    let log = town.path(&format!("{}.log", words[0]));
    let began = Instant::now();
    let program = town.world.within(host, || Program::start(&mut command, &log)).unwrap();
    program.hear_line("to be ready", |line| line.contains(ready));
    (program, began.elapsed())
}

/// Starts everything once, and ends it. The visit keeps what it remembers in the folder `state`: an access point that begins anew may give a session
/// the second in which the last one began, and a visitor that remembers that one waits until it gives another.
fn start_all(town: &Town, program: &str, state: &str) -> [Duration; 4] {
    let start = |host, words: &[&str], ready| start(town, program, host, words, ready);
    let (mut version, of_version) = start("router", &["--version"], "guestright");
    assert!(version.wait().success());
    let (mut home, of_home) = start("router", &["home", "--config", "house/home.toml"], "home of team");
    let (mut ap, of_ap) = start("router", &["ap", "--config", "house/ap.toml"], "access point of team");
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    let visit =
        ["visit", "--key", "guests/member.key", "--certificate", "guests/member.cert", "--state", state];
    let (mut visit, of_visit) = start("member", &visit, "serves us");
    for program in [&mut visit, &mut ap, &mut home] {
        program.signal(rustix::process::Signal::INT);
        assert!(program.wait().success());
    }
    [of_version, of_home, of_ap, of_visit]
}

/// The median, and the smallest to the largest.
fn summary(mut times: Vec<Duration>) -> String {
    times.sort();
    let [least, median, most] =
        [0, times.len() / 2, times.len() - 1].map(|index| times[index].as_secs_f64() * 1e3);
    format!("{median:.0} ms ({least:.0} to {most:.0})")
}

#[test]
#[ignore = "measures, for people to read, beside a program that GUESTRIGHT_TEST_READY names; asserts nothing about time"]
fn how_soon_programs_are_ready() {
    if !inside("ready::how_soon_programs_are_ready") {
        return;
    }
    let town = Town::build(Rules::default());
    let other = std::env::var("GUESTRIGHT_TEST_READY").ok();
    let programs: Vec<_> = [env!("CARGO_BIN_EXE_guestright")].into_iter().chain(other.as_deref()).collect();
    let round = |round: usize| -> Vec<_> {
        let state = |at: usize| format!("state-{round}-{at}");
        programs.iter().enumerate().map(|(at, program)| start_all(&town, program, &state(at))).collect()
    };
    let rounds: Vec<_> = (0..ROUNDS).map(round).collect();
    for (at, program) in programs.iter().enumerate() {
        for (number, what) in WHAT.iter().enumerate() {
            let times = rounds.iter().map(|round| round[at][number]).collect();
            println!("{program}: {what}: {}", summary(times));
        }
    }
}
