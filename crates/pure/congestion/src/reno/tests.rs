use super::*;
use proptest::prelude::*;

const SEGMENT: u32 = 1_000;

fn settings(increase: Increase) -> RenoSettings {
    RenoSettings {
        initial_window: InitialWindow::Segments(2),
        increase,
        grow_unused: false,
        ..RenoSettings::rfc5681(SEGMENT)
    }
}

fn ack(bytes: u64) -> Ack {
    Ack { bytes, window_limited: true, ..Ack::default() }
}

fn flight(in_flight: u64) -> Flight {
    Flight { in_flight, ..Flight::default() }
}

/// The window after each of `acks`.
fn windows(reno: &mut Reno, acks: &[u64]) -> Vec<u64> {
    acks.iter()
        .map(|bytes| {
            reno.on_ack(&ack(*bytes));
            reno.window()
        })
        .collect()
}

#[test]
fn slow_start_by_hand() {
    #[rustfmt::skip]
    let cases: [(Increase, [u64; 4]); 4] = [
        // Acknowledgements of one, two, three segments, and of half a one.
        (Increase::PerAck,                    [3_000, 4_000, 5_000, 6_000]),
        (Increase::Rfc5681,                   [3_000, 4_000, 5_000, 5_500]),
        (Increase::ByteCounting { limit: 1 }, [3_000, 4_000, 5_000, 5_500]),
        (Increase::ByteCounting { limit: 2 }, [3_000, 5_000, 7_000, 7_500]),
    ];
    for (increase, want) in cases {
        let mut reno = Reno::new(settings(increase)).unwrap();
        assert_eq!(windows(&mut reno, &[1_000, 2_000, 3_000, 500]), want, "{increase:?}");
    }
}

#[test]
fn congestion_avoidance_by_hand() {
    let mut reno = Reno::new(settings(Increase::Rfc5681)).unwrap();
    reno.on_loss(&flight(8_000));
    assert_eq!((reno.window(), reno.slow_start_threshold()), (4_000, 4_000));
    // 10^6 / 4000 = 250, 10^6 / 4250 = 235 and 1250 left over, (10^6 + 1250) / 4485 = 223 and 1095 left over, and so on:
    // nearly a segment for four acknowledgements.
    assert_eq!(windows(&mut reno, &[1_000; 4]), [4_250, 4_485, 4_708, 4_920]);
}

#[test]
fn large_windows_grow_by_a_segment_for_each_round_trip_too() {
    let mut reno = Reno::new(settings(Increase::Rfc5681)).unwrap();
    reno.on_loss(&flight(3_200_000));
    windows(&mut reno, &[1_000; 1_600]);
    // 1600 segments, an acknowledgement for each: less than a byte for each.
    assert!((1_600_999..=1_601_000).contains(&reno.window()), "{}", reno.window());
}

#[test]
fn byte_counting_adds_a_segment_for_each_window_of_bytes() {
    let mut reno = Reno::new(settings(Increase::ByteCounting { limit: 2 })).unwrap();
    reno.on_loss(&flight(8_000));
    assert_eq!(windows(&mut reno, &[2_000, 1_000, 1_000]), [4_000, 4_000, 5_000]);
    // What is left over counts.
    assert_eq!(windows(&mut reno, &[2_000, 2_000, 2_000]), [5_000, 5_000, 6_000]);
    assert_eq!(windows(&mut reno, &[2_000, 2_000, 1_000]), [6_000, 6_000, 7_000]);
}

#[test]
fn the_window_may_step_over_the_threshold_once() {
    let mut reno =
        Reno::new(RenoSettings { initial_threshold: 3_500, ..settings(Increase::Rfc5681) }).unwrap();
    assert_eq!(windows(&mut reno, &[1_000, 1_000]), [3_000, 4_000]);
    assert_eq!(windows(&mut reno, &[1_000]), [4_250]);
}

#[test]
fn a_loss_halves_the_flight_not_the_window() {
    let mut reno = Reno::new(settings(Increase::Rfc5681)).unwrap();
    windows(&mut reno, &[1_000; 18]);
    assert_eq!(reno.window(), 20_000);
    reno.on_loss(&flight(10_000));
    assert_eq!((reno.window(), reno.slow_start_threshold()), (5_000, 5_000));
    reno.on_loss(&flight(3_000));
    assert_eq!(reno.window(), 2_000, "never below two segments");
    let mut linux = Reno::new(RenoSettings { halve_window: true, ..settings(Increase::Rfc5681) }).unwrap();
    windows(&mut linux, &[1_000; 18]);
    linux.on_loss(&flight(10_000));
    assert_eq!((linux.window(), linux.slow_start_threshold()), (10_000, 10_000));
    linux.on_timeout(&flight(0));
    assert_eq!((linux.window(), linux.slow_start_threshold()), (1_000, 5_000));
}

