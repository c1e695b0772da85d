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
