use super::*;

fn keys() -> Vec<MasterKey> {
    SUITES
        .iter()
        .map(|suite| MasterKey::from_chance(*suite, &Zeroizing::new([7; MasterKey::LEN_MAX])))
        .collect()
}

fn side(protection: Protection, kinds: &[Kind]) -> Own {
    Own {
        session: 1,
        version: 0,
        address: "10.9.0.2:4000".parse().unwrap(),
        control_port: 4_001,
        kinds: kinds.to_vec(),
        payloads: Vec::new(),
        protection,
        digest: Some("ab".repeat(32)).filter(|_| protection == Protection::EndToEnd),
        keys: if protection == Protection::Sdes { keys() } else { Vec::new() },
        agreed: None,
    }
}

/// An offer of one side and the answer of the other, both judged.
fn exchange(offerer: &mut Own, answerer: &mut Own) -> Result<(), Refusal> {
    let offer = Description::parse(&offerer.offer(Direction::SendReceive))?;
    let answer = Description::parse(&answerer.answer(&offer, Direction::SendReceive)?)?;
    offerer.judge(&answer)
}

#[test]
fn both_sides_agree_on_the_same() {
    for protection in [Protection::Home, Protection::Sdes, Protection::EndToEnd] {
        let mut alice = side(protection, &[Kind::G722, Kind::Pcmu, Kind::Pcma]);
        let mut bob = side(protection, &[Kind::Pcma, Kind::Pcmu]);
        exchange(&mut alice, &mut bob).unwrap();
        let (here, there) = (alice.agreed.unwrap(), bob.agreed.unwrap());
        assert_eq!(
            (here.kind, there.kind),
            (Kind::Pcmu, Kind::Pcmu),
            "{protection:?}: the caller's order counts"
        );
        assert_eq!((here.payload, there.payload_here), (0, 0));
        assert_eq!(here.control, here.remote, "RTCP goes with RTP");
        match (here.guard, there.guard) {
            (Guard::Home, Guard::Home) => assert_eq!(protection, Protection::Home),
            (Guard::EndToEnd { digest: a }, Guard::EndToEnd { digest: b }) => assert_eq!(a, b),
            (Guard::Sdes { ours: a, theirs: b }, Guard::Sdes { ours: c, theirs: d }) => {
                assert!(a == d && b == c && a.profile() == Suite::AeadAes128Gcm);
            }
            _ => panic!("{protection:?}"),
        }
    }
}

#[test]
fn an_answer_with_less_protection_is_refused() {
    use Protection::{EndToEnd, Home, Sdes};
    for (want, got) in [(EndToEnd, Home), (EndToEnd, Sdes), (Sdes, Home), (Home, Sdes), (Sdes, EndToEnd)] {
        let (mut alice, mut other) = (side(want, &[Kind::Pcmu]), side(got, &[Kind::Pcmu]));
        let answer = Description::parse(&other.offer(Direction::SendReceive)).unwrap();
        let refusal = alice.judge(&answer).unwrap_err();
        assert_eq!(refusal, Refusal::Protection { want: want.name(), got: got.who_hears() });
        assert!(alice.agreed.is_none());
        let refusal = alice.answer(&answer, Direction::SendReceive).unwrap_err();
        assert!(matches!(refusal, Refusal::Protection { .. }), "{want:?} {got:?}");
    }
}

#[test]
fn protection_does_not_change_in_the_middle_of_a_call() {
    use Protection::{EndToEnd, Home, Sdes};
    for (was, later) in [(EndToEnd, Home), (EndToEnd, Sdes), (Sdes, Home)] {
        let (mut alice, mut bob) = (side(was, &[Kind::Pcmu]), side(was, &[Kind::Pcmu]));
        exchange(&mut alice, &mut bob).unwrap();
        let lower = Description::parse(&side(later, &[Kind::Pcmu]).offer(Direction::SendReceive)).unwrap();
        let refusal = alice.answer(&lower, Direction::SendReceive).unwrap_err();
        assert_eq!(refusal, Refusal::Changed { was: was.name(), got: later.who_hears() });
    }
}

#[test]
fn a_promise_of_a_key_is_kept_to_the_end() {
    let (mut alice, mut bob) =
        (side(Protection::EndToEnd, &[Kind::Pcmu]), side(Protection::EndToEnd, &[Kind::Pcmu]));
    exchange(&mut alice, &mut bob).unwrap();
    exchange(&mut bob, &mut alice).unwrap();
    bob.digest = Some("cd".repeat(32));
    assert_eq!(exchange(&mut bob, &mut alice), Err(Refusal::Digest));
}

#[test]
fn keys_stay_the_same_when_a_call_is_changed() {
    let (mut alice, mut bob) = (side(Protection::Sdes, &[Kind::Pcmu]), side(Protection::Sdes, &[Kind::Pcmu]));
    exchange(&mut alice, &mut bob).unwrap();
    let before = alice.agreed.clone().unwrap().guard;
    exchange(&mut alice, &mut bob).unwrap();
    exchange(&mut bob, &mut alice).unwrap();
    assert!(alice.agreed.unwrap().guard == before, "a new key would begin its counters anew");
}

