//! The thread that keeps charon and xl2tpd running.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::charon::Charon;
use crate::configuration::SOCKET;
use crate::l2tp::Lns;
use crate::process::Running;
use crate::{Member, Session, Settings, Status, StrongswanError, connections, status};

/// A program that dies is started again at once, then after twice as long each time, up to this.
const PAUSE_MAX: Duration = Duration::from_secs(8);
const PAUSE_MIN: Duration = Duration::from_millis(125);
/// One that ran for so long may die again.
const STEADY_AFTER: Duration = Duration::from_secs(60);

/// The way in through strongSwan, while it exists.
#[derive(Debug)]
pub struct Gateway {
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    /// The program of this start has closed its outputs, so it has ended or is about to.
    Ended(Which, u64),
    Status(Sender<Result<Status, StrongswanError>>),
    Members(Vec<Member>, Sender<Result<(), StrongswanError>>),
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Charon,
    Lns,
}

impl Gateway {
    /// Starts charon, and xl2tpd if L2TP is wanted, and returns when members can come in.
    ///
    /// They live in the network namespace of the calling thread.
    ///
    /// # Errors
    /// A setting is wrong, something is not installed, the kernel lacks it, or a program does not start.
    pub fn start(settings: Settings) -> Result<Self, StrongswanError> {
        settings.check()?;
        let (orders, received) = channel();
        let (result_sender, started) = channel();
        let own = orders.clone();
        // The kernel ends the programs when the thread that started them ends, so it is this one.
        let work = move || {
            let keeper = Keeper::start(settings, own);
            let (keeper, outcome) = match keeper {
                Ok(keeper) => (Some(keeper), Ok(())),
                Err(error) => (None, Err(error)),
            };
            if result_sender.send(outcome).is_ok()
                && let Some(keeper) = keeper
            {
                keeper.run(&received);
            }
        };
        let gone = |reason: String| StrongswanError::Start { program: "charon".to_owned(), reason };
        let thread = std::thread::Builder::new().name("strongswan".to_owned()).spawn(work);
        let thread = thread.map_err(|error| gone(error.to_string()))?;
        let outcome = started.recv().map_err(|_| gone("its thread ended".to_owned()))?;
        outcome.map(|()| Self { orders, thread: Some(thread) })
    }

    /// Who is connected. Takes milliseconds, or up to some seconds while charon is started again.
    ///
    /// # Errors
    /// charon does not answer.
    pub fn status(&self) -> Result<Status, StrongswanError> {
        self.ask(Order::Status)
    }

    /// Lets exactly these members in from now on. Who is gone from the list, or has another secret or address, is
    /// disconnected; nobody else notices.
    ///
    /// # Errors
    /// The list cannot be, or charon refused; what it refused comes with its next start.
    pub fn set_members(&self, members: Vec<Member>) -> Result<(), StrongswanError> {
        self.ask(|reply| Order::Members(members, reply))
    }

    fn ask<T>(
        &self,
        order: impl FnOnce(Sender<Result<T, StrongswanError>>) -> Order,
    ) -> Result<T, StrongswanError> {
        let (reply, answer) = channel();
        let gone = || StrongswanError::Socket { reason: "the thread that keeps it has ended".to_owned() };
        self.orders.send(order(reply)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // If the thread has ended already, so have the programs.
        let _ = self.orders.send(Order::Stop);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that keeps charon has panicked");
        }
    }
}

/// One program: running, or waiting for its next start.
#[derive(Debug)]
struct Kept {
    running: Option<Running>,
    /// Counts starts, so that a late word of an earlier one is not taken for this one's.
    start: u64,
    started: Instant,
    pause: Pause,
    due: Option<Instant>,
}

/// How long to wait before the next start.
#[derive(Debug)]
struct Pause(Duration);

impl Pause {
    fn next(&mut self, ran: Duration) -> Duration {
        if ran >= STEADY_AFTER {
            self.0 = PAUSE_MIN;
        }
        let pause = self.0;
        self.0 = (pause * 2).min(PAUSE_MAX);
        pause
    }
}

impl Kept {
    fn new(running: Running) -> Self {
        let pause = Pause(PAUSE_MIN);
        Self { running: Some(running), start: 0, started: Instant::now(), pause, due: None }
    }

    /// Whether it was this start that ended; then the next one is due after a pause.
    fn ended(&mut self, start: u64) -> bool {
        if start != self.start || self.running.take().is_none() {
            return false; // Taking it also ends what is left of it.
        }
        self.postpone();
        true
    }

    fn postpone(&mut self) {
        self.due = Some(Instant::now() + self.pause.next(self.started.elapsed()));
    }
}

struct Keeper {
    settings: Settings,
    orders: Sender<Order>,
    charon: Charon,
    lns: Option<Lns>,
    charon_kept: Kept,
    lns_kept: Option<Kept>,
    restarts: u64,
}

