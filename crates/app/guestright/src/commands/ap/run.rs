//! The loop around the access point's machine.

use super::guard::{self, Done, Order};
use super::link::{DATAGRAM, FromLink, Link};
use super::{firewall_settings, firewall_state, socket};
use crate::control::{self, Question};
use crate::homeward::{self, FromHome};
use crate::settings::{self, ApSettings};
use anyhow::{Context, anyhow};
use guestright_channel::Credentials;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::{self, PassphraseArgs};
use guestright_cli::signals::Signals;
use guestright_clock::Clock;
use guestright_firewall::{self as firewall, Firewall};
use guestright_identity::{Certificate, Role};
use guestright_receipt::Receipt;
use guestright_roaming::AccessPoint;
use guestright_roaming::access_point::{Address, CONTACT, Event, SessionStatus, Transmit};
use guestright_roaming::message::Code;
use guestright_store::{Limits, Store, Writer, WriterHandle, WriterLimits};
use guestright_units::Bytes;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::path::Path;
use std::time::Duration;
use tokio::sync::mpsc;

/// How many messages of visitors may wait.
const MESSAGES_MAX: usize = 256;
/// How many of its own receipts an access point keeps until its team server has them.
const RECEIPTS_MAX: u64 = 100_000;
/// How many ended sessions `status` remembers.
const ENDED_MAX: usize = 256;
/// How long visitors have to sign for the last bytes when the program stops.
const FAREWELL: Duration = Duration::from_secs(3);

/// The way to the own team server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Homeward {
    /// Looked for since the start. What is said waits for it, because it may be there in a moment.
    Sought,
    Up,
    Lost,
}

struct Loop {
    machine: AccessPoint,
    clock: Clock,
    link: Link,
    orders: std::sync::mpsc::Sender<Order>,
    home: mpsc::Sender<Vec<u8>>,
    homeward: Homeward,
    store: WriterHandle,
    interface: String,
    team: String,
    reading: bool,
    drops: BTreeMap<String, u64>,
    allowance: Option<Bytes>,
    calls: u64,
    passing: BTreeSet<Address>,
    ended: VecDeque<Value>,
    stopping: bool,
}

pub(super) fn run(
    settings: &ApSettings,
    path: &Path,
    passphrase: &PassphraseArgs,
    out: &mut impl Write,
) -> Outcome {
    let beside = |file: &Path| settings::beside(path, file);
    let credentials = passphrase.credentials(&beside(&settings.key), &beside(&settings.certificate))?;
    if credentials.certificate.role() != Role::AccessPoint {
        let role = credentials.certificate.role();
        return Err(Failure::config(anyhow!("the certificate is for a {role}, not for an access point")));
    }
    let config = settings.config()?;
    let state = beside(&settings.state);
    files::state_directory(&state)?;
    let store = Store::open(&state.join("receipts.sqlite"), Limits { receipts_max: RECEIPTS_MAX })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let inside = runtime.enter();
    let signals = Signals::take()?;
    drop(inside);
    let rules = firewall_settings(settings)?;
    let address = SocketAddr::from((rules.access_point, settings.port));
    let firewall = Firewall::up(rules, &firewall_state(&state)).map_err(Failure::network)?;
    for warning in firewall.warnings() {
        tracing::warn!("{warning}");
    }
    let Credentials { key, certificate } = credentials.clone();
    let machine = AccessPoint::new(config, key, certificate);
    runtime.block_on(serve(settings, &state, machine, credentials, store, firewall, address, signals, out))
}

/// What the loop listens to.
struct Inputs {
    link: mpsc::Receiver<FromLink>,
    guard: mpsc::UnboundedReceiver<Done>,
    home: mpsc::UnboundedReceiver<FromHome>,
    questions: mpsc::Receiver<Question>,
    signals: Signals,
}

