//! Packet-hops per second of the processor, ours and those of ns-2, on the same scenarios, on one core, in turn.
//!
//! A hop is a packet that has come to the end of a link, acknowledgements among them. Time is the processor's, of the whole
//! program, less that of a run of no time: setting up (nodes, routes; of ours the arrivals of all calls) does not count.
//! ns-2 is Debian's, which is built for release. It draws its arrivals while it runs, with its own source; ours are drawn
//! before, from the same law.
//!
//! And what a run of paper C costs with everything: 60 s of 120 calls.
//!
//! `cargo bench -p guestright-transport --bench ns2`; needs `ns2`, without which ours alone are measured.

#![expect(clippy::print_stdout, reason = "its figures are its output")]

#[expect(dead_code, reason = "the comparison uses more of it")]
#[path = "../compare/agents.rs"]
mod agents;

use agents::{Agent, BULK_BYTES, BULK_WINDOW, BYTES, CALL_WINDOW};
use guestright_congestion::Controller;
use guestright_engine::{Instant, Nanos, Streams};
use guestright_transport::path::{Access, Bottleneck, Call, Carrier, Path, PathConfig, Transfer};
use guestright_transport::{Errors, Source, SourceSettings};
use guestright_units::Seed;
use std::process::Command;

const REPETITIONS: u64 = 5;
const CALLS: u32 = 120;
const TRANSFERS: u32 = 60;
/// Flows start one after the other within this.
const SPREAD: Nanos = Nanos::from_seconds(2);

/// Scenario, name for `bench.tcl`, simulated seconds of ns-2 and of ours: so that both are measured for a second or more.
const CASES: [(&str, &str, u64, u64); 3] = [
    ("120 calls over UDP", "udp", 600, 600),
    ("120 calls over Vegas", "vegas", 600, 600),
    ("60 transfers over Reno, 100 Mbit/s", "greedy", 100, 100),
];

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return; // A test runner asks whether it starts.
    }
    let has_judge = Command::new("ns").arg("/dev/null").output().is_ok();
    if !has_judge {
        println!("ns-2 is not compared; apt-get install ns2 (or: sh scripts/setup.sh bench)");
    }
    println!(
        "million packet-hops per second of one core; {REPETITIONS} repetitions in turn; median (least to most)\n"
    );
    println!("{:36} {:>24} {:>27} {:>21}", "scenario", "ns-2", "ours", "ours / ns-2");
    for (name, scenario, their_seconds, our_seconds) in CASES {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for repetition in 1..=REPETITIONS {
            if has_judge {
                theirs.push(run_judge(scenario, their_seconds, repetition));
            }
            ours.push(run_ours(scenario, our_seconds, repetition));
        }
        let mut ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
        let (theirs, ours) = (spread(&mut theirs), spread(&mut ours));
        println!("{name:36} {theirs:>24} {ours:>27} {:>21}", spread(&mut ratios));
    }
    let mut whole: Vec<f64> = (1..=REPETITIONS).map(whole_run_ms).collect();
    println!("\n60 s of 120 calls over Vegas, arrivals and set-up among it: {} ms", spread(&mut whole));
}

fn spread(values: &mut [f64]) -> String {
    values.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (values.first(), values.last()) else { return "-".to_owned() };
    format!("{:.2} ({least:.2} to {most:.2})", values[values.len() / 2])
}

/// Millions of hops per second of ns-2.
fn run_judge(scenario: &str, seconds: u64, seed: u64) -> f64 {
    let (hops, _) = judge(scenario, seconds, seed, true);
    let (_, whole) = judge(scenario, seconds, seed, false);
    let (_, set_up) = judge(scenario, 0, seed, false);
    hops / (whole - set_up) / 1e6
}

/// How many hops, if they are counted, and the seconds of the processor.
fn judge(scenario: &str, seconds: u64, seed: u64, counts: bool) -> (f64, f64) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/compare/bench.tcl");
    let arguments = [seconds.to_string(), seed.to_string(), u8::from(counts).to_string()];
    let before = children_seconds();
    let output = Command::new("ns").args([script, scenario]).args(arguments).output().expect("ns-2 runs");
    let took = children_seconds() - before;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).expect("digits are ASCII");
    (printed.trim().parse().expect("a number of hops"), took)
}

