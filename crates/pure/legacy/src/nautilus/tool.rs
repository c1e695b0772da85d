use super::agreement::{Agreement, Step};
use super::config::{Config, ConfigError};
use super::key::{CallKey, Direction};
use super::message::{Message, MessageError, NUMBER_MAX};
use super::{CODEC_BYTES, PACKET_SAMPLES};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::playout::{self, Fixed, Incoming, Output, Playout, Sound};
use guestright_voice::session::{Frame, ReceivedPacket};
use guestright_voice::tool::{Connected, Ending, Event, Side, Summary, Tool, ToolError, Transmit};
use rand::SeedableRng as _;
use rand_chacha::ChaCha20Rng;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Sound in a packet.
const PACKET: Micros = Micros(TICKS as u64 * 125);
/// The same in ticks of the timestamp.
const TICKS: u32 = 1_440;
const _: () = assert!(TICKS as usize == PACKET_SAMPLES, "a tick is a sample");
/// LPC-10: none of RFC 3551's.
const PAYLOAD_TYPE: u8 = 96;
/// What is held beyond the fixed delay, at most.
const DELAY_MAX: Micros = Micros::from_millis(1_500);
/// While nothing is played, the buffer is asked so often.
const SILENCE: Micros = Micros::from_millis(20);
/// Farewells: one may be lost.
const FAREWELLS: usize = 3;
/// Datagrams, events and reports that wait for somebody to take them; the oldest make way.
const QUEUE_MAX: usize = 256;

/// One side of a call with Nautilus.
#[derive(Debug)]
pub struct Nautilus {
    config: Config,
    direction: Direction,
    agreement: Agreement,
    call: Option<(SocketAddr, CallKey)>,
    is_over: bool,
    number: u32,
    last_received: Time,
    playout: Playout,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
    received: VecDeque<ReceivedPacket>,
    summary: Summary,
}

impl Nautilus {
    /// Begins: a caller says hello at once.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn new(config: Config, seed: &Seed, now: Time) -> Result<Self, ConfigError> {
        config.check()?;
        let mut rng = ChaCha20Rng::from_seed(seed.0);
        let playing = playout::Config {
            clock_rate: 8_000,
            packet: PACKET,
            frame_bytes: 7,
            frame: Micros(22_500),
            delay_max: Micros(DELAY_MAX.0 + config.hold.0),
            conceal_max: PACKET,
        };
        // The buffer begins up to half a packet early, which is much where a packet is 180 ms.
        let hold = Micros(config.hold.0 + PACKET.0 / 2);
        let direction = match config.side {
            Side::Caller { .. } => Direction::FromCaller,
            Side::Callee => Direction::FromCallee,
        };
        let mut tool = Self {
            direction,
            agreement: Agreement::new(&config, &mut rng, now),
            call: None,
            is_over: false,
            number: 0,
            last_received: now,
            playout: Playout::new(playing, Box::new(Fixed::new(hold))),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            received: VecDeque::new(),
            summary: Summary::default(),
            config,
        };
        tool.handle_timeout(now);
        Ok(tool)
    }

    fn send(&mut self, to: SocketAddr, bytes: Vec<u8>) {
        self.summary.datagrams_sent += 1;
        self.summary.sent_wire_bytes += u64::try_from(bytes.len()).unwrap_or_default();
        push(&mut self.transmits, Transmit { to, bytes });
    }

    fn follow(&mut self, step: Step, now: Time) {
        if let Some((to, bytes)) = step.send {
            self.send(to, bytes);
        }
        if let Some((peer, key)) = step.agreed {
            let connected = Connected {
                peer,
                name: None,
                is_verified: false,
                words: key.words(),
                protection: self.config.agreement.protection(),
            };
            self.call = Some((peer, key));
            self.last_received = now;
            push(&mut self.events, Event::Connected(connected));
        }
        if let Some(why) = step.failed {
            self.end(Ending::Failed(why));
        }
    }

    fn end(&mut self, why: Ending) {
        self.is_over = true;
        push(&mut self.events, Event::Ended(why));
    }

    fn receive(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        if self.is_over {
            return Err(ToolError::OutOfTurn("the call is over"));
        }
        let peer = match (&self.call, self.config.side) {
            (Some((peer, _)), _) => Some(*peer),
            (None, Side::Caller { to }) => Some(to),
            (None, Side::Callee) => None,
        };
        if peer.is_some_and(|peer| peer != from) {
            return Err(ToolError::Stranger);
        }
        let message = Message::parse(datagram).map_err(|error| match error {
            MessageError::Kind(_) => ToolError::Malformed("no message begins so"),
            MessageError::Length { .. } => ToolError::Malformed("no message of its kind is so long"),
            MessageError::Version => ToolError::Malformed("another version"),
        })?;
        let step = match message {
            Message::Hello(offer) => self.agreement.handle_hello(offer, from, now)?,
            Message::Answer { offer, check } => self.agreement.handle_answer(offer, check, from)?,
            Message::Confirm { check } => self.agreement.handle_confirm(check, from)?,
            Message::Voice { number, sound } => return self.receive_voice(number, sound, now),
            Message::HangUp { sealed } => return self.receive_farewell(sealed),
        };
        self.follow(step, now);
        Ok(())
    }

    fn receive_voice(
        &mut self,
        number: u32,
        mut sound: [u8; CODEC_BYTES],
        now: Time,
    ) -> Result<(), ToolError> {
        let theirs = self.theirs();
        let Some((_, key)) = &self.call else {
            return Err(ToolError::OutOfTurn("sound before there is a key"));
        };
        key.decrypt(theirs, number, &mut sound);
        self.last_received = now;
        let [.., high, low] = number.to_be_bytes();
        let sequence = u64::from(number);
        let packet = Incoming {
            sequence,
            timestamp: sequence * u64::from(TICKS),
            marker: false,
            payload_type: PAYLOAD_TYPE,
            is_noise: false,
            payload: &sound,
            arrived: now,
        };
        let fate = self.playout.insert(&packet);
        let sequence = u16::from_be_bytes([high, low]);
        let received = ReceivedPacket::new(&packet, sequence, number.wrapping_mul(TICKS), fate);
        push(&mut self.received, received);
        Ok(())
    }

    fn receive_farewell(&mut self, sealed: [u8; 8]) -> Result<(), ToolError> {
        let theirs = self.theirs();
        let Some((_, key)) = &self.call else { return Err(ToolError::OutOfTurn("a farewell before a call")) };
        if !key.is_farewell(theirs, sealed) {
            return Err(ToolError::Forged);
        }
        self.end(Ending::PeerLeft);
        Ok(())
    }

    fn theirs(&self) -> Direction {
        match self.direction {
            Direction::FromCaller => Direction::FromCallee,
            Direction::FromCallee => Direction::FromCaller,
        }
    }

    fn given_up(&self) -> Option<Time> {
        (self.call.is_some() && !self.is_over).then(|| self.last_received + self.config.silence_max)
    }
}

