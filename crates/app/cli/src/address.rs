//! Where another computer is, as a person says it.

use crate::failure::Failure;
use anyhow::anyhow;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// The first address of a name or of an address, with or without a port.
pub fn resolve(peer: &str, port: u16) -> Result<SocketAddr, Failure> {
    if let Ok(address) = peer.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let bare = peer.starts_with('[') && peer.ends_with(']') || !peer.contains(':');
    let with_port = if bare { format!("{peer}:{port}") } else { peer.to_owned() };
    let mut found = with_port
        .to_socket_addrs()
        .map_err(|error| Failure::network(anyhow!("{peer}: {error}")).hint("HOST or HOST:PORT"))?;
    found.next().ok_or_else(|| Failure::network(anyhow!("{peer} has no address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_may_be_left_out() {
        for (text, want) in [
            ("192.0.2.7", "192.0.2.7:7276"),
            ("192.0.2.7:99", "192.0.2.7:99"),
            ("2001:db8::7", "[2001:db8::7]:7276"),
            ("[2001:db8::7]", "[2001:db8::7]:7276"),
            ("[2001:db8::7]:99", "[2001:db8::7]:99"),
        ] {
            assert_eq!(resolve(text, 7276).unwrap(), want.parse().unwrap(), "{text}");
        }
        assert!(resolve("192.0.2.7:99999", 7276).is_err());
    }
}
