use crate::stage::*;
use guestright_relay::{Call, Limits, Refusal, Side, SideSettings};
use guestright_units::Time;

fn voice_packet(sequence: u16) -> Vec<u8> {
    rtp(0, sequence, &[1; 160])
}

/// Through both homes; what was heard.
fn carry(near: &mut Call, far: &mut Call, packet: &[u8], millis: u64) -> Result<Vec<u8>, Refusal> {
    let (_, between) = give(near, A, MEMBER, packet, millis)?;
    give(far, A, HOME, &between, millis).map(|(_, received)| received)
}

#[test]
fn a_call_of_many_rounds_of_sequence_numbers_survives_hold_and_a_new_description() {
    let (mut near, mut far) = (outward(), inward());
    let mut sequence = 65_000_u16;
    for round in 0..70_000_u64 {
        let packet = voice_packet(sequence);
        assert_eq!(carry(&mut near, &mut far, &packet, 20 * round), Ok(packet), "{round}");
        sequence = sequence.wrapping_add(1);
        if round % 1_000 == 0 {
            let (_, answer) = give(&mut far, B, MEMBER, &voice_packet(sequence), 20 * round).unwrap();
            give(&mut near, B, OTHER_HOME, &answer, 20 * round).unwrap();
        }
    }
    // The same keys again, once with another address, once after a hold.
    let now = Time(20_000 * 70_000);
    let elsewhere = SideSettings { media: Some(at("198.51.100.1:30002")), ..home(OTHER_HOME, keys(1, 2)) };
    near.update(Side::B, elsewhere, now).unwrap();
    far.update(Side::A, home(HOME, keys(2, 1)), now).unwrap();
    assert_eq!(carry(&mut near, &mut far, &voice_packet(sequence), 1_400_020), Ok(voice_packet(sequence)));
    near.update(Side::B, SideSettings::closed(), now).unwrap();
    near.update(Side::B, home(OTHER_HOME, keys(1, 2)), now).unwrap();
    sequence = sequence.wrapping_add(1);
    assert_eq!(carry(&mut near, &mut far, &voice_packet(sequence), 1_400_040), Ok(voice_packet(sequence)));
    assert_eq!(far.statistics().a.refused_in_all(), 0);
}

#[test]
fn what_was_on_its_way_when_keys_changed_still_opens_for_a_while() {
    let (mut near, mut far) = (outward(), inward());
    carry(&mut near, &mut far, &voice_packet(1), 0).unwrap();
    let late: Vec<_> =
        (2..6).map(|sequence| give(&mut near, A, MEMBER, &voice_packet(sequence), 20).unwrap().1).collect();
    near.update(Side::B, home(OTHER_HOME, keys(3, 4)), Time(40_000)).unwrap();
    far.update(Side::A, home(HOME, keys(4, 3)), Time(40_000)).unwrap();
    carry(&mut near, &mut far, &voice_packet(6), 60).unwrap();
    assert_eq!(give(&mut far, A, HOME, &late[0], 80).unwrap().1, voice_packet(2));
    assert_eq!(give(&mut far, A, HOME, &late[0], 81), Err(Refusal::Unauthenticated), "late, and a replay");
    assert_eq!(give(&mut far, A, HOME, &late[1], 5_030).unwrap().1, voice_packet(3));
    assert_eq!(give(&mut far, A, HOME, &late[2], 5_040), Err(Refusal::Unauthenticated));
    far.handle_timeout(Time(6_000_000));
    assert_eq!(give(&mut far, A, HOME, &late[3], 6_001), Err(Refusal::Unauthenticated));
    carry(&mut near, &mut far, &voice_packet(7), 6_020).unwrap();
}

#[test]
fn keys_that_come_back_are_not_begun_anew() {
    let (mut near, mut far) = (outward(), inward());
    let (_, first) = give(&mut near, A, MEMBER, &voice_packet(1), 0).unwrap();
    give(&mut far, A, HOME, &first, 0).unwrap();
    for (incoming, outgoing) in [(3, 4), (1, 2)] {
        near.update(Side::B, home(OTHER_HOME, keys(incoming, outgoing)), Time(1_000)).unwrap();
        far.update(Side::A, home(HOME, keys(outgoing, incoming)), Time(1_000)).unwrap();
    }
    // Another text under the index of the first one would give the key away; the first one itself would be a replay.
    assert_eq!(give(&mut near, A, MEMBER, &rtp(0, 1, b"another"), 20), Err(Refusal::Replayed));
    assert_eq!(give(&mut far, A, HOME, &first, 20), Err(Refusal::Replayed));
    carry(&mut near, &mut far, &voice_packet(2), 40).unwrap();
}

#[test]
fn a_refused_update_changes_nothing() {
    let (mut near, mut far) = (outward(), inward());
    let nobody = SideSettings { media: Some(at("255.255.255.255:9")), ..home(OTHER_HOME, keys(3, 4)) };
    near.update(Side::B, nobody, Time(0)).unwrap_err();
    carry(&mut near, &mut far, &voice_packet(1), 0).unwrap();
    let good = SideSettings { media: Some(at("10.80.0.2:7000")), ..member() };
    near.update_both(good, home("0.0.0.0:9", keys(1, 2)), Time(0)).unwrap_err();
    assert_eq!(near.settings(Side::A), &member());
    carry(&mut near, &mut far, &voice_packet(2), 0).unwrap();
}

#[test]
fn no_key_is_shown() {
    let call = Call::new(Limits::default(), member(), home(OTHER_HOME, keys(0xa7, 0xa8)), Time(0)).unwrap();
    let shown = format!("{call:?} {:?}", home(OTHER_HOME, keys(0xa7, 0xa8)));
    for bytes in ["a7a7", "a7, a7", "167, 167", "a8, a8", "168, 168"] {
        assert!(!shown.contains(bytes), "{shown}");
    }
}
