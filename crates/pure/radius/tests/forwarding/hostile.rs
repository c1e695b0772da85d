//! A thousand stations a second that mean harm, and some that are members.

use crate::stage::{Question, SECOND, msk, realm, request, secret, server, station};
use guestright_radius::{
    Answer, Code, ConversationId, Decision, Event, ForwardingServer, Limits, Packet, Realm, Relay, Station,
};
use guestright_units::{Micros, TeamId, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Members' homes answer after this, and ask so often before they accept: EAP-TLS with long certificates.
const HOME: Micros = Micros::from_millis(200);
const ROUNDS: u32 = 8;
/// Until a station has answered.
const AIR: Micros = Micros::from_millis(20);
const SECONDS: u64 = 20;
/// The realm that the members are of, and that strangers name most.
const TEAM: u8 = 1;
const MEMBERS: u32 = 10_000;

#[derive(Clone, Copy, Debug)]
enum Behaviour {
    Member,
    /// Begins and never answers.
    Silent,
    /// Answers its home, slowly, for as long as it is asked.
    Slow,
}

enum Action {
    Begin(u32, Realm),
    Answer(Relay),
    Decide(ConversationId),
    Ask(Question),
}

struct World {
    server: ForwardingServer,
    agenda: BTreeMap<(Time, u64), Action>,
    questions: BTreeMap<(SocketAddr, u8), Question>,
    asked: u64,
    scheduled: u64,
    opened: Vec<Station>,
    largest: usize,
}

fn behaviour(station: Station) -> Behaviour {
    let number = u32::from_be_bytes([station.0[2], station.0[3], station.0[4], station.0[5]]);
    match number {
        0..MEMBERS => Behaviour::Member,
        _ if number.is_multiple_of(12) => Behaviour::Slow,
        _ => Behaviour::Silent,
    }
}

impl World {
    fn new(limits: Limits) -> Self {
        Self {
            server: server(limits),
            agenda: BTreeMap::new(),
            questions: BTreeMap::new(),
            asked: 0,
            scheduled: 0,
            opened: Vec::new(),
            largest: 0,
        }
    }

    fn schedule(&mut self, at: Time, action: Action) {
        self.scheduled += 1;
        self.agenda.insert((at, self.scheduled), action);
    }

    fn run(&mut self) {
        while let Some(((now, _), action)) = self.agenda.pop_first() {
            if self.server.poll_timeout().is_some_and(|at| at <= now) {
                self.server.handle_timeout(now);
            }
            match action {
                Action::Begin(number, realm) => self.ask(Question::first(1, realm, station(number)), now),
                Action::Ask(question) => self.ask(question, now),
                Action::Decide(conversation) => {
                    self.server.handle_decision(conversation, Decision::Admit { session_timeout: None }, now);
                }
                Action::Answer(relay) => self.server.handle_answer(relay.id, home(&relay), now),
            }
            self.drain(now);
            self.largest = self.largest.max(self.server.conversations());
        }
    }

    /// hostapd has one socket and 256 identifiers; several of them stand for a crowd.
    fn ask(&mut self, question: Question, now: Time) {
        self.asked += 1;
        let port = 10_000 + u16::try_from(self.asked / 256 % 200).unwrap();
        let identifier = u8::try_from(self.asked % 256).unwrap();
        let mut authenticator = [0; 16];
        authenticator[..8].copy_from_slice(&self.asked.to_be_bytes());
        let source = ([127, 0, 0, 1], port).into();
        let mut question = Question { source, identifier, authenticator, ..question };
        question.eap[1] = identifier;
        question.ask(&mut self.server, now);
        self.questions.insert((source, identifier), question);
    }

    fn drain(&mut self, now: Time) {
        while let Some(transmit) = self.server.poll_transmit() {
            let packet = Packet::parse(&transmit.bytes).unwrap();
            let question = self.questions.remove(&(transmit.to, packet.identifier())).expect("it was asked");
            packet.verify_response(&secret(), &question.authenticator).unwrap();
            let wait = match (packet.code(), behaviour(question.station)) {
                (Code::AccessChallenge, Behaviour::Member) => AIR,
                (Code::AccessChallenge, Behaviour::Slow) => Micros::from_millis(1_500),
                _ => continue,
            };
            let next = question.next(&transmit.bytes);
            self.schedule(now + wait, Action::Ask(next));
        }
        while let Some(event) = self.server.poll_event() {
            match event {
                Event::Relay(relay) => {
                    let wait = match relay.realm.0.0[0] {
                        // Looked for in the directory, and not there.
                        100 => Micros::from_seconds(3),
                        // Homes that are in it.
                        200.. => Micros::from_millis(1),
                        _ => HOME,
                    };
                    self.schedule(now + wait, Action::Answer(relay));
                }
                Event::DecisionNeeded { conversation, .. } => {
                    self.schedule(now + Micros::from_millis(5), Action::Decide(conversation));
                }
                Event::Opened { station, .. } => self.opened.push(station),
                Event::Refused { .. } | Event::Accounting(_) => {}
            }
        }
    }
}

fn home(relay: &Relay) -> Answer {
    match relay.realm.0.0[0] {
        100 => Answer::Away,
        200.. => Answer::Challenge { eap: request(7, 100) },
        _ if relay.id.round <= ROUNDS => Answer::Challenge { eap: request(7, 1_000) },
        _ if matches!(behaviour(relay.station), Behaviour::Member) => {
            Answer::Accept { msk: msk(), session_timeout: None }
        }
        _ => Answer::Reject { sentence: "you have no certificate".to_owned() },
    }
}

/// How many of the members got in. One begins every 200 ms, once the crowd is there.
fn members_let_in(limits: Limits, crowd_per_second: u64) -> (usize, usize, World) {
    let mut world = World::new(limits);
    let crowd = SECONDS * crowd_per_second;
    for index in 0..crowd {
        let number = MEMBERS + u32::try_from(index).unwrap();
        let random = u8::try_from(index * 7 % 100).unwrap();
        let team = match behaviour(station(number)) {
            // A quarter of those who answer do so at the members' own home, the rest at ten homes that are in it.
            Behaviour::Slow if random < 25 => realm(TEAM),
            Behaviour::Slow => realm(200 + random % 10),
            Behaviour::Silent | Behaviour::Member => match random {
                0..50 => realm(TEAM),
                50..75 => realm(201),
                // A team of which nobody has heard, each time another.
                _ => {
                    let mut team = [100; 24];
                    team[16..].copy_from_slice(&index.to_be_bytes());
                    Realm(TeamId(team))
                }
            },
        };
        world.schedule(Time(index * SECOND / crowd_per_second), Action::Begin(number, team));
    }
    let members = u32::try_from((SECONDS - 2) * 5).unwrap();
    for member in 0..members {
        let at = Time(2 * SECOND + u64::from(member) * SECOND / 5 + 11);
        world.schedule(at, Action::Begin(member, realm(TEAM)));
    }
    world.run();
    (world.opened.len(), usize::try_from(members).unwrap(), world)
}

#[test]
fn a_thousand_a_second_do_not_stop_members() {
    let limits = Limits::default();
    let (let_in, members, world) = members_let_in(limits, 1_000);
    assert_eq!(let_in, members);
    let counters = world.server.counters();
    assert!(counters["crowded"] > 10_000, "there was a crowd: {counters:?}");
    let room = limits.strangers_max + limits.in_progress_max;
    assert!(world.largest > 1_000 && world.largest <= room, "{}", world.largest);
}

/// The test above can fail: strangers who have less time than their home needs do not get in.
#[test]
fn with_too_little_room_they_would() {
    let limits = Limits { strangers_max: 100, realm_strangers_max: 100, ..Limits::default() };
    let (let_in, members, _) = members_let_in(limits, 1_000);
    assert!(let_in < members / 2, "{let_in} of {members}");
}

/// A station in progress; returns what has to be answered to let it in.
fn in_progress(machine: &mut ForwardingServer, number: u8, team: u8, now: Time) -> Relay {
    // What those who had to go before were answered.
    while machine.poll_transmit().is_some() {}
    let question = Question::first(number, realm(team), station(number.into()));
    question.ask(machine, now);
    let Some(Event::Relay(relay)) = machine.poll_event() else { panic!() };
    machine.handle_answer(relay.id, Answer::Challenge { eap: request(7, 100) }, now);
    let mut next = question.next(&machine.poll_transmit().unwrap().bytes);
    next.identifier = number + 100;
    next.ask(machine, now);
    loop {
        match machine.poll_event() {
            Some(Event::Relay(relay)) => return relay,
            other => assert!(matches!(other, Some(Event::Refused { .. })), "{other:?}"),
        }
    }
}

/// Which of these can still get in.
fn survivors(machine: &mut ForwardingServer, relays: &[Relay]) -> Vec<usize> {
    while machine.poll_transmit().is_some() {}
    let mut alive = Vec::new();
    for (index, relay) in relays.iter().enumerate() {
        machine.handle_answer(relay.id, Answer::Accept { msk: msk(), session_timeout: None }, Time(99));
        if matches!(machine.poll_event(), Some(Event::DecisionNeeded { .. })) {
            alive.push(index);
        }
    }
    alive
}

#[test]
fn a_realm_has_a_share_of_those_in_progress() {
    let mut machine = server(Limits { realm_in_progress_max: 2, ..Limits::default() });
    let teams = [5, 1, 1, 1, 1];
    let relays: Vec<_> = (1..)
        .zip(teams)
        .map(|(number, team)| in_progress(&mut machine, number, team, Time(number.into())))
        .collect();
    assert_eq!(survivors(&mut machine, &relays), [0, 3, 4], "the oldest of the same realm go");
}

#[test]
fn where_all_are_in_progress_the_largest_realm_makes_way() {
    let mut machine = server(Limits { in_progress_max: 4, ..Limits::default() });
    let teams = [5, 1, 1, 1, 6, 7];
    let relays: Vec<_> = (1..)
        .zip(teams)
        .map(|(number, team)| in_progress(&mut machine, number, team, Time(number.into())))
        .collect();
    assert_eq!(survivors(&mut machine, &relays), [0, 3, 4, 5], "and not the oldest of all");
}

#[test]
fn strangers_never_displace_who_is_in_progress() {
    let limits = Limits { strangers_max: 4, realm_strangers_max: 4, ..Limits::default() };
    let mut machine = server(limits);
    let question = Question::first(0, realm(TEAM), station(1));
    question.ask(&mut machine, Time(0));
    let Some(Event::Relay(relay)) = machine.poll_event() else { panic!() };
    machine.handle_answer(relay.id, Answer::Challenge { eap: request(7, 100) }, Time(1));
    let question = question.next(&machine.poll_transmit().unwrap().bytes);
    question.ask(&mut machine, Time(2));
    let Some(Event::Relay(relay)) = machine.poll_event() else { panic!() };
    for number in 100..300 {
        Question::first(u8::try_from(number % 200 + 10).unwrap(), realm(TEAM), station(number))
            .ask(&mut machine, Time(3));
    }
    assert_eq!(machine.conversations(), 5);
    while machine.poll_transmit().is_some() || machine.poll_event().is_some() {}
    machine.handle_answer(relay.id, Answer::Accept { msk: msk(), session_timeout: None }, Time(4));
    assert!(matches!(machine.poll_event(), Some(Event::DecisionNeeded { .. })));
}

#[test]
fn who_was_displaced_gets_an_answer_and_its_home_is_not_waited_for() {
    let limits = Limits { strangers_max: 1, ..Limits::default() };
    let mut machine = server(limits);
    let first = Question::first(1, realm(1), station(1));
    first.ask(&mut machine, Time(0));
    machine.poll_event();
    Question::first(2, realm(2), station(2)).ask(&mut machine, Time(1));
    let answer = machine.poll_transmit().unwrap().bytes;
    assert!(first.sentence(&answer).starts_with("Too many devices"));
    assert!(matches!(machine.poll_event(), Some(Event::Refused { conversation: Some(_), .. })));
}

#[test]
fn a_station_begins_anew_on_one_radio_and_is_limited_on_several() {
    let mut machine = server(Limits { station_max: 2, ..Limits::default() });
    let on = |identifier: u8, radio: u8| {
        let network = format!("02-AA-00-00-00-{radio:02X}:guests").into_bytes();
        Question { network, ..Question::first(identifier, realm(1), station(1)) }
    };
    on(1, 1).ask(&mut machine, Time(0));
    on(2, 1).ask(&mut machine, Time(1));
    assert_eq!(machine.conversations(), 1, "the access point has given the first one up");
    assert_eq!(machine.poll_transmit(), None, "and waits for no answer to it");
    on(3, 2).ask(&mut machine, Time(2));
    assert_eq!(machine.conversations(), 2);
    on(4, 3).ask(&mut machine, Time(3));
    assert_eq!(machine.conversations(), 2, "the oldest one had to go");
    assert_eq!(machine.counters()["crowded"], 1);
    assert_eq!(machine.counters()["replaced"], 1);
}
