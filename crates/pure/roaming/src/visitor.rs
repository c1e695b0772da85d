//! The visitor's machine: asks for service and signs for what it consumed.
//!
//! `CONN →`, `← CACK`, `RCPT(0) →`, then for every `← RREQ` a `RCPT →`. The receipt over zero bytes proves at once that
//! the visitor holds the key of its certificate; the access point opens only then. Before it signs, the visitor asks
//! its own meter, and refuses what exceeds the meter by more than its [`Ledger`] of the day allows.
//!
//! A receipt may name a hold, and how many of the session's bytes were served on it. Each byte is on one hold at most: over
//! all holds of a session no more is signed for than in the session, and of no hold less than before.

use crate::ledger::Ledger;
use crate::message::{Acknowledgement, Code, Message, Nonce};
use guestright_directory::Address;
use guestright_identity::{Certificate, KeyId, Role, SecretKey};
use guestright_ordered::OrderedMap;
use guestright_receipt::{Bundle, HoldId, HoldUse, Receipt, Service};
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, Micros, TeamId, Time, UnixSeconds};
use rand::CryptoRng;
use std::collections::VecDeque;

/// The limits by which a visitor behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The first wait for an answer; it doubles with each attempt.
    pub retry_after: Micros,
    /// How often CONN is sent before the visitor gives up.
    pub attempts_max: u32,
    /// How often an access point may ask for more than the meter and the ledger allow before it counts as a lie.
    pub doubts_max: u32,
    /// How many holds a session may be served on.
    pub holds_max: usize,
    /// How far the access point's clock may differ, in seconds.
    pub skew: u64,
    /// After so long without a word of the access point the session is taken for dead.
    pub silence_max: Micros,
    /// How long the visitor waits for the last request and for the word that it was paid.
    pub leave_max: Micros,
    /// How many messages may wait to be sent.
    pub transmits_max: usize,
}

impl Default for Config {
    /// Half a second, 6 attempts (about 30 s), 3 doubts, 64 holds, ten minutes, 30 s, 5 s, 64 messages.
    fn default() -> Self {
        Self {
            retry_after: Micros::from_millis(500),
            attempts_max: 6,
            doubts_max: 3,
            holds_max: 64,
            skew: 600,
            silence_max: Micros::from_seconds(30),
            leave_max: Micros::from_seconds(5),
            transmits_max: 64,
        }
    }
}

/// What happened, for the program around the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The access point grants service, or changed the class of an open session.
    Granted {
        /// The team that serves.
        provider: TeamId,
        /// How it serves.
        class: ServiceClass,
        /// When the session began.
        started: UnixSeconds,
        /// How often receipts are due.
        interval: Micros,
        /// Where the provider's home awaits other homes, as the access point says. Nothing proves it but the home itself.
        home: Option<Address>,
    },
    /// The meter is needed: answer with [`Visitor::handle_meter`].
    MeterNeeded,
    /// A receipt was signed and sent.
    Signed(Receipt),
    /// The access point claimed more than was counted; nothing was signed.
    Disputed {
        claimed: Bytes,
        /// What was counted here.
        counted: Bytes,
    },
    /// A message was refused and dropped.
    Dropped {
        /// Why, in a word.
        kind: &'static str,
        /// Why, in a sentence.
        reason: String,
    },
    /// It is over, for this reason. Nothing follows.
    Ended {
        /// What kind of end.
        code: Code,
        reason: String,
    },
}

#[derive(Clone, Debug)]
struct Session {
    /// Under which it was opened. Its receipts name this one, also after a renewal.
    certificate: Certificate,
    access_point: KeyId,
    provider: TeamId,
    started: UnixSeconds,
    class: ServiceClass,
    nonce: Nonce, // Of the question that was answered last.
    signed: Bytes,
    /// The part of it on each hold.
    holds: OrderedMap<HoldId, Bytes>,
    /// What the meter had counted when it was last read.
    counted: Bytes,
    interval: Micros,
    received_at: Time,            // The access point's last word.
    requested: Option<Requested>, // An RREQ that waits for the meter.
    doubts: u32,                  // How often a claim was too high, one after the other.
    looked_at: Time,              // When the meter was last asked for.
}

/// What an RREQ asks for.
#[derive(Clone, Copy, Debug)]
struct Requested {
    weight: Bytes,
    hold: Option<HoldUse>,
    /// Whether the session ends with it.
    last: bool,
    /// Whether the meter had counted too little for it so far.
    doubted: bool,
}

