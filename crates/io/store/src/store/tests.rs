use super::*;
use crate::sample::{Member, NOW, old_format, store};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const LIMITS: Limits = Limits { receipts_max: 100, own_team: None };

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn every_file_of_a_store_belongs_to_its_owner_alone() {
    let (directory, mut store) = store(10);
    store.put(&[Member::new(1).item(9, NOW, 1)], NOW).unwrap();
    let mut files = Vec::new();
    for entry in fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        files.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    files.sort();
    assert_eq!(files, ["receipts.db", "receipts.db-wal", "receipts.db.id"]);
}

#[test]
fn commits_wait_for_the_disk() {
    let (_directory, store) = store(10);
    let setting = |name| -> String {
        let read = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
        let value = store.connection.pragma_query_value(None, name, read).unwrap();
        format!("{value:?}")
    };
    assert_eq!(setting("journal_mode"), "Text(\"wal\")");
    assert_eq!(setting("synchronous"), "Integer(2)", "FULL");
    assert_eq!(setting("foreign_keys"), "Integer(1)");
    assert_eq!(setting("locking_mode"), "Text(\"exclusive\")");
}

#[test]
fn a_store_is_opened_once_at_a_time() {
    let (_directory, store) = store(10);
    let path = store.path().to_owned();
    let in_use = StoreError::InUse { path: path.clone() };
    assert_eq!(Store::open(&path, LIMITS).unwrap_err(), in_use);
    drop(store);
    let again = Store::open(&path, LIMITS).unwrap();
    assert_eq!(Store::open(&path, LIMITS).unwrap_err(), in_use);
    drop(again);
}

#[test]
fn what_is_not_a_store_is_refused_and_left_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("receipts.db");
    let foreign = directory.path().join("foreign.db");
    let connection = Connection::open(&foreign).unwrap();
    connection.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    drop(connection);
    #[rustfmt::skip]
    let cases = [
        ("a note",             b"hello".to_vec()),
        ("a long text",        "all work and no play\n".repeat(1_000).into_bytes()),
        ("a foreign database", fs::read(&foreign).unwrap()),
    ];
    for (name, bytes) in cases {
        fs::write(&path, &bytes).unwrap();
        let error = Store::open(&path, LIMITS).unwrap_err();
        assert!(matches!(error, StoreError::NotAStore { .. }), "{name}: {error}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "{name}");
    }
}

#[test]
fn a_damaged_store_is_refused_or_found_out_and_left_as_it_was() {
    let (directory, mut store) = store(1_000);
    let items: Vec<_> = (0..200).map(|number| Member::new(1).item(9, NOW.plus(number), 1)).collect();
    store.put(&items, NOW).unwrap();
    let path = store.path().to_owned();
    drop(store);
    let whole = fs::read(&path).unwrap();

    let cut = &whole[..whole.len() / 2];
    fs::write(&path, cut).unwrap();
    let error = Store::open(&path, LIMITS).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), cut);

    let mut spoilt = whole.clone();
    let middle = spoilt.len() / 2;
    spoilt[middle..middle + 4_096].fill(0x5a);
    fs::write(&path, &spoilt).unwrap();
    let found = Store::open(&path, LIMITS).and_then(|store| store.integrity_check());
    assert!(matches!(found, Err(StoreError::Damaged { .. })), "{found:?}");
    assert_eq!(fs::read(&path).unwrap(), spoilt);

    fs::write(&path, &whole).unwrap();
    assert_eq!(Store::open(&path, LIMITS).unwrap().count(), 200);
    drop(directory);
}

