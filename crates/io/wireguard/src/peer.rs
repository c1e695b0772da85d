use guestright_tunnel::wireguard::{Network, PresharedKey, PublicKey};
use guestright_units::{Bytes, Time};
use std::net::SocketAddr;

/// What a peer is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub public_key: PublicKey,
    /// A secret of the two, mixed into handshakes.
    pub preshared_key: Option<PresharedKey>,
    /// What goes to it, and what it may send from.
    pub allowed_ips: Vec<Network>,
    /// Where it is to begin with; afterwards it is where it last sent from.
    pub address: Option<SocketAddr>,
    /// Seconds between packets that keep a NAT's memory fresh.
    pub keepalive_s: Option<u16>,
}

/// How it stands with a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub public_key: PublicKey,
    /// Where its last authentic datagram came from, or where it is said to be.
    pub address: Option<SocketAddr>,
    /// When both last agreed on keys.
    pub agreed: Option<Time>,
    /// Bytes of WireGuard's datagrams from it.
    pub received: Bytes,
    /// Bytes of WireGuard's datagrams to it.
    pub sent: Bytes,
}

impl Peer {
    /// A peer with this key and nothing else set.
    #[must_use]
    pub fn new(public_key: PublicKey) -> Self {
        Self { public_key, preshared_key: None, allowed_ips: Vec::new(), address: None, keepalive_s: None }
    }
}

/// The peer of a configuration. Its address is that of the configuration, unless that is a name: names are for the
/// program to look up.
impl From<&guestright_tunnel::wireguard::Peer> for Peer {
    fn from(peer: &guestright_tunnel::wireguard::Peer) -> Self {
        Self {
            public_key: peer.public_key,
            preshared_key: peer.preshared_key.clone(),
            allowed_ips: peer.allowed_ips.clone(),
            address: peer.endpoint.as_ref().and_then(guestright_tunnel::wireguard::HostPort::socket_address),
            keepalive_s: peer.persistent_keepalive,
        }
    }
}
