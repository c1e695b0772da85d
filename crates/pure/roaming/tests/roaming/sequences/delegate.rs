//! A home that signs for two members, and access points that say what they please.

use super::actors::{ACCESS_POINTS, MEMBERS, START, actor, secret};
use super::choices::{Choices, Sent};
use super::{TURNS_MAX, Tally, Timed};
use guestright_identity::{AccessPoints, Delegation, DelegationTerms, KeyId, Role};
use guestright_receipt::Bundle;
use guestright_reciprocity::ServiceClass;
use guestright_roaming::delegate::{Config, ConnectionId, Counted, Delegate, Event, Mandate, Spent};
use guestright_roaming::message::{Acknowledgement, Code, Nonce};
use guestright_roaming::{Ledger, Message};
use guestright_units::{Bytes, Micros, TeamId, Time, UnixSeconds};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU16;

/// What each of the two may have signed for in a day.
const BYTES_PER_DAY: [u64; 2] = [1_000_000_000, 300_000];
const CONNECTIONS_MAX: usize = 4;
const PORTS: u16 = 3;

struct Run<'a> {
    choices: Choices<'a>,
    config: Config,
    machine: Delegate,
    mandates: [Mandate; 2],
    rng: StdRng,
    now: Time,
    last_id: ConnectionId,
    open: BTreeMap<ConnectionId, Ipv4Addr>,
    /// What the machine wants to know and was not told yet.
    lookups: Vec<ConnectionId>,
    meters: Vec<(ConnectionId, KeyId)>,
    /// Where the members' tunnels end, and what each port of each address has carried.
    endpoints: [SocketAddrV4; 2],
    counted: BTreeMap<Ipv4Addr, Counted>,
    /// The last question, and the session that was granted, of each connection.
    questions: BTreeMap<ConnectionId, (KeyId, Nonce)>,
    sessions: BTreeMap<ConnectionId, UnixSeconds>,
    signed: BTreeMap<(KeyId, TeamId, UnixSeconds), Bytes>,
    receipts: BTreeSet<Vec<u8>>,
    /// Bytes for which each member's delegate has signed, by day, and what was to be kept of it.
    spent: BTreeMap<(KeyId, u64), u64>,
    kept: BTreeMap<KeyId, Spent>,
    ledgers: BTreeMap<KeyId, Ledger>,
    /// What all tunnels together have carried, and what each member's delegate has signed for.
    carried: u128,
    paid: BTreeMap<KeyId, u128>,
    inputs: Sent<Vec<u8>>,
    tally: Tally,
}

/// Drives a delegate.
pub(crate) fn delegate(bytes: &[u8]) -> Tally {
    let config = Config {
        connections_max: CONNECTIONS_MAX,
        connections_per_address_max: CONNECTIONS_MAX - 1,
        ..Config::default()
    };
    let address = |last| Ipv4Addr::new(198, 51, 100, last);
    let mut run = Run {
        choices: Choices::new(bytes),
        machine: Delegate::new(config.clone(), BTreeMap::new(), BTreeMap::new()),
        config,
        mandates: [mandate(0), mandate(1)],
        rng: StdRng::seed_from_u64(1),
        now: START,
        last_id: 0,
        open: BTreeMap::new(),
        lookups: Vec::new(),
        meters: Vec::new(),
        endpoints: [0, 1].map(|last| SocketAddrV4::new(address(last), 1)),
        counted: BTreeMap::new(),
        questions: BTreeMap::new(),
        sessions: BTreeMap::new(),
        signed: BTreeMap::new(),
        receipts: BTreeSet::new(),
        spent: BTreeMap::new(),
        kept: BTreeMap::new(),
        ledgers: BTreeMap::new(),
        carried: 0,
        paid: BTreeMap::new(),
        inputs: Sent::new(),
        tally: Tally::new(),
    };
    while !run.choices.is_over() {
        run.step();
        run.drain();
        run.check();
    }
    run.come_to_rest();
    run.tally
}

