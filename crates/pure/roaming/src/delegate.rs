//! The home's machine for members that are away with nothing but a tunnel: it signs in their place.
//!
//! An access point connects and reports where the tunnel comes from. If a member's tunnel ends there, and the member
//! has delegated, the home speaks on that connection as the member's `Visitor` machine: CONN, and a RCPT for each
//! RREQ. The meter is the home's own count of the tunnel's datagrams.
//!
//! In: bytes of access points, what the gateway and the meter find, the time, chance. Out: bytes, events, the next timeout.
//!
//! Invariants: only the address that the tunnel's datagrams come from can have them signed for; no more is signed than
//! the member's [`Ledger`] allows, over all sessions of the day, nor more than the delegation's bytes of the day; what a
//! tunnel carries is counted in one session, and a member has one tunnel of each [`Way`]; what is signed is reported to be
//! kept before it is sent.

mod config;
mod connection;
mod mandate;
mod meter;

use crate::ledger::Ledger;
use crate::message::{Code, Message};
use crate::visitor;
use connection::{Connection, Stage};
use guestright_directory::Address;
use guestright_identity::{Certificate, KeyId};
use guestright_ordered::OrderedMap;
use guestright_receipt::{Bundle, Receipt};
use guestright_units::{Bytes, TeamId, Time, UnixSeconds};
use meter::Meter;
use rand::CryptoRng;
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU16;

pub use config::Config;
use mandate::Tunnel;
pub use mandate::{Mandate, MandateError, Way};

/// An access point's connection, numbered by the program around the machine.
pub type ConnectionId = u64;

/// What the meter has counted for each port of one address since its beginning, both ways.
pub type Counted = OrderedMap<u16, Bytes>;

/// What the home's meters say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Of the address that was asked for, of tunnels that come the same [`Way`], authentic or not.
    pub counted: Counted,
    /// Of the member's tunnel, wherever it ended, both ways since its beginning: at most so much was authentic. Nothing where
    /// nobody knows that.
    pub authentic: Option<Bytes>,
}

impl From<Counted> for Reading {
    /// A reading where nobody knows what was authentic.
    fn from(counted: Counted) -> Self {
        Self { counted, authentic: None }
    }
}

/// What a member's delegate has signed for on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Days since 1970, UTC.
    pub day: u64,
    pub bytes: Bytes,
}

/// What the program around the machine has to do or may want to know.
///
/// The program sends what [`Delegate::poll_transmit`] gives only after it has carried out the events.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Look up whose tunnel ends at this address, and call [`Delegate::handle_lookup`].
    LookupNeeded(ConnectionId, SocketAddrV4),
    /// Look up where this member's tunnel ends and read the meter for this address, and call
    /// [`Delegate::handle_meter`].
    MeterNeeded(ConnectionId, KeyId, Ipv4Addr),
    /// Keep this: it has to be known when the program starts again.
    Spent(KeyId, Spent),
    /// Keep this: what was counted and signed for, for this member.
    Metered(KeyId, Box<Ledger>),
    /// A session was granted.
    Granted {
        connection: ConnectionId,
        member: KeyId,
        /// Which team carries.
        provider: TeamId,
        /// Where the provider's home awaits other homes, as its access point says.
        home: Option<Address>,
    },
    Signed(ConnectionId, Receipt),
    /// The access point claimed more than was counted or than may be signed for.
    Disputed {
        connection: ConnectionId,
        claimed: Bytes,
        counted: Bytes,
    },
    /// A message, or a connection, was refused. Counted in [`Delegate::refusals`].
    Refused(ConnectionId, &'static str, String),
    /// Close this connection once everything is sent.
    Ended(ConnectionId, String),
}

