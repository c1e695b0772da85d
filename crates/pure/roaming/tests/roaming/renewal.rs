//! Certificates that are renewed while somebody is served, and keys that are revoked meanwhile.

use crate::world::{AP, Link, START, World};
use guestright_identity::{Certificate, RevocationList, Role, SecretKey, Suite, Warrant};
use guestright_receipt::{Bundle, UncheckedReceipt};
use guestright_roaming::message::{Code, Message};
use guestright_units::{Micros, UnixSeconds};
use std::collections::BTreeMap;

/// Certificates hold for a minute; a decision of the home holds for five.
const LIFE: u64 = 60;

fn issue(world: &World, team: usize, key: &SecretKey, role: Role) -> Certificate {
    let now = world.now.unix_seconds();
    Certificate::issue(&world.houses[team].team, key.public(), role, now.minus(5), now.plus(LIFE))
}

#[test]
fn a_session_outlives_the_certificates_with_which_it_began() {
    for team in [0, 1] {
        for (seed, link) in [(1, Link::GOOD), (2, Link::bad(0.05)), (3, Link::bad(0.1))] {
            let mut world = World::new(seed, 2, link);
            let key = SecretKey::generate(Suite::Ed25519, &mut world.rng);
            let first = issue(&world, team, &key, Role::Member);
            let guest = world.visit_as(key.clone(), first.clone(), 0, Bundle::default());
            for _ in 0..25 {
                world.run_for(Micros::from_seconds(LIFE / 2));
                let renewed = issue(&world, team, &key, Role::Member);
                world.guests[guest].visitor.renew(renewed, &mut world.rng, world.now);
                let own = world.houses[0].key.clone();
                let renewed = issue(&world, 0, &own, Role::AccessPoint);
                world.houses[0].ap.renew(renewed.clone());
                // As the home does when it has renewed it.
                world.houses[0].home.handle_disconnected(AP);
                world.houses[0].home.handle_connected(AP, renewed, world.now).unwrap();
            }
            world.leave_at(guest, world.now + Micros::from_seconds(1));
            world.run_for(Micros::from_seconds(15));
            let show = || format!("team {team}, seed {seed}: {:?}", world.guests[guest].ended());
            let visitor = &world.guests[guest];
            assert_eq!(world.houses[0].opened(), 1, "{}", show());
            assert_eq!(visitor.ended().map(|(code, _)| code), Some(Code::Closed), "{}", show());
            let receipts = visitor.sent.iter().filter_map(|bytes| match Message::parse(bytes) {
                Ok(Message::Rcpt { bundle, .. }) => {
                    Some(UncheckedReceipt::parse(&bundle.receipts[0]).unwrap())
                }
                _ => None,
            });
            let mut count = 0;
            for receipt in receipts {
                count += 1;
                assert_eq!(receipt.certificate(), first.reference(), "of the session's beginning");
            }
            assert!(count > 100, "{}", show());
        }
    }
}

#[test]
fn a_certificate_that_is_renewed_before_the_answer_opens_the_session_under_the_first() {
    let mut world = World::new(5, 2, Link::bad(0.5));
    let key = SecretKey::generate(Suite::Ed25519, &mut world.rng);
    let first = issue(&world, 1, &key, Role::Member);
    let guest = world.visit_as(key.clone(), first, 0, Bundle::default());
    for _ in 0..3 {
        let renewed = issue(&world, 1, &key, Role::Member);
        world.guests[guest].visitor.renew(renewed, &mut world.rng, world.now);
    }
    world.run_for(Micros::from_seconds(20));
    world.leave_at(guest, world.now);
    world.run_for(Micros::from_seconds(15));
    let closed = world.houses[0].closed();
    assert!(world.houses[0].opened() == 1 && closed.len() == 1 && closed[0].0 == Code::Closed, "{closed:?}");
    assert_eq!(closed[0].1, closed[0].2, "all of it is signed for");
}

