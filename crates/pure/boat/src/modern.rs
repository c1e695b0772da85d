//! The protection of BoAT today.
//!
//! In: K_0 on which two members have agreed ([`Modern::new`]), or everything before it ([`Introduction`]). Out: a
//! [`Seal`].
//!
//! # Keys
//!
//! Each direction has a chain of its own; each second of the talker's time is an *epoch* with a key of its own:
//!
//! ```text
//! K_i, salt_i = HKDF-Expand(chain_i, "audio")        chain_{i+1} = HKDF-Expand(chain_i, "next")
//! ```
//!
//! and what came before is wiped. So the roll of keys needs no message, and survives any loss that leaves one datagram in
//! [`CATCH_UP_MAX`] epochs. Every [`Config::healing_interval`]-th phase carries fresh X25519 keys besides: PROBE e_S,
//! RESPONSE e_R; INSTALL and ACK confirm that both sides have come to the same. What comes out begins a new *generation*,
//! a new chain, which nobody knows who had stolen the old one. The listener takes both until it has seen the talker use
//! the new one, so any of the four may be lost.
//!
//! # Datagrams
//!
//! ```text
//! | 1 1 1 d g g s s | sequence number (16 bits) | encrypted content | tag (16 bytes) |
//! ```
//!
//! `d` is 0 from the caller and 1 from the callee; `g` and `s` count generations and epochs modulo 4. These three bytes
//! are authenticated; everything else, whether a talkspurt begins too, is encrypted. A packet of sound is [`OVERHEAD`]
//! bytes longer than the codec's bytes. The first byte is 224 to 255: where RTP, STUN, TURN, DTLS and ZRTP begin
//! otherwise, and key agreements ([`Kind::AGREEMENT`](guestright_voice::rtp::Kind::AGREEMENT)) and introductions too. RFC 9443 gives
//! these values to QUIC, which does not run on a port of BoAT.
//!
//! The nonce is salt_i XOR a counter of 64 bits, which rises by one with each datagram of a direction, in all epochs and
//! generations; its lower 16 bits are the sequence number.
//!
//! # Invariants
//!
//! - A counter is used once: what is sealed has its own nonce, whatever the clock does.
//! - A datagram is opened once; a window of 1,024 behind the highest counter.
//! - A datagram that does not open changes no key, no window and no phase. It costs at most ten tries, and the keys of
//!   [`CATCH_UP_MAX`] epochs once.
//! - Old keys are wiped [`GRACE`] after the talker was seen to be further.

mod derive;
mod encoding;
mod healing;
pub mod introduction;
mod key;
mod listening;
mod talking;

use super::{Content, Opened, Seal, SealError};
use derive::{Chance, Secret};
pub use encoding::parses;
use guestright_units::{Micros, Seed, Time};
use guestright_voice::agreement::{Agreed, Role};
pub use introduction::{Introduction, Member};
use key::EpochKey;
use listening::Listening;
use std::fmt;
use talking::Talking;
use zeroize::{Zeroize as _, Zeroizing};

/// How long a talker uses one key.
pub const EPOCH: Micros = Micros::from_seconds(1);
/// How many epochs a listener may be behind and still understand.
pub const CATCH_UP_MAX: usize = 32;
/// How long a listener keeps keys that the talker has left.
pub const GRACE: Micros = Micros::from_seconds(2);
/// A key protects at most so many bytes, and then the next epoch begins earlier.
pub const EPOCH_BYTES_MAX: usize = 1 << 20;
/// A key protects at most so many datagrams: so 33 epochs have less than 32,768, and a sequence number of 16 bits tells
/// which counter is meant as long as the listener can catch up at all.
pub const EPOCH_PACKETS_MAX: u32 = 960;
/// What a packet of sound has besides the codec's bytes: 3 bytes in clear, 7 of timestamp, silence and type, 16 of tag.
pub const OVERHEAD: usize = HEADER_LEN + encoding::AUDIO_OVERHEAD + TAG_LEN;

