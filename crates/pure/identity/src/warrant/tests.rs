use super::*;
use crate::{Certificate, RevocationList, Role};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;

struct Keys {
    team: SecretKey,
    member: SecretKey,
    renewing: SecretKey,
}

fn keys(team: Suite, member: Suite, renewing: Suite) -> Keys {
    let mut rng = StdRng::seed_from_u64(12);
    let mut key = |suite| SecretKey::generate(suite, &mut rng);
    Keys { team: key(team), member: key(member), renewing: key(renewing) }
}

fn usual() -> Keys {
    keys(Suite::Ed25519, Suite::EcdsaP256, Suite::Ed25519)
}

impl Keys {
    fn certificate(&self, not_before: u64, not_after: u64) -> Certificate {
        let (not_before, not_after) = (UnixSeconds(not_before), UnixSeconds(not_after));
        Certificate::issue(&self.team, self.member.public(), Role::Member, not_before, not_after)
    }

    /// From 1,000 to 9,000, each for 300 s at most.
    fn warrant(&self) -> Warrant {
        self.warrant_for(1_000, 9_000, 300).unwrap()
    }

    fn warrant_for(&self, from: u64, to: u64, life_max: u64) -> Result<Warrant, IdentityError> {
        Warrant::issue(&self.team, self.renewing.public(), UnixSeconds(from), UnixSeconds(to), life_max)
    }

    fn renew(&self, of: &Certificate, from: u64, to: u64) -> Result<Certificate, IdentityError> {
        of.renew(&self.renewing, &self.warrant(), UnixSeconds(from), UnixSeconds(to))
    }
}

#[test]
fn a_renewed_certificate_says_what_the_original_said_for_another_time() {
    for team in [Suite::Ed25519, Suite::EcdsaP256] {
        for renewing in [Suite::Ed25519, Suite::EcdsaP256] {
            let keys = keys(team, Suite::Ed25519, renewing);
            let original = keys.certificate(500, 1_500);
            let first = keys.renew(&original, 1_400, 1_700).unwrap();
            let second = keys.renew(&first, 1_600, 1_900).unwrap();
            for renewed in [&first, &second] {
                assert_eq!(Certificate::parse(renewed.as_bytes()).as_ref(), Ok(renewed));
                assert_eq!(Certificate::parse_kept(renewed.as_bytes()).as_ref(), Ok(renewed));
                assert_eq!(renewed.original(), &original, "one step, however often it is renewed");
                assert_eq!(renewed.warrant(), Some(&keys.warrant()));
                assert_eq!(renewed.member_id(), original.member_id());
                assert_eq!((renewed.role(), renewed.team()), (Role::Member, original.team()));
                assert!(renewed.as_bytes().len() < Certificate::LEN_MAX / 2, "{}", renewed.as_bytes().len());
                assert_ne!(renewed.digest(), original.digest());
            }
            assert_eq!((first.not_before(), first.not_after()), (UnixSeconds(1_400), UnixSeconds(1_700)));
            assert!(first.check(Role::Member, UnixSeconds(1_700)).is_ok());
            assert!(first.check(Role::Member, UnixSeconds(1_701)).is_err());
        }
    }
}

#[test]
fn both_limits_hold_and_so_does_the_originals() {
    let keys = usual();
    let original = keys.certificate(500, 1_500);
    let exceeded = |why| Err(IdentityError::WarrantExceeded(why));
    const LONGER: &str = "it is longer than the warrant allows";
    const OUTSIDE: &str = "it is not within the warrant's own life";
    const ORIGINAL: &str = "it is longer than the team's own certificate, or begins before it";
    #[rustfmt::skip]
    let cases = [
        (1_000, 1_300, Ok(())),
        (8_700, 9_000, Ok(())),
        (1_000, 1_301, exceeded(LONGER)),
        (999,   1_200, exceeded(OUTSIDE)),
        (8_800, 9_001, exceeded(OUTSIDE)),
        (499,     700, exceeded(ORIGINAL)),
        (1_000, 2_001, exceeded(ORIGINAL)),
        (1_200, 1_199, Err(IdentityError::Malformed("it expires before it begins"))),
    ];
    for (from, to, want) in cases {
        assert_eq!(keys.renew(&original, from, to).map(drop), want, "{from} to {to}");
    }
    let short = keys.certificate(500, 520);
    assert_eq!(keys.renew(&short, 1_000, 1_020).map(drop), Ok(()));
    assert_eq!(keys.renew(&short, 1_000, 1_021).map(drop), exceeded(ORIGINAL), "a short life stays short");
}

#[test]
fn every_changed_byte_and_every_cut_is_refused() {
    let keys = usual();
    let renewed = keys.renew(&keys.certificate(500, 1_500), 1_000, 1_300).unwrap();
    for bytes in [renewed.as_bytes(), keys.warrant().as_bytes()] {
        for index in 0..bytes.len() {
            for bit in [1, 0x20, 0x80] {
                let mut forged = bytes.to_vec();
                forged[index] ^= bit;
                let taken = Certificate::parse(&forged).is_ok() || Warrant::parse(&forged).is_ok();
                assert!(!taken, "byte {index} ^ {bit:#x}");
            }
            assert!(Certificate::parse(&bytes[..index]).is_err() && Warrant::parse(&bytes[..index]).is_err());
        }
    }
}

