//! What a full disk has no room to move, shown to readers among the others without writing to the file (design note 0020).
//!
//! A view of the temporary schema goes before the table of the same name (<https://www.sqlite.org/lang_naming.html>). Nothing can be
//! written through it: it is removed before anything is.

use crate::recent::{Recent, insert_into};
use rusqlite::Connection;

/// In memory, where a full disk does not matter.
const SHOW: &str = "
    PRAGMA temp_store = MEMORY;
    CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY) STRICT;
    CREATE TEMP TABLE waiting (
        id          INTEGER PRIMARY KEY,
        provider    BLOB NOT NULL,
        started     INTEGER NOT NULL,
        member      BLOB NOT NULL,
        certificate INTEGER NOT NULL,
        weight      INTEGER NOT NULL,
        first_seen  INTEGER NOT NULL,
        age         INTEGER NOT NULL,
        flushed     INTEGER NOT NULL,
        second_hand INTEGER NOT NULL,
        raw         BLOB NOT NULL,
        UNIQUE (provider, started, member)
    ) STRICT;
    CREATE TEMP VIEW receipt AS
        SELECT id, provider, started, member, certificate, weight, first_seen, age, flushed, second_hand, raw
        FROM main.receipt WHERE id NOT IN (SELECT id FROM temp.gone)
        UNION ALL
        SELECT id, provider, started, member, certificate, weight, first_seen, age, flushed, second_hand, raw
        FROM temp.waiting;
";

const REMOVE: &str = "
    DROP VIEW IF EXISTS temp.receipt;
    DROP TABLE IF EXISTS temp.waiting;
    DROP TABLE IF EXISTS temp.gone;
    PRAGMA temp_store = DEFAULT;
";

/// Shows `recent` among the receipts, until [`remove`]. After an error a part may be there.
pub(crate) fn show(connection: &Connection, recent: &Recent, flushed: bool) -> rusqlite::Result<()> {
    connection.execute_batch(SHOW)?;
    let mut gone = connection.prepare("INSERT INTO temp.gone (id) VALUES (?)")?;
    for number in recent.gone_numbers() {
        gone.execute([number])?;
    }
    let mut waiting = connection.prepare(&insert_into("temp.waiting"))?;
    for (number, entry) in recent.after(i64::MIN) {
        entry.insert(&mut waiting, number, flushed)?;
    }
    Ok(())
}

/// Leaves the tables of the file alone to be read, and to be written.
pub(crate) fn remove(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(REMOVE)
}
