//! Members, strangers and homes that do not mean well.

use super::*;
use proptest::prelude::*;

fn kinds(town: &Town) -> Vec<&'static str> {
    town.homes[0].refused().keys().copied().collect()
}

#[test]
fn nobody_but_members_is_heard() {
    let mut town = Town::registered();
    town.send(0, "10.73.5.77:5060", &invite("alice", ALICES, "carol", "c1", ""));
    town.send(0, "198.51.100.1:5060", &invite("alice", ALICES, "carol", "c1", ""));
    assert!(town.inboxes.is_empty());
    let stranger = Peer::Home(KeyId([9; 24]));
    let now = town.now;
    town.homes[0].handle_message(stranger, invite("a", ALICES, "carol", "c1", "").as_bytes(), now);
    assert_eq!(town.homes[0].refused()["not from a member"], 3);
}

#[test]
fn a_member_registers_as_itself_and_nobody_else() {
    let mut town = Town::new(|_| {});
    assert_eq!(town.register(0, "carol", ALICES), 403);
    assert_eq!(town.register(0, "alice", ALICES), 200);
    town.send(0, CAROLS, &invite("carol", CAROLS, "carol", "c1", ""));
    assert_eq!(town.code(0, CAROLS), 480);
    assert_eq!(kinds(&town), ["registers as somebody else"]);
}

#[test]
fn bad_requests_get_an_answer_or_none_and_change_nothing() {
    let good = invite("alice", ALICES, "carol", "c1", "");
    #[rustfmt::skip]
    let cases: [(&str, &str, Option<u16>); 17] = [
        ("From: ", "Form: ", Some(400)),
        (";tag=tc1", "", Some(400)),
        ("CSeq: 10 INVITE", "CSeq: 10 BYE", Some(400)),
        ("CSeq: 10 INVITE", "CSeq: 99999999999 INVITE", Some(400)),
        ("INVITE sip:carol@10.73.5.1", "INVITE tel:112", Some(400)),
        ("INVITE sip:carol@10.73.5.1", "INVITE sip:carol@evil.example", Some(404)),
        ("Max-Forwards: 70", "Max-Forwards: 0", Some(483)),
        ("Contact: ", "X-Contact: ", Some(400)),
        ("Supported: ", "Require: precondition\r\nSupported: ", Some(420)),
        ("Supported: ", "Proxy-Require: foo\r\nSupported: ", Some(420)),
        ("Content-Length: 0\r\n\r\n", "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi", Some(415)),
        ("INVITE sip", "SUBSCRIBE sip", Some(400)),
        ("branch=z9hG4bKic1", "branch=1", None),
        ("\r\nFrom", "\r\n\r\nFrom", Some(400)),
        ("User-Agent: phone", "User-Agent: phone\nEvil: 1", None),
        ("User-Agent: phone", "User-Agent: \u{0}", None),
        ("User-Agent: phone", "To: <sip:x@y>", None),
    ];
    for (old, new, want) in cases {
        let mut town = Town::registered();
        assert!(good.contains(old), "{old}");
        town.send(0, ALICES, &good.replacen(old, new, 1));
        assert_eq!(town.try_next(0, ALICES).map(|each| code(&each)), want, "{old:?} -> {new:?}");
        assert_eq!(town.homes[0].calls().count(), 0);
        assert!(town.try_next(0, CAROLS).is_none());
    }
}

#[test]
fn a_call_is_its_own_members_alone() {
    let mut town = Town::registered();
    let (answered, _) = super::calls::talk(&mut town);
    let bye = within("BYE", &answered, true, ALICES, 11, "");
    // Somebody else who knows everything about it.
    town.send(0, CAROLS, &bye);
    assert_eq!(town.code(0, CAROLS), 481);
    // The right one with wrong tags.
    town.send(0, ALICES, &bye.replace("tag=k", "tag=z").replace("bKBYE", "bKBYE2"));
    assert_eq!(town.code(0, ALICES), 481);
    assert_eq!(town.homes[0].calls().count(), 1);
}

#[test]
fn an_answer_counts_from_where_the_question_went_alone() {
    let mut town = Town::registered();
    town.send(0, ALICES, &invite("alice", ALICES, "carol", "c1", ""));
    let asked = town.next(0, CAROLS);
    town.send(0, ALICES, &answer(&asked, ALICES, 200, "k", ""));
    assert_eq!(kinds(&town), ["an answer from elsewhere"]);
    assert_eq!(town.homes[0].calls().next().unwrap().phase, Phase::Calling);
}

#[test]
fn too_many_messages_are_dropped_and_come_again_later() {
    let mut town = Town::new(|config| (config.rate_max, config.burst_max) = (10, 20));
    let options = |number: u32| {
        format!(
            "OPTIONS sip:10.73.5.1 SIP/2.0\r\nVia: SIP/2.0/UDP {ALICES};branch=z9hG4bK{number}\r\nFrom: <sip:a@b>;tag=1\r\n\
             To: <sip:10.73.5.1>\r\nCall-ID: o\r\nCSeq: {number} OPTIONS\r\n\r\n"
        )
    };
    (0..50).for_each(|number| town.send(0, ALICES, &options(number)));
    assert_eq!(town.inboxes.len(), 20);
    town.now = town.now + Micros::from_seconds(1);
    (50..100).for_each(|number| town.send(0, ALICES, &options(number)));
    assert_eq!(town.inboxes.len(), 30);
    assert_eq!(code(&town.inboxes[0].2), 200);
}

#[test]
fn a_request_that_comes_round_is_a_loop() {
    let mut town = Town::registered();
    let text = invite("alice", ALICES, "carol", "c1", "");
    town.send(0, ALICES, &text);
    town.send(0, ALICES, &text.replace("z9hG4bKic1", "z9hG4bKother"));
    town.next(0, ALICES);
    assert_eq!(town.code(0, ALICES), 482);
}

proptest! {
    #[test]
    fn no_bytes_whatever_make_it_panic_or_send_what_is_not_sip(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), cut: prop::sample::Index, body in 0_usize..3,
    ) {
        let mut town = Town::registered();
        let candidate = "a=candidate:1 1 UDP 1 10.73.5.2 4 typ host\r\n";
        let bodies: [String; 3] = [String::new(), sdp(ALICES, 4_000, "RTP/AVP", candidate), sdp(ALICES, 1, "RTP/SAVP", "")];
        let body = bodies[body].clone();
        let mut bytes = invite("alice", ALICES, "bobby", "c1", &body).into_bytes();
        for (index, byte) in edits {
            let position = index.index(bytes.len());
            bytes[position] = byte;
        }
        bytes.truncate(bytes.len() - cut.index(bytes.len()) / 16);
        let now = town.now;
        town.homes[0].handle_message(Peer::Udp(ALICES.parse().unwrap()), &bytes, now);
        // Whatever leaves is parsed by `deliver`, and the other home's member has no address in it.
        town.settle();
        for message in &town.between {
            prop_assert!(!String::from_utf8_lossy(&message.emit()).contains("10.73.5.2"));
        }
        town.pass(Micros::from_seconds(900));
        prop_assert_eq!(town.homes[0].calls().count() + town.homes[1].calls().count(), 0);
    }
}
