//! Whole runs between a caller and a listener in virtual time, over links that delay, lose, and over clocks that differ.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "small numbers of a test"
)]

mod link;

use guestright_quality::Unknown;
use guestright_traffic::{CallerEvent, ClockSource, Ended, ListenerEvent, Phases, Plan, Refusal, Traffic};
use guestright_units::Micros;
use link::{Way, World};

const MS: u64 = 1_000;

/// A short plan: 10 s.
fn plan(calls: u16) -> Plan {
    Plan { packets: 500, phases: Phases::Even, ..Plan::paper_a(calls) }
}

#[test]
fn a_run_over_a_perfect_link_is_perfect() {
    let mut world = World::new(plan(3), ClockSource::Exchange);
    world.run();
    let outcome = world.outcome();
    assert_eq!(outcome.ended, Ended::AsPlanned);
    let sent = outcome.sent.expect("the listener tells what it received");
    for direction in [&outcome.received, &sent] {
        assert_eq!(direction.calls.len(), 3);
        for call in &direction.calls {
            let figures = call.figures;
            assert_eq!((figures.expected, figures.lost, figures.late, figures.overflow), (500, 0, 0, 0));
            assert!(figures.end_known);
            assert!(call.delay_ms.expect("clocks were compared").contains(20.0), "{:?}", call.delay_ms);
            assert_eq!(figures.mean_abs_d_us, Some(0));
            let paper = call.judgement.paper_a.as_ref().expect("everything is known");
            assert!(paper.r.contains(81.16 - 0.024 * 20.0), "{:?}", paper.r);
        }
    }
    assert_eq!(world.listener_outcome().received.calls, sent.calls);
    assert_eq!(world.rows(), (30, 30), "three calls of ten seconds at either end");
}

#[test]
fn delay_is_bounded_truly_although_the_clocks_and_the_ways_differ() {
    let mut world = World::new(plan(1), ClockSource::Exchange);
    world.offset_us = 86_400_000_000;
    world.drift_ppm = 80.0;
    // 70 ms there, 10 ms back; and some packets wait.
    world.there = Way::new(|n| Some(70 * MS + (n * 7_919 % 5) * MS));
    world.back = Way::new(|n| Some(10 * MS + (n * 104_729 % 3) * MS));
    world.run();
    let outcome = world.outcome();
    let there = outcome.sent.unwrap().calls[0].delay_ms.unwrap();
    let back = outcome.received.calls[0].delay_ms.unwrap();
    assert!(there.contains(72.0) && there.width() < 81.5, "{there:?}");
    assert!(back.contains(11.0) && back.width() < 81.5, "{back:?}");
    let drift = outcome.received.clock.unwrap().drift_ppm.unwrap();
    assert!(drift.contains(80.0), "{drift:?}");
}

#[test]
fn shared_clocks_give_the_delay_itself() {
    let mut world = World::new(plan(1), ClockSource::Shared);
    world.there = Way::new(|_| Some(70 * MS));
    world.run();
    let outcome = world.outcome();
    assert_eq!(outcome.sent.unwrap().calls[0].delay_ms.unwrap().low, 70.0);
    assert_eq!(outcome.received.calls[0].delay_ms.unwrap().high, 20.0);
    assert_eq!(outcome.received.clock.unwrap().exchanges, 0);
}

#[test]
fn every_lost_packet_is_counted_in_its_direction_and_call() {
    let mut world = World::new(plan(2), ClockSource::Shared);
    // Voice only: every tenth there, nothing back.
    world.there = Way::new(|n| (n % 10 != 3).then_some(20 * MS)).voice_only();
    world.run();
    let outcome = world.outcome();
    let lost = |direction: &guestright_traffic::Direction| {
        direction.calls.iter().map(|call| u64::from(call.figures.lost)).sum::<u64>()
    };
    assert_eq!((lost(outcome.sent.as_ref().unwrap()), lost(&outcome.received)), (100, 0));
    assert_eq!(world.there.dropped, 100);
    assert!(outcome.sent.unwrap().average.mos_paper_a.unwrap().high < 3.1);
}

#[test]
fn loss_at_both_ends_of_a_call_is_seen() {
    let mut world = World::new(plan(1), ClockSource::Shared);
    world.there = Way::new(|n| (20..480).contains(&n).then_some(20 * MS)).voice_only();
    world.back = Way::new(|_| None).voice_only();
    world.run();
    let outcome = world.outcome();
    let there = outcome.sent.unwrap().calls[0].figures;
    assert_eq!((there.expected, there.lost), (500, 40));
    // Not one packet arrived: all is lost, and there is no delay.
    let back = &outcome.received.calls[0];
    assert_eq!((back.figures.expected, back.figures.lost, back.figures.delay), (500, 500, None));
    assert_eq!(back.judgement.conversation, Err(Unknown::NoDelay));
    assert!(back.judgement.listening.as_ref().unwrap().mos.high < 1.1);
}

#[test]
fn late_packets_are_the_dejitter_buffers_loss() {
    let mut world = World::new(plan(1), ClockSource::Shared);
    world.there = Way::new(|n| Some(if n % 20 == 7 { 90 * MS } else { 20 * MS })).voice_only();
    world.run();
    let call = &world.outcome().sent.unwrap().calls[0];
    assert_eq!((call.figures.lost, call.figures.late), (0, 25));
    assert!((call.dejitter_loss - 0.05).abs() < 1e-9);
    assert!(call.figures.rfc3550_us.unwrap() > 1_000);
}

