//! Key pairs and signatures of every suite.

#[cfg(feature = "legacy-suites")]
use crate::legacy::{LegacyPublic, LegacySecret};
use crate::{IdentityError, Suite};
use data_encoding::HEXLOWER;
use guestright_units::TeamId;
use p256::ecdsa::signature::{Signer, Verifier};
use rand::CryptoRng;
use sha2::{Digest, Sha256};
use std::fmt;
use zeroize::Zeroizing;

/// The name of a key: the first 24 bytes of SHA-256 over a domain, the suite and the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub [u8; 24]);

/// The name of a member of a team: the first 24 bytes of SHA-256 over a domain, the team's name and the key's.
///
/// Two teams may certify one key. Then it is two members, so that what it signed for one team stays that team's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub [u8; 24]);

impl MemberId {
    /// The member of `team` that holds `key`.
    pub fn new(team: TeamId, key: KeyId) -> Self {
        Self(first_24(&[b"guestright/member/1", &team.0, &key.0]))
    }
}

impl KeyId {
    fn new(suite: Suite, bytes: &[u8]) -> Self {
        Self(first_24(&[b"guestright/key/1", &suite.algorithm().to_be_bytes(), bytes]))
    }
}

/// The first 24 bytes of SHA-256 over the parts, one after the other.
fn first_24(parts: &[&[u8]]) -> [u8; 24] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    let mut id = [0; 24];
    id.copy_from_slice(&hash.finalize()[..24]);
    id
}

/// A signature; its length depends on the suite alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature(pub Vec<u8>);

/// A public key that was checked to be one of its suite.
#[derive(Clone)]
pub struct PublicKey {
    suite: Suite,
    bytes: Vec<u8>,
    id: KeyId,
    key: Public,
}

#[derive(Clone)]
enum Public {
    Ed25519(ed25519_zebra::VerificationKey),
    P256(Box<p256::ecdsa::VerifyingKey>),
    #[cfg(feature = "legacy-suites")]
    Legacy(LegacyPublic),
}

/// A secret key. `Debug` shows whose it is, never what it is.
#[derive(Clone)]
pub struct SecretKey {
    key: Secret,
    public: PublicKey,
}

#[derive(Clone)]
enum Secret {
    Ed25519(Box<ed25519_zebra::SigningKey>),
    P256(Box<p256::ecdsa::SigningKey>),
    #[cfg(feature = "legacy-suites")]
    Legacy(LegacySecret),
}

impl SecretKey {
    /// A fresh key pair.
    ///
    /// Legacy suites draw from OpenSSL's own generator instead of `rng`: they exist for measurements.
    pub fn generate(suite: Suite, rng: &mut impl CryptoRng) -> Self {
        let mut bytes = Zeroizing::new([0; 32]);
        loop {
            #[cfg(feature = "legacy-suites")]
            if suite.is_legacy() {
                let (secret, public) = LegacySecret::generate(suite);
                return Self::from_legacy(secret, public);
            }
            rng.fill_bytes(bytes.as_mut());
            // About one in 2^32 numbers is not a P-256 key.
            if let Ok(key) = Self::from_bytes(suite, bytes.as_ref()) {
                return key;
            }
        }
    }

    /// The key pair with this secret, as [`SecretKey::to_bytes`] wrote it.
    ///
    /// # Errors
    /// [`IdentityError::BadKey`] if it is not a secret key of the suite.
    pub fn from_bytes(suite: Suite, bytes: &[u8]) -> Result<Self, IdentityError> {
        let refused = IdentityError::BadKey(suite);
        match suite {
            Suite::Ed25519 => {
                let key = ed25519_zebra::SigningKey::try_from(bytes).map_err(|_| refused)?;
                let public = PublicKey::parse(suite, key.verification_key().as_ref())?;
                Ok(Self { key: Secret::Ed25519(Box::new(key)), public })
            }
            Suite::EcdsaP256 => {
                let key = p256::ecdsa::SigningKey::from_slice(bytes).map_err(|_| refused)?;
                let point = key.verifying_key().to_sec1_point(true);
                let public = PublicKey::parse(suite, point.as_bytes())?;
                Ok(Self { key: Secret::P256(Box::new(key)), public })
            }
            #[cfg(feature = "legacy-suites")]
            Suite::Rsa1024 | Suite::Rsa2048 | Suite::EcdsaSecp160r1 | Suite::EcdsaSecp224r1 => {
                let (secret, public) = LegacySecret::from_der(suite, bytes)?;
                Ok(Self::from_legacy(secret, public))
            }
        }
    }

    #[cfg(feature = "legacy-suites")]
    fn from_legacy(secret: LegacySecret, public: LegacyPublic) -> Self {
        let (suite, bytes) = (public.suite(), public.to_bytes());
        let id = KeyId::new(suite, &bytes);
        let public = PublicKey { suite, bytes, id, key: Public::Legacy(public) };
        Self { key: Secret::Legacy(secret), public }
    }

    /// The secret itself, for a key file: 32 bytes, or PKCS #8 DER for a legacy suite.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(match &self.key {
            Secret::Ed25519(key) => key.as_bytes().to_vec(),
            Secret::P256(key) => key.to_bytes().to_vec(),
            #[cfg(feature = "legacy-suites")]
            Secret::Legacy(key) => key.to_der(),
        })
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs `message`.
    pub fn sign(&self, message: &[u8]) -> Signature {
        Signature(match &self.key {
            Secret::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
            Secret::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(message);
                signature.normalize_s().to_bytes().to_vec()
            }
            #[cfg(feature = "legacy-suites")]
            Secret::Legacy(key) => key.sign(message),
        })
    }
}