#[test]
fn a_newer_format_is_refused_and_left_as_it_was() {
    let (_directory, store) = store(10);
    let path = store.path().to_owned();
    store.connection.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    let before = fs::read(&path).unwrap();
    let newer = StoreError::Newer { path: path.clone(), got: 99, want: 4 };
    assert_eq!(Store::open(&path, LIMITS).unwrap_err(), newer);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_path_without_a_directory_is_refused_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path().join("no/such.db"), directory.path().to_owned()] {
        let error = Store::open(&path, LIMITS).unwrap_err();
        assert!(matches!(error, StoreError::Open { .. }), "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn an_empty_file_becomes_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("receipts.db");
    fs::write(&path, "").unwrap();
    assert_eq!(Store::open(&path, LIMITS).unwrap().count(), 0);
}

#[test]
fn a_store_that_was_emptied_or_replaced_is_not_taken_for_a_new_one() {
    let (directory, mut store) = store(1_000);
    store.put(&[Member::new(1).item(9, NOW, 1)], NOW).unwrap();
    let path = store.path().to_owned();
    let marker = directory.path().join("receipts.db.id");
    drop(store);
    let whole = fs::read(&path).unwrap();
    let emptied = StoreError::Emptied { path: path.clone(), marker: marker.clone() };
    fs::write(&path, "").unwrap();
    assert_eq!(Store::open(&path, LIMITS).unwrap_err(), emptied);
    fs::remove_file(&path).unwrap();
    assert_eq!(Store::open(&path, LIMITS).unwrap_err(), emptied);
    assert!(!path.exists(), "nothing was made in its place");
    // Another store, whole in itself.
    let other = directory.path().join("other.db");
    drop(Store::open(&other, LIMITS).unwrap());
    fs::copy(&other, &path).unwrap();
    let replaced = StoreError::Replaced { path: path.clone(), marker: marker.clone() };
    assert_eq!(Store::open(&path, LIMITS).unwrap_err(), replaced);
    // The file that was there, from a backup; without its marker; and a new beginning.
    fs::write(&path, &whole).unwrap();
    assert_eq!(Store::open(&path, LIMITS).unwrap().count(), 1);
    fs::remove_file(&marker).unwrap();
    assert_eq!(Store::open(&path, LIMITS).unwrap().count(), 1);
    assert!(marker.exists());
    fs::remove_file(&path).unwrap();
    fs::remove_file(&marker).unwrap();
    assert_eq!(Store::open(&path, LIMITS).unwrap().count(), 0);
}

#[test]
fn a_bit_that_fell_over_in_a_row_is_found() {
    let (_directory, mut store) = store(1_000);
    let items: Vec<_> = (0..50).map(|number| Member::new(1).item(9, NOW.plus(number), 1_000)).collect();
    store.put(&items, NOW).unwrap();
    assert_eq!(store.check_rows(), Ok(()));
    for change in [
        "weight = weight + 4096",
        "started = started + 64",
        "provider = provider + 1",
        "member = member + 1",
        "certificate = certificate + 1",
    ] {
        store.connection.execute_batch(&format!("BEGIN; UPDATE receipt SET {change} WHERE id = 7")).unwrap();
        assert!(matches!(store.check_rows(), Err(StoreError::Damaged { .. })), "{change}");
        store.connection.execute_batch("ROLLBACK").unwrap();
    }
    assert_eq!(store.check_rows(), Ok(()));
}

#[test]
fn a_copy_is_the_same_store_and_is_made_while_it_is_open() {
    let (directory, mut store) = store(1_000);
    let items: Vec<_> = (0..200).map(|number| Member::new(1).item(9, NOW.plus(number), 1)).collect();
    store.put(&items, NOW).unwrap();
    let (path, copy) = (store.path().to_owned(), directory.path().join("copy.db"));
    assert!(matches!(Store::copy_closed(&path, &copy), Err(StoreError::InUse { .. })), "it is open");
    fs::remove_file(&copy).unwrap();
    store.copy_to(&copy).unwrap();
    assert_eq!(mode(&copy), 0o600);
    let edges = store.edges().unwrap();
    store.put(&[Member::new(2).item(9, NOW, 1)], NOW).unwrap();
    drop(store);
    let again = directory.path().join("again.db");
    Store::copy_closed(&path, &again).unwrap();
    // Under the marker of the store, as it comes back.
    fs::rename(&copy, &path).unwrap();
    let restored = Store::open(&path, LIMITS).unwrap();
    restored.integrity_check().unwrap();
    assert_eq!((restored.count(), restored.edges().unwrap()), (200, edges));
    drop(restored);
    fs::rename(&again, &path).unwrap();
    assert_eq!(Store::open(&path, LIMITS).unwrap().count(), 201);
}

#[test]
fn a_store_of_any_format_before_is_brought_up_to_date_with_all_that_it_holds() {
    let (own, others) = (Member::new(1), [Member::new(2), Member::new(3)]);
    let item = |number: u64| match number % 4 {
        0 => own.item(9, NOW.plus(number), number),
        1 => others[0].item(7, NOW.plus(number), number),
        _ => others[1].item(8, NOW.plus(number), number),
    };
    let items: Vec<_> = (0..200).map(item).collect();
    let limits = Limits { receipts_max: 100_000, own_team: Some(own.certificate.team_id()) };
    let (_directory, mut want) = store(100_000);
    want.put(&items[..50], NOW).unwrap();
    let first_hand = |store: &Store| {
        let mut all = Vec::new();
        store.first_hand(own.certificate.team_id(), UnixSeconds(0), |receipt, _| all.push(receipt)).unwrap();
        all
    };
    for format in 1..4 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("receipts.db");
        old_format(&path, format, &items[..50]);
        let mut store = Store::open(&path, limits).unwrap();
        assert_eq!((store.count(), store.counts.second_hand), (50, 37), "format {format}");
        assert_eq!(store.integrity_check(), Ok(()), "format {format}");
        assert_eq!(store.edges(), want.edges(), "format {format}");
        assert_eq!(store.receipts_after(None, 99), want.receipts_after(None, 99), "format {format}");
        let sessions = |store: &Store| -> Vec<_> {
            store.arrivals_after(0, 99).unwrap().iter().map(|it| (it.number, it.session)).collect()
        };
        assert_eq!(sessions(&store), sessions(&want), "format {format}");
        assert_eq!(first_hand(&store), first_hand(&want), "format {format}");
        store.put(&items, NOW).unwrap();
        assert!(store.has_recent(), "what waits has a table");
        drop(store);
        let store = Store::open(&path, limits).unwrap();
        assert_eq!((store.count(), store.integrity_check()), (200, Ok(())), "format {format}");
        let version: i64 = store.connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, 4);
    }
}

