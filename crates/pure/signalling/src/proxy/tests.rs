//! Telephones that are lists of messages, and one or two homes between them.

mod between;
mod calls;
mod hints;
mod hostile;
mod reports;
mod rooms;

use super::*;
use crate::{NameAddress, Uri};
use std::net::{IpAddr, SocketAddr};

pub(super) const ALICE: KeyId = KeyId([0xa1; 24]);
pub(super) const BOB: KeyId = KeyId([0xb0; 24]);
pub(super) const CAROL: KeyId = KeyId([0xca; 24]);
const HOMES: [KeyId; 2] = [KeyId([0x01; 24]), KeyId([0x02; 24])];

/// Where telephones are: alice and carol at the first home, bob at the second one, with the same address as alice.
pub(super) const ALICES: &str = "10.73.5.2:5060";
pub(super) const CAROLS: &str = "10.73.5.3:5060";

/// One or two homes, their links, and what telephones have received.
pub(super) struct Town {
    pub(super) now: Time,
    pub(super) homes: Vec<Proxy>,
    pub(super) inboxes: Vec<(usize, Peer, Message)>,
    pub(super) events: Vec<(usize, Event)>,
    /// Everything that went over the link.
    pub(super) between: Vec<Message>,
    /// So many of the next messages are lost there.
    pub(super) lost: usize,
    /// What the directory knows.
    pub(super) reach: Reach,
    /// Whether callers are who their homes say.
    pub(super) is_proven: bool,
    /// Whether there are ports.
    pub(super) has_ports: bool,
    ports: u16,
}

pub(super) fn outer(home: usize) -> IpAddr {
    format!("203.0.113.{}", home + 1).parse().unwrap()
}

impl Town {
    pub(super) fn new(change: impl Fn(&mut Config)) -> Self {
        let now = Time(1_700_000_000_000_000);
        let gateway: IpAddr = "10.73.5.1".parse().unwrap();
        let homes = (0..2).map(|home| {
            let mut config = Config::new(gateway, HOMES[home]);
            change(&mut config);
            let mut proxy = Proxy::new(config, Seed::from_number(home as u64), now);
            proxy.handle_link(HOMES[1 - home], Link { address: outer(1 - home), local: outer(home) });
            let member = |name: &str, key, address: &str| Member {
                name: name.to_owned(),
                key,
                address: address.parse().unwrap(),
            };
            let members = [
                vec![member("alice", ALICE, "10.73.5.2"), member("carol", CAROL, "10.73.5.3")],
                vec![member("bob", BOB, "10.73.5.2")],
            ];
            proxy.set_members(members[home].clone(), now);
            let contact = |name: &str, key| Contact { name: name.to_owned(), key };
            proxy.set_contacts([vec![contact("bobby", BOB)], vec![contact("ally", ALICE)]][home].clone());
            proxy
        });
        let reach = Reach::Home(Found { home: HOMES[1], key: BOB });
        Self {
            now,
            homes: homes.collect(),
            inboxes: Vec::new(),
            events: Vec::new(),
            between: Vec::new(),
            lost: 0,
            reach,
            is_proven: true,
            has_ports: true,
            ports: 20_000,
        }
    }

    /// Everything registered that is there.
    pub(super) fn registered() -> Self {
        let mut town = Self::new(|_| {});
        for (home, user, at) in [(0, "alice", ALICES), (0, "carol", CAROLS), (1, "bob", ALICES)] {
            assert_eq!(town.register(home, user, at), 200);
        }
        town
    }

    pub(super) fn register(&mut self, home: usize, user: &str, at: &str) -> u16 {
        let text = format!(
            "REGISTER sip:10.73.5.1 SIP/2.0\r\nVia: SIP/2.0/UDP {at};branch=z9hG4bKr{user}{at}\r\nMax-Forwards: 70\r\n\
             From: <sip:{user}@10.73.5.1>;tag=r\r\nTo: <sip:{user}@10.73.5.1>\r\nCall-ID: r{user}{at}\r\n\
             CSeq: 1 REGISTER\r\nContact: <sip:{user}@{at}>\r\nExpires: 3600\r\n\r\n"
        );
        self.send(home, at, &text);
        self.code(home, at)
    }

