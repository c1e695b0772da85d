//! One side of a call.

use super::agreement::Agreement;
use super::cipher::CounterMode;
use super::control::{Control, Info};
use super::media::Media;
use super::packet::{Kind, Packet, Setup};
use super::reliable::{Incoming, Outgoing};
use super::{Config, ConfigError};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::playout::{Output, Sound};
use guestright_voice::session::{Frame, ReceivedPacket};
use guestright_voice::tool::{Connected, Ending, Event, Side, Summary, Tool, ToolError, Transmit};
use rand::SeedableRng as _;
use rand_chacha::ChaCha20Rng;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// A caller rings so often.
const RING: Micros = Micros::from_seconds(3);
/// So many times.
const RINGS: u32 = 17;
/// Between two measurements of the round trip.
const ROUND_TRIP: Micros = Micros::from_seconds(12);
/// Nothing came for so long: ours; a little more than three times [`ROUND_TRIP`]. PGPfone waits for ever.
const SILENCE: Micros = Micros::from_seconds(40);
/// How long a goodbye waits for its acknowledgement.
const GOODBYE: Micros = Micros::from_millis(4_100);
/// Datagrams and events that wait to be taken; the oldest is dropped.
const QUEUE_MAX: usize = 256;
/// Words to people: who could hear it.
const PROTECTION: &str = "nobody else can hear it if both of you read the same words; but anybody on the way can change \
                          it, and neither of you would notice";

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Calling {
        rings: u32,
        next: Time,
    },
    /// Waits for somebody to ring.
    Listening,
    /// Comes to keys.
    Agreeing,
    /// Has keys, and says what it would like.
    Informing,
    /// There is a call. Whether each side has said what it sends, and was heard.
    Phone {
        announced: bool,
        received: bool,
    },
    /// Has said goodbye.
    Leaving {
        until: Time,
    },
    Over,
}

/// Keys of both directions.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) sending: CounterMode,
    pub(super) receiving: CounterMode,
}

/// The last measurement of the round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    pub(super) number: u32,
    /// When it was sent, as long as it is on its way.
    pub(super) sent_at: Option<Time>,
}

/// A call of PGPfone 2.1, as a machine without sockets and clocks.
#[derive(Debug)]
pub struct PgpFone {
    pub(super) config: Config,
    pub(super) rng: ChaCha20Rng,
    pub(super) stage: Stage,
    pub(super) peer: Option<SocketAddr>,
    pub(super) agreement: Option<Agreement>,
    pub(super) keys: Option<Keys>,
    pub(super) words: Option<[&'static str; 4]>,
    pub(super) peer_name: Option<String>,
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
    /// The next number of what is not resent: ours, and theirs.
    pub(super) sent_next: u32,
    pub(super) received_next: u32,
    pub(super) received_last: Time,
    pub(super) probe: Probe,
    /// When the next measurement is due.
    pub(super) probe_next: Time,
    pub(super) media: Media,
    pub(super) transmits: VecDeque<Transmit>,
    pub(super) events: VecDeque<Event>,
    pub(super) received: VecDeque<ReceivedPacket>,
    pub(super) summary: Summary,
    pub(super) files: u64,
    misfits: u64,
}

impl PgpFone {
    /// Begins: a caller rings at once, a callee waits.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn new(config: Config, seed: &Seed, now: Time) -> Result<Self, ConfigError> {
        config.check()?;
        let (stage, peer) = match config.side {
            Side::Caller { to } => (Stage::Calling { rings: 0, next: now }, Some(to)),
            Side::Callee => (Stage::Listening, None),
        };
        let mut tool = Self {
            media: Media::new(config.codec),
            config,
            rng: ChaCha20Rng::from_seed(seed.0),
            stage,
            peer,
            agreement: None,
            keys: None,
            words: None,
            peer_name: None,
            outgoing: Outgoing::new(),
            incoming: Incoming::new(),
            sent_next: 0,
            received_next: 0,
            received_last: now,
            probe: Probe::default(),
            probe_next: now,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            received: VecDeque::new(),
            summary: Summary::default(),
            files: 0,
            misfits: 0,
        };
        tool.handle_timeout(now);
        Ok(tool)
    }

    /// The words to be read aloud, once there are keys.
    #[must_use]
    pub fn words(&self) -> Option<[&'static str; 4]> {
        self.words
    }

    pub(super) fn is_caller(&self) -> bool {
        matches!(self.config.side, Side::Caller { .. })
    }

    pub(super) fn transmit(&mut self, to: SocketAddr, bytes: Vec<u8>) {
        self.summary.datagrams_sent += 1;
        self.summary.sent_wire_bytes += bytes.len() as u64;
        bounded(&mut self.transmits, Transmit { to, bytes });
    }

    pub(super) fn event(&mut self, event: Event) {
        bounded(&mut self.events, event);
    }

