//! What saturated cells carry, against sums of times, Bianchi's model, and the windows in which ns-3's examples want their results.

use super::scene::{Greedy, Scene, packets_per_second};
use guestright_engine::Nanos;
use guestright_wlan::bianchi::Saturation;
use guestright_wlan::edca::{Aggregation, Config};
use guestright_wlan::{Access, AccessCategory, Band, Format, Guard, Ht, Mode, Width};

pub(super) const NO_LIMIT: Nanos = Nanos(0);

fn config(mode: Mode, aggregation: Aggregation, txop_limit: Nanos) -> Config {
    let mut config = Config { aggregation, ..Config::new(Ht::new(mode, Band::Ghz5), 1) };
    for access in config.access.iter_mut().chain(&mut config.access_point) {
        access.txop_limit = txop_limit;
    }
    config
}

fn mode(format: Format, width: Width, guard: Guard, streams: u8, mcs: u8) -> Mode {
    Mode::new(format, width, guard, streams, mcs).expect("the standard has it")
}

pub(super) fn n() -> Mode {
    mode(Format::Ht, Width::Mhz20, Guard::Ns800, 1, 7)
}

pub(super) fn ac() -> Mode {
    mode(Format::Vht, Width::Mhz80, Guard::Ns400, 2, 9)
}

pub(super) fn ax() -> Mode {
    mode(Format::He, Width::Mhz80, Guard::Ns800, 2, 11)
}

/// Packets of 1,500 bytes are MPDUs of 1,538 and subframes of 1,544. Each sum is AIFS 43, 7.5 slots of 9, the data frame, SIFS 16,
/// and the answer at 24 Mb/s: an ACK of 28, a block ACK of 32, or one with 256 bits of 40.
///
/// - n alone: 36 + 4 · ⌈(1,538 · 8 + 22) / 260⌉ = 228.
/// - n, 28 MPDUs, which 5.484 ms hold: 36 + 4 · ⌈((27 · 1,544 + 1,542) · 8 + 22) / 260⌉ = 5,360.
/// - n, A-MSDUs of 5: 4 · 1,524 + 1,522 + 30 = 7,648 bytes, 36 + 4 · 236 = 980.
/// - n, 10 A-MPDUs of A-MSDUs of 2: MPDUs of 3,076, subframes of 3,080: 36 + 4 · 948 = 3,828.
/// - n, a TXOP of 2.528 ms: 12 MPDUs of 36 + 4 · 571 = 2,320; without aggregation 8 of 228 + 16 + 28, with 16 between.
/// - ac, 64 MPDUs: 44 + ⌈254 · 3.6⌉ to 4 = 960. A single one has a delimiter: 44 + 16.
/// - ax, 256 MPDUs: 50.4 + 194 · 13.6 = 2,688.8; with a window of 64: 50.4 + 49 · 13.6 = 716.8.
#[test]
fn one_station_carries_what_the_sum_of_its_times_says() {
    let ampdu = |mode: Mode| Aggregation::standard(mode.format());
    let amsdu = Aggregation { amsdu_bytes_max: 7_935, ..Aggregation::OFF };
    let both = Aggregation { ampdu_bytes_max: 32_768, window: 64, amsdu_bytes_max: 3_839 };
    let limit = Nanos::from_micros(2_528);
    let wide = Aggregation { window: 256, ..ampdu(ax()) };
    #[rustfmt::skip]
    let cases = [
        ("n alone",         config(n(), Aggregation::OFF, NO_LIMIT), 1.0,   228.0 + 16.0 + 28.0),
        ("n",               config(n(), ampdu(n()), NO_LIMIT),       28.0,  5_360.0 + 16.0 + 32.0),
        ("n, A-MSDU",       config(n(), amsdu, NO_LIMIT),            5.0,   980.0 + 16.0 + 28.0),
        ("n, both",         config(n(), both, NO_LIMIT),             20.0,  3_828.0 + 16.0 + 32.0),
        ("n, TXOP",         config(n(), ampdu(n()), limit),          12.0,  2_320.0 + 16.0 + 32.0),
        ("n alone, TXOP",   config(n(), Aggregation::OFF, limit),    8.0,   8.0 * (228.0 + 16.0 + 28.0) + 7.0 * 16.0),
        ("ac",              config(ac(), ampdu(ac()), NO_LIMIT),     64.0,  960.0 + 16.0 + 32.0),
        ("ac alone",        config(ac(), Aggregation::OFF, NO_LIMIT), 1.0,  60.0 + 16.0 + 28.0),
        ("ax",              config(ax(), wide, NO_LIMIT),            256.0, 2_688.8 + 16.0 + 40.0),
        ("ax, 64",          config(ax(), ampdu(ax()), NO_LIMIT),     64.0,  716.8 + 16.0 + 32.0),
    ];
    for (name, config, packets, micros) in cases {
        let got = packets_per_second(&config, &[Greedy::best_effort(1, 0)], 20);
        let want = packets * 1e6 / (43.0 + 67.5 + micros);
        assert!((got / want - 1.0).abs() < 5e-3, "{name}: {got} packets/s, not {want}");
    }
}

