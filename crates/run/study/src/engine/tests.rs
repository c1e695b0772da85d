//! Two calls' threads with a tool that does next to nothing.

use super::*;
use guestright_codec::Kind;
use guestright_quality::Codec as Rated;
use guestright_telephone::SoundSettings;
use guestright_voice::playout::{Config, Counts, Fixed, Incoming, Output, Playout};
use guestright_voice::session::{Frame, ReceivedPacket};
use guestright_voice::tool::{Side, Transmit};

/// `0 | number | payload`, in clear; a caller says hello, which is a packet without payload.
#[derive(Debug)]
struct Plain {
    peer: Option<SocketAddr>,
    number: u32,
    playout: Playout,
    transmits: Vec<Transmit>,
    events: Vec<Event>,
    received: Vec<ReceivedPacket>,
    summary: Summary,
}

impl Plain {
    fn new(side: Side) -> Self {
        let playout = Playout::new(Config::G711, Box::new(Fixed::new(Micros::from_millis(40))));
        let mut tool = Self {
            peer: None,
            number: 0,
            playout,
            transmits: Vec::new(),
            events: Vec::new(),
            received: Vec::new(),
            summary: Summary::default(),
        };
        if let Side::Caller { to } = side {
            tool.connect(to);
            tool.send(&[]);
        }
        tool
    }

    fn connect(&mut self, peer: SocketAddr) {
        self.peer = Some(peer);
        let connected =
            Connected { peer, name: None, is_verified: false, words: Vec::new(), protection: "anybody" };
        self.events.push(Event::Connected(connected));
    }

    fn send(&mut self, payload: &[u8]) {
        let Some(to) = self.peer else { return };
        self.number += 1;
        let bytes = [&[0][..], &self.number.to_be_bytes(), payload].concat();
        self.summary.datagrams_sent += 1;
        self.summary.sent_wire_bytes += bytes.len() as u64;
        self.transmits.insert(0, Transmit { to, bytes });
    }
}

impl Tool for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn handle_frame(&mut self, frame: &Frame<'_>, _: Time) {
        self.summary.sent += 1;
        self.summary.sent_codec_bytes += frame.payload.len() as u64;
        self.send(frame.payload);
    }

    fn handle_datagram(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        let Some(([0, number @ ..], payload)) = datagram.split_first_chunk::<5>() else {
            self.summary.refused += 1;
            return Err(ToolError::Malformed("not plain"));
        };
        if self.peer.is_none() {
            self.connect(from);
        }
        let number = u32::from_be_bytes(*number);
        if !payload.is_empty() {
            let timestamp = number.wrapping_mul(160);
            let packet = Incoming {
                sequence: number.into(),
                timestamp: timestamp.into(),
                marker: false,
                payload_type: 0,
                is_noise: false,
                payload,
                arrived: now,
            };
            let fate = self.playout.insert(&packet);
            self.received.push(ReceivedPacket::new(&packet, u16::try_from(number).unwrap(), timestamp, fate));
        }
        Ok(())
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop()
    }

    fn poll_sound(&mut self, now: Time) -> Output {
        self.playout.poll(now)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    fn poll_received(&mut self) -> Option<ReceivedPacket> {
        self.received.pop()
    }

    fn is_ready(&self) -> bool {
        self.peer.is_some()
    }

    fn leave(&mut self, _: Time) {}

    fn summary(&self) -> Summary {
        let playout: Counts = self.playout.counts();
        Summary {
            playout,
            round_trip: Some(Micros::from_millis(30)),
            buffered: self.playout.added(),
            ..self.summary.clone()
        }
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

fn begin(side: Side, socket: UdpSocket, mut line: LineSettings) -> Call {
    let codec = CodecChoice {
        name: "pcmu",
        kind: Kind::Pcmu,
        rate_hz: 8_000,
        packet_samples: 160,
        ticks_hz: 8_000,
        rated: Some(Rated::G711uPlc),
    };
    line.sound.no_card = true;
    start(Parts {
        line,
        profile: "plain",
        cipher: "none",
        codec,
        socket: Arc::new(socket),
        clock: Clock::start(),
        tool: Box::new(Plain::new(side)),
        is_accepted: true,
        opens_at_once: side != Side::Callee,
    })
    .unwrap()
}

/// News until one is as wanted.
async fn until(call: &mut Call, wanted: impl Fn(&News<EngineEvent>) -> bool) {
    while let Some(news) = call.news().await {
        if wanted(&news) {
            return;
        }
    }
    panic!("the call ended before");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_says_the_other_hears_and_the_figures_agree() {
    let folder = tempfile::tempdir().unwrap();
    let [original, recorded, packets] =
        ["said.wav", "received.wav", "call.pcapng"].map(|name| folder.path().join(name));
    std::fs::write(&original, guestright_audio::SPEECH).unwrap();
    let (here, there) = (socket(), socket());
    let to = there.local_addr().unwrap();
    let mut callee = begin(
        Side::Callee,
        there,
        LineSettings {
            sound: SoundSettings { record: Some(recorded.clone()), ..SoundSettings::default() },
            recording: Some(packets.clone()),
            ..LineSettings::default()
        },
    );
    // Somebody else speaks another language.
    socket().send_to(b"GET / HTTP/1.0", to).unwrap();
    until(&mut callee, |news| {
        matches!(news, News::Event(EngineEvent::Refused { why: ToolError::Malformed(_), count: 1, .. }))
    })
    .await;
    assert!(!recorded.exists() && !packets.exists(), "nobody has called yet, and an older recording is kept");
    let mut caller = begin(
        Side::Caller { to },
        here,
        LineSettings {
            sound: SoundSettings { play: Some(original), ..SoundSettings::default() },
            ..LineSettings::default()
        },
    );
    for call in [&mut caller, &mut callee] {
        until(call, |news| matches!(news, News::Event(EngineEvent::Connected(_)))).await;
    }
    for _ in 0..2 {
        until(&mut callee, |news| matches!(news, News::Second(second) if second.row.received > 0)).await;
    }
    let (caller, callee) = (caller.finish().await.unwrap(), callee.finish().await.unwrap());
    let number =
        |facts: &Value, name: &str| facts[name].as_f64().unwrap_or_else(|| panic!("{name} in {facts}"));
    assert_eq!(caller.facts["codec_bytes_per_s"], 8_000.0, "{}", caller.facts);
    // Five bytes before each of fifty packets, and a hello.
    let wire = number(&caller.facts, "wire_bytes_per_s");
    assert!((8_250.0..8_256.0).contains(&wire), "{wire}");
    assert_eq!((&callee.facts["refused"], &caller.facts["refused"]), (&json!(1), &json!(0)));
    let played = number(&callee.facts["played"], "packets");
    assert!(played > 50.0 && played <= number(&caller.facts, "sent"), "{}", callee.facts);
    let rating = &callee.facts["rating"];
    assert_eq!((&rating["round_trip_mean_ms"], &rating["packet_ms"]), (&json!(30.0), &json!(20.0)));
    // It holds packets for 40 ms; what a busy computer is late by is taken from that, or added.
    assert!((1.0..200.0).contains(&number(rating, "buffered_ms")), "{rating}");
    assert!((1.0..4.5).contains(&number(rating, "mos")), "{rating}");
    assert!(recorded.metadata().unwrap().len() > 16_000 && packets.metadata().unwrap().len() > 8_000);
}
