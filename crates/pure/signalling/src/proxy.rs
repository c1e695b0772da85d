//! The machine: SIP transactions (RFC 3261 section 17), and calls that it takes from one side to the other.

mod call;
mod config;
mod forward;
mod hint;
mod media;
mod own;
mod request;
mod response;
mod transaction;

pub use call::{CallId, CallStatus, Phase};
pub use config::{Config, Event, Found, Link, MediaSide, Peer, Reach, Sides, Source};

use crate::names::{Contact, Member, Names};
use crate::registrar::Registrar;
use crate::sdp::Ports;
use crate::{Message, MessageError, Method, Start};
use call::Call;
use config::{Bucket, Party};
use guestright_identity::KeyId;
use guestright_units::{Micros, Seed, Time};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transaction::{Client, ClientKey, Server, ServerKey, Timer};

/// How often bindings and forgotten parties are cleared away.
const TIDY_EVERY: Micros = Micros::from_seconds(60);

/// Registrar and proxy of one home.
pub struct Proxy {
    config: Config,
    names: Names,
    registrar: Registrar,
    links: BTreeMap<KeyId, Link>,
    calls: BTreeMap<CallId, Call>,
    by_leg: BTreeMap<(Party, String), (CallId, usize)>,
    next_call: u64,
    servers: BTreeMap<ServerKey, Server>,
    clients: BTreeMap<ClientKey, Client>,
    timers: BTreeSet<(Time, Timer)>,
    buckets: BTreeMap<Party, Bucket>,
    refused: BTreeMap<&'static str, u64>,
    rng: StdRng,
    transmits: VecDeque<(Peer, Vec<u8>)>,
    events: VecDeque<Event>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (calls, servers, clients) = (self.calls.len(), self.servers.len(), self.clients.len());
        write!(f, "Proxy({calls} calls, {servers} server and {clients} client transactions)")
    }
}

