//! Access points that want receipts for what they did not carry, and holds that are to be paid twice.

use crate::world::{START, certify};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::{Bundle, HoldId, HoldUse, Receipt};
use guestright_reciprocity::ServiceClass;
use guestright_roaming::Ledger;
use guestright_roaming::message::{Acknowledgement, Message};
use guestright_roaming::visitor::{Config, Event, Visitor};
use guestright_units::{Bytes, Micros, TeamId, Time, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;

/// A member on the way, and what its program keeps.
struct Traveller {
    key: SecretKey,
    certificate: Certificate,
    ledger: Ledger,
    last: Option<(TeamId, UnixSeconds)>,
    rng: StdRng,
}

/// A team that serves, or says so.
struct Team {
    key: SecretKey,
    certificate: Certificate,
}

/// An open session of the two.
struct Session<'a> {
    traveller: &'a mut Traveller,
    visitor: Visitor,
    started: UnixSeconds,
    counted: u64,
    signed: u64,
    refused: Vec<&'static str>,
}

fn key(rng: &mut StdRng) -> SecretKey {
    SecretKey::generate(Suite::Ed25519, rng)
}

impl Team {
    fn new(rng: &mut StdRng) -> Self {
        let (team, key) = (key(rng), key(rng));
        let certificate = certify(&team, &key, Role::AccessPoint);
        Self { key, certificate }
    }
}

impl Traveller {
    fn new() -> Self {
        let mut rng = StdRng::seed_from_u64(5);
        let (team, key) = (key(&mut rng), key(&mut rng));
        let certificate = certify(&team, &key, Role::Member);
        Self { key, certificate, ledger: Ledger::default(), last: None, rng }
    }

    /// A session that begins at `now`, or so the team says.
    fn visit(&mut self, team: &Team, started: UnixSeconds, now: Time) -> Session<'_> {
        let key = SecretKey::from_bytes(Suite::Ed25519, &self.key.to_bytes()).unwrap();
        let (certificate, bundle) = (self.certificate.clone(), Bundle::default());
        let mut visitor =
            Visitor::new(Config::default(), key, certificate, bundle, self.last, &mut self.rng, now);
        let Ok(Message::Conn { nonce, holds, .. }) = Message::parse(&visitor.poll_transmit().unwrap()) else {
            panic!("it asks")
        };
        assert!(holds, "it signs receipts that name holds");
        let provider = team.certificate.team_id();
        let terms = Acknowledgement {
            nonce,
            member: self.certificate.subject_id(),
            provider,
            started,
            interval: Micros::from_seconds(5),
            volume: Bytes(25_000_000),
            class: ServiceClass::High,
        };
        let acknowledgement = terms.seal(&team.key, &team.certificate);
        let certificate = Box::new(team.certificate.clone());
        let home = Some("home.example:7272".parse().unwrap());
        visitor.handle_input(&Message::Cack { certificate, acknowledgement, home: home.clone() }.emit(), now);
        self.last = Some((provider, started));
        let mut session =
            Session { traveller: self, visitor, started, counted: 0, signed: 0, refused: Vec::new() };
        let granted = session.drain(now).into_iter().find_map(|event| match event {
            Event::Granted { home, .. } => Some(home),
            _ => None,
        });
        assert_eq!(granted, Some(home), "and where the team's home is");
        session
    }
}

impl Session<'_> {
    fn drain(&mut self, now: Time) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.visitor.poll_event() {
            match &event {
                Event::MeterNeeded => {
                    self.visitor.handle_meter(Bytes(self.counted), &mut self.traveller.ledger, now);
                }
                Event::Dropped { kind, .. } => self.refused.push(kind),
                _ => {}
            }
            events.push(event);
        }
        while self.visitor.poll_transmit().is_some() {}
        events
    }

    /// Asks, and gives what was signed.
    fn ask(&mut self, weight: u64, hold: Option<(u8, u64)>, now: Time) -> Option<Receipt> {
        let hold = hold.map(|(id, weight)| HoldUse { id: HoldId([id; 24]), weight: Bytes(weight) });
        let message = Message::Rreq { started: self.started, weight: Bytes(weight), last: false, hold };
        self.visitor.handle_input(&message.emit(), now);
        let receipt = self.drain(now).into_iter().rev().find_map(|event| match event {
            Event::Signed(receipt) => Some(receipt),
            _ => None,
        });
        self.signed = receipt.as_ref().map_or(self.signed, |receipt| receipt.weight().0);
        receipt
    }

    /// Asks for as much as is signed at all: more and more, in ever smaller steps. Gives all of it.
    fn squeeze(&mut self, now: Time) -> u64 {
        for step in (0..18).rev().map(|bit| 1 << bit) {
            self.ask(self.signed + step, None, now);
        }
        self.signed
    }
}

