//! Receipts that are on the disk already and in no index yet (design note 0020).
//!
//! In a burst of receipts each commit would write many pages of each index for a few receipts a page. So they are appended to a
//! table, `recent`, and known by a map in memory; many are moved to the table of receipts together, in one transaction. Sessions
//! in here are not among the rows of that table, but for those of `gone`: they were evicted, and are removed with the same move.

use crate::credit::RowDigest;
use crate::numbers::{CertificateRow, Numbers};
use crate::{Limits, StoreError};
use guestright_identity::MemberId;
use guestright_receipt::{Receipt, SessionKey, UncheckedReceipt};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Statement, params};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

/// A record of a receipt, and of a session that was evicted.
const KEPT: u8 = 0;
const GONE: u8 = 1;

/// After so many octets a row ends: SQLite copies what it is given twice, and memory that it asks for anew for each row is slow.
const BODY_LEN: usize = 32 * 1_024;

/// When receipts are appended first, and how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecentLimits {
    /// A commit of so many goes straight to the table of receipts, unless some wait already.
    pub(crate) direct_max: usize,
    /// When so many wait they are moved.
    pub(crate) recent_max: usize,
    /// Likewise when so many records were appended: one that is raised, or evicted at once, adds a record and no receipt that waits.
    pub(crate) records_max: usize,
}

impl RecentLimits {
    /// One in 16 of what may be kept, 65,536 at most, and no more than fit into 1/64 of the computer's memory: some 350 octets each, so 2 MB
    /// on a router with 128 MB.
    pub(crate) fn of(limits: Limits, memory_kib: u64) -> Self {
        let fit = memory_kib.saturating_mul(1_024) / 64 / 350;
        let recent_max = (limits.receipts_max / 16).min(65_536).min(fit);
        let recent_max = usize::try_from(recent_max).expect("65,536 at most");
        Self { direct_max: 64, recent_max, records_max: 2 * recent_max.max(1_024) }
    }
}

/// The computer's memory, or 64 MiB where the kernel does not say (`MemTotal`, proc_meminfo(5)).
pub(crate) fn memory_kib() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    total.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(64 * 1_024)
}

/// What is known of the rows of `recent`, and what the transaction that is open adds to them.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    entries: BTreeMap<i64, Entry>,
    numbers: HashMap<SessionKey, i64>,
    /// How many entries need each certificate.
    certificates: BTreeMap<i64, u32>,
    gone: BTreeSet<i64>,
    /// No row of the table of receipts that is not gone is older: by `second_hand`.
    gone_until: [Option<i64>; 2],
    last: i64,
    /// How many records the table `recent` and `unwritten` have.
    records: usize,
    /// What is appended next: one row each.
    unwritten: Vec<Vec<u8>>,
    /// How many rows the table `recent` has, which are numbered from 1.
    rows_written: i64,
}

/// A receipt that waits, under the number that its row will have.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) session: SessionKey,
    pub(crate) certificate: CertificateRow,
    pub(crate) first_seen: UnixSeconds,
    pub(crate) second_hand: bool,
    pub(crate) weight: Bytes,
    pub(crate) raw: Box<[u8]>,
}

/// What a row of receipts has that [`Entry`] does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) number: i64,
    /// The number of the provider.
    pub(crate) provider: i64,
    pub(crate) flushed: bool,
}

/// What goes first when there are too many: as the columns of the table of receipts say it, where numbers have a sign.
pub(crate) type Oldness = (i64, bool, Reverse<i64>, i64);

/// Of a row with this number.
pub(crate) fn oldness(age: i64, started: i64, number: i64) -> Oldness {
    (age, started >= 0, Reverse(started), number)
}

