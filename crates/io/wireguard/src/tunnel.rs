use crate::{Kernel, Peer, Status, Userspace, WireGuardError};
use guestright_tunnel::Counters;
#[cfg(feature = "userspace")]
use guestright_tunnel::Endpoint as _;
use guestright_tunnel::wireguard::PublicKey;
use guestright_units::Bytes;
use std::sync::Arc;

/// WireGuard, whoever carries the packets.
#[derive(Clone, Debug)]
pub enum Tunnel {
    /// This program, between a TUN device and a socket that the program made.
    Userspace(Arc<Userspace>),
    Kernel(Arc<Kernel>),
}

impl Tunnel {
    /// Adds a peer, or changes one.
    ///
    /// # Errors
    /// If it is ourselves, there are too many, or `wg` fails.
    pub fn set_peer(&self, peer: &Peer) -> Result<(), WireGuardError> {
        match self {
            Self::Userspace(end) => end.set_peer(peer),
            Self::Kernel(end) => end.set_peer(peer),
        }
    }

    /// Removes a peer.
    ///
    /// # Errors
    /// If there is none with this key, or `wg` fails.
    pub fn remove_peer(&self, key: &PublicKey) -> Result<(), WireGuardError> {
        match self {
            Self::Userspace(end) => end.remove_peer(key),
            Self::Kernel(end) => end.remove_peer(key),
        }
    }

    /// Begins a handshake with the peer, whatever is agreed already. In userspace with the next tick; kick the pump.
    ///
    /// # Errors
    /// If there is none with this key, or `wg` fails.
    pub fn initiate(&self, key: &PublicKey) -> Result<(), WireGuardError> {
        match self {
            Self::Userspace(end) => end.initiate(key),
            Self::Kernel(end) => end.initiate(key),
        }
    }

    /// Bytes of the tunnel's datagrams as IPv4 packets: those that came and were authentic, once each, and those that were
    /// sent. It begins anew when a peer is removed.
    ///
    /// # Errors
    /// If `wg` fails.
    pub fn carried(&self) -> Result<Bytes, WireGuardError> {
        match self {
            Self::Userspace(end) => Ok(end.carried()),
            Self::Kernel(end) => end.carried(),
        }
    }

    /// The same of one peer, nothing if there is none with this key. The kernel does not say how many datagrams were whose:
    /// there it is as much as they can have been at most, if all datagrams were this peer's.
    ///
    /// # Errors
    /// If `wg` fails.
    pub fn carried_for(&self, key: &PublicKey) -> Result<Option<Bytes>, WireGuardError> {
        match self {
            Self::Userspace(end) => Ok(end.carried_for(key)),
            Self::Kernel(end) => end.carried_for(key),
        }
    }

    /// What this program has carried and dropped. The kernel does not say.
    #[must_use]
    pub fn counters(&self) -> Option<Counters> {
        match self {
            Self::Userspace(end) => Some(end.counters()),
            Self::Kernel(_) => None,
        }
    }

    /// How it stands with each peer.
    ///
    /// # Errors
    /// If `wg` fails.
    pub fn status(&self) -> Result<Vec<Status>, WireGuardError> {
        match self {
            Self::Userspace(end) => Ok(end.status()),
            Self::Kernel(end) => end.status(),
        }
    }
}
