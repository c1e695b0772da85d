//! One transaction layer, its peers being lists of messages, and virtual time.

use super::*;
use proptest::prelude::*;

const START: Time = Time(1_000_000_000);
const LIMITS: Limits = Limits { transactions_max: 4, ring_max: Micros::from_seconds(185) };

fn udp() -> Peer {
    Peer::Udp("192.0.2.2:5060".parse().unwrap())
}

fn tcp() -> Peer {
    Peer::Tcp("192.0.2.2:5060".parse().unwrap())
}

fn request(method: Method, branch: &str) -> Message {
    Message::request(method.clone(), "sip:bob@192.0.2.2")
        .with("Via", format!("SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK{branch}"))
        .with("Max-Forwards", 70)
        .with("From", "<sip:alice@192.0.2.1>;tag=a")
        .with("To", "<sip:bob@192.0.2.2>")
        .with("Call-ID", "call")
        .with("CSeq", format!("7 {method}"))
}

fn response(request: &Message, code: u16) -> Message {
    let mut response = Message::response(code, "As You Like");
    response.copy_headers(request, &["Via", "From"]);
    response.push("To", "<sip:bob@192.0.2.2>;tag=b");
    response.copy_headers(request, &["Call-ID", "CSeq"]);
    response
}

/// A layer and its clock.
struct Bench {
    layer: Transactions,
    now: Time,
    events: Vec<(u64, Event)>,
    /// What was sent: the second since the beginning, in thousandths, and a word that tells what it was.
    sent: Vec<(u64, String)>,
}

impl Bench {
    fn new() -> Self {
        Self { layer: Transactions::new(LIMITS), now: START, events: Vec::new(), sent: Vec::new() }
    }

    fn drain(&mut self) {
        let at = self.now.since(START).0 / 1_000;
        while let Some((_, bytes)) = self.layer.poll_transmit() {
            let word = match Message::parse(&bytes).unwrap().start {
                Start::Request { method, .. } => method.to_string(),
                Start::Response { code, .. } => code.to_string(),
            };
            self.sent.push((at, word));
        }
        while let Some(event) = self.layer.poll_event() {
            self.events.push((at, event));
        }
    }

    /// Time passes until so many milliseconds after the beginning, timer by timer.
    fn pass_until(&mut self, end_ms: u64) {
        let end = START + Micros::from_millis(end_ms);
        while let Some(due) = self.layer.poll_timeout().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.layer.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
    }

    fn send(&mut self, peer: Peer, request: Message) -> ClientKey {
        let key = self.layer.send_request(peer, request, self.now).unwrap();
        self.drain();
        key
    }

    fn answer(&mut self, from: Peer, response: &Message) -> Result<Option<ClientKey>, TransactionError> {
        let answered = self.layer.handle_response(from, response, self.now);
        self.drain();
        answered
    }

    fn receive(&mut self, from: Peer, request: &Message) -> Result<Incoming, TransactionError> {
        let received = self.layer.handle_request(from, request, self.now);
        self.drain();
        received
    }

    fn receive_new(&mut self, from: Peer, request: &Message) -> ServerKey {
        let Ok(Incoming::New { key, .. }) = self.receive(from, request) else { panic!("it is not new") };
        key
    }

    fn respond(&mut self, key: &ServerKey, request: &Message, code: u16) {
        self.layer.respond(key, &response(request, code), self.now);
        self.drain();
    }

    /// When this was sent, in ms.
    fn times(&self, word: &str) -> Vec<u64> {
        self.sent.iter().filter(|(_, each)| each == word).map(|(at, _)| *at).collect()
    }

    fn count(&self) -> (usize, usize) {
        (self.layer.server_count(), self.layer.client_count())
    }
}

#[test]
fn an_invite_doubles_its_interval_and_fails_after_32_seconds() {
    let mut bench = Bench::new();
    let key = bench.send(udp(), request(Method::Invite, "1"));
    bench.pass_until(60_000);
    // Timers A and B (RFC 3261 section 17.1.1.2).
    assert_eq!(bench.times("INVITE"), [0, 500, 1_500, 3_500, 7_500, 15_500, 31_500]);
    let [(32_000, Event::NoResponse { key: failed, response })] = bench.events.as_slice() else {
        panic!("{:?}", bench.events)
    };
    assert_eq!((failed, response.code()), (&key, Some(408)));
    assert_eq!((bench.count(), bench.layer.poll_timeout()), ((0, 0), None));
}

