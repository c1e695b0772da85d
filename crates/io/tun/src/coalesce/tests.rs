use super::*;
use crate::segment::Segments;
use crate::segment::tests::{packet, seal};
use guestright_tunnel::PacketSource as _;
use proptest::prelude::*;

/// What is written for these packets, each piece put together.
fn written(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut opened = Opened::new();
    for packet in packets {
        opened.room(packet.len() + 16)[7..7 + packet.len()].copy_from_slice(packet);
        opened.push(7..7 + packet.len());
    }
    let mut all: Vec<Vec<u8>> = Vec::new();
    Coalescer::new(true, true)
        .write(&mut opened, |pieces| all.push(pieces.iter().flat_map(|piece| piece.to_vec()).collect()));
    all
}

/// The packets that the kernel would cut what is written into.
fn cut(segment: &[u8]) -> Vec<Vec<u8>> {
    lengths_are_right(&segment[VIRTIO_NET_HDR_LEN..]);
    let mut segment = segment.to_vec();
    let mut segments = Segments::new(&mut segment, true).expect("the header makes sense");
    let mut packets = Vec::new();
    while let Some(packet) = segments.next_packet() {
        packets.push(packet.to_vec());
    }
    packets
}

/// The kernel delivers no more than the headers of the whole say.
fn lengths_are_right(packet: &[u8]) {
    let (field, transport, extra) = if packet[0] >> 4 == 6 { (4, 40, 40) } else { (2, 20, 0) };
    let number = |at: usize| usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    assert_eq!(number(field) + extra, packet.len());
    if packet[if extra == 40 { 6 } else { 9 }] == UDP {
        assert_eq!(number(transport + 4), packet.len() - transport);
    }
}

fn tcp(v6: bool, sequence: u32, flags: u8, length: usize) -> Vec<u8> {
    packet(v6, TCP, sequence, flags, &vec![0xa5; length])
}

fn udp(v6: bool, length: usize) -> Vec<u8> {
    packet(v6, UDP, 0, 0, &vec![0x5a; length])
}

/// IPv4's identification counts up when a segment is cut; here all were equal.
fn without_identification(mut packet: Vec<u8>) -> Vec<u8> {
    if packet[0] >> 4 == 4 {
        packet[4..6].fill(0);
        packet[10..12].fill(0);
    }
    packet
}

#[test]
fn what_belongs_together_becomes_one() {
    for v6 in [false, true] {
        #[rustfmt::skip]
        #[expect(clippy::type_complexity, reason = "a table")]
        let cases: [(&str, Vec<Vec<u8>>, &[usize]); 14] = [
            ("a stream",        vec![tcp(v6, 0, ACK, 100), tcp(v6, 100, ACK, 100), tcp(v6, 200, ACK, 100)],    &[3]),
            ("short at end",    vec![tcp(v6, 0, ACK, 100), tcp(v6, 100, ACK, 40), tcp(v6, 140, ACK, 40)],      &[2, 1]),
            ("push ends",       vec![tcp(v6, 0, ACK, 100), tcp(v6, 100, ACK | PSH, 100), tcp(v6, 200, ACK, 100)], &[2, 1]),
            ("push alone",      vec![tcp(v6, 0, ACK | PSH, 100), tcp(v6, 100, ACK, 100)],                      &[1, 1]),
            ("a gap",           vec![tcp(v6, 0, ACK, 100), tcp(v6, 200, ACK, 100)],                            &[1, 1]),
            ("reordered",       vec![tcp(v6, 100, ACK, 100), tcp(v6, 0, ACK, 100)],                            &[1, 1]),
            ("longer",          vec![tcp(v6, 0, ACK, 100), tcp(v6, 100, ACK, 101)],                            &[1, 1]),
            ("acknowledgments", vec![tcp(v6, 0, ACK, 0), tcp(v6, 0, ACK, 0)],                                  &[1, 1]),
            ("the end",         vec![tcp(v6, 0, ACK, 100), tcp(v6, 100, ACK | 1, 100), tcp(v6, 200, ACK, 100)], &[1, 1, 1]),
            ("ack in between",  vec![tcp(v6, 0, ACK, 9), tcp(v6, 9, ACK, 0), tcp(v6, 9, ACK, 9)],              &[1, 1, 1]),
            ("voice",           vec![udp(v6, 32), udp(v6, 32), udp(v6, 32)],                                   &[3]),
            ("voice and data",  vec![tcp(v6, 0, ACK, 99), udp(v6, 32), tcp(v6, 99, ACK, 99), udp(v6, 32)],     &[2, 2]),
            ("empty datagrams", vec![udp(v6, 0), udp(v6, 0)],                                                  &[1, 1]),
            ("more than 64",    (0..70).map(|at| tcp(v6, at * 10, ACK, 10)).collect(),                         &[64, 6]),
        ];
        for (name, packets, want) in cases {
            let written = written(&packets);
            let got: Vec<_> = written.iter().map(|segment| cut(segment).len()).collect();
            assert_eq!(got, want, "{name}, v6 {v6}");
            let mut cut: Vec<_> =
                written.iter().flat_map(|segment| cut(segment)).map(without_identification).collect();
            let mut packets: Vec<_> = packets.into_iter().map(without_identification).collect();
            cut.sort();
            packets.sort();
            assert_eq!(cut, packets, "{name}, v6 {v6}: the same packets");
        }
    }
}

