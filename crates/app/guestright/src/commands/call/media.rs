//! The voice of one call: a thread of its own, which sends and plays in time.
//!
//! In: what is agreed on, datagrams, what is said. Out: datagrams, what is heard, [`News`]. The machine is
//! [`Session`]; this is its sockets, its clock and its pace. Packets leave by deadlines that do not drift.

use super::ear::{self, Ear};
use super::offer::{Agreed as Terms, Guard};
use super::report::Second;
use super::sound::Sound;
use super::tape::Tape;
use super::{LineArgs, Protection};
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use guestright_clock::Clock;
use guestright_quality::{Analyser, AnalyserConfig, BufferConfig, Codec as Rated, Interval, Packet, Summary};
use guestright_units::{Micros, Time};
use guestright_voice::agreement::{self, Agreed, AgreementError, Prepared};
use guestright_voice::rtp::Kind as Datagram;
use guestright_voice::session::{self, Delay, DelaySource, Event, Heard, Session};
use guestright_voice::srtp::MasterKey;
use rand::Rng;
use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::mpsc as blocking;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// So many pairs of ports are tried.
const PORT_ATTEMPTS: usize = 64;
/// A datagram has at most so many bytes; the rest is cut, and the packet is then no packet.
const DATAGRAM_MAX: usize = 2_048;
/// So many datagrams are read before it is looked at the clock again.
const BATCH_MAX: usize = 64;
/// After a longer pause (the computer slept) the pace begins anew.
const BEHIND_MAX: Duration = Duration::from_millis(500);

/// Two sockets on ports that follow each other, the first one even (RFC 3550 section 11).
pub(super) struct Sockets {
    rtp: UdpSocket,
    control: UdpSocket,
    address: SocketAddr,
}

impl Sockets {
    pub(super) fn open(own: IpAddr) -> anyhow::Result<Self> {
        let mut last = None;
        for _ in 0..PORT_ATTEMPTS {
            let rtp = UdpSocket::bind((own, 0)).with_context(|| format!("open a port on {own}"))?;
            let address = rtp.local_addr()?;
            if address.port() % 2 == 1 || address.port() == u16::MAX - 1 {
                continue;
            }
            match UdpSocket::bind((own, address.port() + 1)) {
                Ok(control) => {
                    rtp.set_nonblocking(true)?;
                    control.set_nonblocking(true)?;
                    return Ok(Self { rtp, control, address });
                }
                Err(error) => last = Some(error),
            }
        }
        let reason = last.map_or_else(String::new, |error| format!(": {error}"));
        Err(anyhow!("there are no two free ports in a row on {own}{reason}"))
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn control_port(&self) -> u16 {
        self.address.port() + 1
    }
}

/// What is agreed on, and what has to be agreed on still.
pub(super) struct Stream {
    pub(super) agreed: Terms,
    pub(super) agreement: Option<(Prepared, agreement::Call)>,
}

/// What does not change during a call.
pub(super) struct MediaSettings {
    pub(super) line: LineArgs,
    pub(super) protection: Protection,
}

/// What is new in the voice.
pub(super) enum News {
    /// Keys are agreed on, and this is with whom.
    Agreed(Box<Agreed>),
    /// There will be none.
    NotAgreed(AgreementError),
    /// A second has passed.
    Second(Box<Second>),
    /// Something went wrong that does not end the call.
    Trouble(String),
}

/// The voice of a call.
pub(super) struct Media {
    orders: blocking::Sender<Order>,
    news: mpsc::Receiver<News>,
    thread: JoinHandle<Result<Outcome, Failure>>,
}

enum Order {
    Change(Box<Stream>),
    Stop,
}

/// What a call was like.
pub(super) struct Outcome {
    /// Of what was heard; nothing if nothing was.
    pub(super) heard: Option<Summary>,
    /// Seconds that were not told yet.
    pub(super) seconds: Vec<Second>,
    /// For programs.
    pub(super) facts: Value,
}

impl Media {
    /// Begins to send and to play.
    pub(super) fn start(settings: MediaSettings, sockets: Sockets, stream: Stream) -> Result<Self, Failure> {
        let (orders, ordered) = blocking::channel();
        let (news, heard) = mpsc::channel(64);
        let engine = Engine::new(settings, sockets, stream, ordered, news)?;
        let thread = std::thread::Builder::new().name("voice".to_owned()).spawn(move || engine.run())?;
        Ok(Self { orders, news: heard, thread })
    }

