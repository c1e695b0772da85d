//! Private keys on P-256, the one curve that every phone takes.

use p256::SecretKey;
use p256::elliptic_curve::Generate as _;
use p256::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _, LineEnding};
use rand::CryptoRng;
use std::fmt;
use thiserror::Error;
use zeroize::Zeroizing;

/// Bytes or text that hold no private key on P-256 as PKCS #8.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("this is no private key on P-256 as PKCS #8")]
pub struct KeyError;

/// A private key. It is wiped when it is dropped.
#[derive(Clone)]
pub struct PrivateKey(SecretKey);

impl PrivateKey {
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        Self(SecretKey::generate_from_rng(rng))
    }

    /// # Errors
    /// If it is none.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        SecretKey::from_pkcs8_pem(text).map(Self).map_err(|_| KeyError)
    }

    /// # Errors
    /// If it is none.
    pub fn from_der(bytes: &[u8]) -> Result<Self, KeyError> {
        SecretKey::from_pkcs8_der(bytes).map(Self).map_err(|_| KeyError)
    }

    #[must_use]
    pub fn to_pem(&self) -> Zeroizing<String> {
        self.0.to_pkcs8_pem(LineEnding::LF).expect("a key can be written")
    }

    #[must_use]
    pub fn to_der(&self) -> Zeroizing<Vec<u8>> {
        self.0.to_pkcs8_der().expect("a key can be written").to_bytes()
    }

    pub(crate) fn signing(&self) -> p256::ecdsa::SigningKey {
        (&self.0).into()
    }

    pub(crate) fn public(&self) -> p256::PublicKey {
        self.0.public_key()
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    #[test]
    fn a_key_is_read_as_it_was_written_and_not_shown() {
        let key = PrivateKey::generate(&mut StdRng::seed_from_u64(1));
        let der = key.to_der();
        assert_eq!(PrivateKey::from_der(&der).unwrap().to_der(), der);
        assert_eq!(PrivateKey::from_pem(&key.to_pem()).unwrap().to_der(), der);
        assert_eq!(PrivateKey::from_der(&der[1..]).unwrap_err(), KeyError);
        assert_eq!(PrivateKey::from_pem("no key").unwrap_err(), KeyError);
        assert_eq!(format!("{key:?}"), "PrivateKey(..)");
    }
}
