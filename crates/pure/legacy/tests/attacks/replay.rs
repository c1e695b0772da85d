//! d. A datagram repeated while its key is in use; e. a PROBE, and a whole call, repeated in another call.

use crate::pair::{self, sound};
use crate::wire::{
    ONE_WAY, Played, START, Sent, Wire, address, attacker, legacy_call, legacy_side, modern_call, modern_side,
};
use guestright_boat::modern::Cipher;
use guestright_boat::{Content, Report, SealError};
use guestright_legacy::boat::{Config, Keystream, Mac};
use guestright_units::Micros;
use guestright_voice::tool::Tool as _;
use std::collections::BTreeSet;

fn hidden() -> [Config; 2] {
    [Keystream::Seekable, Keystream::PerPacket].map(|keystream| Config::new(keystream, Mac::Hmac))
}

#[test]
fn what_opened_once_opens_again_while_its_key_lives() {
    for config in hidden() {
        let mut pair = pair::legacy(config, 6);
        for content in [
            sound(7, &[1; 34]),
            Content::Report(Report { number: 1, expected: 9, received: 0, late: 0, jitter_us: 0 }),
        ] {
            let datagram = pair.seal(&content);
            for _ in 0..3 {
                assert_eq!(pair.open(&datagram).map(|opened| opened.content), Ok(content.clone()));
            }
        }
        // Until two keys and two seconds later.
        let datagram = pair.seal(&sound(8, &[1; 34]));
        for _ in 0..2 {
            pair.change_key();
            let fresh = pair.seal(&sound(9, &[1; 34]));
            pair.open(&fresh).unwrap();
        }
        assert_eq!(pair.open(&datagram), Err(SealError::Forged));
    }
}

#[test]
fn a_running_keystream_opens_it_once_because_it_has_gone_on() {
    let mut pair = pair::legacy(Config::new(Keystream::Running, Mac::EncryptedDigest), 6);
    let datagram = pair.seal(&sound(7, &[1; 34]));
    pair.open(&datagram).unwrap();
    assert_eq!(pair.open(&datagram), Err(SealError::Forged));
}

#[test]
fn boat_today_opens_it_once() {
    let mut pair = pair::modern(Cipher::Aes128Gcm, 6);
    let datagram = pair.seal(&sound(7, &[1; 34]));
    pair.open(&datagram).unwrap();
    assert_eq!(pair.open(&datagram), Err(SealError::Replayed));
}

fn is_played_once(played: &[Played]) -> bool {
    played.iter().map(|played| &played.payload).collect::<BTreeSet<_>>().len() == played.len()
}

/// What stops it then is the listener's floor: what was played, and what lies before it, is never played again.
#[test]
fn the_floor_keeps_repeated_sound_from_being_played_twice() {
    let repeat = |mut wire: Wire| {
        wire.meddle = Box::new(|from, bytes, _| {
            let again = |millis| Sent { after: Micros::from_millis(millis), ..Sent::honest(from, bytes) };
            vec![again(30), again(31), again(90), again(400), again(900)]
        });
        wire.run(Micros::from_seconds(10));
        wire
    };
    for config in hidden() {
        let wire = repeat(legacy_call(config, 7));
        assert!(wire.played[1].len() > 100 && is_played_once(&wire.played[1]));
        let counts = wire.sides[1].summary();
        assert!(
            counts.playout.received > 2 * counts.playout.played,
            "the seal lets repetitions through: {counts:?}"
        );
    }
    let wire = repeat(modern_call(7));
    assert!(wire.played[1].len() > 100 && is_played_once(&wire.played[1]));
    let counts = wire.sides[1].summary();
    assert!(counts.playout.received < 2 * counts.playout.played, "the seal does not: {counts:?}");
}

/// Gives what a new callee, with the same secrets, played of another call's recording.
fn play_back(recording: &Wire, callee: guestright_boat::Boat) -> Wire {
    let mut wire = Wire::new(vec![callee]);
    // It is alone, and sides are numbered: what goes to it goes to 0.
    wire.meddle = Box::new(|_, _, _| Vec::new());
    for datagram in recording.record.iter().filter(|datagram| datagram.from == 0) {
        let after = (datagram.at + ONE_WAY) - START;
        wire.inject(Sent { to: 0, from: attacker(), bytes: datagram.bytes.clone(), after });
    }
    wire.run(Micros::from_seconds(10));
    wire
}

