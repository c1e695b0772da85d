//! b. RC4's second byte is 0 twice as often as it should be (Mantin and Shamir, Fast Software Encryption 2001), and every
//! new key shows it again: short lives of keys make RC4 worse.

use crate::pair::{self, Pair, sound};
use guestright_boat::Seal;
use guestright_boat::modern::Cipher;
use guestright_legacy::boat::{Config, Keystream, Mac};

/// Datagrams that the attacker waits for: 22 minutes of speech.
const DATAGRAMS: u64 = 32_768;
/// The second byte under RC4 is the first of the timestamp: the same for 4.6 hours.
const SECOND: usize = 3 + 1;
const CLOCK: u32 = 0xa700_0000;

/// How often each value was seen at the second encrypted place.
fn counts<S: Seal>(pair: &mut Pair<S>) -> [u64; 256] {
    let mut counts = [0; 256];
    for number in 0..DATAGRAMS {
        if number % 1_000 == 999 {
            pair.change_key();
            pair.now = guestright_units::Time(pair.now.0 + 1_000_000);
        }
        let clock = CLOCK + u32::try_from(number).unwrap() * 40;
        let datagram = pair.seal(&sound(clock, &[0; 34]));
        counts[usize::from(datagram[SECOND])] += 1;
    }
    counts
}

fn most_frequent(counts: &[u64; 256]) -> usize {
    (0..256).max_by_key(|&value| counts[value]).unwrap()
}

fn key_per_packet(dropped: u16) -> Pair<impl Seal> {
    pair::legacy(Config { dropped, ..Config::new(Keystream::PerPacket, Mac::EncryptedDigest) }, 2)
}

#[test]
fn the_second_byte_gives_away_what_it_hides() {
    let counts = counts(&mut key_per_packet(0));
    let hidden = (CLOCK >> 24) as usize;
    assert_eq!(most_frequent(&counts), hidden, "the most frequent value is the plaintext itself");
    // 2^-7 of 32,768 are 256, with a standard deviation of 16; without the bias there would be 128.
    let count = counts[hidden];
    assert!((256 - 80..=256 + 80).contains(&count), "{count} of 256");
}

#[test]
fn dropping_768_bytes_hides_it() {
    let counts = counts(&mut key_per_packet(768));
    let count = counts[(CLOCK >> 24) as usize];
    assert!((128 - 57..=128 + 57).contains(&count), "{count} of 128");
}

#[test]
fn boat_today_has_no_value_that_is_seen_twice_as_often() {
    let mut pair = pair::modern(Cipher::Aes128Gcm, 2);
    let counts = counts(&mut pair);
    let most = counts[most_frequent(&counts)];
    assert!(most < 128 + 68, "{most} of 128, six standard deviations are 68");
}

#[test]
fn each_new_key_of_a_running_keystream_shows_it_again() {
    // One datagram under each of so many keys: the first after a key was changed.
    let mut zeros = 0;
    for seed in 0..16 {
        let mut pair = pair::legacy(
            Config { is_hidden: false, ..Config::new(Keystream::Running, Mac::EncryptedDigest) },
            100 + seed,
        );
        for _ in 0..1_024 {
            pair.change_key();
            let datagram = pair.seal(&sound(CLOCK, &[0; 34]));
            pair.open(&datagram).unwrap();
            zeros += u32::from(datagram[SECOND] == (CLOCK >> 24) as u8);
        }
    }
    // 16,384 keys: 128 with the bias, with a standard deviation of 11; 64 and 8 without.
    assert!((128 - 40..=128 + 56).contains(&zeros), "{zeros} of 128");
}
