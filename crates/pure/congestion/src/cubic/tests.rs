use super::*;
use crate::settings::{InitialWindow, RecoveryExit};

const SEGMENT: u32 = 1_000;

fn reno() -> RenoSettings {
    RenoSettings {
        initial_window: InitialWindow::Segments(10),
        exit: RecoveryExit::Threshold,
        grow_unused: false,
        ..RenoSettings::rfc5681(SEGMENT)
    }
}

fn cubic(change: impl FnOnce(&mut CubicSettings)) -> Cubic {
    let mut settings = CubicSettings::rfc9438(reno());
    change(&mut settings);
    Cubic::new(settings).expect("settings that can be")
}

fn ack(now_ms: u64) -> Ack {
    Ack { now: Time(1_000 * now_ms), bytes: 1_000, window_limited: true, ..Ack::default() }
}

fn timed(now_ms: u64) -> Ack {
    Ack { round_trip: Some(Micros(100_000)), ..ack(now_ms) }
}

fn flight(in_flight: u64) -> Flight {
    Flight { in_flight, ..Flight::default() }
}

/// A window of 100 segments is lost at; then recovered.
fn after_a_loss(change: impl FnOnce(&mut CubicSettings)) -> Cubic {
    let mut cubic = cubic(change);
    for _ in 0..90 {
        cubic.on_ack(&timed(0));
    }
    assert_eq!(cubic.window(), 100_000);
    cubic.on_loss(&flight(100_000));
    cubic.on_recovered(&timed(0));
    cubic
}

#[test]
fn a_loss_leaves_seven_tenths() {
    let mut cubic = after_a_loss(|_| ());
    assert_eq!(
        (cubic.window(), cubic.slow_start_threshold(), cubic.window_max()),
        (70_000, 70_000, Some(100_000))
    );
    // Fast convergence: 70 were less than 100, so 70 * (1 + 0.7) / 2 = 59.5.
    cubic.on_loss(&flight(70_000));
    assert_eq!((cubic.window(), cubic.window_max()), (49_000, Some(59_500)));
    let mut without = after_a_loss(|settings| settings.fast_convergence = false);
    without.on_loss(&flight(70_000));
    assert_eq!((without.window(), without.window_max()), (49_000, Some(70_000)));
}

#[test]
fn the_first_steps_by_hand() {
    let mut cubic = after_a_loss(|settings| settings.friendly = false);
    // K = cbrt(30 / 0.4) = 4.217163 s. W(0.1 s) = 100 - 0.4 * 4.117163^3 = 72.084; (72,084 - 70,000) * 1000 / 70,000 = 29.
    cubic.on_ack(&ack(1_000));
    assert_eq!(cubic.window(), 70_029);
    // 1 s on: W(1.1 s) = 100 - 0.4 * 3.117163^3 = 87.884; (87,884 - 70,029) / 70.029 = 254.
    cubic.on_ack(&ack(2_000));
    assert_eq!(cubic.window(), 70_029 + 255);
    // 20 s on the target is beyond 1.5 times the window: half a segment for a segment.
    let before = cubic.window();
    cubic.on_ack(&ack(21_000));
    assert_eq!(cubic.window(), before + 500);
}

#[test]
fn the_window_follows_the_curve_to_its_flat_part_and_beyond() {
    let mut cubic = after_a_loss(|settings| settings.friendly = false);
    // A window of acknowledgements each 100 ms.
    let mut at = Vec::new();
    for tenth in 0..70 {
        for _ in 0..cubic.window() / 1_000 {
            cubic.on_ack(&ack(1_000 + 100 * tenth));
        }
        at.push(cubic.window() / 100);
    }
    // W(t) at 1.1, 2.1, 4.1, 5.2, 7.0 s after the beginning: 87.9, 96.2, 100.0, 100.4, 108.6.
    // What is reached in a round trip is (1 - 1/e) of the way at least, so it lags by a round trip or so.
    for (tenth, least, most) in
        [(10, 855, 880), (20, 950, 963), (40, 997, 1_001), (51, 1_001, 1_004), (69, 1_060, 1_087)]
    {
        assert!((least..=most).contains(&at[tenth]), "{tenth}: {}", at[tenth]);
    }
}

