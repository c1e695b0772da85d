//! The voice of one call with a profile: a thread with one socket, which sends and plays in time.
//!
//! In: datagrams, what is said, the time. Out: datagrams, sound to play, [`Said`]. The machine is a
//! [`Tool`]; this is its socket, its clock, its codec and its pace.

use crate::CodecChoice;
use crate::rating::{self, Mean};
use guestright_clock::Clock;
use guestright_quality::{AnalyserConfig, BufferConfig};
use guestright_telephone::driver::{
    self, BATCH_MAX, DATAGRAM_MAX, Driver, News, Order, Outcome, Pace, Voice, played,
};
use guestright_telephone::ear::Ear;
use guestright_telephone::home::own_address;
use guestright_telephone::{LineSettings, TelephoneError};
use guestright_units::{Micros, Time};
use guestright_voice::tool::{Connected, Ending, Event, Summary, Tool, ToolError};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc as blocking;
use std::time::Duration;
use tokio::sync::mpsc;

/// So often it is looked for orders, if nothing else is to be done.
const IDLE: Duration = Duration::from_millis(50);
/// Played at a time: a part of a second. Packets may be longer; what comes meanwhile is then not made to wait for them.
const PLAYED_PER_SECOND: usize = 50;

/// What a call with a profile has to say.
pub(crate) enum EngineEvent {
    /// There is somebody.
    Connected(Box<Connected>),
    /// A datagram was refused; so many are by now.
    Refused {
        from: SocketAddr,
        why: ToolError,
        /// How many were refused so far.
        count: u64,
    },
    /// It is over.
    Ended(Ending),
}

/// The person has taken the call.
pub(crate) struct Accept;

/// A call's thread.
pub(crate) type Call = Voice<Accept, EngineEvent>;

/// What a call is made with.
pub(crate) struct Parts {
    pub(crate) line: LineSettings,
    pub(crate) profile: &'static str,
    pub(crate) cipher: &'static str,
    pub(crate) codec: CodecChoice,
    pub(crate) socket: Arc<UdpSocket>,
    pub(crate) clock: Clock,
    pub(crate) tool: Box<dyn Tool>,
    /// Whether sound flows as soon as there is somebody, without asking the person.
    pub(crate) is_accepted: bool,
    /// Whether sound and capture are opened at once, and not when somebody calls: a recording of the last call stays
    /// until there is another one.
    pub(crate) opens_at_once: bool,
}

/// Begins to call, or to wait for a call.
pub(crate) fn start(parts: Parts) -> Result<Call, TelephoneError> {
    Voice::start(|orders, news| {
        let engine = Engine::new(parts, orders, news)?;
        Ok(move || engine.run())
    })
}

struct Engine {
    parts: Parts,
    own: SocketAddr,
    ear: Ear,
    driver: Driver<EngineEvent>,
    orders: blocking::Receiver<Order<Accept>>,
    /// What is said, and what is played; nothing before sound can flow.
    paces: Option<(Pace, Pace)>,
    is_connected: bool,
    refused: u64,
    buffered: Mean,
    round_trip: Mean,
    /// Samples that were encoded since both could hear each other.
    encoded: u64,
}

impl Engine {
    fn new(
        parts: Parts,
        orders: blocking::Receiver<Order<Accept>>,
        news: mpsc::Sender<News<EngineEvent>>,
    ) -> Result<Self, TelephoneError> {
        let own = parts.socket.local_addr()?;
        let ear = Ear::with(parts.codec.kind, &parts.codec.settings(), parts.codec.rate_hz)
            .map_err(TelephoneError::CodecAbsent)?;
        let mut driver = Driver::new(parts.clock.clone(), analyser(&parts.codec), parts.profile, news);
        if parts.opens_at_once {
            driver.open_sound(&parts.line, parts.codec.rate_hz)?;
            driver.open_recording(&parts.line)?;
        }
        Ok(Self {
            parts,
            own,
            ear,
            driver,
            orders,
            paces: None,
            is_connected: false,
            refused: 0,
            buffered: Mean::default(),
            round_trip: Mean::default(),
            encoded: 0,
        })
    }

