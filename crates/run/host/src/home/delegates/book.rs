//! What members' delegates have signed for and what was counted for them, kept over a new start.

use crate::private;
use guestright_error::{OrFail as _, RunError};
use guestright_identity::KeyId;
use guestright_roaming::Ledger;
use guestright_roaming::delegate::Spent;
use guestright_units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// No such file is longer: some 4,000 members with ledgers that are full.
const FILE_MAX: usize = 64 * 1024 * 1024;

/// The file: for each member the day, counted from 1970, and the bytes; and the ledger.
#[derive(Debug)]
pub(super) struct Book {
    path: PathBuf,
    members: BTreeMap<String, Line>,
    is_written: bool,
}

/// A member's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
enum Line {
    Spent(u64, u64),
    /// With the ledger's text.
    Metered(u64, u64, String),
}

impl Line {
    fn spent(&self) -> Spent {
        let (Self::Spent(day, bytes) | Self::Metered(day, bytes, _)) = *self;
        Spent { day, bytes: Bytes(bytes) }
    }

    fn ledger(&self) -> Option<&str> {
        match self {
            Self::Spent(..) => None,
            Self::Metered(.., ledger) => Some(ledger),
        }
    }
}

impl Book {
    /// Reads the file. One that is there and cannot be read is an error: nobody would know what is left of today.
    pub(super) fn open(path: &Path) -> Result<Self, RunError> {
        if !path.exists() {
            return Ok(Self { path: path.to_owned(), members: BTreeMap::new(), is_written: true });
        }
        let bytes = guestright_keys::read_to_limit(path, FILE_MAX).map_err(RunError::config)?;
        let members = serde_json::from_slice::<BTreeMap<String, Line>>(&bytes);
        let members = members.or_config(|| format!("understand {}", path.display()))?;
        if let Some(name) = members.keys().find(|name| key_id(name).is_none()) {
            return Err(RunError::config(format!("{}: {name:?} is not a key's name", path.display())));
        }
        for (name, ledger) in members.iter().filter_map(|(name, line)| Some((name, line.ledger()?))) {
            ledger
                .parse::<Ledger>()
                .or_config(|| format!("understand the ledger of {name} in {}", path.display()))?;
        }
        Ok(Self { path: path.to_owned(), members, is_written: true })
    }

    pub(super) fn spent(&self) -> BTreeMap<KeyId, Spent> {
        self.members.iter().filter_map(|(name, line)| Some((key_id(name)?, line.spent()))).collect()
    }

    pub(super) fn ledgers(&self) -> BTreeMap<KeyId, Ledger> {
        let one = |(name, line): (&String, &Line)| Some((key_id(name)?, line.ledger()?.parse().ok()?));
        self.members.iter().filter_map(one).collect()
    }

    /// Takes in what a member's delegate has signed for. Days before yesterday are forgotten.
    pub(super) fn spend(&mut self, member: KeyId, spent: Spent) {
        let (day, bytes) = (spent.day, spent.bytes.0);
        let line = match self.members.remove(&member.to_string()) {
            Some(Line::Metered(.., ledger)) => Line::Metered(day, bytes, ledger),
            Some(Line::Spent(..)) | None => Line::Spent(day, bytes),
        };
        self.members.insert(member.to_string(), line);
        self.members.retain(|_, line| line.spent().day.saturating_add(1) >= day);
        self.is_written = false;
    }

    /// Takes a member's ledger in.
    pub(super) fn meter(&mut self, member: KeyId, ledger: &Ledger) {
        let spent = self.members.get(&member.to_string()).map(Line::spent).unwrap_or_default();
        self.members.insert(member.to_string(), Line::Metered(spent.day, spent.bytes.0, ledger.to_string()));
        self.is_written = false;
    }

    /// Makes what was taken in durable; false if that failed.
    pub(super) fn keep(&mut self) -> bool {
        if self.is_written {
            return true;
        }
        let written = serde_json::to_vec(&self.members)
            .map_err(RunError::bug)
            .and_then(|bytes| private::replace(&self.path, &bytes));
        let log_error = |error: &RunError| {
            tracing::error!(error = error.sentence(), "what was signed for cannot be kept")
        };
        self.is_written = written.inspect_err(log_error).is_ok();
        self.is_written
    }
}

fn key_id(name: &str) -> Option<KeyId> {
    // A team id is written like a key's.
    name.parse::<guestright_units::TeamId>().ok().map(|id| KeyId(id.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_units::{TeamId, UnixSeconds};

    #[test]
    fn remembers_today_and_forgets_the_past() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("delegated.json");
        let mut book = Book::open(&path).unwrap();
        let spent = |day, bytes| Spent { day, bytes: Bytes(bytes) };
        let (one, two) = (KeyId([1; 24]), KeyId([2; 24]));
        book.spend(one, spent(20_000, 7));
        book.spend(two, spent(20_001, 8));
        assert!(book.keep());
        assert_eq!(
            Book::open(&path).unwrap().spent(),
            [(one, spent(20_000, 7)), (two, spent(20_001, 8))].into()
        );
        book.spend(two, spent(20_002, 9));
        let mut ledger = Ledger::default();
        ledger.count(TeamId([3; 24]), Bytes(5), UnixSeconds(20_002 * 86_400).time());
        book.meter(two, &ledger);
        assert!(book.keep());
        let read = Book::open(&path).unwrap();
        assert_eq!(
            (read.spent(), read.ledgers()),
            ([(two, spent(20_002, 9))].into(), [(two, ledger)].into())
        );
        // A file from before there were ledgers.
        std::fs::write(&path, format!("{{\"{one}\":[20001,7]}}")).unwrap();
        let read = Book::open(&path).unwrap();
        assert_eq!((read.spent(), read.ledgers()), ([(one, spent(20_001, 7))].into(), BTreeMap::new()));
        for text in ["", "{\"x\":[1,2]}", "[]", &format!("{{\"{one}\":[1,2,\"day\"]}}")] {
            std::fs::write(&path, text).unwrap();
            assert!(Book::open(&path).is_err(), "{text:?}");
        }
        let path = directory.path().join("none/x");
        let mut nowhere = Book { path, members: BTreeMap::new(), is_written: true };
        nowhere.spend(one, spent(1, 1));
        assert!(!nowhere.keep() && !nowhere.keep());
    }
}
