use super::envelope::{ENVELOPE, Envelope, Kind, Letter};
use super::keystream::Writing;
use super::session_key::{KEY_BYTES, Receiving, Sending, SessionKeyBytes, TAG};
use super::{Config, Keystream, Mac, SharedKey, plain};
use crate::cost::{End, Work, digest};
use guestright_boat::{Audio, Content, Message, Step};
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::{Digest as _, Md5};
use rand::SeedableRng as _;
use rand_chacha::ChaCha20Rng;
use rc4::{Rc4, StreamCipher as _};

/// Packets a second, of 40 ms.
const PACKETS: usize = 25;
/// In clear in front of each.
const HEADER: usize = 3;
/// What the paper measures: 34 bytes of codec in each packet, 850 a second.
const PAYLOAD: usize = 34;

/// BoAT's protection of one second at 850 bytes a second: its parts as Table 10 of paper D has them, and all of it.
pub fn work() -> Vec<Work> {
    work_at(PAYLOAD)
}

/// The same with `payload` bytes of codec in each of 25 packets, at most 320.
pub fn work_at(payload: usize) -> Vec<Work> {
    let mut all = block_cipher(payload);
    all.extend(stream_cipher(payload));
    all.extend(mac(payload));
    let variants = [
        ("whole: running, encrypted digest", Keystream::Running, Mac::EncryptedDigest),
        ("whole: running, HMAC", Keystream::Running, Mac::Hmac),
        ("whole: seekable, encrypted digest", Keystream::Seekable, Mac::EncryptedDigest),
        ("whole: seekable, HMAC", Keystream::Seekable, Mac::Hmac),
        ("whole: key per packet, encrypted digest", Keystream::PerPacket, Mac::EncryptedDigest),
        ("whole: key per packet, HMAC", Keystream::PerPacket, Mac::Hmac),
    ];
    for (name, keystream, mac) in variants {
        let config = Config::new(keystream, mac);
        all.push(whole_sender(name, payload, config));
        all.push(whole_receiver(name, payload, config));
    }
    all
}

fn part(name: &'static str, end: End, payload: usize, run: Box<dyn FnMut() -> u64 + Send>) -> Work {
    Work { name, end, codec_bytes: PACKETS * payload, wire_bytes: 0, run }
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::wrapping_add)
}

fn envelope() -> Envelope {
    let config = Config::new(Keystream::Running, Mac::EncryptedDigest);
    Envelope::new(SharedKey::from_pass_phrase("cost"), &config)
}

fn letters() -> [Letter; 2] {
    let probe = Message { phase: 1, step: Step::Probe { time: 1_000 }, key: Vec::new() };
    let install = Message { phase: 1, step: Step::Install { round_trip: 100 }, key: vec![7; KEY_BYTES] };
    [probe, install].map(|message| Letter::of(&message).expect("its key has the right length"))
}

/// Blowfish, and the check inside, over the two messages that a talker sends in a second; `K0` is set up once a call.
fn block_cipher(payload: usize) -> Vec<Work> {
    let close = |envelope: &Envelope, rng: &mut ChaCha20Rng| {
        let mut bytes = Vec::with_capacity(2 * ENVELOPE);
        for letter in letters() {
            envelope.close(&letter, true, rng, &mut bytes);
        }
        bytes
    };
    let (sender, receiver) = (envelope(), envelope());
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let closed = close(&sender, &mut rng);
    let name = "block cipher: Blowfish, PROBE and INSTALL";
    vec![
        part(name, End::Sender, payload, Box::new(move || digest(&close(&sender, &mut rng)))),
        part(
            name,
            End::Receiver,
            payload,
            Box::new(move || {
                let messages = [Kind::Probe, Kind::Install].into_iter().zip(closed.chunks(ENVELOPE));
                messages
                    .map(|(kind, bytes)| {
                        let letter = receiver.open(kind, true, bytes).expect("it was closed with this key");
                        letter.message().map_or(0, |message| u64::from(message.phase))
                    })
                    .sum()
            }),
        ),
    ]
}

/// RC4 over the second. Encrypting and decrypting are one and the same, but for the keystream that packets with places in
/// it leave over.
fn stream_cipher(payload: usize) -> Vec<Work> {
    let body = 1 + plain::AUDIO_HEADER + payload;
    let mut bulk = Rc4::new_from_slice(&[7; KEY_BYTES]).expect("RC4 takes keys of 16 bytes");
    let mut bytes = vec![0; PACKETS * payload];
    let mut all = vec![part(
        "stream cipher: RC4, bulk, no key set-up",
        End::Sender,
        payload,
        Box::new(move || {
            bulk.apply_keystream(&mut bytes);
            digest(&bytes)
        }),
    )];
    let variants = [
        ("stream cipher: RC4, running", Keystream::Running, 0),
        ("stream cipher: RC4, running, 768 bytes dropped", Keystream::Running, 768),
        ("stream cipher: RC4, seekable", Keystream::Seekable, 0),
        ("stream cipher: RC4, key per packet", Keystream::PerPacket, 0),
        ("stream cipher: RC4, key per packet, 768 bytes dropped", Keystream::PerPacket, 768),
    ];
    for (name, keystream, dropped) in variants {
        let config = Config { dropped, ..Config::new(keystream, Mac::EncryptedDigest) };
        let mut packet = vec![0; body + TAG];
        let run = Box::new(move || {
            let mut writing = Writing::new(&SessionKeyBytes::new([7; KEY_BYTES]), 0, &config);
            sum((1..).take(PACKETS).map(|sequence| {
                writing.apply(sequence, &mut packet);
                digest(&packet)
            }))
        });
        all.push(part(name, End::Sender, payload, run));
    }
    all
}