#[test]
fn a_recorded_call_plays_again_to_whoever_has_the_same_pass_phrase() {
    for keystream in Keystream::ALL {
        let config = Config::new(keystream, Mac::EncryptedDigest);
        let mut first = legacy_call(config, 8);
        first.run(Micros::from_seconds(10));
        let second = play_back(&first, legacy_side(config, 1, 99));
        assert!(second.is_connected(0), "the callee believes that the caller is there");
        let early = first.played[1].iter().filter(|played| played.at < START + Micros::from_seconds(5));
        let replayed: Vec<_> = second.played[0].iter().map(|played| &played.payload).collect();
        assert!(replayed.len() > 80, "{keystream:?}: {}", replayed.len());
        for played in early {
            assert!(replayed.contains(&&played.payload), "{keystream:?}: {:?}", played.at);
        }
        // The callee's own handshakes are answered by nobody, and that ends it after some seconds.
        let ending = second.ending(0).expect("it is over");
        assert!(ending.contains("handshakes in a row"), "{ending}");
    }
}

#[test]
fn in_boat_today_a_recording_introduces_nobody() {
    let mut first = modern_call(8);
    first.run(Micros::from_seconds(10));
    assert!(first.played[1].len() > 100);
    let second = play_back(&first, modern_side(1, 99));
    assert!(!second.is_connected(0));
    assert!(second.played[0].is_empty());
}

/// A PROBE of an old call has a number that the new call has not come to. The listener answers it, takes its clock for the
/// talker's, and refuses the talker's own, with their lower numbers, from then on.
#[test]
fn one_old_probe_ends_a_call_where_handshakes_are_not_hidden() {
    let config = Config::new(Keystream::Running, Mac::EncryptedDigest);
    let mut old = legacy_call(config, 9);
    old.run(Micros::from_seconds(40));
    // Version 0, from the caller, kind PROBE: the last of them.
    let is_probe = |bytes: &[u8]| bytes[0] == 0 && bytes[3] == 1;
    let probe = old.record.iter().rfind(|datagram| datagram.from == 0 && is_probe(&datagram.bytes)).unwrap();

    let mut wire = legacy_call(config, 10);
    wire.run(Micros::from_seconds(5));
    assert_eq!(wire.ending(0), None);
    wire.inject(Sent { to: 1, from: address(0), bytes: probe.bytes.clone(), after: Micros(1) });
    wire.run(Micros::from_seconds(15));
    let ending = wire.ending(0).expect("the caller has given up");
    assert!(ending.contains("handshakes in a row"), "{ending}");
}

#[test]
fn hidden_under_a_session_key_it_does_not_open() {
    let config = Config::new(Keystream::Seekable, Mac::EncryptedDigest);
    let mut old = legacy_call(config, 9);
    old.run(Micros::from_seconds(10));
    let mut wire = legacy_call(config, 10);
    wire.run(Micros::from_seconds(5));
    for datagram in old.record.iter().filter(|datagram| datagram.from == 0) {
        wire.inject(Sent { to: 1, from: address(0), bytes: datagram.bytes.clone(), after: Micros(1) });
    }
    wire.run(Micros::from_seconds(15));
    assert_eq!(wire.ending(0), None);
}

#[test]
fn in_boat_today_no_datagram_of_an_old_call_does_anything() {
    let mut old = modern_call(9);
    old.run(Micros::from_seconds(20));
    let mut wire = modern_call(10);
    wire.run(Micros::from_seconds(5));
    for datagram in old.record.iter().filter(|datagram| datagram.from == 0) {
        wire.inject(Sent { to: 1, from: address(0), bytes: datagram.bytes.clone(), after: Micros(1) });
    }
    wire.run(Micros::from_seconds(15));
    assert_eq!((wire.ending(0), wire.ending(1)), (None, None));
    assert!(wire.played_lately(1) > 25);
}
