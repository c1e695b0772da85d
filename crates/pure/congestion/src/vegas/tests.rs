use super::*;
use proptest::prelude::*;

const SEGMENT: u32 = 1_000;

/// A flow that has sent `segments` and heard nothing, from 0 on.
fn vegas(settings: VegasSettings) -> Vegas {
    let mut vegas = Vegas::new(settings).unwrap();
    vegas.on_sent(&Sent { now: Time(0), offset: 0, bytes: 1_000, ..Sent::default() });
    vegas
}

/// Up to segment `acknowledged` is acknowledged at `now` (ms), the next to be sent is `next`, the last took `round_trip` ms.
fn ack(acknowledged: u64, next: u64, now: u64, round_trip: u64) -> Ack {
    Ack {
        now: Time(now * 1_000),
        bytes: 1_000,
        acknowledged: acknowledged * 1_000,
        next: next * 1_000,
        in_flight: (next - acknowledged) * 1_000,
        round_trip: Some(Micros(round_trip * 1_000)),
        segments: 1,
        window_limited: true,
        ..Ack::default()
    }
}

fn lost(now: u64, first_sent: u64, transmissions: u32, duplicates: u32) -> Flight {
    Flight {
        now: Time(now * 1_000),
        first_sent: Time(first_sent * 1_000),
        transmissions,
        duplicates,
        ..Flight::default()
    }
}

/// A round trip of `window` segments from `from` on, each of which takes `round_trip` ms and lets the next one go.
fn round(vegas: &mut Vegas, from: u64, now: u64, round_trip: u64) -> u64 {
    let window = u64::from(whole(vegas.window_segments()));
    let mut next = from + window;
    for segment in from..from + window {
        // What the window lets was sent before this acknowledgement.
        let usable = vegas.window() / 1_000;
        next = next.max(segment + usable);
        vegas.on_ack(&ack(segment + 1, next, now, round_trip));
    }
    from + window
}

#[test]
fn slow_start_doubles_every_other_round_trip() {
    let mut vegas = vegas(VegasSettings::paper(SEGMENT));
    let (mut at, mut windows) = (0, Vec::new());
    for trip in 1..=6 {
        at = round(&mut vegas, at, trip * 100, 100);
        windows.push(vegas.window() / 1_000);
    }
    // The first round trip holds, the second grows by a segment for each acknowledgement, and so on.
    assert_eq!(windows, [2, 4, 4, 8, 8, 16]);
    assert!(vegas.in_slow_start());
    assert_eq!(vegas.base_round_trip(), Some(Micros(100_000)));
}

#[test]
fn slow_start_ends_when_segments_wait() {
    let mut vegas = vegas(VegasSettings::paper(SEGMENT));
    vegas.window = 16.0;
    vegas.fine.start(100_000.0);
    vegas.base = 100_000.0;
    vegas.grows = false;
    // Sixteen were sent in a round trip of 120 ms, and are on their way: 16 - 16 * 100 / 120 = 2.67, rounded 3: more than one.
    vegas.sum = 120_000.0;
    vegas.count = 1;
    vegas.on_ack(&ack(1, 16, 120, 120));
    assert_eq!((vegas.window_segments(), vegas.slow_start_threshold()), (14.0, 2_000));
    assert!(!vegas.in_slow_start());
}

/// A flow in congestion avoidance with `window` segments and a base of 100 ms.
fn avoiding(window: f64) -> Vegas {
    let mut vegas = vegas(VegasSettings::paper(SEGMENT));
    vegas.threshold = 2;
    vegas.window = window;
    vegas.base = 100_000.0;
    vegas.fine.start(100_000.0);
    vegas
}

#[test]
fn congestion_avoidance_by_hand() {
    // Ten segments were sent in the round trip, ten are on their way when it ends (the last one that is acknowledged counts):
    // diff = 10 - 10 * 100 / rtt.
    #[rustfmt::skip]
    let cases = [
        // rtt, diff: what happens to a window of 10.
        (100_u32, 0.0,  10.1), // Fewer than one waits: one more segment over the next round trip.
        (104, 0.38, 10.1), // 0.88: rounds towards zero.
        (106, 0.57, 10.0), // One, which is not fewer than alpha.
        (125, 2.0,  10.0), // Two are as many as there should be.
        (142, 2.96, 10.0), // 3.46: three are not more than beta.
        (160, 3.75,  9.0), // 4.25: too many.
    ];
    for (round_trip, diff, want) in cases {
        let mut vegas = avoiding(10.0);
        vegas.sum = f64::from(round_trip) * 1e3;
        vegas.count = 1;
        let (round_trip, wait) = (u64::from(round_trip), diff);
        vegas.on_ack(&ack(1, 10, 1_000, round_trip));
        assert!((vegas.window_segments() - want).abs() < 1e-9, "{wait}: {}", vegas.window_segments());
    }
}