/// The same with RTS and CTS in front: 28 + 16 + 28 + 16; and in each category with its AIFS and mean backoff.
#[test]
fn categories_and_rts_cost_their_times() {
    let with_rts = Config { rts_threshold: Some(0), ..config(n(), Aggregation::OFF, NO_LIMIT) };
    let got = packets_per_second(&with_rts, &[Greedy::best_effort(1, 0)], 20);
    let want = 1e6 / (43.0 + 67.5 + 88.0 + 272.0);
    assert!((got / want - 1.0).abs() < 5e-3, "{got}, not {want}");
    #[rustfmt::skip]
    let cases = [
        (AccessCategory::Background, 16.0 + 7.0 * 9.0 + 7.5 * 9.0),
        (AccessCategory::Video,      34.0 + 3.5 * 9.0),
        (AccessCategory::Voice,      34.0 + 1.5 * 9.0),
    ];
    for (category, wait) in cases {
        let config = config(n(), Aggregation::OFF, NO_LIMIT);
        let got = packets_per_second(&config, &[Greedy { category, ..Greedy::best_effort(1, 0) }], 20);
        let want = 1e6 / (wait + 272.0);
        assert!((got / want - 1.0).abs() < 5e-3, "{category:?}: {got}, not {want}");
    }
}

/// Bianchi's model with an aggregate as its frame: 3 % of the throughput and 0.03 of the collisions. As with 802.11b (`saturation.rs`)
/// there are the timeout, for which colliders wait and the model's do not, and the first slot behind a frame, which only its sender can
/// use; so fewer collide than in the model, by which long frames gain.
#[test]
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn saturated_cells_agree_with_bianchi() {
    for (aggregation, mpdus, data, ack) in
        [(Aggregation::OFF, 1.0, 228, 28), (Aggregation::standard(Format::Ht), 28.0, 5_360, 32)]
    {
        for stations in [2, 5, 10] {
            let mut config = Config { aggregation, ..Config::n(stations) };
            config.access[AccessCategory::BestEffort.index()].txop_limit = NO_LIMIT;
            let count = u16::try_from(stations).unwrap();
            let greedy: Vec<Greedy> = (1..=count).map(|from| Greedy::best_effort(from, 0)).collect();
            let mut scene = Scene::new(&config, &greedy, 600, 1);
            scene.run(Nanos::from_seconds(60));
            let cell = Saturation {
                stations: u32::from(count),
                cw_min: 15,
                doublings: 6,
                slot: Nanos::from_micros(9),
                success: Nanos::from_micros(data + 16 + ack + 43),
                collision: Nanos::from_micros(data + 45 + 43),
            };
            let model = cell.predict();
            let over = scene.delivered as f64 / 60.0 / (model.frames_per_second * mpdus) - 1.0;
            let all = (1..=count).map(|from| scene.stats(from, AccessCategory::BestEffort));
            let (sent, failed) =
                all.fold((0, 0), |(sent, failed), stats| (sent + stats.accesses, failed + stats.unanswered));
            let collided = failed as f64 / sent as f64;
            println!(
                "{stations} stations, {mpdus} MPDUs: {over:+.4}, collisions {collided:.4}, model {:.4}",
                model.collision
            );
            assert!(over.abs() < 0.03, "{stations} stations, {mpdus} MPDUs: {over}");
            assert!(
                (collided - model.collision).abs() < 0.03,
                "{stations}: {collided}, not {}",
                model.collision
            );
        }
    }
}

