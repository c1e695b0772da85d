//! Calls: many streams of small packets at even distances, each with the time when it was sent.
//!
//! A packet is 60 bytes with its headers, as the papers count a G.729 frame of 20 bytes: 20 IPv4, 8 UDP, 12 RTP, 20
//! voice. Where RTP and voice would be stands what is measured: time, stream, number and run.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::num::NonZeroU64;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::net::sockopt;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::generator::{Message, now, own_processor_time, send_message, wait_for_go};
use crate::sample::percentile;

/// 12 RTP and 20 voice.
const PAYLOAD: usize = 32;

/// Calls at a time. A higher rate is more packets in each call, as if they were many more.
const STREAMS: u32 = 50;

/// A stream number that ends a run.
const END: u32 = u32::MAX;

/// The timer is not trusted with less: shorter waits are spent looking at the clock.
const SLEEP_MIN_NS: u64 = 20_000;

const BUFFER: usize = 8 << 20;

/// After the end, what overtook it by another thread of a daemon may still come.
const GRACE_NS: u64 = 100_000_000;
const SILENCE_MAX_NS: u64 = 1_500_000_000;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) server: SocketAddrV4,
    /// Told apart from packets of an earlier run that are still on their way.
    pub(crate) run: u32,
    /// Packets a second, all streams together.
    pub(crate) rate: u32,
    pub(crate) duration: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sent {
    /// Packets handed to the kernel.
    pub(crate) packets: u64,
    /// Packets that the kernel did not take.
    pub(crate) refused: u64,
    pub(crate) seconds: f64,
    pub(crate) processor_us: f64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Received {
    pub(crate) packets: u64,
    /// Packets with a smaller number than one before them in their stream.
    pub(crate) reordered: u64,
    /// From the first to the last.
    pub(crate) seconds: f64,
    /// One way, by the clock that both hosts share.
    pub(crate) p50_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
    pub(crate) processor_us: f64,
}

pub(crate) fn send(job: &Job) -> Result<Value> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect(job.server).context("connect")?;
    let _ = set_current_timer_slack(NonZeroU64::new(1)); // Else ordinary programs wake up to 50 us late.
    wait_for_go()?;
    let rate = u64::from(job.rate.max(1));
    let total = (rate as f64 * job.duration.as_secs_f64()) as u64;
    let (began, processor_began) = (now() + 1_000_000, own_processor_time());
    let give_up = began + (job.duration.as_nanos() * 13 / 10) as u64;
    let (mut packets, mut refused) = (0, 0);
    for number in 0..total {
        let due = began + number * 1_000_000_000 / rate;
        let at = wait_until(due, 1_000_000_000 / rate);
        if at > give_up {
            break;
        }
        let stream = (number % u64::from(STREAMS)) as u32;
        let packet = encode(at, stream, (number / u64::from(STREAMS)) as u32, job.run);
        match socket.send(&packet) {
            Ok(_) => packets += 1,
            Err(_) => refused += 1,
        }
    }
    let seconds = (now() - began) as f64 / 1e9;
    let processor_us = (own_processor_time() - processor_began) as f64 / 1e3;
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(20)); // Behind the queue, and not all lost in it.
        let _ = socket.send(&encode(now(), END, 0, job.run));
    }
    Ok(json!(Sent { packets, refused, seconds, processor_us }))
}

/// Waits until `due` and returns the time; late already, it does not wait.
fn wait_until(due: u64, gap: u64) -> u64 {
    loop {
        let at = now();
        if at >= due {
            return at;
        }
        if gap > SLEEP_MIN_NS || due - at > 3 * SLEEP_MIN_NS {
            let time = Timespec { tv_sec: (due / 1_000_000_000) as i64, tv_nsec: (due % 1_000_000_000) as _ };
            // Interrupted: look at the clock and go on.
            let _ = clock_nanosleep_absolute(ClockId::Monotonic, &time);
        }
    }
}

fn encode(time: u64, stream: u32, number: u32, run: u32) -> [u8; PAYLOAD] {
    let mut packet = [0x5a; PAYLOAD];
    packet[..8].copy_from_slice(&time.to_be_bytes());
    packet[8..12].copy_from_slice(&stream.to_be_bytes());
    packet[12..16].copy_from_slice(&number.to_be_bytes());
    packet[16..20].copy_from_slice(&run.to_be_bytes());
    packet
}

/// Time, stream and number of a packet of this run.
fn decode(packet: &[u8], run: u32) -> Option<(u64, u32, u32)> {
    let word = |at: usize| packet[at..at + 4].try_into().map(u32::from_be_bytes).ok();
    if packet.len() != PAYLOAD || word(16)? != run || packet[20..] != [0x5a; PAYLOAD - 20] {
        return None;
    }
    let time = u64::from_be_bytes(packet[..8].try_into().ok()?);
    Some((time, word(8)?, word(12)?))
}

pub(crate) fn receive(job: &Job) -> Result<Value> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, job.server.port()))?;
    if sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, BUFFER)?; // Not root: as much as the kernel allows.
    }
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    let expected = (f64::from(job.rate) * job.duration.as_secs_f64()) as usize;
    let mut latencies: Vec<u32> = Vec::with_capacity(expected + 1_000);
    let mut newest = [0_u32; STREAMS as usize];
    let mut reordered = 0;
    let (mut first, mut last) = (0, 0);
    let mut buffer = [0; 2_048];
    send_message(&Message::Ready);
    let processor_began = own_processor_time();
    let limit = now() + (job.duration.as_nanos() * 2) as u64 + 4 * SILENCE_MAX_NS;
    let mut end = limit;
    loop {
        let length = match socket.recv(&mut buffer) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
            Err(error) => return Err(error).context("receive"),
        };
        let at = now();
        if at > end || (last > 0 && at > last + SILENCE_MAX_NS) {
            break;
        }
        let Some((sent, stream, number)) = decode(&buffer[..length], job.run) else { continue };
        if stream == END {
            end = end.min(at + GRACE_NS);
            continue;
        }
        let Some(seen) = newest.get_mut(stream as usize) else { continue };
        reordered += u64::from(number < *seen);
        *seen = number.max(*seen);
        first = if first == 0 { at } else { first };
        last = at;
        latencies.push((at.saturating_sub(sent) / 100).min(u64::from(u32::MAX)) as u32);
    }
    let processor_us = (own_processor_time() - processor_began) as f64 / 1e3;
    latencies.sort_unstable();
    let at = |share| f64::from(percentile(&latencies, share)) / 10.0; // From tenths of a microsecond.
    Ok(json!(Received {
        packets: latencies.len() as u64,
        reordered,
        seconds: (last - first) as f64 / 1e9,
        p50_us: at(0.5),
        p90_us: at(0.9),
        p99_us: at(0.99),
        max_us: at(1.0),
        processor_us,
    }))
}
