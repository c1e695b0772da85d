//! Who sends a message: the address or the key that a packet came from, and whose it is.

use guestright_identity::KeyId;
use std::net::SocketAddr;

/// Who sends a message, or gets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// A member's telephone, by datagrams.
    Udp(SocketAddr),
    /// A member's telephone, on the connection from or to this address.
    Tcp(SocketAddr),
    /// Another home, by the key that it has shown on its link.
    Home(KeyId),
}

impl Peer {
    /// Whether nothing gets lost on the way without notice. A link is a TCP connection, but a home drops what does not fit
    /// its queues or is too much of one peer, and what was on a link that broke is gone.
    pub(crate) const fn is_reliable(self) -> bool {
        match self {
            Self::Udp(_) | Self::Home(_) => false,
            Self::Tcp(_) => true,
        }
    }

    /// Whether both are one host. A telephone may answer from another port than the one that was asked.
    pub(crate) fn is_same_host(self, other: Self) -> bool {
        match (self, other) {
            (Self::Udp(one) | Self::Tcp(one), Self::Udp(two) | Self::Tcp(two)) => one.ip() == two.ip(),
            (Self::Home(one), Self::Home(two)) => one == two,
            (Self::Udp(_) | Self::Tcp(_), Self::Home(_)) | (Self::Home(_), Self::Udp(_) | Self::Tcp(_)) => {
                false
            }
        }
    }
}

/// Whose telephone or home it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Party {
    Member(String),
    Home(KeyId),
}
