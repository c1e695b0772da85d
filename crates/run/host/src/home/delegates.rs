//! Where access points ask for receipts of members that have nothing but a tunnel.
//!
//! The machine is `roaming`'s [`Delegate`]. It runs in a task of its own beside the home's loop, and asks that loop
//! through [`lookup`] for what only the gateway and the store know. Its meter has a thread, because it runs
//! `nft`, and so has what asks charon where IPsec's tunnels end. What members' delegates have signed for today, and their ledgers, are in `delegated.json` in the state
//! directory, written before a receipt is sent.

mod asking;
mod book;
mod connections;
mod ipsec;
mod meter;
mod sources;

use super::gateway::Gateway;
use super::ikev2::Ikev2;
use crate::gateway_files::Delegate as Delegated;
use crate::listen::{self, Acceptor};
use book::Book;
use connections::Connections;
use guestright_clock::Clock;
use guestright_directory::Address;
use guestright_error::{OrFail as _, RunError};
use guestright_identity::{Certificate, KeyId};
use guestright_ordered::OrderedMap;
use guestright_receipt::{Bundle, Receipt};
use guestright_roaming::Delegate;
use guestright_roaming::delegate::{Config, ConnectionId, ConnectionStatus, Event, Mandate, Reading, Way};
use guestright_store::{Store, WriterHandle};
use guestright_units::{Bytes, TeamId, Time};
use ipsec::Ipsec;
use meter::Meter;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use sources::{Found, Sources};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

/// How many messages of access points may wait.
const MESSAGES_MAX: usize = 256;
/// How many orders of the home's loop may wait.
const ORDERS_MAX: usize = 4;
/// How many questions to the home's loop may wait.
const LOOKUPS_MAX: usize = 64;
/// How much news may wait. What finds no room is said again with the next receipt or session.
const NEWS_MAX: usize = 64;
/// Receipts that are shown for a member, and how old they may be: 30 days, in seconds.
pub(super) const SHOWN_MAX: usize = 16;
pub(super) const SHOWN_AGE_MAX: u64 = 30 * 86_400;
/// How long access points have to ask for the last receipts when the home stops.
const FAREWELL: Duration = Duration::from_secs(2);

/// What the machine asks the home's loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// Whose WireGuard tunnel ends here?
    TunnelAt(SocketAddrV4),
    /// Where does this member's WireGuard tunnel end?
    EndpointOf(KeyId),
    /// What has the member of this name delegated?
    Named(String),
}

/// What the loop answers.
#[derive(Debug)]
pub(super) enum Answer {
    /// A member that has delegated, the receipts that it can show, and what was authentic of its tunnel.
    Member(Box<Mandate>, Bundle, Option<Bytes>),
    /// Where a tunnel ends, and what was authentic of it.
    Endpoint(Option<SocketAddrV4>, Option<Bytes>),
    Nobody,
}

/// A question to the home's loop.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) question: Question,
    pub(super) reply: oneshot::Sender<Answer>,
}

/// What the home has to know of its members' sessions.
#[derive(Debug)]
pub(super) enum News {
    /// Where the home of a team that serves one of our members awaits other homes, as that team's access point says.
    ProviderHome { provider: TeamId, home: Address },
    /// What was signed in a member's place.
    Signed(Box<Receipt>, Box<Certificate>),
}

/// The running task.
#[derive(Debug)]
pub(super) struct Delegates {
    lookups: mpsc::Receiver<Lookup>,
    /// Until somebody takes it; then it is read apart from the questions.
    news: Option<mpsc::Receiver<News>>,
    orders: mpsc::Sender<Order>,
    task: tokio::task::JoinHandle<Result<(), RunError>>,
}

enum Order {
    Status(oneshot::Sender<Value>),
    Stop,
}

/// What the task waits for.
enum Input {
    Message(ConnectionId, Vec<u8>),
    Closed(ConnectionId),
    LookedUp(ConnectionId, Found),
    Metered(ConnectionId, Option<SocketAddrV4>, Reading),
}

struct Task {
    machine: Delegate,
    clock: Clock,
    rng: StdRng,
    connections: Connections,
    book: Book,
    meter: Meter,
    ipsec: Option<Ipsec>,
    /// The members whose tunnel is IPsec's, by the connection about it.
    named: OrderedMap<ConnectionId, String>,
    inputs: mpsc::Sender<Input>,
    sources: Sources,
    news: mpsc::Sender<News>,
}

