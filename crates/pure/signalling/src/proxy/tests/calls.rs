//! Calls within one home.

use super::*;
use crate::sdp::Mode;

const PLAIN: &str = "RTP/AVP";

/// Alice calls carol, who answers. What alice got and what carol got.
pub(super) fn talk(town: &mut Town) -> (Message, Message) {
    town.send(0, ALICES, &invite("alice", ALICES, "carol", "c1", &sdp(ALICES, 4_000, PLAIN, "")));
    assert_eq!(code(&town.next(0, ALICES)), 100);
    let asked = town.next(0, CAROLS);
    town.send(0, CAROLS, &answer(&asked, CAROLS, 180, "k", ""));
    assert_eq!(code(&town.next(0, ALICES)), 180);
    town.send(0, CAROLS, &answer(&asked, CAROLS, 200, "k", &sdp(CAROLS, 5_000, PLAIN, "")));
    let answered = town.next(0, ALICES);
    assert_eq!(code(&answered), 200);
    town.send(0, ALICES, &within("ACK", &answered, true, ALICES, 10, ""));
    let ack = town.next(0, CAROLS);
    assert_eq!(
        (method(&ack), uri(&ack).to_string().as_str()),
        (&Method::Ack, "sip:phone@10.73.5.3:5060;line=1")
    );
    let mut asked_tagged = Message::request(Method::Invite, "sip:x@y");
    asked_tagged.push("From", asked.get("From").unwrap());
    asked_tagged.push("To", format!("{};tag=k", asked.get("To").unwrap()));
    asked_tagged.push("Call-ID", asked.get("Call-ID").unwrap());
    asked_tagged.push("Contact", asked.get("Contact").unwrap());
    (answered, asked_tagged)
}

#[test]
fn two_members_of_a_home_talk_through_it() {
    let mut town = Town::registered();
    let (answered, asked) = talk(&mut town);
    assert_eq!(asked.get("From").unwrap(), "\"alice\" <sip:alice@10.73.5.1>;tag=tc1");
    let body = String::from_utf8(answered.body.clone()).unwrap();
    assert!(
        body.contains("c=IN IP4 10.73.5.1\r\n") && body.contains("m=audio 20002 RTP/AVP 0 8 101\r\n"),
        "{body}"
    );
    let updates = town.updates(0);
    let Legs { caller: one, callee: other } = updates.last().unwrap();
    assert_eq!((one.ports, other.ports), (ports(4_000, 4_001), ports(5_000, 5_001)));
    assert_eq!(one.source, Source::Tunnel("10.73.5.2".parse().unwrap()));
    let status: Vec<CallStatus> = town.homes[0].calls().collect();
    assert_eq!(
        (status[0].who.clone(), status[0].phase),
        (Legs { caller: "alice".to_owned(), callee: "carol".to_owned() }, Phase::Up)
    );
    assert_eq!(status[0].mode, Some(Mode::Homes));

    town.send(0, CAROLS, &within("BYE", &asked, false, CAROLS, 1, ""));
    let bye = town.next(0, ALICES);
    assert_eq!((method(&bye), uri(&bye).to_string().as_str()), (&Method::Bye, "sip:alice@10.73.5.2:5060"));
    town.send(0, ALICES, &answer(&bye, ALICES, 200, "", ""));
    assert_eq!(town.code(0, CAROLS), 200);
    assert_eq!((town.released(0), town.homes[0].calls().count()), (1, 0));
}

