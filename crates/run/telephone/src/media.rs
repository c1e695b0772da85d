//! The voice of one call: a thread of its own, which sends and plays in time.
//!
//! In: what is agreed on, datagrams, what is said. Out: datagrams, sound to play, [`News`]. The machine is
//! [`Session`]; this is its sockets, its clock and its pace. Packets leave by deadlines that do not drift.

use crate::driver::{self, BATCH_MAX, DATAGRAM_MAX, Driver, News, Order, Outcome, Pace, Voice};
use crate::ear::{self, Ear};
use crate::offer::{Agreed as Terms, Guard};
use crate::{LineSettings, Playout, Protection, TelephoneError, VoiceSettings};
use guestright_clock::Clock;
use guestright_quality::{AnalyserConfig, BufferConfig, Codec as Rated};
use guestright_units::Time;
use guestright_voice::agreement::{self, Agreed, AgreementError, Prepared};
use guestright_voice::rtp::Kind as Datagram;
use guestright_voice::session::{self, Event, Session};
use guestright_voice::srtp::MasterKey;
use rand::Rng;
use serde_json::json;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::mpsc as blocking;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// So many pairs of ports are tried.
const PORT_ATTEMPTS: usize = 64;
/// Two sockets on ports that follow each other, the first one even (RFC 3550 section 11).
pub(crate) struct Sockets {
    rtp: UdpSocket,
    control: UdpSocket,
    address: SocketAddr,
}

impl Sockets {
    pub(crate) fn open(own: IpAddr) -> Result<Self, TelephoneError> {
        let closed = |source| TelephoneError::Port { own, source };
        let mut last = None;
        for _ in 0..PORT_ATTEMPTS {
            let rtp = UdpSocket::bind((own, 0)).map_err(closed)?;
            let address = rtp.local_addr().map_err(closed)?;
            if address.port() % 2 == 1 || address.port() == u16::MAX - 1 {
                continue;
            }
            match UdpSocket::bind((own, address.port() + 1)) {
                Ok(control) => {
                    rtp.set_nonblocking(true).map_err(closed)?;
                    control.set_nonblocking(true).map_err(closed)?;
                    return Ok(Self { rtp, control, address });
                }
                Err(error) => last = Some(error),
            }
        }
        let reason = last.map_or_else(String::new, |error| format!(": {error}"));
        Err(TelephoneError::NoPorts { own, reason })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn control_port(&self) -> u16 {
        self.address.port() + 1
    }
}

/// What is agreed on, and what has to be agreed on still.
pub(crate) struct Stream {
    pub(crate) agreed: Terms,
    pub(crate) agreement: Option<(Prepared, agreement::Call)>,
    /// Is told when it is so.
    pub(crate) applied: oneshot::Sender<()>,
}

/// What does not change during a call.
pub(crate) struct MediaSettings {
    pub(crate) line: LineSettings,
    pub(crate) voice: VoiceSettings,
    pub(crate) protection: Protection,
}

/// What the voice has to say.
pub(crate) enum MediaEvent {
    /// Keys are agreed on, and this is with whom.
    Agreed(Box<Agreed>),
    /// There will be none.
    NotAgreed(AgreementError),
}

/// The voice of a call; it is changed when something was agreed on anew.
pub(crate) type Media = Voice<Box<Stream>, MediaEvent>;

/// Begins to send and to play.
pub(crate) fn start(
    settings: MediaSettings,
    sockets: Sockets,
    stream: Stream,
) -> Result<Media, TelephoneError> {
    Voice::start(|orders, news| {
        let engine = Engine::new(settings, sockets, stream, orders, news)?;
        Ok(move || engine.run())
    })
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
    driver: Driver<MediaEvent>,
    orders: blocking::Receiver<Order<Box<Stream>>>,
    pace: Pace,
    /// Datagrams of any kind.
    sent: u64,
}

impl Engine {
    fn new(
        settings: MediaSettings,
        sockets: Sockets,
        stream: Stream,
        orders: blocking::Receiver<Order<Box<Stream>>>,
        news: mpsc::Sender<News<MediaEvent>>,
    ) -> Result<Self, TelephoneError> {
        let Stream { agreed: terms, agreement, applied: _ } = stream;
        let line = &settings.line;
        let rate = terms.kind.format().sample_rate_hz;
        let protection = settings.protection.name();
        let mut driver =
            Driver::new(Clock::start(), analyser_config(&terms, settings.voice.playout), protection, news);
        driver.open_sound(line, rate)?;
        driver.open_recording(line)?;
        let now = driver.clock.now();
        let voice = settings.voice;
        let ear = Ear::new(terms.kind, voice.dtx).map_err(TelephoneError::CodecAbsent)?;
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
        let config = ear::config(&terms, &voice, &name);
        let policy = ear::policy(voice.playout)?;
        let mut session = Session::new(config, protection, policy, &guestright_clock::seed(), now);
        session.set_direction(direction(&terms));
        let pace = Pace::new(period(&terms));
        Ok(Self { sockets, settings, terms, session, name, keys, ear, driver, orders, pace, sent: 0 })
    }

