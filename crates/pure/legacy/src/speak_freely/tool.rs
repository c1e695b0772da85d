use super::cipher::Key;
use super::config::{Config, ConfigError, Form, Protocol};
use super::control::{self, Control};
use super::packet::{self, Label, PacketError};
use super::receive::{Receiver, low, low_word};
use super::rtp::{self, RtpModeError};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::playout::Output;
use guestright_voice::session::{Frame, ReceivedPacket};
use guestright_voice::tool::{Connected, Ending, Event, Side, Summary, Tool, ToolError, Transmit};
use guestright_wire::rtp::Header;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// The tool says every 7 s who it is (`TimerStep`).
const CONTROL_EVERY: Micros = Micros::from_seconds(7);
/// Datagrams, events and reports that wait for somebody to take them; the oldest make way.
const QUEUE_MAX: usize = 256;

/// One side of a call with Speak Freely.
#[derive(Debug)]
pub struct SpeakFreely {
    config: Config,
    key: Key,
    ssrc: u32,
    prefix: [u8; 4],
    /// RTP's number of the next packet; its low byte is that of robust mode.
    sequence: u64,
    /// RTP's time of the next packet.
    timestamp: u64,
    peer: Option<SocketAddr>,
    is_connected: bool,
    is_over: bool,
    next_control: Option<Time>,
    last_received: Time,
    receiver: Receiver,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
    received: VecDeque<ReceivedPacket>,
    summary: Summary,
    control_packets: u64,
}

impl SpeakFreely {
    /// Begins: a caller says at once who it is.
    ///
    /// # Errors
    /// [`ConfigError`], where the tool could not do that.
    pub fn new(config: Config, seed: &Seed, now: Time) -> Result<Self, ConfigError> {
        config.check()?;
        let mut rng = ChaCha20Rng::from_seed(seed.0);
        let peer = match config.side {
            Side::Caller { to } => Some(to),
            Side::Callee => None,
        };
        let is_rtp = config.protocol == Protocol::Rtp;
        let mut tool = Self {
            key: Key::new(config.cipher, config.protocol, &config.phrase),
            ssrc: rng.random(),
            prefix: rng.random(),
            // Robust mode counts from 0; RTP begins anywhere.
            sequence: if is_rtp { u64::from(rng.random::<u16>()) } else { 0 },
            timestamp: u64::from(rng.random::<u32>()),
            peer,
            is_connected: false,
            is_over: false,
            next_control: None,
            last_received: now,
            receiver: Receiver::new(&config),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            received: VecDeque::new(),
            summary: Summary::default(),
            control_packets: 0,
            config,
        };
        tool.announce(now);
        Ok(tool)
    }

    fn announce(&mut self, now: Time) {
        if self.peer.is_some() && !self.is_over {
            self.send_control(&Control::Here(Some(self.config.name.clone())));
            self.next_control = Some(now + CONTROL_EVERY);
        }
    }

    fn send_control(&mut self, control: &Control) {
        let protocol = self.config.protocol;
        let bytes = control::emit(control, self.ssrc, protocol, &self.key, self.prefix);
        self.control_packets += 1;
        self.send(bytes);
    }

    fn send(&mut self, bytes: Vec<u8>) {
        let Some(to) = self.peer else { return };
        self.summary.datagrams_sent += 1;
        self.summary.sent_wire_bytes += u64::try_from(bytes.len()).unwrap_or_default();
        push(&mut self.transmits, Transmit { to, bytes });
    }

    /// One packet, as it is sent as often as there are copies.
    fn packet_of(&mut self, payload: &[u8], samples: usize) -> Vec<u8> {
        let Config { form, cipher, protocol, copies, .. } = self.config;
        let packet = match protocol {
            Protocol::Own => {
                let [.., number] = self.sequence.to_be_bytes();
                let sequence = (copies > 1).then_some(number);
                let label = Label { name: &self.config.name, sequence };
                packet::Sound::seal(form, payload, cipher, &self.key, label)
            }
            Protocol::Rtp => {
                // The tool means to mark talkspurts, but writes the payload type over the mark.
                let header = Header {
                    marker: false,
                    payload_type: form.payload_type(),
                    sequence: low(self.sequence),
                    timestamp: low_word(self.timestamp),
                    ssrc: self.ssrc,
                };
                rtp::Sound { header, form, payload: payload.to_vec() }.emit(&self.key)
            }
        };
        self.sequence += 1;
        self.timestamp += u64::try_from(samples).unwrap_or_default();
        packet
    }

    fn receive(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        if self.is_over {
            return Err(ToolError::OutOfTurn("the call is over"));
        }
        if self.peer.is_some_and(|peer| peer != from) {
            return Err(ToolError::Stranger);
        }
        if let Some(control) = control::parse(datagram, self.config.protocol, &self.key) {
            return self.receive_control(control, from, now);
        }
        let (name, received) = match self.config.protocol {
            Protocol::Own => {
                let sound = packet::Sound::parse(datagram).map_err(own_error)?;
                if sound.cipher != self.config.cipher {
                    return Err(ToolError::Forged);
                }
                self.check_form(sound.form)?;
                let (name, number) = (sound.name.clone(), sound.sequence);
                let payload = sound.open(&self.key);
                self.check_length(&payload)?;
                (name, self.receiver.receive_own(datagram, number, &payload, now))
            }
            Protocol::Rtp => {
                let has_key = self.key.is_set();
                let sound =
                    rtp::Sound::parse(datagram, &self.key).map_err(|error| rtp_error(error, has_key))?;
                self.check_form(sound.form)?;
                self.check_length(&sound.payload)?;
                (None, self.receiver.receive_rtp(&sound, now))
            }
        };
        push(&mut self.received, received);
        self.note(from, name, now);
        Ok(())
    }