#[test]
fn nothing_of_one_telephones_network_reaches_the_other() {
    let mut town = Town::registered();
    town.send(
        0,
        ALICES,
        &invite("alice", ALICES, "carol", "c1", &sdp(ALICES, 4_000, PLAIN, "a=x-host:10.73.5.2\r\n")),
    );
    let asked = town.next(0, CAROLS);
    let text = String::from_utf8(asked.emit()).unwrap();
    for secret in ["10.73.5.2", "President", "president", "X-Network", "gruu", "REFER", "User-Agent", "c1@"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert_eq!(
        (asked.get("Supported"), asked.get("Allow")),
        (Some("timer"), Some("INVITE, ACK, BYE, CANCEL"))
    );
    assert_eq!(asked.get("P-Asserted-Identity"), Some("\"alice\" <sip:alice@10.73.5.1>"));
    assert_eq!(asked.get("Max-Forwards"), Some("69"));
    town.send(
        0,
        CAROLS,
        &answer(&asked, CAROLS, 200, "k", &sdp(CAROLS, 5_000, PLAIN, "a=rtcp:5009 IN IP4 10.73.5.3\r\n")),
    );
    let text: String = std::iter::from_fn(|| town.try_next(0, ALICES))
        .map(|m| String::from_utf8(m.emit()).unwrap())
        .collect();
    assert!(text.contains(" 200 ") && !text.contains("10.73.5.3") && !text.contains("line=1"), "{text}");
}

#[test]
fn hold_and_resume_go_through() {
    let mut town = Town::registered();
    let (answered, asked) = talk(&mut town);
    for (number, direction, want) in
        [(11, "sendonly", "sendonly"), (12, "inactive", "inactive"), (13, "sendrecv", "sendrecv")]
    {
        let body = sdp(ALICES, 4_000, PLAIN, &format!("a={direction}\r\n"));
        town.send(0, ALICES, &within("INVITE", &answered, true, ALICES, number, &body));
        let held = town.next(0, CAROLS);
        let text = String::from_utf8(held.body.clone()).unwrap();
        assert!(text.contains(&format!("a={want}\r\n")), "{text}");
        town.send(0, CAROLS, &answer(&held, CAROLS, 200, "k", &sdp(CAROLS, 5_000, PLAIN, "a=recvonly\r\n")));
        assert_eq!(town.code(0, ALICES), 200);
        town.send(0, ALICES, &within("ACK", &answered, true, ALICES, number, ""));
        assert_eq!(method(&town.next(0, CAROLS)), &Method::Ack);
    }
    // The old way: no address. Then nothing is sent there.
    let body = sdp("0.0.0.0", 5_000, PLAIN, "");
    town.send(0, CAROLS, &within("INVITE", &asked, false, CAROLS, 1, &body));
    let held = town.next(0, ALICES);
    assert!(String::from_utf8(held.body.clone()).unwrap().contains("a=sendonly\r\n"));
    town.send(0, ALICES, &answer(&held, ALICES, 200, "", &sdp(ALICES, 4_000, PLAIN, "")));
    assert_eq!(town.code(0, CAROLS), 200);
    let updates = town.updates(0);
    assert_eq!(updates.last().unwrap().callee.ports, None);
    assert_eq!(town.homes[0].calls().count(), 1);
}

#[test]
fn the_caller_may_give_up_at_any_time() {
    // Before anything has come back: CANCEL waits for the first sign of life.
    let mut town = Town::registered();
    let text = invite("alice", ALICES, "carol", "c1", "");
    let cancel = text.replace("INVITE sip", "CANCEL sip").replace("10 INVITE", "10 CANCEL");
    town.send(0, ALICES, &text);
    town.send(0, ALICES, &cancel);
    assert_eq!((town.code(0, ALICES), town.code(0, ALICES)), (200, 487));
    let asked = town.next(0, CAROLS);
    assert!(town.try_next(0, CAROLS).is_none());
    town.send(0, CAROLS, &answer(&asked, CAROLS, 180, "k", ""));
    let cancelled = town.next(0, CAROLS);
    assert_eq!((method(&cancelled), cancelled.get("Via")), (&Method::Cancel, asked.get("Via")));
    town.send(0, CAROLS, &answer(&cancelled, CAROLS, 200, "k", ""));
    town.send(0, CAROLS, &answer(&asked, CAROLS, 487, "k", ""));
    assert_eq!(method(&town.next(0, CAROLS)), &Method::Ack);
    assert_eq!((town.released(0), town.homes[0].calls().count()), (1, 0));

    // The answer was faster than the CANCEL: the callee is told that nobody is there.
    let mut town = Town::registered();
    town.send(0, ALICES, &text);
    town.send(0, ALICES, &cancel);
    let asked = town.next(0, CAROLS);
    town.send(0, CAROLS, &answer(&asked, CAROLS, 200, "k", &sdp(CAROLS, 5_000, PLAIN, "")));
    assert_eq!(method(&town.next(0, CAROLS)), &Method::Ack);
    let bye = town.next(0, CAROLS);
    assert_eq!((method(&bye), bye.get("CSeq")), (&Method::Bye, Some("11 BYE")));
    assert_eq!((town.code(0, ALICES), town.code(0, ALICES)), (200, 487));
    assert!(town.try_next(0, ALICES).is_none());
}

#[test]
fn the_first_telephone_taken_off_the_hook_has_the_call() {
    let mut town = Town::registered();
    let other = "10.73.5.3:5070";
    assert_eq!(town.register(0, "carol", other), 200);
    town.send(0, ALICES, &invite("alice", ALICES, "carol", "c1", &sdp(ALICES, 4_000, PLAIN, "")));
    let (one, two) = (town.next(0, CAROLS), town.next(0, other));
    town.send(0, CAROLS, &answer(&one, CAROLS, 180, "k1", ""));
    town.send(0, other, &answer(&two, other, 180, "k2", ""));
    town.send(0, other, &answer(&two, other, 200, "k2", &sdp(other, 5_004, PLAIN, "")));
    let cancel = town.next(0, CAROLS);
    assert_eq!(method(&cancel), &Method::Cancel);
    // It was taken off the hook all the same.
    town.send(0, CAROLS, &answer(&one, CAROLS, 200, "k1", &sdp(CAROLS, 5_000, PLAIN, "")));
    assert_eq!(method(&town.next(0, CAROLS)), &Method::Ack);
    assert_eq!(method(&town.next(0, CAROLS)), &Method::Bye);
    let codes: Vec<u16> = std::iter::from_fn(|| town.try_next(0, ALICES)).map(|each| code(&each)).collect();
    assert_eq!(codes, [100, 180, 180, 200]);
    assert_eq!(town.updates(0).last().unwrap().callee.ports, ports(5_004, 5_005));
}

#[test]
fn the_best_refusal_is_told_when_all_have_refused() {
    for (codes, want) in [([486, 480], 486), ([480, 603], 603), ([408, 488], 488), ([302, 302], 480)] {
        let mut town = Town::registered();
        let other = "10.73.5.3:5070";
        town.register(0, "carol", other);
        town.send(0, ALICES, &invite("alice", ALICES, "carol", "c1", ""));
        for (at, code) in [CAROLS, other].into_iter().zip(codes) {
            let asked = town.next(0, at);
            town.send(0, at, &answer(&asked, at, code, at, ""));
            assert_eq!(method(&town.next(0, at)), &Method::Ack);
        }
        assert_eq!(town.code(0, ALICES), want);
        assert_eq!((town.released(0), town.homes[0].calls().count()), (1, 0));
    }
}

#[test]
fn an_offer_may_come_late() {
    let mut town = Town::registered();
    town.send(0, ALICES, &invite("alice", ALICES, "carol", "c1", ""));
    let asked = town.next(0, CAROLS);
    assert!(asked.body.is_empty());
    town.send(0, CAROLS, &answer(&asked, CAROLS, 200, "k", &sdp(CAROLS, 5_000, PLAIN, "")));
    assert_eq!(code(&town.next(0, ALICES)), 100);
    let offered = town.next(0, ALICES);
    assert!(String::from_utf8(offered.body.clone()).unwrap().contains("IN IP4 10.73.5.1"));
    assert!(town.updates(0).is_empty());
    town.send(0, ALICES, &within("ACK", &offered, true, ALICES, 10, &sdp(ALICES, 4_000, PLAIN, "")));
    let ack = town.next(0, CAROLS);
    assert!(String::from_utf8(ack.body.clone()).unwrap().contains("m=audio 20004 RTP/AVP"));
    assert_eq!(town.updates(0).last().unwrap().caller.ports, ports(4_000, 4_001));
}

/// Server and client transactions of the first home.
fn open_transactions(town: &Town) -> (usize, usize) {
    let home = &town.homes[0];
    let counts = (home.transactions.server_count(), home.transactions.client_count());
    assert!(counts != (0, 0) || home.contexts.is_empty(), "what was kept for them has gone, too");
    counts
}

#[test]
fn lost_messages_are_sent_again_and_answered_once() {
    let mut town = Town::registered();
    let text = invite("alice", ALICES, "carol", "c1", "");
    town.send(0, ALICES, &text);
    town.send(0, ALICES, &text);
    assert_eq!((code(&town.next(0, ALICES)), code(&town.next(0, ALICES))), (100, 100));
    town.pass(Micros::from_millis(3_600));
    // At 0, 0.5, 1.5 and 3.5 seconds (RFC 3261 section 17.1.1.2).
    let asked: Vec<Message> = std::iter::from_fn(|| town.try_next(0, CAROLS)).collect();
    assert_eq!(asked.len(), 4);
    assert!(asked.iter().all(|each| *each == asked[0]));
    town.send(0, CAROLS, &answer(&asked[0], CAROLS, 486, "k", ""));
    assert_eq!(method(&town.next(0, CAROLS)), &Method::Ack);
    town.send(0, CAROLS, &answer(&asked[0], CAROLS, 486, "k", ""));
    assert_eq!(method(&town.next(0, CAROLS)), &Method::Ack);
    let refused = town.next(0, ALICES);
    assert_eq!(code(&refused), 486);
    town.pass(Micros::from_millis(600));
    assert_eq!(code(&town.next(0, ALICES)), 486);
    let ack = text.replace("INVITE sip", "ACK sip").replace("10 INVITE", "10 ACK");
    town.send(0, ALICES, &ack);
    town.pass(Micros::from_seconds(40));
    assert!(town.try_next(0, ALICES).is_none());
    assert_eq!(open_transactions(&town), (0, 0));
}

#[test]
fn whoever_does_not_answer_has_an_end() {
    let mut town = Town::registered();
    town.send(0, ALICES, &invite("alice", ALICES, "carol", "c1", ""));
    town.pass(Micros::from_seconds(33));
    assert_eq!(town.code(0, ALICES), 408);
    // It rings for ever.
    town.send(0, ALICES, &invite("alice", ALICES, "carol", "c2", ""));
    while let Some(asked) = town.try_next(0, CAROLS) {
        if asked.get("CSeq") == Some("10 INVITE") {
            town.send(0, CAROLS, &answer(&asked, CAROLS, 180, "k", ""));
        }
    }
    town.pass(Micros::from_seconds(250));
    let got: Vec<u16> = std::iter::from_fn(|| town.try_next(0, ALICES)).map(|each| code(&each)).collect();
    assert!(got.contains(&180) && got.last() == Some(&408), "{got:?}");
    assert_eq!(town.homes[0].calls().count(), 0);
    town.pass(Micros::from_seconds(300));
    assert_eq!(open_transactions(&town), (0, 0));
}

#[test]
fn a_call_without_media_and_signalling_is_over() {
    let mut town = Town::registered();
    talk(&mut town);
    town.pass(Micros::from_seconds(500));
    let (call, now) = (town.homes[0].calls().next().unwrap().id, town.now);
    town.homes[0].handle_media_received(call, now);
    town.pass(Micros::from_seconds(590));
    assert_eq!(town.homes[0].calls().count(), 1);
    town.pass(Micros::from_seconds(20));
    assert_eq!((town.homes[0].calls().count(), town.released(0)), (0, 1));
    for at in [ALICES, CAROLS] {
        let bye = town.next(0, at);
        assert_eq!(method(&bye), &Method::Bye);
        town.send(0, at, &answer(&bye, at, 200, "", ""));
    }
}

#[test]
fn whoever_is_no_member_any_more_has_no_call() {
    let mut town = Town::registered();
    talk(&mut town);
    let now = town.now;
    let alice = town.homes[0].names.member("alice").unwrap().clone();
    town.homes[0].set_members(vec![alice], now);
    town.settle();
    assert_eq!(method(&town.next(0, ALICES)), &Method::Bye);
    assert_eq!(town.released(0), 1);
}

#[test]
fn limits_hold() {
    let mut town = Town::new(|config| (config.calls_each_max, config.calls_max) = (2, 3));
    for (home, user, at) in [(0, "alice", ALICES), (0, "carol", CAROLS)] {
        town.register(home, user, at);
    }
    for call in ["c1", "c2"] {
        town.send(0, ALICES, &invite("alice", ALICES, "carol", call, ""));
        assert_eq!(code(&town.next(0, ALICES)), 100);
    }
    town.send(0, ALICES, &invite("alice", ALICES, "carol", "c3", ""));
    let refused = town.next(0, ALICES);
    assert_eq!((code(&refused), refused.get("Retry-After")), (503, Some("30")));
    town.has_ports = false;
    town.homes[0].calls.calls_each_max = 9;
    town.send(0, ALICES, &invite("alice", ALICES, "carol", "c4", ""));
    assert_eq!(town.code(0, ALICES), 503);
}

#[test]
fn sequence_numbers_and_timers_of_the_two_ends_pass_through() {
    let mut town = Town::registered();
    let (answered, _) = talk(&mut town);
    let update = within("UPDATE", &answered, true, ALICES, 33, "").replace(
        "Max-Forwards: 70\r\n",
        "Max-Forwards: 70\r\nSession-Expires: 1800;refresher=uac\r\nMin-SE: 90\r\nRequire: timer\r\n",
    );
    town.send(0, ALICES, &update);
    let seen = town.next(0, CAROLS);
    assert_eq!(
        (seen.get("CSeq"), seen.get("Session-Expires"), seen.get("Min-SE"), seen.get("Require")),
        (Some("33 UPDATE"), Some("1800;refresher=uac"), Some("90"), Some("timer"))
    );
}