    /// Something was agreed on anew.
    pub(super) fn change(&self, stream: Stream) {
        // If the thread has ended, its news have said why.
        drop(self.orders.send(Order::Change(Box::new(stream))));
    }

    /// Waits for what is new; none any more when the thread has ended.
    pub(super) async fn news(&mut self) -> Option<News> {
        self.news.recv().await
    }

    /// Stops, and says how it was.
    pub(super) async fn finish(mut self) -> Result<Outcome, Failure> {
        drop(self.orders.send(Order::Stop));
        // It must not wait for us to read.
        while self.news.recv().await.is_some() {}
        let joined = tokio::task::spawn_blocking(move || self.thread.join()).await?;
        joined.map_err(|_| anyhow!("the thread of the voice ended in a panic"))?
    }
}

/// The thread's own.
struct Engine {
    sockets: Sockets,
    settings: MediaSettings,
    terms: Terms,
    session: Session,
    name: String,
    /// Those of SDES that are in use.
    keys: Option<(MasterKey, MasterKey)>,
    ear: Ear,
    round_trip: Option<Micros>,
    buffered: Option<Micros>,
    sound: Sound,
    tape: Option<Tape>,
    analyser: Analyser,
    clock: Clock,
    orders: blocking::Receiver<Order>,
    news: mpsc::Sender<News>,
    next: Instant,
    /// Datagrams of any kind.
    sent: u64,
}

impl Engine {
    fn new(
        settings: MediaSettings,
        sockets: Sockets,
        stream: Stream,
        orders: blocking::Receiver<Order>,
        news: mpsc::Sender<News>,
    ) -> Result<Self, Failure> {
        let mut clock = Clock::start();
        let now = clock.now();
        let Stream { agreed: terms, agreement } = stream;
        let rate = terms.kind.format().sample_rate_hz;
        let sound = Sound::open(&settings.line, rate)?;
        let tape = settings.line.pcapng.as_deref().map(Tape::create).transpose()?;
        let line = &settings.line;
        let ear = Ear::new(terms.kind, line.dtx).map_err(Failure::config)?;
        let keys = terms.guard.keys();
        let protection = match (agreement, &keys) {
            (Some((prepared, call)), _) => {
                session::Protection::EndToEnd { prepared: Box::new(prepared), call }
            }
            (None, Some((ours, theirs))) => {
                session::Protection::Keys { send: ours.clone(), receive: theirs.clone() }
            }
            (None, None) => session::Protection::None,
        };
        // A name that tells nobody anything (RFC 7022 section 4.2).
        let name = format!("{:08x}", guestright_clock::rng().next_u32());
        let config = ear::config(&terms, line.playout, line.dtx, line.clock_error_ms, &name);
        let policy = ear::policy(line.playout);
        let mut session = Session::new(config, protection, policy, &guestright_clock::seed(), now);
        session.set_direction(direction(&terms));
        let analyser = Analyser::new(analyser_config(&terms));
        let next = Instant::now();
        Ok(Self {
            sockets,
            settings,
            terms,
            session,
            name,
            keys,
            ear,
            round_trip: None,
            buffered: None,
            sound,
            tape,
            analyser,
            clock,
            orders,
            news,
            next,
            sent: 0,
        })
    }

