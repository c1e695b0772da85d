//! What comes from the link waits here for the loop: a queue for each visitor that a session is for, or that is being
//! decided about, and one for each stranger. Visitors go first. Among either, each has its turn, and so many turns a second:
//! whoever sends more waits, or loses datagrams, and nobody waits behind it. All strangers together have so many turns a
//! second, which bounds what they cost.

use super::link::{DATAGRAM, FromLink};
use guestright_ordered::OrderedMap;
use guestright_roaming::access_point::{CONTACT, Path};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How many messages of one sender may wait.
const EACH_MAX: usize = 16;
/// How many senders may have something waiting, visitors and strangers apart. Somebody else's datagrams are lost, and
/// connections wait.
const SENDERS_MAX: usize = 512;
/// Who waits for room looks by itself after so long.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// A visitor's turns: so many a second, and so many at once after a pause. It signs twenty receipts a second at most.
const VISITOR: Pace = Pace { per_second: 100, burst: 100 };
/// A stranger's: it needs three to get in.
const STRANGER: Pace = Pace { per_second: 20, burst: 20 };
/// Those of all strangers together. Looking at one message takes about a fifth of a millisecond, for the signature on a
/// certificate: this is a tenth of a core, or all of one for a router's that is ten times as slow.
const STRANGERS: Pace = Pace { per_second: 500, burst: 100 };

/// How often something may happen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) per_second: u32,
    pub(super) burst: u32,
}

impl Pace {
    fn gap(self) -> Duration {
        Duration::from_secs(1) / self.per_second
    }
}

/// What has happened at a pace: when it would have been due if it had come evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    pace: Pace,
    next: Instant,
}

impl Meter {
    pub(super) fn new(pace: Pace, now: Instant) -> Self {
        Self { pace, next: now }
    }

    /// When it may happen again.
    pub(super) fn due(&self) -> Instant {
        self.next.checked_sub(self.pace.gap() * (self.pace.burst - 1)).unwrap_or(self.next)
    }

    pub(super) fn count(&mut self, now: Instant) {
        self.next = self.next.max(now) + self.pace.gap();
    }
}

/// Turns at a pace. Those who wait go on in the order in which they came: whoever holds the meter is next, and it is held
/// while nobody may be.
#[derive(Debug)]
pub(super) struct Turns(tokio::sync::Mutex<Meter>);

impl Turns {
    pub(super) fn new(pace: Pace) -> Self {
        Self(tokio::sync::Mutex::new(Meter::new(pace, Instant::now())))
    }

    /// Waits until it may happen once more.
    pub(super) async fn wait(&self) {
        let mut meter = self.0.lock().await;
        tokio::time::sleep_until(meter.due()).await;
        meter.count(Instant::now());
    }
}

/// Who sends: an address, or a home on a connection of ours.
type Sender = u64;

fn sender(ip: Ipv4Addr, path: Path) -> Sender {
    if is_contact(path) { path } else { ip.to_bits().into() }
}

/// Whether it is a connection to a visitor's home.
pub(super) fn is_contact(path: Path) -> bool {
    path & CONTACT != 0 && path & DATAGRAM == 0
}

/// What of one sender waits, and who is told when there is room.
#[derive(Default)]
struct Waiting {
    inputs: VecDeque<FromLink>,
    left: Arc<Notify>,
}

/// An input for which there is no room, and who will be told.
type Refused = (FromLink, Arc<Notify>);

/// The queues of visitors, or of strangers.
struct Queues {
    pace: Pace,
    waiting: OrderedMap<Sender, Waiting>,
    /// Those with something waiting, in the order of their turns.
    turns: VecDeque<Sender>,
    meters: OrderedMap<Sender, Meter>,
    /// A sender has nothing more waiting, so that there is room for another.
    left: Arc<Notify>,
}

impl Queues {
    fn new(pace: Pace) -> Self {
        Self {
            pace,
            waiting: OrderedMap::new(),
            turns: VecDeque::new(),
            meters: OrderedMap::new(),
            left: Arc::default(),
        }
    }

    /// Puts something in the queue; gives it back if there is no room.
    fn push(&mut self, sender: Sender, input: FromLink) -> Result<(), Refused> {
        let is_new = !self.waiting.contains_key(&sender);
        if is_new && self.waiting.len() >= SENDERS_MAX {
            return Err((input, Arc::clone(&self.left)));
        }
        let waiting = self.waiting.entry(sender).or_default();
        if waiting.inputs.len() >= EACH_MAX {
            return Err((input, Arc::clone(&waiting.left)));
        }
        waiting.inputs.push_back(input);
        if is_new {
            self.turns.push_back(sender);
        }
        Ok(())
    }

