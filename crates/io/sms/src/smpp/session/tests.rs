use super::*;
use crate::Received;

const START: Time = Time(1_000_000_000);
const BIND_RESP: u32 = 0x8000_0009;
const SUBMIT: u32 = 4;
const SUBMIT_RESP: u32 = 0x8000_0004;
const DELIVER: u32 = 5;
const DELIVER_RESP: u32 = 0x8000_0005;
const ENQUIRE: u32 = 0x15;

fn at(millis: u64) -> Time {
    START + Micros::from_millis(millis)
}

fn number(text: &str) -> TelephoneNumber {
    text.parse().unwrap()
}

fn config(window: usize) -> SessionConfig {
    SessionConfig {
        system_id: "home".to_owned(),
        password: Zeroizing::new("secret08".to_owned()),
        system_type: String::new(),
        number: number("+12025550142"),
        window,
        answer_max: Micros::from_seconds(10),
        enquire_every: Micros::from_seconds(30),
    }
}

fn pdu(command: u32, status: u32, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(16 + body.len()).unwrap();
    let words = [length, command, status, sequence].map(u32::to_be_bytes).concat();
    [words, body.to_vec()].concat()
}

/// Command, status and sequence of everything that was sent.
fn sent(session: &mut Session) -> Vec<(u32, u32, u32)> {
    let word = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    std::iter::from_fn(|| session.poll_transmit())
        .map(|bytes| {
            assert_eq!(usize::try_from(word(&bytes, 0)).unwrap(), bytes.len());
            (word(&bytes, 4), word(&bytes, 8), word(&bytes, 12))
        })
        .collect()
}

fn events(session: &mut Session) -> Vec<Event> {
    std::iter::from_fn(|| session.poll_event()).collect()
}

fn message() -> ToSend {
    ToSend { to: number("+12025550177"), user_data: vec![0; 140], validity: 1 }
}

fn bound(window: usize) -> Session {
    let mut session = Session::new(config(window), START);
    assert_eq!(sent(&mut session), [(9, 0, 1)]);
    session.handle_input(&pdu(BIND_RESP, 0, 1, b"centre\0"), START);
    assert_eq!(events(&mut session), [Event::Ready("bound".to_owned())]);
    session
}

/// The whole message, byte by byte, as section 4.4.1 lays it out.
#[test]
fn a_message_is_laid_out_as_the_specification_says() {
    let mut session = bound(1);
    session.submit(1, ToSend { user_data: vec![6, 5, 4, 0x3f, 0x93, 0x3f, 0x93, 7], ..message() }, START);
    let bytes = session.poll_transmit().unwrap();
    let mut want = vec![0]; // Service type: the default.
    want.extend([1, 1]);
    want.extend(b"12025550142\0");
    want.extend([1, 1]);
    want.extend(b"12025550177\0");
    want.extend([0x40, 0, 0, 0]); // Header indicator; protocol, priority, no schedule.
    want.extend(b"000000001000000R\0"); // Ten minutes.
    want.extend([0, 0, 4, 0, 8]); // No receipt, no replacing, 8-bit data, no canned message, length.
    want.extend([6, 5, 4, 0x3f, 0x93, 0x3f, 0x93, 7]);
    assert_eq!(bytes, pdu(SUBMIT, 0, 2, &want));
}

#[test]
fn a_login_that_is_refused_or_unanswered_is_the_end() {
    let mut session = Session::new(config(1), START);
    session.handle_input(&pdu(BIND_RESP, 0x0e, 1, b""), START);
    let end = events(&mut session);
    assert!(matches!(&end[..], [Event::Ended(SmsLinkError::Login(why))] if why.contains("paswd")), "{end:?}");
    let mut session = Session::new(config(1), START);
    assert_eq!(session.poll_timeout(), Some(at(10_000)));
    session.handle_timeout(at(10_000));
    assert_eq!(events(&mut session), [Event::Ended(SmsLinkError::Silent("the login"))]);
    let long = SessionConfig { password: Zeroizing::new("ninebytes".to_owned()), ..config(1) };
    let mut session = Session::new(long.clone(), START);
    assert!(matches!(events(&mut session)[..], [Event::Ended(SmsLinkError::Login(_))]));
    assert!(!format!("{session:?} {long:?}").contains("ninebytes"));
}