/// A member of the house delegates to its home.
fn mandate(number: usize) -> Mandate {
    let low = u8::try_from(number).expect("a small number");
    let (member, delegate) = (secret(50 + low), actor(1, 60 + low, Role::Member));
    let now = START.unix_seconds();
    let terms = DelegationTerms {
        bytes_per_day: Bytes(BYTES_PER_DAY[number]),
        not_before: now.minus(10),
        not_after: now.plus(20 * 86_400),
        access_points: AccessPoints::Any,
    };
    let delegation = Delegation::issue(&member, delegate.key.public(), terms).expect("good terms");
    let team = delegate.certificate.team_id();
    Mandate::new(delegation, delegate.key, delegate.certificate, team).expect("they belong together")
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
        match self.choices.byte() % 20 {
            0 | 1 => self.connect(),
            2 => self.report_tunnel(),
            3..=5 => self.look_up(),
            6..=8 => self.acknowledge(),
            9..=11 => self.request(),
            12..=14 => self.read_meter(),
            15 => self.carry(),
            16 => self.junk(),
            17 => self.hang_up(),
            18 => {
                self.now = self.now + self.choices.span();
                self.settle();
            }
            _ => match self.choices.byte() {
                0..=7 => self.machine.shut_down(self.now),
                8..=127 => {
                    let (member, address) = (self.choices.below(2), self.address());
                    self.endpoints[member] = SocketAddrV4::new(address, self.port().get());
                }
                128..=255 => self.again(),
            },
        }
    }

    fn address(&mut self) -> Ipv4Addr {
        Ipv4Addr::new(198, 51, 100, self.choices.byte() % 2)
    }

    fn port(&mut self) -> NonZeroU16 {
        NonZeroU16::MIN.saturating_add(u16::from(self.choices.byte()) % PORTS)
    }

    /// One of the connections, or one that never was.
    fn connection(&mut self) -> ConnectionId {
        let at = self.choices.below(self.open.len());
        self.open.keys().nth(at).copied().unwrap_or(1_000)
    }

    fn connect(&mut self) {
        let address = self.address();
        self.last_id += 1;
        self.open.insert(self.last_id, address);
        self.machine.handle_connected(self.last_id, address, self.now);
        if self.choices.byte() < 240 {
            let port = self.port();
            self.input(self.last_id, Message::RreqTunnel { port, started: None }.emit());
        }
    }

    /// An access point says where a tunnel is, and maybe which session goes on.
    fn report_tunnel(&mut self) {
        let (id, port) = (self.connection(), self.port());
        let at = self.choices.below(self.sessions.len());
        let started = self.sessions.values().nth(at).copied().filter(|_| self.choices.yes());
        self.input(id, Message::RreqTunnel { port, started }.emit());
    }

    fn look_up(&mut self) {
        let Some(id) = self.lookups.pop() else { return };
        let counted = self.reading(id);
        let mandate = match self.choices.byte() {
            0..=31 => None,
            32..=191 => Some(&self.mandates[0]),
            192..=255 => Some(&self.mandates[1]),
        };
        let found = mandate.map(|mandate| (mandate, Bundle::default()));
        self.machine.handle_lookup(id, found, &counted.into(), &mut self.rng, self.now);
    }

    fn reading(&self, id: ConnectionId) -> Counted {
        self.open.get(&id).and_then(|address| self.counted.get(address)).cloned().unwrap_or_default()
    }

    fn read_meter(&mut self) {
        let (id, member) = if self.choices.byte() < 224 && !self.meters.is_empty() {
            self.meters.remove(0)
        } else {
            (self.connection(), MEMBERS[0].certificate.subject_id())
        };
        let counted = self.reading(id);
        let at = self.mandates.iter().position(|mandate| mandate.delegation().member_id() == member);
        let endpoint = at.map(|at| self.endpoints[at]).filter(|_| self.choices.byte() < 240);
        self.machine.handle_meter(id, endpoint, &counted.into(), self.now);
    }

    /// Tunnels carry something; now and then a counter begins anew.
    fn carry(&mut self) {
        let (address, port) = (self.address(), self.port().get());
        let more = self.choices.number().min(1 << 50);
        self.carried += u128::from(more);
        let counter = self.counted.entry(address).or_default().entry(port).or_default();
        *counter = if self.choices.byte() < 8 { Bytes(0) } else { Bytes(counter.0.saturating_add(more)) };
    }

    fn acknowledge(&mut self) {
        let id = self.connection();
        let Some((member, nonce)) = self.questions.get(&id).copied() else { return };
        let actor = &ACCESS_POINTS[usize::from(self.choices.byte() < 32)];
        let now = self.now.unix_seconds();
        let started = match self.choices.byte() {
            0..=199 => now,
            200..=255 => now.minus(self.choices.byte().into()),
        };
        let terms = Acknowledgement {
            nonce,
            member,
            provider: actor.certificate.team_id(),
            started,
            interval: Micros::from_seconds(5),
            volume: Bytes(25_000_000),
            class: ServiceClass::Low,
        };
        let acknowledgement = terms.seal(&actor.key, &actor.certificate);
        let certificate = Box::new(actor.certificate.clone());
        self.sessions.insert(id, started);
        self.input(id, Message::Cack { certificate, acknowledgement, home: None }.emit());
    }

    fn request(&mut self) {
        let id = self.connection();
        let Some(started) = self.sessions.get(&id).copied() else { return };
        let carried: u64 = self.reading(id).values().fold(0, |sum, bytes| sum.saturating_add(bytes.0));
        let weight = match self.choices.byte() {
            0..=127 => Bytes(carried),
            128..=191 => self.choices.bytes(),
            192..=255 => Bytes(carried.saturating_add(self.choices.number())),
        };
        let last = self.choices.byte() < 8;
        self.input(id, Message::Rreq { started, weight, last, hold: None }.emit());
    }

    fn junk(&mut self) {
        let id = self.connection();
        let bytes = match self.choices.byte() {
            0..=99 => self.choices.raw(),
            100..=199 => {
                let code = self.choices.pick(&[Code::Closed, Code::Unpaid, Code::Refused, Code::Busy]);
                Message::error(code, "no").emit()
            }
            200..=255 => Message::Rcpt { reference: None, bundle: Bundle::default(), home: None }.emit(),
        };
        self.input(id, bytes);
    }

    fn again(&mut self) {
        let Some(bytes) = self.inputs.pick(&mut self.choices) else { return };
        let bytes = if self.choices.yes() { self.choices.spoil(bytes) } else { bytes };
        let id = self.connection();
        self.input(id, bytes);
    }

    fn input(&mut self, id: ConnectionId, bytes: Vec<u8>) {
        self.machine.handle_input(id, &bytes, self.now);
        self.inputs.push(bytes);
    }

    fn hang_up(&mut self) {
        let id = self.connection();
        self.close(id);
    }

    fn close(&mut self, id: ConnectionId) {
        self.open.remove(&id);
        self.machine.handle_hung_up(id, self.now);
    }

    fn drain(&mut self) {
        let mut ended = Vec::new();
        while let Some(event) = self.machine.poll_event() {
            self.carry_out(event, &mut ended);
        }
        while let Some((id, bytes)) = self.machine.poll_transmit() {
            match Message::parse(&bytes).expect("it says what can be read") {
                Message::Conn { certificate, nonce, .. } => {
                    self.questions.insert(id, (certificate.subject_id(), nonce));
                }
                Message::Rcpt { bundle, .. } => {
                    let [receipt] = bundle.receipts.as_slice() else { panic!("one receipt: {bundle:?}") };
                    assert!(self.receipts.contains(receipt), "a receipt left that no event told of");
                }
                Message::Erro { .. } => {}
                other @ (Message::Cack { .. }
                | Message::Rreq { .. }
                | Message::RreqTunnel { .. }
                | Message::Quer { .. }
                | Message::Qrsp { .. }
                | Message::Rnew { .. }
                | Message::Eapq { .. }
                | Message::Eapr { .. }
                | Message::Tryq { .. }
                | Message::Tryr { .. }
                | Message::Asks { .. }
                | Message::Says { .. }
                | Message::SaysOutcome { .. }
                | Message::Updt { .. }) => panic!("no delegate says {other:?}"),
            }
        }
        // The program closes what is over, sooner or later.
        for id in ended {
            if self.choices.byte() < 192 {
                self.close(id);
            }
        }
    }

    fn carry_out(&mut self, event: Event, ended: &mut Vec<ConnectionId>) {
        let mut count = |what| *self.tally.entry(what).or_default() += 1;
        match event {
            Event::LookupNeeded(id, _) => self.lookups.push(id),
            Event::MeterNeeded(id, member, _) => self.meters.push((id, member)),
            Event::Spent(member, spent) => {
                let number =
                    self.mandates.iter().position(|mandate| mandate.delegation().member_id() == member);
                let number = number.expect("one of the two");
                assert!(spent.bytes.0 <= BYTES_PER_DAY[number], "{spent:?} in a day");
                self.kept.insert(member, spent);
            }
            Event::Metered(member, ledger) => {
                assert!(ledger.ahead() <= Ledger::ADVANCE);
                assert_eq!(ledger.to_string().parse().as_ref(), Ok(ledger.as_ref()));
                self.ledgers.insert(member, *ledger);
            }
            Event::Granted { .. } => count("granted"),
            Event::Signed(_, receipt) => {
                count("signed");
                self.sign(&receipt);
            }
            Event::Disputed { .. } => count("disputed"),
            Event::Refused(..) => count("refused"),
            Event::Ended(id, _) => {
                count("ended");
                ended.push(id);
            }
        }
    }

    /// What is signed in a day, over all sessions, is what was said to be kept, and no more than the member allows.
    fn sign(&mut self, receipt: &guestright_receipt::Receipt) {
        let delegates = self.mandates.iter();
        let of = |mandate: &&Mandate| mandate.certificate().reference() == receipt.certificate();
        let member = delegates.clone().find(of).map(|mandate| mandate.delegation().member_id());
        let member = member.expect("signed by one of the two delegates");
        let session = (member, receipt.provider(), receipt.started());
        // Of a session the largest weight counts, over whatever connection it was signed.
        let most = self.signed.entry(session).or_default();
        let before = std::mem::replace(most, receipt.weight().max(*most));
        let day = self.now.unix_seconds().0 / 86_400;
        let spent = self.spent.entry((member, day)).or_default();
        *spent += receipt.weight().0.saturating_sub(before.0);
        let paid = self.paid.entry(member).or_default();
        *paid += u128::from(receipt.weight().0.saturating_sub(before.0));
        // A byte is counted in one session; with each day there is the one advance again.
        let days = u128::from(day - START.unix_seconds().0 / 86_400 + 1);
        let most = self.carried + self.carried / 20 + days * u128::from(Ledger::ADVANCE.0);
        assert!(*paid <= most, "{paid} signed for in {days} days, at most {most}");
        if *spent > 0 {
            assert!(self.ledgers.contains_key(&member), "no ledger was to be kept");
            let kept = self.kept.get(&member).copied().unwrap_or_default();
            assert!(
                kept.day == day && kept.bytes.0 >= *spent,
                "{spent} signed for on day {day}, kept {kept:?}"
            );
        }
        self.receipts.insert(receipt.as_bytes().to_vec());
    }

    fn check(&self) {
        let status = self.machine.status();
        // Who is over the limit is refused at once, and is gone when the program closes it.
        assert!(status.len() <= self.config.connections_max, "{} sessions", status.len());
    }

    /// The access points go, and say nothing any more: then nothing is open, and nothing is due.
    fn come_to_rest(&mut self) {
        self.drain();
        self.machine.shut_down(self.now);
        self.drain();
        for id in self.open.keys().copied().collect::<Vec<_>>() {
            self.close(id);
        }
        for turn in 0.. {
            assert!(turn < TURNS_MAX, "it waits for ever: {:?}", self.machine.status());
            let Some(next) = self.machine.poll_timeout() else { break };
            self.now = self.now.max(next);
            self.settle();
        }
        assert_eq!(self.machine.status(), []);
    }
}
