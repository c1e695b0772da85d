//! Packets that no phone sends.

use crate::phone::{Phone, TLS12, TLS13};
use crate::world::{Household, Talk, Way};
use guestright_eap::{Dropped, Fragment, FragmentError, Limits, Method, Outcome, Packet, Reason};
use proptest::prelude::*;

fn tls(identifier: u8, fragment: Fragment<'_>) -> Vec<u8> {
    Packet::Response { identifier, method: Method::Tls(fragment) }.emit()
}

fn piece(more: bool, total: Option<u32>, bytes: &[u8]) -> Fragment<'_> {
    Fragment { start: false, more, total, bytes }
}

/// A conversation in which the phone is asked to begin, and the identifier of that request.
fn started(household: &mut Household, limits: Limits) -> (Talk, Vec<u8>) {
    let (_, own) = household.phone();
    let phone = Phone::new(&TLS13, household.authority.certificate(), Some(&own));
    let mut talk = Talk::new(&household.config_with(limits), None, phone);
    talk.server.handle(&talk.phone.identify(), talk.now).unwrap();
    let request = talk.server.poll_transmit().unwrap();
    (talk, request)
}

#[test]
fn what_is_out_of_turn_is_dropped_and_changes_nothing() {
    let mut household = Household::new(1);
    let (mut talk, mut request) = started(&mut household, Limits::default());
    let mut rounds = 0;
    loop {
        let open = request[1];
        let hostile = [
            vec![],
            vec![0; 40],
            Packet::Request { identifier: open, method: Method::Identity(b"") }.emit(),
            Packet::Success { identifier: open }.emit(),
            Packet::Response { identifier: open, method: Method::Identity(b"me") }.emit(),
            Packet::Response { identifier: open, method: Method::Notification(b"") }.emit(),
            Packet::Response { identifier: open, method: Method::Other { method: 25, content: b"peap" } }
                .emit(),
            tls(open.wrapping_add(1), piece(false, None, b"later")),
            tls(open.wrapping_sub(1), piece(false, None, b"earlier")),
            tls(open, piece(true, Some(u32::MAX), b"long")),
            tls(open, piece(true, Some(65_536), b"long")),
            tls(open, piece(true, None, b"endless")),
            tls(open, piece(true, Some(9), b"")),
            tls(open, Fragment::START),
        ];
        // When a piece or a last word is on its way, bytes in answer to it are dropped or end it.
        for packet in if talk.phone.received.is_empty() { &hostile[..] } else { &hostile[..9] } {
            assert!(talk.server.handle(packet, talk.now).is_err(), "{packet:?}");
            assert_eq!((talk.server.poll_transmit(), talk.server.outcome()), (None, None));
        }
        if rounds > 0 {
            let nak = Packet::Response { identifier: open, method: Method::Nak(&[25]) }.emit();
            assert_eq!(talk.server.handle(&nak, talk.now), Err(Dropped::OutOfTurn));
        }
        let Some(response) = talk.phone.handle(&request) else { break };
        talk.server.handle(&response, talk.now).unwrap();
        request = talk.server.poll_transmit().unwrap();
        rounds += 1;
        if talk.server.outcome().is_some() {
            break;
        }
    }
    assert!(matches!(talk.server.outcome(), Some(Outcome::Accepted { .. })));
}

#[test]
fn an_acknowledgement_of_nothing_is_dropped() {
    let (mut talk, request) = started(&mut Household::new(1), Limits::default());
    let empty = tls(request[1], Fragment::ACKNOWLEDGEMENT);
    assert_eq!(talk.server.handle(&empty, talk.now), Err(Dropped::OutOfTurn));
}

#[test]
fn endless_pieces_come_to_an_end() {
    let limits = Limits { rounds_max: 20, ..Limits::default() };
    let (mut talk, mut request) = started(&mut Household::new(1), limits);
    let mut rounds = 0;
    while talk.server.outcome().is_none() {
        let packet = tls(request[1], piece(true, (rounds == 0).then_some(60_000), b"x"));
        talk.server.handle(&packet, talk.now).unwrap();
        request = talk.server.poll_transmit().unwrap();
        rounds += 1;
    }
    assert_eq!((rounds, talk.reason()), (21, Some(&Reason::TooLong)));
    assert_eq!(Packet::parse(&request), Ok(Packet::Failure { identifier: request[1] }));
}

#[test]
fn many_bytes_come_to_an_end() {
    let limits = Limits { bytes_max: 10_000, ..Limits::default() };
    let (mut talk, mut request) = started(&mut Household::new(1), limits);
    let mut rounds = 0;
    while talk.server.outcome().is_none() {
        let packet = tls(request[1], piece(true, (rounds == 0).then_some(60_000), &[7; 1_000]));
        talk.server.handle(&packet, talk.now).unwrap();
        request = talk.server.poll_transmit().unwrap();
        rounds += 1;
    }
    assert_eq!((rounds, talk.reason()), (11, Some(&Reason::TooLong)));
}

#[test]
fn a_message_that_grows_beyond_its_length_is_dropped() {
    let (mut talk, request) = started(&mut Household::new(1), Limits::default());
    talk.server.handle(&tls(request[1], piece(true, Some(4), b"ab")), talk.now).unwrap();
    let request = talk.server.poll_transmit().unwrap();
    let error = Err(Dropped::Fragment(FragmentError::Total { got: 5, want: 4 }));
    assert_eq!(talk.server.handle(&tls(request[1], piece(false, None, b"cde")), talk.now), error);
}

