//! A team takes its word back.

use crate::{Certificate, IdentityError, KeyId, PublicKey, SecretKey, cose};
use ciborium::Value;
use guestright_units::{TeamId, UnixSeconds};
use std::collections::BTreeMap;

const DOMAIN: &str = "revocation";

/// The keys that a team no longer vouches for, signed by the team; a higher sequence replaces a lower one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocationList {
    team: PublicKey,
    sequence: u64,
    issued: UnixSeconds,
    revoked: BTreeMap<KeyId, UnixSeconds>,
    encoded: Vec<u8>,
}

impl RevocationList {
    /// How many keys a list may hold; the oldest have expired long before.
    pub const ENTRIES_MAX: usize = 1_024;
    /// No list has more bytes.
    pub const LEN_MAX: usize = 48 * 1_024;

    /// Signs a list of keys and the second since when each is revoked.
    ///
    /// # Errors
    /// [`IdentityError::Malformed`] if there are more than [`RevocationList::ENTRIES_MAX`].
    pub fn issue(
        team: &SecretKey,
        sequence: u64,
        issued: UnixSeconds,
        revoked: BTreeMap<KeyId, UnixSeconds>,
    ) -> Result<Self, IdentityError> {
        if revoked.len() > Self::ENTRIES_MAX {
            return Err(IdentityError::Malformed("a revocation list has at most 1024 keys"));
        }
        let entry = |(key, since): (&KeyId, &UnixSeconds)| {
            Value::Array(vec![Value::Bytes(key.0.to_vec()), Value::from(since.0)])
        };
        let items = vec![
            Value::Bytes(team.public().as_bytes().to_vec()),
            Value::from(sequence),
            Value::from(issued.0),
            Value::Array(revoked.iter().map(entry).collect()),
        ];
        let encoded = cose::seal(team, DOMAIN, &[], items);
        Ok(Self { team: team.public().clone(), sequence, issued, revoked, encoded })
    }

    /// Reads a list and checks its team's signature.
    ///
    /// # Errors
    /// What is wrong with its form, its order or its signature.
    pub fn parse(encoded: &[u8]) -> Result<Self, IdentityError> {
        let sealed = cose::open(encoded, Self::LEN_MAX)?;
        let [team, sequence, issued, entries] = sealed.items.as_slice() else {
            return Err(IdentityError::Malformed("a revocation list has four fields"));
        };
        let team = PublicKey::parse(sealed.suite, cose::bytes(team, "team key is not bytes")?)?;
        sealed.claim(&team, DOMAIN, &[])?.verify()?;
        let sequence = cose::number(sequence, "sequence is not a number")?;
        let issued = UnixSeconds(cose::number(issued, "date is not a number")?);
        let entries = entries.as_array().ok_or(IdentityError::Malformed("the keys are not an array"))?;
        if entries.len() > Self::ENTRIES_MAX {
            return Err(IdentityError::Malformed("a revocation list has at most 1024 keys"));
        }
        let mut revoked = BTreeMap::new();
        for entry in entries {
            let [key, since] = entry.as_array().map(Vec::as_slice).unwrap_or_default() else {
                return Err(IdentityError::Malformed("an entry is a key and a date"));
            };
            let key = KeyId(cose::array(key, "a key id has 24 bytes")?);
            if revoked.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return Err(IdentityError::Malformed("the keys are not in ascending order"));
            }
            revoked.insert(key, UnixSeconds(cose::number(since, "date is not a number")?));
        }
        Ok(Self { team, sequence, issued, revoked, encoded: encoded.to_vec() })
    }

    /// Whether what `key` signed at `when` still counts.
    ///
    /// # Errors
    /// [`IdentityError::Revoked`].
    pub fn check(&self, key: KeyId, when: UnixSeconds) -> Result<(), IdentityError> {
        match self.revoked.get(&key) {
            Some(&since) if when >= since => Err(IdentityError::Revoked { since }),
            _ => Ok(()),
        }
    }

    /// Whether what was signed at `when` under a certificate of the list's team still counts: neither the key that it is for
    /// nor the one that renewed it is revoked.
    ///
    /// # Errors
    /// [`IdentityError::Revoked`] or `RenewingKeyRevoked`.
    pub fn check_certificate(
        &self,
        certificate: &Certificate,
        when: UnixSeconds,
    ) -> Result<(), IdentityError> {
        self.check(certificate.subject_id(), when)?;
        match certificate.warrant().and_then(|warrant| self.revoked.get(&warrant.renewing().id())) {
            Some(&since) if when >= since => Err(IdentityError::RenewingKeyRevoked { since }),
            _ => Ok(()),
        }
    }

    /// Whether `other` takes this list's place: a higher sequence does, and of one sequence (which a team should not
    /// sign twice) the greater bytes, so that all who know both keep the same.
    pub fn is_superseded_by(&self, other: &Self) -> bool {
        (self.sequence, &self.encoded) < (other.sequence, &other.encoded)
    }

    /// Whose list it is.
    pub fn team_id(&self) -> TeamId {
        self.team.team_id()
    }

    /// Its place in the team's series of lists.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// When it was signed.
    pub fn issued(&self) -> UnixSeconds {
        self.issued
    }

    /// The keys and since when they are revoked.
    pub fn revoked(&self) -> &BTreeMap<KeyId, UnixSeconds> {
        &self.revoked
    }

    /// The list as it is sent.
    pub fn as_bytes(&self) -> &[u8] {
        &self.encoded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Suite;
    use rand::SeedableRng;

    #[test]
    fn parse_inverts_issue_and_the_verdict_depends_on_the_date() {
        let team = SecretKey::generate(Suite::Ed25519, &mut rand::rngs::StdRng::seed_from_u64(1));
        let key = KeyId([7; 24]);
        let revoked = BTreeMap::from([(KeyId([3; 24]), UnixSeconds(10)), (key, UnixSeconds(50))]);
        let list = RevocationList::issue(&team, 4, UnixSeconds(60), revoked).unwrap();
        assert_eq!(RevocationList::parse(list.as_bytes()), Ok(list.clone()));
        assert_eq!(list.check(key, UnixSeconds(49)), Ok(()));
        assert_eq!(list.check(key, UnixSeconds(50)), Err(IdentityError::Revoked { since: UnixSeconds(50) }));
        assert_eq!(list.check(KeyId([9; 24]), UnixSeconds(99)), Ok(()));
    }

    #[test]
    fn refuses_keys_out_of_order() {
        let team = SecretKey::generate(Suite::Ed25519, &mut rand::rngs::StdRng::seed_from_u64(1));
        let entry = |byte: u8| Value::Array(vec![Value::Bytes(vec![byte; 24]), Value::from(1)]);
        let items = vec![
            Value::Bytes(team.public().as_bytes().to_vec()),
            Value::from(1),
            Value::from(1),
            Value::Array(vec![entry(2), entry(1)]),
        ];
        let encoded = cose::seal(&team, DOMAIN, &[], items);
        let refused = IdentityError::Malformed("the keys are not in ascending order");
        assert_eq!(RevocationList::parse(&encoded), Err(refused));
    }
}
