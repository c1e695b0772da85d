//! How visits go, well and badly.

use crate::world::{AP, Link, START, World, address};
use guestright_identity::SecretKey;
use guestright_receipt::Bundle;
use guestright_reciprocity::{Policy, ServiceClass};
use guestright_roaming::access_point::{Config, Event, Transmit, Window};
use guestright_roaming::message::{Code, Message};
use guestright_roaming::{Ledger, Visitor, home, visitor};
use guestright_units::{Bytes, Micros, Time};

const SECOND: Micros = Micros::from_seconds(1);

#[test]
fn a_clean_visit_is_paid_to_the_byte() {
    let mut world = World::new(1, 2, Link::GOOD);
    let guest = world.visit(1, 0, Bundle::default());
    world.leave_at(guest, START + Micros::from_millis(33_200));
    world.run_for(Micros::from_seconds(40));
    let (house, visitor) = (&world.houses[0], &world.guests[guest]);
    assert!(visitor.carried > Bytes(10_000_000));
    assert_eq!(house.closed(), [(Code::Closed, visitor.carried, visitor.carried)]);
    assert_eq!(visitor.signed(), visitor.carried);
    assert_eq!(visitor.ended(), Some((Code::Closed, "left and paid")));
    let kept: Vec<_> = house.store.iter().map(|receipt| (receipt.consumer(), receipt.weight())).collect();
    assert_eq!(kept, [(world.houses[1].id(), visitor.carried)]);
    assert_eq!((house.ap.undelivered(), house.ap.status().len()), (0, 0));
    assert_eq!((house.ap.refusals().len(), house.home.refusals().len()), (0, 0));
    assert_eq!(house.home.graph().capacity(world.houses[1].id(), house.id()), visitor.carried);
}

/// What may be carried for nothing by who has signed for so much.
fn window(config: &Config, signed: Bytes) -> Bytes {
    Bytes(signed.0 / config.window.share).max(config.window.first)
}

#[test]
fn every_session_on_a_bad_link_ends_settled() {
    let config = Config::default();
    let mut paid = 0;
    // In run 1227 a request is answered at the last moment and the next one not at all.
    for seed in (0..220).chain([1_227]) {
        let mut world =
            World::new(seed, 2, Link::bad(0.3 + 0.1 * f64::from(u8::try_from(seed % 2).unwrap())));
        let guest = world.visit(1, 0, Bundle::default());
        world.leave_at(guest, START + Micros::from_millis(12_000 + 37 * (seed % 220)));
        world.run_for(Micros::from_seconds(70));
        let (house, visitor) = (&world.houses[0], &world.guests[guest]);
        let show = || format!("seed {seed}:\n{}", world.trace.join("\n"));
        assert!(visitor.ended().is_some(), "{}", show());
        assert_eq!(visitor.visitor.poll_timeout(), None);
        assert!(house.ap.status().is_empty() && house.firewall.is_empty(), "{}", show());
        assert_eq!(house.closed().len(), house.opened(), "{}", show());
        let most = visitor.carried.0 + visitor.carried.0 / 100 + Ledger::ADVANCE.0;
        assert!(visitor.signed() <= Bytes(most), "{}", show());
        for (code, counted, signed) in house.closed() {
            let unpaid = counted.saturating_sub(signed);
            assert!(unpaid <= window(&config, signed), "{}", show());
            assert_eq!(unpaid > Bytes(0), code == Code::Unpaid, "{}", show());
            paid += u32::from(code == Code::Closed);
        }
    }
    assert!(paid > 110, "only {paid} of 221 sessions were paid to the end");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut world = World::new(seed, 3, Link::bad(0.4));
        for team in [1, 2, 1] {
            let guest = world.visit(team, 0, Bundle::default());
            world.leave_at(guest, world.now + Micros::from_seconds(15));
            world.run_for(SECOND);
        }
        world.run_for(Micros::from_seconds(60));
        world.trace
    };
    assert_eq!(run(42), run(42));
    assert_ne!(run(42), run(43));
}

