//! The task that owns links, and what its two shares have in common with it.

use crate::book::KnownAddress;
use crate::config::Config;
use crate::dials::Round;
use crate::table::{Output, Table};
use crate::transport::{self, NoNeighbour, Up, accept_all, may_connect};
use crate::{ExchangeLinks, LinksError, Neighbours};
use guestright_channel::CurrentCredentials;
use guestright_directory::{Address, HomeHint, LinkId};
use guestright_identity::KeyId;
use guestright_units::{TeamId, Time};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// What links have to say that waits for the task; links wait if there is more.
const INPUTS_MAX: usize = 512;
/// What waits for the exchange; the task waits if there is more.
const EXCHANGE_EVENTS_MAX: usize = 64;
/// What waits for the home's loop; frames are dropped if there is more, and the task waits with the rest.
const NEIGHBOUR_EVENTS_MAX: usize = 256;
/// How often links that nobody used are looked for.
const CHECK_EVERY: Duration = Duration::from_secs(10);

/// What happens on links, for the exchange.
#[derive(Debug)]
pub enum LinkEvent {
    /// There is a link.
    Up(Linked),
    /// A message of another home, that is not for the home's loop.
    Frame(LinkId, Vec<u8>),
    /// A link has ended.
    Down(LinkId),
    /// No link could be made there.
    Failed(HomeHint),
}

/// What the exchange's machines have to know of a link.
#[derive(Clone, Debug)]
pub struct Linked {
    pub link: LinkId,
    pub home: KeyId,
    pub peer: IpAddr,
    pub local: IpAddr,
    /// Where it was called, if we have called.
    pub called: Option<Address>,
}

/// What happens on links, for the home's loop. Never about the home's own team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NeighbourEvent {
    /// There is a link to a home of the team, where there was none; what was kept for the team is on its way.
    Up(TeamId),
    /// There is none any more.
    Down(TeamId),
    /// What a home of the team has sent: [`guestright_credit::is_frame`], [`guestright_radius::relay::is_message`] or
    /// [`guestright_directory::is_home_message`], not yet read.
    Frame { team: TeamId, bytes: Vec<u8> },
    /// No home of the team was where it may be; what was kept for the team is gone.
    Unreachable(TeamId),
}

/// What a link, a handshake or an attempt to connect has to say.
pub(crate) enum Input {
    /// A home has come, or was called for the exchange.
    Up(Box<Up>),
    /// A home of a team was called for the home's loop.
    Dialed(Box<Up>, Round),
    Frame(LinkId, Vec<u8>),
    Down(LinkId),
    /// A home that the exchange wanted called is not there.
    CallFailed(HomeHint),
    /// A team that the home's loop wanted called is not there.
    DialFailed {
        round: Round,
        was_tried: bool,
    },
}

/// The links of a home, while they run: they end with [`Links::stop`], or when this is dropped.
#[derive(Debug)]
pub struct Links {
    shared: Arc<Shared>,
    tasks: [JoinHandle<()>; 2],
}

/// Running links and their two shares.
#[derive(Debug)]
pub struct Started {
    pub links: Links,
    pub exchange: ExchangeLinks,
    pub neighbours: Neighbours,
    /// For the loop that has `neighbours`. While nobody receives, the exchange may have to wait as well; one that was
    /// dropped holds up nobody.
    pub events: mpsc::Receiver<NeighbourEvent>,
}

/// What the task and the shares have in common. The lock is held for moments, and never across an `await`.
pub(crate) struct Shared {
    credentials: CurrentCredentials,
    may_call_loopback: bool,
    table: Mutex<Table>,
    /// Where links, handshakes and attempts report. The task holds the receiver.
    inputs: mpsc::Sender<Input>,
    /// There is something to deliver.
    wake: Notify,
    is_stopped: AtomicBool,
    started: Instant,
}

impl Links {
    /// A listener for other homes.
    ///
    /// # Errors
    /// [`LinksError::Listen`].
    pub async fn listen(at: SocketAddr) -> Result<TcpListener, LinksError> {
        TcpListener::bind(at).await.map_err(|source| LinksError::Listen { at, source })
    }

    /// Awaits other homes from now on. `addresses` is what [`Neighbours::addresses`] gave before. Needs a tokio runtime.
    pub fn start(
        listener: TcpListener,
        credentials: impl Into<CurrentCredentials>,
        config: &Config,
        addresses: Vec<KnownAddress>,
    ) -> Started {
        let (inputs, received) = mpsc::channel(INPUTS_MAX);
        let (to_exchange, from_links) = mpsc::channel(EXCHANGE_EVENTS_MAX);
        let (to_loop, events) = mpsc::channel(NEIGHBOUR_EVENTS_MAX);
        let credentials = credentials.into();
        let mut table = Table::new(credentials.get().certificate.team_id(), config);
        for KnownAddress { team, address, is_proven } in addresses {
            table.restore(team, address, is_proven);
        }
        let shared = Arc::new(Shared {
            credentials: credentials.clone(),
            may_call_loopback: config.may_call_loopback,
            table: Mutex::new(table),
            inputs: inputs.clone(),
            wake: Notify::new(),
            is_stopped: AtomicBool::new(false),
            started: Instant::now(),
        });
        let acceptor = tokio::spawn(accept_all(listener, credentials, inputs));
        let task = Task { shared: Arc::clone(&shared), to_exchange, to_loop };
        let tasks = [acceptor, tokio::spawn(task.run(received))];
        Started {
            exchange: ExchangeLinks::new(Arc::clone(&shared), from_links),
            neighbours: Neighbours::new(Arc::clone(&shared)),
            links: Self { shared, tasks },
            events,
        }
    }

