//! One side of a call by BoAT, put together.

mod config;
mod line;
mod reception;
mod voice;

pub use config::{Config, Masking, Timing};

use super::{Introduced, Opening, SealError};
use guestright_units::{Seed, Time};
use guestright_voice::playout::{Output, Sound};
use guestright_voice::session::{Frame, ReceivedPacket};
use guestright_voice::tool::{Connected, Ending, Event, Summary, Tool, ToolError, Transmit};
use line::Line;
use rand::SeedableRng as _;
use rand_chacha::ChaCha20Rng;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Datagrams, events and records that wait to be fetched; the oldest of more are dropped.
const WAITING_MAX: usize = 1_024;

/// One side of a call by BoAT.
///
/// First the [`Opening`] finds the peer. Then each side begins phases for the direction in which it speaks, and answers
/// those of the other. The address of the peer follows the newest datagram that was opened, and nothing else.
#[derive(Debug)]
pub struct Boat {
    config: Config,
    rng: ChaCha20Rng,
    /// Kept until the peer was heard with the seal: its last step may have to be repeated.
    opening: Option<Box<dyn Opening>>,
    /// What the line will time sound by; the line takes it.
    timing: Option<Timing>,
    line: Option<Box<Line>>,
    is_over: bool,
    /// Nothing is sent when the call is over, but what says so.
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
    received: VecDeque<ReceivedPacket>,
    counts: Sums,
}

/// What no part of the line counts.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    datagrams: u64,
    wire_bytes: u64,
    withheld: u64,
    refused: u64,
}

impl Boat {
    /// Begins with the opening.
    #[must_use]
    pub fn new(
        mut config: Config,
        timing: Timing,
        opening: Box<dyn Opening>,
        seed: &Seed,
        now: Time,
    ) -> Self {
        config.listener.tick_rate = config.talker.tick_rate;
        let mut boat = Self {
            config,
            rng: ChaCha20Rng::from_seed(seed.0),
            opening: Some(opening),
            timing: Some(timing),
            line: None,
            is_over: false,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            received: VecDeque::new(),
            counts: Sums::default(),
        };
        boat.drain(now);
        boat
    }

    /// The line to the peer, for tests of its clocks.
    #[doc(hidden)]
    #[must_use]
    pub fn clocks(&self, now: Time) -> Option<Clocks> {
        self.line.as_ref().map(|line| line.clocks(now))
    }

    fn open(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        if self.is_over {
            return Err(ToolError::OutOfTurn("the call is over"));
        }
        let Some(line) = &mut self.line else {
            let Some(opening) = &mut self.opening else {
                return Err(ToolError::OutOfTurn("nobody is there"));
            };
            return opening.handle_datagram(datagram, from, now);
        };
        let opened = match line.open(datagram, now) {
            Ok(opened) => opened,
            Err(error) => {
                let Some(opening) = &mut self.opening else { return Err(error.into()) };
                return opening.handle_datagram(datagram, from, now).map_err(|_| error.into());
            }
        };
        self.opening = None;
        line.handle_opened(opened, from, now)
    }

    /// Brings everything that waits inside to where it is fetched.
    fn drain(&mut self, now: Time) {
        self.drain_opening(now);
        let Some(line) = &mut self.line else { return };
        if !self.is_over {
            line.advance(&mut self.rng, now);
        }
        while let Some(transmit) = line.poll_transmit() {
            self.counts.datagrams += 1;
            self.counts.wire_bytes += transmit.bytes.len() as u64;
            push(&mut self.transmits, transmit);
        }
        while let Some(received) = line.poll_received() {
            push(&mut self.received, received);
        }
        if let Some(ending) = line.poll_ending()
            && !self.is_over
        {
            self.end(ending);
        }
    }

    fn drain_opening(&mut self, now: Time) {
        let Some(opening) = &mut self.opening else { return };
        while let Some(transmit) = opening.poll_transmit() {
            self.counts.datagrams += 1;
            self.counts.wire_bytes += transmit.bytes.len() as u64;
            push(&mut self.transmits, transmit);
        }
        let outcome = opening.poll_outcome();
        if self.line.is_some() || self.is_over {
            return;
        }
        match outcome {
            None => {}
            Some(Ok(introduced)) => self.connect(introduced, now),
            Some(Err(reason)) => self.end(Ending::Failed(reason)),
        }
    }

