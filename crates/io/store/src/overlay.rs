//! What a full disk has no room to move, shown to readers among the others without writing to the file (design note 0020).
//!
//! Views of the temporary schema go before the tables of the same names (<https://www.sqlite.org/lang_naming.html>). Nothing can be
//! written through them: they are removed before anything is.

use crate::recent::{Recent, Row, insert_into};
use guestright_units::TeamId;
use rusqlite::{Connection, OptionalExtension, Statement, params};
use std::collections::BTreeMap;

/// In memory, where a full disk does not matter.
const SHOW: &str = "
    PRAGMA temp_store = MEMORY;
    CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY) STRICT;
    CREATE TEMP TABLE waiting_provider (
        id   INTEGER PRIMARY KEY,
        team BLOB NOT NULL
    ) STRICT;
    CREATE TEMP TABLE waiting (
        id          INTEGER PRIMARY KEY,
        provider    INTEGER NOT NULL,
        started     INTEGER NOT NULL,
        member      INTEGER NOT NULL,
        certificate INTEGER NOT NULL,
        weight      INTEGER NOT NULL,
        first_seen  INTEGER NOT NULL,
        age         INTEGER NOT NULL,
        flushed     INTEGER NOT NULL,
        second_hand INTEGER NOT NULL,
        raw         BLOB NOT NULL,
        UNIQUE (provider, started, member)
    ) STRICT;
    CREATE TEMP VIEW provider AS
        SELECT id, team FROM main.provider UNION ALL SELECT id, team FROM temp.waiting_provider;
    CREATE TEMP VIEW receipt AS
        SELECT id, provider, started, member, certificate, weight, first_seen, age, flushed, second_hand, raw
        FROM main.receipt WHERE id NOT IN (SELECT id FROM temp.gone)
        UNION ALL
        SELECT id, provider, started, member, certificate, weight, first_seen, age, flushed, second_hand, raw
        FROM temp.waiting;
";

const REMOVE: &str = "
    DROP VIEW IF EXISTS temp.receipt;
    DROP VIEW IF EXISTS temp.provider;
    DROP TABLE IF EXISTS temp.waiting;
    DROP TABLE IF EXISTS temp.waiting_provider;
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
    let mut providers = Providers {
        find: connection.prepare("SELECT id FROM main.provider WHERE team = ?")?,
        keep: connection.prepare("INSERT INTO temp.waiting_provider (id, team) VALUES (?, ?)")?,
        numbers: BTreeMap::new(),
    };
    for (number, entry) in recent.after(i64::MIN) {
        let provider = providers.number(entry.session.provider)?;
        entry.insert(&mut waiting, Row { number, provider, flushed })?;
    }
    Ok(())
}

/// Teams under the numbers that they have in the file, and others under numbers below zero.
struct Providers<'a> {
    find: Statement<'a>,
    keep: Statement<'a>,
    numbers: BTreeMap<TeamId, i64>,
}

impl Providers<'_> {
    fn number(&mut self, team: TeamId) -> rusqlite::Result<i64> {
        if let Some(number) = self.numbers.get(&team) {
            return Ok(*number);
        }
        let number = match self.find.query_row([team.0], |row| row.get(0)).optional()? {
            Some(number) => number,
            None => {
                let number = -1 - i64::try_from(self.numbers.len()).expect("as many as wait at most");
                self.keep.execute(params![number, team.0])?;
                number
            }
        };
        self.numbers.insert(team, number);
        Ok(number)
    }
}

/// Leaves the tables of the file alone to be read, and to be written.
pub(crate) fn remove(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(REMOVE)
}