#[test]
fn an_answer_chooses_one_of_our_suites() {
    let mut alice = side(Protection::Sdes, &[Kind::Pcmu]);
    let offer = Description::parse(&alice.offer(Direction::SendReceive)).unwrap();
    // A softphone that knows only the suite that every softphone knows.
    let mut plain = offer.clone();
    plain.crypto.retain(|crypto| crypto.suite == "AES_CM_128_HMAC_SHA1_80");
    let mut bob = side(Protection::Sdes, &[Kind::Pcmu]);
    let answer = Description::parse(&bob.answer(&plain, Direction::SendReceive).unwrap()).unwrap();
    assert_eq!(answer.crypto.iter().map(|crypto| crypto.tag).collect::<Vec<_>>(), [2]);
    alice.judge(&answer).unwrap();

    let mut wrong = answer.clone();
    wrong.crypto[0].tag = 1;
    assert_eq!(
        side(Protection::Sdes, &[Kind::Pcmu]).judge(&wrong),
        Err(Refusal::Cipher),
        "tag 1 is another suite"
    );
    let mut short = plain;
    short.crypto[0].suite = "AES_CM_128_HMAC_SHA1_32".to_owned();
    assert_eq!(
        bob.answer(&short, Direction::SendReceive).unwrap_err(),
        Refusal::Cipher,
        "checks of four bytes"
    );
}

#[test]
fn hold_is_answered_with_listening() {
    let (mut alice, mut bob) = (side(Protection::Home, &[Kind::Pcmu]), side(Protection::Home, &[Kind::Pcmu]));
    exchange(&mut alice, &mut bob).unwrap();
    let hold = Description::parse(&alice.offer(Direction::SendOnly)).unwrap();
    let answer = Description::parse(&bob.answer(&hold, Direction::SendReceive).unwrap()).unwrap();
    assert_eq!(answer.direction, Direction::ReceiveOnly);
    assert_eq!(bob.agreed.as_ref().unwrap().direction, Direction::ReceiveOnly);
    alice.judge(&answer).unwrap();
    assert_eq!(alice.agreed.as_ref().unwrap().direction, Direction::SendOnly);
    assert!(answer.version > 1 && hold.version > 1, "RFC 3264 section 8");
}

#[test]
fn a_video_stream_is_refused_in_its_place() {
    let mut bob = side(Protection::Home, &[Kind::Pcmu]);
    let text = "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 10.0.0.1\r\nt=0 0\r\n\
        m=video 5000 RTP/AVP 96\r\nm=audio 4000 RTP/AVP 8 0\r\n";
    let answer = bob.answer(&Description::parse(text).unwrap(), Direction::SendReceive).unwrap();
    let media: Vec<_> = answer.lines().filter(|line| line.starts_with("m=")).collect();
    assert_eq!(media, ["m=video 0 RTP/AVP 96", "m=audio 4000 RTP/AVP 0"]);
    assert!(
        answer.contains("a=rtcp:4001") && !answer.contains("rtcp-mux"),
        "it was not offered: {}",
        answer.as_str()
    );
    assert_eq!(bob.agreed.unwrap().control.port(), 4_001);
}

#[test]
fn without_a_codec_in_common_there_is_no_call() {
    let (mut alice, mut bob) = (side(Protection::Home, &[Kind::G722]), side(Protection::Home, &[Kind::Pcmu]));
    let refusal = exchange(&mut alice, &mut bob).unwrap_err();
    assert_eq!(refusal, Refusal::Codec { theirs: "G722, CN".to_owned() });
}

#[test]
fn each_codec_has_a_payload_type_of_its_own() {
    let kinds = [Kind::Opus48, Kind::Pcmu, Kind::Lpc10, Kind::Ima];
    let mut own = side(Protection::Home, &kinds);
    assert_eq!(own.formats().iter().map(|(_, payload)| *payload).collect::<Vec<_>>(), [96, 0, 97, 98]);
    let offer = Description::parse(&own.offer(Direction::SendReceive)).unwrap();
    assert_eq!(offer.formats[0].channels, 2, "RFC 7587 section 7");
}

#[test]
fn a_payload_type_means_the_same_codec_to_the_end_of_a_call() {
    let mut own = side(Protection::Home, &[Kind::Opus48, Kind::Pcmu, Kind::Lpc10]);
    let before = own.formats();
    own.kinds = vec![Kind::Ima, Kind::Lpc10, Kind::Opus48, Kind::Pcmu];
    let after = own.formats();
    assert_eq!(after[0], (Kind::Ima, 98));
    assert!(before.iter().all(|format| after.contains(format)), "{before:?} {after:?}");
}

#[test]
fn what_is_offered_may_come_until_there_is_an_answer() {
    let kinds = [Kind::Pcmu, Kind::G722];
    let (mut alice, mut bob) = (side(Protection::Home, &kinds), side(Protection::Home, &kinds));
    exchange(&mut alice, &mut bob).unwrap();
    assert_eq!(alice.agreed.as_ref().unwrap().offered, Offered::default());
    alice.kinds.reverse();
    let offer = Description::parse(&alice.offer(Direction::SendReceive)).unwrap();
    let offered = Offered { formats: vec![(Kind::G722, 9), (Kind::Pcmu, 0)], receives: true };
    assert_eq!(
        (alice.agreed.as_ref().unwrap().kind, &alice.agreed.as_ref().unwrap().offered),
        (Kind::Pcmu, &offered)
    );
    let answer = Description::parse(&bob.answer(&offer, Direction::SendReceive).unwrap()).unwrap();
    alice.judge(&answer).unwrap();
    let agreed = alice.agreed.as_ref().unwrap();
    assert_eq!((agreed.kind, &agreed.offered), (Kind::G722, &Offered::default()));
    drop(alice.offer(Direction::SendReceive));
    alice.withdraw();
    assert_eq!(alice.agreed.unwrap().offered, Offered::default(), "it was refused");
}
