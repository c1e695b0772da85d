//! Cutting the large segments that the device hands over into packets, in place.
//!
//! The kernel puts a header before every packet (virtio 1.2 §5.1.6, `struct virtio_net_hdr`) that says whether a
//! checksum is missing, and whether the packet is a large one that a network card would cut.

use crate::checksum::{Sum, pseudo_header};
use guestright_tunnel::PacketSource;
use std::ops::Range;
use tun_rs::{
    VIRTIO_NET_HDR_GSO_TCPV4, VIRTIO_NET_HDR_GSO_TCPV6, VIRTIO_NET_HDR_GSO_UDP_L4, VIRTIO_NET_HDR_LEN,
    VirtioNetHdr,
};

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum's field holds the sum over the pseudo header alone.
pub(crate) const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_NONE`: one packet.
const GSO_NONE: u8 = 0;
/// `VIRTIO_NET_HDR_GSO_ECN`: the first packet alone keeps the mark.
const GSO_ECN: u8 = 0x80;
/// The protocol numbers of IP.
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
/// Flags of TCP (RFC 9293 §3.1): only the last packet keeps the first two, only the first keeps the third.
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;
/// No IP and transport headers together are longer: 60 each with IPv4, and IPv6 with a chain of headers.
const HEADERS_MAX: usize = 256;

/// The packets in what was read from the device.
///
/// A packet's headers are written right before its part of the payload, over the end of the packet before it, which
/// has been sealed by then: nothing but headers is copied.
#[derive(Debug)]
pub(crate) struct Segments<'a> {
    /// Without the device's header; first the headers of all packets, then the payload.
    bytes: &'a mut [u8],
    plan: Plan,
    /// Where the payload of the next packet begins.
    next: usize,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, on the stack; a box would be an allocation for a packet"
)]
enum Plan {
    /// One packet, as it is.
    Whole,
    /// A large one.
    Cut(Cut),
}

#[derive(Debug)]
struct Cut {
    /// The headers as they came.
    headers: [u8; HEADERS_MAX],
    /// The transport header begins at the start of this range, the payload at its end.
    transport: Range<usize>,
    protocol: u8,
    v6: bool,
    /// Bytes of payload in each packet but the last.
    size: usize,
    index: u16,
}

impl<'a> Segments<'a> {
    /// The packets in `read`, which begins with the device's header if there is `offload`; `None` if that header makes
    /// no sense.
    pub(crate) fn new(read: &'a mut [u8], offload: bool) -> Option<Self> {
        if !offload {
            return Some(Self { bytes: read, plan: Plan::Whole, next: 0 });
        }
        let header = VirtioNetHdr::decode(read).ok()?;
        let bytes = read.get_mut(VIRTIO_NET_HDR_LEN..).filter(|bytes| !bytes.is_empty())?;
        if header.gso_type & !GSO_ECN == GSO_NONE {
            if header.flags & NEEDS_CHECKSUM != 0 {
                complete(bytes, usize::from(header.csum_start), usize::from(header.csum_offset))?;
            }
            return Some(Self { bytes, plan: Plan::Whole, next: 0 });
        }
        let cut = Cut::new(bytes, &header)?;
        Some(Self { next: cut.transport.end, bytes, plan: Plan::Cut(cut) })
    }
}

impl PacketSource for Segments<'_> {
    fn next_packet(&mut self) -> Option<&[u8]> {
        if self.next >= self.bytes.len() {
            return None;
        }
        match &mut self.plan {
            Plan::Whole => {
                self.next = self.bytes.len();
                Some(self.bytes)
            }
            Plan::Cut(cut) => {
                let end = (self.next + cut.size).min(self.bytes.len());
                let last = end == self.bytes.len();
                let start = self.next - cut.transport.end;
                self.next = end;
                let packet = &mut self.bytes[start..end];
                cut.write(packet, last);
                Some(packet)
            }
        }
    }
}

impl Cut {
    fn new(bytes: &[u8], header: &VirtioNetHdr) -> Option<Self> {
        let v6 = bytes.first()? >> 4 == 6;
        let start = usize::from(header.csum_start);
        let protocol = match (header.gso_type & !GSO_ECN, v6) {
            (VIRTIO_NET_HDR_GSO_TCPV4, false) | (VIRTIO_NET_HDR_GSO_TCPV6, true) => TCP,
            (VIRTIO_NET_HDR_GSO_UDP_L4, _) => UDP,
            _ => return None,
        };
        // The kernel's own length of the headers may be that of the whole first packet when it forwards: look.
        let length = match protocol {
            TCP => usize::from(*bytes.get(start + 12)? >> 4) * 4,
            _ => 8,
        };
        let transport = start..start + length;
        let least = if protocol == TCP { 20 } else { 8 };
        let fits = start >= if v6 { 40 } else { 20 } && length >= least && transport.end <= HEADERS_MAX;
        if !fits || bytes.len() <= transport.end || header.gso_size == 0 {
            return None;
        }
        let mut headers = [0; HEADERS_MAX];
        headers[..transport.end].copy_from_slice(&bytes[..transport.end]);
        Some(Self { headers, transport, protocol, v6, size: usize::from(header.gso_size), index: 0 })
    }

    /// Makes `packet`, whose payload is in place, the next packet.
    fn write(&mut self, packet: &mut [u8], last: bool) {
        let Range { start, end } = self.transport;
        packet[..end].copy_from_slice(&self.headers[..end]);
        write_length(packet, self.v6, packet.len());
        if !self.v6 {
            let identification = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(self.index);
            packet[4..6].copy_from_slice(&identification.to_be_bytes());
            write_ipv4_checksum(packet, start);
        }
        if self.protocol == TCP {
            self.write_tcp(&mut packet[start..end], last);
        } else {
            let length = u16::try_from(packet.len() - start).unwrap_or(u16::MAX);
            packet[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
        }
        let field = start + checksum_offset(self.protocol);
        packet[field..field + 2].fill(0);
        let sum = pseudo_header(packet, self.v6, self.protocol, packet.len() - start);
        let checksum = transmitted(sum.add(&packet[start..]).checksum(), self.protocol);
        packet[field..field + 2].copy_from_slice(&checksum);
        self.index = self.index.wrapping_add(1);
    }

    fn write_tcp(&self, tcp: &mut [u8], last: bool) {
        let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        let before = u32::try_from(self.size * usize::from(self.index)).unwrap_or(u32::MAX);
        tcp[4..8].copy_from_slice(&sequence.wrapping_add(before).to_be_bytes());
        if !last {
            tcp[13] &= !(FIN | PSH);
        }
        if self.index > 0 {
            tcp[13] &= !CWR;
        }
    }
}

/// Where the checksum is in the transport header.
pub(crate) const fn checksum_offset(protocol: u8) -> usize {
    if protocol == TCP { 16 } else { 6 }
}

/// The checksum as it is sent: with UDP, a zero would mean that there is none (RFC 768).
fn transmitted(checksum: [u8; 2], protocol: u8) -> [u8; 2] {
    if protocol == UDP && checksum == [0, 0] { [0xff, 0xff] } else { checksum }
}

/// Writes the length of the whole packet into its IP header.
pub(crate) fn write_length(packet: &mut [u8], v6: bool, length: usize) {
    let (field, length) = if v6 { (4, length - 40) } else { (2, length) };
    let length = u16::try_from(length).unwrap_or(u16::MAX);
    packet[field..field + 2].copy_from_slice(&length.to_be_bytes());
}

/// Writes the checksum of an IPv4 header that is `length` bytes long.
pub(crate) fn write_ipv4_checksum(packet: &mut [u8], length: usize) {
    packet[10..12].fill(0);
    let checksum = Sum::default().add(&packet[..length]).checksum();
    packet[10..12].copy_from_slice(&checksum);
}

/// Finishes a checksum that the kernel left to the network card: its field holds the sum over the pseudo header.
fn complete(packet: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let field = start + offset;
    let checksum = Sum::default().add(packet.get(start..)?).checksum();
    let protocol = if offset == checksum_offset(UDP) { UDP } else { TCP };
    packet.get_mut(field..field + 2)?.copy_from_slice(&transmitted(checksum, protocol));
    Some(())
}

#[cfg(test)]
pub(crate) mod tests;