fn meter_state(state: &Path) -> PathBuf {
    state.join("calls-meter.json")
}

/// Takes down the meter that a killed home has left behind. Says whether there was one.
pub(super) fn clean_up(state: &Path) -> Result<bool, RunError> {
    let file = meter_state(state);
    let left = file.exists();
    guestright_firewall::clean_up(&file).map_err(RunError::network)?;
    Ok(left)
}

impl Delegates {
    /// Listens for access points; `port` is the gateway's.
    pub(super) fn start(
        listen: SocketAddr,
        port: u16,
        ikev2: Option<Ikev2>,
        state: &Path,
    ) -> Result<Self, RunError> {
        let listener = listen::beside_others(listen);
        let listener = Acceptor::new(listener.or_network(|| format!("listen at {listen}"))?);
        let book = Book::open(&state.join("delegated.json"))?;
        let meter = Meter::start(port, ikev2.is_some(), &meter_state(state))?;
        let ipsec = ikev2.map(|ikev2| Ipsec::start(move || ikev2.peers())).transpose()?;
        let (inputs, received) = mpsc::channel(MESSAGES_MAX);
        let (asking, lookups) = mpsc::channel(LOOKUPS_MAX);
        let (sender, news) = mpsc::channel(NEWS_MAX);
        let (orders, ordered) = mpsc::channel(ORDERS_MAX);
        let looks = ipsec.as_ref().map(Ipsec::looks);
        let sources = Sources { lookups: asking, meter: meter.readings(), ipsec: looks };
        let task = Task {
            machine: Delegate::new(Config::default(), book.spent(), book.ledgers()),
            clock: Clock::start(),
            rng: guestright_clock::rng(),
            connections: Connections::default(),
            book,
            meter,
            ipsec,
            named: OrderedMap::new(),
            inputs,
            sources,
            news: sender,
        };
        let task = tokio::spawn(task.run(listener, received, ordered));
        Ok(Self { lookups, news: Some(news), orders, task })
    }

    /// What becomes known of members' sessions; nothing the second time.
    pub(super) fn take_news(&mut self) -> Option<mpsc::Receiver<News>> {
        self.news.take()
    }

    /// Where to send `home`'s own status, so that what is known here joins it on the way to `reply`.
    pub(super) fn join(&self, reply: oneshot::Sender<Value>) -> oneshot::Sender<Value> {
        let (own, waiting) = oneshot::channel::<Value>();
        let (answer, answered) = oneshot::channel();
        let asked = self.orders.try_send(Order::Status(answer)).is_ok();
        tokio::spawn(async move {
            let Ok(mut status) = waiting.await else { return };
            if asked {
                status["receipt_requests"] = answered.await.unwrap_or_default();
            }
            let _ = reply.send(status);
        });
        own
    }

    /// Says goodbye to every access point and stops. Questions are still asked meanwhile; `answer` answers them.
    pub(super) async fn stop(mut self, mut answer: impl FnMut(Lookup)) -> Result<(), RunError> {
        let _ = self.orders.send(Order::Stop).await;
        loop {
            tokio::select! {
                ended = &mut self.task => return ended.map_err(|_| RunError::bug("the task that signs for members broke down"))?,
                Some(lookup) = self.lookups.recv() => answer(lookup),
            }
        }
    }
}

/// Waits for a question, if anybody can ask one; [`answer`] answers it.
pub(super) async fn lookup(delegates: &mut Option<Delegates>) -> Option<Lookup> {
    match delegates {
        Some(delegates) => delegates.lookups.recv().await,
        None => std::future::pending().await,
    }
}

/// Waits for news, if there can be any.
pub(super) async fn news(news: &mut Option<mpsc::Receiver<News>>) -> Option<News> {
    match news {
        Some(news) => news.recv().await,
        None => std::future::pending().await,
    }
}

