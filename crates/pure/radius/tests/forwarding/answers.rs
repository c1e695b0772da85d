//! Homes, decisions, and who is let in.

use crate::stage::{
    NETWORK, Question, SECOND, hostapd, msk, realm, refused, relayed, request, response, secret, sent,
    server, station,
};
use guestright_radius::{
    Answer, Code, ConversationId, Decision, Draft, Event, ForwardingServer, Kind, Limits, Network,
    RadiusError, Relay, RelayId, Secret, Service, Wrapping,
};
use guestright_units::{Micros, Time};

fn limits() -> Limits {
    Limits::default()
}

const YES: Decision = Decision::Admit { session_timeout: None };

fn no() -> Decision {
    Decision::Refuse { sentence: "Your team owes this household.".to_owned() }
}

fn accept() -> Answer {
    Answer::Accept { msk: msk(), session_timeout: None }
}

/// A conversation whose home was asked.
fn begun(server: &mut ForwardingServer) -> (Question, Relay) {
    let question = Question::first(1, realm(7), station(1));
    question.ask(server, Time(0));
    let relay = relayed(server);
    (question, relay)
}

#[test]
fn two_yeses_let_a_member_in() {
    let mut server = server(limits());
    let mut question = Question::first(1, realm(7), station(1));
    question.proxy_states = vec![b"second hop".to_vec(), b"first".to_vec()];
    question.ask(&mut server, Time(0));
    let relay = relayed(&mut server);
    assert_eq!((relay.realm, relay.station, &relay.eap), (realm(7), station(1), &question.eap));
    assert_eq!((relay.network, relay.eap_bytes_max), (Network::parse(NETWORK).ok(), 1_400));

    let asked = request(9, 1_200);
    server.handle_answer(relay.id, Answer::Challenge { eap: asked.clone() }, Time(10));
    let challenge = sent(&mut server);
    let packet = question.verified(&challenge);
    assert_eq!(packet.joined(Kind::EAP_MESSAGE), Some(asked));
    let states: Vec<_> = packet.all(Kind::PROXY_STATE).collect();
    assert_eq!(states, [&b"second hop"[..], b"first"]);

    let question = question.next(&challenge);
    question.ask(&mut server, Time(20));
    let relay = relayed(&mut server);
    assert_eq!(relay.id.round, 2);
    let long = Some(Micros::from_seconds(7_200));
    server.handle_answer(relay.id, Answer::Accept { msk: msk(), session_timeout: long }, Time(30));
    assert_eq!(server.poll_transmit(), None, "one yes is not enough");
    let Some(Event::DecisionNeeded { conversation, realm: team, .. }) = server.poll_event() else { panic!() };
    assert_eq!(team, realm(7));
    let short = Some(Micros::from_seconds(3_600));
    server.handle_decision(conversation, Decision::Admit { session_timeout: short }, Time(40));
    let accepted = sent(&mut server);
    let packet = question.verified(&accepted);
    assert_eq!(packet.code(), Code::AccessAccept);
    assert_eq!(packet.joined(Kind::EAP_MESSAGE), Some(vec![3, question.eap[1], 0, 4]), "EAP-Success");
    let wrapping = Wrapping { secret: &secret(), request: &question.authenticator };
    assert_eq!(wrapping.read_keys(&packet), Ok(msk()));
    assert_eq!(packet.integer(Kind::SESSION_TIMEOUT), Ok(Some(3_600)), "the shorter one");
    assert_eq!(packet.integer(Kind::TERMINATION_ACTION), Ok(Some(1)));
    let Some(Event::Opened { session, session_timeout, .. }) = server.poll_event() else { panic!() };
    assert_eq!(packet.one(Kind::CLASS), Ok(Some(&session.0[..])));
    assert_eq!(session_timeout, short);
    assert_eq!((server.conversations(), server.poll_timeout()), (0, None));
}

