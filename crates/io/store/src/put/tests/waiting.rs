//! Receipts that wait to be moved to the others are as if they had been: for whoever puts, reads, evicts or is killed.

use super::*;
use std::fs;
use std::ops::ControlFlow;

/// What a store should hold: a plain map.
#[derive(Clone, Default)]
struct Model {
    kept: BTreeMap<SessionKey, Known>,
    arrivals: u64,
}

#[derive(Clone)]
struct Known {
    receipt: Receipt,
    seen: UnixSeconds,
    arrival: u64,
    second_hand: bool,
}

impl Model {
    fn put(&mut self, items: &[(Receipt, Certificate)], now: UnixSeconds, limits: Limits) -> Vec<Outcome> {
        let outcomes = items.iter().map(|(receipt, _)| self.admit(receipt, now, limits)).collect();
        let max = usize::try_from(limits.receipts_max).unwrap();
        let second_hand = |model: &Self| model.kept.values().filter(|known| known.second_hand).count();
        if limits.own_team.is_some() {
            let first_hand = self.kept.len() - second_hand(self);
            let share = (max / 10).min(max.saturating_sub(first_hand));
            while second_hand(self) > share {
                self.evict(true);
            }
        }
        while self.kept.len() > max {
            self.evict(false);
        }
        outcomes
    }

    fn admit(&mut self, receipt: &Receipt, now: UnixSeconds, limits: Limits) -> Outcome {
        let got = receipt.weight();
        let Some(known) = self.kept.get_mut(&receipt.session()) else {
            self.arrivals += 1;
            let second_hand =
                limits.own_team.is_some_and(|own| receipt.provider() != own && receipt.consumer() != own);
            let known = Known { receipt: receipt.clone(), seen: now, arrival: self.arrivals, second_hand };
            self.kept.insert(receipt.session(), known);
            return Outcome::New;
        };
        let weight = known.receipt.weight();
        if got < weight {
            return Outcome::Lower { got, known: weight };
        }
        if (got, receipt.as_bytes()) > (weight, known.receipt.as_bytes()) {
            known.receipt = receipt.clone();
        }
        if got > weight { Outcome::Raised(got.saturating_sub(weight)) } else { Outcome::Known }
    }

    fn evict(&mut self, second_hand: bool) {
        let among = self.kept.iter().filter(|(_, known)| known.second_hand == second_hand);
        let age = |(session, known): &(&SessionKey, &Known)| {
            (session.started.min(known.seen), Reverse(session.started), known.arrival)
        };
        let oldest = *among.min_by_key(age).unwrap().0;
        self.kept.remove(&oldest);
    }

    fn edges(&self) -> BTreeMap<(TeamId, TeamId), u128> {
        let mut sums = BTreeMap::new();
        for Known { receipt, .. } in self.kept.values().filter(|known| known.receipt.weight() > Bytes(0)) {
            *sums.entry((receipt.consumer(), receipt.provider())).or_default() +=
                u128::from(receipt.weight().0);
        }
        sums
    }

    fn receipts(&self) -> Vec<Vec<u8>> {
        let mut all: Vec<_> = self.kept.values().map(|known| known.receipt.as_bytes().to_vec()).collect();
        all.sort_unstable();
        all
    }

    fn in_order_of_arrival(&self) -> Vec<SessionKey> {
        let mut all: Vec<_> = self.kept.iter().map(|(session, known)| (known.arrival, *session)).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, session)| session).collect()
    }
}

fn receipts(store: &Store) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let show = |receipt: &[u8], _: &[u8]| {
        all.push(receipt.to_vec());
        ControlFlow::Continue(())
    };
    store.for_each_receipt(show).unwrap();
    all.sort_unstable();
    all
}

fn sorted(items: &[(Receipt, Certificate)]) -> Vec<Vec<u8>> {
    let mut all: Vec<_> = items.iter().map(|(receipt, _)| receipt.as_bytes().to_vec()).collect();
    all.sort_unstable();
    all
}

fn explain(sums: &mut BTreeMap<(TeamId, TeamId), u128>, report: &PutReport) {
    for edge in &report.added {
        *sums.entry((edge.consumer, edge.provider)).or_default() += u128::from(edge.weight.0);
    }
    for edge in &report.evicted {
        *sums.get_mut(&(edge.consumer, edge.provider)).unwrap() -= u128::from(edge.weight.0);
    }
    sums.retain(|_, weight| *weight > 0);
}