#[test]
fn who_stops_signing_has_had_a_window_and_gets_a_smaller_one_the_next_time() {
    let config = Config::default();
    // However much members of house 1 have taken, they are served.
    let mut generous = home::Config::default();
    generous.judge.policy = Policy::Quota { bytes: Bytes(0) };
    let mut world = World::with(3, 2, Link::GOOD, &config, &generous);
    let (key, certificate) = world.houses[1].member(&mut world.rng);
    let again = guestright_identity::SecretKey::from_bytes(key.public().suite(), &key.to_bytes()).unwrap();
    let guest = world.visit_as(key, certificate.clone(), 0, Bundle::default());
    let silent_from = START + Micros::from_seconds(12);
    world.guests[guest].silent_from = Some(silent_from);
    world.run_for(Micros::from_seconds(30));
    let closing = world.houses[0].events.iter().find(|(_, event)| matches!(event, Event::Closing { .. }));
    let (at, event) = closing.expect("it is closed");
    assert!(matches!(event, Event::Closing { code: Code::Unpaid, .. }));
    assert!(*at <= silent_from + config.interval + config.receipt_deadline, "closed at {at:?}");
    let [(code, counted, signed)] = world.houses[0].closed()[..] else { panic!("closed once") };
    assert_eq!(code, Code::Unpaid);
    assert!(signed > Bytes(4_000_000), "an eighth of that is more than the first window");
    assert_eq!(counted, signed.saturating_add(window(&config, signed)));
    assert_eq!(world.guests[guest].ended().map(|(code, _)| code), Some(Code::Unpaid));

    // It is served again, for less in advance: somebody else may have sent in its name.
    let here = world.guests[guest].address;
    let same = world.visit_from(here, (again, certificate), 0, Bundle::default());
    world.run_for(SECOND);
    world.guests[same].silent_from = Some(world.now);
    world.run_for(Micros::from_seconds(10));
    let [_, (code, counted, signed)] = world.houses[0].closed()[..] else { panic!("closed again") };
    assert_eq!((code, counted), (Code::Unpaid, signed.saturating_add(config.window.after_unpaid)));
}

#[test]
fn who_never_proves_its_key_is_never_opened() {
    let mut world = World::new(4, 2, Link::GOOD);
    let guest = world.visit(1, 0, Bundle::default());
    world.guests[guest].silent_from = Some(START + Micros(1)); // The CONN is on its way, nothing follows.
    world.run_for(Micros::from_seconds(10));
    assert_eq!((world.houses[0].opened(), world.houses[0].closed().len()), (0, 0));
    assert_eq!(world.guests[guest].granted().len(), 1);
    assert_eq!(world.houses[0].refused("no-proof"), 1);
    assert!(world.houses[0].ap.status().is_empty());
    assert_eq!(world.guests[guest].ended().map(|(code, _)| code), Some(Code::NoSession), "and it is told");
}

#[test]
fn a_claim_beyond_the_meter_is_disputed_and_not_signed() {
    let mut world = World::new(5, 2, Link::GOOD);
    let guest = world.visit(1, 0, Bundle::default());
    world.guests[guest].meter_permille = 500; // The access point claims twice what the visitor counts.
    world.run_for(Micros::from_seconds(12));
    let visitor = &world.guests[guest];
    let disputed = |event: &visitor::Event| matches!(event, visitor::Event::Disputed { .. });
    assert!(visitor.events.iter().any(disputed));
    let metered = visitor.carried.0 / 2;
    assert!(visitor.signed() <= Bytes(metered + metered / 20 + 65_536), "{}", visitor.signed());
    assert_eq!(world.houses[0].closed().len(), 1);

    // A smaller excess is signed for as soon as the meter has caught up, and never before.
    let mut world = World::new(5, 2, Link::GOOD);
    let guest = world.visit(1, 0, Bundle::default());
    world.guests[guest].meter_permille = 800;
    world.run_for(Micros::from_seconds(40));
    let metered = world.guests[guest].carried.0 * 8 / 10;
    assert!(world.guests[guest].signed() <= Bytes(metered + metered / 20 + 65_536));
    assert_eq!(world.houses[0].closed().len(), 1, "until it never catches up in time");

    let mut world = World::new(5, 2, Link::GOOD);
    let guest = world.visit(1, 0, Bundle::default());
    world.guests[guest].meter_permille = 960; // Within the tolerance.
    world.leave_at(guest, START + Micros::from_seconds(12));
    world.run_for(Micros::from_seconds(20));
    assert_eq!(world.guests[guest].signed(), world.guests[guest].carried);
}