#[test]
fn a_yes_of_the_household_may_come_first() {
    let mut server = server(limits());
    let (question, relay) = begun(&mut server);
    server.handle_decision(relay.id.conversation, YES, Time(1));
    assert_eq!(server.poll_transmit(), None, "the home has not said yes");
    server.handle_answer(relay.id, accept(), Time(2));
    assert_eq!(question.verified(&sent(&mut server)).code(), Code::AccessAccept);
    assert!(matches!(server.poll_event(), Some(Event::Opened { .. })), "and nobody is asked again");
}

#[test]
fn either_no_is_a_sentence() {
    // The home's.
    let mut machine = server(limits());
    let (question, relay) = begun(&mut machine);
    machine.handle_decision(relay.id.conversation, YES, Time(1));
    machine.handle_answer(
        relay.id,
        Answer::Reject { sentence: "this phone was\nrevoked".to_owned() },
        Time(2),
    );
    assert_eq!(
        question.sentence(&sent(&mut machine)),
        "Your home does not let you in: this phone was revoked"
    );
    assert_eq!(refused(&mut machine), "home");

    // The household's, after the home's yes, before it, and while the station is to answer.
    let mut machine = server(limits());
    let (question, relay) = begun(&mut machine);
    machine.handle_answer(relay.id, accept(), Time(1));
    machine.handle_decision(relay.id.conversation, no(), Time(2));
    assert_eq!(question.sentence(&sent(&mut machine)), "Your team owes this household.");

    let mut machine = server(limits());
    let (question, relay) = begun(&mut machine);
    machine.handle_decision(relay.id.conversation, no(), Time(1));
    assert_eq!(question.sentence(&sent(&mut machine)), "Your team owes this household.");
    machine.handle_answer(relay.id, accept(), Time(2));
    assert_eq!(machine.poll_transmit(), None, "the home's yes comes too late");

    let mut machine = server(limits());
    let (question, relay) = begun(&mut machine);
    machine.handle_answer(relay.id, Answer::Challenge { eap: request(2, 5) }, Time(1));
    let challenge = sent(&mut machine);
    machine.handle_decision(relay.id.conversation, no(), Time(2));
    assert_eq!(machine.poll_transmit(), None, "nobody waits for an answer");
    let question = question.next(&challenge);
    question.ask(&mut machine, Time(3));
    assert_eq!(question.sentence(&sent(&mut machine)), "Your team owes this household.");
    assert_eq!(refused(&mut machine), "decision");
    assert_eq!(machine.poll_event(), None, "and the home is asked nothing more");
}

#[test]
fn nobody_who_is_slow_or_away_makes_an_access_point_wait() {
    let expire = |server: &mut ForwardingServer| {
        let at = server.poll_timeout().unwrap();
        server.handle_timeout(Time(at.0 - 1));
        assert_eq!(server.poll_transmit(), None);
        server.handle_timeout(at);
        at.0 / SECOND
    };
    let mut machine = server(limits());
    let (question, relay) = begun(&mut machine);
    assert_eq!(expire(&mut machine), 8);
    assert_eq!(question.sentence(&sent(&mut machine)), "Your home did not answer in time. Try again.");
    assert_eq!(refused(&mut machine), "home-slow");
    machine.handle_answer(relay.id, accept(), Time(9 * SECOND));
    machine.handle_decision(relay.id.conversation, YES, Time(9 * SECOND));
    assert_eq!((machine.poll_transmit(), machine.poll_event()), (None, None), "a late answer does nothing");
    assert_eq!((machine.counters()["late-answer"], machine.counters()["late-decision"]), (1, 1));

    let mut machine = server(limits());
    let (question, relay) = begun(&mut machine);
    machine.handle_answer(relay.id, Answer::Away, Time(0));
    assert!(question.sentence(&sent(&mut machine)).starts_with("Your home cannot be reached from here."));

    let mut machine = server(limits());
    let (question, relay) = begun(&mut machine);
    let sentence = "Nobody knows where your home is.".to_owned();
    machine.handle_answer(relay.id, Answer::Unanswered { sentence: sentence.clone() }, Time(0));
    assert_eq!(question.sentence(&sent(&mut machine)), sentence);
    assert_eq!(refused(&mut machine), "unanswered");

    let mut machine = server(limits());
    let (question, relay) = begun(&mut machine);
    machine.handle_answer(relay.id, accept(), Time(SECOND));
    assert_eq!(expire(&mut machine), 6);
    assert!(question.sentence(&sent(&mut machine)).starts_with("This household could not decide"));

    let mut machine = server(limits());
    let (_, relay) = begun(&mut machine);
    machine.handle_answer(relay.id, Answer::Challenge { eap: request(2, 5) }, Time(SECOND));
    sent(&mut machine);
    assert_eq!(expire(&mut machine), 31);
    assert_eq!(refused(&mut machine), "station-silent");
    assert_eq!((machine.poll_transmit(), machine.conversations()), (None, 0));
}

