use super::*;
use proptest::prelude::*;

/// Time, link type, interface, bytes, length on the wire.
type Packet = (Option<Stamp>, u16, u32, Vec<u8>, u32);

/// Everything that a file has, and how its reading ended.
fn read(bytes: &[u8], piece: usize) -> (Vec<Packet>, Result<(), CaptureError>) {
    let mut reader = Reader::new();
    let mut got = Vec::new();
    let mut pieces = bytes.chunks(piece.max(1));
    loop {
        match reader.next() {
            Ok(Some(frame)) => {
                got.push((frame.at, frame.link.0, frame.interface, frame.bytes.to_vec(), frame.length));
            }
            Ok(None) => match pieces.next() {
                Some(piece) => reader.feed(piece),
                None if reader.finished => return (got, Ok(())),
                None => reader.finish(),
            },
            Err(error) => return (got, Err(error)),
        }
    }
}

fn number(order: Order, value: u32) -> [u8; 4] {
    match order {
        Order::Little => value.to_le_bytes(),
        Order::Big => value.to_be_bytes(),
    }
}

fn half(order: Order, value: u16) -> [u8; 2] {
    match order {
        Order::Little => value.to_le_bytes(),
        Order::Big => value.to_be_bytes(),
    }
}

fn pcap(order: Order, magic: u32, padding: usize) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(number(order, magic));
    file.extend([half(order, 2), half(order, 4)].concat());
    for value in [0, 0, 65_535, 101] {
        file.extend(number(order, value));
    }
    for value in [5, 250, 3, 60] {
        file.extend(number(order, value));
    }
    file.extend(vec![0; padding]);
    file.extend([7, 8, 9]);
    file
}

#[test]
fn reads_every_kind_of_pcap() {
    #[rustfmt::skip]
    let cases = [
        (0xa1b2_c3d4, 0, 5_000_250_000),
        (0xa1b2_3c4d, 0, 5_000_000_250),
        (0xa1b2_cd34, 8, 5_000_250_000),
    ];
    for (magic, padding, nanos) in cases {
        for order in [Order::Little, Order::Big] {
            let want = vec![(Some(Stamp(nanos)), 101, 0, vec![7, 8, 9], 60)];
            assert_eq!(read(&pcap(order, magic, padding), 1), (want, Ok(())), "{magic:x} {order:?}");
        }
    }
}

fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let length = number(order, u32::try_from(body.len() + 12).unwrap());
    [&number(order, kind), &length[..], body, &length].concat()
}

fn section(order: Order) -> Vec<u8> {
    let mut body = number(order, 0x1a2b_3c4d).to_vec();
    body.extend([half(order, 1), half(order, 0)].concat());
    body.extend([0xff; 8]);
    block(order, 0x0a0d_0d0a, &body)
}

