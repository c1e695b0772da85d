//! The access point's machine: whom it lets through, for how long, and for which receipts.
//!
//! A visitor's CONN becomes a QUER to the team server; a grant becomes a CACK; the visitor's receipt over zero bytes
//! opens the firewall. From then on a receipt over all bytes so far is asked for every interval and every so many
//! bytes. A visitor that does not sign in time is closed: what was carried for nothing is one period of traffic.

mod calls;
mod config;
mod debtors;
mod door;
mod outbox;
mod service;
mod session;
mod starts;

use crate::message::{Code, Message, Nonce, Reference};
use calls::Calls;
use debtors::Debtors;
use door::Knock;
use guestright_identity::{Certificate, KeyId, SecretKey};
use guestright_receipt::{Receipt, SessionKey};
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, Time};
use outbox::Outbox;
use session::{Session, Stage};
use starts::Starts;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::Ipv4Addr;

pub use config::{CallLimits, Config};
pub use session::SessionStatus;

/// A visitor on the link. Its key says who it is; this says which packets are its.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Hardware address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ip: Ipv4Addr,
    /// Nothing: all of its packets. A home's address: only those of its tunnel to that home, which signs for them. The
    /// two are two sessions, and neither knows of the other's messages.
    pub home: Option<Ipv4Addr>,
}

impl Address {
    /// All packets of a visitor.
    pub fn new(mac: [u8; 6], ip: Ipv4Addr) -> Self {
        Self { mac, ip, home: None }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.mac;
        write!(f, "{} ({a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x})", self.ip)?;
        self.home.iter().try_for_each(|home| write!(f, " by its tunnel to {home}"))
    }
}

/// How a visitor is answered: a datagram address or a connection, numbered by the program around the machine.
///
/// Paths with the bit [`CALL`] are the machine's own: connections to the homes of visitors that it asked for.
pub type Path = u64;

/// The bit that the program never sets in a [`Path`] of its own.
pub const CALL: Path = 1 << 62;

/// Bytes to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// To a visitor.
    Visitor(Path, Vec<u8>),
    /// To the own team server.
    Home(Vec<u8>),
}

/// What the program around the machine has to do or may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Connect to the protocol's TCP port of this home, then call [`AccessPoint::handle_called`], or
    /// [`AccessPoint::handle_hung_up`] if that fails.
    Call {
        /// How the connection is called from now on.
        path: Path,
        /// Where to.
        home: Ipv4Addr,
    },
    /// Close this connection to a home; everything that had to be said was said.
    HangUp(Path),
    /// Let this visitor through, or only its tunnel if the address names a home; its counters start at zero.
    Opened {
        /// Whom.
        address: Address,
        /// How well.
        class: ServiceClass,
        /// Who it is.
        member: KeyId,
    },
    /// Serve this visitor in another class.
    Reclassified {
        /// Whom.
        address: Address,
        /// How well from now on.
        class: ServiceClass,
    },
    /// Stop this visitor's packets both ways, then say what was counted with [`AccessPoint::handle_closed`]. Said again
    /// if that does not happen.
    Closing {
        /// Whom.
        address: Address,
        /// Why.
        code: Code,
    },
    /// A session that was opened is over.
    Closed {
        /// Who was served, what was carried and what was signed for.
        session: Box<SessionStatus>,
        /// Why.
        code: Code,
    },
    /// A receipt to be kept.
    Received(Receipt, Box<Certificate>),
    /// The team server has made these durable.
    Delivered(Vec<(SessionKey, Bytes)>),
    /// A message was refused. Counted in [`AccessPoint::refusals`].
    Refused {
        /// Who sent it.
        address: Address,
        /// Why, in a word.
        kind: &'static str,
        /// Why, in a sentence.
        reason: String,
    },
}

/// A question to the team server that was not answered yet.
#[derive(Debug)]
struct Pending {
    address: Address,
    path: Path,
    certificate: Certificate,
    nonce: Option<Nonce>, // None: the access point asks by itself, in an open session.
    until: Time,
}

/// An access point of a team.
#[derive(Debug)]
pub struct AccessPoint {
    config: Config,
    key: SecretKey,
    certificate: Certificate,
    sessions: BTreeMap<Address, Session>,
    pending: BTreeMap<Reference, Pending>,
    asked_at: BTreeMap<Address, Time>,
    outbox: Outbox,
    next_reference: Reference,
    starts: Starts,
    debtors: Debtors,
    calls: Calls,
    is_stopping: bool,
    refusals: BTreeMap<&'static str, u64>,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
}

