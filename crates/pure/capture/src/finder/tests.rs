#![expect(clippy::cast_possible_truncation, reason = "numbers of packets wrap on purpose")]

use super::*;
use crate::stamp::Stamp;
use guestright_units::Micros;
use proptest::prelude::*;

const ALICE: &str = "192.0.2.1:4000";
const BOB: &str = "198.51.100.2:5000";

fn at(ms: u64) -> Option<Stamp> {
    Some(Stamp(1_000_000_000_000 + ms * 1_000_000))
}

fn datagram<'a>(ms: u64, from: &str, to: &str, payload: &'a [u8]) -> Datagram<'a> {
    let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
    Datagram { at: at(ms), interface: 0, from, to, payload, missing: 0 }
}

fn rtp(payload_type: u8, sequence: u16, timestamp: u32, ssrc: u32) -> Vec<u8> {
    let mut bytes = vec![0x80, payload_type];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(timestamp.to_be_bytes());
    bytes.extend(ssrc.to_be_bytes());
    bytes.extend([0x55; 20]);
    bytes
}

fn drain(finder: &mut Finder) -> Vec<(usize, u16)> {
    std::iter::from_fn(|| finder.poll_packet()).map(|(index, packet)| (index, packet.sequence)).collect()
}

/// One stream of 20 ms packets with these sequence numbers.
fn talk(finder: &mut Finder, from: &str, to: &str, ssrc: u32, sequences: impl IntoIterator<Item = u16>) {
    for (index, sequence) in sequences.into_iter().enumerate() {
        let packet = rtp(0, sequence, u32::from(sequence) * 160, ssrc);
        finder.handle_datagram(&datagram(index as u64 * 20, from, to, &packet));
    }
}

#[test]
fn finds_both_directions_and_hands_out_the_first_packets_too() {
    let mut finder = Finder::new(Limits::default());
    for index in 0..50_u16 {
        let ms = u64::from(index) * 20;
        finder.handle_datagram(&datagram(ms, ALICE, BOB, &rtp(0, index, u32::from(index) * 160, 7)));
        finder.handle_datagram(&datagram(
            ms + 5,
            BOB,
            ALICE,
            &rtp(8, 900 + index, u32::from(index) * 160, 9),
        ));
    }
    let packets = drain(&mut finder);
    assert_eq!(finder.streams().len(), 2);
    for stream in [0, 1] {
        assert_eq!(packets.iter().filter(|packet| packet.0 == stream).count(), 50);
    }
    assert_eq!(packets[0], (0, 0));
    assert_eq!((finder.opposite(0), finder.opposite(1)), (Some(1), Some(0)));
    assert_eq!((finder.streams()[0].main_type(), finder.streams()[1].main_type()), (Some(0), Some(8)));
    assert_eq!(finder.counts().unlike, 0);
}

#[test]
fn survives_a_sequence_that_wraps_and_one_packet_in_three_lost() {
    let mut finder = Finder::new(Limits::default());
    let sequences = (0..300_u16).map(|n| 65_400_u16.wrapping_add(n));
    talk(&mut finder, ALICE, BOB, 7, sequences.filter(|n| n % 3 != 0));
    assert_eq!((finder.streams().len(), drain(&mut finder).len()), (1, 199));
}

#[test]
fn one_source_in_two_places_is_two_streams() {
    let mut finder = Finder::new(Limits::default());
    // Behind a relay the same SSRC goes on to somebody else.
    talk(&mut finder, ALICE, BOB, 7, 0..20);
    talk(&mut finder, BOB, "203.0.113.3:6000", 7, 0..20);
    // A router that sees it come in and go out.
    for index in 0..20_u16 {
        let packet = rtp(0, index, u32::from(index) * 160, 8);
        for interface in [1, 2] {
            finder.handle_datagram(&Datagram {
                interface,
                ..datagram(u64::from(index) * 20, ALICE, BOB, &packet)
            });
        }
    }
    let counts: Vec<u64> = finder.streams().iter().map(|stream| stream.packets).collect();
    assert_eq!(counts, [20, 20, 20, 20]);
    assert_eq!([0, 1, 2, 3].map(|index| finder.copies(index)), [vec![], vec![], vec![3], vec![2]]);
}

