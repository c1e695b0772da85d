//! What receipts promise, seen from outside.

use ciborium::Value;
use guestright_identity::{Certificate, IdentityError, RevocationList, Role, SecretKey, Suite};
use guestright_receipt::{
    Admission, Bundle, BundleError, HoldId, HoldUse, Receipt, ReceiptError, Registers, Rules, Service,
    UncheckedReceipt, verify_batch,
};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const PROVIDER: TeamId = TeamId([9; 24]);

struct Member {
    key: SecretKey,
    certificate: Certificate,
}

fn member(seed: u64, suite: Suite) -> Member {
    let mut rng = StdRng::seed_from_u64(seed);
    let team = SecretKey::generate(suite, &mut rng);
    let key = SecretKey::generate(suite, &mut rng);
    let (from, to) = (NOW.minus(1_000), NOW.plus(1_000));
    let certificate = Certificate::issue(&team, key.public(), Role::Member, from, to);
    Member { key, certificate }
}

impl Member {
    fn sign(&self, provider: TeamId, started: UnixSeconds, weight: u64) -> Receipt {
        Receipt::sign(&self.key, &self.certificate, provider, started, Bytes(weight))
    }

    fn verify(&self, bytes: &[u8]) -> Result<Receipt, ReceiptError> {
        Rules::default().verify(UncheckedReceipt::parse(bytes)?, &self.certificate, NOW)
    }
}

#[test]
fn an_ed25519_receipt_has_128_bytes() {
    let receipt = member(1, Suite::Ed25519).sign(PROVIDER, NOW, 50_000_000);
    assert_eq!(receipt.as_bytes().len(), 128);
    let largest = member(1, Suite::Ed25519).sign(PROVIDER, NOW, u64::MAX);
    assert_eq!(largest.as_bytes().len(), 132);
}

#[test]
fn verify_inverts_sign_for_every_suite() {
    let rules = Rules { legacy_suites: true, ..Rules::default() };
    for &suite in Suite::ALL {
        let member = member(1, suite);
        let signed = member.sign(PROVIDER, NOW, 7);
        let parsed = UncheckedReceipt::parse(signed.as_bytes()).unwrap();
        assert_eq!(rules.verify(parsed, &member.certificate, NOW), Ok(signed.clone()), "{suite}");
        if suite.is_legacy() {
            assert_eq!(member.verify(signed.as_bytes()), Err(ReceiptError::LegacySuite(suite)));
        }
    }
}

#[test]
fn a_receipt_says_what_was_served_on_holds() {
    let member = member(1, Suite::Ed25519);
    for (weight, on_holds, on_hold) in [(9, 6, 4), (9, 6, 0), (9, 9, 4), (9, 6, 6), (9, 9, 9), (0, 0, 0)] {
        let hold = Some(HoldUse { id: HoldId([3; 24]), weight: Bytes(on_hold) });
        let (weight, on_holds) = (Bytes(weight), Bytes(on_holds));
        let service = Service { provider: PROVIDER, started: NOW, weight, hold, on_holds };
        let signed = Receipt::sign_service(&member.key, &member.certificate, service);
        let unchecked = UncheckedReceipt::parse(signed.as_bytes()).unwrap();
        let fields = (unchecked.weight(), unchecked.hold(), unchecked.on_holds());
        assert_eq!(fields, (weight, hold, on_holds), "before it is checked");
        let checked = member.verify(signed.as_bytes()).unwrap();
        assert_eq!((checked.weight(), checked.hold(), checked.on_holds()), (weight, hold, on_holds));
        assert_eq!(checked, signed);
    }
}

