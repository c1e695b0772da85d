//! The loop that drives a machine on a link, and makes the link again when it has ended.

use crate::SmsLinkError;
use crate::clock::{now, sleep_until};
use guestright_directory::TelephoneNumber;
use guestright_units::{Micros, Time};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How many messages wait to be sent, and how many received ones wait to be taken.
const WAITING_MAX: usize = 64;
/// How long after a failure the link is made again: at first, and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
/// A write that takes longer is the end of the link.
const WRITE_MAX: Duration = Duration::from_secs(20);

/// A message on its way.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Result<(), SmsLinkError>> + Send + 'a>>;
/// A message that is waited for.
pub type Receiving<'a> = Pin<Box<dyn Future<Output = Received> + Send + 'a>>;

/// A received short message of 8-bit data with a user data header. Others are passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Who has sent it, if that is a number in international form.
    pub from: Option<TelephoneNumber>,
    /// The user data, its header first.
    pub user_data: Vec<u8>,
}

/// What sends and receives short messages.
pub trait Sms: Send + Sync {
    /// Sends the parts of a message, one after the other; `validity` as
    /// [`guestright_directory::sms::relative_validity`] says it. Ends when the network has taken the last one.
    fn send<'a>(&'a self, to: &'a TelephoneNumber, parts: &'a [Vec<u8>], validity: u8) -> Sending<'a>;

    /// Waits for the next message. To be asked by one at a time.
    fn receive(&self) -> Receiving<'_>;
}

/// One short message to send.
#[derive(Clone, PartialEq, Eq)]
pub struct ToSend {
    pub to: TelephoneNumber,
    /// The user data, its header first.
    pub user_data: Vec<u8>,
    /// How long the network may try.
    pub validity: u8,
}

impl fmt::Debug for ToSend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToSend({} bytes)", self.user_data.len())
    }
}

/// What a machine has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Messages can be sent; what there is to say about it.
    Ready(String),
    /// The network has taken the message with this number.
    Sent(u64),
    /// The message with this number was not sent, or nobody knows.
    Failed(u64, SmsLinkError),
    /// A message came.
    Received(Received),
    /// The link is of no use any more.
    Ended(SmsLinkError),
}

/// A protocol without I/O.
pub trait Machine: Send {
    /// Takes bytes in.
    fn handle_input(&mut self, bytes: &[u8], now: Time);
    /// Takes in that the time is now.
    fn handle_timeout(&mut self, now: Time);
    /// Takes a message to send in; its end is an event.
    fn submit(&mut self, number: u64, message: ToSend, now: Time);
    /// Whether it takes another message now.
    fn has_room(&self) -> bool;
    fn queues(&mut self) -> &mut Queues;
    /// Says whether there is room for received messages; without, the network is asked to keep them.
    fn set_receiving(&mut self, may: bool) {
        self.queues().receiving = may;
    }
    /// The next bytes to send.
    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.queues().transmits.pop_front()
    }
    /// The next event.
    fn poll_event(&mut self) -> Option<Event> {
        self.queues().events.pop_front()
    }
    /// When it wants [`Machine::handle_timeout`].
    fn poll_timeout(&self) -> Option<Time>;
}

/// What every machine has towards the loop.
#[derive(Debug)]
pub struct Queues {
    /// Bytes to send, in order.
    pub transmits: VecDeque<Vec<u8>>,
    /// What happened, in order.
    pub events: VecDeque<Event>,
    /// Whether there is room for received messages; without, the network is asked to keep them.
    pub receiving: bool,
}

impl Default for Queues {
    fn default() -> Self {
        Self { transmits: VecDeque::new(), events: VecDeque::new(), receiving: true }
    }
}

pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(crate) type Opening = Pin<Box<dyn Future<Output = std::io::Result<Box<dyn Stream>>> + Send>>;

/// How to make a link.
pub(crate) struct Link {
    /// What it leads to, for messages.
    pub(crate) target: String,
    pub(crate) open: Box<dyn Fn() -> Opening + Send + Sync>,
    pub(crate) machine: Box<dyn Fn(Time) -> Box<dyn Machine> + Send + Sync>,
    /// How long a message may take.
    pub(crate) send_max: Duration,
}

type Answer = oneshot::Sender<Result<(), SmsLinkError>>;

/// The handle of a driven machine; when it is dropped, the link ends.
pub(crate) struct Driven {
    orders: mpsc::Sender<(ToSend, Answer)>,
    received: tokio::sync::Mutex<mpsc::Receiver<Received>>,
    trouble: Arc<Mutex<String>>,
    send_max: Duration,
    task: JoinHandle<()>,
}

