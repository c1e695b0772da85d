//! From packets to samples, and back: the codec on both sides of a session.

use crate::offer::Agreed;
use crate::sound;
use crate::{Playout, TelephoneError, VoiceSettings};
use guestright_audio::{Level, VoiceDetector};
use guestright_codec::{
    Activity, Codec, CodecError, Encoded, Kind, Noise, PACKET_SAMPLES_MAX, PAYLOAD_BYTES_MAX, Settings,
};
use guestright_quality::LossPattern;
use guestright_units::{Micros, Time};
use guestright_voice::playout::{Fixed, Histogram, Moon, Output, PaperA, Policy, Ramjee4, Sound};
use guestright_voice::session::{Accepted, Frame, Session};
use guestright_voice::tool::Tool;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// What takes frames of the codec, and gives them back in time.
pub trait Machine {
    fn handle_frame(&mut self, frame: &Frame<'_>, now: Time);
    fn poll_sound(&mut self, now: Time) -> Output;
    fn hear(&mut self, is_speech: bool);
}

impl Machine for Session {
    fn handle_frame(&mut self, frame: &Frame<'_>, now: Time) {
        Self::handle_frame(self, frame, now);
    }

    fn poll_sound(&mut self, now: Time) -> Output {
        Self::poll_sound(self, now)
    }

    fn hear(&mut self, is_speech: bool) {
        Self::hear(self, is_speech);
    }
}

impl Machine for Box<dyn Tool> {
    fn handle_frame(&mut self, frame: &Frame<'_>, now: Time) {
        self.as_mut().handle_frame(frame, now);
    }

    fn poll_sound(&mut self, now: Time) -> Output {
        self.as_mut().poll_sound(now)
    }

    fn hear(&mut self, is_speech: bool) {
        self.as_mut().hear(is_speech);
    }
}

/// The codec of a call, what was decoded and not yet played, and what tells speech from pauses in both directions.
pub struct Ear {
    /// Samples per second.
    rate: u32,
    codec: Box<dyn Codec>,
    /// What was offered and has no answer yet, by payload type; a decoder is opened when something of it comes.
    offered: BTreeMap<u8, (Kind, Option<Box<dyn Codec>>)>,
    /// The last sample of an offered codec, to go on from where its rate is another one.
    last: i16,
    decoded: VecDeque<i16>,
    noise: Noise,
    pattern: LossPattern,
    incoming: VoiceDetector,
    outgoing: VoiceDetector,
}

impl fmt::Debug for Ear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ear").field("rate", &self.rate).finish_non_exhaustive()
    }
}

impl Ear {
    pub fn new(kind: Kind, dtx: bool) -> Result<Self, CodecError> {
        let settings = Settings { discontinuous: dtx, ..Settings::default() };
        Self::with(kind, &settings, kind.format().sample_rate_hz)
    }

    /// For samples at another rate than the codec was made for.
    pub fn with(kind: Kind, settings: &Settings, rate: u32) -> Result<Self, CodecError> {
        Ok(Self {
            rate,
            codec: guestright_codec::open(kind, settings)?,
            offered: BTreeMap::new(),
            last: 0,
            decoded: VecDeque::new(),
            noise: Noise::new(1),
            pattern: LossPattern::default(),
            incoming: VoiceDetector::new(rate),
            outgoing: VoiceDetector::new(rate),
        })
    }

    /// Goes on with another codec. What was decoded and not played is played.
    pub(crate) fn change(&mut self, kind: Kind, dtx: bool) -> Result<(), CodecError> {
        let new = Self::new(kind, dtx)?;
        let before = std::mem::replace(self, new);
        let mut last = 0;
        let decoded: Vec<i16> = before.decoded.into();
        let wanted = sound::scaled(decoded.len(), before.rate, self.rate);
        self.decoded = sound::convert(&decoded, wanted, &mut last).into();
        Ok(())
    }

