//! The loop around the home's machine.

pub mod about;
mod blocked;
mod credit;
mod delegates;
mod doors;
mod everybody;
pub mod gateway;
pub mod ikev2;
pub mod limits;
mod lines;
pub mod links;
mod mapping;
mod members;
mod metrics;
mod open;
mod orders;
pub mod overview;
pub mod own_name;
#[cfg(feature = "page")]
pub mod page;
pub mod phones;
mod questions;
mod renewing;
mod settings;
mod why;
#[cfg(feature = "page")]
mod wishes;
#[cfg(not(feature = "page"))]
mod without_page;

use crate::control::{self, Question};
use crate::listen::Acceptor;
use crate::reload::{self, Fresh, Reload};
use crate::{Probes, QUESTIONS_MAX, Requests, Stop, private, renewal};
use blocked::Blocked;
pub use blocked::blocked_devices;
use credit::Keeper;
use delegates::{Delegates, Lookup, News, SHOWN_AGE_MAX, SHOWN_MAX};
use gateway::Gateway;
use guestright_channel::{ChannelError, Credentials, CurrentCredentials, Receiver, Sender, accept};
use guestright_clock::Clock;
use guestright_error::{OrFail as _, RunError};
use guestright_exchange::Exchange;
use guestright_identity::{Certificate, RevocationList, Role};
use guestright_links::{Links, NeighbourEvent, Neighbours};
use guestright_ordered::OrderedMap;
use guestright_reciprocity::{ServiceClass, StrangerCounters};
use guestright_roaming::TeamServer;
use guestright_roaming::home::{CreditConfig, Event, Peer, StoreReport, Stored, Token};
use guestright_store::{
    Outcome as PutOutcome, PutReport, Store, StoreError, Writer, WriterHandle, WriterLimits,
};
use guestright_units::TeamId;
use ikev2::Ikev2;
use lines::Lines;
use mapping::PortMapping;
use open::{Ways, edge, read_revocations};
use orders::Orders;
use overview::{OverviewQuestions, Overviews};
use own_name::OwnName;
use phones::Phones;
use rand::rngs::StdRng;
use renewing::Renewing;
use serde_json::{Value, json};
pub use settings::Settings;
use std::collections::VecDeque;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
#[cfg(not(feature = "page"))]
use without_page as wishes;

/// How many handshakes may go on at a time.
const HANDSHAKES_MAX: usize = 64;
/// And with one address.
const HANDSHAKES_EACH_MAX: usize = 8;
/// How many messages may wait for one program of the team.
const OUTGOING_MAX: usize = 256;

/// How much of what the team's programs send may wait for the loop, all together.
const PEER_INPUTS_MAX: usize = 256;
/// How many answers of the store may wait for the loop.
const STORE_INPUTS_MAX: usize = 64;

/// What programs of the team do.
enum FromPeer {
    /// It has proved its key, and its certificate does not hold now.
    NotNow(String),
    Connected(Box<Connected>),
    Message(Peer, Vec<u8>),
    Gone(Peer),
}

/// A fresh channel, and whose it is.
struct Connected {
    sender: Sender,
    receiver: Receiver,
    certificate: Certificate,
}

/// What the store answers.
enum FromStore {
    Stored(Token, Result<PutReport, StoreError>),
    Fetched(Token, Vec<(Vec<u8>, Vec<u8>)>),
    Kept(guestright_credit::Token, Result<(), StoreError>),
}

/// A connection whose handshake is not over.
struct Handshake {
    from: IpAddr,
    task: AbortHandle,
}

