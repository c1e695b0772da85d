//! What has to hold for every payload, and everything that a packet can be instead of a good one.

use guestright_tunnel::esp::{
    DropKind, InboundSa, Keys, Lifetime, LifetimeEvent, OpenError, OutboundSa, ReplayError, SaParameters,
    SealError, Suite,
};
use proptest::prelude::*;
use zeroize::Zeroizing;

use crate::support::{SPI, keys, parameters};

const SEED: [u8; 32] = [9; 32];

fn outbound(parameters: &SaParameters, first: u64) -> OutboundSa {
    OutboundSa::new(parameters, first, &Zeroizing::new(SEED))
}

fn sealed(sa: &mut OutboundSa, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; payload.len() + 100];
    let length = sa.seal(4, payload, &mut out).expect("there is room");
    out.truncate(length);
    out
}

fn kind(opened: Result<impl Sized, OpenError>) -> Option<DropKind> {
    opened.err().map(OpenError::kind)
}

proptest! {
    #[test]
    fn what_is_sealed_is_opened(
        suite in prop::sample::select(&Suite::ALL),
        extended: bool,
        first in prop_oneof![1_u64..10_000, (u64::from(u32::MAX) - 500)..=u64::from(u32::MAX) - 100],
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..10),
        next_header in (0_u8..=255).prop_filter("not a dummy", |next| *next != 59),
    ) {
        let parameters = parameters(&keys(suite), extended);
        let mut sender = outbound(&parameters, first);
        let mut in_place = outbound(&parameters, first);
        let mut receiver = InboundSa::new(&parameters, 64);
        for (sequence, payload) in (first..).zip(&payloads) {
            let mut packet = vec![0xee; 500];
            let length = sender.seal(next_header, payload, &mut packet).unwrap();
            prop_assert_eq!(length, suite.packet_len(payload.len()));
            prop_assert!(packet[length..].iter().all(|byte| *byte == 0xee), "wrote beyond the packet");
            let mut other = vec![0; 500];
            let start = in_place.payload_offset();
            other[start..start + payload.len()].copy_from_slice(payload);
            prop_assert_eq!(in_place.seal_in_place(next_header, payload.len(), &mut other), Ok(length));
            prop_assert_eq!(&packet[..length], &other[..length]);
            let opened = receiver.open(&mut packet[..length]).unwrap();
            prop_assert_eq!((opened.next_header, opened.sequence), (next_header, sequence));
            prop_assert_eq!(&packet[opened.payload], &payload[..]);
        }
    }

    #[test]
    fn no_bytes_are_opened_that_nobody_sealed(
        suite in prop::sample::select(&Suite::ALL),
        extended: bool,
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        with_spi: bool,
    ) {
        let mut receiver = InboundSa::new(&parameters(&keys(suite), extended), 64);
        let mut packet = bytes;
        if with_spi && packet.len() >= 4 {
            packet[..4].copy_from_slice(&SPI.to_be_bytes());
        }
        prop_assert!(receiver.open(&mut packet).is_err());
        prop_assert_eq!(receiver.highest_sequence(), 0);
    }

    #[test]
    fn reordered_and_repeated_packets_arrive_once(
        suite in prop::sample::select(&Suite::ALL),
        extended: bool,
        order in prop::collection::vec(0_usize..100, 1..300),
        first in prop_oneof![Just(1_u64), Just(1_000_000)],
    ) {
        let parameters = parameters(&keys(suite), extended);
        let mut sender = outbound(&parameters, first);
        let packets: Vec<_> = (0..100_u8).map(|number| sealed(&mut sender, &[number])).collect();
        let mut receiver = InboundSa::new(&parameters, 128);
        let mut seen = [false; 100];
        for number in order {
            let opened = receiver.open(&mut packets[number].clone());
            let was_seen = std::mem::replace(&mut seen[number], true);
            prop_assert_eq!(kind(opened), was_seen.then_some(DropKind::Replayed));
        }
    }
}

#[test]
fn a_stream_goes_on_where_the_lower_half_wraps() {
    for suite in Suite::ALL {
        let parameters = parameters(&keys(suite), true);
        // Whoever comes in later than a window before the wrap cannot know it (RFC 4303, appendix A2.2).
        let first = u64::from(u32::MAX) - 1_100;
        let mut sender = outbound(&parameters, first);
        let mut receiver = InboundSa::new(&parameters, 1024);
        let packets: Vec<_> = (0..1_200).map(|_| sealed(&mut sender, &[1])).collect();
        for (sequence, packet) in (first..).zip(&packets) {
            assert_eq!(receiver.open(&mut packet.clone()).map(|opened| opened.sequence), Ok(sequence));
        }
        for packet in &packets[200..] {
            assert_eq!(kind(receiver.open(&mut packet.clone())), Some(DropKind::Replayed));
        }
    }
}

