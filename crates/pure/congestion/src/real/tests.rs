use super::*;
use crate::settings::{InitialWindow, RecoveryExit};
use guestright_units::Time;

const SEGMENT: u32 = 1_000;

fn reno() -> RenoSettings {
    RenoSettings {
        initial_window: InitialWindow::Segments(2),
        exit: RecoveryExit::Threshold,
        ..RenoSettings::rfc5681(SEGMENT)
    }
}

/// In congestion avoidance, with a window of 16 segments.
fn real(change: impl FnOnce(&mut RealSettings)) -> Real {
    let mut settings = RealSettings::new(reno());
    change(&mut settings);
    let mut real = Real::new(settings).expect("settings that can be");
    real.on_loss(&flight(32_000));
    real.on_recovered(&Ack { bytes: 1_000, in_flight: 16_000, ..Ack::default() });
    assert_eq!((real.window(), real.slow_start_threshold()), (16_000, 16_000));
    real
}

fn flight(in_flight: u64) -> Flight {
    Flight { in_flight, ..Flight::default() }
}

/// 16 segments leave, the first one with nothing else on its way: a new wave; its number. The window is full unless `idle`.
fn wave(real: &mut Real, idle: bool) -> u32 {
    real.on_sent(&Sent { bytes: 1_000, in_flight: 1_000, ..Sent::default() });
    let number = real.wave().expect("waves have numbers");
    for count in 2..=16 {
        let in_flight = if idle { 2_000 } else { 1_000 * count };
        real.on_sent(&Sent { bytes: 1_000, in_flight, ..Sent::default() });
    }
    number
}

/// An acknowledgement that reports `rate` segments per second for a wave.
fn report(number: u32, rate: u64) -> Ack {
    let wave = WaveReport { number, bytes: 1_000 * rate, interval: Micros(1_000_000) };
    Ack { bytes: 1_000, window_limited: true, wave: Some(wave), ..Ack::default() }
}

fn plain() -> Ack {
    Ack { bytes: 1_000, window_limited: true, ..Ack::default() }
}

/// Sends a wave and hears how fast it came in.
fn report_rate(real: &mut Real, rate: u64) {
    let number = wave(real, false);
    real.on_ack(&report(number, rate));
}

#[test]
fn three_trends_by_hand() {
    let mut real = real(|_| ());
    assert_eq!(real.trend(), None);
    // Delta 1/8: 800 of 800, 700 of 800, 612 of 700 (at least 612.5), 612 of 612.
    for (rate, want) in [
        (800, Trend::Steady),
        (800, Trend::Steady),
        (700, Trend::Falling),
        (612, Trend::Fallen),
        (612, Trend::Steady),
        (900, Trend::Steady),
    ] {
        report_rate(&mut real, rate);
        assert_eq!(real.trend(), Some(want), "{rate}");
    }
}

#[test]
fn the_window_grows_holds_and_shrinks_with_the_rate() {
    let mut real = real(|_| ());
    // No decrease: 10^6 / 16000 = 62.5.
    report_rate(&mut real, 800);
    assert_eq!(real.window(), 16_062);
    real.on_ack(&plain());
    assert_eq!(real.window(), 16_124);
    // A small one: held, for all of the wave.
    report_rate(&mut real, 750);
    real.on_ack(&plain());
    assert_eq!(real.window(), 16_124);
    // A large one: 7/8 of 16124 is 14108.5; then nothing grows.
    report_rate(&mut real, 500);
    real.on_ack(&plain());
    assert_eq!((real.window(), real.slow_start_threshold()), (14_108, 14_108));
    // The same rate again is no decrease: a segment for each round trip, 10^6 / 14108 = 70.9, not slow start.
    report_rate(&mut real, 500);
    assert_eq!(real.window(), 14_178);
}

#[test]
fn slow_start_after_a_timeout_ends_where_gamma_reduces() {
    let mut real = real(|_| ());
    report_rate(&mut real, 800);
    real.on_timeout(&flight(16_000));
    real.on_timeout(&flight(16_000));
    assert_eq!((real.window(), real.slow_start_threshold()), (1_000, 8_000));
    // The first wave after a timeout is slower than the last before it. Nothing to reduce: slow start is still to come.
    report_rate(&mut real, 100);
    assert_eq!((real.trend(), real.window()), (Some(Trend::Fallen), 1_000));
    for rate in [200, 300, 400] {
        report_rate(&mut real, rate);
    }
    assert_eq!((real.window(), real.slow_start_threshold()), (4_000, 8_000));
    // A decrease on the way up: 3500, and from there 10^6 / 3500 for each acknowledgement.
    report_rate(&mut real, 100);
    assert_eq!((real.window(), real.slow_start_threshold()), (3_500, 3_500));
    report_rate(&mut real, 100);
    assert_eq!(real.window(), 3_785);
}

