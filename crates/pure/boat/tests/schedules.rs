//! Two sides of a call by BoAT over networks that lose up to four datagrams in ten, overtake, repeat and stall: 10,000
//! calls in virtual time.
#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use guestright_boat::modern::{self, Modern};
use guestright_boat::testing::{NullSeal, Outcome, Ready, Schedule, run};
use guestright_boat::{Boat, Config, InstallRule, Masking, Seal, Timing};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::agreement::Role;
use guestright_voice::playout::Histogram;
use guestright_voice::tool::{Ending, Side};
use std::net::SocketAddr;
use zeroize::Zeroizing;

/// Runs a schedule between two sides whose seal `seal` makes.
fn call(schedule: &Schedule, config: &Config, seal: impl Fn(usize, u64) -> Box<dyn Seal>) -> Outcome {
    let make = |side: usize, _: SocketAddr, peer: SocketAddr, now: Time| {
        let which = if side == 0 { Side::Caller { to: peer } } else { Side::Callee };
        let opening = Box::new(Ready::new(seal(side, schedule.seed), which, peer));
        let timing = match schedule.seed % 4 {
            3 => Timing::Policy(Box::<Histogram>::default()),
            _ => Timing::Boat,
        };
        let seed = Seed::from_number(schedule.seed * 2 + side as u64);
        Boat::new(config.clone(), timing, opening, &seed, now)
    };
    run(schedule, make)
}

/// What a schedule's number says about the tool.
fn config_of(schedule: &Schedule) -> Config {
    let number = schedule.seed;
    let mut config =
        if number.is_multiple_of(2) { Config::modern(schedule.packet) } else { Config::printed() };
    config.packet = schedule.packet;
    let maskings = [Masking::None, Masking::Slots, Masking::Sound, Masking::Cover, Masking::Constant];
    if number.is_multiple_of(3) {
        config.talker.failures_max = 2;
    }
    config.masking = maskings[usize::try_from(number / 2 % 5).unwrap()];
    config
}

#[test]
fn ten_thousand_calls_keep_a_common_key_or_end_on_both_sides() {
    let (mut ended, mut played) = (0, 0);
    for seed in 0..10_000 {
        let schedule = Schedule::random(seed);
        let outcome = call(&schedule, &config_of(&schedule), |side, _| Box::new(NullSeal::new(side == 0)));
        if let Err(error) = outcome.check(&schedule) {
            panic!("{error}, with {schedule:?}");
        }
        ended += usize::from(outcome.endings[0].is_some());
        played += outcome.played[0].len() + outcome.played[1].len();
    }
    assert!(ended > 100, "the rule of n phases was put to the test {ended} times");
    assert!(played > 1_000_000, "{played} packets were played");
}

#[test]
fn two_thousand_of_them_with_the_protection_of_today() {
    let modern = |side: usize, seed: u64| -> Box<dyn Seal> {
        let role = if side == 0 { Role::Caller } else { Role::Callee };
        let shared = Zeroizing::new([5; 32]);
        // Each third phase heals, so that a few seconds have some.
        let config = modern::Config { healing_interval: 3, ..modern::Config::default() };
        Box::new(Modern::new(role, &shared, config, &Seed::from_number(seed * 2 + side as u64)))
    };
    let mut completed = 0.0;
    for seed in 0..2_000 {
        let schedule = Schedule::random(seed);
        let outcome = call(&schedule, &config_of(&schedule), modern);
        if let Err(error) = outcome.check(&schedule) {
            panic!("{error}, with {schedule:?}");
        }
        let others = &outcome.summaries[0].others;
        completed += others.iter().find(|(name, _)| *name == "phases completed").unwrap().1;
    }
    assert!(completed > 6_000.0, "{completed} phases were completed");
}

#[test]
fn the_same_schedule_is_the_same_call() {
    let schedule = Schedule::random(17);
    let calls =
        [0, 1].map(|_| call(&schedule, &config_of(&schedule), |side, _| Box::new(NullSeal::new(side == 0))));
    let [first, second] = calls.map(|outcome| (outcome.played, outcome.endings, outcome.summaries));
    assert_eq!(first, second);
}

/// Section 3.2.1: whoever drops all handshakes would keep an old key in use, so the call is shut down on both sides.
#[test]
fn a_path_that_loses_everything_ends_the_call_on_both_sides() {
    let schedule = Schedule { loss_permille: 1_000, rough: Micros::from_seconds(60), ..Schedule::random(1) };
    let outcome = call(&schedule, &Config::printed(), |side, _| Box::new(NullSeal::new(side == 0)));
    for ending in outcome.endings {
        assert!(matches!(ending, Some(Ending::Failed(_) | Ending::Silence)), "{ending:?}");
    }
}

/// The rules that let the sender decide keep the keys in step too; they may only skip speech.
#[test]
fn keys_stay_in_step_by_every_rule() {
    for rule in [InstallRule::Printed, InstallRule::SenderOnly] {
        for seed in 0..300 {
            let schedule = Schedule::random(seed);
            let config = config_of(&schedule).with_install(rule);
            let outcome = call(&schedule, &config, |side, _| Box::new(NullSeal::new(side == 0)));
            if let Err(error) = outcome.check(&schedule) {
                panic!("{error}, by {rule:?} with {schedule:?}");
            }
        }
    }
}
