//! One run.

use super::network::{Done, Router};
use super::request::Request;
use crate::error::{BenchError, Doing};
use crate::netns::addresses::{FAR, NEAR, SINK, SOURCE};
use crate::netns::bulk::{Progress, Transfers};
use crate::netns::emulated::wait_until_quiet;
use crate::netns::hosts::Hosts;
use crate::netns::sockets::{self, TcpOptions};
use crate::virtual_time::{at, instant};
use crate::voice::Pair;
use guestright_emulator::{Account, Emulator, tcp};
use guestright_world::tcp::{FlowReport, Report};
use std::time::{Duration, Instant};

/// TCP's option of time stamps (RFC 7323), whose room the kernel takes from a segment's.
const TIMESTAMPS: u32 = 12;
/// Without selective acknowledgements the kernel's losses are repaired as NewReno repairs them.
const CONGESTION: &str = "reno";
/// The run begins so long after everything is connected.
const NOTICE: Duration = Duration::from_millis(20);

/// What was measured.
#[derive(Debug)]
pub(in super::super) struct Measured {
    pub(in super::super) report: Report,
    /// Whether the kernel counts retransmission timeouts (since Linux 6.7).
    pub(in super::super) counts_timeouts: bool,
    pub(in super::super) account: Account,
    pub(in super::super) strangers: u64,
}

/// Makes one run: it takes until its transfers are at their end.
pub(in super::super) fn run(request: &Request) -> Result<Measured, BenchError> {
    let hosts = hosts(request)?;
    let Hosts { world, near, far } = hosts;
    let started = Instant::now();
    let emulator = Emulator::start(near, far, Router::new(request)?, started)?;
    let options = TcpOptions {
        congestion: CONGESTION.to_owned(),
        nagle: true,
        segment_bytes: Some(request.setup.segment_bytes() + TIMESTAMPS),
        thin: false,
    };
    let starts = request.setup.starts();
    let flows = u32::try_from(starts.len()).unwrap_or(u32::MAX);
    let pairs = sockets::tcp(&world, (SOURCE, SINK), flows, &options)?;
    wait_until_quiet(&emulator, Router::is_quiet)?;
    let from = started.elapsed() + NOTICE;
    let begin = started + from;
    emulator.with(|router, _| router.begin(from))?;
    emulator.kick();
    let starts: Vec<Instant> = starts.iter().map(|(start, _)| at(begin, *start)).collect();
    let mut transfers =
        Transfers::new(pairs, &starts, request.setup.bytes()).doing("wait for connections")?;
    transfers
        .run(begin + request.until, |flow| emulator.with(|router, _| router.end_transfer(flow)))
        .doing("carry transfers")?;
    let ended = begin.elapsed();
    let (flows, counts_timeouts) = flows_of(&transfers, &starts, begin)?;
    let (router, account) = emulator.stop()?;
    let done = router.done();
    check(&done)?;
    let report = Report {
        flows,
        wires: done.wires,
        receipts: done.receipts,
        ended: instant(ended),
        packets: done.packets,
        events: done.events,
        arrived: done.arrived,
    };
    Ok(Measured { report, counts_timeouts, account, strangers: done.strangers })
}

/// The hosts with a TCP of the paper's day, as far as the kernel can be told: no window scaling, no retransmission
/// before its time, losses found by duplicate acknowledgements.
fn hosts(request: &Request) -> Result<Hosts, BenchError> {
    let hosts = Hosts::with(&[
        ("net.ipv4.tcp_timestamps", "1"),
        ("net.ipv4.tcp_window_scaling", "0"),
        ("net.ipv4.tcp_sack", if request.sack { "1" } else { "0" }),
        ("net.ipv4.tcp_ecn", "0"),
        ("net.ipv4.tcp_recovery", "0"),
        ("net.ipv4.tcp_early_retrans", "0"),
        ("net.ipv4.tcp_frto", "0"),
        // Room for the whole window at once.
        ("net.ipv4.tcp_rmem", "4096 262144 6291456"),
    ])?;
    hosts.address(NEAR, &[SOURCE])?;
    hosts.address(FAR, &[SINK])?;
    let window = request.window.to_string();
    hosts.route(NEAR, SINK, SOURCE, &["initcwnd", request.first_window])?;
    hosts.route(FAR, SOURCE, SINK, &["window", &window])?;
    Ok(hosts)
}

/// What each transfer did, and whether the kernel counts timeouts.
fn flows_of(
    transfers: &Transfers,
    starts: &[Instant],
    begin: Instant,
) -> Result<(Vec<FlowReport>, bool), BenchError> {
    let mut counts_timeouts = true;
    let report = |((progress, pair), start): ((Progress, &Pair), &Instant)| {
        let info = tcp::info(&pair.near)?;
        counts_timeouts &= info.timeouts.is_some();
        Ok::<_, BenchError>(FlowReport {
            bytes: progress.received,
            started: instant(start.duration_since(begin)),
            finished: progress.finished.map(|at| instant(at.duration_since(begin))),
            timeouts: info.timeouts.unwrap_or(0),
            retransmitted: info.retransmitted,
        })
    };
    let flows = transfers.progress().zip(starts).map(report).collect::<Result<_, _>>()?;
    Ok((flows, counts_timeouts))
}

/// A run in which the tunnels or the receipts were not what they should be has measured something else.
fn check(done: &Done) -> Result<(), BenchError> {
    if done.garbled > 0 {
        let what = format!("{} packets did not leave their tunnel as they went in", done.garbled);
        return Err(BenchError::Run(what));
    }
    if done.refused_receipts > 0 {
        let what = format!("{} receipts were genuine and did not pass", done.refused_receipts);
        return Err(BenchError::Run(what));
    }
    Ok(())
}
