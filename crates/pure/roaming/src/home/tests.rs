use super::*;
use guestright_identity::{SecretKey, Suite};
use rand::SeedableRng as _;
use rand::rngs::StdRng;

const START: UnixSeconds = UnixSeconds(1_800_000_000);
const AP: Peer = 1;
const MEMBER: Peer = 2;

/// A server of a team, and two programs of that.
fn server() -> (TeamServer, StdRng) {
    let mut rng = StdRng::seed_from_u64(1);
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let id = team.public().team_id();
    let counters = StrangerCounters::default();
    let mut server = TeamServer::new(Config::default(), id, [], vec![], counters, START.time());
    for (peer, role) in [(AP, Role::AccessPoint), (MEMBER, Role::Member)] {
        let key = SecretKey::generate(Suite::Ed25519, &mut rng);
        let certificate = Certificate::issue(&team, key.public(), role, START, START.plus(9_000));
        server.handle_connected(peer, certificate, START.time()).unwrap();
    }
    while server.poll_transmit().is_some() {}
    (server, rng)
}

fn says() -> Message {
    Message::Says { reference: 5, version: 1, answer: b"all is well".to_vec() }
}

#[test]
fn access_points_alone_are_asked_and_answer() {
    let (mut server, mut rng) = server();
    let asked = server.ask_access_points(5, 1);
    assert_eq!(asked.iter().map(|(peer, _)| *peer).collect::<Vec<_>>(), [AP]);
    let sent: Vec<_> = std::iter::from_fn(|| server.poll_transmit()).collect();
    let question = Message::Asks { reference: 5, version: 1, what: Inquiry::Overview };
    assert_eq!(sent, [(AP, question.emit())]);
    server.handle_input(AP, &says().emit(), &mut rng, START.time());
    let answer = b"all is well".to_vec();
    assert_eq!(server.poll_event(), Some(Event::Answered { peer: AP, reference: 5, version: 1, answer }));
}

#[test]
fn nobody_else_of_the_team_answers_or_asks() {
    let (mut server, mut rng) = server();
    let asks = Message::Asks { reference: 5, version: 1, what: Inquiry::Overview };
    for (peer, message) in [(MEMBER, says()), (MEMBER, asks.clone()), (AP, asks), (7, says())] {
        server.handle_input(peer, &message.emit(), &mut rng, START.time());
        let event = server.poll_event();
        let is_refused = matches!(event, Some(Event::Refused { kind: "unexpected", .. }));
        assert_eq!(is_refused, peer != 7, "{event:?}");
        assert!(!matches!(event, Some(Event::Answered { .. })));
    }
}

#[test]
fn a_certificate_that_has_ended_answers_no_more() {
    let (mut server, mut rng) = server();
    server.handle_input(AP, &says().emit(), &mut rng, START.plus(9_001).time());
    assert!(matches!(server.poll_event(), Some(Event::Refused { kind: "certificate", .. })));
}
