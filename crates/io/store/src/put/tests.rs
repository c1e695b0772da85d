use super::*;
use crate::Store;
use crate::sample::{Member, NOW, certify, store};
use guestright_receipt::{Admission, ReceiptError, Registers};
use guestright_units::TeamId;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;

mod waiting;

/// Two members; the first has two certificates of its team, and one of the second's team.
fn certificates() -> Vec<(Member, Certificate)> {
    let serial = |owner: u64, team: u64, serial| {
        let (owner, team) = (Member::new(owner), Member::new(team));
        let certificate = certify(&team.team, &owner.key, serial);
        (owner, certificate)
    };
    vec![serial(1, 1, 0), serial(1, 1, 1), serial(1, 2, 0), serial(2, 2, 0)]
}

type Ask = (usize, u8, u64, u64);

fn asks() -> impl Strategy<Value = Vec<Vec<Ask>>> {
    let ask = (0_usize..4, 1_u8..3, 0_u64..4, 0_u64..5);
    proptest::collection::vec(proptest::collection::vec(ask, 0..6), 0..12)
}

fn items(batch: &[Ask], from: &[(Member, Certificate)], now: UnixSeconds) -> Vec<(Receipt, Certificate)> {
    let item = |&(signer, provider, started, weight): &Ask| {
        let (member, certificate) = &from[signer];
        // Some sessions begin in the past, one in the future.
        let started = now.minus(5 * started).plus(9);
        let provider = TeamId([provider; 24]);
        let receipt = Receipt::sign(&member.key, certificate, provider, started, Bytes(weight));
        (receipt, certificate.clone())
    };
    batch.iter().map(item).collect()
}

fn outcome(admission: Result<Admission, ReceiptError>) -> Outcome {
    match admission {
        Ok(Admission::New) => Outcome::New,
        Ok(Admission::Raised(by)) => Outcome::Raised(by),
        Ok(Admission::Known) => Outcome::Known,
        Err(ReceiptError::LowerWeight { got, known }) => Outcome::Lower { got, known },
        Err(other) => panic!("{other}"),
    }
}

fn sums(edges: &[Edge]) -> BTreeMap<(TeamId, TeamId), u128> {
    let sum = |edge: &Edge| ((edge.consumer, edge.provider), u128::from(edge.weight.0));
    edges.iter().map(sum).collect()
}

/// What the report says has to be what became of the edges.
fn assert_explains(report: &PutReport, before: &[Edge], after: &[Edge]) {
    let mut explained = sums(before);
    for (pair, weight) in sums(&report.added) {
        *explained.entry(pair).or_default() += weight;
    }
    for (pair, weight) in sums(&report.evicted) {
        *explained.get_mut(&pair).unwrap() -= weight;
    }
    explained.retain(|_, weight| *weight > 0);
    assert_eq!(explained, sums(after));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_store_agrees_with_registers_and_survives_reopening(batches in asks()) {
        let from = certificates();
        let (_directory, mut store) = store(1_000_000);
        let mut registers = Registers::default();
        for batch in batches {
            let items = items(&batch, &from, NOW);
            let before = store.edges().unwrap();
            let report = store.put(&items, NOW).unwrap();
            let want: Vec<_> = items.into_iter().map(|(receipt, _)| outcome(registers.admit(receipt))).collect();
            prop_assert_eq!(&report.outcomes, &want);
            assert_explains(&report, &before, &store.edges().unwrap());
        }
        let (path, limits, edges) = (store.path.clone(), store.limits, store.edges().unwrap());
        drop(store);
        let store = Store::open(&path, limits).unwrap();
        prop_assert_eq!(store.edges().unwrap(), edges);
        prop_assert_eq!(store.count(), registers.len() as u64);
        for receipt in registers.iter() {
            prop_assert_eq!(store.get(&receipt.session()).unwrap(), Some(receipt.clone()));
            let certificate = store.certificate(receipt.certificate()).unwrap().unwrap();
            prop_assert_eq!(certificate.reference(), receipt.certificate());
        }
        prop_assert_eq!(store.integrity_check(), Ok(()));
        assert_nothing_is_left_over(&store);
    }

    #[test]
    fn a_full_store_keeps_the_youngest(batches in asks(), max in 0_usize..6) {
        let from = certificates();
        let (_directory, mut store) = store(max as u64);
        let mut model: BTreeMap<SessionKey, (UnixSeconds, usize)> = BTreeMap::new();
        let mut arrivals = 0;
        for (number, batch) in (0..).zip(batches) {
            let now = NOW.plus(number);
            let items = items(&batch, &from, now);
            let before = store.edges().unwrap();
            let report = store.put(&items, now).unwrap();
            assert_explains(&report, &before, &store.edges().unwrap());
            for (receipt, _) in &items {
                arrivals += 1;
                model.entry(receipt.session()).or_insert((now, arrivals));
            }
            while model.len() > max {
                let age = |session: &SessionKey, (seen, arrival): &(UnixSeconds, usize)| {
                    (session.started.min(*seen), Reverse(session.started), *arrival)
                };
                let oldest = *model.iter().min_by_key(|(session, seen)| age(session, seen)).unwrap().0;
                model.remove(&oldest);
            }
            prop_assert_eq!(store.count(), model.len() as u64);
            for session in model.keys() {
                prop_assert!(store.get(session).unwrap().is_some());
            }
            assert_nothing_is_left_over(&store);
        }
    }
}

