use super::HourSums;
use crate::sample::{Member, NOW, certify};
use crate::{Limits, Store};
use guestright_receipt::{HoldId, HoldUse, Receipt, Service};
use guestright_units::{Bytes, UnixSeconds};
use std::collections::BTreeMap;

#[test]
fn what_was_carried_stands_in_the_hour_in_which_it_began() {
    let (own, other) = (Member::new(1), Member::new(2));
    let team = own.certificate.team_id();
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits { receipts_max: 100, own_team: Some(team) };
    let mut store = Store::open(&directory.path().join("receipts.db"), limits).unwrap();
    let served = |started, weight| {
        let receipt = Receipt::sign(&other.key, &other.certificate, team, started, Bytes(weight));
        (receipt, other.certificate.clone())
    };
    let first = UnixSeconds(NOW.0 - NOW.0 % 3_600);
    let on_hold = Service {
        provider: team,
        started: first.plus(7_200),
        weight: Bytes(10),
        hold: Some(HoldUse { id: HoldId([7; 24]), weight: Bytes(6) }),
        on_holds: Bytes(6),
    };
    let paid = (Receipt::sign_service(&other.key, &other.certificate, on_hold), other.certificate.clone());
    let own_at_home = Receipt::sign(&own.key, &own.certificate, team, first, Bytes(64));
    let items = [
        served(first.minus(1), 1),
        served(first, 2),
        served(first.plus(3_599), 3),
        paid,
        own.item(9, first.plus(3_600), 5),
        other.item(9, first, 32),
        (own_at_home, own.certificate.clone()),
    ];
    store.put(&items, NOW).unwrap();
    let sums = |served, without_hold, consumed| HourSums {
        served: Bytes(served),
        without_hold: Bytes(without_hold),
        consumed: Bytes(consumed),
    };
    let want =
        [(first, sums(5, 5, 0)), (first.plus(3_600), sums(0, 0, 5)), (first.plus(7_200), sums(10, 4, 0))];
    assert_eq!(store.hours(team, first).unwrap(), BTreeMap::from(want));
}

#[test]
fn a_member_is_seen_with_the_last_of_its_certificates() {
    let own = Member::new(1);
    let team = own.certificate.team_id();
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits { receipts_max: 100, own_team: Some(team) };
    let mut store = Store::open(&directory.path().join("receipts.db"), limits).unwrap();
    let other = Member::new(2);
    let later = certify(&own.team, &own.key, 3);
    let renewed = Receipt::sign(&own.key, &later, guestright_units::TeamId([9; 24]), NOW.plus(5), Bytes(1));
    store.put(&[own.item(9, NOW, 1), other.item(9, NOW, 1), (renewed, later)], NOW).unwrap();
    let seen = store.members_seen(team).unwrap();
    assert_eq!(seen, BTreeMap::from([(own.certificate.subject_id(), own.certificate.not_after())]));
}