struct Loop {
    server: TeamServer,
    team: TeamId,
    state: PathBuf,
    /// By the settings file; nothing: a policy of the papers.
    credit_of_settings: Option<CreditConfig>,
    clock: Clock,
    rng: StdRng,
    store: WriterHandle,
    /// Tasks that read from peers send here and wait if it is full, so that TCP makes their peers wait. The loop
    /// never waits for them: what it sends to peers it tries to send, and drops a peer that does not read.
    peer_inputs: mpsc::Sender<FromPeer>,
    /// The store's thread sends here and waits if it is full. The loop never waits for that thread while it holds the
    /// receiver: a request that finds the store's queue full is refused at once.
    store_inputs: mpsc::Sender<FromStore>,
    peers: OrderedMap<Peer, mpsc::Sender<Vec<u8>>>,
    next_peer: Peer,
    counters: StrangerCounters,
    /// The team's revocation list, if there is one.
    revocations: Option<PathBuf>,
    renewing: Renewing,
    gateway: Option<Gateway>,
    ikev2: Option<Ikev2>,
    mapping: Option<PortMapping>,
    own_name: Option<OwnName>,
    exchange: Option<Exchange>,
    links: Option<Links>,
    /// The home's own share of them.
    neighbours: Option<Neighbours>,
    kept_addresses: links::Kept,
    keeper: Keeper,
    phones: Phones,
    blocked: Blocked,
    orders: Orders,
    overviews: Overviews,
    counts: metrics::Counts,
    #[cfg_attr(not(feature = "page"), expect(dead_code, reason = "they are open until this is dropped"))]
    doors: doors::Doors,
    /// Connections whose handshake is not over, the oldest first.
    handshakes: VecDeque<Handshake>,
    lines: Lines,
}

/// What the loop listens to.
struct Inputs {
    listener: Acceptor,
    from_peers: mpsc::Receiver<FromPeer>,
    from_store: mpsc::Receiver<FromStore>,
    from_neighbours: mpsc::Receiver<NeighbourEvent>,
    /// What is signed in members' places, if anything may be.
    news: Option<mpsc::Receiver<News>>,
    questions: mpsc::Receiver<Question>,
    overviews: OverviewQuestions,
    /// Whoever wants metrics.
    scrapes: mpsc::Receiver<metrics::Asked>,
    /// What the page wants done.
    wishes: mpsc::Receiver<wishes::Wished>,
    stop: Stop,
    reload: Reload<Settings>,
    probes: Probes,
}

/// The receipts, in the state directory.
pub const STORE: &str = "receipts.sqlite";

/// Where a copy of that store lies until it is in a backup.
pub fn store_copy(store: &Path) -> PathBuf {
    store.with_extension("copy")
}

/// The names of the files in the directory with the renewing key.
pub mod renewing_files {
    pub use super::renewing::{KEY, WARRANT};
}

/// Where a running home with this state directory answers questions.
pub fn socket(state: &Path) -> PathBuf {
    state.join("home.sock")
}

/// Puts back what a home that was killed has left behind. Says whether there was anything.
///
/// # Errors
/// The system refuses, or the gateway's directory cannot be read.
pub fn clean_up(state: &Path, gateway: Option<&gateway::Settings>) -> Result<bool, RunError> {
    let left = gateway.map_or(Ok(false), |gateway| gateway::clean_up(gateway, state))?;
    Ok(delegates::clean_up(state)? || left)
}

/// Runs a home until it is asked to stop. Says one line on `out` when it serves. Needs a tokio runtime.
///
/// # Errors
/// The certificate is not a home's, a file cannot be used, or the system refuses a port, the firewall or a tunnel.
/// The network is then as it was before.
pub async fn run(
    settings: &Settings,
    credentials: Credentials,
    requests: Requests<Settings>,
    out: &mut impl Write,
) -> Result<(), RunError> {
    let state = &settings.state;
    private::check(&credentials, Role::Home)?;
    let team = credentials.certificate.team_id();
    let store = open::store(settings, team)?;
    let mut clock = Clock::start();
    let credentials = CurrentCredentials::from(renewal::latest(credentials, state));
    let (server, blocked, counters) = open::machine(settings, team, &store, clock.now())?;
    let mut rng = guestright_clock::rng();
    let renewing = Renewing::new(&credentials, settings, &mut rng, clock.now());
    let (listener, listens_at) = listen(settings.listen).await?;
    let serving = format!("home of team {team} at {listens_at}: {} receipts known", store.count());
    let shares = links::start(settings.links.as_ref(), &credentials, state).await?;
    let Ways { gateway, ikev2, mapping } = open::ways(settings)?;
    let own_name = open::own_name(settings.own_name.as_ref(), mapping.as_ref())?;
    let exchange = open::exchange(settings, &credentials.get(), gateway.as_ref(), shares.exchange).await?;
    let phones = open::phones(settings, &credentials, gateway.as_ref(), &mut rng, clock.now())?;
    let writer = Writer::start(store, WriterLimits::default()).map_err(RunError::network)?;
    let (peer_inputs, from_peers) = mpsc::channel(PEER_INPUTS_MAX);
    let (store_inputs, from_store) = mpsc::channel(STORE_INPUTS_MAX);
    let (doors, asked) = doors::open(settings, gateway.as_ref())?;
    let this = Loop {
        server,
        team,
        state: state.clone(),
        credit_of_settings: limits::settle(state, settings.machine.credit),
        blocked,
        orders: Orders::default(),
        overviews: Overviews::new(open::household_name(settings), open::admits(settings), clock.now()),
        doors,
        counts: metrics::Counts::new(settings.receipts_max),
        clock,
        rng,
        store: writer.handle(),
        peer_inputs,
        store_inputs,
        peers: OrderedMap::new(),
        next_peer: 0,
        counters,
        revocations: settings.revocations.clone(),
        renewing,
        gateway,
        ikev2,
        mapping,
        own_name,
        exchange,
        links: shares.links,
        neighbours: shares.neighbours,
        kept_addresses: links::Kept::new(state),
        keeper: Keeper::default(),
        phones,
        handshakes: VecDeque::new(),
        lines: Lines::default(),
    };
    let inputs = Inputs {
        listener,
        from_peers,
        from_store,
        from_neighbours: shares.events,
        news: None,
        questions: control(state)?,
        overviews: asked.overviews,
        scrapes: asked.scrapes,
        wishes: asked.wishes,
        stop: requests.stop,
        reload: requests.reload,
        probes: requests.probes,
    };
    serve(this, inputs, settings, &credentials, writer, &serving, out).await
}

