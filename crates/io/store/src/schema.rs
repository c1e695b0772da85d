//! The file's format: how it is made, recognised and brought up to date.

use crate::{StoreError, own};
use guestright_units::TeamId;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;

/// `grst` in the file's header (SQLite's `application_id`): a database of somebody else is never written to.
pub(crate) const APPLICATION_ID: i64 = 0x6772_7374;

/// Step n brings a file from format n to format n + 1. Steps are never edited once released, only added.
///
/// Numbers of 64 bits without sign are kept as the signed number with the same bits.
pub(crate) const STEPS: &[&str] = &[
    "
    CREATE TABLE certificate (
        id   INTEGER PRIMARY KEY,
        ref  BLOB NOT NULL UNIQUE CHECK (length(ref) = 16),
        team BLOB NOT NULL CHECK (length(team) = 24),
        raw  BLOB NOT NULL
    ) STRICT;
    CREATE INDEX certificate_by_team ON certificate (team);

    CREATE TABLE receipt (
        id          INTEGER PRIMARY KEY,
        provider    BLOB NOT NULL CHECK (length(provider) = 24),
        started     INTEGER NOT NULL,
        member      BLOB NOT NULL CHECK (length(member) = 24),
        certificate INTEGER NOT NULL REFERENCES certificate (id),
        weight      INTEGER NOT NULL,
        first_seen  INTEGER NOT NULL, -- by our own clock; stays when the receipt is superseded
        age         INTEGER NOT NULL, -- the earlier of started and first_seen
        flushed     INTEGER NOT NULL DEFAULT 0,
        raw         BLOB NOT NULL,
        UNIQUE (provider, started, member)
    ) STRICT;
    CREATE INDEX receipt_by_age ON receipt (age);
    CREATE INDEX receipt_by_certificate ON receipt (certificate);
    CREATE INDEX receipt_unflushed ON receipt (flushed) WHERE flushed = 0;

    CREATE TABLE revocation (
        id       INTEGER PRIMARY KEY,
        team     BLOB NOT NULL UNIQUE CHECK (length(team) = 24),
        sequence INTEGER NOT NULL,
        raw      BLOB NOT NULL
    ) STRICT;

    CREATE TABLE state (
        key   TEXT PRIMARY KEY,
        value INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    CREDIT,
    // One index says which of one's own dealings are the oldest, and which of others'.
    "
    DROP INDEX receipt_by_age;
    DROP INDEX receipt_second_hand;
    CREATE INDEX receipt_by_age ON receipt (second_hand, age);
",
    NUMBERS,
];

/// A home's credit (design note 0010), and which receipts are of strangers' dealings.
///
/// Nothing signs these rows, so each has eight bytes of a digest of itself: a bit that falls over is noticed.
const CREDIT: &str = "
    -- 1: our own team neither served nor was served. 0 in a store that was not told its team.
    ALTER TABLE receipt ADD COLUMN second_hand INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX receipt_second_hand ON receipt (age) WHERE second_hand = 1;

    CREATE TABLE account (
        team           BLOB PRIMARY KEY CHECK (length(team) = 24),
        owed           INTEGER NOT NULL, -- the only number that has a sign
        allowance_debt INTEGER NOT NULL,
        given          INTEGER NOT NULL,
        held           INTEGER NOT NULL,
        digest         BLOB NOT NULL CHECK (length(digest) = 8)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE hold (
        name        BLOB NOT NULL PRIMARY KEY CHECK (length(name) = 24),
        terms       BLOB NOT NULL,
        consumer    BLOB NOT NULL CHECK (length(consumer) = 24), -- as in the terms
        debtor      BLOB NOT NULL CHECK (length(debtor) = 24),   -- the home before the consumer's, likewise
        provider    BLOB NOT NULL CHECK (length(provider) = 24), -- of the session, with the next two
        started     INTEGER NOT NULL,
        member      BLOB NOT NULL CHECK (length(member) = 24),
        state       INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
        used        INTEGER CHECK ((used IS NOT NULL) = (state >= 3)),
        receipt     BLOB, -- the proof that the next home has not acknowledged
        certificate BLOB CHECK ((certificate IS NULL) = (receipt IS NULL)),
        digest      BLOB NOT NULL CHECK (length(digest) = 8)
    ) STRICT;
    CREATE INDEX hold_honoured ON hold (consumer, debtor) WHERE used > 0;

    -- What of each session is in the accounts.
    CREATE TABLE accounted (
        provider BLOB NOT NULL CHECK (length(provider) = 24),
        started  INTEGER NOT NULL,
        member   BLOB NOT NULL CHECK (length(member) = 24),
        weight   INTEGER NOT NULL,
        hold     BLOB CHECK (length(hold) = 24), -- the one that was used last
        on_holds INTEGER NOT NULL,
        digest   BLOB NOT NULL CHECK (length(digest) = 8),
        PRIMARY KEY (provider, started, member)
    ) STRICT, WITHOUT ROWID;

    -- With what the household sponsors other teams.
    CREATE TABLE sponsored (
        team   BLOB PRIMARY KEY CHECK (length(team) = 24),
        unused INTEGER NOT NULL,
        digest BLOB NOT NULL CHECK (length(digest) = 8)
    ) STRICT, WITHOUT ROWID;

    -- Since when sessions are accounted for, and what is left of the allowance at what time.
    CREATE TABLE credit (
        name   TEXT PRIMARY KEY CHECK (name IN ('sessions-since', 'allowance')),
        value  INTEGER NOT NULL,
        at     INTEGER NOT NULL,
        digest BLOB NOT NULL CHECK (length(digest) = 8)
    ) STRICT, WITHOUT ROWID;
";

/// Teams and members under numbers, which makes keys narrow, and receipts that came in a burst (design note 0020).
const NUMBERS: &str = "
    -- A damaged file may have receipts without their certificates: nobody can check or pass on those.
    DELETE FROM receipt WHERE certificate NOT IN (SELECT id FROM certificate);

    -- Teams that served, as long as a row of receipts names them.
    CREATE TABLE provider (
        id   INTEGER PRIMARY KEY,
        team BLOB NOT NULL UNIQUE CHECK (length(team) = 24)
    ) STRICT;
    INSERT INTO provider (team) SELECT DISTINCT provider FROM receipt;

    -- Whose certificates these are, as long as there is one.
    CREATE TABLE member (
        id   INTEGER PRIMARY KEY,
        name BLOB NOT NULL UNIQUE CHECK (length(name) = 24)
    ) STRICT;
    INSERT INTO member (name) SELECT DISTINCT member FROM receipt;

    CREATE TABLE numbered_certificate (
        id       INTEGER PRIMARY KEY,
        ref      BLOB NOT NULL UNIQUE CHECK (length(ref) = 16),
        team     BLOB NOT NULL CHECK (length(team) = 24),
        member   INTEGER NOT NULL REFERENCES member (id),
        receipts INTEGER NOT NULL CHECK (receipts >= 0), -- how many rows of receipts need it
        raw      BLOB NOT NULL
    ) STRICT;
    INSERT INTO numbered_certificate (id, ref, team, member, receipts, raw)
        SELECT c.id, c.ref, c.team, m.id, (SELECT count(*) FROM receipt r WHERE r.certificate = c.id), c.raw
        FROM certificate c CROSS JOIN member m
        ON m.name = (SELECT r.member FROM receipt r WHERE r.certificate = c.id LIMIT 1);

    -- No foreign keys: they would cost a search for each row, and an index of those that a certificate has.
    CREATE TABLE numbered_receipt (
        id          INTEGER PRIMARY KEY,
        provider    INTEGER NOT NULL,
        started     INTEGER NOT NULL,
        member      INTEGER NOT NULL,
        certificate INTEGER NOT NULL,
        weight      INTEGER NOT NULL,
        first_seen  INTEGER NOT NULL, -- by our own clock; stays when the receipt is superseded
        age         INTEGER NOT NULL, -- the earlier of started and first_seen
        second_hand INTEGER NOT NULL, -- 1: our own team neither served nor was served; 0 in a store that was not told its team
        flushed     INTEGER NOT NULL,
        raw         BLOB NOT NULL
    ) STRICT;
    INSERT INTO numbered_receipt
        SELECT r.id, p.id, r.started, m.id, r.certificate, r.weight, r.first_seen, r.age, r.second_hand, r.flushed, r.raw
        FROM receipt r JOIN provider p ON p.team = r.provider JOIN member m ON m.name = r.member ORDER BY r.id;

    DROP TABLE receipt;
    DROP TABLE certificate;
    ALTER TABLE numbered_certificate RENAME TO certificate;
    ALTER TABLE numbered_receipt RENAME TO receipt;
    CREATE INDEX certificate_by_team ON certificate (team);
    CREATE INDEX certificate_by_member ON certificate (member);
    CREATE UNIQUE INDEX receipt_by_session ON receipt (provider, started, member);
    CREATE INDEX receipt_by_age ON receipt (second_hand, age);
    CREATE INDEX receipt_unflushed ON receipt (flushed) WHERE flushed = 0;

    -- Receipts that are in no index yet: each row is what one commit added.
    CREATE TABLE recent (
        id   INTEGER PRIMARY KEY,
        body BLOB NOT NULL
    ) STRICT;
";

/// How many pages of 4 KiB the write-ahead log takes before they are copied into the file. Pages that many commits change
/// are copied once.
const CHECKPOINT_PAGES: i64 = 4_096;

/// Locks the file for this connection, checks that it is ours and brings it up to date. A file that had another format has its
/// receipts marked for `own` in the same transaction: a disk may have room for that and for nothing after it.
pub(crate) fn prepare(
    connection: &mut Connection,
    path: &Path,
    cache_kib: u64,
    own: Option<TeamId>,
) -> Result<(), StoreError> {
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "prepare the tables", &error);
    connection.busy_timeout(std::time::Duration::ZERO).map_err(fail)?;
    // Before the first read: the lock is then taken with it and kept until the connection closes, and the index
    // of the write-ahead log lives in memory instead of a third file.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE").map_err(fail)?;
    let version = recognise(connection, path)?;
    for (name, value) in [
        ("journal_mode", "WAL"),
        ("synchronous", "FULL"),
        ("foreign_keys", "ON"),
        ("trusted_schema", "OFF"),
        ("cell_size_check", "ON"),
    ] {
        connection.pragma_update(None, name, value).map_err(fail)?;
    }
    connection.pragma_update(None, "cache_size", format!("-{cache_kib}")).map_err(fail)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES).map_err(fail)?;
    connection.pragma_update(None, "journal_size_limit", 64 * 1_024 * 1_024).map_err(fail)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(fail)?;
    migrate(&transaction, version, own).map_err(fail)?;
    transaction.commit().map_err(fail)
}

/// The file's format; 0 for an empty file.
pub(crate) fn recognise(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "read the header", &error);
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(fail);
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    if application != APPLICATION_ID && (application != 0 || version != 0 || tables != 0) {
        let reason = "it is an SQLite database of another program".to_owned();
        return Err(StoreError::NotAStore { path: path.to_owned(), reason });
    }
    usize::try_from(version).ok().filter(|version| *version <= STEPS.len()).ok_or_else(|| StoreError::Newer {
        path: path.to_owned(),
        got: version,
        want: newest(),
    })
}

fn migrate(transaction: &Transaction<'_>, version: usize, own: Option<TeamId>) -> rusqlite::Result<()> {
    if version == STEPS.len() {
        return Ok(());
    }
    for step in &STEPS[version..] {
        transaction.execute_batch(step)?;
    }
    own::mark(transaction, own)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", newest())
}

fn newest() -> i64 {
    i64::try_from(STEPS.len()).expect("a handful of steps")
}