#[test]
fn every_changed_bit_is_found() {
    for suite in Suite::ALL {
        for extended in [false, true] {
            let parameters = parameters(&keys(suite), extended);
            let packet = sealed(&mut outbound(&parameters, 5), b"a payload that somebody changes");
            let mut receiver = InboundSa::new(&parameters, 64);
            for at in 0..packet.len() * 8 {
                let mut packet = packet.clone();
                packet[at / 8] ^= 1 << (at % 8);
                let want = if at < 32 { DropKind::WrongSpi } else { DropKind::WrongIcv };
                assert_eq!(kind(receiver.open(&mut packet)), Some(want), "{suite}, bit {at}");
            }
            assert_eq!(receiver.highest_sequence(), 0, "nothing forged may move the window");
            assert!(receiver.open(&mut packet.clone()).is_ok());
        }
    }
}

#[test]
fn every_cut_and_every_surplus_is_found() {
    for suite in Suite::ALL {
        let parameters = parameters(&keys(suite), false);
        let packet = sealed(&mut outbound(&parameters, 5), &[3; 100]);
        let mut receiver = InboundSa::new(&parameters, 64);
        for length in 0..packet.len() {
            let got = kind(receiver.open(&mut packet[..length].to_vec())).expect("it was cut");
            let wants = match length {
                _ if length < suite.packet_len(0) => [DropKind::Truncated; 2],
                _ => [DropKind::Misaligned, DropKind::WrongIcv],
            };
            assert!(wants.contains(&got), "{suite}, {length}: {got:?}");
        }
        for more in 1..40 {
            let longer = [packet.clone(), vec![0; more]].concat();
            assert!(receiver.open(&mut longer.clone()).is_err(), "{suite}, {more} more");
        }
        assert!(receiver.open(&mut packet.clone()).is_ok());
    }
}

#[test]
fn the_wrong_key_opens_nothing() {
    for suite in Suite::ALL {
        let right = keys(suite);
        let packet = sealed(&mut outbound(&parameters(&right, false), 5), b"a secret");
        // The key that authenticates: of its own, or the one key there is, or the salt.
        let (mut encryption, mut authentication) =
            (right.encryption().to_vec(), right.authentication().to_vec());
        let key = if authentication.is_empty() { &mut encryption } else { &mut authentication };
        for at in 0..key.len() {
            let mut changed = key.clone();
            changed[at] ^= 2;
            let other = if right.authentication().is_empty() {
                Keys::new(suite, &changed, &[])
            } else {
                Keys::new(suite, right.encryption(), &changed)
            };
            let mut receiver = InboundSa::new(&parameters(&other.unwrap(), false), 64);
            assert_eq!(
                kind(receiver.open(&mut packet.clone())),
                Some(DropKind::WrongIcv),
                "{suite}, byte {at}"
            );
        }
    }
}

#[test]
fn sizes_have_limits() {
    for suite in Suite::ALL {
        let limit = 600;
        let parameters = SaParameters { packet_len_max: limit, ..parameters(&keys(suite), false) };
        let mut sender = outbound(&parameters, 1);
        let most = suite.payload_len_max(limit).unwrap();
        let mut out = vec![0; 1_000];
        assert!(sender.seal(4, &vec![0; most], &mut out).is_ok());
        let too_long = sender.seal(4, &vec![0; most + 1], &mut out);
        assert!(matches!(too_long, Err(SealError::Oversized { limit: 600, .. })));
        assert!(matches!(sender.seal(4, &[0; 100_000], &mut out), Err(SealError::Oversized { .. })));
        assert_eq!(
            sender.seal(4, &[], &mut [0; 8]),
            Err(SealError::Room { got: 8, want: suite.packet_len(0) })
        );
        assert_eq!(sender.next_sequence(), Some(2), "what was not sealed used no number");
        let mut receiver = InboundSa::new(&parameters, 64);
        assert_eq!(kind(receiver.open(&mut [0; 601])), Some(DropKind::Oversized));
    }
}

#[test]
fn no_number_is_used_twice() {
    for (extended, last) in [(false, u64::from(u32::MAX)), (true, u64::MAX)] {
        let parameters = parameters(&keys(Suite::Aes128Gcm), extended);
        let mut sender = outbound(&parameters, last - 1);
        sealed(&mut sender, &[1]);
        let packet = sealed(&mut sender, &[2]);
        assert_eq!(packet[4..8], [0xff; 4]);
        assert_eq!(sender.seal(4, &[3], &mut [0; 100]), Err(SealError::SequencesUsedUp));
        assert_eq!(sender.next_sequence(), None);
        assert_eq!(outbound(&parameters, 0).next_sequence(), Some(1), "0 is never sent");
    }
    let parameters = parameters(&keys(Suite::Aes128Gcm), false);
    let mut beyond = outbound(&parameters, u64::from(u32::MAX) + 1);
    assert_eq!(beyond.seal(4, &[3], &mut [0; 100]), Err(SealError::SequencesUsedUp));
}

