//! Secrets: not shown, and wiped when dropped.

use std::fmt;
use zeroize::Zeroizing;

use guestright_units::Seed;
use sha2::{Digest as _, Sha256};

/// What a password is made of: no two letters that look alike, 32 in all, so that each stands for 5 bits.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// 120 bits: nobody guesses that, whatever the format does with it.
const PASSWORD_LENGTH: usize = 24;

/// A password or a shared secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// A password of 24 letters, by chance.
    #[must_use]
    pub fn password(seed: &Seed) -> Self {
        let bytes = expand(seed, "password");
        let letters = bytes.iter().take(PASSWORD_LENGTH);
        Self::new(letters.map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect::<String>())
    }

    /// The secret itself: what whoever writes it down has to ask for by this name.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A private key: PKCS#8 (RFC 5958) as DER.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateKey(Zeroizing<Vec<u8>>);

impl PrivateKey {
    /// A key from its PKCS#8 bytes.
    pub fn from_pkcs8(der: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(der.into()))
    }

    pub(crate) fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}

/// Chance for one use, so that no two uses of a seed see each other's.
pub(crate) fn expand(seed: &Seed, purpose: &str) -> Zeroizing<[u8; 32]> {
    let digest =
        Sha256::new().chain_update(b"guestright profile ").chain_update(purpose).chain_update(seed.0);
    Zeroizing::new(digest.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?} {:?}", Secret::new("open sesame"), PrivateKey::from_pkcs8(*b"sesame"));
        assert_eq!(shown, "Secret(..) PrivateKey(..)");
    }

    #[test]
    fn passwords_come_from_the_seed_alone() {
        let password = Secret::password(&Seed::from_number(1));
        assert_eq!(password, Secret::password(&Seed::from_number(1)));
        assert_ne!(password, Secret::password(&Seed::from_number(2)));
        assert!(
            password.expose().len() == 24
                && password.expose().bytes().all(|letter| LETTERS.contains(&letter))
        );
    }
}
