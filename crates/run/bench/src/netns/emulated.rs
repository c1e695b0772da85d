//! One run on real sockets.

use super::addresses::{BULK_SINK, BULK_SOURCE, SINK, SOURCE};
use super::bulk::Transfers;
use super::hosts::Hosts;
use super::ledger::Crossing;
use super::path::{Carriage, Path};
use super::quic::Calls;
use super::request::{Carrier, Request};
use super::sockets::{self, TcpOptions};
use crate::error::{BenchError, Doing};
use crate::virtual_time::{at, instant, span};
use crate::voice::{Delivery, Ends, Span, Spoken, Voice};
use guestright_emulator::{Account, Emulator, Network};
use guestright_engine::{Instant as Moment, Nanos, Streams};
use guestright_netns::World;
use guestright_transport::SenderStats;
use guestright_transport::path::PathReport;
use guestright_units::Seed;
use std::thread;
use std::time::{Duration, Instant};

/// How long the path may take to carry the last of what makes connections.
const QUIET_MAX: Duration = Duration::from_secs(20);
/// How often it is asked.
const QUIET_EVERY: Duration = Duration::from_millis(5);
/// Threads are told so long before a run begins.
const NOTICE: Duration = Duration::from_millis(20);

/// What was measured; times are from the beginning of the run.
pub(super) struct Measured {
    pub(super) report: PathReport,
    pub(super) arrivals: Vec<Vec<Moment>>,
    pub(super) deliveries: Vec<Delivery>,
    pub(super) crossings: Vec<Crossing>,
    /// Of each call: packets that waited to be sent at the end.
    pub(super) waiting: Vec<u64>,
    pub(super) voice: VoiceNotes,
    pub(super) account: Account,
    pub(super) strangers: u64,
}

/// What is told of the thread that speaks and listens.
pub(super) struct VoiceNotes {
    pub(super) lateness: guestright_emulator::Lateness,
    pub(super) urgency: guestright_emulator::Urgency,
    pub(super) garbled: u64,
    /// The congestion control of the first call, as the kernel names it.
    pub(super) congestion: Option<String>,
}

/// Makes one run: it takes as long as it lasts.
pub(super) fn run(request: &Request, seed: &Seed) -> Result<Measured, BenchError> {
    let streams = Streams::new(seed.clone());
    let arrivals = request.setup.arrivals(&streams)?;
    let starts = request.setup.starts(&streams);
    let Hosts { world, near, far } = Hosts::build(request)?;
    let started = Instant::now();
    let emulator = Emulator::start(near, far, Path::new(request, seed.clone())?, started)?;
    let speech = connect(request, &world, &arrivals, started)?;
    let bulk = TcpOptions {
        congestion: request.bulk.congestion.clone(),
        nagle: true,
        segment_bytes: Some(request.bulk.segment_bytes),
        thin: false,
    };
    let pairs = sockets::tcp(&world, (BULK_SOURCE, BULK_SINK), request.setup.bulk(), &bulk)?;
    wait_until_quiet(&emulator, Path::is_quiet)?;
    let begin = started.elapsed() + NOTICE;
    let end = begin + request.duration;
    emulator.with(|path, _| path.begin(begin, end))?;
    let span_of_run = Span { begin: started + begin, end: started + end };
    let starts: Vec<Instant> = starts.iter().map(|start| at(span_of_run.begin, *start)).collect();
    let mut transfers = Transfers::new(pairs, &starts, u64::MAX).doing("wait for connections")?;
    let spoken = thread::scope(|scope| {
        let voice = thread::Builder::new()
            .name("voice".to_owned())
            .spawn_scoped(scope, || speech.run(span_of_run))?;
        let bulk = thread::Builder::new()
            .name("bulk".to_owned())
            .spawn_scoped(scope, || transfers.run(span_of_run.end, |_| {}))?;
        joined(bulk)?.doing("file transfers")?;
        joined(voice)?
    })?;
    let received = transfers.progress().map(|(progress, _)| progress.received).collect();
    let (path, account) = emulator.stop()?;
    let begin = instant(begin);
    Ok(measured(request, arrivals, (spoken, received), (path.finish(), account), begin))
}

/// Calls whose connections are there.
enum Speech {
    Sockets(Voice),
    Quic(Calls),
}

