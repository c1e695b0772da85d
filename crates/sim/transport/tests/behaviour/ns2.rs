//! The same dumbbells in ns-2.35 (Debian's) and here.
//!
//! `ns2/measured.csv` has what `ns2/dumbbell.tcl` printed; `ns2/measure.sh` makes it anew. What ns-2 does otherwise than
//! the RFCs is a setting here ([`SenderSettings::ns2`], [`RenoSettings::ns2`]). What remains: ns-2 draws for each flow when its
//! clock of 10 ms ticks, and where two packets come at the same instant it may take the other one first.
//!
//! One flow with losses that are told is compared packet by packet in `../compare`.

use crate::harness::dumbbell::{Dumbbell, Plan};
use crate::harness::wire::{Way, Wire};
use guestright_congestion::{
    Controller, RecoveryKind, Reno, RenoSettings, TimeoutSettings, Vegas, VegasSettings,
};
use guestright_engine::{Instant, Nanos};
use guestright_transport::{LinkSettings, LinkStatus, QueueLimit, ReceiverSettings, Segment, SenderSettings};
use guestright_units::Micros;
use std::collections::BTreeMap;

const MEASURED: &str = include_str!("ns2/measured.csv");
const SEGMENT: u32 = 1_000;
/// `window_`: never the limit.
const WINDOW: u32 = 100_000;

/// A row of the table.
#[derive(Clone, Debug)]
struct Row {
    kind: RecoveryKind,
    flows: u32,
    rate: u64,
    delay: Nanos,
    limit: u32,
    loss_per_million: u32,
    seed: u64,
    from: Instant,
    to: Instant,
    segments: f64,
    drops: f64,
    timeouts: f64,
}

fn rows() -> Vec<Row> {
    MEASURED.lines().skip(1).map(row).collect()
}

fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.split(',').collect();
    let number = |column: usize| cells[column].parse::<f64>().expect("a number");
    let count = |column: usize| cells[column].parse::<u32>().expect("a count");
    let second = |column: usize| Instant::START + Nanos::from_seconds(count(column).into());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers of the table")]
    let scaled = |column: usize, scale: f64| (number(column) * scale).round() as u32;
    Row {
        kind: if cells[0] == "Reno" { RecoveryKind::Reno } else { RecoveryKind::NewReno },
        flows: count(1),
        rate: count(2).into(),
        delay: Nanos::from_micros(scaled(3, 1e6).into()),
        limit: count(4),
        loss_per_million: scaled(5, 1e6),
        seed: count(6).into(),
        from: second(7),
        to: second(8),
        segments: number(9),
        drops: number(10),
        timeouts: number(11),
    }
}

/// What ns-2 does, in our settings.
fn ours(row: &Row) -> (f64, f64, f64) {
    let access = LinkSettings {
        delay: Nanos::from_millis(5),
        queue_max: QueueLimit::Packets(100_000),
        ..LinkSettings::bare(100_000_000)
    };
    let plan = Plan {
        flows: row.flows,
        access,
        bottleneck: LinkSettings {
            rate: row.rate,
            delay: row.delay,
            queue_max: QueueLimit::Packets(row.limit),
            loss_per_million: row.loss_per_million,
            ..access
        },
        sender: SenderSettings {
            // `minrto_` is set to 1 s.
            timeout: TimeoutSettings { min: Micros(1_000_000), ..TimeoutSettings::ns2() },
            ..SenderSettings::ns2(row.kind, SEGMENT, WINDOW)
        },
        receiver: ReceiverSettings::ns2(SEGMENT, WINDOW),
        bytes: None,
        stagger: Nanos::from_millis(311),
    };
    let controller = || Reno::new(RenoSettings::ns2(SEGMENT, WINDOW)).expect("the settings can be");
    let mut dumbbell = Dumbbell::new(plan, row.seed, controller).expect("the plan can be");
    let count = |dumbbell: &Dumbbell<Reno>| {
        let acknowledged: u64 = dumbbell.senders.iter().map(|sender| sender.acknowledged()).sum();
        let timeouts: u64 = dumbbell.senders.iter().map(|sender| sender.stats().timeouts).sum();
        let bottleneck = dumbbell.bottleneck().stats();
        [acknowledged / u64::from(SEGMENT), bottleneck.dropped + bottleneck.lost, timeouts]
    };
    dumbbell.run(row.from);
    let before = count(&dumbbell);
    dumbbell.run(row.to);
    let after = count(&dumbbell);
    #[expect(clippy::cast_precision_loss, reason = "counts of a test")]
    let difference = |index: usize| (after[index] - before[index]) as f64;
    (difference(0), difference(1), difference(2))
}

/// How far ours is from ns-2's, as a share of ns-2's.
fn off(ours: f64, theirs: f64) -> f64 {
    (ours - theirs).abs() / theirs.max(1.0)
}

