//! Calls for which there is no room on the air.

use super::super::event::CallId;
use super::super::room::{CallRoom, Rooms};
use super::*;

fn room(members: &[KeyId], more: u32) -> CallRoom {
    CallRoom { members: members.iter().copied().collect(), more }
}

/// A town with two members at one home, whose access points have spoken.
fn town(rooms: Vec<CallRoom>) -> Town {
    let mut town = Town::new(|_| {});
    for (user, at) in [("alice", ALICES), ("carol", CAROLS)] {
        town.register(0, user, at);
    }
    let now = town.now;
    town.homes[0].set_rooms(rooms, now);
    town
}

/// What alice is answered at the end who calls somebody; 100 if it goes on.
fn call(town: &mut Town, whom: &str, call: &str) -> (u16, Option<String>) {
    town.send(0, ALICES, &invite("alice", ALICES, whom, call, ""));
    let mut last = town.next(0, ALICES);
    let alices = Peer::Udp(ALICES.parse().unwrap());
    while code(&last) == 100 && town.inboxes.iter().any(|(home, peer, _)| *home == 0 && *peer == alices) {
        last = town.next(0, ALICES);
    }
    (code(&last), last.get("Warning").map(str::to_owned))
}

#[test]
fn a_call_that_would_break_the_others_is_refused_with_a_sentence() {
    #[rustfmt::skip]
    let cases = [
        ("the caller's is full",   vec![room(&[ALICE], 0)],                   503, "at your access point"),
        ("the callee's is full",   vec![room(&[CAROL], 0)],                   486, "at the other person's access point"),
        ("one for two ends",       vec![room(&[ALICE, CAROL], 1)],            503, "at your access point"),
    ];
    for (name, rooms, want, sentence) in cases {
        let mut town = town(rooms);
        let (got, warning) = call(&mut town, "carol", "c1");
        assert_eq!(got, want, "{name}");
        assert!(warning.unwrap().contains(sentence), "{name}");
        assert_eq!(town.homes[0].calls.len(), 0, "{name}");
        assert_eq!(town.homes[0].refused()["no room for a call on the air"], 1);
    }
}

#[test]
fn what_is_not_known_refuses_nobody() {
    #[rustfmt::skip]
    let cases = [
        ("nobody has spoken", vec![]),
        ("others' is full",   vec![room(&[BOB], 0)]),
        ("there is room",     vec![room(&[ALICE, CAROL], 2)]),
    ];
    for (name, rooms) in cases {
        let mut town = town(rooms);
        assert_eq!(call(&mut town, "carol", "c1").0, 100, "{name}");
        assert_eq!(town.homes[0].calls.len(), 1, "{name}");
    }
}

#[test]
fn calls_between_two_words_of_an_access_point_share_what_it_said() {
    let mut town = town(vec![room(&[ALICE], 1)]);
    assert_eq!(town.homes[0].room_left().collect::<Vec<_>>(), [1]);
    assert_eq!(call(&mut town, "carol", "c1").0, 100);
    assert_eq!(town.homes[0].room_left().collect::<Vec<_>>(), [0]);
    assert_eq!(call(&mut town, "carol", "c2").0, 503);
    // However long it rings, it is not on the air yet.
    let later = town.now + Micros::from_seconds(60);
    town.homes[0].set_rooms(vec![room(&[ALICE], 1)], later);
    assert_eq!(call(&mut town, "carol", "c3").0, 503);
    let rings = town.homes[0].calls().next().unwrap().id;
    town.homes[0].hang_up(rings, "in a test", later);
    town.settle();
    town.inboxes.clear();
    assert_eq!(call(&mut town, "carol", "c4").0, 100, "a call that came to nothing takes no room");
}

#[test]
fn a_call_that_is_up_is_left_to_the_access_points_eyes_after_a_while() {
    let (mut rooms, at) = (Rooms::default(), |seconds| Time(0) + Micros::from_seconds(seconds));
    let mut fits = |id, seconds| {
        rooms.set(vec![room(&[ALICE], 1)], at(seconds));
        let fits = rooms.reserve(CallId(id), Some(ALICE), None).is_ok();
        if fits {
            rooms.note_up(CallId(id), at(seconds));
        }
        fits
    };
    assert_eq!([fits(1, 0), fits(2, 9), fits(3, 10), fits(4, 11)], [true, false, true, false]);
}

#[test]
fn a_call_that_is_there_goes_on_when_there_is_no_room_any_more() {
    let mut town = town(vec![room(&[ALICE], 1)]);
    assert_eq!(call(&mut town, "carol", "c1").0, 100);
    let now = town.now;
    town.homes[0].set_rooms(vec![room(&[ALICE], 0)], now);
    town.settle();
    assert_eq!(town.homes[0].calls.len(), 1);
    assert_eq!(town.released(0), 0);
}