impl Driven {
    /// Begins to drive, in a task of its own.
    pub(crate) fn start(link: Link) -> Self {
        let (orders, orders_in) = mpsc::channel(WAITING_MAX);
        let (received_out, received) = mpsc::channel(WAITING_MAX);
        let trouble = Arc::new(Mutex::new("it is not up yet".to_owned()));
        let send_max = link.send_max;
        let driver = Driver { link, orders: orders_in, received: received_out, trouble: trouble.clone() };
        let task = tokio::spawn(driver.run());
        Self { orders, received: received.into(), trouble, send_max, task }
    }

    pub(crate) async fn send(
        &self,
        to: &TelephoneNumber,
        parts: &[Vec<u8>],
        validity: u8,
    ) -> Result<(), SmsLinkError> {
        for part in parts {
            let message = ToSend { to: to.clone(), user_data: part.clone(), validity };
            let (answer, end) = oneshot::channel();
            self.orders.try_send((message, answer)).map_err(|_| SmsLinkError::Full(WAITING_MAX))?;
            match tokio::time::timeout(self.send_max, end).await {
                Ok(Ok(end)) => end?,
                Ok(Err(_)) => return Err(SmsLinkError::Unknown),
                Err(_) => {
                    let why = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    return Err(SmsLinkError::Late { seconds: self.send_max.as_secs(), why });
                }
            }
        }
        Ok(())
    }

    pub(crate) async fn receive(&self) -> Received {
        match self.received.lock().await.recv().await {
            Some(received) => received,
            None => std::future::pending().await, // The task never ends before the handle.
        }
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Driver {
    link: Link,
    orders: mpsc::Receiver<(ToSend, Answer)>,
    received: mpsc::Sender<Received>,
    trouble: Arc<Mutex<String>>,
}

impl Driver {
    async fn run(mut self) {
        let mut wait = BACKOFF.0;
        loop {
            let end = match (self.link.open)().await {
                Ok(stream) => self.drive(stream).await,
                Err(error) => {
                    let (target, problem) = (self.link.target.clone(), error.to_string());
                    (SmsLinkError::Unreachable { target, problem }, false)
                }
            };
            let (reason, was_ready) = end;
            tracing::warn!(%reason, "no short messages for now");
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = reason.to_string();
            wait = if was_ready { BACKOFF.0 } else { (wait * 2).min(BACKOFF.1) };
            tokio::time::sleep(wait).await;
        }
    }

    /// Drives a machine until its link ends; says why, and whether it was ever ready.
    async fn drive(&mut self, stream: Box<dyn Stream>) -> (SmsLinkError, bool) {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let mut machine = (self.link.machine)(now());
        let mut waiting: BTreeMap<u64, Answer> = BTreeMap::new();
        let mut ready = false;
        let mut next = 0;
        let mut buffer = vec![0; 4_096];
        let ended = |error: std::io::Error| SmsLinkError::Ended(error.to_string());
        loop {
            machine.set_receiving(self.received.capacity() > WAITING_MAX / 4);
            while let Some(bytes) = machine.poll_transmit() {
                match tokio::time::timeout(WRITE_MAX, writer.write_all(&bytes)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => return (ended(error), ready),
                    Err(_) => return (SmsLinkError::Silent("a write"), ready),
                }
            }
            while let Some(event) = machine.poll_event() {
                match event {
                    Event::Ready(what) => {
                        ready = true;
                        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) =
                            "it is slow".to_owned();
                        tracing::info!(gateway = self.link.target, what, "short messages can be sent");
                    }
                    Event::Sent(number) => answer(&mut waiting, number, Ok(())),
                    Event::Failed(number, error) => answer(&mut waiting, number, Err(error)),
                    Event::Received(received) => {
                        if self.received.try_send(received).is_err() {
                            tracing::warn!("a received short message was dropped: nobody takes them");
                        }
                    }
                    Event::Ended(reason) => return (reason, ready), // Drops the answers: their fate is unknown.
                }
            }
            tokio::select! {
                read = reader.read(&mut buffer) => match read {
                    Ok(0) => return (SmsLinkError::Ended("the other side has closed it".to_owned()), ready),
                    Ok(length) => machine.handle_input(&buffer[..length], now()),
                    Err(error) => return (ended(error), ready),
                },
                Some((message, end)) = self.orders.recv(), if ready && machine.has_room() => {
                    if !end.is_closed() { // Whoever gave up while the link was down does not want it sent later.
                        next += 1;
                        waiting.insert(next, end);
                        machine.submit(next, message, now());
                    }
                }
                () = sleep_until(machine.poll_timeout()) => machine.handle_timeout(now()),
            }
        }
    }
}

fn answer(waiting: &mut BTreeMap<u64, Answer>, number: u64, end: Result<(), SmsLinkError>) {
    if let Some(answer) = waiting.remove(&number) {
        // Who asked may have gone.
        let _ = answer.send(end);
    }
}

/// A span as the machines count it.
pub(crate) fn micros(span: Duration) -> Micros {
    Micros(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
}