/// A home that signs for its members.
///
/// An access point is announced with [`handle_connected`](Self::handle_connected), sends to
/// [`handle_input`](Self::handle_input), and goes with [`handle_hung_up`](Self::handle_hung_up). After every call that goes
/// in, the program drains what comes out:
///
/// 1. [`poll_event`](Self::poll_event) until there is none. [`Event::LookupNeeded`] is answered with
///    [`handle_lookup`](Self::handle_lookup), [`Event::MeterNeeded`] with [`handle_meter`](Self::handle_meter), at once or
///    later; [`Event::Spent`] and [`Event::Metered`] are durable before anything else happens.
/// 2. [`poll_transmit`](Self::poll_transmit) until there is none: only now, so that no receipt leaves before what it
///    spends is kept.
/// 3. [`poll_timeout`](Self::poll_timeout): then, [`handle_timeout`](Self::handle_timeout).
///
/// ```
/// use guestright_roaming::Message;
/// use guestright_roaming::delegate::{Config, Delegate, Event, Reading};
/// # use rand::SeedableRng;
/// # use guestright_ordered::OrderedMap;
/// # let mut rng = rand::rngs::StdRng::seed_from_u64(1);
/// # let now = guestright_units::UnixSeconds(1_800_000_000).time();
/// let mut delegate = Delegate::new(Config::default(), OrderedMap::new(), OrderedMap::new());
/// delegate.handle_connected(1, [198, 51, 100, 7].into(), now);
/// let port = 40_000.try_into()?;
/// delegate.handle_input(1, &Message::RreqTunnel { port, started: None }.emit(), now);
/// while let Some(event) = delegate.poll_event() {
///     if let Event::LookupNeeded(connection, tunnel) = event {
///         assert_eq!(tunnel, "198.51.100.7:40000".parse()?);
///         delegate.handle_lookup(connection, None, &Reading::default(), &mut rng, now); // It is no member's tunnel.
///     }
/// }
/// assert_eq!(delegate.poll_transmit(), None);
/// assert!(delegate.poll_timeout() > Some(now)); // Then it looks again: a tunnel may be younger than the connection.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Delegate {
    config: Config,
    connections: OrderedMap<ConnectionId, Connection>,
    spent: OrderedMap<KeyId, Spent>,
    ledgers: OrderedMap<KeyId, Ledger>,
    refusals: BTreeMap<&'static str, u64>,
    transmits: VecDeque<(ConnectionId, Vec<u8>)>,
    events: VecDeque<Event>,
}

/// One connection, as a person wants to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionStatus {
    pub from: Ipv4Addr,
    /// For which member, once that is known.
    pub member: Option<KeyId>,
    /// Which team provides, once that is known.
    pub provider: Option<TeamId>,
    /// What was counted in this session.
    pub counted: Bytes,
    /// What was signed for in this session.
    pub signed: Bytes,
}