#[test]
fn vectors_do_not_repeat_and_do_not_count_in_cbc() {
    for suite in Suite::ALL {
        let mut sender = outbound(&parameters(&keys(suite), false), 1);
        let vectors: Vec<_> =
            (0..500).map(|_| sealed(&mut sender, &[0; 40])[8..8 + suite.iv_len()].to_vec()).collect();
        let distinct: std::collections::BTreeSet<_> = vectors.iter().collect();
        assert_eq!(distinct.len(), vectors.len());
        let is_counter = vectors[1].ends_with(&[0, 2]) && vectors[2].ends_with(&[0, 3]);
        assert_eq!(is_counter, !suite.is_legacy(), "{suite}");
        let mut other = OutboundSa::new(&parameters(&keys(suite), false), 1, &Zeroizing::new([8; 32]));
        let other = sealed(&mut other, &[0; 40])[8..8 + suite.iv_len()].to_vec();
        assert_eq!(other == vectors[0], !suite.is_legacy(), "another seed gives other vectors in CBC");
    }
}

#[test]
fn dummies_and_lifetimes() {
    let lifetime = Lifetime {
        packets_soft: Some(2),
        packets_hard: Some(4),
        bytes_soft: Some(1_000),
        bytes_hard: Some(2_000),
    };
    for suite in Suite::ALL {
        let parameters = SaParameters { lifetime, ..parameters(&keys(suite), false) };
        let mut sender = outbound(&parameters, 1);
        let mut receiver = InboundSa::new(&parameters, 64);
        assert_eq!(sender.poll_event(), None);
        for number in 1..=4 {
            let mut out = [0; 200];
            let next_header = if number == 1 { 59 } else { 4 };
            let length = sender.seal(next_header, &[0; 50], &mut out).unwrap();
            let opened = receiver.open(&mut out[..length]);
            assert_eq!(kind(opened), (number == 1).then_some(DropKind::Dummy), "{suite}");
            let want = match number {
                2 => Some(LifetimeEvent::SoftReached),
                4 => Some(LifetimeEvent::HardReached),
                _ => None,
            };
            assert_eq!((sender.poll_event(), receiver.poll_event()), (want, want));
            assert_eq!((sender.poll_event(), receiver.poll_event()), (None, None));
        }
        assert_eq!(sender.seal(4, &[0; 50], &mut [0; 200]), Err(SealError::Expired));
        let unlimited = SaParameters { lifetime: Lifetime::default(), ..parameters.clone() };
        let packet = sealed(&mut outbound(&unlimited, 9), &[0; 50]);
        assert_eq!(receiver.open(&mut packet.clone()), Err(OpenError::Expired));
        assert_eq!((sender.usage().packets, sender.usage().bytes), (4, 200));
        let mut fresh = outbound(&parameters, 1);
        assert!(fresh.seal(4, &[0; 1_990], &mut [0; 2_200]).is_ok());
        assert_eq!(fresh.poll_event(), Some(LifetimeEvent::SoftReached));
        assert_eq!(fresh.seal(4, &[0; 11], &mut [0; 2_200]), Err(SealError::Expired));
    }
}

#[test]
fn the_errors_say_what_was_wrong() {
    let parameters = parameters(&keys(Suite::Aes128Gcm), false);
    let mut receiver = InboundSa::new(&parameters, 64);
    let packet = sealed(&mut outbound(&parameters, 100), &[1]);
    receiver.open(&mut packet.clone()).unwrap();
    assert_eq!(receiver.open(&mut packet.clone()), Err(ReplayError::Replayed(100).into()));
    let old = sealed(&mut outbound(&parameters, 36), &[1]);
    assert_eq!(receiver.open(&mut old.clone()), Err(ReplayError::TooOld(36).into()));
    let last_in_window = sealed(&mut outbound(&parameters, 37), &[1]);
    assert!(receiver.open(&mut last_in_window.clone()).is_ok());
    let mut wrong = packet.clone();
    wrong[3] = 9;
    let want = OpenError::WrongSpi { got: 0xcafe_0009, want: SPI };
    assert_eq!(receiver.open(&mut wrong), Err(want));
    assert_eq!(want.to_string(), "a packet for association 0xcafe0009, this is 0xcafe0001");
}