    fn check_form(&self, form: Form) -> Result<(), ToolError> {
        if form == self.config.form {
            Ok(())
        } else {
            Err(ToolError::Malformed("another codec than the one that this call was begun with"))
        }
    }

    /// Frames tell their time by their number; of half-bytes only whole packets are taken.
    fn check_length(&self, payload: &[u8]) -> Result<(), ToolError> {
        let whole = self.config.form.codec_bytes(self.config.packet_samples());
        let fits = match self.config.form {
            Form::Adpcm => payload.len() == whole,
            Form::Gsm | Form::Lpc10 => !payload.is_empty(),
        };
        if fits { Ok(()) } else { Err(ToolError::Malformed("less sound than a packet has")) }
    }

    fn receive_control(&mut self, control: Control, from: SocketAddr, now: Time) -> Result<(), ToolError> {
        match control {
            Control::Here(name) => self.note(from, name, now),
            Control::Goodbye if self.is_connected => self.end(Ending::PeerLeft),
            Control::Goodbye => return Err(ToolError::OutOfTurn("a farewell of somebody who was not there")),
        }
        Ok(())
    }

    /// Somebody is there.
    fn note(&mut self, from: SocketAddr, name: Option<String>, now: Time) {
        self.last_received = now;
        if self.is_connected {
            return;
        }
        self.is_connected = true;
        let is_new = self.peer.replace(from).is_none();
        let protection = self.config.cipher.protection();
        let connected = Connected { peer: from, name, is_verified: false, words: Vec::new(), protection };
        push(&mut self.events, Event::Connected(connected));
        if is_new {
            self.announce(now);
        }
    }

    fn end(&mut self, why: Ending) {
        self.is_over = true;
        self.next_control = None;
        push(&mut self.events, Event::Ended(why));
    }

    /// When nothing has come for too long. A callee whom nobody called waits.
    fn given_up(&self) -> Option<Time> {
        (self.peer.is_some() && !self.is_over).then(|| self.last_received + self.config.silence_max)
    }
}

impl Tool for SpeakFreely {
    fn name(&self) -> &'static str {
        "speak-freely"
    }

    fn handle_frame(&mut self, frame: &Frame<'_>, _: Time) {
        let samples = self.config.form.samples(frame.payload.len());
        let samples = samples.filter(|samples| *samples <= self.config.packet_samples());
        let (true, Some(samples)) = (self.is_ready(), samples) else {
            self.summary.withheld += 1;
            return;
        };
        let packet = self.packet_of(frame.payload, samples);
        self.summary.sent += 1;
        self.summary.sent_codec_bytes += u64::try_from(frame.payload.len()).unwrap_or_default();
        for _ in 1..self.config.copies {
            self.send(packet.clone());
        }
        self.send(packet);
    }

    fn handle_datagram(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        let outcome = self.receive(datagram, from, now);
        self.summary.refused += u64::from(outcome.is_err());
        outcome
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.given_up().is_some_and(|at| now >= at) {
            self.end(Ending::Silence);
        }
        if self.next_control.is_some_and(|at| now >= at) {
            self.announce(now);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        [self.next_control, self.given_up()].into_iter().flatten().min()
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    fn poll_sound(&mut self, now: Time) -> Output {
        self.receiver.poll(now)
    }

    fn hear(&mut self, is_speech: bool) {
        self.receiver.hear(is_speech);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_received(&mut self) -> Option<ReceivedPacket> {
        self.received.pop_front()
    }

    fn is_ready(&self) -> bool {
        self.peer.is_some() && !self.is_over
    }

    fn leave(&mut self, _: Time) {
        if self.is_ready() {
            self.send_control(&Control::Goodbye);
        }
        self.is_over = true;
        self.next_control = None;
    }

    fn summary(&self) -> Summary {
        let mut summary = self.summary.clone();
        summary.playout = self.receiver.counts();
        summary.buffered = self.receiver.buffered();
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 packets")]
        let number = |count: u64| count as f64;
        summary.others = vec![
            ("control packets sent", number(self.control_packets)),
            ("missing by their numbers", number(self.receiver.missing_by_number)),
        ];
        summary
    }
}

fn own_error(error: PacketError) -> ToolError {
    match error {
        PacketError::Truncated { .. } => ToolError::Malformed("shorter than a header"),
        PacketError::Protocol(_) => ToolError::Malformed("the protocol's flag is missing"),
        PacketError::NotSound(_) => ToolError::Malformed("neither sound nor a control packet"),
        PacketError::Codec(_) => ToolError::Malformed("a codec that is not here"),
        PacketError::Encryption(_) => ToolError::Malformed("a cipher that is not here"),
        PacketError::Length { .. } => ToolError::Malformed("its length is not the one in its header"),
    }
}

/// With a key most that does not parse was made with another one.
fn rtp_error(error: RtpModeError, has_key: bool) -> ToolError {
    match error {
        _ if has_key => ToolError::Forged,
        RtpModeError::Blocks { .. } => ToolError::Malformed("not whole blocks"),
        RtpModeError::Rtp(_) => ToolError::Malformed("not RTP"),
        RtpModeError::PayloadType(_) => ToolError::Malformed("a payload type that is not here"),
        RtpModeError::Length { .. } => ToolError::Malformed("a length that no packet has"),
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == QUEUE_MAX {
        queue.pop_front();
    }
    queue.push_back(item);
}
