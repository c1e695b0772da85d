//! Where a door opens: a socket in the file system, or an address and a port within a household.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::{fs, io};
use thiserror::Error;

/// Why a door does not open.
#[derive(Debug, Error)]
pub enum BindError {
    /// The system refuses the address.
    #[error("no door can be opened at {address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
    /// The system refuses the socket.
    #[error("no door can be opened at {}: {error}", path.display())]
    Socket { path: PathBuf, error: io::Error },
    /// Somebody answers there.
    #[error("another program has the door at {} open", path.display())]
    InUse { path: PathBuf },
    /// The Internet might reach it.
    #[error("{address} is no address within a household, and this is for nobody outside")]
    Public { address: SocketAddr },
}

/// Listens at an address within a household, and says at which: it may be at any port. Needs a tokio runtime.
///
/// # Errors
///
/// The address is on the Internet or is all of them, is none of ours, or is taken.
pub fn bind_tcp(address: SocketAddr) -> Result<(SocketAddr, tokio::net::TcpListener), BindError> {
    if !is_within_household(address.ip()) {
        return Err(BindError::Public { address });
    }
    let open = || {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        Ok((listener.local_addr()?, listener))
    };
    open().map_err(|error| BindError::Listen { address, error })
}

/// Listens at a socket that its user alone may use. One that a program left behind when it was killed is removed. Needs a tokio
/// runtime.
///
/// # Errors
///
/// Another program listens there, or the system refuses.
pub fn bind_socket(path: &Path) -> Result<tokio::net::UnixListener, BindError> {
    let failed = |error| BindError::Socket { path: path.to_owned(), error };
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if UnixStream::connect(path).is_ok() {
                return Err(BindError::InUse { path: path.to_owned() });
            }
            fs::remove_file(path).map_err(failed)?;
            UnixListener::bind(path).map_err(failed)?
        }
        bound => bound.map_err(failed)?,
    };
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    tokio::net::UnixListener::from_std(listener).map_err(failed)
}

/// Loopback, and what is no address on the Internet: RFC 1918, RFC 6598 (tunnels), RFC 3927, RFC 4193, RFC 4291.
pub fn is_within_household(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            let is_shared = first == 100 && (64..128).contains(&second);
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || is_shared
        }
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_door_is_where_the_internet_is() {
        for inside in [
            "127.0.0.1",
            "192.168.1.2",
            "10.0.0.1",
            "172.16.0.1",
            "100.64.0.1",
            "169.254.1.1",
            "::1",
            "fd00::1",
            "fe80::1",
        ] {
            assert!(is_within_household(inside.parse().unwrap()), "{inside}");
        }
        for outside in
            ["0.0.0.0", "203.0.113.1", "100.128.0.1", "172.32.0.1", "::", "2001:db8::1", "::ffff:8.8.8.8"]
        {
            assert!(!is_within_household(outside.parse().unwrap()), "{outside}");
        }
    }
}