#[test]
fn a_newcomer_is_served_in_the_lowest_class_and_raised_when_it_shows_receipts() {
    let mut world = World::new(6, 2, Link::GOOD);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(SECOND);
    let provider = world.houses[0].id();
    assert_eq!(world.guests[guest].granted(), [(provider, ServiceClass::Lowest)]);
    let shown = world.houses[0].owes(world.houses[1].id(), 50_000_000, &mut world.rng);
    world.show(guest, shown);
    world.run_for(SECOND);
    assert_eq!(world.guests[guest].granted().last(), Some(&(provider, ServiceClass::High)));
    let raised =
        |(_, event): &(_, Event)| matches!(event, Event::Reclassified { class: ServiceClass::High, .. });
    assert!(world.houses[0].events.iter().any(raised));
    assert_eq!(world.houses[0].opened(), 1, "in the same session");
    world.leave_at(guest, world.now + Micros::from_seconds(7));
    world.run_for(Micros::from_seconds(20));
    assert_eq!(world.guests[guest].signed(), world.guests[guest].carried);
}

#[test]
fn who_asks_a_moment_after_another_question_of_its_computer_is_let_in_a_little_later() {
    let config = Config { question_gap: Micros::from_seconds(3), ..Config::default() };
    let mut world = World::with(7, 2, Link::GOOD, &config, &home::Config::default());
    let computer = address(1);
    let visit = |world: &mut World| {
        let member = world.houses[1].member(&mut world.rng);
        world.visit_from(computer, member, 0, Bundle::default())
    };
    let first = visit(&mut world);
    world.guests[first].bytes_per_tick = 0;
    world.run_for(SECOND);
    world.leave_at(first, world.now);
    world.run_for(SECOND);
    let second = visit(&mut world);
    world.run_for(Micros::from_seconds(20));
    assert!(world.houses[0].refused("too-soon") > 0);
    assert_eq!((world.guests[second].ended(), world.houses[0].opened()), (None, 2));
}

#[test]
fn asking_again_too_often_does_not_end_an_open_session() {
    let mut world = World::new(7, 2, Link::GOOD);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(SECOND);
    for weight in [1_000, 2_000, 3_000] {
        let shown = world.houses[0].owes(world.houses[1].id(), weight, &mut world.rng);
        world.show(guest, shown);
        world.run_for(Micros::from_millis(20));
    }
    assert!(world.houses[0].refused("too-soon") > 0);
    world.run_for(Micros::from_seconds(10));
    assert_eq!(world.guests[guest].ended(), None);
    assert_eq!(world.houses[0].ap.status().len(), 1);
}

#[test]
fn a_free_rider_is_refused_on_its_second_visit_and_told_why() {
    let mut world = World::new(8, 2, Link::GOOD);
    let first = world.visit(1, 0, Bundle::default());
    world.leave_at(first, START + Micros::from_seconds(10));
    world.run_for(Micros::from_seconds(20));
    let second = world.visit(1, 0, Bundle::default());
    world.run_for(SECOND);
    let (code, reason) = world.guests[second].ended().expect("it is refused");
    assert_eq!(code, Code::Refused);
    assert!(reason.len() > 20 && reason.contains("4.0 MB"), "{reason}");
    assert_eq!(world.houses[0].opened(), 1);
}

#[test]
fn an_own_member_is_served_in_its_own_class_and_its_receipts_are_not_kept() {
    let mut world = World::new(9, 1, Link::GOOD);
    let guest = world.visit(0, 0, Bundle::default());
    world.leave_at(guest, START + Micros::from_seconds(12));
    world.run_for(Micros::from_seconds(20));
    let house = &world.houses[0];
    assert_eq!(world.guests[guest].granted(), [(house.id(), ServiceClass::Own)]);
    assert_eq!(world.guests[guest].ended(), Some((Code::Closed, "left and paid")));
    assert!(!house.events.iter().any(|(_, event)| matches!(event, Event::Received(..))));
    assert!(house.store.is_empty() && house.ap.undelivered() == 0);
}

