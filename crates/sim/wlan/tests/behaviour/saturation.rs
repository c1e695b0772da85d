//! What saturated cells carry, against sums and against Bianchi's model.

use crate::air::saturated::Saturated;
use guestright_engine::Nanos;
use guestright_wlan::bianchi::Saturation;
use guestright_wlan::{Config, Mac, Phy, Preamble, Rate, StationId};

fn cell(phy: Phy, mac: Mac, stations: u16) -> (Config, Vec<(u16, u16)>) {
    let config = Config { phy, mac, ..Config::new(&[1], usize::from(stations)) };
    (config, (1..=stations).map(|station| (station, 0)).collect())
}

fn voice() -> Phy {
    Phy { ack_rate: Some(Rate::Cck11), ..Phy::b() }
}

/// Packets that are delivered in a second, over so many seconds.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn frames_per_second(air: &mut Saturated, seconds: u64) -> f64 {
    air.run(Nanos::from_seconds(seconds));
    assert!(air.dropped * 100 < air.delivered, "the retry limit is for other tests");
    air.delivered as f64 / seconds as f64
}

#[test]
fn one_station_carries_what_the_sum_of_its_times_says() {
    let short = Phy { preamble: Preamble::Short, ..voice() };
    let by_basic_rates = Phy::b();
    let slow = Phy { ack_rate: Some(Rate::Dsss1), ..Phy::b() };
    let plain = Mac { overhead_bytes: 28, ..Mac::default() };
    #[rustfmt::skip]
    let cases = [
        // Packets, DIFS + mean backoff + data + SIFS + ACK in µs.
        ("long preamble",  voice(),        Mac::default(), 60,    50.0 + 310.0 + 262.0 + 10.0 + 203.0),
        ("without LLC",    voice(),        plain,          60,    50.0 + 310.0 + 256.0 + 10.0 + 203.0),
        ("G.711",          voice(),        plain,          200,   50.0 + 310.0 + 358.0 + 10.0 + 203.0),
        ("short preamble", short,          Mac::default(), 60,    50.0 + 310.0 + 166.0 + 10.0 + 107.0),
        ("ACK at 2 Mb/s",  by_basic_rates, Mac::default(), 60,    50.0 + 310.0 + 262.0 + 10.0 + 248.0),
        ("ACK at 1 Mb/s",  slow,           Mac::default(), 60,    50.0 + 310.0 + 262.0 + 10.0 + 304.0),
        ("802.11a",        Phy::a(),       Mac::default(), 1_500, 34.0 + 67.5 + 248.0 + 16.0 + 28.0),
        ("802.11g",        Phy::g(),       Mac::default(), 1_500, 28.0 + 67.5 + 254.0 + 10.0 + 34.0),
    ];
    for (name, phy, mac, bytes, micros) in cases {
        let (config, flows) = cell(phy, mac, 1);
        let got = frames_per_second(&mut Saturated::new(&config, &flows, bytes, 1), 400);
        let want = 1e6 / micros;
        assert!((got / want - 1.0).abs() < 1e-3, "{name}: {got} packets/s, not {want}");
        let model = Saturation::new(&phy, &mac, 1, bytes).predict().frames_per_second;
        assert!((model / want - 1.0).abs() < 1e-9, "{name}: the model says {model}");
    }
}

/// Between the simulator and the model there are the ACK timeout, for which colliders wait and the model's do not, and
/// the first slot behind a frame, which only its sender can use: 2 to 4 % of the throughput with more than one station.
/// One station alone has neither. The probability of a collision is within 0.015.
#[test]
fn saturated_cells_agree_with_bianchi() {
    for (stations, least, most) in
        [(1, -0.001, 0.001), (2, -0.035, -0.015), (4, -0.04, -0.02), (10, -0.04, -0.02), (20, -0.04, -0.02)]
    {
        let (config, flows) = cell(voice(), Mac::default(), stations);
        let mut air = Saturated::new(&config, &flows, 60, 7);
        let got = frames_per_second(&mut air, 100);
        let model = Saturation::new(&voice(), &Mac::default(), u32::from(stations), 60).predict();
        let apart = got / model.frames_per_second - 1.0;
        assert!(
            (least..=most).contains(&apart),
            "{stations} stations: {got} packets/s, {apart:+.4} from {model:?}"
        );
        let collision = collision(&air, stations);
        assert!((collision - model.collision).abs() < 0.015, "{stations} stations: {collision}, {model:?}");
    }
}

