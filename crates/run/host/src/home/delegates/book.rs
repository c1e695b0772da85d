//! What members' delegates have signed for, kept over a new start.

use crate::private;
use guestright_error::{OrFail as _, RunError};
use guestright_identity::KeyId;
use guestright_roaming::delegate::Spent;
use guestright_units::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// No such file is longer: some 4,000 members.
const FILE_MAX: usize = 512 * 1024;

/// The file: for each member the day, counted from 1970, and the bytes.
#[derive(Debug)]
pub(super) struct Book {
    path: PathBuf,
    spent: BTreeMap<String, (u64, u64)>,
}

impl Book {
    /// Reads the file. One that is there and cannot be read is an error: nobody would know what is left of today.
    pub(super) fn open(path: &Path) -> Result<Self, RunError> {
        if !path.exists() {
            return Ok(Self { path: path.to_owned(), spent: BTreeMap::new() });
        }
        let bytes = guestright_keys::read_to_limit(path, FILE_MAX).map_err(RunError::config)?;
        let spent = serde_json::from_slice::<BTreeMap<String, (u64, u64)>>(&bytes);
        let spent = spent.or_config(|| format!("understand {}", path.display()))?;
        if let Some(name) = spent.keys().find(|name| key_id(name).is_none()) {
            return Err(RunError::config(format!("{}: {name:?} is not a key's name", path.display())));
        }
        Ok(Self { path: path.to_owned(), spent })
    }

    pub(super) fn spent(&self) -> BTreeMap<KeyId, Spent> {
        let one = |(name, &(day, bytes)): (&String, &(u64, u64))| {
            Some((key_id(name)?, Spent { day, bytes: Bytes(bytes) }))
        };
        self.spent.iter().filter_map(one).collect()
    }

    /// Writes what a member's delegate has signed for; false if that failed. Days before yesterday are forgotten.
    pub(super) fn keep(&mut self, member: KeyId, spent: Spent) -> bool {
        self.spent.insert(member.to_string(), (spent.day, spent.bytes.0));
        self.spent.retain(|_, (day, _)| *day + 1 >= spent.day);
        let written = serde_json::to_vec(&self.spent)
            .map_err(RunError::bug)
            .and_then(|bytes| private::replace(&self.path, &bytes));
        let log_error = |error: &RunError| {
            tracing::error!(error = error.sentence(), "what was signed for cannot be kept")
        };
        written.inspect_err(log_error).is_ok()
    }
}

fn key_id(name: &str) -> Option<KeyId> {
    // A team id is written like a key's.
    name.parse::<guestright_units::TeamId>().ok().map(|id| KeyId(id.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_today_and_forgets_the_past() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("delegated.json");
        let mut book = Book::open(&path).unwrap();
        let spent = |day, bytes| Spent { day, bytes: Bytes(bytes) };
        let (one, two) = (KeyId([1; 24]), KeyId([2; 24]));
        assert!(book.keep(one, spent(20_000, 7)) && book.keep(two, spent(20_001, 8)));
        assert_eq!(
            Book::open(&path).unwrap().spent(),
            [(one, spent(20_000, 7)), (two, spent(20_001, 8))].into()
        );
        assert!(book.keep(two, spent(20_002, 9)));
        assert_eq!(Book::open(&path).unwrap().spent(), [(two, spent(20_002, 9))].into());
        for text in ["", "{\"x\":[1,2]}", "[]"] {
            std::fs::write(&path, text).unwrap();
            assert!(Book::open(&path).is_err(), "{text:?}");
        }
        assert!(
            !Book { path: directory.path().join("none/x"), spent: BTreeMap::new() }.keep(one, spent(1, 1))
        );
    }
}
