//! A home's signed word on where it is.

use crate::{Address, RecordError};
use ciborium::Value;
use guestright_identity::{Certificate, IdentityError, Role, SecretKey, cose};
use guestright_units::{TeamId, UnixSeconds};
use std::fmt;

const DOMAIN: &str = "team-home";

/// A home's signed word on where a home of its team is: both signatures in it are valid, the home's and its team's.
///
/// Whether it counts *now* is asked with [`HomeRecord::check`]. A COSE_Sign1 of the home's key over `[certificate, [[host,
/// port] …], not before, not after]`. Of two records of one team the one that begins later counts: there is no sequence that
/// somebody with a stolen key could drive so high that no other follows.
#[derive(Clone, PartialEq, Eq)]
pub struct HomeRecord {
    certificate: Certificate,
    addresses: Vec<Address>,
    not_before: UnixSeconds,
    not_after: UnixSeconds,
    encoded: Vec<u8>,
}

impl HomeRecord {
    /// No record has more bytes.
    pub const LEN_MAX: usize = 1_536;
    /// So many addresses at most.
    pub const ADDRESSES_MAX: usize = 4;
    /// No record lasts longer, in seconds: 30 days. A home signs a new one each day that it runs.
    pub const LIFE_MAX: u64 = 30 * 86_400;
    /// So far may the signer's clock be ahead of ours, in seconds.
    pub const SKEW: u64 = 300;

    /// Signs a record as the home that `certificate` is for.
    ///
    /// # Errors
    /// [`RecordError`]: the certificate is another key's or no home's, or there cannot be such addresses or such a life.
    pub fn sign(
        home: &SecretKey,
        certificate: &Certificate,
        addresses: Vec<Address>,
        (not_before, not_after): (UnixSeconds, UnixSeconds),
    ) -> Result<Self, RecordError> {
        let (certified, signs) = (certificate.subject_id(), home.public().id());
        if certified != signs {
            return Err(RecordError::NotCertified { certified, signs });
        }
        let items = vec![
            Value::Bytes(certificate.as_bytes().to_vec()),
            Value::Array(addresses.iter().map(Address::to_item).collect()),
            Value::from(not_before.0),
            Value::from(not_after.0),
        ];
        let encoded = cose::seal(home, DOMAIN, &[], items);
        if encoded.len() > Self::LEN_MAX {
            return Err(IdentityError::TooLong { got: encoded.len(), max: Self::LEN_MAX }.into());
        }
        let record = Self { certificate: certificate.clone(), addresses, not_before, not_after, encoded };
        record.check_form()?;
        Ok(record)
    }

    /// Reads a record and checks its signatures: the home's, and that of the home's team.
    ///
    /// # Errors
    /// What is wrong with its form or a signature.
    pub fn parse(encoded: &[u8]) -> Result<Self, RecordError> {
        let sealed = cose::open(encoded, Self::LEN_MAX)?;
        let [certificate, addresses, not_before, not_after] = sealed.items.as_slice() else {
            return Err(IdentityError::Malformed("a home's record has four fields").into());
        };
        let certificate = Certificate::parse(cose::bytes(certificate, "the certificate is not bytes")?)?;
        let addresses =
            addresses.as_array().ok_or(IdentityError::Malformed("the addresses are not an array"))?;
        if addresses.len() > Self::ADDRESSES_MAX {
            return Err(RecordError::Addresses { got: addresses.len(), max: Self::ADDRESSES_MAX });
        }
        let record = Self {
            addresses: addresses.iter().map(Address::from_item).collect::<Result<_, _>>()?,
            not_before: UnixSeconds(cose::number(not_before, "not-before is not a number")?),
            not_after: UnixSeconds(cose::number(not_after, "not-after is not a number")?),
            certificate,
            encoded: encoded.to_vec(),
        };
        record.check_form()?;
        sealed.claim(record.certificate.subject(), DOMAIN, &[])?.verify()?;
        Ok(record)
    }

    /// Whether it counts at `now`, by the reader's clock.
    ///
    /// # Errors
    /// [`RecordError::NotYet`], `Ended`, or `Refused` for the certificate.
    pub fn check(&self, now: UnixSeconds) -> Result<(), RecordError> {
        let Self { not_before, not_after, .. } = *self;
        if now.plus(Self::SKEW) < not_before {
            return Err(RecordError::NotYet { not_before, now });
        }
        if now > not_after {
            return Err(RecordError::Ended { not_after, now });
        }
        // A certificate of this minute may come from a clock that is ahead, too.
        let seen = now.max(self.certificate.not_before().min(now.plus(Self::SKEW)));
        Ok(self.certificate.check(Role::Home, seen)?)
    }

    /// Whether it takes `other`'s place: it is of the same team and begins later; of one second the greater bytes, so that
    /// all who know both keep the same.
    pub fn replaces(&self, other: &Self) -> bool {
        self.team() == other.team() && (self.not_before, &self.encoded) > (other.not_before, &other.encoded)
    }

    /// Whose home it is.
    pub fn team(&self) -> TeamId {
        self.certificate.team_id()
    }

    /// The home's certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Where the home can be reached, the best first.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// First and last second at which it counts.
    pub fn life(&self) -> (UnixSeconds, UnixSeconds) {
        (self.not_before, self.not_after)
    }

    /// The record as it is sent.
    pub fn as_bytes(&self) -> &[u8] {
        &self.encoded
    }

    /// What has to hold of a record besides its signatures.
    fn check_form(&self) -> Result<(), RecordError> {
        let Self { certificate, addresses, not_before, not_after, .. } = self;
        let (not_before, not_after) = (*not_before, *not_after);
        if certificate.role() != Role::Home {
            return Err(IdentityError::WrongRole { got: certificate.role(), want: Role::Home }.into());
        }
        for suite in [certificate.subject().suite(), certificate.team().suite()] {
            if suite.is_legacy() {
                return Err(RecordError::LegacySuite(suite));
            }
        }
        let max = Self::ADDRESSES_MAX;
        let twice = addresses.iter().enumerate().any(|(index, address)| addresses[..index].contains(address));
        if addresses.is_empty() || addresses.len() > max || twice {
            return Err(RecordError::Addresses { got: addresses.len(), max });
        }
        if not_after < not_before || not_after.0 - not_before.0 > Self::LIFE_MAX {
            return Err(RecordError::Life { not_before, not_after, life_max: Self::LIFE_MAX });
        }
        Ok(())
    }
}

impl fmt::Debug for HomeRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { addresses, not_before, not_after, .. } = self;
        write!(f, "HomeRecord({}: at {addresses:?}, {not_before} to {not_after})", self.team().short())
    }
}
