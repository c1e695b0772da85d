//! Keys, inner packets, and whole IPv4 packets as they would leave.

use std::net::{Ipv4Addr, Ipv6Addr};

use guestright_tunnel::encapsulation::{Encapsulation, PORT};
use guestright_tunnel::esp::{Keys, Lifetime, OutboundSa, PACKET_LEN_MAX, SaParameters, Suite};
use guestright_tunnel::l2tp::Stack;
use guestright_tunnel::overhead::Mode;
use guestright_wire::ip::{self, Ipv4Header};
use guestright_wire::udp;
use zeroize::Zeroizing;

pub(crate) const SPI: u32 = 0xcafe_0001;
pub(crate) const LOCAL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const PEER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);

/// Both ends of one session have the same numbers, so that one stack wraps and unwraps.
pub(crate) const STACK: Stack = Stack {
    tunnel_out: 0x1111,
    session_out: 0x2222,
    tunnel_in: 0x1111,
    session_in: 0x2222,
    with_length: true,
    addresses: Some((LOCAL, PEER)),
};

/// Each suite has an association of its own, so that a judge can tell them apart.
pub(crate) fn spi(suite: Suite) -> u32 {
    let index = Suite::ALL.iter().position(|other| *other == suite).expect("all suites are there");
    SPI + u32::try_from(index).expect("there are few suites")
}

pub(crate) fn keys(suite: Suite) -> Keys {
    let encryption: Vec<u8> = (0x10..).take(suite.encryption_key_len()).collect();
    let authentication: Vec<u8> = (0x80..).take(suite.authentication_key_len()).collect();
    Keys::new(suite, &encryption, &authentication).expect("the lengths are the suite's")
}

pub(crate) fn parameters(keys: &Keys, extended_sequence: bool) -> SaParameters {
    SaParameters {
        spi: SPI,
        keys: keys.clone(),
        extended_sequence,
        lifetime: Lifetime::default(),
        packet_len_max: PACKET_LEN_MAX,
    }
}

/// A UDP datagram in an IP packet of that many bytes (28 or 48 at least), with right checksums.
pub(crate) fn inner_packet(version: u8, length: usize) -> Vec<u8> {
    let mut packet = vec![0; length];
    if version == 4 {
        let addresses = (Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2));
        fill_datagram(&mut packet[ip::IPV4_HEADER_LEN..], Some(addresses));
        ipv4_header(addresses.0, addresses.1, ip::PROTOCOL_UDP).write(&mut packet);
    } else {
        // Without a checksum of its own: the judges look at addresses and bytes.
        fill_datagram(&mut packet[ip::IPV6_HEADER_LEN..], None);
        let payload_len = u16::try_from(length - ip::IPV6_HEADER_LEN).expect("a test packet is short");
        packet[0] = 0x60;
        packet[4..6].copy_from_slice(&payload_len.to_be_bytes());
        packet[6..8].copy_from_slice(&[ip::PROTOCOL_UDP, 64]);
        packet[8..24].copy_from_slice(&Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).octets());
        packet[24..40].copy_from_slice(&Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2).octets());
    }
    packet
}

/// Ports that no dissector knows.
fn fill_datagram(datagram: &mut [u8], addresses: Option<(Ipv4Addr, Ipv4Addr)>) {
    for (byte, value) in datagram.iter_mut().zip((0..=255).cycle()) {
        *byte = value;
    }
    udp::write(datagram, 40_001, 40_002, addresses);
}

fn ipv4_header(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8) -> Ipv4Header {
    Ipv4Header {
        source,
        destination,
        protocol,
        ttl: 64,
        traffic_class: 0,
        dont_fragment: true,
        identification: 0,
    }
}

/// What ESP carries of an inner packet, and under which next header.
pub(crate) fn payload(mode: Mode, packet: &[u8]) -> (u8, Vec<u8>) {
    match mode {
        Mode::Tunnel if packet[0] >> 4 == 6 => (ip::PROTOCOL_IPV6, packet.to_vec()),
        Mode::Tunnel => (ip::PROTOCOL_IPV4, packet.to_vec()),
        Mode::Transport => (packet[9], packet[ip::IPV4_HEADER_LEN..].to_vec()),
        Mode::L2tp => {
            let mut payload = vec![0; STACK.header_len()];
            payload.extend_from_slice(packet);
            STACK.wrap(&mut payload).expect("an IP packet");
            (ip::PROTOCOL_UDP, payload)
        }
    }
}

/// The whole IPv4 packet that would leave for `PEER`.
pub(crate) fn seal_whole(
    keys: &Keys,
    mode: Mode,
    encapsulation: Encapsulation,
    extended: bool,
    sequence: u64,
    packet: &[u8],
) -> Vec<u8> {
    let parameters = SaParameters { spi: spi(keys.suite()), ..parameters(keys, extended) };
    let mut sa = OutboundSa::new(&parameters, sequence, &Zeroizing::new([7; 32]));
    let (next_header, payload) = payload(mode, packet);
    let before = ip::IPV4_HEADER_LEN + encapsulation.header_len();
    let mut whole = vec![0; before + keys.suite().packet_len(payload.len())];
    sa.seal(next_header, &payload, &mut whole[before..]).expect("there is room");
    let protocol = match encapsulation {
        Encapsulation::Raw => ip::PROTOCOL_ESP,
        Encapsulation::Udp => {
            // RFC 3948, section 2.1: the checksum should be zero.
            udp::write(&mut whole[ip::IPV4_HEADER_LEN..], PORT, PORT, None);
            ip::PROTOCOL_UDP
        }
    };
    ipv4_header(LOCAL, PEER, protocol).write(&mut whole);
    whole
}