#[test]
fn a_conversation_ends_even_if_everybody_goes_on() {
    let mut server = server(limits());
    let mut now = Time(0);
    let mut question = Question::first(1, realm(7), station(1));
    question.ask(&mut server, now);
    while let Some(Event::Relay(relay)) = server.poll_event() {
        server.handle_answer(relay.id, Answer::Challenge { eap: request(2, 5) }, now);
        let challenge = sent(&mut server);
        now = now + Micros::from_seconds(7);
        server.handle_timeout(now);
        question = question.next(&challenge);
        question.ask(&mut server, now);
    }
    assert!(now <= Time(63 * SECOND), "{now:?}");
    assert_eq!(question.sentence(&sent(&mut server)), "This attempt to join is over. Try again.");
}

#[test]
fn a_question_again_is_answered_by_the_same_bytes() {
    let mut server = server(limits());
    let (question, relay) = begun(&mut server);
    question.ask(&mut server, Time(SECOND));
    assert_eq!((server.poll_transmit(), server.poll_event()), (None, None), "its home was asked once");
    server.handle_answer(relay.id, Answer::Challenge { eap: request(2, 5) }, Time(2 * SECOND));
    let challenge = sent(&mut server);
    question.ask(&mut server, Time(3 * SECOND));
    assert_eq!(sent(&mut server), challenge);
    let next = question.next(&challenge);
    next.ask(&mut server, Time(3 * SECOND));
    question.ask(&mut server, Time(4 * SECOND));
    assert_eq!(sent(&mut server), challenge, "also when the conversation has gone on");
    assert_eq!(relayed(&mut server).id.round, 2);
    assert_eq!(server.poll_event(), None);
    // The same identifier with another authenticator is another question.
    let mut other = Question::first(1, realm(7), station(2));
    other.authenticator = [0x77; 16];
    other.ask(&mut server, Time(4 * SECOND));
    assert_eq!(relayed(&mut server).station, station(2));
    assert_eq!((server.counters()["repeated"], server.counters()["answered-again"]), (1, 2));
}

#[test]
fn an_answer_is_for_its_round() {
    let mut server = server(limits());
    let (question, relay) = begun(&mut server);
    server.handle_answer(relay.id, Answer::Challenge { eap: request(2, 5) }, Time(1));
    let question = question.next(&sent(&mut server));
    server.handle_answer(relay.id, accept(), Time(2));
    question.ask(&mut server, Time(3));
    let second = relayed(&mut server);
    server.handle_answer(relay.id, accept(), Time(4));
    let unknown = RelayId { conversation: ConversationId(99), round: 1 };
    server.handle_answer(unknown, accept(), Time(4));
    assert_eq!((server.poll_transmit(), server.poll_event()), (None, None));
    assert_eq!(server.counters()["late-answer"], 3);
    server.handle_answer(second.id, accept(), Time(5));
    assert!(matches!(server.poll_event(), Some(Event::DecisionNeeded { .. })));
}