#[derive(Debug)]
struct Asking {
    nonce: Nonce,
    attempts: u32,
    retry_at: Time,
}

/// The way out: goodbye is said until the last receipt is asked for, and that is signed until the access point is done.
#[derive(Debug)]
struct Leaving {
    until: Time,
    retry_at: Time,
    paid: bool,
    /// Whether the visitor wants to, and not the access point.
    is_own: bool,
}

/// A claim that is too high is compared with the meter again after so long: bytes that wait in the access point's queue are
/// counted there and not yet here…
const LOOK_AGAIN: Micros = Micros::from_millis(10);
/// …and not for longer than this. The access point asks again by itself.
const LOOK_MAX: Micros = Micros::from_millis(1_000);
/// While a claim is too high, a receipt over less is worth sending for such a part of what is missing.
const PARTS: u64 = 4;
/// An access point that asks less often than this is taken for silent in between.
const INTERVAL_MAX: Micros = Micros::from_seconds(600);

/// A member on somebody else's network.
///
/// It asks for service as soon as it is made. After every call that goes in ([`new`](Self::new), `handle_*`,
/// [`show`](Self::show), [`leave`](Self::leave)), the program drains what comes out:
///
/// 1. [`poll_event`](Self::poll_event) until there is none. To [`Event::MeterNeeded`] it answers with
///    [`handle_meter`](Self::handle_meter), and goes on draining: the receipt follows. With [`Event::Signed`] it makes the
///    ledger durable. After [`Event::Ended`] nothing follows.
/// 2. [`poll_transmit`](Self::poll_transmit) until there is none, after the events: what was signed is kept before it is
///    sent.
/// 3. [`poll_timeout`](Self::poll_timeout): then, [`handle_timeout`](Self::handle_timeout).
///
/// ```
/// use guestright_receipt::Bundle;
/// use guestright_roaming::Ledger;
/// use guestright_roaming::visitor::{Config, Event, Visitor};
/// use guestright_units::{Bytes, Micros};
/// # use guestright_identity::{Certificate, Role, SecretKey, Suite};
/// # use rand::SeedableRng;
/// # let mut rng = rand::rngs::StdRng::seed_from_u64(1);
/// # let team = SecretKey::generate(Suite::Ed25519, &mut rng);
/// # let key = SecretKey::generate(Suite::Ed25519, &mut rng);
/// # let now = guestright_units::UnixSeconds(1_800_000_000);
/// # let certificate = Certificate::issue(&team, key.public(), Role::Member, now, now.plus(3_600));
/// # let now = now.time();
/// let mut ledger = Ledger::default(); // What the program has kept of today.
/// let mut visitor =
///     Visitor::new(Config::default(), key, certificate, Bundle::default(), None, &mut rng, now);
/// visitor.handle_input(b"what the access point sent", now);
/// while let Some(event) = visitor.poll_event() {
///     if event == Event::MeterNeeded {
///         visitor.handle_meter(Bytes(0), &mut ledger, now); // What was counted in this session so far.
///     }
/// }
/// while let Some(bytes) = visitor.poll_transmit() {
///     assert!(bytes.starts_with(b"CONN"));
/// }
/// assert_eq!(visitor.poll_timeout(), Some(now + Micros::from_millis(500))); // Then it asks again.
/// ```
#[derive(Debug)]
pub struct Visitor {
    config: Config,
    key: SecretKey,
    certificate: Certificate,
    bundle: Bundle,
    asking: Option<Asking>,
    session: Option<Session>,
    leaving: Option<Leaving>,
    busy_reason: Option<String>, // Why the access point could not answer, when it last said so.
    expired_reason: Option<String>, // Why its certificate did not hold, when it answered under one that did not.
    renewed: Option<(Certificate, Nonce)>, // Waits until no question under the one before is open.
    ended: bool,
    limit: Bytes,
    last_started: Option<(TeamId, UnixSeconds)>,
    transmits: VecDeque<Vec<u8>>,
    events: VecDeque<Event>,
}

impl Visitor {
    /// A visitor with its key, its certificate and the receipts that it can show; it asks at once.
    ///
    /// `last_started` is the last session that this member opened with any provider, if it is known: a session is
    /// never opened twice.
    pub fn new(
        config: Config,
        key: SecretKey,
        certificate: Certificate,
        bundle: Bundle,
        last_started: Option<(TeamId, UnixSeconds)>,
        rng: &mut impl CryptoRng,
        now: Time,
    ) -> Self {
        let mut visitor = Self {
            config,
            key,
            certificate,
            bundle,
            asking: None,
            session: None,
            leaving: None,
            busy_reason: None,
            expired_reason: None,
            renewed: None,
            ended: false,
            limit: Bytes(u64::MAX),
            last_started,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        };
        visitor.ask(rng, now);
        visitor
    }

