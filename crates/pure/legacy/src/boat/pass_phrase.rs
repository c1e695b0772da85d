use super::envelope::Envelope;
use super::seal::Legacy;
use super::{Config, PROTECTION};
use guestright_boat::{Content, Introduced, Opening, Seal as _};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::tool::{Side, ToolError, Transmit};
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::Md5;
use std::fmt;
use std::net::SocketAddr;
use zeroize::Zeroizing;

/// `K0` of Blowfish has 448 bits, as many as the cipher takes (section 3.2.1 of paper D).
pub(super) const K0_BYTES: usize = 56;
/// What checks a handshake message has a key of its own.
pub(super) const CHECK_KEY_BYTES: usize = 16;
/// MD5.
const DIGEST_BYTES: usize = 16;

/// What both sides know before they call each other: `K0`, and the key of the check of handshake messages.
///
/// The paper has `K0` agreed on "during a preliminary authentication phase" with digital signatures, and says no more. Here
/// it comes from a pass phrase, by PBKDF2 (RFC 2898, section 5.2; of the year 2000) with HMAC-MD5, [`K0_ROUNDS`] rounds and
/// the constant salt `BoAT`: nothing precedes the first PROBE that could bring another. So the same phrase gives the same
/// `K0` in every call, tables of phrases can be made in advance, and whoever has recorded one PROBE can try phrases at
/// leisure.
#[derive(Clone)]
pub struct SharedKey {
    pub(super) block: Zeroizing<[u8; K0_BYTES]>,
    pub(super) check: Zeroizing<[u8; CHECK_KEY_BYTES]>,
}

/// Rounds of PBKDF2 between a pass phrase and `K0`.
pub const K0_ROUNDS: u32 = 1_000;

impl SharedKey {
    /// From a pass phrase of any length.
    pub fn from_pass_phrase(phrase: &str) -> Self {
        let mut bytes = Zeroizing::new([0; K0_BYTES + CHECK_KEY_BYTES]);
        for (number, block) in (1_u32..).zip(bytes.chunks_mut(DIGEST_BYTES)) {
            let made = pbkdf2_block(phrase.as_bytes(), number);
            block.copy_from_slice(&made[..block.len()]);
        }
        let mut shared =
            Self { block: Zeroizing::new([0; K0_BYTES]), check: Zeroizing::new([0; CHECK_KEY_BYTES]) };
        shared.block.copy_from_slice(&bytes[..K0_BYTES]);
        shared.check.copy_from_slice(&bytes[K0_BYTES..]);
        shared
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey(..)")
    }
}

/// `F(P, S, c, i)` of RFC 2898, section 5.2, with HMAC-MD5.
fn pbkdf2_block(phrase: &[u8], number: u32) -> Zeroizing<[u8; DIGEST_BYTES]> {
    let mac = Hmac::<Md5>::new_from_slice(phrase).expect("HMAC takes keys of any length");
    let mut first = mac.clone();
    first.update(b"BoAT");
    first.update(&number.to_be_bytes());
    let mut last = Zeroizing::new(<[u8; DIGEST_BYTES]>::from(first.finalize().into_bytes()));
    let mut sum = last.clone();
    for _ in 1..K0_ROUNDS {
        let mut next = mac.clone();
        next.update(&*last);
        last.copy_from_slice(&next.finalize().into_bytes());
        for (sum, last) in sum.iter_mut().zip(last.iter()) {
            *sum ^= last;
        }
    }
    sum
}

/// How two sides that know a pass phrase find each other.
///
/// The caller knocks: it sends datagrams that only somebody with `K0` can make, until one comes back. The callee takes
/// whoever sends the first one for its peer, knocks back once, and both begin their phases. That a knock can be a recorded
/// one is one of the ways in which this is broken.
#[derive(Debug)]
pub struct PassPhrase {
    config: Config,
    side: Side,
    /// Until it is given away.
    seal: Option<Legacy>,
    knocks_left: u32,
    knock_at: Option<Time>,
    transmit: Option<Transmit>,
    outcome: Option<Result<Introduced, String>>,
}