impl Tool for Nautilus {
    fn name(&self) -> &'static str {
        "nautilus"
    }

    fn handle_frame(&mut self, frame: &Frame<'_>, _: Time) {
        let sound = <[u8; CODEC_BYTES]>::try_from(frame.payload);
        let (Some((to, key)), Ok(mut sound), false) = (&self.call, sound, self.is_over) else {
            self.summary.withheld += 1;
            return;
        };
        let to = *to;
        key.encrypt(self.direction, self.number, &mut sound);
        let bytes = Message::Voice { number: self.number, sound }.emit();
        self.send(to, bytes);
        self.summary.sent += 1;
        self.summary.sent_codec_bytes += CODEC_BYTES as u64;
        self.number += 1;
        if self.number == NUMBER_MAX {
            // After 34 days. A number that comes again would give the same initialisation vector again.
            self.end(Ending::Failed("the numbers of the packets are used up: call again".to_owned()));
        }
    }

    fn handle_datagram(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        let outcome = self.receive(datagram, from, now);
        self.summary.refused += u64::from(outcome.is_err());
        outcome
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.is_over {
            return;
        }
        let step = self.agreement.handle_timeout(now);
        self.follow(step, now);
        if self.given_up().is_some_and(|at| now >= at) {
            self.end(Ending::Silence);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let agreement = self.agreement.poll_timeout().filter(|_| !self.is_over);
        [agreement, self.given_up()].into_iter().flatten().min()
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    fn poll_sound(&mut self, now: Time) -> Output {
        let mut output = self.playout.poll(now);
        if output.sound == Sound::Silence {
            output.duration = output.duration.min(SILENCE);
        }
        output
    }

    fn hear(&mut self, is_speech: bool) {
        self.playout.hear(is_speech);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_received(&mut self) -> Option<ReceivedPacket> {
        self.received.pop_front()
    }

    fn is_ready(&self) -> bool {
        self.call.is_some() && !self.is_over
    }

    fn leave(&mut self, _: Time) {
        if let (Some((to, key)), false) = (&self.call, self.is_over) {
            let (to, sealed) = (*to, key.farewell(self.direction));
            for _ in 0..FAREWELLS {
                self.send(to, Message::HangUp { sealed }.emit());
            }
        }
        self.is_over = true;
    }

    fn summary(&self) -> Summary {
        let mut summary = self.summary.clone();
        summary.playout = self.playout.counts();
        summary.buffered = self.playout.added();
        summary
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == QUEUE_MAX {
        queue.pop_front();
    }
    queue.push_back(item);
}
