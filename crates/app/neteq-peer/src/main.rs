//! The `neteq` crate as a foreign peer of our playout policies, and traces from captures.
//!
//! neteq 0.9.1 cannot run in virtual time: `NetEq::insert_packet` and its delay manager read `web_time::Instant::now`
//! themselves, whatever the packet's `arrival_time` says. So every call takes as long as it lasts, all of them at the same
//! time, each in a thread of its own; what the computer's clock was late is printed beside the result.

mod peer;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use guestright_engine::Streams;
use guestright_playout::{
    Algorithm, Call, Family, Figures, Handshakes, Judge, Played, Rules, Trace, from_captures, play,
};
use guestright_units::{Micros, Seed};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, Parser)]
#[command(name = "neteq-peer", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Play every family of traces through neteq, in real time, beside our policies
    Compare {
        /// How long each call lasts, in seconds
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(5..=600))]
        seconds: u64,
        /// Which seed the traces have
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The shortest time there and back, in milliseconds
        #[arg(long, default_value_t = 80)]
        round_trip_ms: u64,
        /// The mean jitter, in milliseconds
        #[arg(long, default_value_t = 10)]
        jitter_ms: u64,
        /// A trace from a file beside the families: lines of sequence, `sent_us`, `arrived_us`
        #[arg(long, value_name = "FILE.csv")]
        trace: Option<PathBuf>,
    },
    /// Write the trace of a call that was captured at its sender and at its receiver, by one clock
    Trace {
        /// What the sender saw: pcap or pcapng
        sender: PathBuf,
        /// What the receiver saw
        receiver: PathBuf,
        /// Ticks of the codec's clock in a second
        #[arg(long, default_value_t = 8_000)]
        clock_rate: u32,
        /// Sound in a packet, in milliseconds
        #[arg(long, default_value_t = 20)]
        packet_ms: u64,
    },
}

fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    match Cli::parse().command {
        Command::Compare { seconds, seed, round_trip_ms, jitter_ms, trace } => {
            let call = Call {
                length: Micros::from_seconds(seconds),
                ..Call::new(Family::Clean, Micros::from_millis(round_trip_ms), Micros::from_millis(jitter_ms))
            };
            let mut traces: Vec<(String, Trace)> = Family::ALL
                .iter()
                .map(|family| {
                    let call = Call { family: *family, ..call };
                    (family.name().to_owned(), call.trace(Seed::from_number(seed)))
                })
                .collect();
            if let Some(path) = trace {
                let text = fs::read_to_string(&path).with_context(|| format!("read {path:?}"))?;
                let trace =
                    Trace::from_csv(&text, call.interval).with_context(|| format!("read {path:?}"))?;
                traces.push(("captured".to_owned(), trace));
            }
            compare(&traces, seed, &mut out)
        }
        Command::Trace { sender, receiver, clock_rate, packet_ms } => {
            let read = |path: &PathBuf| fs::read(path).with_context(|| format!("read {path:?}"));
            let interval = Micros::from_millis(packet_ms.max(1));
            let trace = from_captures(&read(&sender)?, &read(&receiver)?, clock_rate, interval)?;
            out.write_all(trace.to_csv().as_bytes())?;
            Ok(())
        }
    }
}

/// A line for each trace and policy, and for neteq.
fn compare(traces: &[(String, Trace)], seed: u64, out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "family,algorithm,late_pct,lost_pct,delay_mean_ms,delay_p95_ms,mos,expanded_pct,clock_late_ms"
    )?;
    let results: Vec<Result<peer::Playback>> = std::thread::scope(|scope| {
        let running: Vec<_> =
            traces.iter().map(|(_, trace)| scope.spawn(move || peer::listen(trace))).collect();
        let ended = running.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(_) => Err(anyhow::anyhow!("neteq panicked")),
        });
        ended.collect()
    });
    for ((name, trace), result) in traces.iter().zip(results) {
        let playback = result.with_context(|| format!("play {name}"))?;
        let judge = Judge::new(trace.interval)?;
        let handshakes =
            Handshakes::over(trace, &mut Streams::new(Seed::from_number(seed)).stream("handshake", 0));
        for algorithm in Algorithm::ALL {
            let mut policy = algorithm.policy(algorithm.knob().usual);
            let played = play(trace, policy.as_mut(), &handshakes.exchanges, &Rules::OURS);
            line(out, name, algorithm.name(), &judge.figures(trace, &played)?)?;
            writeln!(out, ",,")?;
        }
        let played = Played { at: playback.played, offsets: Vec::new() };
        line(out, name, "neteq", &judge.figures(trace, &played)?)?;
        writeln!(out, ",{:.1},{:.2}", playback.expanded_percent, playback.clock_late_ms)?;
    }
    Ok(())
}

fn line(out: &mut impl Write, family: &str, algorithm: &str, figures: &Figures) -> Result<()> {
    write!(
        out,
        "{family},{algorithm},{:.2},{:.2},{:.1},{:.1},{:.3}",
        figures.late_percent(),
        figures.lost_percent(),
        figures.delay_mean_ms.unwrap_or(0.0),
        figures.delay_p95_ms.unwrap_or(0.0),
        figures.mos
    )?;
    Ok(())
}
