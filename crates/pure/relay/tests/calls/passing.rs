use crate::stage::*;
use guestright_relay::{Call, Channel, Event, Limits, Protection, Refusal, Side, SideSettings, Sources};
use guestright_units::{Micros, Time};
use guestright_voice::srtp::Profile;

#[test]
fn voice_comes_through_two_homes_as_it_was_and_is_hidden_between_them() {
    let (mut near, mut far) = (outward(), inward());
    for sequence in 0..200_u16 {
        let packet = rtp(0, sequence, &[sequence.to_be_bytes()[1]; 160]);
        let (forward, between) = give(&mut near, A, MEMBER, &packet, 20 * u64::from(sequence)).unwrap();
        assert_eq!((forward.side, forward.channel, forward.to), (Side::B, Channel::Media, at(OTHER_HOME)));
        assert_eq!(between.len(), packet.len() + 16);
        assert!(!between.windows(8).any(|part| part == &packet[12..20]));
        let (forward, received) = give(&mut far, A, HOME, &between, 20 * u64::from(sequence)).unwrap();
        assert_eq!((forward.side, forward.to), (Side::B, at(MEMBER)));
        assert_eq!(received, packet);
    }
    let (near, far) = (near.statistics().a, far.statistics().a);
    assert_eq!((near.rtp, near.rtp_expected, near.rtp_lost()), (200, 200, 0));
    assert_eq!((far.rtp, far.passed, far.refused_in_all()), (200, 200, 0));
    assert_eq!(near.jitter, Micros(0));
}

#[test]
fn every_profile_carries_media_and_reports_both_ways() {
    for profile in Profile::ALL {
        let keys = |incoming, outgoing| guestright_relay::SrtpKeys {
            incoming: key_of(profile, incoming),
            outgoing: key_of(profile, outgoing),
        };
        let limits = Limits::default();
        let mut near = Call::new(limits, member(), home(OTHER_HOME, keys(1, 2)), Time(0)).unwrap();
        let mut far = Call::new(limits, home(HOME, keys(2, 1)), member(), Time(0)).unwrap();
        for (datagram, channel) in [(rtp(0, 7, b"sound"), A), (rtcp(9), A_CONTROL)] {
            let (_, between) = give(&mut near, channel, MEMBER_OF[channel.1 as usize], &datagram, 0).unwrap();
            assert_eq!(give(&mut far, A, HOME, &between, 0).unwrap().1, datagram, "{profile}");
        }
        for (datagram, channel) in [(rtp(0, 7, b"sound"), B), (rtcp(9), B_CONTROL)] {
            let (_, between) = give(&mut far, channel, MEMBER_OF[channel.1 as usize], &datagram, 0).unwrap();
            assert_eq!(give(&mut near, B, OTHER_HOME, &between, 0).unwrap().1, datagram, "{profile}");
        }
    }
}

/// The member's two ports.
const MEMBER_OF: [&str; 2] = [MEMBER, "10.80.0.2:4001"];

#[test]
fn between_two_keys_a_packet_is_opened_and_protected_again() {
    let softphone = SideSettings { protection: Protection::Srtp(keys(7, 8)), ..member() };
    let mut near = Call::new(Limits::default(), softphone, home(OTHER_HOME, keys(1, 2)), Time(0)).unwrap();
    let mut phone = guestright_voice::srtp::Protect::new(&key(7));
    let (mut protected, packet) = (Vec::new(), rtp(0, 1, b"hello hello hello"));
    phone.rtp(&packet, &mut protected).unwrap();
    let (_, between) = give(&mut near, A, MEMBER, &protected, 0).unwrap();
    assert_ne!(between, protected);
    assert_eq!(give(&mut inward(), A, HOME, &between, 0).unwrap().1, packet);
}

#[test]
fn reports_change_ports_where_one_side_has_two_and_the_other_one() {
    let (mut near, mut far) = (outward(), inward());
    let report = rtcp(5);
    let (forward, between) = give(&mut near, A_CONTROL, "10.80.0.2:4001", &report, 0).unwrap();
    assert_eq!((forward.channel, forward.to), (Channel::Media, at(OTHER_HOME)));
    let (forward, received) = give(&mut far, A, HOME, &between, 0).unwrap();
    assert_eq!((forward.channel, forward.to), (Channel::Control, at("10.80.0.2:4001")));
    assert_eq!(received, report);
    // Also if the softphone sends them on the wrong port.
    let (forward, _) = give(&mut near, A, MEMBER, &rtcp(5), 0).unwrap();
    assert_eq!((forward.channel, forward.to), (Channel::Media, at(OTHER_HOME)));
}

#[test]
fn a_signalled_control_port_is_used() {
    let near = SideSettings { control: Some(at("10.80.0.2:5555")), ..member() };
    let mut far = Call::new(Limits::default(), home(HOME, keys(2, 1)), near, Time(0)).unwrap();
    let (_, between) = give(&mut outward(), A, MEMBER, &rtcp(5), 0).unwrap();
    let (forward, _) = give(&mut far, A, HOME, &between, 0).unwrap();
    assert_eq!((forward.channel, forward.to), (Channel::Control, at("10.80.0.2:5555")));
}