/// Says that it serves, until it is asked to stop.
async fn serve(
    mut this: Loop,
    mut inputs: Inputs,
    settings: &Settings,
    credentials: &CurrentCredentials,
    writer: Writer,
    serving: &str,
    out: &mut impl Write,
) -> Result<(), RunError> {
    let port = this.gateway.as_ref().map(Gateway::port);
    let mut delegates = port
        .map(|port| Delegates::start(settings.protocol_listen, port, this.ikev2.clone(), &settings.state))
        .transpose()?;
    writeln!(out, "{serving}").and_then(|()| out.flush()).map_err(RunError::Output)?;
    inputs.news = delegates.as_mut().and_then(Delegates::take_news);
    this.run(inputs, credentials, &mut delegates).await;
    finish(this, delegates, writer, &settings.state).await
}

/// Lets the home be asked at its control socket.
fn control(state: &Path) -> Result<mpsc::Receiver<Question>, RunError> {
    let (to_loop, questions) = mpsc::channel(QUESTIONS_MAX);
    control::serve(&socket(state), to_loop)?;
    Ok(questions)
}

/// Listens at this address; and says at which, for it may be at any port.
async fn listen(address: SocketAddr) -> Result<(Acceptor, SocketAddr), RunError> {
    let what = || format!("listen at {address}");
    let listener = TcpListener::bind(address).await.or_network(what)?;
    let listens_at = listener.local_addr().or_network(what)?;
    Ok((Acceptor::new(listener), listens_at))
}

/// Stops what belongs to the loop, in the order in which one needs the other.
async fn finish(
    mut this: Loop,
    delegates: Option<Delegates>,
    writer: Writer,
    state: &Path,
) -> Result<(), RunError> {
    let delegates_stopped = match delegates {
        Some(delegates) => delegates.stop(|lookup| this.look_up(lookup)).await,
        None => Ok(()),
    };
    let stopped = this.close(state).await;
    writer.stop().map_err(RunError::network)?;
    // It is only a door; the next start replaces it.
    let _ = std::fs::remove_file(socket(state));
    stopped.and(delegates_stopped)
}

