use guestright_identity::IdentityError;
use guestright_radius::relay::RelayError;
use guestright_receipt::BundleError;
use thiserror::Error;

/// Why bytes are not a message.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// More bytes are needed.
    #[error("the message is cut off after {got} bytes")]
    Truncated {
        /// Bytes that were there.
        got: usize,
    },
    /// A part is longer than any may be.
    #[error("the {part} has {got} bytes, at most {max} are allowed")]
    TooLong {
        part: &'static str,
        /// How long it is, as far as it was read.
        got: usize,
        /// How long it may be.
        max: usize,
    },
    /// The first line is not a method and this protocol's version.
    #[error("the start line is not a P2PWNC/3.0 method")]
    StartLine,
    /// A header line is not `Name: value` in printable ASCII.
    #[error("header line {line} is malformed")]
    HeaderLine {
        /// Counted from 1.
        line: usize,
    },
    /// A header stands there twice.
    #[error("header {0} is given twice")]
    DuplicateHeader(String),
    #[error("header {0} is missing")]
    MissingHeader(&'static str),
    /// A header's value cannot be read.
    #[error("header {name} is malformed: {why}")]
    Header {
        name: &'static str,
        /// What is wrong.
        why: String,
    },
    /// Bytes follow the message.
    #[error("{got} bytes follow the message")]
    Trailing { got: usize },
    /// The certificate in it is refused.
    #[error("the certificate is refused: {0}")]
    Certificate(IdentityError),
    /// The receipts in it are refused.
    #[error("the body is refused: {0}")]
    Body(#[from] BundleError),
    /// What goes to or comes from another home about EAP is refused.
    #[error("the body is refused: {0}")]
    Eap(#[from] RelayError),
    /// The body is no list of devices.
    #[error("the body of {got} bytes is no list of devices: six bytes for each, each after the one before")]
    Devices { got: usize },
}

impl MessageError {
    /// A short name of the kind, for counters and messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "truncated",
            Self::TooLong { .. } => "oversized",
            Self::Certificate(_) => "certificate",
            Self::Body(_) | Self::Eap(_) | Self::Devices { .. } => "body",
            Self::StartLine
            | Self::HeaderLine { .. }
            | Self::DuplicateHeader(_)
            | Self::MissingHeader(_)
            | Self::Header { .. }
            | Self::Trailing { .. } => "malformed",
        }
    }
}