    fn run(mut self) -> Result<Outcome, Failure> {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Change(stream)) => self.change(*stream)?,
                Ok(Order::Stop) | Err(blocking::TryRecvError::Disconnected) => return self.finish(),
                Err(blocking::TryRecvError::Empty) => {}
            }
            self.wait()?;
            self.read();
            self.pace()?;
            let now = self.clock.now();
            self.session.handle_timeout(now);
            self.drain();
            self.tell(now);
        }
    }

    /// Waits until a packet is there, or the next one of ours is due.
    fn wait(&self) -> std::io::Result<()> {
        let left = self.next.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut sockets = [
            PollFd::new(&self.sockets.rtp, PollFlags::IN),
            PollFd::new(&self.sockets.control, PollFlags::IN),
        ];
        match rustix::event::poll(&mut sockets, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&mut self) {
        let mut buffer = [0; DATAGRAM_MAX];
        for _ in 0..BATCH_MAX {
            let mut is_idle = true;
            for is_control in [false, true] {
                let socket = if is_control { &self.sockets.control } else { &self.sockets.rtp };
                // What an ICMP message says of an earlier packet is an error here too; the call goes on.
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                is_idle = false;
                let at = self.clock.now();
                self.datagram(&buffer[..length], from, is_control, at);
            }
            if is_idle {
                break;
            }
        }
    }

    fn datagram(&mut self, bytes: &[u8], from: SocketAddr, is_control: bool, at: Time) {
        let port = if is_control { self.sockets.control_port() } else { self.sockets.address.port() };
        self.record_packet(at, from, SocketAddr::new(self.sockets.address.ip(), port), bytes);
        if let Err(error) = self.session.handle_datagram(bytes, from, at) {
            tracing::trace!(%error, "dropped a datagram");
        }
        while let Some(heard) = self.session.poll_heard() {
            self.analyser.handle_packet(&packet(&heard));
        }
    }

    /// Sends and plays what is due.
    fn pace(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        if now < self.next {
            return Ok(());
        }
        if now > self.next + BEHIND_MAX {
            self.next = now;
        }
        let period = Duration::from_micros(self.terms.kind.format().packet_us());
        self.next += period;
        let at = self.clock.now();
        let samples = self.terms.kind.format().packet_samples;
        // What is said before there are keys is not said at all: the file begins when it can be heard.
        if self.session.is_ready() {
            let spoken = self.sound.take(samples)?;
            self.ear.say(&spoken, &mut self.session, at)?;
            let heard = self.ear.hear(samples, &mut self.session, at);
            self.sound.put(&heard)?;
        }
        Ok(())
    }

    /// Sends what is to be sent, and passes on what happened.
    fn drain(&mut self) {
        while let Some(transmit) = self.session.poll_transmit() {
            let Some(peer) = transmit.to else { continue };
            let multiplexed = self.terms.control == self.terms.remote;
            let by_control = transmit.kind == Datagram::Rtcp && !multiplexed;
            let (socket, port, to) = if by_control {
                let control = SocketAddr::new(peer.ip(), peer.port().saturating_add(1));
                let control = if peer == self.terms.remote { self.terms.control } else { control };
                (&self.sockets.control, self.sockets.control_port(), control)
            } else {
                (&self.sockets.rtp, self.sockets.address.port(), peer)
            };
            let at = self.clock.now();
            // A network that is gone for a moment is lost packets, no more.
            if socket.send_to(&transmit.bytes, to).is_ok() {
                self.sent += 1;
                self.record_packet(at, SocketAddr::new(self.sockets.address.ip(), port), to, &transmit.bytes);
            }
        }
        while let Some(event) = self.session.poll_event() {
            let news = match event {
                Event::Agreed(agreed) => News::Agreed(agreed),
                Event::NotAgreed(error) => News::NotAgreed(error),
                Event::PeerMoved { to } => {
                    News::Trouble(format!("the other side's voice comes from {to} now"))
                }
                Event::SourceChanged { .. }
                | Event::PayloadTypeChanged { .. }
                | Event::Collision { .. }
                | Event::PeerLeft => continue,
            };
            // The other end reads until it has stopped us.
            drop(self.news.blocking_send(news));
        }
    }

    fn record_packet(&mut self, at: Time, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if let Some(tape) = &mut self.tape
            && let Err(error) = tape.packet(at, from, to, bytes)
        {
            self.tape = None;
            drop(self.news.try_send(News::Trouble(format!("the capture ends here: {error}"))));
        }
    }

    /// The seconds that are over.
    fn tell(&mut self, now: Time) {
        while let Some(row) = self.session.poll_row() {
            (self.round_trip, self.buffered) = (row.round_trip, row.buffered);
        }
        self.analyser.handle_timeout(now);
        while let Some(second) = self.second() {
            // If nobody reads, a second is not shown; the summary still counts it.
            drop(self.news.try_send(News::Second(Box::new(second))));
        }
    }

    fn second(&mut self) -> Option<Second> {
        let row = self.analyser.poll_row()?;
        Some(Second {
            row,
            round_trip: self.round_trip.map(duration),
            playout: self.buffered.map(duration),
            protection: self.settings.protection.name(),
        })
    }

    /// Something was agreed on anew: a direction, a codec, an address, a key.
    fn change(&mut self, stream: Stream) -> Result<(), Failure> {
        let terms = stream.agreed;
        let line = &self.settings.line;
        if terms.kind != self.terms.kind {
            self.ear = Ear::new(terms.kind, line.dtx).map_err(Failure::config)?;
            self.sound.set_codec_rate(terms.kind.format().sample_rate_hz);
        }
        self.session.set_config(ear::config(&terms, line.playout, line.dtx, line.clock_error_ms, &self.name));
        self.session.set_direction(direction(&terms));
        let keys = terms.guard.keys();
        // Keys that stay go on with their counters.
        if keys != self.keys
            && let Some((ours, theirs)) = &keys
        {
            self.session.set_keys(ours, theirs);
        }
        self.keys = keys;
        self.terms = terms;
        Ok(())
    }

    fn finish(mut self) -> Result<Outcome, Failure> {
        let now = self.clock.now();
        self.session.finish(now);
        self.drain();
        self.analyser.finish();
        let seconds = std::iter::from_fn(|| self.second()).collect();
        let summary = self.analyser.summary();
        let counted = self.session.summary();
        let facts = json!({
            "codec": self.terms.kind.to_string(),
            "media_address": self.sockets.address.to_string(),
            "sent": counted.sent,
            "datagrams_sent": self.sent,
            "withheld": counted.withheld,
            "refused": counted.refused,
            "played": played(&counted),
            "peer_lost": counted.peer_lost,
            "round_trip_ms": counted.round_trip.map(|way| way.as_seconds() * 1e3),
            "round_trip_least_ms": counted.round_trip_min.map(|way| way.as_seconds() * 1e3),
            "clock_contradictions": counted.contradictions,
            "clock_error_ms": self.settings.line.clock_error_ms,
            "heard": serde_json::to_value(&summary)?,
        });
        self.sound.finish()?;
        if let Some(tape) = self.tape {
            tape.finish().context("finish the capture")?;
        }
        let heard = (summary.counts.received > 0).then_some(summary);
        Ok(Outcome { heard, seconds, facts })
    }
}