#[test]
fn without_its_home_the_access_point_serves_as_configured_and_delivers_later() {
    let mut world = World::new(10, 2, Link::GOOD);
    world.houses[0].home_up = false;
    let guest = world.visit(1, 0, Bundle::default());
    world.leave_at(guest, START + Micros::from_seconds(20));
    world.run_for(Micros::from_seconds(30));
    assert_eq!(world.guests[guest].granted(), [(world.houses[0].id(), ServiceClass::Lowest)]);
    assert_eq!(world.houses[0].ap.undelivered(), 1);
    let delivered = |world: &World| {
        let delivered = |(_, event): &&(_, Event)| matches!(event, Event::Delivered(_));
        world.houses[0].events.iter().filter(delivered).count()
    };
    // The store fails first: what is not durable is not acknowledged.
    world.houses[0].home_up = true;
    world.houses[0].store_fails = true;
    world.run_for(Micros::from_seconds(120));
    assert_eq!((delivered(&world), world.houses[0].ap.undelivered()), (0, 1));
    assert!(world.houses[0].home_refused("store") > 0);
    world.houses[0].store_fails = false;
    world.run_for(Micros::from_seconds(61));
    assert_eq!((delivered(&world), world.houses[0].ap.undelivered()), (1, 0));
    assert_eq!(world.houses[0].store.iter().next().unwrap().weight(), world.guests[guest].carried);

    let away = Config { when_home_is_away: None, ..Config::default() };
    let mut world = World::with(10, 2, Link::GOOD, &away, &home::Config::default());
    world.houses[0].home_up = false;
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    let (code, reason) = world.guests[guest].ended().expect("it is refused");
    assert_eq!(code, Code::Refused);
    assert!(reason.contains("its team server does not answer"), "{reason}");
}

#[test]
fn a_lost_home_is_not_waited_for() {
    let mut world = World::new(15, 2, Link::GOOD);
    world.houses[0].home_up = false;
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_millis(100));
    let now = world.now;
    world.houses[0].ap.handle_home_lost(now);
    world.drain();
    world.run_for(Micros::from_millis(100));
    assert_eq!(world.guests[guest].granted(), [(world.houses[0].id(), ServiceClass::Lowest)]);
}

#[test]
fn what_was_decided_without_the_home_is_decided_again_once_it_is_there() {
    let mut world = World::new(16, 2, Link::GOOD);
    world.houses[0].home_up = false;
    let shown = world.houses[0].owes(world.houses[1].id(), 500_000_000, &mut world.rng);
    let guest = world.visit(1, 0, shown.clone());
    world.run_for(Micros::from_seconds(5));
    let class = |world: &World| world.houses[0].ap.status().first().map(|status| status.class);
    assert_eq!(class(&world), Some(ServiceClass::Lowest));
    // The household's home hears of the same receipts, and then the access point finds it again.
    world.houses[0].home_up = true;
    let message = Message::Rcpt { reference: None, bundle: shown, home: None };
    let now = world.now;
    world.houses[0].send(AP, &message, &mut world.rng, now);
    world.drain();
    world.run_for(Micros::from_millis(100));
    assert_eq!(class(&world), Some(ServiceClass::Lowest));
    let now = world.now;
    world.houses[0].ap.handle_home_found(now);
    world.run_for(Micros::from_seconds(1));
    assert_eq!(class(&world), Some(ServiceClass::High), "long before the minute is over");
    assert_eq!((world.guests[guest].ended(), world.houses[0].opened()), (None, 1));
    // Once is enough.
    let decided = |event: &&home::Event| matches!(event, home::Event::Decided { .. });
    let asked = |world: &World| world.houses[0].home_events.iter().filter(decided).count();
    let before = asked(&world);
    let now = world.now;
    world.houses[0].ap.handle_home_found(now);
    world.run_for(Micros::from_seconds(1));
    assert_eq!(asked(&world), before);
}

