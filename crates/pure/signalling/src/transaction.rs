//! SIP's transaction layer (RFC 3261 section 17, with the corrections of RFC 6026): requests and their responses,
//! repeated until they arrive or until there is no hope any more.
//!
//! In: messages with the [`Peer`] that they came from, requests to send, responses to give, and the time. Out: messages
//! with the peer that they are for, and [`Event`]s about transactions that have ended.
//!
//! Invariants:
//! - a request that comes again is answered again and never handed to the user twice;
//! - a response counts only if it comes from the host that the request went to;
//! - every transaction ends, and there are never more than [`Limits::transactions_max`] of a kind.

mod client;
mod key;
mod server;

pub use key::{ClientKey, ServerKey};

use crate::{Message, Method, NameAddress, Peer, Start, Via};
use client::Client;
use guestright_units::{Micros, Time};
use server::Server;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thiserror::Error;

/// An estimate of the round trip (RFC 3261 section 17.1.1.1).
pub const T1: Micros = Micros::from_millis(500);
/// The longest interval between two repetitions (RFC 3261 section 17.1.2.2).
pub const T2: Micros = Micros::from_seconds(4);
/// How long a message may travel (RFC 3261 section 17.1.2.2).
pub const T4: Micros = Micros::from_seconds(5);
/// 64 T1: how long a request is tried (timers B and F), and how long repetitions of it, of its responses and of a
/// response without ACK are expected (timers D, H, J, K, L and M).
///
/// RFC 3261 allows timer K to be shorter, T4. The longer one only absorbs more.
pub const TRANSACTION_MAX: Micros = Micros::from_seconds(32);

/// Limits of a transaction layer.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Client transactions at a time, and server transactions at a time.
    pub transactions_max: usize,
    /// For how long a telephone may ring (timer C, RFC 3261 section 16.6: more than three minutes).
    pub ring_max: Micros,
}

/// Why a message belongs to no transaction, or begins none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TransactionError {
    /// A request whose top Via is not understood or has no branch of RFC 3261.
    #[error("no way back")]
    NoReturnPath,
    /// A response without a Via or a CSeq that is understood.
    #[error("malformed header")]
    MalformedHeader,
    /// A response to a request that was not sent, or not lately.
    #[error("an answer to nothing")]
    Unmatched,
    /// A response from another host than the request was sent to.
    #[error("an answer from elsewhere")]
    WrongSource,
    /// The limit is reached.
    #[error("too many transactions")]
    TooMany,
}

impl TransactionError {
    /// The same words as [`Display`](std::fmt::Display), for counters.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoReturnPath => "no way back",
            Self::MalformedHeader => "malformed header",
            Self::Unmatched => "an answer to nothing",
            Self::WrongSource => "an answer from elsewhere",
            Self::TooMany => "too many transactions",
        }
    }
}

/// What becomes of a request that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// It begins a transaction; answer it with [`Transactions::respond`].
    New {
        key: ServerKey,
        /// The request; its top Via says where it came from (RFC 3261 section 18.2.1).
        request: Message,
    },
    /// ACK of a 2xx response, which is in no transaction and is forwarded on its own.
    Ack,
    /// It has come before, or it is the ACK of a failure. There is nothing to do.
    Absorbed,
}

/// What has become of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// No final response has come or will come. The transaction has ended.
    NoResponse {
        key: ClientKey,
        /// The response that RFC 3261 section 8.1.3.1 wants the user to act on: 408 or 503.
        response: Message,
    },
    /// A client transaction has ended after its final response.
    ClientEnded(ClientKey),
    /// An INVITE that got provisional responses was not answered in time. One final response may be given now; it is
    /// sent once.
    Unanswered(ServerKey),
    /// A server transaction has ended.
    ServerEnded(ServerKey),
    /// A CANCEL was not sent: there are too many transactions.
    CancelDropped(ClientKey),
}

/// What wants to be looked at when its time comes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Server(ServerKey),
    Client(ClientKey),
}

/// A message that is sent again and again (timers A, E and G).
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    at: Time,
    /// The interval that ends then.
    interval: Micros,
}

impl Retransmission {
    fn first(now: Time) -> Self {
        Self { at: now + T1, interval: T1 }
    }

    /// After one repetition. INVITE doubles its interval without end (timer A), everything else up to T2 (timers E, G).
    fn next(self, is_limited: bool, now: Time) -> Self {
        let doubled = Micros(self.interval.0 * 2);
        let interval = if is_limited { Micros(doubled.0.min(T2.0)) } else { doubled };
        Self { at: now + interval, interval }
    }

