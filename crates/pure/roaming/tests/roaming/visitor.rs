//! A visitor at the edges of its limits: how often it asks, how much it signs for, how long it waits.

use crate::world::{Household, Link, START, World};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::Bundle;
use guestright_reciprocity::ServiceClass;
use guestright_roaming::Ledger;
use guestright_roaming::message::{Acknowledgement, Code, Message};
use guestright_roaming::visitor::{Config, Event, Visitor};
use guestright_units::{Bytes, Micros, TeamId, Time, UnixSeconds};

/// A visitor and the household that it asks.
struct Visit {
    world: World,
    visitor: Visitor,
    ledger: Ledger,
    member: Certificate,
}

const STARTED: UnixSeconds = START.unix_seconds();

fn visit(config: Config, last_started: Option<UnixSeconds>) -> Visit {
    let mut world = World::new(1, 2, Link::GOOD);
    let (key, member) = world.houses[1].member(&mut world.rng);
    let last_started = last_started.map(|started| (world.houses[0].id(), started));
    let bundle = Bundle::default();
    let visitor = Visitor::new(config, key, member.clone(), bundle, last_started, &mut world.rng, START);
    Visit { world, visitor, ledger: Ledger::default(), member }
}

/// A visit with an open session, and nothing left to fetch.
fn open() -> Visit {
    let mut visit = visit(Config::default(), None);
    visit.acknowledge(STARTED, START);
    visit.events();
    visit.sent();
    visit
}

impl Visit {
    fn house(&self) -> &Household {
        &self.world.houses[0]
    }

    fn sent(&mut self) -> Vec<Message> {
        let sent = std::iter::from_fn(|| self.visitor.poll_transmit());
        sent.map(|bytes| Message::parse(&bytes).unwrap()).collect()
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.visitor.poll_event()).collect()
    }

    fn terms(&mut self, started: UnixSeconds) -> Acknowledgement {
        let Some(Message::Conn { nonce, .. }) = self.sent().pop() else { panic!("it asks") };
        Acknowledgement {
            nonce,
            member: self.member.subject_id(),
            provider: self.house().id(),
            started,
            interval: Micros::from_seconds(5),
            volume: Bytes(1_000_000),
            class: ServiceClass::Low,
        }
    }

    /// The household's answer to what the visitor asked last.
    fn acknowledge(&mut self, started: UnixSeconds, now: Time) {
        let terms = self.terms(started);
        self.answer(&terms, now);
    }

    fn answer(&mut self, terms: &Acknowledgement, now: Time) {
        let (key, certificate) = (&self.house().key, self.house().certificate.clone());
        let acknowledgement = terms.seal(key, &certificate);
        self.say(&Message::Cack { certificate: Box::new(certificate), acknowledgement, home: None }, now);
    }

    fn say(&mut self, message: &Message, now: Time) {
        self.visitor.handle_input(&message.emit(), now);
    }

    /// Asks for a receipt over `weight` while the meter says `counted`, and gives what was signed.
    fn claim(&mut self, weight: u64, counted: u64, last: bool, now: Time) -> Option<Bytes> {
        self.say(&Message::Rreq { started: STARTED, weight: Bytes(weight), last, hold: None }, now);
        assert_eq!(self.visitor.poll_event(), Some(Event::MeterNeeded));
        self.meter(counted, now);
        let signed = self.visitor.poll_event().map(|event| match event {
            Event::Signed(receipt) => receipt.weight(),
            other => panic!("{other:?}"),
        });
        assert_eq!(self.sent().len(), usize::from(signed.is_some()));
        signed
    }

    fn meter(&mut self, counted: u64, now: Time) {
        self.visitor.handle_meter(Bytes(counted), &mut self.ledger, now);
    }

    fn ended(&mut self) -> Option<(Code, String)> {
        self.events().into_iter().find_map(|event| match event {
            Event::Ended { code, reason } => Some((code, reason)),
            _ => None,
        })
    }
}

fn millis(millis: u64) -> Time {
    START + Micros::from_millis(millis)
}

/// A moment earlier.
fn before(time: Time) -> Time {
    Time(time.0 - 1)
}

