//! What was carried in each hour, and whose certificates were seen: for the household's overview (design note 0015).

use crate::Store;
use crate::StoreError;
use guestright_identity::{Certificate, KeyId, Role};
use guestright_receipt::UncheckedReceipt;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rusqlite::params;
use std::collections::BTreeMap;

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

impl Store {
    /// What was signed for of `team`'s dealings in sessions that began at `since` or later, by the beginning of their hour. A session
    /// counts whole in the hour in which it began, for its receipt says no more.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn hours(
        &self,
        team: TeamId,
        since: UnixSeconds,
    ) -> Result<BTreeMap<UnixSeconds, HourSums>, StoreError> {
        let mut hours = BTreeMap::<_, HourSums>::new();
        self.each_dealing(
            "SELECT r.started, r.raw FROM receipt r JOIN certificate c ON c.id = r.certificate
             WHERE r.provider = ?1 AND r.started >= ?2 AND c.team <> ?1 ORDER BY r.started DESC LIMIT ?3",
            (team, since),
            |started, receipt| {
                let hour = hours.entry(hour_of(started)).or_default();
                hour.served = hour.served.saturating_add(receipt.weight());
                let without_hold = receipt.weight().saturating_sub(receipt.on_holds());
                hour.without_hold = hour.without_hold.saturating_add(without_hold);
            },
        )?;
        self.each_dealing(
            "SELECT r.started, r.raw FROM certificate c CROSS JOIN receipt r ON r.certificate = c.id
             WHERE c.team = ?1 AND r.provider <> ?1 AND r.started >= ?2 ORDER BY r.started DESC LIMIT ?3",
            (team, since),
            |started, receipt| {
                let hour = hours.entry(hour_of(started)).or_default();
                hour.consumed = hour.consumed.saturating_add(receipt.weight());
            },
        )?;
        Ok(hours)
    }

    fn each_dealing(
        &self,
        sql: &str,
        (team, since): (TeamId, UnixSeconds),
        mut add: impl FnMut(UnixSeconds, &UncheckedReceipt),
    ) -> Result<(), StoreError> {
        let fail = self.fail("sum up the hours");
        let walk = || -> rusqlite::Result<_> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(params![team.0, since.0.cast_signed(), RECEIPTS_MAX])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let started = UnixSeconds(row.get::<_, i64>(0)?.cast_unsigned());
                found.push((started, UncheckedReceipt::parse(row.get_ref(1)?.as_blob()?)));
            }
            Ok(found)
        };
        for (started, receipt) in walk().map_err(fail)? {
            add(started, &receipt.map_err(|error| self.damaged(error))?);
        }
        Ok(())
    }

    /// The members of `team` whose certificates are here, and when the last of each ends.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn members_seen(&self, team: TeamId) -> Result<BTreeMap<KeyId, UnixSeconds>, StoreError> {
        let find = || -> rusqlite::Result<Vec<Vec<u8>>> {
            let mut statement = self
                .connection
                .prepare_cached("SELECT raw FROM certificate WHERE team = ? ORDER BY id DESC LIMIT ?")?;
            let rows = statement.query_map(params![team.0, CERTIFICATES_MAX], |row| row.get(0))?;
            rows.collect()
        };
        let mut members = BTreeMap::new();
        for raw in find().map_err(self.fail("list the team's certificates"))? {
            let certificate = Certificate::parse_kept(&raw).map_err(|error| self.damaged(error))?;
            if certificate.role() == Role::Member {
                let ends = members.entry(certificate.subject_id()).or_insert(certificate.not_after());
                *ends = certificate.not_after().max(*ends);
            }
        }
        Ok(members)
    }
}

fn hour_of(time: UnixSeconds) -> UnixSeconds {
    UnixSeconds(time.0 - time.0 % HOUR)
}

#[cfg(test)]
mod tests;
