//! Ways home, measured between the same three hosts in one run: ours, and those of others.
//!
//! `cargo bench -p guestright-lab --bench tunnels -- [--quick] [--repetitions N] [--conditions LIST] [--json FILE] [NAMES...]`
//!
//! ```text
//! cl eth0 ── lan0 rt wan0 ── eth0 sv        rt translates addresses, as a household's router does
//!  └──────────── tunnel ───────────┘        bare NAT is the path without one
//! ```
//!
//! Each repetition goes through all paths, so ratios are taken within one repetition, minutes apart at most. A veth
//! pair carries super-frames of 34 KB unless every kind of segmentation offload is off, which makes a tunnel look
//! faster than any link could be: frames on the router's outer link are counted, and one above 1,514 bytes is an
//! error. Noise is not: promises are printed as kept or not, and the exit code stays 0.
//!
//! Everything happens inside a sandbox of namespaces that dies with this process, also on Ctrl-C.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "measured numbers need not be exact"
)]

mod generator;
mod lab;
mod limit;
mod measure;
mod path;
mod peer;
mod plan;
mod processor;
mod promise;
mod report;
mod sample;
mod tcp;
mod voice;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use guestright_netns::Sandbox;

use crate::lab::{Lab, Problem};
use crate::measure::Visit;
use crate::path::Way;
use crate::plan::Plan;
use crate::report::Report;

/// Inside the sandbox `/run` is our own and vanishes with it.
const SCRATCH: &str = "/run/tunnels";

/// How often a daemon is started before its path is given up: some of the peers do not come up every time.
const STARTS: u32 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((first, rest)) if first == generator::FLAG => {
            return generator::main(rest);
        }
        _ if Sandbox::inside() => measure_all(),
        _ => enter(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs this program again inside a sandbox, which the kernel ends as soon as this process is gone.
fn enter(arguments: &[String]) -> Result<ExitCode> {
    if Plan::parse()?.is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    let mode = Sandbox::probe()?;
    let program = own_program()?;
    let status = Sandbox::command(mode, &program, arguments).status().context("start the sandbox")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn own_program() -> Result<PathBuf> {
    std::env::current_exe().context("find this program's own file")
}

fn measure_all() -> Result<ExitCode> {
    Sandbox::prepare()?;
    let began = Instant::now();
    let plan = Plan::parse()?.context("a plan, as outside of the sandbox")?;
    // Everything started from here on inherits it: daemons and generators are in one class.
    let nice = if rustix::process::setpriority_process(None, -19).is_ok() { -19 } else { 0 };
    let mut report = Report::new(&plan, nice);
    report.print_heading();
    report.limits = limit::measure(plan.limit_seconds);
    for repetition in 1..=plan.repetitions {
        for &way in &plan.ways {
            println!(
                "[{:4.0} s] {repetition}/{} {}",
                began.elapsed().as_secs_f64(),
                plan.repetitions,
                way.name()
            );
            let visit = go(way, repetition, &plan)?;
            println!("         {}", visit.line());
            report.visits.push(visit);
        }
    }
    report.seconds = began.elapsed().as_secs_f64();
    report.print();
    let path = report.save(plan.json.as_deref())?;
    println!("\n{:.0} s in all; all samples are in {}", report.seconds, path.display());
    let oversize = report.oversize();
    ensure!(
        oversize.is_empty(),
        "frames above 1,514 bytes on the wire, figures are void: {}",
        oversize.join(", ")
    );
    Ok(ExitCode::SUCCESS)
}

/// One repetition of one path: built, measured, taken down. A path that does not come up is a result, too.
fn go(way: Way, repetition: u32, plan: &Plan) -> Result<Visit> {
    let mut visit = Visit::new(way, repetition, plan.patience);
    for start in 1..=STARTS {
        let directory = Path::new(SCRATCH).join(format!("{}-{repetition}-{start}", way.name()));
        let lab = Lab::build(&directory)?;
        match peer::bring_up(way, &lab) {
            Ok(tunnel) => {
                let measured = measure::run(&mut visit, &lab, &tunnel, plan);
                visit.problem = measured.err().map(|error| format!("{error:#}; {}", lab.last_words()));
                return Ok(visit);
            }
            Err(Problem::Absent(why)) => {
                visit.problem = Some(format!("absent: {why}"));
                return Ok(visit);
            }
            Err(Problem::NoPath(error)) => {
                visit.failed_starts.push(format!("{error:#}; {}", lab.last_words()));
            }
        }
    }
    visit.problem = visit.failed_starts.last().map(|why| format!("NO PATH: {why}"));
    Ok(visit)
}
