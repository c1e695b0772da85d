//! The loop around the team server's machine.

use super::calls::{self, Calls, Lookup};
use super::gateway::{Gateway, OtherWays};
use super::ikev2::{self, Ikev2};
use super::mapping::{self, PortMapping};
use super::voice::{self, Voice};
use crate::control;
use crate::settings::{self, HomeSettings};
use anyhow::{Context, anyhow};
use guestright_channel::{Credentials, Receiver, Sender, accept};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::{self, PassphraseArgs};
use guestright_cli::signals::Signals;
use guestright_clock::Clock;
use guestright_identity::{Certificate, RevocationList, Role};
use guestright_portmap::{Protocol, Wanted};
use guestright_reciprocity::{Edge, StrangerCounters};
use guestright_roaming::TeamServer;
use guestright_roaming::home::{Event, Peer, StoreReport, Stored, Token};
use guestright_store::{
    Limits, Outcome as PutOutcome, PutReport, Store, StoreError, Writer, WriterHandle, WriterLimits,
};
use guestright_units::{Bytes, TeamId};
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// How many handshakes may go on at a time.
const HANDSHAKES_MAX: usize = 64;
/// How many messages may wait for one program of the team.
const OUTGOING_MAX: usize = 256;

/// What the loop waits for.
enum Input {
    Connected(Box<(Sender, Receiver, Certificate)>),
    Message(Peer, Vec<u8>),
    Gone(Peer),
    Stored(Token, Result<PutReport, StoreError>),
    Fetched(Token, Vec<(Vec<u8>, Vec<u8>)>),
}

struct Loop {
    server: TeamServer,
    team: TeamId,
    clock: Clock,
    rng: StdRng,
    store: WriterHandle,
    inputs: mpsc::UnboundedSender<Input>,
    peers: BTreeMap<Peer, mpsc::Sender<Vec<u8>>>,
    next_peer: Peer,
    counters: StrangerCounters,
    revocations: Option<PathBuf>,
    gateway: Option<Gateway>,
    ikev2: Option<Ikev2>,
    mapping: Option<PortMapping>,
    voice: Option<Voice>,
}

pub(super) fn run(
    settings: &HomeSettings,
    path: &Path,
    passphrase: &PassphraseArgs,
    out: &mut impl Write,
) -> Outcome {
    let beside = |file: &Path| settings::beside(path, file);
    let credentials = passphrase.credentials(&beside(&settings.key), &beside(&settings.certificate))?;
    if credentials.certificate.role() != Role::Home {
        let role = credentials.certificate.role();
        return Err(Failure::config(anyhow!("the certificate is for a {role}, not for a home")));
    }
    let state = beside(&settings.state);
    files::state_directory(&state)?;
    let mut store =
        Store::open(&state.join("receipts.sqlite"), Limits { receipts_max: settings.receipts_max })?;
    if let Some(list) = read_revocations(revocation_list(settings, path).as_deref())? {
        store.put_revocation(&list)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(settings, path, credentials, store, out))
}

/// Where the team's revocation list is, if there is one.
fn revocation_list(settings: &HomeSettings, path: &Path) -> Option<PathBuf> {
    settings.revocations.as_ref().map(|list| settings::beside(path, list))
}

fn read_revocations(path: Option<&Path>) -> Result<Option<RevocationList>, Failure> {
    path.map(guestright_keys::read_revocations).transpose().map_err(Failure::config)
}