    /// Takes from the first in turn that may have one.
    fn pop(&mut self, now: Instant) -> Option<FromLink> {
        let turn = self.turns.iter().position(|sender| self.due(*sender).is_none_or(|due| due <= now))?;
        let sender = self.turns.remove(turn)?;
        let waiting = self.waiting.get_mut(&sender)?;
        let input = waiting.inputs.pop_front();
        // Of those who wait for this, one goes on.
        waiting.left.notify_one();
        if waiting.inputs.is_empty() {
            self.waiting.remove(&sender);
            self.left.notify_one();
        } else {
            self.turns.push_back(sender);
        }
        self.meters.retain(|_, meter| meter.next > now);
        self.meters.entry(sender).or_insert_with(|| Meter::new(self.pace, now)).count(now);
        input
    }

    fn due(&self, sender: Sender) -> Option<Instant> {
        self.meters.get(&sender).map(Meter::due)
    }

    /// When the next one may have something taken, if anything waits.
    fn next(&self, now: Instant) -> Option<Instant> {
        self.turns.iter().map(|sender| self.due(*sender).unwrap_or(now)).min()
    }
}

struct State {
    visitors: Queues,
    strangers: Queues,
    all_strangers: Meter,
    is_closed: bool,
}

impl State {
    fn pop(&mut self, now: Instant) -> Option<FromLink> {
        if let Some(input) = self.visitors.pop(now) {
            return Some(input);
        }
        if self.all_strangers.due() > now {
            return None;
        }
        let input = self.strangers.pop(now)?;
        self.all_strangers.count(now);
        Some(input)
    }

    fn next(&self, now: Instant) -> Option<Instant> {
        let strangers = self.strangers.next(now).map(|next| next.max(self.all_strangers.due()));
        self.visitors.next(now).into_iter().chain(strangers).min()
    }
}

struct Shared {
    state: Mutex<State>,
    /// Something has come.
    arrived: Notify,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The loop's end.
pub(super) struct Inbox(Arc<Shared>);

/// The end of those who read from sockets.
#[derive(Clone)]
pub(super) struct Door {
    shared: Arc<Shared>,
    in_use: Arc<RwLock<Vec<Path>>>,
}

/// Both ends of the queues.
pub(super) fn open() -> (Door, Inbox) {
    let state = State {
        visitors: Queues::new(VISITOR),
        strangers: Queues::new(STRANGER),
        all_strangers: Meter::new(STRANGERS, Instant::now()),
        is_closed: false,
    };
    let shared = Arc::new(Shared { state: Mutex::new(state), arrived: Notify::new() });
    (Door { shared: Arc::clone(&shared), in_use: Arc::default() }, Inbox(shared))
}

impl Inbox {
    /// Waits for the next input: a visitor's, if there is one, else a stranger's. Nothing is lost if it is given up.
    pub(super) async fn recv(&mut self) -> FromLink {
        loop {
            let arrived = self.0.arrived.notified();
            let next = {
                let (mut state, now) = (self.0.state(), Instant::now());
                if let Some(input) = state.pop(now) {
                    return input;
                }
                state.next(now)
            };
            match next {
                Some(next) => {
                    tokio::select! {
                        () = arrived => {}
                        () = tokio::time::sleep_until(next) => {}
                    }
                }
                None => arrived.await,
            }
        }
    }

    /// A visitor's input, if one is there.
    pub(super) fn try_visitor(&mut self) -> Option<FromLink> {
        self.0.state().visitors.pop(Instant::now())
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.0.state().is_closed = true;
    }
}

impl Door {
    /// Says which paths belong to sessions, and to questions of those who want one.
    pub(super) fn set_in_use(&self, paths: Vec<Path>) {
        *self.in_use.write().unwrap_or_else(PoisonError::into_inner) = paths;
    }

    pub(super) fn is_in_use(&self, path: Path) -> bool {
        self.in_use.read().unwrap_or_else(PoisonError::into_inner).contains(&path)
    }

    /// A datagram. When too many wait, it is dropped, as a network would.
    pub(super) fn datagram(&self, ip: Ipv4Addr, path: Path, input: FromLink) {
        let _ = self.push(ip, path, input);
    }

