//! What a hold is about.

use ciborium::Value;
use guestright_identity::{IdentityError, cose};
use guestright_receipt::HoldId;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use sha2::{Digest, Sha256};
use thiserror::Error;

const DOMAIN: &[u8] = b"guestright/hold/1";

/// What is to be reserved, where, and until when.
///
/// The provider owes the first home between, each of them the next, and the last one the consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The team that serves.
    pub provider: TeamId,
    /// The teams between, from the provider's creditor on.
    pub between: Vec<TeamId>,
    /// The team of the guest.
    pub consumer: TeamId,
    /// How much is reserved.
    pub amount: Bytes,
    /// The end of the provider's grant.
    pub end: UnixSeconds,
    /// 16 random bytes: two holds are never the same.
    pub nonce: [u8; 16],
}

/// What is wrong with terms.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TermsError {
    /// They cannot be read.
    #[error("the terms of a hold cannot be read: {0}")]
    Form(#[from] IdentityError),
    /// The path is too long.
    #[error("a hold's path has {got} homes between provider and consumer; {max} are allowed")]
    TooLong {
        /// How many there are.
        got: usize,
        /// How many there may be.
        max: usize,
    },
    /// A team is on the path twice: a receipt would count there twice.
    #[error("team {} is on the path of a hold twice", .0.short())]
    Repeated(TeamId),
    /// The amount is none that is reserved.
    #[error("a hold is for {min} to {max} bytes, not for {got}")]
    Amount { got: u64, min: u64, max: u64 },
}

/// Where a home stands on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// How many arcs lie between it and the provider.
    pub(crate) index: u64,
    /// Who owes us; nobody owes the provider.
    pub(crate) previous: Option<TeamId>,
    /// Whom we owe; the consumer's home owes nobody.
    pub(crate) next: Option<TeamId>,
}

impl Terms {
    /// How many homes there may be between provider and consumer: paths of four arcs.
    pub const BETWEEN_MAX: usize = 3;
    /// Less is not worth the messages.
    pub const AMOUNT_MIN: Bytes = Bytes(64 * 1_024);
    /// What a provider that cheats can lock of one session's claims.
    pub const AMOUNT_MAX: Bytes = Bytes(64_000_000);

    /// The hold's name.
    pub fn id(&self) -> HoldId {
        let digest = Sha256::new().chain_update(DOMAIN).chain_update(self.emit()).finalize();
        let mut id = [0; 24];
        id.copy_from_slice(&digest[..24]);
        HoldId(id)
    }

    /// The deterministic encoding, over which the name is computed.
    pub fn emit(&self) -> Vec<u8> {
        cose::encode(self.items())
    }