fn at(seconds: u64) -> Time {
    START.unix_seconds().plus(seconds).time()
}

#[test]
fn a_day_of_sessions_under_fresh_names_yields_one_advance_in_all() {
    let mut traveller = Traveller::new();
    let mut rng = StdRng::seed_from_u64(6);
    let midnight = 86_400 - START.unix_seconds().0 % 86_400;
    let honest = Team::new(&mut rng);
    let (mut counted, mut signed) = (0, 0);
    for number in 0..400_u64 {
        let now = at(midnight + number * 216); // All day long.
        // Each has carried a little, and every tenth more: that is more names than the ledger has room for.
        let carried = if number % 10 == 9 { 100_000 } else { 1_000 };
        let team = Team::new(&mut rng);
        let mut session = traveller.visit(&team, now.unix_seconds(), now);
        session.counted = carried;
        counted += carried;
        signed += session.squeeze(now);
        assert!(signed <= counted + counted / 20 + 65_536, "{signed} signed, {counted} counted");
        if number % 50 == 0 {
            // The program is started again.
            traveller.ledger = traveller.ledger.to_string().parse().unwrap();
        }
    }
    assert_eq!(signed, counted + counted / 20 + 65_536, "so much is the bound, and it is reached");
    // Meanwhile who carries is paid, to the byte and a little more.
    let now = at(midnight + 86_399);
    let mut session = traveller.visit(&honest, now.unix_seconds(), now);
    session.counted = 1_000_000;
    assert!(session.ask(1_050_000, None, now).is_some());
    assert_eq!(session.ask(1_050_001, None, now), None);
    // Tomorrow is another day.
    let now = at(midnight + 86_400);
    let mut session = traveller.visit(&Team::new(&mut rng), now.unix_seconds(), now);
    assert_eq!(session.squeeze(now), 65_536);
}

#[test]
fn ending_sessions_early_yields_nothing_more() {
    let mut traveller = Traveller::new();
    let team = Team::new(&mut StdRng::seed_from_u64(6));
    let mut signed = 0;
    // 123 sessions in 40 s were 8,060,928 bytes; here it goes on for an hour.
    for number in 0..1_000 {
        let now = at(number * 3_600 / 1_000);
        let started = START.unix_seconds().plus(number * 3_600 / 1_000).minus(number % 5); // It may choose that.
        if traveller.last != Some((team.certificate.team_id(), started)) {
            signed += traveller.visit(&team, started, now).ask(65_536, None, now).map_or(0, |_| 65_536);
        }
    }
    assert_eq!(signed, 65_536);
}

#[test]
fn what_waits_in_the_queue_costs_nobody_the_advance() {
    let mut traveller = Traveller::new();
    let mut rng = StdRng::seed_from_u64(6);
    let teams: Vec<_> = (0..40).map(|_| Team::new(&mut rng)).collect();
    // Each of many is 60,000 bytes ahead for a moment, and the bytes come: what is counted is signed for all day long.
    for (number, team) in (0..).zip(&teams) {
        let now = at(number * 60);
        let mut session = traveller.visit(team, now.unix_seconds(), now);
        for megabyte in 1..=3 {
            session.counted = megabyte * 1_000_000 - 60_000;
            assert!(session.ask(megabyte * 1_000_000, None, now).is_some(), "{number}");
            session.counted = megabyte * 1_000_000;
        }
        assert!(session.ask(3_000_000, None, now).is_some());
        assert_eq!(traveller.ledger.ahead(), Bytes(0));
    }
}

