//! Noise XX in which both sides prove a member's certificate, and what comes out of it.

use super::prepared::{Fingerprint, Prepared, public};
use super::{AgreementError, Role, Words};
use crate::srtp::{MasterKey, Profile};
use guestright_identity::{Certificate, KeyId, Role as CertifiedRole, Signature};
use guestright_units::UnixSeconds;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

const PATTERN: &str = "Noise_XX_25519_ChaChaPoly_BLAKE2s";
const DOMAIN: &[u8] = b"guestright/agreement/1";

/// What both sides must have been told the same by the signalling, and what the tag is made of.
#[derive(Clone)]
pub(super) struct Terms {
    pub(super) role: Role,
    pub(super) profile: Profile,
    pub(super) own: Fingerprint,
    pub(super) peer: Fingerprint,
    /// What the keys are for, if not for SRTP, and what was agreed on before; empty for SRTP.
    pub(super) application: Vec<u8>,
}

/// One side's handshake.
pub(super) struct Noise {
    state: HandshakeState,
    terms: Terms,
    commitment: [u8; 32],
    /// Certificate and signature, as they were written.
    proof: Vec<u8>,
}

/// What a finished handshake gives.
pub(super) struct Keys {
    pub(super) send: MasterKey,
    pub(super) receive: MasterKey,
    /// Proves that its sender has the keys.
    pub(super) done: [u8; 16],
}

impl Terms {
    /// The version, the profile, the fingerprints (the caller's first), and the application.
    ///
    /// All before the application has a length that can be told, and what follows these bytes has a fixed one.
    fn to_bytes(&self) -> Vec<u8> {
        let (caller, callee) = match self.role {
            Role::Caller => (self.own, self.peer),
            Role::Callee => (self.peer, self.own),
        };
        let name = self.profile.name().as_bytes();
        [DOMAIN, &[0], name, &[0], &caller.0, &callee.0, &self.application].concat()
    }

    pub(super) fn tag(&self) -> [u8; 8] {
        let hash = Sha256::new().chain_update(b"guestright/agreement/1/tag").chain_update(self.to_bytes());
        *hash.finalize().first_chunk().expect("a hash has 32 bytes")
    }
}

/// What the callee commits to.
pub(super) fn commitment(ephemeral: &[u8; 32]) -> [u8; 32] {
    let hash = Sha256::new().chain_update(b"guestright/agreement/1/commitment").chain_update(ephemeral);
    hash.finalize().into()
}

impl Noise {
    pub(super) fn new(prepared: &Prepared, terms: Terms, commitment: [u8; 32]) -> Self {
        let prologue = [terms.to_bytes().as_slice(), &commitment].concat();
        let expect = "the pattern, the key's length and the order are right";
        let pattern = PATTERN.parse().expect(expect);
        let resolver = Box::new(OneKey(Chance(Some(prepared.ephemeral.clone()))));
        let builder = Builder::with_resolver(pattern, resolver);
        let builder =
            builder.prologue(&prologue).and_then(|it| it.local_private_key(prepared.fixed.as_slice()));
        let state = match terms.role {
            Role::Caller => builder.and_then(Builder::build_initiator),
            Role::Callee => builder.and_then(Builder::build_responder),
        };
        Self { state: state.expect(expect), terms, commitment, proof: Vec::new() }
    }

    /// FIRST, which carries the caller's ephemeral key and nothing else.
    pub(super) fn write_first(&mut self) -> Vec<u8> {
        self.write(&[])
    }

    pub(super) fn read_first(&mut self, body: &[u8]) -> Result<(), AgreementError> {
        self.read(body).map(drop)
    }

    /// SECOND or THIRD: certificate and signature.
    pub(super) fn write_proof(&mut self, prepared: &Prepared) -> Vec<u8> {
        // Nothing of ours is in the hash yet when the callee signs, so its ephemeral key is signed as well.
        let (fixed, ephemeral) = (public(&prepared.fixed), public(&prepared.ephemeral));
        let signed = self.signed(self.terms.role, &fixed, &ephemeral);
        let signature = prepared.key.sign(&signed);
        let certificate = prepared.certificate.as_bytes();
        let length = u16::try_from(certificate.len()).expect("a certificate has at most 1024 bytes");
        self.proof = [&length.to_be_bytes(), certificate, &signature.0].concat();
        self.write(&self.proof.clone())
    }

    /// The callee's handshake as it was before it read THIRD: the same keys and the same proof give the same bytes.
    ///
    /// After a message that did not open, snow has its hash back but not its cipher, and would open no other.
    pub(super) fn before_third(&self, prepared: &Prepared, first: &[u8; 32]) -> Result<Self, AgreementError> {
        let mut again = Self::new(prepared, self.terms.clone(), self.commitment);
        again.read_first(first)?;
        again.proof.clone_from(&self.proof);
        again.write(&self.proof);
        Ok(again)
    }

