//! i. Everything hangs on one key that never changes: who has recorded a call and learns `K0` later hears it all. A key a
//! second adds nothing to that.

use crate::pair::{SHARED, modern};
use crate::wire::{PASS_PHRASE, START, Sent, Wire, address, legacy_call, modern_call, modern_side};
use guestright_boat::modern::{self, Cipher, Modern};
use guestright_boat::{Content, Message, Seal, Step};
use guestright_legacy::boat::{Config, Keystream, Legacy, Mac, SharedKey};
use guestright_units::{Micros, Seed};
use guestright_voice::agreement::Role;
use zeroize::Zeroizing;

/// Reads a recording with nothing but a pass phrase. It sends nothing, and nobody answers it.
fn eavesdrop(record: &Wire, config: Config, pass_phrase: &str) -> Vec<Vec<u8>> {
    let shared = SharedKey::from_pass_phrase(pass_phrase);
    let mut ear = Legacy::new(config, shared, false, &Seed::from_number(666));
    let mut decrypted = Vec::new();
    for datagram in record.record.iter().filter(|datagram| datagram.from == 0) {
        match ear.open(&datagram.bytes, datagram.at).map(|opened| opened.content) {
            Ok(Content::Audio(audio)) => decrypted.push(audio.payload),
            Ok(Content::Message(Message { phase, step: Step::Install { .. }, key })) => {
                ear.ack(phase, &key).unwrap();
            }
            Ok(_) | Err(_) => {}
        }
    }
    decrypted
}

#[test]
fn a_recorded_call_opens_to_the_pass_phrase_years_later() {
    for keystream in Keystream::ALL {
        for mac in [Mac::EncryptedDigest, Mac::Hmac] {
            let config = Config::new(keystream, mac);
            let mut call = legacy_call(config, 15);
            call.run(Micros::from_seconds(20));
            let played = call.played[1].len();
            assert!(played > 200);
            assert!(eavesdrop(&call, config, PASS_PHRASE).len() >= played, "{keystream:?} {mac:?}");
            assert_eq!(eavesdrop(&call, config, "another phrase"), Vec::<Vec<u8>>::new());
        }
    }
}

/// And the phrase need not be told: one recorded datagram says whether a guess is right.
#[test]
fn one_recorded_datagram_is_enough_to_try_pass_phrases() {
    let config = Config::new(Keystream::Seekable, Mac::Hmac);
    let mut call = legacy_call(config, 15);
    call.run(Micros::from_millis(100));
    let knock = &call.record[0].bytes;
    let guesses = ["123456", "password", "sesame", PASS_PHRASE, "qwerty"];
    let found = guesses.iter().find(|guess| {
        let shared = SharedKey::from_pass_phrase(guess);
        Legacy::new(config, shared, false, &Seed::from_number(1)).open(knock, START).is_ok()
    });
    assert_eq!(found, Some(&PASS_PHRASE));
}

#[test]
fn in_boat_today_the_keys_of_both_members_do_not_open_a_recording() {
    let mut call = modern_call(15);
    call.run(Micros::from_seconds(10));
    assert!(call.played[1].len() > 100);
    // The same members, so the same long-term keys, years later: chance is another.
    for (role, from) in [(1, 0), (0, 1)] {
        let mut wire = Wire::new(vec![modern_side(role, 16)]);
        wire.meddle = Box::new(|_, _, _| Vec::new());
        for datagram in call.record.iter().filter(|datagram| datagram.from == from) {
            let after = datagram.at - START;
            wire.inject(Sent { to: 0, from: address(from), bytes: datagram.bytes.clone(), after });
        }
        wire.run(Micros::from_seconds(10));
        assert!(!wire.is_connected(0));
        assert!(wire.played[0].is_empty());
    }
}

#[test]
fn in_boat_today_even_the_first_key_of_a_call_opens_it_only_up_to_the_next_exchange() {
    let mut pair = modern(Cipher::Aes128Gcm, 15);
    let config = modern::Config { cipher: Cipher::Aes128Gcm, healing_interval: 1 };
    let mut thief = Modern::new(Role::Callee, &Zeroizing::new(SHARED), config, &Seed::from_number(666));
    let first = pair.seal(&Content::Cover);
    assert!(thief.open(&first, pair.now).is_ok(), "it has the first key");
    pair.open(&first).unwrap();
    pair.change_key();
    let second = pair.seal(&Content::Cover);
    assert!(pair.open(&second).is_ok());
    assert!(thief.open(&second, pair.now).is_err());
}