    /// Sends what is not resent.
    pub(super) fn send(&mut self, kind: Kind, data: &[u8]) {
        let Some(peer) = self.peer else { return };
        let sequence = self.sent_next;
        let Some(next) = sequence.checked_add(1) else {
            // The counter would begin anew, and with it the stream: after nine years of talk.
            self.fail("the numbers of the packets are used up: call again");
            return;
        };
        self.sent_next = next;
        let data = self.encrypted(kind, sequence, data);
        let [.., high, low] = sequence.to_be_bytes();
        let packet = Packet { kind, sequence: u16::from_be_bytes([high, low]), data: &data };
        self.transmit(peer, packet.emit());
    }

    /// Sends a message that is resent until it is acknowledged.
    pub(super) fn send_reliable(&mut self, message: &Control, now: Time) {
        let Some(peer) = self.peer else { return };
        let kind = if self.keys.is_some() { Kind::ControlEncrypted } else { Kind::Control };
        let data = self.encrypted(kind, self.outgoing.sequence(), &message.emit());
        let datagram = self.outgoing.send(kind, message.number(), &data, now);
        self.transmit(peer, datagram);
    }

    fn encrypted(&self, kind: Kind, sequence: u32, data: &[u8]) -> Vec<u8> {
        let mut data = data.to_vec();
        if let Some(keys) = self.keys.as_ref().filter(|_| kind.is_encrypted()) {
            keys.sending.apply(kind as u8, sequence, &mut data);
        }
        data
    }

    /// Both sides speak from here on.
    pub(super) fn begin(&mut self, now: Time) {
        self.stage = Stage::Agreeing;
        self.received_last = now;
        self.media = Media::new(self.config.codec);
        let (agreement, hello) =
            Agreement::new(self.is_caller(), &self.config.primes, &self.config.ciphers, None, &mut self.rng);
        self.agreement = Some(agreement);
        self.send_reliable(&hello, now);
    }

    /// There are keys: says what it would like.
    pub(super) fn inform(&mut self, now: Time) {
        self.stage = Stage::Informing;
        let codec = self.config.codec.code();
        let info = Info {
            name: self.config.name.clone(),
            encoders: vec![codec],
            decoders: vec![codec],
            is_duplex: true,
            has_words: true,
            authentication_bytes: Some(4),
        };
        self.send_reliable(&Control::Info(info), now);
    }

    /// Tells the person at the telephone once sound can flow.
    pub(super) fn connected(&mut self, now: Time) {
        let Some(peer) = self.peer else { return };
        self.probe_next = now + ROUND_TRIP;
        let words = self.words.map(|words| words.map(str::to_owned).to_vec()).unwrap_or_default();
        self.event(Event::Connected(Connected {
            peer,
            name: self.peer_name.clone(),
            is_verified: false,
            words,
            protection: PROTECTION,
        }));
    }

    /// It cannot go on. A callee who has not been connected yet waits for the next.
    pub(super) fn fail(&mut self, reason: &str) {
        let was_connected = matches!(self.stage, Stage::Phone { announced: true, .. });
        if !matches!(self.stage, Stage::Calling { .. } | Stage::Listening | Stage::Over)
            && let Some(peer) = self.peer
        {
            // Once, as far as it goes: whoever does not hear it gives up by himself.
            let goodbye = Control::Hangup;
            let kind = if self.keys.is_some() { Kind::ControlEncrypted } else { Kind::Control };
            let sequence = self.outgoing.sequence();
            let data = self.encrypted(kind, sequence, &goodbye.emit());
            let datagram = self.outgoing.send(kind, goodbye.number(), &data, self.received_last);
            self.transmit(peer, datagram);
        }
        if self.is_caller() || was_connected {
            self.end(Ending::Failed(reason.to_owned()));
        } else {
            self.event(Event::Trouble(format!("a call did not come about: {reason}")));
            self.listen();
        }
    }

    /// Over, and everybody knows why.
    pub(super) fn finish(&mut self) {
        self.stage = Stage::Over;
        self.forget();
    }

    pub(super) fn end(&mut self, ending: Ending) {
        self.finish();
        self.event(Event::Ended(ending));
    }

    /// Waits for the next caller.
    pub(super) fn listen(&mut self) {
        self.stage = Stage::Listening;
        self.forget();
        self.peer = None;
        self.peer_name = None;
    }

    /// Wipes keys, and all that belongs to one call.
    fn forget(&mut self) {
        (self.agreement, self.keys, self.words) = (None, None, None);
        (self.outgoing, self.incoming) = (Outgoing::new(), Incoming::new());
        (self.sent_next, self.received_next, self.probe) = (0, 0, Probe::default());
    }

