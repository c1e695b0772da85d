use crate::credit;
use crate::put::{self, Batch, Counts};
use crate::recent::{self, Recent, RecentLimits};
use crate::{PutReport, StoreError, marker, overlay, own, schema};
use guestright_credit::Write;
use guestright_identity::Certificate;
use guestright_receipt::Receipt;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::cell::{Cell, RefCell};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How much a store may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many receipts, one for each session. When there are more, the oldest go.
    pub receipts_max: u64,
    /// The team whose store it is, if receipts of others' dealings are worth less to it: those in which it neither served
    /// nor was served may be a tenth of all, and go before any of its own.
    pub own_team: Option<TeamId>,
}

/// What a consumer team owes a provider team: the sum over all sessions that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The team that was served.
    pub consumer: TeamId,
    /// The team that served.
    pub provider: TeamId,
    /// How much; the largest number if the sum is larger still.
    pub weight: Bytes,
}

/// The receipt repository: one SQLite file, opened by one process at a time.
///
/// The file belongs to its owner alone (mode 0600): receipts are a diary of places. SQLite gives the write-ahead
/// log beside it the mode of the file itself. A store that exists keeps the mode that it has.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) limits: Limits,
    pub(crate) counts: Counts,
    pub(crate) recent_limits: RecentLimits,
    /// Nothing after an error: then it is read from the file again.
    recent: RefCell<Option<Recent>>,
    /// Whether readers see what waits, since the disk has no room to move it.
    is_overlaid: Cell<bool>,
}

impl Store {
    /// Opens the store, or makes an empty one. Its directory must exist. A file of the same name and `.id` says from then on
    /// that there is one.
    ///
    /// # Errors
    /// [`StoreError::Open`], `InUse`, `NotAStore`, `Newer`, `Emptied`, `Replaced` or `Damaged`; the file is then as it was.
    pub fn open(path: &Path, limits: Limits) -> Result<Self, StoreError> {
        Self::open_with(path, limits, |_| ())
    }

    /// With a connection that `set` has changed before receipts are moved.
    pub(crate) fn open_with(
        path: &Path,
        limits: Limits,
        set: impl FnOnce(&Connection),
    ) -> Result<Self, StoreError> {
        marker::refuse_emptied(path)?;
        make_private(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "open the file", &error);
        let mut connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        connection.set_prepared_statement_cache_capacity(32);
        // About 61 MiB for a million, on a computer with 2 GiB; on a router with 128 MB no more than a quarter of that.
        let memory_kib = recent::memory_kib();
        let cache_kib = (limits.receipts_max / 16)
            .min((limits.receipts_max / 64).min(32 * 1_024).max(memory_kib / 32))
            .clamp(1_024, 64 * 1_024);
        schema::prepare(&mut connection, path, cache_kib, limits.own_team)?;
        set(&connection);
        let recent = Recent::load(&connection, path)?;
        let counted = count(&connection).map_err(fail)? + recent.len() as u64;
        marker::check(&connection, path, counted)?;
        let mut store = Self {
            connection,
            path: path.to_owned(),
            limits,
            counts: Counts { all: counted, second_hand: 0 },
            recent_limits: RecentLimits::of(limits, memory_kib),
            recent: RefCell::new(Some(recent)),
            is_overlaid: Cell::new(false),
        };
        match store.move_recent() {
            // What waits is marked for the team that the store had, so another one has to wait for room.
            Err(StoreError::DiskFull { .. })
                if own::is_classified(&store.connection, limits.own_team).map_err(fail)? =>
            {
                store.overlay()?;
                store.counts = Counts {
                    all: count(&store.connection).map_err(fail)?,
                    second_hand: count_second_hand(&store.connection).map_err(fail)?,
                };
            }
            moved => {
                moved?;
                let all = count(&store.connection).map_err(fail)?;
                let second_hand = own::classify(&mut store.connection, limits.own_team).map_err(fail)?;
                store.counts = Counts { all, second_hand };
            }
        }
        Ok(store)
    }

    /// Takes receipts in, in one transaction; they are on the disk when this returns.
    ///
    /// When there are more than [`Limits::receipts_max`], the oldest go (in a store that knows [`Limits::own_team`], first
    /// those of others' dealings, of which a tenth of that may stay), together with certificates that no receipt
    /// needs any more: as many as it takes, and up to one in 64 (1,024 at most) on top, so that not every call has
    /// to. A receipt is as old as the earlier of its session's start, which its sender chose, and the moment `now`
    /// at which we first heard of its session; of equal age, the one that claims the later start goes first.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was taken in.
    pub fn put(
        &mut self,
        items: &[(Receipt, Certificate)],
        now: UnixSeconds,
    ) -> Result<PutReport, StoreError> {
        put::check(items)?;
        let mut reports = self.keep_group(&[Batch { items, now }], &[])?;
        Ok(reports.pop().expect("one batch has one report"))
    }

    /// Keeps all changes of a write, in one transaction; they are on the disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`]; nothing of the write was kept.
    pub fn keep_credit(&mut self, write: &Write) -> Result<(), StoreError> {
        self.keep_group(&[], std::slice::from_ref(write)).map(|_| ())
    }

    /// Takes several batches in, and keeps changes of accounts, in one transaction. What had to go is in the last report.
    pub(crate) fn keep_group(
        &mut self,
        batches: &[Batch<'_>],
        writes: &[Write],
    ) -> Result<Vec<PutReport>, StoreError> {
        let path = &self.path;
        let doing = if batches.is_empty() { "keep the accounts" } else { "store receipts" };
        let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, doing, &error);
        if !batches.is_empty() {
            self.remove_overlay()?;
        }
        let mut recent = self.take_recent()?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
        let (limits, counts, recent_limits) = (self.limits, self.counts, self.recent_limits);
        let target = put::Target { transaction: &transaction, limits, counts, recent_limits };
        let merged = put::merge(target, batches, &mut recent).map_err(fail)?;
        credit::keep(&transaction, writes).map_err(fail)?;
        transaction.commit().map_err(fail)?;
        self.counts = merged.counts;
        self.recent.replace(Some(recent));
        Ok(merged.reports)
    }

