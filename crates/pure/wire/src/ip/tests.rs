use proptest::prelude::*;

use super::*;

/// An IPv4 header from the textbook: its checksum is b861.
const SAMPLE: [u8; 20] = [
    0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
    0xa8, 0x00, 0xc7,
];

#[test]
fn writes_the_textbook_header() {
    let header = Ipv4Header {
        source: Ipv4Addr::new(192, 168, 0, 1),
        destination: Ipv4Addr::new(192, 168, 0, 199),
        protocol: 17,
        ttl: 64,
        traffic_class: 0,
        dont_fragment: true,
        identification: 0,
    };
    let mut packet = [0xee; 0x73];
    header.write(&mut packet);
    assert_eq!(packet[..20], SAMPLE);
    assert_eq!(Ipv4Header::parse(&packet), Ok((header, 20..0x73)));
    packet[15] ^= 1;
    assert_eq!(Ipv4Header::parse(&packet), Err(IpError::Checksum));
}

#[test]
fn the_outer_header_copies_what_it_should() {
    let mut inner = SAMPLE.to_vec();
    inner[1] = 0b1011_1001;
    inner.resize(0x73, 0);
    let inner = Packet::parse(&inner).unwrap();
    let addresses = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    for (fragment, want) in
        [(DontFragment::Copy, true), (DontFragment::Set, true), (DontFragment::Clear, false)]
    {
        let outer = Ipv4Header::outer(addresses, PROTOCOL_ESP, &inner, fragment, 64);
        assert_eq!((outer.traffic_class, outer.dont_fragment, outer.ttl), (0b1011_1001, want, 64));
    }
}

#[test]
fn refuses_what_is_not_whole() {
    let whole = [SAMPLE.to_vec(), vec![0; 0x73 - 20]].concat();
    for length in 0..whole.len() {
        let want = if length < 20 { 20 } else { 0x73 };
        assert_eq!(Packet::parse(&whole[..length]), Err(IpError::Truncated { got: length, want }));
    }
    let with = |at: usize, value: u8| {
        let mut packet = whole.clone();
        packet[at] = value;
        Packet::parse(&packet)
    };
    assert_eq!(with(0, 0x55), Err(IpError::Version(5)));
    assert_eq!(with(0, 0x44), Err(IpError::Header(16)));
    assert_eq!(with(3, 19), Err(IpError::Header(20)));
    let mut version_6 = [0; 45];
    (version_6[0], version_6[1], version_6[5]) = (0x6a, 0xb0, 5);
    let packet = Packet::parse(&version_6).unwrap();
    assert_eq!((packet.len, packet.traffic_class, packet.next_header()), (45, 0xab, PROTOCOL_IPV6));
    assert_eq!(Packet::parse(&version_6[..44]), Err(IpError::Truncated { got: 44, want: 45 }));
}

#[test]
fn marks_come_out_as_in_the_figure_of_rfc_6040() {
    use Ecn::{Capable0, Capable1, Congested, NotCapable};
    let outers = [NotCapable, Capable0, Capable1, Congested];
    #[rustfmt::skip]
    let rows = [
        (NotCapable, [Some(NotCapable), Some(NotCapable), Some(NotCapable), None]),
        (Capable0,   [Some(Capable0),   Some(Capable0),   Some(Capable1),   Some(Congested)]),
        (Capable1,   [Some(Capable1),   Some(Capable1),   Some(Capable1),   Some(Congested)]),
        (Congested,  [Some(Congested),  Some(Congested),  Some(Congested),  Some(Congested)]),
    ];
    for (inner, wants) in rows {
        for (outer, want) in outers.into_iter().zip(wants) {
            assert_eq!(Ecn::decapsulate(inner, outer), want, "{inner:?} {outer:?}");
            let header = Ipv4Header::parse(&[SAMPLE.to_vec(), vec![0; 95]].concat()).unwrap().0;
            let mut packet = [0; 60];
            Ipv4Header { traffic_class: 0b1010_1000 | inner.bits(), ..header }.write(&mut packet);
            assert_eq!(decapsulate(&mut packet, outer), want.is_some());
            if let Some(want) = want {
                let (after, _) = Ipv4Header::parse(&packet).expect("the checksum was kept right");
                assert_eq!(after.traffic_class, 0b1010_1000 | want.bits());
            }
            let mut version_6 = [0; 40];
            (version_6[0], version_6[1]) = (0x6a, 0x80 | inner.bits() << 4 | 0x05);
            assert_eq!(decapsulate(&mut version_6, outer), want.is_some());
            if let Some(want) = want {
                assert_eq!(version_6[..2], [0x6a, 0x80 | want.bits() << 4 | 0x05]);
            }
        }
    }
}

proptest! {
    #[test]
    fn sums_as_if_word_by_word(bytes: Vec<u8>) {
        let mut sum = Sum::default();
        sum.add(&bytes);
        let mut want = 0_u64;
        for pair in bytes.chunks(2) {
            want += u64::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
            want = (want & 0xffff) + (want >> 16);
        }
        prop_assert_eq!(u64::from(!sum.checksum()), want);
    }

    #[test]
    fn never_reads_beyond(bytes: Vec<u8>) {
        if let Ok(packet) = Packet::parse(&bytes) {
            prop_assert!(packet.len <= bytes.len());
        }
        if let Ok((_, payload)) = Ipv4Header::parse(&bytes) {
            prop_assert!(payload.end <= bytes.len());
        }
    }
}

#[test]
fn sums_as_rfc_1071_does() {
    let checksum = |parts: &[&[u8]]| {
        let mut sum = Sum::default();
        parts.iter().for_each(|part| sum.add(part));
        sum.checksum()
    };
    // The example of section 3, and an odd byte at the end.
    assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
    assert_eq!(checksum(&[&[0x12, 0x34], &[0x56]]), !(0x1234 + 0x5600));
}

proptest! {
    #[test]
    fn sums_as_etherparse_does(bytes: Vec<u8>) {
        let mut sum = Sum::default();
        sum.add(&bytes);
        let want = etherparse::checksum::Sum16BitWords::new().add_slice(&bytes).ones_complement().to_be();
        prop_assert_eq!(sum.checksum(), want);
    }
}
