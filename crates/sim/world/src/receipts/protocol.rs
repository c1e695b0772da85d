//! The machines of the protocol at one access point: its own, its team server's, and one for each visitor.
//!
//! They run as they run on the network; only what carries their messages, counts their packets and takes their processor
//! time is the simulation's. Every call has a session of its own.

use crate::receipts::Receipts;
use guestright_engine::{Agenda, Instant, Key, Nanos, Pool, Stream, Streams};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::{Bundle, Receipt, Registers};
use guestright_reciprocity::{Edge, StrangerCounters};
use guestright_roaming::Ledger;
use guestright_roaming::access_point::{self, AccessPoint, Address, Transmit, Window};
use guestright_roaming::home::{self, StoreReport, TeamServer, Token};
use guestright_roaming::message::Code;
use guestright_roaming::visitor::{self, Visitor};
use guestright_units::{Bytes, Micros, Time, UnixSeconds};
use rand::RngExt;
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// The machines' time at the start of a run: certificates need a date.
const START: Time = UnixSeconds(1_800_000_000).time();
/// Between access point and team server.
const HOME_DELAY: Nanos = Nanos::from_millis(15);
/// What the provider owes the visitors' team, so that they are served: this simulation is not about decisions.
const OWED: Bytes = Bytes(1_000_000_000_000);
/// A machine that wants its turn now has it after this; nothing can go round in circles.
const TURN: Nanos = Nanos::from_millis(1);
/// The access point is this peer of its team server.
const PEER: home::Peer = 1;
/// Signatures of the machines' suite.
const SIGNATURE_BYTES: u32 = 64;

/// What a household is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtocolConfig {
    /// Which access point.
    pub(crate) number: u8,
    /// How many calls, each with a visitor.
    pub(crate) calls: u16,
    /// Visitors come at a random time within this.
    pub(crate) arrival: Nanos,
}

/// Something that the machines have to do at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The visitor of a call comes.
    Arrival(u16),
    /// The firewall's counters are read.
    Tick,
    /// The access point's machine wants its turn.
    AccessPointDue,
    /// A visitor's machine wants its turn.
    VisitorDue(u16),
    /// A visitor has signed and sends.
    Signed(u16, Key),
    /// A message reaches the team server.
    AtHome(Key),
    /// A message of the team server reaches the access point.
    FromHome(Key),
}

