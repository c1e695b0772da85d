//! Calls between two homes.

use super::*;
use crate::sdp::{Keys, Mode};

const PLAIN: &str = "RTP/AVP";
const SAFE: &str = "RTP/SAVP";

/// Alice calls bob, who answers with this. What bob was asked, and what alice got last.
fn call(town: &mut Town, offer: &str, reply: &str) -> (Message, Message) {
    town.send(0, ALICES, &invite("alice", ALICES, "bobby", "c1", offer));
    let asked = town.next(1, ALICES);
    town.send(1, ALICES, &answer(&asked, ALICES, 200, "k", reply));
    let got = std::iter::from_fn(|| town.try_next(0, ALICES)).last().unwrap();
    (asked, got)
}

fn text(message: &Message) -> String {
    String::from_utf8(message.emit()).unwrap()
}

fn keys(side: &MediaSide) -> Keys {
    side.keys.clone().unwrap()
}

#[test]
fn homes_protect_what_telephones_do_not() {
    let mut town = Town::registered();
    let (asked, answered) = call(&mut town, &sdp(ALICES, 4_000, PLAIN, ""), &sdp(ALICES, 5_000, PLAIN, ""));
    assert_eq!(code(&answered), 200);
    assert!(
        text(&asked).contains("RTP/AVP 0 8 101\r\n") && !text(&asked).contains("crypto"),
        "{}",
        text(&asked)
    );
    assert!(text(&answered).contains("RTP/AVP 0 8 101\r\n") && !text(&answered).contains("crypto"));
    let offers: Vec<&Message> = town.between.iter().filter(|each| !each.body.is_empty()).collect();
    assert_eq!(offers.len(), 2);
    for offer in offers {
        let content = text(offer);
        for wanted in
            ["RTP/SAVP", "a=crypto:1 AEAD_AES_128_GCM inline:", "a=guestright-protection:home", "a=rtcp-mux"]
        {
            assert!(content.contains(wanted), "{content}");
        }
    }
    let (at_one, at_two) = (town.updates(0).pop().unwrap(), town.updates(1).pop().unwrap());
    assert_eq!((at_one.caller.keys.clone(), at_two.callee.keys.clone()), (None, None));
    let (here, there) = (keys(&at_one.callee), keys(&at_two.caller));
    assert!(here.ours == there.theirs && here.theirs == there.ours && here.ours != here.theirs);
    assert_eq!(at_one.callee.source, Source::Between(outer(1)));
    assert_eq!(town.homes[0].calls().next().unwrap().mode, Some(Mode::Homes));
}

#[test]
fn between_homes_people_are_keys_and_networks_are_not_told() {
    let mut town = Town::registered();
    let (asked, _) = call(&mut town, &sdp(ALICES, 4_000, PLAIN, ""), &sdp(ALICES, 5_000, PLAIN, ""));
    assert_eq!(asked.get("From"), Some("\"ally\" <sip:ally@10.73.5.1>;tag=tc1"));
    let (alice, bob) = (ALICE.to_string(), BOB.to_string());
    for message in &town.between {
        let content = text(message);
        for secret in ["10.73.5", "alice", "bob", "President", "sip:phone", "ally"] {
            assert!(!content.contains(secret), "{secret} in {content}");
        }
        assert!(content.contains(&alice) && content.contains(&bob), "{content}");
    }
    let status = [0, 1].map(|home| town.homes[home].calls().next().unwrap().who);
    assert_eq!(
        status,
        [["alice", "bobby"], ["ally", "bob"]]
            .map(|[caller, callee]| Legs { caller, callee }.map(str::to_owned))
    );
}

#[test]
fn what_the_members_protect_passes_as_it_is() {
    let mut town = Town::registered();
    let more = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\na=guestright-agreement:1 abcdef\r\n";
    let (asked, answered) = call(&mut town, &sdp(ALICES, 4_000, SAFE, more), &sdp(ALICES, 5_000, SAFE, more));
    for message in [&asked, &answered] {
        let content = text(message);
        assert!(
            content.contains(SAFE)
                && content.contains("AES_CM_128")
                && content.contains("a=guestright-agreement:1 abcdef\r\n")
        );
        assert!(!content.contains("guestright-protection"), "{content}");
    }
    for home in [0, 1] {
        let sides = town.updates(home).pop().unwrap();
        assert!(sides.iter().all(|side| side.is_opaque && side.keys.is_none()));
        assert_eq!(town.homes[home].calls().next().unwrap().mode, Some(Mode::EndToEnd));
    }
}