#[test]
fn other_requests_are_repeated_every_four_seconds_at_most() {
    let mut bench = Bench::new();
    bench.send(udp(), request(Method::Bye, "1"));
    bench.pass_until(60_000);
    // Timers E and F (RFC 3261 section 17.1.2.2).
    let times = [0, 500, 1_500, 3_500, 7_500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500];
    assert_eq!(bench.times("BYE"), times);
    assert!(matches!(bench.events.as_slice(), [(32_000, Event::NoResponse { .. })]), "{:?}", bench.events);
}

#[test]
fn a_provisional_response_stops_an_invite_and_slows_the_others() {
    let mut bench = Bench::new();
    let (invite, info) = (request(Method::Invite, "1"), request(Method::Info, "2"));
    let key = bench.send(udp(), invite.clone());
    bench.send(udp(), info.clone());
    assert_eq!(bench.answer(udp(), &response(&invite, 180)), Ok(Some(key)));
    assert!(matches!(bench.answer(udp(), &response(&info, 100)), Ok(Some(_))));
    bench.pass_until(20_000);
    assert_eq!(bench.times("INVITE"), [0]);
    assert_eq!(bench.times("INFO"), [0, 4_000, 8_000, 12_000, 16_000, 20_000]);
}

#[test]
fn whoever_rings_for_too_long_is_cancelled_and_then_given_up() {
    let mut bench = Bench::new();
    let invite = request(Method::Invite, "1");
    bench.send(tcp(), invite.clone());
    bench.answer(tcp(), &response(&invite, 180)).unwrap();
    bench.pass_until(300_000);
    // Timer C, and a last chance to answer with 487. The CANCEL itself gets no answer either.
    assert_eq!(bench.times("CANCEL"), [185_000]);
    let ended: Vec<u64> = bench.events.iter().map(|(at, _)| *at).collect();
    assert_eq!((ended, bench.count()), (vec![217_000, 217_000], (0, 0)));
}

#[test]
fn a_failure_is_acknowledged_each_time_and_given_to_the_user_once() {
    let mut bench = Bench::new();
    let invite = request(Method::Invite, "1");
    let key = bench.send(udp(), invite.clone());
    let busy = response(&invite, 486);
    assert_eq!(bench.answer(udp(), &busy), Ok(Some(key.clone())));
    bench.pass_until(10_000);
    assert_eq!(bench.answer(udp(), &busy), Ok(None));
    assert_eq!(bench.times("ACK"), [0, 10_000]);
    // Timer D.
    bench.pass_until(60_000);
    assert_eq!((bench.events.clone(), bench.count()), (vec![(32_000, Event::ClientEnded(key))], (0, 0)));
    assert_eq!(bench.answer(udp(), &busy), Err(TransactionError::Unmatched));
}

#[test]
fn the_ack_of_a_failure_has_the_branch_of_its_invite_and_the_tag_of_the_response() {
    let mut bench = Bench::new();
    let invite = request(Method::Invite, "1");
    bench.layer.send_request(udp(), invite.clone(), START).unwrap();
    bench.layer.poll_transmit().unwrap();
    bench.layer.handle_response(udp(), &response(&invite, 404), START).unwrap();
    let (peer, bytes) = bench.layer.poll_transmit().unwrap();
    let ack = Message::parse(&bytes).unwrap();
    assert_eq!((peer, ack.get("Via")), (udp(), invite.get("Via")));
    assert_eq!((ack.get("To"), ack.get("CSeq")), (Some("<sip:bob@192.0.2.2>;tag=b"), Some("7 ACK")));
}

#[test]
fn a_success_is_given_to_the_user_each_time() {
    let mut bench = Bench::new();
    let invite = request(Method::Invite, "1");
    let key = bench.send(udp(), invite.clone());
    for _ in 0..3 {
        assert_eq!(bench.answer(udp(), &response(&invite, 200)), Ok(Some(key.clone())));
    }
    assert!(bench.times("ACK").is_empty(), "ACK of a 2xx response is the user's");
    // Timer M.
    bench.pass_until(60_000);
    assert_eq!(bench.events, [(32_000, Event::ClientEnded(key))]);
}