impl Loop {
    /// Awaits, calls the machine, carries out what it wants; until it is asked to stop. Whoever waits to send to the
    /// loop waits no more after that: the store's thread goes on answering others.
    async fn run(
        &mut self,
        mut inputs: Inputs,
        credentials: &CurrentCredentials,
        delegates: &mut Option<Delegates>,
    ) {
        self.introduce_neighbours();
        self.keep_certificates();
        self.drain();
        loop {
            let due = [
                self.credit_due(),
                self.renewing_due(),
                self.phones.poll_timeout(),
                self.overviews.poll_timeout(),
                self.orders.poll_timeout(),
            ];
            let due = due.into_iter().flatten().min();
            let due = due.map(|due| self.clock.until(due));
            tokio::select! {
                (stream, from) = inputs.listener.accept() => self.admit(stream, from.ip(), credentials),
                Some(input) = inputs.from_peers.recv() => self.handle_peer(input),
                Some(input) = inputs.from_store.recv() => self.handle_store(input),
                Some(event) = inputs.from_neighbours.recv() => self.handle_neighbour(event),
                Some(news) = delegates::news(&mut inputs.news) => self.handle_news(news),
                Some((question, reply)) = inputs.questions.recv() => {
                    let is_last = question == "stop";
                    let reply =
                        if question == "status" { self.join(delegates.as_ref(), reply) } else { reply };
                    questions::answer(self, &question, reply, &mut inputs.reload);
                    if is_last {
                        return;
                    }
                }
                asked = inputs.overviews.next() => overview::handle(self, asked),
                Some(wished) = inputs.wishes.recv() => wishes::handle(self, wished, &mut inputs.reload),
                reply = metrics::next(&mut inputs.scrapes) => metrics::answer(self, reply),
                () = inputs.reload.requested() => drop(self.reload(&mut inputs.reload)),
                () = inputs.probes.answer() => {}
                Some(lookup) = delegates::lookup(delegates) => self.look_up(lookup),
                () = sleep_until(due) => self.pass_time(),
                () = inputs.stop.requested() => return,
            }
            self.keep_certificates();
            self.drain();
            if self.clock.was_set_back() {
                // What is counted by the day goes on from the new one.
                self.clock = Clock::start();
                self.renewing.clock_was_set(&mut self.rng, self.clock.now());
            }
        }
    }

    /// Where to send the home's status, so that what its other tasks know joins it on the way to `reply`.
    fn join(&self, delegates: Option<&Delegates>, reply: oneshot::Sender<Value>) -> oneshot::Sender<Value> {
        let reply = match &self.exchange {
            Some(exchange) => exchange.join(reply),
            None => reply,
        };
        match delegates {
            Some(delegates) => delegates.join(reply),
            None => reply,
        }
    }

    /// Gives back what belongs to others: the router's ports, the other ways in, the gateway.
    async fn close(self, state: &Path) -> Result<(), RunError> {
        if let Some(exchange) = self.exchange {
            exchange.stop().await;
        }
        links::stop(self.links, self.neighbours, state);
        drop(self.mapping);
        drop(self.ikev2);
        self.gateway.map_or(Ok(()), Gateway::stop)
    }

    /// Begins a handshake, unless its address has enough of them. When there are as many as may be, the oldest gives way:
    /// honest ones take a moment.
    fn admit(&mut self, stream: TcpStream, from: IpAddr, credentials: &CurrentCredentials) {
        self.handshakes.retain(|handshake| !handshake.task.is_finished());
        let from = from.to_canonical();
        if self.handshakes.iter().filter(|handshake| handshake.from == from).count() >= HANDSHAKES_EACH_MAX {
            return;
        }
        if self.handshakes.len() >= HANDSHAKES_MAX
            && let Some(oldest) = self.handshakes.pop_front()
        {
            oldest.task.abort();
        }
        let (credentials, inputs) = (credentials.get(), self.peer_inputs.clone());
        let (team, now) = (self.team, self.clock.now().unix_seconds());
        let task = tokio::spawn(async move {
            match accept(stream, &credentials, team, now).await {
                Ok((channel, certificate)) => {
                    let (sender, receiver) = channel.split();
                    let connected = Connected { sender, receiver, certificate };
                    let _ = inputs.send(FromPeer::Connected(Box::new(connected))).await;
                }
                Err(error @ ChannelError::NotNow { .. }) => {
                    let _ = inputs.send(FromPeer::NotNow(error.to_string())).await;
                }
                Err(error) => tracing::debug!(%error, "refused a channel"),
            }
        });
        self.handshakes.push_back(Handshake { from, task: task.abort_handle() });
    }