#[test]
fn the_decision_is_taken_once_for_each_round_trip() {
    let mut vegas = avoiding(10.0);
    vegas.sum = 100_000.0;
    vegas.count = 1;
    // Ten acknowledgements of a path without queues: a tenth of a segment each.
    for segment in 1..=10 {
        vegas.on_ack(&ack(segment, segment + 9, 1_000, 100));
    }
    assert!((vegas.window_segments() - 11.0).abs() < 1e-9, "{}", vegas.window_segments());
    // The next round trip took 200 ms: one segment less, once, and no growth.
    vegas.sum = 0.0;
    vegas.count = 0;
    for segment in 11..=20 {
        vegas.on_ack(&ack(segment, segment + 10, 1_200, 200));
    }
    assert!((vegas.window_segments() - 10.0).abs() < 1e-9, "{}", vegas.window_segments());
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut vegas = avoiding(10.0);
    vegas.sum = 100_000.0;
    vegas.count = 1;
    // Two on their way: eight segments are free.
    vegas.on_ack(&ack(1, 3, 1_000, 100));
    assert!((vegas.window_segments() - 10.0).abs() < 1e-9);
}

#[test]
fn a_lone_segment_moves_the_base() {
    let mut vegas = avoiding(10.0);
    vegas.sum = 300_000.0;
    vegas.count = 1;
    // No more than one segment was sent in the round trip: no queue is this flow's, so the path has become longer.
    vegas.on_ack(&ack(1, 1, 1_000, 300));
    assert_eq!(vegas.base_round_trip(), Some(Micros(300_000)));
}

#[test]
fn losses_take_a_quarter_or_half_and_only_once() {
    #[rustfmt::skip]
    let cases = [
        // Window, how often the segment was sent: what is left.
        (20.0, 1, 15), (20.0, 2, 10), (10.7, 1, 8), (9.0, 2, 4), (4.0, 1, 3), (3.0, 1, 2), (2.0, 2, 2),
    ];
    for (window, transmissions, want) in cases {
        let mut vegas = avoiding(window);
        vegas.on_loss(&lost(1_000, 900, transmissions, 3));
        assert_eq!(vegas.window(), want * 1_000, "{window} after {transmissions}");
        // A segment that was sent before the decrease takes no more.
        vegas.on_loss(&lost(1_050, 950, 1, 3));
        assert_eq!(vegas.window(), want * 1_000);
    }
    let mut vegas = avoiding(20.0);
    vegas.on_loss(&lost(1_000, 900, 1, 3));
    vegas.on_loss(&lost(1_200, 1_100, 1, 3));
    // 15 - 15 / 4, which is 3.
    assert_eq!(vegas.window(), 12_000, "one that was sent after it does");
}

#[test]
fn ns2_inflates_the_window_by_duplicates() {
    let settings = VegasSettings { initial_threshold: 20, ..VegasSettings::ns2(SEGMENT, 40) };
    // No round trip ends here.
    let mut vegas = Vegas { settings, begin: 100_000, ..avoiding(20.0) };
    vegas.on_loss(&lost(1_000, 900, 1, 3));
    assert_eq!(vegas.window(), 18_000);
    vegas.on_duplicate_ack(&lost(1_001, 900, 2, 4));
    vegas.on_duplicate_ack(&lost(1_002, 900, 2, 5));
    assert_eq!(vegas.window(), 20_000);
    // Acknowledged: back to 15, and slow start is over for good.
    vegas.on_ack(&ack(30, 40, 1_100, 100));
    assert_eq!(vegas.window(), 15_000);
    assert_eq!(vegas.slow_start_threshold(), 2_000);
    // With three and no more, the window stays inflated.
    let mut vegas = Vegas { settings, begin: 100_000, ..avoiding(20.0) };
    vegas.on_loss(&lost(1_000, 900, 1, 3));
    vegas.on_ack(&ack(30, 48, 1_100, 100));
    assert_eq!(vegas.window(), 18_000);
}

#[test]
fn ns2_starts_with_one_segment_and_has_two_at_the_second_acknowledgement() {
    let mut vegas = vegas(VegasSettings::ns2(SEGMENT, 20));
    assert_eq!((vegas.window(), vegas.slow_start_threshold()), (1_000, 20_000));
    vegas.on_ack(&ack(1, 1, 62, 62));
    assert_eq!(vegas.window(), 1_000);
    vegas.on_ack(&ack(2, 2, 124, 62));
    assert_eq!(vegas.window(), 3_000);
    // `window_` bounds what may be on its way, not what is counted.
    vegas.window = 33.5;
    assert_eq!(vegas.window(), 20_000);
}

