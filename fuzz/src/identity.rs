//! Keys, certificates, revocation lists, and the form of everything that is signed.

use guestright_identity::{
    AccessPoints, Batch, Certificate, Claim, Delegation, IdentityError, KeyFile, PublicKey, RevocationList,
    SecretKey, Signature, Suite, cose,
};
use guestright_units::UnixSeconds;
use guestright_vectors::actors::{CONSUMER, NOW, PROVIDER};
use guestright_vectors::canonical::{self, Form};
use rand::SeedableRng;
use std::sync::LazyLock;

/// A payload: what is accepted is deterministic, and what is deterministic is accepted.
pub fn cbor(bytes: &[u8]) {
    let form = canonical::judge(bytes);
    match cose::decode(bytes) {
        Ok(items) => {
            assert_eq!(cose::encode(items), bytes);
            assert_ne!(form, Form::Wrong, "accepted, and not deterministic");
        }
        Err(error) => assert!(!matches!(form, Form::Plain(0..5)), "deterministic, and refused: {error}"),
    }
}

/// A COSE_Sign1: what is accepted is the one form, byte by byte.
pub fn sealed(bytes: &[u8]) {
    let Ok(sealed) = cose::open(bytes, 4_096) else {
        return;
    };
    let protected = [&[0xa1, 0x01][..], &canonical::integer(sealed.suite.algorithm())].concat();
    let payload = cose::encode(sealed.items.clone());
    let parts = [
        canonical::head(4, 4),
        canonical::string(&protected),
        canonical::head(5, 0),
        canonical::string(&payload),
        canonical::string(&sealed.signature().0),
    ];
    assert_eq!(parts.concat(), bytes);
    let shorter = cose::open(bytes, bytes.len() - 1);
    assert_eq!(shorter, Err(IdentityError::TooLong { got: bytes.len(), max: bytes.len() - 1 }));
    for key in [CONSUMER.team.public(), CONSUMER.member.0.public()] {
        if let Ok(claim) = sealed.claim(key, "receipt", &[]) {
            assert_eq!(claim.key.suite(), sealed.suite);
        }
    }
}

/// A certificate, as it comes and as a payload that the consumer's team has signed.
pub fn certificate(bytes: &[u8]) {
    read_certificate(bytes);
    if let Ok(items) = cose::decode(bytes) {
        let encoded = cose::seal(&CONSUMER.team, "certificate", &[], items);
        if let Some(read) = read_certificate(&encoded) {
            let (from, to) = (read.not_before(), read.not_after());
            let again = Certificate::issue(&CONSUMER.team, read.subject(), read.role(), from, to);
            assert_eq!(again.as_bytes(), encoded, "the same certificate in other bytes");
        }
    }
}

fn read_certificate(bytes: &[u8]) -> Option<Certificate> {
    let read = Certificate::parse(bytes);
    if let Ok(read) = &read {
        assert_eq!(read.as_bytes(), bytes);
        assert_eq!(Certificate::parse_kept(bytes).as_ref(), Ok(read));
        assert!(read.digest().starts_with(&read.reference().0));
        let (from, to) = (read.not_before(), read.not_after());
        assert_eq!(read.check(read.role(), from), Ok(()));
        assert_eq!(read.check(read.role(), to), Ok(()));
        assert!(to == UnixSeconds(u64::MAX) || read.check(read.role(), to.plus(1)).is_err());
        canonical_key(read.subject());
        canonical_key(read.team());
    }
    read.ok()
}

/// A revocation list, as it comes and as a payload that the consumer's team has signed.
pub fn revocations(bytes: &[u8]) {
    read_revocations(bytes);
    if let Ok(items) = cose::decode(bytes) {
        let encoded = cose::seal(&CONSUMER.team, "revocation", &[], items);
        if let Some(read) = read_revocations(&encoded) {
            let (sequence, issued) = (read.sequence(), read.issued());
            let again = RevocationList::issue(&CONSUMER.team, sequence, issued, read.revoked().clone());
            assert_eq!(again.expect("as many keys as before").as_bytes(), encoded);
        }
    }
}

/// A delegation, as it comes and as a payload that the consumer's member has signed.
pub fn delegation(bytes: &[u8]) {
    read_delegation(bytes);
    if let Ok(items) = cose::decode(bytes) {
        let member = &CONSUMER.member.0;
        let encoded = cose::seal(member, "delegation", &[], items);
        if let Some(read) = read_delegation(&encoded) {
            let again = Delegation::issue(member, read.delegate(), read.terms().clone());
            let again = again.expect("terms that were read can be signed");
            assert_eq!(again.as_bytes(), encoded, "the same delegation in other bytes");
        }
    }
}

fn read_delegation(bytes: &[u8]) -> Option<Delegation> {
    let read = Delegation::parse(bytes).ok()?;
    assert_eq!(read.as_bytes(), bytes);
    let terms = read.terms();
    let (from, to) = (terms.not_before, terms.not_after);
    assert_eq!((read.check(from), read.check(to)), (Ok(()), Ok(())));
    assert!(to == UnixSeconds(u64::MAX) || read.check(to.plus(1)).is_err());
    assert!(from == UnixSeconds(0) || read.check(from.minus(1)).is_err());
    match &terms.access_points {
        AccessPoints::Any => assert!(read.allows(PROVIDER.id())),
        AccessPoints::Of(teams) => assert_eq!(read.allows(PROVIDER.id()), teams.contains(&PROVIDER.id())),
    }
    assert_ne!(read.member_id(), read.delegate().id());
    canonical_key(read.member());
    canonical_key(read.delegate());
    Some(read)
}

