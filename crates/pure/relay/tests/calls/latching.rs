use crate::stage::*;
use guestright_relay::{Call, Event, Limits, Protection, Refusal, Side, SideSettings, Sources};
use guestright_units::Time;

fn to_member(call: &mut Call, sequence: u16, millis: u64) -> Result<std::net::SocketAddr, Refusal> {
    let mut far = outward_peer(sequence);
    give(call, B, OTHER_HOME, &far, millis).map(|(forward, _)| {
        far.clear();
        forward.to
    })
}

/// What the other home would send us.
fn outward_peer(sequence: u16) -> Vec<u8> {
    let mut protected = Vec::new();
    // A context for each packet would reuse indices if the sequence did; it does not here.
    guestright_voice::srtp::Protect::new(&key(1))
        .rtp(&rtp_of(77, 0, sequence, &[3; 160]), &mut protected)
        .unwrap();
    protected
}

fn voice_packet(sequence: u16) -> Vec<u8> {
    rtp(0, sequence, &[1; 160])
}

#[test]
fn a_member_is_answered_where_it_sends_from_but_only_within_its_address() {
    let mut call = outward();
    assert_eq!(to_member(&mut call, 1, 0), Ok(at(MEMBER)));
    give(&mut call, A, "10.80.0.2:4100", &voice_packet(1), 10).unwrap();
    assert_eq!(to_member(&mut call, 2, 20), Ok(at("10.80.0.2:4100")));
    for foreign in ["10.80.0.3:4000", OTHER_HOME, STRANGER] {
        assert_eq!(give(&mut call, A, foreign, &voice_packet(2), 30), Err(Refusal::WrongSource), "{foreign}");
    }
    assert_eq!(to_member(&mut call, 3, 40), Ok(at("10.80.0.2:4100")));
    let events: Vec<_> = std::iter::from_fn(|| call.poll_event()).collect();
    assert!(
        events.contains(&Event::Moved { side: Side::A, channel: A.1, to: at("10.80.0.2:4100") }),
        "{events:?}"
    );
}

#[test]
fn two_programs_of_one_member_do_not_tear_a_call_to_and_fro() {
    let mut call = outward();
    for (sequence, port) in (0..40).zip(["10.80.0.2:4000", "10.80.0.2:9999"].into_iter().cycle()) {
        let given = give(&mut call, A, port, &voice_packet(sequence), 10 * u64::from(sequence));
        assert_eq!(given.is_ok(), port == MEMBER, "{port}: {given:?}");
    }
    assert_eq!(to_member(&mut call, 1, 400), Ok(at(MEMBER)));
    // When the first one has been silent for a while, the other one is it.
    give(&mut call, A, "10.80.0.2:9999", &voice_packet(41), 700).unwrap();
    assert_eq!(to_member(&mut call, 2, 710), Ok(at("10.80.0.2:9999")));
}

#[test]
fn another_home_is_followed_when_the_tag_has_passed_and_not_before() {
    let mut call = outward();
    let moved = "198.51.100.1:31111";
    let mut forged = outward_peer(5);
    forged[100] ^= 1;
    assert_eq!(give(&mut call, B, moved, &forged, 0), Err(Refusal::Unauthenticated));
    assert_eq!(give(&mut call, A, MEMBER, &voice_packet(1), 0).unwrap().0.to, at(OTHER_HOME));
    give(&mut call, B, OTHER_HOME, &outward_peer(6), 10).unwrap();
    // At once, and not only after a pause: a proven packet that is newer than all before.
    give(&mut call, B, moved, &outward_peer(7), 20).unwrap();
    assert_eq!(give(&mut call, A, MEMBER, &voice_packet(2), 20).unwrap().0.to, at(moved));
    // A late one, and a repeated one, prove nothing about where the home is now.
    give(&mut call, B, "198.51.100.1:32222", &outward_peer(5), 30).unwrap();
    assert_eq!(give(&mut call, B, "198.51.100.1:33333", &outward_peer(7), 30), Err(Refusal::Replayed));
    assert_eq!(give(&mut call, A, MEMBER, &voice_packet(3), 30).unwrap().0.to, at(moved));
    assert_eq!(give(&mut call, B, STRANGER, &outward_peer(8), 30), Err(Refusal::WrongSource));
}

