use crate::IdentityError;
use std::fmt;
use std::str::FromStr;

/// A signature suite: a closed list, one per key for ever, named inside everything that is signed.
///
/// Numbers are COSE algorithms: Ed25519 −19 and ESP256 −9 (RFC 9864 §2); the paper's suites have none and use
/// RFC 9053's private range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suite {
    /// Ed25519 under the validity rules of ZIP 215; the default.
    Ed25519,
    /// ECDSA on P-256 with SHA-256, `r ‖ s`, s in the lower half (ESP256).
    EcdsaP256,
    /// RSA with 1024 bits, PKCS #1 v1.5, SHA-256 (paper A, Table 1). 80 bits of strength: laboratory only.
    #[cfg(feature = "legacy-suites")]
    Rsa1024,
    /// RSA with 2048 bits, PKCS #1 v1.5, SHA-256 (paper A, Table 1).
    #[cfg(feature = "legacy-suites")]
    Rsa2048,
    /// ECDSA on secp160r1 with SHA-256 (paper A, Table 1). Its order has 161 bits: r and s take 21 bytes each.
    #[cfg(feature = "legacy-suites")]
    EcdsaSecp160r1,
    /// ECDSA on secp224r1 with SHA-256 (paper A, Table 1).
    #[cfg(feature = "legacy-suites")]
    EcdsaSecp224r1,
}

impl Suite {
    /// Every suite that this program was built with, the default first.
    pub const ALL: &'static [Suite] = &[
        Suite::Ed25519,
        Suite::EcdsaP256,
        #[cfg(feature = "legacy-suites")]
        Suite::Rsa1024,
        #[cfg(feature = "legacy-suites")]
        Suite::Rsa2048,
        #[cfg(feature = "legacy-suites")]
        Suite::EcdsaSecp160r1,
        #[cfg(feature = "legacy-suites")]
        Suite::EcdsaSecp224r1,
    ];

    /// The COSE algorithm number.
    pub const fn algorithm(self) -> i64 {
        match self {
            Suite::Ed25519 => -19,
            Suite::EcdsaP256 => -9,
            #[cfg(feature = "legacy-suites")]
            Suite::Rsa1024 => -65_601,
            #[cfg(feature = "legacy-suites")]
            Suite::Rsa2048 => -65_602,
            #[cfg(feature = "legacy-suites")]
            Suite::EcdsaSecp160r1 => -65_603,
            #[cfg(feature = "legacy-suites")]
            Suite::EcdsaSecp224r1 => -65_604,
        }
    }

    /// The suite with this COSE algorithm number.
    ///
    /// # Errors
    /// [`IdentityError::UnknownSuite`] if there is none in this build.
    pub fn from_algorithm(algorithm: i64) -> Result<Self, IdentityError> {
        let found = Self::ALL.iter().find(|suite| suite.algorithm() == algorithm);
        found.copied().ok_or(IdentityError::UnknownSuite { algorithm })
    }

    /// Whether a live receipt graph refuses this suite unless its configuration says otherwise.
    pub const fn is_legacy(self) -> bool {
        match self {
            Suite::Ed25519 | Suite::EcdsaP256 => false,
            #[cfg(feature = "legacy-suites")]
            Suite::Rsa1024 | Suite::Rsa2048 | Suite::EcdsaSecp160r1 | Suite::EcdsaSecp224r1 => true,
        }
    }

    /// The name that people and headers use.
    pub const fn name(self) -> &'static str {
        match self {
            Suite::Ed25519 => "ed25519",
            Suite::EcdsaP256 => "ecdsa-p256",
            #[cfg(feature = "legacy-suites")]
            Suite::Rsa1024 => "rsa-1024",
            #[cfg(feature = "legacy-suites")]
            Suite::Rsa2048 => "rsa-2048",
            #[cfg(feature = "legacy-suites")]
            Suite::EcdsaSecp160r1 => "ecdsa-secp160r1",
            #[cfg(feature = "legacy-suites")]
            Suite::EcdsaSecp224r1 => "ecdsa-secp224r1",
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Suite {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().find(|suite| suite.name() == text).copied().ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|suite| suite.name()).collect();
            format!("there is no suite {text:?}; this program knows {}", known.join(", "))
        })
    }
}