const HEADER_LEN: usize = 3;
const TAG_LEN: usize = 16;
/// The upper three bits of each datagram.
const VERSION: u8 = 0b1110_0000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cipher {
    /// AES-128-GCM: fast and safe where the processor has instructions for it.
    Aes128Gcm,
    /// ChaCha20-Poly1305 (RFC 8439): everywhere else.
    ChaCha20Poly1305,
}

impl Cipher {
    /// What this computer should prefer.
    pub const DEFAULT: Self = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        Self::Aes128Gcm
    } else {
        Self::ChaCha20Poly1305
    };

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Gcm => "AES-128-GCM",
            Self::ChaCha20Poly1305 => "ChaCha20-Poly1305",
        }
    }

    const fn key_len(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::ChaCha20Poly1305 => 32,
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a call is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What both sides have agreed on.
    pub cipher: Cipher,
    /// Every so many phases of ours carry fresh X25519 keys, from 1 (each). The other side follows.
    pub healing_interval: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { cipher: Cipher::DEFAULT, healing_interval: 16 }
    }
}

/// A [`Seal`] whose keys roll each second, and heal.
#[derive(Debug)]
pub struct Modern {
    chance: Chance,
    talking: Talking,
    listening: Listening,
}

/// What a direction begins with.
#[derive(Debug)]
struct Start {
    root: Secret,
    chain: Secret,
}

impl Start {
    fn new(shared: &Secret, talker: Role) -> Self {
        let (root, chain): (&[u8], &[u8]) = match talker {
            Role::Caller => (b"guestright/boat/1/root/caller", b"guestright/boat/1/chain/caller"),
            Role::Callee => (b"guestright/boat/1/root/callee", b"guestright/boat/1/chain/callee"),
        };
        Self { root: shared.derive(root), chain: shared.derive(chain) }
    }
}

impl Modern {
    /// Begins with K_0, which only the other side knows too. `seed` is chance that nobody knows; each side has its own.
    #[must_use]
    pub fn new(role: Role, shared: &Zeroizing<[u8; 32]>, config: Config, seed: &Seed) -> Self {
        let shared = Secret::new(**shared);
        let Config { cipher, healing_interval } = config;
        Self {
            chance: Chance::new(seed),
            talking: Talking::new(role, cipher, healing_interval, Start::new(&shared, role)),
            listening: Listening::new(role.other(), cipher, Start::new(&shared, role.other())),
        }
    }

    /// Begins with what two members have agreed on.
    #[must_use]
    pub fn from_agreed(role: Role, agreed: &Agreed, config: Config, seed: &Seed) -> Self {
        let (caller, callee) = match role {
            Role::Caller => (&agreed.send, &agreed.receive),
            Role::Callee => (&agreed.receive, &agreed.send),
        };
        let parts = [caller.key(), caller.salt(), callee.key(), callee.salt()];
        let mut material = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
        parts.iter().for_each(|part| material.extend_from_slice(part));
        let shared = Secret::extract(b"guestright/boat/1", &material);
        Self::new(role, &Zeroizing::new(*shared.as_bytes()), config, seed)
    }

    /// Takes fresh chance from outside. Without it, whoever once had everything that is in here can compute the keys that
    /// it will draw; with it, only those who had it later.
    pub fn stir(&mut self, seed: &Seed) {
        self.chance.stir(seed);
    }

    /// How many times the keys have healed: of what we send, and of what we receive.
    #[must_use]
    pub fn generations(&self) -> [u64; 2] {
        [self.talking.generation(), self.listening.generation()]
    }
}

impl Seal for Modern {
    fn seal(
        &mut self,
        content: &Content,
        room: usize,
        now: Time,
        datagram: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        datagram.clear();
        datagram.resize(HEADER_LEN, 0);
        let sealed = encoding::emit(content, room, datagram).and_then(|()| {
            let (key, label, counter) = self.talking.next(datagram.len() + TAG_LEN, now)?;
            let [.., high, low] = counter.to_be_bytes();
            let header = [label.0, high, low];
            datagram[..HEADER_LEN].copy_from_slice(&header);
            Ok(key.seal(counter, &header, &mut datagram[HEADER_LEN..]))
        });
        match sealed {
            Ok(tag) => datagram.extend_from_slice(&tag),
            // What was not encrypted must not be sent by mistake.
            Err(_) => datagram.zeroize(),
        }
        sealed.map(drop)
    }

