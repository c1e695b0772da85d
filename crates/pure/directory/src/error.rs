use guestright_identity::{IdentityError, KeyId, Suite};
use guestright_units::UnixSeconds;
use thiserror::Error;

/// Why a text or some bytes are no address of a home.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressError {
    /// A name that no host can have.
    #[error("it is not a host name: labels of a-z, 0-9 and -, separated by dots, {max} characters at most")]
    Name {
        /// How long a name may be.
        max: usize,
    },
    /// The port is missing where there is a colon, or is not a number from 1 to 65535.
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// An address that stands for nobody or for many.
    #[error("it is unspecified, multicast or broadcast: no host answers there")]
    Nobody,
    /// An IPv4 address in the clothes of an IPv6 address.
    #[error("it is an IPv4 address written as IPv6")]
    Mapped,
}

/// Why a record is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// Its form, its certificate or its signature is wrong.
    #[error("the record is refused: {0}")]
    Refused(#[from] IdentityError),
    /// An address in it is none.
    #[error("an address in the record is refused: {0}")]
    Address(#[from] AddressError),
    /// A record has one to four addresses, no two the same.
    #[error("a record has 1 to {max} addresses, all different; this one has {got}, or one of them twice")]
    Addresses {
        /// How many it has.
        got: usize,
        /// How many it may have.
        max: usize,
    },
    /// It ends before it begins, or lasts too long.
    #[error(
        "the record runs from {not_before} to {not_after}: a record lasts {life_max} s at most, and not less than none"
    )]
    Life {
        /// Its first second.
        not_before: UnixSeconds,
        /// Its last second.
        not_after: UnixSeconds,
        /// How long it may last, in seconds.
        life_max: u64,
    },
    /// It begins in the future.
    #[error("the record counts from {not_before}, and it is {now}; is a clock wrong?")]
    NotYet {
        /// Its first second.
        not_before: UnixSeconds,
        /// The second at which it was checked.
        now: UnixSeconds,
    },
    /// It is over.
    #[error("the record ended at {not_after}, and it is {now}; its member has to sign a new one")]
    Ended {
        /// Its last second.
        not_after: UnixSeconds,
        /// The second at which it was checked.
        now: UnixSeconds,
    },
    /// It is another member's than was asked for.
    #[error("the record is of member {got}, not of {want}")]
    OtherMember {
        /// Whose it is.
        got: KeyId,
        /// Whose it had to be.
        want: KeyId,
    },
    /// A suite of the laboratory.
    #[error("suite {0} is for measurements and signs no records")]
    LegacySuite(Suite),
    /// The certificate is for another key than the one that signs.
    #[error("the certificate is for key {certified}, the key that signs is {signs}")]
    NotCertified {
        /// The certificate's key.
        certified: KeyId,
        signs: KeyId,
    },
}

/// Why a book does not take a record.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BookError {
    /// It does not count, at least not now.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A newer one is known.
    #[error("a record with sequence {known} is known, this one has {got}")]
    Older {
        got: u64,
        /// The known one's.
        known: u64,
    },
    /// Who hands it in has handed in enough.
    #[error("this source has {max} records here, as many as it may")]
    SourceFull {
        /// How many it may have.
        max: usize,
    },
    /// There is no room, and nothing that may go.
    #[error("the book is full with {max} records, none of which may go")]
    Full {
        /// How many records fit.
        max: usize,
    },
    /// A snapshot is no snapshot.
    #[error("the snapshot cannot be read: {0}")]
    Snapshot(IdentityError),
}

impl BookError {
    /// A short name of the kind, for counters.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Record(RecordError::Refused(_)) => "refused",
            Self::Record(_) => "not-valid",
            Self::Older { .. } => "older",
            Self::SourceFull { .. } => "source-full",
            Self::Full { .. } => "full",
            Self::Snapshot(_) => "snapshot",
        }
    }
}

/// Why a text is no contact card.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CardError {
    /// It does not begin as one.
    #[error("a contact card begins with \"guestright:contact?\"")]
    Scheme,
    #[error("the contact card has {got} characters, at most {max} are allowed")]
    TooLong {
        /// How many it has.
        got: usize,
        /// How many it may have.
        max: usize,
    },
    /// A field is missing or comes twice.
    #[error("the contact card has no \"{0}\", or has it more than once")]
    Field(&'static str),
    /// A field that this program does not know.
    #[error("the contact card has a field {0:?} that this program does not know; is it of a newer one?")]
    Unknown(String),
    /// A percent sign without two hexadecimal digits, or bytes that are no text.
    #[error("the contact card is not properly percent-encoded")]
    Encoding,
    /// The name is empty, too long, or has characters that cannot be shown.
    #[error("a name has 1 to {max} characters, none of them a control character")]
    Name {
        /// How long it may be.
        max: usize,
    },
    /// The member's key id is none.
    #[error("a member's id is 48 hexadecimal digits")]
    Member,
    /// An address is none.
    #[error("the home {0:?} is no address: {1}")]
    Home(String, AddressError),
    /// Too many homes.
    #[error("a contact names {max} homes at most")]
    Homes {
        /// How many it may name.
        max: usize,
    },
    /// A telephone number is none.
    #[error("a telephone number is + and 5 to 15 digits, the country's first (E.164)")]
    Telephone,
    /// A list of contacts is too long, or has a name twice.
    #[error("line {line}: {problem}")]
    List {
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// A line of a list is no card.
    #[error("line {line}: {error}")]
    Line {
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        error: Box<CardError>,
    },
}

/// Why a frame of another home, or a short message, is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// Its form is wrong.
    #[error("the message is refused: {0}")]
    Form(#[from] IdentityError),
    /// The record in it is refused.
    #[error(transparent)]
    Record(#[from] RecordError),
}