/// The codec as the E-model knows it; all of ours conceal what is lost.
fn analyser_config(terms: &Terms) -> AnalyserConfig {
    let format = terms.kind.format();
    let codec = Rated::from_encoding(format.encoding_name, format.clock_rate_hz).map(Rated::concealed);
    // As `guestright mos` has it by default, so that both say the same.
    let buffer = BufferConfig::FOLLOWING;
    AnalyserConfig { codec, buffer, ..AnalyserConfig::unknown(format.clock_rate_hz) }
}

/// A packet as the analyser wants it. A delay that only the round trip bounds is an interval too.
fn packet(heard: &Heard) -> Packet {
    Packet {
        sequence: heard.sequence,
        timestamp: heard.timestamp,
        marker: heard.marker,
        payload_bytes: heard.payload_bytes,
        arrival: heard.arrival,
        delay_ms: heard.delay.and_then(interval),
    }
}

/// Where the clocks contradict the round trip, nothing is believed.
fn interval(delay: Delay) -> Option<Interval> {
    let bounds = Interval::new(delay.low.as_seconds() * 1e3, delay.high.as_seconds() * 1e3);
    match delay.source {
        DelaySource::Clocks | DelaySource::RoundTrip => Some(bounds),
        DelaySource::Contradiction => None,
    }
}

fn direction(terms: &Terms) -> session::Direction {
    session::Direction { send: terms.direction.sends(), receive: terms.direction.receives() }
}

fn duration(span: Micros) -> Duration {
    Duration::from_micros(span.0)
}

fn played(counted: &session::Summary) -> Value {
    let counts = &counted.playout;
    json!({
        "packets": counts.played,
        "late": counts.late,
        "lost": counts.lost,
        "overflow": counts.overflow,
        "skipped": counts.skipped,
        "concealed": counts.concealed,
        "talkspurts": counts.talkspurts,
    })
}

impl Guard {
    /// The keys that are there from the beginning: ours and theirs.
    pub(super) fn keys(&self) -> Option<(MasterKey, MasterKey)> {
        match self {
            Self::Sdes { ours, theirs } => Some((ours.clone(), theirs.clone())),
            Self::Home | Self::EndToEnd { .. } => None,
        }
    }
}
