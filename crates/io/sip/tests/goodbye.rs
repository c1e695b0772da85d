//! Somebody hangs up on the ACK, before the stack that has sent it knows that there is a call.
#![expect(clippy::unwrap_used, reason = "the helpers of a test end it where they cannot go on")]

use guestright_sip::agent::{Agent, AgentSettings, CallEvent, Ending, Transport};
use std::fmt;
use std::net::UdpSocket;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber, span};

const DESCRIPTION: &str = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
    m=audio 4000 RTP/AVP 0\r\n";
/// What the stack writes to its log after the ACK and before it enters the call in its table.
const BETWEEN: &str = "client invite dialog confirmed";
/// A wrong answer would have come by then.
const HELD: Duration = Duration::from_millis(200);

/// Stops the thread that writes [`BETWEEN`] until it is released.
struct Hold(Mutex<Receiver<()>>);

impl Subscriber for Hold {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("rsipstack")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut sentence = Sentence(String::new());
        event.record(&mut sentence);
        if sentence.0.starts_with(BETWEEN) {
            self.0.lock().unwrap().recv().unwrap();
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Sentence(String);

impl Visit for Sentence {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

fn receive(socket: &UdpSocket) -> (String, std::net::SocketAddr) {
    let mut buffer = [0; 4_096];
    let (length, from) = socket.recv_from(&mut buffer).unwrap();
    (String::from_utf8(buffer[..length].to_vec()).unwrap(), from)
}

/// Picks up, hangs up on the ACK, releases the stack of who called, and returns the answer to the BYE.
fn quick_to_hang_up(socket: &UdpSocket, release: &Sender<()>) -> String {
    let (invite, caller) = receive(socket);
    let header = |name: &str| invite.lines().find(|line| line.starts_with(name)).unwrap().trim_end();
    let [via, from, to, id, sequence] = ["Via:", "From:", "To:", "Call-ID:", "CSeq:"].map(header);
    let own = socket.local_addr().unwrap();
    let length = DESCRIPTION.len();
    let taken = format!(
        "SIP/2.0 200 OK\r\n{via}\r\n{from}\r\n{to};tag=b\r\n{id}\r\n{sequence}\r\nContact: <sip:bob@{own}>\r\n\
         Content-Type: application/sdp\r\nContent-Length: {length}\r\n\r\n{DESCRIPTION}"
    );
    socket.send_to(taken.as_bytes(), caller).unwrap();
    while !receive(socket).0.starts_with("ACK") {}
    let (from, to) = (from.replacen("From:", "To:", 1), to.replacen("To:", "From:", 1));
    let goodbye = format!(
        "BYE sip:alice@{caller} SIP/2.0\r\nVia: SIP/2.0/UDP {own};branch=z9hG4bKbye\r\nMax-Forwards: 70\r\n\
         {to};tag=b\r\n{from}\r\n{id}\r\nCSeq: 1 BYE\r\nContent-Length: 0\r\n\r\n"
    );
    socket.send_to(goodbye.as_bytes(), caller).unwrap();
    std::thread::sleep(HELD);
    release.send(()).unwrap();
    receive(socket).0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_goodbye_right_on_the_acknowledgement_is_received() {
    let (release, held) = channel();
    tracing::subscriber::set_global_default(Hold(Mutex::new(held))).unwrap();
    let settings = AgentSettings {
        user: "alice".to_owned(),
        bind: "127.0.0.1:0".parse().unwrap(),
        transport: Transport::Udp,
        home: None,
        expires_s: 60,
    };
    let alice = Agent::start(settings).await.unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let to = format!("sip:bob@{}", socket.local_addr().unwrap());
    let bob = std::thread::spawn(move || quick_to_hang_up(&socket, &release));
    let mut call = alice.dial(&to, DESCRIPTION).unwrap();
    let ended = async {
        loop {
            if let CallEvent::Ended(ending) = call.event().await {
                return ending;
            }
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(10), ended).await;
    let answer = bob.join().unwrap();
    assert!(answer.starts_with("SIP/2.0 200 OK"), "{answer}");
    assert_eq!(ended, Ok(Ending::HungUp));
}
