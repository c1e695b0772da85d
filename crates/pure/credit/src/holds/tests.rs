//! Worlds of honest homes and hostile names, over the machines that the program runs.
//!
//! A signature is an entry in a list that only the world writes, so that a machine is never given a receipt that its
//! member did not sign. Each run is a seed; a failure prints it, with the setup.

mod check;
mod home;
mod hostile;
mod orders;
mod rules;
mod transfers;
mod visit;
mod world;

use crate::account::Overdraft;
use guestright_units::Bytes;
use std::ops::Range;
use world::{Setup, World};

/// A rule that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutant {
    /// A hold for others ends after ten minutes.
    EndsEarly,
    /// A home is believed when it refuses what it called good.
    RefusesAfterGood,
    CommitWithoutReceipt,
    GoodWithoutReserving,
    PaysTwice,
    /// A home settles a hold of which the next home has not said that it is good.
    PaysBeforeGood,
    /// A commit after the end is paid though the next team is not the consumer.
    PaysLateAnywhere,
    /// The program passes on what is not on the disk.
    SpeaksBeforeItIsWritten,
}

/// What some runs came to.
#[derive(Debug, Default)]
struct Outcome {
    violations: Vec<String>,
    runs: u64,
    transfers: u64,
    /// What hostile names took on credit and gave, in all runs.
    taken: u64,
    given: u64,
    /// The most that was taken in a run, in thousandths of what was given, and of the bound.
    taken_max_of_given: u64,
    taken_max_of_bound: u64,
}

fn run(setup: Setup, seed: u64, outcome: &mut Outcome) {
    let mut world = World::new(setup, seed);
    if let Err(violation) = world.run() {
        outcome.violations.push(format!("seed {seed}: {violation} ({setup:?})"));
    }
    let (sums, given) = (&world.sums, world.sums.given());
    outcome.runs += 1;
    outcome.transfers += sums.transfers;
    outcome.taken += sums.taken;
    outcome.given += given;
    // Where nothing was given nothing can be taken, but for what homes lost that went away.
    outcome.taken_max_of_given = outcome.taken_max_of_given.max(sums.taken * 1_000 / given.max(100_000));
    outcome.taken_max_of_bound = outcome.taken_max_of_bound.max(sums.taken * 1_000 / world.bound().max(1));
}

fn run_all(name: &str, setup: Setup, seeds: Range<u64>) {
    let mut outcome = Outcome::default();
    seeds.for_each(|seed| run(setup, seed, &mut outcome));
    println!("{name}: {outcome:#?}");
    assert_eq!(outcome.violations, Vec::<String>::new());
}

fn with(per_team: bool, total: u64) -> Setup {
    Setup { overdraft: Overdraft { per_team, total: Bytes(total) }, ..Setup::default() }
}

fn away() -> Setup {
    Setup { outages: true, ..Setup::default() }
}

#[test]
fn hostile_names_take_what_they_gave_and_the_overdrafts_at_most() {
    run_all("1.5 MB a home", Setup::default(), 0..100);
}

#[test]
fn hostile_names_take_twice_what_they_gave_at_most_where_only_teams_are_limited() {
    run_all("no limit for all teams", with(true, 1_000_000_000), 0..80);
}

#[test]
fn hostile_names_take_what_they_gave_at_most_where_nothing_is_lent() {
    run_all("nothing lent", with(false, 1_500_000), 0..80);
}

#[test]
fn homes_that_are_away_for_days_lose_what_they_did_not_commit_at_most() {
    run_all("away for days", away(), 0..80);
}

#[test]
#[ignore = "takes minutes: run it with --release"]
fn ten_thousand_runs_break_no_rule() {
    run_all("1.5 MB a home", Setup::default(), 1_000..4_000);
    run_all("25 MB a home", with(true, 25_000_000), 1_000..3_000);
    run_all("nothing lent", with(false, 1_500_000), 1_000..3_000);
    run_all("300 kB a home", with(true, 300_000), 1_000..2_000);
    run_all("away for days", away(), 1_000..3_000);
    // Denser: each home is next to everybody.
    run_all("three homes", Setup { honest: 3, hostile: 3, steps: 600, ..Setup::default() }, 1_000..3_000);
}

/// How many of so many runs notice that a rule is left out: with all that is looked at, and with the sums alone.
fn noticed(mutant: Mutant, seeds: Range<u64>, sums_only: bool) -> usize {
    let setup = Setup { mutant: Some(mutant), sums_only, ..Setup::default() };
    let mut outcome = Outcome::default();
    for seed in seeds {
        run(setup, seed, &mut outcome);
        if outcome.violations.len() == 1 {
            println!("{mutant:?}, sums only {sums_only}: {:.300}", outcome.violations[0]);
            break;
        }
    }
    outcome.violations.len()
}

#[test]
fn each_rule_that_is_left_out_is_noticed() {
    let rules = [
        (Mutant::EndsEarly, 20),
        (Mutant::RefusesAfterGood, 20),
        (Mutant::CommitWithoutReceipt, 20),
        (Mutant::GoodWithoutReserving, 5),
        (Mutant::PaysTwice, 20),
        (Mutant::PaysBeforeGood, 30),
        (Mutant::PaysLateAnywhere, 200),
        (Mutant::SpeaksBeforeItIsWritten, 5),
    ];
    for (mutant, seeds) in rules {
        assert_eq!(noticed(mutant, 0..seeds, false), 1, "{mutant:?} was not noticed in {seeds} runs");
    }
}

/// The three rules that the note calls necessary: without each of them more is taken than was given and lent.
#[test]
fn without_a_rule_more_is_taken() {
    for mutant in [Mutant::RefusesAfterGood, Mutant::CommitWithoutReceipt, Mutant::GoodWithoutReserving] {
        assert_eq!(noticed(mutant, 0..300, true), 1, "{mutant:?} broke no sum");
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = |seed| {
        let mut world = World::new(Setup::default(), seed);
        world.run().expect("no rule is broken");
        (format!("{:?}", world.sums), world.now)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