/// The statement of [`Entry::insert`], for a table with the columns of that of receipts.
pub(crate) fn insert_into(table: &str) -> String {
    format!(
        "INSERT INTO {table}
         (id, provider, started, member, certificate, weight, first_seen, age, second_hand, flushed, raw)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
}

impl Entry {
    fn age(&self) -> i64 {
        self.session.started.min(self.first_seen).0.cast_signed()
    }

    /// Puts it into a table as a row of receipts, by [`insert_into`].
    pub(crate) fn insert(&self, statement: &mut Statement<'_>, row: Row) -> rusqlite::Result<usize> {
        let Row { number, provider, flushed } = row;
        statement.execute(params![
            number,
            provider,
            self.session.started.0.cast_signed(),
            self.certificate.member,
            self.certificate.id,
            self.weight.0.cast_signed(),
            self.first_seen.0.cast_signed(),
            self.age(),
            self.second_hand,
            flushed,
            &*self.raw,
        ])
    }
}

impl Recent {
    /// As the file has it.
    pub(crate) fn load(connection: &Connection, path: &Path) -> Result<Self, StoreError> {
        let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "read the latest receipts", &error);
        let last =
            connection.query_row("SELECT max(id) FROM receipt", [], |row| row.get::<_, Option<i64>>(0));
        let mut recent = Self { last: last.map_err(fail)?.unwrap_or_default(), ..Self::default() };
        let damaged = || StoreError::damaged(path, "the latest receipts are not as they were written");
        let mut statement =
            connection.prepare_cached("SELECT id, body FROM recent ORDER BY id").map_err(fail)?;
        let mut rows = statement.query([]).map_err(fail)?;
        // Those that were evicted or superseded since need no certificate any more.
        let mut waiting = BTreeMap::new();
        while let Some(row) = rows.next().map_err(fail)? {
            recent.rows_written += 1;
            let body = row.get_ref(1).and_then(|body| Ok(body.as_blob()?)).map_err(fail)?;
            let (mut rest, want) = body.split_last_chunk().ok_or_else(damaged)?;
            // The next in order, so that one that is missing is noticed too.
            let is_next = row.get::<_, i64>(0).map_err(fail)? == recent.rows_written;
            if !is_next || *want != digest(recent.rows_written, rest) {
                return Err(damaged());
            }
            while !rest.is_empty() {
                let record;
                (record, rest) = Record::read(rest).ok_or_else(damaged)?;
                recent.records += 1;
                match record {
                    Record::Kept(number, kept) => {
                        recent.last = recent.last.max(number);
                        waiting.insert(number, kept);
                    }
                    Record::Gone(number) => {
                        if waiting.remove(&number).is_none() {
                            recent.gone.insert(number);
                        }
                    }
                }
            }
        }
        let mut members = Members { connection, known: BTreeMap::new() };
        for (number, kept) in waiting {
            recent.restore(number, kept, &mut members).map_err(fail)?.ok_or_else(damaged)?;
        }
        Ok(recent)
    }

    /// Puts a receipt in that waits, unless its certificate is not kept.
    fn restore(
        &mut self,
        number: i64,
        kept: KeptRecord,
        members: &mut Members<'_>,
    ) -> rusqlite::Result<Option<()>> {
        let Some((member, name)) = members.of(kept.certificate)? else { return Ok(None) };
        let entry = Entry {
            session: SessionKey { provider: kept.provider, started: kept.started, member: name },
            certificate: CertificateRow { id: kept.certificate, member },
            first_seen: kept.first_seen,
            second_hand: kept.second_hand,
            weight: kept.weight,
            raw: kept.raw,
        };
        self.keep(number, entry);
        Ok(Some(()))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How much there is to do when these are moved.
    pub(crate) fn rows(&self) -> usize {
        self.entries.len() + self.gone.len()
    }

    /// How much the table `recent` holds, with what is appended to it next.
    pub(crate) fn records(&self) -> usize {
        self.records
    }

    /// Whether nothing waits, and nothing of what had waited is left in the file.
    pub(crate) fn is_clear(&self) -> bool {
        self.rows() == 0 && self.unwritten.is_empty() && self.rows_written == 0
    }

    pub(crate) fn find(&self, session: &SessionKey) -> Option<(i64, &Entry)> {
        let number = self.numbers.get(session)?;
        Some((*number, self.entries.get(number)?))
    }

    /// Whether this row of the table of receipts was evicted.
    pub(crate) fn is_gone(&self, number: i64) -> bool {
        self.gone.contains(&number)
    }

    /// The number of the session that became known last.
    pub(crate) fn last(&self) -> i64 {
        self.last
    }

    /// Those after this number.
    pub(crate) fn after(&self, number: i64) -> impl Iterator<Item = (i64, &Entry)> {
        let first = number.saturating_add(1);
        self.entries.range(first..).map(|(number, entry)| (*number, entry))
    }

    /// Whether a receipt in here needs this certificate.
    pub(crate) fn needs(&self, certificate: i64) -> bool {
        self.certificates.contains_key(&certificate)
    }

    /// From which age on the table of receipts has to be looked through for the oldest that are not gone.
    pub(crate) fn gone_until(&self, second_hand: bool) -> i64 {
        self.gone_until[usize::from(second_hand)].unwrap_or(i64::MIN)
    }

    pub(crate) fn set_gone_until(&mut self, second_hand: bool, age: i64) {
        self.gone_until[usize::from(second_hand)] = Some(age);
    }

    /// Which rows of the table of receipts were evicted.
    pub(crate) fn gone_numbers(&self) -> impl Iterator<Item = i64> {
        self.gone.iter().copied()
    }

    /// How many rows of the table of receipts were evicted.
    pub(crate) fn gone(&self) -> usize {
        self.gone.len()
    }

    /// A session has become known under this number, in the table of receipts.
    pub(crate) fn set_last(&mut self, number: i64) {
        self.last = self.last.max(number);
    }

    /// Adds the first receipt of a session.
    pub(crate) fn push(&mut self, entry: Entry) {
        let number = self.last + 1;
        self.note(number, &entry);
        self.keep(number, entry);
    }

    /// Puts a larger receipt in the place of one that waits. Its session is as old as it was.
    pub(crate) fn replace(&mut self, number: i64, receipt: &Receipt, certificate: CertificateRow) {
        let Some(old) = self.entries.get(&number) else { return };
        let entry = Entry {
            session: old.session,
            certificate,
            first_seen: old.first_seen,
            second_hand: old.second_hand,
            weight: receipt.weight(),
            raw: receipt.as_bytes().into(),
        };
        self.note(number, &entry);
        self.keep(number, entry);
    }

    /// Evicts what has this number, in here or in the table of receipts.
    pub(crate) fn evict(&mut self, number: i64) {
        self.records += 1;
        let body = self.body();
        body.push(GONE);
        body.extend(number.to_be_bytes());
        self.forget(number);
    }

    fn note(&mut self, number: i64, entry: &Entry) {
        self.records += 1;
        let body = self.body();
        body.push(KEPT);
        body.extend(number.to_be_bytes());
        body.extend(entry.certificate.id.to_be_bytes());
        body.extend(entry.first_seen.0.to_be_bytes());
        body.push(u8::from(entry.second_hand));
        let length = u16::try_from(entry.raw.len()).expect("a receipt is short");
        body.extend(length.to_be_bytes());
        body.extend(&entry.raw);
    }

    /// Where the next record goes.
    fn body(&mut self) -> &mut Vec<u8> {
        if self.unwritten.last().is_none_or(|body| body.len() >= BODY_LEN) {
            self.unwritten.push(Vec::with_capacity(BODY_LEN + Receipt::LEN_MAX));
        }
        self.unwritten.last_mut().expect("one was put there")
    }

    fn keep(&mut self, number: i64, entry: Entry) {
        self.last = self.last.max(number);
        *self.certificates.entry(entry.certificate.id).or_default() += 1;
        self.numbers.insert(entry.session, number);
        if let Some(old) = self.entries.insert(number, entry) {
            self.release(old.certificate.id);
        }
    }

    fn forget(&mut self, number: i64) {
        match self.entries.remove(&number) {
            Some(entry) => {
                self.numbers.remove(&entry.session);
                self.release(entry.certificate.id);
            }
            None => {
                self.gone.insert(number);
            }
        }
    }

    fn release(&mut self, certificate: i64) {
        if let Some(count) = self.certificates.get_mut(&certificate) {
            *count -= 1;
            if *count == 0 {
                self.certificates.remove(&certificate);
            }
        }
    }

    /// The numbers of the `count` oldest that wait, oldest first, of one's own dealings or of others'.
    pub(crate) fn oldest(&self, second_hand: bool, count: usize) -> Vec<(Oldness, i64)> {
        let matching = self.entries.iter().filter(|(_, entry)| entry.second_hand == second_hand);
        let started = |entry: &Entry| entry.session.started.0.cast_signed();
        let mut all: Vec<_> = matching
            .map(|(number, entry)| (oldness(entry.age(), started(entry), *number), *number))
            .collect();
        if count < all.len() {
            all.select_nth_unstable(count);
            all.truncate(count);
        }
        all.sort_unstable();
        all
    }

    pub(crate) fn get(&self, number: i64) -> Option<&Entry> {
        self.entries.get(&number)
    }

    /// Appends what the transaction has changed.
    pub(crate) fn append(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached("INSERT INTO recent (id, body) VALUES (?, ?)")?;
        for mut body in self.unwritten.drain(..) {
            let row = self.rows_written + 1;
            body.extend(digest(row, &body));
            statement.execute(params![row, body])?;
            self.rows_written = row;
        }
        Ok(())
    }

    /// Moves all to the table of receipts, within a transaction, and forgets them.
    pub(crate) fn drain(
        &mut self,
        connection: &Connection,
        numbers: &mut Numbers<'_>,
        flushed: bool,
    ) -> rusqlite::Result<()> {
        // First, so that rows that come use the pages again: the file grows less, and fewer pages of the log are copied.
        connection.execute("DELETE FROM recent", [])?;
        let mut remove =
            connection.prepare_cached("DELETE FROM receipt WHERE id = ? RETURNING certificate, provider")?;
        for number in &self.gone {
            let gone = remove.query_row([number], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            if let Some((certificate, provider)) = gone {
                numbers.release(certificate);
                numbers.release_provider(provider);
            }
        }
        let mut keep = connection.prepare_cached(&insert_into("main.receipt"))?;
        for (number, entry) in &self.entries {
            let provider = numbers.provider(entry.session.provider)?;
            entry.insert(&mut keep, Row { number: *number, provider, flushed })?;
        }
        for (certificate, count) in &self.certificates {
            numbers.add_rows(*certificate, *count);
        }
        *self = Self { last: self.last, ..Self::default() };
        Ok(())
    }
}

/// What is written of a receipt that waits, under its number, or of a session that was evicted.
enum Record {
    Kept(i64, KeptRecord),
    Gone(i64),
}

struct KeptRecord {
    certificate: i64,
    first_seen: UnixSeconds,
    second_hand: bool,
    provider: TeamId,
    started: UnixSeconds,
    weight: Bytes,
    raw: Box<[u8]>,
}

impl Record {
    /// The first record of `body` and what comes after it.
    fn read(body: &[u8]) -> Option<(Self, &[u8])> {
        let (kind, body) = body.split_first()?;
        let (number, body) = body.split_first_chunk()?;
        let number = i64::from_be_bytes(*number);
        match *kind {
            GONE => Some((Self::Gone(number), body)),
            KEPT => {
                let (certificate, body) = body.split_first_chunk()?;
                let (first_seen, body) = body.split_first_chunk()?;
                let (second_hand, body) = body.split_first()?;
                let (length, body) = body.split_first_chunk()?;
                let (raw, body) = body.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
                let receipt = UncheckedReceipt::parse(raw).ok()?;
                let kept = KeptRecord {
                    certificate: i64::from_be_bytes(*certificate),
                    first_seen: UnixSeconds(u64::from_be_bytes(*first_seen)),
                    second_hand: *second_hand != 0,
                    provider: receipt.provider(),
                    started: receipt.started(),
                    weight: receipt.weight(),
                    raw: raw.into(),
                };
                Some((Self::Kept(number, kept), body))
            }
            _ => None,
        }
    }
}

/// Whose certificates these are.
struct Members<'a> {
    connection: &'a Connection,
    known: BTreeMap<i64, (i64, MemberId)>,
}

impl Members<'_> {
    /// The number and the name of the member; nothing if the certificate is not kept.
    fn of(&mut self, certificate: i64) -> rusqlite::Result<Option<(i64, MemberId)>> {
        if let Some(member) = self.known.get(&certificate) {
            return Ok(Some(*member));
        }
        let mut find = self.connection.prepare_cached(
            "SELECT m.id, m.name FROM certificate c JOIN member m ON m.id = c.member WHERE c.id = ?",
        )?;
        let found =
            find.query_row([certificate], |row| Ok((row.get(0)?, MemberId(row.get(1)?)))).optional()?;
        self.known.extend(found.map(|member| (certificate, member)));
        Ok(found)
    }
}

/// What ends a row of the table `recent`: most of its columns nobody signed, so a bit that falls over has to be noticed.
fn digest(row: i64, records: &[u8]) -> [u8; 8] {
    let mut digest = RowDigest::new("recent");
    digest.column(ValueRef::Integer(row));
    digest.column(ValueRef::Blob(records));
    digest.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_computer_and_a_small_store_let_few_wait() {
        #[rustfmt::skip]
        let cases = [
            ("a router with the usual store", 1_000_000,     128 * 1_024, 5_991),
            ("a computer",                    1_000_000,   4_096 * 1_024, 62_500),
            ("a large store",                 u64::MAX,    8_192 * 1_024, 65_536),
            ("a small store",                 20_000,      8_192 * 1_024, 1_250),
            ("next to nothing",               15,          8_192 * 1_024, 0),
        ];
        for (name, receipts_max, memory_kib, want) in cases {
            let limits = Limits { receipts_max, own_team: None };
            assert_eq!(RecentLimits::of(limits, memory_kib).recent_max, want, "{name}");
        }
    }
}
