use guestright_directory::sms::SmsError;
use thiserror::Error;

/// Why a short message was not sent, or the link to the network ended.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SmsLinkError {
    /// The gateway or the modem cannot be reached.
    #[error("{target} cannot be reached: {problem}")]
    Unreachable { target: String, problem: String },
    /// It did not answer.
    #[error("there was no answer to {0} in time")]
    Silent(&'static str),
    /// The gateway does not let us in.
    #[error("the gateway refuses the login: {0}; are system id and password right?")]
    Login(String),
    /// The SIM cannot be used.
    #[error("the SIM cannot be used: {0}")]
    Sim(String),
    /// The message is refused.
    #[error("the message was refused: {0}")]
    Refused(String),
    /// The link ended while the message was under way: it may have been sent.
    #[error("the link ended while the message was under way; it may have been sent or not")]
    Unknown,
    /// The link has ended.
    #[error("the link has ended: {0}")]
    Ended(String),
    /// The message cannot be.
    #[error(transparent)]
    Message(#[from] SmsError),
    /// Too many messages wait already.
    #[error("{0} messages wait to be sent already")]
    Full(usize),
    /// It was not sent in time: the link was down, or slow.
    #[error("the message could not be sent within {seconds} s: {why}")]
    Late {
        /// How long was waited.
        seconds: u64,
        /// What the link's last trouble was.
        why: String,
    },
}
