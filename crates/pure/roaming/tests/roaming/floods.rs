//! Machines whose queues nobody drains while more comes in than they have room for.

use crate::world::{AP, Household, Link, START, World, address, certify, started};
use guestright_identity::{Certificate, KeyId, RevocationList, Role, SecretKey, Suite};
use guestright_receipt::{Bundle, Receipt};
use guestright_reciprocity::StrangerCounters;
use guestright_roaming::access_point::{Config, Event, Transmit};
use guestright_roaming::home::{self, TeamServer};
use guestright_roaming::message::{Code, Message};
use guestright_units::{Bytes, Micros, Time};
use std::collections::BTreeMap;

const QUEUE_MAX: usize = 40;

fn world(seed: u64, config: Config) -> World {
    World::with(seed, 2, Link::GOOD, &config, &home::Config::default())
}

fn conn(certificate: &Certificate, nonce: u8) -> Vec<u8> {
    Message::Conn {
        certificate: Box::new(certificate.clone()),
        nonce: [nonce; 16],
        bundle: Bundle::default(),
        holds: false,
    }
    .emit()
}

/// Everything that waits in the access point, in order.
fn drain(house: &mut Household) -> (Vec<Transmit>, Vec<Event>) {
    let transmits = std::iter::from_fn(|| house.ap.poll_transmit()).collect();
    let events = std::iter::from_fn(|| house.ap.poll_event()).collect();
    (transmits, events)
}

/// Visitors with unknown keys, unknown teams and rubbish, from one address after the other.
fn flood(house: &mut Household, strangers: &[Certificate], count: usize, now: Time) {
    for number in 0..count {
        let from = address(1_000 + number);
        let path = 1_000 + number as u64;
        let bytes = match number % 3 {
            0 => b"rubbish".to_vec(),
            1 => Message::error(Code::Closed, "x").emit(),
            _ => conn(&strangers[number % strangers.len()], 1),
        };
        house.ap.handle_visitor(from, path, &bytes, now);
    }
}

fn strangers(world: &mut World, count: usize) -> Vec<Certificate> {
    (0..count).map(|_| world.houses[1].member(&mut world.rng).1).collect()
}

#[test]
fn a_flood_of_strangers_pushes_out_their_answers_and_nothing_of_a_served_visitor() {
    let config = Config { transmits_max: QUEUE_MAX, events_max: QUEUE_MAX, ..Config::default() };
    let mut world = world(60, config);
    let guest = world.visit(1, 0, Bundle::default());
    world.guests[guest].bytes_per_tick = 1_000;
    world.run_for(Micros::from_seconds(6));
    let strangers = strangers(&mut world, 8);
    let (here, path) = (world.guests[guest].address, guest as u64);
    let now = world.now + Micros::from_seconds(6); // Its next receipt is due.
    let house = &mut world.houses[0];
    assert_eq!(drain(house), (vec![], vec![]));
    house.ap.handle_timeout(now);
    house.ap.handle_visitor(here, path, &Message::error(Code::Closed, "goodbye").emit(), now);
    flood(house, &strangers, 10_000, now);
    let (transmits, events) = drain(house);
    assert_eq!((transmits.len(), events.len()), (QUEUE_MAX, QUEUE_MAX));
    let rreq = |transmit: &Transmit| match transmit {
        Transmit::Visitor(to, bytes) => {
            *to == path && matches!(Message::parse(bytes), Ok(Message::Rreq { .. }))
        }
        Transmit::Home(_) => false,
    };
    assert!(transmits.iter().any(rreq), "what a served visitor was asked is still there");
    assert_eq!(events[0], Event::Closing { address: here, code: Code::Closed });
    assert!(events[1..].iter().all(|event| matches!(event, Event::Refused { .. })));
    assert!(house.refused("queue-full") > 9_000, "{:?}", house.ap.refusals());
    assert_eq!(house.ap.status().len(), 1);
}

