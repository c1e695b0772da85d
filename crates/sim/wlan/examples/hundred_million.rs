//! A hundred million packets through one access point, in bounded memory.
//!
//! `cargo run --release -p guestright-wlan --example hundred_million [PACKETS]` prints how many packets were made, how
//! long that took, and the most memory that the process ever had.

#![expect(clippy::disallowed_methods, reason = "it measures time")]
#![expect(clippy::print_stdout, reason = "its figures are its output")]

#[path = "../compare/scenario.rs"]
#[expect(dead_code, reason = "one of its scenarios is enough here")]
mod scenario;
#[expect(dead_code, reason = "only the counts are of interest here")]
#[path = "../compare/verdict.rs"]
mod verdict;

use guestright_engine::Nanos;
use scenario::{Plan, Shape};
use std::time::Instant;

/// Both directions of ten calls: a packet each in 20 ms.
const CALLS: u32 = 10;
const PER_SECOND: u64 = 2 * CALLS as u64 * 50;

fn main() {
    let wanted =
        std::env::args().nth(1).and_then(|argument| argument.parse().ok()).unwrap_or(100_000_000_u64);
    let measured = Nanos::from_seconds(wanted.div_ceil(PER_SECOND));
    let plan = Plan { measured, warmup: Nanos(0), ..Plan::new(Shape::BothWays, 60, CALLS, 1) };
    let before = peak_kib();
    let start = Instant::now();
    let counts = scenario::run(&plan);
    let seconds = start.elapsed().as_secs_f64();
    println!("packets made       {}", counts.offered);
    println!("packets delivered  {}", counts.delivered);
    println!("simulated time     {:.0} s", measured.as_seconds());
    println!("time               {seconds:.1} s");
    println!("most memory        {} KiB, {before} KiB before the run", peak_kib());
}

/// The most memory that the process ever had, as Linux counts it; 0 where nobody counts.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