    /// Something of a connection, which waits until there is room. Whether the loop is still there.
    pub(super) async fn connection(&self, ip: Ipv4Addr, path: Path, mut input: FromLink) -> bool {
        loop {
            match self.push(ip, path, input) {
                Ok(()) => return true,
                Err(Some((returned, left))) => {
                    input = returned;
                    // Whoever took the last one may have told another that waits.
                    let _ = tokio::time::timeout(LOOK_AGAIN, left.notified()).await;
                }
                Err(None) => return false,
            }
        }
    }

    /// Nothing is given back if the loop is gone.
    fn push(&self, ip: Ipv4Addr, path: Path, input: FromLink) -> Result<(), Option<Refused>> {
        // What became of a contact with a visitor's home is no stranger's doing.
        let is_known = is_contact(path) || self.is_in_use(path);
        let mut state = self.shared.state();
        if state.is_closed {
            return Err(None);
        }
        let queues = if is_known { &mut state.visitors } else { &mut state.strangers };
        queues.push(sender(ip, path), input)?;
        drop(state);
        self.shared.arrived.notify_one();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VISITOR_PATH: Path = 1;
    const VISITOR_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    fn message(path: Path) -> FromLink {
        FromLink::Message { ip: Ipv4Addr::LOCALHOST, path, bytes: Vec::new() }
    }

    fn path(input: &FromLink) -> Path {
        match input {
            FromLink::Message { path, .. } | FromLink::Ended(path) | FromLink::HomeReached { path, .. } => {
                *path
            }
        }
    }

    fn stranger(number: u64) -> Ipv4Addr {
        Ipv4Addr::from_bits(0x0a01_0000 + u32::try_from(number).unwrap())
    }

    /// What the loop gets within a second, when it takes no time itself.
    async fn within_a_second(inbox: &mut Inbox) -> Vec<Path> {
        let until = Instant::now() + Duration::from_millis(999);
        let mut taken = Vec::new();
        while let Ok(input) = tokio::time::timeout_at(until, inbox.recv()).await {
            taken.push(path(&input));
        }
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn a_visitor_does_not_wait_behind_strangers() {
        let (door, mut inbox) = open();
        door.set_in_use(vec![VISITOR_PATH]);
        for number in 0..10_000 {
            door.datagram(stranger(number % 700), 2_000 + number, message(2_000 + number));
        }
        door.datagram(VISITOR_IP, VISITOR_PATH, message(VISITOR_PATH));
        assert_eq!(path(&inbox.recv().await), VISITOR_PATH);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_behind_one_that_sends_without_end() {
        for in_use in [true, false] {
            let (door, mut inbox) = open();
            let loud = 7_u64;
            if in_use {
                door.set_in_use(vec![loud, VISITOR_PATH]);
            }
            let flood = door.clone();
            let flood =
                tokio::spawn(
                    async move { while flood.connection(stranger(loud), loud, message(loud)).await {} },
                );
            assert_eq!(path(&inbox.recv().await), loud);
            door.datagram(VISITOR_IP, VISITOR_PATH, message(VISITOR_PATH));
            let next = [inbox.recv().await, inbox.recv().await].map(|input| path(&input));
            assert!(next.contains(&VISITOR_PATH), "{next:?}");
            let pace = if in_use { VISITOR } else { STRANGER };
            within_a_second(&mut inbox).await; // The burst is over.
            let taken = within_a_second(&mut inbox).await.len();
            assert!(taken.abs_diff(pace.per_second as usize) <= 1, "{taken}");
            drop(inbox);
            flood.await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_strangers_together_cost_so_much() {
        let (door, mut inbox) = open();
        let strangers: Vec<_> = (0..400)
            .map(|number| {
                let door = door.clone();
                tokio::spawn(async move {
                    while door.connection(stranger(number), number, message(number)).await {}
                })
            })
            .collect();
        within_a_second(&mut inbox).await;
        let taken = within_a_second(&mut inbox).await;
        assert!(taken.len().abs_diff(STRANGERS.per_second as usize) <= 1, "{}", taken.len());
        let each = (0..400).map(|number| taken.iter().filter(|path| **path == number).count());
        assert!(each.clone().all(|count| (1..=2).contains(&count)), "{:?}", each.collect::<Vec<_>>());
        drop(inbox);
        for stranger in strangers {
            stranger.await.unwrap();
        }
    }
}