#[test]
fn a_run_survives_the_loss_of_every_third_message() {
    for seed in 0..9 {
        let mut world = World::new(plan(20), ClockSource::Exchange);
        world.there = Way::new(move |n| ((n + seed) % 3 != 0).then_some(20 * MS));
        world.back = Way::new(move |n| ((n + seed / 3) % 3 != 0).then_some(20 * MS));
        world.run();
        let outcome = world.outcome();
        assert_eq!(outcome.ended, Ended::AsPlanned, "seed {seed}");
        assert_eq!(outcome.sent.expect("asked until told").calls.len(), 20, "seed {seed}");
    }
}

#[test]
fn nobody_there_ends_with_no_answer() {
    let mut world = World::new(plan(1), ClockSource::Exchange);
    world.there = Way::new(|_| None);
    world.run();
    assert_eq!(world.caller_events.last(), Some(&CallerEvent::NoAnswer));
    assert!(world.now_us() < 6_000_000);
}

#[test]
fn a_listener_says_what_it_does_not_allow() {
    let refused = |change: fn(&mut World)| {
        let mut world = World::new(plan(5), ClockSource::Exchange);
        change(&mut world);
        world.run();
        match world.caller_events.as_slice() {
            [CallerEvent::Refused(reason)] => *reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(|world| world.allow(|config| config.calls_max = 4)), Refusal::TooManyCalls);
    assert_eq!(
        refused(|world| world.allow(|config| config.duration_max = Micros(9_000_000))),
        Refusal::TooLong
    );
    assert_eq!(
        refused(|world| world.allow(|config| config.from = Some([192, 0, 2, 1].into()))),
        Refusal::Address
    );
    assert_eq!(refused(|world| world.allow(|config| config.runs_max = Some(0))), Refusal::Busy);
}

#[test]
fn stopping_tells_what_was_measured_at_both_ends() {
    for caller_stops in [true, false] {
        let mut world = World::new(plan(2), ClockSource::Shared);
        world.run_until(4_000_000);
        world.stop(caller_stops);
        world.run();
        let outcome = world.outcome();
        let listener = world.listener_outcome();
        let want = if caller_stops {
            (Ended::Stopped, Ended::OtherStopped)
        } else {
            (Ended::OtherStopped, Ended::Stopped)
        };
        assert_eq!((outcome.ended, listener.ended), want);
        for call in outcome.received.calls.iter().chain(&listener.received.calls) {
            let figures = call.figures;
            assert_eq!(figures.lost, 0, "{figures:?}");
            assert!((140..=160).contains(&figures.expected), "{figures:?}");
        }
        assert!(world.now_us() < 7_500_000);
    }
}

#[test]
fn a_peer_that_falls_silent_is_given_up() {
    let mut world = World::new(Plan { packets: 1_000, ..plan(1) }, ClockSource::Shared);
    world.run_until(3_000_000);
    world.there = Way::new(|_| None);
    world.back = Way::new(|_| None);
    world.run();
    assert_eq!(world.outcome().ended, Ended::Silence);
    assert_eq!(world.outcome().sent, None);
    assert_eq!(world.listener_outcome().ended, Ended::Silence);
    assert!(!world.outcome().received.calls[0].figures.end_known);
    assert_eq!(world.outcome().received.calls[0].figures.lost, 0, "what nobody said was sent is not lost");
}

#[test]
fn g711_is_rated_by_g107_only() {
    let mut world = World::new(Plan { traffic: Traffic::G711, ..plan(1) }, ClockSource::Shared);
    world.run();
    let outcome = world.outcome();
    assert!(outcome.received.average.mos_g107.unwrap().low > 4.2);
    assert_eq!(outcome.received.calls[0].judgement.paper_a, Err(Unknown::NotPaperA));
}

#[test]
fn one_run_at_a_time_and_a_second_one_after_it() {
    let mut world = World::new(plan(1), ClockSource::Shared);
    world.run_until(2_000_000);
    assert_eq!(world.knock(), Some(Refusal::Busy), "somebody else asks meanwhile");
    world.run();
    assert_eq!(world.knock(), None);
    let refused =
        world.listener_events.iter().filter(|event| matches!(event, ListenerEvent::Refused { .. })).count();
    assert_eq!(refused, 1);
}

#[test]
fn a_listener_sends_no_voice_to_an_address_that_has_not_answered() {
    // Somebody asks in the name of another: what he sends arrives, what is sent back does not reach him.
    let mut world = World::new(plan(50), ClockSource::Exchange);
    world.back = Way::new(|_| None);
    world.run();
    assert!(world.back.bytes <= world.there.bytes, "{} for {}", world.back.bytes, world.there.bytes);
    assert!(world.listener_events.iter().all(|event| !matches!(event, ListenerEvent::Started { .. })));
}

#[test]
fn strangers_cannot_disturb_a_run() {
    let mut world = World::new(plan(1), ClockSource::Shared);
    world.noise = true;
    world.run();
    let outcome = world.outcome();
    assert_eq!(outcome.ended, Ended::AsPlanned);
    assert_eq!(outcome.received.calls[0].figures.lost, 0);
    assert_eq!(outcome.sent.unwrap().calls[0].figures.lost, 0);
}
