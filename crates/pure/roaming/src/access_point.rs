//! The access point's machine: whom it lets through, for how long, and for which receipts.
//!
//! A visitor's CONN becomes a QUER to the team server; a grant becomes a CACK; the visitor's receipt over zero bytes
//! opens the firewall. From then on a receipt over all bytes so far is asked for every interval and every so many
//! bytes. A visitor that does not sign in time is closed: what was carried for nothing is one period of traffic.

mod config;
mod outbox;
mod session;

use crate::message::{Acknowledgement, Code, Message, Nonce, Reference, Update};
use guestright_identity::{Certificate, KeyId, Role, SecretKey};
use guestright_receipt::{Bundle, Receipt, ReceiptError, SessionKey, UncheckedReceipt};
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, Time, UnixSeconds};
use outbox::Outbox;
use session::{Session, Stage};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::Ipv4Addr;

pub use config::Config;
pub use session::SessionStatus;

/// A visitor on the link. Its key says who it is; this says which packets are its.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Hardware address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ip: Ipv4Addr,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.mac;
        write!(f, "{} ({a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x})", self.ip)
    }
}

/// How a visitor is answered: a datagram address or a connection, numbered by the program around the machine.
pub type Path = u64;

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
    /// Let this visitor through; its counters start at zero.
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
    /// Stop this visitor's packets both ways, then say what was counted with [`AccessPoint::handle_closed`].
    Closing {
        /// Whom.
        address: Address,
        /// Why.
        code: Code,
    },
    /// A session is over.
    Closed {
        /// Who.
        address: Address,
        /// Why.
        code: Code,
        /// What was carried, both ways.
        counted: Bytes,
        /// What was signed for.
        signed: Bytes,
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
    last_started: UnixSeconds,
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
            last_started: UnixSeconds(0),
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
            Ok(Message::Conn {
                certificate,
                nonce,
                bundle,
            }) => {
                self.handle_conn(address, path, *certificate, nonce, bundle, now);
            }
            Ok(Message::Rcpt { bundle, .. }) => self.handle_receipt(address, path, &bundle, now),
            Ok(Message::Erro {
                code: Code::Closed, ..
            }) => self.close(address, Code::Closed, now),
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
        match Message::parse(bytes) {
            Ok(Message::Qrsp {
                reference,
                grant,
                valid_for,
                reason,
                ..
            }) => {
                self.handle_decision(reference, grant, valid_for, reason, now);
            }
            Ok(Message::Updt {
                reference,
                what: Update::Taken { .. },
            }) => {
                let delivered = self.outbox.delivered(reference, now);
                if !delivered.is_empty() {
                    self.events.push_back(Event::Delivered(delivered));
                }
            }
            Ok(_) | Err(_) => *self.refusals.entry("home").or_default() += 1,
        }
    }

    /// Takes in that the team server cannot be reached: open questions are answered by the configuration.
    pub fn handle_home_lost(&mut self, now: Time) {
        for pending in self.pending.values_mut() {
            pending.until = now;
        }
        self.outbox.lost(now + self.config.flush_after);
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
        session.counted = session.counted.max(counted);
        let unpaid = session.counted.saturating_sub(session.signed);
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
        if session.stage == (Stage::Closing { code: Code::Closed }) && session.counted > session.signed {
            session.stage = Stage::Settling;
            self.request(address, now);
        } else {
            self.forget(address, now);
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
            let grant = self.config.when_home_is_away;
            let reason = "this household cannot decide now: its team server does not answer".to_owned();
            self.handle_decision(reference, grant, 60, reason, now);
        }
        let addresses: Vec<_> = self.sessions.keys().copied().collect();
        for address in addresses {
            self.session_timeout(address, now);
        }
        self.flush(now);
    }

    /// Closes every session, for a program that stops.
    pub fn shut_down(&mut self, now: Time) {
        let addresses: Vec<_> = self.sessions.keys().copied().collect();
        for address in addresses {
            self.close(address, Code::Closed, now);
        }
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
        pending.chain(sessions).chain(self.outbox.timeout()).min()
    }

    /// The sessions, as a person wants to see them.
    pub fn status(&self) -> Vec<SessionStatus> {
        self.sessions
            .iter()
            .map(|(&address, session)| session.status(address))
            .collect()
    }

    /// How many messages were refused, by kind.
    pub fn refusals(&self) -> &BTreeMap<&'static str, u64> {
        &self.refusals
    }

    /// How many receipts wait to be delivered to the team server.
    pub fn undelivered(&self) -> usize {
        self.outbox.len()
    }

    fn handle_conn(
        &mut self,
        address: Address,
        path: Path,
        certificate: Certificate,
        nonce: Nonce,
        bundle: Bundle,
        now: Time,
    ) {
        if let Err(error) = certificate.check(Role::Member, now.unix_seconds()) {
            return self.refuse(address, path, "certificate", Code::Certificate, error.to_string());
        }
        let legacy = certificate.subject().suite().is_legacy() || certificate.team().suite().is_legacy();
        if legacy && !self.config.rules.legacy_suites {
            let reason = "its suite is for measurements and not accepted here".to_owned();
            return self.refuse(address, path, "legacy-suite", Code::Certificate, reason);
        }
        if self
            .pending
            .values()
            .any(|pending| pending.address == address && pending.nonce == Some(nonce))
        {
            return; // Sent again; the answer is on its way.
        }
        if let Some(session) = self.sessions.get_mut(&address) {
            if session.certificate.subject_id() != certificate.subject_id() || session.is_closing() {
                self.close(address, Code::Closed, now);
                let reason = "another session at this address is being closed; ask again".to_owned();
                return self.refuse(address, path, "busy", Code::Busy, reason);
            }
            session.path = path;
            if session.nonce == nonce {
                return self.acknowledge(address);
            }
        } else if self.sessions.len() >= self.config.sessions_max {
            return self.refuse(
                address,
                path,
                "busy",
                Code::Busy,
                "all places are taken".to_owned(),
            );
        }
        let gap = self.config.question_gap;
        if self
            .asked_at
            .get(&address)
            .is_some_and(|&asked| now - asked < gap)
        {
            return self.refuse(
                address,
                path,
                "busy",
                Code::Busy,
                "asked too often; wait a moment".to_owned(),
            );
        }
        self.question(address, path, certificate, Some(nonce), bundle, now);
    }

    fn question(
        &mut self,
        address: Address,
        path: Path,
        certificate: Certificate,
        nonce: Option<Nonce>,
        bundle: Bundle,
        now: Time,
    ) {
        self.pending.retain(|_, pending| pending.address != address);
        while self.pending.len() >= self.config.pending_max {
            self.pending.pop_first();
        }
        while self.asked_at.len() >= self.config.pending_max {
            self.asked_at.pop_first();
        }
        self.asked_at
            .retain(|_, asked| now - *asked < self.config.question_gap);
        self.asked_at.insert(address, now);
        let reference = self.next_reference();
        let until = now + self.config.decision_timeout;
        let quer = Message::Quer {
            reference,
            certificate: Box::new(certificate.clone()),
            request: self.config.request,
            bundle,
        };
        self.pending.insert(
            reference,
            Pending {
                address,
                path,
                certificate,
                nonce,
                until,
            },
        );
        self.transmits.push_back(Transmit::Home(quer.emit()));
    }

    fn handle_decision(
        &mut self,
        reference: Reference,
        grant: Option<ServiceClass>,
        valid_for: u32,
        reason: String,
        now: Time,
    ) {
        let Some(pending) = self.pending.remove(&reference) else {
            return;
        };
        let address = pending.address;
        let known = self.sessions.contains_key(&address);
        let Some(class) = grant else {
            if known {
                self.close(address, Code::Refused, now);
            }
            return self.refuse(address, pending.path, "denied", Code::Refused, reason);
        };
        let decided_until = now + guestright_units::Micros::from_seconds(valid_for.max(1).into());
        if known {
            self.reclassify(address, class, decided_until, pending.nonce);
        } else if let Some(nonce) = pending.nonce {
            self.last_started = self.last_started.plus(1).max(now.unix_seconds());
            let started = self.last_started;
            let deadline = now + self.config.receipt_deadline;
            let Pending {
                path, certificate, ..
            } = pending;
            let session = Session::new(path, certificate, started, class, nonce, decided_until, deadline);
            self.sessions.insert(address, session);
        }
        if pending.nonce.is_some() {
            self.acknowledge(address);
        }
    }

    fn reclassify(&mut self, address: Address, class: ServiceClass, until: Time, nonce: Option<Nonce>) {
        let Some(session) = self.sessions.get_mut(&address) else {
            return;
        };
        session.decided_until = until;
        session.nonce = nonce.unwrap_or(session.nonce);
        if session.class != class {
            session.class = class;
            if session.stage == Stage::Open {
                self.events.push_back(Event::Reclassified { address, class });
            }
        }
    }

    fn acknowledge(&mut self, address: Address) {
        let Some(session) = self.sessions.get(&address) else {
            return;
        };
        let terms = Acknowledgement {
            nonce: session.nonce,
            member: session.certificate.subject_id(),
            provider: self.certificate.team_id(),
            started: session.started,
            interval: self.config.interval,
            volume: self.config.volume,
            class: session.class,
        };
        let certificate = Box::new(self.certificate.clone());
        let acknowledgement = terms.seal(&self.key, &self.certificate);
        self.answer(
            session.path,
            &Message::Cack {
                certificate,
                acknowledgement,
            },
        );
    }

    fn handle_receipt(&mut self, address: Address, path: Path, bundle: &Bundle, now: Time) {
        let Some(session) = self.sessions.get_mut(&address) else {
            let reason = "a receipt without a session; ask for service first".to_owned();
            return self.refuse(address, path, "no-session", Code::NoSession, reason);
        };
        session.path = path;
        match self.check_receipt(address, bundle, now) {
            Ok(receipt) => self.accept(address, receipt, now),
            Err(error) => self.refuse(address, path, error.kind(), Code::Receipt, error.to_string()),
        }
    }

    fn check_receipt(&self, address: Address, bundle: &Bundle, now: Time) -> Result<Receipt, ReceiptError> {
        let session = self.sessions.get(&address).ok_or(ReceiptError::OtherSession)?;
        let [encoded] = bundle.receipts.as_slice() else {
            return Err(ReceiptError::OtherSession);
        };
        let receipt = UncheckedReceipt::parse(encoded)?;
        let own = self.certificate.team_id();
        if receipt.provider() != own {
            return Err(ReceiptError::WrongTeam {
                got: receipt.provider(),
                want: own,
            });
        }
        if receipt.started() != session.started || receipt.certificate() != session.certificate.reference() {
            return Err(ReceiptError::OtherSession);
        }
        let known = session
            .request
            .as_ref()
            .map_or(session.signed, |request| request.weight);
        if receipt.weight() < known {
            return Err(ReceiptError::LowerWeight {
                got: receipt.weight(),
                known,
            });
        }
        if session.is_own(own) {
            // A team owes itself nothing: the signature proves the member, and nobody keeps the receipt.
            receipt.claim(&session.certificate)?.verify()?;
            return Receipt::from_kept(encoded, &session.certificate);
        }
        self.config
            .rules
            .verify(receipt, &session.certificate, now.unix_seconds())
    }

    fn accept(&mut self, address: Address, receipt: Receipt, now: Time) {
        let own_team = self.certificate.team_id();
        let interval = self.config.interval;
        let Some(session) = self.sessions.get_mut(&address) else {
            return;
        };
        let raised = receipt.weight() > session.signed;
        session.signed = session.signed.max(receipt.weight());
        session.request = None;
        session.request_at = now + interval;
        if raised && !session.is_own(own_team) {
            let certificate = session.certificate.clone();
            self.outbox.push(
                receipt.clone(),
                certificate.clone(),
                now + self.config.flush_after,
            );
            self.events
                .push_back(Event::Received(receipt, Box::new(certificate)));
        }
        match session.stage {
            Stage::Opening { .. } => {
                session.stage = Stage::Open;
                let (class, member) = (session.class, session.certificate.subject_id());
                self.events.push_back(Event::Opened {
                    address,
                    class,
                    member,
                });
            }
            Stage::Settling => self.forget(address, now),
            Stage::Open | Stage::Closing { .. } => {}
        }
    }

    fn session_timeout(&mut self, address: Address, now: Time) {
        let Some(session) = self.sessions.get_mut(&address) else {
            return;
        };
        match (&mut session.request, session.stage) {
            (_, Stage::Opening { until }) if now >= until => {
                self.sessions.remove(&address);
                *self.refusals.entry("no-proof").or_default() += 1;
            }
            (Some(request), Stage::Open | Stage::Settling) if now >= request.deadline => {
                if session.stage == Stage::Settling {
                    self.forget(address, now)
                } else {
                    self.close(address, Code::Unpaid, now)
                }
            }
            (Some(request), Stage::Open | Stage::Settling) if now >= request.retry_at => {
                request.retry_at = now + self.config.retry_after;
                self.send_request(address);
            }
            (None, Stage::Open) if now >= session.request_at => self.request(address, now),
            (None, Stage::Open) if now >= session.decided_until => {
                session.decided_until = now + self.config.decision_timeout + self.config.decision_timeout;
                let (path, certificate) = (session.path, session.certificate.clone());
                self.question(address, path, certificate, None, Bundle::default(), now);
            }
            _ => {}
        }
    }

    fn request(&mut self, address: Address, now: Time) {
        let (deadline, retry_at) = (now + self.config.receipt_deadline, now + self.config.retry_after);
        let Some(session) = self.sessions.get_mut(&address) else {
            return;
        };
        session.request = Some(session::Request {
            weight: session.counted,
            deadline,
            retry_at,
        });
        self.send_request(address);
    }

    fn send_request(&mut self, address: Address) {
        let Some(session) = self.sessions.get(&address) else {
            return;
        };
        let Some(request) = &session.request else { return };
        let last = session.stage == Stage::Settling;
        let message = Message::Rreq {
            started: session.started,
            weight: request.weight,
            last,
        };
        self.answer(session.path, &message);
    }

    fn close(&mut self, address: Address, code: Code, now: Time) {
        let Some(session) = self.sessions.get_mut(&address) else {
            return;
        };
        match session.stage {
            Stage::Opening { .. } => self.forget(address, now),
            Stage::Open => {
                session.stage = Stage::Closing { code };
                session.request = None;
                self.events.push_back(Event::Closing { address, code });
            }
            Stage::Closing { .. } | Stage::Settling => {}
        }
    }

    fn forget(&mut self, address: Address, now: Time) {
        let Some(session) = self.sessions.remove(&address) else {
            return;
        };
        let code = session.end_code();
        let (counted, signed) = (session.counted, session.signed);
        let unpaid = counted.saturating_sub(signed);
        let reason = match code {
            Code::Unpaid => format!("no receipt in time: {unpaid} were carried for nothing"),
            Code::Refused => "the decision changed".to_owned(),
            _ => format!("closed; {signed} are signed for"),
        };
        self.answer(session.path, &Message::error(code, reason));
        self.events.push_back(Event::Closed {
            address,
            code,
            counted,
            signed,
        });
        self.outbox.hurry(now);
        self.flush(now);
    }

    fn flush(&mut self, now: Time) {
        if self.outbox.is_due(now) {
            let reference = self.next_reference();
            let bundle = self.outbox.take(reference, now + self.config.flush_after);
            self.transmits.push_back(Transmit::Home(
                Message::Rcpt {
                    reference: Some(reference),
                    bundle,
                }
                .emit(),
            ));
        }
    }

    fn refuse(&mut self, address: Address, path: Path, kind: &'static str, code: Code, reason: String) {
        *self.refusals.entry(kind).or_default() += 1;
        self.answer(path, &Message::error(code, &reason));
        self.events.push_back(Event::Refused {
            address,
            kind,
            reason,
        });
    }

    fn answer(&mut self, path: Path, message: &Message) {
        self.transmits.push_back(Transmit::Visitor(path, message.emit()));
    }

    fn next_reference(&mut self) -> Reference {
        self.next_reference += 1;
        self.next_reference
    }
}