#[test]
fn an_open_session_keeps_its_class_while_the_home_is_away() {
    let mut world = World::new(11, 2, Link::GOOD);
    let shown = world.houses[0].owes(world.houses[1].id(), 500_000_000, &mut world.rng);
    let guest = world.visit(1, 0, shown);
    world.run_for(Micros::from_seconds(10));
    world.houses[0].home_up = false;
    world.run_for(Micros::from_millis(293_500)); // The decision held for 300 s, and it was asked again for 3 s.
    let [status] = &world.houses[0].ap.status()[..] else { panic!("one session") };
    assert_eq!((status.class, status.open), (ServiceClass::High, true));
    // From then on it lives on what the access point may give away, until that is used up.
    let before = status.counted;
    world.run_for(Micros::from_seconds(120));
    let (code, reason) = world.guests[guest].ended().expect("it is over");
    assert_eq!(code, Code::Refused);
    assert!(reason.contains("used up"), "{reason}");
    let carried = world.guests[guest].carried.saturating_sub(before);
    let (day, came_back) = (Config::default().away_per_day, 120 * 25_000_000 / 86_400);
    assert!(carried.0.abs_diff(day.0) <= came_back + 10 * 100_000, "{carried}");
    assert_eq!(world.houses[0].ap.status().len(), 0);
    // Nobody else is served either, until some of it has come back.
    let other = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    let (_, reason) = world.guests[other].ended().expect("it is refused");
    assert!(reason.contains("used up"), "{reason}");
}

#[test]
fn a_busy_home_makes_nobody_welcome_whom_it_refused() {
    let (debtor, stranger) = (1, 2);
    let mut world = World::new(21, 3, Link::GOOD);
    let own = world.houses[0].id();
    let first = world.visit(debtor, 0, Bundle::default());
    world.leave_at(first, START + Micros::from_seconds(10));
    world.run_for(Micros::from_seconds(20));
    let second = world.visit(debtor, 0, Bundle::default());
    world.run_for(SECOND);
    assert_eq!(world.guests[second].ended().map(|(code, _)| code), Some(Code::Refused), "it owes");
    // It answers no more, or only that it is busy.
    world.houses[0].home_up = false;
    let [again, unknown] = [debtor, stranger].map(|team| world.visit(team, 0, Bundle::default()));
    world.run_for(Micros::from_seconds(5));
    let (code, reason) = world.guests[again].ended().expect("it is refused");
    assert_eq!(code, Code::Refused);
    assert!(reason.contains("refused when it last did"), "{reason}");
    assert_eq!(world.guests[unknown].granted(), [(own, ServiceClass::Lowest)]);
}

#[test]
fn a_session_is_to_be_closed_until_the_firewall_has_said_so() {
    let mut world = World::new(12, 2, Link::GOOD);
    world.houses[0].firewall_answers = false;
    let guest = world.visit(1, 0, Bundle::default());
    world.leave_at(guest, START + Micros::from_seconds(7));
    world.run_for(Micros::from_seconds(600));
    let closing = |world: &World| {
        world.houses[0].events.iter().filter(|(_, event)| matches!(event, Event::Closing { .. })).count()
    };
    let asked = closing(&world);
    assert!(asked > 50, "it is asked as long as it does not answer: {asked} times");
    assert_eq!(world.houses[0].refused("firewall"), asked as u64 - 1, "and everybody can see that");
    let [status] = &world.houses[0].ap.status()[..] else { panic!("one session") };
    assert!(!status.open);
    assert_eq!(world.houses[0].ap.open().count(), 0, "nothing keeps its gates open");
    world.houses[0].firewall_answers = true;
    world.run_for(Micros::from_seconds(60));
    assert_eq!((world.houses[0].ap.status().len(), world.houses[0].closed().len()), (0, 1));
}

