//! A home's proxy: calls that it takes from one side to the other.

mod basics;
mod call;
mod calls;
mod config;
mod context;
mod event;
mod hint;
mod legs;
mod media;
mod rate;
mod report;
mod request;
mod response;
mod rewrite;
mod room;

pub use config::Config;
pub use event::{CallId, CallStatus, Event, Found, Link, MediaSide, Phase, Reach, Sides, Source};
pub use legs::{Legs, Side};
pub use room::CallRoom;

use crate::names::{Contact, Member, Names};
use crate::peer::{Party, Peer};
use crate::registrar::Registrar;
use crate::sdp::{Ports, SdpError, Secret, parse_description};
use crate::transaction::{self, ClientKey, ServerKey, Transactions};
use crate::{Message, MessageError, Method, Start};
use call::Call;
use calls::{Calls, LegId};
use context::Contexts;
use guestright_identity::KeyId;
use guestright_units::{Micros, Seed, Time};
use media::Exchange;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rate::Rates;
use report::Reports;
use rewrite::{Answer, NewRequest, OWN_HOPS, Outgoing, Rewriter, Tags, build_response};
use room::Rooms;
use std::collections::{BTreeMap, VecDeque};

/// How often bindings and forgotten parties are cleared away.
const TIDY_EVERY: Micros = Micros::from_seconds(60);

/// Registrar and proxy of one home.
///
/// It opens no socket, looks nobody up and reads no clock. One call in, then drain all that comes out:
///
/// 1. say who is there: [`set_members`](Self::set_members), [`set_contacts`](Self::set_contacts), and
///    [`handle_link`](Self::handle_link) for each home that a link is open to;
/// 2. give it every message that comes in ([`handle_message`](Self::handle_message)), and every peer that cannot be
///    sent to any more ([`handle_unreachable`](Self::handle_unreachable));
/// 3. call [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) is reached;
/// 4. after each of these, send what [`poll_transmit`](Self::poll_transmit) gives, and carry out what
///    [`poll_event`](Self::poll_event) asks for, until both are empty. A call waits for the answers, however late:
///    `Find` wants [`handle_found`](Self::handle_found), `Verify` [`handle_verified`](Self::handle_verified), and
///    `Allocate` [`handle_allocated`](Self::handle_allocated).
///
/// ```
/// use guestright_identity::KeyId;
/// use guestright_signalling::{Config, Member, Peer, Proxy};
/// use guestright_units::{Seed, Time};
///
/// let (home, alice, now) = (KeyId([1; 24]), KeyId([2; 24]), Time(0));
/// let mut proxy = Proxy::new(Config::new("10.73.5.1".parse()?, home), Seed::from_number(1), now);
/// let address = "10.73.5.2".parse()?;
/// proxy.set_members(vec![Member { name: "alice".to_owned(), key: alice, address }], now);
/// let options = "OPTIONS sip:10.73.5.1 SIP/2.0\r\nVia: SIP/2.0/UDP 10.73.5.2:5060;branch=z9hG4bK1\r\n\
///                From: <sip:alice@10.73.5.1>;tag=a\r\nTo: <sip:10.73.5.1>\r\nCall-ID: 1\r\nCSeq: 1 OPTIONS\r\n\r\n";
/// let telephone = Peer::Udp("10.73.5.2:5060".parse()?);
/// proxy.handle_message(telephone, options.as_bytes(), now);
/// let (peer, answer) = proxy.poll_transmit().expect("an answer");
/// assert_eq!(peer, telephone);
/// assert!(answer.starts_with(b"SIP/2.0 200 OK\r\n"));
/// assert!(proxy.poll_transmit().is_none() && proxy.poll_event().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Proxy {
    config: Config,
    names: Names,
    registrar: Registrar,
    links: BTreeMap<KeyId, Link>,
    calls: Calls,
    contexts: Contexts,
    transactions: Transactions,
    rewriter: Rewriter,
    rates: Rates,
    refused: BTreeMap<&'static str, u64>,
    rng: StdRng,
    events: VecDeque<Event>,
    tidy_at: Time,
    rooms: Rooms,
    reports: Reports,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (servers, clients) = (self.transactions.server_count(), self.transactions.client_count());
        let calls = self.calls.len();
        write!(f, "Proxy({calls} calls, {servers} server and {clients} client transactions)")
    }
}