    /// Ends all links. What is queued on them is still sent, as far as the other home reads it.
    pub fn stop(self) {}
}

impl Drop for Links {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        self.tasks.iter().for_each(JoinHandle::abort);
        self.shared.table().close_all();
    }
}

impl Shared {
    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("nothing panics while it holds the table")
    }

    /// The time since the links were started, by a clock that nobody sets.
    pub(crate) fn now(&self) -> Time {
        Time(u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Has the task look for something to deliver.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Calls a home for the exchange.
    pub(crate) fn call(self: &Arc<Self>, hint: HomeHint) {
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let input = match transport::connect(&hint, &this.credentials).await {
                Ok(up) => Input::Up(Box::new(up)),
                Err(error) => {
                    tracing::debug!(%error, "another home could not be reached");
                    Input::CallFailed(hint)
                }
            };
            let _ = this.inputs.send(input).await;
        });
    }

    /// Calls a team for the home's loop.
    pub(crate) fn dial(self: &Arc<Self>, round: Round) {
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let input = match transport::dial(&round, &this.credentials, &this).await {
                Ok(up) => Input::Dialed(Box::new(up), round),
                Err(NoNeighbour { was_tried }) => Input::DialFailed { round, was_tried },
            };
            let _ = this.inputs.send(input).await;
        });
    }

    pub(crate) fn may_call(&self, address: IpAddr) -> bool {
        may_connect(address) || (self.may_call_loopback && address.is_loopback())
    }

    pub(crate) fn try_lookup(&self, is_proven: bool) -> bool {
        !self.is_stopped() && self.table().attempts.try_lookup(is_proven, self.now())
    }

    pub(crate) fn try_connect(&self, address: SocketAddr, is_proven: bool) -> bool {
        !self.is_stopped() && self.table().attempts.try_connect(address, is_proven, self.now())
    }

    pub(crate) fn disprove(&self, team: TeamId, address: &Address) {
        self.table().dials.book.disprove(team, address);
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

struct Task {
    shared: Arc<Shared>,
    to_exchange: mpsc::Sender<LinkEvent>,
    to_loop: mpsc::Sender<NeighbourEvent>,
}

impl Task {
    async fn run(self, mut inputs: mpsc::Receiver<Input>) {
        let mut check = tokio::time::interval(CHECK_EVERY);
        loop {
            self.deliver().await;
            tokio::select! {
                Some(input) = inputs.recv() => self.handle(input),
                () = self.shared.wake.notified() => {}
                _ = check.tick() => self.shared.table().close_idle(self.shared.now()),
            }
        }
    }

    fn handle(&self, input: Input) {
        let now = self.shared.now();
        let mut table = self.shared.table();
        if self.shared.is_stopped() {
            return; // What was open is closed, and nothing is opened after that.
        }
        match input {
            Input::Up(up) => {
                let called = up.called.clone();
                if !table.accept(*up, &self.shared.inputs, now)
                    && let Some(hint) = called
                {
                    table.fail_call(hint);
                }
            }
            Input::Dialed(up, round) => {
                if !table.accept(*up, &self.shared.inputs, now) {
                    table.dial_failed(&round, true, now);
                }
            }
            Input::Frame(link, bytes) => table.receive(link, bytes, now),
            Input::Down(link) => table.close(link),
            Input::CallFailed(hint) => table.fail_call(hint),
            Input::DialFailed { round, was_tried } => table.dial_failed(&round, was_tried, now),
        }
    }

    /// Delivers what there is. It waits while the exchange, or the home's loop, is behind; neither of them ever waits for
    /// this task.
    async fn deliver(&self) {
        loop {
            let Some(output) = self.shared.table().poll_output() else { return };
            match output {
                Output::Exchange(event) => {
                    let is_frame = matches!(event, LinkEvent::Frame(..));
                    if self.to_exchange.send(event).await.is_err() && is_frame {
                        self.shared.table().count_dropped("no exchange");
                    }
                }
                Output::Neighbour(event @ NeighbourEvent::Frame { .. }) => {
                    if self.to_loop.try_send(event).is_err() {
                        self.shared.table().count_dropped("the loop is behind");
                    }
                }
                Output::Neighbour(event) => drop(self.to_loop.send(event).await),
            }
        }
    }
}