    fn handle_peer(&mut self, input: FromPeer) {
        let now = self.clock.now();
        match input {
            FromPeer::Connected(connected) => self.connected(*connected),
            FromPeer::NotNow(reason) => self.lines.certificate(reason, self.clock.now()),
            FromPeer::Message(peer, bytes) => {
                self.counts.note_received(peer, &bytes, now);
                self.server.handle_input(peer, &bytes, &mut self.rng, now);
            }
            FromPeer::Gone(peer) => {
                self.gone(peer);
            }
        }
    }

    /// A program of the team has gone.
    fn gone(&mut self, peer: Peer) {
        overview::note_gone(self, peer);
        let now = self.clock.now();
        self.orders.handle_gone(peer, now);
        self.peers.remove(&peer);
        self.server.handle_disconnected(peer);
    }

    fn handle_store(&mut self, input: FromStore) {
        let now = self.clock.now();
        self.counts.note_store(&input);
        match input {
            FromStore::Stored(token, Ok(report)) => {
                let report = StoreReport {
                    outcomes: report.outcomes.iter().map(stored).collect(),
                    added: report.added.into_iter().map(edge).collect(),
                    evicted: report.evicted.into_iter().map(edge).collect(),
                };
                self.server.handle_stored(token, &report, &mut self.rng, now);
            }
            FromStore::Stored(token, Err(error)) => {
                tracing::error!(%error, "receipts could not be stored");
                self.server.handle_store_failed(token, &error.to_string());
            }
            FromStore::Fetched(token, found) => self.server.handle_fetched(token, found),
            FromStore::Kept(token, result) => self.handle_kept(token, result),
        }
    }

    fn connected(&mut self, connected: Connected) {
        let Connected { mut sender, receiver, certificate } = connected;
        let peer = self.next_peer;
        self.next_peer += 1;
        let role = certificate.role();
        if let Err(reason) = self.server.handle_connected(peer, certificate, self.clock.now()) {
            return tracing::info!(%reason, "a program of the team was not let in");
        }
        let (outgoing, mut messages) = mpsc::channel::<Vec<u8>>(OUTGOING_MAX);
        self.peers.insert(peer, outgoing);
        overview::note_connected(self, role);
        tokio::spawn(async move {
            while let Some(message) = messages.recv().await {
                if sender.send(&message).await.is_err() {
                    return;
                }
            }
        });
        tokio::spawn(read_messages(receiver, peer, self.peer_inputs.clone()));
    }

    /// Carries out everything that the machine wants.
    fn drain(&mut self) {
        loop {
            while let Some(event) = self.server.poll_event() {
                self.counts.note_event(&event);
                self.carry_out(event);
            }
            if !self.drain_phones() {
                break;
            }
        }
        while let Some((peer, message)) = self.server.poll_transmit() {
            let now = self.clock.now();
            self.counts.note_sent(peer, &message, now);
            // A program that does not read its answers loses them, and then its channel.
            if self.peers.get(&peer).is_some_and(|outgoing| outgoing.try_send(message).is_err()) {
                self.gone(peer);
            }
        }
        if self.server.stranger_counters() != self.counters {
            self.counters = self.server.stranger_counters();
            let counters = self.counters;
            let _ = self.store.run(move |store| write_counters(store, counters));
        }
    }

