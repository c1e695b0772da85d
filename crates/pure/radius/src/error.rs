use crate::attribute::Kind;
use thiserror::Error;

/// What is wrong with a packet.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RadiusError {
    #[error("the datagram has {got} bytes, a RADIUS packet has 20 to 4,096")]
    Length { got: usize },
    #[error("the packet names a length of {want} bytes, and {got} are there")]
    Truncated { got: usize, want: usize },
    #[error("no packet that we speak has the code {got}")]
    Code { got: u8 },
    #[error("the attribute at byte {at} does not fit into the packet")]
    Attribute { at: usize },
    #[error("{kind} has a value of {got} bytes that is none")]
    Value { kind: Kind, got: usize },
    #[error("{kind} is there more than once")]
    Repeated { kind: Kind },
    #[error("{kind} is missing")]
    Missing { kind: Kind },
    #[error("{kind} does not match: the packet was changed, or the secret is another")]
    MessageAuthenticator { kind: Kind },
    #[error("the authenticator does not match: the packet was changed, or the secret is another")]
    Authenticator,
    #[error("what is in EAP-Message is no EAP packet that a station sends")]
    Eap,
    #[error("the packet would be longer than 4,096 bytes")]
    TooLong,
    #[error("a shared secret has 1 to {max} bytes, this one has {got}")]
    Secret { got: usize, max: usize },
    #[error("the key is not encrypted as RFC 2548 says")]
    Key,
    #[error("nobody at this address shares a secret with us")]
    UnknownClient,
    #[error("this packet is not for this port")]
    OtherService,
    #[error("it answers nothing that was asked")]
    NotAsked,
}

impl RadiusError {
    /// A word for counters.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Length { .. } | Self::Truncated { .. } => "length",
            Self::Code { .. } => "code",
            Self::Attribute { .. } | Self::Value { .. } => "attribute",
            Self::Repeated { .. } => "repeated",
            Self::Missing { .. } => "missing",
            Self::MessageAuthenticator { .. } | Self::Authenticator => "authenticator",
            Self::Eap => "eap",
            Self::TooLong => "too-long",
            Self::Secret { .. } => "secret",
            Self::Key => "key",
            Self::UnknownClient => "unknown-client",
            Self::OtherService => "other-service",
            Self::NotAsked => "not-asked",
        }
    }
}