    /// A telephone sends something.
    pub(super) fn send(&mut self, home: usize, at: &str, text: &str) {
        let from = Peer::Udp(at.parse().unwrap());
        let now = self.now;
        self.homes[home].handle_message(from, text.as_bytes(), now);
        self.settle();
    }

    /// Time passes.
    pub(super) fn pass(&mut self, span: Micros) {
        let end = self.now + span;
        loop {
            let due = self.homes.iter().filter_map(Proxy::poll_timeout).min().unwrap();
            self.now = due.min(end).max(self.now);
            for home in &mut self.homes {
                home.handle_timeout(self.now);
            }
            self.settle();
            if due > end {
                return;
            }
        }
    }

    /// Carries messages between homes, and does what they want, until nothing is left.
    pub(super) fn settle(&mut self) {
        let mut rounds = 0;
        loop {
            let mut is_quiet = true;
            for home in 0..2 {
                while let Some((peer, bytes)) = self.homes[home].poll_transmit() {
                    is_quiet = false;
                    self.deliver(home, peer, &bytes);
                }
                while let Some(event) = self.homes[home].poll_event() {
                    is_quiet = false;
                    self.carry_out(home, &event);
                    self.events.push((home, event));
                }
            }
            rounds += 1;
            assert!(rounds < 1_000, "the homes do not come to rest");
            if is_quiet {
                return;
            }
        }
    }

    fn deliver(&mut self, home: usize, peer: Peer, bytes: &[u8]) {
        if bytes == b"\r\n" {
            return;
        }
        let message = Message::parse(bytes).expect("what a home sends is SIP");
        assert_eq!(message.emit(), bytes, "there is one way to write it");
        if let Peer::Home(to) = peer {
            assert_eq!(to, HOMES[1 - home]);
            self.between.push(message);
            let now = self.now;
            if self.lost > 0 {
                self.lost -= 1;
                return;
            }
            self.homes[1 - home].handle_message(Peer::Home(HOMES[home]), bytes, now);
        } else {
            self.inboxes.push((home, peer, message));
        }
    }

    fn carry_out(&mut self, home: usize, event: &Event) {
        let now = self.now;
        match event {
            Event::Find { call, .. } => self.homes[home].handle_found(*call, self.reach, now),
            Event::Allocate { call, sides } => {
                let ports = sides.map(|side| {
                    self.ports += 2;
                    let address = match side {
                        Sides::Tunnel => "10.73.5.1".parse().unwrap(),
                        Sides::Between(local) => local,
                    };
                    Ports { address, media: self.ports, control: self.ports + 1 }
                });
                self.homes[home].handle_allocated(*call, self.has_ports.then_some(ports), now);
            }
            Event::Verify { call, .. } => self.homes[home].handle_verified(*call, self.is_proven, now),
            Event::Update { .. }
            | Event::Release { .. }
            | Event::Reported { .. }
            | Event::Registered { .. } => {}
        }
    }

    /// The next message that a telephone got.
    pub(super) fn next(&mut self, home: usize, at: &str) -> Message {
        self.try_next(home, at).unwrap_or_else(|| panic!("nothing for {at} at home {home}"))
    }

    pub(super) fn try_next(&mut self, home: usize, at: &str) -> Option<Message> {
        let address: SocketAddr = at.parse().unwrap();
        let is_it = |(to, peer, _): &(usize, Peer, Message)| *to == home && *peer == Peer::Udp(address);
        let index = self.inboxes.iter().position(is_it)?;
        Some(self.inboxes.remove(index).2)
    }

    /// The number of the next answer but for 100.
    pub(super) fn code(&mut self, home: usize, at: &str) -> u16 {
        loop {
            match code(&self.next(home, at)) {
                100 => {}
                code => return code,
            }
        }
    }

    pub(super) fn updates(&mut self, home: usize) -> Vec<Legs<MediaSide>> {
        let all = self.events.iter().filter_map(|(at, event)| {
            let Event::Update { sides, .. } = event else { return None };
            (*at == home).then(|| (**sides).clone())
        });
        all.collect()
    }

    pub(super) fn released(&self, home: usize) -> usize {
        self.events.iter().filter(|(at, event)| *at == home && matches!(event, Event::Release { .. })).count()
    }
}