impl Proxy {
    /// A home whose members, contacts and links are still to come.
    #[must_use]
    pub fn new(config: Config, seed: Seed, now: Time) -> Self {
        Self {
            names: Names::new(config.gateway, config.domains.clone()),
            registrar: Registrar::default(),
            links: BTreeMap::new(),
            calls: Calls::new(&config),
            contexts: Contexts::default(),
            transactions: Transactions::new(config.transactions()),
            rewriter: Rewriter::new(config.gateway, config.port),
            rates: Rates::new(config.rate_max, config.burst_max),
            refused: BTreeMap::new(),
            rng: StdRng::from_seed(seed.0),
            events: VecDeque::new(),
            tidy_at: now + TIDY_EVERY,
            rooms: Rooms::default(),
            reports: Reports::default(),
            config,
        }
    }

    /// These are the members from now on. Whoever is none any more loses telephones and calls.
    pub fn set_members(&mut self, members: Vec<Member>, now: Time) {
        self.names.set_members(members);
        let names = &self.names;
        self.registrar.remove_expired(|name| names.member(name).is_some(), now);
        let is_gone = |call: &Call| call.members().any(|name| names.member(name).is_none());
        let gone: Vec<CallId> =
            self.calls.iter().filter(|(_, call)| is_gone(call)).map(|(id, _)| id).collect();
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
        if !self.rates.admit(&party, now) {
            return self.refuse("too many messages");
        }
        match Message::parse(bytes) {
            Ok(message) => match &message.start {
                Start::Request { .. } => self.handle_request(from, party, &message, now),
                Start::Response { .. } => self.handle_response(from, &message, now),
            },
            Err(MessageError::Header(_)) => self.refuse("malformed header"),
            Err(MessageError::TooLong { .. }) => self.refuse("too long"),
            Err(MessageError::Malformed(_)) => self.refuse("malformed"),
        }
        self.handle_transaction_events(now);
    }

    /// Two line ends ask whether the connection is alive, one answers (RFC 5626 section 3.5.1).
    fn handle_keep_alive(&mut self, from: Peer, bytes: &[u8]) {
        if matches!(from, Peer::Tcp(_)) && bytes.starts_with(b"\r\n\r\n") && self.party(from).is_some() {
            self.transactions.send_directly(from, b"\r\n".to_vec());
        }
    }

    /// A link to another home is up, by whomever it was opened.
    pub fn handle_link(&mut self, home: KeyId, link: Link) {
        self.links.insert(home, link);
    }

    /// Nothing can be sent there now: what waits for an answer from there will not get one.
    pub fn handle_unreachable(&mut self, peer: Peer, now: Time) {
        self.transactions.handle_unreachable(peer);
        self.handle_transaction_events(now);
    }

    /// Somebody was looked for.
    pub fn handle_found(&mut self, call: CallId, reach: Reach, now: Time) {
        if self.calls.get(call).is_none_or(|entry| entry.phase != Phase::Finding) {
            return;
        }
        match reach {
            Reach::Home(Found { home, .. }) if !self.calls.has_room(&Party::Home(home)) => {
                self.fail(call, &Answer::too_many_calls(), now);
            }
            Reach::Home(Found { home, key })
                if self.links.contains_key(&home) && home != self.config.home =>
            {
                let Some(entry) = self.calls.get_mut(call) else { return };
                entry.set_callee(Peer::Home(home), Party::Home(home), rewrite::outside(key));
                self.calls.index(LegId { call, side: Side::Callee });
                self.allocate(call);
            }
            Reach::Home(_) | Reach::Away => self.fail(call, &Answer::new(480, "Home Not Reachable"), now),
            Reach::Unknown => self.fail(call, &Answer::new(404, "Nobody Knows The Home"), now),
        }
        self.handle_transaction_events(now);
    }

    /// It is known whether a caller has named the home that speaks for it as its own.
    pub fn handle_verified(&mut self, call: CallId, is_proven: bool, now: Time) {
        self.verified(call, is_proven, now);
        self.handle_transaction_events(now);
    }

