//! Keys out of keys: HKDF of RFC 5869 with SHA-256.

use hkdf::Hkdf;
use sha2::Sha256;
use std::fmt;
use zeroize::Zeroizing;

/// A secret of 32 bytes. It is wiped when dropped, and `Debug` does not show it.
#[derive(Clone)]
pub(super) struct Secret(Zeroizing<[u8; 32]>);

impl Secret {
    pub(super) fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// HKDF-Extract.
    pub(super) fn extract(salt: &[u8], material: &[u8]) -> Self {
        let (mut key, _) = Hkdf::<Sha256>::extract(Some(salt), material);
        let secret = Self::new(key.into());
        zeroize::Zeroize::zeroize(key.as_mut_slice());
        secret
    }

    /// HKDF-Expand.
    pub(super) fn expand(&self, label: &[u8], out: &mut [u8]) {
        let key = Hkdf::<Sha256>::from_prk(self.as_bytes()).expect("32 bytes are enough for SHA-256");
        key.expand(label, out).expect("we want less than 255 blocks");
    }

    /// HKDF-Expand to another secret.
    pub(super) fn derive(&self, label: &[u8]) -> Self {
        let mut secret = Self::new([0; 32]);
        self.expand(label, secret.0.as_mut_slice());
        secret
    }

    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Chance for a call. What was drawn cannot be found out from what is left.
#[derive(Debug)]
pub(super) struct Chance(Secret);

impl Chance {
    pub(super) fn new(seed: &guestright_units::Seed) -> Self {
        Self(Secret::extract(b"guestright/boat/1/chance", &seed.0))
    }

    pub(super) fn draw(&mut self) -> Secret {
        let drawn = self.0.derive(b"draw");
        self.0 = self.0.derive(b"next");
        drawn
    }

    /// Mixes more chance in: whoever knew what was left knows no more.
    pub(super) fn stir(&mut self, seed: &guestright_units::Seed) {
        self.0 = Secret::extract(self.0.as_bytes(), &seed.0);
    }
}