    /// Reads SECOND or THIRD, and judges who sent it.
    ///
    /// `ephemeral` is the peer's, as it stood in clear in SECOND or FIRST. [`AgreementError::Forged`] means that it did
    /// not open; any other error is final.
    pub(super) fn read_proof(
        &mut self,
        body: &[u8],
        ephemeral: &[u8; 32],
        expected: Option<KeyId>,
        now: UnixSeconds,
    ) -> Result<Certificate, AgreementError> {
        let malformed = AgreementError::Malformed("a proof is a certificate and a signature");
        let hash = self.state.get_handshake_hash().to_vec();
        let proof = self.read(body)?;
        let fixed: [u8; 32] = self
            .state
            .get_remote_static()
            .and_then(|key| key.try_into().ok())
            .ok_or_else(|| malformed.clone())?;
        let (length, rest) = proof.split_first_chunk::<2>().ok_or_else(|| malformed.clone())?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (certificate, signature) = rest.split_at_checked(length).ok_or(malformed)?;
        let certificate = Certificate::parse(certificate)?;
        if Fingerprint::of(&fixed, &certificate) != self.terms.peer {
            return Err(AgreementError::Fingerprint);
        }
        let signed = signed_by(self.terms.role.other(), &hash, &fixed, ephemeral);
        certificate.subject().verify(&signed, &Signature(signature.to_vec()))?;
        certificate.check(CertifiedRole::Member, now)?;
        match (expected, certificate.subject_id()) {
            (Some(want), got) if got != want => Err(AgreementError::OtherPeer { got, want }),
            _ => Ok(certificate),
        }
    }

    fn signed(&self, signer: Role, fixed: &[u8; 32], ephemeral: &[u8; 32]) -> Vec<u8> {
        signed_by(signer, self.state.get_handshake_hash(), fixed, ephemeral)
    }

    fn write(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut message = vec![0; payload.len() + 128];
        let length = self.state.write_message(payload, &mut message);
        message.truncate(length.expect("it is our turn, and the buffer is large enough"));
        message
    }

    fn read(&mut self, body: &[u8]) -> Result<Zeroizing<Vec<u8>>, AgreementError> {
        let mut payload = Zeroizing::new(vec![0; body.len()]);
        let length = self.state.read_message(body, &mut payload).map_err(|_| AgreementError::Forged)?;
        payload.truncate(length);
        Ok(payload)
    }

    /// Four words over both ephemeral keys, the terms and the commitment.
    pub(super) fn words(&self, caller: &[u8; 32], callee: &[u8; 32]) -> Words {
        let hash =
            Sha256::new().chain_update(b"guestright/agreement/1/words").chain_update(self.terms.to_bytes());
        let hash = hash.chain_update(self.commitment).chain_update(caller).chain_update(callee).finalize();
        Words::new(*hash.first_chunk().expect("a hash has 32 bytes"))
    }

    /// The keys, once the three messages are through (HKDF of RFC 5869 with SHA-256, salted with the handshake's hash).
    pub(super) fn keys(&mut self) -> Keys {
        debug_assert!(self.state.is_handshake_finished(), "only then are there keys");
        let (one, two) = self.state.dangerously_get_raw_split();
        let (one, two) = (Zeroizing::new(one), Zeroizing::new(two));
        let mut extract = hmac(self.state.get_handshake_hash());
        extract.update(one.as_slice());
        extract.update(two.as_slice());
        let secret: Zeroizing<[u8; 32]> = Zeroizing::new(extract.finalize().into_bytes().into());
        let key = |label: &[u8]| {
            let mut fresh = Zeroizing::new([0; MasterKey::LEN_MAX]);
            expand(&secret, label, fresh.as_mut_slice());
            MasterKey::from_chance(self.terms.profile, &fresh)
        };
        let (caller, callee) = (key(b"caller sends"), key(b"callee sends"));
        let (send, receive) = match self.terms.role {
            Role::Caller => (caller, callee),
            Role::Callee => (callee, caller),
        };
        let mut done = [0; 16];
        expand(&secret, b"done", &mut done);
        Keys { send, receive, done }
    }
}

impl Role {
    /// The one of the other side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Caller => Self::Callee,
            Self::Callee => Self::Caller,
        }
    }
}

fn signed_by(signer: Role, hash: &[u8], fixed: &[u8; 32], ephemeral: &[u8; 32]) -> Vec<u8> {
    let role: &[u8] = match signer {
        Role::Caller => b"/signature/caller",
        Role::Callee => b"/signature/callee",
    };
    [DOMAIN, role, hash, fixed, ephemeral].concat()
}

fn hmac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("any length will do")
}

/// HKDF-Expand (RFC 5869, section 2.3).
fn expand(secret: &Zeroizing<[u8; 32]>, label: &[u8], out: &mut [u8]) {
    let mut before = Zeroizing::new([0_u8; 32]);
    for (number, part) in (1_u8..).zip(out.chunks_mut(32)) {
        let mut mac = hmac(secret.as_slice());
        if number > 1 {
            mac.update(before.as_slice());
        }
        mac.update(DOMAIN);
        mac.update(label);
        mac.update(&[number]);
        *before = mac.finalize().into_bytes().into();
        part.copy_from_slice(&before[..part.len()]);
    }
}

/// Snow's own ciphers, and our chance: the one key that it may draw is the ephemeral one.
struct OneKey(Chance);

#[derive(Clone)]
struct Chance(Option<Zeroizing<[u8; 32]>>);

impl Random for Chance {
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), snow::Error> {
        let bytes = self.0.take().ok_or(snow::Error::Rng)?;
        if out.len() != bytes.len() {
            return Err(snow::Error::Rng);
        }
        out.copy_from_slice(bytes.as_slice());
        Ok(())
    }
}

impl CryptoResolver for OneKey {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(self.0.clone()))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}
