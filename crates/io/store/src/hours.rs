//! What was carried in each hour, and whose certificates were seen: for the household's overview (design note 0015).

use crate::StoreError;
use guestright_identity::{Certificate, KeyId, Role};
use guestright_receipt::UncheckedReceipt;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;
use std::path::Path;

/// Only so many of the latest receipts are looked at each way: a home with 1,600 sessions a day has these in 30 days.
const RECEIPTS_MAX: i64 = 50_000;
/// Only so many certificates.
const CERTIFICATES_MAX: i64 = 4_096;
const HOUR: u64 = 3_600;

/// What was signed for in sessions that began in one hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HourSums {
    /// What the team carried for others.
    pub served: Bytes,
    /// How much of that was not paid by credit that was reserved.
    pub without_hold: Bytes,
    /// What others carried for the team's members.
    pub consumed: Bytes,
}

/// What [`Store::hours`](crate::Store::hours) gives; `path` is for errors.
pub(crate) fn sums(
    connection: &Connection,
    path: &Path,
    dealings: Dealings,
) -> Result<BTreeMap<UnixSeconds, HourSums>, StoreError> {
    let mut hours = BTreeMap::<_, HourSums>::new();
    let served = "SELECT r.started, r.raw FROM receipt r CROSS JOIN certificate c ON c.id = r.certificate
         WHERE r.provider = (SELECT id FROM provider WHERE team = ?1) AND r.started >= ?2 AND c.team <> ?1
         ORDER BY r.started DESC LIMIT ?3";
    each(connection, path, (served, dealings), |started, receipt| {
        let hour = hours.entry(hour_of(started)).or_default();
        hour.served = hour.served.saturating_add(receipt.weight());
        let without_hold = receipt.weight().saturating_sub(receipt.on_holds());
        hour.without_hold = hour.without_hold.saturating_add(without_hold);
    })?;
    let consumed = "SELECT r.started, r.raw FROM provider p CROSS JOIN receipt r ON r.provider = p.id AND r.started >= ?2
         WHERE p.team <> ?1 AND r.member IN (SELECT member FROM certificate WHERE team = ?1)
         ORDER BY r.started DESC LIMIT ?3";
    each(connection, path, (consumed, dealings), |started, receipt| {
        let hour = hours.entry(hour_of(started)).or_default();
        hour.consumed = hour.consumed.saturating_add(receipt.weight());
    })?;
    Ok(hours)
}

/// Which receipts are looked at: of this team's dealings, in sessions that began at `since` or later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dealings {
    pub(crate) team: TeamId,
    pub(crate) since: UnixSeconds,
}

fn each(
    connection: &Connection,
    path: &Path,
    (sql, dealings): (&str, Dealings),
    mut add: impl FnMut(UnixSeconds, &UncheckedReceipt),
) -> Result<(), StoreError> {
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "sum up the hours", &error);
    let mut statement = connection.prepare_cached(sql).map_err(fail)?;
    let (team, since) = (dealings.team.0, dealings.since.0.cast_signed());
    let mut rows = statement.query(params![team, since, RECEIPTS_MAX]).map_err(fail)?;
    while let Some(row) = rows.next().map_err(fail)? {
        let started = UnixSeconds(row.get::<_, i64>(0).map_err(fail)?.cast_unsigned());
        let raw = row.get_ref(1).and_then(|raw| Ok(raw.as_blob()?)).map_err(fail)?;
        let receipt = UncheckedReceipt::parse(raw).map_err(|error| StoreError::damaged(path, error))?;
        add(started, &receipt);
    }
    Ok(())
}

/// What [`Store::members_seen`](crate::Store::members_seen) gives.
pub(crate) fn members(
    connection: &Connection,
    path: &Path,
    team: TeamId,
) -> Result<BTreeMap<KeyId, UnixSeconds>, StoreError> {
    let find = || -> rusqlite::Result<Vec<Vec<u8>>> {
        let mut statement = connection
            .prepare_cached("SELECT raw FROM certificate WHERE team = ? ORDER BY id DESC LIMIT ?")?;
        let rows = statement.query_map(params![team.0, CERTIFICATES_MAX], |row| row.get(0))?;
        rows.collect()
    };
    let found =
        find().map_err(|error| StoreError::from_sqlite(path, "list the team's certificates", &error))?;
    let mut members = BTreeMap::new();
    for raw in found {
        let certificate = Certificate::parse_kept(&raw).map_err(|error| StoreError::damaged(path, error))?;
        if certificate.role() == Role::Member {
            let ends = members.entry(certificate.subject_id()).or_insert(certificate.not_after());
            *ends = certificate.not_after().max(*ends);
        }
    }
    Ok(members)
}

fn hour_of(time: UnixSeconds) -> UnixSeconds {
    UnixSeconds(time.0 - time.0 % HOUR)
}

#[cfg(test)]
mod tests;
