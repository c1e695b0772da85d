//! What homes say to each other about where other teams' homes are, one message in a frame of their link.
//!
//! Deterministic CBOR, an array each, beside the four messages about members' records: `[5, reference, team, hops]` asks,
//! `[6, reference, record]` answers, `[7, reference]` says that no record is known, and `[8, record]` says where whoever
//! sends it is. The second byte of each, the first item of the array, tells them from the others.

use super::HomeRecord;
use crate::MessageError;
use ciborium::Value;
use guestright_identity::{IdentityError, cose};
use guestright_units::TeamId;

/// A message about where teams' homes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomeMessage {
    /// Where is the home of this team?
    Ask {
        /// What the answer will carry.
        reference: u64,
        team: TeamId,
        /// How many times the question may be handed on, at most.
        hops: u64,
    },
    Answer {
        /// The question's.
        reference: u64,
        record: HomeRecord,
    },
    /// No record of the team came to be known.
    Unknown {
        /// The question's.
        reference: u64,
    },
    /// Where the home is that sends this.
    Here { record: HomeRecord },
}

/// Whether a frame is one of these, rather than one about a member's record or SIP.
pub fn is_home_message(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80..=0x9f, 5..=8, ..])
}

/// A message whose record was not looked at: a limit comes before the work.
#[derive(Clone, Debug)]
pub(super) enum Unchecked {
    Ask { reference: u64, team: TeamId, hops: u64 },
    Answer { reference: u64, record: Vec<u8> },
    Unknown { reference: u64 },
    Here { record: Vec<u8> },
}

impl HomeMessage {
    /// No message has more bytes.
    pub const LEN_MAX: usize = HomeRecord::LEN_MAX + 32;

    /// The message as bytes.
    pub fn emit(&self) -> Vec<u8> {
        let number = |number: u64| Value::from(number);
        let record = |record: &HomeRecord| Value::Bytes(record.as_bytes().to_vec());
        cose::encode(match self {
            Self::Ask { reference, team, hops } => {
                vec![number(5), number(*reference), Value::Bytes(team.0.to_vec()), number(*hops)]
            }
            Self::Answer { reference, record: found } => vec![number(6), number(*reference), record(found)],
            Self::Unknown { reference } => vec![number(7), number(*reference)],
            Self::Here { record: own } => vec![number(8), record(own)],
        })
    }

    /// Reads a message; a record in it is checked.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        Ok(match Unchecked::parse(bytes)? {
            Unchecked::Ask { reference, team, hops } => Self::Ask { reference, team, hops },
            Unchecked::Answer { reference, record } => {
                Self::Answer { reference, record: HomeRecord::parse(&record)? }
            }
            Unchecked::Unknown { reference } => Self::Unknown { reference },
            Unchecked::Here { record } => Self::Here { record: HomeRecord::parse(&record)? },
        })
    }
}

impl Unchecked {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, IdentityError> {
        let (got, max) = (bytes.len(), HomeMessage::LEN_MAX);
        if got > max {
            return Err(IdentityError::TooLong { got, max });
        }
        let items = cose::decode(bytes)?;
        let Some((kind, rest)) = items.split_first() else {
            return Err(IdentityError::Malformed("a message has a kind"));
        };
        let reference = |value| cose::number(value, "a reference is a number");
        let record = |value| Ok::<_, IdentityError>(cose::bytes(value, "a record is bytes")?.to_vec());
        Ok(match (cose::number(kind, "a kind is a number")?, rest) {
            (5, [asked, team, hops]) => Self::Ask {
                reference: reference(asked)?,
                team: TeamId(cose::array(team, "a team id has 24 bytes")?),
                hops: cose::number(hops, "hops are a number")?,
            },
            (6, [asked, found]) => Self::Answer { reference: reference(asked)?, record: record(found)? },
            (7, [asked]) => Self::Unknown { reference: reference(asked)? },
            (8, [own]) => Self::Here { record: record(own)? },
            _ => return Err(IdentityError::Malformed("there is no such message")),
        })
    }
}
