//! A team's word for a key of one of its own.

use crate::cose::{self, Sealed};
use crate::{IdentityError, KeyId, MemberId, PublicKey, SecretKey, Suite};
use ciborium::Value;
use data_encoding::HEXLOWER;
use guestright_units::{TeamId, UnixSeconds};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

const DOMAIN: &str = "certificate";

/// What a certified key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Signs receipts: it spends the team's credit.
    Member,
    /// Serves visitors in the team's name and answers them.
    AccessPoint,
    /// Keeps the team's receipts.
    Home,
}

/// The first 16 bytes of SHA-256 over a certificate: how a receipt points at it.
///
/// It only finds the certificate. The receipt's signature covers all 32 bytes of the digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CertificateRef(pub [u8; 16]);

/// A certificate whose signature is valid. Whether it is valid *now* is asked with [`Certificate::check`].
///
/// Every receipt in memory has its certificate beside it, so that all clones share what they say.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate(Arc<Fields>);

#[derive(PartialEq, Eq)]
struct Fields {
    role: Role,
    team: PublicKey,
    subject: PublicKey,
    not_before: UnixSeconds,
    not_after: UnixSeconds,
    digest: [u8; 32],
    encoded: Vec<u8>,
}

impl Certificate {
    /// No certificate has more bytes: two RSA-2048 keys, one signature and their frame.
    pub const LEN_MAX: usize = 1_024;

    /// Certifies `subject` for `role`, from the first second to the last.
    pub fn issue(
        team: &SecretKey,
        subject: &PublicKey,
        role: Role,
        not_before: UnixSeconds,
        not_after: UnixSeconds,
    ) -> Self {
        let items = vec![
            Value::from(role.number()),
            Value::Bytes(team.public().as_bytes().to_vec()),
            Value::from(subject.suite().algorithm()),
            Value::Bytes(subject.as_bytes().to_vec()),
            Value::from(not_before.0),
            Value::from(not_after.0),
        ];
        let encoded = cose::seal(team, DOMAIN, &[], items);
        let team = team.public().clone();
        let digest = Sha256::digest(&encoded).into();
        Self(Arc::new(Fields {
            role,
            team,
            subject: subject.clone(),
            not_before,
            not_after,
            digest,
            encoded,
        }))
    }

    /// Reads a certificate and checks its team's signature.
    ///
    /// # Errors
    /// What is wrong with its form, its keys or its signature.
    pub fn parse(encoded: &[u8]) -> Result<Self, IdentityError> {
        let (certificate, sealed) = Self::read(encoded)?;
        sealed.claim(certificate.team(), DOMAIN, &[])?.verify()?;
        Ok(certificate)
    }

    /// Reads a certificate that was checked before and kept since, for example in our own store.
    ///
    /// # Errors
    /// What is wrong with its form or its keys.
    pub fn parse_kept(encoded: &[u8]) -> Result<Self, IdentityError> {
        Ok(Self::read(encoded)?.0)
    }

    fn read(encoded: &[u8]) -> Result<(Self, Sealed), IdentityError> {
        let sealed = cose::open(encoded, Self::LEN_MAX)?;
        let [role, team, subject_suite, subject, not_before, not_after] = sealed.items.as_slice() else {
            return Err(IdentityError::Malformed("a certificate has six fields"));
        };
        let role = Role::from_number(cose::number(role, "role is not a number")?)?;
        let team = PublicKey::parse(sealed.suite, cose::bytes(team, "team key is not bytes")?)?;
        let suite = Suite::from_algorithm(cose::integer(subject_suite, "suite is not a number")?)?;
        let subject = PublicKey::parse(suite, cose::bytes(subject, "subject key is not bytes")?)?;
        let not_before = UnixSeconds(cose::number(not_before, "not-before is not a number")?);
        let not_after = UnixSeconds(cose::number(not_after, "not-after is not a number")?);
        if not_after < not_before {
            return Err(IdentityError::Malformed("it expires before it begins"));
        }
        let digest = Sha256::digest(encoded).into();
        let encoded = encoded.to_vec();
        Ok((Self(Arc::new(Fields { role, team, subject, not_before, not_after, digest, encoded })), sealed))
    }

    /// Whether this certificate speaks for `role` at `now`.
    ///
    /// # Errors
    /// [`IdentityError::WrongRole`], `NotYetValid` or `Expired`.
    pub fn check(&self, role: Role, now: UnixSeconds) -> Result<(), IdentityError> {
        if self.0.role != role {
            return Err(IdentityError::WrongRole { got: self.0.role, want: role });
        }
        if now < self.0.not_before {
            return Err(IdentityError::NotYetValid { not_before: self.0.not_before, now });
        }
        if now > self.0.not_after {
            return Err(IdentityError::Expired { not_after: self.0.not_after, now });
        }
        Ok(())
    }

    /// What the subject may do.
    pub fn role(&self) -> Role {
        self.0.role
    }

    /// The team that vouches.
    pub fn team(&self) -> &PublicKey {
        &self.0.team
    }

    /// The team's name.
    pub fn team_id(&self) -> TeamId {
        self.0.team.team_id()
    }

    /// The key that is vouched for.
    pub fn subject(&self) -> &PublicKey {
        &self.0.subject
    }

    /// The name of the key that is vouched for.
    pub fn subject_id(&self) -> KeyId {
        self.0.subject.id()
    }

