//! What telephones say of calls that are over.

use super::*;

/// The body of a report of this call.
fn report(call: &str, score: &str) -> String {
    format!(
        "VQSessionReport: CallTerm\r\nCallID: {call}\r\nLocalMetrics:\r\nQualityEst: MOSLQ={score} MOSCQ=3.0\r\n"
    )
}

/// What a member's telephone is answered that sends this.
fn publish(town: &mut Town, at: &str, number: u32, event: &str, body: &str) -> u16 {
    let text = format!(
        "PUBLISH sip:10.73.5.1 SIP/2.0\r\nVia: SIP/2.0/UDP {at};branch=z9hG4bKp{number}\r\nMax-Forwards: 70\r\n\
         From: <sip:alice@10.73.5.1>;tag=p\r\nTo: <sip:alice@10.73.5.1>\r\nCall-ID: p{number}\r\nCSeq: 1 PUBLISH\r\n\
         Event: {event}\r\nContent-Type: application/vq-rtcpxr\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    town.inboxes.clear();
    town.send(0, at, &text);
    town.code(0, at)
}

fn reported(town: &Town) -> Vec<u16> {
    let score = |(_, event): &(usize, Event)| {
        let Event::Reported { mos_hundredths } = event else { return None };
        Some(*mos_hundredths)
    };
    town.events.iter().filter_map(score).collect()
}

#[test]
fn a_member_says_once_how_a_call_was_in_which_it_talked() {
    let mut town = Town::registered();
    let (answered, asked) = super::calls::talk(&mut town);
    let [own, other] = [&answered, &asked].map(|message| message.get("Call-ID").unwrap().to_owned());
    let say = |town: &mut Town, at, number, call: &str, score| {
        publish(town, at, number, "vq-rtcpxr", &report(call, score))
    };
    assert_eq!(say(&mut town, ALICES, 1, &own, "4.1"), 481, "it is not over");
    town.send(0, CAROLS, &within("BYE", &asked, false, CAROLS, 1, ""));
    assert_eq!(say(&mut town, CAROLS, 2, &own, "1.0"), 481, "another's");
    assert_eq!(publish(&mut town, ALICES, 3, "presence", &report(&own, "4.1")), 489);
    assert_eq!(publish(&mut town, ALICES, 4, "vq-rtcpxr", "VQSessionReport: CallTerm\r\n"), 400);
    assert_eq!(reported(&town), [0; 0]);
    assert_eq!(say(&mut town, ALICES, 5, &own, "4.1"), 200);
    assert_eq!(say(&mut town, ALICES, 6, &own, "1.0"), 481, "twice");
    assert_eq!(say(&mut town, CAROLS, 7, &other, "3.5"), 200);
    assert_eq!(reported(&town), [410, 350]);
}

#[test]
fn a_report_is_no_longer_than_it_need_be() {
    let mut town = Town::registered();
    let long = report("c1", "4.1") + &"X: y\r\n".repeat(1_000);
    assert_eq!(publish(&mut town, ALICES, 1, "vq-rtcpxr", &long), 415);
}