/// Answers a question from what the gateway and the store know; `find` finds in the store what is shown for a member.
pub(super) fn answer(
    lookup: Lookup,
    gateway: &Gateway,
    team: TeamId,
    store: &WriterHandle,
    find: impl FnOnce(&Store) -> Vec<(Vec<u8>, Vec<u8>)> + Send + 'static,
    now: Time,
) {
    let Lookup { question, reply } = lookup;
    let (member, way) = match &question {
        Question::TunnelAt(at) => (gateway.member_at((*at).into(), now), Way::WireGuard),
        Question::Named(name) => (gateway.member_named(name), Way::Ipsec),
        Question::EndpointOf(member) => {
            let endpoint = gateway.endpoint_of(*member, now).and_then(ipv4);
            return drop(reply.send(Answer::Endpoint(endpoint, gateway.authentic_of(*member))));
        }
    };
    let Some(mandate) = member.and_then(|member| mandate(member.name, member.delegate?, team)) else {
        return drop(reply.send(Answer::Nobody));
    };
    let mandate = mandate.by(way);
    let authentic = match way {
        Way::WireGuard => gateway.authentic_of(mandate.delegation().member_id()),
        Way::Ipsec => None, // Who asks knows it.
    };
    // If the store has no time the question is asked again.
    let _ = store.run(move |store| {
        let _ = reply.send(Answer::Member(Box::new(mandate), bundle(find(store)), authentic));
    });
}

/// What the member would show by itself: what others owe its team.
fn bundle(found: Vec<(Vec<u8>, Vec<u8>)>) -> Bundle {
    let mut bundle = Bundle::default();
    for (receipt, certificate) in found {
        if !bundle.certificates.contains(&certificate) {
            bundle.certificates.push(certificate);
        }
        bundle.receipts.push(receipt);
    }
    bundle
}

/// What a member has delegated, as the machine wants it; nothing if it cannot be used.
fn mandate(name: &str, delegated: &Delegated, team: TeamId) -> Option<Mandate> {
    let Delegated { delegation, key, certificate } = delegated.clone();
    Mandate::new(delegation, key, certificate, team)
        .map_err(|error| tracing::warn!(member = name, %error, "a delegation cannot be used"))
        .ok()
}

/// An address as access points and tunnels have it here: IPv4.
fn ipv4(address: SocketAddr) -> Option<SocketAddrV4> {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => Some(SocketAddrV4::new(ip, address.port())),
        IpAddr::V6(_) => None,
    }
}

impl Task {
    async fn run(
        mut self,
        listener: Acceptor,
        mut received: mpsc::Receiver<Input>,
        mut orders: mpsc::Receiver<Order>,
    ) -> Result<(), RunError> {
        let farewell = tokio::time::sleep(Duration::MAX);
        tokio::pin!(farewell);
        let mut stopping = false;
        loop {
            let due = self.machine.poll_timeout().map(|due| self.clock.until(due));
            tokio::select! {
                (stream, from) = listener.accept(), if !stopping => self.accept(stream, from),
                Some(input) = received.recv() => self.handle(input),
                order = orders.recv() => match order {
                    Some(Order::Status(reply)) => drop(reply.send(self.status())),
                    Some(Order::Stop) | None => {
                        stopping = true;
                        let now = self.clock.now();
                        self.machine.shut_down(now);
                        farewell.as_mut().reset(tokio::time::Instant::now() + FAREWELL);
                    }
                },
                () = tokio::time::sleep(due.unwrap_or(Duration::MAX)), if due.is_some() => {}
                () = &mut farewell => break,
            }
            let now = self.clock.now();
            self.machine.handle_timeout(now);
            self.drain();
            if stopping && self.connections.is_empty() {
                break;
            }
        }
        self.connections.finish().await;
        let stopped = self.ipsec.map_or(Ok(()), Ipsec::stop);
        self.meter.stop().and(stopped)
    }

    fn accept(&mut self, stream: TcpStream, from: SocketAddr) {
        let Some(from) = ipv4(from) else { return };
        let now = self.clock.now();
        let connection = self.connections.add(stream, &self.inputs);
        self.machine.handle_connected(connection, *from.ip(), now);
    }

