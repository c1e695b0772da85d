use super::AgreementError;
use super::message::PROOF_MAX;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use guestright_identity::{Certificate, SecretKey};
use guestright_units::Seed;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

/// What one side of a call is, before it knows the other: made for one call, and used once.
#[derive(Clone)]
pub struct Prepared {
    pub(super) key: SecretKey,
    pub(super) certificate: Certificate,
    pub(super) fixed: Zeroizing<[u8; 32]>,
    pub(super) ephemeral: Zeroizing<[u8; 32]>,
}

/// What the signalling says of one side: SHA-256 over its Noise key of this call and its certificate.
///
/// In SDP it is `a=guestright-agreement:` followed by this as text, `1 HEX`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

/// The name of the attribute in SDP.
const ATTRIBUTE: &str = "guestright-agreement";

impl Prepared {
    /// Takes the member's key, its certificate, and fresh chance that nobody else knows.
    ///
    /// # Errors
    /// [`AgreementError::TooLong`] for a certificate that does not fit into a datagram together with a signature.
    pub fn new(key: SecretKey, certificate: Certificate, seed: &Seed) -> Result<Self, AgreementError> {
        let got = certificate.as_bytes().len() + key.sign(b"").0.len();
        if got > PROOF_MAX {
            return Err(AgreementError::TooLong { got, max: PROOF_MAX });
        }
        let mut rng = ChaCha20Rng::from_seed(seed.0);
        let mut draw = || {
            let mut bytes = Zeroizing::new([0; 32]);
            rng.fill_bytes(bytes.as_mut_slice());
            bytes
        };
        Ok(Self { key, certificate, fixed: draw(), ephemeral: draw() })
    }

    /// What the signalling has to say about us.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&public(&self.fixed), &self.certificate)
    }
}

/// The public half of an X25519 key.
pub(super) fn public(secret: &Zeroizing<[u8; 32]>) -> [u8; 32] {
    PublicKey::from(&StaticSecret::from(**secret)).to_bytes()
}

impl Fingerprint {
    /// The name of the attribute that carries it in SDP.
    pub const ATTRIBUTE: &'static str = ATTRIBUTE;

    pub(super) fn of(noise_key: &[u8], certificate: &Certificate) -> Self {
        let hash = Sha256::new().chain_update(b"guestright/agreement/1/fingerprint").chain_update(noise_key);
        Self(hash.chain_update(certificate.as_bytes()).finalize().into())
    }
}

impl fmt::Display for Fingerprint {
    /// The value of the attribute: the version, a space, 64 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("1 ")?;
        HEXLOWER.encode_write(&self.0, f)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({})", &self.to_string()[2..10])
    }
}

impl FromStr for Fingerprint {
    type Err = AgreementError;

    /// Takes the value, or the whole line. Another version is refused, not guessed at.
    fn from_str(text: &str) -> Result<Self, AgreementError> {
        let malformed =
            AgreementError::Malformed("a=guestright-agreement is not `1` and 64 hexadecimal digits");
        let text = text.trim_end_matches(['\r', '\n']);
        let line = text.strip_prefix("a=").unwrap_or(text);
        let value = line.strip_prefix(ATTRIBUTE).and_then(|rest| rest.strip_prefix(':')).unwrap_or(line);
        let digits = value.strip_prefix("1 ").ok_or_else(|| malformed.clone())?.as_bytes();
        if digits.len() != 64 {
            return Err(malformed);
        }
        let mut bytes = [0; 32];
        HEXLOWER_PERMISSIVE.decode_mut(digits, &mut bytes).map_err(|_| malformed)?;
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prepared({:?}, {:?})", self.certificate, self.fingerprint())
    }
}
