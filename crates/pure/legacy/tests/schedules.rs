//! BoAT with its printed protection over thousands of random networks: both sides end with a common key or both end the
//! call, nothing is played twice, and no honest datagram is called forged.

use guestright_boat::Boat;
use guestright_boat::testing::{Outcome, Schedule, run};
use guestright_legacy::boat::{Config, Keystream, Mac, tool};
use guestright_units::{Micros, Seed};
use guestright_voice::tool::Side;

fn play(config: Config, schedule: &Schedule) -> Outcome {
    run(schedule, |side, _, peer, now| -> Boat {
        let boat = guestright_boat::Config {
            packet: schedule.packet,
            rate: None,
            ..guestright_boat::Config::printed()
        };
        let role = if side == 0 { Side::Caller { to: peer } } else { Side::Callee };
        let seed = Seed::from_number(schedule.seed * 2 + side as u64);
        tool(config, boat, role, "a pass phrase", &seed, now)
    })
}

/// Every fourth schedule with each of the variants that survive losses.
fn check(seeds: std::ops::Range<u64>) -> [u32; 2] {
    let variants = [
        Config::new(Keystream::Seekable, Mac::EncryptedDigest),
        Config::new(Keystream::Seekable, Mac::Hmac),
        Config::new(Keystream::PerPacket, Mac::EncryptedDigest),
        Config::new(Keystream::PerPacket, Mac::Hmac),
    ];
    let (mut lived, mut ended) = (0, 0);
    for (seed, config) in seeds.zip(variants.into_iter().cycle()) {
        let schedule = Schedule::random(seed);
        let outcome = play(config, &schedule);
        outcome.check(&schedule).unwrap_or_else(|error| panic!("seed {seed}, {config:?}: {error}"));
        lived += u32::from(outcome.endings == [None, None]);
        ended += u32::from(outcome.endings != [None, None]);
    }
    [lived, ended]
}

#[test]
fn a_hundred_schedules_end_with_a_common_key_or_an_end_on_both_sides() {
    let [lived, ended] = check(0..100);
    assert!(lived > 50, "{lived} lived, {ended} ended");
}

#[test]
#[ignore = "takes minutes: run it with --release"]
fn ten_thousand_schedules_do() {
    let [lived, ended] = check(0..10_000);
    println!("{lived} calls lived, {ended} ended on both sides");
    assert!(lived > 5_000 && ended > 0, "{lived} lived, {ended} ended");
}

#[test]
fn the_same_schedule_gives_the_same_call() {
    let schedule = Schedule { rough: Micros::from_seconds(3), ..Schedule::random(3) };
    let config = Config::new(Keystream::Seekable, Mac::Hmac);
    let [one, two] = [play(config, &schedule), play(config, &schedule)];
    assert_eq!((one.played, one.summaries), (two.played, two.summaries));
}
