//! Headers of IP and UDP, which tunnels and captures share.

use std::net::Ipv4Addr;

use guestright_wire::ip::{self, Ecn, Ipv4Header, Packet};
use guestright_wire::udp;

const ADDRESSES: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));

/// A datagram or a packet from the network: what is read is written and read as the same, and a mark of congestion
/// changes nothing else.
pub fn ip(bytes: &[u8]) {
    if let Some(datagram) = udp::Datagram::parse(bytes) {
        let mut again = [vec![0; udp::HEADER_LEN], datagram.payload.to_vec()].concat();
        udp::write(&mut again, datagram.source, datagram.destination, Some(ADDRESSES));
        let written = udp::Datagram::parse(&again).expect("our own datagram");
        assert!(written.is_intact(ADDRESSES.0, ADDRESSES.1));
        assert_eq!(written.payload, datagram.payload);
    }
    if let Ok((header, payload)) = Ipv4Header::parse(bytes) {
        let mut again = [vec![0; ip::IPV4_HEADER_LEN], bytes[payload.clone()].to_vec()].concat();
        header.write(&mut again);
        assert_eq!(Ipv4Header::parse(&again), Ok((header, ip::IPV4_HEADER_LEN..again.len())));
    }
    if let Ok(packet) = Packet::parse(bytes) {
        for outer in [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::Congested] {
            let mut inner = bytes[..packet.len].to_vec();
            if ip::decapsulate(&mut inner, outer) {
                let after = Packet::parse(&inner).expect("still a packet");
                assert_eq!(after.traffic_class >> 2, packet.traffic_class >> 2);
                assert_eq!(Packet { traffic_class: packet.traffic_class, ..after }, packet);
            }
        }
    }
}
