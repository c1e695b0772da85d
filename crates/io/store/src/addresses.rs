//! Who had which address of the visitors' network when (design note 0017).
//!
//! A file of its own beside the receipts: it is kept for hours or days, and what is removed from it is gone from the disk.

mod error;
mod file;
mod slot;
#[cfg(test)]
mod tests;

pub use error::AddressesError;
pub use file::remove_addresses;

use file::{make_private, prepare};
use guestright_identity::KeyId;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rusqlite::{Connection, OpenFlags, params};
use slot::{EMPTY, Slot};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// When there are too many records, one in so many goes at once, so that not every session has to make room.
const ROOM_SHARE: u64 = 64;

/// Now, by the clock on the wall and by one that nobody sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub wall: UnixSeconds,
    /// Seconds since the store was opened.
    pub steady_seconds: u64,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressLimits {
    /// A record goes so many seconds after its session has ended.
    pub keep_seconds: u64,
    /// When there are more, the oldest go.
    pub records_max: u64,
}

/// Somebody who has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressHolder {
    pub ip: Ipv4Addr,
    /// Hardware address.
    pub mac: Option<[u8; 6]>,
    /// Nothing for a stranger.
    pub team: Option<TeamId>,
    /// The member's key.
    pub member: Option<KeyId>,
    /// Whether its home signed for its tunnel, and nothing else of it passed.
    pub by_tunnel: bool,
}

/// A session, or a stranger's trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRecord {
    pub holder: AddressHolder,
    pub began: UnixSeconds,
    /// Nothing while it lasts.
    pub ended: Option<UnixSeconds>,
    /// Whether the program ended before the session did: the end is then when it was last seen, a minute early at most.
    pub is_cut: bool,
    /// Both ways together.
    pub carried: Bytes,
}

/// Names a record, also after it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordId {
    slot: i64,
    sequence: u64,
}

/// Which records are to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    All,
    Address(Ipv4Addr),
    Team(TeamId),
}

/// The records in an SQLite file of their owner alone (mode 0600), opened by one process at a time.
///
/// Call [`Addresses::begin`] and [`Addresses::end`] for each session, and [`Addresses::pass_time`] about once a minute, which
/// removes what is due. What is removed is overwritten, and the write-ahead log is cut to nothing.
#[derive(Debug)]
pub struct Addresses {
    connection: Connection,
    path: PathBuf,
    limits: AddressLimits,
    /// Seconds of earlier runs.
    steady_before: u64,
    open: BTreeMap<RecordId, Slot>,
    free: BTreeSet<i64>,
    count: u64,
    sequence: u64,
}

