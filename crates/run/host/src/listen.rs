//! Listening at the protocol's port, for access point and home on one computer.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::Instant;

/// Connections that wait to be accepted: as many as tokio's own listeners hold.
const WAITING_MAX: u32 = 1_024;

/// How long nothing is accepted after that has failed: mostly for want of file descriptors, which others have to close.
const PAUSE: Duration = Duration::from_millis(100);
/// So often that is reported at most.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// Whether an address is private (RFC 1918, RFC 4193), link-local, or loopback. An IPv4-mapped IPv6 address is none of these:
/// make it canonical first.
pub(crate) fn is_of_household(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_private() || ip.is_loopback() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_loopback() || ip.is_unicast_link_local(),
    }
}

/// Accepts connections, and is patient where the system has none to give.
#[derive(Debug)]
pub(crate) struct Acceptor {
    listener: TcpListener,
    reported: Mutex<Option<Instant>>,
}

impl Acceptor {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, reported: Mutex::default() }
    }

    /// The next connection. May be cancelled while it waits.
    pub(crate) async fn accept(&self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => return accepted,
                Err(error) => {
                    self.report(&error);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn report(&self, error: &std::io::Error) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.is_none_or(|at| at.elapsed() >= REPORT_EVERY) {
            tracing::warn!(%error, "connections cannot be accepted; trying again");
            *reported = Some(Instant::now());
        }
    }
}

/// Listens at `address`. A household's access point listens at its own address and its home at the same port of all
/// others; with `SO_REUSEPORT` (socket(7)) the kernel lets one user's programs do so, and gives a connection to the one
/// that names its address.
pub(crate) fn beside_others(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_MAX)
}
