//! The records that a home keeps.

use crate::{BookError, Record};
use ciborium::Value;
use guestright_identity::{IdentityError, KeyId, cose};
use guestright_ordered::OrderedMap;
use guestright_units::UnixSeconds;

/// Who has handed a record in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// Ourselves: a member of this home.
    Own,
    /// Another home, known by its key, over its link.
    Home(KeyId),
    Dns,
    ShortMessage,
}

/// How much a book holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookLimits {
    pub records_max: usize,
    /// Records of one source other than ourselves.
    pub per_source_max: usize,
}

/// What became of a record that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Nothing was known of its member.
    New,
    /// It took an older one's place.
    Newer,
    Known,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    source: Source,
    record: Record,
}

/// The records that a home keeps: its own members', and those that it was handed. At most one for each member.
///
/// What the book contains depends on what it was handed and in which order, never on chance. A record that has ended
/// is no longer given out, but stays for a while: it keeps an older one with a longer life from coming back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Book {
    limits: BookLimits,
    entries: OrderedMap<KeyId, Entry>,
}

impl Default for BookLimits {
    /// 4,096 records, 256 of one source: some 2 MB.
    fn default() -> Self {
        Self { records_max: 4_096, per_source_max: 256 }
    }
}

impl Book {
    /// How long after its end a record is remembered, in seconds: as long as one can last.
    pub const REMEMBER: u64 = Record::LIFE_MAX;
    const VERSION: u64 = 1;

    /// An empty book.
    pub fn new(limits: BookLimits) -> Self {
        Self { limits, entries: OrderedMap::new() }
    }

    /// Takes a record in, if it counts at `now` and is not older than what is known.
    ///
    /// Where the book is full, one of a stranger goes: of the source that has most records here the one that ends
    /// first. A record of our own never goes.
    ///
    /// # Errors
    /// [`BookError`]; nothing has changed then.
    pub fn admit(
        &mut self,
        record: Record,
        source: Source,
        now: UnixSeconds,
    ) -> Result<Admission, BookError> {
        record.check(now)?;
        let member = record.member();
        if let Some(entry) = self.entries.get_mut(&member) {
            if record == entry.record {
                if source == Source::Own {
                    entry.source = source; // A member may become our own.
                }
                return Ok(Admission::Known);
            }
            if !record.replaces(&entry.record) {
                return Err(BookError::Older { got: record.sequence(), known: entry.record.sequence() });
            }
            let source = if source == Source::Own { source } else { entry.source };
            *entry = Entry { source, record };
            return Ok(Admission::Newer);
        }
        self.make_room(source, now)?;
        self.entries.insert(member, Entry { source, record });
        Ok(Admission::New)
    }

    fn make_room(&mut self, source: Source, now: UnixSeconds) -> Result<(), BookError> {
        let max = self.limits.per_source_max;
        if source != Source::Own && self.count(source) >= max && !self.drop_ended(Some(source), now) {
            return Err(BookError::SourceFull { max });
        }
        if self.entries.len() < self.limits.records_max || self.drop_ended(None, now) {
            return Ok(());
        }
        let counts = self.counts();
        // A source gets no more than the others by pushing them out: only a larger one gives way.
        let own_count = if source == Source::Own { 0 } else { counts.get(&source).copied().unwrap_or(0) + 1 };
        let candidates = counts.into_iter().filter(|&(from, count)| from != Source::Own && count > own_count);
        let largest = candidates.max_by_key(|&(from, count)| (count, from)).map(|(from, _)| from);
        let victim = largest.and_then(|from| self.first_to_end(|entry| entry.source == from));
        let victim = victim.ok_or(BookError::Full { max: self.limits.records_max })?;
        self.entries.remove(&victim);
        Ok(())
    }

    /// Drops the one, of this source or of any but our own, that ended first; says whether there was one.
    fn drop_ended(&mut self, source: Option<Source>, now: UnixSeconds) -> bool {
        let of = |entry: &Entry| source.map_or(entry.source != Source::Own, |source| entry.source == source);
        let found = self.first_to_end(|entry| of(entry) && entry.record.ends() < now);
        found.is_some_and(|member| self.entries.remove(&member).is_some())
    }

    fn first_to_end(&self, of: impl Fn(&Entry) -> bool) -> Option<KeyId> {
        let found = self.entries.iter().filter(|(_, entry)| of(entry));
        found.min_by_key(|(member, entry)| (entry.record.ends(), **member)).map(|(member, _)| *member)
    }

