//! What holds whatever happens: every packet comes back once, and nobody speaks before it may.

use crate::air::scene::Scene;
use guestright_engine::Key;
use guestright_wlan::{
    Beacons, Config, ConfigError, Eifs, IdleAccess, Mac, OnAir, OnAirKind, Output, Phy, Preamble, Protection,
    Rate, Station, StationId,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn phys() -> impl Strategy<Value = Phy> {
    let short = Phy { preamble: Preamble::Short, ..Phy::b() };
    let tiny = Phy { cw_min: 3, cw_max: 10, ..Phy::b() };
    prop_oneof![
        Just(Phy::b()),
        Just(short),
        Just(tiny),
        Just(Phy::a()),
        Just(Phy::g()),
        Just(Phy::g_beside_b())
    ]
}

fn macs() -> impl Strategy<Value = Mac> {
    let eifs = prop_oneof![Just(Eifs::Off), Just(Eifs::AfterErrors), Just(Eifs::AfterErrorsAndCollisions)];
    let access = prop_oneof![Just(IdleAccess::AfterDifs), Just(IdleAccess::AtOnce)];
    let thresholds = (proptest::option::of(0..1_500_u32), proptest::option::of(256..1_500_u32));
    let beacons = proptest::option::weighted(0.3, Just(Beacons::default()));
    let switches = (any::<bool>(), any::<bool>(), proptest::option::weighted(0.3, 0..10_u8));
    let times = (0..100_u64, proptest::option::weighted(0.3, 1..50_u64), 0..9_000_u64);
    (eifs, access, thresholds, beacons, switches, times, 1..8_u8).prop_map(
        |(eifs, idle_access, thresholds, beacons, switches, times, limit)| Mac {
            eifs,
            idle_access,
            rts_threshold: thresholds.0,
            fragmentation_threshold: thresholds.1,
            beacons,
            backoff_when_deferred: switches.0,
            difs_after_timeout: switches.1,
            capture_db: switches.2,
            driver_gap: guestright_engine::Nanos::from_micros(times.0),
            sense_time: guestright_engine::Nanos(times.2),
            lifetime: times.1.map(guestright_engine::Nanos::from_millis),
            retry_limit_short: limit,
            ..Mac::default()
        },
    )
}

/// Two cells on one channel or on two: access points 0 and 4, three stations each.
fn configs() -> impl Strategy<Value = Config> {
    let stations = (proptest::collection::vec((0..20_usize, 0..4_u8, -60..-40_i16), 8), any::<bool>());
    (phys(), macs(), stations).prop_map(|(phy, mac, (traits, same))| {
        let mut config = Config::new(if same { &[1, 1] } else { &[1, 6] }, 3);
        (config.phy, config.mac) = (phy, mac);
        for (station, (queue, errors, signal_dbm)) in config.stations.iter_mut().zip(traits) {
            let bit_error_rate = [0.0, 0.0, 1e-4, 1e-3][usize::from(errors)];
            let frame_loss = if errors == 1 { 0.3 } else { 0.0 };
            *station = Station { queue_max: queue + 1, bit_error_rate, frame_loss, signal_dbm, ..*station };
        }
        config
    })
}

/// When, from where, whereto, how long.
fn packets() -> impl Strategy<Value = Vec<(u64, u16, u16, u32)>> {
    let packet = (0..30_000_u64, 0..4_u16, 0..4_u16, 40..2_200_u32, any::<bool>(), 0..20_u8);
    let packet = packet.prop_map(|(at, from, to, bytes, second, broadcast)| {
        let cell = if second { 4 } else { 0 };
        let to = if to == from { (to + 1) % 4 } else { to };
        (at, from + cell, if broadcast == 0 { StationId::EVERYBODY.0 } else { to + cell }, bytes)
    });
    proptest::collection::vec(packet, 0..80)
}

fn run(config: &Config, packets: &[(u64, u16, u16, u32)], seed: u64) -> Scene {
    let mut scene = Scene::new(config, seed);
    for &(at, from, to, bytes) in packets {
        scene.arrive(at, from, to, bytes);
    }
    // Beacons go on for ever; everything else is over by then.
    scene.run(20_000_000);
    scene
}

fn keys(scene: &Scene) -> Vec<Key> {
    let done = scene.outputs.iter().map(|(_, output)| match output {
        Output::Delivered { msdu, .. } | Output::Dropped { msdu, .. } => msdu.key,
    });
    done.chain(scene.refused.iter().map(|(_, key)| *key)).collect()
}

/// The frames of each channel, in the order of time.
fn by_channel(air: &[OnAir]) -> BTreeMap<u8, Vec<OnAir>> {
    let mut channels = BTreeMap::<u8, Vec<OnAir>>::new();
    for frame in air {
        channels.entry(frame.channel).or_default().push(*frame);
    }
    for frames in channels.values_mut() {
        frames.sort_by_key(|frame| (frame.at, frame.is_damaged));
    }
    channels
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_packet_comes_back_exactly_once(config in configs(), packets in packets(), seed: u64) {
        let scene = run(&config, &packets, seed);
        let mut got = keys(&scene);
        got.sort_unstable();
        prop_assert_eq!(got.len(), packets.len());
        got.dedup();
        prop_assert_eq!(got.len(), packets.len(), "a packet came back twice");
        for (number, _) in config.stations.iter().enumerate() {
            let stats = scene.radio.stats(StationId(u16::try_from(number).expect("few")));
            prop_assert_eq!(stats.queued, 0, "station {}", number);
            prop_assert_eq!(
                stats.accepted,
                stats.delivered + stats.retry_limit + stats.expired + stats.broadcasts_lost,
                "station {}: {:?}", number, stats
            );
            prop_assert!(stats.queued_max <= config.stations[number].queue_max as u64);
        }
    }

    #[test]
    fn stations_deliver_in_order_and_speak_in_turn(config in configs(), packets in packets(), seed: u64) {
        let scene = run(&config, &packets, seed);
        let mut last = BTreeMap::new();
        for (_, output) in &scene.outputs {
            let Output::Delivered { from, queued_at, .. } = output else { continue };
            if let Some(before) = last.insert(*from, *queued_at) {
                prop_assert!(before <= *queued_at, "{:?} changed the order", from);
            }
        }
        let sifs = config.phy.sifs;
        let mut numbers = BTreeMap::new();
        let mut air = scene.air.clone();
        air.sort_by_key(|frame| frame.at);
        for frame in &air {
            let OnAirKind::Data { sequence, fragment, retry, .. } = frame.kind else { continue };
            let number = (sequence, fragment);
            let before = numbers.insert(frame.from, number);
            prop_assert!(before.is_none_or(|before| before <= number), "{:?}", frame);
            prop_assert_eq!(retry, before == Some(number) && frame.to != StationId::EVERYBODY, "{:?}", frame);
        }
        for (channel, frames) in by_channel(&scene.air) {
            for pair in frames.windows(2) {
                let end = pair[0].at + pair[0].duration;
                let is_collision = pair[0].is_damaged || pair[1].is_damaged;
                prop_assert!(is_collision || pair[1].at >= end + sifs, "channel {}: {:?}", channel, pair);
            }
        }
    }

    #[test]
    fn the_same_run_is_the_same(config in configs(), packets in packets(), seed: u64) {
        let (one, two) = (run(&config, &packets, seed), run(&config, &packets, seed));
        prop_assert_eq!(one.outputs, two.outputs);
        prop_assert_eq!(one.air, two.air);
    }
}

#[test]
fn lost_acks_make_duplicates_and_nobody_gets_a_packet_twice() {
    let mut config = Config::new(&[1], 1);
    config.stations[1].bit_error_rate = 1e-3;
    let packets: Vec<_> = (0..2_000).map(|number| (number * 20_000, 1, 0, 60)).collect();
    let mut scene = Scene::new(&config, 1);
    for &(at, from, to, bytes) in &packets {
        scene.arrive(at, from, to, bytes);
    }
    scene.run(50_000_000);
    assert_eq!(keys(&scene).len(), packets.len());
    assert!(scene.radio.stats(StationId(0)).duplicates > 100, "{:?}", scene.radio.stats(StationId(0)));
    // A data frame of 96 bytes survives with (1 - 1e-3)^768 = 0.464: count those that were on the air.
    let data: Vec<_> =
        scene.air.iter().filter(|frame| matches!(frame.kind, OnAirKind::Data { .. })).collect();
    let good = data.iter().filter(|frame| !frame.is_damaged).count();
    #[expect(clippy::cast_precision_loss, reason = "some thousand frames")]
    let share = good as f64 / data.len() as f64;
    assert!((share - 0.464).abs() < 0.02, "{share}");
}

#[test]
fn beacons_come_as_often_as_they_should() {
    let mut config = Config::new(&[1, 1], 1);
    config.mac.beacons = Some(Beacons::default());
    let mut scene = Scene::new(&config, 1);
    for number in 0..1_000 {
        scene.arrive(number * 10_000, 1, 0, 1_000);
    }
    scene.run(10_240_000);
    for point in [0, 2] {
        assert_eq!(scene.radio.stats(StationId(point)).beacons, 100, "access point {point}");
    }
    assert_eq!(scene.outputs.len(), 1_000, "beacons are no packets");
}

#[test]
fn packets_wait_no_longer_than_they_may() {
    let mut config = Config::new(&[1], 1);
    config.mac.lifetime = Some(guestright_engine::Nanos::from_millis(5));
    let mut scene = Scene::new(&config, 1);
    for _ in 0..50 {
        scene.arrive(0, 1, 0, 1_500);
    }
    scene.run(1_000_000);
    let stats = scene.radio.stats(StationId(1));
    assert!(stats.expired > 40 && stats.delivered >= 3, "{stats:?}");
    for (at, output) in &scene.outputs {
        if matches!(output, Output::Delivered { .. }) {
            assert!(at.0 < 5_000_000 + 2_000_000, "delivered at {at:?}");
        }
    }
}

#[test]
fn a_full_queue_counts_the_frame_in_service() {
    let mut config = Config::new(&[1], 1);
    config.stations[1].queue_max = 3;
    let mut scene = Scene::new(&config, 1);
    for at in [0, 1, 100, 101, 102] {
        scene.arrive(at, 1, 0, 60);
    }
    scene.run(100_000);
    assert_eq!((scene.outputs.len(), scene.refused.len()), (3, 2));
    assert_eq!(scene.radio.stats(StationId(1)).queue_full, 2);
}

#[test]
fn bad_configurations_are_refused_with_the_reason() {
    let good = Config::new(&[1], 2);
    let with = |change: fn(&mut Config)| {
        let mut config = good.clone();
        change(&mut config);
        config.check().expect_err("it is wrong")
    };
    assert_eq!(good.check(), Ok(()));
    #[rustfmt::skip]
    let cases = [
        (with(|config| config.stations[1].cell = 1), ConfigError::NoSuchCell { station: 1, cell: 1, cells: 1 }),
        (with(|config| config.stations[2].queue_max = 0), ConfigError::NoQueue { station: 2 }),
        (with(|config| config.stations[0].bit_error_rate = 1.0), ConfigError::BitErrorRate { station: 0, got: 1.0 }),
        (with(|config| config.stations[0].frame_loss = 1.0), ConfigError::FrameLoss { station: 0, got: 1.0 }),
        (with(|config| config.phy.cw_min = 2_000), ConfigError::ContentionWindow { min: 2_000, max: 1_023 }),
        (with(|config| config.phy.slot.0 = 0), ConfigError::Times { slot: 0, sifs: 10_000 }),
        (with(|config| config.mac.retry_limit_short = 0), ConfigError::RetryLimit { short: 0, long: 4 }),
        (with(|config| config.mac.overhead_bytes = 20), ConfigError::Overhead { got: 20 }),
        (with(|config| config.mac.fragmentation_threshold = Some(100)), ConfigError::FragmentationThreshold { got: 100, min: 256 }),
        (with(|config| config.mac.driver_gap.0 = 2_000_000_000), ConfigError::DriverGap { got: 2_000_000_000 }),
        (with(|config| config.phy.data_rate = Rate::Ofdm54), ConfigError::Rate { what: "the data rate", rate: Rate::Ofdm54, standard: "802.11b" }),
        (with(|config| config.phy.protection = Protection::CtsToSelf(Rate::Ofdm6)), ConfigError::Rate { what: "the rate of protection", rate: Rate::Ofdm6, standard: "802.11b" }),
    ];
    for (got, want) in cases {
        assert_eq!(got, want);
    }
    let crowd = Config::new(&[1], 65_536).check();
    assert_eq!(crowd, Err(ConfigError::Stations { got: 65_537, max: 65_535 }));
}

#[test]
#[should_panic(expected = "cannot send to")]
fn stations_on_two_channels_cannot_talk() {
    let mut scene = Scene::new(&Config::new(&[1, 6], 1), 1);
    scene.arrive(0, 1, 2, 60);
    scene.run(1);
}
