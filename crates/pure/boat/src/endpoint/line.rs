use super::reception::Reception;
use super::voice::Voice;
use super::{Clocks, Config, Masking, Timing, push};
use crate::buffer::{Buffer, BufferConfig, Packet};
use crate::clock::wrap;
use crate::{
    Audio, Content, Listener, Message, Opened, PAYLOAD_MAX, RateControl, Seal, SealError, Shutdown, Step,
    Talker, Verdict,
};
use guestright_units::{Micros, Time};
use guestright_voice::playout::{Fate, Incoming, Output, Playout};
use guestright_voice::session::{Delay, DelaySource, Frame, ReceivedPacket};
use guestright_voice::tool::{Ending, Summary, ToolError, Transmit};
use rand_chacha::ChaCha20Rng;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Goodbye is said so many times, because nobody answers it.
const GOODBYES: u32 = 3;

#[derive(Debug)]
enum Ear {
    Boat(Box<Buffer>),
    Policy(Box<Playout>),
}

/// Both directions of a call, once there is a seal.
#[derive(Debug)]
pub(super) struct Line {
    config: Config,
    seal: Box<dyn Seal>,
    peer: SocketAddr,
    talker: Talker,
    listener: Listener,
    voice: Voice,
    ear: Ear,
    reception: Reception,
    rate: Option<RateControl>,
    report_at: Time,
    report_waits: bool,
    last_received: Time,
    last_sent: Time,
    /// Bytes that a packet of sound had last: what everything else shall look like.
    room: usize,
    /// Frames, spoken or not.
    slots: u64,
    sent: u64,
    sent_codec_bytes: u64,
    covers: u64,
    transmits: VecDeque<Transmit>,
    received: VecDeque<ReceivedPacket>,
    ending: Option<Ending>,
}