    /// Shows other receipts; in an open session the access point decides anew.
    pub fn show(&mut self, bundle: Bundle, rng: &mut impl CryptoRng, now: Time) {
        if bundle != self.bundle && !self.ended && self.leaving.is_none() {
            self.bundle = bundle;
            self.ask(rng, now);
        }
    }

    /// Takes in that the certificate was renewed. An open session goes on: its receipts stay under the certificate with which
    /// it began, and the access point is shown the new one for what it asks its home from now on.
    pub fn renew(&mut self, certificate: Certificate, rng: &mut impl CryptoRng, now: Time) {
        let mut nonce = Nonce::default();
        rng.fill_bytes(&mut nonce);
        self.renewed = Some((certificate, nonce));
        self.show_renewed(now);
    }

    /// Says goodbye; the access point asks for the last receipt and closes.
    pub fn leave(&mut self, now: Time) {
        if self.session.is_none() {
            return self.end(Code::Closed, "left before a session was open");
        }
        if !self.ended && self.leaving.is_none() {
            self.asking = None;
            self.leaving = Some(Leaving {
                until: now + self.config.leave_max,
                retry_at: now + self.config.retry_after,
                paid: false,
                is_own: true,
            });
            self.send_goodbye();
        }
    }

    /// Never signs for more than this in the session, whatever was counted.
    pub fn limit(&mut self, most: Bytes) {
        self.limit = most;
    }

    /// Takes a message of the access point in.
    pub fn handle_input(&mut self, bytes: &[u8], now: Time) {
        if self.ended {
            return;
        }
        match Message::parse(bytes) {
            Ok(Message::Cack { certificate, acknowledgement, home }) => {
                match Acknowledgement::open(&acknowledgement, &certificate) {
                    Ok(terms) => self.handle_terms(&certificate, &terms, home, now),
                    Err(error) => self.drop_input("acknowledgement", error.to_string()),
                }
            }
            Ok(Message::Rreq { started, weight, hold, last }) => {
                self.handle_request(started, Requested { weight, hold, last, doubted: false }, now)
            }
            Ok(Message::Erro { code, reason, .. }) => self.handle_error(code, reason),
            Ok(other) => self.drop_input("unexpected", format!("a {} is not for a visitor", other.method())),
            Err(error) => self.drop_input(error.kind(), error.to_string()),
        }
    }

    /// Takes in what the meter has counted in this session so far, both ways.
    ///
    /// The ledger is the visitor's own, across sessions and programs. After [`Event::Signed`] it has to be made durable,
    /// before the receipt is sent.
    pub fn handle_meter(&mut self, counted: Bytes, ledger: &mut Ledger, now: Time) {
        // The access point may have ended the session since it asked: nothing is signed any more.
        if self.ended {
            return;
        }
        let Some(session) = &mut self.session else { return };
        ledger.count(session.provider, counted.saturating_sub(session.counted), now);
        session.counted = session.counted.max(counted);
        let Some(requested) = session.requested.take() else { return };
        let Requested { weight: claimed, last, doubted, .. } = requested;
        let most = session.signed.saturating_add(ledger.room(session.provider, now)).min(self.limit);
        if claimed > most {
            // Until it asks again the bytes have come, or it was a lie.
            session.doubts += u32::from(!doubted);
            if session.doubts < self.config.doubts_max {
                session.requested = Some(Requested { doubted: true, ..requested });
                // What has come is signed for at once, in a few steps: the access point lets more through for it.
                let seen = counted.min(most);
                let step = claimed.saturating_sub(session.signed).0 / PARTS;
                if seen.saturating_sub(session.signed).0 > step {
                    self.sign_for(seen, requested, ledger, now);
                }
                return;
            }
            session.doubts = 0;
            self.events.push_back(Event::Disputed { claimed, counted });
            if last {
                self.end(Code::Closed, "left; the last claim was too high and was not signed");
            }
            return;
        }
        session.doubts = 0;
        let until = session.received_at + self.config.leave_max;
        self.sign_for(claimed, requested, ledger, now);
        if last {
            // The receipt may get lost: who is asked again signs again, until the access point says that it is done.
            self.asking = None;
            let is_own = self.leaving.as_ref().is_some_and(|leaving| leaving.is_own);
            self.leaving = Some(Leaving { until, retry_at: until, paid: true, is_own });
        }
    }

