//! A member's word to its home: sign for me while I am away with nothing but a tunnel.

use crate::{IdentityError, KeyId, PublicKey, SecretKey, Suite, cose};
use ciborium::Value;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use std::collections::BTreeSet;
use std::fmt;

const DOMAIN: &str = "delegation";

/// At which teams' access points a delegate may sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessPoints {
    /// At those of every team.
    Any,
    /// At these teams' alone; never none, at most [`Delegation::TEAMS_MAX`].
    Of(BTreeSet<TeamId>),
}

/// What a delegate may do; the terms of a [`Delegation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegationTerms {
    /// So many bytes a day may be signed for; a day begins at midnight, UTC.
    pub bytes_per_day: Bytes,
    /// First second of its life.
    pub not_before: UnixSeconds,
    /// Last second of its life.
    pub not_after: UnixSeconds,
    /// At which teams' access points.
    pub access_points: AccessPoints,
}

/// A member's word that another key, its home's, may sign receipts in its place. Signed by the member.
///
/// Nobody but the home looks at it: others see the receipts, signed by the delegate, whose own certificate says that
/// it is a member of the team.
#[derive(Clone, PartialEq, Eq)]
pub struct Delegation {
    member: PublicKey,
    delegate: PublicKey,
    terms: DelegationTerms,
    encoded: Vec<u8>,
}

impl Delegation {
    /// How many teams a delegation may name.
    pub const TEAMS_MAX: usize = 64;
    /// No delegation has more bytes: two RSA-2048 keys, one signature, 64 teams and their frame.
    pub const LEN_MAX: usize = 3 * 1_024;

    /// Signs a delegation.
    ///
    /// # Errors
    /// [`IdentityError::Malformed`] for terms that cannot be: it ends before it begins, names no team or too many, or
    /// delegates to the member's own key.
    pub fn issue(
        member: &SecretKey,
        delegate: &PublicKey,
        terms: DelegationTerms,
    ) -> Result<Self, IdentityError> {
        check(member.public(), delegate, &terms)?;
        let teams = match &terms.access_points {
            AccessPoints::Any => Vec::new(),
            AccessPoints::Of(teams) => teams.iter().map(|team| Value::Bytes(team.0.to_vec())).collect(),
        };
        let items = vec![
            Value::Bytes(member.public().as_bytes().to_vec()),
            Value::from(delegate.suite().algorithm()),
            Value::Bytes(delegate.as_bytes().to_vec()),
            Value::from(terms.bytes_per_day.0),
            Value::from(terms.not_before.0),
            Value::from(terms.not_after.0),
            Value::Array(teams),
        ];
        let encoded = cose::seal(member, DOMAIN, &[], items);
        Ok(Self { member: member.public().clone(), delegate: delegate.clone(), terms, encoded })
    }

    /// Reads a delegation and checks its member's signature.
    ///
    /// # Errors
    /// What is wrong with its form, its keys, its terms or its signature.
    pub fn parse(encoded: &[u8]) -> Result<Self, IdentityError> {
        let sealed = cose::open(encoded, Self::LEN_MAX)?;
        let [member, suite, delegate, bytes, not_before, not_after, teams] = sealed.items.as_slice() else {
            return Err(IdentityError::Malformed("a delegation has seven fields"));
        };
        let member = PublicKey::parse(sealed.suite, cose::bytes(member, "member key is not bytes")?)?;
        sealed.claim(&member, DOMAIN, &[])?.verify()?;
        let suite = Suite::from_algorithm(cose::integer(suite, "suite is not a number")?)?;
        let delegate = PublicKey::parse(suite, cose::bytes(delegate, "delegate key is not bytes")?)?;
        let terms = DelegationTerms {
            bytes_per_day: Bytes(cose::number(bytes, "bytes a day is not a number")?),
            not_before: UnixSeconds(cose::number(not_before, "not-before is not a number")?),
            not_after: UnixSeconds(cose::number(not_after, "not-after is not a number")?),
            access_points: read_teams(teams)?,
        };
        check(&member, &delegate, &terms)?;
        Ok(Self { member, delegate, terms, encoded: encoded.to_vec() })
    }

