//! What the store is asked.

use crate::credit::{self, KeptCredit};
use crate::hints::{self, HintQuery};
use crate::history::{self, Arrival};
use crate::hours::{self, Dealings, HourSums};
use crate::own::{self, FirstHand};
use crate::{Edge, Store, StoreError, put};
use guestright_credit::{Hold, HoldId};
use guestright_identity::{Certificate, CertificateRef, KeyId, MemberId};
use guestright_receipt::{Receipt, SessionKey};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;

/// So many certificates are in memory at once when all rows are checked.
const CERTIFICATES_MAX: usize = 4_096;

/// A receipt and the certificate that it points at, as they are sent.
pub type Encoded = (Vec<u8>, Vec<u8>);

/// A receipt that was not passed on yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its session, for [`Store::mark_flushed`].
    pub session: SessionKey,
    /// Its weight, likewise.
    pub weight: Bytes,
    /// The receipt as it is sent.
    pub receipt: Vec<u8>,
    /// The certificate that it points at, as it is sent.
    pub certificate: Vec<u8>,
}

impl Store {
    /// The receipt graph: one edge for each pair of teams, sorted.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn edges(&self) -> Result<Vec<Edge>, StoreError> {
        let connection = self.indexed()?;
        let sums = || -> rusqlite::Result<_> {
            let consumers = teams(connection, "SELECT id, team FROM certificate")?;
            let providers = teams(connection, "SELECT id, team FROM provider")?;
            let mut receipts =
                connection.prepare_cached("SELECT certificate, provider, weight FROM receipt")?;
            let mut rows = receipts.query([])?;
            let mut sums = BTreeMap::<(i64, i64), u128>::new();
            while let Some(row) = rows.next()? {
                let weight = u128::from(row.get::<_, i64>(2)?.cast_unsigned());
                *sums.entry((row.get(0)?, row.get(1)?)).or_default() += weight;
            }
            let mut edges = BTreeMap::new();
            for ((certificate, provider), sum) in sums {
                // The check of the file says that both are there.
                if let (Some(consumer), Some(provider)) =
                    (consumers.get(&certificate), providers.get(&provider))
                {
                    *edges.entry((*consumer, *provider)).or_default() += sum;
                }
            }
            Ok(edges)
        };
        Ok(put::edges(sums().map_err(self.fail("sum up the receipts"))?))
    }

    /// The certificate that receipts point at by this reference.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn certificate(&self, reference: CertificateRef) -> Result<Option<Certificate>, StoreError> {
        let find = || {
            let mut statement =
                self.connection.prepare_cached("SELECT raw FROM certificate WHERE ref = ?")?;
            statement.query_row([reference.0], |row| row.get::<_, Vec<u8>>(0)).optional()
        };
        let found = find().map_err(self.fail("find a certificate"))?;
        found.map(|raw| Certificate::parse_kept(&raw).map_err(|error| self.damaged(error))).transpose()
    }

    /// The receipt that counts for a session.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn get(&self, session: &SessionKey) -> Result<Option<Receipt>, StoreError> {
        let connection = self.indexed()?;
        let find = || {
            let mut statement = connection.prepare_cached(
                "SELECT r.raw, c.raw FROM receipt r JOIN certificate c ON c.id = r.certificate
                 WHERE r.provider = (SELECT id FROM provider WHERE team = ?) AND r.started = ?
                 AND r.member = (SELECT id FROM member WHERE name = ?)",
            )?;
            statement.query_row(key(session), pair).optional()
        };
        let found = find().map_err(self.fail("find a receipt"))?;
        found.map(|(receipt, certificate)| self.kept(&receipt, &certificate)).transpose()
    }

    /// Receipts over what `provider` served in sessions that began at `since` or later, and their certificates:
    /// what its members carry to show that others owe it. The latest session first, then the largest weight, then
    /// by member.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn receipts_of_provider(
        &self,
        provider: TeamId,
        since: UnixSeconds,
        max: usize,
    ) -> Result<Vec<Encoded>, StoreError> {
        let connection = self.indexed()?;
        let find = || {
            let mut statement = connection.prepare_cached(
                "SELECT r.raw, c.raw FROM receipt r CROSS JOIN certificate c ON c.id = r.certificate
                 CROSS JOIN member m ON m.id = r.member
                 WHERE r.provider = (SELECT id FROM provider WHERE team = ?) AND r.started >= ?
                 ORDER BY r.started DESC, r.weight < 0 DESC, r.weight DESC, m.name LIMIT ?",
            )?;
            let rows = statement.query_map(params![provider.0, since.0.cast_signed(), limit(max)], pair)?;
            rows.collect::<rusqlite::Result<_>>()
        };
        find().map_err(self.fail("list a team's receipts"))
    }

    /// One receipt, with its certificate, for each of the debtors that are chosen: its largest, and of equal ones the latest.
    ///
    /// Three quarters are the best by `min(sum, 64 MB) * (1 + h)`, where the debtor was the last home before ours on `h`
    /// holds that were paid and are still kept. Then the latest of the others, then some at random. The order is that.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn hints(&self, query: HintQuery) -> Result<Vec<Encoded>, StoreError> {
        hints::select(self.indexed()?, query).map_err(self.fail("choose receipts to show"))
    }

    /// Gives out the receipts in which `team` served or was served, in sessions that began at `since` or later: what a home
    /// hands to [`guestright_credit::Holds::handle_receipt`] when it begins. Receipts of others' dealings are not looked at.
    ///
    /// # Errors
    /// [`StoreError`]; some may have been given out.
    pub fn first_hand(
        &self,
        team: TeamId,
        since: UnixSeconds,
        give: impl FnMut(Receipt, &Certificate),
    ) -> Result<(), StoreError> {
        own::first_hand(self.indexed()?, &self.path, FirstHand { team, since }, give)
    }

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
        hours::sums(self.indexed()?, &self.path, Dealings { team, since })
    }

    /// The members of `team` whose certificates are here, and when the last of each ends.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn members_seen(&self, team: TeamId) -> Result<BTreeMap<KeyId, UnixSeconds>, StoreError> {
        hours::members(&self.connection, &self.path, team)
    }

    /// The home's credit as it was kept, in the order of the keys. Every row is compared with its digest.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if a row is not as it was written, or another [`StoreError`].
    pub fn credit(&self) -> Result<KeptCredit, StoreError> {
        credit::read(&self.connection, &self.path)
    }

    /// Receipts that were not passed on yet, in the order in which their sessions became known.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn unflushed(&self, max: usize) -> Result<Vec<Outgoing>, StoreError> {
        let connection = self.indexed()?;
        let find = || {
            let mut statement = connection.prepare_cached(
                "SELECT r.raw, c.raw, p.team, m.name, r.started, r.weight
                 FROM receipt r CROSS JOIN certificate c ON c.id = r.certificate
                 CROSS JOIN provider p ON p.id = r.provider CROSS JOIN member m ON m.id = r.member
                 WHERE r.flushed = 0 ORDER BY r.id LIMIT ?",
            )?;
            let rows = statement.query_map([limit(max)], |row| {
                Ok(Outgoing {
                    session: SessionKey {
                        provider: TeamId(row.get(2)?),
                        member: MemberId(row.get(3)?),
                        started: UnixSeconds(row.get::<_, i64>(4)?.cast_unsigned()),
                    },
                    weight: Bytes(row.get::<_, i64>(5)?.cast_unsigned()),
                    receipt: row.get(0)?,
                    certificate: row.get(1)?,
                })
            })?;
            rows.collect::<rusqlite::Result<_>>()
        };
        find().map_err(self.fail("list receipts to pass on"))
    }

    /// Notes that these were passed on, unless a larger one has taken their place since. Says how many it noted.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was noted.
    pub fn mark_flushed(&mut self, passed: &[(SessionKey, Bytes)]) -> Result<usize, StoreError> {
        self.move_recent()?;
        let path = &self.path;
        let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "note what was passed on", &error);
        let transaction = self.connection.transaction().map_err(fail)?;
        let mark = || {
            let mut statement = transaction.prepare_cached(
                "UPDATE receipt SET flushed = 1
                 WHERE provider = (SELECT id FROM provider WHERE team = ?) AND started = ?
                 AND member = (SELECT id FROM member WHERE name = ?) AND weight = ? AND flushed = 0",
            )?;
            let mut noted = 0;
            for (session, weight) in passed {
                let (started, weight) = (session.started.0.cast_signed(), weight.0.cast_signed());
                noted += statement.execute(params![session.provider.0, started, session.member.0, weight])?;
            }
            Ok(noted)
        };
        let noted = mark().map_err(fail)?;
        transaction.commit().map_err(fail)?;
        Ok(noted)
    }

    /// Shows each receipt and its certificate, as they are sent, in the order of provider, start and member, until
    /// `show` breaks off: two stores that agree show the same bytes.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn for_each_receipt(
        &self,
        mut show: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let connection = self.indexed()?;
        walk(connection, None, usize::MAX, |_, receipt, certificate| show(receipt, certificate))
            .map_err(self.fail("walk through the receipts"))
    }

    /// At most `max` receipts in the order of [`Store::for_each_receipt`], those after the session `after` or the first ones, each
    /// with its session. To walk through a store that is in use: what comes in meanwhile may be missed, nothing is shown twice.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn receipts_after(
        &self,
        after: Option<SessionKey>,
        max: usize,
    ) -> Result<Vec<(SessionKey, Encoded)>, StoreError> {
        let connection = self.indexed()?;
        let find = || -> rusqlite::Result<Vec<_>> {
            let mut found = Vec::new();
            walk(connection, after, max, |session, receipt, certificate| {
                found.push((session, (receipt.to_vec(), certificate.to_vec())));
                ControlFlow::Continue(())
            })?;
            Ok(found)
        };
        find().map_err(self.fail("read receipts in their order"))
    }

    /// At most `max` sessions in the order in which they became known, those after this number.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn arrivals_after(&self, after: i64, max: usize) -> Result<Vec<Arrival>, StoreError> {
        history::arrivals_after(self.indexed()?, &self.path, after, max)
    }

    /// The number of the session that became known last; 0 if there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn last_arrival(&self) -> Result<i64, StoreError> {
        history::last_arrival(self.indexed()?, &self.path)
    }

    /// At most `max` of the holds that are settled, in the order of their names, those after this name. What was paid is remembered for
    /// a month, others for some days.
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

    /// A number that was kept under a name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn state(&self, key: &str) -> Result<Option<i64>, StoreError> {
        let find = || {
            let mut statement = self.connection.prepare_cached("SELECT value FROM state WHERE key = ?")?;
            statement.query_row([key], |row| row.get(0)).optional()
        };
        find().map_err(self.fail("read a counter"))
    }

    /// Keeps a number under a name; it is on the disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn set_state(&mut self, key: &str, value: i64) -> Result<(), StoreError> {
        let keep = || {
            let mut statement = self.connection.prepare_cached(
                "INSERT INTO state (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            )?;
            statement.execute(params![key, value])
        };
        keep().map_err(self.fail("keep a counter")).map(|_| ())
    }

    /// Reads everything: the file's own structure, and whether the columns say what the signed bytes say.
    ///
    /// A minute or so for a million receipts.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first thing that does not fit.
    pub fn integrity_check(&self) -> Result<(), StoreError> {
        self.indexed()?;
        let fail = self.fail("check the file");
        let verdict: String =
            self.connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(&fail)?;
        if verdict != "ok" {
            return Err(self.damaged(verdict));
        }
        self.check_numbers()?;
        self.credit()?;
        self.check_rows()
    }

    /// Whether what stands for others is there, and each certificate counts the rows that need it.
    fn check_numbers(&self) -> Result<(), StoreError> {
        let fail = self.fail("check the numbers");
        let mut foreign = self.connection.prepare("PRAGMA foreign_key_check").map_err(&fail)?;
        if foreign.exists([]).map_err(&fail)? {
            return Err(self.damaged("a certificate's member is missing"));
        }
        let sql = "SELECT 1 FROM certificate c
                   LEFT JOIN (SELECT certificate, count(*) AS rows FROM main.receipt GROUP BY certificate) r
                   ON r.certificate = c.id WHERE c.receipts <> coalesce(r.rows, 0) LIMIT 1";
        if self.connection.prepare(sql).map_err(&fail)?.exists([]).map_err(&fail)? {
            return Err(self.damaged("a certificate does not say how many receipts need it"));
        }
        Ok(())
    }

    /// Whether each row's columns say what its receipt and its certificate say: a bit that fell over on the disk is found.
    /// Some seconds for a million receipts. Signatures are not checked again.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first row that does not fit.
    pub fn check_rows(&self) -> Result<(), StoreError> {
        let fail = self.fail("check the receipts");
        let sql = "SELECT r.raw, c.raw, p.team, m.name, r.started, r.weight, c.ref, c.team, c.member = r.member, c.id
                   FROM receipt r LEFT JOIN certificate c ON c.id = r.certificate
                   LEFT JOIN provider p ON p.id = r.provider LEFT JOIN member m ON m.id = r.member";
        let mut statement = self.indexed()?.prepare(sql).map_err(&fail)?;
        let mut rows = statement.query([]).map_err(&fail)?;
        let mut certificates = BTreeMap::new();
        while let Some(row) = rows.next().map_err(&fail)? {
            let raw = row.get_ref(1).and_then(|raw| Ok(raw.as_blob_or_null()?)).map_err(&fail)?;
            let raw = raw.ok_or_else(|| self.damaged("a receipt's certificate is missing"))?;
            if certificates.len() == CERTIFICATES_MAX {
                certificates.clear();
            }
            let certificate = match certificates.entry(row.get::<_, i64>(9).map_err(&fail)?) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(free) => {
                    free.insert(Certificate::parse_kept(raw).map_err(|error| self.damaged(error))?)
                }
            };
            let receipt = row.get_ref(0).and_then(|raw| Ok(raw.as_blob()?)).map_err(&fail)?;
            let receipt = Receipt::from_kept(receipt, certificate).map_err(|error| self.damaged(error))?;
            if !columns_agree(row, &receipt).map_err(&fail)? {
                let session = receipt.session();
                return Err(self.damaged(format!("a row differs from its signed receipt {session:?}")));
            }
        }
        Ok(())
    }

    fn kept(&self, receipt: &[u8], certificate: &[u8]) -> Result<Receipt, StoreError> {
        let certificate = Certificate::parse_kept(certificate).map_err(|error| self.damaged(error))?;
        Receipt::from_kept(receipt, &certificate).map_err(|error| self.damaged(error))
    }
}

