//! Devices that a household does not serve, and sessions that it ends: by its home's word alone.

use crate::homes::{mandate, terms};
use crate::world::{Link, World};
use guestright_receipt::Bundle;
use guestright_reciprocity::Policy;
use guestright_roaming::access_point::{BLOCKED, Config, Event, Joined};
use guestright_roaming::message::{BlockedDevices, Code, GuestId, Inquiry, Message};
use guestright_roaming::{delegate, home};
use guestright_units::{Bytes, Micros, UnixSeconds};

fn seconds(seconds: u64) -> Micros {
    Micros::from_seconds(seconds)
}

/// Whoever has taken whatever is served.
fn generous(seed: u64) -> World {
    let mut generous = home::Config::default();
    generous.judge.policy = Policy::Quota { bytes: Bytes(0) };
    World::with(seed, 2, Link::GOOD, &Config::default(), &generous)
}

fn block(world: &mut World, devices: &[[u8; 6]]) -> usize {
    let now = world.now;
    let ended = world.houses[0].ap.set_blocked_devices(devices.iter().copied(), now);
    world.drain();
    ended
}

#[test]
fn a_blocked_devices_session_ends_at_once_and_it_begins_no_other_until_it_is_served_again() {
    let mut world = generous(70);
    let (guest, other) = (world.visit(1, 0, Bundle::default()), world.visit(1, 0, Bundle::default()));
    world.run_for(seconds(20));
    let device = world.guests[guest].address;
    assert_eq!(block(&mut world, &[device.mac]), 1);
    assert!(world.houses[0].ap.open().all(|gate| gate.address != device), "its packets pass no more");
    world.run_for(seconds(5));
    assert_eq!(world.guests[guest].ended(), Some((Code::Refused, BLOCKED)));
    assert!(world.guests[guest].carried > Bytes(0));
    assert_eq!(world.guests[guest].signed(), world.guests[guest].carried, "it has signed for what it had");
    assert_eq!(world.guests[other].ended(), None);

    let who = world.houses[1].member(&mut world.rng);
    let again = world.visit_from(device, who, 0, Bundle::default());
    world.run_for(seconds(5));
    assert_eq!(world.guests[again].ended(), Some((Code::Refused, BLOCKED)));
    assert_eq!((world.houses[0].opened(), world.houses[0].closed().len()), (2, 1));
    assert!(world.houses[0].refused("blocked") >= 2);

    assert_eq!(block(&mut world, &[]), 0);
    let who = world.houses[1].member(&mut world.rng);
    let served = world.visit_from(device, who, 0, Bundle::default());
    world.run_for(seconds(5));
    assert_eq!((world.guests[served].ended(), world.houses[0].opened()), (None, 3));
    assert_eq!(world.guests[other].ended(), None);
}

#[test]
fn who_is_blocked_while_the_home_decides_gets_no_session() {
    let mut world = World::new(71, 2, Link::GOOD);
    world.houses[0].home_up = false;
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_millis(1_500));
    let device = world.guests[guest].address.mac;
    block(&mut world, &[device]);
    world.run_for(seconds(10));
    assert_eq!((world.houses[0].opened(), world.guests[guest].ended()), (0, Some((Code::Refused, BLOCKED))));
}

#[test]
fn a_blocked_device_is_not_served_by_its_tunnel_either() {
    let mut world = generous(72);
    let mandates = vec![mandate(&world.houses[1], terms(1 << 40), &mut world.rng)];
    world.add_home(mandates, delegate::Config::default());
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.run_for(seconds(30));
    let address = world.tunnel_address(tunnel);
    assert!(world.houses[0].firewall.contains_key(&address));
    assert_eq!(block(&mut world, &[address.mac]), 1);
    world.run_for(seconds(600));
    assert!(!world.houses[0].firewall.contains_key(&address));
    let [(code, carried, signed)] = world.houses[0].closed()[..] else { panic!("one session") };
    assert_eq!((code, carried), (Code::Refused, signed));
    assert_eq!(world.connections_of(0), 1, "its home is not contacted again");
}

