//! Which sequence numbers may be used: written down before they are, because with fixed keys a number that is used twice
//! gives the cipher's key stream away.

use guestright_error::{OrFail as _, RunError};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How many are reserved at a time: seconds of traffic at the highest rate.
const CHUNK: u64 = 1 << 20;

/// The numbers from the first to the last are ours, whatever happens.
#[derive(Debug)]
pub(crate) struct Reservation {
    path: PathBuf,
    /// Held as long as we run: two programs with one file would use the same numbers.
    _lock: File,
    first: u64,
    last: u64,
    end: u64,
}

impl Reservation {
    /// Reserves the numbers behind those that were reserved before. The file has to be there: a missing one could mean
    /// that numbers were used which nobody remembers.
    ///
    /// # Errors
    /// The file cannot be used, or its numbers are used up or in use.
    pub(crate) fn open(path: &Path, extended: bool) -> Result<Self, RunError> {
        let lock = lock(path)?;
        let first = read(path)?;
        // One less than there are, so that there is a number behind the last to write down.
        let end = if extended { u64::MAX - 1 } else { u64::from(u32::MAX) };
        if first > end {
            return Err(RunError::config("every sequence number of these keys was used")
                .with_hint("make new keys with `guestright-lab tunnel esp-keys`"));
        }
        let mut this = Self { path: path.to_owned(), _lock: lock, first, last: first - 1, end };
        this.reserve(first)?;
        Ok(this)
    }

    /// The first number to use.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The last number that may be used for now.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Reserves more if less than half of them are left, with `next` as the next to be used; gives the last that may be.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn keep_ahead(&mut self, next: u64) -> Result<u64, RunError> {
        if self.last.saturating_sub(next) < CHUNK / 2 && self.last < self.end {
            self.reserve(next)?;
        }
        Ok(self.last)
    }

    /// At the end: the numbers that were not used. Failing costs nothing but them.
    pub(crate) fn give_back(&self, next: Option<u64>) {
        let next = next.unwrap_or(self.end.saturating_add(1));
        if let Err(error) = write(&self.path, next) {
            tracing::debug!("sequence numbers are lost: {}", error.sentence());
        }
    }

    fn reserve(&mut self, next: u64) -> Result<(), RunError> {
        let last = next.saturating_add(CHUNK - 1).min(self.end);
        write(&self.path, last.saturating_add(1))?;
        self.last = last;
        Ok(())
    }
}

fn lock(path: &Path) -> Result<File, RunError> {
    let beside = path.with_extension("sequence-lock");
    let shown = beside.display();
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&beside);
    let file = file.or_config(|| format!("make {shown}"))?;
    file.try_lock().map_err(|_| {
        RunError::user(format!("{shown} is locked: these keys are in use by another program"))
            .with_hint("end it, or make other keys with `guestright-lab tunnel esp-keys`")
    })?;
    Ok(file)
}

fn read(path: &Path) -> Result<u64, RunError> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).or_config(|| format!("read {shown}"));
    let number = text.and_then(|text| {
        let number = text.trim_end().parse().ok().filter(|number| *number > 0);
        let what = || format!("{shown} should hold one number, the next that may be used");
        number.ok_or_else(|| RunError::config(what()))
    });
    number.map_err(|error| {
        error.with_hint(
            "make new keys with `guestright-lab tunnel esp-keys`; only if these were never used, write 1 into the file",
        )
    })
}

/// Durable when it returns.
fn write(path: &Path, next: u64) -> Result<(), RunError> {
    let shown = path.display();
    let new = path.with_extension("sequence-new");
    let replace = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        writeln!(file, "{next}")?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    };
    replace().or_config(|| format!("write {shown}"))
}

/// The file of keys that nobody has used.
///
/// # Errors
/// It cannot be written.
pub(crate) fn begin(path: &Path) -> Result<(), RunError> {
    write(path, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_error::Fault as _;

    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.sequence");
        begin(&path).unwrap();
        (folder, path)
    }

    #[test]
    fn a_crash_costs_numbers_and_repeats_none() {
        let (_folder, path) = file();
        let mut used_until = 0;
        for extended in [false, true, false] {
            let mut reservation = Reservation::open(&path, extended).unwrap();
            assert!(reservation.first() > used_until);
            let next = reservation.first() + CHUNK - 10;
            used_until = reservation.keep_ahead(next).unwrap();
            assert!(used_until >= next + CHUNK / 2);
            assert_eq!(read(&path).unwrap(), used_until + 1, "written before they are used");
        }
    }

    #[test]
    fn a_good_end_costs_none() {
        let (_folder, path) = file();
        let reservation = Reservation::open(&path, false).unwrap();
        assert_eq!((reservation.first(), reservation.last()), (1, CHUNK));
        reservation.give_back(Some(17));
        drop(reservation);
        assert_eq!(Reservation::open(&path, false).unwrap().first(), 17);
    }

    #[test]
    fn one_program_at_a_time() {
        let (_folder, path) = file();
        let first = Reservation::open(&path, false).unwrap();
        assert!(Reservation::open(&path, false).unwrap_err().to_string().contains("in use"));
        drop(first);
        assert!(Reservation::open(&path, false).is_ok());
    }

    #[test]
    fn the_last_number_is_the_end() {
        let (_folder, path) = file();
        write(&path, u64::from(u32::MAX) - 5).unwrap();
        let mut reservation = Reservation::open(&path, false).unwrap();
        assert_eq!(reservation.last(), u64::from(u32::MAX));
        assert_eq!(reservation.keep_ahead(u64::from(u32::MAX)).unwrap(), u64::from(u32::MAX));
        reservation.give_back(None);
        drop(reservation);
        assert!(Reservation::open(&path, false).unwrap_err().to_string().contains("every sequence number"));
    }

    #[test]
    fn a_missing_or_broken_file_is_refused() {
        let (_folder, path) = file();
        for text in ["", "0\n", "-1", "one", "18446744073709551616"] {
            std::fs::write(&path, text).unwrap();
            assert!(
                Reservation::open(&path, true)
                    .unwrap_err()
                    .hint()
                    .is_some_and(|hint| hint.contains("esp-keys")),
                "{text:?}"
            );
        }
        std::fs::remove_file(&path).unwrap();
        assert!(Reservation::open(&path, true).is_err());
    }
}
