//! Stations that do not hear each other, with the access point between them.

use super::scene::{Greedy, Scene};
use guestright_engine::{Instant, Nanos, Pool, Queue, Streams};
use guestright_units::Seed;
use guestright_wlan::edca::{Aggregation, Config, Edca, Event, Station};
use guestright_wlan::{AccessCategory, Msdu, StationId};
use rand::Rng;

/// 25 m on each side with an exponent of 3: −68.6 dBm at the access point, −77.7 dBm at the other one, which hears from −75 dBm on.
fn pair() -> Config {
    let mut config = Config::n(2);
    config.air.carrier_sense_dbm = -75.0;
    config.stations[1] = Station::at(-25.0, 0.0);
    config.stations[2] = Station::at(25.0, 0.0);
    let (near, far) = (config.air.signal_dbm(25.0), config.air.signal_dbm(50.0));
    assert!((near + 68.64).abs() < 0.01 && (far + 77.67).abs() < 0.01);
    config
}

/// Both stations send packets of 1,500 bytes, each once, at random moments; the share that is lost.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn lost_at_random(config: &Config, per_second: f64, seconds: f64) -> f64 {
    let streams = Streams::new(Seed::from_number(3));
    let mut radio = Edca::new(config, &streams).expect("a good configuration");
    let (mut queue, key) = (Queue::<Option<Event>>::new(), Pool::new().insert(()));
    let mut arrivals = Vec::new();
    for from in [1, 2] {
        let (mut chance, mut at) = (streams.stream("arrivals", from), 0.0);
        while at < seconds {
            let uniform = (chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            at -= (1.0 - uniform).ln() / per_second;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some minutes")]
            arrivals.push(((at * 1e9) as u64, u16::try_from(from).expect("1 or 2")));
        }
    }
    arrivals.sort_unstable();
    for (at, _) in &arrivals {
        queue.push(Instant(*at), None);
    }
    let mut senders = arrivals.iter().map(|(_, from)| *from);
    while let Some((_, event)) = queue.pop() {
        let mut part = guestright_engine::Part::new(&mut queue, Some);
        if let Some(event) = event {
            radio.handle(event, &mut part);
        } else {
            let msdu = Msdu { key, bytes: 1_500, to: StationId(0) };
            let from = StationId(senders.next().expect("one for each arrival"));
            assert!(radio.enqueue(from, AccessCategory::BestEffort, msdu, &mut part));
        }
        while radio.poll_output().is_some() {}
    }
    let sum = |of: fn(&guestright_wlan::edca::CategoryStats) -> u64| {
        [1, 2].map(|from| of(radio.stats(StationId(from), AccessCategory::BestEffort))).iter().sum::<u64>()
            as f64
    };
    assert_eq!(sum(|stats| stats.accepted), sum(|stats| stats.delivered + stats.retry_limit));
    sum(|stats| stats.retry_limit) / sum(|stats| stats.accepted)
}

/// A frame of `T` is lost if the other station begins one within `T` before it or behind, or one's own begins within the SIFS behind the
/// other's frame, because the access point answers then: `1 − e^(−λ(2T + SIFS))`, the formula of pure ALOHA with one other sender. With
/// RTS `T` is 28 µs instead of 228. What both stations put off because of an ACK or a reservation meets more often, by the square of the
/// load: some hundredths of these shares.
#[test]
fn hidden_stations_collide_as_often_as_their_frames_overlap() {
    let (per_second, seconds) = (50.0, 3_000.0);
    let once = Config { attempts_max: 1, aggregation: Aggregation::OFF, ..pair() };
    let want = |frame: f64| 1.0 - (-per_second * (2.0 * frame + 16.0) / 1e6).exp();
    let got = lost_at_random(&once, per_second, seconds);
    println!("without RTS {got:.5}, by the formula {:.5}", want(228.0));
    assert!((got / want(228.0) - 1.0).abs() < 0.04, "{got}, not {}", want(228.0));
    let announced = Config { rts_threshold: Some(0), ..once.clone() };
    let got = lost_at_random(&announced, per_second, seconds);
    println!("with RTS {got:.5}, by the formula {:.5}", want(28.0));
    assert!((got / want(28.0) - 1.0).abs() < 0.15, "{got}, not {}", want(28.0));
    // Who hears the other collides only in the same slot.
    let mut open = once;
    open.air.carrier_sense_dbm = -82.0;
    let got = lost_at_random(&open, per_second, seconds);
    assert!(got < 0.001, "{got}");
}

/// Both always have packets: without RTS most frames are lost, with RTS nearly none.
#[test]
fn rts_brings_back_what_hidden_stations_lose() {
    let run = |rts_threshold, carrier_sense_dbm| {
        let mut config = Config { rts_threshold, ..pair() };
        config.air.carrier_sense_dbm = carrier_sense_dbm;
        let greedy = [Greedy::best_effort(1, 0), Greedy::best_effort(2, 0)];
        let mut scene = Scene::new(&config, &greedy, 600, 1);
        scene.run(Nanos::from_seconds(20));
        let stats = [1, 2].map(|from| scene.stats(from, AccessCategory::BestEffort));
        let sum = |of: fn(&guestright_wlan::edca::CategoryStats) -> u64| stats.iter().map(of).sum::<u64>();
        let (lost, sent) = (sum(|stats| stats.mpdus_lost), sum(|stats| stats.mpdus));
        println!(
            "{rts_threshold:?} {carrier_sense_dbm}: {} delivered, {lost} of {sent} MPDUs lost",
            scene.delivered
        );
        (scene.delivered, lost, sent)
    };
    let (open, hidden, announced) = (run(None, -82.0), run(None, -75.0), run(Some(0), -75.0));
    assert!(hidden.1 * 4 > hidden.2, "{hidden:?}");
    assert!(announced.1 * 100 < announced.2, "{announced:?}");
    assert!(announced.0 > hidden.0 && announced.0 * 10 > open.0 * 8, "{open:?} {hidden:?} {announced:?}");
}
