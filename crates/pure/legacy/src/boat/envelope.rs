use super::pass_phrase::SharedKey;
use super::session_key::{KEY_BYTES, SessionKeyBytes};
use super::{Chaining, Config};
use blowfish::Blowfish;
use blowfish::cipher::{Block, BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _};
use guestright_boat::{Message, SealError, Step};
use hmac::{Hmac, Mac as _};
use md5::Md5;
use rand::Rng;
use zeroize::Zeroizing;

/// Of Blowfish.
const BLOCK: usize = 8;
/// Half of HMAC-MD5, as RFC 2104, section 5, has it at least.
const CHECK: usize = 8;
/// What is under Blowfish: phase, time, key, check.
const INSIDE: usize = 4 + 4 + KEY_BYTES + CHECK;
/// What a handshake message takes, with the random bytes in front.
pub(super) const ENVELOPE: usize = BLOCK + INSIDE;

/// What a message is, in the byte that says what a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Probe = 1,
    Response = 2,
    Install = 3,
    Ack = 4,
    /// Says only that the sender has `K0`.
    Knock = 5,
}

/// What is in an envelope: a message, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) kind: Kind,
    phase: u32,
    time: u32,
    /// `K_i`, or how long an answer was held, or nothing.
    key: SessionKeyBytes,
}

impl Letter {
    pub(super) fn knock() -> Self {
        Self { kind: Kind::Knock, phase: 0, time: 0, key: SessionKeyBytes::default() }
    }

    /// # Errors
    /// The key of an INSTALL has another length than ours.
    pub(super) fn of(message: &Message) -> Result<Self, SealError> {
        let mut key = SessionKeyBytes::default();
        let (kind, time) = match message.step {
            Step::Probe { time } => (Kind::Probe, time),
            Step::Response { time, held } => {
                key[..2].copy_from_slice(&held.to_be_bytes());
                (Kind::Response, time)
            }
            Step::Install { round_trip } => {
                let given: &[u8; KEY_BYTES] = message
                    .key
                    .as_slice()
                    .try_into()
                    .map_err(|_| SealError::Unsealable("an INSTALL brings 16 bytes of key"))?;
                key.copy_from_slice(given);
                (Kind::Install, round_trip)
            }
            Step::Ack { round_trip } => (Kind::Ack, round_trip),
        };
        Ok(Self { kind, phase: message.phase, time, key })
    }

    /// The message, unless it was a knock.
    pub(super) fn message(&self) -> Option<Message> {
        let (step, key) = match self.kind {
            Kind::Probe => (Step::Probe { time: self.time }, Vec::new()),
            Kind::Response => {
                let held = u16::from_be_bytes([self.key[0], self.key[1]]);
                (Step::Response { time: self.time, held }, Vec::new())
            }
            Kind::Install => (Step::Install { round_trip: self.time }, self.key.to_vec()),
            Kind::Ack => (Step::Ack { round_trip: self.time }, Vec::new()),
            Kind::Knock => return None,
        };
        Some(Message { phase: self.phase, step, key })
    }
}

/// Blowfish under `K0`, around handshake messages.
#[derive(Debug)]
pub(super) struct Envelope {
    cipher: Blowfish,
    shared: SharedKey,
    chaining: Chaining,
    is_directed: bool,
}

impl Envelope {
    /// The codec's bytes of the shortest packet of sound in which a message hides.
    pub(super) const ROOM: usize = ENVELOPE - 6;

    pub(super) fn new(shared: SharedKey, config: &Config) -> Self {
        let cipher = Blowfish::new_from_slice(&*shared.block).expect("Blowfish takes 448 bits");
        Self { cipher, shared, chaining: config.chaining, is_directed: config.is_directed }
    }

    /// Appends the envelope of `letter`.
    pub(super) fn close(&self, letter: &Letter, is_caller: bool, rng: &mut impl Rng, to: &mut Vec<u8>) {
        let mut inside = Zeroizing::new([0; INSIDE]);
        inside[..4].copy_from_slice(&letter.phase.to_be_bytes());
        inside[4..8].copy_from_slice(&letter.time.to_be_bytes());
        inside[8..8 + KEY_BYTES].copy_from_slice(&*letter.key);
        let check = self.mac(letter.kind, is_caller, &inside[..INSIDE - CHECK]).finalize().into_bytes();
        inside[INSIDE - CHECK..].copy_from_slice(&check[..CHECK]);

        let mut last = [0; BLOCK];
        rng.fill_bytes(&mut last);
        to.extend_from_slice(&last);
        for plain in inside.as_chunks::<BLOCK>().0 {
            let mut block = Block::<Blowfish>::from(*plain);
            if self.chaining == Chaining::Cbc {
                block.iter_mut().zip(last).for_each(|(byte, last)| *byte ^= last);
            }
            self.cipher.encrypt_block(&mut block);
            last = block.into();
            to.extend_from_slice(&last);
        }
    }

