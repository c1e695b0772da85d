use super::*;
use proptest::prelude::*;

#[test]
fn reads_contributors_extension_and_padding() {
    let mut bytes = vec![0x80 | 0x20 | 0x10 | 2, 0x80 | 8, 0x12, 0x34, 0, 0, 0, 9, 0, 0, 0, 7];
    bytes.extend([0, 0, 0, 1, 0, 0, 0, 2]);
    bytes.extend([0xbe, 0xde, 0, 1, 0x10, 0xaa, 0, 0]);
    bytes.extend([1, 2, 3, 0, 2]);
    let packet = Packet::parse(&bytes).unwrap();
    let header = Header { marker: true, payload_type: 8, sequence: 0x1234, timestamp: 9, ssrc: 7 };
    assert_eq!(packet.header(), header);
    assert_eq!(packet.contributors().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(packet.extension(), Some((0xbede, &[0x10, 0xaa, 0, 0][..])));
    assert_eq!((packet.payload(), packet.padding(), packet.header_len()), (&[1, 2, 3][..], 2, 28));
    assert_eq!(Packet::parse_protected(&bytes).unwrap().payload(), [1, 2, 3, 0, 2]);
}

#[test]
fn refuses_what_is_not_whole() {
    let fixed = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let with = |first: u8, rest: &[u8]| [&[first], &fixed[1..], rest].concat();
    #[rustfmt::skip]
    let cases = [
        ("empty",            vec![],                             RtpError::Truncated { got: 0, want: 12 }),
        ("short",            fixed[..11].to_vec(),               RtpError::Truncated { got: 11, want: 12 }),
        ("version 1",        with(0x40, &[]),                    RtpError::Version(1)),
        ("version 3",        with(0xc0, &[]),                    RtpError::Version(3)),
        ("contributor",      with(0x81, &[1, 2, 3]),             RtpError::Truncated { got: 15, want: 16 }),
        ("extension head",   with(0x90, &[1, 2, 0]),             RtpError::Truncated { got: 15, want: 16 }),
        ("extension words",  with(0x90, &[1, 2, 0, 1, 5]),       RtpError::Truncated { got: 17, want: 20 }),
        ("huge extension",   with(0x90, &[1, 2, 255, 255]),      RtpError::Truncated { got: 16, want: 262_156 }),
        ("padding of zero",  with(0xa0, &[0]),                   RtpError::Padding { got: 0, payload: 1 }),
        ("too much padding", with(0xa0, &[1, 3]),                RtpError::Padding { got: 3, payload: 2 }),
        ("padding, nothing", with(0xa0, &[]),                    RtpError::Padding { got: 0, payload: 0 }),
    ];
    for (name, bytes, want) in cases {
        assert_eq!(Packet::parse(&bytes), Err(want), "{name}");
    }
}

proptest! {
    #[test]
    fn parse_inverts_emit(
        marker: bool, payload_type in 0_u8..128, sequence: u16, timestamp: u32, ssrc: u32, payload: Vec<u8>,
    ) {
        let header = Header { marker, payload_type, sequence, timestamp, ssrc };
        let mut bytes = Vec::new();
        header.emit(&mut bytes);
        bytes.extend(&payload);
        let packet = Packet::parse(&bytes).unwrap();
        prop_assert_eq!(packet.header(), header);
        prop_assert_eq!(packet.payload(), &payload[..]);
        prop_assert_eq!(packet.contributors().count(), 0);
        prop_assert_eq!(packet.extension(), None);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        if let Ok(packet) = Packet::parse(&bytes) {
            let parts = packet.header_len() + packet.payload().len() + packet.padding();
            prop_assert_eq!(parts, bytes.len());
            prop_assert!(packet.contributors().count() <= CONTRIBUTORS_MAX);
            let _ = packet.extension();
        }
    }
}
