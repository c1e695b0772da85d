//! Interfaces that somebody names and that are not there, and this computer's own address.

use guestright_error::RunError;
use guestright_firewall::{FirewallError, interfaces};
#[cfg(any(feature = "page", feature = "phones"))]
use {
    guestright_error::OrFail as _,
    std::net::{IpAddr, Ipv4Addr, UdpSocket},
};

/// This computer's address on the way to everybody else. Nothing is sent.
#[cfg(any(feature = "page", feature = "phones"))]
pub(crate) fn own_address() -> Result<IpAddr, RunError> {
    let find = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
        socket.local_addr()
    };
    Ok(find().or_network(|| "find this computer's address".to_owned())?.ip())
}

/// The firewall's error, with what may be meant where there is no such interface.
pub(crate) fn refused(error: FirewallError) -> RunError {
    let is_unknown = matches!(error, FirewallError::NoInterface { .. });
    let error = RunError::network(error);
    if !is_unknown {
        return error;
    }
    let known = interfaces();
    let hint = if known.is_empty() {
        "this computer has no interface but the loopback".to_owned()
    } else {
        format!("name one of those that this computer has: {}", known.join(", "))
    };
    error.with_hint(hint)
}