impl Line {
    pub(super) fn new(
        config: &Config,
        timing: Timing,
        seal: Box<dyn Seal>,
        peer: SocketAddr,
        rng: &mut ChaCha20Rng,
        now: Time,
    ) -> Self {
        let slot_wait = Micros(config.packet.0.saturating_mul(config.masking.wait_packets()));
        let ear = match timing {
            Timing::Boat => Ear::Boat(Box::new(Buffer::new(BufferConfig {
                tick_rate: config.tick_rate(),
                packet: config.packet,
                conceal_max: config.conceal_max,
            }))),
            Timing::Policy(policy) => Ear::Policy(Box::new(Playout::new(config.playout(), policy))),
        };
        Self {
            talker: Talker::new(config.talker, slot_wait, rng, now),
            listener: Listener::new(config.listener),
            rate: config.rate.clone().map(|rate| RateControl::new(rate, now)),
            report_at: now + config.report_every,
            config: config.clone(),
            seal,
            peer,
            voice: Voice::default(),
            ear,
            reception: Reception::default(),
            report_waits: false,
            last_received: now,
            last_sent: now,
            room: 0,
            slots: 0,
            sent: 0,
            sent_codec_bytes: 0,
            covers: 0,
            transmits: VecDeque::new(),
            received: VecDeque::new(),
            ending: None,
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    pub(super) fn poll_received(&mut self) -> Option<ReceivedPacket> {
        self.received.pop_front()
    }

    pub(super) fn poll_ending(&mut self) -> Option<Ending> {
        self.ending.take()
    }

    pub(super) fn can_talk(&self) -> bool {
        match &self.ear {
            // The first handshake precedes the conversation (section 3.1).
            Ear::Boat(_) => self.talker.is_synchronised(),
            Ear::Policy(_) => true,
        }
    }

    pub(super) fn frame_bytes(&self) -> Option<usize> {
        self.rate.as_ref().map(|rate| rate.packet_bytes(self.config.packet).clamp(1, PAYLOAD_MAX))
    }

    /// Says whether the frame could be sent, or had nothing to be sent.
    pub(super) fn handle_frame(&mut self, frame: &Frame<'_>, rng: &mut ChaCha20Rng, now: Time) -> bool {
        self.slots += 1;
        let mut may = self.can_talk();
        self.talker.note_speech(frame.is_speech && may, now);
        let ticks = wrap(self.config.tick_rate().ticks(frame.duration));
        let audio = if may { self.voice.packet(frame, self.talker.clock(now), ticks) } else { None };
        let has_audio = audio.is_some();
        if let Some(audio) = audio {
            self.room = audio.payload.len();
            may = self.send(&Content::Audio(audio), now);
            if may {
                self.sent += 1;
                self.sent_codec_bytes += self.room as u64;
            }
        }
        let has_second = self.slots.is_multiple_of(Masking::SECOND_EVERY);
        let others = match self.config.masking {
            Masking::None => 0,
            Masking::Slots | Masking::Sound | Masking::Cover => 1,
            Masking::Constant => u32::from(!has_audio) + u32::from(has_second),
        };
        let is_covered = match self.config.masking {
            Masking::None | Masking::Slots | Masking::Sound => false,
            Masking::Cover => !has_audio,
            Masking::Constant => true,
        };
        let mut looks_like_sound = has_audio;
        let may_begin = self.config.masking != Masking::Sound || has_audio || !self.talker.is_synchronised();
        for _ in 0..others {
            let message = self.next_message(may_begin, rng, now);
            let content = message.or_else(|| is_covered.then_some(Content::Cover));
            if let Some(content) = content {
                looks_like_sound = true;
                self.send(&content, now);
            }
        }
        if looks_like_sound {
            self.talker.note_packet(frame.duration);
        }
        may || !frame.is_speech
    }

    pub(super) fn open(&mut self, datagram: &[u8], now: Time) -> Result<Opened, SealError> {
        self.seal.open(datagram, now)
    }

    /// Takes what was in a datagram.
    pub(super) fn handle_opened(
        &mut self,
        opened: Opened,
        from: SocketAddr,
        now: Time,
    ) -> Result<(), ToolError> {
        let Opened { content, sequence } = opened;
        self.last_received = self.last_received.max(now);
        if self.reception.datagram(sequence) {
            self.peer = from;
        }
        let content = match content {
            Content::Audio(audio) => {
                self.handle_audio(audio, sequence, now);
                return Ok(());
            }
            other @ (Content::Message(_) | Content::Report(_) | Content::Cover | Content::Bye) => other,
        };
        self.reception.other(sequence);
        if let Ear::Policy(playout) = &mut self.ear {
            playout.note_other(sequence);
        }
        match content {
            Content::Audio(_) | Content::Cover => Ok(()),
            Content::Message(message) => self.handle_message(&message, now).map_err(ToolError::from),
            Content::Report(report) => {
                if let Some(rate) = &mut self.rate {
                    rate.handle_report(&report, now);
                }
                Ok(())
            }
            Content::Bye => {
                self.ending.get_or_insert(Ending::PeerLeft);
                Ok(())
            }
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.talker.handle_timeout(self.seal.as_mut(), now);
        if let Some(rate) = &mut self.rate {
            rate.handle_timeout(now);
        }
        if now >= self.report_at {
            self.report_at = now + self.config.report_every;
            self.report_waits = true;
        }
        if now >= self.last_received + self.config.silence_max {
            self.ending.get_or_insert(Ending::Silence);
        }
        if now >= self.last_sent + self.config.keep_alive {
            self.covers += 1;
            self.send(&Content::Cover, now);
        }
    }

    pub(super) fn poll_timeout(&self) -> Time {
        let fixed = [
            self.report_at,
            self.last_received + self.config.silence_max,
            self.last_sent + self.config.keep_alive,
        ];
        let rate = self.rate.as_ref().map(RateControl::poll_timeout);
        let others = self.talker.poll_timeout().into_iter().chain(rate);
        fixed.into_iter().chain(others).min().unwrap_or(self.report_at)
    }

    /// Sends what need not wait for a place, and sees whether the conversation must be shut down.
    pub(super) fn advance(&mut self, rng: &mut ChaCha20Rng, now: Time) {
        if self.config.masking == Masking::None {
            self.talker.handle_timeout(self.seal.as_mut(), now);
            while self.ending.is_none()
                && let Some(content) = self.next_message(true, rng, now)
            {
                self.send(&content, now);
            }
        }
        if let Some(shutdown) = self.talker.shutdown()
            && self.ending.is_none()
        {
            self.send_goodbye(now);
            self.ending = Some(Ending::Failed(reason(shutdown)));
        }
    }

    pub(super) fn send_goodbye(&mut self, now: Time) {
        for _ in 0..GOODBYES {
            self.send(&Content::Bye, now);
        }
    }

    pub(super) fn poll_sound(&mut self, now: Time) -> Output {
        match &mut self.ear {
            Ear::Boat(buffer) => {
                if let Some(floor) = self.listener.settle(buffer.gap(), now) {
                    buffer.raise_floor(floor);
                }
                let clock = self.listener.clock(now).unwrap_or(0);
                buffer.poll(clock, now)
            }
            Ear::Policy(playout) => playout.poll(now),
        }
    }

    pub(super) fn hear(&mut self, is_speech: bool) {
        if let Ear::Policy(playout) = &mut self.ear {
            playout.hear(is_speech);
        }
    }

    pub(super) fn summary(&self) -> Summary {
        let (playout, buffered, early) = match &self.ear {
            Ear::Boat(buffer) => (buffer.counts(), buffer.added(), buffer.early()),
            Ear::Policy(playout) => (playout.counts(), playout.added(), 0),
        };
        let phases = self.talker.counts();
        let clock = self.listener.counts();
        let (delta_min, delta_max) = self.listener.bounds().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "counts and µs of a call are far below 2^52")]
        let number = |count: u64| count as f64;
        let millis = |span: Micros| number(span.0) / 1e3;
        let tick_millis = |ticks: u64| millis(self.config.tick_rate().span(ticks));
        let mut others = vec![
            ("phases started", number(phases.started)),
            ("phases completed", number(phases.completed)),
            ("phases failed", number(phases.failed)),
            ("phases whose round trip jumped", number(phases.jumped)),
            ("phases without a silence to install in", number(phases.superseded)),
            ("phases answered", number(clock.answered)),
            ("clocks installed forward", number(clock.forward)),
            ("clocks installed back", number(clock.back)),
            ("clocks installed out of silence", number(clock.forced)),
            ("Delta at least, ms", tick_millis(delta_min)),
            ("Delta at most, ms", tick_millis(delta_max)),
            ("too early", number(early)),
            ("covers sent", number(self.covers)),
            ("frames left out", number(self.voice.left_out)),
            ("jitter, ms", millis(self.reception.jitter())),
        ];
        if let Some(rate) = &self.rate {
            others.push(("codec rate, bytes a second", f64::from(rate.rate())));
        }
        Summary {
            sent: self.sent,
            sent_codec_bytes: self.sent_codec_bytes,
            playout,
            round_trip: self.talker.round_trip(),
            buffered,
            others,
            ..Summary::default()
        }
    }

    pub(super) fn clocks(&self, now: Time) -> Clocks {
        Clocks {
            talker: self.talker.clock(now),
            listener: self.listener.look(now),
            bounds: self.listener.bounds(),
            is_pending: self.listener.is_pending(),
        }
    }

    fn handle_audio(&mut self, audio: Audio, sequence: u64, now: Time) {
        if matches!(self.ear, Ear::Policy(_)) {
            self.listener.begin(audio.timestamp, now);
        }
        let clock = self.listener.clock(now);
        let timestamp = self.listener.widen(audio.timestamp);
        let number = self.reception.sound(sequence, self.config.tick_rate().span(timestamp), now);
        let is_duplicate = match &mut self.ear {
            Ear::Boat(buffer) => {
                let packet = Packet {
                    number,
                    timestamp,
                    starts_talkspurt: audio.starts_talkspurt,
                    silence: audio.silence,
                    payload: &audio.payload,
                    arrived: now,
                };
                let is_late_run = self.config.late_run_max.is_some_and(|most| buffer.late_run() >= most);
                if let Some(floor) = self.listener.settle(buffer.gap_of(&packet), now) {
                    buffer.raise_floor(floor);
                } else if is_late_run {
                    self.listener.force_back();
                }
                let clock = self.listener.clock(now).or(clock).unwrap_or(u64::MAX);
                buffer.insert(&packet, clock, self.listener.reach()) == Verdict::Duplicate
            }
            Ear::Policy(playout) => {
                let incoming = Incoming {
                    sequence,
                    timestamp,
                    marker: audio.starts_talkspurt,
                    payload_type: 0,
                    is_noise: false,
                    payload: &audio.payload,
                    arrived: now,
                };
                playout.insert(&incoming) == Fate::Duplicate
            }
        };
        let received = ReceivedPacket {
            sequence: narrow(number),
            timestamp: samples(timestamp, self.config.tick_rate().per_second()),
            marker: audio.starts_talkspurt,
            payload_type: 0,
            payload_bytes: audio.payload.len(),
            arrival: now,
            delay: self.delay(),
            is_duplicate,
        };
        push(&mut self.received, received);
    }

    /// One way takes between nothing and the whole round trip: that is all that a phase can show.
    fn delay(&self) -> Option<Delay> {
        let high = self.talker.round_trip().or_else(|| self.listener.round_trip())?;
        Some(Delay { low: Micros(0), high, source: DelaySource::RoundTrip })
    }

    fn handle_message(&mut self, message: &Message, now: Time) -> Result<(), SealError> {
        let seal = self.seal.as_mut();
        match message.step {
            Step::Probe { .. } | Step::Install { .. } => {
                self.listener.handle_message(message, seal, now)?;
                if let Some(exchange) = self.listener.poll_exchange()
                    && let Ear::Policy(playout) = &mut self.ear
                {
                    playout.policy().handshake(&exchange);
                }
                Ok(())
            }
            Step::Response { .. } | Step::Ack { .. } => self.talker.handle_message(message, seal, now),
        }
    }

    /// The next message that waits: answers first, because their time runs.
    fn next_message(&mut self, may_begin: bool, rng: &mut ChaCha20Rng, now: Time) -> Option<Content> {
        if let Some(message) = self.listener.poll_message(now) {
            return Some(Content::Message(message));
        }
        if (may_begin || !self.talker.would_begin())
            && let Some(message) = self.talker.poll_message(self.seal.as_mut(), rng, now)
        {
            return Some(Content::Message(message));
        }
        if !std::mem::take(&mut self.report_waits) {
            return None;
        }
        let late = match &self.ear {
            Ear::Boat(buffer) => buffer.counts().late,
            Ear::Policy(playout) => playout.counts().late,
        };
        Some(Content::Report(self.reception.report(late)))
    }

    /// Says whether it was sent.
    fn send(&mut self, content: &Content, now: Time) -> bool {
        self.last_sent = now;
        let mut bytes = Vec::new();
        let room = self.room.max(self.frame_bytes().unwrap_or(0));
        match self.seal.seal(content, room, now, &mut bytes) {
            Ok(()) => {
                self.talker.note_bytes(bytes.len());
                push(&mut self.transmits, Transmit { to: self.peer, bytes });
                true
            }
            // No key for sound before the first phase, in the paper's protection.
            Err(SealError::Unsealable(_)) => false,
            // Without a key nothing can be said, not even goodbye.
            Err(error) => {
                let sentence = format!("nothing can be sent any more: {error}; call again");
                self.ending.get_or_insert(Ending::Failed(sentence));
                false
            }
        }
    }
}

fn reason(shutdown: Shutdown) -> String {
    match shutdown {
        Shutdown::Failures(phases) => format!(
            "{phases} handshakes in a row were lost, so the key could not be changed; the line is bad, or somebody drops them"
        ),
        Shutdown::KeyAge => "a key was in use for longer than it may be; call again".to_owned(),
        Shutdown::KeyBytes => "a key has protected more than it may; call again".to_owned(),
    }
}

/// The lower 16 bits: the number wraps.
#[expect(clippy::cast_possible_truncation, reason = "that is what wrapping means")]
const fn narrow(number: u64) -> u16 {
    number as u16
}

/// Ticks as samples of 8 kHz, wrapping.
fn samples(ticks: u64, per_second: u32) -> u32 {
    let samples = u128::from(ticks) * 8_000 / u128::from(per_second);
    wrap(u64::try_from(samples).unwrap_or(u64::MAX))
}
