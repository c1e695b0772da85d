//! A thread of the store's own: many callers, one commit.

use crate::put::{self, Batch};
use crate::{PutReport, Store, StoreError};
use guestright_identity::Certificate;
use guestright_receipt::Receipt;
use guestright_units::UnixSeconds;
use std::fmt;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};

/// How much may wait and how much is committed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterLimits {
    /// How many requests may wait; one more is [`StoreError::Busy`].
    pub queue_max: usize,
    /// After how many receipts a commit takes in no further request.
    pub group_max: usize,
}

impl Default for WriterLimits {
    /// 256 requests, 4,096 receipts.
    fn default() -> Self {
        Self { queue_max: 256, group_max: 4_096 }
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
    Put(Put),
    Run(Box<dyn FnOnce(&mut Store) + Send>),
    Stop,
}

struct Put {
    items: Vec<(Receipt, Certificate)>,
    now: UnixSeconds,
    reply: Reply,
}

type Answer = Box<dyn FnOnce(Result<PutReport, StoreError>) + Send>;

/// A promise to answer: whatever becomes of the thread, an accepted request is answered once.
struct Reply(Option<Answer>);

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
        self.send(Request::Put(Put { items, now, reply }))
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
        if let Request::Put(mut put) = refused {
            put.reply.0 = None; // The caller learns it from us.
        }
        Err(error)
    }
}

impl fmt::Debug for WriterHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriterHandle(at most {} requests)", self.queue_max)
    }
}

impl Reply {
    fn send(mut self, answer: Result<PutReport, StoreError>) {
        if let Some(reply) = self.0.take() {
            reply(answer);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            reply(Err(StoreError::Stopped));
        }
    }
}

fn work(mut store: Store, requests: &Receiver<Request>, group_max: usize) -> Store {
    let mut next = requests.recv().ok();
    while let Some(request) = next.take() {
        match request {
            Request::Put(first) => {
                let group;
                (group, next) = gather(first, requests, group_max);
                commit(&mut store, group);
            }
            Request::Run(job) => job(&mut store),
            Request::Stop => break,
        }
        next = next.or_else(|| requests.recv().ok());
    }
    store
}

/// The requests to put that wait right now, up to the first of another kind.
fn gather(first: Put, requests: &Receiver<Request>, group_max: usize) -> (Vec<Put>, Option<Request>) {
    let mut receipts = first.items.len();
    let mut group = vec![first];
    while receipts < group_max {
        match requests.try_recv() {
            Ok(Request::Put(put)) => {
                receipts += put.items.len();
                group.push(put);
            }
            Ok(other) => return (group, Some(other)),
            Err(_) => break,
        }
    }
    (group, None)
}

fn commit(store: &mut Store, group: Vec<Put>) {
    let mut good = Vec::with_capacity(group.len());
    for put in group {
        match put::check(&put.items) {
            Ok(()) => good.push(put),
            Err(error) => put.reply.send(Err(error)),
        }
    }
    let batches: Vec<_> = good.iter().map(|put| Batch { items: &put.items, now: put.now }).collect();
    match store.put_group(&batches) {
        Ok(reports) => {
            for (put, report) in good.into_iter().zip(reports) {
                put.reply.send(Ok(report));
            }
        }
        Err(error) => {
            for put in good {
                put.reply.send(Err(error.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests;