    /// Whether it holds at `now`.
    ///
    /// # Errors
    /// [`IdentityError::NotYetValid`] or `Expired`.
    pub fn check(&self, now: UnixSeconds) -> Result<(), IdentityError> {
        let DelegationTerms { not_before, not_after, .. } = self.terms;
        if now < not_before {
            return Err(IdentityError::NotYetValid { not_before, now });
        }
        if now > not_after {
            return Err(IdentityError::Expired { not_after, now });
        }
        Ok(())
    }

    /// Whether it holds at the access points of `provider`.
    pub fn allows(&self, provider: TeamId) -> bool {
        match &self.terms.access_points {
            AccessPoints::Any => true,
            AccessPoints::Of(teams) => teams.contains(&provider),
        }
    }

    /// The member that delegates.
    pub fn member(&self) -> &PublicKey {
        &self.member
    }

    /// The name of the member's key.
    pub fn member_id(&self) -> KeyId {
        self.member.id()
    }

    /// The key that may sign.
    pub fn delegate(&self) -> &PublicKey {
        &self.delegate
    }

    /// What it may sign for.
    pub fn terms(&self) -> &DelegationTerms {
        &self.terms
    }

    /// The delegation as it is kept.
    pub fn as_bytes(&self) -> &[u8] {
        &self.encoded
    }
}

impl fmt::Debug for Delegation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { member, delegate, terms, .. } = self;
        write!(f, "Delegation({:?} to {:?}, {terms:?})", member.id(), delegate.id())
    }
}

fn check(member: &PublicKey, delegate: &PublicKey, terms: &DelegationTerms) -> Result<(), IdentityError> {
    if terms.not_after < terms.not_before {
        return Err(IdentityError::Malformed("it expires before it begins"));
    }
    if member == delegate {
        return Err(IdentityError::Malformed("a member cannot delegate to its own key"));
    }
    match &terms.access_points {
        AccessPoints::Of(teams) if teams.is_empty() => {
            Err(IdentityError::Malformed("a delegation names no access points"))
        }
        AccessPoints::Of(teams) if teams.len() > Delegation::TEAMS_MAX => {
            Err(IdentityError::Malformed("a delegation names at most 64 teams"))
        }
        AccessPoints::Any | AccessPoints::Of(_) => Ok(()),
    }
}