    /// The media relay has opened ports for a call's two sides, or has none.
    pub fn handle_allocated(&mut self, call: CallId, ports: Option<Legs<Ports>>, now: Time) {
        let Some(entry) = self.calls.get_mut(call).filter(|entry| entry.phase == Phase::Allocating) else {
            return;
        };
        match ports {
            Some(ports) => {
                entry.media.ports = Some(ports);
                self.invite_callee(call, now);
            }
            None => self.fail(call, &Answer::new(503, "No Media Ports"), now),
        }
        self.handle_transaction_events(now);
    }

    /// What the household's access points say of calls now; those that are not in it are not heeded any more.
    pub fn set_rooms(&mut self, rooms: Vec<CallRoom>, now: Time) {
        self.rooms.set(rooms, now);
    }

    /// How many more calls fit at each access point that has spoken, without those that it may not have seen yet.
    pub fn room_left(&self) -> impl Iterator<Item = u32> {
        self.rooms.left()
    }

    /// A call's media have come, so that it does not count as dead.
    pub fn handle_media_received(&mut self, call: CallId, now: Time) {
        if let Some(call) = self.calls.get_mut(call) {
            call.alive = now;
        }
    }

    /// Ends a call from here, whatever its state. Both sides get a message that says so.
    pub fn hang_up(&mut self, call: CallId, reason: &str, now: Time) {
        self.hang_up_call(call, reason, now);
        self.handle_transaction_events(now);
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        self.transactions.handle_timeout(now);
        self.handle_transaction_events(now);
        for call in self.calls.handle_timeout(now) {
            self.hang_up(call, "neither media nor signalling", now);
        }
        if self.tidy_at <= now {
            let names = &self.names;
            self.registrar.remove_expired(|name| names.member(name).is_some(), now);
            self.rates.forget_full(now);
            self.tidy_at = now + TIDY_EVERY;
        }
    }

    /// The next message to send.
    pub fn poll_transmit(&mut self) -> Option<(Peer, Vec<u8>)> {
        self.transactions.poll_transmit()
    }

