//! What BoAT's protection costs for a second of speech: 25 packets of sound sealed and opened, and one phase.
//!
//! One direction, both of its ends, as the cost of a codec is given for encoding and decoding.

#![expect(clippy::unwrap_used, reason = "a benchmark stops when it is wrong")]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use guestright_boat::modern::{Cipher, Config, Modern};
use guestright_boat::{Audio, Content, Message, Seal as _, Step};
use guestright_units::{Seed, Time};
use guestright_voice::agreement::Role;
use std::fmt;
use zeroize::Zeroizing;

/// Seconds of speech in a run.
const SECONDS: u32 = 64;
const PACKETS: u32 = 25;

fn main() {
    divan::main();
}

/// What is varied.
#[derive(Clone, Copy)]
struct Case {
    cipher: Cipher,
    /// The codec's bytes in a second.
    rate: usize,
    /// 0 stands for never.
    healing_interval: u32,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} B/s, ", self.cipher, self.rate)?;
        match self.healing_interval {
            0 => f.write_str("no X25519"),
            interval => write!(f, "X25519 every {interval} s"),
        }
    }
}

fn cases() -> impl Iterator<Item = Case> {
    let ciphers = [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305];
    ciphers.into_iter().flat_map(|cipher| {
        [850, 1_700, 8_000]
            .into_iter()
            .flat_map(move |rate| [0, 16, 1].map(|healing_interval| Case { cipher, rate, healing_interval }))
    })
}

fn pair(cipher: Cipher, healing_interval: u32) -> [Modern; 2] {
    let healing_interval = if healing_interval == 0 { u32::MAX } else { healing_interval };
    let config = Config { cipher, healing_interval };
    [(Role::Caller, 1), (Role::Callee, 2)]
        .map(|(role, seed)| Modern::new(role, &Zeroizing::new([7; 32]), config, &Seed::from_number(seed)))
}

/// A datagram from `from` to `to`, and what was in it.
fn carry(from: &mut Modern, to: &mut Modern, content: &Content, room: usize, now: Time, out: &mut Vec<u8>) {
    from.seal(black_box(content), room, now, out).unwrap();
    black_box(to.open(black_box(out), now).unwrap());
}

fn message(phase: u32, step: Step, key: Vec<u8>) -> Content {
    Content::Message(Message { phase, step, key })
}

/// The four messages.
fn phase([talker, listener]: &mut [Modern; 2], number: u32, room: usize, now: Time, out: &mut Vec<u8>) {
    let key = talker.probe(number);
    let probe = message(number, Step::Probe { time: 0 }, key.clone());
    carry(talker, listener, &probe, room, now, out);
    let key = listener.response(number, &key).unwrap();
    let response = message(number, Step::Response { time: 0, held: 0 }, key.clone());
    carry(listener, talker, &response, room, now, out);
    let key = talker.install(number, &key).unwrap();
    let install = message(number, Step::Install { round_trip: 0 }, key.clone());
    carry(talker, listener, &install, room, now, out);
    let key = listener.ack(number, &key).unwrap();
    let ack = message(number, Step::Ack { round_trip: 0 }, key.clone());
    carry(listener, talker, &ack, room, now, out);
    talker.complete(number, &key).unwrap();
}

/// One item is a second of speech.
#[divan::bench(args = cases())]
fn second(bencher: Bencher<'_, '_>, case: Case) {
    let room = case.rate / 25;
    bencher
        .counter(ItemsCount::new(SECONDS))
        .with_inputs(|| pair(case.cipher, case.healing_interval))
        .bench_local_values(|mut sides| {
            let mut out = Vec::with_capacity(512);
            for number in 0..SECONDS {
                phase(&mut sides, number, room, Time(u64::from(number) * 1_000_000), &mut out);
                for packet in 0..PACKETS {
                    let timestamp = (number * PACKETS + packet) * 320;
                    let payload = vec![9; room];
                    let audio = Audio { timestamp, starts_talkspurt: false, silence: 0, payload };
                    let now = Time(u64::from(number * PACKETS + packet) * 40_000);
                    let [talker, listener] = &mut sides;
                    carry(talker, listener, &Content::Audio(audio), room, now, &mut out);
                }
            }
            sides
        });
}

/// A phase alone, at both ends: without and with X25519.
#[divan::bench(args = [0, 1])]
fn phase_alone(bencher: Bencher<'_, '_>, healing_interval: u32) {
    bencher
        .counter(ItemsCount::new(SECONDS))
        .with_inputs(|| pair(Cipher::Aes128Gcm, healing_interval))
        .bench_local_values(|mut sides| {
            let mut out = Vec::with_capacity(512);
            (0..SECONDS).for_each(|number| phase(&mut sides, number, 34, Time(0), &mut out));
            sides
        });
}

/// A datagram with a step of the hash ratchet at both ends, against one without.
#[divan::bench(args = [false, true])]
fn ratchet(bencher: Bencher<'_, '_>, steps: bool) {
    bencher.counter(ItemsCount::new(SECONDS)).with_inputs(|| pair(Cipher::Aes128Gcm, 0)).bench_local_values(
        |[mut talker, mut listener]| {
            let mut out = Vec::with_capacity(512);
            for number in 0..u64::from(SECONDS) {
                let now = Time(if steps { number * 1_000_000 } else { 0 });
                carry(&mut talker, &mut listener, &Content::Cover, 34, now, &mut out);
            }
            (talker, listener)
        },
    );
}

/// What a forged datagram costs its receiver at most: the first time, and then.
#[divan::bench]
fn forged(bencher: Bencher<'_, '_>) {
    let mut sides = pair(Cipher::Aes128Gcm, 0);
    let mut datagram = Vec::new();
    carry_one(&mut sides, &mut datagram);
    datagram[2] += 1;
    let [_, mut listener] = sides;
    bencher
        .counter(ItemsCount::new(1_u32))
        .bench_local(|| listener.open(black_box(&datagram), Time(0)).unwrap_err());
}

fn carry_one([talker, listener]: &mut [Modern; 2], datagram: &mut Vec<u8>) {
    carry(talker, listener, &Content::Cover, 34, Time(0), datagram);
}
