//! What came when: for whoever goes through a home's past.

use crate::credit;
use crate::recent::{Entry, Recent};
use crate::{StoreError, marker, schema};
use guestright_credit::{Hold, HoldId};
use guestright_identity::MemberId;
use guestright_receipt::{SessionKey, UncheckedReceipt};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rusqlite::{Connection, OpenFlags, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A session, as the receipt that counts for it says, and when it became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Rises with each session that becomes known. A number that is missing was of a receipt that is kept no more.
    pub number: i64,
    /// By our own clock.
    pub at: UnixSeconds,
    pub session: SessionKey,
    /// The team of the member that was served.
    pub consumer: TeamId,
    pub weight: Bytes,
    pub on_holds: Bytes,
}

/// A store that no program has open, to be looked into for a moment. Nothing in it is changed, not even brought up to date.
///
/// Whoever wants to open the store meanwhile cannot: do not keep it.
#[derive(Debug)]
pub struct ClosedStore {
    connection: Connection,
    path: PathBuf,
    /// What a program that was killed has not moved to the others.
    recent: Recent,
}

impl ClosedStore {
    /// Opens the store.
    ///
    /// # Errors
    /// [`StoreError`]: `InUse` where a program has it open, `Older` where none has opened it since an update.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        marker::refuse_emptied(path)?;
        let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "look into the file", &error);
        // Read-write, since what a killed program left in the log beside the file is not to be missed.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        connection.busy_timeout(Duration::ZERO).map_err(fail)?;
        for (name, value) in [("locking_mode", "EXCLUSIVE"), ("query_only", "ON"), ("trusted_schema", "OFF")]
        {
            connection.pragma_update(None, name, value).map_err(fail)?;
        }
        let version = schema::recognise(&connection, path)?;
        if version != schema::STEPS.len() {
            return Err(StoreError::Older { path: path.to_owned() });
        }
        let recent = Recent::load(&connection, path)?;
        Ok(Self { connection, path: path.to_owned(), recent })
    }

    /// As [`crate::Store::arrivals_after`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn arrivals_after(&self, after: i64, max: usize) -> Result<Vec<Arrival>, StoreError> {
        arrivals_with_recent(&self.connection, &self.path, &self.recent, Page { after, max })
    }

    /// As [`crate::Store::last_arrival`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn last_arrival(&self) -> Result<i64, StoreError> {
        Ok(self.recent.last())
    }

    /// As [`crate::Store::settled_holds_after`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn settled_holds_after(
        &self,
        after: Option<HoldId>,
        max: usize,
    ) -> Result<Vec<(HoldId, Hold)>, StoreError> {
        credit::settled_after(&self.connection, &self.path, after, max)
    }
}

/// Which of the sessions, in the order in which they became known: at most `max` after this number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub(crate) after: i64,
    pub(crate) max: usize,
}

/// Those of the table of receipts that were not evicted, then those that wait to be moved there, whose numbers are higher.
pub(crate) fn arrivals_with_recent(
    connection: &Connection,
    path: &Path,
    recent: &Recent,
    page: Page,
) -> Result<Vec<Arrival>, StoreError> {
    let mut found: Vec<Arrival> = Vec::new();
    let mut after = page.after;
    loop {
        let want = page.max - found.len();
        let rows = arrivals_after(connection, path, after, want)?;
        let is_last = rows.len() < want;
        after = rows.last().map_or(after, |arrival| arrival.number);
        found.extend(rows.into_iter().filter(|arrival| !recent.is_gone(arrival.number)));
        if is_last || found.len() == page.max {
            break;
        }
    }
    for (number, entry) in recent.after(page.after).take(page.max - found.len()) {
        found.push(waiting_arrival(connection, path, (number, entry))?);
    }
    Ok(found)
}

fn waiting_arrival(
    connection: &Connection,
    path: &Path,
    (number, entry): (i64, &Entry),
) -> Result<Arrival, StoreError> {
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "read receipts as they came", &error);
    let mut statement =
        connection.prepare_cached("SELECT team FROM certificate WHERE id = ?").map_err(fail)?;
    let consumer =
        statement.query_row([entry.certificate.id], |row| Ok(TeamId(row.get(0)?))).map_err(fail)?;
    let receipt = UncheckedReceipt::parse(&entry.raw).map_err(|error| StoreError::damaged(path, error))?;
    let (session, weight, on_holds) = (entry.session, entry.weight, receipt.on_holds());
    Ok(Arrival { number, at: entry.first_seen, session, consumer, weight, on_holds })
}

pub(crate) fn last_arrival(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let last = connection.query_row("SELECT max(id) FROM receipt", [], |row| row.get::<_, Option<i64>>(0));
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "find the latest receipt", &error);
    last.map(Option::unwrap_or_default).map_err(fail)
}

pub(crate) fn arrivals_after(
    connection: &Connection,
    path: &Path,
    after: i64,
    max: usize,
) -> Result<Vec<Arrival>, StoreError> {
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "read receipts as they came", &error);
    let mut statement = connection
        .prepare_cached(
            "SELECT r.id, r.first_seen, p.team, m.name, c.team, r.raw
             FROM receipt r CROSS JOIN certificate c ON c.id = r.certificate
             CROSS JOIN provider p ON p.id = r.provider CROSS JOIN member m ON m.id = r.member
             WHERE r.id > ? ORDER BY r.id LIMIT ?",
        )
        .map_err(fail)?;
    let mut rows = statement.query(params![after, i64::try_from(max).unwrap_or(i64::MAX)]).map_err(fail)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(fail)? {
        let raw =
            row.get_ref(5).map_err(fail)?.as_blob().map_err(|error| StoreError::damaged(path, error))?;
        let receipt = UncheckedReceipt::parse(raw).map_err(|error| StoreError::damaged(path, error))?;
        let read = || -> rusqlite::Result<Arrival> {
            let (provider, member) = (TeamId(row.get(2)?), MemberId(row.get(3)?));
            Ok(Arrival {
                number: row.get(0)?,
                at: UnixSeconds(row.get::<_, i64>(1)?.cast_unsigned()),
                session: SessionKey { provider, member, started: receipt.started() },
                consumer: TeamId(row.get(4)?),
                weight: receipt.weight(),
                on_holds: receipt.on_holds(),
            })
        };
        found.push(read().map_err(fail)?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