#[test]
fn protection_is_never_taken_off_on_the_way() {
    // A telephone that answers a protected offer without protection.
    let mut town = Town::registered();
    let (_, got) = call(&mut town, &sdp(ALICES, 4_000, SAFE, ""), &sdp(ALICES, 5_000, PLAIN, ""));
    assert_eq!(code(&got), 488);
    assert!(got.get("Warning").unwrap().contains("from end to end"), "{got:?}");
    assert_eq!((town.homes[0].calls().count(), town.homes[1].calls().count()), (0, 0));
    let received: Vec<Message> = std::iter::from_fn(|| town.try_next(1, ALICES)).collect();
    assert_eq!(received.iter().map(|each| method(each).name()).collect::<Vec<_>>(), ["ACK", "BYE"]);

    // A change of a protected call to one without.
    let mut town = Town::registered();
    let (_, answered) = call(&mut town, &sdp(ALICES, 4_000, SAFE, ""), &sdp(ALICES, 5_000, SAFE, ""));
    town.send(0, ALICES, &within("ACK", &answered, true, ALICES, 10, ""));
    town.send(0, ALICES, &within("INVITE", &answered, true, ALICES, 11, &sdp(ALICES, 4_000, PLAIN, "")));
    let got = std::iter::from_fn(|| town.try_next(0, ALICES)).last().unwrap();
    assert_eq!(code(&got), 488);
    assert_eq!(town.homes[0].calls().count(), 1);
}

#[test]
fn another_home_gets_no_unprotected_voice_in_or_out() {
    let mut town = Town::registered();
    let raw = |body: &str| {
        invite(&ALICE.to_string(), ALICES, &BOB.to_string(), "x", body)
            .replace("<sip:president@10.73.5.1>", &format!("<sip:{ALICE}@home.invalid>"))
    };
    let marked = "a=guestright-protection:home\r\n";
    for (number, (body, warning)) in [
        (sdp(ALICES, 4_000, PLAIN, ""), "voice between homes has to be protected"),
        (sdp(ALICES, 4_000, SAFE, marked), "no key"),
        ("v=0\r\n".to_owned(), "not understood"),
    ]
    .into_iter()
    .enumerate()
    {
        let request = raw(&body).replace("z9hG4bKix", &format!("z9hG4bKi{number}"));
        let now = town.now;
        town.homes[1].handle_message(Peer::Home(HOMES[0]), request.as_bytes(), now);
        let mut refused = None;
        while let Some(event) = town.homes[1].poll_event() {
            town.carry_out(1, &event);
        }
        while let Some((_, bytes)) = town.homes[1].poll_transmit() {
            refused = Some(Message::parse(&bytes).unwrap());
        }
        let refused = refused.unwrap();
        assert_eq!(code(&refused), 488, "{refused:?}");
        assert!(refused.get("Warning").unwrap().contains(warning), "{refused:?}");
        assert!(town.try_next(1, ALICES).is_none());
    }
}

#[test]
fn a_home_vouches_for_its_callers_and_for_nobody_elses() {
    let mut town = Town::registered();
    // Carol is no contact of bob's.
    town.send(0, CAROLS, &invite("carol", CAROLS, "bobby", "c1", ""));
    let from = town.next(1, ALICES).get("From").unwrap().to_owned();
    assert!(from.starts_with("\"not a contact: cacacacacaca\" <sip:cacaca"), "{from}");
    // A home that alice has not named as hers says that she calls.
    let mut town = Town::registered();
    town.is_proven = false;
    town.send(0, ALICES, &invite("alice", ALICES, "bobby", "c1", ""));
    let from = town.next(1, ALICES).get("From").unwrap().to_owned();
    assert!(from.starts_with("\"not proven: a1a1"), "{from}");
    // Contacts only.
    let mut town = Town::registered();
    town.homes[1].config.strangers = false;
    town.send(0, CAROLS, &invite("carol", CAROLS, "bobby", "c1", ""));
    assert_eq!(town.code(0, CAROLS), 403);
    town.is_proven = false;
    town.send(0, ALICES, &invite("alice", ALICES, "bobby", "c2", ""));
    assert_eq!(town.code(0, ALICES), 403);
    town.is_proven = true;
    town.send(0, ALICES, &invite("alice", ALICES, "bobby", "c3", ""));
    assert_eq!(method(&town.next(1, ALICES)), &Method::Invite);
}

