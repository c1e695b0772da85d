//! From a captured packet to the datagram in it.

mod wireless;

use crate::reader::{Frame, LinkType};
use crate::stamp::Stamp;
use etherparse::{
    IpNumber, Ipv6ExtensionSlice, LaxIpPayloadSlice, LaxNetSlice, LaxSlicedPacket, TransportSlice,
    UdpHeaderSlice,
};
use std::net::{IpAddr, SocketAddr};

/// One UDP datagram, or one segment of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// When it was captured, if the file says.
    pub at: Option<Stamp>,
    /// Which interface captured it: that of the file, or for Linux's "any" the one within.
    pub interface: u32,
    pub from: SocketAddr,
    pub to: SocketAddr,
    /// What it carries, as far as it was captured.
    pub payload: &'a [u8],
    /// How many bytes of the payload were not captured.
    pub missing: usize,
}

/// What a captured packet turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    Udp(Datagram<'a>),
    /// A segment of TCP.
    Tcp(Datagram<'a>),
    /// The first fragment of an IP packet that carries a UDP datagram. Fragments are not put together: the ports and the
    /// beginning of the payload are in this one, and the rest is missing as if it had not been captured.
    FirstFragment(Datagram<'a>),
    /// Another fragment of an IP packet.
    Fragment,
    /// A packet of the air that only its receiver can read.
    Ciphered,
    /// Something else: another protocol, or no packet of the Internet.
    Other,
    /// Cut off or damaged before its ports.
    Damaged,
    /// The file's link type is none that we read.
    UnknownLink(LinkType),
}

/// Says what is in a captured packet. Never fails: what is none of ours is named so.
pub fn decode<'a>(frame: &Frame<'a>) -> Decoded<'a> {
    let bytes = frame.bytes;
    let (interface, decoded) = match frame.link.0 {
        // Registry: <https://www.tcpdump.org/linktypes.html>.
        1 => (None, ethernet(bytes)),
        0 | 108 => (None, bytes.get(4..).map_or(Inner::Damaged, Inner::Ip)),
        12 | 14 | 101 | 228 | 229 => (None, Inner::Ip(bytes)),
        113 => (None, cooked(bytes)),
        276 => (number(bytes, 4), cooked_v2(bytes)),
        105 => (None, wireless::frame(bytes)),
        127 => (None, wireless::radiotap(bytes)),
        _ => return Decoded::UnknownLink(frame.link),
    };
    match decoded {
        Inner::Ip(packet) => internet(packet, frame, interface.unwrap_or(frame.interface)),
        Inner::Ciphered => Decoded::Ciphered,
        Inner::Other => Decoded::Other,
        Inner::Damaged => Decoded::Damaged,
    }
}

/// What a link's header leads to.
enum Inner<'a> {
    Ip(&'a [u8]),
    Ciphered,
    Other,
    Damaged,
}

fn ethernet(bytes: &[u8]) -> Inner<'_> {
    match (word(bytes, 12), bytes.get(14..)) {
        (Some(kind), Some(rest)) => by_ether_type(kind, rest),
        _ => Inner::Damaged,
    }
}

/// Linux "cooked" v1: <https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html>.
fn cooked(bytes: &[u8]) -> Inner<'_> {
    match (word(bytes, 14), bytes.get(16..)) {
        (Some(kind), Some(rest)) => by_ether_type(kind, rest),
        _ => Inner::Damaged,
    }
}

/// Linux "cooked" v2: <https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html>.
fn cooked_v2(bytes: &[u8]) -> Inner<'_> {
    match (word(bytes, 0), bytes.get(20..)) {
        (Some(kind), Some(rest)) => by_ether_type(kind, rest),
        _ => Inner::Damaged,
    }
}

