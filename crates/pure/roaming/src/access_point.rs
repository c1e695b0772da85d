//! The access point's machine: whom it lets through, for how long, and for which receipts.
//!
//! A visitor's CONN becomes a QUER to the team server; a grant becomes a CACK; the visitor's receipt over zero bytes
//! opens the firewall. From then on a receipt over all bytes so far is asked for every interval and every so many
//! bytes. A visitor of another team passes a window of unsigned bytes ([`Window`]) and then waits until it signs; one that
//! does not sign in time is closed. So what is carried for nothing is a window at most.

mod away;
mod blocked;
mod budget;
mod config;
mod debtors;
mod home_contacts;
mod outbox;
mod output;
mod questions;
mod revocations;
mod session;
mod sessions;
mod starts;
mod stations;

use crate::home::is_for_everybody;
use crate::message::{Acknowledgement, Code, Device, InSession, Message, Nonce, Reference, Update, Volume};
use away::{Away, Denied};
use budget::{Budget, OnHolds};
use debtors::Debtors;
use guestright_identity::{Certificate, KeyId, RevocationList, Role, SecretKey};
use guestright_ordered::OrderedSet;
use guestright_receipt::{Bundle, Receipt, ReceiptError, SessionKey, UncheckedReceipt};
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, Micros, TeamId, Time};
use home_contacts::{Due, HomeContacts, Reached};
use outbox::Outbox;
use output::{Output, Refusal};
use questions::{Question, Questions};
use revocations::Revocations;
use session::{Session, Stage};
use sessions::Sessions;
use starts::Starts;
use stations::Stations;
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::num::NonZeroU16;

pub use blocked::BLOCKED;
pub use config::{Config, ContactLimits, Window};
pub use session::{DebtChain, SessionStatus};
pub use stations::{Joined, Station, StationReport, Stay};

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
/// Paths with the bit [`CONTACT`] are the machine's own: connections to the homes of visitors that it asked for.
pub type Path = u64;

/// The bit that the program never sets in a [`Path`] of its own.
pub const CONTACT: Path = 1 << 62;

/// How much of a session's packets may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Whose they are.
    pub address: Address,
    /// How many bytes since it was opened, both ways.
    pub most: Bytes,
    /// How many of these may be unsigned.
    pub window: Bytes,
}

/// Bytes to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transmit {
    Visitor(Path, Vec<u8>),
    /// To the own team server.
    Home(Vec<u8>),
}

