//! A team's word for a key of one of its own.

use crate::cose::{self, Sealed};
use crate::{IdentityError, KeyId, MemberId, PublicKey, SecretKey, Suite, Warrant};
use ciborium::Value;
use data_encoding::HEXLOWER;
use guestright_units::{TeamId, UnixSeconds};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

const DOMAIN: &str = "certificate";
/// What a renewing key signs.
const RENEWAL: &str = "renewal";

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
    renewed: Option<Renewed>,
}

/// What a renewed certificate stands on (`docs/design/0012-renewal.md`).
#[derive(PartialEq, Eq)]
struct Renewed {
    /// The certificate that the team itself signed.
    original: Certificate,
    /// The team's word for the key that signed this one.
    warrant: Warrant,
}

/// What was read of a certificate, and the signatures that have not been checked.
struct Unchecked {
    certificate: Certificate,
    sealed: Sealed,
    /// Of a renewed one: the original's and the warrant's.
    below: Option<(Sealed, Sealed)>,
}

impl Certificate {
    /// No certificate has more bytes: two RSA-2048 keys, one signature and their frame. A renewed one of a live suite has
    /// less than half of it.
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
        Self(Arc::new(Fields::new(role, team, subject.clone(), (not_before, not_after), &encoded)))
    }

    /// Gives the key of this certificate another life, with a renewing key and the team's warrant for it. What is renewed is
    /// the certificate that the team signed, also where this one is a renewal itself.
    ///
    /// # Errors
    /// [`IdentityError::Malformed`], `WarrantExceeded` or `WrongSuite`: everybody would refuse it.
    pub fn renew(
        &self,
        renewing: &SecretKey,
        warrant: &Warrant,
        not_before: UnixSeconds,
        not_after: UnixSeconds,
    ) -> Result<Self, IdentityError> {
        if renewing.public() != warrant.renewing() {
            return Err(IdentityError::Malformed("the warrant is for another renewing key"));
        }
        let items = vec![
            Value::Bytes(self.original().as_bytes().to_vec()),
            Value::Bytes(warrant.as_bytes().to_vec()),
            Value::from(not_before.0),
            Value::from(not_after.0),
        ];
        Self::parse(&cose::seal(renewing, RENEWAL, &[], items))
    }

    /// Reads a certificate and checks its team's signature. Of a renewed one it checks three: the team's below the original
    /// and below the warrant, and the renewing key's.
    ///
    /// # Errors
    /// What is wrong with its form, its keys, its limits or a signature.
    pub fn parse(encoded: &[u8]) -> Result<Self, IdentityError> {
        let Unchecked { certificate, sealed, below } = Self::read(encoded)?;
        match (&certificate.0.renewed, below) {
            (Some(Renewed { warrant, .. }), Some((original, warranted))) => {
                warrant.claim(&warranted)?.verify()?;
                original.claim(certificate.team(), DOMAIN, &[])?.verify()?;
                sealed.claim(warrant.renewing(), RENEWAL, &[])?.verify()?;
            }
            _ => sealed.claim(certificate.team(), DOMAIN, &[])?.verify()?,
        }
        Ok(certificate)
    }

    /// Reads a certificate that was checked before and kept since, for example in our own store.
    ///
    /// # Errors
    /// What is wrong with its form or its keys.
    pub fn parse_kept(encoded: &[u8]) -> Result<Self, IdentityError> {
        Ok(Self::read(encoded)?.certificate)
    }

    fn read(encoded: &[u8]) -> Result<Unchecked, IdentityError> {
        let sealed = cose::open(encoded, Self::LEN_MAX)?;
        let [original, warrant, not_before, not_after] = sealed.items.as_slice() else {
            return Self::read_original(encoded, sealed);
        };
        let original = cose::bytes(original, "the original is not bytes")?;
        let warrant = cose::bytes(warrant, "the warrant is not bytes")?;
        let life = read_life(not_before, not_after)?;
        let (renewed, below) = read_renewed(original, warrant, life)?;
        let Fields { role, team, subject, .. } = &*renewed.original.0;
        let fields = Fields::new(*role, team.clone(), subject.clone(), life, encoded);
        let certificate = Self(Arc::new(Fields { renewed: Some(renewed), ..fields }));
        Ok(Unchecked { certificate, sealed, below: Some(below) })
    }

    /// Reads what the team itself has signed.
    fn read_original(encoded: &[u8], sealed: Sealed) -> Result<Unchecked, IdentityError> {
        let [role, team, subject_suite, subject, not_before, not_after] = sealed.items.as_slice() else {
            return Err(IdentityError::Malformed("a certificate has six fields, a renewed one has four"));
        };
        let role = Role::from_number(cose::number(role, "role is not a number")?)?;
        let team = PublicKey::parse(sealed.suite, cose::bytes(team, "team key is not bytes")?)?;
        let suite = Suite::from_algorithm(cose::integer(subject_suite, "suite is not a number")?)?;
        let subject = PublicKey::parse(suite, cose::bytes(subject, "subject key is not bytes")?)?;
        let life = read_life(not_before, not_after)?;
        let certificate = Self(Arc::new(Fields::new(role, team, subject, life, encoded)));
        Ok(Unchecked { certificate, sealed, below: None })
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

    /// The certificate that the team itself signed: this one, or the one that it renews.
    pub fn original(&self) -> &Self {
        self.0.renewed.as_ref().map_or(self, |renewed| &renewed.original)
    }

    /// What the key that renewed it may do; none if the team signed it itself.
    pub fn warrant(&self) -> Option<&Warrant> {
        self.0.renewed.as_ref().map(|renewed| &renewed.warrant)
    }

    /// How long it holds, in seconds.
    pub fn life(&self) -> u64 {
        self.0.not_after.0 - self.0.not_before.0
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

impl Fields {
    fn new(
        role: Role,
        team: PublicKey,
        subject: PublicKey,
        (not_before, not_after): (UnixSeconds, UnixSeconds),
        encoded: &[u8],
    ) -> Self {
        let digest = Sha256::digest(encoded).into();
        Self { role, team, subject, not_before, not_after, digest, encoded: encoded.to_vec(), renewed: None }
    }
}

fn read_life(not_before: &Value, not_after: &Value) -> Result<(UnixSeconds, UnixSeconds), IdentityError> {
    let not_before = UnixSeconds(cose::number(not_before, "not-before is not a number")?);
    let not_after = UnixSeconds(cose::number(not_after, "not-after is not a number")?);
    if not_after < not_before {
        return Err(IdentityError::Malformed("it expires before it begins"));
    }
    Ok((not_before, not_after))
}

/// One step and no more: what is renewed is the team's own word, by a key that the same team has given a warrant, within that
/// warrant, and for no longer than the team had certified the key at a time.
fn read_renewed(
    original: &[u8],
    warrant: &[u8],
    (not_before, not_after): (UnixSeconds, UnixSeconds),
) -> Result<(Renewed, (Sealed, Sealed)), IdentityError> {
    let opened = cose::open(original, Certificate::LEN_MAX)?;
    let Unchecked { certificate: original, sealed, .. } = Certificate::read_original(original, opened)?;
    let (warrant, warranted) = Warrant::read(warrant)?;
    if warrant.team() != original.team() {
        return Err(IdentityError::Malformed("the warrant is another team's"));
    }
    let life = not_after.0 - not_before.0;
    if life > original.life() || not_before < original.not_before() {
        return Err(IdentityError::WarrantExceeded(
            "it is longer than the team's own certificate, or begins before it",
        ));
    }
    if life > warrant.life_max() {
        return Err(IdentityError::WarrantExceeded("it is longer than the warrant allows"));
    }
    if not_before < warrant.not_before() || not_after > warrant.not_after() {
        return Err(IdentityError::WarrantExceeded("it is not within the warrant's own life"));
    }
    Ok((Renewed { original, warrant }, (sealed, warranted)))
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