#[test]
fn a_report_counts_once() {
    let mut real = real(|_| ());
    report_rate(&mut real, 800);
    let number = wave(&mut real, false);
    real.on_ack(&report(number, 400));
    assert_eq!(real.window(), 14_054);
    for _ in 0..10 {
        // The same again, and an older one.
        real.on_ack(&report(number, 100));
        real.on_ack(&report(number - 1, 100));
    }
    assert_eq!(real.window(), 14_054);
}

#[test]
fn gamma_leaves_two_segments() {
    let mut real = real(|settings| settings.gamma = Millionths(900_000));
    report_rate(&mut real, 800);
    report_rate(&mut real, 400);
    assert_eq!(real.window(), 2_000);
    report_rate(&mut real, 200);
    assert_eq!(real.window(), 2_000);
    real.on_timeout(&flight(2_000));
    assert_eq!(real.window(), 1_000);
    report_rate(&mut real, 100);
    assert_eq!(real.window(), 1_000, "never raised");
}

#[test]
fn a_loss_is_an_error_while_there_is_bandwidth() {
    for (rates, error) in [(&[800, 800][..], true), (&[800, 750], true), (&[800, 500], false), (&[], false)] {
        let mut real = real(|_| ());
        for rate in rates {
            report_rate(&mut real, *rate);
        }
        let before = real.window();
        real.on_loss(&flight(before));
        let kept = if error { before } else { before / 2 };
        assert_eq!(real.window(), kept, "{rates:?}");
        real.on_recovery_ack(&plain());
        real.on_recovered(&plain());
        assert_eq!(real.window(), kept, "{rates:?}");
    }
}

#[test]
fn nothing_moves_the_window_in_a_recovery_from_an_error() {
    // ns-2's NewReno takes a partial acknowledgement off the window itself.
    let deflated = Ack { deflated: 3_000, ..plain() };
    for (rates, want) in [(&[800, 800][..], 16_124), (&[800, 100], 5_000)] {
        let mut real = real(|_| ());
        for rate in rates {
            report_rate(&mut real, *rate);
        }
        real.on_loss(&flight(16_000));
        real.on_recovery_ack(&deflated);
        assert_eq!(real.window(), want, "{rates:?}");
    }
}

#[test]
fn reports_in_a_recovery_do_not_move_the_window() {
    let mut real = real(|_| ());
    report_rate(&mut real, 800);
    let before = real.window();
    real.on_loss(&flight(before));
    let number = wave(&mut real, false);
    real.on_recovery_ack(&report(number, 100));
    assert_eq!((real.window(), real.trend()), (before, Some(Trend::Fallen)));
    real.on_recovered(&plain());
    assert_eq!(real.window(), before);
}

#[test]
fn the_first_timeout_is_forgiven_while_there_is_bandwidth() {
    let mut real = real(|_| ());
    report_rate(&mut real, 800);
    let (window, threshold) = (real.window(), real.slow_start_threshold());
    real.on_timeout(&flight(16_000));
    assert_eq!((real.window(), real.slow_start_threshold(), real.backs_off()), (window, threshold, false));
    assert!(!real.goes_back());
    // Another one without news is congestion.
    real.on_timeout(&Flight { repeated: true, ..flight(16_000) });
    assert_eq!((real.window(), real.slow_start_threshold(), real.backs_off()), (1_000, 8_000, true));
    assert!(real.goes_back());
    // And a third one lowers the threshold no further (RFC 5681, section 3.1).
    real.on_timeout(&Flight { repeated: true, ..flight(4_000) });
    assert_eq!((real.window(), real.slow_start_threshold(), real.backs_off()), (1_000, 8_000, true));
    // News make up for it.
    report_rate(&mut real, 900);
    real.on_timeout(&flight(16_000));
    assert_eq!((real.window(), real.backs_off()), (2_000, false));
}