    fn carry_out(&mut self, event: Event) {
        match event {
            Event::Store { token, receipts } => {
                let inputs = self.store_inputs.clone();
                let now = self.clock.now().unix_seconds();
                let reply = move |result| drop(inputs.blocking_send(FromStore::Stored(token, result)));
                if let Err(error) = self.store.put(receipts, now, reply) {
                    self.handle_store(FromStore::Stored(token, Err(error)));
                }
            }
            Event::Fetch { token, since, max } => {
                let (inputs, find) = (self.store_inputs.clone(), self.shown(since, max));
                let job = move |store: &mut Store| {
                    let _ = inputs.blocking_send(FromStore::Fetched(token, find(store)));
                };
                if self.store.run(job).is_err() {
                    self.handle_store(FromStore::Fetched(token, Vec::new()));
                }
            }
            Event::Revoked(list) => drop(self.store.run(move |store| drop(store.put_revocation(&list)))),
            Event::Keep(write) => self.keep(*write),
            Event::SendHome(team, message) => self.send_home(team, &message),
            Event::HomeLearned(team, address) => self.learn_home(team, address),
            Event::AskHome(team, question) => {
                self.phones.ask(team, &question, &mut self.rng, self.clock.now());
            }
            Event::Reserved { consumer, amount, between } => {
                let (consumer, homes) = (consumer.short(), between.len());
                tracing::info!(%consumer, %amount, homes, "credit was reserved for a visitor");
            }
            Event::Finished { consumer, started, class, signed, unpaid } => {
                let now = self.clock.now();
                let (team, ended) = (consumer.short(), now.unix_seconds());
                let (class, bytes, unpaid) = (class.map(ServiceClass::name), signed.0, unpaid.0);
                let reason = if unpaid == 0 { "paid" } else { "left unpaid" };
                match self.lines.sessions.next(now) {
                    Some(unsaid) => {
                        let unsaid = (unsaid > 0).then_some(unsaid);
                        tracing::info!(%started, %ended, %team, class, bytes, unpaid, reason, unsaid, "session");
                    }
                    None => {
                        tracing::debug!(%started, %ended, %team, class, bytes, unpaid, reason, "session");
                    }
                }
            }
            Event::Begun { consumer, is_let_in, reason } => {
                if !is_let_in {
                    overview::note_not_begun(self, consumer, &reason);
                }
                let verdict = if is_let_in { "let in" } else { "refused" };
                self.lines.decided(consumer, &verdict, &reason, self.clock.now());
            }
            Event::Decided { consumer, decision, reason } => {
                overview::note_decided(self, consumer, decision.verdict, &reason);
                self.lines.decided(consumer, &decision.verdict, &reason, self.clock.now());
            }
            Event::Renewed { role, key, not_after } => {
                tracing::info!(%role, %key, until = %not_after, "renewed a certificate");
            }
            Event::Answered { peer, reference, version, answer } => {
                overview::handle_answer(self, peer, (reference, version), &answer);
            }
            Event::Acted { peer, reference, outcome } => {
                orders::handle_acted(self, peer, reference, &outcome)
            }
            Event::Refused { kind: "certificate", reason } => {
                self.lines.certificate(reason, self.clock.now())
            }
            Event::Refused { kind, reason } => tracing::debug!(kind, %reason, "refused"),
        }
    }

    /// Answers a question of the task that signs for members.
    fn look_up(&mut self, lookup: Lookup) {
        let now = self.clock.now();
        let find = self.shown(now.unix_seconds().minus(SHOWN_AGE_MAX), SHOWN_MAX);
        if let Some(gateway) = &self.gateway {
            delegates::answer(lookup, gateway, self.team, &self.store, find, now);
        }
    }

    /// Reads the settings, the revocation list, the renewing key, the own certificate and the gateway's directory again. If
    /// one of them is wrong, nothing changes.
    fn reload(&mut self, reload: &mut Reload<Settings>) -> Value {
        let mut gateway = Value::Null;
        let result = reload.read().and_then(|fresh| {
            gateway = self.take_over(&fresh)?;
            reload.accepted();
            Ok(fresh)
        });
        let mut answer = reload::answer(&result);
        if result.is_ok() {
            answer["gateway"] = gateway;
        }
        answer
    }

    fn take_over(&mut self, fresh: &Fresh<Settings>) -> Result<Value, RunError> {
        let revoked = read_revocations(fresh.settings.revocations.as_deref())?;
        let machine = open::machine_config(&fresh.settings)?;
        let renewer = renewing::read(fresh.settings.renewal.as_deref(), self.team)?;
        let changed = self.read_members(revoked.as_ref())?;
        self.revocations.clone_from(&fresh.settings.revocations);
        if let Some(list) = revoked {
            let now = self.clock.now();
            self.phones.handle_revocations(&list, now);
            self.server.handle_revocations(list);
        }
        self.server.set_renewer(renewer);
        let now = self.clock.now();
        self.renewing.reconfigure(fresh.settings.renewal.as_deref(), &mut self.rng, now);
        self.credit_of_settings = limits::settle(&self.state, fresh.settings.machine.credit);
        self.server.reconfigure(&machine);
        overview::set_admission(self, self.exchange.is_some() && open::admits(&fresh.settings));
        Ok(changed)
    }

