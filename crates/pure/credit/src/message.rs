//! What homes say to each other about holds.

use crate::terms::{Terms, TermsError};
use ciborium::Value;
use guestright_identity::{Certificate, IdentityError, cose};
use guestright_receipt::{HoldId, HoldUse, Receipt, SessionKey};
use guestright_units::{Bytes, TeamId};
use thiserror::Error;

/// A receipt of the guest and the certificate that it points at, as bytes that the machine does not look into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    pub receipt: Vec<u8>,
    pub certificate: Vec<u8>,
}

/// What a [`Proof`] says, once its signatures and the certificate's dates were checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Who served, whom, from when.
    pub session: SessionKey,
    /// The team of the member that signed.
    pub consumer: TeamId,
    /// What was served in the session in all.
    pub weight: Bytes,
    /// The hold that it names, and what was served on it.
    pub hold: Option<HoldUse>,
    /// What was served on all holds of the session together.
    pub on_holds: Bytes,
}

impl Signed {
    /// What a checked receipt says.
    pub fn of(receipt: &Receipt) -> Self {
        Self {
            session: receipt.session(),
            consumer: receipt.consumer(),
            weight: receipt.weight(),
            hold: receipt.hold(),
            on_holds: receipt.on_holds(),
        }
    }
}

/// A message from one home to the next on a path, or back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Reserve. The proof is the session's latest receipt: the guest consents.
    Hold { terms: Terms, proof: Proof },
    /// It is reserved all along the rest of the path.
    Good { id: HoldId },
    /// It is not, and never was as far as the sender can tell; so much would be possible.
    Refused { id: HoldId, available: Bytes },
    /// The receipt that pays the hold; with none, nothing was used of it.
    Commit { terms: Terms, proof: Option<Proof> },
    /// The commit is durable.
    Done { id: HoldId },
}

