//! A home among access points, members and a store that do as they please.

use super::Tally;
use super::actors::{Actor, HOUSE, MEMBERS, START, bundle, secret};
use super::choices::{Choices, Sent};
use guestright_identity::{RevocationList, Role};
use guestright_receipt::{Bundle, Receipt, Registers};
use guestright_reciprocity::StrangerCounters;
use guestright_roaming::Message;
use guestright_roaming::home::{Config, Event, Peer, StoreReport, TeamServer, Token};
use guestright_roaming::message::{BlockedDevices, GuestId, Inquiry, Reference, Update};
use guestright_units::{Bytes, TeamId, Time, UnixSeconds};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::collections::{BTreeMap, BTreeSet};

const WAITING_MAX: usize = 4;
/// Its own access point, itself, its own member: who connects under this number.
const PEERS: usize = 3;

struct Run<'a> {
    choices: Choices<'a>,
    config: Config,
    machine: TeamServer,
    rng: StdRng,
    now: Time,
    /// How many steps nobody fetches anything.
    asleep: u8,
    store: Registers,
    /// What the store was asked for and has not answered: receipts, or nothing if some are to be found.
    waiting: BTreeMap<Token, Option<Vec<Receipt>>>,
    tokens: BTreeSet<Token>,
    /// How many receipts each message to be acknowledged had, and which questions wait for an answer: one each.
    delivered: BTreeMap<(Peer, Reference), Vec<usize>>,
    asked: BTreeMap<(Peer, Reference), usize>,
    inputs: Sent<(Peer, Vec<u8>)>,
    /// The devices that are blocked, and which list each access point has since it connected.
    blocked: Option<BlockedDevices>,
    listed: BTreeMap<Peer, BlockedDevices>,
    tally: Tally,
}

/// Drives a home.
pub(crate) fn team_server(bytes: &[u8]) -> Tally {
    let mut choices = Choices::new(bytes);
    let options = choices.byte();
    let config = Config {
        waiting_max: WAITING_MAX,
        transmits_max: if options & 1 == 0 { 8 } else { 64 },
        events_max: if options & 2 == 0 { 8 } else { 64 },
        revocations_max: 2,
        strangers_max: 2,
        sponsored_max: 8,
        ..Config::default()
    };
    let team = HOUSE[1].certificate.team_id();
    let machine = TeamServer::new(config.clone(), team, [], vec![], StrangerCounters::default(), START);
    let mut run = Run {
        choices,
        config,
        machine,
        rng: StdRng::seed_from_u64(1),
        now: START,
        asleep: 0,
        store: Registers::default(),
        waiting: BTreeMap::new(),
        tokens: BTreeSet::new(),
        delivered: BTreeMap::new(),
        asked: BTreeMap::new(),
        inputs: Sent::new(),
        blocked: None,
        listed: BTreeMap::new(),
        tally: Tally::new(),
    };
    for peer in 0..PEERS {
        run.connect(peer);
    }
    while !run.choices.is_over() {
        run.step();
        run.asleep = run.asleep.saturating_sub(1);
        if run.asleep == 0 {
            run.drain();
        }
    }
    run.come_to_rest();
    run.tally
}