#[derive(Clone, Debug)]
enum Op {
    Put(Vec<Ask>),
    /// The disk does not take anything.
    PutReadOnly(Vec<Ask>),
    Index,
    Reopen,
    /// As when the process is killed and another one begins.
    LookClosed,
    /// As when the disk has no room to move what waits.
    LookFull,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let batch = || proptest::collection::vec((0_usize..4, 1_u8..4, 0_u64..6, 0_u64..5), 0..6);
    let op = prop_oneof![
        8 => batch().prop_map(Op::Put),
        1 => batch().prop_map(Op::PutReadOnly),
        1 => Just(Op::Index),
        1 => Just(Op::Reopen),
        1 => Just(Op::LookClosed),
        1 => Just(Op::LookFull),
    ];
    proptest::collection::vec(op, 0..16)
}

fn recent_limits() -> impl Strategy<Value = RecentLimits> {
    let limits = (0_usize..3, 1_usize..24, 1_usize..48);
    limits.prop_map(|(direct_max, recent_max, records_max)| RecentLimits {
        direct_max,
        recent_max,
        records_max,
    })
}

/// A copy of a store that is open, as a kill at this moment leaves it, with only so many octets of what was written last.
fn killed(store: &Store, written: usize) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("receipts.db");
    let with = |path: &std::path::Path, end| path.with_file_name(format!("receipts.db{end}"));
    for end in ["", ".id"] {
        fs::copy(with(store.path(), end), with(&path, end)).unwrap();
    }
    let log = fs::read(with(store.path(), "-wal")).unwrap();
    fs::write(with(&path, "-wal"), &log[..written.min(log.len())]).unwrap();
    (directory, path)
}

