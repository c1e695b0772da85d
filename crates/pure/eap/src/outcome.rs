//! How a conversation ends, and what is said about it.

use crate::identity::{Label, Serial};
use crate::session::Alert;
use guestright_units::UnixSeconds;
use std::fmt;
use zeroize::Zeroize;

/// How a conversation has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The phone is a member's. EAP-Success is on its way.
    Accepted {
        /// Which phone: its home knows whose.
        label: Label,
        /// The certificate's number.
        serial: Serial,
        /// The master session key: what the access point makes the keys for the air of.
        msk: Secret,
        /// The extended one, which never leaves the home.
        emsk: Secret,
        /// What EAP calls the conversation; public.
        session_id: Vec<u8>,
        tls: TlsVersion,
    },
    /// It is not. EAP-Failure is on its way, unless it took too long.
    Refused { reason: Reason },
}

/// 64 bytes that only the home and the phone know. They are wiped when they are dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 64]);

impl Secret {
    pub(crate) fn new(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What protects a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// The phone's certificate is read by the network that it visits (RFC 5246).
    Tls12,
    /// It is not (RFC 8446).
    Tls13,
}

/// Why a phone is refused. As text: a sentence for the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its certificate is another household's, or nobody's.
    WrongAuthority,
    Expired {
        not_after: UnixSeconds,
    },
    NotYetValid {
        not_before: UnixSeconds,
    },
    Revoked,
    /// Its certificate is this household's, but for something else than a phone.
    NotAPhone,
    NoCertificate,
    /// Its certificate cannot be read.
    BadCertificate,
    /// It has the certificate, and not the key.
    WrongKey,
    /// It does not accept the home, or something else that the home has sent.
    Alert(Alert),
    /// It wants another method: one of these.
    OtherMethod {
        wanted: Vec<u8>,
    },
    /// It breaks a rule of TLS, or has no version or cipher in common with the home.
    Tls,
    /// It needs more packets or bytes than a conversation may have.
    TooLong,
    /// It needs more time than a conversation may have.
    TooSlow,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongAuthority => {
                f.write_str("This phone's certificate was not made by its home. Install the home's profile again.")
            }
            Self::Expired { not_after } => {
                write!(f, "This phone's certificate ended at {not_after}. Fetch a new profile at home.")
            }
            Self::NotYetValid { not_before } => {
                write!(f, "This phone's certificate begins at {not_before}. Is the home's clock right?")
            }
            Self::Revoked => f.write_str("The home has withdrawn this phone's certificate."),
            Self::NotAPhone => f.write_str("This certificate is the home's, but not for a phone."),
            Self::NoCertificate => f.write_str("This phone has shown no certificate. Install the home's profile."),
            Self::BadCertificate => f.write_str("This phone's certificate cannot be read."),
            Self::WrongKey => f.write_str("This phone cannot prove that its certificate is its own."),
            Self::Alert(alert) => write!(f, "This phone does not accept its home: {alert}."),
            Self::OtherMethod { .. } => {
                f.write_str("This phone does not want EAP-TLS, and its home has nothing else. Install the home's profile.")
            }
            Self::Tls => f.write_str("This phone and its home do not agree on TLS."),
            Self::TooLong => f.write_str("This phone has sent more than it takes to join."),
            Self::TooSlow => f.write_str("This phone has taken too long to join."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Secret::new([7; 64])), "Secret(..)");
    }

    #[test]
    fn every_reason_is_a_sentence_that_radius_can_carry() {
        let (not_after, not_before) = (UnixSeconds(1_795_176_123), UnixSeconds(1_795_176_123));
        let reasons = [
            Reason::WrongAuthority,
            Reason::Expired { not_after },
            Reason::NotYetValid { not_before },
            Reason::Revoked,
            Reason::NotAPhone,
            Reason::NoCertificate,
            Reason::BadCertificate,
            Reason::WrongKey,
            Reason::Alert(Alert(48)),
            Reason::OtherMethod { wanted: vec![25] },
            Reason::Tls,
            Reason::TooLong,
            Reason::TooSlow,
        ];
        for reason in reasons {
            let text = reason.to_string();
            // A Reply-Message has at most 253 bytes (RFC 2865, section 5.18).
            assert!(text.len() <= 253 && (text.ends_with('.') || text.ends_with('?')), "{text}");
        }
    }
}
