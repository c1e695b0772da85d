//! What was there before, line by line on the disk.

use crate::SystemError;
use crate::path_state::{PathState, sync_parent};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where it is. Not below the programs' state: whoever can write to it decides what root puts back.
pub(crate) const DIRECTORY: &str = "var/lib/guestright-setup";
const VERSION: u32 = 1;
/// No journal is longer: some forty records, of which the largest are the users' files.
const BYTES_MAX: u64 = 32 << 20;

/// So long the lock is waited for: a setup that was killed may leave a child that holds it until it runs its own program.
const LOCK_WAIT: Duration = Duration::from_secs(2);
const LOCK_RETRY: Duration = Duration::from_millis(20);

/// A line: what was there before it was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    /// The first line. `answers` is the caller's.
    Begun {
        version: u32,
        answers: String,
    },
    Path {
        path: PathBuf,
        before: PathState,
    },
    /// A directory above something of ours was not there.
    Parent {
        path: PathBuf,
    },
    /// The user was not there; and what its making changes besides.
    User {
        backups: Vec<(PathBuf, PathState)>,
    },
    /// The link was not there.
    Link {
        name: String,
    },
    Port {
        interface: String,
        bridge: Option<String>,
        was_up: bool,
    },
    /// The address was not there.
    Address {
        interface: String,
        address: Ipv4Addr,
        prefix: u8,
    },
    /// It did not run.
    Service {
        unit: String,
        by_systemd: bool,
        command: Vec<String>,
        clean_up: Option<Vec<String>>,
    },
    /// Who has to read its files again.
    Reload {
        what: String,
    },
    /// Every step was done.
    Finished,
}

impl Record {
    /// Whether both are of the same thing, whatever was there.
    pub(crate) fn is_of_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path { path: a, .. }, Self::Path { path: b, .. }) => a == b,
            (Self::Parent { path: a }, Self::Parent { path: b }) => a == b,
            (Self::User { .. }, Self::User { .. }) => true,
            (Self::Link { name: a }, Self::Link { name: b }) => a == b,
            (Self::Port { interface: a, .. }, Self::Port { interface: b, .. }) => a == b,
            (Self::Service { unit: a, .. }, Self::Service { unit: b, .. }) => a == b,
            (Self::Address { .. }, Self::Address { .. }) | (Self::Reload { .. }, Self::Reload { .. }) => {
                self == other
            }
            _ => false,
        }
    }
}

/// The journal, open and locked.
#[derive(Debug)]
pub(crate) struct Journal {
    directory: PathBuf,
    file: File,
    records: Vec<Record>,
}

impl Journal {
    /// Opens the journal of this root directory; nothing if there is none.
    pub(crate) fn open(root: &Path) -> Result<Option<Self>, SystemError> {
        let directory = root.join(DIRECTORY);
        let path = directory.join("journal");
        let mut file = match OpenOptions::new().read(true).append(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(SystemError::file("open", &path, &error)),
        };
        lock(&file)?;
        let fail = |reason: String| SystemError::Journal { path: path.clone(), reason };
        let mut bytes = Vec::new();
        let read = (&mut file).take(BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| SystemError::file("read", &path, &error))?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(fail("it is too long".to_owned()));
        }
        // A line without its end was being written when something ended us: its change had not begun.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).map_err(|error| SystemError::file("write", &path, &error))?;
        let mut records = Vec::new();
        for line in bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            records.push(serde_json::from_slice(line).map_err(|error| fail(error.to_string()))?);
        }
        match records.first() {
            None | Some(Record::Begun { version: VERSION, .. }) => {
                Ok(Some(Self { directory, file, records }))
            }
            Some(Record::Begun { version, .. }) => Err(fail(format!("it has the version {version}"))),
            Some(_) => Err(fail("it has no beginning".to_owned())),
        }
    }

    /// Begins a journal, or goes on with the one that is there.
    pub(crate) fn begin(root: &Path, answers: &str) -> Result<Self, SystemError> {
        let directory = root.join(DIRECTORY);
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.map_err(|error| SystemError::file("make", &directory, &error))?;
        let path = directory.join("journal");
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        drop(file.map_err(|error| SystemError::file("make", &path, &error))?);
        sync_parent(&path)?;
        let missing = || SystemError::Journal { path: path.clone(), reason: "it has gone".to_owned() };
        let mut journal = Self::open(root)?.ok_or_else(missing)?;
        if journal.records.is_empty() {
            journal.append(Record::Begun { version: VERSION, answers: answers.to_owned() })?;
        }
        Ok(journal)
    }

    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    pub(crate) fn answers(&self) -> Option<&str> {
        match self.records.first() {
            Some(Record::Begun { answers, .. }) => Some(answers),
            Some(_) | None => None,
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.records.contains(&Record::Finished)
    }

    pub(crate) fn has(&self, record: &Record) -> bool {
        self.records.iter().any(|each| each.is_of_same(record))
    }

    /// Notes what is there before it is changed, unless an earlier state of the same thing is noted.
    pub(crate) fn note(&mut self, record: Record) -> Result<(), SystemError> {
        if self.has(&record) { Ok(()) } else { self.append(record) }
    }

    pub(crate) fn finish(&mut self) -> Result<(), SystemError> {
        if self.is_finished() { Ok(()) } else { self.append(Record::Finished) }
    }

    fn append(&mut self, record: Record) -> Result<(), SystemError> {
        let path = self.directory.join("journal");
        let fail = |error: std::io::Error| SystemError::file("write", &path, &error);
        let mut line = serde_json::to_vec(&record).map_err(|error| fail(error.into()))?;
        line.push(b'\n');
        self.file.seek(SeekFrom::End(0)).map_err(fail)?;
        self.file.write_all(&line).and_then(|()| self.file.sync_all()).map_err(fail)?;
        self.records.push(record);
        Ok(())
    }

    /// Removes the journal: everything is back.
    pub(crate) fn remove(self) -> Result<(), SystemError> {
        crate::path_state::remove(&self.directory)
    }
}

fn lock(file: &File) -> Result<(), SystemError> {
    let deadline = Instant::now() + LOCK_WAIT;
    while file.try_lock().is_err() {
        if Instant::now() > deadline {
            return Err(SystemError::Busy);
        }
        std::thread::sleep(LOCK_RETRY);
    }
    Ok(())
}