    /// Reads terms.
    ///
    /// # Errors
    /// [`TermsError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, TermsError> {
        Self::from_items(&Value::Array(cose::decode(bytes)?))
    }

    /// All teams on the path, from the provider to the consumer.
    pub fn path(&self) -> impl Iterator<Item = TeamId> + '_ {
        [self.provider].into_iter().chain(self.between.iter().copied()).chain([self.consumer])
    }

    /// Whether anybody may agree to them.
    ///
    /// # Errors
    /// [`TermsError`].
    pub fn check(&self) -> Result<(), TermsError> {
        if self.between.len() > Self::BETWEEN_MAX {
            return Err(TermsError::TooLong { got: self.between.len(), max: Self::BETWEEN_MAX });
        }
        for (index, team) in self.path().enumerate() {
            if self.path().take(index).any(|earlier| earlier == team) {
                return Err(TermsError::Repeated(team));
            }
        }
        let (min, max) = (Self::AMOUNT_MIN, Self::AMOUNT_MAX);
        if self.amount < min || self.amount > max {
            return Err(TermsError::Amount { got: self.amount.0, min: min.0, max: max.0 });
        }
        Ok(())
    }

    pub(crate) fn position(&self, team: TeamId) -> Option<Position> {
        let index = self.path().position(|other| other == team)?;
        let previous = index.checked_sub(1).and_then(|before| self.path().nth(before));
        let next = self.path().nth(index + 1);
        Some(Position { index: u64::try_from(index).unwrap_or(u64::MAX), previous, next })
    }

    pub(crate) fn items(&self) -> Vec<Value> {
        let team = |team: &TeamId| Value::Bytes(team.0.to_vec());
        vec![
            team(&self.provider),
            Value::Array(self.between.iter().map(team).collect()),
            team(&self.consumer),
            Value::from(self.amount.0),
            Value::from(self.end.0),
            Value::Bytes(self.nonce.to_vec()),
        ]
    }

    pub(crate) fn from_items(items: &Value) -> Result<Self, TermsError> {
        let malformed = |what| IdentityError::Malformed(what);
        let items = items.as_array().ok_or(malformed("the terms of a hold are a list"))?;
        let [provider, between, consumer, amount, end, nonce] = items.as_slice() else {
            return Err(malformed("the terms of a hold have six fields").into());
        };
        let team = |value| Ok::<_, IdentityError>(TeamId(cose::array(value, "a team is not 24 bytes")?));
        let between = between.as_array().ok_or(malformed("the path of a hold is a list"))?;
        if between.len() > Self::BETWEEN_MAX {
            return Err(TermsError::TooLong { got: between.len(), max: Self::BETWEEN_MAX });
        }
        let terms = Self {
            provider: team(provider)?,
            between: between.iter().map(team).collect::<Result<_, _>>()?,
            consumer: team(consumer)?,
            amount: Bytes(cose::number(amount, "the amount of a hold is not a number")?),
            end: UnixSeconds(cose::number(end, "the end of a hold is not a number")?),
            nonce: cose::array(nonce, "a hold's nonce is not 16 bytes")?,
        };
        terms.check()?;
        Ok(terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Terms {
        let team = |number| TeamId([number; 24]);
        Terms {
            provider: team(1),
            between: vec![team(2), team(3)],
            consumer: team(4),
            amount: Bytes(8_000_000),
            end: UnixSeconds(1_800_000_000),
            nonce: [7; 16],
        }
    }

    #[test]
    fn every_field_is_in_the_name() {
        let terms = terms();
        let team = TeamId([9; 24]);
        let others = [
            Terms { provider: team, ..terms.clone() },
            Terms { between: vec![terms.between[0]], ..terms.clone() },
            Terms { between: vec![terms.between[1], terms.between[0]], ..terms.clone() },
            Terms { consumer: team, ..terms.clone() },
            Terms { amount: Bytes(8_000_001), ..terms.clone() },
            Terms { end: UnixSeconds(1_800_000_001), ..terms.clone() },
            Terms { nonce: [8; 16], ..terms.clone() },
        ];
        for other in others {
            assert_ne!(other.id(), terms.id(), "{other:?}");
        }
    }

    #[test]
    fn terms_are_read_as_they_were_written() {
        let terms = terms();
        assert_eq!(Terms::parse(&terms.emit()), Ok(terms.clone()));
        let mut longer = terms.emit();
        longer.push(0);
        assert!(matches!(Terms::parse(&longer), Err(TermsError::Form(_))));
    }

    #[test]
    fn each_home_finds_its_neighbours() {
        let terms = terms();
        let [provider, first, second, consumer] = [1, 2, 3, 4].map(|number| TeamId([number; 24]));
        let at = |team| terms.position(team).map(|found| (found.index, found.previous, found.next));
        assert_eq!(at(provider), Some((0, None, Some(first))));
        assert_eq!(at(second), Some((2, Some(first), Some(consumer))));
        assert_eq!(at(consumer), Some((3, Some(second), None)));
        assert_eq!(at(TeamId([9; 24])), None);
    }

    #[test]
    fn a_path_that_meets_itself_is_refused() {
        let terms = terms();
        let twice = Terms { between: vec![terms.between[0], terms.between[0]], ..terms.clone() };
        assert_eq!(twice.check(), Err(TermsError::Repeated(terms.between[0])));
        let own = Terms { consumer: terms.provider, ..terms.clone() };
        assert_eq!(own.check(), Err(TermsError::Repeated(terms.provider)));
        let small = Terms { amount: Bytes(1), ..terms.clone() };
        assert!(matches!(small.check(), Err(TermsError::Amount { got: 1, .. })));
        assert_eq!(terms.check(), Ok(()));
    }
}
