use super::*;
use proptest::prelude::*;

/// An IPv4 packet with a datagram of four bytes.
fn packet() -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 32, 0, 1, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2];
    bytes.extend([0x0f, 0xa0, 0x13, 0x88, 0, 12, 0, 0]);
    bytes.extend([1, 2, 3, 4]);
    bytes
}

/// The same over IPv6, behind a hop-by-hop and a destination header.
fn packet_v6() -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0, 0, 28, 0, 64];
    bytes.extend("2001:db8::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
    bytes.extend("2001:db8::2".parse::<std::net::Ipv6Addr>().unwrap().octets());
    bytes.extend([60, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend([17, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend(&packet()[20..]);
    bytes
}

fn frame(link: u16, bytes: &[u8]) -> Frame<'_> {
    let length = u32::try_from(bytes.len()).unwrap();
    Frame { at: Some(Stamp(1)), link: LinkType(link), interface: 3, bytes, length, offset: 0 }
}

#[test]
fn finds_the_datagram_behind_every_kind_of_link() {
    let with = |head: &[u8]| [head, &packet()].concat();
    let ethernet = |rest: &[u8]| [&[0; 12], rest].concat();
    let mut air = vec![0x88, 0x01];
    air.extend([0; 22]);
    air.extend([0, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    let radiotap = [&[0, 0, 9, 0, 0, 0, 0, 0, 0][..], &air].concat();
    let mut cooked_v2 = vec![8, 0, 0, 0, 0, 0, 0, 7];
    cooked_v2.extend([0; 12]);
    #[rustfmt::skip]
    let cases = [
        ("Ethernet",       1,   with(&ethernet(&[8, 0])), 3),
        ("padded",         1,   [with(&ethernet(&[8, 0])), vec![0; 14]].concat(), 3),
        ("VLAN",           1,   with(&ethernet(&[0x81, 0, 0, 5, 8, 0])), 3),
        ("QinQ",           1,   with(&ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0])), 3),
        ("PPPoE",          1,   with(&ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 34, 0, 0x21])), 3),
        ("NULL",           0,   with(&[2, 0, 0, 0]), 3),
        ("LOOP",           108, with(&[0, 0, 0, 2]), 3),
        ("raw",            101, packet(), 3),
        ("raw IPv4",       228, packet(), 3),
        ("cooked",         113, with(&[0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0]), 3),
        ("cooked v2",      276, with(&cooked_v2), 7),
        ("802.11",         105, with(&air), 3),
        ("radiotap",       127, with(&radiotap), 3),
    ];
    for (name, link, bytes, interface) in cases {
        let Decoded::Udp(got) = decode(&frame(link, &bytes)) else {
            panic!("{name}: {:?}", decode(&frame(link, &bytes)))
        };
        assert_eq!(
            (got.from, got.to),
            ("192.0.2.1:4000".parse().unwrap(), "198.51.100.2:5000".parse().unwrap()),
            "{name}"
        );
        assert_eq!((got.payload, got.missing, got.interface), (&[1, 2, 3, 4][..], 0, interface), "{name}");
    }
}

#[test]
fn walks_over_the_extension_headers_of_ipv6() {
    let bytes = packet_v6();
    let Decoded::Udp(got) = decode(&frame(229, &bytes)) else { panic!("{:?}", decode(&frame(229, &bytes))) };
    assert_eq!((got.to, got.payload), ("[2001:db8::2]:5000".parse().unwrap(), &[1, 2, 3, 4][..]));
}

#[test]
fn a_packet_that_was_cut_still_gives_its_headers() {
    let whole = packet();
    let Decoded::Udp(got) = decode(&frame(101, &whole[..30])) else { panic!("no datagram") };
    assert_eq!((got.payload, got.missing), (&[1, 2][..], 2));
    let whole = packet_v6();
    let Decoded::Udp(got) = decode(&frame(101, &whole[..whole.len() - 3])) else { panic!("no datagram") };
    assert_eq!((got.payload, got.missing), (&[1][..], 3));
    assert_eq!(decode(&frame(101, &packet()[..23])), Decoded::Damaged);
}

#[test]
fn the_first_fragment_of_a_datagram_has_its_ports_and_says_what_is_missing() {
    // The datagram has 40 bytes, of which this fragment has the first four.
    let mut first = packet();
    (first[6], first[25]) = (0x20, 48);
    let Decoded::FirstFragment(got) = decode(&frame(101, &first)) else {
        panic!("{:?}", decode(&frame(101, &first)))
    };
    assert_eq!((got.from.port(), got.to.port()), (4_000, 5_000));
    assert_eq!((got.payload, got.missing), (&[1, 2, 3, 4][..], 36));
    // Over IPv6 a header of its own says so; with an offset it is another one.
    let mut bytes = packet_v6();
    (bytes[5], bytes[48]) = (36, 44);
    bytes.splice(56..56, [17, 0, 0, 1, 0, 0, 0, 9]);
    let Decoded::FirstFragment(got) = decode(&frame(101, &bytes)) else {
        panic!("{:?}", decode(&frame(101, &bytes)))
    };
    assert_eq!((got.to, got.payload), ("[2001:db8::2]:5000".parse().unwrap(), &[1, 2, 3, 4][..]));
    bytes[59] = 9;
    assert_eq!(decode(&frame(101, &bytes)), Decoded::Fragment);
    // Too short for UDP's header.
    assert_eq!(decode(&frame(101, &first[..27])), Decoded::Fragment);
}

#[test]
fn names_what_is_none_of_ours() {
    let mut fragment = packet();
    fragment[7] = 3;
    let mut of_tcp = packet();
    (of_tcp[6], of_tcp[9]) = (0x20, 6);
    let mut arp = vec![0; 42];
    arp[12..14].copy_from_slice(&[8, 6]);
    let mut ciphered = vec![0x08, 0x41];
    ciphered.extend([0; 40]);
    #[rustfmt::skip]
    let cases = [
        ("fragment",   101, fragment,       Decoded::Fragment),
        ("a first one", 101, of_tcp,        Decoded::Fragment),
        ("ARP",        1,   arp,            Decoded::Other),
        ("WPA",        105, ciphered,       Decoded::Ciphered),
        ("beacon",     105, vec![0x80; 40], Decoded::Other),
        ("short",      1,   vec![0; 13],    Decoded::Damaged),
        ("no IP",      101, vec![0xff; 40], Decoded::Damaged),
        ("USB",        189, vec![0; 64],    Decoded::UnknownLink(LinkType(189))),
    ];
    for (name, link, bytes, want) in cases {
        assert_eq!(decode(&frame(link, &bytes)), want, "{name}");
    }
}

proptest! {
    #[test]
    fn no_bytes_are_a_panic(
        link in prop::sample::select(&[0_u16, 1, 101, 105, 108, 113, 127, 228, 229, 276, 999][..]),
        bytes in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let _ = decode(&frame(link, &bytes));
    }

    #[test]
    fn a_payload_is_never_longer_than_what_was_captured(cut in 0_usize..33, at in 0_usize..32, to: u8) {
        let mut bytes = packet();
        bytes[at] = to;
        bytes.truncate(cut);
        if let Decoded::Udp(got) | Decoded::FirstFragment(got) = decode(&frame(101, &bytes)) {
            prop_assert!(got.payload.len() + 28 <= bytes.len());
        }
    }
}