/// One stream of 20 ms packets with these sequence numbers, each on its interface.
fn talk_on(finder: &mut Finder, packets: impl IntoIterator<Item = (u16, u32)>) {
    for (index, (sequence, interface)) in packets.into_iter().enumerate() {
        let packet = rtp(0, sequence, u32::from(sequence) * 160, 8);
        let ms = index as u64 * 20;
        finder.handle_datagram(&Datagram { interface, ..datagram(ms, ALICE, BOB, &packet) });
    }
}

#[test]
fn interfaces_that_see_parts_of_a_stream_see_one() {
    type Choose = fn(u16) -> u32;
    #[rustfmt::skip]
    let cases: [(&str, Choose, &[u32]); 4] = [
        ("by turns",               |n| u32::from(n % 2),       &[0, 1]),
        ("three of them",          |n| u32::from(n % 3),       &[0, 1, 2]),
        ("one in five on another", |n| u32::from(n % 5 == 3),  &[0, 1]),
        ("another from the middle", |n| u32::from(n > 50 && n % 2 == 0), &[0, 1]),
    ];
    for (name, interface, want) in cases {
        let mut finder = Finder::new(Limits::default());
        talk_on(&mut finder, (0..100).map(|n| (n, interface(n))));
        let packets = drain(&mut finder);
        assert_eq!(finder.streams().len(), 1, "{name}");
        let stream = &finder.streams()[0];
        assert_eq!((stream.packets, finder.counts().unlike), (100, 0), "{name}");
        assert!(stream.interfaces.iter().eq(want), "{name}: {:?}", stream.interfaces);
        assert!(finder.copies(0).is_empty());
        // In the order in which they came, but for the one that waits to see whether it is a copy.
        let back = packets.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
        assert!(back <= 1, "{name}: {packets:?}");
    }
}

#[test]
fn a_copy_that_is_written_before_the_first_is_a_copy_still() {
    // The outer side of a router is looked at later, and its first packet comes into the file before the inner side's.
    let both = (30..90).flat_map(|n| [(n, 0), (n, 1)]);
    let mut packets: Vec<(u16, u32)> = (0..30).map(|n| (n, 0)).chain(both).collect();
    packets.swap(30, 31);
    let mut finder = Finder::new(Limits::default());
    talk_on(&mut finder, packets);
    let counts: Vec<u64> = finder.streams().iter().map(|stream| stream.packets).collect();
    assert_eq!(counts, [90, 60]);
}

