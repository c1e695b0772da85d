use crate::MediaError;
use crate::clock::MediaClock;
use crate::shared::{CallId, Shared};
use guestright_relay::{Channel, Event, Side};
use guestright_units::{Micros, Time};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Sockets that are looked at after one waiting.
const READY_MAX: usize = 512;
/// How often calls look at the clock.
const TICK: Micros = Micros::from_seconds(1);
/// `EventData` of the bell; no socket's, whose lowest two bits say which port it is.
const BELL: u64 = u64::MAX;

/// A thread with the sockets of some calls.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
}

/// What a thread is on_event.
#[derive(Debug)]
pub(crate) enum Command {
    Open(Arc<Shared>),
    Close(CallId),
    End,
}

/// Where commands wait, and the bell that ends the thread's waiting.
#[derive(Debug)]
pub(crate) struct Inbox {
    commands: Mutex<VecDeque<Command>>,
    bell: OwnedFd,
}

impl Inbox {
    pub(crate) fn send(&self, command: Command) {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).push_back(command);
        // A bell that was rung already, and not heard yet, needs no more.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    fn drain(&self) -> VecDeque<Command> {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        std::mem::take(&mut *self.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Worker {
    pub(crate) fn start(
        clock: Arc<MediaClock>,
        datagram_bytes_max: usize,
        on_event: impl Fn(CallId, Event) + Send + 'static,
    ) -> Result<Self, MediaError> {
        let failed = |error: io::Error| MediaError::Thread { reason: error.to_string() };
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| failed(error.into()))?;
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        epoll::add(&epoll, &bell, EventData::new_u64(BELL), EventFlags::IN)
            .map_err(|error| failed(error.into()))?;
        let inbox = Arc::new(Inbox { commands: Mutex::default(), bell });
        let mut carrier = Carrier {
            inbox: Arc::clone(&inbox),
            epoll,
            clock,
            on_event: Box::new(on_event),
            calls: BTreeMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            // One more than may be, so that longer ones show.
            buffer: vec![0; datagram_bytes_max + 1],
            out: Vec::with_capacity(datagram_bytes_max + 64),
            look_at: Time(0),
        };
        let builder = std::thread::Builder::new().name("media".to_owned());
        let thread = builder.spawn(move || carrier.run()).map_err(failed)?;
        Ok(Self { inbox, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.inbox.send(Command::End);
        if let Some(thread) = self.thread.take() {
            // A panic has been printed already; here is nobody to do more about it.
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Carrier {
    inbox: Arc<Inbox>,
    epoll: OwnedFd,
    clock: Arc<MediaClock>,
    on_event: Box<dyn Fn(CallId, Event) + Send>,
    /// Where each call is in `slots`.
    calls: BTreeMap<CallId, usize>,
    slots: Vec<Option<Arc<Shared>>>,
    free: Vec<usize>,
    buffer: Vec<u8>,
    out: Vec<u8>,
    look_at: Time,
}

/// Lets this thread go before work that can wait: voice is late after some hundredths of a second. Only with the
/// privilege to do so (`CAP_SYS_NICE`), and then as sound servers do it.
fn hurry() {
    const NICE: i32 = -11;
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
}

/// A port's place in a slot.
const SLOT_PORTS: [(Side, Channel); 4] = [
    (Side::A, Channel::Media),
    (Side::A, Channel::Control),
    (Side::B, Channel::Media),
    (Side::B, Channel::Control),
];

impl Carrier {
    fn run(&mut self) {
        hurry();
        let mut ready = Vec::with_capacity(READY_MAX);
        loop {
            let now = self.clock.now();
            if now >= self.look_at {
                self.look(now);
                self.look_at = now + TICK;
            }
            let left = self.look_at.since(now).0;
            let left = Timespec {
                tv_sec: i64::try_from(left / 1_000_000).unwrap_or(1),
                tv_nsec: i64::try_from(left % 1_000_000 * 1_000).unwrap_or(0),
            };
            ready.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut ready), Some(&left)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "media cannot be waited for any more");
                    return;
                }
            }
            let mut rung = false;
            // One look at the clock for all: what came during one waiting came at one time.
            let now = self.clock.now();
            for event in &ready {
                let data = event.data;
                match data.u64() {
                    BELL => rung = true,
                    token => self.carry(token, now),
                }
            }
            // After the sockets, whose slots would be somebody else's otherwise.
            if rung && !self.obey() {
                return;
            }
        }
    }

    /// Passes on what one port has.
    fn carry(&mut self, token: u64, now: Time) {
        let (slot, slot_port) = (
            usize::try_from(token >> 2).unwrap_or(usize::MAX),
            SLOT_PORTS[usize::try_from(token & 3).unwrap_or(0)],
        );
        let Some(Some(shared)) = self.slots.get(slot) else { return };
        let (side, channel) = slot_port;
        let Some(port) = shared.port(side, channel) else { return };
        // One at a time: there is hardly ever a second one, and asking costs as much as fetching. If there is, this port
        // is ready again at once, after the others have had their turn.
        let Ok((length, from)) = port.socket.recv_from(&mut self.buffer) else { return };
        let datagram = &self.buffer[..length];
        let mut call = shared.call();
        let passed = call.handle_datagram(side, channel, from, datagram, &mut self.out, now);
        while let Some(event) = call.poll_event() {
            (self.on_event)(shared.id, event);
        }
        drop(call);
        if let Ok(forward) = passed
            && let Some(far) = shared.port(forward.side, forward.channel)
        {
            far.send(if forward.unchanged { datagram } else { &self.out }, forward.to);
        }
    }

    /// Lets every call look at the clock.
    fn look(&mut self, now: Time) {
        for shared in self.slots.iter().flatten() {
            let mut call = shared.call();
            if call.poll_timeout() <= now {
                call.handle_timeout(now);
                while let Some(event) = call.poll_event() {
                    (self.on_event)(shared.id, event);
                }
            }
        }
    }

    /// Does what it was on_event; whether to go on.
    fn obey(&mut self) -> bool {
        for command in self.inbox.drain() {
            match command {
                Command::Open(shared) => self.open(shared),
                Command::Close(id) => {
                    // The descriptors leave the epoll when the last one who has the call lets go of it.
                    if let Some(slot) = self.calls.remove(&id)
                        && let Some(shared) = self.slots[slot].take()
                    {
                        for (side, channel) in SLOT_PORTS {
                            if let Some(port) = shared.port(side, channel) {
                                let _ = epoll::delete(&self.epoll, &port.socket);
                            }
                        }
                        self.free.push(slot);
                    }
                }
                Command::End => return false,
            }
        }
        true
    }

    fn open(&mut self, shared: Arc<Shared>) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        for (index, (side, channel)) in SLOT_PORTS.into_iter().enumerate() {
            let Some(port) = shared.port(side, channel) else { continue };
            let token =
                (u64::try_from(slot).unwrap_or(u64::MAX >> 2) << 2) | u64::try_from(index).unwrap_or(0);
            if let Err(error) =
                epoll::add(&self.epoll, &port.socket, EventData::new_u64(token), EventFlags::IN)
            {
                tracing::error!(%error, "a media port cannot be waited for; its call will have no sound");
            }
        }
        self.calls.insert(shared.id, slot);
        self.slots[slot] = Some(shared);
    }
}