/// ns-3, `examples/wireless/wifi-aggregation.cc` (revision 201e1be6) with `--verifyResults`: UDP of 1,472 bytes over 802.11n at 65 Mb/s,
/// and the windows in Mb/s that it accepts. It sends beacons, which take half a hundredth at most; there are none here.
#[test]
fn aggregation_carries_what_ns3_accepts() {
    let amsdu = Aggregation { amsdu_bytes_max: 7_935, ..Aggregation::OFF };
    let both = Aggregation { ampdu_bytes_max: 32_768, window: 64, amsdu_bytes_max: 3_839 };
    #[rustfmt::skip]
    let cases = [
        ("A-MPDU of 65 kB", Aggregation::standard(Format::Ht), 58.5..59.5),
        ("none",            Aggregation::OFF,                  30.0..31.0),
        ("A-MSDU of 8 kB",  amsdu,                             51.0..52.0),
        ("both",            both,                              58.0..59.0),
    ];
    for (name, aggregation, window) in cases {
        let config = config(n(), aggregation, NO_LIMIT);
        let got = packets_per_second(&config, &[Greedy::best_effort(0, 1)], 10) * 1_472.0 * 8.0 / 1e6;
        println!("{name}: {got:.2} Mb/s, {window:?}");
        assert!(got >= window.start && got * 0.995 <= window.end, "{name}: {got} Mb/s, not in {window:?}");
    }
}

/// Which of two windows ends first is chance's; who shares a slot collides. With AIFSN 2 and windows of up to 4 slots voice has the
/// medium nearly to itself, but not quite.
#[test]
fn a_more_urgent_category_goes_first() {
    let mut config = Config::n(2);
    config.access = Access::standards();
    let voice = Greedy { from: 1, to: 0, category: AccessCategory::Voice, bytes: 200 };
    let bulk = Greedy::best_effort(2, 0);
    let mut scene = Scene::new(&config, &[voice, bulk], 600, 1);
    scene.run(Nanos::from_seconds(20));
    let (first, second) =
        (scene.stats(1, AccessCategory::Voice).accesses, scene.stats(2, AccessCategory::BestEffort).accesses);
    assert!(first > 10 * second && second > 0, "{first} to {second}");
}

/// Two categories of one station never collide on the air, and the less urgent one loses its turn inside.
#[test]
fn categories_of_one_station_collide_inside() {
    let config = Config { aggregation: Aggregation::OFF, ..Config::n(2) };
    let category = |to: u16, category| Greedy { from: 0, to, category, bytes: 1_500 };
    let greedy = [category(1, AccessCategory::Video), category(2, AccessCategory::BestEffort)];
    let mut scene = Scene::new(&config, &greedy, 600, 1);
    scene.run(Nanos::from_seconds(20));
    let (video, bulk) = (scene.stats(0, AccessCategory::Video), scene.stats(0, AccessCategory::BestEffort));
    assert_eq!((video.unanswered, bulk.unanswered, video.internal_collisions), (0, 0, 0));
    assert!(bulk.internal_collisions > 100, "{bulk:?}");
}

/// Nothing arrives, and each packet is sent once: data 228, the ACK's timeout 45, AIFS 43, and 7.5 slots of 9 of the first window each time.
#[test]
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn whoever_gives_up_begins_with_the_first_window() {
    let mut config = config(n(), Aggregation::OFF, NO_LIMIT);
    config.attempts_max = 1;
    config.stations[1].mpdu_loss = 1.0 - 1e-9;
    let mut scene = Scene::new(&config, &[Greedy::best_effort(1, 0)], 600, 1);
    scene.run(Nanos::from_seconds(20));
    let got = scene.stats(1, AccessCategory::BestEffort).ppdus as f64 / 20.0;
    let want = 1e6 / (228.0 + 45.0 + 43.0 + 67.5);
    assert!((got / want - 1.0).abs() < 5e-3, "{got} frames/s, not {want}");
}
