use std::fmt;
use std::str::FromStr;

/// Which ciphers protect a call, by their names in SDP (RFC 4568, section 6.2; RFC 7714, section 14.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// AES-128-GCM, check value of 16 bytes. What we offer first.
    AeadAes128Gcm,
    /// AES-256-GCM, check value of 16 bytes.
    AeadAes256Gcm,
    /// AES-128 in counter mode, HMAC-SHA-1 cut to 10 bytes. What every softphone has.
    AesCm128HmacSha1_80,
    /// The same with 4 bytes on RTP, and 10 on RTCP.
    AesCm128HmacSha1_32,
}

impl Profile {
    /// All of them, best first.
    pub const ALL: [Self; 4] =
        [Self::AeadAes128Gcm, Self::AeadAes256Gcm, Self::AesCm128HmacSha1_80, Self::AesCm128HmacSha1_32];

    /// Bytes of the master key.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::AeadAes128Gcm | Self::AesCm128HmacSha1_80 | Self::AesCm128HmacSha1_32 => 16,
            Self::AeadAes256Gcm => 32,
        }
    }

    /// Bytes of the master salt.
    #[must_use]
    pub const fn salt_len(self) -> usize {
        match self {
            Self::AeadAes128Gcm | Self::AeadAes256Gcm => 12,
            Self::AesCm128HmacSha1_80 | Self::AesCm128HmacSha1_32 => 14,
        }
    }

    /// Bytes of the check value of an RTP packet, which is all that an RTP packet grows by.
    #[must_use]
    pub const fn rtp_overhead(self) -> usize {
        match self {
            Self::AeadAes128Gcm | Self::AeadAes256Gcm => 16,
            Self::AesCm128HmacSha1_80 => 10,
            Self::AesCm128HmacSha1_32 => 4,
        }
    }

    /// Bytes that an RTCP packet grows by: check value and index.
    #[must_use]
    pub const fn rtcp_overhead(self) -> usize {
        4 + match self {
            Self::AeadAes128Gcm | Self::AeadAes256Gcm => 16,
            Self::AesCm128HmacSha1_80 | Self::AesCm128HmacSha1_32 => 10,
        }
    }

    /// The name in SDP.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AeadAes128Gcm => "AEAD_AES_128_GCM",
            Self::AeadAes256Gcm => "AEAD_AES_256_GCM",
            Self::AesCm128HmacSha1_80 => "AES_CM_128_HMAC_SHA1_80",
            Self::AesCm128HmacSha1_32 => "AES_CM_128_HMAC_SHA1_32",
        }
    }

    pub(crate) const fn is_gcm(self) -> bool {
        matches!(self, Self::AeadAes128Gcm | Self::AeadAes256Gcm)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = ();

    /// Upper case only: RFC 4568, section 9.1, gives the names as they are.
    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|profile| profile.name() == name).ok_or(())
    }
}
