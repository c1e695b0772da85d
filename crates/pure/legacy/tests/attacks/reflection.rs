//! f. One key for both directions, and no word in a message about who sent it: a mirror can answer a call.

use crate::wire::{Sent, Wire, address, legacy_side, modern_side};
use guestright_boat::Boat;
use guestright_legacy::boat::{Config, Keystream, Mac};
use guestright_units::Micros;

/// What is sent back for a datagram.
type Mirror = fn(&[u8]) -> Vec<u8>;

/// Calls somebody who is not there, while `mirror` sends back what it does not swallow.
fn call_a_mirror(caller: Boat, mirror: Mirror) -> Wire {
    let mut wire = Wire::new(vec![caller]);
    wire.meddle = Box::new(move |_, bytes, _| {
        vec![Sent { to: 0, from: address(1), bytes: mirror(bytes), after: Micros::from_millis(60) }]
    });
    wire.run(Micros::from_seconds(10));
    wire
}

/// The direction is a bit in clear.
fn turned(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[0] ^= 0b0010_0000;
    bytes
}

#[test]
fn a_mirror_without_any_key_answers_a_call_as_printed() {
    for keystream in Keystream::ALL {
        for mac in [Mac::EncryptedDigest, Mac::Hmac] {
            let wire = call_a_mirror(legacy_side(Config::new(keystream, mac), 0, 11), turned);
            assert!(
                wire.is_connected(0),
                "{keystream:?} {mac:?}: the caller believes that somebody is there"
            );
            assert!(wire.figure(0, "phases completed") > 5.0);
            assert!(wire.played[0].len() > 100, "and hears its own voice");
            assert!(wire.played[0].iter().all(|played| played.payload[0] == 0));
        }
    }
}

#[test]
fn messages_that_say_who_sent_them_cannot_be_turned() {
    let config = Config { is_directed: true, ..Config::new(Keystream::Seekable, Mac::Hmac) };
    let wire = call_a_mirror(legacy_side(config, 0, 11), turned);
    assert!(!wire.is_connected(0));
}

#[test]
fn a_mirror_that_forgets_the_bit_is_refused() {
    let wire = call_a_mirror(legacy_side(Config::new(Keystream::Seekable, Mac::Hmac), 0, 11), <[u8]>::to_vec);
    assert!(!wire.is_connected(0));
}

#[test]
fn no_mirror_answers_boat_today() {
    let mirrors: [Mirror; 3] = [<[u8]>::to_vec, turned, |bytes| {
        // Kinds of an introduction are numbers in the third byte.
        let mut bytes = bytes.to_vec();
        bytes[2] = bytes[2] % 3 + 1;
        bytes
    }];
    for mirror in mirrors {
        let wire = call_a_mirror(modern_side(0, 11), mirror);
        assert!(!wire.is_connected(0));
        assert!(wire.played[0].is_empty());
    }
}
