//! Weeks of visits in virtual time, after which the machines are as large as they were.

use crate::world::{Link, World, address};
use guestright_identity::{SecretKey, Suite};
use guestright_receipt::Bundle;
use guestright_roaming::access_point;
use guestright_roaming::home;
use guestright_units::Micros;
use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};

const DAYS: usize = 24;
const VISITS_A_DAY: usize = 24;
/// Teams that come again and again, house 0 not among them, and the members of all of them: what an access point remembers of
/// a member is limited to 4,096 of them, which so many visits would not reach.
const TEAMS: usize = 6;
const MEMBERS: usize = 60;
/// What a machine may have grown by between the end of the first quarter and the end of the last, in characters of its
/// debug text: numbers become longer.
const SLACK: usize = 400;

/// How long the debug text is: all that a machine keeps is in it.
fn sizes(world: &mut World) -> [usize; 2] {
    // Sessions of those who went without a word end first, and their receipts go home.
    world.run_for(Micros::from_seconds(600));
    let house = &world.houses[0];
    [format!("{:?}", house.ap).len(), format!("{:?}", house.home).len()]
}

#[test]
fn twenty_four_days_leave_the_machines_as_small_as_they_were() {
    let mut rng = StdRng::seed_from_u64(8);
    let (ap, home) = (access_point::Config::default(), home::Config::default());
    let mut world = World::with(7, 1 + TEAMS, Link::bad(0.05), &ap, &home);
    // What the house owes each of them, so that they are served; they show it on each visit.
    let credit: Vec<Bundle> = (1..=TEAMS)
        .map(|team| world.houses[0].owes(world.houses[team].id(), 1_000_000_000_000, &mut rng))
        .collect();
    let members: Vec<_> =
        (0..MEMBERS).map(|number| world.houses[1 + number % TEAMS].member(&mut rng)).collect();
    let (mut opened, mut after_first) = (0, None);
    for visit in 0..DAYS * VISITS_A_DAY {
        let (key, certificate) = &members[visit % MEMBERS];
        let key = SecretKey::from_bytes(Suite::Ed25519, &key.to_bytes()).unwrap();
        let guest = world.visit_as(key, certificate.clone(), 0, credit[visit % TEAMS].clone());
        // Others send what is none of the protocol's, and ask without ever proving who they are.
        for stranger in 0..5 {
            let mut junk = vec![0; world.rng.random_range(0..200)];
            world.rng.fill_bytes(&mut junk);
            let from = address(100_000 + world.rng.random_range(0..50_000));
            world.inject(0, from, 500_000 + stranger, &junk);
            if let Some(conn) = world.guests[guest].sent.first().cloned() {
                world.inject(0, from, 500_000 + stranger, &conn);
            }
        }
        // Some go without a word, some are silent when they should sign.
        match visit % 7 {
            0 => world.guests[guest].silent_from = Some(world.now + Micros::from_seconds(20)),
            1 => {}
            _ => world.leave_at(guest, world.now + Micros::from_seconds(45)),
        }
        world.run_for(Micros::from_seconds(180));
        opened += world.houses[0].opened();
        // Nobody is there until the next hour.
        world.forget();
        world.now = world.now + Micros::from_seconds(3_600 - 180);
        if visit + 1 == DAYS * VISITS_A_DAY / 4 {
            after_first = Some(sizes(&mut world));
        }
    }
    assert!(opened > DAYS * VISITS_A_DAY / 2, "{opened} sessions");
    let (before, after) = (after_first.unwrap(), sizes(&mut world));
    for (which, name) in ["the access point", "the home"].into_iter().enumerate() {
        assert!(after[which] <= before[which] + SLACK, "{name} grows: {} to {}", before[which], after[which]);
    }
}
