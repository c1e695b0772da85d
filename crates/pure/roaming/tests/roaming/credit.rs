//! Visits on credit: whole visits in virtual time, with the homes that reserve for them.

use crate::world::{Link, World};
use guestright_credit::AllowanceConfig;
use guestright_receipt::Bundle;
use guestright_reciprocity::ServiceClass;
use guestright_roaming::access_point;
use guestright_roaming::home::{self, CreditConfig};
use guestright_roaming::message::Code;
use guestright_units::{Bytes, Micros, Time};

const MB: u64 = 1_000_000;
/// What comes back of a few megabytes a day within a minute.
const REFILL: u64 = 10_000;

/// Households that give away so much a day.
fn world(houses: usize, per_day: u64) -> World {
    let allowance = AllowanceConfig { per_day: Bytes(per_day), founding: Bytes(0) };
    let credit = CreditConfig { allowance, slice_first: Bytes(MB), ..CreditConfig::default() };
    let home = home::Config { credit: Some(credit), ..home::Config::default() };
    let mut world = World::with(7, houses, Link::GOOD, &access_point::Config::default(), &home);
    world.link_all();
    world
}

fn reserved(world: &World, house: usize) -> Vec<(u64, usize)> {
    let events = world.houses[house].home_events.iter();
    events
        .filter_map(|event| match event {
            home::Event::Reserved { amount, between, .. } => Some((amount.0, between.len())),
            _ => None,
        })
        .collect()
}

/// What one household owes another by its own books.
fn owed(world: &World, house: usize, to: usize) -> i64 {
    world.houses[house].home.account(world.houses[to].id()).net()
}

/// Lets everybody leave and everything be settled.
fn settle(world: &mut World) {
    for guest in 0..world.guests.len() {
        world.leave_at(guest, world.now);
    }
    world.run_for(Micros::from_seconds(60));
}

/// Guests' homes hear of their receipts, as members hand them in.
fn hand_in(world: &mut World) {
    for guest in 0..world.guests.len() {
        let Some(receipt) = world.guests[guest].receipts().max_by_key(|receipt| receipt.weight()).cloned()
        else {
            continue;
        };
        let all: Vec<_> = world.guests[guest].receipts().cloned().collect();
        let team = receipt.consumer();
        let house = world.houses.iter().position(|house| house.id() == team);
        let Some(house) = house else { continue };
        let provider = world.houses.iter().find(|house| house.id() == receipt.provider()).unwrap();
        let certificate = provider.certificates[receipt.certificate().0.as_slice()].clone();
        for receipt in all {
            let now = world.now;
            world.houses[house].home.handle_first_hand(&receipt, &certificate, &mut world.rng, now);
            world.drain();
        }
    }
    world.run_for(Micros::from_seconds(5));
}

#[test]
fn a_newcomer_is_served_what_the_household_gives_away_and_is_told_why_it_ends() {
    let mut world = world(2, 3 * MB);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(60));
    let carried = world.guests[guest].carried.0;
    assert!((2 * MB..=3 * MB + REFILL).contains(&carried), "{carried}");
    let (code, reason) = world.guests[guest].ended().unwrap();
    assert_eq!(code, Code::Refused);
    assert!(reason.contains("given away") && reason.contains("each hour"), "{reason}");
    assert!(world.guests[guest].granted().iter().all(|(_, class)| *class == ServiceClass::Lowest));
    assert_eq!(
        world.houses[0].home.account(world.houses[1].id()).allowance_debt.0,
        world.guests[guest].signed().0
    );
}

#[test]
fn nobody_is_left_standing_with_less_than_a_packet() {
    for rate in 40..80 {
        let mut world = world(2, 3 * MB);
        let guest = world.visit(1, 0, Bundle::default());
        (world.guests[guest].bytes_per_tick, world.guests[guest].packet) = (3_001 * rate, 1_500);
        world.run_for(Micros::from_seconds(60));
        let carried = world.guests[guest].carried;
        let ended = world.guests[guest].ended();
        assert_eq!(ended.map(|(code, _)| code), Some(Code::Refused), "{carried} at a rate of {rate}");
    }
}