    /// Codecs and payload types that may come before it is known whether the other side wants them.
    pub(crate) fn set_offered(&mut self, formats: impl Iterator<Item = (Kind, u8)>) {
        self.offered = formats.map(|(kind, payload)| (payload, (kind, None))).collect();
    }

    /// Encodes what was captured, and hands it to the machine.
    pub fn encode(&mut self, spoken: &[i16], machine: &mut impl Machine, at: Time) -> Result<(), CodecError> {
        let mut payload = [0; PAYLOAD_BYTES_MAX];
        let Encoded { bytes, activity } = self.codec.encode(spoken, &mut payload)?;
        let is_loud = self.outgoing.detect(spoken);
        let frame = Frame {
            payload: &payload[..bytes],
            duration: self.micros(spoken.len()),
            is_speech: activity == Activity::Speech && is_loud && bytes > 0,
            noise_level: noise_level(spoken),
        };
        machine.handle_frame(&frame, at);
        Ok(())
    }

    /// Decodes the next samples to be played.
    pub fn decode(&mut self, samples: usize, machine: &mut impl Machine, now: Time) -> Vec<i16> {
        while self.decoded.len() < samples {
            let ahead = self.micros(self.decoded.len());
            let before = self.decoded.len();
            self.sound(machine.poll_sound(now + ahead));
            if self.decoded.len() == before {
                // A duration of less than a sample: nobody sends that.
                self.decoded.resize(samples, 0);
            }
        }
        let played: Vec<i16> = self.decoded.drain(..samples).collect();
        machine.hear(self.incoming.detect(&played));
        played
    }

    /// So many bytes may the next packet have; a codec that can be cut anywhere fills them.
    pub fn set_packet_bytes(&mut self, bytes: usize) {
        self.codec.set_packet_bytes(bytes);
    }

    /// What was missing, in the order in which it was to be played.
    pub fn pattern(&self) -> &LossPattern {
        &self.pattern
    }

    fn sound(&mut self, output: Output) {
        match &output.sound {
            Sound::Play { .. } => self.pattern.push(false),
            Sound::Conceal { .. } => self.pattern.push(true),
            Sound::ComfortNoise { .. } | Sound::Silence => {}
        }
        let mut buffer = [0; PACKET_SAMPLES_MAX];
        let length = self.samples(output.duration).min(PACKET_SAMPLES_MAX);
        let length = match output.sound {
            Sound::Play { payload, payload_type, .. } if self.offered.contains_key(&payload_type) => {
                return self.decode_offered(payload_type, &payload, length);
            }
            Sound::Play { payload, .. } => match self.codec.decode(&payload, &mut buffer) {
                Ok(length) => length,
                // No payload of this codec: as if it had been lost.
                Err(_) => self.conceal(None, &mut buffer[..length]),
            },
            Sound::Conceal { next } => self.conceal(next.as_deref(), &mut buffer[..length]),
            Sound::ComfortNoise { payload } => {
                // An empty payload describes nothing; the noise stays as it was.
                let _ = self.noise.describe(&payload);
                self.noise.play(&mut buffer[..length]);
                length
            }
            Sound::Silence => length,
        };
        self.decoded.extend(&buffer[..length]);
    }

    /// Sound of a codec that was offered, as so many samples of the present rate.
    fn decode_offered(&mut self, payload_type: u8, payload: &[u8], length: usize) {
        let mut buffer = [0; PACKET_SAMPLES_MAX];
        let decoded = self.offered.get_mut(&payload_type).and_then(|(kind, codec)| {
            if codec.is_none() {
                *codec = guestright_codec::open(*kind, &Settings::default()).ok();
            }
            codec.as_mut()?.decode(payload, &mut buffer).ok()
        });
        let length = match decoded {
            Some(decoded) => {
                let here = sound::convert(&buffer[..decoded], length, &mut self.last);
                return self.decoded.extend(here);
            }
            None => self.conceal(None, &mut buffer[..length]),
        };
        self.decoded.extend(&buffer[..length]);
    }

