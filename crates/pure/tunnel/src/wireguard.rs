//! WireGuard's configuration text, as stock apps, `wg` and `wg-quick` read and write it.
//!
//! In: text. Out: a [`Config`], and from it the text again; `parse(emit(x)) == x`.
//!
//! Sections and keys are those of wg(8) and wg-quick(8), in any case of letters, with comments after `#`. What
//! `wg-quick` alone acts on (`Table`, `SaveConfig` and its four hooks, which run commands) is read over and named in
//! [`Config::ignored`]: nothing here runs a command out of a file. Any other key is refused, because whoever wrote it
//! meant something that would not happen.
//!
//! Secrets are wiped from memory when dropped, and neither `Debug` nor an error shows one.

mod emit;
mod error;
mod key;
mod network;
mod parse;
#[cfg(test)]
mod tests;

pub use error::{ConfigError, Fault};
pub use key::{PresharedKey, PrivateKey, PublicKey};
pub use network::{Host, HostPort, Network};

use std::net::IpAddr;

/// A configuration: one interface and its peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Our own end.
    pub interface: Interface,
    /// The other ends.
    pub peers: Vec<Peer>,
    /// Keys of wg-quick(8) that were read over, as they were written. Not emitted.
    pub ignored: Vec<String>,
}

/// The section `[Interface]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// `PrivateKey`.
    pub private_key: PrivateKey,
    /// `Address`: what the interface is called inside the tunnel, with the length of the network around it.
    pub addresses: Vec<Network>,
    /// `DNS`: resolvers.
    pub dns: Vec<IpAddr>,
    /// `DNS`: what is not an address there, domains to search in.
    pub search: Vec<String>,
    /// `MTU` of the interface, in bytes, from 576 to 65,535.
    pub mtu: Option<u16>,
    /// `ListenPort`: the UDP port; any free one if there is none.
    pub listen_port: Option<u16>,
    /// `FwMark`: what outgoing datagrams are marked with; never 0.
    pub fwmark: Option<u32>,
}

/// A section `[Peer]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// `PublicKey`.
    pub public_key: PublicKey,
    /// `PresharedKey`.
    pub preshared_key: Option<PresharedKey>,
    /// `AllowedIPs`: what goes to this peer, and what it may send from. First addresses of networks.
    pub allowed_ips: Vec<Network>,
    /// `Endpoint`: where it is to begin with. Names are for the program to look up.
    pub endpoint: Option<HostPort>,
    /// `PersistentKeepalive`: seconds between packets that keep a NAT's memory fresh; never 0.
    pub persistent_keepalive: Option<u16>,
}

impl Config {
    /// No text has more bytes.
    pub const LEN_MAX: usize = 256 * 1024;
    /// No text has more peers.
    pub const PEERS_MAX: usize = 1_024;
    /// No key has more values.
    pub const VALUES_MAX: usize = 1_024;

    /// A configuration of this interface without peers.
    #[must_use]
    pub fn new(interface: Interface) -> Self {
        Self { interface, peers: Vec::new(), ignored: Vec::new() }
    }

    /// Reads a configuration.
    ///
    /// # Errors
    /// The line and what is wrong with it; never a key or what could be one.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        parse::parse(text)
    }

    /// The text that stock apps read. It holds the private key: the memory is wiped when it is dropped.
    #[must_use]
    pub fn emit(&self) -> zeroize::Zeroizing<String> {
        emit::emit(self)
    }
}

impl Interface {
    /// An interface with this key and nothing else set.
    #[must_use]
    pub fn new(private_key: PrivateKey) -> Self {
        Self {
            private_key,
            addresses: Vec::new(),
            dns: Vec::new(),
            search: Vec::new(),
            mtu: None,
            listen_port: None,
            fwmark: None,
        }
    }
}

impl Peer {
    /// A peer with this key and nothing else set.
    #[must_use]
    pub fn new(public_key: PublicKey) -> Self {
        Self {
            public_key,
            preshared_key: None,
            allowed_ips: Vec::new(),
            endpoint: None,
            persistent_keepalive: None,
        }
    }
}
