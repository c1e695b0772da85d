//! An access point among visitors, strangers, homes and a firewall that do as they please.

use super::actors::{Actor, HOUSE, MEMBERS, START, rcpt};
use super::choices::{Choices, Sent};
use super::{TURNS_MAX, Tally, Timed};
use guestright_identity::KeyId;
use guestright_receipt::{Bundle, SessionKey};
use guestright_reciprocity::ServiceClass;
use guestright_roaming::Message;
use guestright_roaming::access_point::{
    AccessPoint, Address, Config, Event, Path, SessionStatus, Transmit, Window,
};
use guestright_roaming::message::{Acknowledgement, Code, Reference, Update};
use guestright_units::{Bytes, Time, UnixSeconds};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::num::NonZeroU16;

/// A few places, so that they are contended for.
const ADDRESSES: u8 = 4;
const SESSIONS_MAX: usize = 3;
/// Events of one session that cannot give way, at most: opened, received, reclassified, closing, closed, and contacts.
const EVENTS_OF_A_SESSION: usize = 16;

/// A message as a visitor has sent it.
#[derive(Clone)]
struct Input {
    address: Address,
    path: Path,
    bytes: Vec<u8>,
}

/// A gate that the firewall was told to open.
#[derive(Clone, Copy, Debug, Default)]
struct Gate {
    /// When it was last told to close it, until it has.
    closing: Option<Time>,
}

struct Run<'a> {
    choices: Choices<'a>,
    config: Config,
    machine: AccessPoint,
    now: Time,
    /// How many steps nobody fetches anything.
    asleep: u8,
    gates: BTreeMap<Address, Gate>,
    /// Who was granted service by the home, and who has ever signed a receipt for this team.
    granted: BTreeSet<KeyId>,
    signers: BTreeSet<KeyId>,
    /// Every weight that a member has signed in a session that began then.
    signed: BTreeMap<(KeyId, UnixSeconds), BTreeSet<Bytes>>,
    /// The last terms of each member, and what was last asked for in each session.
    terms: BTreeMap<KeyId, Acknowledgement>,
    requested: BTreeMap<UnixSeconds, Bytes>,
    questions: Vec<(Reference, KeyId)>,
    deliveries: Vec<Reference>,
    contacts: Vec<(Path, Address)>,
    inputs: Sent<Input>,
    received: BTreeMap<SessionKey, Bytes>,
    closed: BTreeSet<(KeyId, UnixSeconds)>,
    tally: Tally,
}

/// Drives an access point.
pub(crate) fn access_point(bytes: &[u8]) -> Tally {
    let mut choices = Choices::new(bytes);
    let options = choices.byte();
    let config = Config {
        sessions_max: SESSIONS_MAX,
        pending_max: 4,
        transmits_max: if options & 1 == 0 { 8 } else { 64 },
        events_max: if options & 2 == 0 { 8 } else { 64 },
        when_home_is_away: (options & 4 == 0).then_some(ServiceClass::Lowest),
        window: if options & 8 == 0 { Window::default() } else { Window::fixed(Bytes(100_000)) },
        ..Config::default()
    };
    let own = &HOUSE[0];
    let machine = AccessPoint::new(config.clone(), own.key.clone(), own.certificate.clone());
    let mut run = Run {
        choices,
        config,
        machine,
        now: START,
        asleep: 0,
        gates: BTreeMap::new(),
        granted: BTreeSet::new(),
        signers: BTreeSet::new(),
        signed: BTreeMap::new(),
        terms: BTreeMap::new(),
        requested: BTreeMap::new(),
        questions: Vec::new(),
        deliveries: Vec::new(),
        contacts: Vec::new(),
        inputs: Sent::new(),
        received: BTreeMap::new(),
        closed: BTreeSet::new(),
        tally: Tally::new(),
    };
    while !run.choices.is_over() {
        run.step();
        run.asleep = run.asleep.saturating_sub(1);
        if run.asleep == 0 {
            run.drain();
        }
        run.check();
    }
    run.come_to_rest();
    run.tally
}

impl Timed for Run<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn due(&self) -> Option<Time> {
        self.machine.poll_timeout()
    }

    fn wake(&mut self) {
        self.machine.handle_timeout(self.now);
        self.drain();
    }
}