    /// The next thing to do or to know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is wanted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let others = [self.transactions.poll_timeout(), self.calls.poll_timeout()];
        others.into_iter().flatten().chain([self.tidy_at]).min()
    }

    /// The calls, the oldest first.
    pub fn calls(&self) -> impl Iterator<Item = CallStatus> {
        self.calls.iter().map(|(id, call)| call.status(id))
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

    /// Acts on what has become of transactions.
    fn handle_transaction_events(&mut self, now: Time) {
        while let Some(event) = self.transactions.poll_event() {
            match event {
                transaction::Event::NoResponse { key, response } => {
                    if let Some(branch) = self.contexts.close_branch(&key) {
                        self.finish(&key, &branch, &response, now);
                    }
                }
                transaction::Event::ClientEnded(key) => drop(self.contexts.close_branch(&key)),
                transaction::Event::ServerEnded(key) => self.contexts.close(&key),
                transaction::Event::Unanswered(key) => self.unanswered(&key, now),
                transaction::Event::CancelDropped(_) => {
                    self.refuse(transaction::TransactionError::TooMany.reason());
                }
            }
        }
    }

    /// A call's INVITE had no final answer for as long as anything may take.
    fn unanswered(&mut self, key: &ServerKey, now: Time) {
        let leg = self.contexts.get(key).and_then(|context| context.leg);
        let begins = |leg: &LegId| self.calls.get(leg.call).is_some_and(|call| call.server == *key);
        if let Some(leg) = leg.filter(begins) {
            self.fail(leg.call, &Answer::new(408, "Request Timeout"), now);
        }
    }

    /// Answers a request ourselves.
    fn reply(&mut self, key: &ServerKey, answer: &Answer, now: Time) {
        let Some(context) = self.contexts.get(key) else { return };
        self.transactions.respond(key, &build_response(context, answer), now);
    }

    /// A call that has not begun ends: the caller gets this answer, the callee's telephones stop ringing.
    fn fail(&mut self, id: CallId, answer: &Answer, now: Time) {
        let Some(call) = self.calls.get(id) else { return };
        let key = call.server.clone();
        self.reply(&key, answer, now);
        for branch in self.contexts.branches(&key) {
            self.transactions.cancel(&branch, now);
        }
        self.end_call(id);
    }

    fn hang_up_call(&mut self, id: CallId, reason: &str, now: Time) {
        let Some(call) = self.calls.get(id) else { return };
        match call.phase {
            Phase::Up => {
                for side in [Side::Caller, Side::Callee] {
                    self.send_bye(LegId { call: id, side }, reason, now);
                }
                self.await_reports(id, now);
                self.end_call(id);
            }
            Phase::Finding | Phase::Allocating | Phase::Calling => {
                self.fail(id, &Answer::new(480, "Ended By The Home"), now)
            }
        }
    }

    /// Ends the call on one side.
    fn send_bye(&mut self, leg: LegId, reason: &str, now: Time) {
        let branch = self.branch();
        let Some(call) = self.calls.get(leg.call) else { return };
        let to = &call.legs[leg.side];
        let Outgoing { peer, mut message } = self.rewriter.build_request(NewRequest {
            method: &Method::Bye,
            leg: to,
            route: &to.route,
            tags: Tags { from: call.tag(leg.side.other()), to: call.tag(leg.side) },
            branch: &branch,
            sequence: to.sequence.saturating_add(1),
        });
        message.push("Max-Forwards", OWN_HOPS);
        message.push("Reason", format!("Q.850;cause=16;text=\"{}\"", reason.replace(['"', '\\'], "'")));
        self.send(Outgoing { peer, message }, now);
    }

    /// Asks for ports.
    fn allocate(&mut self, id: CallId) {
        let Some(call) = self.calls.get_mut(id) else { return };
        call.phase = Phase::Allocating;
        if let Some(sides) = call.sides(&self.links) {
            self.events.push_back(Event::Allocate { call: id, sides });
        }
    }

    /// A call in which people talked is about to end: its members' telephones may say how it was.
    fn await_reports(&mut self, id: CallId, now: Time) {
        let Some(call) = self.calls.get(id).filter(|call| call.phase == Phase::Up) else { return };
        for leg in call.legs.iter() {
            if let Party::Member(name) = &leg.party {
                self.reports.note_ended(name, &leg.call_id, now);
            }
        }
    }

    /// Forgets a call. Transactions that are still open go on by themselves.
    fn end_call(&mut self, id: CallId) {
        let Some(call) = self.calls.remove(id) else { return };
        self.rooms.note_ended(id);
        if call.phase != Phase::Finding {
            self.events.push_back(Event::Release { call: id });
        }
    }

    /// Takes in a description from a leg and writes it for the other one.
    fn exchange(&mut self, leg: LegId, kind: Exchange, body: &[u8]) -> Result<Vec<u8>, SdpError> {
        let description = parse_description(body)?;
        let mut fresh = Secret([0; 28]);
        self.rng.fill_bytes(&mut fresh.0);
        let Some(call) = self.calls.get_mut(leg.call) else { return Err(SdpError::NoAudio) };
        let rewritten = call.exchange(leg.side, kind, &description, &fresh)?;
        if kind == Exchange::Answer
            && let Some(sides) = call.media_sides(&self.links)
        {
            self.events.push_back(Event::Update { call: leg.call, sides: Box::new(sides) });
        }
        Ok(rewritten)
    }

    /// Sends a request. Without a transaction, because there are too many, it is counted and dropped.
    fn send(&mut self, outgoing: Outgoing, now: Time) -> Option<ClientKey> {
        let sent = self.transactions.send_request(outgoing.peer, outgoing.message, now);
        sent.inspect_err(|error| self.refuse(error.reason())).ok()
    }

    /// Who sends from there, if anybody may.
    fn party(&self, from: Peer) -> Option<Party> {
        match from {
            Peer::Udp(address) | Peer::Tcp(address) => {
                self.names.member_at(address.ip()).map(|member| Party::Member(member.name.clone()))
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
}

#[cfg(test)]
mod tests;