#[test]
fn what_is_served_on_a_hold_is_part_of_what_is_served_on_holds_and_that_of_all() {
    let member = member(1, Suite::Ed25519);
    let sealed = |weight: u64, holds: &[Value]| {
        let provider = Value::Bytes(PROVIDER.0.to_vec());
        let certificate = Value::Bytes(member.certificate.reference().0.to_vec());
        let mut items = vec![provider, certificate, Value::from(NOW.0), Value::from(weight)];
        items.extend_from_slice(holds);
        guestright_identity::cose::seal(&member.key, "receipt", member.certificate.digest(), items)
    };
    let hold = |on_hold: u64, on_holds: u64| {
        [Value::Bytes(vec![3; 24]), Value::from(on_hold), Value::from(on_holds)]
    };
    assert!(member.verify(&sealed(9, &hold(4, 6))).is_ok());
    assert!(member.verify(&sealed(9, &[])).is_ok());
    let (hold_less, hold_more) = (&hold(4, 6)[..2], [&hold(4, 6)[..], &[Value::from(1)]].concat());
    let cases = [
        (sealed(9, &hold(7, 6)), "more was served on the hold than on all holds"),
        (sealed(9, &hold(4, 10)), "more was served on holds than at all"),
        (sealed(9, hold_less), "a receipt has four or seven fields"),
        (sealed(9, &hold_more), "a receipt has four or seven fields"),
    ];
    for (bytes, want) in cases {
        assert_eq!(member.verify(&bytes), Err(ReceiptError::Refused(IdentityError::Malformed(want))));
    }
}

#[test]
fn every_way_to_cheat_has_its_own_error() {
    let member = member(1, Suite::Ed25519);
    let other = self::member(2, Suite::EcdsaP256);
    let good = member.sign(PROVIDER, NOW, 10);
    let mut forged = good.as_bytes().to_vec();
    forged[60] ^= 1;
    let own = member.certificate.team_id();
    let (not_before, not_after) = (member.certificate.not_before(), member.certificate.not_after());
    let early = NOW.minus(1_001);
    let future = NOW.plus(601);
    let wide = Rules { age_max: 500, ..Rules::default() };
    let old = UncheckedReceipt::parse(member.sign(PROVIDER, NOW.minus(501), 1).as_bytes()).unwrap();
    let wanted = member.certificate.reference();
    #[rustfmt::skip]
    let cases = [
        ("forged",              member.verify(&forged),                                ReceiptError::Refused(IdentityError::BadSignature)),
        ("truncated",           member.verify(&good.as_bytes()[..100]),                ReceiptError::Truncated { got: 100 }),
        ("oversized",           member.verify(&[0; 600]),                              ReceiptError::Refused(IdentityError::TooLong { got: 600, max: 512 })),
        ("future-dated",        member.verify(member.sign(PROVIDER, future, 1).as_bytes()), ReceiptError::FutureDated { started: future, now: NOW, skew: 600 }),
        ("too-old",             wide.verify(old, &member.certificate, NOW),            ReceiptError::TooOld { started: NOW.minus(501), age_max: 500 }),
        ("expired-certificate", member.verify(member.sign(PROVIDER, early, 1).as_bytes()), ReceiptError::CertificateExpired { not_before, not_after, started: early }),
        ("self-trade",          member.verify(member.sign(own, NOW, 1).as_bytes()),    ReceiptError::SelfTrade(own)),
        ("unknown-certificate", other.verify(good.as_bytes()),                         ReceiptError::UnknownCertificate(wanted)),
    ];
    for (kind, got, want) in cases {
        let got = got.unwrap_err();
        assert_eq!((got.kind(), &got), (kind, &want));
    }
}

#[test]
fn a_receipt_in_another_suite_than_its_key_is_refused_as_that() {
    let member = member(1, Suite::Ed25519);
    let sealed = guestright_identity::cose::open(member.sign(PROVIDER, NOW, 1).as_bytes(), 512).unwrap();
    let p256 = SecretKey::generate(Suite::EcdsaP256, &mut StdRng::seed_from_u64(5));
    let bytes = guestright_identity::cose::seal(&p256, "receipt", member.certificate.digest(), sealed.items);
    let want = ReceiptError::WrongSuite { got: Suite::EcdsaP256, want: Suite::Ed25519 };
    assert_eq!(member.verify(&bytes), Err(want));
}

#[test]
fn a_certificate_of_an_access_point_signs_no_receipts() {
    let mut rng = StdRng::seed_from_u64(1);
    let (team, key) =
        (SecretKey::generate(Suite::Ed25519, &mut rng), SecretKey::generate(Suite::Ed25519, &mut rng));
    let certificate = Certificate::issue(&team, key.public(), Role::AccessPoint, NOW, NOW);
    let member = Member { key, certificate };
    let refused = member.verify(member.sign(PROVIDER, NOW, 1).as_bytes()).unwrap_err();
    assert_eq!(refused.kind(), "not-entitled");
}