    fn run(mut self) -> Result<Outcome, TelephoneError> {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Change(stream)) => self.change(*stream)?,
                Ok(Order::Stop) | Err(blocking::TryRecvError::Disconnected) => return self.finish(),
                Err(blocking::TryRecvError::Empty) => {}
            }
            // Until a packet is there, or the next one of ours is due.
            driver::wait([&self.sockets.rtp, &self.sockets.control], self.pace.left())?;
            self.read();
            self.pace()?;
            let now = self.driver.clock.now();
            self.session.handle_timeout(now);
            self.drain();
            self.report(now);
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
                let at = self.driver.clock.now();
                self.datagram(&buffer[..length], from, is_control, at);
            }
            if is_idle {
                break;
            }
        }
    }

    fn datagram(&mut self, bytes: &[u8], from: SocketAddr, is_control: bool, at: Time) {
        let port = if is_control { self.sockets.control_port() } else { self.sockets.address.port() };
        self.driver.record(at, from, SocketAddr::new(self.sockets.address.ip(), port), bytes);
        if let Err(error) = self.session.handle_datagram(bytes, from, at) {
            tracing::trace!(%error, "dropped a datagram");
        }
        while let Some(received) = self.session.poll_received() {
            self.driver.handle_received(&received);
        }
    }

    /// Sends and plays what is due.
    fn pace(&mut self) -> Result<(), TelephoneError> {
        let Some(behind) = self.pace.poll_due() else { return Ok(()) };
        let at = self.driver.clock.now();
        // Sound is played by the pace, also when we are woken late: what arrived until the deadline was there in time, and
        // that we are behind is no longer way of the packets.
        let due = Time(at.0 - behind.0.min(at.0));
        let samples = self.terms.kind.format().packet_samples;
        // What is said before there are keys is not said at all: the file begins when it can be heard.
        if self.session.is_ready() {
            let spoken = self.driver.capture(samples)?;
            self.ear.encode(&spoken, &mut self.session, at)?;
            let decoded = self.ear.decode(samples, &mut self.session, due);
            self.driver.play(&decoded)?;
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
            let at = self.driver.clock.now();
            // A network that is gone for a moment is lost packets, no more.
            if socket.send_to(&transmit.bytes, to).is_ok() {
                self.sent += 1;
                self.driver.record(at, SocketAddr::new(self.sockets.address.ip(), port), to, &transmit.bytes);
            }
        }
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Agreed(agreed) => self.driver.report(MediaEvent::Agreed(agreed)),
                Event::NotAgreed(error) => self.driver.report(MediaEvent::NotAgreed(error)),
                Event::PeerMoved { to } => {
                    self.driver.trouble(format!("the other side's voice comes from {to} now"));
                }
                Event::SourceChanged { .. }
                | Event::PayloadTypeChanged { .. }
                | Event::Collision { .. }
                | Event::PeerLeft => {}
            }
        }
    }

    /// The seconds that are over.
    fn report(&mut self, now: Time) {
        while let Some(row) = self.session.poll_row() {
            (self.driver.round_trip, self.driver.buffered) = (row.round_trip, row.buffered);
        }
        self.driver.report_seconds(now);
    }

    /// Something was agreed on anew: a direction, a codec, an address, a key.
    fn change(&mut self, stream: Stream) -> Result<(), TelephoneError> {
        let terms = stream.agreed;
        let voice = self.settings.voice;
        if terms.kind != self.terms.kind {
            self.ear.change(terms.kind, voice.dtx).map_err(TelephoneError::CodecAbsent)?;
            self.driver.set_codec_rate(terms.kind.format().sample_rate_hz);
            self.pace.set_period(period(&terms));
        }
        self.ear.set_offered(terms.also_expected());
        self.session.set_config(ear::config(&terms, &voice, &self.name));
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
        // Not everybody waits for that.
        let _ = stream.applied.send(());
        Ok(())
    }

    fn finish(mut self) -> Result<Outcome, TelephoneError> {
        let now = self.driver.clock.now();
        self.session.finish(now);
        self.drain();
        let counted = self.session.summary();
        let facts = json!({
            "codec": self.terms.kind.to_string(),
            "media_address": self.sockets.address.to_string(),
            "sent": counted.sent,
            "datagrams_sent": self.sent,
            "withheld": counted.withheld,
            "refused": counted.refused,
            "played": driver::played(&counted.playout),
            "peer_lost": counted.peer_lost,
            "round_trip_ms": counted.round_trip.map(|way| way.as_seconds() * 1e3),
            "round_trip_least_ms": counted.round_trip_min.map(|way| way.as_seconds() * 1e3),
            "clock_contradictions": counted.contradictions,
            "clock_error_ms": self.settings.voice.clock_error_ms,
        });
        self.driver.finish(facts)
    }
}