#[test]
fn a_forgiven_timeout_leaves_a_recovery_alone() {
    // From an error: its end does not move the window. From congestion: its end is standard TCP's.
    for (rates, want) in [(&[800, 800][..], [16_124, 16_124, 16_124]), (&[], [8_000, 8_000, 8_000])] {
        let mut real = real(|_| ());
        for rate in rates {
            report_rate(&mut real, *rate);
        }
        let number = wave(&mut real, false);
        real.on_loss(&flight(16_000));
        let lost = real.window();
        real.on_recovery_ack(&report(number, 900));
        real.on_timeout(&flight(16_000));
        assert!(!real.goes_back());
        let kept = real.window();
        real.on_recovered(&Ack { in_flight: 16_000, ..plain() });
        assert_eq!([lost, kept, real.window()], want, "{rates:?}");
    }
}

#[test]
fn a_forgiven_timeout_can_be_made_to_go_back() {
    let mut real = real(|settings| settings.go_back = true);
    report_rate(&mut real, 800);
    let window = real.window();
    real.on_timeout(&flight(16_000));
    assert_eq!((real.window(), real.backs_off(), real.goes_back()), (window, false, true));
}

#[test]
fn a_timeout_without_bandwidth_is_standard() {
    let mut real = real(|_| ());
    report_rate(&mut real, 800);
    report_rate(&mut real, 100);
    real.on_timeout(&flight(16_000));
    assert_eq!((real.window(), real.slow_start_threshold(), real.backs_off()), (1_000, 8_000, true));
}

#[test]
fn waves_of_a_slow_application_say_nothing_of_the_path() {
    let mut real = real(|_| ());
    report_rate(&mut real, 800);
    let number = wave(&mut real, true);
    // The talker pauses: a tenth of the rate. No decrease, and nothing to compare the next wave with.
    real.on_ack(&report(number, 80));
    assert_eq!(real.trend(), Some(Trend::Steady));
    report_rate(&mut real, 400);
    assert_eq!(real.trend(), Some(Trend::Steady));
    report_rate(&mut real, 200);
    assert_eq!(real.trend(), Some(Trend::Fallen));
}

#[test]
fn a_wave_that_ended_because_all_was_sent_says_nothing_of_the_path() {
    for judged in [false, true] {
        let mut real = real(|settings| settings.ignore_application_limited = !judged);
        report_rate(&mut real, 800);
        let number = wave(&mut real, false);
        // The last of what there is; then silence, and the rate of the wave is an eighth.
        real.on_sent(&Sent { bytes: 1_000, in_flight: 16_000, last: true, ..Sent::default() });
        assert_eq!(real.wave(), Some(number), "the same wave");
        let before = real.window();
        real.on_ack(&report(number, 100));
        let (trend, shrinks) = if judged { (Trend::Fallen, true) } else { (Trend::Steady, false) };
        assert_eq!((real.trend(), real.window() < before), (Some(trend), shrinks));
        // The next one, with enough to send, is compared with none.
        report_rate(&mut real, 50);
        assert_eq!(real.trend(), Some(trend));
        report_rate(&mut real, 20);
        assert_eq!(real.trend(), Some(Trend::Fallen));
    }
}

/// What each switch does, on the same story: the rate falls by half, a segment is lost; then the rate holds, and one is lost;
/// then there is a timeout. The windows after each.
fn story(change: impl FnOnce(&mut RealSettings)) -> [u64; 5] {
    let mut real = real(change);
    report_rate(&mut real, 800);
    report_rate(&mut real, 400);
    let fallen = real.window();
    real.on_loss(&flight(16_000));
    let congestion = real.window();
    real.on_recovered(&plain());
    report_rate(&mut real, 400);
    let held = real.window();
    real.on_loss(&flight(16_000));
    let error = real.window();
    real.on_recovered(&plain());
    real.on_timeout(&flight(16_000));
    [fallen, congestion, held, error, real.window()]
}

#[test]
fn each_piece_can_be_switched_off() {
    // All in use: gamma, beta, growth (10^6 / 8000), both losses told apart, the timeout forgiven.
    assert_eq!(story(|_| ()), [14_054, 8_000, 8_125, 8_125, 8_125]);
    // Every loss is congestion.
    assert_eq!(story(|settings| settings.classifier = false), [14_054, 8_000, 8_125, 8_000, 8_000]);
    // Every timeout is.
    assert_eq!(story(|settings| settings.timeout = false), [14_054, 8_000, 8_125, 8_125, 1_000]);
    // The rate does not move the window: it grew twice, 62 and 62.
    assert_eq!(story(|settings| settings.waves = false), [16_124, 8_000, 8_125, 8_125, 8_125]);
    // Nothing of it: standard TCP.
    let none = |settings: &mut RealSettings| {
        settings.classifier = false;
        settings.timeout = false;
        settings.waves = false;
    };
    assert_eq!(story(none), [16_124, 8_000, 8_125, 8_000, 1_000]);
}