#[test]
fn fresh_names_share_what_is_given_away() {
    let mut world = world(1, 4 * MB);
    for number in 0..20 {
        let mut strangers = World::with(
            100 + number,
            1,
            Link::GOOD,
            &access_point::Config::default(),
            &home::Config::default(),
        );
        let (key, certificate) = strangers.houses.remove(0).member(&mut strangers.rng);
        world.visit_as(key, certificate, 0, Bundle::default());
        world.run_for(Micros::from_seconds(20));
    }
    let carried: u64 = world.guests.iter().map(|guest| guest.carried.0).sum();
    assert!((3 * MB..=4 * MB + 10 * REFILL).contains(&carried), "{carried}");
}

#[test]
fn a_guest_that_shows_something_new_again_and_again_hoards_nothing() {
    let mut world = world(3, 1_000 * MB);
    let guest = world.visit(1, 0, Bundle::default());
    for _ in 0..40 {
        let hint = world.took(2, 1, MB);
        world.show(guest, hint);
        world.run_for(Micros::from_seconds(1));
    }
    let carried = world.guests[guest].carried.0;
    let now = world.now;
    let (left, _) = world.houses[0].home.allowance(now).unwrap();
    let unused = (1_000 * MB - left.0).saturating_sub(carried);
    assert!(carried > MB && unused <= (2 * carried).min(64 * MB) + MB, "{unused} beside {carried}");
}

#[test]
fn who_is_sponsored_is_served_beyond_what_is_given_away_and_owes_it() {
    let mut world = world(3, 2 * MB);
    let (sponsored, now) = (world.houses[1].id(), world.now);
    assert!(world.houses[0].home.sponsor(sponsored, Bytes(6 * MB), &mut world.rng, now));
    world.drain();
    // Somebody else gets what is given away to everybody, and nothing of it.
    let stranger = world.visit(2, 0, Bundle::default());
    world.run_for(Micros::from_seconds(60));
    assert!(world.guests[stranger].carried.0 <= 2 * MB + REFILL, "{}", world.guests[stranger].carried);
    assert_eq!(world.houses[0].home.sponsored().collect::<Vec<_>>(), [(sponsored, Bytes(6 * MB))]);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(60));
    let carried = world.guests[guest].carried.0;
    assert!((5 * MB..=6 * MB + 2 * REFILL).contains(&carried), "{carried}");
    let account = world.houses[0].home.account(sponsored);
    assert_eq!(account.allowance_debt, world.guests[guest].signed(), "it is owed as what is given away");
    let left: u64 = world.houses[0].home.sponsored().map(|(_, left)| left.0).sum();
    // It began on what the stranger had left of the other.
    assert!(left + carried <= 6 * MB + 128 * 1_024 + 2 * REFILL, "{left} is left beside {carried}");
}

#[test]
fn what_a_sponsored_guest_did_not_use_is_there_for_the_next() {
    let mut world = world(2, 0);
    let (sponsored, now) = (world.houses[1].id(), world.now);
    assert!(world.houses[0].home.sponsor(sponsored, Bytes(9 * MB), &mut world.rng, now));
    world.drain();
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(1));
    settle(&mut world);
    let carried = world.guests[guest].carried;
    assert!(carried > Bytes(0) && carried < Bytes(9 * MB), "{carried}");
    let left: Vec<_> = world.houses[0].home.sponsored().collect();
    assert_eq!(left, [(sponsored, Bytes(9 * MB).saturating_sub(world.guests[guest].signed()))]);
}

/// Whether the sessions at the first household are there because everybody is served.
fn for_everybody(world: &World) -> Vec<bool> {
    world.houses[0].ap.status().iter().map(|session| session.for_everybody).collect()
}

#[test]
fn while_everybody_is_served_nothing_is_taken_from_what_is_given_away_and_all_of_it_is_owed() {
    let mut world = world(3, 2 * MB);
    let until = world.now.unix_seconds().plus(60);
    world.houses[0].home.serve_everybody(Some(until));
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(55));
    let carried = world.guests[guest].carried.0;
    assert!(carried > 4 * MB, "{carried}");
    assert_eq!(for_everybody(&world), [true]);
    assert!(world.guests[guest].granted().iter().all(|(_, class)| *class == ServiceClass::Lowest));
    settle(&mut world);
    let now = world.now;
    assert_eq!(world.houses[0].home.everybody_until(now), None);
    assert_eq!(world.houses[0].home.allowance(now).unwrap().0, Bytes(2 * MB), "no more and no less");
    let account = world.houses[0].home.account(world.houses[1].id());
    assert_eq!(account.allowance_debt, world.guests[guest].signed());
    // From then on it is as before.
    let stranger = world.visit(2, 0, Bundle::default());
    world.run_for(Micros::from_seconds(1));
    assert_eq!(for_everybody(&world), [false]);
    world.run_for(Micros::from_seconds(59));
    let carried = world.guests[stranger].carried.0;
    assert!((MB..=2 * MB + 2 * REFILL).contains(&carried), "{carried}");
}