#[test]
fn droptail_gives_the_same_segments_and_drops() {
    let mut compared = 0;
    for row in rows().iter().filter(|row| row.loss_per_million == 0) {
        let (segments, drops, timeouts) = ours(row);
        // In slow start one packet more or less is lost of some hundred.
        let (segments_off, drops_off) = match (row.from, row.flows) {
            (Instant::START, _) => (0.000_6, 0.003),
            (_, 1 | 2) => (0.000_1, 0.0),
            (_, 8) => (0.000_1, 0.001),
            _ => (0.000_2, 0.014),
        };
        let message = format!("{row:?}: ours {segments} segments, {drops} drops, {timeouts} timeouts");
        assert!(off(segments, row.segments) <= segments_off, "{message}");
        assert!(off(drops, row.drops) <= drops_off, "{message}");
        assert!(row.flows > 2 || off(timeouts, row.timeouts) == 0.0, "{message}");
        compared += 1;
    }
    assert_eq!(compared, 18);
}

#[test]
fn random_losses_give_the_same_throughput() {
    let rows = rows();
    let mut compared = 0;
    for kind in [RecoveryKind::Reno, RecoveryKind::NewReno] {
        for loss in [500, 1_000, 5_000, 10_000] {
            let seeds: Vec<&Row> =
                rows.iter().filter(|row| row.kind == kind && row.loss_per_million == loss).collect();
            let ours: Vec<(f64, f64, f64)> = seeds.iter().map(|row| ours(row)).collect();
            let segments: [f64; 2] =
                [ours.iter().map(|ours| ours.0).sum(), seeds.iter().map(|row| row.segments).sum()];
            let drops: [f64; 2] =
                [ours.iter().map(|ours| ours.1).sum(), seeds.iter().map(|row| row.drops).sum()];
            // Four seeds each; a single one is off by some 2 % from the mean of its program.
            assert!(off(segments[0], segments[1]) < 0.02, "{kind:?}, {loss}: segments {segments:?}");
            assert!(off(drops[0], drops[1]) < 0.02, "{kind:?}, {loss}: drops {drops:?}");
            compared += seeds.len();
        }
    }
    assert_eq!(compared, 32);
}

const WIRE: &str = include_str!("ns2/wire.csv");

/// The number of the packet in a segment; -1 is the SYN.
fn packet(segment: &Segment) -> i64 {
    if segment.flags.syn {
        -1
    } else {
        i64::try_from(segment.seq / u64::from(SEGMENT)).expect("a small number")
    }
}

/// What `wire.tcl` prints, of ours.
fn sends(agent: &str, source: &str, lost: &str, end: Instant) -> String {
    let window = 20;
    let reno = || Reno::new(RenoSettings::ns2(SEGMENT, window)).expect("the settings can be");
    let vegas = || Vegas::new(VegasSettings::ns2(SEGMENT, window)).expect("the settings can be");
    let (kind, controller): (_, Box<dyn Controller>) = match agent {
        "Reno" => (RecoveryKind::Reno, Box::new(reno())),
        "Newreno" => (RecoveryKind::NewReno, Box::new(reno())),
        _ => (RecoveryKind::Vegas, Box::new(vegas())),
    };
    let lost: Vec<(i64, u32)> = lost
        .split('+')
        .filter_map(|pair| pair.split_once(':'))
        .map(|(packet, time)| (packet.parse().expect("a number"), time.parse().expect("a number")))
        .collect();
    let mut crossed: BTreeMap<i64, u32> = BTreeMap::new();
    let fate = move |way, _, segment: &Segment| {
        let time = crossed.entry(packet(segment)).or_default();
        let gone = way == Way::There && lost.contains(&(packet(segment), *time));
        *time += u32::from(way == Way::There);
        if gone { vec![] } else { vec![Nanos::from_millis(47)] }
    };
    let sender = SenderSettings::ns2(kind, SEGMENT, window);
    let receiver = ReceiverSettings::ns2(SEGMENT, window);
    let mut wire = Wire::new(sender, receiver, controller, fate).expect("the settings can be");
    let at = |ms| Instant::START + Nanos::from_millis(ms);
    if source == "greedy" {
        wire.write(at(7), 100_000_000, false);
    } else {
        for (from, to) in [(7, 407), (1_507, 1_807), (3_107, 3_207), (8_007, 8_207)] {
            (from..to).step_by(20).for_each(|ms| wire.write(at(ms), SEGMENT.into(), false));
        }
    }
    wire.run(end, |_, _| {});
    let sends = wire.sent.iter().map(|(at, segment)| format!("{}:{}", at.0 / 1_000_000, packet(segment)));
    sends.collect::<Vec<_>>().join(" ")
}

#[test]
fn one_flow_sends_the_same_packets_at_the_same_times() {
    let mut compared = 0;
    for line in WIRE.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let [agent, source, lost, end, want] = fields[..] else { panic!("not a row: {line}") };
        let end: f64 = end.parse().expect("seconds");
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few seconds")]
        let got = sends(agent, source, lost, Instant((end * 1e9) as u64));
        assert_eq!(got, want, "{agent}, {source}, {lost}");
        compared += want.split(' ').count();
    }
    assert_eq!(compared, 827);
}