#[test]
fn nobody_hears_from_a_dead_access_point_and_nobody_waits_for_it_forever() {
    let mut world = World::new(13, 2, Link { loss: 1.0, ..Link::GOOD });
    let alone = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(40));
    let (code, reason) = world.guests[alone].ended().expect("it gives up");
    assert_eq!((code, reason), (Code::NoSession, "no access point answered: is this a guestright network?"));
    world.link = Link::GOOD;
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(6));
    world.link.loss = 1.0;
    world.run_for(Micros::from_seconds(60));
    assert_eq!(world.guests[guest].ended(), Some((Code::NoSession, "the access point fell silent")));
    assert_eq!(world.houses[0].closed().len(), 1);
}

#[test]
fn a_program_that_stops_is_paid_first() {
    let mut world = World::new(14, 2, Link::GOOD);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_millis(8_100));
    let now = world.now;
    world.houses[0].ap.shut_down(now);
    world.run_for(SECOND);
    assert_eq!(
        world.houses[0].closed(),
        [(Code::Closed, world.guests[guest].carried, world.guests[guest].signed())]
    );
    assert_eq!(world.guests[guest].signed(), world.guests[guest].carried);
    assert!(world.guests[guest].ended().is_some());
}

#[test]
fn who_walks_away_and_comes_back_is_served_or_told_so() {
    let config = Config::default();
    let (mut served, mut notified) = (0, 0);
    // Away from the middle of an interval on; back at every moment until long after the access point has given up.
    for back_after in (50..=config.interval.0 / 1_000 + 3_000).step_by(50) {
        let mut world = World::new(back_after, 3, Link::GOOD);
        let (key, certificate) = world.houses[2].member(&mut world.rng);
        let copy = || SecretKey::from_bytes(key.public().suite(), &key.to_bytes()).unwrap();
        let first = world.visit_as(copy(), certificate.clone(), 0, Bundle::default());
        world.run_for(Micros(config.interval.0 * 5 / 2));
        let away = world.now;
        (world.guests[first].silent_from, world.guests[first].bytes_per_tick) = (Some(away), 0);
        let again = world.visit_as(copy(), certificate.clone(), 1, Bundle::default());
        world.run_for(Micros::from_millis(back_after));
        // The same computer at the same place, over another connection.
        let (here, carried) = (world.guests[first].address, world.guests[first].carried);
        let config = visitor::Config::default();
        let visitor =
            Visitor::new(config, copy(), certificate, Bundle::default(), None, &mut world.rng, world.now);
        let guest = &mut world.guests[again];
        (guest.visitor, guest.address, guest.house, guest.carried) = (visitor, here, 0, carried);
        guest.events.clear();
        world.drain();
        world.run_for(Micros::from_seconds(2));
        let is_served = world.houses[0].firewall.contains_key(&here);
        let ended = world.guests[again].ended().map(|(code, _)| code);
        assert!(is_served || ended.is_some(), "back after {back_after} ms: {:?}", world.guests[again].events);
        served += u32::from(is_served);
        notified += u32::from(ended.is_some());
    }
    assert!(served > 20 && notified > 5, "{served} served, {notified} told");
}

#[test]
fn a_decision_that_has_run_out_may_become_worse_in_the_middle_of_a_visit() {
    let mut world = World::new(17, 2, Link::GOOD);
    let shown = world.houses[0].owes(world.houses[1].id(), 50_000_000, &mut world.rng);
    let guest = world.visit(1, 0, shown);
    let class = |world: &World| world.houses[0].ap.status()[0].class;
    // 400 kB/s: what it gave is used up long before the decision is, which holds for 300 s.
    world.run_for(Micros::from_seconds(299));
    assert_eq!(class(&world), ServiceClass::High);
    world.run_for(Micros::from_seconds(5));
    assert_eq!(class(&world), ServiceClass::Low, "50 MB given, 120 MB taken");
    assert_eq!(world.guests[guest].ended(), None);
}