#[test]
fn what_a_guest_had_before_everybody_is_served_stays_taken_from_what_is_given_away() {
    let mut world = world(2, 20 * MB);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(20));
    let (before, until) = (world.guests[guest].carried.0, world.now.unix_seconds().plus(600));
    assert_eq!(for_everybody(&world), [false]);
    world.houses[0].home.serve_everybody(Some(until));
    // It gets other slices, and leaves some of the last.
    world.run_for(Micros::from_seconds(20));
    assert_eq!(for_everybody(&world), [true]);
    settle(&mut world);
    let now = world.now;
    let (left, _) = world.houses[0].home.allowance(now).unwrap();
    assert!(before > 4 * MB, "{before}");
    assert!(left.0 <= 20 * MB - before + 2 * REFILL, "{left} is left, and {before} were carried before");
}

#[test]
fn who_is_blocked_is_not_served_with_everybody() {
    let mut world = world(2, 2 * MB);
    let (team, until) = (world.houses[1].id(), world.now.unix_seconds().plus(600));
    world.houses[0].home.serve_everybody(Some(until));
    world.houses[0].home.block([team]);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(10));
    assert_eq!(world.guests[guest].carried, Bytes(0));
}

#[test]
fn what_nobody_signs_for_is_given_away() {
    let mut world = world(2, 50 * MB);
    let mut carried = 0;
    for _ in 0..20 {
        let guest = world.visit(1, 0, Bundle::default());
        world.guests[guest].silent_from = Some(world.now + Micros::from_millis(300));
        world.run_for(Micros::from_seconds(20));
        carried += world.guests[guest].carried.0 - world.guests[guest].signed().0;
    }
    assert!(carried > MB, "{carried}");
    let now = world.now;
    let (left, _) = world.houses[0].home.allowance(now).unwrap();
    assert!(left.0 <= 50 * MB - carried + 400_000, "{carried} were carried for nothing, and {left} are left");
}

#[test]
fn a_certificate_alone_uses_nothing_up() {
    let mut world = world(2, 3 * MB);
    for _ in 0..50 {
        let guest = world.visit(1, 0, Bundle::default());
        world.guests[guest].silent_from = Some(world.now + Micros(1));
        world.run_for(Micros::from_seconds(3));
    }
    let now = world.now;
    let (left, _) = world.houses[0].home.allowance(now).unwrap();
    assert_eq!(left, Bytes(3 * MB));
}

#[test]
fn a_guest_is_served_on_a_third_households_debt() {
    let mut world = world(3, 10 * MB);
    world.took(0, 1, 30 * MB); // The host owes the household between,
    let hint = world.took(1, 2, 20 * MB); // which owes the guest's.
    let guest = world.visit(2, 0, hint);
    world.run_for(Micros::from_seconds(30));
    assert!(world.guests[guest].ended().is_none(), "{:?}", world.guests[guest].ended());
    let reserved = reserved(&world, 0);
    assert!(!reserved.is_empty() && reserved.iter().all(|(_, between)| *between == 1), "{reserved:?}");
    let rises = |(_, event): &(Time, access_point::Event)| {
        matches!(event, access_point::Event::Reclassified { class: ServiceClass::High, .. })
    };
    assert!(world.houses[0].events.iter().any(rises));
    let known = world.guests[guest].granted();
    assert_eq!(known.iter().map(|(_, class)| *class).max(), Some(ServiceClass::High), "the guest is told");
    settle(&mut world);
    hand_in(&mut world);
    let signed = world.guests[guest].signed().0.cast_signed();
    let on_credit = 30 * MB.cast_signed() - owed(&world, 0, 1);
    assert!(on_credit > 5 * MB.cast_signed() && on_credit <= signed, "{on_credit} of {signed}");
    // What the host owes the one between less, that one owes the guest's household less.
    assert_eq!(owed(&world, 1, 2), 20 * MB.cast_signed() - on_credit);
    assert_eq!(owed(&world, 0, 2), on_credit - signed, "the rest was given away");
    for (one, other) in [(0, 1), (1, 2), (0, 2)] {
        assert_eq!(owed(&world, one, other), -owed(&world, other, one), "{one} and {other}");
    }
    assert!(world.houses.iter().all(|house| house.home.holds().all(|(_, hold)| !hold.state.is_held())));
}

