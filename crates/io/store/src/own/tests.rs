use crate::sample::{Member, NOW};
use crate::{Limits, Store};
use guestright_receipt::Receipt;
use guestright_units::{Bytes, TeamId};
use std::path::Path;
use tempfile::TempDir;

fn store(receipts_max: u64, own: TeamId) -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("receipts.db"), receipts_max, Some(own));
    (directory, store)
}

fn open(path: &Path, receipts_max: u64, own_team: Option<TeamId>) -> Store {
    Store::open(path, Limits { receipts_max, own_team }).unwrap()
}

fn all(store: &Store, team: TeamId) -> Vec<Receipt> {
    let mut all = Vec::new();
    store
        .first_hand(team, NOW, |receipt, certificate| {
            assert_eq!(receipt.certificate(), certificate.reference());
            all.push(receipt);
        })
        .unwrap();
    all
}

#[test]
fn a_home_is_given_what_its_team_served_and_was_served() {
    let (own, other) = (Member::new(1), Member::new(2));
    let team = own.certificate.team_id();
    let (_directory, mut store) = store(1_000, team);
    let mut served = other.item(0, NOW.plus(3), 5);
    served.0 = Receipt::sign(&other.key, &other.certificate, team, NOW.plus(3), Bytes(5));
    let was_served = own.item(9, NOW.plus(1), 6);
    let items = [
        other.item(9, NOW, 1),
        served.clone(),
        was_served.clone(),
        own.item(9, NOW.minus(1), 7),
        other.item(8, NOW.plus(9), 1),
    ];
    store.put(&items, NOW).unwrap();
    assert_eq!(all(&store, team), [served.0, was_served.0]);
    assert_eq!(store.counts.second_hand, 2);
}

#[test]
fn receipts_of_others_are_a_tenth_at_most_and_go_first() {
    let (own, other) = (Member::new(1), Member::new(2));
    let (_directory, mut store) = store(40, own.certificate.team_id());
    let others =
        |from: u64| -> Vec<_> { (from..from + 10).map(|at| other.item(8, NOW.plus(at), 1)).collect() };
    let ours = |from: u64, count: u64| -> Vec<_> {
        (from..from + count).map(|at| own.item(9, NOW.minus(1_000).plus(at), 1)).collect()
    };
    let counts = |store: &Store| (store.count(), store.counts.second_hand);
    store.put(&others(0), NOW).unwrap();
    assert_eq!(counts(&store), (4, 4), "although there is room");
    // Ours are older, and stay.
    let report = store.put(&ours(0, 38), NOW).unwrap();
    assert_eq!((counts(&store), report.evicted.len()), ((40, 2), 1));
    store.put(&ours(38, 2), NOW).unwrap();
    assert_eq!(counts(&store), (40, 0));
    let report = store.put(&others(20), NOW).unwrap();
    assert_eq!((counts(&store), report.added), ((40, 0), report.evicted));
    // Among ours the oldest go.
    store.put(&ours(40, 3), NOW).unwrap();
    assert_eq!(counts(&store), (40, 0));
    assert_eq!(store.get(&own.item(9, NOW.minus(998), 1).0.session()), Ok(None));
    assert!(store.get(&own.item(9, NOW.minus(997), 1).0.session()).unwrap().is_some());
    assert_eq!(store.integrity_check(), Ok(()));
}

#[test]
fn a_store_that_learns_of_its_team_tells_receipts_apart() {
    let (one, two) = (Member::new(1), Member::new(2));
    let (_directory, mut store) = store(100, one.certificate.team_id());
    store.put(&[one.item(9, NOW, 1), one.item(8, NOW, 1), two.item(9, NOW, 1)], NOW).unwrap();
    let path = store.path().to_owned();
    drop(store);
    for (own, want) in [
        (Some(one.certificate.team_id()), 1),
        (None, 0),
        (Some(two.certificate.team_id()), 2),
        (Some(TeamId([9; 24])), 1),
        (None, 0),
        (Some(one.certificate.team_id()), 1),
    ] {
        assert_eq!(open(&path, 100, own).counts.second_hand, want, "{own:?}");
    }
    // A store that was told no team goes by age alone, whatever was known before.
    let mut store = open(&path, 1, None);
    store.put(&[two.item(7, NOW.plus(1), 1)], NOW.plus(1)).unwrap();
    assert_eq!((store.count(), store.counts.second_hand), (1, 0));
    drop(store);
    assert_eq!(open(&path, 100, Some(one.certificate.team_id())).counts.second_hand, 1);
}