#[test]
fn an_access_point_that_shows_an_ended_certificate_is_named_as_the_reason() {
    let mut world = World::new(6, 2, Link::GOOD);
    let own = world.houses[0].key.clone();
    let ended = issue(&world, 0, &own, Role::AccessPoint);
    world.houses[0].ap.renew(ended);
    world.run_for(Micros::from_seconds(LIFE + 1));
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(60));
    let (code, reason) = world.guests[guest].ended().unwrap();
    assert_eq!(code, Code::NoSession);
    for words in ["this access point may not serve", "expired at 2027-01-15", "clock is wrong"] {
        assert!(reason.contains(words), "{reason}");
    }
    assert_eq!(world.guests[guest].signed(), guestright_units::Bytes(0));
}

#[test]
fn an_access_point_turns_revoked_members_of_its_team_away_by_itself() {
    let mut world = World::new(7, 2, Link::GOOD);
    let key = SecretKey::generate(Suite::Ed25519, &mut world.rng);
    let certificate = issue(&world, 0, &key, Role::Member);
    let guest = world.visit_as(key.clone(), certificate.clone(), 0, Bundle::default());
    let other = world.visit(0, 0, Bundle::default());
    world.run_for(Micros::from_seconds(10));
    let since = world.now.unix_seconds();
    let list = |sequence, keys: &[_]| {
        let revoked: BTreeMap<_, UnixSeconds> = keys.iter().map(|key| (*key, since)).collect();
        RevocationList::issue(&world.houses[0].team, sequence, since, revoked).unwrap()
    };
    let (newer, older) = (list(2, &[key.public().id()]), list(1, &[]));
    world.houses[0].home.handle_revocations(newer);
    world.run_for(Micros::from_seconds(5));
    let ended = world.guests[guest].ended();
    assert_eq!(ended.map(|(code, _)| code), Some(Code::Refused), "{ended:?}");
    assert_eq!(world.guests[other].ended(), None, "nobody else notices");
    // The home is away; and nobody takes the list back with an older one.
    world.houses[0].home_up = false;
    let bundle = Bundle { revocations: vec![older.as_bytes().to_vec()], ..Bundle::default() };
    let message = Message::Rcpt { reference: None, home: None, bundle };
    world.houses[0].ap.handle_home(&message.emit(), world.now);
    let again = world.visit_as(key, certificate, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    let (code, reason) = world.guests[again].ended().unwrap();
    assert!(code == Code::Certificate && reason.contains("revoked this key"), "{code} {reason}");
    assert!(world.now > START);
}

#[test]
fn what_a_revoked_key_has_renewed_is_served_no_longer_whenever_it_was_shown() {
    let mut world = World::new(8, 2, Link::GOOD);
    let renewing = SecretKey::generate(Suite::Ed25519, &mut world.rng);
    let now = world.now.unix_seconds();
    // As long as the original, and later.
    let (from, to) = (now, now.plus(LIFE + 5));
    let warrant = Warrant::issue(&world.houses[0].team, renewing.public(), from, to, LIFE + 5).unwrap();
    let mut member = || {
        let key = SecretKey::generate(Suite::Ed25519, &mut world.rng);
        let original = issue(&world, 0, &key, Role::Member);
        let renewed = original.renew(&renewing, &warrant, from, to).unwrap();
        (key, original, renewed)
    };
    let [early, late, other] = [member(), member(), member()];
    let with_renewed = world.visit_as(early.0.clone(), early.2.clone(), 0, Bundle::default());
    let renews = world.visit_as(late.0, late.1, 0, Bundle::default());
    let original = world.visit_as(other.0, other.1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    world.guests[renews].visitor.renew(late.2, &mut world.rng, world.now);
    world.run_for(Micros::from_seconds(5));
    let since = world.now.unix_seconds();
    let revoked = BTreeMap::from([(renewing.public().id(), since)]);
    let list = RevocationList::issue(&world.houses[0].team, 1, since, revoked).unwrap();
    world.houses[0].home.handle_revocations(list);
    world.run_for(Micros::from_seconds(5));
    for guest in [with_renewed, renews] {
        let ended = world.guests[guest].ended();
        assert_eq!(ended.map(|(code, _)| code), Some(Code::Refused), "{ended:?}");
    }
    assert_eq!(world.guests[original].ended(), None, "what the team signed itself counts");
    world.houses[0].home_up = false;
    let again = world.visit_as(early.0, early.2, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    let (code, reason) = world.guests[again].ended().unwrap();
    assert!(code == Code::Certificate && reason.contains("renewing key"), "{code} {reason}");
}
