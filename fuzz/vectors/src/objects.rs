//! Vectors that hold: keys, certificates, lists, receipts, bundles, terms.

use crate::actors::{CONSUMER, Household, NOW, PROVIDER, STARTED};
use crate::{certificate, hex, key, parts, receipt, with};
use guestright_identity::{
    AccessPoints, Certificate, Delegation, DelegationTerms, KeyId, RevocationList, Role, SecretKey, Suite,
    Warrant,
};
use guestright_receipt::{Bundle, HoldId, HoldUse, Receipt, Registers, Service};
use guestright_reciprocity::ServiceClass;
use guestright_roaming::message::Acknowledgement;
use guestright_units::{Bytes, Micros, TeamId, UnixSeconds};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) fn keys() -> Value {
    let mut vectors = Vec::new();
    for (whose, household) in [("consumer", &*CONSUMER), ("provider", &*PROVIDER)] {
        let secrets = [
            ("team", &household.team),
            ("member", &household.member.0),
            ("access-point", &household.access_point.0),
            ("home", &household.home.0),
        ];
        for (name, secret) in secrets {
            let public = secret.public();
            let hashed =
                [b"guestright/key/1", &public.suite().algorithm().to_be_bytes()[..], public.as_bytes()];
            let facts = json!({
                "name": format!("{whose}-{name}"),
                "secret": hex(&secret.to_bytes()),
                "hashed": hex(&hashed.concat()),
            });
            vectors.push(with(facts, &key(public)));
        }
    }
    json!({ "keys": vectors })
}

pub(super) fn certificates() -> Value {
    let mut vectors = Vec::new();
    for (whose, household) in [("consumer", &*CONSUMER), ("provider", &*PROVIDER)] {
        for (_, known) in [&household.member, &household.access_point, &household.home] {
            vectors.push(certificate(&format!("{whose}-{}", known.role()), known));
        }
    }
    vectors.push(certificate("a P-256 member of an Ed25519 team", &mixed()));
    vectors.push(certificate("the longest life", &forever()));
    json!({ "certificates": vectors })
}

/// A member with a key of another suite than its team's.
pub fn mixed() -> Certificate {
    let member = PROVIDER.member.0.public();
    Certificate::issue(&CONSUMER.team, member, Role::Member, NOW.minus(86_400), NOW.plus(86_400))
}

/// Certificates that their teams' homes have renewed: for as long as they may, by keys of either suite.
pub fn renewed() -> Vec<Certificate> {
    let renew = |household: &Household, renewing: &SecretKey| {
        let original = &household.member.1;
        let (from, to) = (NOW.minus(60), NOW.minus(60).plus(original.life()));
        let warrant = Warrant::issue(&household.team, renewing.public(), from, to, original.life());
        let warrant = warrant.expect("a warrant of ours");
        original.renew(renewing, &warrant, from, to).expect("within the warrant")
    };
    vec![
        renew(&CONSUMER, &CONSUMER.home.0),
        renew(&PROVIDER, &PROVIDER.home.0),
        renew(&CONSUMER, &PROVIDER.home.0),
    ]
}

fn forever() -> Certificate {
    let member = CONSUMER.member.0.public();
    Certificate::issue(&CONSUMER.team, member, Role::Member, UnixSeconds(0), UnixSeconds(u64::MAX))
}

pub fn revocation_list(household: &Household, sequence: u64) -> RevocationList {
    let key = household.member.1.subject_id();
    let revoked = BTreeMap::from([(KeyId([0x11; 24]), UnixSeconds(1_700_000_000)), (key, NOW.plus(10))]);
    let revoked = if sequence == 0 { BTreeMap::new() } else { revoked };
    RevocationList::issue(&household.team, sequence, NOW, revoked).expect("two keys")
}

pub(super) fn revocations() -> Value {
    let list = |name: &str, household: &Household, sequence| {
        let list = revocation_list(household, sequence);
        let entry = |(key, since): (&KeyId, &UnixSeconds)| json!([key.to_string(), since.0]);
        let facts = json!({
            "name": name,
            "team": key(household.team.public()),
            "sequence": list.sequence(),
            "issued": list.issued().0,
            "revoked": list.revoked().iter().map(entry).collect::<Vec<_>>(),
        });
        with(facts, &parts(list.as_bytes(), household.team.public(), "revocation", &[]))
    };
    json!({ "revocations": [
        list("nobody", &CONSUMER, 0),
        list("two keys", &CONSUMER, 1),
        list("two keys, P-256", &PROVIDER, 70_000),
    ] })
}

/// The key that a member delegates to.
pub fn delegate() -> SecretKey {
    SecretKey::from_bytes(Suite::Ed25519, &[9; 32]).expect("a small number is a key")
}

