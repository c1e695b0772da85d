//! IP headers: those of inner packets, read with limits, and the outer one of a tunnel.

mod ecn;

pub use ecn::{Ecn, decapsulate};

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4HeaderSlice};
use thiserror::Error;

/// IP protocol number of IPv4 in ESP's tunnel mode.
pub const PROTOCOL_IPV4: u8 = 4;
/// IP protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;
/// IP protocol number of IPv6 in ESP's tunnel mode.
pub const PROTOCOL_IPV6: u8 = 41;
/// IP protocol number of ESP.
pub const PROTOCOL_ESP: u8 = 50;

/// Length of an IPv4 header without options, in bytes.
pub const IPV4_HEADER_LEN: usize = 20;
/// Length of an IPv6 header without extensions, in bytes.
pub const IPV6_HEADER_LEN: usize = 40;

/// What is wrong with an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IpError {
    /// Shorter than its header, or than its header says.
    #[error("an IP packet of {got} bytes, which should have at least {want}")]
    Truncated {
        /// Bytes there are.
        got: usize,
        /// Bytes there should be.
        want: usize,
    },
    /// Neither IPv4 nor IPv6.
    #[error("IP version {0}")]
    Version(u8),
    /// A header length that is impossible.
    #[error("an IP header that says that it has {0} bytes")]
    Header(usize),
    /// The sum over the header is not zero.
    #[error("the checksum of the IP header is wrong")]
    Checksum,
}

/// What there is to know of a packet to carry it.
///
/// Read by hand: each packet of a tunnel is looked at here, and no more of it than these fields is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Who sent it, or says so.
    pub source: IpAddr,
    /// Whom it is for.
    pub destination: IpAddr,
    /// Length of the packet, header included. What follows it in the buffer is padding (RFC 4303, section 2.7).
    pub len: usize,
    /// Type of service or traffic class: six bits of service, two of congestion.
    pub traffic_class: u8,
    /// Whether routers may not cut it; always so in IPv6.
    pub dont_fragment: bool,
}

impl Packet {
    /// Reads the header of an IPv4 or IPv6 packet. The checksum is not looked at: who made the packet is known.
    ///
    /// # Errors
    /// [`IpError`] if the packet is not whole.
    pub fn parse(bytes: &[u8]) -> Result<Self, IpError> {
        match bytes.first().map(|first| first >> 4) {
            None => Err(IpError::Truncated { got: 0, want: IPV4_HEADER_LEN }),
            Some(4) => Self::parse_v4(bytes),
            Some(6) => Self::parse_v6(bytes),
            Some(version) => Err(IpError::Version(version)),
        }
    }

    fn parse_v4(bytes: &[u8]) -> Result<Self, IpError> {
        let truncated = |want| IpError::Truncated { got: bytes.len(), want };
        let header = bytes.first_chunk::<IPV4_HEADER_LEN>().ok_or(truncated(IPV4_HEADER_LEN))?;
        let header_len = usize::from(header[0] & 0x0f) * 4;
        let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if header_len < IPV4_HEADER_LEN || len < header_len {
            return Err(IpError::Header(header_len));
        }
        if bytes.len() < len {
            return Err(truncated(len));
        }
        Ok(Self {
            source: Ipv4Addr::new(header[12], header[13], header[14], header[15]).into(),
            destination: Ipv4Addr::new(header[16], header[17], header[18], header[19]).into(),
            len,
            traffic_class: header[1],
            dont_fragment: header[6] & 0x40 != 0,
        })
    }

    fn parse_v6(bytes: &[u8]) -> Result<Self, IpError> {
        let truncated = |want| IpError::Truncated { got: bytes.len(), want };
        let header = bytes.first_chunk::<IPV6_HEADER_LEN>().ok_or(truncated(IPV6_HEADER_LEN))?;
        let len = IPV6_HEADER_LEN + usize::from(u16::from_be_bytes([header[4], header[5]]));
        if bytes.len() < len {
            return Err(truncated(len));
        }
        let address = |at: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&header[at..at + 16]);
            IpAddr::from(Ipv6Addr::from(octets))
        };
        Ok(Self {
            source: address(8),
            destination: address(24),
            len,
            traffic_class: header[0] << 4 | header[1] >> 4,
            dont_fragment: true,
        })
    }

    /// The next header under which it travels in tunnel mode.
    #[must_use]
    pub fn next_header(&self) -> u8 {
        if self.source.is_ipv4() { PROTOCOL_IPV4 } else { PROTOCOL_IPV6 }
    }
}

