//! One TCP connection at full speed: who receives, counts.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketType};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::generator::{Message, own_processor_time, send_message, wait_for_go};

/// The kernel's default differs between computers, so it is set at both ends and read back.
pub(crate) const CONGESTION: &str = "cubic";

/// As much as iperf3 reads and writes at once.
const BLOCK: usize = 128 << 10;

const SILENCE_MAX: Duration = Duration::from_secs(4);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) server: SocketAddrV4,
    /// Not counted.
    pub(crate) warmup: Duration,
    pub(crate) duration: Duration,
}

/// What the receiver counted.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Received {
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    pub(crate) processor_us: f64,
}

/// What the sender knows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(crate) retransmitted: u64,
    pub(crate) processor_us_per_second: f64,
}

pub(crate) fn receive(job: &Job) -> Result<Value> {
    let listener = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    sockopt::set_socket_reuseaddr(&listener, true)?;
    cubic(&listener)?;
    sockopt::set_socket_timeout(&listener, sockopt::Timeout::Recv, Some(SILENCE_MAX))?;
    rustix::net::bind(&listener, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, job.server.port()))?;
    rustix::net::listen(&listener, 1)?;
    send_message(&Message::Ready);
    let mut stream = TcpStream::from(rustix::net::accept(&listener).context("wait for the sender")?);
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    cubic(&stream)?;
    let mut buffer = vec![0; BLOCK];
    let accepted = Instant::now();
    while accepted.elapsed() < job.warmup {
        read_some(&mut stream, &mut buffer)?;
    }
    send_message(&Message::Begun);
    let (began, processor_began) = (Instant::now(), own_processor_time());
    let mut bytes = 0;
    let seconds = loop {
        bytes += read_some(&mut stream, &mut buffer)? as u64;
        let elapsed = began.elapsed();
        if elapsed >= job.duration {
            break elapsed.as_secs_f64();
        }
    };
    let processor_us = (own_processor_time() - processor_began) as f64 / 1e3;
    Ok(json!(Received { bytes, seconds, processor_us }))
}

fn read_some(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<usize> {
    let length = stream.read(buffer).context("receive")?;
    ensure!(length > 0, "the sender hung up");
    Ok(length)
}

pub(crate) fn send(job: &Job) -> Result<Value> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    cubic(&socket)?;
    // Also the limit for connecting.
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(SILENCE_MAX))?;
    wait_for_go()?;
    let before = retransmitted()?;
    rustix::net::connect(&socket, &job.server).context("connect")?;
    let mut stream = TcpStream::from(socket);
    let block = vec![0x55; BLOCK];
    let (began, processor_began) = (Instant::now(), own_processor_time());
    // The receiver hangs up when it has enough; the time is for one that does not.
    while began.elapsed() < job.warmup + job.duration + SILENCE_MAX {
        match stream.write(&block) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => break,
            Err(error) => return Err(error).context("send"),
        }
    }
    let processor_us_per_second =
        (own_processor_time() - processor_began) as f64 / 1e3 / began.elapsed().as_secs_f64();
    Ok(json!(Sent { retransmitted: retransmitted()? - before, processor_us_per_second }))
}

fn cubic(socket: impl AsFd) -> Result<()> {
    sockopt::set_tcp_congestion(&socket, CONGESTION).context("ask for cubic")?;
    let got = sockopt::tcp_congestion(&socket)?;
    ensure!(got == CONGESTION, "congestion control is {got}");
    Ok(())
}

/// Segments sent again on this host: `RetransSegs` of RFC 2012 in `/proc/net/snmp`.
fn retransmitted() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/net/snmp").context("read /proc/self/net/snmp")?;
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let at = names.split_whitespace().position(|name| name == "RetransSegs").context("no RetransSegs")?;
    values.split_whitespace().nth(at).and_then(|word| word.parse().ok()).context("no count of RetransSegs")
}