#[test]
fn the_end_of_a_recovery_lets_no_burst_go() {
    for (exit, in_flight, want) in [
        (RecoveryExit::Threshold, 0, 5_000),
        (RecoveryExit::Flight, 0, 2_000),
        (RecoveryExit::Flight, 3_000, 4_000),
        (RecoveryExit::Flight, 9_000, 5_000),
    ] {
        let mut reno = Reno::new(RenoSettings { exit, ..settings(Increase::Rfc5681) }).unwrap();
        reno.on_loss(&flight(10_000));
        reno.on_recovered(&Ack { in_flight, ..ack(1_000) });
        assert_eq!(reno.window(), want, "{exit:?} with {in_flight} bytes on their way");
    }
}

#[test]
fn repeated_timeouts_keep_the_threshold() {
    let mut reno = Reno::new(settings(Increase::Rfc5681)).unwrap();
    reno.on_timeout(&flight(20_000));
    assert_eq!((reno.window(), reno.slow_start_threshold()), (1_000, 10_000));
    reno.on_timeout(&Flight { repeated: true, ..flight(1_000) });
    assert_eq!((reno.window(), reno.slow_start_threshold()), (1_000, 10_000));
    assert!(reno.in_slow_start());
    reno.on_timeout(&flight(1_000));
    assert_eq!(reno.slow_start_threshold(), 2_000);
}

#[test]
fn a_pause_takes_the_window_back_to_the_initial_one() {
    let mut reno = Reno::new(settings(Increase::Rfc5681)).unwrap();
    windows(&mut reno, &[1_000; 8]);
    reno.on_idle(Micros(1_000_000));
    assert_eq!(reno.window(), 2_000);
    reno.on_timeout(&flight(8_000));
    reno.on_idle(Micros(1_000_000));
    assert_eq!(reno.window(), 1_000, "it never raises the window");
    let mut kept =
        Reno::new(RenoSettings { restart_after_idle: false, ..settings(Increase::Rfc5681) }).unwrap();
    windows(&mut kept, &[1_000; 8]);
    kept.on_idle(Micros(1_000_000));
    assert_eq!(kept.window(), 10_000);
}

#[test]
fn a_lost_syn_leaves_one_segment() {
    let mut reno = Reno::new(settings(Increase::Rfc5681)).unwrap();
    reno.on_late_open();
    assert_eq!((reno.window(), reno.slow_start_threshold()), (1_000, u64::MAX));
}

#[test]
fn an_unused_window_does_not_grow_unless_told() {
    let unused = Ack { window_limited: false, ..ack(1_000) };
    let mut reno = Reno::new(settings(Increase::Rfc5681)).unwrap();
    reno.on_ack(&unused);
    assert_eq!(reno.window(), 2_000);
    let mut reno = Reno::new(RenoSettings { grow_unused: true, ..settings(Increase::Rfc5681) }).unwrap();
    reno.on_ack(&unused);
    assert_eq!(reno.window(), 3_000);
}

/// ns-2's, with a window of `segments` of congestion avoidance.
fn ns2(segments: u64) -> Reno {
    let mut reno = Reno::new(RenoSettings::ns2(SEGMENT, 20)).unwrap();
    assert_eq!((reno.window(), reno.slow_start_threshold()), (2_000, 20_000));
    reno.set(segments * 1_000, 2_000);
    reno
}

#[test]
fn ns2_counts_segments_and_their_parts() {
    // 4 + 1/4 + 1/4.25 + 1/4.485 + 1/4.708 = 4.920, and 1/4.920 more.
    let mut reno = ns2(4);
    assert_eq!(windows(&mut reno, &[1_000; 5]), [4_000, 4_000, 4_000, 4_000, 5_000]);
    // However much was acknowledged: 2, 2.5, 2.9.
    assert_eq!(windows(&mut ns2(1), &[9_000, 9_000, 9_000]), [2_000, 2_000, 2_000]);
}

#[test]
fn ns2_halves_to_less_than_two_segments_and_starts_slowly_then() {
    let mut reno = ns2(3);
    reno.on_loss(&flight(9_000));
    assert_eq!((reno.window(), reno.slow_start_threshold()), (1_000, 2_000));
    // 1.5 is less than two: slow start.
    assert_eq!(windows(&mut reno, &[1_000]), [2_000]);
    // 2.5, then 1/2.5.
    assert_eq!(windows(&mut reno, &[1_000, 1_000]), [2_000, 3_000]);
}