#[test]
fn no_more_messages_are_under_way_than_the_window() {
    let mut session = bound(2);
    for number in 1..=3 {
        session.submit(number, message(), START);
    }
    assert_eq!(sent(&mut session), [(SUBMIT, 0, 2), (SUBMIT, 0, 3)]);
    assert!(!session.has_room());
    // Answers in another order, one of them to nothing.
    session.handle_input(&pdu(SUBMIT_RESP, 0, 3, b"id\0"), START);
    session.handle_input(&pdu(SUBMIT_RESP, 0, 99, b"id\0"), START);
    assert_eq!(sent(&mut session), [(SUBMIT, 0, 4)]);
    session.handle_input(&pdu(SUBMIT_RESP, 0x0b, 2, b""), START); // Invalid destination.
    session.handle_input(&pdu(SUBMIT_RESP, 0, 4, b"id\0"), START);
    let refused = SmsLinkError::Refused("EsmeRinvdstadr".to_owned());
    assert_eq!(events(&mut session), [Event::Sent(2), Event::Failed(1, refused), Event::Sent(3)]);
    assert!(session.has_room());
}

#[test]
fn a_gateway_with_too_much_to_do_gets_time() {
    let mut session = bound(4);
    session.submit(1, message(), START);
    let mut waits = Vec::new();
    let mut now = START;
    while let Some(&(SUBMIT, _, sequence)) = sent(&mut session).last() {
        session.handle_input(&pdu(SUBMIT_RESP, 0x58, sequence, b""), now);
        let Some(next) = session.poll_timeout().filter(|_| session.throttled.is_some()) else { break };
        session.handle_timeout(Time(next.0 - 1));
        assert_eq!(sent(&mut session), [], "not earlier");
        waits.push(next.since(now).0 / 1_000);
        now = next;
        session.handle_timeout(now);
    }
    assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000]);
    assert_eq!(events(&mut session), [Event::Failed(1, SmsLinkError::Refused("EsmeRthrottled".to_owned()))]);
}

#[test]
fn a_silent_gateway_is_tried_and_given_up() {
    let mut session = bound(1);
    session.submit(1, message(), at(1_000));
    session.submit(2, message(), at(1_000));
    session.handle_input(&pdu(SUBMIT_RESP, 0, 2, b"id\0"), at(2_000));
    sent(&mut session);
    session.handle_input(&pdu(SUBMIT_RESP, 0, 3, b"id\0"), at(3_000));
    assert_eq!(session.poll_timeout(), Some(at(33_000)));
    session.handle_timeout(at(33_000));
    assert_eq!(sent(&mut session), [(ENQUIRE, 0, 4)]);
    session.handle_input(&pdu(ENQUIRE | 0x8000_0000, 0, 4, b""), at(34_000));
    session.handle_timeout(at(64_000));
    assert_eq!(sent(&mut session), [(ENQUIRE, 0, 5)]);
    session.submit(3, message(), at(65_000));
    session.submit(4, message(), at(65_000));
    events(&mut session);
    session.handle_timeout(at(74_000));
    let silent = SmsLinkError::Silent("a message or a sign of life");
    let want = [
        Event::Failed(4, silent.clone()),        // Never left us.
        Event::Failed(3, SmsLinkError::Unknown), // Under way: it is not sent a second time.
        Event::Ended(silent),
    ];
    assert_eq!(events(&mut session), want);
    assert_eq!(session.poll_timeout(), None);
}

fn deliver(class: u8, coding: u8, ton: u8, user_data: &[u8]) -> Vec<u8> {
    let mut body = vec![0, ton, 1];
    body.extend(b"12025550177\0\x01\x0112025550142\0");
    body.extend([class, 0, 0, 0, 0, 0, 0, coding, 0, u8::try_from(user_data.len()).unwrap()]);
    body.extend(user_data);
    body
}