/// A message that has to go over the radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// From the access point.
    ToVisitor(u16, Vec<u8>),
    /// From a visitor.
    ToAccessPoint(u16, Vec<u8>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProtocolStats {
    /// Sessions that were opened.
    pub(crate) opened: u64,
    /// Sessions that were closed because no receipt came in time.
    pub(crate) unpaid: u64,
    /// Sessions that were closed for whatever reason.
    pub(crate) closed: u64,
    /// Receipts that visitors signed.
    pub(crate) signed: u64,
    /// Receipts that the access point accepted and kept.
    pub(crate) received: u64,
    /// Claims that visitors found too high.
    pub(crate) disputed: u64,
    /// Visitors whose first session was opened and never closed.
    pub(crate) lasting: u64,
}

/// A visitor of one call.
#[derive(Debug)]
struct Guest {
    machine: Option<Visitor>,
    key: Option<(SecretKey, Certificate)>,
    address: Address,
    is_open: bool,
    was_open: bool, // A session of its was opened before.
    was_closed: bool,
    counted: Bytes, // By the access point's firewall.
    metered: Bytes, // By the visitor.
    ledger: Ledger,
    due: Instant,
}

/// An access point, its team server, and the visitors of all calls.
#[derive(Debug)]
pub(crate) struct Household {
    access_point: AccessPoint,
    due: Instant,
    home: TeamServer,
    store: Registers,
    guests: Vec<Guest>,
    letters: Pool<Vec<u8>>,
    visitor_sign: Nanos,
    pace: Nanos,
    chance: Stream,
    actions: VecDeque<Action>,
    stats: ProtocolStats,
}

impl Guest {
    fn opened(&mut self, stats: &mut ProtocolStats) {
        stats.opened += 1;
        stats.lasting += u64::from(!self.was_open);
        (self.is_open, self.was_open, self.counted) = (true, true, Bytes(0));
    }

    fn closed(&mut self, stats: &mut ProtocolStats) {
        stats.closed += 1;
        stats.lasting -= u64::from(self.was_open && !self.was_closed);
        (self.is_open, self.was_closed) = (false, true);
    }
}

impl Household {
    /// A household whose visitors come at times of their own.
    pub(crate) fn new(
        config: ProtocolConfig,
        receipts: &Receipts,
        streams: &Streams,
        agenda: &mut impl Agenda<Event>,
    ) -> Self {
        let mut chance = streams.stream("protocol", u64::from(config.number));
        let team = SecretKey::generate(Suite::Ed25519, &mut chance);
        let guests_team = SecretKey::generate(Suite::Ed25519, &mut chance);
        let key = SecretKey::generate(Suite::Ed25519, &mut chance);
        let certificate = certify(&team, &key, Role::AccessPoint);
        let own = team.public().team_id();
        let owed = Edge { consumer: own, provider: guests_team.public().team_id(), bytes: OWED };
        let strangers = StrangerCounters::default();
        let mut home = TeamServer::new(home::Config::default(), own, [owed], Vec::new(), strangers, START);
        home.handle_connected(PEER, certificate.clone(), START)
            .expect("the certificate was issued by this team and is valid");
        let guests =
            (0..config.calls).map(|call| guest(config.number, call, &guests_team, &mut chance)).collect();
        for call in 0..config.calls {
            agenda.schedule(Instant(chance.random_range(0..config.arrival.0.max(1))), Event::Arrival(call));
        }
        let pace = pace(receipts.interval);
        agenda.schedule(Instant::START + pace, Event::Tick);
        Self {
            access_point: AccessPoint::new(machine_config(receipts), key, certificate),
            due: Instant::NEVER,
            home,
            store: Registers::default(),
            guests,
            letters: Pool::new(),
            visitor_sign: receipts.visitor_sign,
            pace,
            chance,
            actions: VecDeque::new(),
            stats: ProtocolStats::default(),
        }
    }

    /// Takes an event that it had scheduled.
    pub(crate) fn handle(&mut self, event: Event, agenda: &mut impl Agenda<Event>) {
        let now = time(agenda.now());
        match event {
            Event::Arrival(call) => self.arrive(call, now),
            Event::Tick => {
                for guest in self.guests.iter().filter(|guest| guest.is_open) {
                    self.access_point.handle_traffic(guest.address, guest.counted, now);
                }
                agenda.schedule(agenda.now() + self.pace, Event::Tick);
            }
            Event::AccessPointDue => {
                if self.due <= agenda.now() {
                    self.due = Instant::NEVER;
                }
                if self.access_point.poll_timeout().is_some_and(|at| at <= now) {
                    self.access_point.handle_timeout(now);
                }
            }
            Event::VisitorDue(call) => {
                let guest = &mut self.guests[usize::from(call)];
                if guest.due <= agenda.now() {
                    guest.due = Instant::NEVER;
                }
                if let Some(machine) = &mut guest.machine
                    && machine.poll_timeout().is_some_and(|at| at <= now)
                {
                    machine.handle_timeout(now);
                }
            }
            Event::Signed(call, letter) => {
                let letter = self.letters.remove(letter);
                self.actions.push_back(Action::ToAccessPoint(call, letter));
            }
            Event::AtHome(letter) => {
                let letter = self.letters.remove(letter);
                self.home.handle_input(PEER, &letter, &mut self.chance, now);
            }
            Event::FromHome(letter) => {
                let letter = self.letters.remove(letter);
                self.access_point.handle_home(&letter, now);
            }
        }
        self.drain(agenda);
    }

    /// A message has reached the visitor of a call.
    pub(crate) fn handle_at_visitor(&mut self, call: u16, bytes: &[u8], agenda: &mut impl Agenda<Event>) {
        if let Some(machine) = &mut self.guests[usize::from(call)].machine {
            machine.handle_input(bytes, time(agenda.now()));
        }
        self.drain(agenda);
    }

    /// A message of a call's visitor has reached the access point, and its processor has done what it asks for.
    pub(crate) fn handle_at_access_point(
        &mut self,
        call: u16,
        bytes: &[u8],
        agenda: &mut impl Agenda<Event>,
    ) {
        let address = self.guests[usize::from(call)].address;
        self.access_point.handle_visitor(address, u64::from(call), bytes, time(agenda.now()));
        self.drain(agenda);
    }

    /// A packet of a call comes to the access point's firewall. False: the session is not open, and it is dropped.
    pub(crate) fn pass(&mut self, call: u16, bytes: u32) -> bool {
        let guest = &mut self.guests[usize::from(call)];
        if guest.is_open {
            guest.counted = guest.counted.saturating_add(Bytes(u64::from(bytes)));
        }
        guest.is_open
    }

    /// A packet of a call passes the visitor's meter.
    pub(crate) fn meter(&mut self, call: u16, bytes: u32) {
        let guest = &mut self.guests[usize::from(call)];
        guest.metered = guest.metered.saturating_add(Bytes(u64::from(bytes)));
    }

    /// The next message for the radio; to be drained after every call.
    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// What has happened so far.
    pub(crate) const fn stats(&self) -> &ProtocolStats {
        &self.stats
    }

    fn arrive(&mut self, call: u16, now: Time) {
        let guest = &mut self.guests[usize::from(call)];
        if let Some((key, certificate)) = guest.key.take() {
            let config = visitor::Config::default();
            let bundle = Bundle::default();
            guest.machine = Some(Visitor::new(config, key, certificate, bundle, None, &mut self.chance, now));
        }
    }

    /// Carries out what the machines want.
    fn drain(&mut self, agenda: &mut impl Agenda<Event>) {
        while self.drain_access_point(agenda) || self.drain_home(agenda) || self.drain_visitors(agenda) {}
        if let Some(at) = self.access_point.poll_timeout().map(instant) {
            wake(&mut self.due, at, Event::AccessPointDue, agenda);
        }
        for (call, guest) in (0..).zip(&mut self.guests) {
            if let Some(at) = guest.machine.as_ref().and_then(Visitor::poll_timeout) {
                wake(&mut guest.due, instant(at), Event::VisitorDue(call), agenda);
            }
        }
    }

    fn drain_access_point(&mut self, agenda: &mut impl Agenda<Event>) -> bool {
        let mut any = false;
        while let Some(transmit) = self.access_point.poll_transmit() {
            any = true;
            match transmit {
                Transmit::Visitor(path, bytes) => {
                    if let Ok(call) = u16::try_from(path) {
                        self.actions.push_back(Action::ToVisitor(call, bytes));
                    }
                }
                Transmit::Home(bytes) => {
                    let letter = self.letters.insert(bytes);
                    agenda.schedule(agenda.now() + HOME_DELAY, Event::AtHome(letter));
                }
            }
        }
        while let Some(event) = self.access_point.poll_event() {
            any = true;
            self.handle_access_point_event(&event, time(agenda.now()));
        }
        any
    }

    fn handle_access_point_event(&mut self, event: &access_point::Event, now: Time) {
        match event {
            access_point::Event::Opened { address, .. } => {
                if let Some(guest) = self.guests.iter_mut().find(|guest| guest.address == *address) {
                    guest.opened(&mut self.stats);
                }
            }
            access_point::Event::Closing { address, .. } => {
                if let Some(guest) = self.guests.iter_mut().find(|guest| guest.address == *address) {
                    guest.is_open = false;
                    self.access_point.handle_closed(*address, guest.counted, now);
                }
            }
            access_point::Event::Closed { session, code } => {
                let address = session.address;
                if let Some(guest) = self.guests.iter_mut().find(|guest| guest.address == address) {
                    guest.closed(&mut self.stats);
                }
                self.stats.unpaid += u64::from(*code == Code::Unpaid);
            }
            access_point::Event::Received(..) => self.stats.received += 1,
            access_point::Event::Connect { .. }
            | access_point::Event::Disconnect(_)
            | access_point::Event::Reclassified { .. }
            | access_point::Event::Delivered(_)
            | access_point::Event::Revoked(_)
            | access_point::Event::Dismiss { .. }
            | access_point::Event::Refused { .. } => {}
        }
    }

    fn drain_home(&mut self, agenda: &mut impl Agenda<Event>) -> bool {
        let mut any = false;
        while let Some((_, bytes)) = self.home.poll_transmit() {
            any = true;
            let letter = self.letters.insert(bytes);
            agenda.schedule(agenda.now() + HOME_DELAY, Event::FromHome(letter));
        }
        while let Some(event) = self.home.poll_event() {
            any = true;
            match event {
                home::Event::Store { token, receipts } => self.keep(token, receipts, time(agenda.now())),
                home::Event::Fetch { token, .. } => self.home.handle_fetched(token, Vec::new()),
                // By the papers' rule nothing is reserved.
                home::Event::Keep(_)
                | home::Event::SendHome(..)
                | home::Event::HomeLearned(..)
                | home::Event::AskHome(..)
                | home::Event::Reserved { .. }
                | home::Event::Renewed { .. }
                | home::Event::Answered { .. }
                | home::Event::Acted { .. }
                | home::Event::Begun { .. }
                | home::Event::Finished { .. }
                | home::Event::Revoked(_)
                | home::Event::Decided { .. }
                | home::Event::Refused { .. } => {}
            }
        }
        any
    }

    fn keep(&mut self, token: Token, receipts: Vec<(Receipt, Certificate)>, now: Time) {
        let mut report = StoreReport::default();
        for (receipt, _) in receipts {
            report.admit(&mut self.store, receipt);
        }
        self.home.handle_stored(token, &report, &mut self.chance, now);
    }

    fn drain_visitors(&mut self, agenda: &mut impl Agenda<Event>) -> bool {
        let mut any = false;
        for (call, guest) in (0..).zip(&mut self.guests) {
            let Some(machine) = &mut guest.machine else { continue };
            let mut has_signed = false;
            while let Some(event) = machine.poll_event() {
                any = true;
                match event {
                    visitor::Event::MeterNeeded => {
                        machine.handle_meter(guest.metered, &mut guest.ledger, time(agenda.now()))
                    }
                    visitor::Event::Signed(_) => {
                        self.stats.signed += 1;
                        has_signed = true;
                    }
                    visitor::Event::Disputed { .. } => self.stats.disputed += 1,
                    visitor::Event::Granted { .. }
                    | visitor::Event::Dropped { .. }
                    | visitor::Event::Ended { .. } => {}
                }
            }
            while let Some(bytes) = machine.poll_transmit() {
                any = true;
                if has_signed && self.visitor_sign > Nanos(0) {
                    let letter = self.letters.insert(bytes);
                    agenda.schedule(agenda.now() + self.visitor_sign, Event::Signed(call, letter));
                } else {
                    self.actions.push_back(Action::ToAccessPoint(call, bytes));
                }
            }
        }
        any
    }
}

/// What a message of a visitor asks of the access point's processor, ms of verifying and of signing: verification of a
/// certificate and a signature under the terms for CONN, one verification for RCPT.
pub(crate) fn processor_ms(message: &[u8], receipts: &Receipts) -> (f64, f64) {
    if message.starts_with(b"CONN ") {
        (receipts.cost.verify_ms, receipts.cost.sign_ms)
    } else if message.starts_with(b"RCPT ") {
        (receipts.cost.verify_ms, 0.0)
    } else {
        (0.0, 0.0)
    }
}

/// How often the firewall's counters are read: a tenth of the interval, as on a real access point.
fn pace(interval: Nanos) -> Nanos {
    Nanos(interval.0 / 10).clamp(Nanos::from_millis(50), Nanos::from_millis(500))
}

/// The length of a message as an IPv4 packet: the machines sign with Ed25519; a receipt of another suite is so much
/// longer or shorter as its signature.
pub(crate) fn packet_bytes(message: &[u8], receipts: &Receipts) -> u32 {
    let datagram = u32::try_from(message.len()).unwrap_or(u32::MAX).saturating_add(20 + 8);
    if message.starts_with(b"RCPT ") {
        datagram.saturating_sub(SIGNATURE_BYTES).saturating_add(receipts.cost.signature_bytes)
    } else {
        datagram
    }
}

fn machine_config(receipts: &Receipts) -> access_point::Config {
    let interval = micros(receipts.interval);
    access_point::Config {
        interval,
        receipt_deadline: micros(receipts.deadline),
        retry_after: Micros(interval.0 / 10),
        // The paper's access points count and close; nothing waits for a receipt.
        window: Window::fixed(Bytes(125_000_000)),
        ..access_point::Config::default()
    }
}

fn guest(number: u8, call: u16, team: &SecretKey, chance: &mut Stream) -> Guest {
    let [high, low] = call.to_be_bytes();
    let key = SecretKey::generate(Suite::Ed25519, chance);
    let certificate = certify(team, &key, Role::Member);
    Guest {
        machine: None,
        key: Some((key, certificate)),
        address: Address::new([2, 0, 0, number, high, low], Ipv4Addr::new(10, number, high, low)),
        is_open: false,
        was_open: false,
        was_closed: false,
        counted: Bytes(0),
        metered: Bytes(0),
        ledger: Ledger::default(),
        due: Instant::NEVER,
    }
}

fn certify(team: &SecretKey, key: &SecretKey, role: Role) -> Certificate {
    let now = START.unix_seconds();
    Certificate::issue(team, key.public(), role, now.minus(86_400), now.plus(86_400))
}

/// Has a machine woken at `at`, unless it will be before that.
fn wake(due: &mut Instant, at: Instant, event: Event, agenda: &mut impl Agenda<Event>) {
    let now = agenda.now();
    let at = if at <= now { now + TURN } else { at };
    if at < *due {
        *due = at;
        agenda.schedule(at, event);
    }
}

fn time(at: Instant) -> Time {
    START + Micros(at.0 / 1_000)
}

fn instant(time: Time) -> Instant {
    Instant(time.since(START).0.saturating_mul(1_000))
}

const fn micros(span: Nanos) -> Micros {
    Micros(span.0 / 1_000)
}

#[cfg(test)]
mod tests;