#[test]
fn nothing_hides_what_is_broken() {
    let good = |sequence| tcp(false, sequence, ACK, 100);
    for (broken, want) in [(0, vec![1, 1, 1]), (1, vec![1, 1, 1]), (2, vec![2, 1])] {
        for at in [60, 11] {
            let mut packets = [good(0), good(100), good(200)];
            packets[broken][at] ^= 1; // In the payload, and in the checksum of the IP header.
            let written = written(&packets);
            let got: Vec<_> = written.iter().map(|segment| cut(segment).len()).collect();
            assert_eq!(got, want, "packet {broken}, byte {at}");
            assert!(
                written.iter().any(|segment| segment[VIRTIO_NET_HDR_LEN..] == packets[broken]),
                "{broken} unchanged"
            );
        }
    }
}

#[test]
fn other_headers_keep_packets_apart() {
    type Change = fn(&mut Vec<u8>);
    #[rustfmt::skip]
    let cases: [(&str, Change); 6] = [
        ("type of service", |packet| packet[1] = 4),
        ("time to live",    |packet| packet[8] = 63),
        ("fragment",        |packet| packet[6] = 0x20),
        ("port",            |packet| packet[20] = 9),
        ("acknowledgment",  |packet| packet[31] = 8),
        ("timestamp",       |packet| packet[47] = 9),
    ];
    for (name, change) in cases {
        let mut other = tcp(false, 100, ACK, 100);
        change(&mut other);
        seal(&mut other, false, TCP, 20);
        assert_eq!(written(&[tcp(false, 0, ACK, 100), other]).len(), 2, "{name}");
    }
}

proptest! {
    #[test]
    fn nothing_makes_it_panic_or_vanish(packets in prop::collection::vec(hostile(), 1..20)) {
        let bytes: usize = written(&packets).iter().map(|segment| cut_length(segment)).sum();
        prop_assert_eq!(bytes, packets.len());
    }
}

/// How many packets a segment stands for, by its payload.
fn cut_length(segment: &[u8]) -> usize {
    if segment[..VIRTIO_NET_HDR_LEN] == [0; VIRTIO_NET_HDR_LEN] { 1 } else { cut(segment).len() }
}

/// Packets that are nearly right.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let start = (any::<bool>(), any::<bool>(), 0_u32..4, 0_usize..40);
    let change = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    (start, change, any::<prop::sample::Index>()).prop_map(|((v6, is_udp, at, length), changes, end)| {
        let mut packet = if is_udp { udp(v6, length) } else { tcp(v6, at * 10, ACK, length) };
        for (index, value) in &changes {
            let index = index.index(packet.len());
            packet[index] = *value;
        }
        if changes.len() == 2 {
            packet.truncate(1 + end.index(packet.len()));
        }
        packet
    })
}