#[test]
fn the_same_debt_is_spent_once_at_all_households_together() {
    let (hosts, given) = (6, 20 * MB);
    let mut world = world(hosts + 2, 2 * MB);
    let (between, guest_home) = (hosts, hosts + 1);
    let hint = world.took(between, guest_home, given);
    for host in 0..hosts {
        world.took(host, between, 100 * MB);
        world.visit(guest_home, host, hint.clone());
    }
    world.run_for(Micros::from_seconds(120));
    settle(&mut world);
    let on_credit: i64 = (0..hosts).map(|host| 100 * MB.cast_signed() - owed(&world, host, between)).sum();
    // What it gave, and as much again that the one between lends it.
    assert!(on_credit > given.cast_signed() * 9 / 10, "{on_credit}");
    assert!(on_credit <= 2 * given.cast_signed(), "{on_credit}");
    assert_eq!(owed(&world, between, guest_home), given.cast_signed() - on_credit);
}

#[test]
fn a_household_that_declines_is_asked_in_vain() {
    let allowance = AllowanceConfig { per_day: Bytes(3 * MB), founding: Bytes(0) };
    let mut credit = CreditConfig { allowance, slice_first: Bytes(MB), ..CreditConfig::default() };
    credit.holds.takes_part = false;
    let home = home::Config { credit: Some(credit), ..home::Config::default() };
    let mut world = World::with(7, 3, Link::GOOD, &access_point::Config::default(), &home);
    world.link_all();
    world.took(0, 1, 30 * MB);
    let hint = world.took(1, 2, 20 * MB);
    let guest = world.visit(2, 0, hint);
    world.run_for(Micros::from_seconds(60));
    assert_eq!(reserved(&world, 0), []);
    assert!(world.guests[guest].carried.0 <= 3 * MB + REFILL);
    assert!(world.houses[1].home.hold_refusals().get("declined").is_some_and(|count| *count > 0));
}

#[test]
fn what_is_owed_directly_needs_nobody_else() {
    let mut world = world(2, MB);
    world.took(0, 1, 15 * MB);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(20));
    assert!(world.guests[guest].ended().is_none(), "{:?}", world.guests[guest].ended());
    assert!(reserved(&world, 0).iter().all(|(_, between)| *between == 0));
    settle(&mut world);
    hand_in(&mut world);
    let signed = world.guests[guest].signed().0.cast_signed();
    assert!(signed > 5 * MB.cast_signed());
    assert_eq!(owed(&world, 0, 1), 15 * MB.cast_signed() - signed);
    assert_eq!(owed(&world, 1, 0), -owed(&world, 0, 1));
    let now = world.now;
    let (left, per_day) = world.houses[0].home.allowance(now).unwrap();
    assert_eq!(left, per_day, "a debt that is paid is not given away");
}

#[test]
fn answers_that_get_lost_let_nobody_stand_still() {
    for phase in 0..20 {
        let mut world = world(2, 200 * MB);
        let guest = world.visit(1, 0, Bundle::default());
        world.guests[guest].bytes_per_tick = 25_000;
        world.run_for(Micros::from_millis(1_500 + 50 * phase));
        let mut carried = world.guests[guest].carried;
        for step in 0..12 {
            // Half of the time the questions arrive, and most answers do not.
            for _ in 0..25 {
                world.houses[0].home_up = false;
                world.run_for(Micros::from_millis(150));
                world.houses[0].home_up = true;
                world.run_for(Micros::from_millis(50));
            }
            let more = world.guests[guest].carried.saturating_sub(carried);
            assert!(more > Bytes(200_000), "{more} in five seconds, {step} after {carried} (phase {phase})");
            carried = world.guests[guest].carried;
        }
        assert!(world.guests[guest].ended().is_none(), "{:?}", world.guests[guest].ended());
    }
}

