//! The thread that owns the file.

use super::Keep;
use super::query::{self, Question};
use guestright_clock::{Clock, seconds_since_boot};
use guestright_roaming::access_point::Address;
use guestright_store::addresses::{
    AddressHolder, AddressLimits, Addresses, AddressesError, Moment, RecordId, remove_addresses,
};
use guestright_units::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// So many records are kept at most: about 12 MB.
pub(super) const RECORDS_MAX: u64 = 100_000;
/// How often what is due is removed.
const PASS_EVERY: Duration = Duration::from_secs(60);
/// If the disk refuses to remove what is due for so long, the whole file goes.
const OVERDUE_SECONDS_MAX: u64 = 3_600;

/// What the loop hands in.
#[derive(Debug)]
pub(super) enum Job {
    Begin(SessionKey, AddressHolder),
    /// The same, unless there is a record of it.
    Resume(SessionKey, AddressHolder),
    Carried(Vec<(SessionKey, Bytes)>),
    End(SessionKey, Bytes),
    Change(Option<Keep>),
    Ask(Question, oneshot::Sender<Value>),
    Stop,
}

/// A session that lasts. Where a trial was a session may begin before that is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionKey {
    pub(super) address: Address,
    pub(super) is_trial: bool,
}

/// What the status shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) records: u64,
    /// A sentence, as long as it is so.
    pub(super) trouble: Option<String>,
    /// Sessions whose end found no room among the jobs: a pass notes it, once they have begun.
    pub(super) ended: BTreeMap<SessionKey, Bytes>,
}

impl Shown {
    pub(super) fn note_lost(&mut self) {
        self.note(
            "sessions begin and end faster than this disk can note them, so some have no record".to_owned(),
        );
    }

    /// Said once in the log, and in the status until it is over.
    fn note(&mut self, trouble: String) {
        if self.trouble.as_ref() != Some(&trouble) {
            tracing::error!(
                trouble,
                "not all that is to be kept of addresses is kept; guests are served as ever"
            );
            self.trouble = Some(trouble);
        }
    }
}

/// The file, and which of its records are of sessions that last.
#[derive(Debug)]
pub(super) struct Keeper {
    path: PathBuf,
    clock: Clock,
    keep: Option<Keep>,
    records: Option<Addresses>,
    /// When the file was opened, in seconds since boot.
    opened: u64,
    sessions: BTreeMap<SessionKey, RecordId>,
    /// Since when the disk has refused to remove what is due, in seconds since boot.
    overdue_since: Option<u64>,
    shown: Arc<Mutex<Shown>>,
}

impl Keeper {
    pub(super) fn new(path: PathBuf, clock: Clock, shown: Arc<Mutex<Shown>>) -> Self {
        let opened = seconds_since_boot();
        let (records, sessions) = (None, BTreeMap::new());
        Self { path, clock, keep: None, records, opened, sessions, overdue_since: None, shown }
    }