    fn run(mut self) -> Result<Outcome, TelephoneError> {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Change(Accept)) => self.parts.is_accepted = true,
                Ok(Order::Stop) | Err(blocking::TryRecvError::Disconnected) => return self.finish(),
                Err(blocking::TryRecvError::Empty) => {}
            }
            let left = self.left();
            driver::wait([&*self.parts.socket], left)?;
            self.read()?;
            self.pace()?;
            let now = self.driver.clock.now();
            self.parts.tool.handle_timeout(now);
            self.drain()?;
            self.driver.report_seconds(now);
        }
    }

    /// How long there is nothing to do, if nothing comes.
    fn left(&mut self) -> Duration {
        let timer = self.parts.tool.poll_timeout().map(|due| self.driver.clock.until(due));
        let sound = self.paces.as_ref().map(|(capture, hear)| capture.left().min(hear.left()));
        timer.into_iter().chain(sound).fold(IDLE, Duration::min)
    }

    fn read(&mut self) -> Result<(), TelephoneError> {
        let mut buffer = [0; DATAGRAM_MAX];
        for _ in 0..BATCH_MAX {
            match self.parts.socket.recv_from(&mut buffer) {
                Ok((length, from)) => {
                    let at = self.driver.clock.now();
                    self.datagram(&buffer[..length], from, at)?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // What an ICMP message says of an earlier datagram is an error here too; the call goes on.
                Err(error) => tracing::trace!(%error, "nothing was received"),
            }
        }
        Ok(())
    }

    fn datagram(&mut self, bytes: &[u8], from: SocketAddr, at: Time) -> Result<(), TelephoneError> {
        self.find_own(from);
        self.driver.record(at, from, self.own, bytes);
        match self.parts.tool.handle_datagram(bytes, from, at) {
            Ok(()) => self.driver.open_recording(&self.parts.line)?,
            Err(why) => self.refuse(from, why),
        }
        while let Some(received) = self.parts.tool.poll_received() {
            self.driver.handle_received(&received);
        }
        Ok(())
    }

    /// Counts; says so the first time, and then ever more seldom. What came twice is the network's doing, and no news.
    fn refuse(&mut self, from: SocketAddr, why: ToolError) {
        tracing::trace!(%from, %why, "refused a datagram");
        if matches!(why, ToolError::Replayed | ToolError::OutOfTurn(_)) {
            return;
        }
        self.refused += 1;
        if self.refused.ilog10() > (self.refused - 1).checked_ilog10().unwrap_or(0) || self.refused == 1 {
            self.driver.report(EngineEvent::Refused { from, why, count: self.refused });
        }
    }

    /// As captures have it: the address that the way to the peer begins with, not "any".
    fn find_own(&mut self, peer: SocketAddr) {
        if self.own.ip().is_unspecified()
            && let Ok(own) = own_address(peer)
        {
            self.own.set_ip(own);
        }
    }

    /// Says and plays what is due. A tool that has somebody and no key yet is handed silence: it may need packets of
    /// sound to hide its messages among.
    fn pace(&mut self) -> Result<(), TelephoneError> {
        let is_ready = self.parts.tool.is_ready();
        if !is_ready && !self.is_connected {
            return Ok(());
        }
        let codec = &self.parts.codec;
        let (packet, piece) = (codec.packet_samples, codec.piece_samples());
        let (capture, hear) = self.paces.get_or_insert_with(|| {
            let pace = |samples| Pace::new(codec.period(samples));
            (pace(packet), pace(piece))
        });
        let (is_saying, is_hearing) = (capture.is_due(), hear.is_due());
        let at = self.driver.clock.now();
        if is_saying {
            // While the person is asked, nothing is said: a file begins when it can be heard.
            let is_audible = is_ready && self.parts.is_accepted;
            let spoken = if is_audible { self.driver.capture(packet)? } else { vec![0; packet] };
            if let Some(bytes) = self.parts.tool.frame_bytes() {
                self.ear.set_packet_bytes(bytes);
            }
            self.ear.encode(&spoken, &mut self.parts.tool, at)?;
            if is_ready {
                self.encoded += spoken.len() as u64;
            }
        }
        if is_hearing {
            let decoded = self.ear.decode(piece, &mut self.parts.tool, at);
            if self.parts.is_accepted {
                self.driver.play(&decoded)?;
            }
            let summary = self.parts.tool.summary();
            (self.driver.round_trip, self.driver.buffered) = (summary.round_trip, summary.buffered);
            self.round_trip.add(summary.round_trip);
            self.buffered.add(summary.buffered);
        }
        Ok(())
    }

    /// Sends what is to be sent, and passes on what happened.
    fn drain(&mut self) -> Result<(), TelephoneError> {
        while let Some(transmit) = self.parts.tool.poll_transmit() {
            let at = self.driver.clock.now();
            self.find_own(transmit.to);
            // A network that is gone for a moment is lost packets, no more.
            if self.parts.socket.send_to(&transmit.bytes, transmit.to).is_ok() {
                self.driver.record(at, self.own, transmit.to, &transmit.bytes);
            }
        }
        while let Some(event) = self.parts.tool.poll_event() {
            match event {
                Event::Connected(connected) => {
                    self.is_connected = true;
                    self.driver.open_sound(&self.parts.line, self.parts.codec.rate_hz)?;
                    self.driver.report(EngineEvent::Connected(Box::new(connected)));
                }
                Event::Trouble(message) => self.driver.trouble(message),
                Event::Ended(ending) => self.driver.report(EngineEvent::Ended(ending)),
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Outcome, TelephoneError> {
        let now = self.driver.clock.now();
        self.parts.tool.leave(now);
        self.drain()?;
        let summary = self.parts.tool.summary();
        let facts = self.facts(&summary);
        self.driver.finish(facts)
    }

    fn facts(&self, summary: &Summary) -> Value {
        let codec = &self.parts.codec;
        let seconds = codec.span(usize::try_from(self.encoded).unwrap_or(usize::MAX)).as_seconds();
        let per_second = |bytes: u64| (seconds > 0.0).then(|| number(bytes) / seconds);
        let ear = rating::Ear {
            codec: codec.rated,
            packet: codec.packet(),
            counts: &summary.playout,
            pattern: self.ear.pattern(),
            buffered: self.buffered,
            round_trip: self.round_trip,
        };
        let others: serde_json::Map<_, _> =
            summary.others.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        json!({
            "profile": self.parts.profile,
            "codec": codec.name,
            "cipher": self.parts.cipher,
            "media_address": self.own.to_string(),
            "sent": summary.sent,
            "sent_seconds": seconds,
            "sent_codec_bytes": summary.sent_codec_bytes,
            "sent_wire_bytes": summary.sent_wire_bytes,
            "codec_bytes_per_s": per_second(summary.sent_codec_bytes),
            "wire_bytes_per_s": per_second(summary.sent_wire_bytes),
            "datagrams_sent": summary.datagrams_sent,
            "withheld": summary.withheld,
            "refused": summary.refused,
            "played": played(&summary.playout),
            "round_trip_ms": summary.round_trip.map(|way| way.as_seconds() * 1e3),
            "rating": ear.facts(),
            "in_words": ear.in_words(),
            "others": others,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a call are far below 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

/// As other calls are looked at, so that their seconds can be compared.
fn analyser(codec: &CodecChoice) -> AnalyserConfig {
    AnalyserConfig {
        codec: codec.rated,
        buffer: BufferConfig::FOLLOWING,
        packet: Some(codec.packet()),
        ..AnalyserConfig::unknown(codec.ticks_hz)
    }
}

impl CodecChoice {
    /// Played at a time.
    fn piece_samples(&self) -> usize {
        let rate = usize::try_from(self.rate_hz).unwrap_or(usize::MAX);
        (rate / PLAYED_PER_SECOND).min(self.packet_samples)
    }

    /// Sound in a packet.
    pub(crate) fn packet(&self) -> Micros {
        self.span(self.packet_samples)
    }

    /// The same to the nanosecond, so that a pace does not drift.
    fn period(&self, samples: usize) -> Duration {
        let samples = u64::try_from(samples).unwrap_or(u64::MAX);
        Duration::from_nanos(samples.saturating_mul(1_000_000_000) / u64::from(self.rate_hz.max(1)))
    }

    fn span(&self, samples: usize) -> Micros {
        let samples = u64::try_from(samples).unwrap_or(u64::MAX);
        Micros(samples.saturating_mul(1_000_000) / u64::from(self.rate_hz.max(1)))
    }
}

#[cfg(test)]
mod tests;
