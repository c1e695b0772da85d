//! Segments as bytes, for captures that Wireshark opens.
//!
//! A simulated segment has a length and no bytes. [`ipv4_packet`] makes the IPv4 packet that it would have been, with
//! both checksums; its payload is zeros. TCP-Real's waves have no bytes on a real wire, and none here. Linktype 228 (`LINKTYPE_IPV4`) takes it as it is.
//!
//! Sources: RFC 791, section 3.1; RFC 9293, sections 3.1 and 3.2; RFC 7323, section 3.2 and appendix A; RFC 2018, section 3;
//! RFC 3168, sections 5 and 6.1.

use crate::tcp::Segment;
use std::net::SocketAddrV4;

/// From whom to whom, and with which options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapping {
    /// Who sends it.
    pub source: SocketAddrV4,
    /// Whom it goes to.
    pub destination: SocketAddrV4,
    /// Whether it carries timestamps; as in the settings of its end.
    pub timestamps: bool,
    /// The largest segment that a SYN announces.
    pub segment: u16,
}

/// The IPv4 packet of `segment`.
///
/// Sequence numbers start at 0, so the first byte of the stream is 1; they wrap as on a real wire, the simulator's do
/// not. A window of more than 65535 bytes is written as 65535: the simulator's SYN has no window scale option.
#[must_use]
pub fn ipv4_packet(segment: &Segment, wrapping: &Wrapping) -> Vec<u8> {
    let mut tcp = header(segment, wrapping);
    tcp.resize(tcp.len() + usize::from(segment.len), 0);
    let source = wrapping.source.ip().octets();
    let destination = wrapping.destination.ip().octets();
    // Longer than 65535 only if a segment was made that no setting lets be.
    let tcp_len = u16::try_from(tcp.len()).unwrap_or(u16::MAX);
    let [high, low] = tcp_len.to_be_bytes();
    let pseudo_header = [&source[..], &destination[..], &[0, PROTOCOL_TCP, high, low]].concat();
    let sum = checksum(&[&pseudo_header, &tcp]);
    tcp[16..18].copy_from_slice(&sum);

    let mut packet = Vec::with_capacity(20 + tcp.len());
    // Version 4, five words; no class of service. ECT(0) is 2, CE is 3 (RFC 3168, section 5).
    let ecn = if segment.flags.marked { 3 } else { u8::from(segment.flags.capable) << 1 };
    packet.extend([0x45, ecn]);
    packet.extend(tcp_len.saturating_add(20).to_be_bytes());
    // Identification 0, not to be fragmented (RFC 6864 lets it be), time to live 64, no checksum yet.
    packet.extend([0, 0, 0x40, 0, 64, PROTOCOL_TCP, 0, 0]);
    packet.extend(source);
    packet.extend(destination);
    let sum = checksum(&[&packet]);
    packet[10..12].copy_from_slice(&sum);
    packet.extend(tcp);
    packet
}

const PROTOCOL_TCP: u8 = 6;

fn header(segment: &Segment, wrapping: &Wrapping) -> Vec<u8> {
    let flags = segment.flags;
    let mut bytes = Vec::with_capacity(60);
    bytes.extend(wrapping.source.port().to_be_bytes());
    bytes.extend(wrapping.destination.port().to_be_bytes());
    bytes.extend(wrapped(segment.seq, !flags.syn).to_be_bytes());
    // Everything but the first SYN acknowledges something, if only the other's SYN.
    let acknowledges = flags.ack || !flags.syn;
    bytes.extend(if acknowledges { wrapped(segment.ack, true) } else { 0 }.to_be_bytes());
    let sack: Vec<(u64, u64)> = segment.sack.blocks(segment.ack).collect();
    // One to three blocks of two words, and one for kind and length.
    let sack_words = [0, 3, 5, 7][sack.len().min(3)];
    let words = 5 + if wrapping.timestamps { 3 } else { 0 } + u8::from(flags.syn) + sack_words;
    bytes.push(words << 4);
    bytes.push(
        u8::from(flags.fin)
            | u8::from(flags.syn) << 1
            | u8::from(acknowledges) << 4
            | u8::from(flags.echo) << 6
            | u8::from(flags.reduced) << 7,
    );
    let window = if flags.ack { segment.window } else { u32::from(u16::MAX) };
    bytes.extend(u16::try_from(window).unwrap_or(u16::MAX).to_be_bytes());
    // Checksum, urgent pointer.
    bytes.extend([0; 4]);
    if flags.syn {
        bytes.extend([2, 4]);
        bytes.extend(wrapping.segment.to_be_bytes());
    }
    if wrapping.timestamps {
        bytes.extend([1, 1, 8, 10]);
        bytes.extend(segment.stamp.to_be_bytes());
        bytes.extend(if flags.ack { segment.echo } else { 0 }.to_be_bytes());
    }
    if sack_words > 0 {
        bytes.extend([1, 1, 5, sack_words * 4 - 2]);
        for (first, end) in sack {
            bytes.extend(wrapped(first, true).to_be_bytes());
            bytes.extend(wrapped(end, true).to_be_bytes());
        }
    }
    bytes
}

/// An offset as a sequence number; behind the SYN, which has 0.
#[expect(clippy::cast_possible_truncation, reason = "sequence numbers wrap")]
const fn wrapped(offset: u64, behind_syn: bool) -> u32 {
    (offset + behind_syn as u64) as u32
}

