//! What holds whatever the configuration is.

use super::scene::{Greedy, Scene};
use guestright_engine::{Instant, Nanos, Pool, Queue, Streams};
use guestright_units::Seed;
use guestright_wlan::edca::{Aggregation, Config, ConfigError, Edca, Station, WINDOW_MAX};
use guestright_wlan::{
    AccessCategory, Band, Format, Guard, Ht, MinstrelConfig, Mode, Msdu, Output, StationId, Width,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Each MPDU is lost with a chance of its own: those that were received are not sent again, and what comes out is in order.
#[test]
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn only_what_was_lost_is_sent_again() {
    let mut config = Config::n(1);
    config.stations[1].mpdu_loss = 0.1;
    let mut scene = Scene::new(&config, &[Greedy::best_effort(1, 0)], 600, 1);
    scene.run(Nanos::from_seconds(20));
    let stats = scene.stats(1, AccessCategory::BestEffort);
    let lost = stats.mpdus_lost as f64 / stats.mpdus as f64;
    assert!((lost - 0.1).abs() < 0.005, "{lost}");
    // 0.1^7 of the MPDUs are given up: none of these.
    assert_eq!(scene.dropped, 0);
    let in_flight = stats.mpdus - stats.mpdus_lost - stats.delivered;
    assert!(in_flight <= 64, "{stats:?}");
    // A whole PSDU without any is no block ACK: 0.1^12.
    assert_eq!(stats.unanswered, 0);
}

#[test]
fn a_sender_that_adapts_finds_the_mode_for_its_distance() {
    let mode = |mcs| Mode::new(Format::Vht, Width::Mhz20, Guard::Ns800, 1, mcs).unwrap();
    let base = Config::new(Ht::new(mode(0), Band::Ghz5), 1);
    let goodput = |rate, x_m| {
        let mut config = base.clone();
        config.stations[1] = Station { rate, ..Station::at(x_m, 0.0) };
        let mut scene = Scene::new(&config, &[Greedy::best_effort(1, 0)], 600, 1);
        scene.run(Nanos::from_seconds(3));
        let before = scene.delivered;
        scene.run(Nanos::from_seconds(5));
        scene.delivered - before
    };
    use guestright_wlan::edca::RateChoice::{Adaptive, Fixed};
    for x_m in [5.0, 15.0, 25.0, 40.0] {
        let best = (0..9).map(|mcs| goodput(Fixed(mode(mcs)), x_m)).max().unwrap();
        let got = goodput(Adaptive(MinstrelConfig::default()), x_m);
        // It tries another mode in one PPDU of ten.
        assert!(got * 100 >= best * 85, "{x_m} m: {got} of {best}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let config = Config::n(1);
    let with = |change: fn(&mut Config)| {
        let mut config = config.clone();
        change(&mut config);
        config.check().unwrap_err()
    };
    assert_eq!(with(|it| it.stations.truncate(1)), ConfigError::Stations { got: 1, max: 1_000 });
    assert_eq!(with(|it| it.stations[1].queue_max = 0), ConfigError::NoQueue { station: 1 });
    assert_eq!(with(|it| it.attempts_max = 0), ConfigError::Attempts);
    assert_eq!(with(|it| it.overhead_bytes = 36), ConfigError::Overhead { got: 36 });
    assert_eq!(with(|it| it.aggregation.window = 65), ConfigError::Window { got: 65, max: 64 });
    let got = with(|it| it.aggregation.ampdu_bytes_max = 65_536);
    assert_eq!(got, ConfigError::Ampdu { got: 65_536, max: 65_535 });
    let got = with(|it| it.aggregation.amsdu_bytes_max = 8_000);
    assert_eq!(got, ConfigError::Amsdu { got: 8_000, max: 7_935 });
    assert_eq!(with(|it| it.access[0].aifsn = 0), ConfigError::Aifsn { got: 0 });
    assert_eq!(
        with(|it| it.access[1].cw_min = 2_000),
        ConfigError::ContentionWindow { min: 2_000, max: 1_023 }
    );
    assert!(matches!(with(|it| it.stations[0].mpdu_loss = 1.0), ConfigError::MpduLoss { station: 0, .. }));
    assert!(matches!(with(|it| it.stations[0].x_m = f64::NAN), ConfigError::Point { station: 0, .. }));
    assert!(matches!(with(|it| it.air.exponent = 0.0), ConfigError::Air { what: "exponent", .. }));
    assert_eq!(config.check(), Ok(()));
}

#[derive(Clone, Debug)]
struct Load {
    config: Config,
    packets: Vec<(u64, u16, u16, usize, u32)>,
    seed: u64,
}

prop_compose! {
    fn loads()(
        stations in 2_u16..6,
        format in 0_usize..3,
        mcs in 0_u8..8,
        window in 1_u16..=WINDOW_MAX,
        amsdu in prop::sample::select(vec![0, 3_839, 7_935]),
        is_aggregated in any::<bool>(),
        rts in any::<bool>(),
        has_eifs in any::<bool>(),
        loss in prop::sample::select(vec![0.0, 0.2, 0.7]),
        points in prop::collection::vec((-60.0..60.0, -60.0..60.0), 6),
    )(
        packets in prop::collection::vec((0_u64..20_000_000, 0..stations, 1..stations, 0_usize..4, 20_u32..2_000), 1..200),
        seed in any::<u64>(),
        config in Just({
            let format = [Format::Ht, Format::Vht, Format::He][format];
            let mode = Mode::new(format, Width::Mhz20, Guard::Ns800, 1, mcs).expect("all have it");
            let mut config = Config::new(Ht::new(mode, Band::Ghz2), usize::from(stations - 1));
            config.aggregation = if is_aggregated { Aggregation::standard(format) } else { Aggregation::OFF };
            config.aggregation.amsdu_bytes_max = amsdu;
            config.aggregation.window = if format == Format::He { window } else { window.min(64) };
            config.rts_threshold = rts.then_some(500);
            config.has_eifs = has_eifs;
            for (station, point) in config.stations.iter_mut().zip(points) {
                (station.x_m, station.y_m, station.mpdu_loss, station.queue_max) = (point.0, point.1, loss, 20);
            }
            config
        }),
    ) -> Load {
        Load { config, packets, seed }
    }
}

/// Everything that became of the packets, and the category of each by its key.
fn run(load: &Load) -> (Vec<(Instant, Output)>, BTreeMap<String, usize>) {
    let count = load.config.stations.len();
    let mut radio =
        Edca::new(&load.config, &Streams::new(Seed::from_number(load.seed))).expect("a good configuration");
    let (mut queue, mut pool, mut outputs, mut accepted) = (Queue::new(), Pool::new(), Vec::new(), 0);
    let (mut packets, mut categories) = (load.packets.clone(), BTreeMap::new());
    packets.sort_unstable();
    let mut packets = packets.into_iter().peekable();
    loop {
        let next = packets.peek().map(|packet| Instant(packet.0));
        if next.is_some_and(|at| queue.next_at().is_none_or(|event| at <= event)) {
            let (at, from, other, category, bytes) = packets.next().expect("it was seen");
            if queue.now().0 < at {
                queue.push(Instant(at), Event::Clock);
                while queue.now().0 < at {
                    step(&mut radio, &mut queue, &mut outputs);
                }
            }
            let to = StationId((from + other) % u16::try_from(count).expect("a few"));
            let msdu = Msdu { key: pool.insert(()), bytes, to };
            categories.insert(format!("{:?}", msdu.key), category);
            let category = AccessCategory::ALL[category];
            let mut part = guestright_engine::Part::new(&mut queue, Event::Radio);
            accepted += usize::from(radio.enqueue(StationId(from), category, msdu, &mut part));
        } else if queue.next_at().is_some() {
            step(&mut radio, &mut queue, &mut outputs);
        } else {
            break;
        }
    }
    assert_eq!(outputs.len(), accepted, "each packet has one end");
    (outputs, categories)
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Radio(guestright_wlan::edca::Event),
    Clock,
}

fn step(radio: &mut Edca, queue: &mut Queue<Event>, outputs: &mut Vec<(Instant, Output)>) {
    let Some((now, event)) = queue.pop() else { return };
    if let Event::Radio(event) = event {
        radio.handle(event, &mut guestright_engine::Part::new(queue, Event::Radio));
    }
    while let Some(output) = radio.poll_output() {
        outputs.push((now, output));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Each packet that was accepted comes to exactly one end, what is delivered of a flow is in order, and the same load has the same
    /// outputs at the same times.
    #[test]
    fn each_packet_has_one_end_and_flows_are_in_order(load in loads()) {
        let (outputs, categories) = run(&load);
        let mut last = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (now, output) in &outputs {
            let (Output::Delivered { msdu, .. } | Output::Dropped { msdu, .. }) = output;
            let key = format!("{:?}", msdu.key);
            let category = categories[&key];
            prop_assert!(seen.insert(key), "{msdu:?} has two ends");
            if let Output::Delivered { station, from, queued_at, .. } = output {
                prop_assert!(queued_at <= now);
                prop_assert_eq!(*station, msdu.to);
                let before = last.insert((*from, *station, category), *queued_at);
                prop_assert!(before.is_none_or(|before| before <= *queued_at), "{msdu:?} is out of order");
            }
        }
        prop_assert_eq!(run(&load), (outputs, categories));
    }
}
