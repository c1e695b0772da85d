use super::*;
use crate::settings::InitialWindow;
use proptest::prelude::*;

const SEGMENT: u32 = 1_000;

fn reno() -> RenoSettings {
    RenoSettings { initial_window: InitialWindow::Segments(2), ..RenoSettings::rfc5681(SEGMENT) }
}

fn aimd(alpha: u32, beta: u32) -> Aimd {
    let settings =
        AimdSettings { alpha: Millionths(alpha), beta: Millionths(beta), ..AimdSettings::standard(reno()) };
    Aimd::new(settings).expect("settings that can be")
}

fn ack(bytes: u64) -> Ack {
    Ack { bytes, window_limited: true, ..Ack::default() }
}

fn flight(in_flight: u64) -> Flight {
    Flight { in_flight, ..Flight::default() }
}

/// The window after each of `acks`.
fn windows(aimd: &mut Aimd, acks: &[u64]) -> Vec<u64> {
    acks.iter()
        .map(|bytes| {
            aimd.on_ack(&ack(*bytes));
            aimd.window()
        })
        .collect()
}

#[test]
fn beta_is_what_is_kept_and_alpha_what_is_added() {
    let mut aimd = aimd(312_500, 875_000);
    aimd.on_loss(&flight(8_000));
    // 7/8 of 8 segments.
    assert_eq!((aimd.window(), aimd.slow_start_threshold()), (7_000, 7_000));
    // 0.3125 * 10^6 = 312500 bytes^2 for each acknowledgement: / 7000 = 44, 4500 left over; 317000 / 7044 = 45, 20 left
    // over; 312520 / 7089 = 44.
    assert_eq!(windows(&mut aimd, &[1_000; 3]), [7_044, 7_089, 7_133]);
}

#[test]
fn a_window_grows_by_alpha_in_a_round_trip() {
    for (alpha, least, most) in [(312_500, 306, 313), (1_000_000, 970, 1_001), (3_000_000, 2_880, 3_001)] {
        let mut aimd = aimd(alpha, 700_000);
        aimd.on_loss(&flight(100_000));
        assert_eq!(aimd.window(), 70_000);
        windows(&mut aimd, &[1_000; 70]);
        // A little less than alpha, since the window is larger at the end than at the start.
        let more = aimd.window() - 70_000;
        assert!((least..=most).contains(&more), "alpha {alpha}: {more}");
    }
}

#[test]
fn byte_counting_adds_a_segment_for_each_window_over_alpha() {
    let settings = AimdSettings {
        reno: RenoSettings { increase: Increase::ByteCounting { limit: 2 }, ..reno() },
        alpha: Millionths::HALF,
        beta: Millionths::HALF,
        halve_in_slow_start: false,
    };
    let mut aimd = Aimd::new(settings).unwrap();
    aimd.on_loss(&flight(8_000));
    // Alpha 1/2: a segment for each two windows of 4000 bytes.
    assert_eq!(windows(&mut aimd, &[2_000; 4]), [4_000, 4_000, 4_000, 5_000]);
    assert_eq!(windows(&mut aimd, &[2_000; 5]), [5_000, 5_000, 5_000, 5_000, 6_000]);
}

#[test]
fn slow_start_timeouts_and_pauses_are_renos() {
    let mut aimd = aimd(312_500, 875_000);
    assert_eq!(windows(&mut aimd, &[1_000, 1_000]), [3_000, 4_000]);
    aimd.on_timeout(&flight(16_000));
    // 7/8 of 16 segments.
    assert_eq!((aimd.window(), aimd.slow_start_threshold()), (1_000, 14_000));
    aimd.on_timeout(&Flight { repeated: true, ..flight(4_000) });
    assert_eq!((aimd.window(), aimd.slow_start_threshold()), (1_000, 14_000));
    assert_eq!(windows(&mut aimd, &[1_000; 3]), [2_000, 3_000, 4_000]);
    aimd.on_idle(Micros(2_000_000));
    assert_eq!(aimd.window(), 2_000);
}

#[test]
fn a_mark_is_a_loss_without_a_recovery() {
    let mut aimd = aimd(312_500, 875_000);
    aimd.on_mark(&flight(8_000));
    assert_eq!((aimd.window(), aimd.slow_start_threshold()), (7_000, 7_000));
}

