//! The suites: closed, because each is a promise about bytes on the wire.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How an ESP packet is encrypted and authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Suite {
    /// Triple DES in CBC mode (RFC 2451) with HMAC-SHA-1-96 (RFC 2404): paper B's.
    #[serde(rename = "3des-cbc+hmac-sha1-96")]
    TripleDesCbcHmacSha1,
    /// AES-128 in CBC mode (RFC 3602) with HMAC-MD5-96 (RFC 2403): paper A's.
    #[serde(rename = "aes-128-cbc+hmac-md5-96")]
    Aes128CbcHmacMd5,
    /// AES-128 in CBC mode (RFC 3602) with HMAC-SHA-1-96 (RFC 2404).
    #[serde(rename = "aes-128-cbc+hmac-sha1-96")]
    Aes128CbcHmacSha1,
    /// AES-128 in Galois/counter mode with a check value of 16 bytes (RFC 4106).
    #[serde(rename = "aes-128-gcm")]
    Aes128Gcm,
    /// AES-256 in Galois/counter mode with a check value of 16 bytes (RFC 4106).
    #[serde(rename = "aes-256-gcm")]
    Aes256Gcm,
    /// ChaCha20 with Poly1305 (RFC 7634).
    #[serde(rename = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

impl Suite {
    /// Every suite, in the order of tables.
    pub const ALL: [Self; 6] = [
        Self::TripleDesCbcHmacSha1,
        Self::Aes128CbcHmacMd5,
        Self::Aes128CbcHmacSha1,
        Self::Aes128Gcm,
        Self::Aes256Gcm,
        Self::ChaCha20Poly1305,
    ];

    /// The name that settings and reports use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TripleDesCbcHmacSha1 => "3des-cbc+hmac-sha1-96",
            Self::Aes128CbcHmacMd5 => "aes-128-cbc+hmac-md5-96",
            Self::Aes128CbcHmacSha1 => "aes-128-cbc+hmac-sha1-96",
            Self::Aes128Gcm => "aes-128-gcm",
            Self::Aes256Gcm => "aes-256-gcm",
            Self::ChaCha20Poly1305 => "chacha20-poly1305",
        }
    }

    /// Whether the suite is only for repeating the papers: MD5, SHA-1 and triple DES are no longer advised
    /// (RFC 8221, sections 5 and 6).
    #[must_use]
    pub fn is_legacy(self) -> bool {
        self.authentication_key_len() > 0
    }

    /// Length of the encryption key in bytes, with the salt of 4 bytes at its end where the suite has one
    /// (RFC 4106, section 8.1; RFC 7634, section 2).
    #[must_use]
    pub fn encryption_key_len(self) -> usize {
        match self {
            Self::TripleDesCbcHmacSha1 => 24,
            Self::Aes128CbcHmacMd5 | Self::Aes128CbcHmacSha1 => 16,
            Self::Aes128Gcm => 16 + SALT_LEN,
            Self::Aes256Gcm | Self::ChaCha20Poly1305 => 32 + SALT_LEN,
        }
    }

    /// Length of the authentication key in bytes; 0 where encryption authenticates too.
    #[must_use]
    pub fn authentication_key_len(self) -> usize {
        match self {
            Self::TripleDesCbcHmacSha1 | Self::Aes128CbcHmacSha1 => 20,
            Self::Aes128CbcHmacMd5 => 16,
            Self::Aes128Gcm | Self::Aes256Gcm | Self::ChaCha20Poly1305 => 0,
        }
    }

    /// Length of the initialization vector in each packet, in bytes.
    #[must_use]
    pub fn iv_len(self) -> usize {
        match self {
            Self::Aes128CbcHmacMd5 | Self::Aes128CbcHmacSha1 => 16,
            Self::TripleDesCbcHmacSha1 | Self::Aes128Gcm | Self::Aes256Gcm | Self::ChaCha20Poly1305 => 8,
        }
    }

    /// What the encrypted part is padded to a multiple of, in bytes: the cipher's block, and never less than 4
    /// (RFC 4303, section 2.4).
    #[must_use]
    pub fn alignment(self) -> usize {
        match self {
            Self::TripleDesCbcHmacSha1 => 8,
            Self::Aes128CbcHmacMd5 | Self::Aes128CbcHmacSha1 => 16,
            Self::Aes128Gcm | Self::Aes256Gcm | Self::ChaCha20Poly1305 => 4,
        }
    }

    /// Length of the integrity check value in bytes.
    #[must_use]
    pub fn icv_len(self) -> usize {
        match self {
            Self::TripleDesCbcHmacSha1 | Self::Aes128CbcHmacMd5 | Self::Aes128CbcHmacSha1 => 12,
            Self::Aes128Gcm | Self::Aes256Gcm | Self::ChaCha20Poly1305 => 16,
        }
    }

    /// Bytes of padding, without the two of the trailer, behind a payload of that many bytes.
    #[must_use]
    pub fn padding_len(self, payload_len: usize) -> usize {
        let alignment = self.alignment();
        (alignment - (payload_len % alignment + TRAILER_LEN) % alignment) % alignment
    }

    /// Where the payload starts in a packet: behind SPI, sequence number and initialization vector.
    #[must_use]
    pub fn payload_offset(self) -> usize {
        HEADER_LEN + self.iv_len()
    }

    /// Length of the whole ESP packet, from SPI to check value, around a payload of that many bytes.
    #[must_use]
    pub fn packet_len(self, payload_len: usize) -> usize {
        let encrypted = payload_len + self.padding_len(payload_len) + TRAILER_LEN;
        self.payload_offset() + encrypted + self.icv_len()
    }

    /// The largest payload whose ESP packet has at most that many bytes; nothing where not even an empty one fits.
    #[must_use]
    pub fn payload_len_max(self, packet_len_max: usize) -> Option<usize> {
        let encrypted = packet_len_max.checked_sub(self.payload_offset() + self.icv_len())?;
        (encrypted - encrypted % self.alignment()).checked_sub(TRAILER_LEN)
    }
}

/// SPI and sequence number (RFC 4303, section 2), in bytes.
pub const HEADER_LEN: usize = 8;

/// Pad length and next header (RFC 4303, section 2), in bytes.
pub const TRAILER_LEN: usize = 2;

/// The part of the nonce that is a secret of the association (RFC 4106, section 4; RFC 7634, section 2), in bytes.
pub const SALT_LEN: usize = 4;

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no suite has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no ESP suite {0:?}; there are: {names}", names = Suite::ALL.map(Suite::name).join(", "))]
pub struct UnknownSuite(pub String);

impl FromStr for Suite {
    type Err = UnknownSuite;

    fn from_str(name: &str) -> Result<Self, UnknownSuite> {
        let found = Self::ALL.into_iter().find(|suite| suite.name() == name);
        found.ok_or_else(|| UnknownSuite(name.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_and_nothing_else_does() {
        for suite in Suite::ALL {
            assert_eq!(suite.name().parse(), Ok(suite));
            assert_eq!(suite.to_string(), suite.name());
        }
        assert_eq!("aes".parse::<Suite>(), Err(UnknownSuite("aes".to_owned())));
    }

    #[test]
    fn the_largest_payload_fits_and_one_byte_more_does_not() {
        for suite in Suite::ALL {
            for limit in 0..300 {
                match suite.payload_len_max(limit) {
                    Some(payload) => {
                        assert!(suite.packet_len(payload) <= limit, "{suite} {limit}");
                        assert!(suite.packet_len(payload + 1) > limit, "{suite} {limit}");
                    }
                    None => assert!(suite.packet_len(0) > limit, "{suite} {limit}"),
                }
            }
        }
    }
}
