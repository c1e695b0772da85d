//! The Diffie-Hellman exchange that rides on a phase, and what comes out of it: a new generation.
//!
//! As in the Double Ratchet, a root key lives beside the chain, and only exchanges move it on:
//!
//! ```text
//! secret  = HKDF-Extract(root_g, X25519(e_S, e_R))
//! root_{g+1}, chain_{g+1,0}, confirmations = HKDF-Expand(secret, label | transcript)
//! ```
//!
//! So both sides start a generation from the same place, wherever their hash ratchets were; and whoever finds the root
//! learns no key that protects anything.

use super::derive::{Chance, Secret};
use crate::SealError;
use guestright_voice::agreement::Role;
use sha2::{Digest as _, Sha256};
use std::fmt;
use subtle::ConstantTimeEq as _;
use x25519_dalek::{PublicKey, StaticSecret};

/// The length of a public key in PROBE and RESPONSE.
pub(super) const PUBLIC_LEN: usize = 32;
/// The length of a confirmation in INSTALL and ACK.
pub(super) const CONFIRMATION_LEN: usize = 16;

/// A fresh key pair, for one exchange. The secret half is wiped when dropped.
pub(super) struct KeyPair {
    secret: StaticSecret,
    pub(super) public: [u8; PUBLIC_LEN],
}

impl KeyPair {
    pub(super) fn draw(chance: &mut Chance) -> Self {
        let secret = StaticSecret::from(*chance.draw().as_bytes());
        let public = PublicKey::from(&secret).to_bytes();
        Self { secret, public }
    }
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyPair(..)")
    }
}

/// What both sides know of an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transcript<'a> {
    /// Whose direction it is.
    pub(super) talker: Role,
    /// The generation that it leads to.
    pub(super) generation: u64,
    pub(super) phase: u32,
    pub(super) probe: &'a [u8; PUBLIC_LEN],
    pub(super) response: &'a [u8; PUBLIC_LEN],
}

impl Transcript<'_> {
    fn hash(&self) -> [u8; 32] {
        let talker: &[u8] = match self.talker {
            Role::Caller => b"guestright/boat/1/healing/caller",
            Role::Callee => b"guestright/boat/1/healing/callee",
        };
        let hash = Sha256::new().chain_update(talker).chain_update(self.generation.to_be_bytes());
        let hash = hash.chain_update(self.phase.to_be_bytes()).chain_update(self.probe);
        hash.chain_update(self.response).finalize().into()
    }
}

/// A generation that is not in use yet.
#[derive(Debug)]
pub(super) struct Successor {
    pub(super) root: Secret,
    pub(super) chain: Secret,
    /// The key material of INSTALL and of ACK: each proves that its sender has got here.
    pub(super) install: Confirmation,
    pub(super) ack: Confirmation,
}

impl Successor {
    /// # Errors
    /// [`SealError::KeyPart`]: the other's public key is of low order, so the result would be known to all.
    pub(super) fn new(
        root: &Secret,
        own: &KeyPair,
        other: &[u8; PUBLIC_LEN],
        transcript: &Transcript<'_>,
    ) -> Result<Self, SealError> {
        let shared = own.secret.diffie_hellman(&PublicKey::from(*other));
        if !shared.was_contributory() {
            return Err(SealError::KeyPart("its public key is of low order"));
        }
        let secret = Secret::extract(root.as_bytes(), shared.as_bytes());
        let transcript = transcript.hash();
        let derive = |label: &[u8]| secret.derive(&[label, &transcript].concat());
        let confirmations = derive(b"confirm");
        let (install, ack) = confirmations.as_bytes().split_at(CONFIRMATION_LEN);
        Ok(Self {
            root: derive(b"root"),
            chain: derive(b"chain"),
            install: Confirmation::new(install),
            ack: Confirmation::new(ack),
        })
    }
}

/// Sent once, by whoever has the keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Confirmation([u8; CONFIRMATION_LEN]);

impl Confirmation {
    fn new(bytes: &[u8]) -> Self {
        Self(bytes.try_into().expect("half of 32 bytes"))
    }

    pub(super) fn to_vec(self) -> Vec<u8> {
        self.0.to_vec()
    }

    /// # Errors
    /// [`SealError::KeyPart`].
    pub(super) fn check(self, got: &[u8]) -> Result<(), SealError> {
        if bool::from(self.0.as_slice().ct_eq(got)) {
            Ok(())
        } else {
            Err(SealError::KeyPart("its confirmation is of other keys"))
        }
    }
}