/// The Internet checksum (RFC 1071) of `parts`, each of which but the last has an even length.
fn checksum(parts: &[&[u8]]) -> [u8; 2] {
    let mut sum = 0_u32;
    for part in parts {
        for pair in part.chunks(2) {
            let word = u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
            sum += u32::from(word);
            sum = (sum & 0xffff) + (sum >> 16);
        }
    }
    let [_, _, high, low] = (!sum).to_be_bytes();
    [high, low]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Flags, Flow};
    use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    fn segment(seq: u64, ack: u64, len: u16, flags: Flags) -> Segment {
        Segment {
            seq,
            ack,
            flow: Flow(0),
            window: 40_000,
            stamp: 77,
            echo: 55,
            len,
            flags,
            ..Segment::default()
        }
    }

    fn wrapping(timestamps: bool) -> Wrapping {
        Wrapping {
            source: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 1_024),
            destination: SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 1), 5_001),
            timestamps,
            segment: 1_448,
        }
    }

    #[test]
    fn a_syn_by_hand() {
        let flags = Flags { syn: true, ..Flags::default() };
        let packet = ipv4_packet(&segment(0, 0, 0, flags), &wrapping(false));
        #[rustfmt::skip]
        let want = [
            0x45, 0, 0, 44,  0, 0, 0x40, 0,  64, 6, 0x25, 0xcb,  10, 0, 0, 1,  10, 0, 1, 1,
            0x04, 0x00, 0x13, 0x89,  0, 0, 0, 0,  0, 0, 0, 0,  0x60, 0x02, 0xff, 0xff,  0x6b, 0xa8, 0, 0,
            2, 4, 0x05, 0xa8,
        ];
        assert_eq!(packet, want);
    }

    proptest! {
        /// By a parser that is not ours.
        #[test]
        fn parses_as_what_it_is(
            (seq, ack) in (0_u64..1 << 40, 0_u64..1 << 40),
            len in 0_u16..3_000,
            [syn, acks, fin, timestamps, capable, echo, reduced] in any::<[bool; 7]>(),
            blocks in proptest::collection::vec((1_u32..100_000, 1_u32..100_000), 0..4),
        ) {
            let flags = Flags { syn, ack: acks, fin, capable, marked: capable && acks, echo, reduced, ..Flags::default() };
            let (seq, len) = if syn { (0, 0) } else { (seq, len) };
            let mut segment = segment(seq, ack, len, flags);
            // An answer to a SYN has none: they would not fit beside its other options.
            for (from, len) in blocks.into_iter().filter(|_| !syn) {
                segment.sack.push(ack, ack + u64::from(from), ack + u64::from(from + len));
            }
            let bytes = ipv4_packet(&segment, &wrapping(timestamps));
            prop_assert_eq!(bytes.len(), crate::tcp::packet_bytes(&segment, 40, timestamps) as usize);
            let parsed = SlicedPacket::from_ip(&bytes).unwrap();
            let Some(NetSlice::Ipv4(ip)) = parsed.net else { panic!("not IPv4") };
            prop_assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
            let Some(TransportSlice::Tcp(tcp)) = parsed.transport else { panic!("not TCP") };
            let sum = tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination()).unwrap();
            prop_assert_eq!(tcp.checksum(), sum);
            prop_assert_eq!((tcp.source_port(), tcp.destination_port()), (1_024, 5_001));
            let number = |offset: u64| u32::try_from(offset % (1 << 32)).unwrap();
            prop_assert_eq!(tcp.sequence_number(), if syn { 0 } else { number(seq + 1) });
            if acks {
                prop_assert_eq!(tcp.acknowledgment_number(), number(ack + 1));
                prop_assert_eq!(tcp.window_size(), 40_000);
            }
            prop_assert_eq!((tcp.syn(), tcp.fin(), tcp.ack()), (syn, fin, acks || !syn));
            prop_assert_eq!(tcp.payload().len(), usize::from(len));
            let stamps = tcp.options_iterator().find_map(|option| match option {
                Ok(TcpOptionElement::Timestamp(stamp, echo)) => Some((stamp, echo)),
                _ => None,
            });
            prop_assert_eq!(stamps, timestamps.then_some((77, if acks { 55 } else { 0 })));
            prop_assert_eq!((tcp.ece(), tcp.cwr()), (echo, reduced));
            let ecn = ip.header().ecn().value();
            prop_assert_eq!((ecn & 2 != 0, ecn == 3), (capable, capable && acks));
            let blocks: Vec<(u32, u32)> = tcp
                .options_iterator()
                .filter_map(|option| match option {
                    Ok(TcpOptionElement::SelectiveAcknowledgement(first, others)) => {
                        Some(std::iter::once(first).chain(others.into_iter().flatten()).collect::<Vec<_>>())
                    }
                    _ => None,
                })
                .flatten()
                .collect();
            let want: Vec<(u32, u32)> =
                segment.sack.blocks(ack).map(|(first, end)| (number(first + 1), number(end + 1))).collect();
            prop_assert_eq!(blocks, want);
            let largest = tcp.options_iterator().find_map(|option| match option {
                Ok(TcpOptionElement::MaximumSegmentSize(largest)) => Some(largest),
                _ => None,
            });
            prop_assert_eq!(largest, syn.then_some(1_448));
        }
    }
}
