//! Calls over QUIC: quinn on sockets of the two hosts, with congestion control of its own or of ours.
//!
//! Connections are made before a run begins, as TCP's are. All calls share a thread; each has a socket of its own at
//! either end, so that the path knows whose a packet is.

use super::addresses::addresses;
use super::request::Quic;
use crate::error::BenchError;
use crate::virtual_time::instant;
use crate::voice::{Delivery, LABEL_BYTES, Pair, Span, Spoken};
use guestright_emulator::{Lateness, make_urgent};
use guestright_engine::Instant as Moment;
use guestright_quic_io::{Carriage, Clock, SentReport, VoiceReceiver, VoiceSender, VoiceSettings};
use guestright_units::Time;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, mpsc};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Below the emulator's.
const PRIORITY: u8 = 20;
/// After how much silence an end says that it is there; speech pauses for longer.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// After how much silence of the other a connection is given up.
const IDLE: Duration = Duration::from_secs(10);

/// Calls that are connected, on their thread.
pub(super) struct Calls {
    begin: oneshot::Sender<Span>,
    thread: JoinHandle<Result<Spoken, BenchError>>,
}

/// What the thread is told.
struct Plan {
    settings: VoiceSettings,
    between: (Ipv4Addr, Ipv4Addr),
    pairs: Vec<Pair>,
    packet_bytes: u32,
    arrivals: Vec<Vec<Moment>>,
    started: Instant,
}

impl Calls {
    /// Connects all calls over these sockets. `started` is what their clock begins with.
    pub(super) fn connect(
        quic: &Quic,
        (between, pairs): ((Ipv4Addr, Ipv4Addr), Vec<Pair>),
        (packet_bytes, send_buffer): (u32, usize),
        arrivals: Vec<Vec<Moment>>,
        started: Instant,
    ) -> Result<Self, BenchError> {
        let settings = VoiceSettings {
            send_buffer: u32::try_from(send_buffer).unwrap_or(u32::MAX),
            ack_every: quic.ack_every,
            mtu_discovery: quic.mtu_discovery,
            idle_timeout: IDLE,
            keep_alive: KEEP_ALIVE,
            ..VoiceSettings::call(quic.carriage, quic.algorithm)
        };
        let plan = Plan { settings, between, pairs, packet_bytes, arrivals, started };
        let ((ready, is_ready), (begin, begun)) = (mpsc::channel(), oneshot::channel());
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(speak(plan, ready, begun))
        };
        let thread = Builder::new().name("quic".to_owned()).spawn(work)?;
        match is_ready.recv() {
            Ok(()) => Ok(Self { begin, thread }),
            // It has given up, and says why.
            Err(_) => match thread.join() {
                Ok(Err(failure)) => Err(failure),
                Ok(Ok(_)) | Err(_) => {
                    Err(BenchError::Panicked { what: "QUIC's thread ended before it was ready" })
                }
            },
        }
    }

    /// Speaks and listens until the end.
    pub(super) fn run(self, span: Span) -> Result<Spoken, BenchError> {
        // If nobody listens any more, it has ended, and says why.
        let _ = self.begin.send(span);
        self.thread.join().map_err(|_| BenchError::Panicked { what: "QUIC's thread ended in a panic" })?
    }
}

async fn speak(
    plan: Plan,
    ready: mpsc::Sender<()>,
    begun: oneshot::Receiver<Span>,
) -> Result<Spoken, BenchError> {
    let urgency = make_urgent(PRIORITY);
    let started = plan.started;
    let clock: Clock = Arc::new(move || time(started.elapsed()));
    let (mut receivers, mut senders, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for (flow, pair) in (0..).zip(plan.pairs) {
        let (near, far) = (UdpSocket::from(pair.near), UdpSocket::from(pair.far));
        let receiver = VoiceReceiver::new(far, &plan.settings, Arc::clone(&clock))?;
        let key = receiver.key();
        let (end, ended) = oneshot::channel::<()>();
        ends.push(end);
        receivers.push(tokio::spawn(receiver.run(async { drop(ended.await) })));
        let peer = SocketAddr::V4(addresses(plan.between, flow).1);
        senders.push(VoiceSender::connect(near, peer, key, &plan.settings, Arc::clone(&clock), flow).await?);
    }
    if ready.send(()).is_err() {
        return Err(BenchError::Panicked { what: "nobody waits for the calls" });
    }
    let span = begun.await.map_err(|_| BenchError::Panicked { what: "the run did not begin" })?;
    let begin = span.begin.saturating_duration_since(started);
    let label = if plan.settings.carriage == Carriage::Datagrams { LABEL_BYTES } else { 0 };
    let bytes = plan.packet_bytes + u32::try_from(label).unwrap_or_default();
    let calls = senders.into_iter().zip(plan.arrivals).map(|(sender, arrivals)| {
        let spoken = (0..).zip(&arrivals).map(|(number, at)| guestright_quic_io::Spoken {
            at: time(begin + Duration::from_nanos(at.0)),
            number,
            bytes,
        });
        let spoken: Vec<_> = spoken.collect();
        tokio::spawn(async move { (sender.run(&spoken).await, spoken) })
    });
    let calls: Vec<_> = calls.collect();
    let mut lateness = Lateness::default();
    let mut thrown = Vec::new();
    for call in calls {
        let (report, spoken) =
            call.await.map_err(|_| BenchError::Panicked { what: "a call ended in a panic" })?;
        if let Some(reason) = &report.lost {
            tracing::warn!(reason, "a call over QUIC was cut off");
        }
        thrown.push(report.thrown_away + report.too_large);
        note(&report, &spoken, &mut lateness);
    }
    drop(ends);
    let mut packets = Vec::new();
    for receiver in receivers {
        packets.extend(
            receiver.await.map_err(|_| BenchError::Panicked { what: "a listener ended in a panic" })?,
        );
    }
    packets.sort_unstable_by_key(|packet| (packet.at, packet.call, packet.number));
    let until = span.end.saturating_duration_since(started);
    let deliveries = packets.into_iter().filter(|packet| packet.at <= time(until)).map(|packet| Delivery {
        flow: packet.call,
        number: packet.number,
        at: instant(Duration::from_micros(packet.at.0).saturating_sub(begin)),
    });
    Ok(Spoken {
        deliveries: deliveries.collect(),
        // What waits at the end is still sent, and then it is over.
        waiting: vec![0; thrown.len()],
        tcp: vec![None; thrown.len()],
        thrown,
        garbled: 0,
        lateness,
        urgency,
        congestion: Some(plan.settings.algorithm.name().to_owned()),
    })
}

/// How late packets were spoken that were sent.
fn note(report: &SentReport, spoken: &[guestright_quic_io::Spoken], lateness: &mut Lateness) {
    for sent in &report.sent {
        if let Some(planned) = spoken.get(sent.number as usize) {
            lateness.note(Duration::from_micros(sent.spoken_at.since(planned.at).0));
        }
    }
}

/// Microseconds since the start, which is what QUIC's ends count in.
fn time(since: Duration) -> Time {
    Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