#[test]
fn no_event_that_counts_is_dropped_and_no_more_is_taken_in_when_there_are_too_many() {
    let config = Config { events_max: 3, ..Config::default() };
    let mut world = world(61, config);
    let guests: Vec<_> = (0..4).map(|_| world.visit(1, 0, Bundle::default())).collect();
    world.run_for(Micros::from_seconds(2));
    assert_eq!(world.houses[0].opened(), 4);
    let now = world.now;
    let here: Vec<_> = guests.iter().map(|guest| world.guests[*guest].address).collect();
    let strangers = strangers(&mut world, 2);
    let house = &mut world.houses[0];
    let goodbye = Message::error(Code::Closed, "goodbye").emit();
    for (path, address) in here.iter().enumerate() {
        house.ap.handle_visitor(*address, path as u64, &goodbye, now);
    }
    flood(house, &strangers, 1_000, now);
    assert_eq!(house.refused("queue-full"), 1_001, "the fourth goodbye, and the strangers");
    house.ap.shut_down(now); // The machine's own doing is not stopped by a full queue.
    let (_, events) = drain(house);
    let closing = |address: &_| Event::Closing { address: *address, code: Code::Closed };
    assert_eq!(events, here.iter().map(closing).collect::<Vec<_>>());
    house.ap.handle_visitor(here[0], 0, b"rubbish", now);
    assert_eq!(house.refused("queue-full"), 1_001, "it listens again");
}

/// A team server that nobody drains, and its access point's certificate.
fn server(world: &mut World, config: home::Config) -> TeamServer {
    let house = &world.houses[0];
    let mut server = TeamServer::new(config, house.id(), [], vec![], StrangerCounters::default(), START);
    server.handle_connected(AP, house.certificate.clone(), START).unwrap();
    server
}

#[test]
fn a_team_server_drops_no_order_to_its_store() {
    let mut world = world(62, Config::default());
    let config = home::Config {
        transmits_max: QUEUE_MAX,
        events_max: QUEUE_MAX,
        waiting_max: 100,
        revocations_max: 10,
        ..home::Config::default()
    };
    let mut server = server(&mut world, config);
    let own = world.houses[0].id();
    let team = SecretKey::generate(Suite::Ed25519, &mut world.rng);
    let key = SecretKey::generate(Suite::Ed25519, &mut world.rng);
    let certificate = certify(&team, &key, Role::Member);
    let now = world.now;
    for number in 0..300 {
        let receipt = Receipt::sign(&key, &certificate, own, started().minus(number), Bytes(1_000));
        let bundle = Bundle {
            certificates: vec![certificate.as_bytes().to_vec()],
            receipts: vec![receipt.as_bytes().to_vec()],
            revocations: vec![],
        };
        let rcpt = Message::Rcpt { reference: Some(number), bundle, home: None };
        server.handle_input(AP, &rcpt.emit(), &mut world.rng, now);
        server.handle_input(AP, b"rubbish", &mut world.rng, now);
    }
    for sequence in 1..=50 {
        let revoked = BTreeMap::from([(KeyId([7; 24]), now.unix_seconds())]);
        let list = RevocationList::issue(&world.houses[0].team, sequence, now.unix_seconds(), revoked);
        server.handle_revocations(list.unwrap());
    }
    let transmits: Vec<_> = std::iter::from_fn(|| server.poll_transmit()).collect();
    assert_eq!(transmits.len(), QUEUE_MAX);
    let events: Vec<_> = std::iter::from_fn(|| server.poll_event()).collect();
    let stored = |event: &&home::Event| matches!(event, home::Event::Store { .. });
    let lists: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            home::Event::Revoked(list) => Some(list.sequence()),
            _ => None,
        })
        .collect();
    assert_eq!(events.iter().filter(stored).count(), 100, "every one that waits for the store");
    assert_eq!(lists, [50], "of the revocation lists the latest");
    assert_eq!(events.len(), 101);
    assert!(server.refusals()["queue-full"] > 500, "{:?}", server.refusals());
}
