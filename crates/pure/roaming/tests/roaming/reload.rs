//! What changes while guests are served: settings, and whom their teams have revoked.

use crate::world::{Link, START, World};
use guestright_identity::RevocationList;
use guestright_receipt::Bundle;
use guestright_roaming::access_point::{Config, Event};
use guestright_roaming::message::Code;
use guestright_roaming::visitor;
use guestright_units::{Bytes, Micros};
use std::collections::BTreeMap;

const SECOND: Micros = Micros::from_seconds(1);

/// Receipts are asked for this often.
fn every(seconds: u64) -> Config {
    let interval = Micros::from_seconds(seconds);
    Config {
        interval,
        receipt_deadline: Micros(interval.0 / 2),
        retry_after: Micros(interval.0 / 10),
        ..Config::default()
    }
}

#[test]
fn a_changed_interval_holds_for_those_who_have_a_session_and_nobody_is_closed() {
    let mut world = World::with(1, 2, Link::GOOD, &every(20), &Default::default());
    let guest = world.visit(1, 0, Bundle::default());
    // So little that the bytes alone ask for nothing.
    world.guests[guest].bytes_per_tick = 100;
    world.run_for(Micros(30 * SECOND.0));
    let receipts = |world: &World| world.guests[guest].receipts().count();
    let before = receipts(&world);
    let now = world.now;
    world.houses[0].ap.reconfigure(every(1), now);
    world.run_for(Micros(10 * SECOND.0));
    let more = receipts(&world) - before;
    assert!((8..=12).contains(&more), "one a second, within a second: {more}");
    let terms = world.guests[guest].events.iter().rev().find_map(|event| match event {
        visitor::Event::Granted { interval, .. } => Some(*interval),
        _ => None,
    });
    assert_eq!(terms, Some(SECOND), "it is told the new terms");
    let now = world.now;
    world.houses[0].ap.reconfigure(every(20), now);
    let before = receipts(&world);
    world.run_for(Micros(30 * SECOND.0));
    assert!(receipts(&world) - before <= 3, "and back");
    assert_eq!((world.houses[0].closed(), world.guests[guest].ended()), (vec![], None));
}

#[test]
fn what_is_carried_without_the_home_has_the_new_limit_at_once() {
    let mut world = World::new(2, 2, Link::GOOD);
    assert_eq!(world.houses[0].ap.left_while_away(), Config::default().away_per_day);
    let now = world.now;
    let config = Config { away_per_day: Bytes(1_000_000), ..Config::default() };
    world.houses[0].ap.reconfigure(config, now);
    assert_eq!(world.houses[0].ap.left_while_away(), Bytes(1_000_000));
}

#[test]
fn whoever_is_revoked_is_closed_at_once_and_refused_while_the_home_is_away() {
    let mut world = World::new(3, 2, Link::GOOD);
    let guests = [world.visit(0, 0, Bundle::default()), world.visit(0, 0, Bundle::default())];
    world.run_for(Micros(3 * SECOND.0));
    assert_eq!(world.houses[0].opened(), 2);
    let (key, revoked) = {
        let session =
            world.houses[0].ap.status().into_iter().find(|it| it.address == world.guests[guests[0]].address);
        let (key, certificate) = world.houses[0].member(&mut world.rng);
        (session.unwrap().member, (key, certificate))
    };
    let now = world.now.unix_seconds();
    let keys = BTreeMap::from([(key, now), (revoked.1.subject_id(), now)]);
    let list = RevocationList::issue(&world.houses[0].team, 1, now, keys).unwrap();
    world.houses[0].home.handle_revocations(list.clone());
    world.drain();
    world.run_for(Micros(3 * SECOND.0));
    let (code, reason) = world.guests[guests[0]].ended().expect("it is closed");
    assert_eq!(code, Code::Refused);
    assert!(reason.contains("revoked"), "{reason}");
    assert_eq!(world.guests[guests[1]].ended(), None, "the other one is not");
    let kept = |(_, event): &(_, Event)| matches!(event, Event::Revoked(kept) if **kept == list);
    assert_eq!(world.houses[0].events.iter().filter(|event| kept(event)).count(), 1, "it is to be kept");

    // Started anew, with what was kept, and without its home.
    world.houses[0].home_up = false;
    world.houses[0].restart(Config::default());
    world.houses[0].ap.restore_revocations([list]);
    let guest = world.visit_as(revoked.0, revoked.1, 0, Bundle::default());
    world.run_for(Micros(5 * SECOND.0));
    let (code, reason) = world.guests[guest].ended().expect("it is refused");
    assert_eq!((code, world.houses[0].refused("revoked")), (Code::Certificate, 1));
    assert!(reason.contains("revoked"), "{reason}");
    assert!(world.now > START);
}

#[test]
fn an_access_point_that_connects_is_handed_the_list_and_one_that_nobody_signed_is_counted() {
    let mut world = World::new(4, 2, Link::GOOD);
    let now = world.now.unix_seconds();
    let list = RevocationList::issue(&world.houses[0].team, 1, now, BTreeMap::new()).unwrap();
    let now = world.now;
    world.houses[0].home.handle_disconnected(crate::world::AP);
    world.houses[0].home.handle_revocations(list.clone());
    world.drain();
    world.run_for(SECOND);
    let kept = |world: &World| {
        world.houses[0].events.iter().filter(|(_, event)| matches!(event, Event::Revoked(_))).count()
    };
    assert_eq!(kept(&world), 0);
    let certificate = world.houses[0].certificate.clone();
    world.houses[0].home.handle_connected(crate::world::AP, certificate, now).unwrap();
    world.drain();
    world.run_for(SECOND);
    assert_eq!(kept(&world), 1);
    let mut forged = list.as_bytes().to_vec();
    *forged.last_mut().unwrap() ^= 1;
    let bundle = Bundle { revocations: vec![forged], ..Bundle::default() };
    let message = guestright_roaming::message::Message::Rcpt { reference: None, bundle, home: None };
    let now = world.now;
    world.houses[0].ap.handle_home(&message.emit(), now);
    world.drain();
    assert_eq!((kept(&world), world.houses[0].refused("home")), (1, 1));
}