async fn serve(
    settings: &HomeSettings,
    path: &Path,
    credentials: Credentials,
    store: Store,
    out: &mut impl Write,
) -> Outcome {
    let mut signals = Signals::take()?;
    let (state, revocations) = (settings::beside(path, &settings.state), revocation_list(settings, path));
    let mut clock = Clock::start();
    let team = credentials.certificate.team_id();
    let edges = store.edges()?.into_iter().map(edge);
    let counters = read_counters(&store)?;
    let now = clock.now();
    let server = TeamServer::new(settings.config(), team, edges, store.revocations()?, counters, now);
    let receipts = store.count();
    let listener = TcpListener::bind(settings.listen).await;
    let listener =
        listener.with_context(|| format!("listen at {}", settings.listen)).map_err(Failure::network)?;
    let (gateway, ikev2, mapping) = open_gateway(settings, path, &state, revocations.as_deref())?;
    let voice = open_voice((settings, path), &credentials, gateway.as_ref(), &state).await?;
    let writer = Writer::start(store, WriterLimits::default())?;
    let (inputs, mut received) = mpsc::unbounded_channel();
    let (questions, mut asked) = mpsc::channel(16);
    control::serve(&state.join("home.sock"), questions)?;
    let mut this = Loop {
        server,
        team,
        clock,
        rng: guestright_clock::rng(),
        store: writer.handle(),
        inputs,
        peers: BTreeMap::new(),
        next_peer: 0,
        counters,
        revocations,
        gateway,
        ikev2,
        mapping,
        voice,
    };
    let port = this.gateway.as_ref().map(Gateway::port);
    let mut calls = port.map(|port| Calls::start(settings.protocol_listen, port, &state)).transpose()?;
    writeln!(out, "home of team {team} at {}: {receipts} receipts known", settings.listen)?;
    out.flush()?;
    let (credentials, places) = (Arc::new(credentials), Arc::new(Semaphore::new(HANDSHAKES_MAX)));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => this.admit(stream, &credentials, &places),
                Err(error) => tracing::warn!(%error, "a connection could not be accepted"),
            },
            Some(input) = received.recv() => this.handle(input),
            Some((question, reply)) = asked.recv() => {
                let stop = question == "stop";
                let reply = if question == "status" { this.join(calls.as_ref(), reply) } else { reply };
                this.answer(&question, reply);
                if stop {
                    break;
                }
            }
            Some(lookup) = calls::lookup(&mut calls) => this.look_up(lookup),
            () = signals.recv() => break,
        }
        this.drain();
    }
    let hung_up = match calls {
        Some(calls) => calls.stop(|lookup| this.look_up(lookup)).await,
        None => Ok(()),
    };
    let stopped = this.close().await;
    writer.stop()?;
    // It is only a door; the next start replaces it.
    let _ = std::fs::remove_file(state.join("home.sock"));
    stopped.and(hung_up)
}

/// The ways in, and what is asked of the household's router for them.
type Ways = (Option<Gateway>, Option<Ikev2>, Option<PortMapping>);

/// Starts the way home for roaming members: WireGuard and the firewall, then whatever else is wanted.
fn open_gateway(
    settings: &HomeSettings,
    path: &Path,
    state: &Path,
    revocations: Option<&Path>,
) -> Result<Ways, Failure> {
    let Some(wanted) = &settings.gateway else { return Ok((None, None, None)) };
    let revoked = read_revocations(revocations)?;
    let (home_port, voice) = (Some(settings.listen.port()), settings.voice.as_ref().map(voice::ports));
    let other = OtherWays { home_port, voice, ..ikev2::other_ways(wanted) };
    let gateway = Gateway::start(wanted, path, state, revoked.as_ref(), &other)?;
    let ikev2 = Ikev2::start(wanted, path, state, &gateway, revoked.as_ref())?;
    let mapping = map_ports(settings, wanted.port_mapping.then(|| gateway.port()))?;
    Ok((Some(gateway), ikev2, mapping))
}

/// Has the household's router let through what a home is asked at, if there is a tunnel port to go with it.
fn map_ports(settings: &HomeSettings, tunnel: Option<u16>) -> Result<Option<PortMapping>, Failure> {
    let Some(tunnel) = tunnel else { return Ok(None) };
    let tcp = |address: SocketAddr| Wanted { protocol: Protocol::Tcp, port: address.port() };
    let udp = |port| Wanted { protocol: Protocol::Udp, port };
    let voice = settings.voice.as_ref();
    let links = voice.map(|voice| tcp(voice.listen));
    let media = voice.into_iter().flat_map(mapping::media_ports).map(udp);
    let wanted = [udp(tunnel), tcp(settings.protocol_listen), tcp(settings.listen)];
    PortMapping::start(wanted.into_iter().chain(links).chain(media).collect()).map(Some)
}

/// Starts the telephone exchange, if one is wanted.
async fn open_voice(
    (settings, path): (&HomeSettings, &Path),
    credentials: &Credentials,
    gateway: Option<&Gateway>,
    state: &Path,
) -> Result<Option<Voice>, Failure> {
    match (&settings.voice, gateway) {
        (Some(wanted), Some(gateway)) => {
            let mut wanted = wanted.clone();
            wanted.make_absolute(path);
            Voice::start(&wanted, credentials, gateway, state).await.map(Some)
        }
        (Some(_), None) => Err(Failure::config(anyhow!("[voice] needs a [gateway]"))),
        (None, _) => Ok(None),
    }
}

impl Loop {
    /// Where to send the home's status, so that what its telephones know joins it on the way to `reply`.
    fn join(&self, calls: Option<&Calls>, reply: oneshot::Sender<Value>) -> oneshot::Sender<Value> {
        let reply = match &self.voice {
            Some(voice) => voice.join(reply),
            None => reply,
        };
        match calls {
            Some(calls) => calls.join(reply),
            None => reply,
        }
    }

