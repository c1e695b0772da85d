use super::*;
use crate::Store;
use crate::sample::{Member, NOW, store};
use guestright_credit::{Change, Hold, HoldState, Terms, Write};
use guestright_identity::{Certificate, MemberId};
use guestright_receipt::{Receipt, SessionKey};
use guestright_units::Bytes;

const OWN: TeamId = TeamId([9; 24]);

fn query(count: usize) -> HintQuery {
    HintQuery { team: OWN, now: NOW, count, seed: 1 }
}

/// The receipts that are shown.
fn shown(store: &Store, query: HintQuery) -> Vec<Receipt> {
    let receipt = |(receipt, certificate): Encoded| {
        Receipt::from_kept(&receipt, &Certificate::parse(&certificate).unwrap()).unwrap()
    };
    store.hints(query).unwrap().into_iter().map(receipt).collect()
}

fn weights(store: &Store, query: HintQuery) -> Vec<u64> {
    shown(store, query).iter().map(|receipt| receipt.weight().0).collect()
}

/// A hold that the debtor paid, or did not.
fn hold(debtor: TeamId, nonce: u8, state: HoldState) -> Change {
    let (provider, amount) = (TeamId([77; 24]), Bytes(1_000_000));
    let terms =
        Terms { provider, between: vec![debtor], consumer: OWN, amount, end: NOW, nonce: [nonce; 16] };
    let session = SessionKey { provider, member: MemberId([1; 24]), started: NOW };
    Change::Hold(terms.id(), Some(Hold { terms, session, state }))
}

#[test]
fn one_receipt_is_shown_for_each_debtor_and_it_is_the_largest() {
    let (_directory, mut store) = store(100);
    let (one, two) = (Member::new(1), Member::new(2));
    let items = [
        one.item(9, NOW.minus(3), 5_000),
        one.item(9, NOW.minus(2), 5_000),
        one.item(9, NOW.minus(1), 0),
        two.item(9, NOW.minus(900 * 86_400), 9_000),
        two.item(9, NOW.minus(5), 10),
        two.item(9, NOW.plus(3_600), 9_000),
        two.item(8, NOW, 9_000),
    ];
    store.put(&items, NOW).unwrap();
    assert_eq!(shown(&store, query(64)), [items[1].0.clone(), items[4].0.clone()]);
    assert_eq!(weights(&store, query(1)), [5_000]);
    assert!(weights(&store, HintQuery { team: TeamId([7; 24]), ..query(64) }).is_empty());
}

#[test]
fn a_debtor_that_paid_holds_comes_before_one_that_owes_more() {
    let (_directory, mut store) = store(100);
    let members: Vec<_> = (1..=4).map(Member::new).collect();
    let weights_of = [100, 150, 70_000_000, 900_000_000];
    let items: Vec<_> =
        members.iter().zip(weights_of).map(|(member, weight)| member.item(9, NOW, weight)).collect();
    store.put(&items, NOW).unwrap();
    // More than 64 MB is not better: of equal ones the smaller id comes first.
    let large = || weights_of[2..].to_vec();
    let order = weights(&store, query(7));
    assert!(order[..2] == large() || order[..2] == [large()[1], large()[0]]);
    assert_eq!(order[2..], [150, 100]);
    let team = |number: usize| members[number].certificate.team_id();
    let settled = |used| HoldState::Settled { used: Bytes(used), owed: None };
    let write = Write {
        token: 1,
        changes: vec![
            hold(team(0), 1, settled(65_536)),
            hold(team(1), 2, settled(0)),
            hold(team(1), 3, HoldState::Ended),
            hold(team(2), 4, settled(1)),
        ],
    };
    store.keep_credit(&write).unwrap();
    assert_eq!(weights(&store, query(7)), [70_000_000, 900_000_000, 100, 150]);
}

#[test]
fn some_are_the_latest_and_some_depend_on_the_seed() {
    let (_directory, mut store) = store(1_000);
    // The larger the debt, the older.
    let items: Vec<_> = (1..=100_u64).map(|seed| Member::new(seed).item(9, NOW.minus(seed), seed)).collect();
    store.put(&items, NOW).unwrap();
    let first = weights(&store, query(64));
    assert_eq!(first[..48], (53..=100).rev().collect::<Vec<_>>());
    assert_eq!(first[48..56], (1..=8).collect::<Vec<_>>());
    assert!(first[56..].iter().all(|weight| (9..53).contains(weight)));
    let distinct: std::collections::BTreeSet<_> = first.iter().collect();
    assert_eq!(distinct.len(), 64);
    assert_eq!(weights(&store, query(64)), first, "the same seed, the same answer");
    let other = weights(&store, HintQuery { seed: 2, ..query(64) });
    assert_eq!(other[..56], first[..56]);
    assert_ne!(other[56..], first[56..]);
    assert_eq!(weights(&store, query(1_000)).len(), 100);
    assert!(weights(&store, query(0)).is_empty());
}
