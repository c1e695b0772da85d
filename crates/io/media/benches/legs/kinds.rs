//! What is compared.

use guestright_voice::srtp::Profile;
use std::fmt;

/// What a leg is, and who carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Plain on one side, AEAD AES-128-GCM on the other: a softphone's call from home to home.
    SrtpGcm,
    /// The same with AES in counter mode and HMAC-SHA-1.
    SrtpSha1,
    /// Protected by the members themselves, passed as it is.
    Opaque,
    /// The peer: plain on one side, AES-CM with HMAC-SHA-1 on the other, by rtpengine without its kernel module.
    Rtpengine,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::SrtpGcm, Self::SrtpSha1, Self::Opaque, Self::Rtpengine];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.to_string() == name)
    }

    /// What protects the far side; `None` if what the near side sends is already protected.
    pub(crate) fn profile(self) -> Option<Profile> {
        match self {
            Self::SrtpGcm => Some(Profile::AeadAes128Gcm),
            Self::SrtpSha1 | Self::Rtpengine => Some(Profile::AesCm128HmacSha1_80),
            Self::Opaque => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SrtpGcm => "srtp-gcm",
            Self::SrtpSha1 => "srtp-sha1",
            Self::Opaque => "opaque",
            Self::Rtpengine => "rtpengine",
        })
    }
}
