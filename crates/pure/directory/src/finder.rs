//! What all ways to find a home have in common.

use crate::{Contact, Record, RecordError};
use guestright_units::UnixSeconds;
use std::future::Future;
use std::pin::Pin;
use thiserror::Error;

/// A question under way: the answer is a record that counts, of the member that was asked for.
pub type Finding<'a> = Pin<Box<dyn Future<Output = Result<Record, FindError>> + Send + 'a>>;

/// An announcement under way.
pub type Announcing<'a> = Pin<Box<dyn Future<Output = Result<(), FindError>> + Send + 'a>>;

/// A way to find out where somebody's home is: homes' directory, the DNS, short messages.
///
/// The futures do nothing until they are polled, end within a time limit of their own, and can be dropped at any
/// time. Whoever implements it gives records out through [`accept`] or something stricter.
pub trait Finder: Send + Sync {
    /// The way's name in messages for people, for example `the DNS`.
    fn name(&self) -> &'static str;

    /// Asks where the contact's home is.
    fn find<'a>(&'a self, contact: &'a Contact) -> Finding<'a>;

    /// Makes a record of our own known to those who may ask.
    fn announce<'a>(&'a self, record: &'a Record) -> Announcing<'a>;
}

/// Why a home was not found, or a record not announced, in one way.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindError {
    /// The contact has nothing that this way needs.
    #[error("the contact has no {0}, so this way cannot be tried")]
    NoHint(&'static str),
    /// All who were asked know nothing.
    #[error("nobody who was asked knows where the home is ({0})")]
    Unknown(String),
    /// Nobody answered in time.
    #[error("there was no answer within {seconds} s ({whom})")]
    NoAnswer {
        /// Who was asked.
        whom: String,
        /// How long was waited.
        seconds: u64,
    },
    /// What came back does not count.
    #[error("the answer does not count: {0}")]
    Record(#[from] RecordError),
    /// Asked too often.
    #[error("too many questions; the next one may be asked in {seconds} s")]
    Limited {
        /// When the next one may come.
        seconds: u64,
    },
    /// The way itself does not work now.
    #[error("{0}")]
    Way(String),
}

/// The record in these bytes, if it is `contact`'s and counts at `now`.
///
/// # Errors
/// [`RecordError`].
pub fn accept(contact: &Contact, bytes: &[u8], now: UnixSeconds) -> Result<Record, RecordError> {
    let record = Record::parse(bytes)?;
    if record.member() != contact.member {
        return Err(RecordError::OtherMember { got: record.member(), want: contact.member });
    }
    record.check(now)?;
    Ok(record)
}