    /// Reads the gateway's directory again, and says what has changed.
    fn read_members(&mut self, revoked: Option<&RevocationList>) -> Result<Value, RunError> {
        let changed = self.gateway.as_mut().map(|gateway| gateway.reload(revoked)).transpose()?;
        #[cfg(feature = "page")]
        self.doors.page.admit(self.gateway.as_ref());
        if let (Some(gateway), Some(ikev2)) = (&self.gateway, &self.ikev2) {
            ikev2.reload(gateway.files(), revoked)?;
        }
        if let (Some(gateway), Some(exchange)) = (&self.gateway, &self.exchange) {
            exchange.set_members(members::read(gateway)?)?;
        }
        Ok(changed.map_or(Value::Null, |changed| {
            json!({ "members": changed.members, "added": changed.added, "removed": changed.removed })
        }))
    }

    fn status(&mut self) -> Value {
        let credit = self.credit_status();
        let (certificate, renewing_key) =
            (self.renewing.status(self.clock.now()), self.renewing_key_status());
        let graph = self.server.graph();
        let peers: Vec<_> = self.server.peers().map(|(_, role, key)| format!("{role} {key}")).collect();
        json!({
            "team": self.team.to_string(),
            "certificate": certificate,
            "renewing_key": renewing_key,
            "certificate_refused": self.lines.last_certificate,
            "teams": graph.team_count(),
            "edges": graph.edge_count(),
            "owed_to_us": graph.in_capacity(self.team).0,
            "owed_by_us": graph.out_capacity(self.team).0,
            "credit": credit,
            "peers": peers,
            "blocked_devices": self.blocked.devices().len(),
            "refused": self.server.refusals(),
            "gateway": self.gateway.as_ref().map(Gateway::status),
            "port_mapping": self.mapping.as_ref().map(PortMapping::status),
            "own_name": self.own_name.as_ref().map(OwnName::status),
            "phones": self.phones.status(self.clock.now()),
        })
    }
}

/// Waits so long; for ever if nothing is due.
async fn sleep_until(due: Option<std::time::Duration>) {
    match due {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

/// Passes on what a peer sends; waits while the loop is behind, so that the peer has to.
async fn read_messages(mut receiver: Receiver, peer: Peer, inputs: mpsc::Sender<FromPeer>) {
    loop {
        match receiver.receive().await {
            Ok(Some(message)) => {
                if inputs.send(FromPeer::Message(peer, message)).await.is_err() {
                    return; // The home stops.
                }
            }
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(%error, "a channel ended");
                break;
            }
        }
    }
    let _ = inputs.send(FromPeer::Gone(peer)).await;
}

fn stored(outcome: &PutOutcome) -> Stored {
    match outcome {
        PutOutcome::New | PutOutcome::Raised(_) => Stored::Added,
        PutOutcome::Known => Stored::Known,
        PutOutcome::Lower { .. } => Stored::Lower,
    }
}

fn write_counters(store: &mut Store, counters: StrangerCounters) {
    let StrangerCounters { given, returned } = counters;
    for (key, bytes) in [("strangers-given", given), ("strangers-returned", returned)] {
        if let Err(error) = store.set_state(key, bytes.0.cast_signed()) {
            tracing::warn!(%error, "the memory of strangers could not be kept");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FLOOD, credentials, flood};
    use guestright_channel::connect;

    #[tokio::test]
    async fn a_program_of_the_team_that_floods_is_made_to_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (own, peer) = (credentials(Role::Home), credentials(Role::AccessPoint));
        let (team, now) = (own.certificate.team_id(), guestright_clock::unix_seconds());
        let (to_home, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (home, access_point) = tokio::join!(
            accept(accepted.unwrap().0, &own, team, now),
            connect(to_home.unwrap(), &peer, team, now)
        );
        let ((_keep, receiver), (mut sender, _keep_too)) =
            (home.unwrap().0.split(), access_point.unwrap().0.split());
        let (inputs, mut from_peers) = mpsc::channel(PEER_INPUTS_MAX);
        tokio::spawn(read_messages(receiver, 7, inputs));
        assert!(
            flood(&mut sender).await < FLOOD,
            "the peer could send everything to a loop that reads nothing"
        );
        assert_eq!(from_peers.len(), PEER_INPUTS_MAX);
        // And it goes on when the loop does.
        for _ in 0..=PEER_INPUTS_MAX {
            assert!(matches!(from_peers.recv().await, Some(FromPeer::Message(7, _))));
        }
    }
}