#[test]
fn a_session_that_is_over_is_not_signed_for_though_the_meter_is_read_late() {
    let mut visit = open();
    visit.say(&Message::Rreq { started: STARTED, weight: Bytes(1_000), last: false, hold: None }, START);
    visit.say(&Message::error(Code::Unpaid, "too late"), START);
    visit.meter(1_000, START);
    let over = Event::Ended { code: Code::Unpaid, reason: "too late".to_owned() };
    assert_eq!(visit.events(), [Event::MeterNeeded, over]);
    assert_eq!(visit.sent(), []);
}

#[test]
fn asks_six_times_waits_twice_as_long_each_time_and_gives_up() {
    let mut visit = visit(Config::default(), None);
    let first = visit.sent();
    assert_eq!(first.len(), 1);
    for at in [500, 1_500, 3_500, 7_500, 15_500] {
        assert_eq!(visit.visitor.poll_timeout(), Some(millis(at)));
        visit.visitor.handle_timeout(before(millis(at)));
        assert_eq!(visit.sent(), [], "not before {at} ms");
        visit.visitor.handle_timeout(millis(at));
        assert_eq!(visit.sent(), first, "the same question at {at} ms");
    }
    assert_eq!(visit.visitor.poll_timeout(), Some(millis(31_500)));
    assert_eq!(visit.ended(), None);
    visit.visitor.handle_timeout(millis(31_500));
    assert_eq!((visit.sent().len(), visit.ended().map(|(code, _)| code)), (0, Some(Code::NoSession)));
    assert_eq!(visit.visitor.poll_timeout(), None);
}

#[test]
fn who_gave_up_because_all_places_were_taken_says_so() {
    let mut visit = visit(Config { attempts_max: 1, ..Config::default() }, None);
    visit.say(&Message::error(Code::Busy, "all places are taken"), START);
    visit.say(&Message::error(Code::NoSession, "the session is over"), START);
    visit.visitor.handle_timeout(millis(500));
    assert_eq!(visit.ended(), Some((Code::Busy, "all places are taken".to_owned())));
}

#[test]
fn signs_up_to_the_tolerance_and_not_a_byte_more() {
    let mut visit = open();
    // A million counted: 5 % and 64 KiB more are tolerated.
    // Of a claim beyond that, what was counted is signed for.
    assert_eq!(visit.claim(1_115_537, 1_000_000, false, START), Some(Bytes(1_000_000)));
    assert_eq!(visit.claim(1_115_536, 1_000_000, false, START), Some(Bytes(1_115_536)));
    visit.visitor.limit(Bytes(1_200_000));
    assert_eq!(visit.claim(1_200_001, 9_000_000, false, START), Some(Bytes(1_200_000)));
    assert_eq!(visit.claim(1_200_000, 9_000_000, false, START), Some(Bytes(1_200_000)));
}

#[test]
fn a_claim_that_stays_too_high_is_a_lie_the_third_time() {
    let mut visit = open();
    let too_high = Message::Rreq { started: STARTED, weight: Bytes(1_000_000), last: false, hold: None };
    let mut disputed = Vec::new();
    for number in 1..=7 {
        if number == 3 {
            // The meter has caught up: what was doubted before is forgotten.
            assert_eq!(visit.claim(70, 70, false, START), Some(Bytes(70)));
        }
        visit.say(&too_high, START);
        visit.meter(100, START);
        let events = visit.events();
        if let [Event::MeterNeeded, Event::Disputed { claimed, counted }] = events[..] {
            assert_eq!((claimed, counted), (Bytes(1_000_000), Bytes(100)));
            disputed.push(number);
        }
    }
    assert_eq!(disputed, [5]);
}

#[test]
fn a_receipt_over_less_is_refused_and_one_over_the_same_is_signed_again() {
    let mut visit = open();
    assert_eq!(visit.claim(500, 500, false, START), Some(Bytes(500)));
    assert_eq!(visit.claim(500, 500, false, START), Some(Bytes(500)));
    for (started, weight, want) in [(STARTED, 499, "replayed"), (STARTED.plus(1), 600, "no-session")] {
        visit.say(&Message::Rreq { started, weight: Bytes(weight), last: false, hold: None }, START);
        let events = visit.events();
        let [Event::Dropped { kind, .. }] = &events[..] else { panic!("{events:?}") };
        assert_eq!(*kind, want);
    }
}