#[test]
fn only_data_with_a_header_is_taken_and_all_is_acknowledged() {
    let mut session = bound(1);
    let data = [6, 5, 4, 0x3f, 0x93, 0x3f, 0x93, 7];
    let received = Event::Received(Received { from: Some(number("+12025550177")), user_data: data.to_vec() });
    let nameless = Event::Received(Received { from: None, user_data: data.to_vec() });
    #[rustfmt::skip]
    let cases = [
        (deliver(0x40, 4, 1, &data), vec![received.clone()]),
        (deliver(0x43, 2, 0, &data), vec![received.clone()]),
        (deliver(0x40, 0xf5, 5, &data), vec![nameless]),
        (deliver(0x00, 4, 1, &data), vec![]), // No header.
        (deliver(0x40, 0, 1, &data), vec![]), // Text.
        (deliver(0x44, 4, 1, &data), vec![]), // A receipt.
        // Beside the message: message_payload (0x0424).
        ([deliver(0x40, 4, 1, &[]), vec![4, 0x24, 0, 8], data.to_vec()].concat(), vec![received.clone()]),
        ([deliver(0x40, 4, 1, &[]), vec![4, 0x24, 0, 141], vec![0; 141]].concat(), vec![]),
    ];
    for (sequence, (body, want)) in (1..).zip(cases) {
        session.handle_input(&pdu(DELIVER, 0, sequence, &body), START);
        assert_eq!(sent(&mut session), [(DELIVER_RESP, 0, sequence)], "{body:02x?}");
        assert_eq!(events(&mut session), want, "{body:02x?}");
    }
    session.set_receiving(false);
    session.handle_input(&pdu(DELIVER, 0, 9, &deliver(0x40, 4, 1, &data)), START);
    assert_eq!(sent(&mut session), [(DELIVER_RESP, 0x64, 9)], "the gateway is to keep it");
    assert_eq!(events(&mut session), []);
}

#[test]
fn rubbish_costs_a_message_or_the_link() {
    let mut session = bound(1);
    // A delivery that ends in the middle, then a good question: the stream goes on.
    let cut = pdu(DELIVER, 0, 7, &deliver(0x40, 4, 1, b"12345678")[..20]);
    let stream = [cut, pdu(ENQUIRE, 0, 8, b""), pdu(0x777, 0, 9, b"?"), pdu(3, 0, 10, b"")].concat();
    for byte in stream {
        session.handle_input(&[byte], START);
    }
    let nack = 0x8000_0000;
    let answers = sent(&mut session);
    assert_eq!(answers[0], (nack, 8, 7), "{answers:?}");
    assert_eq!(answers[1], (ENQUIRE | nack, 0, 8));
    assert_eq!(answers[2], (nack, 3, 9), "an unknown command");
    assert_eq!(events(&mut session), []);
    for length in [0_u32, 15, 4_097, u32::MAX] {
        let mut session = bound(1);
        session.handle_input(&[length.to_be_bytes().to_vec(), vec![0; 12]].concat(), START);
        let end = events(&mut session);
        assert!(
            matches!(&end[..], [Event::Ended(SmsLinkError::Ended(why))] if why.contains(&length.to_string()))
        );
    }
    let mut session = bound(1);
    session.handle_input(&pdu(6, 0, 3, b""), START);
    assert_eq!(sent(&mut session), [(nack | 6, 0, 3)]);
    assert!(matches!(events(&mut session)[..], [Event::Ended(_)]));
}

#[test]
fn spans_are_written_as_the_specification_says() {
    let written = |seconds| relative_time(seconds).unwrap().to_string();
    assert_eq!(written(600), "000000001000000R");
    assert_eq!(written(90_061), "000001010101000R");
    assert_eq!(written(u64::MAX), "000028000000000R");
}
