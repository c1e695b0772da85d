//! Programs at rest: how often they wake up when there is nothing to do.

use crate::town::{Program, Rules, Town, inside};
use crate::way_home::abroad::Abroad;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long it is counted how often a program wakes up.
const TIME: Duration = Duration::from_secs(20);
/// Less than one a second.
const HOME_MAX: u64 = 20;
/// The same: the clock is looked at once in five seconds, and counters are read once a minute while no station is there. Once a second took
/// more than 70, ten times a second, as while guests are there, more than 500, and comparing all layers every five seconds more than 400.
const ACCESS_POINT_MAX: u64 = 20;
/// Two a second, for a visit that is online and carries nothing; looking every 300 ms took 138.
const VISIT_MAX: u64 = 40;

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
    // Once a minute all layers are compared, which runs other programs. That is in one of two windows at most.
    let woke = wake_ups(&ap).min(wake_ups(&ap));
    assert!(woke <= ACCESS_POINT_MAX, "the access point woke up {woke} times");
}

#[test]
fn a_visit_that_carries_nothing_sleeps() {
    if !inside("rest::a_visit_that_carries_nothing_sleeps") {
        return;
    }
    let town = Town::build(Rules::with_interval(5_000));
    let (_home, _ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    let woke = wake_ups(&visit);
    assert!(woke <= VISIT_MAX, "the visit woke up {woke} times");
    town.leave(visit);
}

#[test]
fn a_visit_with_a_tunnel_that_carries_nothing_sleeps() {
    if !inside("rest::a_visit_with_a_tunnel_that_carries_nothing_sleeps") {
        return;
    }
    let abroad = Abroad::build("info");
    let (_house, _ap) = abroad.town.open();
    let _home = abroad.start_home();
    let visit = abroad.silent_visit();
    abroad.until_home(&visit);
    // By then the switch has been compared with what it should be, which takes other programs, for the last time.
    visit.hear("to sign for what the tunnel took to come up", |event| event["event"] == "signed");
    let woke = wake_ups(&visit);
    assert!(woke <= VISIT_MAX, "the visit woke up {woke} times");
    abroad.town.leave(visit);
}