#[expect(clippy::too_many_arguments, reason = "the parts of one program, each made once")]
async fn serve(
    settings: &ApSettings,
    state: &Path,
    machine: AccessPoint,
    credentials: Credentials,
    store: Store,
    firewall: Firewall,
    address: SocketAddr,
    signals: Signals,
    out: &mut impl Write,
) -> Outcome {
    let team = credentials.certificate.team_id().to_string();
    let undelivered = undelivered(&store)?;
    let writer = Writer::start(store, WriterLimits::default())?;
    let (messages, from_link) = mpsc::channel(MESSAGES_MAX);
    let link = Link::open(address, messages).await;
    let link = link.with_context(|| format!("listen at {address}")).map_err(Failure::network)?;
    let (done, from_guard) = mpsc::unbounded_channel();
    let (orders, thread) = guard::start(firewall, move |answer| drop(done.send(answer)));
    let (events, from_home) = mpsc::unbounded_channel();
    let home = homeward::keep(settings.home, credentials, events);
    let (questions, asked) = mpsc::channel(16);
    control::serve(&socket(state), questions)?;
    let mut this = Loop {
        machine,
        clock: Clock::start(),
        link,
        orders,
        home,
        homeward: Homeward::Sought,
        store: writer.handle(),
        interface: settings.visitor_interface.clone(),
        team: team.clone(),
        reading: false,
        drops: BTreeMap::new(),
        allowance: settings.tunnels.enabled.then_some(Bytes(0)),
        calls: 0,
        passing: BTreeSet::new(),
        ended: VecDeque::new(),
        stopping: false,
    };
    let now = this.clock.now();
    this.machine.restore(undelivered, now);
    writeln!(
        out,
        "access point of team {team} at {address}, for visitors on {}",
        settings.visitor_interface
    )?;
    out.flush()?;
    let inputs = Inputs { link: from_link, guard: from_guard, home: from_home, questions: asked, signals };
    let pace = Duration::from_millis((settings.interval_ms / 10).clamp(50, 500));
    this.run(inputs, pace).await?;
    this.link.finish().await;
    let _ = this.orders.send(Order::Stop);
    let restored = thread.join().map_err(|_| anyhow!("the firewall's thread broke down"))?;
    writer.stop()?;
    // It is only a door; the next start replaces it.
    let _ = std::fs::remove_file(socket(state));
    restored.map_err(Failure::network)
}

impl Loop {
    /// Awaits, calls the machine, carries out what it wants; until a signal, a question or a farewell ends it.
    async fn run(&mut self, mut inputs: Inputs, pace: Duration) -> anyhow::Result<()> {
        let mut tick = tokio::time::interval(pace);
        let farewell = tokio::time::sleep(Duration::MAX);
        tokio::pin!(farewell);
        loop {
            let due = self.machine.poll_timeout().map_or(pace, |due| self.clock.until(due).min(pace));
            let mut stop = false;
            tokio::select! {
                Some(input) = inputs.link.recv() => self.handle_link(input),
                accepted = self.link.accept() => self.handle_connection(accepted),
                Some(answer) = inputs.guard.recv() => self.handle_guard(answer),
                Some(event) = inputs.home.recv() => self.handle_home(event),
                Some((question, reply)) = inputs.questions.recv() => {
                    stop = question == "stop";
                    let _ = reply.send(self.answer(&question));
                }
                _ = tick.tick() => self.read(),
                () = tokio::time::sleep(due) => {}
                () = inputs.signals.recv() => stop = true,
                () = &mut farewell => return Ok(()),
            }
            let now = self.clock.now();
            if stop && !self.stopping {
                self.stopping = true;
                self.machine.shut_down(now);
                farewell.as_mut().reset(tokio::time::Instant::now() + FAREWELL);
            }
            self.machine.handle_timeout(now);
            self.drain();
            let delivered = self.machine.undelivered() == 0 || self.homeward != Homeward::Up;
            if self.stopping && self.machine.status().is_empty() && delivered {
                return Ok(());
            }
        }
    }

