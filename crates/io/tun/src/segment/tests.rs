use super::*;
use proptest::prelude::*;

/// A whole packet with right checksums. `sequence` is TCP's; UDP has none.
pub(crate) fn packet(v6: bool, protocol: u8, sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = if v6 {
        let mut header = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
        header.extend_from_slice(&[0xfd; 32]);
        header
    } else {
        vec![0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]
    };
    let transport = packet.len();
    packet.extend_from_slice(&[0x13, 0x88, 0x17, 0x70]);
    if protocol == TCP {
        packet.extend_from_slice(&sequence.to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0, 9, 0x80, flags, 1, 1, 0, 0, 0, 0]);
        packet.extend_from_slice(&[1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]); // Timestamps.
    } else {
        packet.extend_from_slice(&u16::try_from(payload.len() + 8).unwrap().to_be_bytes());
        packet.extend_from_slice(&[0, 0]);
    }
    packet.extend_from_slice(payload);
    seal(&mut packet, v6, protocol, transport);
    packet
}

/// Writes lengths and checksums.
pub(crate) fn seal(packet: &mut [u8], v6: bool, protocol: u8, transport: usize) {
    write_length(packet, v6, packet.len());
    if !v6 {
        write_ipv4_checksum(packet, transport);
    }
    let field = transport + checksum_offset(protocol);
    packet[field..field + 2].fill(0);
    let sum = pseudo_header(packet, v6, protocol, packet.len() - transport).add(&packet[transport..]);
    packet[field..field + 2].copy_from_slice(&transmitted(sum.checksum(), protocol));
}

/// What the device hands over for a large packet: its header, and the sum over the pseudo header alone.
fn handed_over(large: &[u8], v6: bool, protocol: u8, size: u16) -> Vec<u8> {
    let transport: u16 = if v6 { 40 } else { 20 };
    let header = VirtioNetHdr {
        flags: NEEDS_CHECKSUM,
        gso_type: match (protocol, v6) {
            (TCP, false) => VIRTIO_NET_HDR_GSO_TCPV4,
            (TCP, true) => VIRTIO_NET_HDR_GSO_TCPV6,
            _ => VIRTIO_NET_HDR_GSO_UDP_L4,
        },
        hdr_len: 0, // Not to be believed.
        gso_size: size,
        csum_start: transport,
        csum_offset: u16::try_from(checksum_offset(protocol)).unwrap(),
    };
    let mut read = vec![0; VIRTIO_NET_HDR_LEN];
    header.encode(&mut read).unwrap();
    read.extend_from_slice(large);
    read
}

fn cut(read: &mut [u8]) -> Option<Vec<Vec<u8>>> {
    let mut segments = Segments::new(read, true)?;
    let mut packets = Vec::new();
    while let Some(packet) = segments.next_packet() {
        packets.push(packet.to_vec());
    }
    Some(packets)
}

#[test]
fn cuts_into_the_packets_that_would_have_been_sent() {
    let payload: Vec<u8> = (0..3_000_u32).map(|at| at.to_le_bytes()[0] ^ 0x5a).collect();
    for (v6, protocol) in [(false, TCP), (true, TCP), (false, UDP), (true, UDP)] {
        for size in [20_u16, 999, 1_000, 1_368, 2_999] {
            let large = packet(v6, protocol, 0xffff_fc00, ACK_PSH_FIN_CWR, &payload);
            let got = cut(&mut handed_over(&large, v6, protocol, size)).unwrap();
            let chunks: Vec<_> = payload.chunks(usize::from(size)).collect();
            assert_eq!(got.len(), chunks.len());
            for (index, chunk) in chunks.iter().enumerate() {
                let mut flags = ACK_PSH_FIN_CWR;
                if index > 0 {
                    flags &= !CWR;
                }
                if index + 1 < chunks.len() {
                    flags &= !(PSH | FIN);
                }
                let sequence = 0xffff_fc00_u32.wrapping_add(u32::from(size) * u32::try_from(index).unwrap());
                let mut want = packet(v6, protocol, sequence, flags, chunk);
                if !v6 {
                    let identification = 0x1234 + u16::try_from(index).unwrap();
                    want[4..6].copy_from_slice(&identification.to_be_bytes());
                    write_ipv4_checksum(&mut want, 20);
                }
                assert_eq!(got[index], want, "v6 {v6}, protocol {protocol}, size {size}, packet {index}");
            }
        }
    }
}

#[test]
fn completes_the_checksum_of_a_small_packet() {
    for protocol in [TCP, UDP] {
        let want = packet(false, protocol, 7, 0x10, b"hello, world");
        let field = 20 + checksum_offset(protocol);
        let mut read = handed_over(&want, false, protocol, 0);
        read[1] = GSO_NONE;
        let partial = pseudo_header(&want, false, protocol, want.len() - 20).fold();
        read[VIRTIO_NET_HDR_LEN + field..VIRTIO_NET_HDR_LEN + field + 2].copy_from_slice(&partial);
        assert_eq!(cut(&mut read), Some(vec![want]));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let large = packet(false, TCP, 1, 0x10, &[0; 100]);
    let good = handed_over(&large, false, TCP, 10);
    type Spoil = fn(&mut Vec<u8>);
    #[rustfmt::skip]
    let cases: [(&str, Spoil); 7] = [
        ("empty",               Vec::clear),
        ("header alone",        |read| read.truncate(VIRTIO_NET_HDR_LEN)),
        ("another kind",        |read| read[1] = 3),
        ("another family",      |read| read[1] = VIRTIO_NET_HDR_GSO_TCPV6),
        ("pieces of nothing",   |read| read[4..6].fill(0)),
        ("checksum far behind", |read| read[6..8].fill(0xff)),
        ("short TCP header",    |read| read[VIRTIO_NET_HDR_LEN + 32] = 0x10),
    ];
    for (name, spoil) in cases {
        let mut read = good.clone();
        spoil(&mut read);
        assert_eq!(cut(&mut read), None, "{name}");
    }
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(mut read in prop::collection::vec(any::<u8>(), 0..300), kind in 0_u8..6) {
        if let Some(gso) = read.get_mut(1) {
            *gso = kind;
        }
        let _ = cut(&mut read);
    }
}

const ACK_PSH_FIN_CWR: u8 = 0x10 | PSH | FIN | CWR;