impl AccessPoint {
    /// An access point with its own key and the certificate that its team made for it.
    pub fn new(config: Config, key: SecretKey, certificate: Certificate) -> Self {
        Self {
            config,
            key,
            certificate,
            sessions: BTreeMap::new(),
            pending: BTreeMap::new(),
            asked_at: BTreeMap::new(),
            outbox: Outbox::default(),
            next_reference: 1,
            starts: Starts::default(),
            debtors: Debtors::default(),
            calls: Calls::default(),
            is_stopping: false,
            refusals: BTreeMap::new(),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Takes up receipts that were kept but not delivered when the program stopped.
    pub fn restore(&mut self, receipts: Vec<(Receipt, Certificate)>, now: Time) {
        for (receipt, certificate) in receipts {
            self.outbox.push(receipt, certificate, now);
        }
    }

    /// Takes a message of a visitor in.
    pub fn handle_visitor(&mut self, address: Address, path: Path, bytes: &[u8], now: Time) {
        match Message::parse(bytes) {
            Ok(Message::Conn { certificate, nonce, bundle }) => {
                let certificate = *certificate;
                let knock = Knock { address, path, certificate, nonce, bundle };
                self.handle_conn(knock, now);
            }
            Ok(Message::Rcpt { bundle, .. }) => self.handle_receipt(address, path, &bundle, now),
            Ok(Message::Erro { code: Code::Closed, .. }) if self.sessions.contains_key(&address) => {
                self.close(address, Code::Closed, now)
            }
            Ok(Message::Erro { code: Code::Closed, .. }) => {
                self.answer(path, &Message::error(Code::NoSession, "the session is over"))
            }
            Ok(Message::Erro { .. }) => {} // It cannot ask anything of us.
            Ok(other) => {
                let reason = format!("a {} is not for an access point", other.method());
                self.refuse(address, path, "unexpected", Code::Malformed, reason);
            }
            Err(error) => self.refuse(address, path, error.kind(), Code::Malformed, error.to_string()),
        }
    }

    /// Takes a message of the team server in.
    pub fn handle_home(&mut self, bytes: &[u8], now: Time) {
        self.take_home(bytes, now);
    }

    /// Takes in that the team server cannot be reached: open questions are answered by the configuration.
    pub fn handle_home_lost(&mut self, now: Time) {
        for pending in self.pending.values_mut() {
            pending.until = now;
        }
        self.outbox.lost(now + self.config.flush_after);
        self.handle_timeout(now);
    }

    /// Takes in that the team server can be reached (again). What was decided without it is asked of it now, and homes
    /// that were turned away for want of it may be called.
    pub fn handle_home_found(&mut self, now: Time) {
        for session in self.sessions.values_mut().filter(|session| session.decided_alone) {
            (session.decided_alone, session.decided_until) = (false, session.decided_until.min(now));
        }
        self.calls.home_found(now);
        self.handle_timeout(now);
    }

    /// Takes in what the firewall has counted for a visitor since it was opened, both ways.
    pub fn handle_traffic(&mut self, address: Address, counted: Bytes, now: Time) {
        let (volume, unpaid_max) = (self.config.volume, self.config.unpaid_max);
        let Some(session) = self.sessions.get_mut(&address) else {
            return;
        };
        if session.stage != Stage::Open {
            return;
        }
        if counted > session.counted {
            (session.counted, session.counted_at) = (counted, now);
        }
        let unpaid = session.unpaid();
        if unpaid >= unpaid_max {
            return self.close(address, Code::Unpaid, now);
        }
        if unpaid >= volume && session.request.is_none() {
            self.request(address, now);
        }
    }

    /// Takes in what the firewall had counted for a visitor when it was closed.
    pub fn handle_closed(&mut self, address: Address, counted: Bytes, now: Time) {
        let Some(session) = self.sessions.get_mut(&address) else {
            return;
        };
        session.counted = session.counted.max(counted);
        match session.stage {
            Stage::Closing { code, .. } if code != Code::Unpaid && session.counted > session.signed => {
                session.stage = Stage::Settling { code };
                self.request(address, now);
            }
            Stage::Closing { .. } => self.forget(address, now),
            Stage::Opening | Stage::Open | Stage::Settling { .. } => {} // Nobody was told to close.
        }
    }

    /// Takes in that the time is now.
    pub fn handle_timeout(&mut self, now: Time) {
        let overdue: Vec<_> = self
            .pending
            .iter()
            .filter(|(_, pending)| now >= pending.until)
            .map(|(&reference, _)| reference)
            .collect();
        for reference in overdue {
            self.handle_home_away(reference, now);
        }
        let addresses: Vec<_> = self.sessions.keys().copied().collect();
        for address in addresses {
            self.session_timeout(address, now);
        }
        self.calls_timeout(now);
        self.flush(now);
    }

    /// Closes every session and calls no home any more, for a program that stops.
    pub fn shut_down(&mut self, now: Time) {
        let addresses: Vec<_> = self.sessions.keys().copied().collect();
        for address in addresses {
            self.close(address, Code::Closed, now);
        }
        self.is_stopping = true;
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`AccessPoint::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        let pending = self.pending.values().map(|pending| pending.until);
        let sessions = self.sessions.values().filter_map(Session::timeout);
        let calls = self.calls_due();
        pending.chain(sessions).chain(self.outbox.timeout()).chain(calls).min()
    }

    /// The sessions, as a person wants to see them.
    pub fn status(&self) -> Vec<SessionStatus> {
        self.sessions.iter().map(|(&address, session)| session.status(address)).collect()
    }

    /// How many messages were refused, by kind.
    pub fn refusals(&self) -> &BTreeMap<&'static str, u64> {
        &self.refusals
    }

    /// The paths by which visitors with a session were last heard, and those of calls.
    pub fn paths_in_use(&self) -> Vec<Path> {
        self.sessions.values().map(|session| session.path).chain(self.calls.paths()).collect()
    }

    /// How many receipts wait to be delivered to the team server.
    pub fn undelivered(&self) -> usize {
        self.outbox.len()
    }

    fn refuse(&mut self, address: Address, path: Path, kind: &'static str, code: Code, reason: String) {
        *self.refusals.entry(kind).or_default() += 1;
        self.answer(path, &Message::error(code, &reason));
        self.events.push_back(Event::Refused { address, kind, reason });
    }

    fn answer(&mut self, path: Path, message: &Message) {
        self.transmits.push_back(Transmit::Visitor(path, message.emit()));
    }

    fn next_reference(&mut self) -> Reference {
        self.next_reference += 1;
        self.next_reference
    }
}
