use crate::sample::{Member, NOW, store};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use std::ops::ControlFlow;

#[test]
fn a_member_carries_the_latest_and_largest_receipts_of_its_team() {
    let (_directory, mut store) = store(100);
    let (one, two) = (Member::new(1), Member::new(2));
    let items = [
        one.item(9, NOW, 10),
        two.item(9, NOW, 30),
        one.item(9, NOW.plus(5), 1),
        one.item(8, NOW.plus(7), 99),
        two.item(9, NOW.minus(50), 1_000),
    ];
    store.put(&items, NOW).unwrap();
    let shown = |since, max| -> Vec<Vec<u8>> {
        let list = store.receipts_of_provider(TeamId([9; 24]), since, max).unwrap();
        list.into_iter().map(|(receipt, _)| receipt).collect()
    };
    let bytes = |numbers: &[usize]| -> Vec<Vec<u8>> {
        numbers.iter().map(|number| items[*number].0.as_bytes().to_vec()).collect()
    };
    assert_eq!(shown(NOW.minus(1), 9), bytes(&[2, 1, 0]));
    assert_eq!(shown(UnixSeconds(0), 2), bytes(&[2, 1]));
    assert_eq!(shown(UnixSeconds(0), 9), bytes(&[2, 1, 0, 4]));
    let list = store.receipts_of_provider(TeamId([9; 24]), NOW.plus(5), 9).unwrap();
    assert_eq!(list[0].1, one.certificate.as_bytes());
}

#[test]
fn a_receipt_leaves_the_outbox_only_with_the_weight_that_was_passed_on() {
    let (_directory, mut store) = store(100);
    let member = Member::new(1);
    let items = [member.item(9, NOW, 10), member.item(9, NOW.plus(1), 20)];
    store.put(&items, NOW).unwrap();
    let outbox = store.unflushed(9).unwrap();
    let sent: Vec<_> = outbox.iter().map(|outgoing| (outgoing.session, outgoing.weight)).collect();
    assert_eq!(sent, [(items[0].0.session(), Bytes(10)), (items[1].0.session(), Bytes(20))]);
    assert_eq!(outbox[1].receipt, items[1].0.as_bytes());
    assert_eq!(outbox[1].certificate, member.certificate.as_bytes());

    store.put(&[member.item(9, NOW, 11)], NOW).unwrap();
    assert_eq!(store.mark_flushed(&sent), Ok(1));
    let left = store.unflushed(9).unwrap();
    assert_eq!((left.len(), left[0].weight), (1, Bytes(11)));
    assert_eq!(store.mark_flushed(&[(left[0].session, left[0].weight)]), Ok(1));
    assert_eq!(store.unflushed(9), Ok(vec![]));
    store.put(&[member.item(9, NOW.plus(1), 19)], NOW).unwrap();
    assert_eq!(store.unflushed(9), Ok(vec![]), "a lower weight changes nothing");
}

