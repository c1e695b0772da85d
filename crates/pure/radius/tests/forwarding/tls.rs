//! What comes inside TLS (RFC 6614), beside what hostapd asks on loopback.

use crate::stage::{Question, hostapd, msk, realm, relayed, request, server, station};
use guestright_radius::{
    Answer, Code, Decision, Draft, Event, ForwardingServer, Kind, Limits, Packet, RadiusError, Secret,
    Service, Transmit, Wrapping,
};
use guestright_units::Time;
use std::net::SocketAddr;

/// A proxy on this computer: its address is hostapd's.
fn proxy(port: u16) -> SocketAddr {
    (hostapd().ip(), port).into()
}

fn ask(server: &mut ForwardingServer, question: &Question) {
    let bytes = question.draft().emit_request(&Secret::radsec(), question.authenticator);
    server.handle_datagram(Service::Tls, question.source, &bytes, Time(0)).unwrap();
}

fn answer(server: &mut ForwardingServer, question: &Question) -> Vec<u8> {
    let Transmit { service, to, bytes } = server.poll_transmit().expect("an answer");
    assert_eq!((service, to, server.poll_transmit()), (Service::Tls, question.source, None));
    Packet::parse(&bytes).unwrap().verify_response(&Secret::radsec(), &question.authenticator).unwrap();
    bytes
}

#[test]
fn a_phone_joins_through_a_proxy_that_reconnects_meanwhile() {
    let mut server = server(Limits::default());
    let first = Question { source: proxy(50_000), ..Question::first(1, realm(1), station(1)) };
    ask(&mut server, &first);
    let relay = relayed(&mut server);
    server.handle_answer(relay.id, Answer::Challenge { eap: request(9, 100) }, Time(1));
    let challenge = answer(&mut server, &first);
    let state = Packet::parse(&challenge).unwrap().one(Kind::STATE).unwrap().unwrap().to_vec();
    let second = Question {
        source: proxy(50_001),
        identifier: 2,
        authenticator: [8; 16],
        state: Some(state),
        ..first.clone()
    };
    ask(&mut server, &second);
    let relay = relayed(&mut server);
    server.handle_answer(relay.id, Answer::Accept { msk: msk(), session_timeout: None }, Time(2));
    server.handle_decision(relay.id.conversation, Decision::Admit { session_timeout: None }, Time(3));
    let accepted = answer(&mut server, &second);
    let accepted = Packet::parse(&accepted).unwrap();
    assert_eq!(accepted.code(), Code::AccessAccept);
    let wrapping = Wrapping { secret: &Secret::radsec(), request: &second.authenticator };
    assert_eq!(wrapping.read_keys(&accepted), Ok(msk()));
}

#[test]
fn what_one_door_gives_out_the_other_does_not_take() {
    let mut server = server(Limits::default());
    let first = Question { source: proxy(50_000), ..Question::first(1, realm(1), station(1)) };
    ask(&mut server, &first);
    let relay = relayed(&mut server);
    server.handle_answer(relay.id, Answer::Challenge { eap: request(9, 100) }, Time(1));
    let challenge = answer(&mut server, &first);
    let state = Packet::parse(&challenge).unwrap().one(Kind::STATE).unwrap().unwrap().to_vec();
    // The same station, address and State, by a datagram.
    let second = Question { source: hostapd(), identifier: 2, state: Some(state), ..first };
    second.ask(&mut server, Time(2));
    let refused = server.poll_transmit().unwrap();
    assert_eq!(refused.service, Service::Authentication);
    assert_eq!(second.sentence(&refused.bytes), "This attempt to join is over. Try again.");
    // Nor do their secrets.
    let question = Question::first(3, realm(1), station(2));
    let bytes = question.bytes();
    let dropped = server.handle_datagram(Service::Tls, proxy(50_000), &bytes, Time(3));
    assert!(matches!(dropped, Err(RadiusError::MessageAuthenticator { .. })), "{dropped:?}");
    let bytes = question.draft().emit_request(&Secret::radsec(), question.authenticator);
    let dropped = server.handle_datagram(Service::Authentication, hostapd(), &bytes, Time(3));
    assert!(matches!(dropped, Err(RadiusError::MessageAuthenticator { .. })), "{dropped:?}");
}

#[test]
fn one_connection_has_questions_and_reports_and_every_question_is_signed() {
    let mut server = server(Limits::default());
    let source = proxy(50_000);
    let mut report = Draft::new(Code::AccountingRequest, 1);
    report.push_integer(Kind::ACCT_STATUS_TYPE, 7).unwrap();
    report.push(Kind::NAS_IDENTIFIER, b"radio").unwrap();
    let report = report.emit_request(&Secret::radsec(), [0; 16]);
    server.handle_datagram(Service::Tls, source, &report, Time(0)).unwrap();
    assert!(matches!(server.poll_event(), Some(Event::Accounting(_))));
    let code = |server: &mut ForwardingServer| {
        let transmit = server.poll_transmit().unwrap();
        Packet::parse(&transmit.bytes).unwrap().code()
    };
    assert_eq!(code(&mut server), Code::AccountingResponse);
    let query = Draft::new(Code::StatusServer, 2).emit_request(&Secret::radsec(), [4; 16]);
    server.handle_datagram(Service::Tls, source, &query, Time(0)).unwrap();
    assert_eq!(code(&mut server), Code::AccessAccept);
    let question = Question { source, ..Question::first(3, realm(1), station(1)) };
    let mut bytes = question.draft().emit_request(&Secret::radsec(), question.authenticator);
    // Message-Authenticator is the first, and now it is another attribute, which means nothing here.
    bytes[20] = 79;
    let dropped = server.handle_datagram(Service::Tls, source, &bytes, Time(0));
    assert_eq!(dropped, Err(RadiusError::Missing { kind: Kind::MESSAGE_AUTHENTICATOR }));
    assert_eq!((server.poll_event(), server.poll_transmit()), (None, None));
}