/// How long a packet is.
fn period(terms: &Terms) -> Duration {
    Duration::from_micros(terms.kind.format().packet_us())
}

/// The codec as the E-model knows it; all of ours conceal what is lost.
fn analyser_config(terms: &Terms, playout: Playout) -> AnalyserConfig {
    let format = terms.kind.format();
    let codec = Rated::from_encoding(format.encoding_name, format.clock_rate_hz).map(Rated::concealed);
    // As `guestright mos` has it by default, so that both say the same.
    let capacity = playout.fixed_buffer().unwrap_or(BufferConfig::FOLLOWING.capacity);
    let buffer = BufferConfig { capacity, ..BufferConfig::FOLLOWING };
    AnalyserConfig { codec, buffer, ..AnalyserConfig::unknown(format.clock_rate_hz) }
}

fn direction(terms: &Terms) -> session::Direction {
    let receive = terms.direction.receives() || terms.offered.receives;
    session::Direction { send: terms.direction.sends(), receive }
}

impl Guard {
    /// The keys that are there from the beginning: ours and theirs.
    pub(crate) fn keys(&self) -> Option<(MasterKey, MasterKey)> {
        match self {
            Self::Sdes { ours, theirs } => Some((ours.clone(), theirs.clone())),
            Self::Home | Self::EndToEnd { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_codec::Kind;

    #[test]
    fn every_codec_with_a_registered_name_can_be_rated() {
        for kind in Kind::ALL {
            let format = kind.format();
            let rated = Rated::from_encoding(format.encoding_name, format.clock_rate_hz);
            // What only our own programs speak has nothing published that it could be rated by.
            assert_eq!(rated.is_none(), format.encoding_name.starts_with("X-"), "{kind}: {rated:?}");
        }
    }
}