fn columns_agree(row: &Row<'_>, receipt: &Receipt) -> rusqlite::Result<bool> {
    let session = receipt.session();
    Ok(row.get::<_, Option<[u8; 24]>>(2)? == Some(session.provider.0)
        && row.get::<_, Option<[u8; 24]>>(3)? == Some(session.member.0)
        && row.get::<_, i64>(4)? == session.started.0.cast_signed()
        && row.get::<_, i64>(5)? == receipt.weight().0.cast_signed()
        && row.get::<_, [u8; 16]>(6)? == receipt.certificate().0
        && row.get::<_, [u8; 24]>(7)? == receipt.consumer().0
        && row.get::<_, bool>(8)?)
}

/// Shows `max` receipts and their certificates in the order of provider, start and member, those after the session `after` or the first
/// ones, until `show` breaks off.
///
/// One provider after the other: in a join SQLite would sort all receipts of a provider before it shows the first. Members of one start
/// are sorted, without the receipts themselves, and no more than `max` are kept in that.
fn walk(
    connection: &Connection,
    after: Option<SessionKey>,
    max: usize,
    mut show: impl FnMut(SessionKey, &[u8], &[u8]) -> ControlFlow<()>,
) -> rusqlite::Result<()> {
    let mut providers =
        connection.prepare_cached("SELECT id, team FROM provider WHERE team >= ? ORDER BY team")?;
    let mut sessions = connection.prepare_cached(
        "SELECT r.started, m.name, r.id FROM receipt r CROSS JOIN member m ON m.id = r.member
         WHERE r.provider = ?1 AND r.started >= ?2 AND (r.started > ?2 OR m.name > ?3)
         ORDER BY r.started, m.name LIMIT ?4",
    )?;
    let mut receipt = connection.prepare_cached(
        "SELECT r.raw, c.raw FROM receipt r CROSS JOIN certificate c ON c.id = r.certificate WHERE r.id = ?",
    )?;
    // Before all others: no team's id is shorter.
    let first = after.map_or(Vec::new(), |key| key.provider.0.to_vec());
    let mut providers = providers.query([first])?;
    let mut left = max;
    while let Some(row) = providers.next()?.filter(|_| left > 0) {
        let (id, provider) = (row.get::<_, i64>(0)?, TeamId(row.get(1)?));
        let after = after.filter(|key| key.provider == provider);
        let mut last =
            after.map_or((i64::MIN, Vec::new()), |key| (key.started.0.cast_signed(), key.member.0.to_vec()));
        // More than once only if some have no certificate, which a damaged file may have: they are not shown.
        let mut is_end = false;
        while !is_end && left > 0 {
            let mut rows = sessions.query(params![id, last.0, last.1, limit(left)])?;
            let mut missing = 0;
            while let Some(row) = rows.next()? {
                last = (row.get(0)?, row.get(1)?);
                let mut found = receipt.query([row.get::<_, i64>(2)?])?;
                let Some(blobs) = found.next()? else {
                    missing += 1;
                    continue;
                };
                let started = UnixSeconds(last.0.cast_unsigned());
                let session = SessionKey { provider, started, member: MemberId(row.get(1)?) };
                left -= 1;
                if show(session, blobs.get_ref(0)?.as_blob()?, blobs.get_ref(1)?.as_blob()?).is_break() {
                    return Ok(());
                }
            }
            is_end = missing == 0;
        }
    }
    Ok(())
}

/// Teams by the numbers that stand for them.
fn teams(connection: &Connection, sql: &str) -> rusqlite::Result<BTreeMap<i64, TeamId>> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, TeamId(row.get(1)?))))?;
    rows.collect()
}

fn key(session: &SessionKey) -> ([u8; 24], i64, [u8; 24]) {
    (session.provider.0, session.started.0.cast_signed(), session.member.0)
}

fn pair(row: &Row<'_>) -> rusqlite::Result<Encoded> {
    Ok((row.get(0)?, row.get(1)?))
}

fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