    fn open(&mut self, datagram: &[u8], now: Time) -> Result<Opened, SealError> {
        let mut text = Vec::new();
        let sealed = Sealed::parse(datagram, &mut text)?;
        self.listening.open(sealed, now)
    }

    fn probe(&mut self, phase: u32) -> Vec<u8> {
        self.talking.probe(phase, &mut self.chance)
    }

    fn response(&mut self, phase: u32, probe: &[u8]) -> Result<Vec<u8>, SealError> {
        self.listening.response(phase, probe, &mut self.chance)
    }

    fn install(&mut self, phase: u32, response: &[u8]) -> Result<Vec<u8>, SealError> {
        self.talking.install(phase, response)
    }

    fn ack(&mut self, phase: u32, install: &[u8]) -> Result<Vec<u8>, SealError> {
        self.listening.ack(phase, install)
    }

    fn complete(&mut self, phase: u32, ack: &[u8]) -> Result<(), SealError> {
        self.talking.complete(phase, ack)
    }

    fn abandon(&mut self, phase: u32) {
        self.talking.abandon(phase);
    }
}

/// The first byte of a datagram: who sent it, and with which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Label(u8);

impl Label {
    fn new(talker: Role, generation: u64, step: u64) -> Self {
        let direction = match talker {
            Role::Caller => 0,
            Role::Callee => 1,
        };
        Self(VERSION | direction << 4 | modulo_4(generation) << 2 | modulo_4(step))
    }

    fn talker(self) -> Role {
        if self.0 & 0x10 == 0 { Role::Caller } else { Role::Callee }
    }

    fn is_generation(self, number: u64) -> bool {
        self.0 >> 2 & 3 == modulo_4(number)
    }

    /// How many steps after `step` the next one of this label is, from 0 to 3.
    fn step_after(self, step: u64) -> usize {
        usize::from((self.0 & 3).wrapping_sub(modulo_4(step)) & 3)
    }
}

fn modulo_4(number: u64) -> u8 {
    u8::try_from(number % 4).expect("less than 4")
}

/// A datagram that was taken to pieces.
#[derive(Debug)]
struct Sealed<'a> {
    header: [u8; HEADER_LEN],
    label: Label,
    sequence: u16,
    /// What the sequence number stands for; 0 until it was widened.
    counter: u64,
    /// Encrypted, until a key opens it.
    text: &'a mut Vec<u8>,
    tag: [u8; TAG_LEN],
}

impl<'a> Sealed<'a> {
    fn parse(datagram: &[u8], text: &'a mut Vec<u8>) -> Result<Self, SealError> {
        let short = SealError::Malformed("shorter than its header and its tag");
        let (header, rest) = datagram.split_first_chunk::<HEADER_LEN>().ok_or(short)?;
        let (encrypted, tag) = rest.split_last_chunk::<TAG_LEN>().ok_or(short)?;
        let [first, high, low] = *header;
        if first & 0b1110_0000 != VERSION {
            return Err(SealError::Malformed("another kind of datagram"));
        }
        if encrypted.len() > encoding::TEXT_MAX {
            return Err(SealError::Malformed("longer than any sound"));
        }
        text.extend_from_slice(encrypted);
        let sequence = u16::from_be_bytes([high, low]);
        Ok(Self { header: *header, label: Label(first), sequence, counter: 0, text, tag: *tag })
    }

    #[must_use]
    fn opens_with(&mut self, key: &EpochKey) -> bool {
        key.open(self.counter, &self.header, self.text, &self.tag)
    }
}

#[cfg(test)]
mod tests;