/// What a household's member delegates, by a name.
pub fn delegations(household: &Household) -> Vec<(&'static str, Delegation)> {
    let delegation = |bytes, access_points| {
        let (not_before, not_after) = (NOW.minus(86_400), NOW.plus(90 * 86_400));
        let terms = DelegationTerms { bytes_per_day: Bytes(bytes), not_before, not_after, access_points };
        Delegation::issue(&household.member.0, delegate().public(), terms).expect("such terms can be")
    };
    let one = AccessPoints::Of([PROVIDER.id()].into());
    let most = AccessPoints::Of((0..64).map(|number| TeamId([number; 24])).collect());
    vec![
        ("anywhere", delegation(1_000_000_000, AccessPoints::Any)),
        ("one-team", delegation(u64::MAX, one)),
        ("64-teams", delegation(0, most)),
    ]
}

pub(super) fn delegated() -> Value {
    let mut vectors = Vec::new();
    for (whose, household) in [("consumer", &*CONSUMER), ("provider", &*PROVIDER)] {
        for (name, delegation) in delegations(household) {
            let terms = delegation.terms();
            let teams = match &terms.access_points {
                AccessPoints::Any => Vec::new(),
                AccessPoints::Of(teams) => teams.iter().map(ToString::to_string).collect(),
            };
            let facts = json!({
                "name": format!("{whose}, {name}"),
                "member": key(delegation.member()),
                "delegate": key(delegation.delegate()),
                "bytes_per_day": terms.bytes_per_day.0,
                "not_before": terms.not_before.0,
                "not_after": terms.not_after.0,
                "teams": teams,
            });
            vectors.push(with(facts, &parts(delegation.as_bytes(), delegation.member(), "delegation", &[])));
        }
    }
    json!({ "delegations": vectors })
}

/// A receipt of the consumer's member over what the provider served.
pub fn consumed(started: UnixSeconds, weight: u64) -> Receipt {
    let (member, certificate) = &CONSUMER.member;
    Receipt::sign(member, certificate, PROVIDER.id(), started, Bytes(weight))
}

/// The same, with what of it was served on a hold.
pub fn consumed_on(started: UnixSeconds, weight: u64, on: Option<(HoldId, u64)>) -> Receipt {
    consumed_with(started, weight, on, on.map_or(0, |(_, weight)| weight))
}

/// The same, where other holds were used before.
pub fn consumed_with(started: UnixSeconds, weight: u64, on: Option<(HoldId, u64)>, on_holds: u64) -> Receipt {
    let (member, certificate) = &CONSUMER.member;
    let hold = on.map(|(id, weight)| HoldUse { id, weight: Bytes(weight) });
    let (provider, weight, on_holds) = (PROVIDER.id(), Bytes(weight), Bytes(on_holds));
    let service = Service { provider, started, weight, hold, on_holds };
    Receipt::sign_service(member, certificate, service)
}

/// A receipt of the provider's member over what the consumer served.
pub fn provided(started: UnixSeconds, weight: u64) -> Receipt {
    let (member, certificate) = &PROVIDER.member;
    Receipt::sign(member, certificate, CONSUMER.id(), started, Bytes(weight))
}

/// The same member's receipt under another certificate of the same key.
fn consumed_otherwise(started: UnixSeconds, weight: u64) -> Receipt {
    Receipt::sign(&CONSUMER.member.0, &forever(), PROVIDER.id(), started, Bytes(weight))
}