/// What the program around the machine has to do or may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Connect to the protocol's TCP port of this home, then call [`AccessPoint::handle_connected`], or
    /// [`AccessPoint::handle_disconnected`] if that fails.
    Connect {
        /// Which path the connection is from now on.
        path: Path,
        home: Ipv4Addr,
    },
    /// Close this connection to a home; everything that had to be said was said.
    Disconnect(Path),
    /// Let this visitor through, or only its tunnel if the address names a home; its counters start at zero.
    Opened { address: Address, class: ServiceClass, member: KeyId },
    /// Serve this visitor in another class.
    Reclassified {
        address: Address,
        /// How well from now on.
        class: ServiceClass,
    },
    /// Stop this visitor's packets both ways, then say what was counted with [`AccessPoint::handle_closed`]. Said again
    /// if that does not happen.
    Closing { address: Address, code: Code },
    /// A session that was opened is over.
    Closed {
        /// Who was served, what was carried and what was signed for.
        session: Box<SessionStatus>,
        code: Code,
    },
    /// A receipt to be kept.
    Received(Receipt, Box<Certificate>),
    /// The team server has made these durable.
    Delivered(Vec<(SessionKey, Bytes)>),
    /// A revocation list to be kept: it holds while the team server is away, and after a restart
    /// ([`AccessPoint::restore_revocations`]).
    Revoked(Box<RevocationList>),
    /// Have this station leave the Wi-Fi, and say with [`AccessPoint::handle_left`] that it has.
    Dismiss { station: Station, reason: &'static str },
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

/// What has passed within this time may go on.
const A_MOMENT: Micros = Micros::from_millis(300);
/// Why somebody's session is over.
const REVOKED: &str = "your team has revoked your certificate";
/// For how many seconds a decision holds that was made without the team server.
const DECIDED_ALONE_SECONDS: u32 = 60;

/// What a visitor hands in with CONN.
struct Application {
    address: Address,
    path: Path,
    certificate: Certificate,
    nonce: Nonce,
    holds: bool,
    bundle: Bundle,
}

/// How a question was decided.
struct Ruling {
    grant: Option<ServiceClass>,
    /// How much may be carried; nothing: as much as there is.
    volume: Option<Volume>,
    valid_for_seconds: u32,
    reason: String,
}

impl Ruling {
    fn no(reason: &str) -> Self {
        Self { grant: None, volume: None, valid_for_seconds: 0, reason: reason.to_owned() }
    }
}

/// Whoever wants to know while the team server cannot be asked learns this.
const AWAY: &str =
    "the household's home cannot be asked at the moment; this access point serves a little without it";

/// Somebody who wants to know whether it would be served.
struct Asking {
    address: Address,
    path: Path,
    certificate: Certificate,
    reference: Reference,
    holds: bool,
}

/// An access point of a team.
///
/// After every call that goes in ([`new`](Self::new), [`restore`](Self::restore), `handle_*`, [`shut_down`](Self::shut_down)),
/// the program drains what comes out:
///
/// 1. [`poll_event`](Self::poll_event) until there is none. Carry each out at once; the firewall answers an
///    [`Event::Closing`] later with [`handle_closed`](Self::handle_closed), a connection an [`Event::Connect`] with
///    [`handle_connected`](Self::handle_connected) or [`handle_disconnected`](Self::handle_disconnected).
/// 2. [`poll_transmit`](Self::poll_transmit) until there is none. What cannot be sent is dropped: timers repeat it.
/// 3. [`poll_timeout`](Self::poll_timeout): by then, call [`handle_timeout`](Self::handle_timeout) if nothing else came.
///
/// Besides, [`handle_traffic`](Self::handle_traffic) wants the firewall's counters a few times in each
/// [`Config::interval`], and the two of `handle_home_lost` and `handle_home_found` say how it stands with the team server.
///
/// ```
/// use guestright_roaming::access_point::{AccessPoint, Address, Config, Transmit};
/// # use guestright_identity::{Certificate, Role, SecretKey, Suite};
/// # use rand::SeedableRng;
/// # let mut rng = rand::rngs::StdRng::seed_from_u64(1);
/// # let team = SecretKey::generate(Suite::Ed25519, &mut rng);
/// # let key = SecretKey::generate(Suite::Ed25519, &mut rng);
/// # let now = guestright_units::UnixSeconds(1_800_000_000);
/// # let certificate = Certificate::issue(&team, key.public(), Role::AccessPoint, now, now.plus(3_600));
/// # let now = now.time();
/// let mut access_point = AccessPoint::new(Config::default(), key, certificate);
/// let visitor = Address::new([2, 0, 0, 0, 0, 1], [10, 0, 0, 2].into());
/// access_point.handle_visitor(visitor, 7, b"what came on path 7", now);
/// while let Some(event) = access_point.poll_event() {
///     println!("{event:?}"); // Order the firewall, keep the receipt, connect to a home.
/// }
/// while let Some(transmit) = access_point.poll_transmit() {
///     match transmit {
///         Transmit::Visitor(path, _bytes) => assert_eq!(path, 7), // It is told that this was no message.
///         Transmit::Home(_bytes) => unreachable!("nothing to ask the team server"),
///     }
/// }
/// assert_eq!(access_point.poll_timeout(), None); // Nothing is due until something comes in.
/// ```
#[derive(Debug)]
pub struct AccessPoint {
    config: Config,
    key: SecretKey,
    certificate: Certificate,
    sessions: Sessions,
    questions: Questions,
    outbox: Outbox,
    /// Of the last QUER or RCPT to the team server.
    last_reference: Reference,
    starts: Starts,
    debtors: Debtors,
    away: Away,
    /// Whether what somebody may pass has grown since the program last asked.
    limits_rose: bool,
    home_contacts: HomeContacts,
    stations: Stations,
    revocations: Revocations,
    /// Devices that the household does not serve.
    blocked: OrderedSet<Device>,
    is_stopping: bool,
    /// Where the team's home awaits other homes, as it said.
    home_address: Option<guestright_directory::Address>,
    output: Output,
}

impl AccessPoint {
    /// An access point with its own key and the certificate that its team made for it.
    pub fn new(config: Config, key: SecretKey, certificate: Certificate) -> Self {
        Self {
            output: Output::new(&config),
            away: Away::new(config.away_per_day),
            config,
            key,
            certificate,
            sessions: Sessions::default(),
            questions: Questions::default(),
            outbox: Outbox::default(),
            last_reference: 1,
            starts: Starts::default(),
            debtors: Debtors::default(),
            limits_rose: false,
            home_contacts: HomeContacts::default(),
            stations: Stations::default(),
            revocations: Revocations::default(),
            blocked: OrderedSet::new(),
            is_stopping: false,
            home_address: None,
        }
    }

    /// Takes up receipts that were kept but not delivered when the program stopped.
    pub fn restore(&mut self, receipts: Vec<(Receipt, Certificate)>, now: Time) {
        for (receipt, certificate) in receipts {
            self.outbox.push(receipt, certificate, now);
        }
    }

    /// Takes up revocation lists that were kept when the program stopped.
    pub fn restore_revocations(&mut self, lists: impl IntoIterator<Item = RevocationList>) {
        let own = self.certificate.team_id();
        for list in lists {
            self.revocations.insert(list, own);
        }
    }

    /// From now on these limits hold, also for those who have a session: each is told the new terms, and signs by them from
    /// then on. Nobody is closed for it, and queues keep their lengths.
    pub fn reconfigure(&mut self, config: Config, now: Time) {
        let before = std::mem::replace(&mut self.config, config);
        self.away.set_per_day(self.config.away_per_day);
        self.limits_rose = true;
        let terms = |config: &Config| (config.interval, config.volume);
        if terms(&before) == terms(&self.config) {
            return;
        }
        let latest = now + self.config.interval;
        for address in self.sessions.addresses() {
            let Some(session) = self.sessions.get_mut(address) else { continue };
            session.request_at = session.request_at.min(latest);
            let path = session.path;
            self.acknowledge(address, path);
        }
    }

    /// Takes a message of a visitor in.
    pub fn handle_visitor(&mut self, address: Address, path: Path, bytes: &[u8], now: Time) {
        if self.output.is_blocked() {
            return self.output.count("queue-full");
        }
        match Message::parse(bytes) {
            Ok(Message::Conn { certificate, nonce, holds, bundle }) => {
                let certificate = *certificate;
                self.handle_conn(Application { address, path, certificate, nonce, holds, bundle }, now);
            }
            Ok(Message::Rcpt { bundle, .. }) => self.handle_receipt(address, path, &bundle, now),
            Ok(Message::Quer { reference, certificate, request: Bytes(0), session: None, holds, .. })
                if address.home.is_none() =>
            {
                self.handle_asking(
                    Asking { address, path, certificate: *certificate, reference, holds },
                    now,
                );
            }
            Ok(Message::Erro { code: Code::Closed, .. }) if self.sessions.contains(address) => {
                if address.home.is_some() {
                    // It is its home that will sign no more. Perhaps it is a member no more.
                    self.dismiss(address, "its home has ended its session");
                }
                self.close(address, Code::Closed, now);
            }
            Ok(Message::Erro { code: Code::Closed, .. }) => {
                self.output.reply(path, &Message::error(Code::NoSession, "the session is over"));
            }
            Ok(Message::Erro { .. }) => {} // It cannot ask anything of us.
            Ok(other) => {
                let reason = format!("a {} is not for an access point", other.method());
                let refusal = Refusal { kind: "unexpected", code: Code::Malformed, reason };
                self.output.refuse(address, path, refusal);
            }
            Err(error) => {
                let refusal =
                    Refusal { kind: error.kind(), code: Code::Malformed, reason: error.to_string() };
                self.output.refuse(address, path, refusal);
            }
        }
    }

    /// Takes in that the certificate was renewed: what is acknowledged from now on is under the new one. Sessions go on.
    pub fn renew(&mut self, certificate: Certificate) {
        self.certificate = certificate;
    }

    /// Takes a message of the team server in.
    pub fn handle_home(&mut self, bytes: &[u8], now: Time) {
        match Message::parse(bytes) {
            Ok(Message::Qrsp { reference, grant, volume, home, valid_for, reason, .. }) => {
                self.home_address = home.or(self.home_address.take());
                let ruling = Ruling { grant, volume, valid_for_seconds: valid_for, reason };
                match self.sessions.asked(reference) {
                    Some(address) => self.handle_more(address, ruling, now),
                    None => self.handle_decision(reference, ruling, now),
                }
            }
            Ok(Message::Updt { reference, what: Update::Taken { .. } }) => {
                let delivered = self.outbox.delivered(reference, now);
                if !delivered.is_empty() {
                    self.output.event(Event::Delivered(delivered));
                }
                self.flush(now);
            }
            Ok(Message::Rcpt { reference: None, bundle, .. }) if bundle.receipts.is_empty() => {
                self.handle_revocations(&bundle, now);
            }
            Ok(Message::Erro { reference: Some(reference), .. }) => {
                self.output.count("home");
                self.decide_alone(reference, now);
            }
            Ok(_) | Err(_) => self.output.count("home"),
        }
    }

    /// The team server hands on whom teams have revoked. Whoever is among them is served no longer.
    fn handle_revocations(&mut self, bundle: &Bundle, now: Time) {
        let own = self.certificate.team_id();
        for bytes in &bundle.revocations {
            match RevocationList::parse(bytes) {
                Ok(list) if self.revocations.insert(list.clone(), own) => {
                    self.output.event(Event::Revoked(Box::new(list)));
                }
                Ok(_) => {} // Known already.
                Err(_) => self.output.count("home"),
            }
        }
        for address in self.sessions.addresses() {
            let certificate = self.sessions.get(address).map(|session| &session.shown);
            let is_revoked = |it: &Certificate| self.revocations.check(it, now.unix_seconds()).is_err();
            if certificate.is_some_and(is_revoked)
                && let Some(session) = self.sessions.get_mut(address)
            {
                (session.decided_alone, session.more.reason) = (false, Some(REVOKED.to_owned()));
                self.output.count("revoked");
                self.close(address, Code::Refused, now);
            }
        }
    }

    /// Takes in that the team server cannot be reached: open questions are answered by the configuration.
    pub fn handle_home_lost(&mut self, now: Time) {
        self.questions.expire(now);
        self.outbox.lost(now + self.config.flush_after);
        self.handle_timeout(now);
    }

    /// Takes in that the team server can be reached (again). What was decided without it is asked of it now, and homes
    /// that were turned away for want of it may be contacted.
    pub fn handle_home_found(&mut self, now: Time) {
        self.sessions.reconsider(now);
        self.home_contacts.home_found(now);
        self.handle_timeout(now);
    }

    /// Takes in what the firewall has counted for a visitor since it was opened, both ways.
    pub fn handle_traffic(&mut self, address: Address, counted: Bytes, now: Time) {
        let Some(session) = self.sessions.get_mut(address) else {
            return;
        };
        if session.stage != Stage::Open {
            return;
        }
        let carried = session.count(counted, now);
        let (unpaid, awaited) = (session.unpaid(), session.request.is_some());
        let window = session.window(self.config.window, self.certificate.team_id());
        let (wants_more, is_used_up) = (session.wants_more(now), session.is_used_up());
        if session.decided_alone {
            self.away.draw(carried);
            if self.away.is_used_up() {
                return self.close(address, Code::Refused, now);
            }
        }
        if unpaid.0 / 2 >= window.0 {
            // The firewall should have held it back long ago.
            return self.close(address, Code::Unpaid, now);
        }
        if unpaid >= self.config.volume.min(Bytes(window.0 / 2)) && !awaited {
            self.request(address, now);
        }
        if wants_more {
            self.ask_more(address, now);
        } else if is_used_up {
            self.close(address, Code::Refused, now);
        }
    }

    /// Takes in what the firewall had counted for a visitor when it was closed.
    pub fn handle_closed(&mut self, address: Address, counted: Bytes, now: Time) {
        let Some(session) = self.sessions.get_mut(address) else {
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

    /// Takes in that a visitor without a session has a tunnel: the home at `home` has answered it. `port` is where the
    /// home sees it come from. Said as often as the flow is seen; the machine contacts the home when it may.
    pub fn handle_flow(&mut self, visitor: Address, home: Ipv4Addr, port: NonZeroU16, now: Time) {
        let address = Address { home: Some(home), ..visitor };
        let is_unwanted = self.is_stopping || self.blocked.contains(&address.mac);
        if is_unwanted || self.output.is_blocked() || self.sessions.serves(address.ip) {
            return;
        }
        let path = self.home_contacts.open(address, port, &self.sessions, &self.config.contacts, now);
        if let Some(path) = path {
            self.output.event(Event::Connect { path, home });
        }
    }

    /// Takes in that the home has accepted the connection.
    pub fn handle_connected(&mut self, path: Path) {
        let Some(Reached { address, port }) = self.home_contacts.connected(path) else {
            return self.output.event(Event::Disconnect(path)); // It was given up meanwhile.
        };
        let session = self.sessions.get_mut(address);
        let started = session.map(|session| {
            (session.path, session.path_claimed) = (path, path);
            session.started
        });
        self.output.send(path, &Message::RreqTunnel { port, started });
        if started.is_some() {
            self.send_request(address);
        }
    }

    /// Takes a message of a visitor's home in.
    pub fn handle_contact(&mut self, path: Path, bytes: &[u8], now: Time) {
        let Some(address) = self.home_contacts.address(path) else { return };
        if !self.sessions.contains(address)
            && let Ok(Message::Erro { code, reason, .. }) = Message::parse(bytes)
        {
            // The home does not sign: there is no such tunnel, or no delegation for it.
            self.home_contacts.refused(path, now);
            self.output.count("home-refused");
            let reason = format!("the home does not sign ({code}): {reason}");
            return self.output.event(Event::Refused { address, kind: "home-refused", reason });
        }
        self.handle_visitor(address, path, bytes, now);
    }

    /// Takes in that a connection to a visitor's home could not be made or is gone.
    pub fn handle_disconnected(&mut self, path: Path, now: Time) {
        let Some(address) = self.home_contacts.address(path) else { return };
        let session = self.sessions.get_mut(address);
        match session.filter(|session| session.path == path && session.stage != Stage::Opening) {
            Some(session) => {
                let again = self.home_contacts.reconnect(path, &self.config.contacts, now);
                let again = again.unwrap_or(path); // It was there a moment ago.
                (session.path, session.path_claimed) = (again, again);
                session.line_lost = true;
            }
            None => {
                if self.home_contacts.disconnected(path, &self.config.contacts, now) {
                    self.output.count("home-away");
                    let reason = "the visitor's home does not answer".to_owned();
                    self.output.event(Event::Refused { address, kind: "home-away", reason });
                }
            }
        }
    }

    /// Whether one more station of the team may join the Wi-Fi.
    ///
    /// # Errors
    /// One sentence for a person.
    pub fn check_join(&self, station: Station, team: TeamId) -> Result<(), &'static str> {
        if self.blocked.contains(&station) {
            return Err("This household does not serve this device.");
        }
        let Config { stations_max, team_stations_max, .. } = self.config;
        if self.stations.has_room(station, team, stations_max, team_stations_max) {
            return Ok(());
        }
        Err("As many devices as this household takes have joined already. Try again later.")
    }

    /// Takes in that a station has joined the Wi-Fi by 802.1X: its home and this household have let it in.
    pub fn handle_joined(&mut self, joined: Joined) {
        let station = joined.station;
        self.stations.join(joined);
        if self.blocked.contains(&station) {
            self.dismiss(Address::new(station, Ipv4Addr::UNSPECIFIED), BLOCKED); // Since it was asked about.
        }
    }

    /// Takes in what a radio reports of a station.
    pub fn handle_report(&mut self, report: StationReport, now: Time) {
        if let Some(event) = self.stations.handle_report(report, now) {
            self.output.event(event);
        }
    }

    /// Takes in that a station has left the Wi-Fi.
    pub fn handle_left(&mut self, station: Station) {
        self.stations.leave(station);
    }

    /// Who has joined the Wi-Fi by 802.1X.
    pub fn joined(&self) -> impl Iterator<Item = &Joined> {
        self.stations.all()
    }

    /// Takes in that the time is now.
    pub fn handle_timeout(&mut self, now: Time) {
        self.away.handle_timeout(now);
        for event in self.stations.handle_timeout(now) {
            self.output.event(event);
        }
        for reference in self.questions.overdue(now) {
            self.decide_alone(reference, now);
        }
        for address in self.sessions.addresses() {
            self.session_timeout(address, now);
        }
        for due in self.home_contacts.handle_timeout(&self.sessions, &self.config.contacts, now) {
            match due {
                Due::Connect { path, home } => self.output.event(Event::Connect { path, home }),
                Due::Disconnect { path, silent } => {
                    if silent {
                        self.output.count("home-silent");
                    }
                    self.output.event(Event::Disconnect(path));
                }
            }
        }
        self.flush(now);
    }

    /// Closes every session, has every station leave and contacts no home any more, for a program that stops.
    pub fn shut_down(&mut self, now: Time) {
        // Without us nobody serves them; and they join anew when we are back.
        for event in self.stations.dismiss_all("the access point stops") {
            self.output.event(event);
        }
        for address in self.sessions.addresses() {
            self.close(address, Code::Closed, now);
        }
        self.is_stopping = true;
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.output.poll_transmit()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.output.poll_event()
    }

    /// When [`AccessPoint::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        let contacts = self.home_contacts.timeout(&self.sessions);
        let stations = self.stations.timeout();
        let due =
            [self.questions.timeout(), self.sessions.timeout(), self.outbox.timeout(), contacts, stations];
        due.into_iter().flatten().min()
    }

    /// The sessions whose packets may pass: the firewall keeps their gates open for one lease more. A session that is being closed is not
    /// among them.
    pub fn open(&self) -> impl Iterator<Item = Gate> + '_ {
        let own = self.certificate.team_id();
        self.sessions.open().map(move |(address, session)| {
            let window = session.window(self.config.window, own);
            let paid = session.signed.saturating_add(window);
            let left = session.counted.saturating_add(self.away.left());
            let granted = session.budget.as_ref().map_or(Bytes(u64::MAX), Budget::end);
            let most = paid.min(if session.decided_alone { left } else { granted });
            Gate { address, most, window }
        })
    }

    /// How soon the firewall's counters are wanted: before the first visitor has used up half of what it may pass, if all go
    /// on as they did. It asks for a receipt then, so that nobody who signs has to wait. As long as somebody may pass little
    /// and has passed something a moment ago, at once: bytes come in bursts.
    pub fn next_reading(&self, now: Time) -> Micros {
        let own = self.certificate.team_id();
        let open = self.sessions.open().filter(|(_, session)| !session.is_own(own));
        let waits = open.map(|(_, session)| {
            let window = session.window(self.config.window, own);
            let is_bursting = window < self.config.window.most && now - session.counted_at < A_MOMENT;
            let left = if is_bursting { Bytes(0) } else { window.saturating_sub(session.unpaid()) };
            session.half_of(left)
        });
        waits.min().unwrap_or(Micros(u64::MAX))
    }

    /// Whether a limit of [`AccessPoint::open`] has risen since this was last asked: somebody may be waiting for the
    /// firewall to be told.
    pub fn limits_rose(&mut self) -> bool {
        std::mem::take(&mut self.limits_rose)
    }

    /// What may still be carried today for whom the team server could not be asked about.
    pub fn left_while_away(&self) -> Bytes {
        self.away.left()
    }

    /// The sessions, as a person wants to see them.
    pub fn status(&self) -> Vec<SessionStatus> {
        self.sessions.status()
    }

    /// Whether somebody at this address has a session, or its tunnel has.
    pub fn serves(&self, ip: Ipv4Addr) -> bool {
        self.sessions.serves(ip)
    }

    /// Whose access point it is.
    pub fn team_id(&self) -> TeamId {
        self.certificate.team_id()
    }

    /// How many messages were refused, by kind.
    pub fn refusals(&self) -> &BTreeMap<&'static str, u64> {
        self.output.refusals()
    }

    /// The paths by which visitors with a session last sent something, those whose CONN is being decided, and those of
    /// contacts with homes. They do not give way to strangers' connections.
    pub fn paths_in_use(&self) -> Vec<Path> {
        self.sessions.paths().chain(self.questions.paths()).chain(self.home_contacts.paths()).collect()
    }

    /// How many receipts wait to be delivered to the team server.
    pub fn undelivered(&self) -> usize {
        self.outbox.len()
    }

    // From CONN through QUER and QRSP to CACK: who is let in.

    fn handle_conn(&mut self, application: Application, now: Time) {
        let Application { address, path, nonce, .. } = application;
        if let Err(refusal) = self.check_certificate(&application.certificate, now) {
            return self.output.refuse(address, path, refusal);
        }
        if let Err(refusal) = self.check_station(address, &application.certificate) {
            self.home_contacts.over(path, false, now);
            return self.output.refuse(address, path, refusal);
        }
        if self.questions.is_under_way(address, nonce) {
            return; // Sent again; the answer is on its way.
        }
        if self.has_forgotten(&application) {
            self.close(address, Code::Unpaid, now);
        }
        if let Err(refusal) = self.check_admission(&application, now) {
            return self.output.refuse(address, path, refusal);
        }
        if let Some(session) = self.sessions.get_mut(address) {
            session.path_claimed = path;
            if session.nonce == nonce {
                return self.acknowledge(address, path);
            }
        }
        if self.questions.is_too_soon(address, self.config.question_gap, now) {
            return self.wait_for_its_turn(address, path, now);
        }
        let Application { certificate, bundle, holds, .. } = application;
        let until = now + self.config.decision_timeout;
        self.ask(
            Question { address, path, certificate, nonce: Some(nonce), holds, asks: None, until },
            bundle,
            now,
        );
    }

    /// A question comes too soon. The visitor asks again by itself; where others behind its hardware address are the reason, it can
    /// say so. A refusal would end its visit, and this does not.
    fn wait_for_its_turn(&mut self, address: Address, path: Path, now: Time) {
        self.output.count("too-soon");
        let is_served = address.home.is_some() || self.sessions.contains(address);
        if !is_served && self.questions.is_crowded(address, self.config.question_gap, now) {
            self.output.reply(path, &Message::error(Code::Busy, questions::CROWDED));
        }
    }

    /// Somebody wants to know whether it would be served. It gets an answer and nothing else, whoever's the certificate is: it
    /// has proved no key. What it shows is not looked at.
    fn handle_asking(&mut self, asking: Asking, now: Time) {
        let Asking { address, path, certificate, reference, holds } = asking;
        let refused = self
            .check_certificate(&certificate, now)
            .and_then(|()| self.check_station(address, &certificate));
        if let Err(refusal) = refused {
            return self.output.refuse(address, path, refusal);
        }
        if self.questions.is_asked(address, reference) {
            return; // Sent again; the answer is on its way.
        }
        if self.questions.is_too_soon(address, self.config.question_gap, now) {
            return self.output.count("too-soon"); // It asks again by itself.
        }
        if self.sessions.get(address).is_none() && self.sessions.is_full(self.config.sessions_max) {
            return self.answer_asking(path, reference, Ruling::no("all places are taken"));
        }
        let (nonce, asks, until) = (None, Some(reference), now + self.config.decision_timeout);
        let question = Question { address, path, certificate, nonce, holds, asks, until };
        self.ask(question, Bundle::default(), now);
    }

    fn answer_asking(&mut self, path: Path, reference: Reference, ruling: Ruling) {
        let Ruling { grant, volume, valid_for_seconds: valid_for, reason } = ruling;
        let answer = Message::Qrsp { reference, grant, volume, valid_for, reason, home: None, ind: None };
        self.output.reply(path, &answer);
    }

    /// Whether a home that was contacted again asks for service as if for the first time: it was started anew, and nobody
    /// will sign for the session that it had.
    fn has_forgotten(&self, application: &Application) -> bool {
        let Application { address, path, certificate, nonce, .. } = application;
        self.sessions.get(*address).is_some_and(|session| {
            let same = session.path == *path && session.certificate.subject_id() == certificate.subject_id();
            same && session.line_lost && session.stage == Stage::Open && session.nonce != *nonce
        })
    }

    fn check_certificate(&self, certificate: &Certificate, now: Time) -> Result<(), Refusal> {
        let refusal = |kind, reason| Refusal { kind, code: Code::Certificate, reason };
        certificate
            .check(Role::Member, now.unix_seconds())
            .map_err(|error| refusal("certificate", error.to_string()))?;
        self.revocations
            .check(certificate, now.unix_seconds())
            .map_err(|error| refusal("revoked", error.to_string()))?;
        let legacy = certificate.subject().suite().is_legacy() || certificate.team().suite().is_legacy();
        if legacy && !self.config.rules.legacy_suites {
            let reason = "its suite is for measurements and not accepted here".to_owned();
            return Err(refusal("legacy-suite", reason));
        }
        Ok(())
    }

    /// A device that is blocked gets no session, and one that has joined the Wi-Fi as one of a team none of another.
    fn check_station(&self, address: Address, certificate: &Certificate) -> Result<(), Refusal> {
        if self.blocked.contains(&address.mac) {
            return Err(Refusal::blocked());
        }
        match self.stations.team(address.mac) {
            Some(team) if team != certificate.team_id() => {
                let reason = format!(
                    "this device joined the Wi-Fi as one of team {}; for team {} join it again with that team's profile",
                    team.short(),
                    certificate.team_id().short()
                );
                Err(Refusal { kind: "other-team", code: Code::Refused, reason })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether this visitor may have or already has a session here.
    ///
    /// Anybody can send a CONN from somebody else's address, so it never ends the session that is there: that ends by
    /// itself if its visitor has gone and no longer signs. When all places are taken, the team server is not asked about
    /// anybody but own members and those whom it let in before in a better class than somebody has who is there.
    fn check_admission(&self, application: &Application, now: Time) -> Result<(), Refusal> {
        let Application { address, certificate, .. } = application;
        match self.sessions.get(*address) {
            Some(session)
                if session.is_closing() || session.certificate.subject_id() != certificate.subject_id() =>
            {
                Err(Refusal::busy(questions::ADDRESS_TAKEN))
            }
            Some(_) => Ok(()),
            None if self.sessions.is_full(self.config.sessions_max) => {
                let is_own = certificate.team_id() == self.certificate.team_id();
                let expected =
                    if is_own { Some(ServiceClass::Own) } else { self.away.last_answer(certificate, now) };
                let gives_way = expected.and_then(|class| self.sessions.gives_way(class));
                gives_way.map(|_| ()).ok_or_else(|| Refusal::busy("all places are taken"))
            }
            None => Ok(()),
        }
    }

    /// Puts a visitor's case to the team server, with the receipts that it shows.
    fn ask(&mut self, question: Question, bundle: Bundle, now: Time) {
        let reference = self.next_reference();
        let quer = Message::Quer {
            reference,
            certificate: Box::new(question.certificate.clone()),
            request: if question.asks.is_some() { Bytes(0) } else { self.config.request },
            session: None,
            holds: question.holds,
            bundle,
        };
        if question.nonce.is_some() || question.asks.is_some() {
            self.output.ask_home(&quer);
        } else {
            self.output.send_home(&quer);
        }
        self.questions.add(reference, question, self.config.pending_max, self.config.question_gap, now);
    }

    /// Decides without the team server: an open session goes on as it was, others are let in as the configuration says, but
    /// neither beyond what may be carried without it.
    fn decide_alone(&mut self, reference: Reference, now: Time) {
        let Some(question) = self.questions.get(reference) else {
            return;
        };
        let (address, path) = (question.address, question.path);
        let own = self.certificate.team_id();
        if let Some(asks) = question.asks {
            let decision = self.away.decide(&question.certificate, own, self.config.when_home_is_away, now);
            self.questions.remove(reference);
            let reason = match decision {
                Ok(_) => AWAY,
                Err(denied) => denied.reason(),
            };
            let ruling = Ruling {
                grant: decision.ok(),
                valid_for_seconds: DECIDED_ALONE_SECONDS,
                ..Ruling::no(reason)
            };
            return self.answer_asking(path, asks, ruling);
        }
        let (decision, answered) = match self.sessions.get(address) {
            Some(session) if now < session.answered_until => (Ok(session.class), true),
            Some(session) if !self.away.is_used_up() => (Ok(session.class), false),
            Some(_) => (Err(Denied::UsedUp), false),
            None => {
                let usual = self.config.when_home_is_away;
                (self.away.decide(&question.certificate, own, usual, now), false)
            }
        };
        if decision.is_err() {
            self.home_contacts.undecided(path);
        }
        let reason = decision.err().map_or("", Denied::reason).to_owned();
        let valid_for_seconds = if answered { 0 } else { DECIDED_ALONE_SECONDS };
        let ruling = Ruling { grant: decision.ok(), volume: None, valid_for_seconds, reason };
        self.settle(reference, ruling, now);
        if let Some(session) = self.sessions.get_mut(address).filter(|_| !answered) {
            session.decided_alone = true;
        }
    }

    /// The team server has decided.
    fn handle_decision(&mut self, reference: Reference, ruling: Ruling, now: Time) {
        let Some(question) = self.questions.get(reference) else {
            return;
        };
        if let Some(asks) = question.asks {
            let path = question.path;
            self.questions.remove(reference);
            return self.answer_asking(path, asks, ruling);
        }
        let address = question.address;
        self.away.answered(&question.certificate, ruling.grant, now);
        let until = now + Micros::from_seconds(ruling.valid_for_seconds.max(1).into());
        self.settle(reference, ruling, now);
        if let Some(session) = self.sessions.get_mut(address) {
            (session.decided_alone, session.answered_until) = (false, until);
        }
    }

    fn settle(&mut self, reference: Reference, ruling: Ruling, now: Time) {
        let Some(question) = self.questions.remove(reference) else {
            return;
        };
        let Ruling { mut grant, volume, valid_for_seconds, reason } = ruling;
        let address = question.address;
        let for_everybody = grant.is_some() && is_for_everybody(&reason);
        let mut until = now + Micros::from_seconds(valid_for_seconds.max(1).into());
        let session = self.sessions.get(address);
        if let Some(session) =
            session.filter(|session| question.nonce.is_some() && now < session.decided_until)
        {
            // Showing receipts can only help, as long as a decision holds: a CONN may be anybody's.
            until = if grant.is_some() { until.max(session.decided_until) } else { session.decided_until };
            grant = grant.max(Some(session.class));
        }
        match (grant, session.map(Session::is_closing)) {
            (_, Some(true)) => {} // Too late for this session.
            (None, Some(false)) => self.close(address, Code::Refused, now),
            (None, None) => {
                let refusal = Refusal { kind: "denied", code: Code::Refused, reason };
                self.output.refuse(address, question.path, refusal);
                self.home_contacts.over(question.path, false, now);
            }
            (Some(class), Some(false)) => {
                self.reclassify(&question, class, until);
                if volume.is_some() {
                    // It has shown more: perhaps more can be reserved.
                    self.ask_more(address, now);
                }
            }
            (Some(class), None) => self.begin(question, (class, volume), until, now),
        }
        if let Some(session) = self.sessions.get_mut(address).filter(|_| grant.is_some()) {
            session.for_everybody = for_everybody;
        }
    }

    fn reclassify(&mut self, question: &Question, class: ServiceClass, until: Time) {
        let address = question.address;
        let Some(session) = self.sessions.get_mut(address) else {
            return;
        };
        session.decided_until = until;
        session.nonce = question.nonce.unwrap_or(session.nonce);
        if question.certificate.not_after() > session.shown.not_after() {
            session.shown = question.certificate.clone();
        }
        if session.class != class {
            session.class = class;
            if session.stage == Stage::Open {
                self.output.event(Event::Reclassified { address, class });
            }
        }
        let asks = session.request.is_some();
        if question.nonce.is_some() {
            self.acknowledge(address, question.path);
            // Who went away and came back did not receive the request, and has little time left to answer.
            if asks {
                self.send_request(address);
            }
        }
    }

    /// A granted visitor gets its session. Who has not proved a key by then gives way: forged questions cost nothing.
    fn begin(
        &mut self,
        question: Question,
        (class, volume): (ServiceClass, Option<Volume>),
        until: Time,
        now: Time,
    ) {
        let Question { address, path, certificate, nonce, holds, .. } = question;
        let Some(nonce) = nonce else { return }; // The session that it was for is over.
        // It may have joined as another meanwhile, or be blocked.
        if let Err(refusal) = self.check_station(address, &certificate) {
            self.home_contacts.over(path, false, now);
            return self.output.refuse(address, path, refusal);
        }
        if self.sessions.len() >= self.config.sessions_max {
            match self.sessions.oldest_unproved() {
                Some(oldest) => self.turn_away(oldest, now),
                // One more than there are places, until it has proved its key.
                None if self.has_one_too_few(class) => {}
                None => return self.output.refuse(address, path, Refusal::busy("all places are taken")),
            }
        }
        let Some(started) = self.starts.next(certificate.subject_id(), now.unix_seconds()) else {
            return self.output.refuse(address, path, Refusal::busy("too many sessions begin at once"));
        };
        let (deadline, retry_at) = (now + self.config.receipt_deadline, now + self.config.retry_after);
        let owed = self.debtors.owes(address, certificate.team_id(), now);
        let budget = volume.map(|volume| {
            let mut budget = Budget::default();
            budget.add(volume, Bytes(0));
            budget
        });
        let session = Session::new(path, certificate, started, class, nonce, until);
        let mut session = Session { owed, holds, budget, ..session };
        session.await_receipt(now, deadline, retry_at);
        self.sessions.insert(address, session);
        self.acknowledge(address, path);
    }

    fn acknowledge(&mut self, address: Address, path: Path) {
        let Some(session) = self.sessions.get(address) else {
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
        let home = self.home_address.clone();
        let acknowledgement = terms.seal(&self.key, &self.certificate);
        self.output.reply(path, &Message::Cack { certificate, acknowledgement, home });
    }

    // Requests and receipts, and the end of a session: how a visitor is served.

    fn handle_receipt(&mut self, address: Address, path: Path, bundle: &Bundle, now: Time) {
        if !self.sessions.contains(address) {
            let reason = "a receipt without a session; ask for service first".to_owned();
            let refusal = Refusal { kind: "no-session", code: Code::NoSession, reason };
            return self.output.refuse(address, path, refusal);
        }
        match self.check_receipt(address, bundle, now) {
            Ok(receipt) => self.accept(address, path, receipt, now),
            Err(error) => {
                let refusal = Refusal { kind: error.kind(), code: Code::Receipt, reason: error.to_string() };
                self.output.refuse(address, path, refusal);
            }
        }
    }

    fn check_receipt(&self, address: Address, bundle: &Bundle, now: Time) -> Result<Receipt, ReceiptError> {
        let session = self.sessions.get(address).ok_or(ReceiptError::OtherSession)?;
        let [encoded] = bundle.receipts.as_slice() else {
            return Err(ReceiptError::OtherSession);
        };
        let receipt = UncheckedReceipt::parse(encoded)?;
        let own = self.certificate.team_id();
        if receipt.provider() != own {
            return Err(ReceiptError::WrongTeam { got: receipt.provider(), want: own });
        }
        if receipt.started() != session.started || receipt.certificate() != session.certificate.reference() {
            return Err(ReceiptError::OtherSession);
        }
        let known = session.signed;
        if receipt.weight() < known {
            return Err(ReceiptError::LowerWeight { got: receipt.weight(), known });
        }
        if session.is_own(own) {
            // A team owes itself nothing: the signature proves the member, and nobody keeps the receipt.
            receipt.claim(&session.certificate)?.verify()?;
            return Receipt::from_kept(encoded, &session.certificate);
        }
        let receipt = self.config.rules.verify(receipt, &session.certificate, now.unix_seconds())?;
        session.check_claim(receipt.weight(), OnHolds { hold: receipt.hold(), sum: receipt.on_holds() })?;
        Ok(receipt)
    }

    fn accept(&mut self, address: Address, path: Path, receipt: Receipt, now: Time) {
        let own_team = self.certificate.team_id();
        let interval = self.config.interval;
        let asked = self.sessions.get(address).and_then(|session| session.request.as_ref());
        let next = asked.map(|request| self.sessions.request_at(address, request.made + interval, interval));
        let Some(session) = self.sessions.get_mut(address) else {
            return;
        };
        let raised = receipt.weight() > session.signed;
        let answered = session.request.take_if(|request| receipt.weight() >= request.weight);
        if !raised && answered.is_none() {
            return; // Sent twice: it must not put the next request off.
        }
        if let Some(request) = &mut session.request {
            // It has signed for what it has seen so far, and the rest may wait in our queue.
            request.deadline = request.deadline.max(now + self.config.receipt_deadline);
        }
        (session.path, session.path_claimed) = (path, path);
        session.signed = session.signed.max(receipt.weight());
        session.latest = Some(receipt.clone());
        let signed = session.signed;
        let was_on_hold = session.budget.as_ref().is_some_and(Budget::is_on_hold);
        let is_next = session.budget.as_mut().is_some_and(|budget| budget.signed(signed));
        if is_next && was_on_hold {
            session.finals.push(receipt.clone());
        }
        let goes_on = is_next && session.counted > session.signed;
        self.limits_rose |= raised && !session.is_own(own_team);
        let is_answered = answered.is_some();
        if let Some(next) = next.filter(|_| is_answered) {
            // From when it was asked: a visitor that answers late gains nothing by it.
            session.request_at = next;
        }
        if raised && !session.is_own(own_team) {
            let certificate = session.certificate.clone();
            let due = now + self.config.flush_after;
            self.outbox.push(receipt.clone(), certificate.clone(), due);
            self.output.event(Event::Received(receipt, Box::new(certificate)));
        }
        match session.stage {
            Stage::Settling { .. } | Stage::Open if is_answered && goes_on => self.request(address, now),
            Stage::Opening => {
                (session.stage, session.counted_at, session.read_at) = (Stage::Open, now, now);
                let (class, member) = (session.class, session.certificate.subject_id());
                self.output.event(Event::Opened { address, class, member });
                self.opened(address, now);
                self.make_room(class, now);
                self.ask_more(address, now);
            }
            Stage::Settling { .. } if is_answered => self.forget(address, now),
            Stage::Settling { .. } | Stage::Open | Stage::Closing { .. } => {}
        }
    }

    /// Whether all places are taken, none by more than one, and somebody would give way to this class.
    fn has_one_too_few(&self, class: ServiceClass) -> bool {
        self.sessions.len() == self.config.sessions_max && self.sessions.gives_way(class).is_some()
    }

    /// Somebody of this class has proved a key: if that is one more than there are places, somebody of a lower class goes.
    fn make_room(&mut self, class: ServiceClass, now: Time) {
        let is_one_too_many = self.sessions.len() > self.config.sessions_max && !self.sessions.are_closing();
        if let Some(address) = self.sessions.gives_way(class).filter(|_| is_one_too_many) {
            if let Some(session) = self.sessions.get_mut(address) {
                session.gave_way = true;
            }
            self.output.count("gave-way");
            self.close(address, Code::Closed, now);
        }
    }

    fn session_timeout(&mut self, address: Address, now: Time) {
        let Some(session) = self.sessions.get_mut(address) else {
            return;
        };
        let is_idle = self.config.is_idle(address, session, now);
        if session.more.until.is_some_and(|until| now >= until) {
            self.go_on_alone(address, now);
        } else if session.wants_more(now) {
            self.ask_more(address, now);
        }
        let Some(session) = self.sessions.get_mut(address) else {
            return;
        };
        match (&mut session.request, session.stage) {
            (_, Stage::Closing { code, again }) if now >= again => {
                self.output.count("firewall");
                self.order_closing(address, code, now);
            }
            (Some(request), stage) if now >= request.deadline => match stage {
                Stage::Opening => self.turn_away(address, now),
                Stage::Settling { .. } => self.forget(address, now),
                Stage::Open | Stage::Closing { .. } => self.close(address, Code::Unpaid, now),
            },
            (Some(request), _) if now >= request.retry_at => {
                request.retry_at = now + self.config.retry_after;
                self.send_request(address);
            }
            (None, Stage::Open) if is_idle => {
                self.close(address, Code::Closed, now);
            }
            (None, Stage::Open) if now >= session.request_at => self.request(address, now),
            (None, Stage::Open) if now >= session.decided_until && session.budget.is_none() => {
                session.decided_until = now + self.config.decision_timeout + self.config.decision_timeout;
                let (path, certificate) = (session.path, session.shown.clone());
                let until = now + self.config.decision_timeout;
                let question = Question {
                    address,
                    path,
                    certificate,
                    nonce: None,
                    holds: session.holds,
                    asks: None,
                    until,
                };
                self.ask(question, Bundle::default(), now);
            }
            _ => {}
        }
    }

    fn request(&mut self, address: Address, now: Time) {
        let (patience, retry_at) = (self.config.receipt_deadline, now + self.config.retry_after);
        if let Some(session) = self.sessions.get_mut(address) {
            // Who is asked early, for the bytes' sake, has as long as if it had been asked in time: what it has not seen yet
            // may wait in our queue. Meanwhile it passes its window and no more.
            let asked = if session.stage == Stage::Open { now.max(session.request_at) } else { now };
            session.await_receipt(now, asked + patience, retry_at);
            self.send_request(address);
        }
    }

    fn send_request(&mut self, address: Address) {
        let Some(session) = self.sessions.get(address) else {
            return;
        };
        let Some(request) = &session.request else { return };
        let last = matches!(session.stage, Stage::Settling { .. });
        let (weight, hold) = (request.weight, request.hold);
        let message = Message::Rreq { started: session.started, weight, hold, last };
        let (path, claimed) = (session.path, session.path_claimed);
        self.output.send(path, &message);
        if claimed != path {
            self.output.send(claimed, &message);
        }
    }

    fn close(&mut self, address: Address, code: Code, now: Time) {
        let Some(session) = self.sessions.get_mut(address) else {
            return;
        };
        match session.stage {
            Stage::Opening => self.turn_away(address, now),
            Stage::Open => {
                session.request = None;
                self.order_closing(address, code, now);
            }
            Stage::Closing { .. } | Stage::Settling { .. } => {}
        }
    }

    /// A session that has to end does not end before the firewall has said so: it is asked again and again.
    fn order_closing(&mut self, address: Address, code: Code, now: Time) {
        if let Some(session) = self.sessions.get_mut(address) {
            session.stage = Stage::Closing { code, again: now + self.config.receipt_deadline };
            self.output.event(Event::Closing { address, code });
        }
    }

    /// Packets of this visitor pass from now on: its tunnels' sessions, and contacts for them, are no longer needed.
    fn opened(&mut self, address: Address, now: Time) {
        if address.home.is_some() {
            return;
        }
        for tunnel in self.sessions.tunnels(address.ip) {
            self.close(tunnel, Code::Closed, now);
        }
        self.home_contacts.not_needed(address.ip, &self.sessions, now);
    }

    /// Ends a session in which nothing ever passed, because no receipt over zero bytes came.
    fn turn_away(&mut self, address: Address, now: Time) {
        if let Some(session) = self.sessions.remove(address) {
            self.home_contacts.over(session.path, false, now);
            self.output.count("no-proof");
            let reason = "no receipt over zero bytes came: the key was not proved; ask again";
            self.output.reply(session.path, &Message::error(Code::NoSession, reason));
        }
    }

    /// Ends a session that was open: its receipts are kept, what is unpaid is remembered, and its visitor is told.
    fn forget(&mut self, address: Address, now: Time) {
        let Some(session) = self.sessions.remove(address) else {
            return;
        };
        let code = session.end_code();
        let lost = address.home.filter(|_| session.line_lost && code == Code::Unpaid);
        let pardoned = lost.is_some_and(|home| self.home_contacts.pardon(home, &self.config.contacts, now));
        if pardoned {
            self.home_contacts.stay(session.path, &self.config.contacts, now);
        } else {
            self.home_contacts.over(session.path, code == Code::Closed, now);
        }
        let (signed, unpaid) = (session.signed, session.unpaid());
        let team = session.certificate.team_id();
        if code == Code::Unpaid && !pardoned && team != self.certificate.team_id() {
            self.debtors.charge(address, team, now);
        }
        let reason = match code {
            Code::Unpaid => format!("no receipt in time: {unpaid} were carried for nothing"),
            Code::Refused if session.was_blocked => BLOCKED.to_owned(),
            Code::Refused if session.decided_alone => Denied::UsedUp.reason().to_owned(),
            Code::Refused if session.more.reason.is_some() => session.more.reason.clone().unwrap_or_default(),
            Code::Refused => "the decision changed".to_owned(),
            Code::Closed if session.gave_way => {
                format!(
                    "all places are taken, and yours went to somebody whom this household owes more; {signed} are signed for"
                )
            }
            Code::Closed if session.was_ended => {
                format!("this household has ended your session; {signed} are signed for")
            }
            Code::Malformed
            | Code::Certificate
            | Code::Receipt
            | Code::Busy
            | Code::NoSession
            | Code::Closed => format!("closed; {signed} are signed for"),
        };
        let farewell = Message::error(code, reason);
        self.output.send(session.path, &farewell);
        if session.path_claimed != session.path {
            self.output.send(session.path_claimed, &farewell);
        }
        self.output.event(Event::Closed { session: Box::new(session.status(address)), code });
        // It may stay where it only says goodbye or sleeps. Otherwise home and household are asked about it again.
        if matches!(code, Code::Refused | Code::Unpaid) && !pardoned {
            self.dismiss(address, "its session has ended");
        }
        self.outbox.hurry(now);
        self.flush(now);
        if session.budget.is_some() {
            self.question_in_session(&session, Bytes(0));
        }
    }

    /// Has a station leave the Wi-Fi, if it has joined by 802.1X.
    fn dismiss(&mut self, address: Address, reason: &'static str) {
        if let Some(event) = self.stations.dismiss(address.mac, reason) {
            self.output.event(event);
        }
    }

    // Questions in a session: how much more it may take.

    /// Asks the team server how much more a session may take.
    fn ask_more(&mut self, address: Address, now: Time) {
        let Some(session) = self.sessions.get(address).filter(|session| session.budget.is_some()) else {
            return;
        };
        if session.latest.is_none() || session.more.until.is_some() {
            return;
        }
        let reference = self.last_reference + 1;
        let request = self.config.request;
        let Some(session) = self.sessions.get_mut(address) else { return };
        (session.more.reference, session.more.until) =
            (Some(reference), Some(now + self.config.decision_timeout));
        session.more.finals = session.finals.len();
        if let Some(session) = self.sessions.remove(address) {
            self.question_in_session(&session, request);
            self.sessions.insert(address, session);
        }
    }

    /// A question with the session's latest receipt; over nothing, it says that the session is over.
    fn question_in_session(&mut self, session: &Session, request: Bytes) {
        if session.latest.is_none() {
            return;
        }
        let reference = self.next_reference();
        let certificates = vec![session.certificate.as_bytes().to_vec()];
        let receipts = session.receipts().map(|receipt| receipt.as_bytes().to_vec()).collect();
        self.output.send_home(&Message::Quer {
            reference,
            certificate: Box::new(session.certificate.clone()),
            request,
            session: Some(InSession {
                started: session.started,
                left: session.left(),
                unpaid: session.unpaid(),
            }),
            holds: session.holds,
            bundle: Bundle { certificates, receipts, revocations: Vec::new() },
        });
    }

    /// The team server has said how much more a session may take. It may say more of it later.
    fn handle_more(&mut self, address: Address, ruling: Ruling, now: Time) {
        let Ruling { grant, volume, valid_for_seconds, reason } = ruling;
        let Some(session) = self.sessions.get_mut(address) else { return };
        let until = now + Micros::from_seconds(valid_for_seconds.max(1).into());
        session.more.until = None;
        let sent = std::mem::take(&mut session.more.finals).min(session.finals.len());
        session.finals.drain(..sent);
        session.decided_alone = false;
        if let Some(class) = grant {
            (session.decided_until, session.answered_until) = (until, until);
            let counted = session.counted;
            // An answer that adds nothing says what it has left, and not on what.
            if volume.as_ref().is_none_or(|volume| volume.total() > Bytes(0)) {
                session.for_everybody = is_for_everybody(&reason);
            }
            if let Some(volume) = volume.as_ref().filter(|volume| !volume.holds.is_empty()) {
                let bytes = volume.total().saturating_sub(volume.allowance);
                session.chain = Some(DebtChain { between: volume.between.clone(), bytes });
            }
            match (&mut session.budget, volume) {
                (Some(budget), Some(volume)) => budget.add(volume, counted),
                (budget, volume) => *budget = volume.and(budget.take()),
            }
            session.more.low = Bytes(session.left().0 / 2);
            // More was carried while it answered, and nothing came that a packet would fit into.
            let pause = if session.has_too_little() { self.config.retry_after } else { Micros(0) };
            session.more.not_before = now + pause;
            session.more.reason = None;
            self.limits_rose = true;
            if session.class != class && session.stage == Stage::Open {
                session.class = class;
                let path = session.path;
                self.output.event(Event::Reclassified { address, class });
                self.acknowledge(address, path);
            }
        } else {
            (session.more.low, session.more.not_before) = (Bytes(u64::MAX), until);
            session.more.reason = Some(reason);
            let is_withdrawn = volume.is_some();
            let is_over = is_withdrawn || session.is_used_up();
            if is_withdrawn {
                self.away.answered(&session.certificate, None, now);
            }
            if is_over && session.stage == Stage::Open {
                self.close(address, Code::Refused, now);
            }
        }
    }

    /// The team server does not answer: the session goes on with what may be carried without it.
    fn go_on_alone(&mut self, address: Address, now: Time) {
        let Some(session) = self.sessions.get_mut(address) else { return };
        session.more.until = None;
        session.decided_alone = session.has_too_little();
        if session.decided_alone {
            session.more.not_before = now + Micros::from_seconds(DECIDED_ALONE_SECONDS.into());
        }
        self.limits_rose = true;
        if self.away.is_used_up() && session.decided_alone {
            self.close(address, Code::Refused, now);
        }
    }

    fn flush(&mut self, now: Time) {
        if self.outbox.is_due(now) {
            let reference = self.next_reference();
            let bundle = self.outbox.next_bundle(reference, now + self.config.flush_after);
            self.output.send_home(&Message::Rcpt { reference: Some(reference), bundle, home: None });
        }
    }

    fn next_reference(&mut self) -> Reference {
        self.last_reference += 1;
        self.last_reference
    }
}