    /// Takes in that the time is now.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.ended {
            return;
        }
        if self.leaving.is_some() {
            self.look_again(now);
            return self.leave_timeout(now);
        }
        if self.silent_at().is_some_and(|at| now >= at) {
            return self.end(Code::NoSession, "the access point fell silent");
        }
        self.look_again(now);
        let Some(asking) = &mut self.asking else { return };
        if now < asking.retry_at {
            return;
        }
        if asking.attempts == self.config.attempts_max {
            self.asking = None;
            self.show_renewed(now);
            if self.session.is_none() {
                let nobody = "no access point answered: is this a guestright network?";
                match (self.expired_reason.take(), self.busy_reason.take()) {
                    (Some(reason), _) => self.end(Code::NoSession, reason),
                    (None, Some(reason)) => self.end(Code::Busy, reason),
                    (None, None) => self.end(Code::NoSession, nobody),
                }
            }
            return;
        }
        asking.retry_at = now + Micros(self.config.retry_after.0 << asking.attempts.min(16));
        asking.attempts += 1;
        let nonce = asking.nonce;
        self.send_conn(nonce);
    }

    /// The next message to send.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Visitor::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.ended {
            return None;
        }
        if let Some(leaving) = &self.leaving {
            let due = [Some(leaving.until), Some(leaving.retry_at), self.look_at()];
            return due.into_iter().flatten().min();
        }
        let asking = self.asking.as_ref().map(|asking| asking.retry_at);
        [self.silent_at(), asking, self.look_at()].into_iter().flatten().min()
    }

    /// When the meter is wanted again for a claim that was too high.
    fn look_at(&self) -> Option<Time> {
        let session = self.session.as_ref()?;
        session.requested.filter(|requested| requested.doubted).map(|_| session.looked_at + LOOK_AGAIN)
    }

    fn look_again(&mut self, now: Time) {
        let is_due = self.look_at().is_some_and(|at| now >= at);
        let Some(session) = self.session.as_mut().filter(|_| is_due) else { return };
        if now - session.received_at > LOOK_MAX {
            session.requested = None;
        } else {
            session.looked_at = now;
            self.events.push_back(Event::MeterNeeded);
        }
    }

    fn silent_at(&self) -> Option<Time> {
        let session = self.session.as_ref()?;
        let interval = session.interval.min(INTERVAL_MAX);
        Some(session.received_at + interval + self.config.silence_max)
    }

    fn leave_timeout(&mut self, now: Time) {
        let retry_at = now + self.config.retry_after;
        let Some(leaving) = &mut self.leaving else { return };
        if now >= leaving.until {
            let paid = leaving.paid;
            self.end(
                Code::Closed,
                if paid {
                    "left and paid"
                } else {
                    "left; the access point did not ask for the last receipt"
                },
            );
        } else if now >= leaving.retry_at {
            leaving.retry_at = retry_at;
            self.send_goodbye();
        }
    }

    fn send_goodbye(&mut self) {
        self.send(&Message::error(Code::Closed, "the visitor leaves"));
    }

    fn ask(&mut self, rng: &mut impl CryptoRng, now: Time) {
        let mut nonce = Nonce::default();
        rng.fill_bytes(&mut nonce);
        self.ask_with(nonce, now);
    }

    fn ask_with(&mut self, nonce: Nonce, now: Time) {
        self.asking = Some(Asking { nonce, attempts: 1, retry_at: now + self.config.retry_after });
        self.send_conn(nonce);
    }

    fn send_conn(&mut self, nonce: Nonce) {
        let certificate = Box::new(self.certificate.clone());
        self.send(&Message::Conn { certificate, nonce, bundle: self.bundle.clone(), holds: true });
    }

    fn handle_terms(
        &mut self,
        certificate: &Certificate,
        terms: &Acknowledgement,
        home: Option<Address>,
        now: Time,
    ) {
        if let Err(reason) = self.check_terms(certificate, terms, now) {
            let is_asked = self.asking.as_ref().is_some_and(|asking| asking.nonce == terms.nonce);
            if let (true, Err(error)) = (is_asked, certificate.check(certificate.role(), now.unix_seconds()))
            {
                let whose = "its household has to renew it, unless this computer's clock is wrong";
                self.expired_reason = Some(format!("this access point may not serve: {error}; {whose}"));
            }
            return self.drop_input("acknowledgement", reason);
        }
        self.asking.take_if(|asking| asking.nonce == terms.nonce);
        let known = self.session.as_ref().is_some_and(|session| session.started == terms.started);
        if !known {
            self.last_started = Some((terms.provider, terms.started));
            self.session = Some(Session {
                certificate: self.certificate.clone(),
                access_point: certificate.subject_id(),
                provider: terms.provider,
                started: terms.started,
                class: terms.class,
                nonce: terms.nonce,
                signed: Bytes(0),
                holds: OrderedMap::new(),
                counted: Bytes(0),
                interval: terms.interval,
                received_at: now,
                requested: None,
                doubts: 0,
                looked_at: now,
            });
            self.sign(Bytes(0), None);
        }
        let Some(session) = &mut self.session else { return };
        session.received_at = now;
        (session.class, session.nonce) = (terms.class, terms.nonce);
        session.interval = terms.interval;
        let (provider, class, started) = (session.provider, session.class, session.started);
        self.events.push_back(Event::Granted { provider, class, started, interval: terms.interval, home });
        self.show_renewed(now);
    }

    /// The answer to an open question opens a session under the certificate of that question, so that has to come first.
    fn show_renewed(&mut self, now: Time) {
        if self.asking.is_some() {
            return;
        }
        let Some((certificate, nonce)) = self.renewed.take() else { return };
        self.certificate = certificate;
        if self.session.is_some() && !self.ended && self.leaving.is_none() {
            self.ask_with(nonce, now);
        }
    }

    fn check_terms(
        &self,
        certificate: &Certificate,
        terms: &Acknowledgement,
        now: Time,
    ) -> Result<(), String> {
        let now = now.unix_seconds();
        certificate.check(Role::AccessPoint, now).map_err(|error| error.to_string())?;
        if certificate.subject().suite().is_legacy() || certificate.team().suite().is_legacy() {
            return Err("its suite is for measurements and not accepted here".into());
        }
        // The class of a session may rise, and its interval change, without a question: the answer to the last one is then
        // given anew.
        let is_anew = |session: &Session| {
            (session.nonce, session.started) == (terms.nonce, terms.started)
                && (session.class, session.interval) != (terms.class, terms.interval)
        };
        let is_asked = self.asking.as_ref().is_some_and(|asking| asking.nonce == terms.nonce);
        if !is_asked && !self.session.as_ref().is_some_and(is_anew) {
            return Err("it answers a question that was not asked".into());
        }
        if terms.member != self.certificate.subject_id() {
            return Err("it is for another member".into());
        }
        if terms.started > now.plus(self.config.skew) || terms.started < now.minus(self.config.skew) {
            return Err(format!(
                "its session began at {}, and it is {now}: check both clocks",
                terms.started
            ));
        }
        match &self.session {
            Some(session) if session.access_point != certificate.subject_id() => {
                Err("another access point answers in this session".into())
            }
            Some(session) if session.started != terms.started => Err("it is for another session".into()),
            None if self.last_started == Some((terms.provider, terms.started)) => {
                Err("this session was opened before".into())
            }
            _ => Ok(()),
        }
    }

    fn handle_request(&mut self, started: UnixSeconds, requested: Requested, now: Time) {
        let holds_max = self.config.holds_max;
        let Some(session) = self.session.as_mut().filter(|session| session.started == started) else {
            return self.drop_input("no-session", "a receipt is asked for a session that is not open".into());
        };
        session.received_at = now;
        let (weight, signed) = (requested.weight, session.signed);
        if weight < signed {
            return self.drop_input("replayed", format!("asked for {weight}, {signed} are signed already"));
        }
        if let Some(reason) = session.check_hold(requested.hold, weight, holds_max) {
            return self.drop_input("hold", reason);
        }
        session.looked_at = now;
        session.requested = Some(requested);
        self.events.push_back(Event::MeterNeeded);
    }

    fn handle_error(&mut self, code: Code, reason: String) {
        if let Some(leaving) = &self.leaving {
            let (paid, is_own) = (leaving.paid, leaving.is_own);
            return match code {
                Code::Closed if !is_own => self.end(code, reason),
                Code::Closed | Code::NoSession if paid => self.end(Code::Closed, "left and paid"),
                Code::Closed | Code::NoSession => self.end(Code::Closed, "left; everything was paid already"),
                Code::Unpaid | Code::Refused => self.end(code, reason),
                Code::Malformed | Code::Certificate | Code::Receipt | Code::Busy => {
                    self.drop_input("refused", reason);
                }
            };
        }
        match (code, self.session.is_some()) {
            // It concerns one message, and an open session goes on without it.
            (Code::Malformed | Code::Certificate | Code::Receipt | Code::Busy, true) => {
                self.drop_input("refused", reason);
            }
            // A full house may have room in a moment, and the other words are about sessions that are over.
            (Code::Busy | Code::Receipt | Code::Unpaid | Code::NoSession | Code::Closed, false) => {
                let kind = if code == Code::Busy { "busy" } else { "refused" };
                self.drop_input(kind, reason.clone());
                self.busy_reason = (code == Code::Busy).then_some(reason).or(self.busy_reason.take());
            }
            (Code::Unpaid | Code::NoSession | Code::Closed | Code::Refused, true)
            | (Code::Malformed | Code::Certificate | Code::Refused, false) => self.end(code, reason),
        }
    }

    /// Signs for so much of what is requested; the ledger has room for it.
    fn sign_for(&mut self, weight: Bytes, requested: Requested, ledger: &mut Ledger, now: Time) {
        let Some(session) = &mut self.session else { return };
        let more = weight.saturating_sub(session.signed);
        assert!(ledger.sign(session.provider, more, now), "the ledger was asked for its room");
        let hold = requested.hold.map(|hold| session.part_on(hold, weight, requested.weight));
        self.sign(weight, hold);
    }

    fn sign(&mut self, weight: Bytes, hold: Option<HoldUse>) {
        let Some(session) = &mut self.session else { return };
        session.signed = weight;
        if let Some(HoldUse { id, weight }) = hold {
            session.holds.insert(id, weight);
        }
        let Session { provider, started, .. } = *session;
        let service = Service { provider, started, weight, hold, on_holds: session.on_holds() };
        let receipt = Receipt::sign_service(&self.key, &session.certificate, service);
        let receipts = vec![receipt.as_bytes().to_vec()];
        let bundle = Bundle { receipts, ..Bundle::default() };
        self.send(&Message::Rcpt { reference: None, bundle, home: None });
        self.events.push_back(Event::Signed(receipt));
    }

    fn send(&mut self, message: &Message) {
        if self.transmits.len() < self.config.transmits_max {
            self.transmits.push_back(message.emit());
        }
    }

    fn drop_input(&mut self, kind: &'static str, reason: String) {
        self.events.push_back(Event::Dropped { kind, reason });
    }

    fn end(&mut self, code: Code, reason: impl Into<String>) {
        if !self.ended {
            self.ended = true;
            self.events.push_back(Event::Ended { code, reason: reason.into() });
        }
    }
}