impl PublicKey {
    /// The key that these bytes stand for: 32 bytes (Ed25519), a compressed SEC 1 point (ECDSA) or a PKCS #1
    /// `RSAPublicKey` (RSA).
    ///
    /// # Errors
    /// [`IdentityError::BadKey`] if they stand for none.
    pub fn parse(suite: Suite, bytes: &[u8]) -> Result<Self, IdentityError> {
        let refused = IdentityError::BadKey(suite);
        let key = match suite {
            Suite::Ed25519 => {
                Public::Ed25519(ed25519_zebra::VerificationKey::try_from(bytes).map_err(|_| refused)?)
            }
            // The library also reads a compact form (tag 5), under which one key would have a second name.
            Suite::EcdsaP256 if bytes.len() == 33 && matches!(bytes[0], 2 | 3) => Public::P256(Box::new(
                p256::ecdsa::VerifyingKey::from_sec1_bytes(bytes).map_err(|_| refused)?,
            )),
            Suite::EcdsaP256 => return Err(refused),
            #[cfg(feature = "legacy-suites")]
            Suite::Rsa1024 | Suite::Rsa2048 | Suite::EcdsaSecp160r1 | Suite::EcdsaSecp224r1 => {
                Public::Legacy(LegacyPublic::parse(suite, bytes)?)
            }
        };
        Ok(Self { suite, bytes: bytes.to_vec(), id: KeyId::new(suite, bytes), key })
    }

    /// The suite that this key is for.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// The bytes that [`PublicKey::parse`] takes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The name of this key.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The name of the team whose key this is.
    pub fn team_id(&self) -> TeamId {
        TeamId(self.id.0)
    }

    /// Checks a signature of `message`: ZIP 215 for Ed25519, s in the lower half for P-256.
    ///
    /// # Errors
    /// [`IdentityError::BadSignature`].
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), IdentityError> {
        let refused = IdentityError::BadSignature;
        match &self.key {
            Public::Ed25519(key) => {
                let bytes: [u8; 64] = signature.0.as_slice().try_into().map_err(|_| refused.clone())?;
                key.verify(&bytes.into(), message).map_err(|_| refused)
            }
            Public::P256(key) => {
                let parsed = p256::ecdsa::Signature::from_slice(&signature.0).map_err(|_| refused.clone())?;
                if parsed.normalize_s() != parsed {
                    return Err(refused);
                }
                key.verify(message, &parsed).map_err(|_| refused)
            }
            #[cfg(feature = "legacy-suites")]
            Public::Legacy(key) => key.verify(message, &signature.0),
        }
    }

    pub(crate) fn as_ed25519(&self) -> Option<ed25519_zebra::VerificationKeyBytes> {
        match &self.key {
            Public::Ed25519(key) => Some((*key).into()),
            Public::P256(_) => None,
            #[cfg(feature = "legacy-suites")]
            Public::Legacy(_) => None,
        }
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.suite == other.suite && self.bytes == other.bytes
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({} {})", self.suite, self.id())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {:?})", self.public)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({} bytes)", self.0.len())
    }
}

impl fmt::Display for KeyId {
    /// 48 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_write(&self.0, f)
    }
}

impl fmt::Display for MemberId {
    /// 48 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        KeyId(self.0).fmt(f)
    }
}

impl fmt::Debug for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemberId({})", &self.to_string()[..8])
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({})", &self.to_string()[..8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn rng() -> rand::rngs::StdRng {
        rand::rngs::StdRng::seed_from_u64(1)
    }

    #[test]
    fn every_suite_signs_and_verifies_and_survives_a_key_file() {
        for &suite in Suite::ALL {
            let secret = SecretKey::generate(suite, &mut rng());
            let copy = SecretKey::from_bytes(suite, &secret.to_bytes()).unwrap();
            assert_eq!(secret.public(), copy.public(), "{suite}");
            let public = PublicKey::parse(suite, secret.public().as_bytes()).unwrap();
            let signature = copy.sign(b"message");
            assert_eq!(public.verify(b"message", &signature), Ok(()), "{suite}");
            assert_eq!(public.verify(b"massage", &signature), Err(IdentityError::BadSignature), "{suite}");
            let cut = Signature(signature.0[1..].to_vec());
            assert_eq!(public.verify(b"message", &cut), Err(IdentityError::BadSignature), "{suite}");
        }
    }

    #[test]
    fn p256_refuses_the_other_s() {
        let secret = SecretKey::generate(Suite::EcdsaP256, &mut rng());
        let low = p256::ecdsa::Signature::from_slice(&secret.sign(b"m").0).unwrap();
        let (r, s) = low.split_scalars();
        let high = p256::ecdsa::Signature::from_scalars(r.to_bytes(), (-*s).to_bytes()).unwrap();
        let high = Signature(high.to_bytes().to_vec());
        assert_eq!(secret.public().verify(b"m", &high), Err(IdentityError::BadSignature));
    }

    #[test]
    fn debug_shows_no_secret() {
        for &suite in Suite::ALL {
            let secret = SecretKey::generate(suite, &mut rng());
            let shown = format!("{secret:?}");
            let hex: String = secret.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(!shown.contains(&hex[..16]), "{shown}");
            assert!(shown.len() < 120, "{shown}");
        }
    }
}
