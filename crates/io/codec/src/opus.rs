//! Opus (RFC 6716), by libopus, with one channel for speech.

use crate::Settings;
use crate::{
    Activity, Codec, CodecError, Encoded, Format, Kind, PACKET_SAMPLES_MAX, PAYLOAD_BYTES_MAX, Recovered,
};
use opus::{Application, Bitrate, Channels, Decoder, Encoder, Signal, packet};

/// How many of the shortest frames (2.5 ms) a packet can have.
const FRAMES: [usize; 9] = [1, 2, 4, 8, 16, 24, 32, 40, 48];

/// One Opus stream each way.
#[derive(Debug)]
pub(crate) struct Opus {
    format: &'static Format,
    encoder: Encoder,
    decoder: Decoder,
    look_ahead: usize,
}

impl Opus {
    pub(crate) fn new(kind: Kind, settings: &Settings) -> Result<Self, CodecError> {
        let format = kind.format();
        let failed = |error: opus::Error| failed(format.name, &error);
        let mut encoder =
            Encoder::new(format.sample_rate_hz, Channels::Mono, Application::Voip).map_err(failed)?;
        let as_int = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        let rate = settings.bits_per_second.map_or(Bitrate::Auto, |rate| Bitrate::Bits(as_int(rate)));
        encoder.set_bitrate(rate).map_err(failed)?;
        encoder.set_signal(Signal::Voice).map_err(failed)?;
        encoder.set_complexity(as_int(settings.complexity)).map_err(failed)?;
        encoder.set_inband_fec(settings.redundancy).map_err(failed)?;
        encoder.set_packet_loss_perc(as_int(settings.loss_percent)).map_err(failed)?;
        encoder.set_dtx(settings.discontinuous).map_err(failed)?;
        let look_ahead = usize::try_from(encoder.get_lookahead().map_err(failed)?).unwrap_or(0);
        let decoder = Decoder::new(format.sample_rate_hz, Channels::Mono).map_err(failed)?;
        Ok(Self { format, encoder, decoder, look_ahead })
    }

    fn check_gap(&self, samples: &[i16]) -> Result<(), CodecError> {
        let (codec, got, want) = (self.format.name, samples.len(), self.format.frame_samples);
        let fits = got > 0 && got <= PACKET_SAMPLES_MAX && got.is_multiple_of(want);
        if fits { Ok(()) } else { Err(CodecError::Samples { codec, got, want }) }
    }
}

impl Codec for Opus {
    fn format(&self) -> &'static Format {
        self.format
    }

    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<Encoded, CodecError> {
        let (codec, got, want) = (self.format.name, samples.len(), self.format.frame_samples);
        if !got.is_multiple_of(want) || !FRAMES.contains(&(got / want)) {
            return Err(CodecError::Samples { codec, got, want });
        }
        let (got, want) = (payload.len(), self.format.packet_bytes_max);
        if got < want {
            return Err(CodecError::Room { got, want });
        }
        let payload = &mut payload[..got.min(PAYLOAD_BYTES_MAX)];
        let bytes = self.encoder.encode(samples, payload).map_err(|error| failed(codec, &error))?;
        // With two bytes or less there is nothing to send, says `opus_encode`'s documentation.
        if bytes <= 2 {
            return Ok(Encoded { bytes: 0, activity: Activity::Nothing });
        }
        let is_silent = self.encoder.get_in_dtx().unwrap_or(false);
        Ok(Encoded { bytes, activity: if is_silent { Activity::Silence } else { Activity::Speech } })
    }

    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<usize, CodecError> {
        let (codec, length) = (self.format.name, payload.len());
        if length == 0 || length > PAYLOAD_BYTES_MAX {
            return Err(CodecError::Length { codec, got: length });
        }
        let not_opus = |_| CodecError::Payload { codec, why: "libopus cannot read it" };
        let want = self.decoder.get_nb_samples(payload).map_err(not_opus)?;
        let got = samples.len();
        let samples = samples.get_mut(..want).ok_or(CodecError::Room { got, want })?;
        self.decoder.decode(payload, samples, false).map_err(not_opus)
    }

    fn conceal(&mut self, samples: &mut [i16]) -> Result<(), CodecError> {
        self.check_gap(samples)?;
        let codec = self.format.name;
        self.decoder.decode(&[], samples, false).map(drop).map_err(|error| failed(codec, &error))
    }

    fn recover(&mut self, next: &[u8], samples: &mut [i16]) -> Result<Recovered, CodecError> {
        self.check_gap(samples)?;
        let is_redundant = next.len() <= PAYLOAD_BYTES_MAX && has_redundancy(next);
        if is_redundant && self.decoder.decode(next, samples, true).is_ok() {
            return Ok(Recovered::Redundant);
        }
        self.conceal(samples)?;
        Ok(Recovered::Concealed)
    }

    fn delay_samples(&self) -> usize {
        self.look_ahead
    }

    fn reset(&mut self) {
        // Neither can fail on a state that exists, and both keep their settings.
        let _ = self.encoder.reset_state();
        let _ = self.decoder.reset_state();
    }
}

/// Whether a payload repeats the packet before it: the flag after the voice flags of SILK's first frame (RFC 6716,
/// sections 3.1 and 4.2.3).
fn has_redundancy(payload: &[u8]) -> bool {
    let Some(configuration) = payload.first().map(|byte| byte >> 3) else { return false };
    // SILK frames of 20 ms in a frame of Opus. From 16 on there is no SILK in it.
    let frames = match (configuration, configuration % 4) {
        (16.., _) => return false,
        (0..12, 2) => 2,
        (0..12, 3) => 3,
        (_, _) => 1,
    };
    let Ok(parsed) = packet::parse(payload) else { return false };
    parsed.frames.first().and_then(|frame| frame.first()).is_some_and(|byte| byte >> (7 - frames) & 1 == 1)
}

fn failed(codec: &'static str, error: &opus::Error) -> CodecError {
    CodecError::Library { codec, function: error.function(), code: error.code() as i32 }
}