#[test]
fn an_access_point_that_cannot_ask_serves_on_what_it_has() {
    let mut world = world(2, 50 * MB);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(2));
    world.houses[0].home_up = false;
    world.run_for(Micros::from_seconds(120));
    let carried = world.guests[guest].carried.0;
    assert!(carried <= 50 * MB + 25 * MB, "{carried}");
    assert!(carried > MB, "{carried}");
}

#[test]
fn who_leaves_where_one_hold_ends_and_another_begins_signs_for_both() {
    let mut at_the_end = 0;
    for phase in 0..16 {
        let mut world = world(3, 10 * MB);
        world.took(0, 1, 30 * MB);
        let hint = world.took(1, 2, 20 * MB);
        let guest = world.visit(2, 0, hint);
        // 8 MB are reserved first; it has passed them after 20 s.
        world.leave_at(guest, world.now + Micros::from_millis(19_000 + 250 * phase));
        world.run_for(Micros::from_seconds(40));
        let carried = world.guests[guest].carried;
        assert_eq!(world.houses[0].closed(), [(Code::Closed, carried, carried)], "{phase}");
        let holds: Vec<_> = world.guests[guest].receipts().map(|receipt| receipt.hold()).collect();
        let [.., before, last] = holds[..] else { panic!("{holds:?}") };
        at_the_end += u32::from(before.map(|hold| hold.id) != last.map(|hold| hold.id));
    }
    assert!(at_the_end > 0, "no visit ended there");
}

#[test]
fn nobody_is_left_standing_whose_bytes_come_two_of_the_longest_pieces_at_a_time() {
    for extra in 0..8 {
        let mut world = world(2, 3 * MB + 50_000 * extra);
        let guest = world.visit(1, 0, Bundle::default());
        (world.guests[guest].bytes_per_tick, world.guests[guest].packet) = (131_072, 131_072);
        world.run_for(Micros::from_seconds(60));
        let carried = world.guests[guest].carried;
        let ended = world.guests[guest].ended();
        assert_eq!(ended.map(|(code, _)| code), Some(Code::Refused), "{carried}, {extra}");
    }
}

#[test]
fn a_team_that_is_blocked_is_served_no_more_and_signs_for_what_it_had() {
    let mut world = world(3, 1_000 * MB);
    let (blocked, others) = (world.visit(1, 0, Bundle::default()), world.visit(2, 0, Bundle::default()));
    world.run_for(Micros::from_seconds(10));
    assert!(world.guests[blocked].ended().is_none());
    let team = world.houses[1].id();
    let own = world.houses[0].id();
    world.houses[0].home.block([team, own]);
    world.run_for(Micros::from_seconds(300));
    let (code, reason) =
        world.guests[blocked].ended().expect("its access point asks again within five minutes");
    assert_eq!((code, reason), (Code::Refused, "this household does not serve your team"));
    assert!(world.guests[others].ended().is_none(), "others are served as before");
    let account = world.houses[0].home.account(team);
    assert_eq!(account.allowance_debt, world.guests[blocked].signed(), "what it had is owed");
    // Nor does it begin again, or learn anything else by asking; a member of the household does.
    let again = world.visit(1, 0, Bundle::default());
    let member = world.visit(0, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    assert_eq!(world.guests[again].carried, Bytes(0));
    assert!(
        world.guests[again].ended().is_some_and(|(_, reason)| reason.contains("does not serve your team"))
    );
    assert!(world.guests[member].ended().is_none() && world.guests[member].carried > Bytes(0));
    let now = world.now;
    let would = world.houses[0].home.would_begin(team, now).unwrap();
    assert_eq!(would, (None, "this household does not serve your team".to_owned()));
    assert!(world.houses[0].home_refused("blocked") >= 2);
    // Until the household changes its mind.
    world.houses[0].home.block([]);
    world.run_for(Micros::from_seconds(60));
    let later = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    assert!(world.guests[later].ended().is_none() && world.guests[later].carried > Bytes(0));
}
