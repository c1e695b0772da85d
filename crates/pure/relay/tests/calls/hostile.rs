use crate::stage::*;
use guestright_relay::{Call, Channel, Limits, Protection, Refusal, RelayError, Side, SideSettings, Sources};
use guestright_units::Time;
use proptest::prelude::*;

fn voice_packet(sequence: u16) -> Vec<u8> {
    rtp(0, sequence, &[1; 160])
}

#[test]
fn no_changed_byte_gets_from_outside_into_the_tunnel() {
    let (_, genuine) = give(&mut outward(), A, MEMBER, &voice_packet(1), 0).unwrap();
    let mut far = inward();
    for index in 0..genuine.len() {
        for bit in 0..8 {
            let mut forged = genuine.clone();
            forged[index] ^= 1 << bit;
            let given = give(&mut far, A, HOME, &forged, (index * 8 + bit) as u64 * 20);
            assert!(given.is_err(), "byte {index}, bit {bit}");
        }
    }
    for length in 0..genuine.len() {
        assert!(give(&mut far, A, HOME, &genuine[..length], 60_000 + length as u64 * 20).is_err());
    }
    assert_eq!(far.statistics().a.passed, 0);
    assert_eq!(far.poll_event(), None, "and nobody is said to have been heard");
    give(&mut far, A, HOME, &genuine, 100_000).unwrap();
    assert_eq!(give(&mut far, A, HOME, &genuine, 100_000), Err(Refusal::Replayed));
}

#[test]
fn plain_packets_and_key_agreements_do_not_pass_where_srtp_was_agreed_on() {
    let mut far = inward();
    #[rustfmt::skip]
    let cases = [
        (voice_packet(1),                    Refusal::Unauthenticated),
        (rtcp(1),                    Refusal::Malformed),
        (rtp(0, 1, &[]),             Refusal::Malformed),
        (vec![8; 40],                Refusal::Malformed),
        (vec![22; 40],               Refusal::Malformed),
        (vec![0xff; 40],             Refusal::Malformed),
        (vec![0; 40],                Refusal::Stun),
        (vec![],                     Refusal::KeepAlive),
        (vec![0x80; 1_501],          Refusal::Oversized),
    ];
    for (datagram, want) in cases {
        assert_eq!(give(&mut far, A, HOME, &datagram, 0), Err(want), "{datagram:?}");
    }
}

#[test]
fn a_side_has_a_rate_and_strangers_do_not_use_it_up() {
    let mut near = outward();
    // A program of the member's that has gone mad, for two seconds.
    let passed = (0..4_000)
        .filter(|index| give(&mut near, A, MEMBER, &voice_packet(*index), u64::from(*index) / 2).is_ok());
    let passed = passed.count();
    assert!((1_200..=1_300).contains(&passed), "{passed}");
    // Strangers, in a flood, while the other home talks.
    let b = SideSettings { sources: Sources::Proven, ..home(HOME, keys(2, 1)) };
    let mut far = Call::new(Limits::default(), b, member(), Time(0)).unwrap();
    let mut near = outward();
    let mut received = 0;
    for millis in 0..2_000_u64 {
        for port in 0..20_u64 {
            let stranger = format!("203.0.113.66:{}", 10_000 + port);
            give(&mut far, A, &stranger, &[0x80; 180], millis).unwrap_err();
        }
        if millis % 20 == 0 {
            let (_, between) =
                give(&mut near, A, MEMBER, &voice_packet(u16::try_from(millis / 20).unwrap()), millis)
                    .unwrap();
            received += u32::from(give(&mut far, A, HOME, &between, millis).is_ok());
        }
    }
    assert_eq!(received, 100);
    let refused = far.statistics().a;
    assert!(refused.refused(Refusal::Unauthenticated) < 300, "{refused:?}");
}