impl Delegate {
    /// A delegate, what was signed for on the last day that is known, and the members' ledgers.
    pub fn new(
        config: Config,
        spent: impl IntoIterator<Item = (KeyId, Spent)>,
        ledgers: impl IntoIterator<Item = (KeyId, Ledger)>,
    ) -> Self {
        Self {
            config,
            connections: OrderedMap::new(),
            spent: spent.into_iter().collect(),
            ledgers: ledgers.into_iter().collect(),
            refusals: BTreeMap::new(),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Takes in that an access point connects from `ip`.
    pub fn handle_connected(&mut self, connection: ConnectionId, ip: Ipv4Addr, now: Time) {
        let same = self
            .connections
            .values()
            .filter(|connection| connection.ip == ip && connection.connected)
            .count();
        let full = same >= self.config.connections_per_address_max
            || self.connections.len() >= self.config.connections_max;
        self.connections.insert(connection, Connection::new(ip, now + self.config.first_word_max));
        if full {
            self.refuse(connection, "busy", Code::Busy, "too many connections at once".into());
        }
    }

    /// Takes an access point's message in.
    pub fn handle_input(&mut self, id: ConnectionId, bytes: &[u8], now: Time) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let message = match Message::parse(bytes) {
            Ok(message) => message,
            Err(error) => return self.note(id, error.kind(), error.to_string()),
        };
        match (message, &mut connection.stage) {
            (Message::RreqTunnel { port, started }, Stage::Silent) => {
                let ip = connection.ip;
                let (until, again) = (now + self.config.lookup_max, now + self.config.lookup_again);
                connection.stage = Stage::Looking { port, started, until, again };
                self.events.push_back(Event::LookupNeeded(id, SocketAddrV4::new(ip, port.get())));
            }
            (Message::Cack { certificate, .. }, Stage::Serving(serving))
                if !serving.mandate.delegation.allows(certificate.team_id()) =>
            {
                let team = certificate.team_id();
                let reason = format!("the member's delegation does not hold at team {team}");
                self.refuse(id, "provider", Code::Refused, reason);
            }
            (_, Stage::Serving(serving)) => {
                serving.visitor.handle_input(bytes, now);
                self.drain_visitor(id, now);
            }
            (other, Stage::Silent | Stage::Looking { .. }) => {
                let reason = format!("a {} comes before RREQ with Tunnel", other.method());
                self.note(id, "unexpected", reason);
            }
            (_, Stage::Over) => {}
        }
    }

    /// Takes in whose tunnel ends where the access point reported, what the meters have counted, and which receipts can be
    /// shown; nothing if it is no member's (yet), or the member has no delegation.
    pub fn handle_lookup(
        &mut self,
        id: ConnectionId,
        found: Option<(&Mandate, Bundle)>,
        reading: &Reading,
        rng: &mut impl CryptoRng,
        now: Time,
    ) {
        let Some(connection) = self.connections.get(&id) else { return };
        let Stage::Looking { port, started, .. } = connection.stage else { return };
        let ip = connection.ip;
        let Some((mandate, bundle)) = found else { return }; // It is asked for again until there is no more time.
        if let Err((kind, reason)) = self.check(mandate, now) {
            return self.refuse(id, kind, Code::Refused, reason);
        }
        let tunnel = mandate.tunnel();
        if self.resume(id, tunnel, ip, started, now) {
            return;
        }
        self.dismiss(tunnel, ip, reading, now);
        let key = mandate.key.clone();
        let certificate = mandate.certificate.clone();
        let config = self.config.visitor.clone();
        let visitor = visitor::Visitor::new(config, key, certificate, bundle, None, rng, now);
        let meter = Meter::new(port, reading);
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.stage = Stage::serving(mandate.clone(), visitor, meter);
        }
        self.limit(id, now);
        self.drain_visitor(id, now);
    }