/// An IPv4 header without options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Header {
    /// Who sends it.
    pub source: Ipv4Addr,
    /// Whom it is for.
    pub destination: Ipv4Addr,
    /// What follows: 50 is ESP, 17 is UDP.
    pub protocol: u8,
    /// How many routers it may pass.
    pub ttl: u8,
    /// Six bits of service, two of congestion.
    pub traffic_class: u8,
    /// Whether routers may not cut it.
    pub dont_fragment: bool,
    /// What tells the pieces of cut packets apart; without meaning where none may be cut (RFC 6864).
    pub identification: u16,
}

/// What becomes of the inner "don't fragment" in the outer header (RFC 4301, section 8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DontFragment {
    /// As in the inner packet.
    Copy,
    /// Always: path MTU discovery sees the tunnel.
    Set,
    /// Never: routers may cut the outer packet.
    Clear,
}

impl Ipv4Header {
    /// The outer header around an inner packet (RFC 4301, section 5.1.2.1; RFC 6040, section 4.1): service and
    /// congestion bits are copied, `ttl` and addresses are the tunnel's own.
    #[must_use]
    pub fn outer(
        (source, destination): (Ipv4Addr, Ipv4Addr),
        protocol: u8,
        inner: &Packet,
        fragment: DontFragment,
        ttl: u8,
    ) -> Self {
        let dont_fragment = match fragment {
            DontFragment::Copy => inner.dont_fragment,
            DontFragment::Set => true,
            DontFragment::Clear => false,
        };
        let traffic_class = inner.traffic_class;
        Self { source, destination, protocol, ttl, traffic_class, dont_fragment, identification: 0 }
    }

    /// Writes the header in front of the payload, which lies behind the first 20 bytes of `packet`.
    ///
    /// # Panics
    /// If `packet` is shorter than a header or longer than 65,535 bytes: the caller's limits are smaller.
    pub fn write(&self, packet: &mut [u8]) {
        let len = u16::try_from(packet.len()).expect("an IPv4 packet is shorter than 64 KB");
        let mut header = etherparse::Ipv4Header {
            dscp: IpDscp::try_new(self.traffic_class >> 2).expect("six bits are left"),
            ecn: IpEcn::try_new(self.traffic_class & 0b11).expect("two bits are left"),
            total_len: len,
            identification: self.identification,
            dont_fragment: self.dont_fragment,
            time_to_live: self.ttl,
            protocol: IpNumber(self.protocol),
            source: self.source.octets(),
            destination: self.destination.octets(),
            ..Default::default()
        };
        header.header_checksum = header.calc_header_checksum();
        let room = packet.first_chunk_mut::<IPV4_HEADER_LEN>().expect("there is room for a header");
        room.copy_from_slice(&header.to_bytes());
    }

    /// Reads the header of a whole, uncut IPv4 packet from the network; gives where its payload lies too. Options are
    /// skipped.
    ///
    /// # Errors
    /// [`IpError`] if it is not whole, or the header damaged.
    pub fn parse(packet: &[u8]) -> Result<(Self, std::ops::Range<usize>), IpError> {
        if let Some(version @ (0..=3 | 5..)) = packet.first().map(|first| first >> 4) {
            return Err(IpError::Version(version));
        }
        let inner = Packet::parse_v4(packet)?;
        let header_len = usize::from(packet[0] & 0x0f) * 4;
        let header = Ipv4HeaderSlice::from_slice(packet).expect("version and lengths were looked at");
        let mut sum = Sum::default();
        sum.add(header.slice());
        if sum.checksum() != 0 {
            return Err(IpError::Checksum);
        }
        let read = Self {
            source: header.source_addr(),
            destination: header.destination_addr(),
            protocol: header.protocol().0,
            ttl: header.ttl(),
            traffic_class: inner.traffic_class,
            dont_fragment: inner.dont_fragment,
            identification: header.identification(),
        };
        Ok((read, header_len..inner.len))
    }
}

/// The Internet's checksum (RFC 1071): the sum of words of 16 bits, where what overflows is added below.
///
/// Not etherparse's, because whole payloads go through it: over 1,400 bytes this one took 93 ns where that took 242 ns
/// (x86-64 without AVX2; that one carries from each word to the next, and cannot add several at once).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes, the first of them as the upper half of a word; an odd one at the end is followed by a zero. Only
    /// the last piece may have an odd length.
    pub fn add(&mut self, bytes: &[u8]) {
        // Words of 32 bits sum up to the same once folded (RFC 1071, section 2).
        let (words, rest) = bytes.as_chunks::<4>();
        let sum: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        self.0 += sum + u64::from(u32::from_be_bytes(last));
    }

    /// What is written into the header; 0 where the sum contains a right checksum.
    #[must_use]
    pub fn checksum(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !u16::try_from(sum).expect("the loop left 16 bits")
    }
}

#[cfg(test)]
mod tests;