impl Addresses {
    /// Opens the file, or makes an empty one, and removes what is due before anything else. Sessions that were open when the
    /// last run ended count as ended when it last passed time.
    ///
    /// # Errors
    /// [`AddressesError`]. After `Damaged` the file is to be [removed](remove_addresses): it cannot be known what is due in it.
    pub fn open(path: &Path, limits: AddressLimits, now: Moment) -> Result<Self, AddressesError> {
        make_private(path)
            .map_err(|error| AddressesError::Open { path: path.to_owned(), reason: error.to_string() })?;
        let fail = |error: rusqlite::Error| AddressesError::from_sqlite(path, "open the file", &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        prepare(&mut connection, path)?;
        let damaged: String =
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(fail)?;
        if damaged != "ok" {
            return Err(AddressesError::Damaged { path: path.to_owned(), reason: damaged });
        }
        let steady = "SELECT value FROM state WHERE name = 'steady'";
        let steady_before: i64 = connection.query_row(steady, [], |row| row.get(0)).map_err(fail)?;
        let mut this = Self {
            connection,
            path: path.to_owned(),
            limits,
            steady_before: steady_before.cast_unsigned(),
            open: BTreeMap::new(),
            free: BTreeSet::new(),
            count: 0,
            sequence: 0,
        };
        this.look_over()?;
        this.expire(now)?;
        this.cut_log()?;
        Ok(this)
    }

    /// A session begins.
    ///
    /// # Errors
    /// [`AddressesError`]; there is no record of it.
    pub fn begin(&mut self, holder: &AddressHolder, now: Moment) -> Result<RecordId, AddressesError> {
        self.make_room()?;
        let number = self.empty_slot()?;
        let slot = Slot {
            holder: *holder,
            began: now.wall,
            until: now.wall,
            until_steady: self.steady(now),
            is_open: true,
            is_cut: false,
            carried: Bytes(0),
            sequence: self.sequence + 1,
        };
        self.write("begin a record", &[(number, slot.emit())])?;
        self.free.remove(&number);
        self.sequence += 1;
        self.count += 1;
        let record = RecordId { slot: number, sequence: slot.sequence };
        self.open.insert(record, slot);
        Ok(record)
    }

    /// A session has carried so much until now. A record that was removed meanwhile stays removed.
    ///
    /// # Errors
    /// [`AddressesError`]; nothing has changed.
    pub fn note_carried(&mut self, record: RecordId, carried: Bytes) -> Result<(), AddressesError> {
        let Some(mut slot) = self.open.get(&record).copied() else { return Ok(()) };
        slot.carried = carried;
        self.write("note what was carried", &[(record.slot, slot.emit())])?;
        self.open.insert(record, slot);
        Ok(())
    }

    /// A session is over, and has carried so much, or what was noted last. A record that was removed meanwhile stays removed.
    ///
    /// # Errors
    /// [`AddressesError`]; the end is not in the file yet. It is with the next [`Addresses::pass_time`] that is carried out.
    pub fn end(
        &mut self,
        record: RecordId,
        carried: Option<Bytes>,
        now: Moment,
    ) -> Result<(), AddressesError> {
        let (until, until_steady) = (now.wall, self.steady(now));
        let Some(slot) = self.open.get_mut(&record) else { return Ok(()) };
        let (until, carried) = (until.max(slot.began), carried.unwrap_or(slot.carried));
        *slot = Slot { until, until_steady, is_open: false, carried, ..*slot };
        let bytes = slot.emit();
        self.write("end a record", &[(record.slot, bytes)])?;
        self.open.remove(&record);
        Ok(())
    }

    /// Removes what is due, and notes that what is open is still open. Returns how many records have gone.
    ///
    /// # Errors
    /// [`AddressesError`]; what is due may still be there.
    pub fn pass_time(&mut self, now: Moment) -> Result<u64, AddressesError> {
        let steady = self.steady(now);
        let mut written = Vec::new();
        for (record, slot) in &mut self.open {
            if slot.is_open {
                (slot.until, slot.until_steady) = (now.wall.max(slot.began), steady);
            }
            written.push((record.slot, slot.emit()));
        }
        // First what goes: the rest may find no space.
        let gone = self.expire(now)?;
        if self.count > 0 {
            self.write("note the time", &written)?;
            let sql = "UPDATE state SET value = ?1 WHERE name = 'steady'";
            let written = self.connection.execute(sql, params![steady.cast_signed()]);
            written.map_err(|error| self.fail("note the time", &error))?;
        }
        self.open.retain(|_, slot| slot.is_open);
        Ok(gone)
    }

    /// From now on records are kept for so long. Returns how many have gone.
    ///
    /// # Errors
    /// [`AddressesError`]; what is due may still be there.
    pub fn keep_for(&mut self, keep_seconds: u64, now: Moment) -> Result<u64, AddressesError> {
        self.limits.keep_seconds = keep_seconds;
        self.expire(now)
    }

    /// Removes records, those of open sessions as well. Returns how many.
    ///
    /// # Errors
    /// [`AddressesError`]; they may still be there.
    pub fn forget(&mut self, which: Forget) -> Result<u64, AddressesError> {
        self.remove(|slot| match which {
            Forget::All => true,
            Forget::Address(ip) => slot.holder.ip == ip,
            Forget::Team(team) => slot.holder.team == Some(team),
        })
    }

    /// At most `most` records from slot `first` on, in no order of time; with `at` only of sessions that were there at that second,
    /// with `ip` only of that address. With them the slot from which on there may be more.
    ///
    /// # Errors
    /// [`AddressesError`].
    pub fn find(
        &self,
        at: Option<UnixSeconds>,
        ip: Option<Ipv4Addr>,
        first: i64,
        most: usize,
    ) -> Result<(Vec<AddressRecord>, Option<i64>), AddressesError> {
        let (mut found, mut next) = (Vec::new(), None);
        self.each(first, |number, slot| {
            let Some(slot) = slot else { return ControlFlow::Continue(()) };
            if found.len() == most {
                next = Some(number);
                return ControlFlow::Break(());
            }
            // What is in memory is newer where the disk did not take it.
            let id = RecordId { slot: number, sequence: slot.sequence };
            let record = self.open.get(&id).unwrap_or(&slot).record();
            let was_there = |at| record.began <= at && record.ended.is_none_or(|ended| ended >= at);
            if at.is_none_or(was_there) && ip.is_none_or(|ip| record.holder.ip == ip) {
                found.push(record);
            }
            ControlFlow::Continue(())
        })?;
        Ok((found, next))
    }

    /// The teams whose ids begin with these hexadecimal digits.
    ///
    /// # Errors
    /// [`AddressesError`].
    pub fn teams(&self, digits: &str) -> Result<BTreeSet<TeamId>, AddressesError> {
        let digits = digits.to_ascii_lowercase();
        let mut teams = BTreeSet::new();
        self.each(0, |_, slot| {
            teams.extend(
                slot.and_then(|slot| slot.holder.team).filter(|it| it.to_string().starts_with(&digits)),
            );
            ControlFlow::Continue(())
        })?;
        Ok(teams)
    }

    /// How many records there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn steady(&self, now: Moment) -> u64 {
        self.steady_before.saturating_add(now.steady_seconds)
    }