#[test]
fn nothing_is_repeated_over_a_reliable_way() {
    let mut bench = Bench::new();
    let bye = request(Method::Bye, "1");
    let key = bench.send(tcp(), bye.clone());
    bench.pass_until(20_000);
    assert_eq!(bench.times("BYE"), [0]);
    assert_eq!(bench.answer(tcp(), &response(&bye, 200)), Ok(Some(key.clone())));
    // Timer K is 0.
    bench.pass_until(20_000);
    assert_eq!((bench.events.clone(), bench.count()), (vec![(20_000, Event::ClientEnded(key))], (0, 0)));
}

#[test]
fn a_cancel_waits_until_the_other_side_knows_of_the_invite() {
    let mut bench = Bench::new();
    let invite = request(Method::Invite, "1");
    let key = bench.send(udp(), invite.clone());
    bench.layer.cancel(&key, bench.now);
    bench.drain();
    assert!(bench.times("CANCEL").is_empty());
    // The ringing is not for the user any more.
    assert_eq!(bench.answer(udp(), &response(&invite, 180)), Ok(None));
    assert_eq!(bench.times("CANCEL"), [0]);
    bench.layer.cancel(&key, bench.now);
    bench.drain();
    assert_eq!(bench.times("CANCEL"), [0], "once is enough");
    assert_eq!(bench.answer(udp(), &response(&invite, 487)), Ok(Some(key.clone())));
    assert!(!bench.layer.is_waiting(&key));
}

#[test]
fn a_response_counts_from_the_host_that_was_asked_alone() {
    let mut bench = Bench::new();
    let options = request(Method::Options, "1");
    bench.send(udp(), options.clone());
    let ok = response(&options, 200);
    let stranger = Peer::Udp("192.0.2.3:5060".parse().unwrap());
    assert_eq!(bench.answer(stranger, &ok), Err(TransactionError::WrongSource));
    let home = Peer::Home(guestright_identity::KeyId([1; 24]));
    assert_eq!(bench.answer(home, &ok), Err(TransactionError::WrongSource));
    let malformed = Message::response(200, "OK").with("CSeq", "7 OPTIONS");
    assert_eq!(bench.answer(udp(), &malformed), Err(TransactionError::MalformedHeader));
    let other = response(&request(Method::Info, "1"), 200);
    assert_eq!(bench.answer(udp(), &other), Err(TransactionError::Unmatched));
    // Another port of the same host will do.
    assert!(matches!(bench.answer(Peer::Udp("192.0.2.2:9".parse().unwrap()), &ok), Ok(Some(_))));
}

#[test]
fn an_unreachable_peer_fails_what_waits_for_it() {
    let mut bench = Bench::new();
    let (waits, done) = (request(Method::Invite, "1"), request(Method::Bye, "2"));
    let key = bench.send(udp(), waits);
    bench.send(udp(), done.clone());
    bench.answer(udp(), &response(&done, 200)).unwrap();
    bench.layer.handle_unreachable(tcp());
    bench.drain();
    assert!(bench.events.is_empty());
    bench.layer.handle_unreachable(udp());
    bench.drain();
    let [(0, Event::NoResponse { key: failed, response })] = bench.events.as_slice() else {
        panic!("{:?}", bench.events)
    };
    assert_eq!((failed, response.code(), response.get("CSeq")), (&key, Some(503), Some("7 INVITE")));
}

#[test]
fn a_request_that_comes_again_is_answered_again_and_is_not_new() {
    let mut bench = Bench::new();
    let bye = request(Method::Bye, "1");
    let key = bench.receive_new(udp(), &bye);
    assert_eq!(bench.receive(udp(), &bye), Ok(Incoming::Absorbed));
    assert!(bench.sent.is_empty(), "there is no answer yet");
    bench.respond(&key, &bye, 200);
    bench.pass_until(10_000);
    assert_eq!(bench.receive(udp(), &bye), Ok(Incoming::Absorbed));
    assert_eq!(bench.times("200"), [0, 10_000]);
    // A second final answer is none.
    bench.respond(&key, &bye, 500);
    assert!(bench.times("500").is_empty());
    // Timer J.
    bench.pass_until(60_000);
    assert_eq!((bench.events.clone(), bench.count()), (vec![(32_000, Event::ServerEnded(key))], (0, 0)));
    assert!(matches!(bench.receive(udp(), &bye), Ok(Incoming::New { .. })));
}