    /// Opens the envelope at the start of `bytes`.
    ///
    /// # Errors
    /// [`SealError::Malformed`] if it is too short, [`SealError::Forged`] if its check fails.
    pub(super) fn open(&self, kind: Kind, is_caller: bool, bytes: &[u8]) -> Result<Letter, SealError> {
        let sealed =
            bytes.get(..ENVELOPE).ok_or(SealError::Malformed("a handshake message is 40 bytes long"))?;
        let (blocks, _) = sealed.as_chunks::<BLOCK>();
        let mut inside = Zeroizing::new([0; INSIDE]);
        for (pair, plain) in blocks.windows(2).zip(inside.chunks_mut(BLOCK)) {
            let mut block = Block::<Blowfish>::from(pair[1]);
            self.cipher.decrypt_block(&mut block);
            if self.chaining == Chaining::Cbc {
                block.iter_mut().zip(pair[0]).for_each(|(byte, last)| *byte ^= last);
            }
            plain.copy_from_slice(&block);
        }
        self.mac(kind, is_caller, &inside[..INSIDE - CHECK])
            .verify_truncated_left(&inside[INSIDE - CHECK..])
            .map_err(|_| SealError::Forged)?;
        let mut key = SessionKeyBytes::default();
        key.copy_from_slice(&inside[8..8 + KEY_BYTES]);
        let number =
            |at: usize| u32::from_be_bytes([inside[at], inside[at + 1], inside[at + 2], inside[at + 3]]);
        Ok(Letter { kind, phase: number(0), time: number(4), key })
    }

    fn mac(&self, kind: Kind, is_caller: bool, inside: &[u8]) -> Hmac<Md5> {
        let mut mac = <Hmac<Md5> as hmac::KeyInit>::new_from_slice(&*self.shared.check)
            .expect("HMAC takes keys of any length");
        mac.update(&[kind as u8]);
        if self.is_directed {
            mac.update(&[u8::from(is_caller)]);
        }
        mac.update(inside);
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boat::{Keystream, Mac};
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha20Rng;

    fn envelope(chaining: Chaining, is_directed: bool) -> Envelope {
        let config =
            Config { chaining, is_directed, ..Config::new(Keystream::Seekable, Mac::EncryptedDigest) };
        let shared = SharedKey {
            block: Zeroizing::new([3; super::super::pass_phrase::K0_BYTES]),
            check: Zeroizing::new([4; super::super::pass_phrase::CHECK_KEY_BYTES]),
        };
        Envelope::new(shared, &config)
    }

    fn message() -> impl Strategy<Value = Message> {
        let step = prop_oneof![
            any::<u32>().prop_map(|time| (Step::Probe { time }, 0)),
            any::<(u32, u16)>().prop_map(|(time, held)| (Step::Response { time, held }, 0)),
            any::<u32>().prop_map(|round_trip| (Step::Install { round_trip }, KEY_BYTES)),
            any::<u32>().prop_map(|round_trip| (Step::Ack { round_trip }, 0)),
        ];
        (any::<u32>(), step, any::<u8>()).prop_map(|(phase, (step, length), byte)| Message {
            phase,
            step,
            key: vec![byte; length],
        })
    }

    proptest! {
        #[test]
        fn opening_inverts_closing(message in message(), is_cbc: bool, is_directed: bool, seed: u64) {
            let envelope = envelope(if is_cbc { Chaining::Cbc } else { Chaining::Ecb }, is_directed);
            let letter = Letter::of(&message).unwrap();
            let mut bytes = Vec::new();
            envelope.close(&letter, true, &mut ChaCha20Rng::seed_from_u64(seed), &mut bytes);
            prop_assert_eq!(bytes.len(), ENVELOPE);
            prop_assert_eq!(envelope.open(letter.kind, true, &bytes).unwrap().message(), Some(message));
            prop_assert_eq!(envelope.open(letter.kind, false, &bytes).is_ok(), !is_directed);
        }

        #[test]
        fn a_changed_envelope_does_not_open(message in message(), at in 0..ENVELOPE, bit in 0_u8..8) {
            let envelope = envelope(Chaining::Cbc, false);
            let letter = Letter::of(&message).unwrap();
            let mut bytes = Vec::new();
            envelope.close(&letter, true, &mut ChaCha20Rng::seed_from_u64(1), &mut bytes);
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(envelope.open(letter.kind, true, &bytes), Err(SealError::Forged));
        }
    }

    #[test]
    fn a_message_cannot_be_taken_for_another_kind() {
        let envelope = envelope(Chaining::Cbc, false);
        let probe = Message { phase: 7, step: Step::Probe { time: 9 }, key: Vec::new() };
        let mut bytes = Vec::new();
        envelope.close(&Letter::of(&probe).unwrap(), true, &mut ChaCha20Rng::seed_from_u64(1), &mut bytes);
        assert_eq!(envelope.open(Kind::Ack, true, &bytes), Err(SealError::Forged));
        assert!(matches!(envelope.open(Kind::Probe, true, &bytes[1..]), Err(SealError::Malformed(_))));
    }
}