impl Keeper {
    fn start(settings: Settings, orders: Sender<Order>) -> Result<Self, StrongswanError> {
        let charon = Charon::prepare(&settings)?;
        let lns = Lns::prepare(&settings, charon.data_plane)?;
        let running = charon.start(&settings, teller(&orders, Which::Charon, 0))?;
        let lns_running = lns.as_ref().map(|lns| lns.start(teller(&orders, Which::Lns, 0))).transpose()?;
        let (charon_kept, lns_kept) = (Kept::new(running), lns_running.map(Kept::new));
        Ok(Self { settings, orders, charon, lns, charon_kept, lns_kept, restarts: 0 })
    }

    fn run(mut self, received: &Receiver<Order>) {
        loop {
            let due = [self.charon_kept.due, self.lns_kept.as_ref().and_then(|kept| kept.due)];
            let order = match due.into_iter().flatten().min() {
                Some(due) => received.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => received.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match order {
                Ok(Order::Ended(which, start)) => self.ended(which, start),
                // Whoever asked may have gone.
                Ok(Order::Status(reply)) => drop(reply.send(self.status())),
                Ok(Order::Members(members, reply)) => drop(reply.send(self.set_members(members))),
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => self.start_what_is_due(),
            }
        }
    }

    fn ended(&mut self, which: Which, start: u64) {
        let kept = match which {
            Which::Charon => Some(&mut self.charon_kept),
            Which::Lns => self.lns_kept.as_mut(),
        };
        if kept.is_some_and(|kept| kept.ended(start)) {
            tracing::warn!(?which, "a program of the gateway ended; starting it again");
        }
    }

    fn start_what_is_due(&mut self) {
        let now = Instant::now();
        let is_due = |kept: &Kept| kept.due.is_some_and(|due| due <= now);
        if is_due(&self.charon_kept) {
            let start = self.charon_kept.start + 1;
            let outcome = self.charon.start(&self.settings, teller(&self.orders, Which::Charon, start));
            self.restarts += 1;
            restarted(&mut self.charon_kept, start, outcome);
        }
        if let (Some(lns), Some(kept)) = (&self.lns, &mut self.lns_kept)
            && is_due(kept)
        {
            let start = kept.start + 1;
            let outcome = lns.start(teller(&self.orders, Which::Lns, start));
            self.restarts += 1;
            restarted(kept, start, outcome);
        }
    }

    fn session(&self) -> Result<Session, StrongswanError> {
        Session::connect(&self.settings.directory, SOCKET)
    }

    fn status(&mut self) -> Result<Status, StrongswanError> {
        let charon = self.charon_kept.running.as_ref().map(Running::id);
        let peers = match charon {
            Some(_) => status::peers(&mut self.session()?)?,
            None => Vec::new(),
        };
        let l2tp = self.lns_kept.as_ref().is_some_and(|kept| kept.running.is_some());
        Ok(Status { charon, data_plane: self.charon.data_plane, l2tp, restarts: self.restarts, peers })
    }

    fn set_members(&mut self, members: Vec<Member>) -> Result<(), StrongswanError> {
        let next = Settings { members, ..self.settings.clone() };
        next.check()?;
        let before = std::mem::replace(&mut self.settings, next);
        if let Some(lns) = &self.lns {
            lns.reload(&self.settings)?;
        }
        if self.charon_kept.running.is_none() {
            return Ok(()); // The next start has them.
        }
        let mut session = self.session()?;
        for gone in before.members.iter().filter(|member| !self.settings.members.contains(member)) {
            connections::unload_member(&mut session, &gone.name)?;
        }
        for new in self.settings.members.iter().filter(|member| !before.members.contains(member)) {
            connections::load_member(&mut session, &self.settings, new)?;
        }
        Ok(())
    }
}

fn restarted(kept: &mut Kept, start: u64, outcome: Result<Running, StrongswanError>) {
    (kept.start, kept.started, kept.due) = (start, Instant::now(), None);
    match outcome {
        Ok(running) => kept.running = Some(running),
        Err(error) => {
            tracing::error!(%error, "a program of the gateway could not be started again");
            kept.postpone();
        }
    }
}

/// Tells the thread that a program has ended. If the thread has too, nobody needs to know.
fn teller(orders: &Sender<Order>, which: Which, start: u64) -> impl FnOnce() + Send + 'static {
    let orders = orders.clone();
    move || drop(orders.send(Order::Ended(which, start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_shrink_after_a_steady_run() {
        let mut pause = Pause(PAUSE_MIN);
        let mut slept = Duration::ZERO;
        for _ in 0..5 {
            slept += pause.next(Duration::ZERO);
        }
        assert_eq!(slept, PAUSE_MIN * 31);
        for _ in 0..20 {
            assert!(pause.next(Duration::ZERO) <= PAUSE_MAX);
        }
        assert_eq!(pause.next(STEADY_AFTER), PAUSE_MIN);
        assert_eq!(pause.next(Duration::ZERO), PAUSE_MIN * 2);
    }
}