    /// Takes in where the member's tunnel ends now, and what the meters say: also of each port of the address that was
    /// asked for.
    pub fn handle_meter(
        &mut self,
        id: ConnectionId,
        endpoint: Option<SocketAddrV4>,
        reading: &Reading,
        now: Time,
    ) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let ip = connection.ip;
        let Stage::Serving(serving) = &mut connection.stage else { return };
        let here = endpoint.filter(|endpoint| *endpoint.ip() == ip).and_then(|at| NonZeroU16::new(at.port()));
        serving.meter.read(here, reading);
        serving.metered = Some(now);
        let (before, total) = (serving.signed, serving.meter.total());
        self.limit(id, now);
        // Out of the map for as long as a visitor's machine writes in it.
        let Some(member) = self.connections.get(&id).and_then(Connection::member) else { return };
        let mut ledger = self.ledgers.remove(&member).unwrap_or_default();
        if let Some(serving) = self.serving(id) {
            serving.visitor.handle_meter(total, &mut ledger, now);
        }
        self.ledgers.insert(member, ledger);
        self.drain_visitor(id, now);
        self.leave_if_due(id, here.is_some(), before, now);
    }

    /// Takes in that a connection is gone. A session waits a while for its access point to connect again.
    pub fn handle_hung_up(&mut self, id: ConnectionId, now: Time) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.connected = false;
        match &mut connection.stage {
            Stage::Serving(serving) if serving.provider.is_some() => {
                serving.orphan_until = Some(now + self.config.orphan_max);
            }
            Stage::Serving(_) | Stage::Silent | Stage::Looking { .. } | Stage::Over => {
                self.connections.remove(&id);
            }
        }
    }

    /// Takes in that the time is now.
    pub fn handle_timeout(&mut self, now: Time) {
        let ids: Vec<_> = self.connections.keys().copied().collect();
        for id in ids {
            self.connection_timeout(id, now);
        }
    }

    /// Says goodbye to every access point, for a program that stops.
    pub fn shut_down(&mut self, now: Time) {
        let ids: Vec<_> = self.connections.keys().copied().collect();
        for id in ids {
            if let Some(serving) = self.serving(id) {
                serving.visitor.leave(now);
                self.drain_visitor(id, now);
            }
        }
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self) -> Option<(ConnectionId, Vec<u8>)> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Delegate::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.connections.values().filter_map(|connection| connection.timeout(self.config.meter_gap)).min()
    }

    /// The connections that lead or led to a session.
    pub fn status(&self) -> Vec<ConnectionStatus> {
        self.connections.values().filter_map(Connection::status).collect()
    }

    /// The certificate under which is signed on this connection, if it serves.
    pub fn certificate(&self, connection: ConnectionId) -> Option<&Certificate> {
        match &self.connections.get(&connection)?.stage {
            Stage::Serving(serving) => Some(&serving.mandate.certificate),
            Stage::Silent | Stage::Looking { .. } | Stage::Over => None,
        }
    }

    /// How the tunnel comes that is served on this connection, if it serves: [`handle_meter`](Self::handle_meter) is to be told
    /// of that one.
    pub fn way(&self, connection: ConnectionId) -> Option<Way> {
        self.connections.get(&connection)?.tunnel().map(|tunnel| tunnel.way)
    }

    /// What was signed for, by member.
    pub fn spent(&self) -> &OrderedMap<KeyId, Spent> {
        &self.spent
    }

    /// How many messages and connections were refused, by kind.
    pub fn refusals(&self) -> &BTreeMap<&'static str, u64> {
        &self.refusals
    }

    /// Why this member's delegate does not sign now.
    fn check(&self, mandate: &Mandate, now: Time) -> Result<(), (&'static str, String)> {
        let second = now.unix_seconds();
        if mandate.delegation.check(second).is_err() {
            return Err(("expired", format!("the member's delegation does not hold at {second}")));
        }
        if second < mandate.certificate.not_before() || second > mandate.certificate.not_after() {
            return Err(("expired", format!("the delegate's certificate does not hold at {second}")));
        }
        if self.left(mandate, now) <= self.config.reserve {
            return Err(("used-up", "the member's bytes of today are used up".into()));
        }
        Ok(())
    }

    /// What the member's delegate may still sign for today.
    fn left(&self, mandate: &Mandate, now: Time) -> Bytes {
        let spent = self.spent.get(&mandate.delegation.member_id());
        let today = spent.filter(|spent| spent.day >= day(now.unix_seconds()));
        let used = today.map_or(Bytes(0), |spent| spent.bytes);
        mandate.delegation.terms().bytes_per_day.saturating_sub(used)
    }

    /// The session that this access point had before its connection was lost goes on over the new one.
    fn resume(
        &mut self,
        id: ConnectionId,
        tunnel: Tunnel,
        ip: Ipv4Addr,
        started: Option<UnixSeconds>,
        now: Time,
    ) -> bool {
        let Some(started) = started else { return false };
        let is_it = |connection: &Connection| connection.ip == ip && connection.is_session(tunnel, started);
        let Some(old) =
            self.connections.iter().find(|(_, connection)| is_it(connection)).map(|(&old, _)| old)
        else {
            return false;
        };
        let Some(before) = self.connections.remove(&old) else { return false };
        if before.connected {
            self.events.push_back(Event::Ended(old, "the access point connected again".into()));
        }
        let Some(connection) = self.connections.get_mut(&id) else { return true };
        connection.stage = before.stage;
        if let Stage::Serving(serving) = &mut connection.stage {
            (serving.orphan_until, serving.asked) = (None, false);
        }
        self.drain_visitor(id, now);
        true
    }

    /// It is one tunnel, hence one session: the others of its are over.
    fn dismiss(&mut self, tunnel: Tunnel, ip: Ipv4Addr, reading: &Reading, now: Time) {
        let of = |(_, connection): &(&ConnectionId, &Connection)| connection.tunnel() == Some(tunnel);
        let ids: Vec<_> = self.connections.iter().filter(of).map(|(&id, _)| id).collect();
        for id in ids {
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            if connection.ip == ip
                && let Stage::Serving(serving) = &mut connection.stage
            {
                // The new session counts from this reading on, at this address; the same bytes are not counted twice.
                serving.meter.close(reading);
            }
            if connection.connected
                && let Stage::Serving(serving) = &mut connection.stage
            {
                // What is not signed for yet still can be, for as long as the old access point asks.
                serving.visitor.leave(now);
                self.drain_visitor(id, now);
            } else {
                self.connections.remove(&id);
            }
        }
    }

    fn serving(&mut self, id: ConnectionId) -> Option<&mut connection::Serving> {
        match &mut self.connections.get_mut(&id)?.stage {
            Stage::Serving(serving) => Some(serving),
            Stage::Silent | Stage::Looking { .. } | Stage::Over => None,
        }
    }

    /// Tells the visitor's machine what it may sign for at most.
    fn limit(&mut self, id: ConnectionId, now: Time) {
        let Some(serving) = self.serving(id) else { return };
        let mandate = serving.mandate.clone();
        let signed = serving.signed;
        let left = if mandate.delegation.check(now.unix_seconds()).is_ok() {
            self.left(&mandate, now)
        } else {
            Bytes(0)
        };
        if let Some(serving) = self.serving(id) {
            serving.visitor.limit(signed.saturating_add(left));
        }
    }

    /// Leaves while the last bytes can still be signed for: the tunnel ends elsewhere, or the day's bytes do not last
    /// for two more periods like the last one.
    fn leave_if_due(&mut self, id: ConnectionId, here: bool, before: Bytes, now: Time) {
        let reserve = self.config.reserve;
        let Some(serving) = self.serving(id) else { return };
        let period = serving.signed.saturating_sub(before);
        let mandate = serving.mandate.clone();
        let holds = mandate.delegation.check(now.unix_seconds()).is_ok();
        let needed = Bytes(period.0.saturating_mul(2)).saturating_add(reserve);
        if here && holds && self.left(&mandate, now) > needed {
            return;
        }
        if let Some(serving) = self.serving(id) {
            serving.visitor.leave(now);
            self.drain_visitor(id, now);
        }
    }

    fn drain_visitor(&mut self, id: ConnectionId, now: Time) {
        while let Some(event) = self.serving(id).and_then(|serving| serving.visitor.poll_event()) {
            self.carry_out(id, event, now);
        }
        let orphan = self.connections.get(&id).is_some_and(|connection| !connection.connected);
        while let Some(bytes) = self.serving(id).and_then(|serving| serving.visitor.poll_transmit()) {
            if !orphan {
                self.transmits.push_back((id, bytes));
            }
        }
        if self.serving(id).is_some_and(|serving| serving.ended) {
            self.end(id);
        }
    }

    fn carry_out(&mut self, id: ConnectionId, event: visitor::Event, now: Time) {
        let gap = self.config.meter_gap;
        let Some(serving) = self.serving(id) else { return };
        let member = serving.mandate.delegation.member_id();
        match event {
            visitor::Event::Granted { provider, started, home, .. } => {
                (serving.provider, serving.started) = (Some(provider), Some(started));
                self.events.push_back(Event::Granted { connection: id, member, provider, home });
            }
            visitor::Event::MeterNeeded => {
                serving.asked = true;
                if serving.meter_due(gap).is_none_or(|due| now >= due) {
                    self.ask_meter(id);
                }
            }
            visitor::Event::Signed(receipt) => {
                let more = receipt.weight().saturating_sub(serving.signed);
                serving.signed = serving.signed.max(receipt.weight());
                self.spend(member, more, now);
                self.events.push_back(Event::Signed(id, receipt));
            }
            visitor::Event::Disputed { claimed, counted } => {
                *self.refusals.entry("disputed").or_default() += 1;
                self.events.push_back(Event::Disputed { connection: id, claimed, counted });
            }
            visitor::Event::Dropped { kind, reason } => self.note(id, kind, reason),
            visitor::Event::Ended { reason, .. } => {
                serving.ended = true;
                self.events.push_back(Event::Ended(id, reason));
            }
        }
    }

    fn ask_meter(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let ip = connection.ip;
        if let Stage::Serving(serving) = &mut connection.stage {
            serving.asked = false;
            let member = serving.mandate.delegation.member_id();
            self.events.push_back(Event::MeterNeeded(id, member, ip));
        }
    }

    fn spend(&mut self, member: KeyId, more: Bytes, now: Time) {
        if more == Bytes(0) {
            return;
        }
        let today = day(now.unix_seconds());
        let spent = self.spent.entry(member).or_default();
        if spent.day < today {
            *spent = Spent { day: today, bytes: Bytes(0) }; // A clock that goes back gives nothing back.
        }
        spent.bytes = spent.bytes.saturating_add(more);
        let spent = *spent;
        self.events.push_back(Event::Spent(member, spent));
        let ledger = self.ledgers.get(&member).cloned().unwrap_or_default();
        self.events.push_back(Event::Metered(member, Box::new(ledger)));
    }

    fn connection_timeout(&mut self, id: ConnectionId, now: Time) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let ip = connection.ip;
        match &mut connection.stage {
            Stage::Silent if now >= connection.until => {
                self.refuse(id, "silent", Code::Malformed, "no RREQ with Tunnel came".into());
            }
            Stage::Looking { until, .. } if now >= *until => {
                let reason = "no tunnel of a member that has delegated ends at that port";
                self.refuse(id, "no-tunnel", Code::NoSession, reason.into());
            }
            Stage::Looking { port, again, .. } if now >= *again => {
                *again = now + self.config.lookup_again;
                let at = SocketAddrV4::new(ip, port.get());
                self.events.push_back(Event::LookupNeeded(id, at));
            }
            Stage::Serving(serving) if serving.orphan_until.is_some_and(|until| now >= until) => {
                self.connections.remove(&id);
            }
            Stage::Serving(serving) => {
                let metering =
                    serving.asked && serving.meter_due(self.config.meter_gap).is_none_or(|due| now >= due);
                if serving.visitor.poll_timeout().is_some_and(|due| now >= due) {
                    serving.visitor.handle_timeout(now);
                }
                if metering {
                    self.ask_meter(id);
                }
                self.drain_visitor(id, now);
            }
            Stage::Silent | Stage::Looking { .. } | Stage::Over => {}
        }
    }

    fn note(&mut self, id: ConnectionId, kind: &'static str, reason: String) {
        *self.refusals.entry(kind).or_default() += 1;
        self.events.push_back(Event::Refused(id, kind, reason));
    }

    /// Refuses a connection.
    fn refuse(&mut self, id: ConnectionId, kind: &'static str, code: Code, reason: String) {
        self.transmits.push_back((id, Message::error(code, &reason).emit()));
        self.events.push_back(Event::Ended(id, reason.clone()));
        self.note(id, kind, reason);
        self.end(id);
    }

    /// Nothing that comes from there counts any more; the program closes the connection.
    fn end(&mut self, id: ConnectionId) {
        match self.connections.get_mut(&id) {
            Some(connection) if connection.connected => connection.stage = Stage::Over,
            Some(_) | None => drop(self.connections.remove(&id)),
        }
    }
}

/// Days since 1970.
fn day(now: UnixSeconds) -> u64 {
    now.0 / 86_400
}
