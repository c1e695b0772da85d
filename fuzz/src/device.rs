//! Large segments of a TUN device: what is cut, and what is joined.

use guestright_tun::fuzzing::{HEADER_LEN, cut, join};

use crate::seeds::Seed;

/// More packets than a segment has.
const PACKETS_MAX: usize = 100;

/// What a device hands over, and packets that are to be joined: both are these bytes.
pub fn segments(bytes: &[u8]) {
    if let Some(packets) = cut(bytes.to_vec()) {
        assert!(packets.iter().all(|packet| !packet.is_empty()), "an empty packet");
        joined_and_cut_again(&packets[..packets.len().min(PACKETS_MAX)]);
    }
    // The same as packets of any length: a byte says how long the next one is.
    let (mut packets, mut rest) = (Vec::new(), bytes);
    while let Some((length, after)) = rest.split_first() {
        let (packet, after) = after.split_at(after.len().min(usize::from(*length) + 1));
        if !packet.is_empty() {
            packets.push(packet.to_vec());
        }
        rest = after;
    }
    packets.truncate(PACKETS_MAX);
    joined_and_cut_again(&packets);
}

/// Nothing vanishes, and nothing comes into being: the kernel would cut what is written into as many packets.
fn joined_and_cut_again(packets: &[Vec<u8>]) {
    let mut again = 0;
    for segment in join(packets) {
        let is_whole = segment[..HEADER_LEN] == [0; HEADER_LEN];
        if is_whole {
            let packet = segment[HEADER_LEN..].to_vec();
            assert!(packets.contains(&packet), "a packet that was not there");
            again += 1;
        } else {
            again += cut(segment).expect("a header that makes sense").len();
        }
    }
    assert_eq!(again, packets.len());
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    for (name, v6, is_tcp) in [("tcp4", false, true), ("tcp6", true, true), ("udp4", false, false)] {
        let (protocol, transport) = if is_tcp { (6, 20) } else { (17, 8) };
        let mut packet = if v6 {
            [&[0x60, 0, 0, 0, 0, 0, protocol, 64][..], &[0xfd; 32]].concat()
        } else {
            vec![0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]
        };
        let start = packet.len();
        packet.extend([0x13, 0x88, 0x17, 0x70]);
        packet.extend(vec![0; transport - 4]);
        if is_tcp {
            (packet[start + 12], packet[start + 13]) = (0x50, 0x18);
        }
        packet.extend((0..100_u8).collect::<Vec<_>>());
        // virtio 1.2 section 5.1.6: flags, kind, length of headers, size of a packet, checksum from, checksum at.
        let kind = [[5, 5], [1, 4]][usize::from(is_tcp)][usize::from(v6)];
        let [start, size] = [u8::try_from(start).expect("short"), 30];
        let checksum_at = if is_tcp { 16 } else { 6 };
        let header = [1, kind, 0, 0, size, 0, start, 0, checksum_at, 0];
        seeds.push(("segments", name.to_owned(), [&header[..], &packet].concat()));
        // The packets that it is cut into, one after the other with their lengths.
        let packets = cut([&header[..], &packet].concat()).expect("a header that makes sense");
        let lengths = packets.iter().flat_map(|packet| {
            [&[u8::try_from(packet.len() - 1).expect("short")], packet.as_slice()].concat()
        });
        seeds.push(("segments", format!("{name}-packets"), lengths.collect()));
    }
}
