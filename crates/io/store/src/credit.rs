//! A home's accounts, holds and allowance (design note 0010): a write of the machine is one transaction.

mod row;

use crate::{Store, StoreError};
use guestright_credit::{AllowanceState, Change, Kept, Token, Write};
use guestright_units::UnixSeconds;
use rusqlite::Transaction;

/// What is kept of a home's credit.
#[derive(Clone, Debug, Default)]
pub struct KeptCredit {
    /// For [`guestright_credit::Holds::new`].
    pub kept: Kept,
    /// For [`guestright_credit::Allowance::new`]; nothing before the first slice.
    pub allowance: Option<AllowanceState>,
}

/// Something to make durable.
#[derive(Clone, Debug)]
pub(crate) enum Keep {
    Write(Write),
    Allowance(AllowanceState),
}

impl Keep {
    /// The number of a write; the allowance by itself relies on none.
    pub(crate) fn token(&self) -> Option<Token> {
        match self {
            Self::Write(write) => Some(write.token),
            Self::Allowance(_) => None,
        }
    }

    /// How many rows it changes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Write(write) => write.changes.len(),
            Self::Allowance(_) => 1,
        }
    }
}

impl Store {
    /// The home's credit as it was kept, in the order of the keys. Every row is compared with its digest.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if a row is not as it was written, or another [`StoreError`].
    pub fn credit(&self) -> Result<KeptCredit, StoreError> {
        let kept = Kept {
            accounts: self.rows(&row::ACCOUNTS, row::account)?,
            holds: self.rows(&row::HOLDS, row::hold)?,
            sessions: self.rows(&row::SESSIONS, row::session)?,
            sessions_since: self.mark(row::SINCE)?.map_or(UnixSeconds(0), |(since, _)| UnixSeconds(since)),
        };
        let allowance = self.mark(row::ALLOWANCE)?.map(row::allowance);
        Ok(KeptCredit { kept, allowance })
    }

    /// Keeps all changes of a write, in one transaction; they are on the disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`]; nothing of the write was kept.
    pub fn keep_credit(&mut self, write: &Write) -> Result<(), StoreError> {
        self.keep_group(&[], &[Keep::Write(write.clone())]).map(|_| ())
    }

    /// Keeps what is left of the allowance; it is on the disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was kept.
    pub fn keep_allowance(&mut self, state: AllowanceState) -> Result<(), StoreError> {
        self.keep_group(&[], &[Keep::Allowance(state)]).map(|_| ())
    }

    fn rows<T>(&self, select: &row::Select, read: row::Read<T>) -> Result<Vec<T>, StoreError> {
        let fail = self.fail("read the accounts");
        let mut statement = self.connection.prepare_cached(select.sql).map_err(&fail)?;
        let mut rows = statement.query([]).map_err(&fail)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(&fail)? {
            select.check(row).map_err(&fail)?.map_err(|reason| self.damaged(reason))?;
            all.push(read(row).map_err(&fail)?.map_err(|reason| self.damaged(reason))?);
        }
        Ok(all)
    }

    fn mark(&self, name: &str) -> Result<Option<(u64, u64)>, StoreError> {
        let marks = self.rows(&row::MARKS, row::mark)?;
        Ok(marks.into_iter().find(|(kept, ..)| kept == name).map(|(_, value, at)| (value, at)))
    }
}

/// Keeps changes, within a transaction, in their order.
pub(crate) fn keep(transaction: &Transaction<'_>, keeps: &[Keep]) -> rusqlite::Result<()> {
    for keep in keeps {
        match keep {
            Keep::Write(write) => {
                write.changes.iter().try_for_each(|change| keep_change(transaction, change))?;
            }
            Keep::Allowance(state) => row::keep_allowance(transaction, *state)?,
        }
    }
    Ok(())
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
    }
}

#[cfg(test)]
mod tests;
