//! What an emulated network reads of a packet: IPv4 with UDP or TCP. Whatever is something else is not carried.

use guestright_transport::Ecn;
use std::net::Ipv4Addr;
use std::ops::Range;

const IP_HEADER_MIN: usize = 20;
const UDP_HEADER: usize = 8;
const TCP_HEADER_MIN: usize = 20;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// The congestion experienced codepoint (RFC 3168, section 5).
const CE: u8 = 0b11;

/// A packet, by its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) source: (Ipv4Addr, u16),
    pub(super) destination: (Ipv4Addr, u16),
    pub(super) ecn: Ecn,
    pub(super) what: What,
    /// Where its payload begins, and how long it is.
    payload: (usize, usize),
}

/// What is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Udp,
    Tcp {
        /// The sequence number of the first byte.
        sequence: u32,
        /// Whether it opens a connection; the first byte of payload has the number behind its own.
        opens: bool,
    },
}

impl Headers {
    /// Nothing if it is not whole, or a fragment: then its ports are unknown.
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        let first = *packet.first()?;
        let header = usize::from(first & 0xf) * 4;
        let length = usize::from(word(packet, 2)?);
        let is_whole =
            first >> 4 == 4 && header >= IP_HEADER_MIN && length == packet.len() && length >= header;
        let is_fragment = word(packet, 6)? & 0x3fff != 0;
        if !is_whole || is_fragment {
            return None;
        }
        let ports = (word(packet, header)?, word(packet, header + 2)?);
        let (what, start) = match packet[9] {
            UDP => (What::Udp, header + UDP_HEADER),
            TCP => {
                let sequence = u32::from_be_bytes(*packet.get(header + 4..)?.first_chunk()?);
                let offset = usize::from(packet.get(header + 12)? >> 4) * 4;
                let opens = packet.get(header + 13)? & 0b10 != 0;
                (What::Tcp { sequence, opens }, header + offset.max(TCP_HEADER_MIN))
            }
            _ => return None,
        };
        let payload = (start, length.checked_sub(start)?);
        let ecn = match packet[1] & 0b11 {
            0 => Ecn::Not,
            0b01 => Ecn::L4s,
            _ => Ecn::Classic,
        };
        let address = |at: usize| Some(Ipv4Addr::from(*packet.get(at..)?.first_chunk::<4>()?));
        Some(Self {
            source: (address(12)?, ports.0),
            destination: (address(16)?, ports.1),
            ecn,
            what,
            payload,
        })
    }

    /// Its ends: the near and the far one, if it comes from the near side or not.
    pub(super) const fn ends(&self, is_from_near: bool) -> [(Ipv4Addr, u16); 2] {
        if is_from_near { [self.source, self.destination] } else { [self.destination, self.source] }
    }

    /// Where in the packet the payload is.
    pub(super) const fn payload(&self) -> Range<usize> {
        self.payload.0..self.payload.0 + self.payload.1
    }
}

/// Marks a packet: it met congestion. The header's checksum is made anew (RFC 1624, section 3).
pub(super) fn mark(packet: &mut [u8]) {
    let Some(before) = word(packet, 0) else { return };
    packet[1] |= CE;
    let (Some(after), Some(checksum)) = (word(packet, 0), word(packet, 10)) else { return };
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let sum = (sum & 0xffff) + (sum >> 16);
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !u16::try_from(folded).unwrap_or(u16::MAX);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

fn word(packet: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An IPv4 packet with a header of TCP or UDP and a payload; checksums as RFC 791 has them, others left out.
    pub(crate) fn packet(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), what: What, payload: &[u8]) -> Vec<u8> {
        let mut transport = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
        let protocol = match what {
            What::Udp => {
                transport.extend([0; 4]);
                UDP
            }
            What::Tcp { sequence, opens } => {
                transport.extend(sequence.to_be_bytes());
                transport.extend([0, 0, 0, 0, 0x50, if opens { 2 } else { 16 }, 0, 0, 0, 0, 0, 0]);
                TCP
            }
        };
        transport.extend(payload);
        let length = u16::try_from(IP_HEADER_MIN + transport.len()).unwrap();
        let mut packet = vec![0x45, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
        packet.extend(from.0.octets());
        packet.extend(to.0.octets());
        let checksum = !sum(&packet);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend(transport);
        packet
    }

    /// The sum in ones' complement (RFC 1071).
    fn sum(header: &[u8]) -> u16 {
        let mut sum: u32 =
            header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum.try_into().unwrap()
    }

    const FROM: (Ipv4Addr, u16) = (Ipv4Addr::new(198, 18, 0, 1), 20_003);
    const TO: (Ipv4Addr, u16) = (Ipv4Addr::new(198, 19, 0, 1), 30_003);

    #[test]
    fn headers_are_read_and_what_is_not_whole_is_not() {
        let opens = What::Tcp { sequence: 7, opens: true };
        for (what, payload) in [(What::Udp, &b"speech"[..]), (opens, b""), (opens, b"data")] {
            let whole = packet(FROM, TO, what, payload);
            let headers = Headers::parse(&whole).unwrap();
            assert_eq!((headers.source, headers.destination, headers.what), (FROM, TO, what));
            assert_eq!((&whole[headers.payload()], headers.ecn), (payload, Ecn::Not));
            for length in 0..whole.len() {
                assert_eq!(Headers::parse(&whole[..length]), None, "{length} bytes");
            }
        }
        let mut fragment = packet(FROM, TO, What::Udp, b"speech");
        fragment[7] = 1;
        assert_eq!(Headers::parse(&fragment), None);
        let mut other = packet(FROM, TO, What::Udp, b"speech");
        other[9] = 1;
        assert_eq!(Headers::parse(&other), None, "ICMP");
    }

    #[test]
    fn a_mark_leaves_the_checksum_right() {
        for codepoint in [0b01, 0b10, 0b11] {
            let mut marked = packet(FROM, TO, What::Udp, b"speech");
            marked[1] = codepoint;
            marked[10..12].fill(0);
            let checksum = !sum(&marked[..20]);
            marked[10..12].copy_from_slice(&checksum.to_be_bytes());
            mark(&mut marked);
            assert_eq!(marked[1], CE);
            assert_eq!(sum(&marked[..20]), 0xffff, "{codepoint}");
        }
    }
}
