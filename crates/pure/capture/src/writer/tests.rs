use super::*;
use crate::{Decoded, Reader, decode};
use guestright_wire::ip::Sum;
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
fn refuses_frames_that_no_reader_takes_and_writes_nothing() {
    let mut out = Vec::new();
    let mut writer = FrameWriter::new("test", &mut out);
    let before = out.len();
    let unknown = WriteError::Interface { got: 0, known: 0 };
    assert_eq!(writer.frame(0, Stamp(0), &[0], "", &mut out), Err(unknown));
    assert_eq!(out.len(), before);
    let radio = writer.interface("radio", LinkType::IEEE_802_11, Some(4), &mut out);
    let before = out.len();
    let long = vec![0; FRAME_MAX + 1];
    let refused = Err(WriteError::FrameTooLong { got: FRAME_MAX + 1 });
    assert_eq!(writer.frame(radio, Stamp(0), &long, "", &mut out), refused);
    assert_eq!(out.len(), before);
    writer.frame(radio, Stamp(0), &long[1..], "", &mut out).unwrap();
}

/// Everything that a reader finds in a file: time, link type, interface, bytes.
fn read_all(file: &[u8]) -> Vec<(Option<Stamp>, LinkType, u32, Vec<u8>)> {
    let mut reader = Reader::new();
    reader.feed(file);
    reader.finish();
    let mut found = Vec::new();
    while let Some(frame) = reader.next().unwrap() {
        found.push((frame.at, frame.link, frame.interface, frame.bytes.to_vec()));
    }
    found
}

/// The bytes of both families, by hand; the checksums by a sum that is not the writer's.
#[test]
fn packets_are_those_of_the_standards() {
    let packets = [("192.0.2.1", "198.51.100.7"), ("2001:db8::1", "2001:db8::2")].map(|(from, to)| {
        let mut out = Vec::new();
        let mut writer = Writer::new("test", "call", &mut out);
        writer.packet(Stamp(0), address(from, 4_000), address(to, 5_000), b"odd", &mut out).unwrap();
        read_all(&out).pop().unwrap().3
    });
    let [four, six] = &packets;
    let checksum = |parts: &[&[u8]]| {
        let mut sum = Sum::default();
        parts.iter().for_each(|part| sum.add(part));
        sum.checksum()
    };
    assert_eq!(four[..10], [0x45, 0, 0, 31, 0, 1, 0x40, 0, 64, 17]);
    assert_eq!(four[12..20], [192, 0, 2, 1, 198, 51, 100, 7]);
    assert_eq!(checksum(&[&four[..20]]), 0);
    assert_eq!(checksum(&[&four[12..20], &[0, 17, 0, 11], &four[20..]]), 0);
    assert_eq!(six[..8], [0x60, 0, 0, 0, 0, 11, 17, 64]);
    assert_eq!(checksum(&[&six[8..40], &[0, 17, 0, 11], &six[40..]]), 0);
    for datagram in [&four[20..], &six[40..]] {
        assert_eq!(datagram[..6], [0x0f, 0xa0, 0x13, 0x88, 0, 11]);
        assert_eq!(datagram[8..], *b"odd");
    }
}

proptest! {
    #[test]
    fn frames_of_any_links_are_read_back(
        links in prop::collection::vec(any::<u16>(), 1..5),
        frames in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..100), "\\PC{0,20}"),
            0..20,
        ),
    ) {
        let mut out = Vec::new();
        let mut writer = FrameWriter::new("guestright", &mut out);
        for (number, link) in (0..).zip(&links) {
            prop_assert_eq!(writer.interface("any", LinkType(*link), None, &mut out), number);
        }
        let mut expected = Vec::new();
        for (interface, at, bytes, comment) in &frames {
            let index = interface.index(links.len());
            let number = u32::try_from(index).unwrap();
            writer.frame(number, Stamp(*at), bytes, comment, &mut out).unwrap();
            expected.push((Some(Stamp(*at)), LinkType(links[index]), number, bytes.clone()));
        }
        prop_assert_eq!(read_all(&out), expected);
    }

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