#[test]
fn the_same_response_is_answered_so_often_and_no_more() {
    let (mut talk, _) = started(&mut Household::new(1), Limits { repeats_max: 3, ..Limits::default() });
    let identity = talk.phone.identify();
    for _ in 0..3 {
        talk.server.handle(&identity, talk.now).unwrap();
        assert!(talk.server.poll_transmit().is_some());
    }
    assert_eq!(talk.server.handle(&identity, talk.now), Err(Dropped::Repeated));
}

#[test]
fn a_conversation_that_was_recorded_is_worth_nothing() {
    let mut household = Household::new(1);
    for version in [&TLS12, &TLS13] {
        let (_, own) = household.phone();
        let phone = Phone::new(version, household.authority.certificate(), Some(&own));
        let config = household.config();
        let mut talk = Talk::new(&config, None, phone);
        let mut recorded = vec![talk.phone.identify()];
        loop {
            talk.server.handle(recorded.last().unwrap(), talk.now).unwrap();
            let request = talk.server.poll_transmit().unwrap();
            let Some(response) = talk.phone.handle(&request) else { break };
            recorded.push(response);
        }
        assert!(talk.phone.succeeded);
        let mut replayed = Talk::new(&config, None, talk.phone);
        for packet in recorded {
            let _ = replayed.server.handle(&packet, replayed.now);
            let _ = replayed.server.poll_transmit();
        }
        assert!(!matches!(replayed.server.outcome(), Some(Outcome::Accepted { .. })), "{version:?}");
    }
}

#[test]
fn bytes_that_are_no_tls_are_refused() {
    let (mut talk, request) = started(&mut Household::new(1), Limits::default());
    let hello = b"GET / HTTP/1.1\r\nHost: home\r\n\r\n";
    talk.server.handle(&tls(request[1], piece(false, None, hello)), talk.now).unwrap();
    let alert = talk.server.poll_transmit().unwrap();
    assert!(matches!(Packet::parse(&alert), Ok(Packet::Request { method: Method::Tls(_), .. })));
    talk.server.handle(&tls(alert[1], Fragment::ACKNOWLEDGEMENT), talk.now).unwrap();
    assert_eq!(talk.server.poll_transmit(), Some(Packet::Failure { identifier: alert[1] }.emit()));
    assert_eq!(talk.reason(), Some(&Reason::Tls));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nobody_is_accepted_with_a_byte_changed(seed: u64, round in 0_usize..4, position: prop::sample::Index, change in 1_u8..) {
        let mut household = Household::new(seed);
        let (label, own) = household.phone();
        let version = if seed % 2 == 0 { &TLS12 } else { &TLS13 };
        let phone = Phone::new(version, household.authority.certificate(), Some(&own));
        let mut talk = Talk::new(&household.config(), None, phone);
        let mut response = talk.phone.identify();
        for number in 0..8 {
            let mut sent = response.clone();
            if number == round {
                let at = position.index(sent.len());
                sent[at] ^= change;
            }
            let _ = talk.server.handle(&sent, talk.now);
            let Some(request) = talk.server.poll_transmit() else { break };
            let Some(next) = talk.phone.handle(&request) else { break };
            response = next;
        }
        if let Some(Outcome::Accepted { label: got, msk, .. }) = talk.server.outcome() {
            // Flags that are reserved, and who the phone says it is outside TLS, mean nothing.
            prop_assert_eq!(*got, label);
            prop_assert_eq!(&talk.phone.keys()[..64], msk.as_bytes());
        }
    }

    #[test]
    fn any_packets_are_survived(packets in prop::collection::vec((0_u8..6, prop::collection::vec(0_u8.., 0..200)), 0..20)) {
        let (mut talk, mut request) = started(&mut Household::new(1), Limits::default());
        for (kind, bytes) in &packets {
            let packet = match kind {
                0 => bytes.clone(),
                1 => tls(request[1], piece(true, Some(u32::try_from(bytes.len()).unwrap() + 40), bytes)),
                2 => tls(request[1], piece(true, None, bytes)),
                3 => tls(request[1], piece(false, None, bytes)),
                4 => tls(request[1], Fragment::ACKNOWLEDGEMENT),
                _ => tls(request[1], piece(false, None, &[&[22, 3, 1, 0, 200][..], bytes].concat())),
            };
            let _ = talk.server.handle(&packet, talk.now);
            if let Some(next) = talk.server.poll_transmit() {
                prop_assert!(next.len() <= 1_020);
                request = next;
            }
        }
        let accepted = matches!(talk.server.outcome(), Some(Outcome::Accepted { .. }));
        prop_assert!(!accepted);
    }
}

#[test]
fn garbage_on_the_way_ends_nothing() {
    let mut household = Household::new(1);
    let (_, own) = household.phone();
    let phone = Phone::new(&TLS13, household.authority.certificate(), Some(&own));
    let mut talk = Talk::new(&household.config(), None, phone);
    for length in 1..300 {
        let _ = talk.server.handle(&vec![2; length], talk.now);
    }
    talk.run(Way::GOOD, 0);
    assert!(talk.phone.succeeded);
}
