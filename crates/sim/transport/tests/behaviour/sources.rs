//! The law of the sources against closed forms, and workloads as text.

use guestright_engine::{Instant, Nanos, Stream, Streams};
use guestright_transport::{
    Reading, Source, SourceError, SourceKind, SourceSettings, Workload, WorkloadError,
};
use guestright_units::Seed;
use proptest::prelude::*;

fn chance(number: u64) -> Stream {
    Streams::new(Seed::from_number(8)).stream("voice", number)
}

fn seconds(count: u64) -> Instant {
    Instant::START + Nanos::from_seconds(count)
}

fn times(settings: SourceSettings, from: Instant, end: Instant, chance: &mut Stream) -> Vec<Instant> {
    Source::new(settings, from, end, chance).expect("the settings can be").collect()
}

fn exponential() -> SourceSettings {
    SourceSettings { kind: SourceKind::Exponential, ..SourceSettings::paper_c(160) }
}

/// The first `count` silences, in seconds, and the packets of the bursts behind them.
fn law(settings: SourceSettings, count: usize) -> (Vec<f64>, Vec<f64>) {
    let mut chance = chance(1);
    let mut source =
        Source::new(settings, Instant::START, seconds(300_000), &mut chance).expect("they can be");
    let interval = settings.packets_last(1);
    let (mut last, mut silences, mut bursts) = (Instant::START, Vec::new(), Vec::new());
    let mut packets = 0_u32;
    while bursts.len() < count {
        let at = source.next().expect("the end is far");
        let pause = at.since(last).0 - interval.0;
        // Packets of a burst are an interval apart; the shortest Pareto silence is 0.45 s.
        if pause > 1 {
            silences.push(pause as f64 / 1e9);
            if packets > 0 {
                bursts.push(f64::from(packets));
            }
            packets = 0;
        }
        packets += 1;
        last = at;
    }
    silences.truncate(count);
    (silences, bursts)
}

const COUNT: usize = 50_000;

/// The share of values above `limit` is `want`, to within five standard errors.
fn check_tail(values: &[f64], limit: f64, want: f64) {
    let count = values.len() as f64;
    let got = values.iter().filter(|value| **value > limit).count() as f64 / count;
    let error = 5.0 * (want * (1.0 - want) / count).sqrt() + 1.0 / count;
    assert!((got - want).abs() < error, "above {limit}: {got}, want {want} +- {error}");
}

#[test]
fn pareto_silences_and_bursts_have_their_tails_and_means() {
    let (silences, bursts) = law(SourceSettings::paper_c(160), COUNT);
    let scale = 1.35 / 3.0;
    assert!(silences.iter().all(|silence| *silence >= scale - 1e-9));
    for limit in [0.5, 1.0, 3.0, 10.0, 50.0] {
        check_tail(&silences, limit, (scale / limit).powf(1.5));
    }
    // 50 packets on average: 50/3 at least, which is rounded to 17; more than k if it is above k + 1/2.
    assert_eq!(bursts.iter().copied().fold(f64::MAX, f64::min), 17.0);
    for limit in [17.0, 20.0, 30.0, 50.0, 200.0, 1_000.0] {
        check_tail(&bursts, limit, (50.0 / 3.0 / (limit + 0.5_f64)).powf(1.5));
    }
    // The variance has no bound, so means are of what is cut off at c: with scale s and exponent a it is
    // a s / (a - 1) - s^a c^(1-a) / (a - 1), for 1.35 s and c = 10 s: 1.159 s; its standard deviation is 1.366 s.
    let cut: f64 = silences.iter().map(|silence| silence.min(10.0)).sum::<f64>() / COUNT as f64;
    let want = 1.35 - scale.powf(1.5) * 10_f64.powf(-0.5) / 0.5;
    assert!((cut - want).abs() < 5.0 * 1.366 / (COUNT as f64).sqrt(), "{cut} {want}");
}