    /// Carries jobs out until it is told to stop.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        let mut next = Instant::now() + PASS_EVERY;
        loop {
            match jobs.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Job::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(job) => self.carry_out(job),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= next {
                self.pass_time();
                next = Instant::now() + PASS_EVERY;
            }
        }
        // Until now everybody was there.
        self.pass_time();
    }

    /// From now on records are kept for so long, or not at all.
    pub(super) fn change(&mut self, keep: Option<Keep>) {
        self.keep = keep;
        match keep {
            Some(keep) if self.records.is_some() => {
                let now = self.now();
                let changed = self.records.as_mut().map(|records| records.keep_for(keep.seconds(), now));
                self.look_at(changed.unwrap_or(Ok(0)).map(drop));
            }
            Some(_) => self.open(),
            None => self.remove_all("no addresses are kept, so the records that were there were removed"),
        }
    }

    fn carry_out(&mut self, job: Job) {
        match job {
            Job::Begin(key, holder) => self.begin(key, &holder),
            Job::Resume(key, holder) if !self.sessions.contains_key(&key) => self.begin(key, &holder),
            Job::Resume(..) | Job::Stop => {}
            Job::Carried(sessions) => {
                for (key, carried) in sessions {
                    let (Some(records), Some(record)) = (&mut self.records, self.sessions.get(&key)) else {
                        continue;
                    };
                    let noted = records.note_carried(*record, carried);
                    self.look_at(noted);
                }
            }
            Job::End(key, carried) => self.end(key, Some(carried)),
            Job::Change(keep) => self.change(keep),
            Job::Ask(question, reply) => {
                let answer = match &mut self.records {
                    Some(records) => query::answer(records, &question),
                    None => query::cannot_be_read(self.shown().trouble.as_deref()),
                };
                self.show_count();
                // The asker may have gone.
                let _ = reply.send(answer);
            }
        }
    }

    fn begin(&mut self, key: SessionKey, holder: &AddressHolder) {
        // The end of the one before at this address was lost, and what it carried with it.
        self.end(key, None);
        let now = self.now();
        let Some(records) = &mut self.records else { return };
        match records.begin(holder, now) {
            Ok(record) => {
                self.sessions.insert(key, record);
                self.show_count();
            }
            Err(error) => self.look_at(Err(error)),
        }
    }

    /// The session is over, if it had begun. Without a number it has carried what was noted last.
    fn end(&mut self, key: SessionKey, carried: Option<Bytes>) {
        let now = self.now();
        let (Some(records), Some(record)) = (&mut self.records, self.sessions.remove(&key)) else { return };
        let ended = records.end(record, carried, now);
        self.look_at(ended);
    }

    fn pass_time(&mut self) {
        // Of one that is not here the beginning still waits among the jobs.
        let sessions = &self.sessions;
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let ended: Vec<_> = shown.ended.extract_if(.., |key, _| sessions.contains_key(key)).collect();
        drop(shown);
        ended.into_iter().for_each(|(key, carried)| self.end(key, Some(carried)));
        let Some(keep) = self.keep else {
            if self.shown().trouble.is_some() {
                self.change(None);
            }
            return;
        };
        if self.records.is_none() {
            self.open();
        }
        let now = self.now();
        let Some(records) = &mut self.records else { return };
        match records.pass_time(now) {
            Ok(gone) => {
                self.overdue_since = None;
                let is_over = self.shown().trouble.take().is_some();
                if is_over {
                    tracing::info!("addresses are recorded as they should be again");
                }
                if gone > 0 {
                    tracing::debug!(gone, "records of addresses were removed after {keep}");
                }
                self.show_count();
            }
            Err(error) => {
                let is_overdue = records.is_overdue(now);
                self.overdue_since =
                    is_overdue.then(|| self.overdue_since.unwrap_or_else(seconds_since_boot));
                self.look_at(Err(error));
                let is_late = |since| seconds_since_boot().saturating_sub(since) >= OVERDUE_SECONDS_MAX;
                if self.overdue_since.is_some_and(is_late) {
                    self.remove_all(
                        "the disk refused to remove what was due, so all records of addresses were removed",
                    );
                    self.open();
                }
            }
        }
    }

    fn open(&mut self) {
        let Some(keep) = self.keep else { return };
        self.opened = seconds_since_boot();
        let limits = AddressLimits { keep_seconds: keep.seconds(), records_max: RECORDS_MAX };
        let now = self.now();
        match Addresses::open(&self.path, limits, now) {
            Ok(records) => {
                self.records = Some(records);
                self.show_count();
            }
            Err(error) => self.look_at(Err(error)),
        }
    }

    /// What went wrong is shown. A file that is damaged goes as a whole, because nobody can say what in it is due.
    fn look_at(&mut self, result: Result<(), AddressesError>) {
        let Err(error) = result else { return };
        if !matches!(error, AddressesError::Damaged { .. }) {
            return self.shown().note(error.to_string());
        }
        tracing::error!(%error, "the file is removed with all its records, because what is due in it cannot be found");
        self.remove_all(
            "the damaged records of addresses were removed; those of sessions that begin now are kept",
        );
        if self.records.is_none() && !self.path.exists() {
            self.open();
        }
    }

    /// Removes the file, and says `sentence` if there was one.
    fn remove_all(&mut self, sentence: &str) {
        (self.records, self.overdue_since) = (None, None);
        self.sessions.clear();
        match remove_addresses(&self.path) {
            Ok(was_there) => {
                *self.shown() = Shown::default();
                if was_there {
                    tracing::warn!(name: "addresses_removed", "{sentence}");
                }
            }
            Err(error) => {
                let path = self.path.display().to_string();
                self.shown().note(format!("cannot remove {path}: {error}; remove it by hand"));
            }
        }
    }

    fn now(&mut self) -> Moment {
        Moment {
            wall: self.clock.now().unix_seconds(),
            steady_seconds: seconds_since_boot().saturating_sub(self.opened),
        }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show_count(&self) {
        self.shown().records = self.records.as_ref().map_or(0, Addresses::count);
    }
}

#[cfg(test)]
mod tests;