#[test]
fn an_old_receipt_shown_again_is_refused_and_changes_nothing() {
    let member = member(1, Suite::Ed25519);
    let mut known = Registers::default();
    assert_eq!(known.admit(member.sign(PROVIDER, NOW, 10)), Ok(Admission::New));
    assert_eq!(known.admit(member.sign(PROVIDER, NOW, 25)), Ok(Admission::Raised(Bytes(15))));
    let replayed = ReceiptError::LowerWeight { got: Bytes(10), known: Bytes(25) };
    assert_eq!(known.admit(member.sign(PROVIDER, NOW, 10)), Err(replayed));
    assert_eq!(known.admit(member.sign(PROVIDER, NOW, 25)), Ok(Admission::Known));
    assert_eq!(known.iter().map(Receipt::weight).collect::<Vec<_>>(), [Bytes(25)]);
}

#[test]
fn a_bundle_says_which_receipts_do_not_count() {
    let members = [member(1, Suite::Ed25519), member(2, Suite::EcdsaP256)];
    let bundle = Bundle {
        certificates: vec![members[0].certificate.as_bytes().to_vec(), b"rubbish".to_vec()],
        receipts: vec![
            members[0].sign(PROVIDER, NOW, 1).as_bytes().to_vec(),
            members[1].sign(PROVIDER, NOW, 1).as_bytes().to_vec(),
            members[0].sign(PROVIDER, NOW.plus(700), 1).as_bytes().to_vec(),
        ],
        revocations: vec![],
    };
    assert_eq!(Bundle::parse(&bundle.emit()), Ok(bundle.clone()));
    let mut rng = StdRng::seed_from_u64(3);
    let verified = bundle.verify(|_| None, &Rules::default(), NOW, &mut rng);
    assert_eq!(verified.receipts.len(), 1);
    let kinds: Vec<_> = verified.refused.iter().map(ReceiptError::kind).collect();
    assert_eq!(kinds, ["unknown-certificate", "future-dated"]);
    let known =
        |reference| (reference == members[1].certificate.reference()).then(|| members[1].certificate.clone());
    assert_eq!(bundle.verify(known, &Rules::default(), NOW, &mut rng).receipts.len(), 2);
}

/// Receipts of two members over a few sessions and weights.
fn any_registers() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    proptest::collection::vec((1..3_u64, 0..3_u64, 0..4_u64), 0..8)
}

fn registers(items: &[(u64, u64, u64)]) -> Registers {
    let mut registers = Registers::default();
    for &(who, session, weight) in items {
        let receipt = member(who, Suite::Ed25519).sign(PROVIDER, NOW.plus(session), weight);
        let _ = registers.admit(receipt);
    }
    registers
}

fn merged(a: &Registers, b: &Registers) -> Registers {
    let mut both = a.clone();
    both.merge(b);
    both
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merging_is_commutative_associative_and_idempotent(
        a in any_registers(), b in any_registers(), c in any_registers(),
    ) {
        let (a, b, c) = (registers(&a), registers(&b), registers(&c));
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(merged(&a, &a), a);
    }

    #[test]
    fn the_order_of_delivery_does_not_matter(items in any_registers(), seed: u64) {
        use rand::seq::SliceRandom;
        let mut shuffled = items.clone();
        shuffled.shuffle(&mut StdRng::seed_from_u64(seed));
        prop_assert_eq!(registers(&items), registers(&shuffled));
    }

    #[test]
    fn a_batch_gives_the_verdicts_of_single_verification(spoilt in proptest::collection::vec(0..140_usize, 1..40)) {
        let members = [member(1, Suite::Ed25519), member(2, Suite::EcdsaP256)];
        let mut pairs = Vec::new();
        for (number, index) in spoilt.into_iter().enumerate() {
            let member = &members[number % 2];
            let mut bytes = member.sign(PROVIDER, NOW, 5).as_bytes().to_vec();
            if let Some(byte) = bytes.get_mut(index) {
                *byte ^= 4;
            }
            if let Ok(receipt) = UncheckedReceipt::parse(&bytes) {
                pairs.push((receipt, &member.certificate));
            }
        }
        let rules = Rules::default();
        let single: Vec<_> = pairs.iter().cloned().map(|(r, c)| rules.verify(r, c, NOW)).collect();
        let batch = verify_batch(pairs, &rules, NOW, &mut StdRng::seed_from_u64(4));
        prop_assert_eq!(batch, single);
    }

    #[test]
    fn parse_accepts_nothing_that_emit_would_not_write(bytes: Vec<u8>) {
        prop_assert!(UncheckedReceipt::parse(&bytes).is_err());
        if let Ok(bundle) = Bundle::parse(&bytes) {
            prop_assert!(bytes.is_empty() || bundle.emit() == bytes);
        }
    }
}

