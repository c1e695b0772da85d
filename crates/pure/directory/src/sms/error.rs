use crate::MessageError;
use thiserror::Error;

/// Why a short message, or a part of one, is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SmsError {
    /// It ends in the middle.
    #[error("the short message is cut off in its {0}")]
    Truncated(&'static str),
    /// It goes on after its end.
    #[error("the short message has {0} bytes too many")]
    Trailing(usize),
    /// Another kind of PDU.
    #[error("the PDU is of type {0}, not the one that is needed here")]
    Kind(u8),
    /// A field has a value that it cannot have.
    #[error("the short message's {0} cannot be")]
    Field(&'static str),
    /// The user data is longer than fits.
    #[error("the user data has {got} bytes, at most {max} fit")]
    TooLong {
        /// How long it is.
        got: usize,
        /// How long it may be.
        max: usize,
    },
    /// It is not for our application.
    #[error("the short message is for another application or for a person")]
    NotOurs,
    /// The parts contradict each other.
    #[error("the parts of the message contradict each other")]
    Contradiction,
    /// There are too many messages in parts.
    #[error("too many messages of which parts are missing")]
    Full,
    /// Hexadecimal digits are missing or wrong.
    #[error("the PDU is not in hexadecimal digits")]
    Hex,
    /// What it says is refused.
    #[error(transparent)]
    Payload(#[from] MessageError),
}
