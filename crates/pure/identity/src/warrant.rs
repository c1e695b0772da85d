//! A team lets another key renew its certificates.

use crate::cose::{self, Sealed};
use crate::{Claim, IdentityError, PublicKey, SecretKey, Suite};
use ciborium::Value;
use guestright_units::{TeamId, UnixSeconds};

const DOMAIN: &str = "warrant";

/// A team's word for a *renewing key*: it may give another life to certificates that the team has signed, and nothing else
/// (`docs/design/0012-renewal.md`).
///
/// The renewing key is in a home that is on the network all the time, the team's key is not. Whoever steals it can prolong what
/// is certified, until the warrant ends or the renewing key is on the team's revocation list; it cannot certify a key, a role
/// or another warrant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warrant {
    team: PublicKey,
    renewing: PublicKey,
    not_before: UnixSeconds,
    not_after: UnixSeconds,
    life_max: u64,
    encoded: Vec<u8>,
}

impl Warrant {
    /// No warrant has more bytes; one between two keys of RSA does not fit.
    pub const LEN_MAX: usize = 256;

    /// Lets `renewing` renew the team's certificates, from the first second to the last, each for at most `life_max` seconds.
    ///
    /// # Errors
    /// [`IdentityError::Malformed`] if the two keys are one, it ends before it begins, or a suite is too long for it.
    pub fn issue(
        team: &SecretKey,
        renewing: &PublicKey,
        not_before: UnixSeconds,
        not_after: UnixSeconds,
        life_max: u64,
    ) -> Result<Self, IdentityError> {
        let items = vec![
            Value::Bytes(team.public().as_bytes().to_vec()),
            Value::from(renewing.suite().algorithm()),
            Value::Bytes(renewing.as_bytes().to_vec()),
            Value::from(not_before.0),
            Value::from(not_after.0),
            Value::from(life_max),
        ];
        Self::parse(&cose::seal(team, DOMAIN, &[], items))
    }

    /// Reads a warrant and checks its team's signature.
    ///
    /// # Errors
    /// What is wrong with its form, its keys or its signature.
    pub fn parse(encoded: &[u8]) -> Result<Self, IdentityError> {
        let (warrant, sealed) = Self::read(encoded)?;
        warrant.claim(&sealed)?.verify()?;
        Ok(warrant)
    }

    /// Reads one whose signature is checked by whoever reads what it is in.
    pub(crate) fn read(encoded: &[u8]) -> Result<(Self, Sealed), IdentityError> {
        let sealed = cose::open(encoded, Self::LEN_MAX)?;
        let [team, suite, renewing, not_before, not_after, life_max] = sealed.items.as_slice() else {
            return Err(IdentityError::Malformed("a warrant has six fields"));
        };
        let team = PublicKey::parse(sealed.suite, cose::bytes(team, "team key is not bytes")?)?;
        let suite = Suite::from_algorithm(cose::integer(suite, "suite is not a number")?)?;
        let renewing = PublicKey::parse(suite, cose::bytes(renewing, "renewing key is not bytes")?)?;
        let not_before = UnixSeconds(cose::number(not_before, "not-before is not a number")?);
        let not_after = UnixSeconds(cose::number(not_after, "not-after is not a number")?);
        let life_max = cose::number(life_max, "longest life is not a number")?;
        if not_after < not_before {
            return Err(IdentityError::Malformed("it expires before it begins"));
        }
        if team == renewing {
            return Err(IdentityError::Malformed("a team's own key needs no warrant"));
        }
        let encoded = encoded.to_vec();
        Ok((Self { team, renewing, not_before, not_after, life_max, encoded }, sealed))
    }

    pub(crate) fn claim(&self, sealed: &Sealed) -> Result<Claim, IdentityError> {
        sealed.claim(&self.team, DOMAIN, &[])
    }

    /// Whether it holds at `now`.
    ///
    /// # Errors
    /// [`IdentityError::WarrantNotYetValid`] or `WarrantExpired`.
    pub fn check(&self, now: UnixSeconds) -> Result<(), IdentityError> {
        if now < self.not_before {
            return Err(IdentityError::WarrantNotYetValid { not_before: self.not_before, now });
        }
        if now > self.not_after {
            return Err(IdentityError::WarrantExpired { not_after: self.not_after, now });
        }
        Ok(())
    }

    /// The team that gave it.
    pub fn team(&self) -> &PublicKey {
        &self.team
    }

    /// That team's name.
    pub fn team_id(&self) -> TeamId {
        self.team.team_id()
    }

    /// The key that may renew. The team revokes it as any other key, by its id.
    pub fn renewing(&self) -> &PublicKey {
        &self.renewing
    }

    /// First second of its life.
    pub fn not_before(&self) -> UnixSeconds {
        self.not_before
    }

    /// Last second of its life; nothing that it renews lives longer.
    pub fn not_after(&self) -> UnixSeconds {
        self.not_after
    }

    /// For how many seconds a renewed certificate may hold.
    pub fn life_max(&self) -> u64 {
        self.life_max
    }

    /// The warrant as it is kept.
    pub fn as_bytes(&self) -> &[u8] {
        &self.encoded
    }
}

#[cfg(test)]
mod tests;
