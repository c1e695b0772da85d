#![expect(clippy::wildcard_enum_match_arm, reason = "a test waits for one event among others")]

use super::*;

const OFFER: &str = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
    m=audio 4000 RTP/AVP 0\r\n";

async fn agent(user: &str, transport: Transport) -> Agent {
    let bind = "127.0.0.1:0".parse().unwrap();
    let settings = AgentSettings { user: user.to_owned(), bind, transport, home: None, expires_s: 60 };
    Agent::start(settings).await.unwrap()
}

async fn incoming(agent: &mut Agent) -> Call {
    match agent.event().await {
        AgentEvent::Incoming(call) => *call,
        other => panic!("expected a call, got {other:?}"),
    }
}

/// The next event that is not only progress.
async fn news(call: &mut Call) -> CallEvent {
    let limit = Duration::from_secs(60);
    loop {
        match tokio::time::timeout(limit, call.event()).await.expect("nothing happens") {
            CallEvent::Trying | CallEvent::Ringing => {}
            event => return event,
        }
    }
}

fn address(agent: &Agent, user: &str) -> String {
    format!("sip:{user}@{}", agent.address())
}

async fn connected(caller: &Agent, callee: &mut Agent) -> (Call, Call) {
    let mut out = caller.dial(&address(callee, "bob"), OFFER).unwrap();
    let mut taken = incoming(callee).await;
    assert_eq!(taken.offer().as_deref(), Some(OFFER));
    assert_eq!(taken.peer(), "alice@127.0.0.1");
    taken.ring();
    taken.accept(OFFER);
    let answered = news(&mut out).await;
    assert!(matches!(&answered, CallEvent::Answered { answer: Some(text) } if text == OFFER), "{answered:?}");
    let acknowledged = news(&mut taken).await;
    assert!(matches!(acknowledged, CallEvent::Acknowledged { answer: None }), "{acknowledged:?}");
    (out, taken)
}

#[tokio::test]
async fn a_call_is_made_changed_and_ended_over_udp_and_tcp() {
    for transport in [Transport::Udp, Transport::Tcp] {
        let (alice, mut bob) = (agent("alice", transport).await, agent("bob", transport).await);
        let (mut out, mut taken) = connected(&alice, &mut bob).await;

        let held = OFFER.replace("\r\nm=", "\r\na=sendonly\r\nm=");
        for _ in 0..2 {
            out.modify(&held);
            match news(&mut taken).await {
                CallEvent::Changed(change) => {
                    assert_eq!(change.offer.as_deref(), Some(held.as_str()));
                    change.accept(Some(OFFER)).await;
                }
                other => panic!("{transport:?}: {other:?}"),
            }
            let modified = news(&mut out).await;
            assert!(matches!(&modified, CallEvent::Modified { answer: Ok(Some(_)) }), "{modified:?}");
            std::mem::swap(&mut out, &mut taken);
        }

        out.probe();
        let probed = tokio::select! {
            event = news(&mut out) => event,
            event = news(&mut taken) => panic!("{event:?}"),
        };
        assert!(matches!(probed, CallEvent::Probed { is_alive: true }), "{probed:?}");
        let ended = tokio::spawn(async move { news(&mut taken).await });
        out.hang_up().await;
        assert!(matches!(ended.await.unwrap(), CallEvent::Ended(Ending::HungUp)), "{transport:?}");
    }
}

#[tokio::test]
async fn a_change_that_is_refused_leaves_the_call_as_it_was() {
    let (alice, mut bob) = (agent("alice", Transport::Udp).await, agent("bob", Transport::Udp).await);
    let (mut out, mut taken) = connected(&alice, &mut bob).await;
    out.modify(OFFER);
    match news(&mut taken).await {
        CallEvent::Changed(change) => change.refuse(488).await,
        other => panic!("{other:?}"),
    }
    assert!(matches!(news(&mut out).await, CallEvent::Modified { answer: Err(488) }));
    let ended = tokio::spawn(async move { news(&mut out).await });
    taken.hang_up().await;
    assert!(matches!(ended.await.unwrap(), CallEvent::Ended(Ending::HungUp)));
}