#[test]
fn a_slow_applications_waves_can_be_made_to_count() {
    let mut real = real(|settings| settings.ignore_application_limited = false);
    report_rate(&mut real, 800);
    let number = wave(&mut real, true);
    real.on_ack(&report(number, 80));
    assert_eq!(real.trend(), Some(Trend::Fallen));
}

#[test]
fn a_wave_has_a_window_of_segments_and_ends_in_silence() {
    let mut real = real(|_| ());
    let mut numbers = Vec::new();
    for count in 1..=40 {
        real.on_sent(&Sent { bytes: 1_000, in_flight: 1_000 * count.clamp(2, 16), ..Sent::default() });
        numbers.push(real.wave().unwrap());
    }
    // 16 segments each.
    assert_eq!(numbers[0] + 1, numbers[16]);
    assert_eq!((numbers[0], numbers[16], numbers[32]), (numbers[15], numbers[31], numbers[39]));
    // Alone on its way: a new wave.
    real.on_sent(&Sent { bytes: 1_000, in_flight: 1_000, ..Sent::default() });
    assert_eq!(real.wave(), Some(numbers[39] + 1));
}

#[test]
fn the_meter_reports_whole_waves_only() {
    let mut meter = WaveMeter::default();
    meter.on_segment(1, 1_000, Time(100));
    meter.on_segment(1, 1_000, Time(200));
    assert_eq!(meter.report(), None);
    // 2000 bytes from the first segment to the next wave's first one.
    meter.on_segment(2, 1_000, Time(500));
    let first = WaveReport { number: 1, bytes: 2_000, interval: Micros(400) };
    assert_eq!(meter.report(), Some(first));
    // Late ones of the wave before count nowhere.
    meter.on_segment(1, 1_000, Time(600));
    assert_eq!(meter.report(), Some(first));
    // Nothing of the third came in.
    meter.on_segment(4, 500, Time(900));
    assert_eq!(meter.report(), Some(WaveReport { number: 2, bytes: 1_000, interval: Micros(400) }));
}

#[test]
fn waves_that_come_through_a_bottleneck_have_its_rate() {
    // A segment each 8 ms, 1 Mbit/s, whatever the window is and however the segments left.
    let mut real = real(|_| ());
    let mut meter = WaveMeter::default();
    let mut reports = Vec::new();
    for count in 0..200 {
        real.on_sent(&Sent { bytes: 1_000, in_flight: 16_000, ..Sent::default() });
        meter.on_segment(real.wave().unwrap(), 1_000, Time(8_000 * count));
        if let Some(report) = meter.report() {
            assert_eq!(report.bytes * 8_000, report.interval.0 * 1_000, "{report:?}");
            reports.push(report.number);
            real.on_ack(&Ack { wave: Some(report), ..plain() });
            assert_eq!(real.trend(), Some(Trend::Steady));
        }
    }
    reports.dedup();
    // The window grows from 16 to 20 segments or so meanwhile: ten waves, each reported.
    assert!((9..=12).contains(&reports.len()), "{reports:?}");
    assert!(reports.windows(2).all(|pair| pair[1] == pair[0] + 1), "{reports:?}");
}

#[test]
fn refuses_parameters_that_cannot_be() {
    let with = |change: fn(&mut RealSettings)| {
        let mut settings = RealSettings::new(reno());
        change(&mut settings);
        Real::new(settings).map(|_| ())
    };
    assert_eq!(with(|settings| settings.gamma = Millionths::ZERO), Ok(()));
    let gamma = SettingsError::Factor { name: "gamma", got: 1_000_000, min: 0, max: 999_999 };
    assert_eq!(with(|settings| settings.gamma = Millionths::ONE), Err(gamma));
    let delta = SettingsError::Factor { name: "delta", got: 1_000_001, min: 0, max: 1_000_000 };
    assert_eq!(with(|settings| settings.delta = Millionths(1_000_001)), Err(delta));
    assert!(with(|settings| settings.beta = Millionths::ONE).is_err());
}