    fn due(this: Option<Self>, ends: Time) -> Time {
        this.map_or(ends, |this| this.at.min(ends))
    }
}

/// All transactions of one SIP element.
///
/// Bytes come from and go to the caller; the time is an argument. One call in, then drain all that comes out:
///
/// 1. give a request that came in to [`handle_request`](Self::handle_request) and answer [`Incoming::New`] with
///    [`respond`](Self::respond), now or later, with any number of provisional responses and one final one;
/// 2. send requests with [`send_request`](Self::send_request), and give every response that comes in to
///    [`handle_response`](Self::handle_response), which says whether it is new;
/// 3. call [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) is reached;
/// 4. after each of these, send what [`poll_transmit`](Self::poll_transmit) gives and act on
///    [`poll_event`](Self::poll_event), until both are empty.
///
/// ```
/// use guestright_signalling::transaction::{Event, Limits, T1, TRANSACTION_MAX, Transactions};
/// use guestright_signalling::{Message, Method, Peer};
/// use guestright_units::{Micros, Time};
///
/// let limits = Limits { transactions_max: 16, ring_max: Micros::from_seconds(185) };
/// let (mut transactions, now) = (Transactions::new(limits), Time(0));
/// let peer = Peer::Udp("192.0.2.2:5060".parse()?);
/// let options = Message::request(Method::Options, "sip:192.0.2.2")
///     .with("Via", "SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK1")
///     .with("CSeq", "1 OPTIONS");
/// transactions.send_request(peer, options, now)?;
/// assert!(transactions.poll_transmit().is_some());
/// // Half a second later it is sent again, and after 32 s it has failed.
/// assert_eq!(transactions.poll_timeout(), Some(now + T1));
/// transactions.handle_timeout(now + T1);
/// assert!(transactions.poll_transmit().is_some());
/// transactions.handle_timeout(now + TRANSACTION_MAX);
/// assert!(matches!(transactions.poll_event(), Some(Event::NoResponse { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Transactions {
    limits: Limits,
    servers: BTreeMap<ServerKey, Server>,
    clients: BTreeMap<ClientKey, Client>,
    timers: BTreeSet<(Time, Timer)>,
    transmits: VecDeque<(Peer, Vec<u8>)>,
    events: VecDeque<Event>,
}

impl Transactions {
    /// No transactions yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            servers: BTreeMap::new(),
            clients: BTreeMap::new(),
            timers: BTreeSet::new(),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// A request has come in.
    ///
    /// # Errors
    /// [`TransactionError::NoReturnPath`] or `TooMany`. The request is to be dropped.
    pub fn handle_request(
        &mut self,
        from: Peer,
        request: &Message,
        now: Time,
    ) -> Result<Incoming, TransactionError> {
        let Start::Request { method, .. } = &request.start else {
            return Err(TransactionError::NoReturnPath);
        };
        let (via, branch) = top_via(request, from).ok_or(TransactionError::NoReturnPath)?;
        let key = ServerKey { peer: from, branch, method: method.clone() };
        if *method == Method::Ack {
            // The ACK of a failure ends here, that of a 2xx response goes on to whoever has sent the response.
            let is_ours = self.acknowledge(&key.invite(), now);
            return Ok(if is_ours { Incoming::Absorbed } else { Incoming::Ack });
        }
        if let Some(server) = self.servers.get(&key) {
            self.transmits.extend(server.repetition().map(|bytes| (from, bytes)));
            return Ok(Incoming::Absorbed);
        }
        if self.servers.len() >= self.limits.transactions_max {
            return Err(TransactionError::TooMany);
        }
        let server = Server::new(*method == Method::Invite, self.limits.ring_max, now);
        self.timers.insert((server.due, Timer::Server(key.clone())));
        self.servers.insert(key.clone(), server);
        Ok(Incoming::New { key, request: request.with_top_via(&via, 1) })
    }

    /// Sends a response in a transaction that is still open for it; else nothing happens.
    pub fn respond(&mut self, key: &ServerKey, response: &Message, now: Time) {
        let Start::Response { code, .. } = response.start else { return };
        let Some(server) = self.servers.get_mut(key) else { return };
        let bytes = response.emit();
        if !server.respond(code, bytes.clone(), key.peer.is_reliable(), now) {
            return;
        }
        let is_last = server.is_over();
        self.transmits.push_back((key.peer, bytes));
        if is_last {
            self.end_server(key);
        } else {
            self.schedule_server(key);
        }
    }