fn assert_nothing_is_left_over(store: &Store) {
    for (table, needed) in [
        ("certificate", "SELECT certificate FROM receipt"),
        ("provider", "SELECT provider FROM receipt"),
        ("member", "SELECT member FROM certificate"),
    ] {
        let sql = format!("SELECT count(*) FROM {table} WHERE id NOT IN ({needed})");
        let left: i64 = store.connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "{table}");
    }
}

#[test]
fn items_of_one_batch_work_in_order() {
    let (_directory, mut store) = store(10);
    let member = Member::new(1);
    let batch = [5, 8, 8, 3].map(|weight| member.item(9, NOW, weight));
    let report = store.put(&batch, NOW).unwrap();
    let lower = Outcome::Lower { got: Bytes(3), known: Bytes(8) };
    let want = [Outcome::New, Outcome::Raised(Bytes(3)), Outcome::Known, lower];
    assert_eq!(report.outcomes, want);
    let edge = Edge { consumer: member.team.public().team_id(), provider: TeamId([9; 24]), weight: Bytes(8) };
    assert_eq!(report.added, [edge]);
    assert_eq!(store.edges(), Ok(vec![edge]));
}

#[test]
fn a_receipt_with_another_certificate_is_refused_with_its_whole_batch() {
    let (_directory, mut store) = store(10);
    let (one, two) = (Member::new(1), Member::new(2));
    let mixed = (one.item(9, NOW, 5).0, two.certificate.clone());
    let refused =
        StoreError::OtherCertificate { got: two.certificate.reference(), want: one.certificate.reference() };
    assert_eq!(store.put(&[two.item(9, NOW, 1), mixed], NOW), Err(refused));
    assert_eq!(store.count(), 0);
}

#[test]
fn weights_and_dates_of_64_bits_are_compared_and_summed_without_sign() {
    let (_directory, mut store) = store(10);
    let member = Member::new(1);
    let far = UnixSeconds(u64::MAX);
    let weights = [1, u64::MAX - 1, u64::MAX, 1 << 63];
    let report = store.put(&weights.map(|weight| member.item(9, far, weight)), NOW).unwrap();
    let lower = Outcome::Lower { got: Bytes(1 << 63), known: Bytes(u64::MAX) };
    let raised = Outcome::Raised;
    assert_eq!(report.outcomes, [Outcome::New, raised(Bytes(u64::MAX - 2)), raised(Bytes(1)), lower]);
    store.put(&[member.item(9, NOW, 7)], NOW).unwrap();
    assert_eq!(store.edges().unwrap()[0].weight, Bytes(u64::MAX));
    let shown = store.receipts_of_provider(TeamId([9; 24]), UnixSeconds(0), 9).unwrap();
    assert_eq!(shown.len(), 1, "no session begins in the year 292 billion");
    assert_eq!(shown[0].0, member.item(9, NOW, 7).0.as_bytes());
}

/// Sessions in the order in which they are evicted, one by one.
fn order_of_eviction(receipts: Vec<(UnixSeconds, u64, UnixSeconds)>) -> Vec<u64> {
    let count = receipts.len() as u64;
    let (_directory, mut store) = store(count);
    let member = Member::new(1);
    for (started, weight, now) in receipts {
        store.put(&[member.item(9, started, weight)], now).unwrap();
    }
    let mut order = Vec::new();
    for left in (0..count).rev() {
        store.limits.receipts_max = left;
        let report = store.put(&[], NOW.plus(1_000)).unwrap();
        order.extend(report.evicted.iter().map(|edge| edge.weight.0));
    }
    order
}