    /// Fills a gap; with silence where the codec cannot.
    fn conceal(&mut self, next: Option<&[u8]>, gap: &mut [i16]) -> usize {
        let filled = match next {
            Some(next) => self.codec.recover(next, gap).is_ok(),
            None => self.codec.conceal(gap).is_ok(),
        };
        if !filled {
            gap.fill(0);
        }
        gap.len()
    }

    fn micros(&self, samples: usize) -> Micros {
        let samples = u64::try_from(samples).unwrap_or(u64::MAX);
        Micros(samples.saturating_mul(1_000_000) / u64::from(self.rate.max(1)))
    }

    fn samples(&self, duration: Micros) -> usize {
        let samples = duration.0.saturating_mul(u64::from(self.rate.max(1))) / 1_000_000;
        usize::try_from(samples).unwrap_or(usize::MAX)
    }
}

/// How loud a pause is, in -dBov (RFC 3389 section 3.1).
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..127")]
fn noise_level(samples: &[i16]) -> u8 {
    (-Level::of(samples).rms_dbov).clamp(0.0, 127.0) as u8
}

/// A codec's payload type as the session wants to know it.
fn accepted(kind: Kind, payload_type: u8) -> Accepted {
    // Codecs whose payload's length says how much sound is in it.
    let (frame_bytes, frame) = match kind {
        Kind::Pcmu | Kind::Pcma | Kind::G722 => (8, Micros::from_millis(1)),
        Kind::Gsm => (33, Micros::from_millis(20)),
        Kind::G729 => (10, Micros::from_millis(10)),
        Kind::GsmLite => (29, Micros::from_millis(20)),
        Kind::Dvi4
        | Kind::Ima
        | Kind::Lpc10
        | Kind::Opus8
        | Kind::Opus16
        | Kind::Opus48
        | Kind::Amr
        | Kind::W1
        | Kind::W2
        | Kind::AdpcmSpeakFreely
        | Kind::AdpcmPgpfone => (0, Micros(0)),
    };
    Accepted { payload_type, clock_rate: kind.format().clock_rate_hz, frame_bytes, frame }
}

/// What is agreed on about the voice, as the session wants to know it.
pub(crate) fn config(terms: &Agreed, voice: &VoiceSettings, name: &str) -> guestright_voice::session::Config {
    let mut config = guestright_voice::session::Config::g711(0, name);
    config.peer = Some(terms.remote);
    config.send = accepted(terms.kind, terms.payload);
    config.receive = vec![accepted(terms.kind, terms.payload_here)];
    config.receive.extend(terms.also_expected().map(|(kind, payload)| accepted(kind, payload)));
    config.comfort_noise = terms.has_noise.then_some(guestright_voice::rtp::COMFORT_NOISE);
    config.discontinuous = voice.dtx;
    config.packet = Micros(terms.kind.format().packet_us());
    if voice.playout == Playout::Paper {
        config.delay_max = PaperA::LENGTH;
    }
    if let Some(length) = voice.playout.fixed_buffer() {
        config.delay_max = config.delay_max.max(length);
    }
    config.clock_error = voice.clock_error_ms.map(micros);
    config
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion from a float saturates"
)]
fn micros(ms: f64) -> Micros {
    Micros((ms * 1e3) as u64)
}

/// What learns when sound is played.
pub fn policy(playout: Playout) -> Result<Box<dyn Policy>, TelephoneError> {
    Ok(match playout {
        Playout::Fixed(hold) => Box::new(Fixed::new(hold)),
        Playout::Neteq => Box::new(Histogram::default()),
        Playout::Ramjee => Box::new(Ramjee4::default()),
        Playout::Moon => Box::new(Moon::default()),
        Playout::Paper => Box::new(PaperA),
        Playout::Boat => {
            return Err(TelephoneError::NoHandshakes);
        }
    })
}