    fn counts(&self) -> OrderedMap<Source, usize> {
        let mut counts = OrderedMap::new();
        for entry in self.entries.values() {
            *counts.entry(entry.source).or_insert(0) += 1;
        }
        counts
    }

    fn count(&self, source: Source) -> usize {
        self.entries.values().filter(|entry| entry.source == source).count()
    }

    /// The record of the member with this key, if there is one that counts at `now`.
    pub fn get(&self, member: KeyId, now: UnixSeconds) -> Option<&Record> {
        self.entries.get(&member).map(|entry| &entry.record).filter(|record| record.check(now).is_ok())
    }

    /// The records of our own members, whether they count or not.
    pub fn own(&self) -> impl Iterator<Item = &Record> {
        self.entries.values().filter(|entry| entry.source == Source::Own).map(|entry| &entry.record)
    }

    /// All records and who has handed them in, whether they count or not.
    pub fn iter(&self) -> impl Iterator<Item = (&Record, Source)> {
        self.entries.values().map(|entry| (&entry.record, entry.source))
    }

    /// How many records it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets the records that ended [`Book::REMEMBER`] seconds ago or more; gives how many.
    pub fn forget(&mut self, now: UnixSeconds) -> usize {
        let before = self.entries.len();
        self.entries.retain(|_, entry| entry.record.ends().plus(Self::REMEMBER) > now);
        before - self.entries.len()
    }

    /// A member has left this home: its record is a stranger's from now on.
    pub fn disown(&mut self, member: KeyId) {
        self.entries.retain(|key, entry| *key != member || entry.source != Source::Own);
    }

    /// The whole book as bytes, to be kept: `[1, [[source, home or nothing, record] …]]`.
    pub fn snapshot(&self) -> Vec<u8> {
        let entry = |entry: &Entry| {
            let (number, home) = entry.source.to_parts();
            let record = entry.record.as_bytes().to_vec();
            Value::Array(vec![Value::from(number), Value::Bytes(home), Value::Bytes(record)])
        };
        cose::encode(vec![
            Value::from(Self::VERSION),
            Value::Array(self.entries.values().map(entry).collect()),
        ])
    }

    /// The book that [`Book::snapshot`] wrote. Records that are no longer read, or are over, are left out; every
    /// signature is checked again.
    ///
    /// # Errors
    /// [`BookError::Snapshot`] if it is not one at all.
    pub fn restore(bytes: &[u8], limits: BookLimits, now: UnixSeconds) -> Result<Self, BookError> {
        let items = cose::decode(bytes).map_err(BookError::Snapshot)?;
        let malformed = |what| BookError::Snapshot(IdentityError::Malformed(what));
        let [version, entries] = items.as_slice() else {
            return Err(malformed("a snapshot is a version and records"));
        };
        if cose::number(version, "the version is not a number").map_err(BookError::Snapshot)? != Self::VERSION
        {
            return Err(malformed("its version is unknown to this program"));
        }
        let mut book = Self::new(limits);
        for entry in entries.as_array().ok_or_else(|| malformed("the records are not an array"))? {
            let [number, home, record] = entry.as_array().map(Vec::as_slice).unwrap_or_default() else {
                return Err(malformed("an entry is a source, its key and a record"));
            };
            let source = Source::from_parts(number, home).map_err(BookError::Snapshot)?;
            let record = cose::bytes(record, "a record is bytes").map_err(BookError::Snapshot)?;
            if let Ok(record) = Record::parse(record)
                && record.ends().plus(Self::REMEMBER) > now
                && book.entries.len() < limits.records_max
            {
                book.entries.insert(record.member(), Entry { source, record });
            }
        }
        Ok(book)
    }
}

impl Source {
    fn to_parts(self) -> (u64, Vec<u8>) {
        match self {
            Self::Own => (0, Vec::new()),
            Self::Home(home) => (1, home.0.to_vec()),
            Self::Dns => (2, Vec::new()),
            Self::ShortMessage => (3, Vec::new()),
        }
    }

    fn from_parts(number: &Value, home: &Value) -> Result<Self, IdentityError> {
        let number = cose::number(number, "a source is a number")?;
        match (number, cose::bytes(home, "a home's key is bytes")?) {
            (0, []) => Ok(Self::Own),
            (1, _) => Ok(Self::Home(KeyId(cose::array(home, "a key id has 24 bytes")?))),
            (2, []) => Ok(Self::Dns),
            (3, []) => Ok(Self::ShortMessage),
            _ => Err(IdentityError::Malformed("there is no such source")),
        }
    }
}

#[cfg(test)]
mod tests;
