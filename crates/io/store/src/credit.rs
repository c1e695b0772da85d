//! A home's accounts, holds and allowance (design note 0010): a write of the machine is one transaction.

mod row;

use crate::StoreError;
use guestright_credit::{AllowanceState, Change, Hold, HoldId, Kept, Write};
use guestright_units::{Bytes, TeamId, UnixSeconds};
pub(crate) use row::RowDigest;
use rusqlite::{Connection, Transaction, params};
use std::path::Path;

/// What is kept of a home's credit.
#[derive(Clone, Debug, Default)]
pub struct KeptCredit {
    /// For [`guestright_credit::Holds::new`].
    pub kept: Kept,
    /// For [`guestright_credit::Allowance::new`]; nothing before the first slice.
    pub allowance: Option<AllowanceState>,
    /// With what the household sponsors other teams.
    pub sponsored: Vec<(TeamId, Bytes)>,
}

/// The tables of a home's credit, and the file that an error names.
struct Tables<'a> {
    connection: &'a Connection,
    path: &'a Path,
}

/// The home's credit as it was kept, in the order of the keys. Every row is compared with its digest.
pub(crate) fn read(connection: &Connection, path: &Path) -> Result<KeptCredit, StoreError> {
    let tables = Tables { connection, path };
    let kept = Kept {
        accounts: tables.rows(&row::ACCOUNTS, row::account)?,
        holds: tables.rows(&row::HOLDS, row::hold)?,
        sessions: tables.rows(&row::SESSIONS, row::session)?,
        sessions_since: tables.mark(row::SINCE)?.map_or(UnixSeconds(0), |(since, _)| UnixSeconds(since)),
    };
    let allowance = tables.mark(row::ALLOWANCE)?.map(row::allowance);
    let sponsored = tables.rows(&row::SPONSORED, row::sponsored)?;
    Ok(KeptCredit { kept, allowance, sponsored })
}

impl Tables<'_> {
    fn rows<T>(&self, select: &row::Select, read: row::Read<T>) -> Result<Vec<T>, StoreError> {
        let fail = |error: rusqlite::Error| StoreError::from_sqlite(self.path, "read the accounts", &error);
        let damaged = |reason| StoreError::damaged(self.path, reason);
        let mut statement = self.connection.prepare_cached(select.sql).map_err(fail)?;
        let mut rows = statement.query([]).map_err(fail)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(fail)? {
            select.check(row).map_err(fail)?.map_err(damaged)?;
            all.push(read(row).map_err(fail)?.map_err(damaged)?);
        }
        Ok(all)
    }

    fn mark(&self, name: &str) -> Result<Option<(u64, u64)>, StoreError> {
        let marks = self.rows(&row::MARKS, row::mark)?;
        Ok(marks.into_iter().find(|(kept, ..)| kept == name).map(|(_, value, at)| (value, at)))
    }
}

/// What [`Store::settled_holds_after`](crate::Store::settled_holds_after) gives.
pub(crate) fn settled_after(
    connection: &Connection,
    path: &Path,
    after: Option<HoldId>,
    max: usize,
) -> Result<Vec<(HoldId, Hold)>, StoreError> {
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "read the holds", &error);
    let damaged = |reason| StoreError::damaged(path, reason);
    let mut statement = connection.prepare_cached(row::SETTLED_HOLDS.sql).map_err(fail)?;
    // Before all others: no name is shorter.
    let after = after.map_or(Vec::new(), |id| id.0.to_vec());
    let mut rows = statement.query(params![after, i64::try_from(max).unwrap_or(i64::MAX)]).map_err(fail)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(fail)? {
        row::SETTLED_HOLDS.check(row).map_err(fail)?.map_err(damaged)?;
        let hold = row::hold(row).map_err(fail)?.map_err(damaged)?;
        all.push((HoldId(row.get(0).map_err(fail)?), hold));
    }
    Ok(all)
}

/// Keeps changes, within a transaction, in their order.
pub(crate) fn keep(transaction: &Transaction<'_>, writes: &[Write]) -> rusqlite::Result<()> {
    let mut changes = writes.iter().flat_map(|write| &write.changes);
    changes.try_for_each(|change| keep_change(transaction, change))
}

fn keep_change(transaction: &Transaction<'_>, change: &Change) -> rusqlite::Result<()> {
    match change {
        Change::Account(team, Some(account)) => row::keep_account(transaction, *team, account),
        Change::Account(team, None) => row::drop_account(transaction, *team),
        Change::Hold(id, Some(hold)) => row::keep_hold(transaction, *id, hold),
        Change::Hold(id, None) => row::drop_hold(transaction, *id),
        Change::Session(session, Some(accounted)) => row::keep_session(transaction, session, accounted),
        Change::Session(session, None) => row::drop_session(transaction, session),
        Change::SessionsSince(since) => row::keep_mark(transaction, row::SINCE, since.0, 0),
        Change::Allowance(state) => row::keep_allowance(transaction, *state),
        Change::Sponsored(team, Bytes(0)) => row::drop_sponsored(transaction, *team),
        Change::Sponsored(team, left) => row::keep_sponsored(transaction, *team, *left),
    }
}

#[cfg(test)]
mod tests;
