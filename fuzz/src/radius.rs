//! RADIUS at the access point.

use crate::seeds::Seed;
use guestright_radius::relay::{self, Conversation, Question, Sentence, What};
use guestright_radius::{
    Answer, Code, Config, Decision, Draft, Event, ForwardingServer, Kind, Limits, Msk, Packet, Realm, Secret,
    Service, Wrapping,
};
use guestright_units::{Seed as Chance, TeamId, Time};
use std::net::SocketAddr;

/// Any datagram: what is read is what is there; nothing verifies by accident; the same attributes, with a right
/// authenticator, go into the machine, and what it sends can be verified by whoever asked.
pub fn radius(bytes: &[u8]) {
    let secret = Secret::new(b"a secret of the fuzzer's").expect("a secret");
    let Ok(packet) = Packet::parse(bytes) else { return };
    let lengths: usize = packet.attributes().map(|attribute| attribute.value.len() + 2).sum();
    assert_eq!(lengths + 20, packet.as_bytes().len());
    assert!(packet.verify_response(&secret, &[0; 16]).is_err());
    let _ = Wrapping { secret: &secret, request: &[0; 16] }.read_keys(&packet);

    let mut draft = Draft::new(packet.code(), packet.identifier());
    for attribute in packet.attributes().filter(|other| other.kind != Kind::MESSAGE_AUTHENTICATOR) {
        let _ = draft.push(attribute.kind, attribute.value);
    }
    if packet.code().is_response() {
        let written = draft.emit_response(&secret, &[1; 16]);
        let again = Packet::parse(&written).expect("what is written is read");
        assert_eq!(again.verify_response(&secret, &[1; 16]), Ok(()));
        return;
    }
    let written = draft.emit_request(&secret, packet.authenticator());
    let again = Packet::parse(&written).expect("what is written is read");
    assert_eq!(again.verify_request(&secret), Ok(()));
    drive(&secret, &written, again.authenticator());
}

fn drive(secret: &Secret, question: &[u8], authenticator: [u8; 16]) {
    let source = SocketAddr::from(([127, 0, 0, 1], 9));
    let clients = [(source.ip(), secret.clone())].into();
    let config = Config { clients, reply_message: true, limits: Limits::default() };
    for answer in [
        Answer::Challenge { eap: vec![1, 7, 0, 6, 13, 0] },
        Answer::Accept { msk: Msk::new([3; 64]), session_timeout: None },
        Answer::Reject { sentence: String::from_utf8_lossy(question).into_owned() },
    ] {
        let mut server = ForwardingServer::new(config.clone(), Chance::from_number(1));
        for service in [Service::Authentication, Service::Accounting, Service::Tls] {
            let _ = server.handle_datagram(service, source, question, Time(0));
        }
        while let Some(event) = server.poll_event() {
            match event {
                Event::Relay(relay) => server.handle_answer(relay.id, answer.clone(), Time(1)),
                Event::DecisionNeeded { conversation, .. } => {
                    server.handle_decision(conversation, Decision::Admit { session_timeout: None }, Time(2));
                }
                Event::Opened { .. } | Event::Refused { .. } | Event::Accounting(_) => {}
            }
        }
        while let Some(transmit) = server.poll_transmit() {
            let packet = Packet::parse(&transmit.bytes).expect("an answer is a packet");
            assert_eq!(packet.verify_response(secret, &authenticator), Ok(()));
        }
    }
}

/// What comes over a link between homes: what is read is written the same, and is within the limits.
pub fn radius_relay(bytes: &[u8]) {
    let question = Question::parse(bytes);
    if let Ok(question) = &question {
        assert!(question.emit() == bytes && question.eap.len() <= relay::EAP_BYTES_MAX);
    }
    let Ok(answer) = relay::Answer::parse(bytes) else { return };
    assert!(question.is_err() && answer.emit() == bytes && bytes.len() <= relay::MESSAGE_BYTES_MAX);
    match answer.what {
        What::Reject { reason, .. } | What::Away { reason } => {
            assert!(reason.as_str().len() <= Sentence::BYTES_MAX && !reason.as_str().contains(['\r', '\n']));
        }
        What::Challenge { .. } | What::Accept { .. } => {}
    }
}

fn relay_seeds(seeds: &mut Vec<Seed>) {
    let conversation = Conversation([7; 16]);
    let reason = Sentence::new("The home has withdrawn this phone's certificate.");
    let accept = |home| What::Accept {
        eap: vec![3, 9, 0, 4],
        msk: Msk::new([5; 64]),
        valid_for_seconds: 31_536_000,
        home,
    };
    let question = Question { conversation, framed_mtu: Some(1_400), eap: vec![2, 1, 0, 5, 1] };
    let mut add = |name: &str, bytes: Vec<u8>| seeds.push(("radius_relay", name.to_owned(), bytes));
    add("question", question.emit());
    add("near-question", question.emit()[..22].to_vec());
    for (name, what) in [
        ("challenge", What::Challenge { eap: vec![1, 2, 0, 6, 13, 0x20] }),
        ("accept", accept(None)),
        ("accept-v4", accept(Some(SocketAddr::from(([192, 0, 2, 1], 51_820))))),
        ("accept-v6", accept(Some(SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 500))))),
        ("near-accept", accept(Some(SocketAddr::from(([0, 0, 0, 0], 1))))),
        ("reject", What::Reject { eap: vec![4, 9, 0, 4], reason: reason.clone() }),
        ("away", What::Away { reason }),
    ] {
        add(name, relay::Answer { conversation, what }.emit());
    }
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    relay_seeds(seeds);
    let secret = Secret::new(b"a secret of the fuzzer's").expect("a secret");
    let mut add = |name: &str, bytes: Vec<u8>| seeds.push(("radius", name.to_owned(), bytes));
    for (name, user) in [
        ("access", Realm(TeamId([7; 24])).anonymous_identity()),
        ("near-access", "bob@example.org".to_owned()),
    ] {
        let mut draft = Draft::new(Code::AccessRequest, 1);
        let called = b"02-AA-00-00-00-01:guests";
        let pushed = draft
            .push(Kind::USER_NAME, user.as_bytes())
            .and_then(|draft| draft.push(Kind::CALLING_STATION_ID, b"02-00-00-00-00-01"))
            .and_then(|draft| draft.push(Kind::CALLED_STATION_ID, called))
            .and_then(|draft| draft.push(Kind::PROXY_STATE, b"1"))
            .and_then(|draft| draft.push_integer(Kind::FRAMED_MTU, 1_400))
            .and_then(|draft| draft.push_eap(&[2, 1, 0, 6, 1, b'a']));
        pushed.expect("it fits");
        add(name, draft.emit_request(&secret, [1; 16]));
    }
    let mut draft = Draft::new(Code::AccountingRequest, 2);
    draft
        .push_integer(Kind::ACCT_STATUS_TYPE, 2)
        .and_then(|draft| draft.push(Kind::CLASS, &[7; 16]))
        .expect("it fits");
    add("accounting", draft.emit_request(&secret, [0; 16]));
    add("status", Draft::new(Code::StatusServer, 3).emit_request(&secret, [1; 16]));
    let mut draft = Draft::new(Code::AccessAccept, 4);
    let wrapping = Wrapping { secret: &secret, request: &[1; 16] };
    wrapping.push_keys(&mut draft, &Msk::new([3; 64]), [1, 2, 3, 4]).expect("it fits");
    add("accept", draft.emit_response(&secret, &[1; 16]));
}