#[test]
fn a_full_house_does_not_ask_its_home_whom_to_serve() {
    let config = Config { sessions_max: 1, ..Config::default() };
    let mut world = World::with(18, 2, Link::GOOD, &config, &home::Config::default());
    world.visit(1, 0, Bundle::default());
    world.run_for(SECOND);
    let decided = |event: &&home::Event| matches!(event, home::Event::Decided { .. });
    assert_eq!(world.houses[0].home_events.iter().filter(decided).count(), 1);
    world.visit(1, 0, Bundle::default());
    world.run_for(SECOND);
    assert_eq!(world.houses[0].home_events.iter().filter(decided).count(), 1);
    assert!(world.houses[0].refused("busy") > 0);
}

#[test]
fn with_the_largest_window_the_counters_are_wanted_before_half_of_it_is_used_up() {
    let largest = Config { window: Window::fixed(Bytes(1_000_000)), ..Config::default() };
    for (config, is_largest) in [(largest, true), (Config::default(), false)] {
        let mut world = World::with(31, 2, Link::GOOD, &config, &home::Config::default());
        let guest = world.visit(1, 0, Bundle::default());
        world.run_for(Micros::from_millis(750)); // At this moment it has passed something.
        let status = &world.houses[0].ap.status()[0];
        let left = 1_000_000 - (status.counted.0 - status.signed.0);
        assert!(status.counted == world.guests[guest].carried && status.counted > Bytes(0));
        let per_second = 4 * world.guests[guest].bytes_per_tick;
        let wait = if is_largest { left / 2 * 1_000_000 / per_second } else { 0 };
        assert_eq!(world.houses[0].ap.next_reading(world.now), Micros(wait), "{left} B are left");
    }
}

#[test]
fn what_is_left_for_today_without_the_home_is_what_was_not_carried() {
    let mut world = World::new(32, 2, Link::GOOD);
    let day = Config::default().away_per_day;
    assert_eq!(world.houses[0].ap.left_while_away(), day);
    world.houses[0].home_up = false;
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(20));
    let (left, carried) = (world.houses[0].ap.left_while_away(), world.guests[guest].carried);
    let came_back = 20 * day.0 / 86_400;
    assert!(carried > Bytes(5_000_000), "{carried}");
    assert!((day.0..=day.0 + came_back).contains(&(left.0 + carried.0)), "{left} beside {carried}");
}

#[test]
fn who_was_asked_about_while_there_was_room_is_not_let_into_a_house_that_is_full_since() {
    let config = Config { sessions_max: 1, ..Config::default() };
    let link = Link { delay_max: Micros::from_millis(1), ..Link::GOOD };
    let mut world = World::with(33, 2, link, &config, &home::Config::default());
    let first = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_millis(10));
    let second = world.visit(1, 0, Bundle::default()); // The first has not proved its key yet.
    world.run_for(Micros::from_millis(200));
    let decided = |event: &&home::Event| matches!(event, home::Event::Decided { .. });
    assert_eq!(world.houses[0].home_events.iter().filter(decided).count(), 2, "the home would serve both");
    assert_eq!((world.guests[first].granted().len(), world.guests[second].granted().len()), (1, 0));
    assert_eq!((world.houses[0].ap.status().len(), world.houses[0].refused("busy")), (1, 1));
}

