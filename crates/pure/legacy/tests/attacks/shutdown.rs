//! j. The rule that ends a call after so many lost handshakes is a lever for whoever can drop them.

use crate::wire::{Sent, Watcher, Wire, legacy_call, modern_call};
use guestright_legacy::boat::{Config, Keystream, Mac};
use guestright_units::{Micros, Time};

/// Drops what looks like a message.
fn drop_messages() -> impl FnMut(usize, &[u8], Time) -> Vec<Sent> {
    let mut watcher = Watcher::default();
    move |from, bytes, now| {
        if watcher.is_message(from, now) { Vec::new() } else { vec![Sent::honest(from, bytes)] }
    }
}

fn attack(mut wire: Wire, span: Micros) -> Wire {
    wire.run(Micros::from_seconds(5));
    assert!(wire.played[1].len() > 50);
    wire.meddle = Box::new(drop_messages());
    wire.run(span);
    wire
}

#[test]
fn dropping_all_handshakes_ends_a_call_as_printed_and_it_says_why() {
    let wire = attack(legacy_call(Config::new(Keystream::Seekable, Mac::Hmac), 17), Micros::from_seconds(15));
    let ending = wire.ending(0).expect("it is over");
    assert!(ending.contains("5 handshakes in a row were lost"), "{ending}");
    assert!(ending.contains("somebody drops them"), "{ending}");
}

#[test]
fn in_boat_today_the_call_goes_on_and_its_keys_roll_without_handshakes() {
    let wire = attack(modern_call(17), Micros::from_seconds(15));
    assert_eq!((wire.ending(0), wire.ending(1)), (None, None));
    assert!(wire.played_lately(1) > 25, "it is still heard");
    assert!(wire.figure(0, "phases failed") > 3.0, "handshakes were dropped");
}
