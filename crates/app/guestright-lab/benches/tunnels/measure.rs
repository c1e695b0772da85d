//! One path, measured: bulk transfer, calls at fixed rates, and the rate at which it begins to lose.

use std::fmt::Write as _;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::generator::Generator;
use crate::lab::{CLIENT, Lab, SERVER};
use crate::path::Way;
use crate::peer::Tunnel;
use crate::plan::{Condition, Plan};
use crate::processor::{Clocks, load, wait_for_quiet};
use crate::{tcp, voice};

const TCP_PORT: u16 = 5_001;
const VOICE_PORT: u16 = 5_002;

/// A packet of a bulk transfer, roughly, so that its cost can be set beside that of a small one.
const BULK_PACKET: f64 = 1_400.0;

/// A rate is reached if no more than this share is lost and the generator keeps up this well.
const LOSS_MAX: f64 = 0.01;
const PACE_MIN: f64 = 0.93;

/// Daemons that use less of a processor have nothing left to do; some are never still.
const SETTLED: f64 = 0.02;
const SETTLE_LOOKS_MAX: u32 = 40;

/// One path in one repetition.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Visit {
    pub(crate) way: Way,
    pub(crate) repetition: u32,
    /// What was wrong when its daemons were started and no packet came through.
    pub(crate) failed_starts: Vec<String>,
    /// Why something is missing.
    pub(crate) problem: Option<String>,
    /// How many programs wanted to run in the minute before, and the share of the processors that others used just
    /// before.
    pub(crate) load: f64,
    pub(crate) busy: f64,
    pub(crate) bulk: Vec<Bulk>,
    pub(crate) calls: Vec<Calls>,
    pub(crate) ladder: Vec<Calls>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Bulk {
    pub(crate) condition: Condition,
    /// Megabits of payload a second.
    pub(crate) mbit: f64,
    pub(crate) retransmitted: u64,
    /// Microseconds for each 1,400 bytes: both daemons, and the whole computer.
    pub(crate) daemons_us: f64,
    pub(crate) computer_us: f64,
    /// On the router's outer link towards the server, with link-layer headers.
    pub(crate) frames: u64,
    pub(crate) frame_bytes_mean: f64,
    /// Packets that no real link carries.
    pub(crate) oversize: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Calls {
    /// Packets a second: wanted, and sent.
    pub(crate) rate: u32,
    pub(crate) paced: f64,
    pub(crate) sent: u64,
    pub(crate) refused: u64,
    pub(crate) received: u64,
    pub(crate) reordered: u64,
    pub(crate) p50_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
    /// Microseconds for each packet sent: both daemons; daemons and generators; the whole computer.
    pub(crate) daemons_us: f64,
    pub(crate) processes_us: f64,
    pub(crate) computer_us: f64,
    /// Of everything on the outer link towards the server.
    pub(crate) frame_bytes_mean: f64,
}

impl Calls {
    pub(crate) fn loss(&self) -> f64 {
        1.0 - self.received as f64 / (self.sent + self.refused).max(1) as f64
    }

    fn is_reached(&self) -> bool {
        self.loss() < LOSS_MAX && self.paced >= PACE_MIN * f64::from(self.rate)
    }
}

impl Visit {
    pub(crate) fn new(way: Way, repetition: u32, patience: Duration) -> Self {
        let busy = wait_for_quiet(patience);
        let (failed_starts, bulk, calls, ladder) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { way, repetition, failed_starts, problem: None, load: load(), busy, bulk, calls, ladder }
    }

    /// The highest rate with less than 1 % lost.
    pub(crate) fn rate_max(&self) -> Option<f64> {
        let reached = self.calls.iter().chain(&self.ladder).filter(|calls| calls.is_reached());
        reached.map(|calls| calls.paced).max_by(f64::total_cmp)
    }

    /// What it was like, on one line.
    pub(crate) fn line(&self) -> String {
        let mut line = String::new();
        for bulk in &self.bulk {
            let _ = write!(line, "{:.0} Mbit/s {}, ", bulk.mbit, bulk.condition.name());
        }
        for calls in &self.calls {
            let _ = write!(
                line,
                "{} pps: p50 {:.0} p99 {:.0} us, {:.1} us/packet, ",
                calls.rate, calls.p50_us, calls.p99_us, calls.processes_us
            );
        }
        if let Some(rate) = self.rate_max() {
            let _ = write!(line, "up to {rate:.0} pps, ");
        }
        if self.problem.is_none() && !self.failed_starts.is_empty() {
            let _ = write!(line, "{} starts failed, ", self.failed_starts.len());
        }
        if let Some(problem) = &self.problem {
            let _ = write!(line, "{problem}, ");
        }
        let _ = write!(line, "others used {:.0} %", self.busy * 100.0);
        line
    }
}

pub(crate) fn run(visit: &mut Visit, lab: &Lab, tunnel: &Tunnel, plan: &Plan) -> Result<()> {
    for &condition in &plan.conditions {
        lab.set_receive_offload(condition == Condition::Seggro)?;
        let bulk = bulk(lab, tunnel, plan, condition);
        visit.bulk.push(bulk.with_context(|| format!("bulk transfer, {}", condition.name()))?);
    }
    lab.set_receive_offload(false)?;
    settle(tunnel);
    for &(rate, duration) in &plan.rates {
        visit.calls.push(calls(lab, tunnel, rate, duration)?);
    }
    for &rate in &plan.ladder {
        settle(tunnel);
        let mut step = calls(lab, tunnel, rate, plan.ladder_duration)?;
        if !step.is_reached() {
            step = calls(lab, tunnel, rate, plan.ladder_duration)?; // Once may be somebody else's noise.
        }
        visit.ladder.push(step);
        if !step.is_reached() {
            break;
        }
    }
    Ok(())
}

/// Waits until the daemons have worked off what they still held when a transfer was cut off: megabytes in a socket's
/// queue, a tenth of a second with a slow cipher, behind which the first calls would wait.
fn settle(tunnel: &Tunnel) {
    const LOOK: Duration = Duration::from_millis(50);
    for _ in 0..SETTLE_LOOKS_MAX {
        let before = Clocks::read(&tunnel.daemons);
        std::thread::sleep(LOOK);
        let used = Clocks::read(&tunnel.daemons).since(&before);
        if used.daemons_us < LOOK.as_secs_f64() * 1e6 * SETTLED {
            return;
        }
    }
}

fn bulk(lab: &Lab, tunnel: &Tunnel, plan: &Plan, condition: Condition) -> Result<Bulk> {
    let server = SocketAddrV4::new(tunnel.server, TCP_PORT);
    let job = tcp::Job { server, warmup: plan.tcp_warmup, duration: plan.tcp_duration };
    let oversize = lab.oversize()?;
    let mut receiver = Generator::start(lab, SERVER, "tcp-receive", &job)?;
    let mut sender = Generator::start(lab, CLIENT, "tcp-send", &job)?;
    sender.go()?;
    // If the sender cannot connect, its word says why; the receiver's only that nobody came.
    if let Err(error) = receiver.begun() {
        return Err(sender.done::<tcp::Sent>().err().unwrap_or(error));
    }
    let (before, began) = (lab.wire()?, Clocks::read(&tunnel.daemons));
    let received: tcp::Received = receiver.done()?;
    let (ended, after) = (Clocks::read(&tunnel.daemons), lab.wire()?);
    let sent: tcp::Sent = sender.done()?;
    let used = ended.since(&began);
    let packets = received.bytes as f64 / BULK_PACKET;
    let frames = after.sent_frames - before.sent_frames;
    Ok(Bulk {
        condition,
        mbit: received.bytes as f64 * 8.0 / received.seconds / 1e6,
        retransmitted: sent.retransmitted,
        daemons_us: used.daemons_us / packets,
        computer_us: used.computer_us / packets,
        frames,
        frame_bytes_mean: (after.sent_bytes - before.sent_bytes) as f64 / frames.max(1) as f64,
        oversize: lab.oversize()? - oversize,
    })
}

fn calls(lab: &Lab, tunnel: &Tunnel, rate: u32, duration: Duration) -> Result<Calls> {
    static RUNS: AtomicU32 = AtomicU32::new(1);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let job = voice::Job { server: SocketAddrV4::new(tunnel.server, VOICE_PORT), run, rate, duration };
    let mut receiver = Generator::start(lab, SERVER, "voice-receive", &job)?;
    let mut sender = Generator::start(lab, CLIENT, "voice-send", &job)?;
    let (before, began) = (lab.wire()?, Clocks::read(&tunnel.daemons));
    sender.go()?;
    let sent: voice::Sent = sender.done()?;
    let received: voice::Received = receiver.done()?;
    let (ended, after) = (Clocks::read(&tunnel.daemons), lab.wire()?);
    let used = ended.since(&began);
    let packets = sent.packets.max(1) as f64;
    let frames = (after.sent_frames - before.sent_frames).max(1) as f64;
    Ok(Calls {
        rate,
        paced: (sent.packets + sent.refused) as f64 / sent.seconds,
        sent: sent.packets,
        refused: sent.refused,
        received: received.packets,
        reordered: received.reordered,
        p50_us: received.p50_us,
        p90_us: received.p90_us,
        p99_us: received.p99_us,
        max_us: received.max_us,
        daemons_us: used.daemons_us / packets,
        processes_us: (used.daemons_us + sent.processor_us + received.processor_us) / packets,
        computer_us: used.computer_us / packets,
        frame_bytes_mean: (after.sent_bytes - before.sent_bytes) as f64 / frames,
    })
}