#[test]
fn a_blocked_station_leaves_the_wi_fi_and_does_not_join_again() {
    let mut world = World::new(73, 2, Link::GOOD);
    let (station, team) = ([2, 0, 0, 0, 0, 9], world.houses[1].id());
    let joined = || Joined { station, team, stay: [7; 16], since: world.now, until: None };
    let (first, second) = (joined(), joined());
    let ap = &mut world.houses[0].ap;
    assert_eq!(ap.check_join(station, team), Ok(()));
    ap.handle_joined(first);
    ap.set_blocked_devices([station], world.now);
    let dismiss = Some(Event::Dismiss { station, reason: BLOCKED });
    assert_eq!(ap.poll_event(), dismiss);
    ap.handle_left(station);
    let refused = ap.check_join(station, team).unwrap_err();
    assert_eq!(refused.trim_end_matches('.').to_lowercase(), BLOCKED);
    ap.handle_joined(second); // Its home's yes was on its way.
    assert_eq!(ap.poll_event(), dismiss);
    ap.set_blocked_devices([], world.now);
    assert_eq!(ap.check_join(station, team), Ok(()));
}

#[test]
fn the_household_ends_one_session_by_its_beginning() {
    let mut world = World::new(74, 2, Link::GOOD);
    let (guest, other) = (world.visit(1, 0, Bundle::default()), world.visit(1, 0, Bundle::default()));
    world.run_for(seconds(20));
    let (address, now) = (world.guests[guest].address, world.now);
    let ap = &mut world.houses[0].ap;
    let started = ap.status().into_iter().find(|it| it.address == address).unwrap().started;
    assert!(!ap.end_session(address, UnixSeconds(started.0 + 1), now), "it is another one's name");
    assert!(ap.end_session(address, started, now));
    world.drain();
    world.run_for(seconds(5));
    let (code, reason) = world.guests[guest].ended().expect("it learns that");
    assert_eq!(code, Code::Closed);
    assert!(reason.starts_with("this household has ended your session"), "{reason}");
    assert_eq!(world.guests[other].ended(), None);
}

/// What only a home says: end a session, serve a device no longer, serve all again.
fn orders(device: [u8; 6]) -> [Message; 3] {
    let block = |devices: &[[u8; 6]]| {
        let devices = BlockedDevices::new(devices.iter().copied()).unwrap();
        Message::Asks { reference: 1, version: 1, what: Inquiry::BlockDevices(devices) }
    };
    let end = Message::Asks { reference: 1, version: 1, what: Inquiry::EndGuest(GuestId(1)) };
    [end, block(&[device]), block(&[])]
}

#[test]
fn a_guest_has_no_session_ended_and_no_device_blocked() {
    let mut world = World::new(75, 2, Link::GOOD);
    let (guest, victim) = (world.visit(1, 0, Bundle::default()), world.visit(1, 0, Bundle::default()));
    world.run_for(seconds(20));
    let (address, victim_device) = (world.guests[guest].address, world.guests[victim].address.mac);
    let blocked = [2, 0, 0, 0, 0, 99];
    block(&mut world, &[blocked]);
    let orders = orders(victim_device);
    let before = world.houses[0].refused("unexpected");
    for message in &orders {
        world.inject(0, address, 1, &message.emit());
    }
    world.run_for(seconds(5));
    assert_eq!(world.houses[0].refused("unexpected") - before, orders.len() as u64);
    assert_eq!([guest, victim].map(|it| world.guests[it].ended()), [None, None]);
    assert!(world.houses[0].ap.blocked_devices().iter().eq([&blocked]));
}

#[test]
fn a_guests_home_has_no_device_blocked() {
    let mut world = World::new(76, 2, Link::GOOD);
    let mandates = vec![mandate(&world.houses[1], terms(1 << 40), &mut world.rng)];
    world.add_home(mandates, delegate::Config::default());
    let victim = world.visit(1, 0, Bundle::default());
    let [_, block, _] = orders(world.guests[victim].address.mac);
    world.homes[0].says = Some(block.emit());
    world.tunnel(0, 0, 0, 40_000);
    world.run_for(seconds(20));
    assert!(world.houses[0].refused("unexpected") >= 1);
    assert!(world.houses[0].ap.blocked_devices().is_empty());
    assert_eq!(world.guests[victim].ended(), None);
}