impl PassPhrase {
    /// One side of a call; what is random in it comes from `seed`.
    pub fn new(config: Config, side: Side, shared: SharedKey, seed: &Seed, now: Time) -> Self {
        let is_caller = matches!(side, Side::Caller { .. });
        let seal = Legacy::new(config, shared, is_caller, seed);
        let mut opening = Self {
            config,
            side,
            seal: Some(seal),
            knocks_left: config.knocks_max,
            knock_at: is_caller.then_some(now),
            transmit: None,
            outcome: None,
        };
        opening.handle_timeout(now);
        opening
    }

    fn knock(&mut self, to: SocketAddr, now: Time) {
        let mut bytes = Vec::new();
        if let Some(seal) = &mut self.seal {
            seal.seal(&Content::Cover, Envelope::ROOM, now, &mut bytes).expect("a knock needs no key but K0");
            self.transmit = Some(Transmit { to, bytes });
        }
    }

    fn introduce(&mut self, peer: SocketAddr) {
        let Some(seal) = self.seal.take() else { return };
        self.knock_at = None;
        self.outcome = Some(Ok(Introduced {
            seal: Box::new(seal),
            peer,
            name: None,
            is_verified: false,
            words: Vec::new(),
            protection: PROTECTION,
        }));
    }
}

impl Opening for PassPhrase {
    fn handle_datagram(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        let Some(seal) = &mut self.seal else {
            return Err(ToolError::OutOfTurn("the sides have met already"));
        };
        if let Side::Caller { to } = self.side
            && from != to
        {
            return Err(ToolError::Stranger);
        }
        seal.open(datagram, now).map_err(|_| ToolError::Forged)?;
        if self.side == Side::Callee {
            self.knock(from, now);
        }
        self.introduce(from);
        Ok(())
    }

    fn handle_timeout(&mut self, now: Time) {
        let Side::Caller { to } = self.side else { return };
        if self.knock_at.is_none_or(|at| now < at) {
            return;
        }
        if self.knocks_left == 0 {
            self.knock_at = None;
            self.seal = None;
            self.outcome = Some(Err("nobody with this pass phrase answered".to_owned()));
            return;
        }
        self.knocks_left -= 1;
        self.knock_at = Some(now + self.config.knock_every);
        self.knock(to, now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.knock_at
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmit.take()
    }

    fn poll_outcome(&mut self) -> Option<Result<Introduced, String>> {
        self.outcome.take()
    }
}

/// How long a caller waits between knocks.
pub(super) const KNOCK_EVERY: Micros = Micros::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;
    use md5::Digest as _;

    #[test]
    fn the_first_block_is_pbkdf2() {
        // Round by round from the definition, without the shortcut of cloning a keyed state.
        let hmac = |data: &[u8]| {
            let pad = |byte: u8| -> Vec<u8> {
                let mut block = [0; 64];
                block[..6].copy_from_slice(b"secret");
                block.iter().map(|b| b ^ byte).collect()
            };
            let inner = Md5::digest([pad(0x36), data.to_vec()].concat());
            <[u8; 16]>::from(Md5::digest([pad(0x5c), inner.to_vec()].concat()))
        };
        let mut last = hmac(b"BoAT\0\0\0\x01");
        let mut sum = last;
        for _ in 1..K0_ROUNDS {
            last = hmac(&last);
            sum.iter_mut().zip(last).for_each(|(sum, last)| *sum ^= last);
        }
        assert_eq!(SharedKey::from_pass_phrase("secret").block[..16], sum);
    }

    #[test]
    fn phrases_give_keys_of_their_own_and_always_the_same() {
        let [one, again, other] = ["sea", "sea", "see"].map(SharedKey::from_pass_phrase);
        assert_eq!((&one.block, &one.check), (&again.block, &again.check));
        assert_ne!(one.block, other.block);
        assert_ne!(one.check, other.check);
        assert_ne!(one.block[..16], *one.check);
    }

    #[test]
    fn a_shared_key_is_not_printed() {
        assert_eq!(format!("{:?}", SharedKey::from_pass_phrase("sea")), "SharedKey(..)");
    }
}