    fn handle_link(&mut self, input: FromLink) {
        match input {
            FromLink::Message { path, bytes, .. } if path & CONTACT != 0 && path & DATAGRAM == 0 => {
                let now = self.clock.now();
                self.machine.handle_contact(path, &bytes, now);
            }
            FromLink::Message { ip, path, bytes } => {
                if self.stopping && self.machine.status().is_empty() {
                    return;
                }
                let Some(mac) = self.hardware_address(ip) else { return };
                let now = self.clock.now();
                self.machine.handle_visitor(Address::new(mac, ip), path, &bytes, now);
            }
            FromLink::Ended(path) => {
                self.link.end(path);
                let now = self.clock.now();
                self.machine.handle_disconnected(path, now);
            }
            FromLink::Called { ip, path, stream } => {
                self.link.add(path, ip, stream);
                self.machine.handle_connected(path);
            }
        }
    }

    fn hardware_address(&self, ip: Ipv4Addr) -> Option<[u8; 6]> {
        let found = firewall::neighbour(ip, &self.interface).unwrap_or_else(|error| {
            tracing::warn!(%error, "a visitor's hardware address could not be looked up");
            None
        });
        found.map(firewall::MacAddress::bytes)
    }

    fn handle_connection(&mut self, accepted: std::io::Result<(tokio::net::TcpStream, SocketAddr)>) {
        match accepted {
            Ok((stream, from)) => self.link.admit(stream, from, &self.machine.paths_in_use()),
            Err(error) => tracing::warn!(%error, "a connection could not be accepted"),
        }
    }

    fn handle_guard(&mut self, answer: Done) {
        let now = self.clock.now();
        match answer {
            Done::Read(reading) => {
                self.reading = false;
                self.drops = reading.drops;
                self.allowance = self.allowance.map(|_| reading.allowance);
                for (address, counted) in reading.used {
                    self.machine.handle_traffic(address, counted, now);
                }
                self.handle_tunnels(&reading.tunnels);
            }
            Done::Opened(address) => drop(self.passing.insert(address)),
            Done::Closed(address, counted) => self.machine.handle_closed(address, counted, now),
            Done::Failed(error) => {
                self.reading = false;
                tracing::error!(%error, "the firewall refused an order");
            }
        }
    }

    /// Visitors that have nothing but a tunnel: their homes are called, within the machine's limits.
    fn handle_tunnels(&mut self, tunnels: &[(Ipv4Addr, Ipv4Addr, NonZeroU16)]) {
        if tunnels.is_empty() {
            return;
        }
        let neighbours = firewall::neighbours(&self.interface).unwrap_or_else(|error| {
            tracing::warn!(%error, "the visitors' hardware addresses could not be looked up");
            BTreeMap::new()
        });
        let now = self.clock.now();
        for (ip, home, port) in tunnels {
            if let Some(mac) = neighbours.get(ip) {
                self.machine.handle_flow(Address::new(mac.bytes(), *ip), *home, *port, now);
            }
        }
    }

    fn handle_home(&mut self, event: FromHome) {
        let now = self.clock.now();
        match event {
            FromHome::Up => {
                self.homeward = Homeward::Up;
                self.machine.handle_home_found(now);
            }
            FromHome::Message(bytes) => self.machine.handle_home(&bytes, now),
            FromHome::Lost(reason) => {
                if self.homeward == Homeward::Up {
                    tracing::warn!(%reason, "the team server is lost; trying again");
                }
                self.homeward = Homeward::Lost;
                self.machine.handle_home_lost(now);
            }
        }
    }

    /// Asks the firewall for its counters, unless it is still busy with the last time.
    fn read(&mut self) {
        if !self.reading {
            self.reading = self.orders.send(Order::Read).is_ok();
        }
    }