fn read_revocations(bytes: &[u8]) -> Option<RevocationList> {
    let read = RevocationList::parse(bytes).ok()?;
    assert_eq!(read.as_bytes(), bytes);
    for (&key, &since) in read.revoked() {
        assert_eq!(read.check(key, since), Err(IdentityError::Revoked { since }));
        assert!(since == UnixSeconds(0) || read.check(key, since.minus(1)).is_ok());
    }
    Some(read)
}

/// A public key and a secret key: the first byte selects the suite.
pub fn key(bytes: &[u8]) {
    let Some((&number, rest)) = bytes.split_first() else {
        return;
    };
    let suite = Suite::ALL[usize::from(number) % Suite::ALL.len()];
    if let Ok(key) = PublicKey::parse(suite, rest) {
        assert_eq!((key.suite(), key.as_bytes()), (suite, rest));
        assert_eq!(PublicKey::parse(suite, key.as_bytes()).map(|again| again.id()), Ok(key.id()));
        canonical_key(&key);
        let _ = key.verify(b"message", &Signature(rest.to_vec()));
    }
    if let Ok(secret) = SecretKey::from_bytes(suite, rest) {
        use_secret(&secret);
    }
}

fn use_secret(secret: &SecretKey) {
    let public = secret.public();
    assert_eq!(PublicKey::parse(public.suite(), public.as_bytes()).as_ref(), Ok(public));
    assert_eq!(public.verify(b"message", &secret.sign(b"message")), Ok(()), "our own signature");
}

/// A key has one name, so one point, modulus or number has one encoding. (Ed25519 under ZIP 215 is the exception:
/// there the name belongs to the bytes, and nobody has a secret for the few points with two encodings.)
fn canonical_key(key: &PublicKey) {
    let bytes = key.as_bytes();
    match key.suite() {
        Suite::Ed25519 => assert_eq!(bytes.len(), 32),
        Suite::EcdsaP256 => {
            assert!(bytes.len() == 33 && matches!(bytes[0], 2 | 3), "two names for one point")
        }
        #[cfg(feature = "legacy-suites")]
        Suite::EcdsaSecp160r1 => assert!(bytes.len() == 21 && matches!(bytes[0], 2 | 3)),
        #[cfg(feature = "legacy-suites")]
        Suite::EcdsaSecp224r1 => assert!(bytes.len() == 29 && matches!(bytes[0], 2 | 3)),
        #[cfg(feature = "legacy-suites")]
        Suite::Rsa1024 | Suite::Rsa2048 => assert_eq!(bytes[0], 0x30),
    }
}

/// The text of a key file.
pub fn key_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(key) = KeyFile::parse(text, None) {
        let again = KeyFile::parse(&KeyFile::plain(&key), None);
        assert_eq!(again.expect("our own file").public(), key.public());
        use_secret(&key);
    }
    if is_cheap(text) {
        let _ = KeyFile::parse(text, Some("passphrase"));
    }
}

/// Whether opening this file takes less than a moment: a valid one may ask for 256 MiB and 16 passes.
fn is_cheap(text: &str) -> bool {
    let certificate = text.replace("GUESTRIGHT SECRET KEY", "GUESTRIGHT CERTIFICATE");
    let bytes = guestright_keys::Label::Certificate.unarmour(&certificate).ok();
    let items = bytes.and_then(|bytes| cose::decode(&bytes).ok());
    let number = |at: usize| cose::number(items.as_ref()?.get(at)?, "").ok();
    number(1).zip(number(2)).is_some_and(|(memory, passes)| memory.saturating_mul(passes) <= 256)
}

/// How many claims are checked together: halving a batch with one bad claim shows at three.
const CLAIMS_MAX: usize = 8;

/// An honest claim for every place, made once: signing takes longer than all the rest.
static HONEST: LazyLock<Vec<Claim>> = LazyLock::new(|| {
    let secrets = [&CONSUMER.team, &CONSUMER.member.0, &PROVIDER.team];
    let claim = |number: usize| {
        let (secret, message) = (secrets[number % secrets.len()], number.to_be_bytes().to_vec());
        let signature = secret.sign(&message);
        Claim { key: secret.public().clone(), message, signature }
    };
    (0..CLAIMS_MAX).map(claim).collect()
});

/// Claims that are checked one by one and together, from records of 32 bytes of key, 64 of signature and 2 that say
/// how an honest signature is spoilt instead.
pub fn batch(bytes: &[u8]) {
    const RECORD: usize = 98;
    let mut batch = Batch::default();
    let mut single = Vec::new();
    for (honest, record) in HONEST.iter().zip(bytes.chunks_exact(RECORD)) {
        let mut claim = honest.clone();
        match (record[96], PublicKey::parse(Suite::Ed25519, &record[..32])) {
            (0, Ok(key)) => {
                claim.key = key;
                claim.signature = Signature(record[32..96].to_vec());
            }
            (0, Err(_)) => continue,
            (how, _) => {
                let length = claim.signature.0.len();
                claim.signature.0[usize::from(record[97]) % length] ^= how - 1;
            }
        }
        single.push(claim.verify().is_ok());
        batch.push(claim);
    }
    let mut rng = rand::rngs::StdRng::seed_from_u64(NOW.0);
    assert_eq!(batch.verify(&mut rng), single);
}
