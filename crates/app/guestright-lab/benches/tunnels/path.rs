//! The ways home that are compared.

use serde::{Serialize, Serializer};

/// What strongSwan and our ESP are told to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Suite {
    AesGcm,
    ChaCha,
    /// Paper A's.
    AesMd5,
    /// Paper B's.
    TripleDesSha1,
}

/// One way from the client to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// No tunnel: what there is to be had.
    Nat,
    OurEsp(Suite),
    OurWireGuard,
    Boringtun,
    WireGuardGo,
    /// The package of Debian 12, before segmentation offload came.
    WireGuardGo2022,
    Libipsec(Suite),
    OpenVpn,
}

impl Way {
    /// In the order in which they are measured: what is compared stands close together.
    pub(crate) const ALL: [Self; 13] = [
        Self::Nat,
        Self::OurEsp(Suite::AesGcm),
        Self::Boringtun,
        Self::OurWireGuard,
        Self::WireGuardGo,
        Self::WireGuardGo2022,
        Self::OpenVpn,
        Self::Libipsec(Suite::AesGcm),
        Self::OurEsp(Suite::ChaCha),
        Self::OurEsp(Suite::AesMd5),
        Self::Libipsec(Suite::AesMd5),
        Self::OurEsp(Suite::TripleDesSha1),
        Self::Libipsec(Suite::TripleDesSha1),
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nat => "nat",
            Self::OurEsp(Suite::AesGcm) => "our-esp-gcm",
            Self::OurEsp(Suite::ChaCha) => "our-esp-chacha",
            Self::OurEsp(Suite::AesMd5) => "our-esp-aes-md5",
            Self::OurEsp(Suite::TripleDesSha1) => "our-esp-3des-sha1",
            Self::OurWireGuard => "our-wireguard",
            Self::Boringtun => "boringtun",
            Self::WireGuardGo => "wireguard-go",
            Self::WireGuardGo2022 => "wireguard-go-2022",
            Self::Libipsec(Suite::AesGcm) => "libipsec-gcm",
            Self::Libipsec(Suite::ChaCha) => "libipsec-chacha",
            Self::Libipsec(Suite::AesMd5) => "libipsec-aes-md5",
            Self::Libipsec(Suite::TripleDesSha1) => "libipsec-3des",
            Self::OpenVpn => "openvpn",
        }
    }

    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Nat => "no tunnel",
            Self::OurEsp(_) => "guestright-lab tunnel esp, UDP-encapsulated",
            Self::OurWireGuard => "guestright-lab tunnel wireguard",
            Self::Boringtun => "boringtun-cli",
            Self::WireGuardGo => "wireguard-go, current",
            Self::WireGuardGo2022 => "wireguard-go of Debian 12",
            Self::Libipsec(_) => "strongSwan with kernel-libipsec, UDP-encapsulated",
            Self::OpenVpn => "OpenVPN, TLS, AES-128-GCM, no data channel offload",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::OurEsp(_) | Self::OurWireGuard)
    }

    /// Somebody else's tunnel.
    pub(crate) fn is_peer(self) -> bool {
        self != Self::Nat && !self.is_ours()
    }
}

impl Serialize for Way {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
