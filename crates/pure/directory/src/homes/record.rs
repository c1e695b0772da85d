//! A home's signed word on where it is.

use crate::record::{address_items, check_now, check_parts};
use crate::{Address, Record, RecordError};
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
    pub const ADDRESSES_MAX: usize = Record::ADDRESSES_MAX;
    /// No record lasts longer, in seconds: 30 days. A home signs a new one each day that it runs.
    pub const LIFE_MAX: u64 = 30 * 86_400;
    /// So far may the signer's clock be ahead of ours, in seconds.
    pub const SKEW: u64 = Record::SKEW;

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
        check_parts(&record.certificate, Role::Home, &record.addresses, record.life(), Self::LIFE_MAX)?;
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
        let addresses = address_items(addresses)?;
        let record = Self {
            addresses: addresses.iter().map(Address::from_item).collect::<Result<_, _>>()?,
            not_before: UnixSeconds(cose::number(not_before, "not-before is not a number")?),
            not_after: UnixSeconds(cose::number(not_after, "not-after is not a number")?),
            certificate,
            encoded: encoded.to_vec(),
        };
        check_parts(&record.certificate, Role::Home, &record.addresses, record.life(), Self::LIFE_MAX)?;
        sealed.claim(record.certificate.subject(), DOMAIN, &[])?.verify()?;
        Ok(record)
    }

    /// Whether it counts at `now`, by the reader's clock.
    ///
    /// # Errors
    /// [`RecordError::NotYet`], `Ended`, or `Refused` for the certificate.
    pub fn check(&self, now: UnixSeconds) -> Result<(), RecordError> {
        check_now(&self.certificate, Role::Home, self.life(), now)
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
}

impl fmt::Debug for HomeRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { addresses, not_before, not_after, .. } = self;
        write!(f, "HomeRecord({}: at {addresses:?}, {not_before} to {not_after})", self.team().short())
    }
}
