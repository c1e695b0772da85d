//! Names of things in profiles.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A universally unique identifier (RFC 9562).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// One of chance (version 4).
    #[must_use]
    pub fn from_random(random: [u8; 16]) -> Self {
        Self::marked(random, 4)
    }

    /// The one that belongs to this one for `purpose`, always the same (version 8).
    pub(crate) fn derive(self, purpose: &str) -> Self {
        let digest: [u8; 32] = Sha256::new().chain_update(self.0).chain_update(purpose).finalize().into();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Self::marked(bytes, 8)
    }

    fn marked(mut bytes: [u8; 16], version: u8) -> Self {
        bytes[6] = bytes[6] & 0x0f | version << 4;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }
}

impl fmt::Display for Uuid {
    /// In capitals, as Apple writes them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = data_encoding::HEXUPPER.encode(&self.0);
        let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
        write!(f, "{a}-{b}-{c}-{d}-{e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_versions_and_variants() {
        let own = Uuid::from_random([0xff; 16]);
        assert_eq!(own.to_string(), "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF");
        let derived = own.derive("wifi");
        assert_eq!(derived, own.derive("wifi"));
        assert_ne!(derived, own.derive("vpn"));
        assert_eq!((derived.0[6] >> 4, derived.0[8] >> 6), (8, 2));
    }
}
