use super::*;
use crate::settings::{Increase, InitialWindow};

const SEGMENT: u32 = 1_000;

fn reno() -> RenoSettings {
    RenoSettings {
        initial_window: InitialWindow::Segments(2),
        exit: RecoveryExit::Threshold,
        increase: Increase::PerAck,
        ..RenoSettings::rfc5681(SEGMENT)
    }
}

/// A flow that sends its first segment at the start.
fn started(settings: WestwoodSettings) -> Westwood {
    let mut westwood = Westwood::new(settings).expect("settings that can be");
    westwood.on_sent(&Sent { now: Time(0), bytes: 1_000, ..Sent::default() });
    westwood
}

fn ack(now_ms: u64, segments: u32) -> Ack {
    Ack {
        now: Time(1_000 * now_ms),
        bytes: 1_000 * u64::from(segments),
        segments,
        window_limited: true,
        ..Ack::default()
    }
}

fn timed(now_ms: u64, segments: u32, round_trip_ms: u64) -> Ack {
    Ack { round_trip: Some(Micros(1_000 * round_trip_ms)), ..ack(now_ms, segments) }
}

fn flight(now_ms: u64) -> Flight {
    Flight { now: Time(1_000 * now_ms), in_flight: 20_000, ..Flight::default() }
}

/// A segment every 10 ms for so long: 800 kbit/s, with a round trip of 100 ms.
fn steady(westwood: &mut Westwood, from_ms: u64, acks: u64) {
    for count in 0..acks {
        westwood.on_ack(&timed(from_ms + 10 * count, 1, 100));
    }
}

#[test]
fn algorithm_1_by_hand() {
    let mut westwood = started(WestwoodSettings::algorithm_1(reno()));
    // 8000 bits in 100 ms: a sample of 80,000. (0 + 80,000 + 0) / 21 = 3809.5.
    westwood.on_ack(&ack(100, 1));
    assert_eq!(westwood.bandwidth(), 3_809);
    // In 10 ms: 800,000. (19 * 3809.5 + 880,000) / 21 = 45,351.5.
    westwood.on_ack(&ack(110, 1));
    assert_eq!(westwood.bandwidth(), 45_351);
    // Two segments in 20 ms: 800,000 again. (19 * 45,351.5 + 1,600,000) / 21 = 117,222.8.
    westwood.on_ack(&ack(130, 2));
    assert_eq!(westwood.bandwidth(), 117_222);
    // More than two count as two, after an acknowledgement was lost: 16,000 / 0.03 = 533,333.
    // (19 * 117,222.8 + 1,333,333) / 21 = 169,550.
    westwood.on_ack(&ack(160, 5));
    assert_eq!(westwood.bandwidth(), 169_550);
}

#[test]
fn duplicates_count_once() {
    let mut westwood = started(WestwoodSettings::algorithm_1(reno()));
    westwood.on_ack(&ack(10, 1));
    for now in [20, 30] {
        westwood.on_duplicate_ack(&flight(now));
    }
    westwood.on_loss(&flight(40));
    let before = westwood.bandwidth();
    // Five segments, three of which duplicates have told of: two. Four, with none left to tell of: two, the bound.
    let mut other = westwood.clone();
    westwood.on_recovered(&ack(50, 5));
    other.on_recovered(&ack(50, 4));
    assert!(westwood.bandwidth() > other.bandwidth() && other.bandwidth() > before);
    // (19 * b + 8000 * c / 0.01 + 800,000) / 21 with c of 2 and 1: they differ by 800,000 / 21.
    assert!((westwood.bandwidth() - other.bandwidth()).abs_diff(38_095) <= 1);
    // Nothing is left to be counted twice.
    assert_eq!((westwood.unaccounted, other.unaccounted), (0, 0));
}

#[test]
fn the_threshold_is_what_the_path_holds() {
    let mut westwood = started(WestwoodSettings::algorithm_1(reno()));
    steady(&mut westwood, 100, 300);
    // 800 kbit/s * 100 ms = 10,000 bytes; the last digits are rounded down.
    assert!((799_900..=800_000).contains(&westwood.bandwidth()), "{}", westwood.bandwidth());
    assert!((9_990..=10_000).contains(&westwood.pipe()), "{}", westwood.pipe());
    // Slow start had made 302 segments of it.
    assert_eq!(westwood.window(), 302_000);
    westwood.on_loss(&flight(3_100));
    let pipe = westwood.pipe();
    assert_eq!((westwood.window(), westwood.slow_start_threshold()), (pipe, pipe));
    westwood.on_recovered(&ack(3_110, 1));
    assert_eq!(westwood.window(), pipe);
}

#[test]
fn a_small_window_is_not_raised_by_a_loss() {
    let mut westwood = started(WestwoodSettings::algorithm_1(reno()));
    steady(&mut westwood, 100, 300);
    westwood.on_timeout(&flight(3_100));
    assert_eq!(westwood.window(), 1_000);
    assert!((9_990..=10_000).contains(&westwood.slow_start_threshold()));
    westwood.on_ack(&ack(3_200, 1));
    westwood.on_loss(&flight(3_210));
    assert_eq!(westwood.window(), 2_000);
    westwood.on_recovered(&ack(3_220, 1));
    assert_eq!(westwood.window(), 2_000);
}

