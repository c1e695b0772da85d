use super::*;
use crate::sample::{Member, NOW, store};
use guestright_credit::{HoldState, Terms, Write};

fn numbers(found: &[Arrival]) -> Vec<(i64, u64, u64)> {
    found.iter().map(|arrival| (arrival.number, arrival.at.0 - NOW.0, arrival.weight.0)).collect()
}

#[test]
fn sessions_come_in_the_order_in_which_they_became_known_with_what_counts_now() {
    let (_directory, mut store) = store(100);
    let member = Member::new(1);
    store.put(&[member.item(9, NOW, 5)], NOW.plus(10)).unwrap();
    store.put(&[member.item(9, NOW.minus(500), 6)], NOW.plus(20)).unwrap();
    store.put(&[member.item(9, NOW, 7)], NOW.plus(30)).unwrap();
    let all = store.arrivals_after(0, 10).unwrap();
    assert_eq!(numbers(&all), [(1, 10, 7), (2, 20, 6)], "the larger receipt takes the place of the first");
    assert_eq!(all[0].consumer, member.certificate.team_id());
    assert_eq!((all[0].session.member, all[0].session.started), (member.certificate.member_id(), NOW));
    assert_eq!(numbers(&store.arrivals_after(1, 10).unwrap()), [(2, 20, 6)]);
    assert_eq!((store.arrivals_after(0, 1).unwrap().len(), store.last_arrival().unwrap()), (1, 2));
}

#[test]
fn what_went_to_make_room_leaves_a_number_that_is_missing() {
    let (_directory, mut store) = store(3);
    let member = Member::new(1);
    for at in 0..5 {
        store.put(&[member.item(9, NOW.plus(at), 1)], NOW.plus(at)).unwrap();
    }
    let all = store.arrivals_after(0, 10).unwrap();
    assert_eq!(all.iter().map(|arrival| arrival.number).collect::<Vec<_>>(), [3, 4, 5]);
}

#[test]
fn a_store_that_nobody_has_open_can_be_looked_into_and_is_not_changed() {
    let (directory, mut open) = store(100);
    let member = Member::new(1);
    open.put(&[member.item(9, NOW, 5)], NOW).unwrap();
    let path = directory.path().join("receipts.db");
    let in_use = ClosedStore::open(&path).unwrap_err();
    assert!(matches!(in_use, StoreError::InUse { .. }), "{in_use}");
    let want = open.arrivals_after(0, 10).unwrap();
    drop(open);
    let before = std::fs::read(&path).unwrap();
    let closed = ClosedStore::open(&path).unwrap();
    assert_eq!((closed.arrivals_after(0, 10).unwrap(), closed.last_arrival().unwrap()), (want, 1));
    closed.connection.execute("DELETE FROM receipt", []).unwrap_err();
    drop(closed);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_store_of_an_earlier_format_is_left_as_it_is() {
    let (directory, open) = store(100);
    drop(open);
    let path = directory.path().join("receipts.db");
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 1).unwrap();
    drop(connection);
    let older = ClosedStore::open(&path).unwrap_err();
    assert!(matches!(older, StoreError::Older { .. }), "{older}");
}

#[test]
fn only_holds_that_are_settled_are_shown() {
    let (_directory, mut store) = store(100);
    let [provider, debtor, consumer] = [1, 2, 3].map(|number| TeamId([number; 24]));
    let session = SessionKey { provider, member: MemberId([4; 24]), started: NOW };
    let mut settled_ids = Vec::new();
    for (number, used) in [(0_u8, None), (1, Some(0)), (2, Some(9))] {
        let (between, nonce, end) = (vec![debtor], [number; 16], NOW.plus(300));
        let terms = Terms { provider, between, consumer, amount: Bytes(100_000), end, nonce };
        let settled = |used| HoldState::Settled { used: Bytes(used), owed: None };
        let (id, state) = (terms.id(), used.map_or(HoldState::Good, settled));
        let change = guestright_credit::Change::Hold(id, Some(Hold { terms, session, state }));
        store.keep_credit(&Write { token: number.into(), changes: vec![change] }).unwrap();
        settled_ids.extend(used.map(|_| id));
    }
    settled_ids.sort();
    let found = store.settled_holds_after(None, 10).unwrap();
    assert_eq!(found.iter().map(|(id, _)| *id).collect::<Vec<_>>(), settled_ids);
    assert_eq!(found[0].1.session, session);
    assert_eq!(store.settled_holds_after(Some(settled_ids[0]), 10).unwrap().len(), 1);
}
