//! Putting packets that were opened together into large segments for the device, without copying their payload.
//!
//! What the kernel does for a network card (net/ipv4/tcp_offload.c, udp_offload.c): consecutive packets of one flow,
//! with the same headers and equally long, become one. Nothing overtakes anything within a flow, and a packet with a
//! wrong checksum is never hidden behind a right one.

use crate::checksum::{Sum, pseudo_header};
use crate::segment::{NEEDS_CHECKSUM, TCP, UDP, checksum_offset, write_ipv4_checksum, write_length};
use guestright_tunnel::Opened;
use std::io::IoSlice;
use std::ops::Range;
use tun_rs::{
    VIRTIO_NET_HDR_GSO_TCPV4, VIRTIO_NET_HDR_GSO_TCPV6, VIRTIO_NET_HDR_GSO_UDP_L4, VIRTIO_NET_HDR_LEN,
    VirtioNetHdr,
};

/// How many of the latest segments are looked at for a packet's flow.
const LOOK_BACK_MAX: usize = 8;
/// The most packets in a segment.
const PACKETS_MAX: usize = 64;
/// The most bytes in a segment: the length field of IPv4.
const BYTES_MAX: usize = 65_535;
/// Flags of TCP that a packet may have to be joined: ACK must be, PSH ends a segment.
const ACK: u8 = 0x10;
const PSH: u8 = 0x08;

/// Makes segments of packets. Its lists are used again for every batch.
#[derive(Debug)]
pub(crate) struct Coalescer {
    /// Whether the device takes segments at all, behind a header.
    offload: bool,
    /// Whether the device takes segments of UDP.
    udp: bool,
    segments: Vec<Segment>,
    /// For each packet, the packet behind it in the same segment.
    behind: Vec<Option<usize>>,
}

#[derive(Debug)]
struct Segment {
    first: usize,
    last: usize,
    packets: usize,
    bytes: usize,
    /// What packets are compared by; `None` if this cannot be joined to anything.
    flow: Option<Flow>,
    /// Nothing more may be joined.
    closed: bool,
    /// The last packet had TCP's PSH.
    pushed: bool,
}

/// Where a packet's parts are.
#[derive(Clone, Copy, Debug)]
struct Flow {
    v6: bool,
    protocol: u8,
    /// Where the transport header begins.
    transport: usize,
    /// Where the payload begins.
    payload: usize,
    /// How long the payload of the first packet is.
    size: usize,
    /// The sequence number that TCP's next packet has.
    next: u32,
}

impl Coalescer {
    pub(crate) fn new(offload: bool, udp: bool) -> Self {
        Self { offload, udp, segments: Vec::new(), behind: Vec::new() }
    }