    /// Sends a request. Its top Via is ours and has a branch that no other request had.
    ///
    /// # Errors
    /// [`TransactionError::NoReturnPath`] or `TooMany`. Nothing was sent.
    pub fn send_request(
        &mut self,
        peer: Peer,
        request: Message,
        now: Time,
    ) -> Result<ClientKey, TransactionError> {
        let via = request.list("Via").next().and_then(|text| Via::parse(text).ok());
        let branch = via.as_ref().and_then(Via::branch).map(str::to_owned);
        let (Some(branch), Start::Request { method, .. }) = (branch, &request.start) else {
            return Err(TransactionError::NoReturnPath);
        };
        if self.clients.len() >= self.limits.transactions_max {
            return Err(TransactionError::TooMany);
        }
        let key = ClientKey { branch, method: method.clone() };
        let client = Client::new(peer, request, now);
        self.transmits.push_back((peer, client.bytes()));
        self.timers.insert((client.due, Timer::Client(key.clone())));
        self.clients.insert(key.clone(), client);
        Ok(key)
    }

    /// Sends a message that is in no transaction: the ACK of a 2xx response (RFC 3261 section 13.2.2.4), or what keeps
    /// a connection alive.
    pub fn send_directly(&mut self, peer: Peer, bytes: Vec<u8>) {
        self.transmits.push_back((peer, bytes));
    }

    /// A response has come in. Gives its transaction if the response is to be looked at: one that was seen before is
    /// not, but for 2xx responses to INVITE, which are acknowledged each time.
    ///
    /// # Errors
    /// [`TransactionError`]. The response is to be dropped.
    pub fn handle_response(
        &mut self,
        from: Peer,
        response: &Message,
        now: Time,
    ) -> Result<Option<ClientKey>, TransactionError> {
        let Start::Response { code, .. } = response.start else { return Err(TransactionError::Unmatched) };
        let key = ClientKey::from_response(response).ok_or(TransactionError::MalformedHeader)?;
        let client = self.clients.get_mut(&key).ok_or(TransactionError::Unmatched)?;
        if !client.peer.is_same_host(from) {
            return Err(TransactionError::WrongSource);
        }
        let is_new = client.handle_response(code, self.limits.ring_max, now);
        let ack = client.acknowledgement(code, response).map(|bytes| (client.peer, bytes));
        let is_withdrawn = client.is_withdrawn();
        self.transmits.extend(ack);
        self.schedule_client(&key);
        if !is_new {
            return Ok(None);
        }
        if code < 200 && is_withdrawn {
            self.cancel(&key, now);
            return Ok(None);
        }
        Ok(Some(key))
    }

    /// Withdraws an INVITE, as soon as its receiver has shown that it knows of it (RFC 3261 section 9.1). Its final
    /// response still comes.
    pub fn cancel(&mut self, key: &ClientKey, now: Time) {
        let Some(client) = self.clients.get_mut(key) else { return };
        let Some(cancel) = client.cancel(now) else { return };
        let peer = client.peer;
        self.schedule_client(key);
        if self.send_request(peer, cancel, now).is_err() {
            self.events.push_back(Event::CancelDropped(key.clone()));
        }
    }