    fn ring(&mut self, rings: u32, now: Time) {
        let Some(peer) = self.peer else { return };
        if rings >= RINGS {
            self.fail("nobody answers");
            return;
        }
        self.transmit(peer, Setup::Call.emit());
        self.stage = Stage::Calling { rings: rings + 1, next: now + RING };
    }

    fn measure(&mut self, now: Time) {
        let number = self.probe.number.wrapping_add(1);
        self.probe = Probe { number, sent_at: Some(now) };
        self.probe_next = now + ROUND_TRIP;
        let mut data = vec![u8::from(self.is_caller())];
        data.extend(number.to_be_bytes());
        self.send(Kind::RoundTrip, &data);
    }

    fn has_call(&self) -> bool {
        matches!(self.stage, Stage::Phone { announced: true, .. })
    }
}

/// Adds at the end; drops what is oldest if nobody takes it.
pub(super) fn bounded<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() >= QUEUE_MAX {
        queue.pop_front();
    }
    queue.push_back(item);
}

impl Tool for PgpFone {
    fn name(&self) -> &'static str {
        "pgpfone"
    }

    fn handle_frame(&mut self, frame: &Frame<'_>, now: Time) {
        if !self.is_ready() {
            self.summary.withheld += 1;
            return;
        }
        if frame.payload.len() != self.config.codec.payload_bytes() {
            self.misfits += 1;
            return;
        }
        if !frame.is_speech && !self.config.sends_pauses {
            return;
        }
        let [.., a, b, c, d] = (now.0 / 1_000).to_be_bytes();
        let mut data = Vec::with_capacity(self.config.codec.data_bytes());
        data.extend([a, b, c, d]);
        data.extend(frame.payload);
        self.send(Kind::Voice, &data);
        self.summary.sent += 1;
        self.summary.sent_codec_bytes += frame.payload.len() as u64;
    }

    fn handle_datagram(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        let taken = self.receive(datagram, from, now);
        self.summary.refused += u64::from(taken.is_err());
        taken
    }

    fn handle_timeout(&mut self, now: Time) {
        match self.stage {
            Stage::Over | Stage::Listening => return,
            Stage::Calling { rings, next } => {
                if next <= now {
                    self.ring(rings, now);
                }
                return;
            }
            Stage::Leaving { until } if until <= now => {
                self.finish();
                return;
            }
            Stage::Agreeing | Stage::Informing | Stage::Phone { .. } | Stage::Leaving { .. } => {}
        }
        let Some(datagrams) = self.outgoing.resend(now) else {
            self.fail("the other side does not answer any more");
            return;
        };
        for datagram in datagrams {
            if let Some(peer) = self.peer {
                self.transmit(peer, datagram);
            }
        }
        if matches!(self.stage, Stage::Leaving { .. }) {
            return;
        }
        if now.since(self.received_last) >= SILENCE {
            if self.has_call() {
                self.end(Ending::Silence);
            } else {
                self.fail("the other side has fallen silent");
            }
            return;
        }
        if self.has_call() && self.probe_next <= now {
            self.measure(now);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let resend = self.outgoing.next_timeout();
        match self.stage {
            Stage::Over | Stage::Listening => None,
            Stage::Calling { next, .. } => Some(next),
            Stage::Leaving { until } => Some(resend.map_or(until, |resend| resend.min(until))),
            Stage::Agreeing | Stage::Informing | Stage::Phone { .. } => {
                let probe = self.has_call().then_some(self.probe_next);
                [resend, probe, Some(self.received_last + SILENCE)].into_iter().flatten().min()
            }
        }
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    fn poll_sound(&mut self, now: Time) -> Output {
        if matches!(self.stage, Stage::Phone { .. }) {
            self.media.playout().poll(now)
        } else {
            Output { sound: Sound::Silence, duration: self.config.codec.packet() }
        }
    }

    fn hear(&mut self, is_speech: bool) {
        self.media.playout().hear(is_speech);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_received(&mut self) -> Option<ReceivedPacket> {
        self.received.pop_front()
    }

    fn is_ready(&self) -> bool {
        self.has_call()
    }

    fn leave(&mut self, now: Time) {
        match self.stage {
            Stage::Calling { .. } | Stage::Listening => {
                self.finish();
            }
            Stage::Agreeing | Stage::Informing | Stage::Phone { .. } => {
                self.send_reliable(&Control::Hangup, now);
                self.stage = Stage::Leaving { until: now + GOODBYE };
            }
            Stage::Leaving { .. } | Stage::Over => {}
        }
    }

    fn summary(&self) -> Summary {
        let mut summary = self.summary.clone();
        summary.playout = self.media.counts();
        summary.buffered = self.media.added();
        #[expect(clippy::cast_precision_loss, reason = "counts of datagrams are far below 2^52")]
        let others =
            vec![("files refused", self.files as f64), ("frames of another length", self.misfits as f64)];
        summary.others = others;
        summary
    }
}
