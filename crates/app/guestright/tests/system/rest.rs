//! Programs at rest: how often they wake up when there is nothing to do.

use crate::town::{Program, Rules, Town, inside};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long it is counted how often a program wakes up.
const TIME: Duration = Duration::from_secs(20);
/// Less than one a second.
const HOME_MAX: u64 = 20;
/// Counters are read once a second, which takes the loop two or three wake-ups and the firewall's thread one; ten times a second, as while
/// guests are there, took more than 500, and comparing all layers every five seconds more than 400.
const ACCESS_POINT_MAX: u64 = 150;

/// How often each thread of a program has waited so far, by its number and name (proc(5)).
fn waits(program: &Program) -> BTreeMap<(u32, String), u64> {
    let tasks = format!("/proc/{}/task", program.pid().as_raw_nonzero());
    let threads = std::fs::read_dir(tasks).unwrap().filter_map(|entry| {
        let entry = entry.unwrap();
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?; // It has ended meanwhile.
        let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let waits = value("voluntary_ctxt_switches:")?.parse().ok()?;
        Some(((entry.file_name().to_str()?.parse().ok()?, value("Name:")?.to_owned()), waits))
    });
    threads.collect()
}

/// How often the program's threads wake up within [`TIME`]: each time ends a wait.
fn wake_ups(program: &Program) -> u64 {
    let before = waits(program);
    std::thread::sleep(TIME);
    let grown = |(thread, waits): (&(u32, String), &u64)| {
        let more = waits - before.get(thread).copied().unwrap_or_default();
        println!("{}: {more} in {TIME:?}", thread.1);
        more
    };
    waits(program).iter().map(grown).sum()
}

#[test]
fn nobody_there_lets_the_household_sleep() {
    if !inside("rest::nobody_there_lets_the_household_sleep") {
        return;
    }
    let town = Town::build(Rules::with_interval(5_000));
    let (home, ap) = town.open();
    let woke = wake_ups(&home);
    assert!(woke <= HOME_MAX, "the home woke up {woke} times");
    let woke = wake_ups(&ap);
    assert!(woke <= ACCESS_POINT_MAX, "the access point woke up {woke} times");
}