#[test]
fn a_home_that_cannot_be_found_or_reached_is_said_so() {
    for (reach, want) in
        [(Reach::Unknown, 404), (Reach::Away, 480), (Reach::Home(Found { home: HOMES[0], key: BOB }), 480)]
    {
        let mut town = Town::registered();
        town.reach = reach;
        town.send(0, ALICES, &invite("alice", ALICES, "bobby", "c1", ""));
        assert_eq!(town.code(0, ALICES), want, "{reach:?}");
        assert_eq!(town.homes[0].calls().count(), 0);
    }
    // The link breaks while it rings.
    let mut town = Town::registered();
    town.send(0, ALICES, &invite("alice", ALICES, "bobby", "c1", ""));
    let now = town.now;
    town.homes[0].handle_unreachable(Peer::Home(HOMES[1]), now);
    town.settle();
    assert_eq!(town.code(0, ALICES), 503);
}

#[test]
fn a_change_keeps_the_homes_keys() {
    let mut town = Town::registered();
    let (_, answered) = call(&mut town, &sdp(ALICES, 4_000, PLAIN, ""), &sdp(ALICES, 5_000, PLAIN, ""));
    town.send(0, ALICES, &within("ACK", &answered, true, ALICES, 10, ""));
    while town.try_next(1, ALICES).is_some() {}
    let before = keys(&town.updates(0).pop().unwrap().callee);
    town.send(
        0,
        ALICES,
        &within("INVITE", &answered, true, ALICES, 11, &sdp(ALICES, 4_010, PLAIN, "a=sendonly\r\n")),
    );
    let asked = town.next(1, ALICES);
    assert!(text(&asked).contains("a=sendonly"));
    town.send(1, ALICES, &answer(&asked, ALICES, 200, "", &sdp(ALICES, 5_000, PLAIN, "a=recvonly\r\n")));
    let sides = town.updates(0).pop().unwrap();
    assert_eq!((keys(&sides.callee), sides.caller.ports), (before, ports(4_010, 4_011)));
}

#[test]
fn what_another_home_drops_is_sent_again() {
    let mut town = Town::registered();
    let (offer, reply) = (sdp(ALICES, 4_000, PLAIN, ""), sdp(ALICES, 5_000, PLAIN, ""));
    town.lost = 1;
    town.send(0, ALICES, &invite("alice", ALICES, "bobby", "c1", &offer));
    assert!(town.try_next(1, ALICES).is_none());
    town.pass(Micros::from_millis(600));
    let asked = town.next(1, ALICES);
    town.send(1, ALICES, &answer(&asked, ALICES, 200, "k", &reply));
    let accepted = std::iter::from_fn(|| town.try_next(0, ALICES)).last().unwrap();
    assert_eq!(code(&accepted), 200);
    town.send(0, ALICES, &within("ACK", &accepted, true, ALICES, 10, ""));
    assert_eq!(method(&town.next(1, ALICES)), &Method::Ack);
    // The question and the answer, each once.
    town.lost = 1;
    town.send(0, ALICES, &within("BYE", &accepted, true, ALICES, 11, ""));
    assert!(town.try_next(1, ALICES).is_none());
    town.pass(Micros::from_millis(600));
    let bye = town.next(1, ALICES);
    assert_eq!(method(&bye), &Method::Bye);
    town.lost = 1;
    town.send(1, ALICES, &answer(&bye, ALICES, 200, "k", ""));
    assert!(town.try_next(0, ALICES).is_none());
    town.pass(Micros::from_seconds(2));
    assert_eq!(town.code(0, ALICES), 200);
    assert!(town.try_next(1, ALICES).is_none(), "a telephone is asked once");
}