    /// The name under which the subject's receipts are known.
    pub fn member_id(&self) -> MemberId {
        MemberId::new(self.team_id(), self.subject_id())
    }

    /// First second of its life.
    pub fn not_before(&self) -> UnixSeconds {
        self.0.not_before
    }

    /// Last second of its life.
    pub fn not_after(&self) -> UnixSeconds {
        self.0.not_after
    }

    /// SHA-256 of the certificate.
    pub fn digest(&self) -> &[u8; 32] {
        &self.0.digest
    }

    /// How receipts point at it.
    pub fn reference(&self) -> CertificateRef {
        let mut reference = [0; 16];
        reference.copy_from_slice(&self.0.digest[..16]);
        CertificateRef(reference)
    }

    /// The certificate as it is sent.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0.encoded
    }
}

impl Role {
    fn number(self) -> u64 {
        match self {
            Role::Member => 1,
            Role::AccessPoint => 2,
            Role::Home => 3,
        }
    }

    fn from_number(number: u64) -> Result<Self, IdentityError> {
        let roles = [Role::Member, Role::AccessPoint, Role::Home];
        let found = roles.into_iter().find(|role| role.number() == number);
        found.ok_or(IdentityError::Malformed("role is none of member, access point, home"))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Member => "member",
            Role::AccessPoint => "access point",
            Role::Home => "home",
        })
    }
}

impl fmt::Display for CertificateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_write(&self.0, f)
    }
}

impl fmt::Debug for CertificateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CertificateRef({self})")
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fields { role, team, subject, not_before, not_after, .. } = &*self.0;
        write!(f, "Certificate({role} {subject:?} of {:?}, {not_before} to {not_after})", team.team_id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn keys() -> (SecretKey, SecretKey) {
        let mut rng = rand::rngs::StdRng::seed_from_u64(1);
        (SecretKey::generate(Suite::Ed25519, &mut rng), SecretKey::generate(Suite::EcdsaP256, &mut rng))
    }

    fn issue() -> Certificate {
        let (team, member) = keys();
        Certificate::issue(&team, member.public(), Role::Member, UnixSeconds(100), UnixSeconds(200))
    }

    #[test]
    fn parse_inverts_issue() {
        let certificate = issue();
        assert_eq!(Certificate::parse(certificate.as_bytes()), Ok(certificate));
    }

    #[test]
    fn every_changed_byte_is_refused() {
        let bytes = issue().as_bytes().to_vec();
        for index in 0..bytes.len() {
            for bit in [1, 0x20, 0x80] {
                let mut forged = bytes.clone();
                forged[index] ^= bit;
                assert!(Certificate::parse(&forged).is_err(), "byte {index} ^ {bit:#x}");
            }
        }
    }

    #[test]
    fn every_cut_is_refused_as_a_cut() {
        let bytes = issue().as_bytes().to_vec();
        for length in 0..bytes.len() {
            assert_eq!(Certificate::parse(&bytes[..length]), Err(IdentityError::Truncated { got: length }));
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(Certificate::parse(&longer), Err(IdentityError::NotCanonical));
        let huge = vec![0; 2_000];
        assert_eq!(Certificate::parse(&huge), Err(IdentityError::TooLong { got: 2_000, max: 1_024 }));
    }

    #[test]
    fn refuses_numbers_that_are_not_written_in_the_shortest_form() {
        let (team, member) = keys();
        let canonical = issue();
        let sealed = cose::open(canonical.as_bytes(), 1_024).unwrap();
        let mut payload = cose::encode(sealed.items);
        let last = payload.len() - 2; // 0x18 0xc8 is 200; 0x19 0x00 0xc8 is 200 in three bytes.
        assert_eq!(payload[last..], [0x18, 0xc8]);
        payload.splice(last.., [0x19, 0x00, 0xc8]);
        let mut sign1 = build_for_test(payload);
        sign1.signature = team.sign(&sign1.tbs_data(b"guestright/certificate/1")).0;
        let bytes = coset::CborSerializable::to_vec(sign1).unwrap();
        assert_eq!(Certificate::parse(&bytes), Err(IdentityError::NotCanonical));
        drop(member);
    }

    fn build_for_test(payload: Vec<u8>) -> coset::CoseSign1 {
        let header = coset::HeaderBuilder::new().algorithm(coset::iana::Algorithm::Ed25519).build();
        coset::CoseSign1Builder::new().protected(header).payload(payload).build()
    }

    #[test]
    fn says_why_it_does_not_hold() {
        let certificate = issue();
        let at = |now| certificate.check(Role::Member, UnixSeconds(now));
        let (not_before, not_after) = (UnixSeconds(100), UnixSeconds(200));
        assert_eq!(at(99), Err(IdentityError::NotYetValid { not_before, now: UnixSeconds(99) }));
        assert_eq!((at(100), at(200)), (Ok(()), Ok(())));
        assert_eq!(at(201), Err(IdentityError::Expired { not_after, now: UnixSeconds(201) }));
        let wrong = IdentityError::WrongRole { got: Role::Member, want: Role::Home };
        assert_eq!(certificate.check(Role::Home, UnixSeconds(150)), Err(wrong));
    }

    #[test]
    fn a_length_that_lies_costs_no_memory() {
        for head in [0x9b_u8, 0x5b, 0xbb] {
            let mut bytes = vec![head];
            bytes.extend(u64::MAX.to_be_bytes());
            assert!(Certificate::parse(&bytes).is_err());
            assert!(cose::decode(&bytes).is_err());
        }
    }
}
