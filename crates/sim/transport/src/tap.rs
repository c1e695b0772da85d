//! Segments as bytes, for captures that Wireshark opens.
//!
//! A simulated segment has a length and no bytes. [`ipv4_packet`] makes the IPv4 packet that it would have been, with
//! both checksums; its payload is zeros. TCP-Real's waves have no bytes on a real wire, and none here. Linktype 228 (`LINKTYPE_IPV4`) takes it as it is.
//!
//! Sources: RFC 791, section 3.1; RFC 9293, sections 3.1 and 3.2; RFC 7323, section 3.2 and appendix A; RFC 2018, section 3;
//! RFC 3168, sections 5 and 6.1.

use crate::tcp::Segment;
use etherparse::{IpEcn, IpHeaders, Ipv4Header, PacketBuilder, TcpHeader, TcpOptionElement};
use std::net::SocketAddrV4;

/// The addresses and options of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapping {
    pub source: SocketAddrV4,
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
    // ECT(0) is 2, CE is 3 (RFC 3168, section 5).
    let ecn = if segment.flags.marked { 3 } else { u8::from(segment.flags.capable) << 1 };
    let ip = Ipv4Header {
        ecn: IpEcn::try_new(ecn).expect("two bits"),
        // Not to be fragmented, so the identification may be 0 (RFC 6864).
        identification: 0,
        dont_fragment: true,
        time_to_live: 64,
        source: wrapping.source.ip().octets(),
        destination: wrapping.destination.ip().octets(),
        ..Default::default()
    };
    let payload = vec![0; segment.len.into()];
    let builder =
        PacketBuilder::ip(IpHeaders::Ipv4(ip, Default::default())).tcp_header(header(segment, wrapping));
    let mut packet = Vec::with_capacity(builder.size(payload.len()));
    builder
        .write_to_vec(&mut packet, &payload)
        .expect("no setting lets a segment be longer than 65,535 bytes");
    packet
}

fn header(segment: &Segment, wrapping: &Wrapping) -> TcpHeader {
    let flags = segment.flags;
    // Everything but the first SYN acknowledges something, if only the other's SYN.
    let acknowledges = flags.ack || !flags.syn;
    let window = if flags.ack { segment.window } else { u32::from(u16::MAX) };
    let mut header = TcpHeader {
        source_port: wrapping.source.port(),
        destination_port: wrapping.destination.port(),
        sequence_number: wrapped(segment.seq, !flags.syn),
        acknowledgment_number: if acknowledges { wrapped(segment.ack, true) } else { 0 },
        fin: flags.fin,
        syn: flags.syn,
        ack: acknowledges,
        ece: flags.echo,
        cwr: flags.reduced,
        window_size: u16::try_from(window).unwrap_or(u16::MAX),
        ..TcpHeader::default()
    };
    header.set_options(&options(segment, wrapping)).expect("a SYN has no blocks, and three blocks fit");
    header
}

/// The options in the order and with the padding of RFC 7323, appendix A.
fn options(segment: &Segment, wrapping: &Wrapping) -> Vec<TcpOptionElement> {
    use TcpOptionElement::{MaximumSegmentSize, Noop, SelectiveAcknowledgement, Timestamp};
    let flags = segment.flags;
    let mut options = Vec::new();
    if flags.syn {
        options.push(MaximumSegmentSize(wrapping.segment));
    }
    if wrapping.timestamps {
        options.extend([Noop, Noop, Timestamp(segment.stamp, if flags.ack { segment.echo } else { 0 })]);
    }
    let block = |(first, end)| (wrapped(first, true), wrapped(end, true));
    let mut blocks = segment.sack.blocks(segment.ack).map(block);
    if let Some(first) = blocks.next() {
        let others = [blocks.next(), blocks.next(), None];
        options.extend([Noop, Noop, SelectiveAcknowledgement(first, others)]);
    }
    options
}

/// An offset as a sequence number; behind the SYN, which has 0.
#[expect(clippy::cast_possible_truncation, reason = "sequence numbers wrap")]
const fn wrapped(offset: u64, behind_syn: bool) -> u32 {
    (offset + behind_syn as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Flags, Flow};
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};
    use guestright_wire::ip::Sum;
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
        /// By a parser that is not ours; the checksums by a sum that is not its own.
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
            let checksum = |parts: &[&[u8]]| {
                let mut sum = Sum::default();
                parts.iter().for_each(|part| sum.add(part));
                sum.checksum()
            };
            let tcp_len = u16::try_from(bytes.len() - 20).unwrap().to_be_bytes();
            prop_assert_eq!(checksum(&[&bytes[..20]]), 0);
            prop_assert_eq!(checksum(&[&bytes[12..20], &[0, 6], &tcp_len, &bytes[20..]]), 0);
            prop_assert_eq!(bytes.len(), crate::tcp::packet_bytes(&segment, 40, timestamps, false) as usize);
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