    /// Gives back what belongs to others: the router's ports, the other ways in, the gateway.
    async fn close(self) -> Outcome {
        if let Some(voice) = self.voice {
            voice.stop().await;
        }
        drop(self.mapping);
        drop(self.ikev2);
        self.gateway.map_or(Ok(()), Gateway::stop)
    }

    fn admit(&mut self, stream: TcpStream, credentials: &Arc<Credentials>, places: &Arc<Semaphore>) {
        let Ok(place) = Arc::clone(places).try_acquire_owned() else { return };
        let (credentials, inputs) = (Arc::clone(credentials), self.inputs.clone());
        let (team, now) = (self.team, self.clock.now().unix_seconds());
        tokio::spawn(async move {
            match accept(stream, &credentials, team, now).await {
                Ok((channel, certificate)) => {
                    let (sender, receiver) = channel.split();
                    let _ = inputs.send(Input::Connected(Box::new((sender, receiver, certificate))));
                }
                Err(error) => tracing::debug!(%error, "refused a channel"),
            }
            drop(place);
        });
    }

    fn handle(&mut self, input: Input) {
        let now = self.clock.now();
        match input {
            Input::Connected(connected) => self.connected(*connected),
            Input::Message(peer, bytes) => self.server.handle_input(peer, &bytes, &mut self.rng, now),
            Input::Gone(peer) => {
                self.peers.remove(&peer);
                self.server.handle_disconnected(peer);
            }
            Input::Stored(token, Ok(report)) => {
                let report = StoreReport {
                    outcomes: report.outcomes.iter().map(stored).collect(),
                    added: report.added.into_iter().map(edge).collect(),
                    evicted: report.evicted.into_iter().map(edge).collect(),
                };
                self.server.handle_stored(token, &report, &mut self.rng, now);
            }
            Input::Stored(token, Err(error)) => {
                tracing::error!(%error, "receipts could not be stored");
                self.server.handle_store_failed(token, &error.to_string());
            }
            Input::Fetched(token, found) => self.server.handle_fetched(token, found),
        }
    }