#[test]
fn ns2_forgives_losses_for_a_while_when_the_first_segment_was_lost() {
    let mut vegas = vegas(VegasSettings::ns2(SEGMENT, 20));
    vegas.on_timeout(&lost(3_000, 0, 1, 0));
    vegas.on_sent(&Sent { now: Time(3_000_000), offset: 0, bytes: 1_000, again: true, ..Sent::default() });
    vegas.window = 8.0;
    vegas.on_loss(&lost(3_600, 3_500, 1, 3));
    assert_eq!(vegas.window(), 8_000);
    // Three seconds after the second attempt it is over: to six, and three on top.
    vegas.on_loss(&lost(6_100, 6_001, 1, 3));
    assert_eq!(vegas.window(), 9_000);
}

#[test]
fn timeouts_halve_the_threshold_and_leave_two_segments() {
    let mut vegas = avoiding(13.0);
    vegas.on_timeout(&lost(1_000, 500, 1, 0));
    assert_eq!((vegas.window(), vegas.slow_start_threshold()), (2_000, 6_000));
    assert!(vegas.in_slow_start());
    vegas.on_timeout(&lost(2_000, 1_000, 2, 0));
    assert_eq!((vegas.window(), vegas.slow_start_threshold()), (2_000, 2_000));
}

#[test]
fn the_fine_timeout_by_hand() {
    let mut vegas = vegas(VegasSettings::paper(SEGMENT));
    assert_eq!(vegas.fine_timeout(), None);
    // 100 ms: eight times smoothed 800, deviation 100 - 25 + 0 = 75; (200 + 75) / 2 = 137.5, and a sixteenth more.
    vegas.on_ack(&ack(1, 2, 100, 100));
    assert_eq!(vegas.fine_timeout(), Some(Micros(146_094)));
    // 140 ms: off by 40: 840, 75 - 18.75 + 40 = 96.25; (210 + 96.25) / 2 = 153.125, and a sixteenth more: 162.6953125.
    vegas.on_ack(&ack(2, 3, 240, 140));
    assert_eq!(vegas.fine_timeout(), Some(Micros(162_696)));
    // A loss makes it longer by an eighth, 183.0322265625; one of a segment that was sent twice doubles it.
    vegas.on_loss(&lost(300, 200, 1, 3));
    assert_eq!(vegas.fine_timeout(), Some(Micros(183_033)));
    vegas.on_loss(&lost(400, 300, 2, 3));
    assert_eq!(vegas.fine_timeout(), Some(Micros(366_065)));
}

#[test]
fn a_mark_takes_a_quarter() {
    let mut vegas = avoiding(20.0);
    vegas.on_mark(&lost(1_000, 900, 1, 0));
    assert_eq!(vegas.window(), 15_000);
}

#[test]
fn refuses_settings_that_cannot_be() {
    let base = VegasSettings::paper(SEGMENT);
    let millionths = Millionths;
    #[rustfmt::skip]
    let cases = [
        VegasSettings { segment: 0, ..base },
        VegasSettings { alpha: millionths(3_000_001), ..base },
        VegasSettings { beta: millionths(1_000_000_001), ..base },
        VegasSettings { gamma: millionths(1_000_000_001), ..base },
        VegasSettings { initial_window: 0, ..base },
        VegasSettings { restart_window: 0, ..base },
        VegasSettings { window_max: 0, ..base },
        VegasSettings { initial_threshold: 1, ..base },
    ];
    for settings in cases {
        assert!(Vegas::new(settings).is_err(), "{settings:?}");
    }
    assert_eq!(Vegas::new(VegasSettings { alpha: base.beta, ..base }).map(|vegas| vegas.window()), Ok(2_000));
}

proptest! {
    #[test]
    fn the_window_stays_within_its_bounds(
        ns2: bool,
        steps in proptest::collection::vec((0_u8..6, 1_u64..400, 0_u32..4), 0..300),
    ) {
        let settings = if ns2 { VegasSettings::ns2(SEGMENT, 20) } else { VegasSettings::paper(SEGMENT) };
        let mut vegas = vegas(settings);
        let (mut now, mut acknowledged, mut duplicates) = (0, 0, 0);
        for (step, span, transmissions) in steps {
            now += span;
            match step {
                0..=2 => {
                    acknowledged += 1;
                    duplicates = 0;
                    vegas.on_ack(&ack(acknowledged, acknowledged + span % 20, now, span));
                }
                3 => {
                    duplicates += 1;
                    vegas.on_duplicate_ack(&lost(now, now - span, transmissions, duplicates));
                }
                4 => vegas.on_loss(&lost(now, now - span, transmissions, duplicates)),
                _ => vegas.on_timeout(&lost(now, now - span, transmissions, 0)),
            }
            let window = vegas.window();
            prop_assert!(window.is_multiple_of(1_000) && window <= WINDOW_MAX);
            let bounded = if ns2 { window <= 20_000 } else { window >= 1_000 };
            prop_assert!(bounded, "{}", window);
            prop_assert!(vegas.slow_start_threshold() >= 2_000);
            prop_assert!(vegas.fine_timeout().is_none_or(|timeout| timeout.0 > 0));
        }
    }
}