#[test]
fn the_same_branch_of_another_peer_is_another_transaction() {
    let mut bench = Bench::new();
    let bye = request(Method::Bye, "1");
    bench.receive_new(udp(), &bye);
    bench.receive_new(tcp(), &bye);
    assert_eq!(bench.count(), (2, 0));
}

#[test]
fn a_failure_is_repeated_until_its_ack_comes() {
    let (invite, ack) = (request(Method::Invite, "1"), request(Method::Ack, "1"));
    let mut bench = Bench::new();
    let key = bench.receive_new(udp(), &invite);
    bench.respond(&key, &invite, 100);
    bench.respond(&key, &invite, 486);
    bench.pass_until(9_000);
    // Timer G.
    assert_eq!(bench.times("486"), [0, 500, 1_500, 3_500, 7_500]);
    assert_eq!(bench.receive(udp(), &ack), Ok(Incoming::Absorbed));
    // Timer I.
    bench.pass_until(60_000);
    assert_eq!(bench.times("486").len(), 5);
    assert_eq!(bench.events, [(14_000, Event::ServerEnded(key))]);
}

#[test]
fn a_failure_without_ack_has_an_end() {
    let invite = request(Method::Invite, "1");
    for (peer, sent) in [(udp(), 11), (tcp(), 1)] {
        let mut bench = Bench::new();
        let key = bench.receive_new(peer, &invite);
        bench.respond(&key, &invite, 486);
        bench.pass_until(60_000);
        // Timer H.
        assert_eq!(
            (bench.times("486").len(), bench.events.clone()),
            (sent, vec![(32_000, Event::ServerEnded(key))])
        );
    }
}

#[test]
fn a_success_is_not_repeated_here_and_its_ack_goes_on() {
    let (invite, ack) = (request(Method::Invite, "1"), request(Method::Ack, "1"));
    let mut bench = Bench::new();
    let key = bench.receive_new(udp(), &invite);
    bench.respond(&key, &invite, 200);
    bench.respond(&key, &invite, 200);
    assert_eq!(bench.receive(udp(), &invite), Ok(Incoming::Absorbed));
    assert_eq!(bench.receive(udp(), &ack), Ok(Incoming::Ack));
    // Timer L.
    bench.pass_until(60_000);
    assert_eq!((bench.times("200"), bench.events.len()), (vec![0, 0], 1));
}

#[test]
fn an_invite_that_the_user_forgets_may_be_answered_once_when_its_time_is_over() {
    let invite = request(Method::Invite, "1");
    let limit_ms = (LIMITS.ring_max.0 + 2 * TRANSACTION_MAX.0) / 1_000;
    let mut bench = Bench::new();
    let key = bench.receive_new(udp(), &invite);
    bench.respond(&key, &invite, 100);
    bench.pass_until(limit_ms);
    assert_eq!(bench.events, [(limit_ms, Event::Unanswered(key.clone()))]);
    bench.respond(&key, &invite, 408);
    bench.pass_until(2 * limit_ms);
    assert_eq!((bench.times("408"), bench.count()), (vec![limit_ms], (0, 0)));
    // Without an answer it ends as well.
    let key = bench.receive_new(udp(), &invite);
    bench.respond(&key, &invite, 100);
    bench.pass_until(4 * limit_ms);
    assert_eq!(bench.count(), (0, 0));
    assert_eq!(bench.events.last().map(|(_, event)| event), Some(&Event::ServerEnded(key)));
}

#[test]
fn limits_hold_on_both_sides() {
    let mut bench = Bench::new();
    for number in 0..LIMITS.transactions_max {
        let bye = request(Method::Bye, &number.to_string());
        bench.receive_new(udp(), &bye);
        bench.send(udp(), bye);
    }
    let more = request(Method::Bye, "more");
    assert_eq!(bench.receive(udp(), &more), Err(TransactionError::TooMany));
    assert_eq!(bench.layer.send_request(udp(), more, START), Err(TransactionError::TooMany));
    let no_branch = Message::request(Method::Bye, "sip:a@b").with("Via", "SIP/2.0/UDP 192.0.2.1;branch=1");
    assert_eq!(bench.receive(udp(), &no_branch), Err(TransactionError::NoReturnPath));
    assert_eq!(bench.layer.send_request(udp(), no_branch, START), Err(TransactionError::NoReturnPath));
}