#[test]
fn a_session_is_dead_after_an_interval_and_half_a_minute_of_silence() {
    let hour = Micros::from_seconds(3_600);
    for (interval, seconds) in [(Micros::from_seconds(5), 35), (hour, 630)] {
        let mut visit = visit(Config::default(), None);
        let terms = Acknowledgement { interval, ..visit.terms(STARTED) };
        visit.answer(&terms, START);
        let dead = START + Micros::from_seconds(seconds);
        assert_eq!(visit.visitor.poll_timeout(), Some(dead));
        visit.visitor.handle_timeout(before(dead));
        assert_eq!(visit.ended(), None);
        visit.visitor.handle_timeout(dead);
        assert_eq!(visit.ended(), Some((Code::NoSession, "the access point fell silent".to_owned())));
    }
}

#[test]
fn says_goodbye_every_half_second_for_five_seconds() {
    let mut visit = open();
    let goodbye = [Message::error(Code::Closed, "the visitor leaves")];
    visit.visitor.leave(START);
    assert_eq!(visit.sent(), goodbye);
    for at in (500..5_000).step_by(500) {
        assert_eq!(visit.visitor.poll_timeout(), Some(millis(at)));
        visit.visitor.handle_timeout(before(millis(at)));
        assert_eq!(visit.sent(), []);
        visit.visitor.handle_timeout(millis(at));
        assert_eq!(visit.sent(), goodbye);
    }
    visit.visitor.leave(millis(4_600));
    assert_eq!((visit.sent(), visit.ended()), (vec![], None), "it has left already");
    visit.visitor.handle_timeout(millis(5_000));
    let reason = "left; the access point did not ask for the last receipt";
    assert_eq!(visit.ended(), Some((Code::Closed, reason.to_owned())));
}

#[test]
fn who_leaves_is_told_what_became_of_the_last_receipt() {
    let say = |visit: &mut Visit, code| visit.say(&Message::error(code, "word"), START);
    let leaving = || {
        let mut visit = open();
        visit.visitor.leave(START);
        visit.sent();
        visit
    };
    let mut paid = leaving();
    assert_eq!(paid.claim(100, 100, true, START), Some(Bytes(100)));
    assert_eq!(paid.claim(100, 100, true, START), Some(Bytes(100)), "it may have got lost");
    say(&mut paid, Code::Busy);
    assert_eq!(paid.ended(), None);
    assert_eq!(paid.visitor.poll_timeout(), Some(millis(5_000)));
    say(&mut paid, Code::Closed);
    assert_eq!(paid.ended(), Some((Code::Closed, "left and paid".to_owned())));

    let mut unanswered = leaving();
    assert_eq!(unanswered.claim(100, 100, true, millis(300)), Some(Bytes(100)));
    unanswered.visitor.handle_timeout(before(millis(5_300)));
    assert_eq!((unanswered.ended(), unanswered.sent()), (None, vec![]));
    unanswered.visitor.handle_timeout(millis(5_300));
    assert_eq!(unanswered.ended(), Some((Code::Closed, "left and paid".to_owned())));

    let mut nothing_due = leaving();
    say(&mut nothing_due, Code::NoSession);
    let reason = "left; everything was paid already";
    assert_eq!(nothing_due.ended(), Some((Code::Closed, reason.to_owned())));

    let mut unpaid = leaving();
    say(&mut unpaid, Code::Unpaid);
    assert_eq!(unpaid.ended(), Some((Code::Unpaid, "word".to_owned())));

    let mut too_high = leaving();
    for _ in 0..3 {
        too_high.say(
            &Message::Rreq { started: STARTED, weight: Bytes(1_000_000), last: true, hold: None },
            START,
        );
        too_high.meter(0, START);
    }
    let reason = "left; the last claim was too high and was not signed";
    assert_eq!(too_high.ended(), Some((Code::Closed, reason.to_owned())));
}

