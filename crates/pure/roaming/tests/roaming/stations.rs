//! Stations that have joined the Wi-Fi by 802.1X: bound to the team that they proved, and sent away when their session ends badly.

use crate::world::{Link, World};
use guestright_identity::RevocationList;
use guestright_receipt::Bundle;
use guestright_roaming::access_point::{Config, Event, Joined, Station};
use guestright_roaming::message::Code;
use guestright_units::{Micros, TeamId};
use std::collections::BTreeMap;

fn join(world: &mut World, station: Station, team: TeamId) {
    let joined = Joined { station, team, stay: [7; 16], since: world.now, until: None };
    world.houses[0].ap.handle_joined(joined);
}

/// Who was sent away.
fn dismissed(world: &World) -> Vec<Station> {
    let events = world.houses[0].events.iter();
    events
        .filter_map(|(_, event)| match event {
            Event::Dismiss { station, .. } => Some(*station),
            _ => None,
        })
        .collect()
}

#[test]
fn who_joined_as_one_of_a_team_gets_no_session_of_another() {
    let mut world = World::new(60, 3, Link::GOOD);
    let [ours, theirs] = [1, 2].map(|house| world.houses[house].id());
    let station = crate::world::address(1).mac;
    join(&mut world, station, theirs);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(20));
    let (code, reason) = world.guests[guest].ended().unwrap();
    assert_eq!((code, world.houses[0].opened()), (Code::Refused, 0));
    assert!(reason.contains(&ours.short()) && reason.contains(&theirs.short()), "{reason}");
    assert!(world.houses[0].refused("other-team") >= 1);

    join(&mut world, station, ours);
    let (key, certificate) = world.houses[1].member(&mut world.rng);
    world.visit_from(crate::world::address(1), (key, certificate), 0, Bundle::default());
    world.visit(2, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    assert_eq!(world.houses[0].opened(), 2, "its own team's, and somebody else's who never joined");
}

#[test]
fn who_joins_as_another_while_the_home_decides_gets_none_either() {
    let mut world = World::new(61, 3, Link::GOOD);
    let theirs = world.houses[2].id();
    world.houses[0].home_up = false;
    world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_millis(1_500));
    join(&mut world, crate::world::address(1).mac, theirs);
    world.run_for(Micros::from_seconds(10));
    assert_eq!(world.houses[0].opened(), 0);
    assert!(world.houses[0].refused("other-team") >= 1);
}

#[test]
fn a_revoked_member_is_sent_away() {
    let mut world = World::new(62, 2, Link::GOOD);
    let ours = world.houses[0].id();
    let station = crate::world::address(1).mac;
    join(&mut world, station, ours);
    let (key, certificate) = world.houses[0].member(&mut world.rng);
    let now = world.now.unix_seconds();
    let revoked = BTreeMap::from([(certificate.subject_id(), now)]);
    world.visit_as(key, certificate, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    assert_eq!((world.houses[0].opened(), dismissed(&world)), (1, vec![]));
    let list = RevocationList::issue(&world.houses[0].team, 1, now, revoked).unwrap();
    world.houses[0].home.handle_revocations(list);
    world.drain();
    world.run_for(Micros::from_seconds(5));
    assert_eq!(dismissed(&world), [station]);
}

#[test]
fn who_does_not_sign_is_sent_away_and_who_says_goodbye_may_stay() {
    let mut world = World::new(63, 2, Link::GOOD);
    let theirs = world.houses[1].id();
    let (silent, polite) = (world.visit(1, 0, Bundle::default()), world.visit(1, 0, Bundle::default()));
    world.visit(1, 0, Bundle::default());
    for guest in [silent, polite] {
        let station = world.guests[guest].address.mac;
        join(&mut world, station, theirs);
    }
    world.run_for(Micros::from_seconds(5));
    assert_eq!(world.houses[0].opened(), 3);
    for guest in [silent, 2] {
        world.guests[guest].silent_from = Some(world.now);
    }
    world.leave_at(polite, world.now);
    world.run_for(Micros::from_seconds(30));
    assert_eq!(dismissed(&world), [world.guests[silent].address.mac], "the third has never joined");
    let unpaid = world.houses[0].closed().iter().filter(|(code, ..)| *code == Code::Unpaid).count();
    assert_eq!(unpaid, 2);
}

#[test]
fn everybody_is_sent_away_when_the_access_point_stops() {
    let mut world = World::new(64, 2, Link::GOOD);
    let theirs = world.houses[1].id();
    for number in 1..=3 {
        join(&mut world, crate::world::address(number).mac, theirs);
    }
    world.houses[0].ap.shut_down(world.now);
    world.drain();
    assert_eq!(dismissed(&world), [1, 2, 3].map(|number| crate::world::address(number).mac));
}

#[test]
fn a_team_has_its_share_of_the_room() {
    let config = Config { team_stations_max: 2, ..Config::default() };
    let mut world = World::with(65, 3, Link::GOOD, &config, &Default::default());
    let [ours, theirs] = [1, 2].map(|house| world.houses[house].id());
    for number in 1..=2 {
        join(&mut world, crate::world::address(number).mac, ours);
    }
    let check = |number, team| world.houses[0].ap.check_join(crate::world::address(number).mac, team);
    assert!(check(3, ours).is_err() && check(3, theirs).is_ok() && check(2, ours).is_ok());
}
