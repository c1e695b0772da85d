//! Listening at the protocol's port, for access point and home on one computer.

use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket};

/// Connections that wait to be accepted: as many as tokio's own listeners hold.
const WAITING_MAX: u32 = 1_024;

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
