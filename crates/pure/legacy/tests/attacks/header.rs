//! c. What is in clear is not authenticated: the key bit, the direction, the sequence number.

use crate::pair::{self, sound};
use crate::wire::{Sent, Wire, attacker, legacy_call, modern_call};
use guestright_boat::modern::Cipher;
use guestright_boat::{Content, SealError};
use guestright_legacy::boat::{Config, Keystream, Mac};
use guestright_units::Micros;

const KEY_BIT: u8 = 0b0001_0000;

#[test]
fn one_flipped_key_bit_ends_a_receiver_that_follows_the_bit_as_printed() {
    for mac in [Mac::EncryptedDigest, Mac::Hmac] {
        let config = Config { is_switched_by_bit: true, ..Config::new(Keystream::Seekable, mac) };
        let mut pair = pair::legacy(config, 3);
        let before = pair.seal(&sound(1, &[1; 34]));
        pair.open(&before).unwrap();
        // The attacker drops ACK, so the talker goes on with the old key; and flips one bit of one datagram.
        pair.offer_key();
        let mut flipped = pair.seal(&sound(2, &[1; 34]));
        flipped[0] ^= KEY_BIT;
        assert_eq!(pair.open(&flipped), Err(SealError::Forged));
        for timestamp in 3..50 {
            let honest = pair.seal(&sound(timestamp, &[1; 34]));
            assert_eq!(pair.open(&honest), Err(SealError::Forged), "{mac:?}: the old key is gone");
        }
    }
}

#[test]
fn a_receiver_that_waits_for_a_mac_that_fits_loses_that_datagram_only() {
    let mut pair = pair::legacy(Config::new(Keystream::Seekable, Mac::EncryptedDigest), 3);
    pair.offer_key();
    let mut flipped = pair.seal(&sound(2, &[1; 34]));
    flipped[0] ^= KEY_BIT;
    assert_eq!(pair.open(&flipped), Err(SealError::Forged));
    let honest = pair.seal(&sound(3, &[1; 34]));
    assert_eq!(pair.open(&honest).unwrap().content, sound(3, &[1; 34]));
}

#[test]
fn in_boat_today_no_bit_of_a_datagram_can_be_changed() {
    for cipher in [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305] {
        let mut pair = pair::modern(cipher, 3);
        pair.offer_key();
        let honest = pair.seal(&sound(2, &[1; 34]));
        for bit in 0..honest.len() * 8 {
            let mut changed = honest.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(pair.open(&changed).is_err(), "{cipher}: bit {bit}");
        }
        assert_eq!(pair.open(&honest).unwrap().content, sound(2, &[1; 34]), "and nothing has changed");
    }
}

/// The HMAC covers what is encrypted, and the place in the keystream comes from outside of it: each wrong sequence number
/// is another random content that the listener takes for the talker's.
#[test]
fn an_hmac_without_the_sequence_number_lets_an_attacker_hang_up() {
    let mut pair = pair::legacy(Config::new(Keystream::PerPacket, Mac::Hmac), 4);
    let mut datagram = pair.seal(&sound(2, &[1; 34]));
    let mut goodbyes = 0;
    for sequence in 0..u16::MAX {
        datagram[1..3].copy_from_slice(&sequence.to_be_bytes());
        goodbyes += u32::from(pair.open(&datagram).is_ok_and(|opened| opened.content == Content::Bye));
    }
    // One of 256 contents begins with the byte of a goodbye.
    assert!((200..320).contains(&goodbyes), "{goodbyes}");
}

#[test]
fn an_encrypted_digest_does_not() {
    let mut pair = pair::legacy(Config::new(Keystream::PerPacket, Mac::EncryptedDigest), 4);
    let mut datagram = pair.seal(&sound(2, &[1; 34]));
    let own = u16::from_be_bytes([datagram[1], datagram[2]]);
    for sequence in (0..u16::MAX).filter(|sequence| *sequence != own) {
        datagram[1..3].copy_from_slice(&sequence.to_be_bytes());
        assert_eq!(pair.open(&datagram), Err(SealError::Forged));
    }
}

#[test]
fn in_boat_today_no_other_sequence_number_opens() {
    let mut pair = pair::modern(Cipher::Aes128Gcm, 4);
    let mut datagram = pair.seal(&sound(2, &[1; 34]));
    let own = u16::from_be_bytes([datagram[1], datagram[2]]);
    for sequence in (0..u16::MAX).step_by(7).filter(|sequence| *sequence != own) {
        datagram[1..3].copy_from_slice(&sequence.to_be_bytes());
        assert!(pair.open(&datagram).is_err());
    }
}

/// The peer's address follows the newest datagram. As printed nothing says that a sequence number is the sender's. Gives
/// the share of what the callee sends afterwards that goes to the attacker.
fn steal_the_call(mut wire: Wire) -> f64 {
    wire.run(Micros::from_seconds(3));
    assert!(!wire.played[0].is_empty(), "the caller hears the callee");
    let mut is_done = false;
    wire.meddle = Box::new(move |from, bytes, _| {
        let mut sent = Sent::honest(from, bytes);
        // A packet of sound, by its length.
        if from == 0 && !is_done && bytes.len() == 60 {
            is_done = true;
            let sequence = u16::from_be_bytes([bytes[1], bytes[2]]).wrapping_add(20_000);
            sent.bytes[1..3].copy_from_slice(&sequence.to_be_bytes());
            sent.from = attacker();
        }
        vec![sent]
    });
    wire.run(Micros::from_seconds(1));
    wire.record.clear();
    wire.run(Micros::from_seconds(1));
    let sent: Vec<_> = wire.record.iter().filter(|datagram| datagram.from == 1).collect();
    assert!(!sent.is_empty());
    sent.iter().filter(|datagram| datagram.to == attacker()).count() as f64 / sent.len() as f64
}

#[test]
fn with_a_running_keystream_one_changed_sequence_number_turns_the_callee_to_the_attacker() {
    for mac in [Mac::EncryptedDigest, Mac::Hmac] {
        let share = steal_the_call(legacy_call(Config::new(Keystream::Running, mac), 5));
        assert_eq!(share, 1.0, "{mac:?}: everything goes to the attacker");
    }
}

#[test]
fn with_places_or_a_key_per_packet_it_does_not_open() {
    for keystream in [Keystream::Seekable, Keystream::PerPacket] {
        let share = steal_the_call(legacy_call(Config::new(keystream, Mac::EncryptedDigest), 5));
        assert_eq!(share, 0.0, "{keystream:?}");
    }
}

#[test]
fn in_boat_today_it_turns_nobody() {
    assert_eq!(steal_the_call(modern_call(5)), 0.0);
}
