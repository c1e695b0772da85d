//! Tunnels: a packet is sealed, and opened.

use crate::{Path, ROUNDS_MAX, Round};
use guestright_tunnel::esp::{InboundSa, Keys, Lifetime, OutboundSa, PACKET_LEN_MAX, SaParameters, Suite};
use std::hint::black_box;
use zeroize::Zeroizing;

pub(crate) const PATHS: &[Path] = &[
    ("esp-seal-200-gcm", || seal(Suite::Aes128Gcm, SPEECH)),
    ("esp-seal-1400-gcm", || seal(Suite::Aes128Gcm, FULL)),
    ("esp-seal-1400-chacha", || seal(Suite::ChaCha20Poly1305, FULL)),
    ("esp-open-200-gcm", || open(Suite::Aes128Gcm, SPEECH)),
    ("esp-open-1400-gcm", || open(Suite::Aes128Gcm, FULL)),
];

/// A packet of speech, in bytes, and a full one.
const SPEECH: usize = 200;
const FULL: usize = 1_400;

fn parameters(suite: Suite) -> SaParameters {
    let key: Vec<u8> = (1..=64).collect();
    SaParameters {
        spi: 0x1001,
        keys: Keys::new(suite, &key[..suite.encryption_key_len()], &key[..suite.authentication_key_len()])
            .unwrap(),
        extended_sequence: true,
        lifetime: Lifetime::default(),
        packet_len_max: PACKET_LEN_MAX,
    }
}

fn outbound(suite: Suite) -> OutboundSa {
    OutboundSa::new(&parameters(suite), 1, &Zeroizing::new([7; 32]))
}

fn seal(suite: Suite, length: usize) -> Round {
    let (mut sa, mut buffer) = (outbound(suite), vec![3; 2_000]);
    Box::new(move || {
        black_box(sa.seal_in_place(4, length, black_box(&mut buffer)).unwrap());
    })
}

fn open(suite: Suite, length: usize) -> Round {
    let (mut sender, packet, mut out) = (outbound(suite), vec![3; length], vec![0; 2_000]);
    let sealed = (0..ROUNDS_MAX).map(|_| {
        let length = sender.seal(4, &packet, &mut out).unwrap();
        out[..length].to_vec()
    });
    let mut packets = sealed.collect::<Vec<_>>().into_iter();
    let mut sa = InboundSa::new(&parameters(suite), 4_096);
    Box::new(move || {
        let mut packet = packets.next().unwrap();
        black_box(sa.open(black_box(&mut packet)).unwrap());
    })
}