impl Proxy {
    /// A home whose members, contacts and links are still to come.
    #[must_use]
    pub fn new(config: Config, seed: Seed, now: Time) -> Self {
        let names = Names::new(config.gateway, config.domains.clone());
        Self {
            config,
            names,
            registrar: Registrar::default(),
            links: BTreeMap::new(),
            calls: BTreeMap::new(),
            by_leg: BTreeMap::new(),
            next_call: 0,
            servers: BTreeMap::new(),
            clients: BTreeMap::new(),
            timers: BTreeSet::from([(now + TIDY_EVERY, Timer::Tidy)]),
            buckets: BTreeMap::new(),
            refused: BTreeMap::new(),
            rng: StdRng::from_seed(seed.0),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// These are the members from now on. Whoever is none any more loses telephones and calls.
    pub fn set_members(&mut self, members: Vec<Member>, now: Time) {
        self.names.set_members(members);
        let names = &self.names;
        self.registrar.tidy(|name| names.member(name).is_some(), now);
        let is_gone = |call: &Call| call.members().any(|name| names.member(name).is_none());
        let gone: Vec<CallId> =
            self.calls.iter().filter(|(_, call)| is_gone(call)).map(|(id, _)| *id).collect();
        for call in gone {
            self.hang_up(call, "member removed", now);
        }
    }

    /// These are the contacts from now on.
    pub fn set_contacts(&mut self, contacts: Vec<Contact>) {
        self.names.set_contacts(contacts);
    }

    /// A message has come in.
    pub fn handle_message(&mut self, from: Peer, bytes: &[u8], now: Time) {
        if bytes.iter().all(|byte| b"\r\n\0".contains(byte)) {
            return self.handle_keep_alive(from, bytes);
        }
        let Some(party) = self.party(from) else { return self.refuse("not from a member") };
        let bucket =
            self.buckets.entry(party.clone()).or_insert_with(|| Bucket::new(self.config.burst_max, now));
        if !bucket.take(self.config.rate_max, self.config.burst_max, now) {
            return self.refuse("too many messages");
        }
        match Message::parse(bytes) {
            Ok(message) => match message.start.clone() {
                Start::Request { method, uri } => {
                    self.handle_request(from, party, method, &uri, message, now)
                }
                Start::Response { code, .. } => self.handle_response(from, code, &message, now),
            },
            Err(MessageError::Header(_)) => self.refuse("malformed header"),
            Err(MessageError::TooLong { .. }) => self.refuse("too long"),
            Err(MessageError::Malformed(_)) => self.refuse("malformed"),
        }
    }

    /// Two line ends ask whether the connection is alive, one answers (RFC 5626 section 3.5.1).
    fn handle_keep_alive(&mut self, from: Peer, bytes: &[u8]) {
        if matches!(from, Peer::Tcp(_)) && bytes.starts_with(b"\r\n\r\n") && self.party(from).is_some() {
            self.transmits.push_back((from, b"\r\n".to_vec()));
        }
    }

    /// A link to another home is up, by whomever it was opened.
    pub fn handle_link(&mut self, home: KeyId, link: Link) {
        self.links.insert(home, link);
    }

    /// Nothing can be sent there now: what waits for an answer from there will not get one.
    pub fn handle_unreachable(&mut self, peer: Peer, now: Time) {
        let waits = |client: &&Client| client.peer == peer && client.waits();
        let lost: Vec<ClientKey> =
            self.clients.iter().filter(|(_, client)| waits(client)).map(|(key, _)| key.clone()).collect();
        for key in lost {
            self.give_up(&key, 503, "Not Reachable", now);
        }
    }

    /// Somebody was looked for.
    pub fn handle_found(&mut self, call: CallId, reach: Reach, now: Time) {
        if self.calls.get(&call).is_none_or(|entry| entry.phase != Phase::Finding) {
            return;
        }
        match reach {
            Reach::Home(Found { home, .. }) if !self.has_room(&Party::Home(home)) => {
                self.fail(call, 503, "Too Many Calls", Some(("Retry-After", "30".to_owned())), now);
            }
            Reach::Home(Found { home, key })
                if self.links.contains_key(&home) && home != self.config.home =>
            {
                let Some(entry) = self.calls.get_mut(&call) else { return };
                entry.lead_to(Peer::Home(home), Party::Home(home), config::outside(key));
                self.by_leg.insert((Party::Home(home), entry.legs[1].call_id.clone()), (call, 1));
                self.allocate(call);
            }
            Reach::Home(_) | Reach::Away => self.fail(call, 480, "Home Not Reachable", None, now),
            Reach::Unknown => self.fail(call, 404, "Nobody Knows The Home", None, now),
        }
    }

    /// It is known whether a caller has named the home that speaks for it as its own.
    pub fn handle_verified(&mut self, call: CallId, is_proven: bool, now: Time) {
        self.verified(call, is_proven, now);
    }

    /// The media relay has opened ports for a call's two sides, or has none.
    pub fn handle_allocated(&mut self, call: CallId, ports: Option<[Ports; 2]>, now: Time) {
        let Some(entry) = self.calls.get_mut(&call).filter(|entry| entry.phase == Phase::Allocating) else {
            return;
        };
        match ports {
            Some(ports) => {
                entry.media.ports = Some(ports);
                self.invite_callee(call, now);
            }
            None => self.fail(call, 503, "No Media Ports", None, now),
        }
    }

    /// A call's media have been heard, so that it is not taken for dead.
    pub fn handle_media_heard(&mut self, call: CallId, now: Time) {
        if let Some(call) = self.calls.get_mut(&call) {
            call.alive = now;
        }
    }

    /// Ends a call from here, whatever its state: both sides are told.
    pub fn hang_up(&mut self, call: CallId, reason: &str, now: Time) {
        let Some(entry) = self.calls.get(&call) else { return };
        match entry.phase {
            Phase::Up => {
                for leg in [0, 1] {
                    self.send_bye(call, leg, reason, now);
                }
                self.end_call(call);
            }
            Phase::Finding | Phase::Allocating | Phase::Calling => {
                self.fail(call, 480, "Ended By The Home", None, now)
            }
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((due, timer)) = self.timers.first().cloned().filter(|(due, _)| *due <= now) {
            self.timers.remove(&(due, timer.clone()));
            match timer {
                Timer::Server(key) => self.server_timeout(&key, due, now),
                Timer::Client(key) => self.client_timeout(&key, due, now),
                Timer::Call(call) => self.call_timeout(call, now),
                Timer::Tidy => self.tidy(now),
            }
        }
    }

    fn call_timeout(&mut self, call: CallId, now: Time) {
        let Some(entry) = self.calls.get(&call) else { return };
        let dead_at = entry.alive + self.config.dead_after;
        if dead_at <= now {
            return self.hang_up(call, "neither media nor signalling", now);
        }
        self.timers.insert((dead_at, Timer::Call(call)));
    }

    fn tidy(&mut self, now: Time) {
        let names = &self.names;
        self.registrar.tidy(|name| names.member(name).is_some(), now);
        let (rate, burst) = (self.config.rate_max, self.config.burst_max);
        self.buckets.retain(|_, bucket| !bucket.is_full(rate, burst, now));
        self.timers.insert((now + TIDY_EVERY, Timer::Tidy));
    }

    /// The next message to send.
    pub fn poll_transmit(&mut self) -> Option<(Peer, Vec<u8>)> {
        self.transmits.pop_front()
    }

    /// The next thing to do or to know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is wanted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// The calls, the oldest first.
    pub fn calls(&self) -> impl Iterator<Item = CallStatus> {
        self.calls.iter().map(|(id, call)| call.status(*id))
    }

    /// Who has how many telephones registered.
    pub fn telephones(&self, now: Time) -> impl Iterator<Item = (&str, usize)> {
        self.registrar.members(now)
    }

    /// Messages that were dropped, by reason.
    #[must_use]
    pub fn refused(&self) -> &BTreeMap<&'static str, u64> {
        &self.refused
    }

    /// Who sends from there, if anybody may.
    fn party(&self, from: Peer) -> Option<Party> {
        match from {
            Peer::Udp(address) | Peer::Tcp(address) => {
                self.names.at(address.ip()).map(|member| Party::Member(member.name.clone()))
            }
            Peer::Home(home) => self.links.contains_key(&home).then_some(Party::Home(home)),
        }
    }

    fn refuse(&mut self, reason: &'static str) {
        *self.refused.entry(reason).or_default() += 1;
    }

    fn token(&mut self) -> String {
        format!("{:016x}{:016x}", self.rng.next_u64(), self.rng.next_u64())
    }

    fn branch(&mut self) -> String {
        format!("z9hG4bK{}", self.token())
    }

    /// Whether a method may be forwarded within a call.
    fn is_forwarded(method: &Method) -> bool {
        match method {
            Method::Invite
            | Method::Bye
            | Method::Update
            | Method::Prack
            | Method::Info
            | Method::Options => true,
            Method::Ack | Method::Cancel | Method::Register | Method::Other(_) => false,
        }
    }
}

#[cfg(test)]
mod tests;