#[test]
fn a_second_team_cannot_take_over_what_a_key_signed_for_the_first() {
    let honest = member(1, Suite::Ed25519);
    let team = SecretKey::generate(Suite::Ed25519, &mut StdRng::seed_from_u64(77));
    let (from, to) = (NOW.minus(1_000), NOW.plus(1_000));
    let second = Certificate::issue(&team, honest.key.public(), Role::Member, from, to);
    let mut known = Registers::default();
    known.admit(honest.sign(PROVIDER, NOW, 10)).unwrap();
    let heavier = Receipt::sign(&honest.key, &second, PROVIDER, NOW, Bytes(11));
    assert_eq!(known.admit(heavier), Ok(Admission::New));
    assert_eq!(known.len(), 2);
}

#[test]
fn a_receipt_counts_up_to_the_last_second_of_each_limit() {
    let member = member(1, Suite::Ed25519);
    let (first, last) = (member.certificate.not_before(), member.certificate.not_after());
    let verify = |started: UnixSeconds, now: UnixSeconds| {
        let receipt = UncheckedReceipt::parse(member.sign(PROVIDER, started, 1).as_bytes()).unwrap();
        Rules::default().verify(receipt, &member.certificate, now).map_err(|error| error.kind())
    };
    let (skew, age) = (600, 400 * 86_400);
    #[rustfmt::skip]
    let cases = [
        (first,          first,               Ok(())),
        (last,           last,                Ok(())),
        (first.minus(1), first,               Err("expired-certificate")),
        (last.plus(1),   last,                Err("expired-certificate")),
        (NOW,            NOW.minus(skew),     Ok(())),
        (NOW,            NOW.minus(skew + 1), Err("future-dated")),
        (NOW,            NOW.plus(age),       Ok(())),
        (NOW,            NOW.plus(age + 1),   Err("too-old")),
    ];
    for (started, now, want) in cases {
        assert_eq!(verify(started, now).map(drop), want, "began at {started}, seen at {now}");
    }
}

#[test]
fn a_team_of_a_legacy_suite_is_refused_whatever_its_members_sign_with() {
    for &legacy in Suite::ALL.iter().filter(|suite| suite.is_legacy()) {
        let mut rng = StdRng::seed_from_u64(6);
        let team = SecretKey::generate(legacy, &mut rng);
        let key = SecretKey::generate(Suite::Ed25519, &mut rng);
        let certificate = Certificate::issue(&team, key.public(), Role::Member, NOW, NOW);
        let member = Member { key, certificate };
        let refused = member.verify(member.sign(PROVIDER, NOW, 1).as_bytes());
        assert_eq!(refused, Err(ReceiptError::LegacySuite(legacy)));
    }
}

#[test]
fn a_receipt_says_what_was_signed() {
    let member = member(1, Suite::Ed25519);
    let signed = member.sign(PROVIDER, NOW, 7);
    let kept = Receipt::from_kept(signed.as_bytes(), &member.certificate).unwrap();
    for receipt in [&signed, &kept] {
        assert_eq!((receipt.provider(), receipt.consumer()), (PROVIDER, member.certificate.team_id()));
        assert_eq!((receipt.started(), receipt.weight()), (NOW, Bytes(7)));
        assert_eq!(receipt.certificate(), member.certificate.reference());
        assert_eq!(receipt.session().member, member.certificate.member_id());
    }
    assert_eq!(UncheckedReceipt::parse(signed.as_bytes()).unwrap().weight(), Bytes(7));
    let another = self::member(2, Suite::Ed25519).certificate;
    let unknown = ReceiptError::UnknownCertificate(member.certificate.reference());
    assert_eq!(Receipt::from_kept(signed.as_bytes(), &another), Err(unknown));
}

