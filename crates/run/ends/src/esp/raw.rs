//! ESP right behind the IP header: a relay between the tunnel's UDP socket on the loopback interface and a raw socket.
//!
//! Slower than UDP encapsulation, since there is no segmentation offload for IP protocol 50; for comparing with kernels
//! and captures that know nothing else.

use guestright_error::{OrFail as _, RunError};
use guestright_tunnel::ip::{Ipv4Header, PROTOCOL_ESP};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, Shutdown, SocketType};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The largest IPv4 packet.
const PACKET_BYTES_MAX: usize = 65_535;
/// Bytes that the kernel holds for the raw socket: what UDP sockets of tunnels have.
const BUFFER_BYTES: usize = 4 << 20;

/// What one of the threads does until it is over.
type Direction = fn(&UdpSocket, &OwnedFd, &AtomicBool);

/// Two threads, ended when this is dropped.
#[derive(Debug)]
pub(crate) struct RawRelay {
    inside: Arc<UdpSocket>,
    raw: Arc<OwnedFd>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    address: SocketAddr,
}

impl RawRelay {
    /// Relays between the socket at `tunnel` and the peer: what comes to [`address`](Self::address) goes to the peer, what
    /// comes from the peer goes to `tunnel`.
    ///
    /// # Errors
    /// A socket or a thread cannot be had.
    pub(crate) fn start((ours, peers): (Ipv4Addr, Ipv4Addr), tunnel: SocketAddr) -> Result<Self, RunError> {
        let raw = Arc::new(
            raw_socket(ours, peers)
                .map_err(|error| error.with_hint("run as root, or with the capability CAP_NET_RAW"))?,
        );
        let inside = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| {
            socket.connect(tunnel)?;
            Ok(socket)
        });
        let inside = Arc::new(inside.or_network(|| "open a socket on the loopback interface".to_owned())?);
        let address = inside.local_addr().map_err(RunError::network)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let mut relay = Self { inside, raw, is_over, threads: Vec::new(), address };
        let directions: [(&str, Direction); 2] = [("raw-out", relay_out), ("raw-in", relay_in)];
        for (name, direction) in directions {
            let (inside, raw) = (Arc::clone(&relay.inside), Arc::clone(&relay.raw));
            let is_over = Arc::clone(&relay.is_over);
            let builder = std::thread::Builder::new().name(name.to_owned());
            let thread = builder.spawn(move || direction(&inside, &raw, &is_over));
            relay.threads.push(thread.or_network(|| "start a thread".to_owned())?);
        }
        Ok(relay)
    }

    /// What the tunnel takes for its peer.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for RawRelay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // Wakes both readers, also on sockets without a connection to close.
        let _ = rustix::net::shutdown(&*self.inside, Shutdown::Both);
        let _ = rustix::net::shutdown(&*self.raw, Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn raw_socket(ours: Ipv4Addr, peers: Ipv4Addr) -> Result<OwnedFd, RunError> {
    let number =
        NonZeroU32::new(u32::from(PROTOCOL_ESP)).ok_or_else(|| RunError::network("ESP has a number"))?;
    let open = || -> rustix::io::Result<OwnedFd> {
        let socket =
            rustix::net::socket(AddressFamily::INET, SocketType::RAW, Some(Protocol::from_raw(number)))?;
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES);
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&socket, BUFFER_BYTES);
        rustix::net::bind(&socket, &SocketAddr::from((ours, 0)))?;
        // From now on it gets the peer's packets only.
        rustix::net::connect(&socket, &SocketAddr::from((peers, 0)))?;
        Ok(socket)
    };
    open().or_network(|| format!("open a raw socket from {ours} to {peers}"))
}

/// From the tunnel to the peer. The kernel writes the IP header.
fn relay_out(inside: &UdpSocket, raw: &OwnedFd, is_over: &AtomicBool) {
    let mut buffer = vec![0; PACKET_BYTES_MAX];
    while !is_over.load(Ordering::Acquire) {
        match inside.recv(&mut buffer) {
            // Lost packets are the business of who sent them.
            Ok(length) if length > 0 => _ = rustix::net::send(raw, &buffer[..length], SendFlags::empty()),
            Ok(_) | Err(_) => {}
        }
    }
}

/// From the peer to the tunnel. A raw socket gives the IP header along.
fn relay_in(inside: &UdpSocket, raw: &OwnedFd, is_over: &AtomicBool) {
    let mut buffer = vec![0; PACKET_BYTES_MAX];
    while !is_over.load(Ordering::Acquire) {
        let Ok((length, _)) = rustix::net::recv(raw, &mut buffer[..], RecvFlags::empty()) else { continue };
        if let Ok((_, payload)) = Ipv4Header::parse(&buffer[..length]) {
            let _ = inside.send(&buffer[payload]);
        }
    }
}