pub(super) fn receipts() -> Value {
    let (ours, theirs) = (&CONSUMER.member.1, &PROVIDER.member.1);
    let id = super::holds::terms(1, Bytes(8_000_000)).id();
    let vectors = json!([
        receipt("over nothing: the proof of possession", &consumed(STARTED, 0), ours),
        receipt("23 bytes: the largest weight of one byte", &consumed(STARTED, 23), ours),
        receipt("50 MB: 128 bytes", &consumed(STARTED, 50_000_000), ours),
        receipt("4 GiB less one byte", &consumed(STARTED, u64::from(u32::MAX)), ours),
        receipt("4 GiB: four bytes more", &consumed(STARTED, 1 << 32), ours),
        receipt("the largest weight", &consumed(STARTED, u64::MAX), ours),
        receipt("50 MB, P-256", &provided(STARTED, 50_000_000), theirs),
        receipt_on_hold(50_000_000, id, 0, 0),
        receipt_on_hold(50_000_000, id, 8_000_000, 8_000_000),
        receipt_on_hold(50_000_000, id, 1_000_000, 45_000_000),
        receipt_on_hold(u64::MAX, id, u64::MAX, u64::MAX),
    ]);
    let on = |weight, id, on| consumed_on(STARTED, weight, Some((HoldId([id; 24]), on)));
    let case = |name: &str, receipts: Vec<Receipt>| {
        let mut registers = Registers::default();
        for receipt in &receipts {
            // A lower weight is refused and changes nothing.
            let _ = registers.admit(receipt.clone());
        }
        let counts: Vec<_> = registers.iter().map(|receipt| hex(receipt.as_bytes())).collect();
        let shown: Vec<_> = receipts.iter().map(|receipt| hex(receipt.as_bytes())).collect();
        json!({ "name": name, "receipts": shown, "counts": counts })
    };
    let later = STARTED.plus(1);
    let supersession = json!([
        case("the larger weight counts", vec![consumed(STARTED, 10), consumed(STARTED, 25)]),
        case("in any order", vec![consumed(STARTED, 25), consumed(STARTED, 10)]),
        case(
            "of one weight the greater bytes count",
            vec![consumed(STARTED, 25), consumed_otherwise(STARTED, 25)]
        ),
        case(
            "of one weight the greater bytes count, in any order",
            vec![consumed_otherwise(STARTED, 25), consumed(STARTED, 25)]
        ),
        case("whatever hold they name", vec![on(25, 9, 25), on(26, 8, 1), consumed(STARTED, 24)]),
        case("of one weight on two holds the greater bytes count", vec![on(25, 8, 25), on(25, 9, 1)]),
        case("two sessions both count", vec![consumed(STARTED, 25), consumed(later, 10)]),
    ]);
    let certificates = [ours.as_bytes(), theirs.as_bytes(), forever().as_bytes()].map(hex);
    json!({
        "now": NOW.0,
        "receipts": vectors,
        "supersession": supersession,
        "certificates": certificates,
    })
}

/// A vector of a receipt that names a hold.
fn receipt_on_hold(weight: u64, id: HoldId, on: u64, on_holds: u64) -> Value {
    let signed = consumed_with(STARTED, weight, Some((id, on)), on_holds);
    let length = signed.as_bytes().len();
    let name = format!("{weight} bytes, of which {on} on a hold and {on_holds} on holds: {length} bytes");
    receipt(&name, &signed, &CONSUMER.member.1)
}

/// One receipt of each household, with certificates, and the consumer's list.
pub fn full_bundle() -> Bundle {
    Bundle {
        certificates: vec![CONSUMER.member.1.as_bytes().to_vec(), PROVIDER.member.1.as_bytes().to_vec()],
        receipts: vec![
            consumed(STARTED, 50_000_000).as_bytes().to_vec(),
            provided(STARTED, 7).as_bytes().to_vec(),
        ],
        revocations: vec![revocation_list(&CONSUMER, 1).as_bytes().to_vec()],
    }
}

pub(super) fn bundles() -> Value {
    let bundle = |name: &str, bundle: &Bundle| {
        let list = |items: &[Vec<u8>]| items.iter().map(|item| hex(item)).collect::<Vec<_>>();
        json!({
            "name": name,
            "encoded": hex(&bundle.emit()),
            "certificates": list(&bundle.certificates),
            "receipts": list(&bundle.receipts),
            "revocations": list(&bundle.revocations),
        })
    };
    let receipts = vec![consumed(STARTED, 0).as_bytes().to_vec()];
    json!({ "bundles": [
        bundle("nothing, written out; in a message it has no bytes", &Bundle::default()),
        bundle("one receipt, as a visitor answers", &Bundle { receipts, ..Bundle::default() }),
        bundle("of everything", &full_bundle()),
    ] })
}

pub fn terms(household: &Household, class: ServiceClass) -> Acknowledgement {
    Acknowledgement {
        nonce: *b"sixteen new ones",
        member: CONSUMER.member.1.subject_id(),
        provider: household.id(),
        started: STARTED,
        interval: Micros::from_seconds(5),
        volume: Bytes(25_000_000),
        class,
    }
}

pub(super) fn acknowledgements() -> Value {
    let acknowledgement = |name: &str, household: &Household, class: ServiceClass| {
        let (key, certificate) = &household.access_point;
        let terms = terms(household, class);
        let facts = json!({
            "name": name,
            "certificate": hex(certificate.as_bytes()),
            "nonce": hex(&terms.nonce),
            "member": terms.member.to_string(),
            "provider": terms.provider.to_string(),
            "started": terms.started.0,
            "interval_us": terms.interval.0,
            "volume_bytes": terms.volume.0,
            "class": terms.class.name(),
        });
        let encoded = terms.seal(key, certificate);
        with(facts, &parts(&encoded, key.public(), "acknowledgement", certificate.digest()))
    };
    let mut vectors = Vec::new();
    for class in ServiceClass::ALL {
        vectors.push(acknowledgement(&format!("class {class}"), &PROVIDER, class));
    }
    vectors.push(acknowledgement("of an Ed25519 access point", &CONSUMER, ServiceClass::Own));
    json!({ "acknowledgements": vectors })
}
