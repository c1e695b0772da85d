use super::*;
use crate::{Decoded, Reader, decode};
use proptest::prelude::*;

fn address(ip: &str, port: u16) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), port)
}

#[test]
fn refuses_what_udp_cannot_carry_and_writes_nothing() {
    let mut out = Vec::new();
    let mut writer = Writer::new("test", "call", &mut out);
    let before = out.len();
    let (four, six) = (address("192.0.2.1", 1), address("2001:db8::1", 1));
    let long = vec![0; PAYLOAD_MAX + 1];
    assert_eq!(
        writer.packet(Stamp(0), four, four, &long, &mut out),
        Err(WriteError::TooLong { got: 65_508 })
    );
    assert_eq!(
        writer.packet(Stamp(0), four, six, &[], &mut out),
        Err(WriteError::Families { from: four, to: six })
    );
    assert_eq!(out.len(), before);
    writer.packet(Stamp(0), four, four, &long[1..], &mut out).unwrap();
}

#[test]
fn checksums_are_those_of_the_standards() {
    // RFC 1071, section 3, and a header worked by hand.
    assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
    assert_eq!(checksum(&[&[0x12, 0x34], &[0x56]]), !(0x1234 + 0x5600));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        packets in prop::collection::vec(
            (any::<u64>(), any::<bool>(), any::<(u16, u16)>(), prop::collection::vec(any::<u8>(), 0..300), "\\PC{0,20}"),
            0..20,
        ),
        piece in 1_usize..500,
    ) {
        let mut out = Vec::new();
        let mut writer = Writer::new("guestright", "call", &mut out);
        let ends = |six: bool, ports: (u16, u16)| if six {
            (address("2001:db8::1", ports.0), address("2001:db8::2", ports.1))
        } else {
            (address("192.0.2.1", ports.0), address("198.51.100.7", ports.1))
        };
        for (at, six, ports, payload, comment) in &packets {
            let (from, to) = ends(*six, *ports);
            writer.packet_with_comment(Stamp(*at), from, to, payload, comment, &mut out).unwrap();
        }
        let mut reader = Reader::new();
        let mut got = 0;
        let mut chunks = out.chunks(piece);
        loop {
            if let Some(frame) = reader.next().unwrap() {
                let (at, six, ports, payload, _) = &packets[got];
                let Decoded::Udp(datagram) = decode(&frame) else { panic!("no datagram: {frame:?}") };
                let (from, to) = ends(*six, *ports);
                prop_assert_eq!(datagram.at, Some(Stamp(*at)));
                prop_assert_eq!((datagram.from, datagram.to, datagram.missing), (from, to, 0));
                prop_assert_eq!(datagram.payload, payload.as_slice());
                got += 1;
            } else if let Some(chunk) = chunks.next() {
                reader.feed(chunk);
            } else {
                reader.finish();
                prop_assert_eq!(reader.next().unwrap(), None);
                break;
            }
        }
        prop_assert_eq!(got, packets.len());
    }
}