    /// Carries out everything that the machine wants.
    fn drain(&mut self) {
        while let Some(event) = self.machine.poll_event() {
            self.carry_out(event);
        }
        while let Some(transmit) = self.machine.poll_transmit() {
            match transmit {
                Transmit::Visitor(path, bytes) => self.link.answer(path, bytes),
                Transmit::Home(bytes) => {
                    if self.homeward == Homeward::Lost || self.home.try_send(bytes).is_err() {
                        let now = self.clock.now();
                        self.machine.handle_home_lost(now);
                    }
                }
            }
        }
    }

    fn carry_out(&mut self, event: Event) {
        match event {
            Event::Connect { path, home } => {
                self.calls += 1;
                self.link.call(path, home);
            }
            Event::Disconnect(path) => self.link.end(path),
            Event::Opened { address, class, member } => {
                tracing::info!(%class, %member, "opened a session");
                self.order(Order::Open(address, class));
            }
            Event::Reclassified { address, class } => self.order(Order::Reclassify(address, class)),
            Event::Closing { address, .. } => {
                self.passing.remove(&address);
                self.order(Order::Close(address));
            }
            Event::Closed { session, code } => self.closed(&session, code),
            Event::Received(receipt, certificate) => {
                let now = self.clock.now().unix_seconds();
                let reply = |result: Result<_, guestright_store::StoreError>| {
                    if let Err(error) = result {
                        tracing::error!(%error, "a receipt could not be kept here");
                    }
                };
                if let Err(error) = self.store.put(vec![(receipt, *certificate)], now, reply) {
                    tracing::error!(%error, "a receipt could not be kept here");
                }
            }
            Event::Delivered(sessions) => {
                let _ = self.store.run(move |store| drop(store.mark_flushed(&sessions)));
            }
            Event::Refused { address, kind, reason } => tracing::debug!(%address, kind, %reason, "refused"),
        }
    }

    /// The sessions; open are those whose packets the firewall lets through.
    fn sessions(&self) -> Vec<Value> {
        let mut sessions = self.machine.status();
        for session in &mut sessions {
            session.open &= self.passing.contains(&session.address);
        }
        sessions.iter().map(session_json).collect()
    }

    fn order(&self, order: Order) {
        // The thread ends only after this loop.
        let _ = self.orders.send(order);
    }

    fn closed(&mut self, session: &SessionStatus, code: Code) {
        tracing::info!(%code, counted = %session.counted, signed = %session.signed, "closed a session");
        let mut ended = session_json(session);
        ended["end"] = json!(code.to_string());
        if self.ended.len() == ENDED_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(ended);
    }

    fn answer(&mut self, question: &str) -> Value {
        match question {
            "status" => json!({
                "team": self.team,
                "home_up": self.homeward == Homeward::Up,
                "sessions": self.sessions(),
                "closed": self.ended,
                "undelivered": self.machine.undelivered(),
                "refused": self.machine.refusals(),
                "dropped": self.drops,
                "allowance": self.allowance.map(|used| json!({ "used": used.0, "calls": self.calls })),
            }),
            "stop" => json!({ "stopping": true }),
            _ => json!({ "error": "the questions are: status, stop" }),
        }
    }
}

fn session_json(session: &SessionStatus) -> Value {
    json!({
        "ip": session.address.ip.to_string(),
        "mac": firewall::MacAddress::new(session.address.mac).map(|mac| mac.to_string()).unwrap_or_default(),
        "tunnel": session.address.home.map(|home| home.to_string()),
        "member": session.member.to_string(),
        "team": session.team.to_string(),
        "class": session.class.name(),
        "started": session.started.to_string(),
        "counted": session.counted.0,
        "signed": session.signed.0,
        "open": session.open,
    })
}

/// The receipts that were kept and not delivered when the program stopped.
fn undelivered(store: &Store) -> Result<Vec<(Receipt, Certificate)>, Failure> {
    let mut receipts = Vec::new();
    for outgoing in store.unflushed(10_000)? {
        let certificate = Certificate::parse_kept(&outgoing.certificate)?;
        receipts.push((Receipt::from_kept(&outgoing.receipt, &certificate)?, certificate));
    }
    Ok(receipts)
}
