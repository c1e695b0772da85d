//! A visitor, and an access point that says what it pleases.

use super::actors::{ACCESS_POINTS, Actor, MEMBERS, START, bundle};
use super::choices::{Choices, Sent};
use super::{TURNS_MAX, Tally, Timed};
use guestright_receipt::{Bundle, HoldId, HoldUse, Receipt};
use guestright_reciprocity::ServiceClass;
use guestright_roaming::message::{Acknowledgement, Code, Nonce};
use guestright_roaming::visitor::{Config, Event, Visitor};
use guestright_roaming::{Ledger, Message};
use guestright_units::{Bytes, Micros, TeamId, Time, UnixSeconds};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::collections::{BTreeMap, BTreeSet};

const CODES: [Code; 8] = [
    Code::Malformed,
    Code::Certificate,
    Code::Receipt,
    Code::Refused,
    Code::Busy,
    Code::Unpaid,
    Code::NoSession,
    Code::Closed,
];

struct Run<'a> {
    choices: Choices<'a>,
    config: Config,
    machine: Visitor,
    rng: StdRng,
    now: Time,
    /// How many steps nobody fetches anything.
    asleep: u8,
    nonce: Nonce,
    /// What the meter says of this session, and the most that may be signed.
    counted: Bytes,
    limit: Bytes,
    ledger: Ledger,
    /// What the meter was told of, and what was signed for, with each team on this day; what was counted the day before and
    /// not signed for is asked for today.
    reported: BTreeMap<TeamId, u128>,
    paid: BTreeMap<TeamId, u128>,
    day: u64,
    reported_of_session: Bytes,
    /// The part of what is signed on each hold.
    holds: BTreeMap<HoldId, Bytes>,
    session: Option<(TeamId, UnixSeconds)>,
    opened: BTreeSet<(TeamId, UnixSeconds)>,
    signed: Bytes,
    /// Receipts of the events, which may be sent.
    receipts: BTreeSet<Vec<u8>>,
    ended: bool,
    inputs: Sent<Vec<u8>>,
    tally: Tally,
}