impl Run<'_> {
    fn step(&mut self) {
        match self.choices.byte() % 16 {
            0..=2 => self.query(),
            3..=5 => self.deliver(),
            6 => self.fetch(),
            7..=10 => self.store_answers(),
            11 => self.again(),
            12 => {
                let (peer, raw) = (self.peer(), self.choices.raw());
                self.input(peer, raw);
            }
            13 => self.now = self.now + self.choices.span(),
            14 => self.revoke(),
            _ => match self.choices.byte() {
                0..=23 => self.asleep = self.choices.byte() % 16,
                24..=99 => self.block(),
                100..=179 => {
                    let peer = self.peer();
                    self.machine.handle_disconnected(peer);
                    self.listed.remove(&peer);
                }
                180..=255 => {
                    let peer = self.choices.below(PEERS);
                    self.connect(peer);
                }
            },
        }
    }

    /// A program of the team connects, unless its certificate holds no longer.
    fn connect(&mut self, peer: usize) {
        let number = u64::try_from(peer).expect("a small number");
        if self.machine.handle_connected(number, HOUSE[peer].certificate.clone(), self.now).is_ok() {
            self.listed.remove(&number);
        } else {
            *self.tally.entry("not-let-in").or_default() += 1;
        }
    }

    fn peer(&mut self) -> Peer {
        // One of them never connects.
        u64::from(self.choices.byte()) % 4
    }

    fn member(&mut self) -> &'static Actor {
        &MEMBERS[self.choices.below(MEMBERS.len())]
    }

    /// A receipt of a member for a team, which it may be entitled to or not.
    fn receipt(&mut self) -> (Receipt, &'static Actor) {
        let (member, provider) = (self.member(), self.member().certificate.team_id());
        let started =
            START.unix_seconds().minus(self.choices.byte().into()).plus(self.choices.below(2) as u64);
        (member.sign(provider, started, self.choices.bytes()), member)
    }

    fn some_receipts(&mut self) -> Bundle {
        let mut all = Bundle::default();
        for _ in 0..self.choices.below(4) {
            let (receipt, member) = self.receipt();
            let mut one = bundle(&receipt, Some(&member.certificate));
            if self.choices.byte() < 16 {
                one.receipts = one.receipts.into_iter().map(|bytes| self.choices.spoil(bytes)).collect();
            }
            all.certificates.extend(one.certificates.into_iter().filter(|_| self.choices.byte() < 240));
            all.receipts.extend(one.receipts);
        }
        all.certificates.sort();
        all.certificates.dedup();
        all
    }

    fn query(&mut self) {
        let (member, bundle, request) = (self.member(), self.some_receipts(), self.choices.bytes());
        let certificate = Box::new(member.certificate.clone());
        let reference = u64::from(self.choices.byte());
        let message = Message::Quer { reference, certificate, request, bundle, holds: false, session: None };
        let peer = self.peer();
        self.input(peer, message.emit());
    }

    fn deliver(&mut self) {
        let (bundle, reference) = (self.some_receipts(), u64::from(self.choices.byte()));
        let message = Message::Rcpt { reference: Some(reference), bundle, home: None };
        let peer = self.peer();
        self.input(peer, message.emit());
    }

    fn fetch(&mut self) {
        let (since, max) = (UnixSeconds(self.choices.number()), u16::from(self.choices.byte()));
        let what = Update::Fetch { since, max };
        let (peer, reference) = (self.peer(), u64::from(self.choices.byte()));
        self.input(peer, Message::Updt { reference, what }.emit());
    }

    /// The store answers one of its orders, or one that nobody gave.
    fn store_answers(&mut self) {
        self.drain();
        if self.waiting.is_empty() {
            let token = self.choices.number();
            self.machine.handle_stored(token, &StoreReport::default(), &mut self.rng, self.now);
            return;
        }
        let at = self.choices.below(self.waiting.len());
        let token = *self.waiting.keys().nth(at).expect("one of them");
        let fails = self.choices.byte() < 32;
        self.answer(token, fails);
    }

    fn answer(&mut self, token: Token, fails: bool) {
        match self.waiting.remove(&token) {
            Some(_) if fails => self.machine.handle_store_failed(token, "the disk is full"),
            Some(Some(receipts)) => {
                let mut report = StoreReport::default();
                for receipt in receipts {
                    report.admit(&mut self.store, receipt);
                }
                self.machine.handle_stored(token, &report, &mut self.rng, self.now);
                *self.tally.entry("stored").or_default() += 1;
                self.check_graph();
            }
            Some(None) => {
                let own = HOUSE[1].certificate.team_id();
                let shown = self.store.iter().filter(|receipt| receipt.provider() == own);
                let found = shown.map(|receipt| (receipt.as_bytes().to_vec(), b"certificate".to_vec()));
                self.machine.handle_fetched(token, found.collect());
            }
            None => {}
        }
    }

    /// The graph is the sum of what is stored: nothing counts twice, and nothing that is not durable.
    fn check_graph(&self) {
        let mut sums = BTreeMap::<(TeamId, TeamId), u64>::new();
        for receipt in self.store.iter() {
            let sum = sums.entry((receipt.consumer(), receipt.provider())).or_default();
            *sum = sum.saturating_add(receipt.weight().0);
        }
        // A sum that has reached the end of the numbers cannot be compared with one that came there in other steps.
        if sums.values().any(|sum| *sum == u64::MAX) {
            return;
        }
        for ((consumer, provider), sum) in &sums {
            let known = self.machine.graph().capacity(*consumer, *provider);
            assert_eq!(known, Bytes(*sum), "of {consumer} to {provider}");
        }
    }

    fn revoke(&mut self) {
        let (team, key) = self.choices.pick(&[(1, 2), (1, 4), (10, 11), (20, 21), (30, 31)]);
        let team = secret(team);
        let (sequence, issued) = (u64::from(self.choices.byte()), self.now.unix_seconds());
        let from = issued.minus(self.choices.byte().into());
        let revoked = BTreeMap::from([(secret(key).public().id(), from)]);
        let list = RevocationList::issue(&team, sequence, issued, revoked).expect("a short list");
        self.machine.handle_revocations(list);
    }

    /// The household serves other devices no longer, or ends a session.
    fn block(&mut self) {
        let number = self.choices.byte();
        if number < 32 {
            let access_point = HOUSE[0].certificate.subject_id();
            self.machine.end_guest(access_point, GuestId(number.into()), self.choices.number());
            return;
        }
        let devices = BlockedDevices::new((0..number % 8).map(|last| [2, 0, 0, 0, 0, last])).expect("a few");
        self.machine.set_blocked_devices(devices.clone(), self.choices.number());
        self.blocked = Some(devices);
        self.listed.clear();
    }

    fn again(&mut self) {
        let Some((peer, bytes)) = self.inputs.pick(&mut self.choices) else { return };
        let peer = if self.choices.yes() { peer } else { self.peer() };
        let bytes = if self.choices.yes() { self.choices.spoil(bytes) } else { bytes };
        self.input(peer, bytes);
    }

    fn input(&mut self, peer: Peer, bytes: Vec<u8>) {
        let parsed = Message::parse(&bytes);
        if let Ok(Message::Quer { reference, .. }) = &parsed {
            *self.asked.entry((peer, *reference)).or_default() += 1;
        } else if let Ok(Message::Rcpt { reference: Some(reference), bundle, .. }) = &parsed {
            self.delivered.entry((peer, *reference)).or_default().push(bundle.receipts.len());
        }
        self.machine.handle_input(peer, &bytes, &mut self.rng, self.now);
        self.inputs.push((peer, bytes));
    }

    fn drain(&mut self) {
        self.asleep = 0;
        let events: Vec<_> = std::iter::from_fn(|| self.machine.poll_event()).collect();
        let most = self.config.events_max + WAITING_MAX + self.config.revocations_max + 1;
        assert!(events.len() <= most, "{} events waited", events.len());
        for event in events {
            self.carry_out(event);
        }
        assert!(self.waiting.len() <= WAITING_MAX, "{} orders to the store", self.waiting.len());
        let transmits: Vec<_> = std::iter::from_fn(|| self.machine.poll_transmit()).collect();
        let most = self.config.transmits_max + PEERS;
        assert!(transmits.len() <= most, "{} messages waited", transmits.len());
        let mut answered = BTreeSet::new();
        for (peer, bytes) in transmits {
            let message = Message::parse(&bytes).expect("it says what can be read");
            if let Message::Asks { what: Inquiry::BlockDevices(devices), .. } = message {
                assert!(!answered.contains(&peer), "the list came after something else");
                self.listed.insert(peer, devices);
                *self.tally.entry("listed").or_default() += 1;
            } else {
                answered.insert(peer);
                self.check_answer(peer, &message);
            }
        }
        let access_points = self.machine.peers().filter(|(_, role, _)| *role == Role::AccessPoint);
        for (peer, ..) in access_points {
            assert_eq!(self.listed.get(&peer), self.blocked.as_ref(), "the list of {peer}");
        }
        assert!(self.listed.keys().all(|peer| *peer == 0), "it is for access points: {:?}", self.listed);
    }

    /// Every answer is to a question of this peer's, one to each.
    fn check_answer(&mut self, peer: Peer, message: &Message) {
        if let Message::Qrsp { reference, .. } = message {
            let left = self.asked.get_mut(&(peer, *reference)).expect("an answer to a question");
            *left = left.checked_sub(1).expect("one answer to a question");
            *self.tally.entry("decided").or_default() += 1;
        } else if let Message::Updt { reference, what: Update::Taken { stored, refused } } = message {
            let lengths = self.delivered.get_mut(&(peer, *reference)).expect("what was delivered");
            let taken = usize::from(*stored) + usize::from(*refused);
            // Several may have the same number: the smallest that this can be about.
            let fits = lengths.iter().enumerate().filter(|(_, length)| taken <= **length);
            let (at, _) = fits.min_by_key(|(_, length)| **length).expect("no more than was delivered");
            lengths.remove(at);
            *self.tally.entry("acknowledged").or_default() += 1;
        }
    }

    fn carry_out(&mut self, event: Event) {
        match event {
            Event::Store { token, receipts } => {
                assert!(self.tokens.insert(token), "{token} stands for two orders");
                assert!(!receipts.is_empty(), "an order for nothing");
                for (receipt, certificate) in &receipts {
                    let again = Receipt::from_kept(receipt.as_bytes(), certificate);
                    assert_eq!(again.as_ref(), Ok(receipt), "only what was checked is stored");
                }
                let receipts = receipts.into_iter().map(|(receipt, _)| receipt).collect();
                self.waiting.insert(token, Some(receipts));
            }
            Event::Fetch { token, .. } => {
                assert!(self.tokens.insert(token), "{token} stands for two orders");
                self.waiting.insert(token, None);
            }
            Event::Revoked(_) => *self.tally.entry("revoked").or_default() += 1,
            Event::Keep(_)
            | Event::SendHome(..)
            | Event::AskHome(..)
            | Event::HomeLearned(..)
            | Event::Reserved { .. }
            | Event::Renewed { .. }
            | Event::Answered { .. }
            | Event::Acted { .. }
            | Event::Begun { .. }
            | Event::Finished { .. }
            | Event::Decided { .. }
            | Event::Refused { .. } => {}
        }
    }

    /// The store answers everything that is open: then nothing waits any more.
    fn come_to_rest(&mut self) {
        self.drain();
        while let Some((token, _)) = self.waiting.first_key_value() {
            let token = *token;
            self.answer(token, false);
            self.drain();
        }
        self.check_graph();
        assert_eq!(self.machine.poll_event(), None);
        assert_eq!(self.machine.poll_transmit(), None);
    }
}