/// Millions of hops per second of ours.
fn run_ours(scenario: &str, seconds: u64, seed: u64) -> f64 {
    let end = Instant::START + Nanos::from_seconds(seconds);
    let mut path = if scenario == "greedy" { transfers() } else { calls(agent(scenario), end, seed) };
    let start = processor_seconds();
    path.run(end);
    let took = processor_seconds() - start;
    #[expect(clippy::cast_precision_loss, reason = "some ten million hops")]
    let hops = path.hops() as f64;
    hops / took / 1e6
}

fn whole_run_ms(seed: u64) -> f64 {
    let start = processor_seconds();
    let end = Instant::START + Nanos::from_seconds(60);
    let mut path = calls(Agent::Vegas, end, seed);
    path.run(end);
    assert!(path.report().calls.iter().map(|call| call.delivered).sum::<u64>() > 10_000, "calls are heard");
    (processor_seconds() - start) * 1e3
}

fn agent(scenario: &str) -> Agent {
    if scenario == "udp" { Agent::Udp } else { Agent::Vegas }
}

fn calls(agent: Agent, end: Instant, seed: u64) -> Path<Box<dyn Controller>> {
    let streams = Streams::new(Seed::from_number(seed));
    let config = PathConfig {
        errors: Errors::None,
        reverse_errors: Errors::None,
        jitter: PathConfig::JITTER,
        ..PathConfig::paper_c()
    };
    let mut path = Path::new(config, &streams).expect("the path can be");
    for flow in 0..CALLS {
        let start = Instant::START + Nanos(SPREAD.0 * u64::from(flow) / u64::from(CALLS));
        let mut chance = streams.stream("source", flow.into());
        let source = Source::new(SourceSettings::paper_c(BYTES), start, end, &mut chance).expect("it can be");
        let carrier = match agent {
            Agent::Udp => Carrier::Udp { header_bytes: 0 },
            Agent::Reno | Agent::NewReno | Agent::Vegas => {
                Carrier::Tcp(agents::carrier(agent, BYTES, CALL_WINDOW).expect("it can be"))
            }
        };
        let call = Call { arrivals: source.collect(), packet_bytes: BYTES, carrier, errors: None };
        path.add_call(call).expect("the call can be");
    }
    path
}

fn transfers() -> Path<Box<dyn Controller>> {
    let paper = PathConfig::paper_c();
    let bottleneck =
        Bottleneck { rate: 100_000_000, delay: Nanos::from_millis(20), buffer: 250, ..paper.second };
    let access =
        Access { rate: 100_000_000, delay: Nanos::from_millis(5), spread: Nanos(0), buffer: Some(1_000) };
    let config = PathConfig { second: bottleneck, access, jitter: PathConfig::JITTER, ..paper };
    let mut path = Path::new(config, &Streams::new(Seed::from_number(1))).expect("the path can be");
    for flow in 0..TRANSFERS {
        let start = Instant::START + Nanos(SPREAD.0 * u64::from(flow) / u64::from(TRANSFERS));
        let tcp = agents::carrier(Agent::Reno, BULK_BYTES, BULK_WINDOW).expect("it can be");
        path.add_transfer(Transfer { start, bytes: None, tcp }).expect("the transfer can be");
    }
    path
}

/// How long this process has had a processor (Linux: the first number of schedstat, in nanoseconds).
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux counts processes' time");
    let first = text.split_whitespace().next().expect("three numbers");
    first.parse::<f64>().expect("a number") / 1e9
}

/// How long programs that this one has started and waited for had a processor (Linux: `cutime` and `cstime` of stat, in
/// hundredths of a second).
fn children_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux counts processes' time");
    let (_, behind_the_name) = text.rsplit_once(')').expect("the name is in brackets");
    let fields: Vec<&str> = behind_the_name.split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<f64>().expect("a number");
    (ticks(13) + ticks(14)) / 100.0
}