/// Drives a visitor.
pub(crate) fn visitor(bytes: &[u8]) -> Tally {
    let mut choices = Choices::new(bytes);
    let options = choices.byte();
    let holds_max = if options & 4 == 0 { 3 } else { 64 };
    let config =
        Config { transmits_max: if options & 1 == 0 { 4 } else { 64 }, holds_max, ..Config::default() };
    let own = &MEMBERS[1];
    let mut rng = StdRng::seed_from_u64(1);
    let last = (options & 2 == 0).then(|| (ACCESS_POINTS[0].certificate.team_id(), START.unix_seconds()));
    let (key, certificate) = (own.key.clone(), own.certificate.clone());
    let machine = Visitor::new(config.clone(), key, certificate, Bundle::default(), last, &mut rng, START);
    let mut run = Run {
        choices,
        config,
        machine,
        rng,
        now: START,
        asleep: 0,
        nonce: [0; 16],
        counted: Bytes(0),
        limit: Bytes(u64::MAX),
        ledger: Ledger::default(),
        reported: BTreeMap::new(),
        paid: BTreeMap::new(),
        day: 0,
        reported_of_session: Bytes(0),
        holds: BTreeMap::new(),
        session: None,
        opened: last.into_iter().collect(),
        signed: Bytes(0),
        receipts: BTreeSet::new(),
        ended: false,
        inputs: Sent::new(),
        tally: Tally::new(),
    };
    run.drain();
    while !run.choices.is_over() {
        run.step();
        run.asleep = run.asleep.saturating_sub(1);
        if run.asleep == 0 {
            run.drain();
        }
    }
    run.come_to_an_end();
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
        if self.ended {
            self.visit_again();
        }
        match self.choices.byte() % 20 {
            0..=3 => {
                let (actor, terms) = self.terms();
                self.acknowledge(actor, &terms);
            }
            4..=8 => self.request(),
            9 => {
                let code = self.choices.pick(&CODES);
                self.input(Message::error(code, "go away").emit());
            }
            10 | 11 => {
                self.counted = Bytes(self.counted.0.saturating_add(self.choices.number().min(1 << 50)))
            }
            12 => self.again(),
            13 => {
                let raw = self.choices.raw();
                self.input(raw);
            }
            14 => self.not_for_visitors(),
            15..=17 => {
                self.now = self.now + self.choices.span();
                self.settle();
            }
            18 => self.asleep = self.choices.byte() % 16,
            _ => self.person(),
        }
    }

    /// What a program does after a session: it makes another machine, which knows the last session.
    fn visit_again(&mut self) {
        let own = &MEMBERS[1];
        let (key, certificate, config) = (own.key.clone(), own.certificate.clone(), self.config.clone());
        let (bundle, last) = (Bundle::default(), self.session.take());
        // Of the sessions before, the machine knows only the last.
        self.opened = last.into_iter().collect();
        self.machine = Visitor::new(config, key, certificate, bundle, last, &mut self.rng, self.now);
        (self.signed, self.limit, self.ended) = (Bytes(0), Bytes(u64::MAX), false);
        if self.choices.yes() {
            // The program begins anew too, with what it has kept.
            self.ledger = self.ledger.to_string().parse().expect("what it wrote");
        }
        self.drain();
    }

    /// Terms as they should be, but for what is chosen otherwise.
    fn terms(&mut self) -> (&'static Actor, Acknowledgement) {
        let actor = &ACCESS_POINTS[usize::from(self.choices.byte() < 32)];
        let now = self.now.unix_seconds();
        let mut terms = Acknowledgement {
            nonce: self.nonce,
            member: MEMBERS[1].certificate.subject_id(),
            provider: actor.certificate.team_id(),
            started: self.session.map_or(now, |(_, started)| started),
            interval: Micros::from_seconds(5),
            volume: Bytes(25_000_000),
            class: self.choices.pick(&ServiceClass::ALL),
        };
        match self.choices.byte() {
            0..=159 => {}
            160..=179 => terms.nonce = [self.choices.byte(); 16],
            180..=189 => terms.member = MEMBERS[2].certificate.subject_id(),
            190..=209 => terms.started = now.minus(self.choices.number()),
            210..=229 => terms.started = now.plus(self.choices.number()),
            230..=255 => terms.interval = Micros(self.choices.number()),
        }
        (actor, terms)
    }

    fn acknowledge(&mut self, actor: &Actor, terms: &Acknowledgement) {
        let acknowledgement = terms.seal(&actor.key, &actor.certificate);
        let certificate = Box::new(actor.certificate.clone());
        let bytes = Message::Cack { certificate, acknowledgement, home: None }.emit();
        let bytes = if self.choices.byte() < 16 { self.choices.spoil(bytes) } else { bytes };
        self.input(bytes);
    }

    fn request(&mut self) {
        let now = self.now.unix_seconds();
        let current = self.session.map_or(now, |(_, started)| started);
        let started = if self.choices.byte() < 16 { UnixSeconds(self.choices.number()) } else { current };
        let weight = match self.choices.byte() {
            0..=99 => self.counted,
            100..=149 => Bytes(self.counted.0.saturating_add(self.choices.number())),
            150..=199 => Bytes(self.counted.0.saturating_sub(self.choices.number())),
            200..=229 => self.signed,
            230..=255 => self.choices.bytes(),
        };
        let last = self.choices.byte() < 16;
        let hold = self.hold(weight);
        // Who doubts a claim is asked again.
        for _ in 0..self.choices.pick(&[1, self.config.doubts_max]) {
            self.input(Message::Rreq { started, weight, last, hold }.emit());
            if self.asleep == 0 {
                self.drain();
            }
        }
    }

    /// What is to be on a hold: what no other has, as before, or anything.
    fn hold(&mut self, weight: Bytes) -> Option<HoldUse> {
        let id = HoldId([self.choices.byte() % 8; 24]);
        let before = self.holds.get(&id).copied().unwrap_or_default();
        let weight = match self.choices.byte() {
            0..=119 => weight.saturating_sub(self.on_holds().saturating_sub(before)),
            120..=149 => before,
            150..=179 => self.choices.bytes(),
            180..=255 => return None,
        };
        Some(HoldUse { id, weight })
    }

    fn on_holds(&self) -> Bytes {
        self.holds.values().fold(Bytes(0), |sum, &weight| sum.saturating_add(weight))
    }

    fn again(&mut self) {
        let Some(bytes) = self.inputs.pick(&mut self.choices) else { return };
        let bytes = if self.choices.yes() { self.choices.spoil(bytes) } else { bytes };
        self.input(bytes);
    }

    fn not_for_visitors(&mut self) {
        let certificate = Box::new(MEMBERS[2].certificate.clone());
        let nonce = self.nonce;
        let message = if self.choices.yes() {
            Message::Conn { certificate, nonce, bundle: Bundle::default(), holds: false }
        } else {
            Message::Rcpt { reference: None, bundle: Bundle::default(), home: None }
        };
        self.input(message.emit());
    }

    /// What the person, or the program around the machine, wants.
    fn person(&mut self) {
        match self.choices.byte() {
            0..=23 => self.machine.leave(self.now),
            24..=99 => {
                self.limit = Bytes(self.signed.0.saturating_add(self.choices.number()));
                self.machine.limit(self.limit);
            }
            100..=179 => {
                let receipt = MEMBERS[3].sign(
                    MEMBERS[1].certificate.team_id(),
                    START.unix_seconds(),
                    self.choices.bytes(),
                );
                self.machine.show(bundle(&receipt, Some(&MEMBERS[3].certificate)), &mut self.rng, self.now);
            }
            // A meter that is read though nobody asked.
            180..=255 => self.meter(),
        }
    }

    fn input(&mut self, bytes: Vec<u8>) {
        self.machine.handle_input(&bytes, self.now);
        self.inputs.push(bytes);
    }

    fn meter(&mut self) {
        // Events before it belong to the meter as it was.
        while let Some(event) = self.machine.poll_event() {
            self.carry_out(event);
        }
        self.tell();
    }

    /// The machine is told what was counted.
    fn tell(&mut self) {
        let day = self.now.unix_seconds().0 / 86_400;
        if day > self.day {
            let paid = std::mem::take(&mut self.paid);
            for (provider, reported) in &mut self.reported {
                *reported = reported.saturating_sub(paid.get(provider).copied().unwrap_or_default());
            }
            self.day = day;
        }
        if let Some((provider, _)) = self.session {
            let more = self.counted.saturating_sub(self.reported_of_session);
            *self.reported.entry(provider).or_default() += u128::from(more.0);
            self.reported_of_session = self.counted;
        }
        self.machine.handle_meter(self.counted, &mut self.ledger, self.now);
    }

    /// Design note 0010: at most 1.05 times what was counted, and one constant for all.
    fn check_ledger(&self) {
        let ahead = |(provider, paid): (&TeamId, &u128)| {
            let reported = self.reported.get(provider).copied().unwrap_or_default();
            paid.saturating_sub(reported + reported / 20)
        };
        let ahead: u128 = self.paid.iter().map(ahead).sum();
        assert!(ahead <= u128::from(Ledger::ADVANCE.0), "{ahead} bytes ahead of the count");
    }

    /// Each byte is on one hold at most, and stays there.
    fn check_hold(&mut self, receipt: &Receipt) {
        let Some(HoldUse { id, weight }) = receipt.hold() else {
            return assert!(self.holds.is_empty(), "it names none any more: {:?}", self.holds);
        };
        *self.tally.entry("signed on a hold").or_default() += 1;
        let before = self.holds.insert(id, weight).unwrap_or_default();
        assert!(weight >= before, "{weight:?} on {id:?} after {before:?}");
        assert!(self.on_holds() <= receipt.weight(), "{:?}, {:?} in all", self.holds, receipt.weight());
        assert_eq!(self.on_holds(), receipt.on_holds(), "what it says of all holds");
        assert!(self.holds.len() <= self.config.holds_max);
    }

    fn drain(&mut self) {
        self.asleep = 0;
        while let Some(event) = self.machine.poll_event() {
            self.carry_out(event);
        }
        let transmits: Vec<_> = std::iter::from_fn(|| self.machine.poll_transmit()).collect();
        assert!(transmits.len() <= self.config.transmits_max, "{} messages waited", transmits.len());
        for bytes in transmits {
            match Message::parse(&bytes).expect("it says what can be read") {
                Message::Conn { nonce, .. } => self.nonce = nonce,
                Message::Rcpt { bundle, .. } => {
                    let [receipt] = bundle.receipts.as_slice() else { panic!("one receipt: {bundle:?}") };
                    assert!(self.receipts.contains(receipt), "a receipt left that no event told of");
                }
                Message::Erro { code, .. } => assert_eq!(code, Code::Closed),
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
                | Message::Updt { .. }) => panic!("no visitor says {other:?}"),
            }
        }
    }

    fn carry_out(&mut self, event: Event) {
        assert!(!self.ended, "{event:?} after the end");
        let mut count = |what| *self.tally.entry(what).or_default() += 1;
        match event {
            Event::Granted { provider, started, .. } => {
                count("granted");
                assert_eq!(self.session, Some((provider, started)), "granted and nothing signed");
            }
            Event::MeterNeeded => self.tell(),
            Event::Signed(receipt) => {
                count("signed");
                let session = (receipt.provider(), receipt.started());
                if self.session != Some(session) {
                    assert_eq!(receipt.weight(), Bytes(0), "the first receipt of a session is over nothing");
                    assert!(self.opened.insert(session), "{session:?} was opened twice");
                    (self.session, self.signed) = (Some(session), Bytes(0));
                    // The program's meter begins anew with each session.
                    (self.counted, self.reported_of_session) = (Bytes(0), Bytes(0));
                    self.holds.clear();
                }
                let weight = receipt.weight();
                let most = self.limit.max(self.signed);
                assert!(weight <= most, "{weight:?} signed, at most {most:?}");
                assert!(weight >= self.signed, "{weight:?} signed after {:?}", self.signed);
                *self.paid.entry(receipt.provider()).or_default() += u128::from(weight.0 - self.signed.0);
                self.check_ledger();
                self.check_hold(&receipt);
                self.signed = weight;
                self.receipts.insert(receipt.as_bytes().to_vec());
            }
            Event::Disputed { claimed, counted } => {
                count("disputed");
                assert!(claimed > counted.min(self.limit), "{claimed:?} disputed, {counted:?} counted");
            }
            Event::Dropped { kind: "hold", .. } => count("hold refused"),
            Event::Dropped { .. } => count("dropped"),
            Event::Ended { .. } => {
                count("ended");
                self.ended = true;
            }
        }
    }

    /// Nobody says anything any more: it comes to an end by itself, and stays there.
    fn come_to_an_end(&mut self) {
        self.drain();
        for turn in 0.. {
            assert!(turn < TURNS_MAX, "it waits for ever");
            let Some(next) = self.machine.poll_timeout() else { break };
            self.now = self.now.max(next);
            self.settle();
        }
        if self.session.is_some() {
            assert!(self.ended, "it waits for nothing, and has not ended");
        }
        self.machine.leave(self.now);
        self.drain();
        assert!(self.ended, "who leaves is gone");
        for bytes in self.inputs.take() {
            self.machine.handle_input(&bytes, self.now);
        }
        self.drain();
        assert_eq!(self.machine.poll_timeout(), None);
    }
}
