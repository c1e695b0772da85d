//! What a packet of G.711 costs: protecting, opening, and a whole session at both ends.
//!
//! `*_rtc_srtp` is the crate `rtc-srtp` with ring, on the same packet.

#![expect(clippy::unwrap_used, reason = "a benchmark stops when it is wrong")]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::playout::Fixed;
use guestright_voice::session::{Config, Frame, Protection, Session};
use guestright_voice::srtp::{MasterKey, Profile, Protect, Unprotect};
use guestright_wire::rtp::Header;
use rtc_srtp::context::Context;
use rtc_srtp::crypto::default_provider;
use rtc_srtp::option::{srtcp_replay_protection, srtp_replay_protection};
use rtc_srtp::protection_profile::ProtectionProfile;

/// A thousand packets of 20 ms.
const PACKETS: u32 = 1_000;

fn main() {
    divan::main();
}

fn key(profile: Profile) -> MasterKey {
    MasterKey::new(profile, &[7; 32][..profile.key_len()], &[9; 14][..profile.salt_len()]).unwrap()
}

fn packets() -> Vec<Vec<u8>> {
    let packet = |number: u32| {
        let sequence = u16::try_from(number % 65_536).unwrap();
        let mut bytes = Vec::new();
        Header { marker: false, payload_type: 8, sequence, timestamp: number * 160, ssrc: 7 }
            .emit(&mut bytes);
        bytes.resize(172, 0xd5);
        bytes
    };
    (0..PACKETS).map(packet).collect()
}

#[divan::bench(args = Profile::ALL)]
fn protect(bencher: Bencher<'_, '_>, profile: Profile) {
    let packets = packets();
    bencher.counter(ItemsCount::new(PACKETS)).with_inputs(|| Protect::new(&key(profile))).bench_local_values(
        |mut protect| {
            let mut out = Vec::with_capacity(256);
            for packet in &packets {
                protect.rtp(black_box(packet), &mut out).unwrap();
            }
            protect
        },
    );
}

#[divan::bench(args = Profile::ALL)]
fn unprotect(bencher: Bencher<'_, '_>, profile: Profile) {
    let mut protect = Protect::new(&key(profile));
    let seal = |packet: &Vec<u8>| {
        let mut out = Vec::new();
        protect.rtp(packet, &mut out).unwrap();
        out
    };
    let sealed: Vec<Vec<u8>> = packets().iter().map(seal).collect();
    bencher
        .counter(ItemsCount::new(PACKETS))
        .with_inputs(|| Unprotect::new(&key(profile)))
        .bench_local_values(|mut unprotect| {
            let mut out = Vec::with_capacity(256);
            for packet in &sealed {
                unprotect.rtp(black_box(packet), &mut out).unwrap();
            }
            unprotect
        });
}

fn other(profile: ProtectionProfile) -> Context {
    let (key, salt) = ([7; 32], [9; 14]);
    let provider = default_provider().unwrap();
    let replay = (Some(srtp_replay_protection(1_024)), Some(srtcp_replay_protection(1_024)));
    let (key, salt) = (&key[..profile.key_len()], &salt[..profile.salt_len()]);
    Context::new(key, salt, profile, replay.0, replay.1, provider.crypto()).unwrap()
}

const OTHERS: [ProtectionProfile; 2] =
    [ProtectionProfile::AeadAes128Gcm, ProtectionProfile::Aes128CmHmacSha1_80];

#[divan::bench(args = OTHERS)]
fn protect_rtc_srtp(bencher: Bencher<'_, '_>, profile: &ProtectionProfile) {
    let packets = packets();
    bencher.counter(ItemsCount::new(PACKETS)).with_inputs(|| other(*profile)).bench_local_values(
        |mut context| {
            for packet in &packets {
                black_box(context.encrypt_rtp(black_box(packet)).unwrap());
            }
            context
        },
    );
}

#[divan::bench(args = OTHERS)]
fn unprotect_rtc_srtp(bencher: Bencher<'_, '_>, profile: &ProtectionProfile) {
    let mut context = other(*profile);
    let sealed: Vec<_> = packets().iter().map(|packet| context.encrypt_rtp(packet).unwrap()).collect();
    bencher.counter(ItemsCount::new(PACKETS)).with_inputs(|| other(*profile)).bench_local_values(
        |mut context| {
            for packet in &sealed {
                black_box(context.decrypt_rtp(black_box(packet)).unwrap());
            }
            context
        },
    );
}

/// One packet from the codec at one end to the codec at the other: made, protected, opened, buffered and taken out.
#[divan::bench(args = [false, true])]
fn session(bencher: Bencher<'_, '_>, is_protected: bool) {
    let key = key(Profile::AeadAes128Gcm);
    let side = |seed| {
        let protection = if is_protected {
            Protection::Keys { send: key.clone(), receive: key.clone() }
        } else {
            Protection::None
        };
        let policy = Box::new(Fixed::new(Micros::from_millis(60)));
        Session::new(Config::g711(8, "bench"), protection, policy, &Seed::from_number(seed), Time(0))
    };
    let from = "192.0.2.1:4000".parse().unwrap();
    let frame =
        Frame { payload: &[0xd5; 160], duration: Micros::from_millis(20), is_speech: true, noise_level: 60 };
    bencher.counter(ItemsCount::new(PACKETS)).with_inputs(|| (side(1), side(2))).bench_local_values(
        |(mut talker, mut listener)| {
            for number in 0..u64::from(PACKETS) {
                let now = Time(number * 20_000);
                talker.handle_frame(black_box(&frame), now);
                talker.handle_timeout(now);
                listener.handle_timeout(now);
                while let Some(sent) = talker.poll_transmit() {
                    listener.handle_datagram(black_box(&sent.bytes), from, now).unwrap();
                }
                while listener.poll_received().is_some() || listener.poll_transmit().is_some() {}
                black_box(listener.poll_sound(now));
            }
            (talker, listener)
        },
    );
}