#[test]
fn a_repository_finds_and_counts_its_sessions() {
    let member = member(1, Suite::Ed25519);
    let mut known = Registers::default();
    assert_eq!((known.is_empty(), known.len()), (true, 0));
    let receipt = member.sign(PROVIDER, NOW, 10);
    known.admit(receipt.clone()).unwrap();
    assert_eq!((known.is_empty(), known.len()), (false, 1));
    assert_eq!(known.get(&receipt.session()), Some(&receipt));
    assert_eq!(known.get(&member.sign(PROVIDER, NOW.plus(1), 10).session()), None);
}

#[test]
fn a_bundle_may_have_so_many_items_and_no_more() {
    let items = |count: usize| vec![b"item".to_vec(); count];
    let parse = |certificates, receipts, revocations| {
        let (certificates, receipts) = (items(certificates), items(receipts));
        let bundle = Bundle { certificates, receipts, revocations: items(revocations) };
        Bundle::parse(&bundle.emit()).map(|parsed| assert_eq!(parsed, bundle))
    };
    let too_many = |what, got, max| Err(BundleError::TooMany { what, got, max });
    assert_eq!(parse(65, 64, 2), Ok(()), "64 visitors' receipts, and the one who shows them");
    assert_eq!(parse(66, 0, 0), too_many("certificates", 66, 65));
    assert_eq!(parse(0, 65, 0), too_many("receipts", 65, 64));
    assert_eq!(parse(0, 0, 3), too_many("revocation lists", 3, 2));
}

#[test]
fn a_bundle_may_have_so_many_bytes_and_no_more() {
    let of = |len: usize| Bundle { receipts: vec![vec![0; len]], ..Bundle::default() };
    let frame = of(Bundle::LEN_MAX).emit().len() - Bundle::LEN_MAX;
    assert_eq!(Bundle::LEN_MAX, 61_440);
    let largest = of(Bundle::LEN_MAX - frame);
    assert_eq!(Bundle::parse(&largest.emit()), Ok(largest));
    let got = Bundle::LEN_MAX + 1;
    let too_long = IdentityError::TooLong { got, max: Bundle::LEN_MAX };
    assert_eq!(Bundle::parse(&of(got - frame).emit()), Err(too_long.into()));
}

#[test]
fn a_bundle_takes_out_what_is_signed_and_drops_revocation_lists_that_are_not() {
    let member = member(1, Suite::Ed25519);
    let team = SecretKey::generate(Suite::Ed25519, &mut StdRng::seed_from_u64(8));
    let list = RevocationList::issue(&team, 1, NOW, BTreeMap::new()).unwrap();
    let mut forged = list.as_bytes().to_vec();
    *forged.last_mut().unwrap() ^= 1;
    let mut unsigned = member.certificate.as_bytes().to_vec();
    *unsigned.last_mut().unwrap() ^= 1;
    let bundle = Bundle {
        certificates: vec![member.certificate.as_bytes().to_vec(), unsigned],
        receipts: vec![],
        revocations: vec![forged, list.as_bytes().to_vec()],
    };
    let verified = bundle.verify(|_| None, &Rules::default(), NOW, &mut StdRng::seed_from_u64(3));
    assert_eq!(verified.revocations, [list]);
    assert_eq!(verified.certificates.into_keys().collect::<Vec<_>>(), [member.certificate.reference()]);
}

#[test]
fn of_two_receipts_over_the_same_weight_all_repositories_keep_the_same() {
    let member = member(1, Suite::Ed25519);
    let team = SecretKey::generate(Suite::Ed25519, &mut StdRng::seed_from_u64(1));
    let renewed = Certificate::issue(&team, member.key.public(), Role::Member, NOW.minus(5), NOW.plus(5));
    assert_eq!(renewed.member_id(), member.certificate.member_id());
    let first = member.sign(PROVIDER, NOW, 10);
    let second = Receipt::sign(&member.key, &renewed, PROVIDER, NOW, Bytes(10));
    let admit = |receipts: [&Receipt; 2]| {
        let mut known = Registers::default();
        assert_eq!(known.admit(receipts[0].clone()), Ok(Admission::New));
        assert_eq!(known.admit(receipts[1].clone()), Ok(Admission::Known));
        known
    };
    assert_ne!(first.as_bytes(), second.as_bytes());
    assert_eq!(admit([&first, &second]), admit([&second, &first]));
}