/// An empty array stands for any team: a delegation that holds nowhere is not written.
fn read_teams(teams: &Value) -> Result<AccessPoints, IdentityError> {
    let listed = teams.as_array().ok_or(IdentityError::Malformed("the teams are not an array"))?;
    if listed.len() > Delegation::TEAMS_MAX {
        return Err(IdentityError::Malformed("a delegation names at most 64 teams"));
    }
    let mut teams = BTreeSet::new();
    for team in listed {
        let team = TeamId(cose::array(team, "a team id has 24 bytes")?);
        if teams.last().is_some_and(|last| *last >= team) {
            return Err(IdentityError::Malformed("the teams are not in ascending order"));
        }
        teams.insert(team);
    }
    Ok(if teams.is_empty() { AccessPoints::Any } else { AccessPoints::Of(teams) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    fn keys() -> (SecretKey, SecretKey) {
        let mut rng = StdRng::seed_from_u64(1);
        (SecretKey::generate(Suite::Ed25519, &mut rng), SecretKey::generate(Suite::EcdsaP256, &mut rng))
    }

    fn terms(access_points: AccessPoints) -> DelegationTerms {
        DelegationTerms {
            bytes_per_day: Bytes(1_000_000_000),
            not_before: UnixSeconds(100),
            not_after: UnixSeconds(200),
            access_points,
        }
    }

    fn of(teams: impl IntoIterator<Item = u8>) -> AccessPoints {
        AccessPoints::Of(teams.into_iter().map(|byte| TeamId([byte; 24])).collect())
    }

    #[test]
    fn parse_inverts_issue_and_every_changed_byte_is_refused() {
        let (member, delegate) = keys();
        for access_points in [AccessPoints::Any, of([3]), of(0..64)] {
            let made = Delegation::issue(&member, delegate.public(), terms(access_points)).unwrap();
            assert_eq!(Delegation::parse(made.as_bytes()), Ok(made.clone()));
            assert!(made.as_bytes().len() <= Delegation::LEN_MAX);
            for index in 0..made.as_bytes().len() {
                let mut forged = made.as_bytes().to_vec();
                forged[index] ^= 1;
                assert!(Delegation::parse(&forged).is_err(), "byte {index}");
            }
            for cut in 0..made.as_bytes().len() {
                assert!(Delegation::parse(&made.as_bytes()[..cut]).is_err(), "cut at {cut}");
            }
        }
    }

    #[test]
    fn holds_for_its_time_and_its_teams() {
        let (member, delegate) = keys();
        let issue =
            |access_points| Delegation::issue(&member, delegate.public(), terms(access_points)).unwrap();
        let anywhere = issue(AccessPoints::Any);
        let (not_before, not_after) = (UnixSeconds(100), UnixSeconds(200));
        let early = IdentityError::NotYetValid { not_before, now: UnixSeconds(99) };
        let late = IdentityError::Expired { not_after, now: UnixSeconds(201) };
        #[rustfmt::skip]
        let cases = [(99, Err(early)), (100, Ok(())), (200, Ok(())), (201, Err(late))];
        for (now, want) in cases {
            assert_eq!(anywhere.check(UnixSeconds(now)), want, "{now}");
        }
        assert!(anywhere.allows(TeamId([9; 24])));
        assert!(issue(of([3, 4])).allows(TeamId([4; 24])));
        assert!(!issue(of([3, 4])).allows(TeamId([9; 24])));
    }

    #[test]
    fn terms_that_cannot_be_are_neither_signed_nor_read() {
        let (member, delegate) = keys();
        let backwards = DelegationTerms { not_after: UnixSeconds(99), ..terms(AccessPoints::Any) };
        #[rustfmt::skip]
        let cases = [
            (delegate.public(), backwards,     "it expires before it begins"),
            (delegate.public(), terms(of([])), "a delegation names no access points"),
            (delegate.public(), terms(of(0..65)), "a delegation names at most 64 teams"),
            (member.public(),   terms(AccessPoints::Any), "a member cannot delegate to its own key"),
        ];
        for (key, terms, want) in cases {
            assert_eq!(Delegation::issue(&member, key, terms), Err(IdentityError::Malformed(want)));
        }
        let fields = |teams: Vec<Value>, not_after: u64| {
            vec![
                Value::Bytes(member.public().as_bytes().to_vec()),
                Value::from(delegate.public().suite().algorithm()),
                Value::Bytes(delegate.public().as_bytes().to_vec()),
                Value::from(1),
                Value::from(100),
                Value::from(not_after),
                Value::Array(teams),
            ]
        };
        let team = |byte: u8| Value::Bytes(vec![byte; 24]);
        #[rustfmt::skip]
        let cases = [
            (fields(vec![team(2), team(1)], 200), "the teams are not in ascending order"),
            (fields(vec![team(1), team(1)], 200), "the teams are not in ascending order"),
            (fields((0..65).map(team).collect(), 200), "a delegation names at most 64 teams"),
            (fields(vec![Value::Bytes(vec![1; 23])], 200), "a team id has 24 bytes"),
            (fields(vec![], 99),                  "it expires before it begins"),
            (fields(vec![], 200)[..6].to_vec(),   "a delegation has seven fields"),
        ];
        for (items, want) in cases {
            let encoded = cose::seal(&member, DOMAIN, &[], items);
            assert_eq!(Delegation::parse(&encoded), Err(IdentityError::Malformed(want)));
        }
    }

    #[test]
    fn another_objects_signature_is_none() {
        let (member, delegate) = keys();
        let made = Delegation::issue(&member, delegate.public(), terms(AccessPoints::Any)).unwrap();
        let items = cose::open(made.as_bytes(), Delegation::LEN_MAX).unwrap().items;
        let elsewhere = cose::seal(&member, "certificate", &[], items.clone());
        assert_eq!(Delegation::parse(&elsewhere), Err(IdentityError::BadSignature));
        let by_delegate = cose::seal(&delegate, DOMAIN, &[], items);
        assert!(Delegation::parse(&by_delegate).is_err());
    }
}
