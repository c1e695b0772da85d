use guestright_directory::{AddressError, RecordError};
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Why the DNS could not be asked or changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DnsError {
    /// The connection failed.
    #[error("the DNS server {server} cannot be reached: {error}")]
    Io { server: SocketAddr, error: io::Error },
    /// No answer.
    #[error("the DNS server {server} did not answer within {seconds} s")]
    Timeout {
        server: SocketAddr,
        /// How long was waited.
        seconds: u64,
    },
    /// What came back is not an answer.
    #[error("the DNS server {server} answered with something that is no answer: {problem}")]
    Answer {
        server: SocketAddr,
        /// What is wrong with it.
        problem: String,
    },
    /// The server refuses.
    #[error("the DNS server {server} refuses: {code}{hint}")]
    Refused {
        server: SocketAddr,
        /// The response code (RFC 1035 section 4.1.1, RFC 2136 section 2.2).
        code: String,
        /// What it may mean, with a separator in front; may be empty.
        hint: &'static str,
    },
    /// There is nothing under the name.
    #[error("there is no record under {0} in the DNS")]
    Nothing(String),
    /// A newer record is there.
    #[error("the DNS has a record with sequence {known} under {name}, this one has {got}")]
    Older {
        name: String,
        /// The record's sequence.
        got: u64,
        /// The known one's.
        known: u64,
    },
    /// Under the name there is another member's record.
    #[error("under {0} there is the record of another member; withdraw it first, or take another name")]
    OtherMember(String),
    /// Somebody else changes the same name all the time.
    #[error("the records under {0} were changed by somebody else each time we tried")]
    Contended(String),
    /// The record does not count.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A name does not fit.
    #[error("{0:?} cannot be a name in the DNS here: {1}")]
    Name(String, String),
    /// The update key is none.
    #[error("the key for updates is not usable: {0}")]
    Key(String),
    /// There is nobody to ask.
    #[error("{0} names no DNS server")]
    NoServer(String),
}

impl From<AddressError> for DnsError {
    fn from(error: AddressError) -> Self {
        Self::Record(error.into())
    }
}
