//! Simulated packets per second, ours and those of ns-3, on the same scenarios, on one core, in turn.
//!
//! A packet is one that arrived at the end of its stream; what was lost, and frames that were sent again, count for
//! nothing. Time is the processor's. Of ns-3 only that of `Simulator::Run` counts, of ours everything. ns-3 is Debian's,
//! which is built for release; packets go straight into its Wi-Fi device, so that it has no ARP, IP or UDP to simulate.
//!
//! `cargo bench -p guestright-wlan --bench ns3`; needs `libns3-dev` and `g++`.

#![expect(clippy::print_stdout, reason = "its figures are its output")]

#[path = "../compare/scenario.rs"]
mod scenario;
#[expect(dead_code, reason = "only the counts are of interest here")]
#[path = "../compare/verdict.rs"]
mod verdict;

use scenario::{Plan, Shape};
use std::path::{Path, PathBuf};
use std::process::Command;

const REPETITIONS: u32 = 5;
/// Runs of ours for each of ns-3, so that both are measured for a second or so.
const OURS: u32 = 20;

/// Name, scenario, calls.
const CASES: [(&str, &str, u32, u32); 6] = [
    ("one cell one way, 10 streams", "one-way", 1, 10),
    ("one cell one way, saturated", "one-way", 1, 30),
    ("one cell both ways, 10 calls", "both-ways", 1, 10),
    ("one cell both ways, saturated", "both-ways", 1, 30),
    ("two cells, one channel, 7 calls", "two-cells", 1, 7),
    ("two cells, two channels, 10 calls", "two-cells", 2, 10),
];

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return; // A test runner asks whether it starts.
    }
    let Some(judge) = build() else { return };
    println!(
        "simulated packets per second of one core; {REPETITIONS} repetitions in turn; median (least to most)\n"
    );
    println!("{:34} {:>27} {:>33} {:>18}", "scenario", "ns-3", "ours", "ours / ns-3");
    for (name, scenario, channels, calls) in CASES {
        let shape = Shape::named(scenario, channels).expect("a scenario that there is");
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for repetition in 1..=REPETITIONS {
            theirs.push(run_judge(&judge, scenario, channels, calls, repetition));
            ours.push(run_ours(shape, calls, repetition));
        }
        let mut ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
        let (theirs, ours) = (spread(&mut theirs, 0), spread(&mut ours, 0));
        println!("{name:34} {theirs:>27} {ours:>33} {:>18}", spread(&mut ratios, 1));
    }
}

fn spread(values: &mut [f64], digits: usize) -> String {
    values.sort_by(f64::total_cmp);
    let (least, median, most) = (values[0], values[values.len() / 2], values[values.len() - 1]);
    format!("{median:.digits$} ({least:.digits$} to {most:.digits$})")
}

/// Builds `scenario.cc`; says what to install where that fails.
fn build() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("compare/scenario.cc");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scenario");
    let libraries =
        ["wifi", "mobility", "propagation", "network", "core"].map(|name| format!("-lns3-{name}"));
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-O2"]).arg(source).arg("-o").arg(&program).args(libraries);
    match compiler.output() {
        Ok(output) if output.status.success() => Some(program),
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let first: Vec<&str> = stderr.lines().take(3).collect();
            println!(
                "ns-3 is not compared; apt-get install libns3-dev (or: sh scripts/setup.sh bench)\n{}",
                first.join("\n")
            );
            None
        }
        Err(error) => {
            println!(
                "ns-3 is not compared; apt-get install libns3-dev g++ (or: sh scripts/setup.sh bench): {error}"
            );
            None
        }
    }
}

fn run_judge(judge: &Path, scenario: &str, channels: u32, calls: u32, run: u32) -> f64 {
    let arguments = [
        format!("--scenario={scenario}"),
        format!("--channels={channels}"),
        format!("--calls={calls}"),
        format!("--first-run={run}"),
    ];
    let output = Command::new(judge)
        .args(["--seconds=60", "--warmup=5", "--runs=1", "--clock=1"])
        .args(arguments)
        .output()
        .expect("the scenario runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let row = String::from_utf8(output.stdout).expect("rows are ASCII");
    let fields: Vec<f64> =
        row.trim().split(',').skip(1).map(|field| field.parse().expect("a number")).collect();
    let (arrived, seconds) = (fields[6], fields[9]);
    // The time includes the warm-up; so do the packets, at the same rate.
    arrived * 65.0 / 60.0 / seconds
}

#[expect(clippy::cast_precision_loss, reason = "a few million packets")]
fn run_ours(shape: Shape, calls: u32, repetition: u32) -> f64 {
    let start = processor_seconds();
    let runs = (1..=OURS).map(|run| scenario::run(&Plan::new(shape, 60, calls, repetition * OURS + run)));
    let arrived: u64 = runs.map(|counts| counts.arrived).sum();
    arrived as f64 * 65.0 / 60.0 / (processor_seconds() - start)
}

/// How long this process has had a processor (Linux: the first number of schedstat, in nanoseconds).
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux counts processes' time");
    let first = text.split_whitespace().next().expect("three numbers");
    first.parse::<f64>().expect("a number") / 1e9
}