    fn connected(&mut self, (mut sender, mut receiver, certificate): (Sender, Receiver, Certificate)) {
        let peer = self.next_peer;
        self.next_peer += 1;
        if let Err(reason) = self.server.handle_connected(peer, certificate, self.clock.now()) {
            return tracing::info!(%reason, "a program of the team was not let in");
        }
        let (outgoing, mut messages) = mpsc::channel::<Vec<u8>>(OUTGOING_MAX);
        self.peers.insert(peer, outgoing);
        tokio::spawn(async move {
            while let Some(message) = messages.recv().await {
                if sender.send(&message).await.is_err() {
                    return;
                }
            }
        });
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            loop {
                match receiver.receive().await {
                    Ok(Some(message)) => drop(inputs.send(Input::Message(peer, message))),
                    Ok(None) => break,
                    Err(error) => {
                        tracing::debug!(%error, "a channel ended");
                        break;
                    }
                }
            }
            let _ = inputs.send(Input::Gone(peer));
        });
    }

    /// Carries out everything that the machine wants.
    fn drain(&mut self) {
        while let Some(event) = self.server.poll_event() {
            self.carry_out(event);
        }
        while let Some((peer, message)) = self.server.poll_transmit() {
            // A program that does not read its answers loses them, and then its channel.
            if self.peers.get(&peer).is_some_and(|outgoing| outgoing.try_send(message).is_err()) {
                self.peers.remove(&peer);
                self.server.handle_disconnected(peer);
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
                let inputs = self.inputs.clone();
                let now = self.clock.now().unix_seconds();
                let reply = move |result| drop(inputs.send(Input::Stored(token, result)));
                if let Err(error) = self.store.put(receipts, now, reply) {
                    let _ = self.inputs.send(Input::Stored(token, Err(error)));
                }
            }
            Event::Fetch { token, since, max } => {
                let (inputs, team) = (self.inputs.clone(), self.team);
                let job = move |store: &mut Store| {
                    let found = store.receipts_of_provider(team, since, max).unwrap_or_default();
                    let _ = inputs.send(Input::Fetched(token, found));
                };
                if self.store.run(job).is_err() {
                    let _ = self.inputs.send(Input::Fetched(token, Vec::new()));
                }
            }
            Event::Revoked(list) => {
                let keep = move |store: &mut Store| drop(store.put_revocation(&list));
                let _ = self.store.run(keep);
            }
            Event::Decided { consumer, decision, reason } => {
                let consumer = consumer.short();
                tracing::info!(%consumer, verdict = ?decision.verdict, %reason, "decided");
            }
            Event::Refused { kind, reason } => tracing::debug!(kind, %reason, "refused"),
        }
    }

    fn answer(&mut self, question: &str, reply: oneshot::Sender<Value>) {
        match question.split_once(' ') {
            None if question == "status" => {
                let mut status = self.status();
                let ikev2 = self.ikev2.clone();
                let job = move |store: &mut Store| {
                    status["receipts"] = json!(store.count());
                    ikev2::answer(status, ikev2, reply);
                };
                if let Err(error) = self.store.run(job) {
                    tracing::warn!(%error, "the store is too busy to be asked");
                }
            }
            Some(("why", team)) => drop(reply.send(self.why(team))),
            None if question == "reload" => {
                let answer = self.reload().unwrap_or_else(|failure| failure.json());
                let _ = reply.send(answer);
            }
            None if question == "stop" => drop(reply.send(json!({ "stopping": true }))),
            _ => drop(reply.send(json!({ "error": "the questions are: status, why TEAM, reload, stop" }))),
        }
    }

    /// Answers a question of the telephone.
    fn look_up(&mut self, lookup: Lookup) {
        if let Some(gateway) = &self.gateway {
            calls::answer(lookup, gateway, self.team, &self.store, self.clock.now());
        }
    }

    /// Reads the revocation list and the gateway's directory again.
    fn reload(&mut self) -> Result<Value, Failure> {
        let revoked = read_revocations(self.revocations.as_deref())?;
        let gateway = self.gateway.as_mut().map(|gateway| gateway.reload(revoked.as_ref())).transpose()?;
        if let (Some(gateway), Some(ikev2)) = (&self.gateway, &self.ikev2) {
            ikev2.reload(gateway.files(), revoked.as_ref())?;
        }
        if let (Some(gateway), Some(voice)) = (&self.gateway, &self.voice) {
            voice.reload_soon(gateway)?;
        }
        if let Some(list) = revoked {
            self.server.handle_revocations(list);
        }
        Ok(json!({ "gateway": gateway.map(|changed| json!({
            "members": changed.members, "added": changed.added, "removed": changed.removed,
        })) }))
    }

    fn why(&mut self, beginning: &str) -> Value {
        let graph = self.server.graph();
        let known: Vec<_> = graph.teams().filter(|team| team.to_string().starts_with(beginning)).collect();
        let team = match (beginning.parse::<TeamId>(), known.as_slice()) {
            (Ok(team), _) | (Err(_), &[team]) => team,
            (Err(_), []) => {
                return json!({ "error": format!("no team is known whose id begins with {beginning}") });
            }
            (Err(_), several) => {
                let count = several.len();
                return json!({ "error": format!("{count} teams begin with {beginning}; give more digits") });
            }
        };
        let explanation = self.server.explain(team, Bytes(1_000_000), &mut self.rng);
        let own = self.team;
        let name = |team: TeamId| if team == own { "our team".to_owned() } else { team.short() };
        json!({ "team": team.to_string(), "reason": explanation.decision.reason(),
            "ind": explanation.decision.ind.map(|ind| ind.to_string()),
            "lines": explanation.lines(name) })
    }

    fn status(&self) -> Value {
        let graph = self.server.graph();
        let peers: Vec<_> = self.server.peers().map(|(_, role, key)| format!("{role} {key}")).collect();
        json!({
            "team": self.team.to_string(),
            "teams": graph.team_count(),
            "edges": graph.edge_count(),
            "owed_to_us": graph.in_capacity(self.team).0,
            "owed_by_us": graph.out_capacity(self.team).0,
            "peers": peers,
            "refused": self.server.refusals(),
            "gateway": self.gateway.as_ref().map(Gateway::status),
            "port_mapping": self.mapping.as_ref().map(PortMapping::status),
        })
    }
}

fn stored(outcome: &PutOutcome) -> Stored {
    match outcome {
        PutOutcome::New | PutOutcome::Raised(_) => Stored::Added,
        PutOutcome::Known => Stored::Known,
        PutOutcome::Lower { .. } => Stored::Lower,
    }
}

fn edge(edge: guestright_store::Edge) -> Edge {
    Edge { consumer: edge.consumer, provider: edge.provider, bytes: edge.weight }
}

fn read_counters(store: &Store) -> Result<StrangerCounters, StoreError> {
    let read = |key| Ok::<_, StoreError>(Bytes(store.state(key)?.unwrap_or(0).cast_unsigned()));
    Ok(StrangerCounters { given: read("strangers-given")?, returned: read("strangers-returned")? })
}

fn write_counters(store: &mut Store, counters: StrangerCounters) {
    let StrangerCounters { given, returned } = counters;
    for (key, bytes) in [("strangers-given", given), ("strangers-returned", returned)] {
        if let Err(error) = store.set_state(key, bytes.0.cast_signed()) {
            tracing::warn!(%error, "the memory of strangers could not be kept");
        }
    }
}
