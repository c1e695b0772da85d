//! A member's signed word on where its home is.

use crate::{Address, RecordError};
use ciborium::Value;
use guestright_identity::{Certificate, IdentityError, KeyId, MemberId, Role, SecretKey, cose};
use guestright_units::{TeamId, UnixSeconds};
use std::fmt;

const DOMAIN: &str = "home-record";

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The key of the home: a link to any of the addresses has to show it.
    pub home: KeyId,
    /// The team that has certified the home's key.
    pub home_team: TeamId,
    /// Where the home can be reached, the best first; one to [`Record::ADDRESSES_MAX`], all different.
    pub addresses: Vec<Address>,
    /// Its place in the member's series of records. The second at which it is signed is a good one.
    pub sequence: u64,
    /// First second at which it counts.
    pub not_before: UnixSeconds,
    /// Last second at which it counts.
    pub not_after: UnixSeconds,
}

/// A member's signed word on where its home is: both signatures in it are valid, the member's and its team's.
///
/// Whether it counts *now* is asked with [`Record::check`]. A COSE_Sign1 of the member's key over `[certificate,
/// home, home's team or nothing, [[host, port] …], sequence, not before, not after]`; the home's team is left out
/// where it is the member's own.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    certificate: Certificate,
    statement: Statement,
    encoded: Vec<u8>,
}

impl Record {
    /// No record has more bytes.
    pub const LEN_MAX: usize = 640;
    /// So many addresses at most.
    pub const ADDRESSES_MAX: usize = 4;
    /// No record lasts longer, in seconds: 400 days, a little more than a certificate usually does. A member that moves
    /// signs a newer one; that it should not have to sign one without moving is worth more than an early end.
    pub const LIFE_MAX: u64 = 400 * 86_400;
    /// So far may the signer's clock be ahead of ours, in seconds.
    pub const SKEW: u64 = 300;

    /// Signs a record as the member that `certificate` is for.
    ///
    /// With Ed25519 or P-256, one IPv4 and one IPv6 address and a home of the member's own team it has 310 bytes,
    /// which three short messages can carry.
    ///
    /// # Errors
    /// [`RecordError`]: the certificate is another key's or no member's, or the statement cannot be.
    pub fn sign(
        member: &SecretKey,
        certificate: &Certificate,
        statement: Statement,
    ) -> Result<Self, RecordError> {
        let (certified, signs) = (certificate.subject_id(), member.public().id());
        if certified != signs {
            return Err(RecordError::NotCertified { certified, signs });
        }
        check_form(certificate, &statement)?;
        let own = statement.home_team == certificate.team_id();
        let items = vec![
            Value::Bytes(certificate.as_bytes().to_vec()),
            Value::Bytes(statement.home.0.to_vec()),
            Value::Bytes(if own { Vec::new() } else { statement.home_team.0.to_vec() }),
            Value::Array(statement.addresses.iter().map(Address::to_item).collect()),
            Value::from(statement.sequence),
            Value::from(statement.not_before.0),
            Value::from(statement.not_after.0),
        ];
        let encoded = cose::seal(member, DOMAIN, &[], items);
        if encoded.len() > Self::LEN_MAX {
            return Err(IdentityError::TooLong { got: encoded.len(), max: Self::LEN_MAX }.into());
        }
        Ok(Self { certificate: certificate.clone(), statement, encoded })
    }

    /// Reads a record and checks its signatures: the member's, and that of the member's team.
    ///
    /// # Errors
    /// What is wrong with its form or a signature.
    pub fn parse(encoded: &[u8]) -> Result<Self, RecordError> {
        let sealed = cose::open(encoded, Self::LEN_MAX)?;
        let [certificate, home, team, addresses, sequence, not_before, not_after] = sealed.items.as_slice()
        else {
            return Err(IdentityError::Malformed("a record has seven fields").into());
        };
        let certificate = Certificate::parse(cose::bytes(certificate, "the certificate is not bytes")?)?;
        let home_team = match cose::bytes(team, "the home's team is not bytes")? {
            [] => certificate.team_id(),
            bytes if bytes == certificate.team_id().0 => return Err(IdentityError::NotCanonical.into()),
            _ => TeamId(cose::array(team, "a team id has 24 bytes")?),
        };
        let addresses = address_items(addresses)?;
        let statement = Statement {
            home: KeyId(cose::array(home, "a key id has 24 bytes")?),
            home_team,
            addresses: addresses.iter().map(Address::from_item).collect::<Result<_, _>>()?,
            sequence: cose::number(sequence, "the sequence is not a number")?,
            not_before: UnixSeconds(cose::number(not_before, "not-before is not a number")?),
            not_after: UnixSeconds(cose::number(not_after, "not-after is not a number")?),
        };
        check_form(&certificate, &statement)?;
        sealed.claim(certificate.subject(), DOMAIN, &[])?.verify()?;
        Ok(Self { certificate, statement, encoded: encoded.to_vec() })
    }