impl Session {
    /// Why nothing is signed that says so much of a hold, if `weight` is signed for in all.
    fn check_hold(&self, hold: Option<HoldUse>, weight: Bytes, holds_max: usize) -> Option<String> {
        let Some(HoldUse { id, weight: asked }) = hold else {
            // A receipt without a hold says that nothing is on any.
            return (!self.holds.is_empty())
                .then(|| "asked for a receipt that names no hold any more".to_owned());
        };
        let before = self.holds.get(&id).copied();
        if before.is_none() && self.holds.len() >= holds_max {
            return Some(format!("a session is served on {holds_max} holds at most"));
        }
        let before = before.unwrap_or_default();
        if asked < before {
            return Some(format!("{asked} on hold {id}, {before} are signed already"));
        }
        let others = self.on_holds().saturating_sub(before);
        let sum = others.saturating_add(asked);
        (sum > weight).then(|| format!("{sum} on holds, {weight} in all: a byte is on one hold at most"))
    }

    /// What is signed for on all holds together; never more than in the session.
    fn on_holds(&self) -> Bytes {
        self.holds.values().fold(Bytes(0), |sum, &weight| sum.saturating_add(weight))
    }

    /// What is on the hold if only `weight` of the bytes that were `asked` for are signed for: the first ones, which were
    /// served before it.
    fn part_on(&self, hold: HoldUse, weight: Bytes, asked: Bytes) -> HoldUse {
        let before_it = asked.saturating_sub(hold.weight);
        let signed = self.holds.get(&hold.id).copied().unwrap_or_default();
        HoldUse { weight: weight.saturating_sub(before_it).max(signed), ..hold }
    }
}
