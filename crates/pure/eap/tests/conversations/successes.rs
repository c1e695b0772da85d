//! A member's phone is accepted, whatever the way does.

use crate::phone::{Phone, TLS12, TLS13, Version};
use crate::world::{Household, Talk, Way};
use guestright_eap::{Method, Outcome, Packet, TlsVersion};
use guestright_units::Micros;

const VERSIONS: [(Version, TlsVersion); 2] = [(&TLS12, TlsVersion::Tls12), (&TLS13, TlsVersion::Tls13)];

/// Both ends are done, know the same keys, and the home knows the phone.
fn accepted(
    household: &mut Household,
    version: (Version, TlsVersion),
    mtu: Option<u16>,
    way: Way,
    seed: u64,
) -> Talk {
    let (label, own) = household.phone();
    let mut phone = Phone::new(version.0, household.authority.certificate(), Some(&own));
    phone.packet_bytes_max = mtu.map_or(1_020, usize::from);
    let mut talk = Talk::new(&household.config(), mtu, phone);
    talk.run(way, seed);
    let Some(Outcome::Accepted { label: got, serial, msk, emsk, session_id, tls }) = talk.server.outcome()
    else {
        panic!("{way:?}, seed {seed}: {:?}", talk.server.outcome());
    };
    assert_eq!((*got, serial, *tls), (label, &own.certificate.serial(), version.1));
    assert_eq!([&msk.as_bytes()[..], emsk.as_bytes()].concat(), talk.phone.keys());
    assert_ne!(msk, emsk);
    assert_eq!((session_id.len(), session_id[0]), (65, 13));
    // TLS 1.3 says by a byte of zero inside TLS that the home is content (RFC 9190, section 2.5).
    assert_eq!(talk.phone.received, if version.1 == TlsVersion::Tls13 { &[0][..] } else { b"" });
    talk
}

#[test]
fn a_phone_is_accepted_in_four_round_trips() {
    let mut household = Household::new(1);
    for version in VERSIONS {
        let talk = accepted(&mut household, version, None, Way::GOOD, 0);
        assert!(talk.phone.succeeded);
        assert_eq!((talk.answers, talk.longest <= 1_020), (4, true), "three challenges, and the end");
    }
}

#[test]
fn a_phone_is_accepted_in_packets_of_any_size() {
    let mut household = Household::new(2);
    for version in VERSIONS {
        for mtu in [64, 65, 100, 127, 128, 250, 576, 1_020, 1_400, 3_800] {
            let talk = accepted(&mut household, version, Some(mtu), Way::GOOD, 0);
            assert!(talk.phone.succeeded && talk.longest <= usize::from(mtu), "{mtu}: {}", talk.longest);
        }
    }
}

#[test]
fn a_phone_is_accepted_over_a_bad_way() {
    let mut household = Household::new(3);
    for version in VERSIONS {
        for seed in 0..40 {
            let way = Way { lost: 20, repeated: 20, reordered: 20 };
            accepted(&mut household, version, Some(if seed % 2 == 0 { 300 } else { 1_020 }), way, seed);
        }
    }
}

#[test]
fn two_conversations_of_a_phone_have_nothing_in_common() {
    let mut household = Household::new(4);
    let (_, own) = household.phone();
    let config = household.config();
    for (version, _) in VERSIONS {
        let mut seen = Vec::new();
        for _ in 0..2 {
            let phone = Phone::new(version, household.authority.certificate(), Some(&own));
            let mut talk = Talk::new(&config, None, phone);
            talk.run(Way::GOOD, 0);
            let Some(Outcome::Accepted { msk, session_id, .. }) = talk.server.outcome().cloned() else {
                panic!("{:?}", talk.server.outcome());
            };
            seen.push((msk, session_id));
        }
        assert_ne!(seen[0].0, seen[1].0);
        assert_ne!(seen[0].1, seen[1].1);
    }
}

#[test]
fn the_last_answer_is_given_again() {
    let mut household = Household::new(5);
    let (_, own) = household.phone();
    let phone = Phone::new(&TLS13, household.authority.certificate(), Some(&own));
    let mut talk = Talk::new(&household.config(), None, phone);
    let mut response = talk.phone.identify();
    loop {
        talk.server.handle(&response, talk.now).unwrap();
        let request = talk.server.poll_transmit().unwrap();
        talk.now = talk.now + Micros(1);
        talk.server.handle(&response, talk.now).unwrap();
        assert_eq!(talk.server.poll_transmit(), Some(request.clone()));
        match talk.phone.handle(&request) {
            Some(next) => response = next,
            None => break,
        }
    }
    assert!(talk.phone.succeeded);
    assert_eq!(talk.server.poll_timeout(), None);
}

#[test]
fn a_home_can_ask_who_is_there() {
    let mut household = Household::new(6);
    let (_, own) = household.phone();
    let phone = Phone::new(&TLS13, household.authority.certificate(), Some(&own));
    let mut talk = Talk::new(&household.config(), None, phone);
    talk.server.handle(b"", talk.now).unwrap();
    let request = talk.server.poll_transmit().unwrap();
    let Ok(Packet::Request { identifier, method: Method::Identity(b"") }) = Packet::parse(&request) else {
        panic!("{request:?}");
    };
    assert!(talk.server.handle(&talk.phone.identify(), talk.now).is_err(), "that answers another request");
    let identity = Packet::Response { identifier, method: Method::Identity(b"anybody") }.emit();
    talk.server.handle(&identity, talk.now).unwrap();
    let mut request = talk.server.poll_transmit().unwrap();
    while let Some(response) = talk.phone.handle(&request) {
        talk.server.handle(&response, talk.now).unwrap();
        request = talk.server.poll_transmit().unwrap();
    }
    assert!(matches!(talk.server.outcome(), Some(Outcome::Accepted { .. })));
}