#[test]
fn streams_are_limited() {
    let mut near = outward();
    let given: Vec<_> =
        (0..40_u32).map(|ssrc| give(&mut near, A, MEMBER, &rtp_of(ssrc, 0, 1, &[1; 160]), 0)).collect();
    assert_eq!(given.iter().filter(|given| given.is_ok()).count(), 32);
    assert_eq!(given[39], Err(Refusal::TooManyStreams));
    let reports: Vec<_> = (0..40_u32).map(|ssrc| give(&mut near, A, MEMBER, &rtcp(ssrc), 0)).collect();
    assert_eq!(reports.iter().filter(|given| given.is_ok()).count(), 32);
    // The first ones go on.
    give(&mut near, A, MEMBER, &rtp_of(0, 0, 2, &[1; 160]), 0).unwrap();
}

#[test]
fn senseless_calls_are_refused() {
    let opaque = SideSettings { protection: Protection::Opaque, ..member() };
    let srtp = || home(OTHER_HOME, keys(1, 2));
    #[rustfmt::skip]
    let cases = [
        (opaque.clone(), srtp(), RelayError::HalfOpaque { side: Side::A }),
        (member(), opaque.clone(), RelayError::HalfOpaque { side: Side::B }),
        (SideSettings { sources: Sources::Proven, ..member() }, srtp(), RelayError::UnprovenSources { side: Side::A }),
        (opaque.clone(), SideSettings { sources: Sources::Proven, ..opaque.clone() },
            RelayError::UnprovenSources { side: Side::B }),
        (member(), home(OTHER_HOME, keys(1, 1)), RelayError::OneKey { side: Side::B }),
        (SideSettings { media: Some(at("10.80.0.2:0")), ..member() }, srtp(),
            RelayError::Destination { side: Side::A, address: at("10.80.0.2:0") }),
        (SideSettings { control: Some(at("224.0.0.1:9")), ..member() }, srtp(),
            RelayError::Destination { side: Side::A, address: at("224.0.0.1:9") }),
        (SideSettings { media: Some(at("[::ffff:0.0.0.0]:9")), ..member() }, srtp(),
            RelayError::Destination { side: Side::A, address: at("[::ffff:0.0.0.0]:9") }),
    ];
    for (a, b, want) in cases {
        assert_eq!(Call::new(Limits::default(), a, b, Time(0)).unwrap_err(), want);
    }
    Call::new(Limits::default(), opaque.clone(), SideSettings::closed(), Time(0)).unwrap();
    let mut call = outward();
    assert_eq!(call.update(Side::B, opaque, Time(0)), Err(RelayError::HalfOpaque { side: Side::B }));
}

fn anything() -> impl Strategy<Value = Vec<u8>> {
    let headed = (128_u8..192, any::<u8>(), proptest::collection::vec(any::<u8>(), 0..300))
        .prop_map(|(first, second, rest)| [vec![first, second], rest].concat());
    prop_oneof![headed, proptest::collection::vec(any::<u8>(), 0..64)]
}

proptest! {
    /// Whatever comes from whomever: nothing that nobody protected gets in, and what goes out goes to the two.
    #[test]
    fn nothing_but_the_two_takes_part(
        datagrams in proptest::collection::vec((any::<bool>(), any::<bool>(), 0..4_usize, anything()), 1..100),
    ) {
        let mut call = outward();
        let who = [MEMBER, OTHER_HOME, STRANGER, "10.80.0.2:4001"];
        for (index, (a, control, from, datagram)) in datagrams.into_iter().enumerate() {
            let side = if a { Side::A } else { Side::B };
            let channel = if control { Channel::Control } else { Channel::Media };
            let given = give(&mut call, (side, channel), who[from], &datagram, index as u64 * 20);
            if let Ok((forward, sent)) = given {
                prop_assert_eq!(side, Side::A);
                prop_assert_eq!(forward.to, at(OTHER_HOME));
                prop_assert!(!forward.unchanged && sent.len() > datagram.len());
            }
        }
    }
}