fn interface(order: Order, link: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = [half(order, link), half(order, 0)].concat();
    body.extend(number(order, 0));
    for (code, value) in options {
        body.extend([half(order, *code), half(order, u16::try_from(value.len()).unwrap())].concat());
        body.extend(*value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(order, 1, &body)
}

fn packet(order: Order, interface: u32, ticks: u64, bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap();
    let high = u32::try_from(ticks >> 32).unwrap();
    let low = u32::try_from(ticks & 0xffff_ffff).unwrap();
    let mut body: Vec<u8> =
        [interface, high, low, length, length].iter().flat_map(|value| number(order, *value)).collect();
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
    block(order, 6, &body)
}

#[test]
fn reads_sections_interfaces_resolutions_and_offsets() {
    let offset = |order, seconds: i64| match order {
        Order::Little => seconds.to_le_bytes(),
        Order::Big => seconds.to_be_bytes(),
    };
    for (order, other) in [(Order::Little, Order::Big), (Order::Big, Order::Little)] {
        let mut file = section(order);
        file.extend(interface(order, 1, &[(2, b"eth0"), (9, &[9])]));
        file.extend(interface(order, 101, &[(9, &[0x80 | 10]), (14, &offset(order, -2)), (0, &[])]));
        file.extend(packet(order, 1, 5 << 10, &[1]));
        // A block that nobody knows, and statistics.
        file.extend(block(order, 0x7fff_0001, &[0; 400]));
        file.extend(packet(order, 0, 7_000_000_001, &[2, 3]));
        // Another section, from a computer with the other order, counts its interfaces anew.
        file.extend(section(other));
        file.extend(interface(other, 113, &[]));
        file.extend(packet(other, 0, 9, &[4; 5]));
        let want = vec![
            (Some(Stamp(3_000_000_000)), 101, 1, vec![1], 1),
            (Some(Stamp(7_000_000_001)), 1, 0, vec![2, 3], 2),
            (Some(Stamp(9_000)), 113, 2, vec![4; 5], 5),
        ];
        assert_eq!(read(&file, 7), (want, Ok(())), "{order:?}");
    }
}

#[test]
fn reads_simple_and_obsolete_packets() {
    let order = Order::Little;
    let mut file = section(order);
    let mut described = interface(order, 101, &[]);
    described[12..16].copy_from_slice(&3_u32.to_le_bytes());
    file.extend(described);
    file.extend(block(order, 3, &[&10_u32.to_le_bytes()[..], &[1, 2, 3, 0]].concat()));
    let mut body = [0_u16.to_le_bytes(), 5_u16.to_le_bytes()].concat();
    for value in [0_u32, 8, 2, 2] {
        body.extend(value.to_le_bytes());
    }
    body.extend([9, 8, 0, 0]);
    file.extend(block(order, 2, &body));
    let want = vec![(None, 101, 0, vec![1, 2, 3], 10), (Some(Stamp(8_000)), 101, 0, vec![9, 8], 2)];
    assert_eq!(read(&file, 1_000), (want, Ok(())));
}

#[test]
fn says_what_is_wrong_where_and_what_to_do() {
    let order = Order::Little;
    let good = [section(order), interface(order, 1, &[])].concat();
    let start = good.len() as u64;
    let with = |more: &[u8]| [&good, more].concat();
    let mut wrong_end = packet(order, 0, 0, &[1]);
    *wrong_end.last_mut().unwrap() = 1;
    let mut too_many = packet(order, 0, 0, &[1]);
    too_many[20] = 77;
    let mut long = packet(order, 0, 0, &[1]);
    long[4..8].copy_from_slice(&0x7fff_fff0_u32.to_le_bytes());
    let mut huge = pcap(order, 0xa1b2_c3d4, 0);
    huge[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let block = |what| CaptureError::Block { offset: start, what };
    #[rustfmt::skip]
    let cases = [
        ("text",       b"<xml>".to_vec(),       CaptureError::Format { got: *b"<xml" }),
        ("gzip",       vec![0x1f, 0x8b, 8, 0],  CaptureError::Compressed { with: "gzip", command: "gunzip FILE" }),
        ("nothing",    vec![],                  CaptureError::CutOff { offset: 0, got: 0, want: 4 }),
        ("cut",        with(&packet(order, 0, 0, &[1])[..20]), CaptureError::CutOff { offset: start, got: 20, want: 36 }),
        ("cut unknown", with(&[9, 9, 9, 9, 40, 0, 0, 0, 1]),   CaptureError::CutOff { offset: start + 9, got: 0, want: 31 }),
        ("end",        with(&wrong_end),        block("the length at its end is another than at its start")),
        ("captured",   with(&too_many),         block("it has fewer bytes than were captured")),
        ("long",       with(&long),             CaptureError::TooLong { offset: start, got: 0x7fff_fff0, max: BLOCK_MAX }),
        ("interface",  with(&packet(order, 1, 0, &[])), CaptureError::Interface { offset: start, got: 1, known: 1 }),
        ("resolution", with(&interface(order, 1, &[(9, &[20])])), block("its clock ticks more often than 2^64 times a second")),
        ("huge pcap",  huge,                    CaptureError::TooLong { offset: 24, got: u64::from(u32::MAX), max: BLOCK_MAX }),
    ];
    for (name, file, want) in cases {
        for piece in [1, 5, 1_000_000] {
            assert_eq!(read(&file, piece).1, Err(want.clone()), "{name}");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_come_to_the_same_end(
        start in 0_usize..4,
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        piece in 1_usize..50,
    ) {
        let order = Order::Little;
        let head = match start {
            0 => vec![],
            1 => pcap(order, 0xa1b2_c3d4, 0),
            2 => [section(order), interface(order, 1, &[])].concat(),
            _ => [section(Order::Big), interface(Order::Big, 1, &[])].concat(),
        };
        let file = [head, bytes].concat();
        prop_assert_eq!(read(&file, piece), read(&file, usize::MAX));
    }

    #[test]
    fn a_damaged_byte_is_never_a_panic(at in 0_usize..400, to: u8) {
        let order = Order::Big;
        let mut file = [section(order), interface(order, 1, &[(2, b"wlan0"), (9, &[6])])].concat();
        for number in 0..5 {
            file.extend(packet(order, 0, number, &[1; 33]));
        }
        let at = at % file.len();
        file[at] = to;
        let _ = read(&file, 64);
    }
}
