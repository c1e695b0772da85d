//! What is said by short message.

use super::SmsError;
use crate::{MessageError, Record};
use ciborium::Value;
use guestright_identity::{IdentityError, KeyId, cose};

/// A question or an answer: deterministic CBOR, `[1, reference, member, caller's record or nothing]` or `[2, reference,
/// record]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Where is this member's home? And here is mine.
    Ask {
        /// What the answer will carry; by chance, so that nobody can answer who was not asked.
        reference: u32,
        /// Whose home.
        member: KeyId,
        /// The caller's own record, which also says who asks.
        caller: Option<Record>,
    },
    /// Here it is.
    Answer {
        /// The question's.
        reference: u32,
        record: Record,
    },
}

impl Payload {
    /// No payload has more bytes.
    pub const LEN_MAX: usize = Record::LEN_MAX + 48;

    /// The payload as bytes.
    pub fn emit(&self) -> Vec<u8> {
        let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
        cose::encode(match self {
            Self::Ask { reference, member, caller } => {
                let caller = caller.as_ref().map(Record::as_bytes).unwrap_or_default();
                vec![Value::from(1), Value::from(*reference), bytes(&member.0), bytes(caller)]
            }
            Self::Answer { reference, record } => {
                vec![Value::from(2), Value::from(*reference), bytes(record.as_bytes())]
            }
        })
    }

    /// Reads a payload; a record in it is checked.
    ///
    /// # Errors
    /// [`SmsError::Payload`].
    pub fn parse(payload: &[u8]) -> Result<Self, SmsError> {
        Unchecked::parse(payload)?.check()
    }
}

/// A payload whose record was not looked at.
#[derive(Clone, Debug)]
pub(super) enum Unchecked {
    Ask { reference: u32, member: KeyId, caller: Vec<u8> },
    Answer { reference: u32, record: Vec<u8> },
}

impl Unchecked {
    pub(super) fn parse(payload: &[u8]) -> Result<Self, SmsError> {
        Ok(Self::read(payload).map_err(MessageError::from)?)
    }

    fn read(payload: &[u8]) -> Result<Self, IdentityError> {
        if payload.len() > Payload::LEN_MAX {
            return Err(IdentityError::TooLong { got: payload.len(), max: Payload::LEN_MAX });
        }
        let items = cose::decode(payload)?;
        let (Some(kind), Some(reference)) = (items.first(), items.get(1)) else {
            return Err(IdentityError::Malformed("a message has a kind and a reference"));
        };
        let reference = cose::number(reference, "a reference is a number")?;
        let reference =
            u32::try_from(reference).map_err(|_| IdentityError::Malformed("the reference is too large"))?;
        match (cose::number(kind, "a kind is a number")?, &items[2..]) {
            (1, [member, caller]) => Ok(Self::Ask {
                reference,
                member: KeyId(cose::array(member, "a key id has 24 bytes")?),
                caller: cose::bytes(caller, "a record is bytes")?.to_vec(),
            }),
            (2, [record]) => {
                Ok(Self::Answer { reference, record: cose::bytes(record, "a record is bytes")?.to_vec() })
            }
            _ => Err(IdentityError::Malformed("there is no such message")),
        }
    }

    fn check(self) -> Result<Payload, SmsError> {
        let read = |bytes: &[u8]| Record::parse(bytes).map_err(MessageError::from);
        Ok(match self {
            Self::Ask { reference, member, caller } => {
                let caller = if caller.is_empty() { None } else { Some(read(&caller)?) };
                Payload::Ask { reference, member, caller }
            }
            Self::Answer { reference, record } => Payload::Answer { reference, record: read(&record)? },
        })
    }
}
