//! Taking receipts in: a map of max-registers on disk, and what has to go when it is full.

mod ledger;

use crate::numbers::Numbers;
use crate::recent::{self, Entry, Recent, RecentLimits};
use crate::{Edge, Limits, StoreError};
use guestright_identity::Certificate;
use guestright_receipt::{Receipt, SessionKey};
use guestright_units::{Bytes, UnixSeconds};
use ledger::Ledger;
pub(crate) use ledger::edges;
use rusqlite::{CachedStatement, OptionalExtension, Transaction, params};

/// Of a store that knows its own team, one part in so many may be receipts of others' dealings.
const SECOND_HAND_SHARE: u64 = 10;

/// The oldest receipts, either of others' dealings or not. Numbers of 2^63 and more are kept as negative ones: first, they
/// are the latest. Left to itself, SQLite would rather sort the whole table than only what has the same age.
const OLDEST: &str =
    "SELECT id, certificate, provider, weight, age, started FROM receipt INDEXED BY receipt_by_age
     WHERE second_hand = ? AND age >= ? ORDER BY age, started < 0 DESC, started DESC, id LIMIT ?";

/// What became of one receipt; the same as [`guestright_receipt::Registers::admit`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The first of its session.
    New,
    /// Larger than the one that was known, by so much.
    Raised(Bytes),
    /// It says what was known.
    Known,
    /// A larger one of its session is known; nothing changed.
    Lower {
        /// What it says.
        got: Bytes,
        known: Bytes,
    },
}

/// What a [`Store::put`](crate::Store::put) did: [`Store::edges`](crate::Store::edges) afterwards are those before, plus `added`, minus `evicted`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutReport {
    /// One for each receipt, in their order.
    pub outcomes: Vec<Outcome>,
    /// What counts now and did not before, one entry for each pair of teams, sorted.
    pub added: Vec<Edge>,
    /// What no longer counts, likewise: receipts that had to go, and those of a member who showed a larger one of
    /// the same session under another team's certificate. It may include what was added a moment ago.
    pub evicted: Vec<Edge>,
}

/// Receipts that came together, and when.
pub(crate) struct Batch<'a> {
    pub(crate) items: &'a [(Receipt, Certificate)],
    pub(crate) now: UnixSeconds,
}

/// How many receipts there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) all: u64,
    /// Of others' dealings: see [`Limits::own_team`].
    pub(crate) second_hand: u64,
}

/// Where receipts are taken in.
pub(crate) struct Target<'a> {
    pub(crate) transaction: &'a Transaction<'a>,
    pub(crate) limits: Limits,
    /// How many receipts there are before.
    pub(crate) counts: Counts,
    pub(crate) recent_limits: RecentLimits,
}

/// Takes several batches in, within a transaction. What had to go is in the last report. After an error `recent` is not what is
/// in the file.
pub(crate) fn merge(
    target: Target<'_>,
    batches: &[Batch<'_>],
    recent: &mut Recent,
) -> rusqlite::Result<Merged> {
    let Target { transaction, limits, counts, recent_limits } = target;
    let RecentLimits { direct_max, recent_max, records_max } = recent_limits;
    let count: usize = batches.iter().map(|batch| batch.items.len()).sum();
    if batches.is_empty() {
        return Ok(Merged { counts, reports: Vec::new() });
    }
    let would_fit = recent.rows().saturating_add(count) < recent_max;
    let waits = would_fit && (recent.rows() > 0 || direct_max < count);
    let numbers = Numbers::new(transaction);
    let mut merge = Merge { transaction, limits, counts, recent, waits, numbers, find: None };
    if !would_fit && !merge.recent.is_clear() {
        merge.move_recent()?;
    }
    let mut ledgers = Vec::with_capacity(batches.len());
    for batch in batches {
        let mut ledger = Ledger::default();
        for (receipt, certificate) in batch.items {
            let outcome = merge.admit(receipt, certificate, batch.now, &mut ledger)?;
            ledger.outcomes.push(outcome);
        }
        ledgers.push(ledger);
    }
    if let Some(last) = ledgers.last_mut() {
        merge.evict(last)?;
    }
    let rows = merge.recent.rows();
    if 0 < rows && rows < recent_max && merge.recent.records() < records_max {
        merge.recent.append(transaction)?;
    } else if !merge.recent.is_clear() {
        merge.move_recent()?;
    }
    let counts = merge.counts;
    merge.finish()?;
    Ok(Merged { counts, reports: ledgers.into_iter().map(Ledger::report).collect() })
}

/// Moves all receipts that wait to the others, within a transaction.
pub(crate) fn index_recent(
    transaction: &Transaction<'_>,
    limits: Limits,
    recent: &mut Recent,
) -> rusqlite::Result<()> {
    let counts = Counts { all: 0, second_hand: 0 };
    let numbers = Numbers::new(transaction);
    let mut merge = Merge { transaction, limits, counts, recent, waits: true, numbers, find: None };
    merge.move_recent()?;
    merge.finish()
}

/// What a transaction has done, once it is committed.
pub(crate) struct Merged {
    /// How many receipts there are then.
    pub(crate) counts: Counts,
    /// One for each batch.
    pub(crate) reports: Vec<PutReport>,
}

/// Whether each receipt came with its own certificate.
pub(crate) fn check(items: &[(Receipt, Certificate)]) -> Result<(), StoreError> {
    let differs =
        |(receipt, certificate): &&(Receipt, Certificate)| receipt.certificate() != certificate.reference();
    items.iter().find(differs).map_or(Ok(()), |(receipt, certificate)| {
        Err(StoreError::OtherCertificate { got: certificate.reference(), want: receipt.certificate() })
    })
}

/// A transaction that takes receipts in.
struct Merge<'a> {
    transaction: &'a Transaction<'a>,
    limits: Limits,
    counts: Counts,
    recent: &'a mut Recent,
    /// Whether what comes waits among the recent ones to be moved.
    waits: bool,
    numbers: Numbers<'a>,
    /// Looks for a session in the table of receipts, once that was needed: so often that the way to the statement counts.
    find: Option<CachedStatement<'a>>,
}