#[test]
fn ns2_halves_no_more_than_its_window() {
    let mut reno = ns2(35);
    reno.on_loss(&flight(20_000));
    assert_eq!((reno.window(), reno.slow_start_threshold()), (10_000, 10_000));
    let mut reno = ns2(35);
    reno.on_timeout(&flight(20_000));
    assert_eq!((reno.window(), reno.slow_start_threshold()), (1_000, 10_000));
    reno.on_timeout(&Flight { repeated: true, ..flight(1_000) });
    assert_eq!(reno.slow_start_threshold(), 2_000, "again and again");
}

#[test]
fn ns2_takes_partial_acknowledgements_off_and_grows_at_the_end() {
    let mut reno = ns2(20);
    reno.on_loss(&flight(20_000));
    reno.on_recovery_ack(&Ack { deflated: 3_000, ..ack(5_000) });
    assert_eq!(reno.window(), 7_000);
    // Below the threshold of ten: a segment more.
    reno.on_recovered(&ack(8_000));
    assert_eq!(reno.window(), 8_000);
    reno.on_recovery_ack(&Ack { deflated: 30_000, ..ack(30_000) });
    assert_eq!(reno.window(), 1_000);
}

#[test]
fn a_timer_that_goes_off_in_a_pause_leaves_one_segment_and_the_threshold() {
    let mut reno = ns2(12);
    reno.on_idle_timeout();
    assert_eq!((reno.window(), reno.slow_start_threshold()), (1_000, 2_000));
}

#[test]
fn refuses_settings_that_cannot_be() {
    let base = RenoSettings::rfc5681(SEGMENT);
    #[rustfmt::skip]
    let cases = [
        (RenoSettings { segment: 0, ..base },      SettingsError::Segment { got: 0 }),
        (RenoSettings { segment: 65_496, ..base }, SettingsError::Segment { got: 65_496 }),
        (settings(Increase::ByteCounting { limit: 0 }), SettingsError::CountingLimit { got: 0 }),
        (settings(Increase::ByteCounting { limit: 3 }), SettingsError::CountingLimit { got: 3 }),
        (RenoSettings { initial_threshold: 1_999, ..base },
         SettingsError::Window { got: 1_999, min: 2_000, max: u64::MAX }),
    ];
    for (settings, want) in cases {
        assert_eq!(Reno::new(settings), Err(want));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Ack(u64, bool),
    Loss(u64),
    Recovered(u64),
    Timeout(u64, bool),
    Idle,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = 0_u64..2_000_000_000;
    prop_oneof![
        4 => (0_u64..100_000, any::<bool>()).prop_map(|(bytes, limited)| Step::Ack(bytes, limited)),
        1 => bytes.clone().prop_map(Step::Loss),
        1 => bytes.clone().prop_map(Step::Recovered),
        1 => (bytes, any::<bool>()).prop_map(|(bytes, repeated)| Step::Timeout(bytes, repeated)),
        1 => Just(Step::Idle),
    ]
}

fn increase() -> impl Strategy<Value = Increase> {
    prop_oneof![
        Just(Increase::PerAck),
        Just(Increase::Rfc5681),
        (1_u32..=2).prop_map(|limit| Increase::ByteCounting { limit }),
    ]
}

proptest! {
    #[test]
    fn the_window_stays_between_a_segment_and_the_largest(
        increase in increase(),
        steps in proptest::collection::vec(step(), 0..300),
    ) {
        let mut reno = Reno::new(settings(increase)).unwrap();
        for step in steps {
            let before = reno.window();
            match step {
                Step::Ack(bytes, limited) => {
                    reno.on_ack(&Ack { window_limited: limited, ..ack(bytes) });
                    prop_assert!(reno.window() >= before);
                    // Never more than doubled, whatever an acknowledgement claims: RFC 3465's worry.
                    prop_assert!(reno.window() <= before + 2 * u64::from(SEGMENT));
                    prop_assert!(limited || reno.window() == before);
                }
                Step::Loss(bytes) => reno.on_loss(&flight(bytes)),
                Step::Recovered(bytes) => reno.on_recovered(&Ack { in_flight: bytes, ..ack(1_000) }),
                Step::Timeout(bytes, repeated) => {
                    reno.on_timeout(&Flight { repeated, ..flight(bytes) });
                    prop_assert_eq!(reno.window(), u64::from(SEGMENT));
                }
                Step::Idle => {
                    reno.on_idle(Micros(1));
                    prop_assert!(reno.window() <= before);
                }
            }
            prop_assert!(reno.window() >= u64::from(SEGMENT));
            prop_assert!(reno.slow_start_threshold() >= 2 * u64::from(SEGMENT));
        }
    }
}