/// What a renewing key might try that is not in its warrant, put together by hand.
#[test]
fn a_renewing_key_can_certify_nothing_by_itself() {
    let keys = usual();
    let (original, warrant) = (keys.certificate(500, 1_500), keys.warrant());
    let seal = |by: &SecretKey, domain, original: &[u8], warrant: &[u8]| {
        let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
        let items = vec![bytes(original), bytes(warrant), Value::from(1_000), Value::from(1_300)];
        Certificate::parse(&cose::seal(by, domain, &[], items)).map(drop)
    };
    let (own, warranted) = (original.as_bytes(), warrant.as_bytes());
    assert_eq!(seal(&keys.renewing, "renewal", own, warranted), Ok(()));
    // A certificate that it signed itself, for a key of its own; and one that looks like the team's.
    let stranger = SecretKey::generate(Suite::Ed25519, &mut StdRng::seed_from_u64(99));
    let by_itself = Certificate::issue(
        &keys.renewing,
        stranger.public(),
        Role::Member,
        UnixSeconds(500),
        UnixSeconds(1_500),
    );
    let other_team = IdentityError::Malformed("the warrant is another team's");
    assert_eq!(seal(&keys.renewing, "renewal", by_itself.as_bytes(), warranted), Err(other_team.clone()));
    let mut posing = cose::open(own, 1_024).unwrap().items;
    posing[3] = Value::Bytes(keys.renewing.public().as_bytes().to_vec());
    let posing = cose::seal(&keys.renewing, "certificate", &[], posing);
    assert!(seal(&keys.renewing, "renewal", &posing, warranted).is_err());
    // A warrant that it gave itself, or that another team gave it.
    let strange =
        Warrant::issue(&stranger, keys.renewing.public(), UnixSeconds(1_000), UnixSeconds(9_000), 300)
            .unwrap();
    assert_eq!(seal(&keys.renewing, "renewal", own, strange.as_bytes()), Err(other_team));
    // Another key's signature, and a signature that was made for something else.
    assert_eq!(seal(&stranger, "renewal", own, warranted), Err(IdentityError::BadSignature));
    assert_eq!(seal(&keys.team, "renewal", own, warranted), Err(IdentityError::BadSignature));
    assert_eq!(seal(&keys.renewing, "certificate", own, warranted), Err(IdentityError::BadSignature));
    // A second step.
    let renewed = keys.renew(&original, 1_000, 1_300).unwrap();
    let step = IdentityError::Malformed("a certificate has six fields, a renewed one has four");
    assert_eq!(seal(&keys.renewing, "renewal", renewed.as_bytes(), warranted), Err(step));
    // The two halves exchanged: a certificate is no warrant, though both have six fields.
    assert!(seal(&keys.renewing, "renewal", warranted, own).is_err());
    let as_warrant = cose::seal(&keys.team, "certificate", &[], cose::open(warranted, 256).unwrap().items);
    assert_eq!(Warrant::parse(&as_warrant), Err(IdentityError::BadSignature));
}

#[test]
fn a_warrant_that_cannot_be_is_not_made() {
    let keys = usual();
    let backwards = keys.warrant_for(2_000, 1_999, 300);
    assert_eq!(backwards, Err(IdentityError::Malformed("it expires before it begins")));
    let (from, to) = (UnixSeconds(1), UnixSeconds(2));
    let own = Warrant::issue(&keys.team, keys.team.public(), from, to, 1);
    assert_eq!(own, Err(IdentityError::Malformed("a team's own key needs no warrant")));
    let other = keys.certificate(500, 1_500).renew(&keys.member, &keys.warrant(), UnixSeconds(1_000), to);
    assert_eq!(other, Err(IdentityError::Malformed("the warrant is for another renewing key")));
    let warrant = keys.warrant();
    let now = |now| warrant.check(UnixSeconds(now)).is_ok();
    assert_eq!([999, 1_000, 9_000, 9_001].map(now), [false, true, true, false]);
}

#[test]
fn revoking_the_renewing_key_revokes_what_it_renewed_and_not_what_the_team_signed() {
    let keys = usual();
    let original = keys.certificate(500, 1_500);
    let renewed = keys.renew(&original, 1_000, 1_300).unwrap();
    let list = |id| {
        let revoked = BTreeMap::from([(id, UnixSeconds(1_100))]);
        RevocationList::issue(&keys.team, 1, UnixSeconds(1_100), revoked).unwrap()
    };
    let (since, at) = (UnixSeconds(1_100), UnixSeconds);
    let of_renewing = list(keys.renewing.public().id());
    assert_eq!(of_renewing.check_certificate(&renewed, at(1_099)), Ok(()));
    let revoked = Err(IdentityError::RenewingKeyRevoked { since });
    assert_eq!(of_renewing.check_certificate(&renewed, at(1_100)), revoked);
    assert_eq!(of_renewing.check_certificate(&original, at(1_100)), Ok(()));
    let of_member = list(original.subject_id());
    for certificate in [&original, &renewed] {
        let revoked = Err(IdentityError::Revoked { since });
        assert_eq!(of_member.check_certificate(certificate, at(1_100)), revoked);
    }
}

#[cfg(feature = "legacy-suites")]
#[test]
fn legacy_suites_are_not_renewed() {
    let keys = keys(Suite::Rsa2048, Suite::Ed25519, Suite::Ed25519);
    assert!(matches!(keys.warrant_for(1, 2, 1), Err(IdentityError::TooLong { .. })));
}