#[test]
fn chance_is_not_taken_for_ciphered_rtcp() {
    let mut finder = Finder::new(Limits::default());
    talk(&mut finder, ALICE, BOB, 7, 0..20);
    let unreadable = [0x80, 200, 0, 99, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    // Something else on other ports, of the same computers and of others.
    let elsewhere =
        [("192.0.2.1:443", "198.51.100.2:51820"), ("192.0.2.9:4000", BOB), (ALICE, "198.51.100.2:5002")];
    for (from, to) in elsewhere {
        finder.handle_datagram(&datagram(500, from, to, &unreadable));
    }
    assert_eq!(finder.counts().rtcp_ciphered, 0);
    // Beside the stream: on its own ports, one higher, on one side only, and back.
    let beside =
        [(ALICE, BOB), ("192.0.2.1:4001", "198.51.100.2:5001"), (BOB, "192.0.2.1:4001"), (BOB, ALICE)];
    for (from, to) in beside {
        finder.handle_datagram(&datagram(500, from, to, &unreadable));
    }
    assert_eq!((finder.counts().rtcp_ciphered, finder.counts().rtcp), (4, 0));
    // The stream may become known later.
    finder.handle_datagram(&datagram(600, "203.0.113.3:6001", "203.0.113.4:7001", &unreadable));
    assert_eq!(finder.counts().rtcp_ciphered, 4);
    talk(&mut finder, "203.0.113.3:6000", "203.0.113.4:7000", 9, 0..20);
    assert_eq!(finder.counts().rtcp_ciphered, 5);
}

#[test]
fn a_stream_that_moves_to_another_interface_stays_one() {
    let mut finder = Finder::new(Limits::default());
    for index in 0..100_u16 {
        let interface = u32::from(index >= 50);
        let packet = rtp(0, index, u32::from(index) * 160, 8);
        // Ten packets are lost during the move.
        if !(50..60).contains(&index) {
            finder.handle_datagram(&Datagram {
                interface,
                ..datagram(u64::from(index) * 20, ALICE, BOB, &packet)
            });
        }
    }
    let counts: Vec<u64> = finder.streams().iter().map(|stream| stream.packets).collect();
    assert_eq!(counts, [90]);
}

#[test]
fn other_protocols_are_not_taken_for_rtp() {
    let seed = |n: u32| n.wrapping_mul(2_654_435_761).rotate_left(7) ^ 0x9e37_79b9;
    type Make = Box<dyn Fn(u32) -> Vec<u8>>;
    let noise = move |n: u32, length: usize| -> Vec<u8> {
        (0..length).map(|i| seed(n * 131 + u32::try_from(i).unwrap()).to_be_bytes()[0]).collect()
    };
    #[rustfmt::skip]
    let cases: [(&str, Make); 9] = [
        ("DNS with every id", Box::new(|n| [&(0x8000 | n as u16).to_be_bytes()[..], b"\x01\0\0\x01\0\0\0\0\0\0\x03www\0"].concat())),
        ("WireGuard data", Box::new(move |n| [&[4, 0, 0, 0, 1, 2, 3, 4][..], &u64::from(n).to_le_bytes(), &noise(n, 60)].concat())),
        ("ESP in UDP", Box::new(move |n| [&[0x80, 0, 1, 2][..], &n.to_be_bytes(), &noise(n, 60)].concat())),
        ("OpenVPN", Box::new(move |n| [&[0x48, 0, 0, 1][..], &n.to_be_bytes(), &noise(n, 60)].concat())),
        ("QUIC", Box::new(move |n| [&[0x40 | (n as u8 & 0x3f)][..], &noise(n, 60)].concat())),
        ("noise", Box::new(move |n| noise(n, 80))),
        ("noise that begins like RTP", Box::new(move |n| [&[0x80][..], &noise(n, 80)].concat())),
        ("STUN", Box::new(move |n| [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &noise(n, 12)].concat())),
        ("the same bytes again and again", Box::new(|_| vec![0x80; 40])),
    ];
    for (name, make) in cases {
        let mut finder = Finder::new(Limits::default());
        for n in 0..2_000 {
            let packet = make(n);
            finder.handle_datagram(&datagram(u64::from(n) * 10, ALICE, BOB, &packet));
        }
        assert_eq!(finder.streams().len(), 0, "{name}");
    }
}

#[test]
fn a_payload_type_that_changes_does_not_end_the_stream() {
    let mut finder = Finder::new(Limits::default());
    for index in 0..60_u16 {
        let kind = [0, 13, 101][usize::from(index / 20)];
        finder.handle_datagram(&datagram(0, ALICE, BOB, &rtp(kind, index, u32::from(index) * 160, 7)));
    }
    let streams = finder.streams();
    assert_eq!(streams.len(), 1);
    assert_eq!(streams[0].types, BTreeMap::from([(0, 20), (13, 20), (101, 20)]));
}

#[test]
fn what_sip_agreed_on_names_the_codec_and_needs_fewer_packets() {
    let mut finder = Finder::new(Limits::default());
    let sdp = "SIP/2.0 200 OK\r\n\r\nv=0\r\nc=IN IP4 198.51.100.2\r\nm=audio 5000 RTP/SAVP 111\r\n\
        a=rtpmap:111 opus/48000/2\r\na=ptime:20\r\n";
    finder.handle_datagram(&datagram(0, "198.51.100.2:5060", "192.0.2.1:5060", sdp.as_bytes()));
    for index in 0..3_u16 {
        finder.handle_datagram(&datagram(20, ALICE, BOB, &rtp(111, index, u32::from(index) * 960, 7)));
    }
    let stream = &finder.streams()[0];
    assert_eq!((stream.packets, stream.mapping(111).unwrap().clock_rate), (3, 48_000));
    assert_eq!(
        (stream.mapping(111).unwrap().name.as_str(), stream.ptime_ms, stream.protected),
        ("opus", Some(20), Some(true))
    );
}

/// A report of `reporter` on `about`, that it got the report with `clock` and kept it for `kept_ms`.
fn report(kind: u8, reporter: u32, own_clock: u32, about: u32, clock: u32, kept_ms: u32) -> Vec<u8> {
    let mut bytes = vec![0x81, kind, 0, if kind == 200 { 12 } else { 7 }];
    bytes.extend(reporter.to_be_bytes());
    if kind == 200 {
        bytes.extend((u64::from(own_clock) << 16).to_be_bytes());
        bytes.extend([0; 12]);
    }
    bytes.extend(about.to_be_bytes());
    bytes.extend([0, 0, 0, 3, 0, 0, 0, 50, 0, 0, 0, 40]);
    bytes.extend(clock.to_be_bytes());
    bytes.extend((kept_ms * 65_536 / 1_000).to_be_bytes());
    bytes
}

#[test]
fn the_round_trip_is_the_sum_of_what_both_ends_report() {
    let mut finder = Finder::new(Limits::default());
    talk(&mut finder, ALICE, BOB, 7, 0..100);
    talk(&mut finder, BOB, ALICE, 9, 0..100);
    let (a, b) = ("192.0.2.1:4001", "198.51.100.2:5001");
    // Alice's report passes, Bob's answer comes 130 ms later; he kept it for 100 ms.
    finder.handle_datagram(&datagram(500, a, b, &report(200, 7, 0xaaaa, 9, 0, 0)));
    assert_eq!(finder.round_trip(0), None);
    finder.handle_datagram(&datagram(630, b, a, &report(200, 9, 0xbbbb, 7, 0xaaaa, 100)));
    assert_eq!(finder.round_trip(0), None, "only the way beyond is known yet");
    // Alice answers Bob 12 ms later and kept it for 2 ms.
    finder.handle_datagram(&datagram(642, a, b, &report(201, 7, 0, 9, 0xbbbb, 2)));
    let beyond = finder.round_trip_beyond(0).unwrap();
    assert!(beyond.mean.0.abs_diff(30_000) < 20, "{beyond:?}");
    let whole = finder.round_trip(0).unwrap();
    assert!(whole.mean.0.abs_diff(40_000) < 40 && whole.count == 1, "{whole:?}");
    assert_eq!(finder.round_trip(1), Some(whole));
    assert_eq!(finder.streams()[0].other, Some(Other { lost: 3, highest: 50, jitter: 40, reports: 1 }));
    // An answer to a report that nobody sent, or from before it.
    finder.handle_datagram(&datagram(700, b, a, &report(201, 9, 0, 7, 0x1234, 2)));
    finder.handle_datagram(&datagram(700, b, a, &report(201, 9, 0, 7, 0xaaaa, 5_000)));
    assert_eq!(finder.round_trip_beyond(0).unwrap().count, 1);
    assert_eq!(RoundTrip::with(Some(beyond), Micros(50_000)).most, Micros(50_000));
}

#[test]
fn remembers_no_more_than_its_limits() {
    let mut finder = Finder::new(Limits { streams_max: 2, candidates_max: 10 });
    for ssrc in 0..5 {
        talk(&mut finder, ALICE, BOB, ssrc, 0..10);
    }
    assert_eq!((finder.streams().len(), finder.counts().too_many > 0), (2, true));
    for ssrc in 100..1_000 {
        talk(&mut finder, ALICE, BOB, ssrc, 0..2);
    }
    assert!(finder.candidates.len() <= 11, "{}", finder.candidates.len());
}

#[test]
fn packets_without_a_time_are_counted_and_said() {
    let mut finder = Finder::new(Limits::default());
    for index in 0..10 {
        finder.handle_datagram(&Datagram { at: None, ..datagram(0, ALICE, BOB, &rtp(0, index, 0, 7)) });
    }
    assert_eq!((finder.streams().len(), finder.counts().untimed), (0, 10));
}

proptest! {
    #[test]
    fn no_datagrams_are_a_panic(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..40)) {
        let mut finder = Finder::new(Limits { streams_max: 3, candidates_max: 5 });
        for (index, packet) in packets.iter().enumerate() {
            let mut packet = packet.clone();
            if let Some(first) = packet.first_mut() {
                *first = 0x80 | (*first & 0x3f);
            }
            finder.handle_datagram(&datagram(index as u64, ALICE, BOB, &packet));
        }
        let handed = drain(&mut finder).len() as u64;
        prop_assert_eq!(handed, finder.streams().iter().map(|stream| stream.packets).sum::<u64>());
    }
}