#[test]
fn no_date_makes_a_receipt_outlive_an_honest_one_that_came_with_it() {
    let (ahead, never) = (NOW.plus(600), UnixSeconds(u64::MAX));
    // Weights stand for: 1 honest, 2 dated ahead, 3 dated back, 4 dated beyond all dates.
    for turn in 0..4 {
        let mut together = vec![(NOW, 1, NOW), (ahead, 2, NOW), (NOW.minus(900), 3, NOW), (never, 4, NOW)];
        together.rotate_left(turn);
        assert_eq!(order_of_eviction(together), [3, 4, 2, 1], "turn {turn}");
    }
}

#[test]
fn a_larger_receipt_makes_its_session_no_younger() {
    let raised = vec![(NOW, 1, NOW), (NOW.plus(1), 10, NOW.plus(1)), (NOW, 2, NOW.plus(9))];
    assert_eq!(order_of_eviction(raised), [2, 10]);
}

#[test]
fn a_large_store_makes_room_for_more_than_the_next_receipt() {
    let (_directory, mut store) = store(640);
    let member = Member::new(1);
    let all: Vec<_> = (0..642).map(|number| member.item(9, NOW.plus(number), 1)).collect();
    assert_eq!(store.put(&all[..640], NOW.plus(700)).unwrap().evicted, []);
    let report = store.put(&all[640..641], NOW.plus(700)).unwrap();
    assert_eq!((report.evicted[0].weight, store.count()), (Bytes(11), 630));
    assert_eq!(store.put(&all[641..], NOW.plus(700)).unwrap().evicted, []);
    assert_eq!(store.get(&all[10].0.session()), Ok(None));
    assert!(store.get(&all[11].0.session()).unwrap().is_some());
}

#[test]
fn an_evicted_session_may_come_back() {
    let (_directory, mut store) = store(1);
    let member = Member::new(1);
    let old = member.item(9, NOW, 4);
    store.put(&[old.clone(), member.item(9, NOW.plus(1), 1)], NOW.plus(1)).unwrap();
    let report = store.put(&[old], NOW.plus(2)).unwrap();
    assert_eq!(report.outcomes, [Outcome::New]);
    assert_eq!((report.added[0].weight, report.evicted[0].weight), (Bytes(4), Bytes(4)));
}

#[test]
fn a_damaged_file_stays_writable_and_evicts_what_did_not_count_without_an_edge() {
    #[rustfmt::skip]
    let damages = [
        // How many edges go with two receipts, if they go one by one.
        ("UPDATE certificate SET receipts = 0",  1),
        ("UPDATE certificate SET receipts = 7",  2),
        ("DELETE FROM certificate WHERE id = 1", 0),
        ("DELETE FROM provider WHERE id = 1",    0),
    ];
    for waits in [false, true] {
        for (damage, want) in damages {
            let (_directory, mut store) = store(3);
            let (one, two) = (Member::new(1), Member::new(2));
            let items = [one.item(9, NOW, 4), one.item(9, NOW.plus(1), 5), two.item(8, NOW.plus(2), 1)];
            store.put(&items, NOW.plus(2)).unwrap();
            store.connection.execute(damage, []).unwrap();
            if waits {
                store.recent_limits = RecentLimits { direct_max: 0, recent_max: 100, records_max: 200 };
            }
            let mut edges = 0;
            for number in 3..5 {
                let report = store.put(&[two.item(8, NOW.plus(number), 1)], NOW.plus(number)).unwrap();
                assert_eq!(report.outcomes, [Outcome::New], "{damage}");
                assert_eq!(store.has_recent(), waits, "{damage}");
                edges += report.evicted.len();
                // As another transaction finds it.
                store.move_recent().unwrap();
            }
            assert_eq!((store.count(), edges), (3, want), "{damage}, {waits}");
            let edge =
                Edge { consumer: two.team.public().team_id(), provider: TeamId([8; 24]), weight: Bytes(3) };
            assert_eq!(store.edges(), Ok(vec![edge]), "{damage}, {waits}");
            assert_eq!(store.check_rows(), Ok(()), "{damage}, {waits}");
        }
    }
}

#[test]
fn a_receipt_that_lost_its_certificate_counts_again_when_a_larger_one_comes() {
    let (_directory, mut store) = store(10);
    let member = Member::new(1);
    store.put(&[member.item(9, NOW, 4), Member::new(2).item(8, NOW, 1)], NOW).unwrap();
    store.connection.execute("DELETE FROM certificate WHERE id = 1", []).unwrap();
    let report = store.put(&[member.item(9, NOW, 6)], NOW).unwrap();
    assert_eq!((report.outcomes, report.evicted), (vec![Outcome::Raised(Bytes(2))], vec![]));
    assert_eq!(report.added[0].weight, Bytes(6));
    assert_eq!(store.integrity_check(), Ok(()));
    assert!(store.edges().unwrap().contains(&report.added[0]));
}