/// Through up to four VLAN tags (IEEE 802.1Q, 802.1ad) and PPPoE (RFC 2516) to IP.
fn by_ether_type(mut kind: u16, mut bytes: &[u8]) -> Inner<'_> {
    for _ in 0..4 {
        if !matches!(kind, 0x8100 | 0x88a8 | 0x9100 | 0x9200) {
            break;
        }
        let (Some(inner), Some(rest)) = (word(bytes, 2), bytes.get(4..)) else { return Inner::Damaged };
        (kind, bytes) = (inner, rest);
    }
    match kind {
        0x0800 | 0x86dd => Inner::Ip(bytes),
        0x8864 => match (word(bytes, 6), bytes.get(8..)) {
            (Some(0x0021 | 0x0057), Some(rest)) => Inner::Ip(rest),
            (Some(_), Some(_)) => Inner::Other,
            _ => Inner::Damaged,
        },
        _ => Inner::Other,
    }
}

fn internet<'a>(bytes: &'a [u8], frame: &Frame<'a>, interface: u32) -> Decoded<'a> {
    let Ok(packet) = LaxSlicedPacket::from_ip(bytes) else { return Decoded::Damaged };
    let (from, to, fragment): (IpAddr, IpAddr, Option<Fragment<'a>>) = match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let first = header.fragments_offset().value() == 0;
            let fragment =
                ip.is_payload_fragmented().then(|| Fragment { first, payload: ip.payload().clone() });
            (header.source_addr().into(), header.destination_addr().into(), fragment)
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let goes_on = |extension: Ipv6ExtensionSlice<'_>| matches!(extension, Ipv6ExtensionSlice::Fragment(header) if header.fragment_offset().value() > 0);
            let first = !ip.extensions().clone().into_iter().any(goes_on);
            let fragment =
                ip.is_payload_fragmented().then(|| Fragment { first, payload: ip.payload().clone() });
            (header.source_addr().into(), header.destination_addr().into(), fragment)
        }
        Some(LaxNetSlice::Arp(_)) | None => return Decoded::Damaged,
    };
    let datagram = |source, destination, payload, missing| Datagram {
        at: frame.at,
        interface,
        from: SocketAddr::new(from, source),
        to: SocketAddr::new(to, destination),
        payload,
        missing,
    };
    if let Some(fragment) = fragment {
        let Some((udp, payload)) = fragment.udp() else { return Decoded::Fragment };
        let missing = usize::from(udp.length()).saturating_sub(8 + payload.len());
        return Decoded::FirstFragment(datagram(udp.source_port(), udp.destination_port(), payload, missing));
    }
    match &packet.transport {
        Some(TransportSlice::Udp(udp)) => {
            // A length of 0 is a jumbogram's, or that of a datagram still to be cut by the network card.
            let want = usize::from(udp.length()).saturating_sub(8);
            let missing = want.saturating_sub(udp.payload().len());
            Decoded::Udp(datagram(udp.source_port(), udp.destination_port(), udp.payload(), missing))
        }
        Some(TransportSlice::Tcp(tcp)) => {
            let missing = (frame.length as usize).saturating_sub(frame.bytes.len());
            Decoded::Tcp(datagram(tcp.source_port(), tcp.destination_port(), tcp.payload(), missing))
        }
        Some(TransportSlice::Icmpv4(_) | TransportSlice::Icmpv6(_) | TransportSlice::Igmp(_)) => {
            Decoded::Other
        }
        None if packet.stop_err.is_some() => Decoded::Damaged,
        None => Decoded::Other,
    }
}

/// A fragment of an IP packet.
struct Fragment<'a> {
    /// Whether it is the packet's beginning.
    first: bool,
    payload: LaxIpPayloadSlice<'a>,
}

impl<'a> Fragment<'a> {
    /// The header of UDP and what follows of the payload, if this is where they are.
    fn udp(&self) -> Option<(UdpHeaderSlice<'a>, &'a [u8])> {
        let LaxIpPayloadSlice { ip_number, payload, .. } = self.payload;
        let udp =
            UdpHeaderSlice::from_slice(payload).ok().filter(|_| self.first && ip_number == IpNumber::UDP)?;
        // A datagram of IP is as long as UDP says, or longer.
        let end = payload.len().min(usize::from(udp.length()).max(8));
        Some((udp, payload.get(8..end)?))
    }
}

/// A number of two bytes, the higher one first.
fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

/// A number of four bytes, the highest one first.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests;