    /// Whether it counts at `now`, by the reader's clock.
    ///
    /// # Errors
    /// [`RecordError::NotYet`], `Ended`, or `Refused` for the certificate.
    pub fn check(&self, now: UnixSeconds) -> Result<(), RecordError> {
        let Statement { not_before, not_after, .. } = self.statement;
        check_now(&self.certificate, Role::Member, (not_before, not_after), now)
    }

    /// Whether it takes `other`'s place: it is of the same member and has the higher sequence; of one sequence (which
    /// a member should not sign twice) the greater bytes, so that all who know both keep the same.
    pub fn replaces(&self, other: &Self) -> bool {
        self.member() == other.member()
            && (self.sequence(), &self.encoded) > (other.sequence(), &other.encoded)
    }

    /// The last second at which both the record and the certificate in it hold.
    pub fn ends(&self) -> UnixSeconds {
        self.statement.not_after.min(self.certificate.not_after())
    }

    /// The member's key: what a contact is known by.
    pub fn member(&self) -> KeyId {
        self.certificate.subject_id()
    }

    /// The member's name in its team.
    pub fn member_id(&self) -> MemberId {
        self.certificate.member_id()
    }

    /// The member's team.
    pub fn team(&self) -> TeamId {
        self.certificate.team_id()
    }

    /// The member's certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// All that it says.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The key that the home has to show.
    pub fn home(&self) -> KeyId {
        self.statement.home
    }

    /// The home's team.
    pub fn home_team(&self) -> TeamId {
        self.statement.home_team
    }

    /// Where the home can be reached, the best first.
    pub fn addresses(&self) -> &[Address] {
        &self.statement.addresses
    }

    /// Its place in the member's series of records.
    pub fn sequence(&self) -> u64 {
        self.statement.sequence
    }

    /// The record as it is sent.
    pub fn as_bytes(&self) -> &[u8] {
        &self.encoded
    }
}

fn check_form(certificate: &Certificate, statement: &Statement) -> Result<(), RecordError> {
    let life = (statement.not_before, statement.not_after);
    check_parts(certificate, Role::Member, &statement.addresses, life, Record::LIFE_MAX)
}

/// The addresses in a record, not yet read, and no more than there may be.
pub(crate) fn address_items(item: &Value) -> Result<&[Value], RecordError> {
    let items = item.as_array().ok_or(IdentityError::Malformed("the addresses are not an array"))?;
    let (got, max) = (items.len(), Record::ADDRESSES_MAX);
    if got > max { Err(RecordError::Addresses { got, max }) } else { Ok(items) }
}

/// What has to hold of a record besides its signatures.
pub(crate) fn check_parts(
    certificate: &Certificate,
    want: Role,
    addresses: &[Address],
    (not_before, not_after): (UnixSeconds, UnixSeconds),
    life_max: u64,
) -> Result<(), RecordError> {
    if certificate.role() != want {
        return Err(IdentityError::WrongRole { got: certificate.role(), want }.into());
    }
    for suite in [certificate.subject().suite(), certificate.team().suite()] {
        if suite.is_legacy() {
            return Err(RecordError::LegacySuite(suite));
        }
    }
    let max = Record::ADDRESSES_MAX;
    let twice = addresses.iter().enumerate().any(|(index, address)| addresses[..index].contains(address));
    if addresses.is_empty() || addresses.len() > max || twice {
        return Err(RecordError::Addresses { got: addresses.len(), max });
    }
    if not_after < not_before || not_after.0 - not_before.0 > life_max {
        return Err(RecordError::Life { not_before, not_after, life_max });
    }
    Ok(())
}

/// Whether a record counts at `now`, by the reader's clock.
pub(crate) fn check_now(
    certificate: &Certificate,
    role: Role,
    (not_before, not_after): (UnixSeconds, UnixSeconds),
    now: UnixSeconds,
) -> Result<(), RecordError> {
    if now.plus(Record::SKEW) < not_before {
        return Err(RecordError::NotYet { not_before, now });
    }
    if now > not_after {
        return Err(RecordError::Ended { not_after, now });
    }
    // A certificate of this minute may come from a clock that is ahead, too.
    let seen = now.max(certificate.not_before().min(now.plus(Record::SKEW)));
    Ok(certificate.check(role, seen)?)
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Statement { home, addresses, sequence, not_after, .. } = &self.statement;
        write!(
            f,
            "Record(#{sequence} of {:?}: home {home:?} at {addresses:?}, to {not_after})",
            self.member()
        )
    }
}

#[cfg(test)]
pub(crate) mod tests;