#[test]
fn without_a_round_trip_time_two_segments_are_left() {
    let mut westwood = started(WestwoodSettings::algorithm_1(reno()));
    for now in 1..100 {
        westwood.on_ack(&ack(10 * now, 1));
    }
    westwood.on_loss(&flight(1_000));
    assert_eq!((westwood.window(), westwood.slow_start_threshold()), (2_000, 2_000));
}

#[test]
fn round_trips_come_in_ticks() {
    for (round_trip_ms, want_ms) in [(94, 90), (95, 100), (96, 100), (4, 10), (0, 10)] {
        let mut westwood = started(WestwoodSettings::ns2(reno()));
        westwood.on_ack(&timed(100, 1, 200));
        westwood.on_ack(&timed(110, 1, round_trip_ms));
        westwood.on_ack(&timed(120, 1, 300));
        assert_eq!(westwood.least_round_trip(), Some(Micros(1_000 * want_ms)), "{round_trip_ms} ms");
    }
}

#[test]
fn timeouts_divide_the_threshold_as_the_module_does() {
    let mut westwood = started(WestwoodSettings::ns2(reno()));
    let mut thresholds = Vec::new();
    for _ in 0..6 {
        steady(&mut westwood, 100, 300);
        // In slow start each time.
        westwood.reno.set(2_000, 1_000_000);
        westwood.on_timeout(&flight(3_100));
        thresholds.push((westwood.slow_start_threshold() + 50) / 100);
    }
    // 10,000 divided by 1, 2, 3, 4 and no more.
    assert_eq!(thresholds, [100, 50, 33, 25, 25, 25]);
    // In congestion avoidance: not divided.
    westwood.reno.set(8_000, 8_000);
    westwood.on_timeout(&flight(3_100));
    assert_eq!((westwood.slow_start_threshold() + 50) / 100, 100);
}

#[test]
fn the_time_constant_forgets_in_silence() {
    let filter = WestwoodFilter::TimeConstant { tau: Micros(1_000_000) };
    let mut westwood = started(WestwoodSettings { filter, ..WestwoodSettings::algorithm_1(reno()) });
    // 8000 bits in 10 ms; tau 1 s: (199 * 0 + 800,000 + 0) / 201 = 3980.1.
    westwood.on_ack(&ack(10, 1));
    assert_eq!(westwood.bandwidth(), 3_980);
    // 1 s of silence is one sample of zero over 500 ms, 3980.1 * 3/5 + 800,000 / 5 = 162,388, and one of 8000 / 0.5 = 16,000:
    // 162,388 * 3/5 + 16,000 / 5 = 100,632.8.
    westwood.on_ack(&ack(1_010, 1));
    assert_eq!(westwood.bandwidth(), 100_632);
    // An hour of silence leaves nothing but the last sample: 8000 / 0.5 / 5.
    westwood.on_ack(&ack(3_601_010, 1));
    assert_eq!(westwood.bandwidth(), 3_200);
}

#[test]
fn westwood_plus_by_hand() {
    let mut westwood = started(WestwoodSettings::plus(reno()));
    // 100 ms are not more than a round trip.
    westwood.on_ack(&timed(100, 1, 100));
    assert_eq!(westwood.bandwidth(), 0);
    // 3 segments in 120 ms: 24,000 / 0.12 = 200,000, the first sample as it is.
    westwood.on_ack(&timed(120, 2, 100));
    assert_eq!(westwood.bandwidth(), 200_000);
    // 13 segments in 130 ms: 800,000. (7 * 200 + 800) / 8 = 275, (7 * 200 + 275) / 8 = 209.375.
    for now in 1..=13 {
        westwood.on_ack(&timed(120 + 10 * now, 1, 100));
        if now < 11 {
            assert_eq!(westwood.bandwidth(), 200_000, "{now}");
        }
    }
    assert_eq!(westwood.bandwidth(), 209_375);
}

#[test]
fn in_ns2s_units_the_threshold_is_whole_segments() {
    let mut westwood = started(WestwoodSettings::ns2(RenoSettings::ns2(SEGMENT, 50)));
    steady(&mut westwood, 100, 300);
    westwood.on_loss(&flight(3_100));
    // 9999 bytes are nine segments.
    assert_eq!((westwood.window(), westwood.slow_start_threshold()), (9_000, 9_000));
}

#[test]
fn refuses_times_that_cannot_be() {
    let tau = |tau| {
        let filter = WestwoodFilter::TimeConstant { tau: Micros(tau) };
        Westwood::new(WestwoodSettings { filter, ..WestwoodSettings::algorithm_1(reno()) }).map(|_| ())
    };
    assert_eq!(tau(10_000), Ok(()));
    let refused =
        |got_us| Err(SettingsError::Duration { name: "tau", got_us, min_us: 10_000, max_us: 1_000_000_000 });
    assert_eq!(tau(9_999), refused(9_999));
    assert_eq!(tau(1_000_000_001), refused(1_000_000_001));
    let tick = Westwood::new(WestwoodSettings { tick: Some(Micros(0)), ..WestwoodSettings::ns2(reno()) });
    assert_eq!(
        tick,
        Err(SettingsError::Duration { name: "the tick", got_us: 0, min_us: 1, max_us: 1_000_000 })
    );
}
