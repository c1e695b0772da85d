//! g. Whoever delays only PROBE, or only RESPONSE, makes the round trip longer, and `Delta` with it: everything is heard
//! that much later.

use crate::wire::{ONE_WAY, Sent, Watcher, Wire, legacy_call, made, modern_call, modern_call_by_policy};
use guestright_legacy::boat::{Config, Keystream, Mac};
use guestright_units::{Micros, Time};

/// Holds back what looks like a message of one side's.
fn delay_messages(of: usize) -> impl FnMut(usize, &[u8], Time) -> Vec<Sent> {
    let mut watcher = Watcher::default();
    move |from, bytes, now| {
        hold(from, bytes, watcher.is_message(from, now) && from == of, Micros::from_millis(900))
    }
}

fn hold(from: usize, bytes: &[u8], is_held: bool, held: Micros) -> Vec<Sent> {
    let after = if is_held { Micros(ONE_WAY.0 + held.0) } else { ONE_WAY };
    vec![Sent { after, ..Sent::honest(from, bytes) }]
}

/// How long after it was made the callee played the last packets of the caller's, at most.
fn playout_delay(wire: &Wire) -> Micros {
    let last = wire.played[1].iter().rev().take(20);
    last.map(|played| played.at - made(&played.payload)).max().expect("something was played")
}

fn run(mut wire: Wire, of: usize) -> Micros {
    wire.meddle = Box::new(delay_messages(of));
    wire.run(Micros::from_seconds(20));
    playout_delay(&wire)
}

fn printed() -> Config {
    Config::new(Keystream::Seekable, Mac::Hmac)
}

#[test]
fn nobody_who_meddles_it_is_heard_at_once() {
    let mut wire = legacy_call(printed(), 12);
    wire.run(Micros::from_seconds(20));
    assert!(playout_delay(&wire) < Micros::from_millis(200), "{:?}", playout_delay(&wire));
}

#[test]
fn a_delayed_response_makes_everything_late_as_printed() {
    let after = run(legacy_call(printed(), 12), 1);
    assert!(after > Micros::from_millis(900), "{after:?}");
}

#[test]
fn a_delayed_probe_does_too() {
    let after = run(legacy_call(printed(), 12), 0);
    assert!(after > Micros::from_millis(900), "{after:?}");
}

/// For three seconds, in the middle of a call. Gives the greatest delay in them and in the three after.
fn hold_for_a_while(mut wire: Wire, of: usize, held: Micros) -> Micros {
    wire.run(Micros::from_seconds(5));
    wire.played[1].clear();
    let mut watcher = Watcher::default();
    wire.meddle =
        Box::new(move |from, bytes, now| hold(from, bytes, watcher.is_extra(from, now) && from == of, held));
    wire.run(Micros::from_seconds(3));
    wire.meddle = Box::new(|from, bytes, _| vec![Sent::honest(from, bytes)]);
    wire.run(Micros::from_seconds(3));
    let delays = wire.played[1].iter().map(|played| played.at - made(&played.payload));
    delays.max().expect("something was played")
}

#[test]
fn probes_held_for_400_ms_during_3_s_are_enough_as_printed() {
    let after = hold_for_a_while(legacy_call(printed(), 18), 0, Micros::from_millis(400));
    assert!(after > Micros::from_millis(800), "{after:?}");
}

#[test]
fn in_boat_today_they_add_what_fits_under_the_cap_at_most() {
    for of in [0, 1] {
        for held in [50, 100, 150, 200, 300, 400, 600, 900] {
            let after = hold_for_a_while(modern_call(18), of, Micros::from_millis(held));
            // 400 ms, and the packet itself.
            assert!(after <= Micros::from_millis(440), "{of}, held for {held} ms: {after:?}");
        }
    }
}

/// The product times sound by when it comes, and takes only keys from the handshakes.
#[test]
fn in_boat_today_messages_that_are_always_delayed_add_nothing() {
    for of in [0, 1] {
        let after = run(modern_call_by_policy(12), of);
        assert!(after < Micros::from_millis(250), "{of}: {after:?}");
    }
}