#[test]
fn two_stores_that_agree_export_the_same_bytes() {
    let items: Vec<_> = (1..4).map(|seed| Member::new(seed).item(9, NOW, seed)).collect();
    let export = |order: &[usize], stop_after: usize| {
        let (_directory, mut store) = store(100);
        for number in order {
            store.put(&items[*number..=*number], NOW).unwrap();
        }
        let mut shown = Vec::new();
        store
            .for_each_receipt(|receipt, certificate| {
                shown.push((receipt.to_vec(), certificate.to_vec()));
                if shown.len() == stop_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .unwrap();
        shown
    };
    assert_eq!(export(&[0, 1, 2], 9), export(&[2, 1, 0], 9));
    assert_eq!(export(&[0, 1, 2], 9).len(), 3);
    assert_eq!(export(&[0, 1, 2], 2).len(), 2);
}

#[test]
fn counters_are_kept_under_their_names() {
    let (_directory, mut store) = store(1);
    assert_eq!(store.state("denied"), Ok(None));
    store.set_state("denied", 7).unwrap();
    store.set_state("denied", -8).unwrap();
    store.set_state("granted", 1).unwrap();
    assert_eq!(store.state("denied"), Ok(Some(-8)));
}

#[test]
fn a_row_that_says_other_than_its_signed_receipt_is_found() {
    let (_directory, mut store) = store(10);
    store.put(&[Member::new(1).item(9, NOW, 10)], NOW).unwrap();
    assert_eq!(store.integrity_check(), Ok(()));
    store.connection.execute("UPDATE receipt SET weight = 11", []).unwrap();
    let error = store.integrity_check().unwrap_err().to_string();
    assert!(error.contains("differs from its signed receipt"), "{error}");
}

#[test]
fn a_number_that_stands_for_nothing_and_a_wrong_count_are_found() {
    let (_directory, mut store) = store(10);
    store.put(&[Member::new(1).item(9, NOW, 10)], NOW).unwrap();
    for (change, want) in [
        ("UPDATE certificate SET receipts = 0", "how many receipts need it"),
        ("UPDATE certificate SET receipts = 2", "how many receipts need it"),
        ("DELETE FROM certificate", "certificate is missing"),
        ("DELETE FROM provider", "differs from its signed receipt"),
        ("PRAGMA foreign_keys = OFF; BEGIN; DELETE FROM member", "member is missing"),
    ] {
        let change = if change.contains("BEGIN") { change.to_owned() } else { format!("BEGIN; {change}") };
        store.connection.execute_batch(&change).unwrap();
        let error = store.integrity_check().unwrap_err().to_string();
        assert!(error.contains(want), "{change}: {error}");
        store.connection.execute_batch("ROLLBACK").unwrap();
    }
    assert_eq!(store.integrity_check(), Ok(()));
}

#[test]
fn receipts_of_one_start_come_in_the_order_of_their_members_whatever_number_these_have() {
    let (_directory, mut store) = store(100);
    let members: Vec<_> = (0..8).map(Member::new).collect();
    let items: Vec<_> = [7, 9, 8]
        .iter()
        .flat_map(|provider| members.iter().map(|member| member.item(*provider, NOW, 1)))
        .collect();
    store.put(&items, NOW).unwrap();
    let mut want: Vec<_> = items.iter().map(|(receipt, _)| receipt.session()).collect();
    want.sort_by_key(|session| (session.provider, session.started, session.member));
    for page in [1, 3, 24] {
        let mut found = Vec::new();
        loop {
            let some = store.receipts_after(found.last().copied(), page).unwrap();
            if some.is_empty() {
                break;
            }
            found.extend(some.iter().map(|(session, _)| *session));
        }
        assert_eq!(found, want, "{page} at a time");
    }
}

#[test]
fn thousands_of_members_of_one_start_come_page_by_page_each_once_and_in_order() {
    let (_directory, mut store) = store(10_000);
    let items: Vec<_> = (0..3_000).map(|seed| Member::new(seed).item(9, NOW, seed)).collect();
    store.put(&items, NOW).unwrap();
    store.put(&[Member::new(1).item(9, NOW.plus(1), 7), Member::new(1).item(8, NOW, 8)], NOW).unwrap();
    let mut want: Vec<_> = items.iter().map(|(receipt, certificate)| (receipt, certificate)).collect();
    want.sort_by_key(|(receipt, _)| receipt.session().member);
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let some = store.receipts_after(after, 64).unwrap();
        let Some((last, _)) = some.last() else { break };
        assert!(some.len() == 64 || found.len() + some.len() == 3_002, "{} of a page", some.len());
        after = Some(*last);
        found.extend(some);
    }
    assert_eq!(found.len(), 3_002);
    for ((session, blobs), (receipt, certificate)) in found[1..].iter().zip(want) {
        assert_eq!(*session, receipt.session());
        assert_eq!(*blobs, (receipt.as_bytes().to_vec(), certificate.as_bytes().to_vec()));
    }
    let mut shown = Vec::new();
    store
        .for_each_receipt(|receipt, certificate| {
            shown.push((receipt.to_vec(), certificate.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(shown.iter().eq(found.iter().map(|(_, blobs)| blobs)), "the walk shows what the pages do");
}

#[test]
fn a_page_goes_on_behind_receipts_that_lost_their_certificate() {
    let (_directory, mut store) = store(100);
    let (lost, kept) = (Member::new(1), Member::new(2));
    let items: Vec<_> = (0..20).map(|number| lost.item(9, NOW.plus(number), 1)).collect();
    store.put(&items, NOW).unwrap();
    store.put(&[kept.item(9, NOW.plus(30), 1), kept.item(9, NOW.plus(31), 1)], NOW).unwrap();
    store.connection.execute("DELETE FROM certificate WHERE id = 1", []).unwrap();
    let first = store.receipts_after(None, 1).unwrap();
    assert_eq!(first[0].0, kept.item(9, NOW.plus(30), 1).0.session());
    assert_eq!(store.receipts_after(None, 9).unwrap().len(), 2);
    assert_eq!(store.receipts_after(Some(first[0].0), 9).unwrap().len(), 1);
    assert_eq!(store.receipts_after(None, 0), Ok(vec![]));
}