#[test]
fn it_is_never_slower_than_standard_tcp() {
    // 20 ms: the curve needs K = cbrt(3 / 0.4) = 1.96 s from 7 segments back to 10, standard TCP with alpha 9/17 six round trips.
    let run = |friendly: bool| {
        let mut cubic = cubic(|settings| settings.friendly = friendly);
        cubic.on_loss(&flight(10_000));
        cubic.on_recovered(&ack(0));
        assert_eq!(cubic.window(), 7_000);
        for round in 0..12 {
            for _ in 0..cubic.window() / 1_000 {
                cubic.on_ack(&Ack { round_trip: Some(Micros(20_000)), ..ack(1_000 + 20 * round) });
            }
        }
        cubic.window()
    };
    // Alpha is 0.9 / 1.7 = 0.53 until it is back at 10 segments, then 1: 3 segments in 6 round trips or so, 6 in the other 6.
    let (friendly, alone) = (run(true), run(false));
    assert!((11_500..=16_000).contains(&friendly), "{friendly}");
    assert!(alone < 9_500, "{alone}");
}

#[test]
fn the_friend_by_hand() {
    let settings = CubicSettings::rfc9438(reno());
    let mut friend = Friend::new(70_000);
    // 3 * 0.3 / 1.7 * 1000 * 1000 / 70,000 = 7.563.
    friend.advance(1_000, 70_000, 100_000, &settings);
    assert_eq!(friend.window(), 70_007);
    // 0.563 are left over: 15.126.
    friend.advance(1_000, 70_000, 100_000, &settings);
    assert_eq!(friend.window(), 70_015);
    // Back where it was: alpha is 1, 10^6 / 100,000.
    let mut back = Friend::new(100_000);
    back.advance(1_000, 100_000, 100_000, &settings);
    assert_eq!(back.window(), 100_010);
}

#[test]
fn after_a_timeout_it_starts_on_the_flat_part() {
    let mut cubic = after_a_loss(|settings| settings.friendly = false);
    cubic.on_timeout(&flight(70_000));
    assert_eq!((cubic.window(), cubic.slow_start_threshold(), cubic.window_max()), (1_000, 49_000, None));
    cubic.on_timeout(&Flight { repeated: true, ..flight(1_000) });
    assert_eq!(cubic.slow_start_threshold(), 49_000);
    for _ in 0..48 {
        cubic.on_ack(&ack(5_000));
    }
    assert_eq!(cubic.window(), 49_000);
    // K = 0, Wmax = cwnd: W(0.1 s) = 49 + 0.4 * 0.001.
    cubic.on_ack(&ack(6_000));
    assert_eq!(cubic.window(), 49_000);
    // 2 s later: 49 + 0.4 * 2.1^3 = 52.7044; 3704.4 / 49 = 75.6.
    cubic.on_ack(&ack(8_000));
    assert_eq!(cubic.window(), 49_075);
}

#[test]
fn time_that_the_application_did_not_use_does_not_count() {
    let mut busy = after_a_loss(|settings| settings.friendly = false);
    busy.on_ack(&ack(1_000));
    let mut idle = busy.clone();
    let mut paused = busy.clone();
    // 3 s in which the window was never full.
    for now in 1..=30 {
        idle.on_ack(&Ack { window_limited: false, ..ack(1_000 + 100 * now) });
    }
    assert_eq!(idle.window(), 70_029);
    idle.on_ack(&ack(5_000));
    // As if it was 2 s.
    busy.on_ack(&ack(2_000));
    assert_eq!(idle.window(), busy.window());
    // A pause of 3 s, seen by the sender.
    let threshold = paused.slow_start_threshold();
    paused.on_idle(Micros(3_000_000));
    assert_eq!(paused.window(), 10_000);
    paused.reno.set(70_029, threshold);
    paused.on_ack(&ack(5_000));
    assert_eq!(paused.window(), busy.window());
}

#[test]
fn a_mark_is_answered_as_a_loss() {
    let mut cubic = cubic(|_| ());
    cubic.on_mark(&flight(10_000));
    assert_eq!(
        (cubic.window(), cubic.slow_start_threshold(), cubic.window_max()),
        (7_000, 7_000, Some(10_000))
    );
}

#[test]
fn refuses_parameters_that_cannot_be() {
    let with = |change: fn(&mut CubicSettings)| {
        let mut settings = CubicSettings::rfc9438(reno());
        change(&mut settings);
        Cubic::new(settings).map(|_| ())
    };
    let c = SettingsError::Factor { name: "C", got: 0, min: 1, max: 100_000_000 };
    assert_eq!(with(|settings| settings.c = Millionths::ZERO), Err(c));
    let beta = SettingsError::Factor { name: "beta", got: 1_000_000, min: 1, max: 999_999 };
    assert_eq!(with(|settings| settings.beta = Millionths::ONE), Err(beta));
}
