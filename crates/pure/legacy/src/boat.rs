//! BoAT as paper D prints it (section 3.2): RC4 and MD5 under keys that a Blowfish handshake brings, one a second.
//!
//! [`Legacy`] is the [`Seal`](guestright_boat::Seal) of the shared machine
//! [`guestright_boat::Boat`]; [`PassPhrase`] is how two sides come to it; [`tool`] puts both together. What the
//! paper leaves open is ours, and said so where it is; as printed it cannot lose a packet ([`Keystream::Running`]).
//!
//! A datagram, after the first contact:
//!
//! ```text
//! version 2 bits (1) | direction 1 | key 1 | 0 4 bits     in clear
//! sequence u16                                            in clear
//! kind u8 | timestamp u32 | silence u16 | the codec's bytes   RC4
//! MAC 16 bytes                                            RC4 as well, or HMAC
//! ```
//!
//! Handshake messages, covers, reports and goodbyes have another kind and are filled with random bytes to the length of
//! the sound packets of the moment. A handshake message is 40 bytes under Blowfish and `K0` inside of that: exactly what
//! fits into a packet of 850 bytes a second (34 bytes of codec); at 700 bytes a second it sticks out by 6. Before the first
//! key there is no RC4 to hide it, and its version is 0.
//!
//! How it breaks, attack by attack, is in `tests/attacks`.

mod cost;
mod envelope;
mod keystream;
mod pass_phrase;
mod plain;
mod seal;
mod session_key;
mod survival;

pub use cost::{work, work_at};
pub use pass_phrase::{K0_ROUNDS, PassPhrase, SharedKey};
pub use seal::Legacy;
pub use survival::{Survival, survival};

use guestright_boat::{Boat, Timing};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::tool::Side;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;

/// One side of a call with BoAT as printed; `config` is its protection, `boat` everything else
/// ([`guestright_boat::Config::printed`]). `pass_phrase` is what both sides know, `seed` what nobody else does.
pub fn tool(
    config: Config,
    boat: guestright_boat::Config,
    side: Side,
    pass_phrase: &str,
    seed: &Seed,
    now: Time,
) -> Boat {
    let mut rng = ChaCha20Rng::from_seed(seed.0);
    let mut part = || {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Seed(bytes)
    };
    let shared = SharedKey::from_pass_phrase(pass_phrase);
    let opening = PassPhrase::new(config, side, shared, &part(), now);
    Boat::new(boat, Timing::Boat, Box::new(opening), &part(), now)
}

/// Why it is broken, for whoever runs it.
pub const INSECURE: &str = "RC4 and MD5 under a key that one pass phrase protects for ever. Packets can be forged, calls \
                            played back, and a recorded call opens to whoever learns or guesses the phrase later.";

/// The same for a screen, after "who could hear it:".
pub(crate) const PROTECTION: &str = "broken (RC4, MD5): anybody on the way who tries";

/// What BoAT's protection leaves to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How packets come to their part of the keystream.
    pub keystream: Keystream,
    /// How packets are authenticated.
    pub mac: Mac,
    /// How Blowfish is used on handshake messages.
    pub chaining: Chaining,
    /// Whether a handshake message is bound to its direction. The paper's is not.
    pub is_directed: bool,
    /// Whether handshake messages are hidden in packets of sound, under RC4. With [`Keystream::Running`] this ends a call at
    /// the first packet that is lost: the next INSTALL cannot be read either.
    pub is_hidden: bool,
    /// Whether a key bit alone switches to a pending key, as the paper's receiver does, or only a packet whose MAC fits.
    pub is_switched_by_bit: bool,
    /// Bytes of each RC4 keystream that are thrown away. The paper throws none away.
    pub dropped: u16,
    /// Bytes from one packet's place in the keystream to the next one's, with [`Keystream::Seekable`]; a packet cannot be
    /// longer, without its first three bytes.
    pub slot: u16,
    /// How often a caller knocks before it gives up.
    pub knocks_max: u32,
    /// How long it waits between knocks.
    pub knock_every: Micros,
}

impl Config {
    /// A variant, with everything else as the paper has it, or as little different as can be run.
    pub fn new(keystream: Keystream, mac: Mac) -> Self {
        Self {
            keystream,
            mac,
            chaining: Chaining::Cbc,
            is_directed: false,
            is_hidden: keystream != Keystream::Running,
            is_switched_by_bit: false,
            dropped: 0,
            // 40 ms at 8,000 bytes a second are 320, and 7 and 16 around them.
            slot: 384,
            knocks_max: 120,
            knock_every: pass_phrase::KNOCK_EVERY,
        }
    }
}

/// How a packet comes to its part of RC4's keystream. The same part for two packets would give both away, so none of these
/// ever starts again with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Keystream {
    /// L1, as printed: one keystream for each key, which goes on from packet to packet. Even the timestamp is under it, so
    /// after a packet that was lost nothing tells a receiver where it is, and the rest of that key is lost.
    Running,
    /// L2: each packet has its place, by its sequence number. Costs keystream that nobody uses.
    Seekable,
    /// L3: each packet has a key of its own, `MD5(K_i | sequence)`. Costs a key set-up for each.
    PerPacket,
}

impl Keystream {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Running, Self::Seekable, Self::PerPacket];
}

/// How a packet is authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mac {
    /// H1, as in Table 10: `RC4(MD5(P))`. Whoever knows `P` can put anything in its place.
    EncryptedDigest,
    /// H2: HMAC-MD5 of the encrypted packet, with a key that is derived from `K_i`.
    Hmac,
}

/// How Blowfish is used on a handshake message. The paper does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Chaining {
    /// Each block depends on those before, and the first on eight random bytes.
    Cbc,
    /// Each block by itself: equal blocks look equal.
    Ecb,
}