#[test]
fn a_state_is_good_once_and_for_its_own_station() {
    let mut server = server(limits());
    let (question, relay) = begun(&mut server);
    server.handle_answer(relay.id, Answer::Challenge { eap: request(2, 5) }, Time(1));
    let good = question.next(&sent(&mut server));
    let strangers = [
        Question { station: station(2), ..good.clone() },
        Question { user_name: realm(8).anonymous_identity(), ..good.clone() },
        Question { source: ([127, 0, 0, 2], 40_000).into(), ..good.clone() },
        Question { state: Some(vec![1; 16]), ..good.clone() },
        Question { state: Some(vec![1; 3]), ..good.clone() },
    ];
    for (index, stranger) in strangers.into_iter().enumerate() {
        let identifier = 100 + u8::try_from(index).unwrap();
        let stranger = Question { identifier, ..stranger };
        stranger.ask(&mut server, Time(2));
        assert_eq!(stranger.sentence(&sent(&mut server)), "This attempt to join is over. Try again.");
        assert_eq!(refused(&mut server), "over");
    }
    good.ask(&mut server, Time(3));
    assert_eq!(relayed(&mut server).id.round, 2, "the conversation itself has not suffered");
    let again = Question { identifier: 200, ..good };
    again.ask(&mut server, Time(4));
    assert_eq!(refused(&mut server), "over", "its State was used");
}

#[test]
fn states_are_not_guessed_from_others() {
    let mut server = server(limits());
    let mut states = std::collections::BTreeSet::new();
    for number in 0..200 {
        let question = Question::first(u8::try_from(number).unwrap(), realm(7), station(number));
        question.ask(&mut server, Time(0));
        let relay = relayed(&mut server);
        server.handle_answer(relay.id, Answer::Challenge { eap: request(2, 5) }, Time(0));
        let challenge = sent(&mut server);
        let state = question.verified(&challenge).one(Kind::STATE).unwrap().unwrap().to_vec();
        assert_eq!(state.len(), 16);
        states.insert(state[..4].to_vec());
        states.insert(state[12..].to_vec());
    }
    assert_eq!(states.len(), 400, "no two have a beginning or an end in common");
}

#[test]
fn who_is_nobodys_guest_is_refused_with_a_sentence() {
    let mut server = server(limits());
    let question =
        Question { user_name: "bob@example.org".to_owned(), ..Question::first(1, realm(7), station(1)) };
    question.ask(&mut server, Time(0));
    let sentence = question.sentence(&sent(&mut server));
    assert!(sentence.starts_with("This network serves members of guestright teams"), "{sentence}");
    assert_eq!((refused(&mut server), server.conversations()), ("realm", 0));
}

#[test]
fn what_a_home_must_not_send_is_not_passed_on() {
    let long = vec![0; 1_396];
    for eap in
        [vec![], response(2, 5), vec![3, 1, 0, 4], request(2, 1_396), [&request(2, 5)[..], &long].concat()]
    {
        let mut server = server(limits());
        let (question, relay) = begun(&mut server);
        server.handle_answer(relay.id, Answer::Challenge { eap: eap.clone() }, Time(1));
        let sentence = question.sentence(&sent(&mut server));
        assert!(sentence.starts_with("Your home has sent something"), "{eap:?}: {sentence}");
        assert_eq!(refused(&mut server), "bad-answer");
    }
}

#[test]
fn the_largest_challenge_fits() {
    let mut server = server(limits());
    let mut question = Question::first(1, realm(7), station(1));
    question.framed_mtu = Some(65_535);
    question.proxy_states = vec![vec![7; 253], vec![8; 253]];
    question.ask(&mut server, Time(0));
    let relay = relayed(&mut server);
    assert_eq!(relay.eap_bytes_max, 3_072);
    server.handle_answer(relay.id, Answer::Challenge { eap: request(2, 3_067) }, Time(1));
    assert_eq!(question.verified(&sent(&mut server)).joined(Kind::EAP_MESSAGE).unwrap().len(), 3_072);
    let question =
        Question { proxy_states: vec![vec![7; 253]; 3], ..Question::first(9, realm(7), station(2)) };
    let dropped = server.handle_datagram(Service::Authentication, hostapd(), &question.bytes(), Time(2));
    assert_eq!(dropped.map_err(|error| error.kind()), Err("attribute"));
}