#[test]
fn exponential_silences_and_bursts_have_their_tails_and_means() {
    let (silences, bursts) = law(exponential(), COUNT);
    for limit in [0.1, 1.0, 3.0, 8.0] {
        check_tail(&silences, limit, (-limit / 1.35_f64).exp());
    }
    for limit in [1.0, 10.0, 50.0, 200.0, 400.0] {
        check_tail(&bursts, limit, (-(limit + 0.5) / 50.0_f64).exp());
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / COUNT as f64;
    assert!((mean(&silences) - 1.35).abs() < 5.0 * 1.35 / (COUNT as f64).sqrt(), "{}", mean(&silences));
    // One packet, and one more for each k >= 2 that it reaches: 1 + e^(-1.5/50) / (1 - e^(-1/50)) = 50.009.
    assert!((mean(&bursts) - 50.009).abs() < 5.0 * 50.0 / (COUNT as f64).sqrt(), "{}", mean(&bursts));
}

#[test]
fn a_constant_source_speaks_from_its_start_to_before_its_end() {
    let settings = SourceSettings { kind: SourceKind::Constant, ..SourceSettings::paper_c(160) };
    let got = times(settings, Instant(5), Instant(60_000_005), &mut chance(0));
    assert_eq!(got, [Instant(5), Instant(20_000_005), Instant(40_000_005)]);
    assert!(times(settings, Instant(5), Instant(5), &mut chance(0)).is_empty());
    // It has one rate only.
    assert_eq!(SourceSettings { reading: Reading::Average, ..settings }.on_rate(), 64_000);
}

#[test]
fn both_readings_of_the_mean_rate() {
    let on_rate = SourceSettings::paper_c(160);
    assert_eq!(
        (on_rate.on_rate(), on_rate.packets_last(1), on_rate.burst_packets()),
        (64_000, Nanos(20_000_000), 50.0)
    );
    let average = SourceSettings { reading: Reading::Average, ..on_rate };
    // 64 * 2.35; 1280 bits of it are 8.5106 ms, and 1000 packets are not 1000 times as much rounded up.
    assert_eq!(average.on_rate(), 150_400);
    assert_eq!(
        (average.packets_last(1), average.packets_last(1_000)),
        (Nanos(8_510_639), Nanos(8_510_638_298))
    );
    // 20, 37.5 and 62.5 ms of speech.
    let spans = [160, 300, 500].map(|bytes| SourceSettings::paper_c(bytes).packets_last(1).0);
    assert_eq!(spans, [20_000_000, 37_500_000, 62_500_000]);
    // Over a long time an exponential source has its rate: 64 kbit/s, to within five standard errors of the mean cycle.
    let settings = SourceSettings { reading: Reading::Average, ..exponential() };
    let got =
        times(settings, Instant::START, seconds(100_000), &mut chance(2)).len() as f64 * 1_280.0 / 100_000.0;
    assert!((got / 64_000.0 - 1.0).abs() < 0.03, "{got}");
}

#[test]
fn the_same_stream_gives_the_same_times_on_every_computer() {
    let first = |settings| times(settings, Instant::START, seconds(600), &mut chance(0));
    let (pareto, exponential) = (first(SourceSettings::paper_c(160)), first(exponential()));
    let ends =
        |times: &[Instant]| (times.len(), times[0].0, times[times.len() / 2].0, times[times.len() - 1].0);
    assert_eq!(ends(&pareto), (13_237, 513_558_008, 286_508_076_509, 599_986_746_939));
    assert_eq!(ends(&exponential), (13_352, 207_095_445, 300_362_986_788, 599_226_771_562));
}

proptest! {
    #[test]
    fn times_are_in_order_within_the_run_and_a_longer_run_begins_the_same(
        number: u64,
        from in 0_u64..5_000_000_000,
        length in 0_u64..60_000_000_000,
        bytes in 1_u32..1_500,
        pareto: bool,
        average: bool,
    ) {
        let kind = if pareto { SourceKind::Pareto { shape: 1.2 } } else { SourceKind::Exponential };
        let reading = if average { Reading::Average } else { Reading::OnRate };
        let settings = SourceSettings { kind, reading, ..SourceSettings::paper_c(bytes) };
        let end = Instant(from + length);
        let short = times(settings, Instant(from), end, &mut chance(number));
        prop_assert!(short.iter().all(|at| at.0 >= from && *at < end));
        let least = settings.packets_last(1).0 - 1;
        prop_assert!(short.windows(2).all(|pair| pair[1].since(pair[0]).0 >= least), "{short:?}");
        let long = times(settings, Instant(from), Instant(end.0 * 2), &mut chance(number));
        prop_assert_eq!(&short[..], &long[..short.len()]);
        prop_assert!(long.get(short.len()).is_none_or(|at| *at >= end));
    }

    #[test]
    fn parse_inverts_emit(
        flows in proptest::collection::vec(proptest::collection::vec(0_u64..=86_400_000_000_000, 0..20), 0..20),
    ) {
        let flows: Vec<Vec<Instant>> = flows.into_iter().map(|mut times| {
            times.sort_unstable();
            times.into_iter().map(Instant).collect()
        }).collect();
        let workload = Workload::of_flows(&flows).expect("few and early");
        let text = workload.emit();
        let again = Workload::parse(&text);
        prop_assert_eq!(again.as_ref(), Ok(&workload));
        prop_assert_eq!(workload.flows(u32::try_from(flows.len()).expect("few")), flows);
        prop_assert_eq!(again.expect("it is the same").emit(), text);
    }

    #[test]
    fn any_text_is_a_workload_or_an_error(text in "[0-9 .#\na-]{0,80}") {
        if let Ok(workload) = Workload::parse(&text) {
            prop_assert_eq!(Workload::parse(&workload.emit()), Ok(workload));
        }
    }
}

#[test]
fn a_workload_is_one_line_for_each_packet() {
    let flows =
        [vec![Instant(20_000_000), Instant(1_000_000_000)], vec![], vec![Instant(1), Instant(1_000_000_000)]];
    let workload = Workload::of_flows(&flows).expect("few and early");
    let text =
        "# guestright workload 1: flow seconds\n2 0.000000001\n0 0.020000000\n0 1.000000000\n2 1.000000000\n";
    assert_eq!(workload.emit(), text);
    // As others write it: blanks, fewer digits, flow by flow, other line ends.
    let other = "\r\n# of another simulator\n 0\t0.02\n0 1\n2 0.000000001 \r\n2 1.0";
    assert_eq!(Workload::parse(other), Ok(workload));
    assert_eq!(Workload::parse(""), Ok(Workload::default()));
}

#[test]
fn refuses_lines_that_are_none_and_names_them() {
    let time = |line, got: &str| WorkloadError::Time { line, got: got.into(), max: 86_400 };
    let flow = |line, got: &str| WorkloadError::Flow { line, got: got.into(), max: 1_048_575 };
    #[rustfmt::skip]
    let cases = [
        ("0", WorkloadError::Fields { line: 1, got: 1 }),
        ("# \n\n0 1 2", WorkloadError::Fields { line: 3, got: 3 }),
        ("-1 0.5", flow(1, "-1")),
        ("1048576 0.5", flow(1, "1048576")),
        ("99999999999999999999 0.5", flow(1, "99999999999999999999")),
        ("0 1e3", time(1, "1e3")),
        ("0 -1", time(1, "-1")),
        ("0 .5", time(1, ".5")),
        ("0 5.", time(1, "5.")),
        ("0 1.0000000001", time(1, "1.0000000001")),
        ("0 1.5.5", time(1, "1.5.5")),
        ("0 NaN", time(1, "NaN")),
        ("0 86400.000000001", time(1, "86400.000000001")),
        ("0 99999999999999999999", time(1, "99999999999999999999")),
        ("0 1\n1 0.5\n0 0.999999999", WorkloadError::Backwards { line: 3, flow: 0 }),
    ];
    for (text, want) in cases {
        assert_eq!(Workload::parse(text), Err(want), "{text:?}");
    }
    let late = vec![Instant(86_400_000_000_001)];
    assert_eq!(Workload::of_flows(&[late]), None);
}

#[test]
fn refuses_sources_that_cannot_be() {
    let base = SourceSettings::paper_c(160);
    let periods = |on, off| SourceError::Periods { on, off, max: 86_400_000_000_000 };
    #[rustfmt::skip]
    let cases = [
        (SourceSettings { rate: 0, ..base }, SourceError::Rate { got: 0, max: 1_000_000_000_000 }),
        (SourceSettings { rate: 2_000_000_000_000, ..base },
         SourceError::Rate { got: 2_000_000_000_000, max: 1_000_000_000_000 }),
        (SourceSettings { packet_bytes: 0, ..base }, SourceError::PacketBytes { got: 0, max: 65_535 }),
        (SourceSettings { packet_bytes: 65_536, ..base }, SourceError::PacketBytes { got: 65_536, max: 65_535 }),
        (SourceSettings { on: Nanos(0), ..base }, periods(0, 1_350_000_000)),
        (SourceSettings { off: Nanos(0), ..base }, periods(1_000_000_000, 0)),
        (SourceSettings { off: Nanos::from_seconds(86_401), ..base }, periods(1_000_000_000, 86_401_000_000_000)),
        (SourceSettings { kind: SourceKind::Pareto { shape: 1.0 }, ..base }, SourceError::Shape { got: 1.0, max: 100.0 }),
        (SourceSettings { kind: SourceKind::Pareto { shape: 101.0 }, ..base },
         SourceError::Shape { got: 101.0, max: 100.0 }),
        (SourceSettings { rate: 1_000_000_000, packet_bytes: 1, ..base },
         SourceError::Packets { got: 7_500_000_000, max: 1 << 24 }),
    ];
    for (settings, want) in cases {
        let got = Source::new(settings, Instant::START, seconds(60), &mut chance(0)).err();
        assert_eq!(got, Some(want), "{settings:?}");
    }
    let nan = SourceSettings { kind: SourceKind::Pareto { shape: f64::NAN }, ..base };
    assert!(Source::new(nan, Instant::START, seconds(60), &mut chance(0)).is_err());
}