#[test]
fn a_cancel_that_finds_no_room_is_reported() {
    let mut bench = Bench::new();
    let invite = request(Method::Invite, "0");
    let key = bench.send(udp(), invite.clone());
    for number in 1..LIMITS.transactions_max {
        bench.send(udp(), request(Method::Bye, &number.to_string()));
    }
    bench.answer(udp(), &response(&invite, 180)).unwrap();
    bench.layer.cancel(&key, bench.now);
    bench.drain();
    assert_eq!(bench.events, [(0, Event::CancelDropped(key))]);
}

/// Something that a user or a network may do.
#[derive(Clone, Debug)]
enum Step {
    Send(bool),
    Receive(u8, bool),
    Respond(usize, u16),
    Answer(usize, u16),
    Cancel(usize),
    Unreachable,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let code = prop::sample::select(vec![100_u16, 180, 200, 302, 408, 486, 487, 603]);
    prop_oneof![
        any::<bool>().prop_map(Step::Send),
        (0_u8..3, any::<bool>()).prop_map(|(branch, invite)| Step::Receive(branch, invite)),
        (any::<usize>(), code.clone()).prop_map(|(which, code)| Step::Respond(which, code)),
        (any::<usize>(), code).prop_map(|(which, code)| Step::Answer(which, code)),
        any::<usize>().prop_map(Step::Cancel),
        Just(Step::Unreachable),
        (0_u64..40_000).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_every_transaction_ends_once(steps in prop::collection::vec(step(), 0..40)) {
        let mut bench = Bench::new();
        let (mut clients, mut servers) = (Vec::new(), Vec::new());
        let method = |invite: bool| if invite { Method::Invite } else { Method::Bye };
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Send(invite) => {
                    let request = request(method(invite), &format!("c{number}"));
                    let sent = bench.layer.send_request(udp(), request.clone(), bench.now);
                    clients.extend(sent.ok().map(|key| (key, request)));
                }
                Step::Receive(branch, invite) => {
                    let request = request(method(invite), &format!("s{branch}"));
                    if let Ok(Incoming::New { key, .. }) = bench.receive(udp(), &request) {
                        servers.push((key, request));
                    }
                }
                Step::Respond(which, code) if !servers.is_empty() => {
                    let (key, request) = servers[which % servers.len()].clone();
                    bench.respond(&key, &request, code);
                }
                Step::Answer(which, code) if !clients.is_empty() => {
                    let (_, request) = clients[which % clients.len()].clone();
                    let _ = bench.answer(udp(), &response(&request, code));
                }
                Step::Cancel(which) if !clients.is_empty() => {
                    let (key, _) = clients[which % clients.len()].clone();
                    bench.layer.cancel(&key, bench.now);
                }
                Step::Unreachable => bench.layer.handle_unreachable(udp()),
                Step::Wait(ms) => bench.pass_until(bench.now.since(START).0 / 1_000 + ms),
                Step::Respond(..) | Step::Answer(..) | Step::Cancel(_) => {}
            }
            bench.drain();
            let (server_count, client_count) = bench.count();
            prop_assert!(server_count <= LIMITS.transactions_max && client_count <= LIMITS.transactions_max);
        }
        bench.pass_until(bench.now.since(START).0 / 1_000 + 1_000_000);
        prop_assert_eq!((bench.count(), bench.layer.poll_timeout()), ((0, 0), None));
        let ended = |wanted: &ClientKey| bench.events.iter().filter(|(_, event)| match event {
            Event::NoResponse { key, .. } | Event::ClientEnded(key) => key == wanted,
            Event::Unanswered(_) | Event::ServerEnded(_) | Event::CancelDropped(_) => false,
        }).count();
        for (key, _) in &clients {
            prop_assert_eq!(ended(key), 1);
        }
        let ended = bench.events.iter().filter(|(_, event)| matches!(event, Event::ServerEnded(_))).count();
        prop_assert_eq!(ended, servers.len());
    }
}
