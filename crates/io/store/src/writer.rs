//! A thread of the store's own: many callers, one commit.

use crate::credit::KeptCredit;
use crate::put::{self, Batch};
use crate::{PutReport, Store, StoreError};
use guestright_credit::{Token, Write};
use guestright_identity::Certificate;
use guestright_receipt::Receipt;
use guestright_units::UnixSeconds;
use std::fmt;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// After so long without a request the receipts of a burst are moved to the others.
const INDEX_AFTER: Duration = Duration::from_millis(250);

/// How much may wait and how much is committed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterLimits {
    /// How many requests may wait; one more is [`StoreError::Busy`].
    pub queue_max: usize,
    /// After how many receipts and rows of accounts a commit takes in no further request.
    pub group_max: usize,
}

impl Default for WriterLimits {
    /// 256 requests, 16,384 receipts. A commit writes every page that it changes, so a few large commits write less than
    /// many small ones.
    fn default() -> Self {
        Self { queue_max: 256, group_max: 16_384 }
    }
}

/// The thread that owns a [`Store`]. Dropping it stops it, as [`Writer::stop`] does.
#[derive(Debug)]
pub struct Writer {
    handle: WriterHandle,
    thread: Option<JoinHandle<Store>>,
}

/// A way to the writer, for any number of threads. No call of it ever waits.
#[derive(Clone)]
pub struct WriterHandle {
    queue: SyncSender<Request>,
    queue_max: usize,
}

enum Request {
    Durable(Durable),
    Credit(Reply<KeptCredit>),
    Run(Box<dyn FnOnce(&mut Store) + Send>),
    Stop,
}

/// What waits for a commit, and shares it with others.
enum Durable {
    Put(Put),
    Keep(Write, Reply<()>),
}

struct Put {
    items: Vec<(Receipt, Certificate)>,
    now: UnixSeconds,
    reply: Reply<PutReport>,
}

/// A promise to answer: whatever becomes of the thread, an accepted request is answered once.
struct Reply<T>(Option<Answer<T>>);

type Answer<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

impl Writer {
    /// Gives the store a thread.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the system has no thread for us.
    pub fn start(store: Store, limits: WriterLimits) -> Result<Self, StoreError> {
        let (queue, requests) = mpsc::sync_channel(limits.queue_max);
        let path = store.path().to_owned();
        let thread = thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || work(store, &requests, limits.group_max))
            .map_err(|error| StoreError::Failed {
                path,
                doing: "start a thread to write",
                reason: error.to_string(),
            })?;
        let handle = WriterHandle { queue, queue_max: limits.queue_max };
        Ok(Self { handle, thread: Some(thread) })
    }

    /// A way to this writer.
    pub fn handle(&self) -> WriterHandle {
        self.handle.clone()
    }

    /// Finishes what was asked before, answers [`StoreError::Stopped`] to what comes later, and gives the store
    /// back. Waits for the last commit.
    ///
    /// # Errors
    /// [`StoreError::Stopped`] if the thread had panicked.
    pub fn stop(mut self) -> Result<Store, StoreError> {
        self.join().ok_or(StoreError::Stopped)
    }

    fn join(&mut self) -> Option<Store> {
        let thread = self.thread.take()?;
        // If nobody listens any more the thread has ended already.
        let _ = self.handle.queue.send(Request::Stop);
        thread.join().ok()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.join();
    }
}

impl WriterHandle {
    /// Asks to take receipts in, as [`Store::put`] does. Once they are on the disk, or could not be stored, `reply`
    /// is called, once, on the writer's thread: it should only pass the answer on. What had to go to make room for
    /// several requests is reported to the last of them.
    ///
    /// # Errors
    /// [`StoreError::Busy`] or [`StoreError::Stopped`]; nothing was stored and `reply` is not called.
    pub fn put(
        &self,
        items: Vec<(Receipt, Certificate)>,
        now: UnixSeconds,
        reply: impl FnOnce(Result<PutReport, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        let reply = Reply(Some(Box::new(reply)));
        self.send(Request::Durable(Durable::Put(Put { items, now, reply })))
    }

    /// Asks to keep a write of the home's accounts and holds, as [`Store::keep_credit`] does, in the order of the calls.
    /// Once it is on the disk, or could not be kept, `reply` is called, once, on the writer's thread.
    ///
    /// After [`StoreError::Busy`], or if `reply` gets an error, the same write has to be handed in again before any later one.
    /// Until it is kept those that come later, or wait already, are answered with the same error, since they rely on it. The
    /// other way on is a machine that is made anew from [`credit`](Self::credit).
    ///
    /// # Errors
    /// [`StoreError::Busy`] or [`StoreError::Stopped`]; nothing was kept and `reply` is not called.
    pub fn keep(
        &self,
        write: Write,
        reply: impl FnOnce(Result<(), StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.send(Request::Durable(Durable::Keep(write, Reply(Some(Box::new(reply))))))
    }

    /// Asks for the home's credit as it is kept, after everything that was asked before. Writes that are handed in from now on
    /// have to be of a machine that was made from it.
    ///
    /// # Errors
    /// [`StoreError::Busy`] or [`StoreError::Stopped`]; `reply` is not called.
    pub fn credit(
        &self,
        reply: impl FnOnce(Result<KeptCredit, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.send(Request::Credit(Reply(Some(Box::new(reply)))))
    }

    /// Runs `job` with the store, after everything that was asked before.
    ///
    /// # Errors
    /// [`StoreError::Busy`] or [`StoreError::Stopped`]; `job` does not run.
    pub fn run(&self, job: impl FnOnce(&mut Store) + Send + 'static) -> Result<(), StoreError> {
        self.send(Request::Run(Box::new(job)))
    }

    fn send(&self, request: Request) -> Result<(), StoreError> {
        let (refused, error) = match self.queue.try_send(request) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Full(refused)) => {
                let queue_max = self.queue_max;
                (refused, StoreError::Busy { queue_max })
            }
            Err(TrySendError::Disconnected(refused)) => (refused, StoreError::Stopped),
        };
        // The caller learns it from us.
        match refused {
            Request::Durable(Durable::Put(mut put)) => put.reply.0 = None,
            Request::Durable(Durable::Keep(_, mut reply)) => reply.0 = None,
            Request::Credit(mut reply) => reply.0 = None,
            Request::Run(_) | Request::Stop => {}
        }
        Err(error)
    }
}

impl fmt::Debug for WriterHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriterHandle(at most {} requests)", self.queue_max)
    }
}

