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

fn list(devices: &[u8]) -> BlockedDevices {
    BlockedDevices::new(devices.iter().map(|number| [2, 0, 0, 0, 0, *number])).unwrap()
}

fn block(reference: Reference, devices: &[u8]) -> Message {
    Message::Asks { reference, version: 1, what: Inquiry::BlockDevices(list(devices)) }
}

fn sent(server: &mut TeamServer) -> Vec<(Peer, Message)> {
    let all = std::iter::from_fn(|| server.poll_transmit());
    all.map(|(peer, bytes)| (peer, Message::parse(&bytes).unwrap())).collect()
}

#[test]
fn a_guests_session_is_ended_by_its_own_access_point() {
    let (mut server, mut rng) = server();
    let key = |server: &TeamServer, wanted| server.peers().find(|(peer, ..)| *peer == wanted).unwrap().2;
    let (ap, member) = (key(&server, AP), key(&server, MEMBER));
    assert!(server.end_guest(ap, GuestId(7), 5));
    let what = Inquiry::EndGuest(GuestId(7));
    assert_eq!(sent(&mut server), [(AP, Message::Asks { reference: 5, version: 1, what })]);
    assert!(!server.end_guest(member, GuestId(7), 6), "a member serves nobody");
    server.handle_disconnected(AP);
    assert!(!server.end_guest(ap, GuestId(7), 7));
    assert!(sent(&mut server).is_empty());
    let outcome = Outcome::Done { ended: 1 };
    let done = Message::SaysOutcome { reference: 5, version: 1, outcome: outcome.clone() };
    server.handle_input(AP, &done.emit(), &mut rng, START.time());
    assert_eq!(server.poll_event(), None, "it has gone");
}

#[test]
fn what_an_access_point_did_is_its_word_alone() {
    let (mut server, mut rng) = server();
    let outcome = Outcome::Failed { reason: "the disk is full".to_owned() };
    let failed = Message::SaysOutcome { reference: 5, version: 1, outcome: outcome.clone() };
    server.handle_input(AP, &failed.emit(), &mut rng, START.time());
    assert_eq!(server.poll_event(), Some(Event::Acted { peer: AP, reference: 5, outcome }));
    server.handle_input(MEMBER, &failed.emit(), &mut rng, START.time());
    assert!(matches!(server.poll_event(), Some(Event::Refused { kind: "unexpected", .. })));
}

#[test]
fn nobody_of_the_team_has_the_home_end_a_session_or_block_a_device() {
    let (mut server, mut rng) = server();
    server.set_blocked_devices(list(&[1]), 1);
    let _ = sent(&mut server);
    let end = Message::Asks { reference: 9, version: 1, what: Inquiry::EndGuest(GuestId(7)) };
    for peer in [AP, MEMBER] {
        for message in [block(9, &[]), end.clone()] {
            server.handle_input(peer, &message.emit(), &mut rng, START.time());
            assert!(matches!(server.poll_event(), Some(Event::Refused { kind: "unexpected", .. })));
            let answers = sent(&mut server);
            assert!(matches!(answers[..], [(to, Message::Erro { .. })] if to == peer), "{answers:?}");
        }
    }
    assert_eq!(reconnect(&mut server, &mut rng), [(9, block(1, &[1]))], "the list is as it was");
}

/// Another access point of the team connects; what it is sent.
fn reconnect(server: &mut TeamServer, rng: &mut StdRng) -> Vec<(Peer, Message)> {
    let team = SecretKey::generate(Suite::Ed25519, &mut StdRng::seed_from_u64(1));
    let key = SecretKey::generate(Suite::Ed25519, rng);
    let certificate = Certificate::issue(&team, key.public(), Role::AccessPoint, START, START.plus(9_000));
    server.handle_connected(9, certificate, START.time()).unwrap();
    sent(server)
}

#[test]
fn every_access_point_has_the_latest_list_and_one_that_connects_has_it_first() {
    let (mut server, mut rng) = server();
    assert_eq!(reconnect(&mut server, &mut rng), [], "there is no list yet");
    server.ask_access_points(1, 1);
    server.set_blocked_devices(list(&[1]), 2);
    let asked = server.set_blocked_devices(list(&[1, 2]), 3);
    assert_eq!(asked.iter().map(|(peer, _)| *peer).collect::<Vec<_>>(), [AP, 9]);
    let overview = |peer| (peer, Message::Asks { reference: 1, version: 1, what: Inquiry::Overview });
    let (first, second) = ((AP, block(3, &[1, 2])), (9, block(3, &[1, 2])));
    assert_eq!(sent(&mut server), [first, second, overview(AP), overview(9)], "the older one is not sent");
    server.handle_disconnected(9);
    assert_eq!(reconnect(&mut server, &mut rng), [(9, block(3, &[1, 2]))]);
    server.set_blocked_devices(list(&[]), 4);
    server.handle_disconnected(AP);
    assert_eq!(sent(&mut server), [(9, block(4, &[]))], "nobody is blocked, which has to be said too");
}

#[test]
fn a_queue_that_is_full_does_not_lose_the_list() {
    let (mut server, mut rng) = server();
    server.set_blocked_devices(list(&[1]), 2);
    for _ in 0..2 * Config::default().transmits_max {
        server.handle_input(MEMBER, b"nonsense", &mut rng, START.time());
    }
    let sent = sent(&mut server);
    assert_eq!(sent.len(), Config::default().transmits_max + 1);
    assert_eq!(sent[0], (AP, block(2, &[1])));
}

#[test]
fn a_certificate_that_has_ended_answers_no_more() {
    let (mut server, mut rng) = server();
    server.handle_input(AP, &says().emit(), &mut rng, START.plus(9_001).time());
    assert!(matches!(server.poll_event(), Some(Event::Refused { kind: "certificate", .. })));
}