    fn connect(&mut self, introduced: Introduced, now: Time) {
        let Introduced { seal, peer, name, is_verified, words, protection } = introduced;
        let Some(timing) = self.timing.take() else { return };
        self.line = Some(Box::new(Line::new(&self.config, timing, seal, peer, &mut self.rng, now)));
        let connected = Connected { peer, name, is_verified, words, protection };
        push(&mut self.events, Event::Connected(connected));
    }

    fn end(&mut self, ending: Ending) {
        self.is_over = true;
        self.opening = None;
        push(&mut self.events, Event::Ended(ending));
    }
}

/// What both clocks of a side show.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// CS of the direction in which it speaks.
    pub talker: u32,
    /// CR of the direction in which it hears.
    pub listener: Option<u32>,
    /// Between what bounds CS of the other side must be ahead of it, in ticks.
    pub bounds: Option<(u64, u64)>,
    /// Whether CR will change in the next silence.
    pub is_pending: bool,
}

impl Tool for Boat {
    fn name(&self) -> &'static str {
        self.config.name
    }

    fn handle_frame(&mut self, frame: &Frame<'_>, now: Time) {
        if self.is_over {
            return;
        }
        match &mut self.line {
            Some(line) => {
                let is_sent = line.handle_frame(frame, &mut self.rng, now);
                self.counts.withheld += u64::from(!is_sent);
            }
            None => self.counts.withheld += 1,
        }
        self.drain(now);
    }

    fn handle_datagram(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        let outcome = self.open(datagram, from, now);
        self.counts.refused += u64::from(outcome.is_err());
        self.drain(now);
        outcome
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.is_over {
            return;
        }
        if let Some(opening) = &mut self.opening {
            opening.handle_timeout(now);
        }
        if let Some(line) = &mut self.line {
            line.handle_timeout(now);
        }
        self.drain(now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.is_over {
            return None;
        }
        let opening = self.opening.as_ref().and_then(|opening| opening.poll_timeout());
        let line = self.line.as_ref().map(|line| line.poll_timeout());
        opening.into_iter().chain(line).min()
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    fn poll_sound(&mut self, now: Time) -> Output {
        match &mut self.line {
            Some(line) if !self.is_over => line.poll_sound(now),
            Some(_) | None => Output { sound: Sound::Silence, duration: self.config.packet },
        }
    }

    fn hear(&mut self, is_speech: bool) {
        if let Some(line) = &mut self.line {
            line.hear(is_speech);
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_received(&mut self) -> Option<ReceivedPacket> {
        self.received.pop_front()
    }

    fn is_ready(&self) -> bool {
        !self.is_over && self.line.as_ref().is_some_and(|line| line.can_talk())
    }

    fn frame_bytes(&self) -> Option<usize> {
        self.line.as_ref().and_then(|line| line.frame_bytes())
    }

    fn leave(&mut self, now: Time) {
        if self.is_over {
            return;
        }
        if let Some(line) = &mut self.line {
            line.send_goodbye(now);
        }
        self.drain(now);
        self.is_over = true;
        self.opening = None;
    }

    fn summary(&self) -> Summary {
        let mut summary = self.line.as_ref().map(|line| line.summary()).unwrap_or_default();
        summary.datagrams_sent = self.counts.datagrams;
        summary.sent_wire_bytes = self.counts.wire_bytes;
        summary.withheld = self.counts.withheld;
        summary.refused = self.counts.refused;
        summary
    }
}

impl From<SealError> for ToolError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Malformed(what) | SealError::Unsealable(what) => Self::Malformed(what),
            SealError::Forged | SealError::WornOut => Self::Forged,
            SealError::Replayed => Self::Replayed,
            SealError::KeyPart(what) => Self::OutOfTurn(what),
        }
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() >= WAITING_MAX {
        queue.pop_front();
    }
    queue.push_back(item);
}