#[test]
fn the_clocks_may_be_ten_minutes_apart_and_no_session_is_opened_twice() {
    #[rustfmt::skip]
    let cases = [
        (STARTED,            None,                   true),
        (STARTED.plus(600),  None,                   true),
        (STARTED.plus(601),  None,                   false),
        (STARTED.minus(600), None,                   true),
        (STARTED.minus(601), None,                   false),
        (STARTED,            Some(STARTED),          false),
        (STARTED,            Some(STARTED.minus(1)), true),
    ];
    for (started, last_started, is_opened) in cases {
        let mut visit = visit(Config::default(), last_started);
        visit.acknowledge(started, START);
        let granted = visit.events().iter().any(|event| matches!(event, Event::Granted { .. }));
        assert_eq!(granted, is_opened, "{started}, the last one {last_started:?}");
    }
}

#[test]
fn a_session_that_another_team_began_at_the_same_second_is_no_hindrance() {
    let mut world = World::new(1, 2, Link::GOOD);
    let (key, member) = world.houses[1].member(&mut world.rng);
    let last = Some((TeamId([9; 24]), STARTED));
    let (config, bundle) = (Config::default(), Bundle::default());
    let visitor = Visitor::new(config, key, member.clone(), bundle, last, &mut world.rng, START);
    let mut visit = Visit { world, visitor, ledger: Ledger::default(), member };
    visit.acknowledge(STARTED, START);
    assert!(visit.events().iter().any(|event| matches!(event, Event::Granted { .. })));
}

#[test]
fn other_receipts_are_shown_once_and_not_on_the_way_out() {
    let mut visit = open();
    let show = |visit: &mut Visit, receipt: &[u8]| {
        let bundle = Bundle { receipts: vec![receipt.to_vec()], ..Bundle::default() };
        let Visit { world, visitor, .. } = visit;
        visitor.show(bundle, &mut world.rng, START);
        visit.sent().len()
    };
    assert_eq!(show(&mut visit, b"one"), 1);
    assert_eq!(show(&mut visit, b"one"), 0, "nothing new");
    assert_eq!(show(&mut visit, b"two"), 1);
    visit.visitor.leave(START);
    visit.sent();
    assert_eq!(show(&mut visit, b"three"), 0);
    visit.visitor.handle_timeout(millis(5_000));
    assert!(visit.ended().is_some());
    assert_eq!(show(&mut visit, b"four"), 0);
}

#[test]
fn the_same_session_granted_again_is_not_opened_again() {
    let mut visit = open();
    let bundle = Bundle { receipts: vec![b"one".to_vec()], ..Bundle::default() };
    visit.visitor.show(bundle, &mut visit.world.rng, START);
    let terms = Acknowledgement { class: ServiceClass::High, ..visit.terms(STARTED) };
    visit.answer(&terms, START);
    let events = visit.events();
    assert!(matches!(events[..], [Event::Granted { class: ServiceClass::High, .. }]), "{events:?}");
    assert_eq!(visit.sent(), [], "the key is proved");
}

#[test]
fn an_access_point_of_a_legacy_suite_is_refused_by_its_own_key_and_by_its_teams() {
    for &legacy in Suite::ALL.iter().filter(|suite| suite.is_legacy()) {
        for (team, key) in [(legacy, Suite::Ed25519), (Suite::Ed25519, legacy)] {
            let mut visit = visit(Config::default(), None);
            let rng = &mut visit.world.rng;
            let (team, key) = (SecretKey::generate(team, rng), SecretKey::generate(key, rng));
            let role = Role::AccessPoint;
            let certificate = Certificate::issue(&team, key.public(), role, STARTED, STARTED.plus(9));
            let terms = Acknowledgement { provider: certificate.team_id(), ..visit.terms(STARTED) };
            let acknowledgement = terms.seal(&key, &certificate);
            visit.say(
                &Message::Cack { certificate: Box::new(certificate), acknowledgement, home: None },
                START,
            );
            let events = visit.events();
            let [Event::Dropped { reason, .. }] = &events[..] else { panic!("{events:?}") };
            assert!(reason.contains("measurements"), "{reason}");
        }
    }
}

#[test]
fn messages_beyond_what_may_wait_are_not_kept() {
    let mut visit = visit(Config { transmits_max: 2, ..Config::default() }, None);
    visit.visitor.handle_timeout(millis(500));
    visit.visitor.handle_timeout(millis(1_500));
    assert_eq!(visit.sent().len(), 2);
}