pub(super) fn ports(media: u16, control: u16) -> Option<crate::sdp::MediaPorts> {
    Some(crate::sdp::MediaPorts { media, control })
}

pub(super) fn code(message: &Message) -> u16 {
    match message.start {
        Start::Response { code, .. } => code,
        Start::Request { .. } => panic!("a request: {message:?}"),
    }
}

pub(super) fn method(message: &Message) -> &Method {
    match &message.start {
        Start::Request { method, .. } => method,
        Start::Response { .. } => panic!("an answer: {message:?}"),
    }
}

pub(super) fn uri(message: &Message) -> Uri {
    match &message.start {
        Start::Request { uri, .. } => Uri::parse(uri).unwrap(),
        Start::Response { .. } => panic!("an answer: {message:?}"),
    }
}

/// A description as softphones write it.
pub(super) fn sdp(at: &str, port: u16, protocol: &str, more: &str) -> String {
    let host = at.split(':').next().unwrap();
    format!(
        "v=0\r\no=phone 7 1 IN IP4 {host}\r\ns=phone at {host}\r\nc=IN IP4 {host}\r\nt=0 0\r\n\
         m=audio {port} {protocol} 0 8 101\r\na=rtpmap:101 telephone-event/8000\r\na=ptime:20\r\n{more}"
    )
}

/// An INVITE as softphones write it.
pub(super) fn invite(from: &str, at: &str, to: &str, call: &str, body: &str) -> String {
    let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
    format!(
        "INVITE sip:{to}@10.73.5.1 SIP/2.0\r\nVia: SIP/2.0/UDP {at};branch=z9hG4bKi{call};rport\r\nMax-Forwards: 70\r\n\
         From: \"The President\" <sip:{from}@10.73.5.1>;tag=t{call}\r\nTo: <sip:{to}@10.73.5.1>\r\nCall-ID: {call}@{at}\r\n\
         CSeq: 10 INVITE\r\nContact: <sip:{from}@{at}>\r\nP-Asserted-Identity: <sip:president@10.73.5.1>\r\n\
         User-Agent: phone\r\nX-Network: {at}\r\nAllow: INVITE, ACK, BYE, CANCEL, REFER\r\nSupported: gruu, timer\r\n\
         {kind}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// An answer to a request, as a telephone at `at` gives it.
pub(super) fn answer(request: &Message, at: &str, code: u16, tag: &str, body: &str) -> String {
    let mut response = Message::response(code, "As You Like");
    request.values("Via").for_each(|via| response.push("Via", via));
    response.push("From", request.get("From").unwrap());
    let to = request.get("To").unwrap();
    let tagged = to.contains(";tag=");
    response.push("To", if tagged { to.to_owned() } else { format!("{to};tag={tag}") });
    response.push("Call-ID", request.get("Call-ID").unwrap());
    response.push("CSeq", request.get("CSeq").unwrap());
    response.push("Contact", format!("<sip:phone@{at};line=1>"));
    response.push("Server", format!("phone at {at}"));
    if !body.is_empty() {
        response = response.with_body("application/sdp", body.as_bytes().to_vec());
    }
    String::from_utf8(response.emit()).unwrap()
}

/// A request in the dialog that `answer` made, from the caller (`from_answer`) or the callee (of `request`).
pub(super) fn within(
    method: &str,
    seen: &Message,
    is_caller: bool,
    at: &str,
    sequence: u32,
    body: &str,
) -> String {
    let contact = NameAddress::parse(seen.get("Contact").unwrap()).unwrap().uri;
    let (from, to) = if is_caller { ("From", "To") } else { ("To", "From") };
    let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
    format!(
        "{method} {contact} SIP/2.0\r\nVia: SIP/2.0/UDP {at};branch=z9hG4bK{method}{sequence}{is_caller}\r\nMax-Forwards: 70\r\n\
         From: {}\r\nTo: {}\r\nCall-ID: {}\r\nCSeq: {sequence} {method}\r\nContact: <sip:phone@{at}>\r\n{kind}\
         Content-Length: {}\r\n\r\n{body}",
        seen.get(from).unwrap(),
        seen.get(to).unwrap(),
        seen.get("Call-ID").unwrap(),
        body.len()
    )
}