#[test]
fn with_proof_an_address_may_be_any() {
    let b = SideSettings { sources: Sources::Proven, ..home(OTHER_HOME, keys(1, 2)) };
    let mut call = Call::new(Limits::default(), member(), b, Time(0)).unwrap();
    assert_eq!(give(&mut call, B, STRANGER, &[0x80; 180], 0), Err(Refusal::Unauthenticated));
    assert_eq!(give(&mut call, A, MEMBER, &voice_packet(1), 0).unwrap().0.to, at(OTHER_HOME));
    give(&mut call, B, STRANGER, &outward_peer(1), 0).unwrap();
    assert_eq!(give(&mut call, A, MEMBER, &voice_packet(2), 0).unwrap().0.to, at(STRANGER));
}

#[test]
fn a_new_description_counts_more_than_what_was_seen() {
    let mut call = outward();
    give(&mut call, A, "10.80.0.2:4100", &voice_packet(1), 0).unwrap();
    call.update(Side::A, member(), Time(0)).unwrap();
    assert_eq!(to_member(&mut call, 1, 0), Ok(at("10.80.0.2:4100")), "the same again changes nothing");
    call.update(Side::A, SideSettings { media: Some(at("10.80.0.2:5000")), ..member() }, Time(0)).unwrap();
    assert_eq!(to_member(&mut call, 2, 0), Ok(at("10.80.0.2:5000")));
}

#[test]
fn nobody_is_sent_to_who_was_neither_signalled_nor_heard() {
    let nowhere = SideSettings { media: None, ..member() };
    let mut call =
        Call::new(Limits::default(), nowhere.clone(), home(OTHER_HOME, keys(1, 2)), Time(0)).unwrap();
    assert_eq!(to_member(&mut call, 1, 0), Err(Refusal::NoDestination));
    // On hold it is the same, although the member goes on sending.
    call.update(Side::A, member(), Time(0)).unwrap();
    give(&mut call, A, MEMBER, &voice_packet(1), 0).unwrap();
    call.update(Side::A, nowhere, Time(0)).unwrap();
    give(&mut call, A, MEMBER, &voice_packet(2), 0).unwrap();
    assert_eq!(to_member(&mut call, 2, 0), Err(Refusal::NoDestination));
}

#[test]
fn a_member_cannot_point_its_media_at_somebody_else() {
    let pointing = SideSettings { media: Some(at(STRANGER)), ..member() };
    let mut call = Call::new(Limits::default(), pointing, home(OTHER_HOME, keys(1, 2)), Time(0)).unwrap();
    assert_eq!(to_member(&mut call, 1, 0), Err(Refusal::NoDestination));
    assert_eq!(give(&mut call, A, STRANGER, &voice_packet(1), 0), Err(Refusal::WrongSource));
    // A softphone behind the member's own NAT says such a thing in good faith, and is answered once it is heard.
    give(&mut call, A, MEMBER, &voice_packet(1), 0).unwrap();
    assert_eq!(to_member(&mut call, 2, 0), Ok(at(MEMBER)));
}

#[test]
fn an_address_that_never_answers_gets_only_its_share() {
    let mut call = Call::new(
        Limits { unanswered_max: 10, ..Limits::default() },
        member(),
        home(OTHER_HOME, keys(1, 2)),
        Time(0),
    )
    .unwrap();
    let sent = (0..50).filter(|sequence| {
        give(&mut call, A, MEMBER, &voice_packet(*sequence), 20 * u64::from(*sequence)).is_ok()
    });
    assert_eq!(sent.count(), 10);
    assert_eq!(call.statistics().a.refused(Refusal::Unanswered), 40);
    give(&mut call, B, OTHER_HOME, &outward_peer(1), 2_000).unwrap();
    let sent = (50..100).filter(|sequence| {
        give(&mut call, A, MEMBER, &voice_packet(*sequence), 20 * u64::from(*sequence)).is_ok()
    });
    assert_eq!(sent.count(), 50);
}

#[test]
fn a_closed_side_takes_and_gets_nothing() {
    let mut call = Call::new(Limits::default(), member(), SideSettings::closed(), Time(0)).unwrap();
    assert_eq!(give(&mut call, A, MEMBER, &voice_packet(1), 0), Err(Refusal::NoDestination));
    let known = SideSettings { media: Some(at(OTHER_HOME)), ..SideSettings::closed() };
    call.update(Side::B, known, Time(0)).unwrap();
    assert_eq!(give(&mut call, A, MEMBER, &voice_packet(2), 0), Err(Refusal::Closed));
    assert_eq!(give(&mut call, B, OTHER_HOME, &voice_packet(2), 0), Err(Refusal::Closed));
    assert_eq!(call.settings(Side::B).protection, Protection::Closed);
}
