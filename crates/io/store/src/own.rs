//! Receipts of our own team's dealings, and those of others'.

use crate::StoreError;
use guestright_identity::Certificate;
use guestright_receipt::Receipt;
use guestright_units::{TeamId, UnixSeconds};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use std::path::Path;

/// The name in the table of numbers for the team by which receipts are told apart: the first eight bytes of its id.
const NAME: &str = "own-team";

/// Whether all receipts are marked as first-hand or second-hand for this team.
pub(crate) fn is_classified(connection: &Connection, own: Option<TeamId>) -> rusqlite::Result<bool> {
    let known: Option<i64> =
        connection.query_row("SELECT value FROM state WHERE key = ?", [NAME], |row| row.get(0)).optional()?;
    Ok(known == name(own))
}

fn name(own: Option<TeamId>) -> Option<i64> {
    own.and_then(|own| own.0.first_chunk().copied()).map(i64::from_be_bytes)
}

/// Marks all receipts as first-hand or second-hand, if that was not done for this team yet; says how many are of others'
/// dealings.
pub(crate) fn classify(connection: &mut Connection, own: Option<TeamId>) -> rusqlite::Result<u64> {
    let transaction = connection.transaction()?;
    mark(&transaction, own)?;
    transaction.commit()?;
    if own.is_none() {
        return Ok(0);
    }
    let sql = "SELECT count(*) FROM receipt INDEXED BY receipt_by_age WHERE second_hand = 1";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

/// The same within a transaction, without the count.
pub(crate) fn mark(transaction: &Transaction<'_>, own: Option<TeamId>) -> rusqlite::Result<()> {
    if is_classified(transaction, own)? {
        return Ok(());
    }
    transaction.execute("DELETE FROM state WHERE key = ?", [NAME])?;
    transaction.execute("UPDATE receipt SET second_hand = 0 WHERE second_hand = 1", [])?;
    if let (Some(own), Some(number)) = (own, name(own)) {
        transaction.execute(
            "UPDATE receipt SET second_hand = 1
             WHERE provider <> coalesce((SELECT id FROM provider WHERE team = ?1), 0) AND certificate NOT IN (SELECT id FROM certificate WHERE team = ?1)",
            [own.0],
        )?;
        transaction.execute("INSERT INTO state (key, value) VALUES (?, ?)", params![NAME, number])?;
    }
    Ok(())
}

/// Which receipts are wanted: of this team's own dealings, in sessions that began at `since` or later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstHand {
    pub(crate) team: TeamId,
    pub(crate) since: UnixSeconds,
}

/// What [`Store::first_hand`](crate::Store::first_hand) gives out; `path` is for errors.
pub(crate) fn first_hand(
    connection: &Connection,
    path: &Path,
    query: FirstHand,
    mut give: impl FnMut(Receipt, &Certificate),
) -> Result<(), StoreError> {
    let served = "SELECT r.raw, c.raw FROM receipt r CROSS JOIN certificate c ON c.id = r.certificate
         CROSS JOIN member m ON m.id = r.member
         WHERE r.provider = (SELECT id FROM provider WHERE team = ?1) AND r.started >= ?2 ORDER BY r.started, m.name";
    let was_served = "SELECT r.raw, c.raw FROM provider p CROSS JOIN receipt r ON r.provider = p.id AND r.started >= ?2
         CROSS JOIN certificate c ON c.id = r.certificate
         WHERE p.team <> ?1 AND r.member IN (SELECT member FROM certificate WHERE team = ?1) ORDER BY c.id, r.id";
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "list our own receipts", &error);
    let mut last: Option<Certificate> = None;
    for sql in [served, was_served] {
        let mut statement = connection.prepare_cached(sql).map_err(fail)?;
        let mut rows = statement.query(params![query.team.0, query.since.0.cast_signed()]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let (receipt, raw) = blobs(row).map_err(fail)?;
            let certificate = match last.take().filter(|last| last.as_bytes() == raw) {
                Some(same) => same,
                None => Certificate::parse_kept(raw).map_err(|error| StoreError::damaged(path, error))?,
            };
            let receipt = Receipt::from_kept(receipt, &certificate)
                .map_err(|error| StoreError::damaged(path, error))?;
            give(receipt, &certificate);
            last = Some(certificate);
        }
    }
    Ok(())
}

fn blobs<'a>(row: &'a Row<'_>) -> rusqlite::Result<(&'a [u8], &'a [u8])> {
    Ok((row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?))
}

#[cfg(test)]
mod tests;