#[test]
fn a_byte_is_on_one_hold_and_stays_there() {
    let mut traveller = Traveller::new();
    let team = Team::new(&mut StdRng::seed_from_u64(6));
    let now = START;
    let mut session = traveller.visit(&team, now.unix_seconds(), now);
    session.counted = 10_000_000;
    let signed = |receipt: Option<Receipt>| {
        receipt.map(|receipt| (receipt.weight().0, receipt.hold().map(|hold| (hold.id.0[0], hold.weight.0))))
    };
    assert_eq!(signed(session.ask(10, None, now)), Some((10, None)), "on the allowance");
    #[rustfmt::skip]
    let cases = [
        ("the first hold",                        1_000, Some((1, 1_000)), true),
        ("the second, on top of it",              3_000, Some((2, 2_000)), true),
        ("the first has fallen",                  4_000, Some((1, 999)),   false),
        ("bytes of the second on the first",      4_000, Some((1, 2_001)), false),
        ("bytes of both on a third",              3_000, Some((3, 1)),     false),
        ("more than in all",                      4_000, Some((3, 4_001)), false),
        ("as many as there are",                  4_000, Some((3, u64::MAX)), false),
        ("the first goes on",                     4_000, Some((1, 2_000)), true),
        ("on the allowance, the last named",      5_000, Some((1, 2_000)), true),
        ("as if nothing were on any",             5_000, None,             false),
        ("more than is on no other",              5_000, Some((2, 3_001)), false),
        ("a third, for what is new",              6_000, Some((3, 1_000)), true),
        ("the same again: it got lost",           6_000, Some((3, 1_000)), true),
    ];
    let mut on_holds = BTreeMap::new();
    for (name, weight, hold, good) in cases {
        let want = good.then_some((weight, hold));
        let receipt = session.ask(weight, hold, now);
        if let Some((receipt, (id, on_it))) = receipt.as_ref().zip(hold) {
            on_holds.insert(id, on_it);
            assert_eq!(receipt.on_holds().0, on_holds.values().sum::<u64>(), "{name}: on all holds");
        }
        assert_eq!(signed(receipt), want, "{name}");
    }
    assert_eq!(session.refused, ["hold"; 7]);
    for id in 4..=64 {
        assert!(session.ask(6_000, Some((id, 0)), now).is_some());
    }
    assert_eq!(session.ask(6_000, Some((65, 0)), now), None, "64 holds in a session");
    assert!(session.ask(6_000, Some((64, 0)), now).is_some());
    assert_eq!(session.refused, ["hold"; 8]);
}

#[test]
fn of_a_receipt_over_less_the_hold_has_what_was_served_last() {
    let mut traveller = Traveller::new();
    let team = Team::new(&mut StdRng::seed_from_u64(6));
    let now = START;
    let mut session = traveller.visit(&team, now.unix_seconds(), now);
    let on_hold = |receipt: Option<Receipt>| {
        let receipt = receipt.unwrap();
        (receipt.weight().0, receipt.hold().unwrap().weight.0)
    };
    session.counted = 1_000_000;
    assert_eq!(on_hold(session.ask(1_000_000, Some((1, 1_000_000)), now)), (1_000_000, 1_000_000));
    // Half a megabyte on the allowance, then the second hold; of the three megabytes some wait in the queue.
    session.counted = 1_400_000;
    assert_eq!(session.ask(2_000_000, Some((2, 500_000)), now).map(|_| ()), Some(()));
    assert_eq!(session.signed, 1_400_000);
    session.counted = 1_900_000;
    assert_eq!(on_hold(session.ask(2_000_000, Some((2, 500_000)), now)), (2_000_000, 500_000));
    session.counted = 2_800_000;
    assert_eq!(on_hold(session.ask(4_000_000, Some((2, 2_500_000)), now)), (2_800_000, 1_300_000));
    // On the first hold again: no less than was signed on it before.
    session.counted = 3_400_000;
    assert_eq!(on_hold(session.ask(5_000_000, Some((1, 1_000_000)), now)), (3_400_000, 1_000_000));
}
