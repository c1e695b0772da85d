//! Calls: a packet of speech is protected, opened, relayed by a home, judged, and played out; and BoAT's packets.

use crate::{Path, ROUNDS_MAX, Round};
use guestright_boat::modern::{Cipher, Config, Modern};
use guestright_boat::{Audio, Content, Seal as _};
use guestright_engine::Streams;
use guestright_playout::{Algorithm, Call as Played, Family, Handshakes, Rules, play};
use guestright_quality::{Analyser, AnalyserConfig, Codec, Inputs, Interval, Packet, rate};
use guestright_relay::{Call, Channel, Limits, Protection, Side, SideSettings, Sources};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::agreement::Role;
use guestright_voice::srtp::{MasterKey, Profile, Protect, Unprotect};
use guestright_wire::rtp::Header;
use std::hint::black_box;
use std::net::SocketAddr;
use zeroize::Zeroizing;

pub(crate) const PATHS: &[Path] = &[
    ("srtp-protect", protect),
    ("srtp-unprotect", unprotect),
    ("relay-packet", relay),
    ("e-model", e_model),
    ("judge-50-packets", judge),
    ("playout-call", playout),
    ("boat-packet", boat),
];

fn key() -> MasterKey {
    let profile = Profile::ALL[0];
    MasterKey::new(profile, &[7; 32][..profile.key_len()], &[9; 14][..profile.salt_len()]).unwrap()
}

/// Packets of G.711.
fn speech() -> impl Iterator<Item = Vec<u8>> {
    let packet = |sequence: u16| {
        let mut bytes = Vec::new();
        Header { marker: false, payload_type: 8, sequence, timestamp: u32::from(sequence) * 160, ssrc: 7 }
            .emit(&mut bytes);
        bytes.resize(172, 0xd5);
        bytes
    };
    (0..u16::MAX).map(packet).take(ROUNDS_MAX).collect::<Vec<_>>().into_iter()
}

fn protect() -> Round {
    let (mut protect, mut packets, mut out) = (Protect::new(&key()), speech(), Vec::with_capacity(256));
    Box::new(move || protect.rtp(&packets.next().unwrap(), black_box(&mut out)).unwrap())
}

fn unprotect() -> Round {
    let mut protect = Protect::new(&key());
    let sealed = speech().map(|packet| {
        let mut out = Vec::new();
        protect.rtp(&packet, &mut out).unwrap();
        out
    });
    let mut packets = sealed.collect::<Vec<_>>().into_iter();
    let (mut unprotect, mut out) = (Unprotect::new(&key()), Vec::with_capacity(256));
    Box::new(move || unprotect.rtp(&packets.next().unwrap(), black_box(&mut out)).unwrap())
}

fn relay() -> Round {
    let [a, b] = [0, 1].map(|net| SocketAddr::from(([10, 0, net, 2], 4_000)));
    let side = |media| SideSettings {
        media: Some(media),
        control: None,
        mux: true,
        sources: Sources::Signalled,
        protection: Protection::Plain,
        clock_hz: 8_000,
    };
    let mut call = Call::new(Limits::default(), side(a), side(b), Time(0)).unwrap();
    let (mut packets, mut out, mut now) = (speech(), Vec::with_capacity(256), Time(0));
    Box::new(move || {
        now = now + Micros::from_millis(20);
        let packet = packets.next().unwrap();
        black_box(call.handle_datagram(Side::A, Channel::Media, a, &packet, &mut out, now).unwrap());
    })
}

fn e_model() -> Round {
    Box::new(|| {
        black_box(rate(black_box(Inputs::voip(170.0, 0.02, 11.0, 19.0, 1.4))).unwrap());
    })
}

/// A second of a call in each round, 2 % of it lost.
fn judge() -> Round {
    let packet = |sequence: u16| Packet {
        sequence,
        timestamp: u32::from(sequence) * 160,
        marker: sequence == 0,
        payload_bytes: 20,
        arrival: Time(u64::from(sequence) * 20_000 + u64::from(sequence % 13) * 700),
        delay_ms: Some(Interval::around(30.0, 1.0)),
    };
    let mut packets = (0..u16::MAX).filter(|sequence| sequence % 50 != 7).map(packet);
    let mut analyser = Analyser::new(AnalyserConfig::new(Codec::G729a));
    Box::new(move || {
        for packet in packets.by_ref().take(50) {
            black_box(analyser.handle_packet(&packet));
        }
    })
}

/// A whole call in each round.
fn playout() -> Round {
    let call = Played::new(Family::Gamma, Micros::from_millis(80), Micros::from_millis(20));
    let trace = call.trace(Seed::from_number(1));
    let handshakes = Handshakes::over(&trace, &mut Streams::new(Seed::from_number(1)).stream("handshake", 0));
    let algorithm = Algorithm::ALL[0];
    Box::new(move || {
        let mut policy = algorithm.policy(algorithm.knob().usual);
        black_box(play(&trace, policy.as_mut(), &handshakes.exchanges, &Rules::OURS));
    })
}

fn boat() -> Round {
    let config = Config { cipher: Cipher::Aes128Gcm, healing_interval: u32::MAX };
    let [mut talker, mut listener] = [(Role::Caller, 1), (Role::Callee, 2)]
        .map(|(role, seed)| Modern::new(role, &Zeroizing::new([7; 32]), config, &Seed::from_number(seed)));
    let (mut numbers, mut out) = (0_u32.., Vec::with_capacity(512));
    Box::new(move || {
        let number = numbers.next().unwrap();
        let audio =
            Audio { timestamp: number * 320, starts_talkspurt: false, silence: 0, payload: vec![9; 68] };
        let now = Time(u64::from(number) * 40_000);
        talker.seal(&Content::Audio(audio), 68, now, &mut out).unwrap();
        black_box(listener.open(&out, now).unwrap());
    })
}