#[test]
fn nobody_gives_way_for_a_member_who_gets_the_last_place() {
    let config = Config { sessions_max: 2, ..Config::default() };
    let mut world = World::with(34, 2, Link::GOOD, &config, &home::Config::default());
    let stranger = world.visit(1, 0, Bundle::default());
    world.run_for(SECOND);
    let member = world.visit(0, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    assert_eq!((world.houses[0].opened(), world.houses[0].refused("gave-way")), (2, 0));
    assert_eq!((world.guests[stranger].ended(), world.guests[member].ended()), (None, None));
}

#[test]
fn a_receipt_that_does_not_come_is_asked_for_again_after_half_a_second_and_not_before() {
    let config = Config { window: Window::fixed(Bytes(100_000_000)), ..Config::default() };
    let mut world = World::with(35, 2, Link::GOOD, &config, &home::Config::default());
    world.visit(1, 0, Bundle::default());
    world.run_for(SECOND);
    let house = &mut world.houses[0];
    let asked = |transmit: &Transmit| match transmit {
        Transmit::Visitor(_, bytes) => matches!(Message::parse(bytes), Ok(Message::Rreq { .. })),
        Transmit::Home(_) => false,
    };
    let mut asks = |at| {
        house.ap.handle_timeout(at);
        std::iter::from_fn(|| house.ap.poll_transmit()).filter(asked).count()
    };
    let due = world.now + config.interval;
    assert_eq!(asks(due), 1);
    for round in 1..=4 {
        let again = due + Micros(round * config.retry_after.0);
        let early = [400_000, 1].map(|before| asks(Time(again.0 - before)));
        assert_eq!(early, [0, 0], "{round}");
        assert_eq!(asks(again), 1, "{round}");
    }
}

#[test]
fn who_signs_for_all_gets_no_less_in_advance_the_next_time() {
    let mut generous = home::Config::default();
    generous.judge.policy = Policy::Quota { bytes: Bytes(0) };
    let config = Config::default();
    let mut world = World::with(36, 2, Link::GOOD, &config, &generous);
    let (key, certificate) = world.houses[1].member(&mut world.rng);
    let copy = SecretKey::from_bytes(key.public().suite(), &key.to_bytes()).unwrap();
    let first = world.visit_as(key, certificate.clone(), 0, Bundle::default());
    world.leave_at(first, START + Micros::from_seconds(7));
    world.run_for(Micros::from_seconds(10));
    assert_eq!(world.houses[0].closed().first().map(|(code, ..)| *code), Some(Code::Closed));
    let here = world.guests[first].address;
    world.visit_from(here, (copy, certificate), 0, Bundle::default());
    world.run_for(Micros::from_millis(200));
    let windows: Vec<_> = world.houses[0].ap.open().map(|gate| gate.window).collect();
    assert_eq!(windows, [config.window.first]);
}

#[test]
fn the_household_ends_one_session_and_its_visitor_is_told_so_and_has_signed() {
    let mut world = World::new(36, 2, Link::GOOD);
    let (guest, other) = (world.visit(1, 0, Bundle::default()), world.visit(1, 0, Bundle::default()));
    world.run_for(Micros::from_seconds(20));
    let (address, now) = (world.guests[guest].address, world.now);
    assert_eq!(world.houses[0].ap.end(address.ip, now), 1);
    world.drain();
    world.run_for(Micros::from_seconds(5));
    let (code, reason) = world.guests[guest].ended().expect("it is told so");
    assert_eq!(code, Code::Closed);
    assert!(reason.starts_with("this household has ended your session"), "{reason}");
    assert!(world.guests[guest].carried > Bytes(0));
    assert_eq!(world.guests[guest].signed(), world.guests[guest].carried);
    assert_eq!(world.guests[other].ended(), None);
    assert_eq!(world.houses[0].ap.end(address.ip, world.now), 0, "there is nobody any more");
}

/// What an access point asks its guests for comes at even distances, so that no two receipts wait for each other, nor calls for
/// several of them.
#[test]
fn requests_of_several_guests_are_an_equal_step_apart() {
    const GUESTS: usize = 5;
    let mut world = World::new(1, GUESTS + 1, Link::GOOD);
    let guests: Vec<_> = (1..=GUESTS).map(|team| world.visit(team, 0, Bundle::default())).collect();
    for guest in &guests {
        // So little that the bytes alone ask for nothing, and each receipt is another.
        world.guests[*guest].bytes_per_tick = 100;
    }
    let interval = Config::default().interval;
    world.run_for(Micros(6 * interval.0));
    world.houses[0].events.clear();
    world.run_for(Micros(4 * interval.0));
    let received = world.houses[0].events.iter().filter(|(_, event)| matches!(event, Event::Received(..)));
    let times: Vec<Time> = received.map(|(at, _)| *at).collect();
    assert_eq!(times.len(), 4 * GUESTS, "one of each in each interval");
    // A request and its receipt take at most 10 ms each.
    let (step, link) = (interval.0 / GUESTS as u64, 20_000);
    for pair in times.windows(2) {
        assert!((pair[1] - pair[0]).0.abs_diff(step) <= link, "{times:?}");
    }
}