#[test]
fn counted_in_segments_the_window_has_whole_ones() {
    let settings = AimdSettings::smooth(RenoSettings::ns2(SEGMENT, 20));
    let mut aimd = Aimd::new(settings).unwrap();
    windows(&mut aimd, &[1_000; 7]);
    assert_eq!(aimd.window(), 9_000);
    aimd.on_loss(&flight(9_000));
    // 7.875 segments: the threshold and what is shown are 7, the rest is kept.
    assert_eq!((aimd.window(), aimd.slow_start_threshold(), aimd.fine_window()), (7_000, 7_000, 7_875));
    // 0.3125 / 7.875 = 0.0397 for each: the fourth makes it 8.03.
    assert_eq!(windows(&mut aimd, &[1_000; 4]), [7_000, 7_000, 7_000, 8_000]);
}

#[test]
fn in_slow_start_it_may_halve_whatever_beta_is() {
    let settings = AimdSettings { halve_in_slow_start: true, ..AimdSettings::smooth(reno()) };
    let mut aimd = Aimd::new(settings).unwrap();
    // The first loss, in slow start.
    aimd.on_loss(&flight(16_000));
    assert_eq!((aimd.window(), aimd.slow_start_threshold()), (8_000, 8_000));
    // In congestion avoidance: 7/8.
    aimd.on_loss(&flight(8_000));
    assert_eq!((aimd.window(), aimd.slow_start_threshold()), (7_000, 7_000));
    // A timeout, and a loss in the slow start after it.
    aimd.on_timeout(&flight(7_000));
    assert_eq!((aimd.window(), aimd.slow_start_threshold()), (1_000, 3_500));
    aimd.on_loss(&flight(6_000));
    assert_eq!((aimd.window(), aimd.slow_start_threshold()), (3_000, 3_000));
}

#[test]
fn refuses_parameters_that_cannot_be() {
    let with = |alpha, beta| {
        Aimd::new(AimdSettings {
            alpha: Millionths(alpha),
            beta: Millionths(beta),
            ..AimdSettings::standard(reno())
        })
        .map(|_| ())
    };
    assert_eq!(with(1, 1), Ok(()));
    assert_eq!(with(100_000_000, 999_999), Ok(()));
    let alpha = |got| Err(SettingsError::Factor { name: "alpha", got, min: 1, max: 100_000_000 });
    let beta = |got| Err(SettingsError::Factor { name: "beta", got, min: 1, max: 999_999 });
    assert_eq!(with(0, 500_000), alpha(0));
    assert_eq!(with(100_000_001, 500_000), alpha(100_000_001));
    assert_eq!(with(1_000_000, 0), beta(0));
    assert_eq!(with(1_000_000, 1_000_000), beta(1_000_000));
}

proptest! {
    #[test]
    fn with_alpha_one_and_beta_one_half_it_is_reno(
        ns2: bool,
        hooks in proptest::collection::vec((0_u8..7, 0_u64..60_000, any::<bool>()), 0..200),
    ) {
        let settings = if ns2 { RenoSettings::ns2(SEGMENT, 40) } else { reno() };
        let mut reno = Reno::new(settings).unwrap();
        let mut aimd = Aimd::new(AimdSettings::standard(settings)).unwrap();
        for (hook, bytes, flag) in hooks {
            let ack = Ack { bytes, in_flight: bytes, window_limited: flag, ..Ack::default() };
            let flight = Flight { in_flight: bytes, repeated: flag, ..Flight::default() };
            for controller in [&mut reno as &mut dyn Controller, &mut aimd] {
                match hook {
                    0 => controller.on_loss(&flight),
                    1 => controller.on_recovered(&ack),
                    2 => controller.on_timeout(&flight),
                    3 => controller.on_idle(Micros(bytes)),
                    4 => controller.on_idle_timeout(),
                    5 => controller.on_mark(&flight),
                    _ => controller.on_ack(&ack),
                }
            }
            prop_assert_eq!(reno.window(), aimd.window());
            prop_assert_eq!(reno.slow_start_threshold(), aimd.slow_start_threshold());
        }
    }
}