/// All sessions in pages of so many, of which only the last is not full.
fn in_pages(closed: &crate::ClosedStore, max: usize) -> Vec<crate::Arrival> {
    let mut all: Vec<crate::Arrival> = Vec::new();
    loop {
        let after = all.last().map_or(0, |arrival| arrival.number);
        let page = closed.arrivals_after(after, max).unwrap();
        let is_last = page.len() < max;
        all.extend(page);
        if is_last {
            return all;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_sequence_of_puts_moves_evictions_and_reopenings_gives_what_a_map_gives(
        ops in ops(),
        max in 0_u64..20,
        recent_limits in recent_limits(),
        has_own in proptest::bool::ANY,
    ) {
        let from = certificates();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("receipts.db");
        let limits = Limits { receipts_max: max, own_team: has_own.then_some(TeamId([1; 24])) };
        let open = || {
            let mut store = Store::open(&path, limits).unwrap();
            store.recent_limits = recent_limits;
            store
        };
        let (mut store, mut model, mut sums) = (open(), Model::default(), BTreeMap::new());
        for (number, op) in (0..).zip(ops) {
            let now = NOW.plus(number);
            match op {
                Op::Put(batch) => {
                    let items = items(&batch, &from, now);
                    let report = store.put(&items, now).unwrap();
                    prop_assert_eq!(&report.outcomes, &model.put(&items, now, limits));
                    explain(&mut sums, &report);
                }
                Op::PutReadOnly(batch) => {
                    let items = items(&batch, &from, now);
                    store.connection.pragma_update(None, "query_only", "ON").unwrap();
                    if let Ok(report) = store.put(&items, now) {
                        // There was nothing to write.
                        prop_assert_eq!(&report.outcomes, &model.put(&items, now, limits));
                        prop_assert_eq!((report.added, report.evicted), (vec![], vec![]));
                    }
                    store.connection.pragma_update(None, "query_only", "OFF").unwrap();
                }
                Op::Index => drop(store.indexed().unwrap()),
                Op::Reopen => {
                    drop(store);
                    store = open();
                }
                Op::LookFull => {
                    store.overlay().unwrap();
                    prop_assert_eq!(receipts(&store), model.receipts());
                    let arrivals = store.arrivals_after(0, 100).unwrap();
                    let sessions: Vec<_> = arrivals.iter().map(|arrival| arrival.session).collect();
                    prop_assert_eq!(sessions, model.in_order_of_arrival());
                }
                Op::LookClosed => {
                    let (_directory, path) = killed(&store, usize::MAX);
                    let closed = crate::ClosedStore::open(&path).unwrap();
                    let arrivals = closed.arrivals_after(0, 100).unwrap();
                    let sessions: Vec<_> = arrivals.iter().map(|arrival| arrival.session).collect();
                    prop_assert_eq!(sessions, model.in_order_of_arrival());
                    prop_assert!(arrivals.is_sorted_by_key(|arrival| arrival.number));
                    for page in 1..4 {
                        prop_assert_eq!(&in_pages(&closed, page), &arrivals);
                    }
                }
            }
            prop_assert_eq!(store.count(), model.kept.len() as u64);
            prop_assert_eq!(&sums, &model.edges());
        }
        prop_assert_eq!(receipts(&store), model.receipts());
        let arrivals = store.arrivals_after(0, 100).unwrap();
        let sessions: Vec<_> = arrivals.iter().map(|arrival| arrival.session).collect();
        prop_assert_eq!(sessions, model.in_order_of_arrival());
        prop_assert_eq!(store.integrity_check(), Ok(()));
        // Rows of what was evicted while others waited go with these.
        store.move_recent().unwrap();
        prop_assert_eq!(store.integrity_check(), Ok(()));
        assert_nothing_is_left_over(&store);
    }
}

/// What SQLite writes before a page in its log, and at the log's beginning (<https://www.sqlite.org/fileformat2.html#walformat>).
const FRAME_HEADER: usize = 24;
const LOG_HEADER: usize = 32;
const PAGE: usize = 4_096;

#[test]
fn a_kill_between_any_two_writes_loses_nothing_that_was_acknowledged() {
    let from = certificates();
    let (directory, mut store) = store(14);
    store.recent_limits = RecentLimits { direct_max: 1, recent_max: 9, records_max: 18 };
    let log = directory.path().join("receipts.db-wal");
    let written = || usize::try_from(fs::metadata(&log).unwrap().len()).unwrap();
    let first = written();
    let (mut model, mut moves) = (Model::default(), 0);
    let mut acknowledged = vec![(first, model.clone())];
    for number in 0..12 {
        let now = NOW.plus(number);
        let asks = [0, 1, 2, 3].map(|part: u64| {
            let signer = usize::try_from((number + part) % 4).unwrap();
            (signer, 1 + u8::try_from(part % 2).unwrap(), (3 * number + part) % 11, number)
        });
        let items = items(&asks, &from, now);
        store.put(&items, now).unwrap();
        model.put(&items, now, store.limits);
        moves += usize::from(!store.has_recent());
        acknowledged.push((written(), model.clone()));
    }
    assert!(moves > 2, "{moves} commits moved what waited");
    assert!(store.count() == 14, "some had to go");
    let writes =
        (first - LOG_HEADER) / (FRAME_HEADER + PAGE)..=(written() - LOG_HEADER) / (FRAME_HEADER + PAGE);
    for count in writes {
        // And half of the next write.
        for part in [0, PAGE / 2] {
            let length = LOG_HEADER + count * (FRAME_HEADER + PAGE) + part;
            let (_directory, path) = killed(&store, length);
            let again = Store::open(&path, store.limits).unwrap();
            let (_, want) = acknowledged.iter().rfind(|(written, _)| *written <= length).unwrap();
            assert_eq!(receipts(&again), want.receipts(), "after {count} writes");
            assert_eq!(again.count(), want.kept.len() as u64, "after {count} writes");
        }
    }
}

#[test]
fn what_waits_for_nobody_is_read_with_the_others() {
    let (_directory, mut store) = store(1_000_000);
    let member = Member::new(1);
    let items: Vec<_> = (0..100).map(|number| member.item(9, NOW.plus(number), number)).collect();
    store.put(&items[..1], NOW).unwrap();
    assert!(!store.has_recent(), "one receipt waits for nobody");
    store.put(&items, NOW).unwrap();
    assert!(store.has_recent());
    let rows: i64 = store.connection.query_row("SELECT count(*) FROM receipt", [], |row| row.get(0)).unwrap();
    assert_eq!((rows, store.count()), (1, 100));
    assert_eq!(store.get(&items[70].0.session()).unwrap().as_ref(), Some(&items[70].0));
    assert!(!store.has_recent(), "whoever reads moves them");
}

#[test]
fn a_spoilt_row_of_what_waits_is_found() {
    let (_directory, mut store) = store(1_000_000);
    store.recent_limits = FEW;
    let member = Member::new(1);
    let items: Vec<_> = (0..10).map(|number| member.item(9, NOW.plus(number), number)).collect();
    store.put(&items[..5], NOW).unwrap();
    store.put(&items[5..], NOW).unwrap();
    let (path, limits) = (store.path.clone(), store.limits);
    let damaged = StoreError::damaged(&path, "the latest receipts are not as they were written");
    let load = || Recent::load(&store.connection, &path).map(|recent| recent.len());
    let body: Vec<u8> =
        store.connection.query_row("SELECT body FROM recent WHERE id = 1", [], |row| row.get(0)).unwrap();
    let spoil = |body: &[u8]| store.connection.execute("UPDATE recent SET body = ? WHERE id = 1", [body]);
    for length in [0, 7, 8, 20, 60, body.len() - 8, body.len() - 1] {
        spoil(&body[..length]).unwrap();
        assert_eq!(load(), Err(damaged.clone()), "{length} octets");
    }
    for octet in 0..body.len() {
        let mut spoilt = body.clone();
        spoilt[octet] ^= 1 << (octet % 8);
        spoil(&spoilt).unwrap();
        assert_eq!(load(), Err(damaged.clone()), "a bit of octet {octet}");
    }
    spoil(&body).unwrap();
    assert_eq!(load(), Ok(10));
    for sql in ["UPDATE recent SET id = 3 WHERE id = 1", "DELETE FROM recent WHERE id = 3"] {
        store.connection.execute(sql, []).unwrap();
        assert_eq!(load(), Err(damaged.clone()), "{sql}");
    }
    drop(store);
    assert_eq!(Store::open(&path, limits).unwrap_err(), damaged);
}

/// How many records are in the table `recent`.
fn records(store: &Store) -> usize {
    Recent::load(&store.connection, &store.path).unwrap().records()
}

const FEW: RecentLimits = RecentLimits { direct_max: 4, recent_max: 64, records_max: 128 };

#[test]
fn receipts_that_are_raised_while_they_wait_do_not_fill_the_disk() {
    let (_directory, mut store) = store(1_000);
    store.recent_limits = FEW;
    let member = Member::new(1);
    let raised =
        |weight| -> Vec<_> { (0..10).map(|number| member.item(9, NOW.plus(number), weight)).collect() };
    let mut most = 0;
    for weight in 1..50 {
        store.put(&raised(weight), NOW).unwrap();
        most = most.max(records(&store));
        assert!(most < FEW.records_max, "{most} records after {weight} times 10 receipts");
    }
    assert!(most > FEW.recent_max, "{most} records: raises wait with the receipts that they raise");
    assert_eq!((store.count(), store.integrity_check()), (10, Ok(())));
    assert_eq!(receipts(&store), sorted(&raised(49)));
}

#[test]
fn receipts_that_are_older_than_all_others_do_not_fill_the_disk_of_a_full_store() {
    let (_directory, mut store) = store(40);
    store.recent_limits = FEW;
    let member = Member::new(1);
    let some = |first: u64, count| -> Vec<_> {
        (first..first + count).map(|number| member.item(9, NOW.plus(number), 1)).collect()
    };
    let latest = some(1_000_000, 40);
    store.put(&latest, NOW.plus(2_000_000)).unwrap();
    assert!(store.has_recent());
    let mut most = 0;
    for batch in 0..50 {
        let report = store.put(&some(10 * batch, 10), NOW.plus(2_000_000)).unwrap();
        assert_eq!(report.added.len(), report.evicted.len(), "all go at once");
        most = most.max(records(&store));
        assert!(most < FEW.records_max, "{most} records after {batch} batches");
    }
    assert!(most > FEW.recent_max, "{most} records: what came and went was appended");
    assert_eq!((receipts(&store), store.integrity_check()), (sorted(&latest), Ok(())));
}

#[test]
fn a_batch_with_which_too_many_would_wait_goes_to_the_table_of_receipts_at_once() {
    let (_directory, mut store) = store(1_000);
    store.recent_limits = FEW;
    let member = Member::new(1);
    let items: Vec<_> = (0..500).map(|number| member.item(9, NOW.plus(number), number)).collect();
    let in_table = |store: &Store| -> u64 {
        store
            .connection
            .query_row("SELECT count(*) FROM receipt", [], |row| row.get::<_, i64>(0))
            .unwrap()
            .cast_unsigned()
    };
    let mut before = 0;
    // How many there are after each batch, and how many of those wait.
    for (end, waiting) in [(10, 10), (63, 63), (64, 0), (84, 20), (400, 0), (463, 63), (500, 0)] {
        store.put(&items[before..end], NOW).unwrap();
        assert_eq!(store.count(), end as u64);
        assert_eq!(end as u64 - in_table(&store), waiting, "of {end}, after a batch of {}", end - before);
        before = end;
    }
    let sessions: Vec<_> = store.arrivals_after(0, 500).unwrap().iter().map(|it| it.session).collect();
    assert_eq!(sessions, items.iter().map(|(receipt, _)| receipt.session()).collect::<Vec<_>>());
    assert_eq!(store.integrity_check(), Ok(()));
}

#[test]
fn accounts_are_kept_without_moving_what_waits() {
    let (_directory, mut store) = store(1_000);
    let member = Member::new(1);
    let items: Vec<_> = (0..100).map(|number| member.item(9, NOW.plus(number), number)).collect();
    store.recent_limits = RecentLimits { direct_max: 4, recent_max: 101, records_max: 202 };
    store.put(&items, NOW).unwrap();
    // As where the store was opened with smaller limits and had no room for a move.
    store.recent_limits = FEW;
    store.keep_group(&[], &[]).unwrap();
    assert!(store.has_recent());
    store.put(&[], NOW).unwrap();
    assert!(!store.has_recent());
}

/// Lets the file grow by so many pages only: SQLite says of one more that the disk is full.
fn limit_pages(connection: &rusqlite::Connection, room: i64) {
    let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    connection.pragma_update(None, "max_page_count", pages + room).unwrap();
}

#[test]
fn on_a_full_disk_what_waits_is_read_with_the_others_and_moved_once_there_is_room() {
    let (member, stranger) = (Member::new(1), Member::new(2));
    let own_team = Some(member.certificate.team_id());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("receipts.db");
    let mut store = Store::open(&path, Limits { receipts_max: 330, own_team }).unwrap();
    store.recent_limits = RecentLimits { direct_max: 4, recent_max: 400, records_max: 800 };
    // Many providers, so that a move takes more pages than it makes free.
    let item = |number: u64| match number % 4 {
        0 => stranger.item(8, NOW.plus(number), number),
        _ => member.item(u8::try_from(number % 251).unwrap(), NOW.plus(number), number),
    };
    let items: Vec<_> = (0..340).map(item).collect();
    for item in &items[..40] {
        store.put(std::slice::from_ref(item), NOW).unwrap();
    }
    let in_table = |store: &Store| -> i64 {
        store.connection.query_row("SELECT count(*) FROM main.receipt", [], |row| row.get(0)).unwrap()
    };
    store.put(&items[40..], NOW.plus(1_000)).unwrap();
    assert!(store.has_recent(), "and some of the table of receipts are gone");
    assert_eq!((in_table(&store), store.counts.all < 340, store.counts.second_hand > 0), (40, true, true));
    // What the store says when all is moved.
    let (_directory, with_room) = killed(&store, usize::MAX);
    let with_room = Store::open(&with_room, store.limits).unwrap();

    limit_pages(&store.connection, 0);
    let full = StoreError::DiskFull { path: path.clone() };
    assert_eq!(store.move_recent(), Err(full.clone()));
    let assert_same = |store: &Store| {
        assert_eq!(receipts(store), receipts(&with_room));
        assert_eq!(store.edges().unwrap(), with_room.edges().unwrap());
        assert_eq!(store.last_arrival().unwrap(), with_room.last_arrival().unwrap());
        assert_eq!(store.arrivals_after(7, 99).unwrap(), with_room.arrivals_after(7, 99).unwrap());
        assert_eq!(store.receipts_after(None, 99).unwrap(), with_room.receipts_after(None, 99).unwrap());
        let session = items[150].0.session();
        assert_eq!(store.get(&session).unwrap(), with_room.get(&session).unwrap());
        assert_eq!(store.integrity_check(), Ok(()));
        assert_eq!(
            (store.counts.all, store.counts.second_hand),
            (with_room.counts.all, with_room.counts.second_hand)
        );
    };
    assert_same(&store);
    assert_eq!((in_table(&store), store.has_recent()), (40, true), "nothing was moved");
    assert_eq!(store.mark_flushed(&[]), Err(full));
    let copy = directory.path().join("copy.db");
    store.indexed().unwrap();
    store.copy_to(&copy).unwrap();
    assert_eq!(receipts(&Store::open(&copy, store.limits).unwrap()), receipts(&with_room));

    // As a home does that starts on the full disk.
    let (counts, limits) = (store.counts, store.limits);
    drop(store);
    let mut store = Store::open_with(&path, limits, |connection| limit_pages(connection, 0)).unwrap();
    assert!(store.has_recent());
    assert_same(&store);
    assert_eq!((store.counts.all, store.counts.second_hand), (counts.all, counts.second_hand));

    limit_pages(&store.connection, 1_000);
    let report = store.put(&[item(502)], NOW.plus(1_000)).unwrap();
    assert_eq!(report.outcomes, [Outcome::New]);
    assert_eq!(store.get(&item(502).0.session()).unwrap(), Some(item(502).0));
    assert!(!store.has_recent());
    assert_eq!(in_table(&store).cast_unsigned(), store.count());
    assert_eq!(store.integrity_check(), Ok(()));
}