    /// Learns what is in the file, and ends what was open.
    fn look_over(&mut self) -> Result<(), AddressesError> {
        let (mut free, mut count, mut sequence, mut cut) = (BTreeSet::new(), 0, 0, Vec::new());
        self.each(0, |number, slot| {
            match slot {
                Some(slot) => {
                    count += 1;
                    sequence = slot.sequence.max(sequence);
                    if slot.is_open {
                        cut.push((number, Slot { is_open: false, is_cut: true, ..slot }.emit()));
                    }
                }
                None => drop(free.insert(number)),
            }
            ControlFlow::Continue(())
        })?;
        (self.free, self.count, self.sequence) = (free, count, sequence);
        self.write("end what was open", &cut)
    }

    /// Whether there is a record that is due and not removed, or none can be read to know.
    pub fn is_overdue(&self, now: Moment) -> bool {
        let is_due = self.is_due(now);
        let mut found = false;
        let looked = self.each(0, |number, slot| {
            let record = |slot: &Slot| RecordId { slot: number, sequence: slot.sequence };
            found = slot.is_some_and(|slot| is_due(self.open.get(&record(&slot)).unwrap_or(&slot)));
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        found || looked.is_err()
    }

    fn is_due(&self, now: Moment) -> impl Fn(&Slot) -> bool + use<> {
        let (keep, steady) = (self.limits.keep_seconds, self.steady(now));
        move |slot| {
            let is_over =
                slot.until.plus(keep) <= now.wall || slot.until_steady.saturating_add(keep) <= steady;
            !slot.is_open && is_over
        }
    }

    fn expire(&mut self, now: Moment) -> Result<u64, AddressesError> {
        self.remove(self.is_due(now))
    }

    /// The oldest records that have ended go, if there are too many.
    fn make_room(&mut self) -> Result<(), AddressesError> {
        let most = self.limits.records_max;
        if self.count < most {
            return Ok(());
        }
        let excess = usize::try_from(self.count - most + 1 + most / ROOM_SHARE).unwrap_or(usize::MAX);
        let mut oldest = BTreeSet::new();
        self.each(0, |_, slot| {
            oldest.extend(slot.map(|slot| (slot.is_open, slot.sequence)));
            if oldest.len() > excess {
                oldest.pop_last();
            }
            ControlFlow::Continue(())
        })?;
        self.remove(|slot| oldest.contains(&(slot.is_open, slot.sequence))).map(drop)
    }

    /// A slot in which nobody is, appended if there is none.
    fn empty_slot(&mut self) -> Result<i64, AddressesError> {
        if let Some(number) = self.free.first() {
            return Ok(*number);
        }
        let appended = self.connection.execute("INSERT INTO slot (content) VALUES (?1)", [&EMPTY[..]]);
        appended.map_err(|error| self.fail("append a slot", &error))?;
        let number = self.connection.last_insert_rowid();
        self.free.insert(number);
        Ok(number)
    }

    /// Empties the slots of which `is_to_go` holds.
    fn remove(&mut self, is_to_go: impl Fn(&Slot) -> bool) -> Result<u64, AddressesError> {
        let mut gone = Vec::new();
        self.each(0, |number, slot| {
            if let Some(slot) = slot {
                let id = RecordId { slot: number, sequence: slot.sequence };
                if is_to_go(self.open.get(&id).unwrap_or(&slot)) {
                    gone.push((number, EMPTY));
                }
            }
            ControlFlow::Continue(())
        })?;
        if gone.is_empty() {
            return Ok(0);
        }
        self.write("remove records", &gone)?;
        let numbers: BTreeSet<_> = gone.iter().map(|(number, _)| *number).collect();
        self.count = self.count.saturating_sub(numbers.len() as u64);
        self.open.retain(|record, _| !numbers.contains(&record.slot));
        self.free.extend(&numbers);
        self.cut_log()?;
        Ok(numbers.len() as u64)
    }

    /// Copies the write-ahead log into the file and cuts it to nothing: it still has what was there before.
    fn cut_log(&self) -> Result<(), AddressesError> {
        let fail = |error: rusqlite::Error| self.fail("cut the write-ahead log", &error);
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: bool = self.connection.query_row(sql, [], |row| row.get(0)).map_err(fail)?;
        if busy { Err(AddressesError::InUse { path: self.path.clone() }) } else { Ok(()) }
    }

    /// Looks at the slots from number `first` on.
    fn each(
        &self,
        first: i64,
        mut look: impl FnMut(i64, Option<Slot>) -> ControlFlow<()>,
    ) -> Result<(), AddressesError> {
        let fail = |error: rusqlite::Error| self.fail("read the records", &error);
        let sql = "SELECT id, content FROM slot WHERE id >= ?1 ORDER BY id";
        let mut statement = self.connection.prepare_cached(sql).map_err(fail)?;
        let mut rows = statement.query([first]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let number: i64 = row.get(0).map_err(fail)?;
            let content = row.get_ref(1).map_err(fail)?.as_blob().map_err(|_| self.damaged(number))?;
            let slot = Slot::parse(content).map_err(|_| self.damaged(number))?;
            if look(number, slot).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Overwrites slots, all or none.
    fn write(
        &self,
        doing: &'static str,
        slots: &[(i64, [u8; slot::SLOT_BYTES])],
    ) -> Result<(), AddressesError> {
        let write = || {
            let transaction = self.connection.unchecked_transaction()?;
            let mut statement = transaction.prepare_cached("UPDATE slot SET content = ?2 WHERE id = ?1")?;
            for (number, content) in slots {
                statement.execute(params![number, &content[..]])?;
            }
            drop(statement);
            transaction.commit()
        };
        if slots.is_empty() {
            return Ok(());
        }
        write().map_err(|error| self.fail(doing, &error))
    }

    fn damaged(&self, number: i64) -> AddressesError {
        let reason = format!("slot {number} is not as it was written");
        AddressesError::Damaged { path: self.path.clone(), reason }
    }

    fn fail(&self, doing: &'static str, error: &rusqlite::Error) -> AddressesError {
        AddressesError::from_sqlite(&self.path, doing, error)
    }
}