#[tokio::test]
async fn one_line_is_busy_when_it_is_busy() {
    let (alice, mut bob) = (agent("alice", Transport::Udp).await, agent("bob", Transport::Udp).await);
    let carol = agent("carol", Transport::Udp).await;
    let (out, taken) = connected(&alice, &mut bob).await;
    assert_eq!(alice.dial(&address(&bob, "bob"), OFFER).unwrap_err(), AgentError::Busy);
    let mut second = carol.dial(&address(&bob, "bob"), OFFER).unwrap();
    let refused = news(&mut second).await;
    assert!(matches!(refused, CallEvent::Ended(Ending::Refused { code: 486, .. })), "{refused:?}");
    drop((out, taken));
    let (_out, _taken) = connected(&alice, &mut bob).await;
}

#[tokio::test]
async fn a_call_can_be_declined_and_given_up() {
    let (alice, mut bob) = (agent("alice", Transport::Udp).await, agent("bob", Transport::Udp).await);
    let mut out = alice.dial(&address(&bob, "bob"), OFFER).unwrap();
    incoming(&mut bob).await.reject(603, "not \"now\"");
    let refused = news(&mut out).await;
    let want = Ending::Refused { code: 603, reason: "not 'now'".to_owned() };
    assert!(matches!(&refused, CallEvent::Ended(ending) if *ending == want), "{refused:?}");
    drop(out);

    let out = alice.dial(&address(&bob, "bob"), OFFER).unwrap();
    let mut taken = incoming(&mut bob).await;
    taken.ring();
    let ended = tokio::spawn(async move { news(&mut taken).await });
    out.hang_up().await;
    assert!(matches!(ended.await.unwrap(), CallEvent::Ended(Ending::Cancelled)));
}

#[tokio::test]
async fn nobody_but_the_home_is_listened_to() {
    let bind = "127.0.0.1:0".parse().unwrap();
    let home = Some("127.0.0.9:5060".parse().unwrap());
    let settings =
        AgentSettings { user: "bob".to_owned(), bind, transport: Transport::Udp, home, expires_s: 60 };
    let mut bob = Agent::start(settings).await.unwrap();
    let alice = agent("alice", Transport::Udp).await;
    let mut out = alice.dial(&address(&bob, "bob"), OFFER).unwrap();
    tokio::select! {
        event = bob.event() => panic!("{event:?}"),
        event = out.event() => panic!("{event:?}"),
        () = tokio::time::sleep(Duration::from_millis(700)) => {}
    }
}

#[tokio::test]
async fn only_sip_addresses_with_a_number_are_dialled() {
    let alice = agent("alice", Transport::Udp).await;
    for to in ["bob", "sip:127.0.0.1", "sips:bob@127.0.0.1", "tel:+3912345", "sip:bob@example.org", ""] {
        assert_eq!(alice.dial(to, OFFER).unwrap_err(), AgentError::Address { got: to.to_owned() }, "{to}");
    }
}

#[tokio::test]
async fn garbage_does_not_stop_it() {
    let (alice, mut bob) = (agent("alice", Transport::Udp).await, agent("bob", Transport::Udp).await);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let own = socket.local_addr().unwrap();
    let head = |method: &str, extra: &str| {
        format!(
            "{method} sip:bob@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP {own};branch=z9hG4bK{method}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:x@{own}>;tag=1\r\nTo: <sip:bob@127.0.0.1>{extra}\r\nCall-ID: {method}{extra}\r\n\
             CSeq: 1 {method}\r\nContact: <sip:x@{own}>\r\nContent-Length: 0\r\n\r\n"
        )
    };
    let messages = [
        "\0\u{1}garbage".to_owned(),
        "INVITE\r\n\r\n".to_owned(),
        "SIP/2.0 200 OK\r\n\r\n".to_owned(),
        head("BYE", ";tag=unknown"),
        head("INVITE", ";tag=unknown"),
        head("SUBSCRIBE", ""),
        head("CANCEL", ""),
        head("ACK", ""),
    ];
    for message in messages {
        socket.send_to(message.as_bytes(), bob.address()).unwrap();
    }
    let (_out, _taken) = connected(&alice, &mut bob).await;
}