    /// Calls `write` with each segment, behind the header that the device wants, in pieces.
    pub(crate) fn write(&mut self, opened: &mut Opened, mut write: impl FnMut(&[IoSlice<'_>])) {
        if !self.offload {
            opened.packets().for_each(|packet| write(&[IoSlice::new(packet)]));
            return;
        }
        let (bytes, spans) = opened.bytes_mut();
        self.segments.clear();
        self.behind.clear();
        self.behind.resize(spans.len(), None);
        for (index, span) in spans.iter().enumerate() {
            self.add(bytes, spans, index, &bytes[span.clone()]);
        }
        for segment in &self.segments {
            let header = segment.finish(&mut bytes[spans[segment.first].clone()]);
            let mut pieces = [IoSlice::new(&[]); PACKETS_MAX + 1];
            pieces[0] = IoSlice::new(&header);
            pieces[1] = IoSlice::new(&bytes[spans[segment.first].clone()]);
            let (mut count, mut packet) = (2, self.behind[segment.first]);
            while let Some(index) = packet {
                let payload = segment.flow.map_or(0, |flow| flow.payload);
                pieces[count] = IoSlice::new(&bytes[spans[index].start + payload..spans[index].end]);
                (count, packet) = (count + 1, self.behind[index]);
            }
            write(&pieces[..count]);
        }
    }

    /// Joins a packet to a segment, or begins a new one with it.
    fn add(&mut self, bytes: &[u8], spans: &[Range<usize>], index: usize, packet: &[u8]) {
        let flow = Flow::of(packet, self.udp);
        let mut single = Segment {
            first: index,
            last: index,
            packets: 1,
            bytes: packet.len(),
            flow,
            closed: flow.is_none_or(|flow| flow.ends(packet)),
            pushed: false,
        };
        let Some(flow) = flow else {
            self.segments.push(single);
            return;
        };
        let same = self.segments.iter_mut().rev().take(LOOK_BACK_MAX).find(|segment| {
            segment.flow.is_some_and(|other| other.same(&bytes[spans[segment.first].clone()], &flow, packet))
        });
        let Some(segment) = same else {
            self.segments.push(single);
            return;
        };
        let first = &bytes[spans[segment.first].clone()];
        if segment.takes(first, &flow, packet) {
            if flow.verifies(packet) && (segment.packets > 1 || flow.verifies(first)) {
                self.behind[segment.last] = Some(index);
                segment.join(&flow, packet, index);
                return;
            }
            // Whichever is broken goes alone, for the kernel to find; nothing is joined to it.
            single.closed = true;
        }
        segment.closed = true;
        self.segments.push(single);
    }
}

impl Segment {
    /// Whether `packet` comes right behind and fits.
    fn takes(&self, first: &[u8], flow: &Flow, packet: &[u8]) -> bool {
        let Some(own) = self.flow else { return false };
        !self.closed
            && self.packets < PACKETS_MAX
            && flow.size <= own.size
            && self.bytes + flow.size <= BYTES_MAX
            && own.continues(first, flow, packet)
    }

    fn join(&mut self, flow: &Flow, packet: &[u8], index: usize) {
        self.last = index;
        self.packets += 1;
        self.bytes += flow.size;
        let Some(own) = &mut self.flow else { return };
        own.next = flow.next;
        self.pushed = flow.ends(packet);
        self.closed = self.pushed || flow.size < own.size;
    }

    /// Makes the first packet's headers those of the whole segment; the device's header for it.
    fn finish(&self, first: &mut [u8]) -> [u8; VIRTIO_NET_HDR_LEN] {
        let mut encoded = [0; VIRTIO_NET_HDR_LEN];
        let Some(flow) = self.flow.filter(|_| self.packets > 1) else {
            return encoded; // All zeros: a whole packet, its checksum to be verified.
        };
        write_length(first, flow.v6, self.bytes);
        if !flow.v6 {
            write_ipv4_checksum(first, flow.transport);
        }
        if flow.protocol == UDP {
            let length = u16::try_from(self.bytes - flow.transport).unwrap_or(u16::MAX);
            first[flow.transport + 4..flow.transport + 6].copy_from_slice(&length.to_be_bytes());
        }
        let field = flow.transport + checksum_offset(flow.protocol);
        let sum = pseudo_header(first, flow.v6, flow.protocol, self.bytes - flow.transport).fold();
        first[field..field + 2].copy_from_slice(&sum);
        if flow.protocol == TCP && self.pushed {
            first[flow.transport + 13] |= PSH;
        }
        let small = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        let header = VirtioNetHdr {
            flags: NEEDS_CHECKSUM,
            gso_type: match (flow.protocol, flow.v6) {
                (UDP, _) => VIRTIO_NET_HDR_GSO_UDP_L4,
                (_, false) => VIRTIO_NET_HDR_GSO_TCPV4,
                (_, true) => VIRTIO_NET_HDR_GSO_TCPV6,
            },
            hdr_len: small(flow.payload),
            gso_size: small(flow.size),
            csum_start: small(flow.transport),
            csum_offset: small(checksum_offset(flow.protocol)),
        };
        header.encode(&mut encoded).expect("the array is as long as the header");
        encoded
    }
}

impl Flow {
    /// The flow of a packet that may be joined to others; `None` if it is no whole packet of TCP or UDP.
    fn of(packet: &[u8], udp: bool) -> Option<Self> {
        let v6 = packet.first()? >> 4 == 6;
        let (protocol, transport, length) = if v6 {
            let length = 40 + usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]));
            (*packet.get(6)?, 40, length)
        } else {
            let length = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
            let whole = packet.get(6)? & 0xbf == 0 && *packet.get(7)? == 0; // No fragment; DF may be set.
            let header = usize::from(packet[0] & 0x0f) * 4;
            (if whole && header >= 20 { *packet.get(9)? } else { 0 }, header, length)
        };
        let header = match protocol {
            TCP => usize::from(*packet.get(transport + 12)? >> 4) * 4,
            UDP if udp => 8,
            _ => return None,
        };
        let payload = transport + header;
        if length != packet.len() || payload > length || (protocol == TCP && header < 20) {
            return None;
        }
        let size = length - payload;
        let next = match protocol {
            TCP => u32_at(packet, transport + 4).wrapping_add(u32::try_from(size).unwrap_or(u32::MAX)),
            _ => 0,
        };
        Some(Self { v6, protocol, transport, payload, size, next })
    }

    /// Whether nothing may be joined behind `packet`, which is of this flow.
    fn ends(&self, packet: &[u8]) -> bool {
        self.size == 0 || (self.protocol == TCP && packet[self.transport + 13] != ACK)
    }

    /// Whether `packet` is of the same connection as `first`, which is of this flow.
    fn same(&self, first: &[u8], other: &Self, packet: &[u8]) -> bool {
        let addresses = if self.v6 { 8..40 } else { 12..20 };
        self.v6 == other.v6
            && self.protocol == other.protocol
            && first[self.transport..self.transport + 4] == packet[other.transport..other.transport + 4]
            && first[addresses.clone()] == packet[addresses]
    }

    /// Whether `packet`, of the same connection, could have been cut off a segment that begins with `first`.
    fn continues(&self, first: &[u8], other: &Self, packet: &[u8]) -> bool {
        let network = if self.v6 {
            first[..4] == packet[..4] && first[7] == packet[7]
        } else {
            // Version and length, type of service; flags; time to live; options.
            first[..2] == packet[..2]
                && first[6] == packet[6]
                && first[8] == packet[8]
                && self.transport == other.transport
                && first[20..self.transport] == packet[20..self.transport]
        };
        if self.protocol == UDP {
            return network && other.size > 0;
        }
        let tcp = self.transport;
        network
            && self.payload == other.payload
            && other.size > 0
            && u32_at(packet, tcp + 4) == self.next
            && first[tcp + 8..tcp + 12] == packet[tcp + 8..tcp + 12] // What is acknowledged.
            && packet[tcp + 13] & !PSH == ACK
            && first[tcp + 20..self.payload] == packet[tcp + 20..self.payload]
    }

    /// Whether the packet's checksums are right.
    fn verifies(&self, packet: &[u8]) -> bool {
        let sum = pseudo_header(packet, self.v6, self.protocol, packet.len() - self.transport);
        let field = self.transport + checksum_offset(self.protocol);
        (self.v6 || Sum::default().add(&packet[..self.transport]).verifies())
            && packet[field..field + 2] != [0, 0]
            && sum.add(&packet[self.transport..]).verifies()
    }
}

fn u32_at(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
}

#[cfg(test)]
mod tests;