#[test]
fn rounds_and_bytes_have_limits() {
    for (limits, rounds) in [
        (Limits { rounds_max: 4, ..limits() }, 4),
        (Limits { eap_bytes_max: 75 + 3 * (505 + 105) + 504, ..limits() }, 4),
    ] {
        let mut server = server(limits);
        let (mut question, mut relay) = begun(&mut server);
        for round in 1.. {
            server.handle_answer(relay.id, Answer::Challenge { eap: request(2, 500) }, Time(round));
            let answer = sent(&mut server);
            if question.verified(&answer).code() == Code::AccessReject {
                assert_eq!(round, rounds);
                break;
            }
            question = question.next(&answer);
            question.ask(&mut server, Time(round));
            if let Some(Event::Relay(next)) = server.poll_event() {
                relay = next;
                continue;
            }
            assert_eq!(round, rounds);
            assert!(question.sentence(&sent(&mut server)).starts_with("Joining took too many messages"));
            break;
        }
        assert_eq!(server.conversations(), 0);
    }
}

#[test]
fn what_is_not_verified_changes_nothing() {
    let good = Question::first(1, realm(7), station(1));
    let other = Secret::new(b"another secret").unwrap();
    let status = Draft::new(Code::AccountingRequest, 1).emit_request(&secret(), [0; 16]);
    let answer = Draft::new(Code::AccessAccept, 1).emit_response(&secret(), &[0; 16]);
    let mut without = good.bytes();
    without[20] = 79;
    let no_eap = Draft::new(Code::AccessRequest, 1).emit_request(&secret(), [1; 16]);
    let not_eap = Question { eap: request(1, 9), ..good.clone() }.bytes();
    let no_station = {
        let mut draft = Draft::new(Code::AccessRequest, 1);
        draft.push(Kind::USER_NAME, b"a@b").unwrap().push_eap(&response(1, 9)).unwrap();
        draft.emit_request(&secret(), [1; 16])
    };
    #[rustfmt::skip]
    let cases = [
        ("another address",     ([192, 0, 2, 1], 40_000).into(), good.bytes(),                                     "unknown-client"),
        ("another secret",      hostapd(),                       good.draft().emit_request(&other, [1; 16]),       "authenticator"),
        ("unsigned",            hostapd(),                       without,                                          "missing"),
        ("for the other port",  hostapd(),                       status,                                           "other-service"),
        ("an answer",           hostapd(),                       answer,                                           "other-service"),
        ("cut",                 hostapd(),                       good.bytes()[..60].to_vec(),                      "length"),
        ("no EAP",              hostapd(),                       no_eap,                                           "missing"),
        ("not from a station",  hostapd(),                       not_eap,                                          "eap"),
        ("from which station?", hostapd(),                       no_station,                                       "missing"),
    ];
    for (name, source, bytes, kind) in cases {
        let mut server = server(limits());
        let dropped = server.handle_datagram(Service::Authentication, source, &bytes, Time(0));
        assert_eq!(dropped.as_ref().map_err(RadiusError::kind), Err(kind), "{name}");
        assert_eq!(
            (server.poll_transmit(), server.poll_event(), server.conversations()),
            (None, None, 0),
            "{name}"
        );
        assert_eq!(server.counters().get(kind), Some(&1), "{name}");
        good.ask(&mut server, Time(1));
        relayed(&mut server);
    }
}

#[test]
fn a_server_says_that_it_is_there() {
    for (service, code) in
        [(Service::Authentication, Code::AccessAccept), (Service::Accounting, Code::AccountingResponse)]
    {
        let mut server = server(limits());
        let query = Draft::new(Code::StatusServer, 3).emit_request(&secret(), [4; 16]);
        server.handle_datagram(service, hostapd(), &query, Time(0)).unwrap();
        let transmit = server.poll_transmit().unwrap();
        assert_eq!(transmit.service, service);
        let packet = guestright_radius::Packet::parse(&transmit.bytes).unwrap();
        packet.verify_response(&secret(), &[4; 16]).unwrap();
        assert_eq!((packet.code(), packet.one(Kind::EAP_MESSAGE)), (code, Ok(None)));
    }
}