/// Why a message cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MessageError {
    /// Its form is wrong.
    #[error("a message about a hold cannot be read: {0}")]
    Form(#[from] IdentityError),
    /// Its terms are wrong.
    #[error(transparent)]
    Terms(#[from] TermsError),
}

impl Message {
    /// No message has more bytes.
    pub const LEN_MAX: usize = 512 + Receipt::LEN_MAX + Certificate::LEN_MAX;

    /// The hold that it is about.
    pub fn id(&self) -> HoldId {
        match self {
            Self::Hold { terms, .. } | Self::Commit { terms, .. } => terms.id(),
            Self::Good { id } | Self::Refused { id, .. } | Self::Done { id } => *id,
        }
    }

    /// The receipt that comes with it, which has to be checked before the message is handled.
    pub fn proof(&self) -> Option<&Proof> {
        match self {
            Self::Hold { proof, .. } => Some(proof),
            Self::Commit { proof, .. } => proof.as_ref(),
            Self::Good { .. } | Self::Refused { .. } | Self::Done { .. } => None,
        }
    }

    /// The deterministic encoding: a CBOR array that begins with the message's number.
    pub fn emit(&self) -> Vec<u8> {
        let id = |id: &HoldId| Value::Bytes(id.0.to_vec());
        let papers =
            |proof: &Proof| [&proof.receipt, &proof.certificate].map(|bytes| Value::Bytes(bytes.clone()));
        let mut items = Vec::new();
        match self {
            Self::Hold { terms, proof } => {
                items.extend([Value::from(1), Value::Array(terms.items())]);
                items.extend(papers(proof));
            }
            Self::Good { id: hold } => items.extend([Value::from(2), id(hold)]),
            Self::Refused { id: hold, available } => {
                items.extend([Value::from(3), id(hold), Value::from(available.0)]);
            }
            Self::Commit { terms, proof } => {
                items.extend([Value::from(4), Value::Array(terms.items())]);
                items.extend(proof.iter().flat_map(papers));
            }
            Self::Done { id: hold } => items.extend([Value::from(5), id(hold)]),
        }
        cose::encode(items)
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        if bytes.len() > Self::LEN_MAX {
            return Err(IdentityError::TooLong { got: bytes.len(), max: Self::LEN_MAX }.into());
        }
        let items = cose::decode(bytes)?;
        let id = |value| Ok::<_, IdentityError>(HoldId(cose::array(value, "a hold's name is not 24 bytes")?));
        let proof = |receipt, certificate| {
            let receipt = cose::bytes(receipt, "a receipt is not a byte string")?.to_vec();
            let certificate = cose::bytes(certificate, "a certificate is not a byte string")?.to_vec();
            Ok::<_, IdentityError>(Proof { receipt, certificate })
        };
        let (number, rest) =
            items.split_first().ok_or(IdentityError::Malformed("a message about a hold is empty"))?;
        match (cose::number(number, "a message begins with its number")?, rest) {
            (1, [terms, receipt, certificate]) => {
                Ok(Self::Hold { terms: Terms::from_items(terms)?, proof: proof(receipt, certificate)? })
            }
            (2, [hold]) => Ok(Self::Good { id: id(hold)? }),
            (3, [hold, available]) => {
                let available = Bytes(cose::number(available, "what is available is not a number")?);
                Ok(Self::Refused { id: id(hold)?, available })
            }
            (4, [terms]) => Ok(Self::Commit { terms: Terms::from_items(terms)?, proof: None }),
            (4, [terms, receipt, certificate]) => Ok(Self::Commit {
                terms: Terms::from_items(terms)?,
                proof: Some(proof(receipt, certificate)?),
            }),
            (5, [hold]) => Ok(Self::Done { id: id(hold)? }),
            _ => {
                Err(IdentityError::Malformed("no message about a hold has this number and these fields")
                    .into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_units::UnixSeconds;
    use proptest::prelude::*;

    fn any_terms() -> impl Strategy<Value = Terms> {
        let between = prop::collection::btree_set(2_u8..9, 0..=3);
        (between, 65_536_u64..64_000_000, any::<u64>(), any::<[u8; 16]>()).prop_map(
            |(between, amount, end, nonce)| Terms {
                provider: TeamId([0; 24]),
                between: between.into_iter().map(|team| TeamId([team; 24])).collect(),
                consumer: TeamId([1; 24]),
                amount: Bytes(amount),
                end: UnixSeconds(end),
                nonce,
            },
        )
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let proof = || {
            let bytes = || prop::collection::vec(any::<u8>(), 0..200);
            (bytes(), bytes()).prop_map(|(receipt, certificate)| Proof { receipt, certificate })
        };
        let id = || any::<[u8; 24]>().prop_map(HoldId);
        prop_oneof![
            (any_terms(), proof()).prop_map(|(terms, proof)| Message::Hold { terms, proof }),
            id().prop_map(|id| Message::Good { id }),
            (id(), any::<u64>()).prop_map(|(id, bytes)| Message::Refused { id, available: Bytes(bytes) }),
            (any_terms(), prop::option::of(proof()))
                .prop_map(|(terms, proof)| Message::Commit { terms, proof }),
            id().prop_map(|id| Message::Done { id }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(message in any_message()) {
            let bytes = message.emit();
            prop_assert!(bytes.len() <= Message::LEN_MAX);
            prop_assert_eq!(Message::parse(&bytes), Ok(message));
        }

        #[test]
        fn what_is_read_is_written_in_the_same_way(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(message) = Message::parse(&bytes) {
                prop_assert_eq!(message.emit(), bytes);
            }
        }
    }

    #[test]
    fn terms_that_nobody_may_agree_to_are_not_read() {
        let terms = Terms {
            provider: TeamId([0; 24]),
            between: vec![TeamId([0; 24])],
            consumer: TeamId([1; 24]),
            amount: Bytes(100_000),
            end: UnixSeconds(1),
            nonce: [0; 16],
        };
        let bytes = Message::Commit { terms, proof: None }.emit();
        assert_eq!(Message::parse(&bytes), Err(TermsError::Repeated(TeamId([0; 24])).into()));
    }
}