impl<T> Reply<T> {
    fn send(mut self, answer: Result<T, StoreError>) {
        if let Some(reply) = self.0.take() {
            reply(answer);
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            reply(Err(StoreError::Stopped));
        }
    }
}

fn work(mut store: Store, requests: &Receiver<Request>, group_max: usize) -> Store {
    let mut missing = None;
    let mut next = requests.recv().ok();
    while let Some(request) = next.take() {
        match request {
            Request::Durable(first) => {
                let group;
                (group, next) = gather(first, requests, group_max);
                commit(&mut store, group, &mut missing);
            }
            Request::Credit(reply) => {
                missing = None;
                reply.send(store.credit());
            }
            Request::Run(job) => job(&mut store),
            Request::Stop => break,
        }
        next = next.or_else(|| wait(&store, requests));
    }
    // Where that fails they wait in the file for whoever opens it next.
    let _ = store.move_recent();
    store
}

/// The next request; nothing if there is nobody any more to send one.
fn wait(store: &Store, requests: &Receiver<Request>) -> Option<Request> {
    if store.has_recent() {
        match requests.recv_timeout(INDEX_AFTER) {
            Ok(request) => return Some(request),
            Err(RecvTimeoutError::Disconnected) => return None,
            // The next commit says what is wrong with the disk.
            Err(RecvTimeoutError::Timeout) => drop(store.move_recent()),
        }
    }
    requests.recv().ok()
}

impl Durable {
    fn len(&self) -> usize {
        match self {
            Self::Put(put) => put.items.len(),
            Self::Keep(write, _) => write.changes.len(),
        }
    }
}

/// The requests that wait for a commit right now, up to the first of another kind.
fn gather(first: Durable, requests: &Receiver<Request>, group_max: usize) -> (Vec<Durable>, Option<Request>) {
    let mut rows = first.len();
    let mut group = vec![first];
    while rows < group_max {
        match requests.try_recv() {
            Ok(Request::Durable(request)) => {
                rows += request.len();
                group.push(request);
            }
            Ok(other) => return (group, Some(other)),
            Err(_) => break,
        }
    }
    (group, None)
}

/// A write of accounts that was not kept: those after it rely on it.
struct Missing {
    token: Token,
    error: StoreError,
}

/// Receipts and accounts are in different tables: only the order among each kind matters.
fn commit(store: &mut Store, group: Vec<Durable>, missing: &mut Option<Missing>) {
    let mut puts = Vec::with_capacity(group.len());
    let (mut writes, mut replies) = (Vec::new(), Vec::new());
    let mut gap = missing.take();
    for request in group {
        match request {
            Durable::Put(put) => match put::check(&put.items) {
                Ok(()) => puts.push(put),
                Err(error) => put.reply.send(Err(error)),
            },
            Durable::Keep(write, reply) => {
                gap = gap.filter(|gap| write.token != gap.token);
                match &gap {
                    Some(gap) => reply.send(Err(gap.error.clone())),
                    None => {
                        writes.push(write);
                        replies.push(reply);
                    }
                }
            }
        }
    }
    *missing = gap;
    let batches: Vec<_> = puts.iter().map(|put| Batch { items: &put.items, now: put.now }).collect();
    match store.keep_group(&batches, &writes) {
        Ok(reports) => {
            puts.into_iter().zip(reports).for_each(|(put, report)| put.reply.send(Ok(report)));
            replies.into_iter().for_each(|reply| reply.send(Ok(())));
        }
        Err(error) => {
            if let Some(token) = writes.first().map(|write| write.token) {
                *missing = Some(Missing { token, error: error.clone() });
            }
            puts.into_iter().for_each(|put| put.reply.send(Err(error.clone())));
            replies.into_iter().for_each(|reply| reply.send(Err(error.clone())));
        }
    }
}

#[cfg(test)]
mod tests;