#[test]
fn an_upgrade_keeps_which_receipts_are_of_others_dealings() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("receipts.db");
    let own = Member::new(1);
    let team = own.certificate.team_id();
    let items: Vec<_> = (0..50).map(|number| own.item(9, NOW.plus(number), number)).collect();
    old_format(&path, 3, &items);
    // Other rows than those that would be marked anew, which is none of a team's own.
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE receipt SET second_hand = 1 WHERE id IN (3, 5, 7)", []).unwrap();
    let number = i64::from_be_bytes(*team.0.first_chunk().unwrap());
    connection.execute("INSERT INTO state (key, value) VALUES ('own-team', ?)", [number]).unwrap();
    drop(connection);
    let limits = |own_team| Limits { receipts_max: 100, own_team };
    let store = Store::open(&path, limits(Some(team))).unwrap();
    let sql = "SELECT group_concat(id) FROM (SELECT id FROM receipt WHERE second_hand = 1 ORDER BY id)";
    let marked: String = store.connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!((marked.as_str(), store.counts.second_hand), ("3,5,7", 3));
    drop(store);
    assert_eq!(Store::open(&path, limits(Some(TeamId([8; 24])))).unwrap().counts.second_hand, 50);
}

#[test]
fn an_upgrade_is_done_with_all_receipts_marked_or_leaves_the_old_format() {
    let (own, other) = (Member::new(1), Member::new(2));
    let team = Some(own.certificate.team_id());
    let item =
        |number: u64| [&own, &other][usize::from(number.is_multiple_of(4))].item(9, NOW.plus(number), number);
    let items: Vec<_> = (0..200).map(item).collect();
    for format in 1..4 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("receipts.db");
        old_format(&path, format, &items);
        let mut connection = Connection::open(&path).unwrap();
        let number = |connection: &Connection, sql: &str| -> i64 {
            connection.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        let pages = number(&connection, "PRAGMA page_count");
        let fits = (0..pages * 2).find(|room| {
            connection.pragma_update(None, "max_page_count", pages + room).unwrap();
            let prepared = schema::prepare(&mut connection, &path, 1_024, team);
            let version = number(&connection, "PRAGMA user_version");
            match &prepared {
                Ok(()) => assert_eq!(version, 4, "{room} pages"),
                Err(error) => {
                    assert_eq!(*error, StoreError::DiskFull { path: path.clone() });
                    assert_eq!(version, i64::try_from(format).unwrap(), "{room} pages");
                }
            }
            prepared.is_ok()
        });
        assert!(fits.is_some_and(|room| room > 5), "format {format}: {fits:?} pages");
        assert_eq!(own::is_classified(&connection, team), Ok(true), "format {format}");
        assert_eq!(number(&connection, "SELECT count(*) FROM receipt WHERE second_hand = 1"), 50);
    }
}

#[test]
fn an_upgrade_leaves_out_receipts_whose_certificate_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("receipts.db");
    let (kept, lost) = (Member::new(1), Member::new(2));
    let items = [kept.item(9, NOW, 1), lost.item(8, NOW, 2), kept.item(8, NOW, 3), lost.item(7, NOW, 4)];
    old_format(&path, 3, &items);
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "foreign_keys", "OFF").unwrap();
    connection.execute("DELETE FROM certificate WHERE ref = ?", [lost.certificate.reference().0]).unwrap();
    drop(connection);
    let store = Store::open(&path, LIMITS).unwrap();
    assert_eq!((store.count(), store.integrity_check()), (2, Ok(())));
    let number = |sql| -> i64 { store.connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(number("SELECT count(*) FROM member"), 1);
    assert_eq!(number("SELECT count(*) FROM provider"), 2);
}