    /// The receipts that wait; whoever takes them puts them back unless there was an error, for they would not be as in the file.
    fn take_recent(&self) -> Result<Recent, StoreError> {
        self.recent.take().map_or_else(|| Recent::load(&self.connection, &self.path), Ok)
    }

    /// Whether receipts wait to be moved to the table of receipts.
    pub(crate) fn has_recent(&self) -> bool {
        self.recent.borrow().as_ref().is_none_or(|recent| !recent.is_clear())
    }

    /// The connection, for whoever reads the table of receipts and writes nothing there: none waits any more to be moved there, or,
    /// where the disk has no room for that, those that wait are shown among the others.
    pub(crate) fn indexed(&self) -> Result<&Connection, StoreError> {
        if !self.is_overlaid.get() {
            match self.move_recent() {
                Err(StoreError::DiskFull { .. }) => self.overlay()?,
                moved => moved?,
            }
        }
        Ok(&self.connection)
    }

    /// Moves the receipts that wait to the table of receipts.
    pub(crate) fn move_recent(&self) -> Result<(), StoreError> {
        self.remove_overlay()?;
        let mut recent = self.take_recent()?;
        if !recent.is_clear() {
            let fail = self.fail("move the latest receipts to the others");
            let transaction = self.connection.unchecked_transaction().map_err(&fail)?;
            put::index_recent(&transaction, self.limits, &mut recent).map_err(&fail)?;
            transaction.commit().map_err(&fail)?;
        }
        self.recent.replace(Some(recent));
        Ok(())
    }

    /// Shows what waits among the receipts, until something is written there.
    pub(crate) fn overlay(&self) -> Result<(), StoreError> {
        self.remove_overlay()?;
        let recent = self.take_recent()?;
        self.is_overlaid.set(true);
        let shown = overlay::show(&self.connection, &recent, self.limits.own_team.is_some());
        self.recent.replace(Some(recent));
        shown.map_err(|error| {
            // It is whole or not there.
            let _ = self.remove_overlay();
            self.fail("show the latest receipts among the others")(error)
        })
    }

    fn remove_overlay(&self) -> Result<(), StoreError> {
        if self.is_overlaid.get() {
            overlay::remove(&self.connection).map_err(self.fail("leave the table of receipts alone"))?;
            self.is_overlaid.set(false);
        }
        Ok(())
    }

    /// Writes a copy of all that is in the store into a new file, as of one moment. It is the same store, under its marker.
    ///
    /// Nobody else can read the file while we have it (`locking_mode` is exclusive), so the copy is made by whoever has it open:
    /// `VACUUM INTO` (<https://www.sqlite.org/lang_vacuum.html>), which reads within a transaction and writes nothing here.
    ///
    /// # Errors
    /// [`StoreError`]; the other file may be there in part.
    pub fn copy_to(&self, to: &Path) -> Result<(), StoreError> {
        let fail = self.fail("copy the store");
        // It would get in the way, and what waits is copied as what waits.
        self.remove_overlay()?;
        // SQLite takes an empty file; so it is its owner's alone from the beginning.
        make_private(to)?;
        let name = to.to_string_lossy();
        self.connection.execute("VACUUM INTO ?1", [name.as_ref()]).map_err(fail).map(drop)
    }

    /// The same for a store that no program has open.
    ///
    /// # Errors
    /// [`StoreError`], `InUse` among them.
    pub fn copy_closed(path: &Path, to: &Path) -> Result<(), StoreError> {
        marker::refuse_emptied(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "open the file", &error);
        let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        make_private(to)?;
        let fail = |error: rusqlite::Error| StoreError::from_sqlite(path, "copy the store", &error);
        let name = to.to_string_lossy();
        connection.execute("VACUUM INTO ?1", [name.as_ref()]).map_err(fail).map(drop)
    }

    /// Whether another program, or another part of this one, has the store at `path` open. Nothing is made or changed; where there
    /// is no store nobody has it open.
    pub fn is_in_use(path: &Path) -> bool {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let look = || {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        };
        let looked = look().map_err(|error| StoreError::from_sqlite(path, "look into the file", &error));
        matches!(looked, Err(StoreError::InUse { .. }))
    }

    /// Where the store is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many receipts there are.
    pub fn count(&self) -> u64 {
        self.counts.all
    }

    /// What SQLite said, with the file's name and what we were about to do.
    pub(crate) fn fail(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
        move |error| StoreError::from_sqlite(&self.path, doing, &error)
    }

    pub(crate) fn damaged(&self, reason: impl ToString) -> StoreError {
        StoreError::damaged(&self.path, reason)
    }
}

fn count(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .query_row("SELECT count(*) FROM receipt", [], |row| row.get::<_, i64>(0))
        .map(i64::cast_unsigned)
}

fn count_second_hand(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM receipt WHERE second_hand = 1";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

/// Makes an empty file for its owner alone, unless there is one, and has its name on the disk.
fn make_private(path: &Path) -> Result<(), StoreError> {
    let fail = |error: std::io::Error| StoreError::Open { path: path.to_owned(), reason: error.to_string() };
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(_) => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = File::open(parent.unwrap_or(Path::new("."))).map_err(fail)?;
            directory.sync_all().map_err(fail)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(fail(error)),
    }
}

#[cfg(test)]
mod tests;
