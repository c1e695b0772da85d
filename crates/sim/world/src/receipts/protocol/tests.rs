use super::*;
use crate::receipts::{Mode, Suite as Receiptsuite};
use guestright_engine::{Part, Queue};
use guestright_units::Seed;

#[derive(Clone, Debug)]
enum World {
    Household(Event),
    AtVisitor(u16, Vec<u8>),
    AtAccessPoint(u16, Vec<u8>),
    Packet(u16),
}

/// Three visitors for a minute, with 50 packets a second each; from `silent_from` on nothing reaches the access
/// point from the last of them.
fn minute(seed: u64, silent_from: Instant) -> (ProtocolStats, Vec<u64>) {
    let receipts = Receipts {
        mode: Mode::Protocol,
        interval: Nanos::from_seconds(5),
        cost: Receiptsuite::Ed25519.cost(),
        visitor_sign: Nanos::from_millis(3),
        deadline: Nanos::from_millis(2_500),
    };
    let mut queue = Queue::new();
    let config = ProtocolConfig { number: 0, calls: 3, arrival: Nanos::from_seconds(1) };
    let streams = Streams::new(Seed::from_number(seed));
    let mut household =
        Household::new(config, &receipts, &streams, &mut Part::new(&mut queue, World::Household));
    let mut passed = vec![0; 3];
    for call in 0..3 {
        queue.push(Instant::START + Nanos::from_seconds(2), World::Packet(call));
    }
    while let Some((now, event)) =
        queue.pop().filter(|(now, _)| *now < Instant::START + Nanos::from_seconds(60))
    {
        let agenda = &mut Part::new(&mut queue, World::Household);
        match event {
            World::Household(event) => household.handle(event, agenda),
            World::AtVisitor(call, bytes) => household.handle_at_visitor(call, &bytes, agenda),
            World::AtAccessPoint(2, _) if now >= silent_from => {}
            World::AtAccessPoint(call, bytes) => household.handle_at_access_point(call, &bytes, agenda),
            World::Packet(call) => {
                if household.pass(call, 200) {
                    household.meter(call, 200);
                    passed[usize::from(call)] += 1;
                }
                queue.push(now + Nanos::from_millis(20), World::Packet(call));
            }
        }
        while let Some(action) = household.poll_action() {
            let event = match action {
                Action::ToVisitor(call, bytes) => World::AtVisitor(call, bytes),
                Action::ToAccessPoint(call, bytes) => World::AtAccessPoint(call, bytes),
            };
            queue.push(now + Nanos::from_millis(2), event);
        }
    }
    (*household.stats(), passed)
}

#[test]
fn who_signs_is_served_throughout() {
    let (stats, passed) = minute(1, Instant::NEVER);
    assert_eq!((stats.opened, stats.closed, stats.unpaid, stats.disputed), (3, 0, 0, 0));
    assert_eq!(stats.lasting, 3);
    // 58 s at 50 packets a second.
    assert_eq!(passed, [2_900; 3]);
    // One receipt over nothing, then one every 5 s, until all are an equal step apart up to a quarter earlier.
    assert!((30..=39).contains(&stats.signed), "{stats:?}");
    assert_eq!(stats.received, stats.signed - 3, "those over nothing are not kept: {stats:?}");
}

#[test]
fn who_does_not_sign_is_closed() {
    let (stats, passed) = minute(1, Instant::START + Nanos::from_seconds(20));
    assert_eq!((stats.opened, stats.closed, stats.unpaid, stats.lasting), (3, 1, 1, 2));
    assert_eq!(passed[..2], [2_900; 2]);
    // Silent from 20 s on: the next request comes within 5 s, and is waited for 2.5 s; packets began at 2 s.
    assert!((18 * 50..=26 * 50).contains(&passed[2]), "{passed:?}");
}

#[test]
fn the_same_seed_gives_the_same_minute() {
    assert_eq!(minute(7, Instant::NEVER), minute(7, Instant::NEVER));
}

#[test]
fn counters_are_read_and_receipts_are_asked_for_again_as_on_a_real_access_point() {
    for (interval_ms, want_ms) in [(200, 50), (1_000, 100), (5_000, 500), (20_000, 500)] {
        let interval = Nanos::from_millis(interval_ms);
        assert_eq!(pace(interval), Nanos::from_millis(want_ms), "{interval_ms}");
    }
    let receipts = Receipts {
        mode: Mode::Protocol,
        interval: Nanos::from_seconds(2),
        cost: Receiptsuite::Ed25519.cost(),
        visitor_sign: Nanos(0),
        deadline: Nanos::from_millis(1_000),
    };
    let config = machine_config(&receipts);
    let got = (config.interval, config.receipt_deadline, config.retry_after);
    assert_eq!(got, (Micros::from_millis(2_000), Micros::from_millis(1_000), Micros::from_millis(200)));
}

#[test]
fn who_was_closed_once_is_not_whole_although_a_new_session_was_opened() {
    let mut queue: Queue<Event> = Queue::new();
    let config = ProtocolConfig { number: 0, calls: 2, arrival: Nanos(1) };
    let receipts = Receipts {
        mode: Mode::Protocol,
        interval: Nanos::from_seconds(5),
        cost: Receiptsuite::Ed25519.cost(),
        visitor_sign: Nanos(0),
        deadline: Nanos::from_millis(2_500),
    };
    let mut household = Household::new(config, &receipts, &Streams::new(Seed::from_number(1)), &mut queue);
    let guest = &mut household.guests[0];
    (guest.was_open, guest.was_closed, guest.is_open) = (true, true, false);
    assert_eq!(household.stats().lasting, 0);
    household.guests[0].opened(&mut household.stats);
    household.guests[1].opened(&mut household.stats);
    assert!(household.guests[0].is_open);
    assert_eq!((household.stats().opened, household.stats().lasting), (2, 1));
    household.guests[1].closed(&mut household.stats);
    household.guests[1].opened(&mut household.stats);
    household.guests[1].closed(&mut household.stats);
    assert_eq!((household.stats().opened, household.stats().closed, household.stats().lasting), (3, 2, 0));
}