#[test]
fn digits_noise_and_unknown_types_pass() {
    let (mut near, mut far) = (outward(), inward());
    // Comfort noise, a dialled digit (RFC 4733) with the marker, an unknown type with an extension and contributors.
    let mut extended = vec![0x92, 99, 0, 3];
    extended.extend_from_slice(&[0; 8]);
    extended.extend_from_slice(&[1; 8]);
    extended.extend_from_slice(&[0xbe, 0xde, 0, 1, 9, 9, 9, 9, 42]);
    for packet in [rtp(13, 1, &[60]), rtp(101 | 0x80, 2, &[5, 0x8a, 0, 160]), extended] {
        let (_, between) = give(&mut near, A, MEMBER, &packet, 0).unwrap();
        assert_eq!(give(&mut far, A, HOME, &between, 0).unwrap().1, packet);
    }
}

#[test]
fn what_the_members_protect_themselves_passes_untouched() {
    let opaque = |address| SideSettings {
        protection: Protection::Opaque,
        mux: true,
        media: Some(at(address)),
        ..member()
    };
    let b = SideSettings { sources: Sources::Signalled, ..opaque(OTHER_HOME) };
    let mut call = Call::new(Limits::default(), opaque(MEMBER), b, Time(0)).unwrap();
    let agreement = [8_u8, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    for datagram in [&agreement[..], &rtp(0, 1, &[9; 176]), &rtcp(7), &[22, 254, 253, 0, 0, 0]] {
        for (leg, from, to) in [(A, MEMBER, OTHER_HOME), (B, OTHER_HOME, MEMBER)] {
            let (forward, sent) = give(&mut call, leg, from, datagram, 0).unwrap();
            assert_eq!((forward.to, forward.unchanged, &sent[..]), (at(to), true, datagram));
        }
    }
    let refused =
        [(vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42], Refusal::Stun), (b"\r\n".to_vec(), Refusal::KeepAlive)];
    for (datagram, want) in refused {
        assert_eq!(give(&mut call, B, OTHER_HOME, &datagram, 0), Err(want));
    }
    let carried = call.statistics().b;
    assert_eq!((carried.passed, carried.rtp, carried.rtcp), (4, 1, 1));
    assert_eq!((carried.refused(Refusal::Stun), carried.refused(Refusal::KeepAlive)), (1, 1));
}

#[test]
fn loss_and_jitter_are_seen_by_the_headers() {
    let mut near = outward();
    for sequence in (0..1_000_u16).filter(|sequence| sequence % 10 != 3) {
        let late = u64::from(sequence % 2) * 4;
        give(&mut near, A, MEMBER, &rtp(0, sequence, &[0; 160]), 20 * u64::from(sequence) + late).unwrap();
    }
    let carried = near.statistics().a;
    assert_eq!((carried.rtp, carried.rtp_lost()), (900, 100));
    assert!((3_000..5_000).contains(&carried.jitter.0), "{:?}", carried.jitter);
}

#[test]
fn silence_is_told_once_and_so_is_its_end() {
    let mut near = outward();
    let voice_packet = |sequence| rtp(0, sequence, &[0; 160]);
    give(&mut near, A, MEMBER, &voice_packet(1), 0).unwrap();
    assert_eq!(near.poll_event(), Some(Event::Active { side: Side::A }));
    assert_eq!(near.poll_event(), None);
    near.handle_timeout(Time(59_000_000));
    assert_eq!(near.poll_event(), None);
    near.handle_timeout(Time(60_000_000));
    near.handle_timeout(Time(61_000_000));
    let events: Vec<_> = std::iter::from_fn(|| near.poll_event()).collect();
    assert_eq!(events, [Event::Silent { side: Side::A }, Event::Silent { side: Side::B }]);
    give(&mut near, A, MEMBER, &voice_packet(2), 70_000).unwrap();
    assert_eq!(near.poll_event(), Some(Event::Active { side: Side::A }));
    assert!(near.poll_timeout() > Time(61_000_000));
}

#[test]
fn nothing_is_allocated_for_a_packet() {
    let (mut near, mut far) = (outward(), inward());
    let (mut between, mut received) = (Vec::new(), Vec::new());
    let mut carry = |sequence: u16| {
        let packet = rtp(0, sequence, &[1; 160]);
        let now = Time(20_000 * u64::from(sequence));
        let before = allocation_counter::measure(|| {
            near.handle_datagram(Side::A, Channel::Media, at(MEMBER), &packet, &mut between, now).unwrap();
            far.handle_datagram(Side::A, Channel::Media, at(HOME), &between, &mut received, now).unwrap();
        });
        assert_eq!(received, packet);
        before.count_total
    };
    carry(1);
    let allocated: u64 = (2..200).map(carry).sum();
    assert_eq!(allocated, 0);
}