impl Run<'_> {
    fn step(&mut self) {
        match self.choices.byte() % 26 {
            24 | 25 => self.pay(),
            0..=2 => self.serve(),
            3 | 4 => self.conn(),
            5..=8 => self.receipt(),
            9 => self.again(),
            10 => {
                let (address, path, bytes) = (self.address(), self.path(), self.choices.raw());
                self.visitor(Input { address, path, bytes });
            }
            11 => self.word(),
            12..=14 => {
                let (address, counted) = (self.address(), self.choices.bytes());
                self.machine.handle_traffic(address, counted, self.now);
            }
            15 | 16 => self.close_gate(),
            17 => self.decide(),
            18 => self.home(),
            19 | 20 => {
                self.now = self.now + self.choices.span();
                self.settle();
            }
            21 => self.contact(),
            22 => self.flow(),
            _ => match self.choices.byte() {
                0..=7 => self.machine.shut_down(self.now),
                8..=31 => self.asleep = self.choices.byte() % 16,
                32..=119 => self.block(),
                120..=179 => self.machine.handle_home_lost(self.now),
                180..=255 => self.machine.handle_home_found(self.now),
            },
        }
    }

    fn address(&mut self) -> Address {
        let number = self.choices.byte() % ADDRESSES;
        let address = Address::new([2, 0, 0, 0, 0, number], Ipv4Addr::new(10, 0, 0, number));
        // One has an address of another's.
        if number == 3 { Address { ip: Ipv4Addr::new(10, 0, 0, 2), ..address } } else { address }
    }

    fn path(&mut self) -> Path {
        u64::from(self.choices.byte() % 6)
    }

    fn member(&mut self) -> &'static Actor {
        &MEMBERS[self.choices.below(MEMBERS.len())]
    }

    fn visitor(&mut self, input: Input) {
        self.machine.handle_visitor(input.address, input.path, &input.bytes, self.now);
        self.inputs.push(input);
    }

    /// What an honest visitor does, so that there are sessions.
    fn serve(&mut self) {
        let (address, path, member) = (self.address(), self.path(), self.member());
        let nonce = [self.choices.byte(); 16];
        let certificate = Box::new(member.certificate.clone());
        let bytes = Message::Conn { certificate, nonce, bundle: Bundle::default(), holds: false }.emit();
        self.visitor(Input { address, path, bytes });
        self.drain();
        let id = member.certificate.subject_id();
        if let Some((reference, _)) = self.questions.iter().rev().find(|(_, asker)| *asker == id).copied() {
            self.grant(reference, id, Some(ServiceClass::Low), 300);
        }
        self.drain();
        let Some(started) = self.terms.get(&id).map(|terms| terms.started) else { return };
        let bytes = self.signed_message(member, started, Bytes(0));
        self.visitor(Input { address, path, bytes });
    }

    /// A session goes on as it should: bytes are carried, a receipt is due, and is given.
    fn pay(&mut self) {
        self.drain();
        let open: Vec<_> = self.machine.status().into_iter().filter(|session| session.open).collect();
        let Some(session) = open.get(self.choices.below(open.len())) else { return };
        let of = |actor: &&Actor| actor.certificate.subject_id() == session.member;
        let Some(member) = MEMBERS.iter().find(of) else { return };
        let counted = session.counted.saturating_add(Bytes(self.choices.byte().into()));
        self.machine.handle_traffic(session.address, counted, self.now);
        self.now = self.now + self.config.interval;
        self.settle();
        let weight = self.requested.get(&session.started).copied().unwrap_or_default();
        let bytes = self.signed_message(member, session.started, weight);
        let path = self.path();
        self.visitor(Input { address: session.address, path, bytes });
    }

    fn conn(&mut self) {
        let (address, path, member) = (self.address(), self.path(), self.member());
        let certificate = Box::new(member.certificate.clone());
        let nonce = [self.choices.byte() % 4; 16];
        let receipt = member.sign(HOUSE[0].certificate.team_id(), self.now.unix_seconds(), Bytes(5));
        let bundle = match self.choices.byte() {
            0..=199 => Bundle::default(),
            200..=255 => super::actors::bundle(&receipt, Some(&member.certificate)),
        };
        let bytes = Message::Conn { certificate, nonce, bundle, holds: false }.emit();
        self.visitor(Input { address, path, bytes });
    }

    /// A member signs for a session: as it was asked to, or not.
    fn receipt(&mut self) {
        let (address, path, member) = (self.address(), self.path(), self.member());
        let id = member.certificate.subject_id();
        let started = self.terms.get(&id).map_or(self.now.unix_seconds(), |terms| terms.started);
        let started = if self.choices.byte() < 8 { started.plus(1) } else { started };
        let asked = self.requested.get(&started).copied().unwrap_or_default();
        let weight = match self.choices.byte() {
            0..=159 => asked,
            160..=199 => Bytes(asked.0.saturating_add(self.choices.number())),
            200..=229 => Bytes(asked.0.saturating_sub(self.choices.number())),
            230..=255 => self.choices.bytes(),
        };
        let bytes = self.signed_message(member, started, weight);
        let bytes = if self.choices.byte() < 32 { self.choices.spoil(bytes) } else { bytes };
        self.visitor(Input { address, path, bytes });
    }

    fn signed_message(&mut self, member: &Actor, started: UnixSeconds, weight: Bytes) -> Vec<u8> {
        let id = member.certificate.subject_id();
        self.signers.insert(id);
        self.signed.entry((id, started)).or_default().insert(weight);
        rcpt(&member.sign(HOUSE[0].certificate.team_id(), started, weight), None).emit()
    }

    /// Something that was sent before, from there or from elsewhere, as it was or not.
    fn again(&mut self) {
        let Some(mut input) = self.inputs.pick(&mut self.choices) else { return };
        if self.choices.yes() {
            (input.address, input.path) = (self.address(), self.path());
        }
        if self.choices.byte() < 64 {
            input.bytes = self.choices.spoil(input.bytes);
        }
        self.visitor(input);
    }

    /// A word of a visitor's, or one that no visitor says.
    fn word(&mut self) {
        let (address, path) = (self.address(), self.path());
        let started = self.now.unix_seconds();
        let bytes = match self.choices.byte() {
            0..=127 => Message::error(Code::Closed, "bye").emit(),
            128..=191 => Message::error(Code::Busy, "no").emit(),
            192..=255 => {
                Message::Rreq { started, weight: self.choices.bytes(), last: true, hold: None }.emit()
            }
        };
        self.visitor(Input { address, path, bytes });
    }

    /// The firewall says that it has closed a gate, which it was told to do or not.
    fn close_gate(&mut self) {
        self.drain();
        let closing = self.gates.iter().find(|(_, gate)| gate.closing.is_some()).map(|(address, _)| *address);
        let address = closing.filter(|_| self.choices.byte() < 224).unwrap_or_else(|| self.address());
        let counted = self.choices.bytes();
        if let Some(gate) = self.gates.get_mut(&address) {
            gate.closing = None;
        }
        self.machine.handle_closed(address, counted, self.now);
    }

    fn grant(&mut self, reference: Reference, member: KeyId, grant: Option<ServiceClass>, valid_for: u32) {
        if grant.is_some() {
            self.granted.insert(member);
        }
        let reason = "because".to_owned();
        let message =
            Message::Qrsp { reference, grant, ind: None, valid_for, reason, volume: None, home: None };
        self.machine.handle_home(&message.emit(), self.now);
    }

    /// The home answers a question, not always the last one and not always once.
    fn decide(&mut self) {
        if self.questions.is_empty() {
            return;
        }
        let at = self.choices.below(self.questions.len());
        let (reference, member) = self.questions[at];
        let grant = match self.choices.byte() {
            0..=63 => None,
            64..=255 => Some(self.choices.pick(&ServiceClass::ALL)),
        };
        let valid_for = u32::try_from(self.choices.number()).unwrap_or(u32::MAX);
        self.grant(reference, member, grant, valid_for);
    }

    /// Anything else that the home says.
    fn home(&mut self) {
        let last = self.deliveries.last().copied().unwrap_or(1);
        let reference = if self.choices.yes() { last } else { self.choices.number() };
        let bytes = match self.choices.byte() {
            0..=127 => Message::Updt { reference, what: Update::Taken { stored: 1, refused: 0 } }.emit(),
            128..=191 => {
                let question = self.questions.last().map_or(reference, |(reference, _)| *reference);
                Message::Erro { reference: Some(question), code: Code::Busy, reason: "full".into() }.emit()
            }
            192..=255 => self.choices.raw(),
        };
        self.machine.handle_home(&bytes, self.now);
    }

    /// The household serves some devices no longer, or ends what is at an address.
    fn block(&mut self) {
        if self.choices.byte() < 64 {
            let ip = self.address().ip;
            self.machine.end(ip, self.now);
            return;
        }
        let which = self.choices.byte();
        let devices = (0..ADDRESSES).filter(|number| which >> number & 1 == 1);
        let ended = self.machine.set_blocked_devices(devices.map(|number| [2, 0, 0, 0, 0, number]), self.now);
        *self.tally.entry("blocked").or_default() += u64::try_from(ended).expect("a few sessions");
    }

    /// What happens on a connection to a visitor's home.
    fn contact(&mut self) {
        if self.contacts.is_empty() {
            return;
        }
        let at = self.choices.below(self.contacts.len());
        let (path, _) = self.contacts[at];
        match self.choices.byte() {
            0..=79 => self.machine.handle_connected(path),
            80..=119 => self.machine.handle_disconnected(path, self.now),
            120..=199 => {
                let member = self.member();
                let certificate = Box::new(member.certificate.clone());
                let nonce = [self.choices.byte() % 4; 16];
                let bytes =
                    Message::Conn { certificate, nonce, bundle: Bundle::default(), holds: false }.emit();
                self.machine.handle_contact(path, &bytes, self.now);
            }
            200..=239 => {
                let member = self.member();
                let id = member.certificate.subject_id();
                let Some(started) = self.terms.get(&id).map(|terms| terms.started) else { return };
                let weight = self.requested.get(&started).copied().unwrap_or_default();
                let bytes = self.signed_message(member, started, weight);
                self.machine.handle_contact(path, &bytes, self.now);
            }
            240..=255 => {
                let bytes = Message::error(Code::NoSession, "no").emit();
                self.machine.handle_contact(path, &bytes, self.now);
            }
        }
    }

    fn flow(&mut self) {
        let home = Ipv4Addr::new(192, 0, 2, self.choices.byte() % 2);
        let port = NonZeroU16::MIN.saturating_add(self.choices.byte().into());
        let address = self.address();
        self.machine.handle_flow(address, home, port, self.now);
    }

    /// Lets everything happen that is due.
    fn settle(&mut self) {
        Timed::settle(self);
        for (address, gate) in &self.gates {
            let late = gate.closing.is_some_and(|at| self.now >= at + self.config.receipt_deadline);
            assert!(!late, "the order to close {address} is not repeated");
        }
    }

    fn drain(&mut self) {
        self.asleep = 0;
        let events: Vec<_> = std::iter::from_fn(|| self.machine.poll_event()).collect();
        let most = self.config.events_max + (SESSIONS_MAX + self.config.pending_max) * EVENTS_OF_A_SESSION;
        assert!(events.len() <= most, "{} events waited", events.len());
        for event in events {
            self.carry_out(event);
        }
        let transmits: Vec<_> = std::iter::from_fn(|| self.machine.poll_transmit()).collect();
        assert!(transmits.len() <= self.config.transmits_max, "{} messages waited", transmits.len());
        for transmit in transmits {
            let (Transmit::Home(bytes) | Transmit::Visitor(_, bytes)) = &transmit;
            let message = Message::parse(bytes).expect("it says what can be read");
            self.note_message(message);
        }
    }

    fn note_message(&mut self, message: Message) {
        if let Message::Cack { certificate, acknowledgement, .. } = &message {
            let terms = Acknowledgement::open(acknowledgement, certificate).expect("terms that it signed");
            self.terms.insert(terms.member, terms);
        } else if let Message::Rreq { started, weight, .. } = message {
            self.requested.insert(started, weight);
        } else if let Message::Quer { reference, certificate, .. } = &message {
            self.questions.push((*reference, certificate.subject_id()));
        } else if let Message::Rcpt { reference: Some(reference), .. } = message {
            self.deliveries.push(reference);
        }
    }

    fn carry_out(&mut self, event: Event) {
        let mut count = |what| *self.tally.entry(what).or_default() += 1;
        match event {
            Event::Opened { address, member, .. } => {
                count("opened");
                assert!(
                    self.signers.contains(&member),
                    "{address} was opened, and its member has not signed"
                );
                let may = self.granted.contains(&member) || self.config.when_home_is_away.is_some();
                assert!(may, "{address} was opened, and nobody has granted it");
                let before = self.gates.insert(address, Gate::default());
                assert!(before.is_none(), "{address} was opened twice: {before:?}");
            }
            Event::Closing { address, .. } => {
                count("closing");
                let gate = self.gates.get_mut(&address).expect("only an open gate is closed");
                gate.closing = Some(self.now);
            }
            Event::Closed { session, .. } => {
                count("closed");
                let key = (session.member, session.started);
                assert!(self.gates.remove(&session.address).is_some(), "{session:?} was not open");
                assert!(self.closed.insert(key), "{session:?} was counted twice");
                let weights = self.signed.get(&key);
                let signed = session.signed == Bytes(0)
                    || weights.is_some_and(|weights| weights.contains(&session.signed));
                assert!(signed, "{session:?} was not signed for so much: {weights:?}");
            }
            Event::Received(receipt, certificate) => {
                count("received");
                let key = (certificate.subject_id(), receipt.started());
                let weights = self.signed.get(&key);
                assert!(weights.is_some_and(|weights| weights.contains(&receipt.weight())), "{receipt:?}");
                let before = self.received.insert(receipt.session(), receipt.weight());
                assert!(before < Some(receipt.weight()), "{receipt:?} after one over {before:?}");
            }
            Event::Reclassified { address, .. } => {
                assert!(self.gates.contains_key(&address), "{address} has another class and no session");
            }
            Event::Connect { path, home } => {
                count("connect");
                self.contacts.push((path, Address::new([0; 6], home)));
            }
            Event::Disconnect(path) => self.contacts.retain(|(contact, _)| *contact != path),
            Event::Delivered(_) => count("delivered"),
            Event::Revoked(_) => count("revoked"),
            Event::Dismiss { .. } => count("dismissed"),
            Event::Refused { .. } => count("refused"),
        }
    }

    fn check(&self) {
        let status = self.machine.status();
        let own = HOUSE[0].certificate.team_id();
        let window = self.config.window.first.max(self.config.window.most);
        for gate in self.machine.open() {
            let of = |session: &&SessionStatus| session.address == gate.address;
            let session = status.iter().find(of).expect("what is open is a session");
            let most = session.signed.saturating_add(window);
            assert!(session.team == own || gate.most <= most, "{session:?} may pass {gate:?}");
            assert!(
                !self.machine.is_blocked(gate.address.mac),
                "{session:?} is served, and its device is blocked"
            );
        }
        // One more where somebody is about to give way.
        assert!(status.len() <= SESSIONS_MAX + 1, "{} sessions", status.len());
        if self.asleep == 0 {
            for session in status.iter().filter(|session| session.open) {
                let gate = self.gates.get(&session.address);
                let open = gate.is_some_and(|gate| gate.closing.is_none());
                assert!(open, "{session:?} is open, and the firewall has {gate:?}");
            }
        }
    }

    /// The program stops, the firewall does as it is told, and nobody says anything any more.
    fn come_to_rest(&mut self) {
        self.drain();
        self.machine.shut_down(self.now);
        for turn in 0.. {
            assert!(turn < TURNS_MAX, "these sessions never end: {:?}", self.machine.status());
            self.settle();
            let closing: Vec<_> = self.gates.iter().filter(|(_, gate)| gate.closing.is_some()).collect();
            let closing: Vec<_> = closing.into_iter().map(|(address, _)| *address).collect();
            for address in closing {
                self.gates.entry(address).or_default().closing = None;
                self.machine.handle_closed(address, Bytes(0), self.now);
                self.drain();
            }
            if self.machine.status().is_empty() && self.gates.is_empty() {
                return;
            }
            let next = self.machine.poll_timeout().expect("what is not over has a time");
            self.now = self.now.max(next);
        }
    }
}