/// MD5 over the second.
fn mac(payload: usize) -> Vec<Work> {
    let bulk = vec![1; PACKETS * payload];
    let packet = vec![1; 1 + plain::AUDIO_HEADER + payload];
    let keyed = packet.clone();
    vec![
        part(
            "MAC: MD5, bulk",
            End::Sender,
            payload,
            Box::new(move || digest(&Md5::digest(std::hint::black_box(&bulk)))),
        ),
        part(
            "MAC: MD5 of each packet",
            End::Sender,
            payload,
            Box::new(move || sum((0..PACKETS).map(|_| digest(&Md5::digest(std::hint::black_box(&packet)))))),
        ),
        part(
            "MAC: HMAC-MD5 of each packet",
            End::Sender,
            payload,
            Box::new(move || {
                let one = || {
                    let mut mac =
                        Hmac::<Md5>::new_from_slice(&[7; KEY_BYTES]).expect("HMAC takes keys of any length");
                    mac.update(std::hint::black_box(&keyed));
                    digest(&mac.finalize().into_bytes())
                };
                sum((0..PACKETS).map(|_| one()))
            }),
        ),
    ]
}

/// A second of datagrams as a sender makes them: 25 packets of sound under a new key, PROBE and INSTALL.
fn send(envelope: &Envelope, config: &Config, payload: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<u8>> {
    let key = SessionKeyBytes::new([7; KEY_BYTES]);
    let mut sending = Sending::new(&key, false, 0, config);
    let [probe, install] =
        letters().map(|letter| Content::Message(letter.message().expect("it is not a knock")));
    let sound = |at: u32| {
        Content::Audio(Audio {
            timestamp: at * 40,
            starts_talkspurt: false,
            silence: 0,
            payload: vec![at.to_le_bytes()[0]; payload],
        })
    };
    let contents = (0..).take(PACKETS).map(sound).chain([probe, install]);
    (1_u16..)
        .zip(contents)
        .map(|(sequence, content)| {
            let mut datagram = Vec::with_capacity(HEADER + 1 + plain::AUDIO_HEADER + payload + TAG);
            datagram.push(0);
            datagram.extend_from_slice(&sequence.to_be_bytes());
            plain::write(&content, payload, envelope, true, rng, &mut datagram).expect("it is not too long");
            sending.protect(sequence, &mut datagram, HEADER);
            datagram
        })
        .collect()
}

fn whole_sender(name: &'static str, payload: usize, config: Config) -> Work {
    let envelope = envelope();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let wire_bytes = send(&envelope, &config, payload, &mut rng).iter().map(Vec::len).sum();
    let run = Box::new(move || {
        sum(send(&envelope, &config, payload, &mut rng).iter().map(|datagram| digest(datagram)))
    });
    Work { name, end: End::Sender, codec_bytes: PACKETS * payload, wire_bytes, run }
}

fn whole_receiver(name: &'static str, payload: usize, config: Config) -> Work {
    let envelope = envelope();
    let datagrams = send(&envelope, &config, payload, &mut ChaCha20Rng::seed_from_u64(3));
    let wire_bytes = datagrams.iter().map(Vec::len).sum();
    let run = Box::new(move || {
        let key = SessionKeyBytes::new([7; KEY_BYTES]);
        let mut receiving = Receiving::new(&key, 1, 0, &config);
        sum((1_u16..).zip(&datagrams).map(|(sequence, datagram)| {
            let plain =
                receiving.unprotect(sequence, &datagram[HEADER..]).expect("it was made with this key");
            match plain::read(&plain, &envelope, true).expect("it was written like this") {
                Content::Audio(audio) => digest(&audio.payload),
                Content::Message(message) => u64::from(message.phase),
                Content::Report(_) | Content::Cover | Content::Bye => 0,
            }
        }))
    });
    Work { name, end: End::Receiver, codec_bytes: PACKETS * payload, wire_bytes, run }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_of_it_runs_again_and_again_and_has_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for mut work in work() {
            (work.run)();
            (work.run)();
            assert_eq!(work.codec_bytes, 850);
            assert!(names.insert((work.name, work.end == End::Sender)), "{work:?}");
        }
    }

    #[test]
    fn a_second_has_27_datagrams_of_60_bytes_on_the_wire() {
        for work in work().iter().filter(|work| work.name.starts_with("whole")) {
            assert_eq!(work.wire_bytes, 27 * (3 + 1 + 6 + 34 + 16), "{work:?}");
        }
    }

    #[test]
    fn at_8000_bytes_a_second_packets_still_fit() {
        for mut work in work_at(320) {
            (work.run)();
        }
    }
}
