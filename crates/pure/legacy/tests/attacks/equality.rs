//! h. Blowfish on each block by itself shows which blocks are equal.

use crate::pair;
use crate::wire::{Recorded, legacy_call};
use guestright_boat::modern::Cipher;
use guestright_boat::{Content, Message, Seal as _, Step};
use guestright_legacy::boat::{Chaining, Config, Keystream, Mac};
use guestright_units::Micros;
use std::collections::BTreeSet;

/// Header and kind in clear, then eight random bytes, then four blocks.
const BLOCKS: std::ops::Range<usize> = 3 + 1 + 8..3 + 1 + 8 + 32;
const PROBE: u8 = 1;
const RESPONSE: u8 = 2;

fn blocks(datagram: &Recorded) -> Vec<[u8; 8]> {
    datagram.bytes[BLOCKS].as_chunks().0.to_vec()
}

/// The messages that came before the first session key, where no RC4 hides them.
fn first_messages(chaining: Chaining, seed: u64) -> Vec<Recorded> {
    let mut wire = legacy_call(Config { chaining, ..Config::new(Keystream::Seekable, Mac::Hmac) }, seed);
    wire.run(Micros::from_seconds(2));
    let is_message = |datagram: &Recorded| datagram.bytes[0] & 0b1100_0000 == 0 && datagram.bytes[3] != 5;
    wire.record.into_iter().filter(is_message).collect()
}

#[test]
fn ecb_shows_which_response_answers_which_probe() {
    for (chaining, is_shown) in [(Chaining::Ecb, true), (Chaining::Cbc, false)] {
        let messages = first_messages(chaining, 13);
        let of = |kind, from| {
            messages.iter().find(|it| it.bytes[3] == kind && it.from == from).map(blocks).unwrap()
        };
        assert_eq!(of(PROBE, 0)[0] == of(RESPONSE, 1)[0], is_shown, "{chaining:?}: phase and time");
        assert_eq!(of(PROBE, 0)[1] == of(PROBE, 0)[2], is_shown, "{chaining:?}: there is no key in a PROBE");
    }
}

#[test]
fn ecb_shows_that_two_calls_have_the_same_pass_phrase() {
    for (chaining, is_shown) in [(Chaining::Ecb, true), (Chaining::Cbc, false)] {
        let of = |seed| first_messages(chaining, seed).iter().flat_map(blocks).collect::<BTreeSet<_>>();
        assert_eq!(of(13).intersection(&of(14)).count() > 0, is_shown, "{chaining:?}");
    }
}

#[test]
fn in_boat_today_the_same_message_never_looks_the_same() {
    let mut seen = BTreeSet::new();
    for seed in 0..20 {
        let mut pair = pair::modern(Cipher::Aes128Gcm, seed);
        for phase in 0..20 {
            let message = Message { phase, step: Step::Probe { time: 1_000 }, key: Vec::new() };
            let datagram = pair.seal(&Content::Message(message));
            for block in datagram[3..].chunks_exact(8) {
                assert!(seen.insert((seed, block.to_vec())), "{seed} {phase}");
            }
            // Within a call; two calls have the same first key here, which no two real ones have.
            pair.talker.abandon(phase);
        }
    }
}
