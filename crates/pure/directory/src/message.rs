//! What homes say to each other about records, one message in a frame of their link.
//!
//! Deterministic CBOR, an array each: `[1, reference, member]` asks, `[2, reference, record]` answers, `[3, reference,
//! outcome, seconds]` says how it went otherwise, `[4, reference, record]` announces. A SIP message begins with a
//! letter or an end of line, an array with a byte from 0x80 to 0x9f; so both can go over one link.

use crate::{MessageError, Record};
use ciborium::Value;
use guestright_identity::{IdentityError, KeyId, cose};

/// How a question without an answer, or an announcement, has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The record was taken, or was known.
    Kept,
    /// There is no record of this member here.
    Unknown,
    /// A newer record is known here.
    Older,
    /// The record is not wanted here: it is not valid, or there is no room for it.
    Refused,
    /// Too many messages; the next one may come after the seconds that stand beside it.
    Limited,
}

/// A message from one home to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Where is the home of the member with this key?
    Ask {
        /// What the answer will carry.
        reference: u64,
        /// Whose home.
        member: KeyId,
    },
    Answer {
        /// The question's.
        reference: u64,
        record: Record,
    },
    /// How it went otherwise.
    Ended {
        /// The question's or the announcement's.
        reference: u64,
        outcome: Outcome,
        /// After how many seconds it makes sense to try again.
        retry_after: u64,
    },
    /// Keep this for those who ask.
    Announce {
        /// What the answer will carry.
        reference: u64,
        record: Record,
    },
}

/// Whether a frame is one of ours, rather than SIP.
pub fn is_frame(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| (0x80..=0x9f).contains(first))
}

impl Message {
    /// No message has more bytes.
    pub const LEN_MAX: usize = Record::LEN_MAX + 32;

    /// The message as bytes.
    pub fn emit(&self) -> Vec<u8> {
        let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
        let number = |number: u64| Value::from(number);
        cose::encode(match self {
            Self::Ask { reference, member } => vec![number(1), number(*reference), bytes(&member.0)],
            Self::Answer { reference, record } => {
                vec![number(2), number(*reference), bytes(record.as_bytes())]
            }
            Self::Ended { reference, outcome, retry_after } => {
                vec![number(3), number(*reference), number(outcome.number()), number(*retry_after)]
            }
            Self::Announce { reference, record } => {
                vec![number(4), number(*reference), bytes(record.as_bytes())]
            }
        })
    }

    /// Reads a message; a record in it is checked.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let unchecked = Unchecked::parse(bytes)?;
        unchecked.check()
    }
}

/// A message whose record was not looked at: a limit may come before the work.
#[derive(Clone, Debug)]
pub(crate) enum Unchecked {
    Ask { reference: u64, member: KeyId },
    Answer { reference: u64, record: Vec<u8> },
    Ended(Ended),
    Announce { reference: u64, record: Vec<u8> },
}

/// What became of what the reference is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) reference: u64,
    pub(crate) outcome: Outcome,
    pub(crate) retry_after: u64,
}

impl Unchecked {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        if bytes.len() > Message::LEN_MAX {
            return Err(IdentityError::TooLong { got: bytes.len(), max: Message::LEN_MAX }.into());
        }
        let items = cose::decode(bytes)?;
        let (Some(kind), Some(reference)) = (items.first(), items.get(1)) else {
            return Err(IdentityError::Malformed("a message has a kind and a reference").into());
        };
        let reference = cose::number(reference, "a reference is a number")?;
        Ok(match (cose::number(kind, "a kind is a number")?, &items[2..]) {
            (1, [member]) => {
                Self::Ask { reference, member: KeyId(cose::array(member, "a key id has 24 bytes")?) }
            }
            (2, [record]) => {
                Self::Answer { reference, record: cose::bytes(record, "a record is bytes")?.to_vec() }
            }
            (3, [outcome, retry_after]) => Self::Ended(Ended {
                reference,
                outcome: Outcome::from_number(cose::number(outcome, "an outcome is a number")?)?,
                retry_after: cose::number(retry_after, "seconds are a number")?,
            }),
            (4, [record]) => {
                Self::Announce { reference, record: cose::bytes(record, "a record is bytes")?.to_vec() }
            }
            _ => return Err(IdentityError::Malformed("there is no such message").into()),
        })
    }

    fn check(self) -> Result<Message, MessageError> {
        Ok(match self {
            Self::Ask { reference, member } => Message::Ask { reference, member },
            Self::Answer { reference, record } => {
                Message::Answer { reference, record: Record::parse(&record)? }
            }
            Self::Ended(Ended { reference, outcome, retry_after }) => {
                Message::Ended { reference, outcome, retry_after }
            }
            Self::Announce { reference, record } => {
                Message::Announce { reference, record: Record::parse(&record)? }
            }
        })
    }
}

impl Outcome {
    const ALL: [Self; 5] = [Self::Kept, Self::Unknown, Self::Older, Self::Refused, Self::Limited];

    fn number(self) -> u64 {
        match self {
            Self::Kept => 0,
            Self::Unknown => 1,
            Self::Older => 2,
            Self::Refused => 3,
            Self::Limited => 4,
        }
    }

    fn from_number(number: u64) -> Result<Self, IdentityError> {
        let found = Self::ALL.into_iter().find(|outcome| outcome.number() == number);
        found.ok_or(IdentityError::Malformed("there is no such outcome"))
    }
}
