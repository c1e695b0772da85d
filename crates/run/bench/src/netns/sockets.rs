//! Sockets at both ends of the path, each pair with the ports of its flow.

use super::addresses::{FAR, NEAR, addresses};
use crate::error::{BenchError, Doing};
use crate::voice::Pair;
use guestright_emulator::tcp;
use guestright_netns::World;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, accept_with, bind, connect, listen, socket_with, sockopt,
};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long connections may take to be made.
const PATIENCE: Duration = Duration::from_secs(20);
const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// What a TCP socket is to be.
#[derive(Clone, Debug)]
pub(super) struct TcpOptions {
    pub(super) congestion: String,
    pub(super) nagle: bool,
    /// The longest payload of a segment, if not the kernel's.
    pub(super) segment_bytes: Option<u32>,
    /// Whether it takes no more than has been sent.
    pub(super) thin: bool,
}

/// Sockets of UDP, bound at both ends and, unless somebody else says where packets go, connected.
pub(super) fn udp(
    world: &World,
    between: (Ipv4Addr, Ipv4Addr),
    flows: u32,
    is_connected: bool,
) -> Result<Vec<Pair>, BenchError> {
    let make = |is_near: bool| {
        move || {
            (0..flows)
                .map(move |flow| {
                    let (near, far) = addresses(between, flow);
                    let (own, other) = if is_near { (near, far) } else { (far, near) };
                    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, FLAGS, None)?;
                    bind(&socket, &own)?;
                    if is_connected {
                        connect(&socket, &other)?;
                    }
                    Ok(socket)
                })
                .collect::<rustix::io::Result<Vec<OwnedFd>>>()
        }
    };
    let near = world.within(NEAR, make(true))?.doing("make sockets of UDP")?;
    let far = world.within(FAR, make(false))?.doing("make sockets of UDP")?;
    Ok(near.into_iter().zip(far).map(|(near, far)| Pair { near, far }).collect())
}

/// Connections of TCP from the near to the far side.
pub(super) fn tcp(
    world: &World,
    between: (Ipv4Addr, Ipv4Addr),
    flows: u32,
    options: &TcpOptions,
) -> Result<Vec<Pair>, BenchError> {
    let listeners = world.within(FAR, || {
        let listener = |flow| {
            let socket = socket_with(AddressFamily::INET, SocketType::STREAM, FLAGS, None)?;
            if let Some(bytes) = options.segment_bytes {
                tcp::set_segment(&socket, bytes)?;
            }
            bind(&socket, &addresses(between, flow).1)?;
            listen(&socket, 1)?;
            Ok(socket)
        };
        (0..flows).map(listener).collect::<Result<Vec<OwnedFd>, BenchError>>()
    })??;
    let near = world.within(NEAR, || {
        (0..flows)
            .map(|flow| caller(addresses(between, flow), options))
            .collect::<Result<Vec<OwnedFd>, BenchError>>()
    })??;
    let until = Instant::now() + PATIENCE;
    let pair = |(near, listener): (OwnedFd, OwnedFd)| {
        wait_for(&listener, PollFlags::IN, until)?;
        let far = accept_with(&listener, FLAGS).doing("accept a connection")?;
        wait_for(&near, PollFlags::OUT, until)?;
        sockopt::socket_error(&near).doing("read a socket's error")?.doing("connect through the path")?;
        Ok(Pair { near, far })
    };
    near.into_iter().zip(listeners).map(pair).collect()
}

/// A socket of TCP that is being connected.
fn caller((near, far): (SocketAddrV4, SocketAddrV4), options: &TcpOptions) -> Result<OwnedFd, BenchError> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, FLAGS, None).doing("make a socket")?;
    tcp::set_congestion(&socket, &options.congestion)?;
    tcp::set_nodelay(&socket, !options.nagle)?;
    if let Some(bytes) = options.segment_bytes {
        tcp::set_segment(&socket, bytes)?;
    }
    if options.thin {
        tcp::set_unsent_max(&socket, 1)?;
    }
    bind(&socket, &near).doing(format!("bind {near}"))?;
    match connect(&socket, &far) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error).doing(format!("connect to {far}")),
    }
}

fn wait_for(socket: &OwnedFd, flags: PollFlags, until: Instant) -> Result<(), BenchError> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::new(socket, flags)], Some(&left)) {
            Ok(0) => {
                return Err(BenchError::NoConnection { within: PATIENCE });
            }
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).doing("wait for a connection"),
        }
    }
}