#[test]
fn colliders_that_wait_for_their_ack_are_most_of_the_difference() {
    for stations in [2, 4, 10, 20] {
        let (config, flows) = cell(voice(), Mac::default(), stations);
        let got = frames_per_second(&mut Saturated::new(&config, &flows, 60, 7), 100);
        let model = Saturation::new(&voice(), &Mac::default(), u32::from(stations), 60);
        let apart = |model: &Saturation| got / model.predict().frames_per_second - 1.0;
        // The other end: as if all waited for the timeout.
        let waiting =
            Saturation { collision: model.collision + voice().response_timeout(Rate::Cck11), ..model };
        assert!(apart(&model) < 0.0 && apart(&waiting) > -0.02, "{stations} stations: {}", apart(&waiting));
    }
}

/// The share of accesses in which somebody else began too.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn collision(air: &Saturated, stations: u16) -> f64 {
    let stats = (1..=stations).map(|station| *air.radio.stats(StationId(station)));
    let (tried, collided) = stats.fold((0, 0), |sum, one| (sum.0 + one.accesses, sum.1 + one.collisions));
    collided as f64 / tried as f64
}

/// What 30 saturated stations behind RTS do in 40 s after one, with the limit of lost RTS, over ten seeds: packets given up for
/// one that is delivered, and the mean and the 95th percentile of the delay of those delivered, in µs.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn behind_rts(retry_limit_short: u8) -> [f64; 3] {
    const SEEDS: u64 = 10;
    let mac = Mac { rts_threshold: Some(0), retry_limit_short, ..Mac::default() };
    let mut sums = [0.0; 3];
    for seed in 0..SEEDS {
        let (config, flows) = cell(voice(), mac, 30);
        let mut air = Saturated::new(&config, &flows, 1_500, seed);
        air.run(Nanos::from_seconds(1));
        (air.delays, air.delivered, air.dropped) = (Some(vec![]), 0, 0);
        air.run(Nanos::from_seconds(40));
        let mut delays: Vec<u64> = air.delays.iter().flatten().map(|delay| delay.0 / 1_000).collect();
        delays.sort_unstable();
        let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64;
        let late = delays[delays.len() * 95 / 100] as f64;
        for (sum, value) in sums.iter_mut().zip([air.dropped as f64 / air.delivered as f64, mean, late]) {
            *sum += value / SEEDS as f64;
        }
    }
    sums
}

/// ns-3 3.37, `compare/rts.cc`, runs 1 to 3 of 40 s: nothing given up, mean delay and 95th percentile in µs.
const NS3_BEHIND_RTS: [(f64, f64); 3] =
    [(127_065.0, 492_448.0), (126_536.0, 492_112.0), (127_240.0, 476_632.0)];

/// In ns-3 a lost RTS counts as a short retry, and whether a packet behind an RTS is given up is asked of the long retries alone
/// (`WifiRemoteStationManager::ReportRtsFailed` and `NeedRetransmission`): it never is. IEEE 802.11-2020, 10.3.4.4, gives it
/// up when the short retries reach their limit, and so do we. So the packets with the most attempts, which wait longest, have a
/// delay in ns-3 and none here.
#[test]
fn without_a_limit_of_lost_rts_delays_are_those_of_ns3() {
    let ns3 = |of: fn(&(f64, f64)) -> f64| NS3_BEHIND_RTS.iter().map(of).sum::<f64>() / 3.0;
    let (ns3_mean, ns3_late) = (ns3(|run| run.0), ns3(|run| run.1));
    let [given_up, mean, late] = behind_rts(u8::MAX);
    assert_eq!(given_up, 0.0);
    assert!((mean / ns3_mean - 1.0).abs() < 0.03, "{mean}, ns-3 has {ns3_mean}");
    assert!((late / ns3_late - 1.0).abs() < 0.03, "{late}, ns-3 has {ns3_late}");

    let [given_up, limited_mean, limited_late] = behind_rts(7);
    assert!((0.003..0.007).contains(&given_up), "{given_up}");
    assert!((0.93..0.98).contains(&(limited_mean / mean)), "{limited_mean}, {mean}");
    assert!((limited_late / ns3_late - 1.0).abs() < 0.03, "{limited_late}, ns-3 has {ns3_late}");

    // Fewer attempts, and more of the tail is missing: far more than the limit of 7 explains.
    let [given_up, _, late] = behind_rts(4);
    assert!(given_up > 0.05 && late < 0.75 * ns3_late, "{given_up}, {late}");
}
