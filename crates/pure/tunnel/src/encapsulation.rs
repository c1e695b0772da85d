//! UDP encapsulation of ESP (RFC 3948): what a datagram on the port holds.

use std::net::SocketAddr;

/// The port for ESP in UDP and key exchange behind NAT (RFC 3947, section 4).
pub const PORT: u16 = 4500;

/// What a NAT is kept awake with (RFC 3948, section 2.3).
pub const KEEP_ALIVE: [u8; 1] = [0xff];

/// How long a sender that has nothing to say waits between keep-alives, in seconds (RFC 3948, section 4).
pub const KEEP_ALIVE_INTERVAL_S: u64 = 20;

/// Zeros where the index of an association would be: key exchange, not ESP (RFC 3948, section 2.2).
pub const NON_ESP_MARKER: [u8; 4] = [0; 4];

/// How ESP packets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encapsulation {
    /// Right behind the IP header, as IP protocol 50.
    Raw,
    /// In UDP datagrams, which pass NAT (RFC 3948).
    Udp,
}

impl Encapsulation {
    /// Both, in the order of tables.
    pub const ALL: [Self; 2] = [Self::Raw, Self::Udp];

    /// The name that settings and reports use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Udp => "udp",
        }
    }

    /// Bytes between the IP header and the ESP packet.
    #[must_use]
    pub fn header_len(self) -> usize {
        match self {
            Self::Raw => 0,
            Self::Udp => guestright_wire::udp::HEADER_LEN,
        }
    }
}

/// What the payload of a datagram holds, borrowed from it.
#[derive(Debug, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// An ESP packet, SPI first. Whether it is a good one is for the association to say.
    Esp(&'a mut [u8]),
    /// A message of key exchange, without its marker.
    KeyExchange(&'a mut [u8]),
    /// A keep-alive: nothing to do.
    KeepAlive,
    /// Too short to be any of these.
    TooShort,
}

/// Tells what the payload of a datagram is.
#[must_use]
pub fn classify(payload: &mut [u8]) -> Datagram<'_> {
    if *payload == KEEP_ALIVE {
        return Datagram::KeepAlive;
    }
    if payload.len() < NON_ESP_MARKER.len() {
        return Datagram::TooShort;
    }
    if payload.starts_with(&NON_ESP_MARKER) {
        return Datagram::KeyExchange(&mut payload[NON_ESP_MARKER.len()..]);
    }
    Datagram::Esp(payload)
}

/// Where a peer is: the address of the newest authentic packet, as NAT may change it at any time.
///
/// Only a packet with a higher number than all before moves the peer, or somebody who holds back packets and sends
/// them from elsewhere could move it back and forth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerAddress {
    address: Option<SocketAddr>,
    sequence: u64,
}

impl PeerAddress {
    /// Starts with what the settings say, if they do.
    #[must_use]
    pub fn new(address: Option<SocketAddr>) -> Self {
        Self { address, sequence: 0 }
    }

    /// Where packets go.
    #[must_use]
    pub fn get(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Learns from an authentic packet; says whether the peer has moved.
    pub fn learn(&mut self, from: SocketAddr, sequence: u64) -> bool {
        if sequence <= self.sequence {
            return false;
        }
        self.sequence = sequence;
        self.address.replace(from) != Some(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_four_kinds_apart() {
        #[rustfmt::skip]
        let cases: [(&[u8], Datagram<'_>); 8] = [
            (&[],                       Datagram::TooShort),
            (&[0xff],                   Datagram::KeepAlive),
            (&[0xfe],                   Datagram::TooShort),
            (&[0xff, 0xff],             Datagram::TooShort),
            (&[0, 0, 0],                Datagram::TooShort),
            (&[0, 0, 0, 0],             Datagram::KeyExchange(&mut [])),
            (&[0, 0, 0, 0, 7],          Datagram::KeyExchange(&mut [7])),
            (&[0, 0, 1, 0],             Datagram::Esp(&mut [0, 0, 1, 0])),
        ];
        for (payload, want) in cases {
            assert_eq!(classify(&mut payload.to_vec()), want, "{payload:?}");
        }
    }

    #[test]
    fn a_peer_moves_with_newer_packets_only() {
        let [one, two] = [1, 2].map(|last| SocketAddr::from(([192, 0, 2, last], 4500)));
        let mut peer = PeerAddress::new(None);
        assert!(peer.learn(one, 5));
        assert!(!peer.learn(two, 5));
        assert!(!peer.learn(two, 4));
        assert_eq!(peer.get(), Some(one));
        assert!(peer.learn(two, 6));
        assert!(!peer.learn(two, 7));
        assert_eq!(peer.get(), Some(two));
    }
}