    /// Nothing can be sent there now: requests that wait for a response from there will not get one.
    pub fn handle_unreachable(&mut self, peer: Peer) {
        let waits = |client: &&Client| client.peer == peer && client.is_waiting();
        let lost: Vec<ClientKey> =
            self.clients.iter().filter(|(_, client)| waits(client)).map(|(key, _)| key.clone()).collect();
        for key in lost {
            self.give_up(&key, 503, "Not Reachable");
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((_, timer)) = self.timers.first().cloned().filter(|(due, _)| *due <= now) {
            self.timers.pop_first();
            match timer {
                Timer::Server(key) => self.handle_server_timeout(&key, now),
                Timer::Client(key) => self.handle_client_timeout(&key, now),
            }
        }
    }

    /// The next message to send.
    pub fn poll_transmit(&mut self) -> Option<(Peer, Vec<u8>)> {
        self.transmits.pop_front()
    }

    /// What has become of a transaction.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is wanted; `None` as long as there are no transactions.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Whether a final response to this request is still to come.
    #[must_use]
    pub fn is_waiting(&self, key: &ClientKey) -> bool {
        self.clients.get(key).is_some_and(Client::is_waiting)
    }

    /// The request that was sent in a transaction, and to whom.
    #[must_use]
    pub fn request(&self, key: &ClientKey) -> Option<(Peer, &Message)> {
        self.clients.get(key).map(|client| (client.peer, &client.request))
    }

    /// How many server transactions there are.
    #[must_use]
    pub fn server_count(&self) -> usize {
        self.servers.len()
    }

    /// How many client transactions there are.
    #[must_use]
    pub fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// The response to an INVITE that failed has arrived. False if there was none.
    fn acknowledge(&mut self, key: &ServerKey, now: Time) -> bool {
        let Some(server) = self.servers.get_mut(key) else { return false };
        let is_ours = server.acknowledge(now);
        self.schedule_server(key);
        is_ours
    }

    fn handle_server_timeout(&mut self, key: &ServerKey, now: Time) {
        let Some(server) = self.servers.get_mut(key) else { return };
        match server.handle_timeout(now) {
            server::Due::Retransmit(bytes) => self.transmits.push_back((key.peer, bytes)),
            server::Due::Unanswered => self.events.push_back(Event::Unanswered(key.clone())),
            server::Due::Ended => return self.end_server(key),
        }
        self.schedule_server(key);
    }

    fn handle_client_timeout(&mut self, key: &ClientKey, now: Time) {
        let Some(client) = self.clients.get_mut(key) else { return };
        match client.handle_timeout(now) {
            client::Due::Retransmit(bytes) => self.transmits.push_back((client.peer, bytes)),
            client::Due::Cancel => {
                self.schedule_client(key);
                return self.cancel(key, now);
            }
            client::Due::TimedOut => return self.give_up(key, 408, "Request Timeout"),
            client::Due::Ended => {
                self.clients.remove(key);
                return self.events.push_back(Event::ClientEnded(key.clone()));
            }
        }
        self.schedule_client(key);
    }

    /// No response will come: it is as if this one had.
    fn give_up(&mut self, key: &ClientKey, code: u16, reason: &str) {
        let Some(client) = self.clients.remove(key) else { return };
        self.timers.remove(&(client.due, Timer::Client(key.clone())));
        let mut response = Message::response(code, reason);
        response.copy_headers(&client.request, &["From", "To", "Call-ID", "CSeq"]);
        self.events.push_back(Event::NoResponse { key: key.clone(), response });
    }

    fn end_server(&mut self, key: &ServerKey) {
        let Some(server) = self.servers.remove(key) else { return };
        self.timers.remove(&(server.due, Timer::Server(key.clone())));
        self.events.push_back(Event::ServerEnded(key.clone()));
    }

    fn schedule_server(&mut self, key: &ServerKey) {
        let Some(server) = self.servers.get_mut(key) else { return };
        self.timers.remove(&(server.due, Timer::Server(key.clone())));
        server.due = server.next_due();
        self.timers.insert((server.due, Timer::Server(key.clone())));
    }

    fn schedule_client(&mut self, key: &ClientKey) {
        let Some(client) = self.clients.get_mut(key) else { return };
        self.timers.remove(&(client.due, Timer::Client(key.clone())));
        client.due = client.next_due();
        self.timers.insert((client.due, Timer::Client(key.clone())));
    }
}

/// The top Via of a request with the address that we have seen, and its branch.
fn top_via(request: &Message, from: Peer) -> Option<(Via, String)> {
    let via = Via::parse(request.list("Via").next()?).ok()?;
    let branch = via.branch().filter(|branch| branch.len() <= 256)?.to_owned();
    let via = match from {
        Peer::Udp(address) | Peer::Tcp(address) => via.received(address),
        Peer::Home(_) => via,
    };
    Some((via, branch))
}

/// ACK of a failed INVITE (RFC 3261 section 17.1.1.3).
fn build_ack(request: &Message, response: &Message) -> Message {
    let Start::Request { uri, .. } = &request.start else { return request.clone() };
    let mut ack = Message::request(Method::Ack, uri);
    ack.copy_headers(request, &["Via", "Max-Forwards", "From"]);
    let to = response.get("To").map(NameAddress::parse).and_then(Result::ok);
    let own = request.get("To").map(NameAddress::parse).and_then(Result::ok);
    if let Some(own) = own {
        ack.push("To", own.tagged(to.as_ref().and_then(NameAddress::tag)));
    }
    ack.copy_headers(request, &["Call-ID"]);
    ack.push("CSeq", format!("{} ACK", request.sequence().unwrap_or_default()));
    ack
}

/// CANCEL of an INVITE (RFC 3261 section 9.1). Its Via is the INVITE's, so that it finds the same transaction.
fn build_cancel(request: &Message) -> Option<Message> {
    let Start::Request { uri, .. } = &request.start else { return None };
    let mut cancel = Message::request(Method::Cancel, uri);
    cancel.copy_headers(request, &["Via", "Max-Forwards", "From", "To", "Call-ID"]);
    cancel.push("CSeq", format!("{} CANCEL", request.sequence().unwrap_or_default()));
    Some(cancel)
}

#[cfg(test)]
mod tests;
