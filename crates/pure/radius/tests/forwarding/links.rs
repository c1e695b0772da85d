//! Links that lose and repeat, homes that are late, and people who cannot decide.

use crate::stage::{Question, SECOND, msk, realm, request, server, station};
use guestright_radius::{
    Answer, Code, Decision, Event, ForwardingServer, Kind, Limits, Packet, Relay, Station,
};
use guestright_units::{Micros, Time};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::collections::{BTreeMap, BTreeSet};

const STATIONS: u32 = 12;

enum Action {
    /// A question, and how often it was sent before.
    Ask(Question, u32),
    Receive(Vec<u8>),
    Answer(Relay),
    Decide(guestright_radius::ConversationId, Station),
}

/// One access point, some stations, and everything that can go wrong by chance.
struct Run {
    server: ForwardingServer,
    rng: StdRng,
    agenda: BTreeMap<(Time, u64), Action>,
    scheduled: u64,
    identifier: u8,
    /// What the access point waits for.
    waiting: BTreeMap<u8, Question>,
    answers: BTreeMap<([u8; 16], u8), Vec<u8>>,
    home_accepted: BTreeSet<Station>,
    household_admitted: BTreeSet<Station>,
    opened: Vec<Station>,
    accepted: BTreeSet<Station>,
    rejected: BTreeSet<Station>,
}

impl Run {
    fn schedule(&mut self, at: Time, action: Action) {
        self.scheduled += 1;
        self.agenda.insert((at, self.scheduled), action);
    }

    fn later(&mut self, now: Time, millis_max: u64) -> Time {
        now + Micros::from_millis(self.rng.random_range(1..millis_max))
    }

    fn send(&mut self, question: Question, now: Time) {
        self.identifier = self.identifier.wrapping_add(1);
        let mut authenticator = [self.identifier; 16];
        authenticator[..8].copy_from_slice(&self.scheduled.to_be_bytes());
        let question = Question { identifier: self.identifier, authenticator, ..question };
        self.waiting.insert(self.identifier, question.clone());
        self.schedule(now, Action::Ask(question, 0));
    }

    fn step(&mut self, action: Action, now: Time) {
        match action {
            Action::Ask(question, attempt) => {
                if self
                    .waiting
                    .get(&question.identifier)
                    .is_none_or(|other| other.authenticator != question.authenticator)
                {
                    return;
                }
                for _ in 0..self.rng.random_range(0..3) {
                    question.ask(&mut self.server, now);
                }
                if attempt < 3 {
                    self.schedule(
                        now + Micros::from_seconds(3 << attempt),
                        Action::Ask(question, attempt + 1),
                    );
                }
            }
            Action::Receive(bytes) => self.receive(&bytes, now),
            Action::Answer(relay) => {
                let answer = self.home(&relay);
                for _ in 0..self.rng.random_range(0..3) {
                    self.server.handle_answer(relay.id, answer.clone(), now);
                }
            }
            Action::Decide(conversation, station) => {
                let decision = if self.rng.random_bool(0.7) {
                    self.household_admitted.insert(station);
                    Decision::Admit { session_timeout: None }
                } else {
                    Decision::Refuse { sentence: "no".to_owned() }
                };
                self.server.handle_decision(conversation, decision, now);
            }
        }
    }

    fn home(&mut self, relay: &Relay) -> Answer {
        match self.rng.random_range(0..10) {
            0 => Answer::Away,
            1 => Answer::Reject { sentence: "no".to_owned() },
            _ if relay.id.round <= 3 => Answer::Challenge { eap: request(7, 500) },
            _ => {
                self.home_accepted.insert(relay.station);
                Answer::Accept { msk: msk(), session_timeout: None }
            }
        }
    }

    fn receive(&mut self, bytes: &[u8], now: Time) {
        let packet = Packet::parse(bytes).unwrap();
        let Some(question) = self.waiting.remove(&packet.identifier()) else { return };
        let packet = question.verified(bytes);
        let code = packet.code();
        if code == Code::AccessChallenge {
            let next = question.next(bytes);
            let at = self.later(now, 300);
            self.send(next, at);
        } else if code == Code::AccessAccept {
            assert!(self.accepted.insert(question.station));
        } else {
            assert_eq!(code, Code::AccessReject);
            assert!(packet.one(Kind::CLASS).unwrap().is_none());
            self.rejected.insert(question.station);
        }
    }

    fn drain(&mut self, now: Time) {
        while let Some(transmit) = self.server.poll_transmit() {
            let identifier = transmit.bytes[1];
            if let Some(question) = self.waiting.get(&identifier) {
                let key = (question.authenticator, identifier);
                let first = self.answers.entry(key).or_insert_with(|| transmit.bytes.clone());
                assert_eq!(*first, transmit.bytes, "one question has one answer");
            }
            for _ in 0..self.rng.random_range(0..3) {
                let at = self.later(now, 20);
                self.schedule(at, Action::Receive(transmit.bytes.clone()));
            }
        }
        while let Some(event) = self.server.poll_event() {
            let at = self.later(now, 5_000);
            match event {
                Event::Relay(relay) => self.schedule(at, Action::Answer(relay)),
                Event::DecisionNeeded { conversation, station, .. } => {
                    self.schedule(at, Action::Decide(conversation, station));
                }
                Event::Opened { station, .. } => self.opened.push(station),
                Event::Refused { .. } | Event::Accounting(_) => {}
            }
        }
    }
}

fn run(seed: u64) -> Run {
    let mut run = Run {
        server: server(Limits::default()),
        rng: StdRng::seed_from_u64(seed),
        agenda: BTreeMap::new(),
        scheduled: 0,
        identifier: 0,
        waiting: BTreeMap::new(),
        answers: BTreeMap::new(),
        home_accepted: BTreeSet::new(),
        household_admitted: BTreeSet::new(),
        opened: Vec::new(),
        accepted: BTreeSet::new(),
        rejected: BTreeSet::new(),
    };
    for number in 0..STATIONS {
        run.send(Question::first(0, realm(1), station(number)), Time(u64::from(number) * SECOND / 4));
    }
    while !run.agenda.is_empty() || run.server.poll_timeout().is_some() {
        let next = run.agenda.first_key_value().map(|((at, _), _)| *at);
        if let Some(at) = run.server.poll_timeout()
            && next.is_none_or(|next| at <= next)
        {
            run.server.handle_timeout(at);
            run.drain(at);
            continue;
        }
        let Some(((now, _), action)) = run.agenda.pop_first() else { break };
        run.step(action, now);
        run.drain(now);
    }
    run
}

#[test]
fn nobody_gets_in_without_two_yeses_and_every_conversation_ends() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..300 {
        let run = run(seed);
        assert_eq!(run.server.conversations(), 0, "seed {seed}");
        let opened: BTreeSet<_> = run.opened.iter().copied().collect();
        assert_eq!(opened.len(), run.opened.len(), "seed {seed}: nobody twice");
        assert!(run.accepted.is_subset(&opened), "seed {seed}");
        assert!(
            opened.is_subset(&run.home_accepted) && opened.is_subset(&run.household_admitted),
            "seed {seed}"
        );
        assert!(opened.is_disjoint(&run.rejected), "seed {seed}");
        (accepted, rejected) = (accepted + run.accepted.len(), rejected + run.rejected.len());
    }
    assert!(accepted > 100 && rejected > 1_000, "both happen: {accepted} and {rejected}");
}

#[test]
fn the_same_seed_is_the_same_run() {
    let [one, other] = [run(42), run(42)].map(|run| (run.opened, run.answers));
    assert_eq!(one, other);
}