impl Speech {
    fn run(self, span: Span) -> Result<Spoken, BenchError> {
        match self {
            Self::Sockets(voice) => voice.run(span).doing("speak and listen on sockets"),
            Self::Quic(calls) => calls.run(span),
        }
    }
}

fn connect(
    request: &Request,
    world: &World,
    arrivals: &[Vec<Moment>],
    started: Instant,
) -> Result<Speech, BenchError> {
    let (between, flows) = ((SOURCE, SINK), request.setup.flows());
    let arrivals = arrivals.to_vec();
    let pairs = match &request.carrier {
        Carrier::Udp => sockets::udp(world, between, flows, true)?,
        Carrier::Tcp { congestion } => {
            let options = TcpOptions {
                congestion: congestion.clone(),
                nagle: request.tcp.nagle,
                segment_bytes: None,
                thin: true,
            };
            sockets::tcp(world, between, flows, &options)?
        }
        Carrier::Quic(quic) => {
            let pairs = sockets::udp(world, between, flows, false)?;
            let sizes = (request.packet_bytes, request.send_buffer);
            return Ok(Speech::Quic(Calls::connect(quic, (between, pairs), sizes, arrivals, started)?));
        }
    };
    Ok(Speech::Sockets(Voice {
        pairs,
        ends: Ends::Both,
        is_stream: matches!(request.carrier, Carrier::Tcp { .. }),
        packet_bytes: request.packet_bytes as usize,
        send_buffer: request.send_buffer,
        arrivals,
    }))
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> Result<T, BenchError> {
    thread.join().map_err(|_| BenchError::Panicked { what: "a thread ended in a panic" })
}

/// Until the last acknowledgement of what made connections has crossed.
pub(super) fn wait_until_quiet<N: Network>(
    emulator: &Emulator<N>,
    is_quiet: fn(&N) -> bool,
) -> Result<(), BenchError> {
    let until = Instant::now() + QUIET_MAX;
    while !emulator.with(|network, _| is_quiet(network)) {
        if Instant::now() > until {
            return Err(BenchError::NotQuiet { within: QUIET_MAX });
        }
        thread::sleep(QUIET_EVERY);
    }
    Ok(())
}

fn measured(
    request: &Request,
    arrivals: Vec<Vec<Moment>>,
    (spoken, received): (Spoken, Vec<u64>),
    (carriage, account): (Carriage, Account),
    begin: Moment,
) -> Measured {
    let Carriage { routers, flows, crossings, strangers } = carriage;
    let Spoken { deliveries, thrown, waiting, tcp, garbled, lateness, urgency, congestion } = spoken;
    let mut calls = flows;
    let mut transfers = calls.split_off(request.setup.flows() as usize);
    for (flow, report) in calls.iter_mut().enumerate() {
        report.made = arrivals[flow].len() as u64;
        report.thrown = thrown[flow];
        let of_flow = || deliveries.iter().filter(|delivery| delivery.flow as usize == flow);
        report.delivered = of_flow().count() as u64;
        report.delivered_bytes = report.delivered * u64::from(request.packet_bytes);
        report.first_delivered = of_flow().next().map(|delivery| delivery.at);
        report.last_delivered = of_flow().next_back().map(|delivery| delivery.at);
        if let Some(info) = tcp[flow] {
            report.round_trip = Some(span(info.round_trip));
            report.timeout = Some(span(info.timeout));
            let timeouts = info.timeouts;
            report.sender = timeouts.map(|timeouts| SenderStats { timeouts, ..SenderStats::default() });
        }
    }
    for (report, bytes) in transfers.iter_mut().zip(received) {
        report.delivered_bytes = bytes;
    }
    let hops = routers.iter().map(|router| router.delivered).sum();
    let events = account.entered.iter().sum();
    let since = |at: Moment| Moment(at.since(begin).0);
    let crossings = crossings
        .into_iter()
        .map(|crossing| Crossing { sent: since(crossing.sent), at: since(crossing.at), ..crossing })
        .collect();
    let now = Moment(0) + Nanos(span(request.duration).0);
    Measured {
        report: PathReport { now, calls, transfers, routers, hops, events },
        arrivals,
        deliveries,
        crossings,
        waiting,
        voice: VoiceNotes { lateness, urgency, garbled, congestion },
        account,
        strangers,
    }
}