    fn handle(&mut self, input: Input) {
        let now = self.clock.now();
        match input {
            Input::Message(connection, bytes) => self.machine.handle_input(connection, &bytes, now),
            Input::Closed(connection) => {
                self.connections.end(connection);
                self.machine.handle_hung_up(connection, now);
            }
            Input::LookedUp(connection, Found::Nobody) => {
                self.machine.handle_lookup(connection, None, &Reading::default(), &mut self.rng, now);
            }
            Input::LookedUp(connection, Found::Member { mandate, bundle, reading, named }) => {
                if let Some(name) = named {
                    self.named.insert(connection, name);
                }
                let found = Some((&*mandate, bundle));
                self.machine.handle_lookup(connection, found, &reading, &mut self.rng, now);
            }
            Input::Metered(connection, endpoint, reading) => {
                self.machine.handle_meter(connection, endpoint, &reading, now);
            }
        }
    }

    /// Carries out everything that the machine wants: events before bytes, so that what is signed is kept first.
    fn drain(&mut self) {
        let mut ended = Vec::new();
        while let Some(event) = self.machine.poll_event() {
            match event {
                Event::LookupNeeded(connection, at) => self.look_up(connection, at),
                Event::MeterNeeded(connection, member, ip) => self.read_meter(connection, member, ip),
                Event::Spent(member, spent) => self.book.spend(member, spent),
                Event::Metered(member, ledger) => self.book.meter(member, &ledger),
                Event::Granted { provider, home, .. } => {
                    tracing::info!(provider = provider.short(), "signing for a member's tunnel");
                    if let Some(home) = home {
                        let _ = self.news.try_send(News::ProviderHome { provider, home });
                    }
                }
                Event::Signed(connection, receipt) => {
                    // The next one of the session says the same and more, if this one is lost.
                    if let Some(certificate) = self.machine.certificate(connection) {
                        let signed = News::Signed(Box::new(receipt), Box::new(certificate.clone()));
                        let _ = self.news.try_send(signed);
                    }
                }
                Event::Disputed { claimed, counted, .. } => {
                    tracing::warn!(%claimed, %counted, "an access point claims more than was counted; not signed");
                }
                Event::Refused(_, kind, reason) => tracing::debug!(kind, %reason, "refused"),
                Event::Ended(connection, reason) => {
                    tracing::debug!(connection, %reason, "an access point's connection has ended");
                    ended.push(connection);
                }
            }
        }
        let kept = self.book.keep();
        while let Some((connection, bytes)) = self.machine.poll_transmit() {
            // A receipt that could not be kept is not sent: a new start would sign the same bytes again.
            if kept {
                self.connections.send(connection, bytes);
            }
        }
        let now = self.clock.now();
        for connection in ended {
            self.connections.end(connection);
            self.machine.handle_hung_up(connection, now);
        }
        self.named.retain(|connection, _| self.machine.way(*connection).is_some());
    }

    /// Asks whose tunnel ends there; the answer is an input.
    fn look_up(&self, connection: ConnectionId, at: SocketAddrV4) {
        let (sources, inputs) = (self.sources.clone(), self.inputs.clone());
        tokio::spawn(async move {
            if let Some(found) = sources.look_up(at).await {
                let _ = inputs.send(Input::LookedUp(connection, found)).await;
            }
        });
    }

    /// Asks where a tunnel ends now, and what was counted there; the answer is an input.
    fn read_meter(&self, connection: ConnectionId, member: KeyId, ip: Ipv4Addr) {
        let (sources, inputs) = (self.sources.clone(), self.inputs.clone());
        let named = match self.machine.way(connection) {
            Some(Way::Ipsec) => self.named.get(&connection).cloned(),
            Some(Way::WireGuard) | None => None,
        };
        tokio::spawn(async move {
            if let Some((endpoint, reading)) = sources.meter_of(member, named, ip).await {
                let _ = inputs.send(Input::Metered(connection, endpoint, reading)).await;
            }
        });
    }

    fn status(&self) -> Value {
        let one = |connection: ConnectionStatus| {
            json!({
                "from": connection.from.to_string(),
                "member": connection.member.map(|member| member.to_string()),
                "provider": connection.provider.map(|team| team.to_string()),
                "counted": connection.counted.0,
                "signed": connection.signed.0,
            })
        };
        let spent = self.machine.spent().iter();
        let spent = spent.map(|(member, spent)| json!({ "member": member.to_string(), "day": spent.day, "bytes": spent.bytes.0 }));
        json!({
            "open": self.machine.status().into_iter().map(one).collect::<Vec<_>>(),
            "signed": spent.collect::<Vec<_>>(),
            "refused": self.machine.refusals(),
        })
    }
}