/// The receipt that counted for a session so far.
struct Kept {
    id: i64,
    is_recent: bool,
    certificate: i64,
    weight: Bytes,
    raw: Vec<u8>,
}

/// A receipt that has to go.
struct Victim {
    id: i64,
    certificate: i64,
    /// The number of its provider, if it is in the table of receipts.
    provider: Option<i64>,
    /// Nothing if its certificate or its provider is missing in a damaged file: then it did not count.
    edge: Option<Edge>,
}

impl Merge<'_> {
    fn admit(
        &mut self,
        receipt: &Receipt,
        certificate: &Certificate,
        now: UnixSeconds,
        ledger: &mut Ledger,
    ) -> rusqlite::Result<Outcome> {
        let got = receipt.weight();
        // Most are the first of their session, so that comes before the question whether there is one.
        let is_new = if self.waits {
            self.push(receipt, certificate, now)?
        } else {
            self.insert(receipt, certificate, now)?
        };
        if is_new {
            ledger.add(receipt.consumer(), receipt.provider(), got);
            return Ok(Outcome::New);
        }
        let kept = self.kept(&receipt.session(), certificate)?;
        let known = kept.weight;
        if got < known {
            return Ok(Outcome::Lower { got, known });
        }
        if (got, receipt.as_bytes()) > (known, kept.raw.as_slice()) {
            self.replace(&kept, receipt, certificate, ledger)?;
        }
        Ok(if got > known { Outcome::Raised(got.saturating_sub(known)) } else { Outcome::Known })
    }

    fn kept(&mut self, session: &SessionKey, certificate: &Certificate) -> rusqlite::Result<Kept> {
        if let Some((id, entry)) = self.recent.find(session) {
            let Entry { certificate, weight, ref raw, .. } = *entry;
            return Ok(Kept { id, is_recent: true, certificate: certificate.id, weight, raw: raw.to_vec() });
        }
        let (provider, member) =
            (self.numbers.provider(session.provider)?, self.numbers.certificate(certificate)?.member);
        let mut statement = self.transaction.prepare_cached(
            "SELECT id, certificate, weight, raw FROM receipt WHERE provider = ? AND started = ? AND member = ?",
        )?;
        statement.query_row(params![provider, session.started.0.cast_signed(), member], |row| {
            Ok(Kept {
                id: row.get(0)?,
                is_recent: false,
                certificate: row.get(1)?,
                weight: Bytes(row.get::<_, i64>(2)?.cast_unsigned()),
                raw: row.get(3)?,
            })
        })
    }

    /// Lets the first receipt of a session wait; false if there is one.
    fn push(
        &mut self,
        receipt: &Receipt,
        certificate: &Certificate,
        now: UnixSeconds,
    ) -> rusqlite::Result<bool> {
        let session = receipt.session();
        if self.recent.find(&session).is_some() {
            return Ok(false);
        }
        let certificate = self.numbers.certificate(certificate)?;
        if self.is_in_table(&session, certificate.member)? {
            self.numbers.review(certificate.id);
            return Ok(false);
        }
        let second_hand = self.is_second_hand(receipt);
        let (weight, raw) = (receipt.weight(), receipt.as_bytes().into());
        self.recent.push(Entry { session, certificate, first_seen: now, second_hand, weight, raw });
        self.count_one_more(second_hand);
        Ok(true)
    }

    fn is_in_table(&mut self, session: &SessionKey, member: i64) -> rusqlite::Result<bool> {
        let Some(provider) = self.numbers.find_provider(session.provider)? else { return Ok(false) };
        let statement = match &mut self.find {
            Some(statement) => statement,
            none => none.insert(self.transaction.prepare_cached(
                "SELECT id FROM receipt WHERE provider = ? AND started = ? AND member = ?",
            )?),
        };
        let key = params![provider, session.started.0.cast_signed(), member];
        let found = statement.query_row(key, |row| row.get(0)).optional()?;
        Ok(found.is_some_and(|id| !self.recent.is_gone(id)))
    }

    fn count_one_more(&mut self, second_hand: bool) {
        self.counts.all += 1;
        self.counts.second_hand += u64::from(second_hand);
    }

    /// Keeps the first receipt of a session; false if there is one.
    fn insert(
        &mut self,
        receipt: &Receipt,
        certificate: &Certificate,
        now: UnixSeconds,
    ) -> rusqlite::Result<bool> {
        let certificate = self.numbers.certificate(certificate)?;
        let provider = self.numbers.provider(receipt.provider())?;
        let mut statement = self.transaction.prepare_cached(
            "INSERT INTO receipt
             (provider, started, member, certificate, weight, first_seen, age, second_hand, flushed, raw)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (provider, started, member) DO NOTHING",
        )?;
        let (session, second_hand) = (receipt.session(), self.is_second_hand(receipt));
        let inserted = statement.execute(params![
            provider,
            session.started.0.cast_signed(),
            certificate.member,
            certificate.id,
            receipt.weight().0.cast_signed(),
            now.0.cast_signed(),
            session.started.min(now).0.cast_signed(),
            second_hand,
            self.hands_nothing_on(),
            receipt.as_bytes(),
        ])?;
        if inserted == 0 {
            // Nobody may need it.
            self.numbers.review(certificate.id);
            return Ok(false);
        }
        self.numbers.add_rows(certificate.id, 1);
        self.recent.set_last(self.transaction.last_insert_rowid());
        self.count_one_more(second_hand);
        Ok(true)
    }

    fn replace(
        &mut self,
        kept: &Kept,
        receipt: &Receipt,
        certificate: &Certificate,
        ledger: &mut Ledger,
    ) -> rusqlite::Result<()> {
        let (consumer, provider) = (receipt.consumer(), receipt.provider());
        let certificate = self.numbers.certificate(certificate)?;
        let mut before = Some(consumer);
        if certificate.id != kept.certificate {
            before = self.numbers.consumer(kept.certificate)?;
            self.numbers.review(kept.certificate);
        }
        if before == Some(consumer) {
            ledger.add(consumer, provider, receipt.weight().saturating_sub(kept.weight));
        } else {
            if let Some(before) = before {
                ledger.remove(before, provider, kept.weight);
            }
            ledger.add(consumer, provider, receipt.weight());
        }
        if kept.is_recent {
            self.recent.replace(kept.id, receipt, certificate);
            return Ok(());
        }
        if certificate.id != kept.certificate {
            self.numbers.release(kept.certificate);
            self.numbers.add_rows(certificate.id, 1);
        }
        let mut statement = self.transaction.prepare_cached(
            "UPDATE receipt SET certificate = ?, weight = ?, raw = ?, flushed = ? WHERE id = ?",
        )?;
        let weight = receipt.weight().0.cast_signed();
        let flushed = self.hands_nothing_on();
        statement.execute(params![certificate.id, weight, receipt.as_bytes(), flushed, kept.id])?;
        Ok(())
    }

    /// Whether this is a home's store, which knows its team: its receipts have come to where they were going.
    fn hands_nothing_on(&self) -> bool {
        self.limits.own_team.is_some()
    }

    /// Whether our own team neither served nor was served.
    fn is_second_hand(&self, receipt: &Receipt) -> bool {
        self.limits.own_team.is_some_and(|own| receipt.provider() != own && receipt.consumer() != own)
    }

    /// Removes what is too much: receipts of others' dealings first, if we know which those are.
    fn evict(&mut self, ledger: &mut Ledger) -> rusqlite::Result<()> {
        let max = self.limits.receipts_max;
        if self.limits.own_team.is_some() {
            let first_hand = self.counts.all - self.counts.second_hand;
            let max = (max / SECOND_HAND_SHARE).min(max.saturating_sub(first_hand));
            self.remove_oldest(true, surplus(self.counts.second_hand, max), ledger)?;
        }
        // There is none of others' dealings left if there are still too many.
        self.remove_oldest(false, surplus(self.counts.all, max), ledger)
    }

    fn remove_oldest(&mut self, second_hand: bool, count: u64, ledger: &mut Ledger) -> rusqlite::Result<()> {
        if count == 0 {
            return Ok(());
        }
        for victim in self.oldest(second_hand, count)? {
            self.remove(&victim)?;
            let Victim { certificate, edge, .. } = victim;
            self.counts.all -= 1;
            self.counts.second_hand -= u64::from(second_hand);
            self.numbers.review(certificate);
            if let Some(Edge { consumer, provider, weight }) = edge {
                ledger.remove(consumer, provider, weight);
            }
        }
        Ok(())
    }

    fn remove(&mut self, victim: &Victim) -> rusqlite::Result<()> {
        if self.waits {
            self.recent.evict(victim.id);
            return Ok(());
        }
        self.transaction.prepare_cached("DELETE FROM receipt WHERE id = ?")?.execute([victim.id])?;
        self.numbers.release(victim.certificate);
        if let Some(provider) = victim.provider {
            self.numbers.release_provider(provider);
        }
        Ok(())
    }

    /// The oldest of those that wait and of the table of receipts, oldest first.
    fn oldest(&mut self, second_hand: bool, count: u64) -> rusqlite::Result<Vec<Victim>> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut waiting = self.recent.oldest(second_hand, count).into_iter().peekable();
        let mut statement = self.transaction.prepare_cached(OLDEST)?;
        // Those that are gone already may be among them.
        let most = count.saturating_add(self.recent.gone());
        let since = self.recent.gone_until(second_hand);
        let mut rows =
            statement.query(params![second_hand, since, i64::try_from(most).unwrap_or(i64::MAX)])?;
        let mut until = None;
        let mut victims = Vec::with_capacity(count);
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            if self.recent.is_gone(id) {
                continue;
            }
            let age: i64 = row.get(4)?;
            let oldness = recent::oldness(age, row.get(5)?, id);
            while let Some((_, id)) =
                waiting.next_if(|(waiting, _)| victims.len() < count && *waiting < oldness)
            {
                victims.extend(self.waiting_victim(id)?);
            }
            if victims.len() == count {
                break;
            }
            until = Some(age);
            let (certificate, provider) = (row.get(1)?, row.get(2)?);
            let weight = Bytes(row.get::<_, i64>(3)?.cast_unsigned());
            let teams = self.numbers.consumer(certificate)?.zip(self.numbers.provider_team(provider)?);
            let edge = teams.map(|(consumer, provider)| Edge { consumer, provider, weight });
            victims.push(Victim { id, certificate, provider: Some(provider), edge });
        }
        for (_, id) in waiting.take(count - victims.len()) {
            victims.extend(self.waiting_victim(id)?);
        }
        if let Some(age) = until.filter(|_| self.waits) {
            self.recent.set_gone_until(second_hand, age);
        }
        Ok(victims)
    }

    fn waiting_victim(&mut self, id: i64) -> rusqlite::Result<Option<Victim>> {
        let Some(entry) = self.recent.get(id) else { return Ok(None) };
        let (certificate, provider, weight) = (entry.certificate.id, entry.session.provider, entry.weight);
        let consumer = self.numbers.consumer(certificate)?;
        let edge = consumer.map(|consumer| Edge { consumer, provider, weight });
        Ok(Some(Victim { id, certificate, provider: None, edge }))
    }

    fn move_recent(&mut self) -> rusqlite::Result<()> {
        let flushed = self.hands_nothing_on();
        self.recent.drain(self.transaction, &mut self.numbers, flushed)
    }

    fn finish(self) -> rusqlite::Result<()> {
        let recent = self.recent;
        self.numbers.finish(|certificate| recent.needs(certificate))
    }
}

/// How many of `count` have to go when there may be `max`: a few more, so that not every call has to remove some.
fn surplus(count: u64, max: u64) -> u64 {
    let spare = (max / 64).min(1_024);
    if count <= max { 0 } else { count - (max - spare) }
}

#[cfg(test)]
mod tests;
