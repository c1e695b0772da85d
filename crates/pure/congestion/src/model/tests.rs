use super::*;
use proptest::prelude::*;

const PATH: PathModel = PathModel { loss_rate: 0.01, round_trip_s: 0.1, timeout_s: 1.0, ack_every: 1.0 };

fn near(got: Option<f64>, want: f64) {
    let got = got.expect("the numbers make sense");
    assert!((got - want).abs() <= 1e-6 * want, "{got}, not {want}");
}

#[test]
fn equation_1_by_hand() {
    // sqrt(2 * 0.01 / 3) = 0.0816497; 3 sqrt(3 * 0.01 / 8) = 0.1837117; 1 + 32 * 10^-4 = 1.0032.
    // 0.1 * 0.0816497 + 1 * 0.1837117 * 0.01 * 1.0032 = 0.008164966 + 0.001842996 = 0.010007962 s per packet.
    near(throughput(AimdModel::STANDARD, PATH), 99.920_448);
    // Two packets for each acknowledgement: both roots times sqrt(2), 0.010007962 * 1.41421356 = 0.0141533953.
    near(throughput(AimdModel::STANDARD, PathModel { ack_every: 2.0, ..PATH }), 70.654_424);
}

#[test]
fn timeouts_count_once_at_most() {
    // p = 0.5: 3 sqrt(3 / 16) = 1.299 is more than 1. 0.1 sqrt(1/3) + 0.5 * (1 + 8) = 0.0577350 + 4.5 = 4.5577350.
    near(throughput(AimdModel::STANDARD, PathModel { loss_rate: 0.5, ..PATH }), 0.219_407_227);
}

#[test]
fn as_printed_it_promises_ten_times_as_much() {
    // 0.1 * 0.8164966 * 0.01 + 1.8371173 * 0.01 * 0.01 * 1.0032 = 0.00081649658 + 0.00018429961 = 0.00100079619.
    near(throughput_as_printed(AimdModel::STANDARD, PATH), 999.204_444);
    // Without losses to tell p from sqrt(p) they are the same: p = 1.
    let all = PathModel { loss_rate: 1.0, ..PATH };
    let aimd = AimdModel { alpha: 0.5, beta: 0.8 };
    assert_eq!(throughput(aimd, all), throughput_as_printed(aimd, all));
}

#[test]
fn equation_2_by_hand_and_as_printed() {
    // From 8 to 16 segments by one each round trip: 8 steps, and the one of the loss.
    near(epoch(AimdModel::STANDARD, 16.0), 9.0);
    near(epoch_as_printed(AimdModel::STANDARD, 16.0), 9.0);
    // From 14 to 16 by 0.3125: 6.4 steps. Printed is the way from 0 to 14.
    let smooth = AimdModel { alpha: 0.3125, beta: 0.875 };
    near(epoch(smooth, 16.0), 7.4);
    near(epoch_as_printed(smooth, 16.0), 45.8);
}

#[test]
fn an_epoch_carries_one_loss() {
    // W = sqrt(2 / (0.75 * 0.01)) = sqrt(266.67) = 16.33: from 8.16 to 16.33 in 8.16 round trips of 12.25 packets: 100.
    let window = window_at_loss(AimdModel::STANDARD, PATH).unwrap();
    near(Some(window), 16.329_932);
    let rounds = epoch(AimdModel::STANDARD, window).unwrap() - 1.0;
    near(Some(rounds * 0.75 * window), 100.0);
}

#[test]
fn friendly_alphas_by_hand() {
    near(friendly_alpha_of_windows(0.5), 1.0);
    near(friendly_alpha_of_timeouts(0.5), 1.0);
    // Yang and Lam: 4 (1 - 49/64) / 3 = 0.3125; the other rule gives 3 / 15 = 0.2.
    near(friendly_alpha_of_timeouts(0.875), 0.3125);
    near(friendly_alpha_of_windows(0.875), 0.2);
    assert_eq!((friendly_alpha_of_windows(0.0), friendly_alpha_of_timeouts(1.0)), (None, None));
}

#[test]
fn what_makes_no_sense_has_no_answer() {
    let bad = [
        PathModel { loss_rate: 0.0, ..PATH },
        PathModel { loss_rate: 1.1, ..PATH },
        PathModel { loss_rate: f64::NAN, ..PATH },
        PathModel { round_trip_s: 0.0, ..PATH },
        PathModel { timeout_s: -1.0, ..PATH },
        PathModel { timeout_s: f64::INFINITY, ..PATH },
        PathModel { ack_every: 0.0, ..PATH },
    ];
    for path in bad {
        assert_eq!(throughput(AimdModel::STANDARD, path), None, "{path:?}");
        assert_eq!(throughput_as_printed(AimdModel::STANDARD, path), None, "{path:?}");
        assert_eq!(friendly_alpha(0.5, path), None, "{path:?}");
    }
    for aimd in [AimdModel { alpha: 0.0, beta: 0.5 }, AimdModel { alpha: 1.0, beta: 1.0 }] {
        assert_eq!(throughput(aimd, PATH), None, "{aimd:?}");
        assert_eq!(epoch(aimd, 10.0), None, "{aimd:?}");
    }
    assert_eq!(epoch(AimdModel::STANDARD, 0.0), None);
}

proptest! {
    #[test]
    fn the_friendly_alpha_is_friendly(
        beta in 0.05..0.98_f64,
        loss_rate in 0.0001..0.5_f64,
        round_trip_s in 0.001..1.0_f64,
        timeout_s in 0.0..4.0_f64,
    ) {
        let path = PathModel { loss_rate, round_trip_s, timeout_s, ack_every: 1.0 };
        if let Some(alpha) = friendly_alpha(beta, path) {
            let standard = throughput(AimdModel::STANDARD, path).unwrap();
            let friendly = throughput(AimdModel { alpha, beta }, path).unwrap();
            prop_assert!((friendly - standard).abs() <= 1e-6 * standard, "{friendly}, {standard}");
        }
    }

    #[test]
    fn more_losses_carry_less(p in 0.0001..0.9_f64, more in 0.0001..0.1_f64, beta in 0.05..0.98_f64) {
        let aimd = AimdModel { alpha: 1.0, beta };
        let few = throughput(aimd, PathModel { loss_rate: p, ..PATH }).unwrap();
        let many = throughput(aimd, PathModel { loss_rate: p + more, ..PATH }).unwrap();
        prop_assert!(many < few);
    }
}
