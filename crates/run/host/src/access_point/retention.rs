//! Who had which address when, where the household wants to know (design note 0017).
//!
//! The loop notes who comes and goes, and never waits: a thread of its own owns the file. Guests are served whatever becomes of
//! it, for the records protect the household and nobody else; what is wrong with them is in the status and once in the log.

mod keep;
mod keeper;
mod query;
mod sentence;

pub use keep::Keep;
pub use query::{Query, fetch, forget};
pub use sentence::sentence;

use super::Loop;
use guestright_clock::Clock;
use guestright_error::RunError;
use guestright_firewall::MacAddress;
use guestright_roaming::access_point::{Address, SessionStatus};
use guestright_store::addresses::AddressHolder;
use guestright_units::Bytes;
use keeper::{Job, Keeper, SessionKey, Shown};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// How many jobs may wait for the disk. One more is not done, and the status says so.
const JOBS_MAX: usize = 4_096;

/// Where the records are, in the state directory.
fn file(state: &Path) -> PathBuf {
    state.join("addresses.sqlite")
}

/// The loop's end of the records. Dropping it waits until what was handed in is written.
#[derive(Debug)]
pub(super) struct Retention {
    keep: Option<Keep>,
    jobs: SyncSender<Job>,
    shown: Arc<Mutex<Shown>>,
    thread: Option<JoinHandle<()>>,
}

impl Retention {
    /// Removes what is due, or everything if nothing is kept, before it returns.
    ///
    /// # Errors
    /// The system has no thread for it. What is wrong with the file is in the status.
    pub(super) fn open(state: &Path, keep: Option<Keep>) -> Result<Self, RunError> {
        let (jobs, waiting) = mpsc::sync_channel(JOBS_MAX);
        let shown = Arc::<Mutex<Shown>>::default();
        let mut keeper = Keeper::new(file(state), Clock::start(), Arc::clone(&shown));
        keeper.change(keep);
        let thread = std::thread::Builder::new().name("addresses".to_owned());
        let thread = thread.spawn(move || keeper.run(&waiting)).map_err(RunError::network)?;
        Ok(Self { keep, jobs, shown, thread: Some(thread) })
    }

    /// A session of a member is over.
    pub(super) fn session_ends(&self, session: &SessionStatus) {
        self.hand_in(Job::End(SessionKey { address: session.address, is_trial: false }, session.counted));
    }

    /// Packets of a stranger that tries the Wi-Fi are to pass.
    pub(super) fn trial_begins(&self, address: Address) {
        let key = SessionKey { address, is_trial: true };
        self.hand_in(Job::Begin(key, holder(address, None)));
    }

    /// A stranger's trial is over.
    pub(super) fn trial_ends(&self, address: Address, carried: Bytes) {
        self.hand_in(Job::End(SessionKey { address, is_trial: true }, carried));
    }

    /// For `status`: null if nothing is kept.
    pub(super) fn status(&self) -> Value {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        match self.keep {
            None if shown.trouble.is_none() => Value::Null,
            keep => json!({
                "keep_seconds": keep.map(Keep::seconds),
                "records": shown.records,
                "trouble": shown.trouble,
            }),
        }
    }

    fn hand_in(&self, job: Job) {
        if self.keep.is_none() {
            return;
        }
        let begins = if let Job::Begin(key, _) = &job { Some(*key) } else { None };
        // Held while the job is handed in: a pass in between would end the new session in place of the old one.
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        match self.jobs.try_send(job) {
            Ok(()) => {
                // It ends the one before.
                begins.and_then(|key| shown.ended.remove(&key));
            }
            Err(TrySendError::Full(Job::End(key, carried))) if shown.ended.len() < JOBS_MAX => {
                shown.ended.insert(key, carried);
            }
            Err(_) => shown.note_lost(),
        }
    }
}

impl Drop for Retention {
    fn drop(&mut self) {
        // The thread goes on reading until it gets this.
        let _ = self.jobs.send(Job::Stop);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the address records broke down");
        }
    }
}

/// A session's packets are to pass.
pub(super) fn session_begins(this: &Loop, address: Address) {
    if this.retention.keep.is_none() {
        return;
    }
    let session = this.machine.status().into_iter().find(|session| session.address == address);
    let key = SessionKey { address, is_trial: false };
    this.retention.hand_in(Job::Begin(key, holder(address, session.as_ref())));
}

/// The setting has changed.
pub(super) fn change(this: &mut Loop, keep: Option<Keep>) {
    if this.retention.keep == keep {
        return;
    }
    this.retention.keep = keep;
    // Whoever switches it off relies on it, so this one waits for room.
    let _ = this.retention.jobs.send(Job::Change(keep));
    for session in this.machine.status().iter().filter(|session| session.open) {
        let key = SessionKey { address: session.address, is_trial: false };
        this.retention.hand_in(Job::Resume(key, holder(session.address, Some(session))));
    }
    for gate in this.guests.trials.gates() {
        let key = SessionKey { address: gate.address, is_trial: true };
        this.retention.hand_in(Job::Resume(key, holder(gate.address, None)));
    }
}

/// Whether the question is one about the records.
pub(super) fn is_question(question: &str) -> bool {
    query::Question::parse(question).is_some()
}

/// Has it answered, with what the sessions have carried until now.
pub(super) fn answer(this: &Loop, question: &str, reply: oneshot::Sender<Value>) {
    let Some(question) = query::Question::parse(question) else { return };
    if this.retention.keep.is_none() {
        return drop(reply.send(query::nothing_is_kept()));
    }
    let carried = this
        .machine
        .status()
        .into_iter()
        .map(|session| (SessionKey { address: session.address, is_trial: false }, session.counted));
    this.retention.hand_in(Job::Carried(carried.collect()));
    this.retention.hand_in(Job::Ask(question, reply));
}

fn holder(address: Address, session: Option<&SessionStatus>) -> AddressHolder {
    AddressHolder {
        ip: address.ip,
        mac: MacAddress::new(address.mac).ok().map(MacAddress::bytes),
        team: session.map(|session| session.team),
        member: session.map(|session| session.member),
        by_tunnel: address.home.is_some(),
    }
}
