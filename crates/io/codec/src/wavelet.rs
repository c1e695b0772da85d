//! `w1` and `w2`, by `guestright-wavelet`.

use crate::format::{WAVELET_BYTES_MAX, WAVELET_SAMPLES};
use crate::{Activity, Codec, CodecError, Encoded, Format, Kind, Settings};
use guestright_wavelet::{Decoder, Encoder, FRAME_BYTES_MAX, FRAME_BYTES_MIN, FRAME_SAMPLES};

const _: () = assert!(FRAME_SAMPLES == WAVELET_SAMPLES && FRAME_BYTES_MAX == WAVELET_BYTES_MAX);

const PACKETS_PER_SECOND: usize = 25;
/// Where nothing is said: 2,000 bytes a second.
const PACKET_BYTES: usize = 80;

#[derive(Debug)]
pub(crate) struct Wavelet {
    format: &'static Format,
    kind: guestright_wavelet::Kind,
    packet_bytes: usize,
    encoder: Encoder,
    decoder: Decoder,
}

impl Wavelet {
    /// `w2`, or else `w1`.
    pub(crate) fn new(kind: Kind, settings: &Settings) -> Self {
        let format = kind.format();
        let kind = if kind == Kind::W2 { guestright_wavelet::Kind::W2 } else { guestright_wavelet::Kind::W1 };
        let rate = settings.bits_per_second.and_then(|rate| usize::try_from(rate).ok());
        let bytes = rate.map_or(PACKET_BYTES, |rate| rate / 8 / PACKETS_PER_SECOND);
        Self {
            format,
            kind,
            packet_bytes: bytes.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX),
            encoder: Encoder::new(kind),
            decoder: Decoder::new(kind),
        }
    }

    fn frame<'a>(&self, samples: &'a mut [i16]) -> Result<&'a mut [i16; FRAME_SAMPLES], CodecError> {
        let got = samples.len();
        samples.first_chunk_mut().ok_or(CodecError::Room { got, want: FRAME_SAMPLES })
    }

    fn samples(&self, got: usize) -> CodecError {
        CodecError::Samples { codec: self.format.name, got, want: FRAME_SAMPLES }
    }
}

impl Codec for Wavelet {
    fn format(&self) -> &'static Format {
        self.format
    }

    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<Encoded, CodecError> {
        let frame = samples.try_into().map_err(|_| self.samples(samples.len()))?;
        let (got, want) = (payload.len(), self.packet_bytes);
        let payload = payload.get_mut(..want).ok_or(CodecError::Room { got, want })?;
        let bytes = self.encoder.encode(frame, want, payload);
        Ok(Encoded { bytes, activity: Activity::Speech })
    }

    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<usize, CodecError> {
        if !(1..=FRAME_BYTES_MAX).contains(&payload.len()) {
            return Err(CodecError::Length { codec: self.format.name, got: payload.len() });
        }
        let frame = self.frame(samples)?;
        self.decoder.decode(payload, frame);
        Ok(FRAME_SAMPLES)
    }

    fn conceal(&mut self, samples: &mut [i16]) -> Result<(), CodecError> {
        if samples.is_empty() || !samples.len().is_multiple_of(FRAME_SAMPLES) {
            return Err(self.samples(samples.len()));
        }
        samples.as_chunks_mut().0.iter_mut().for_each(|frame| self.decoder.conceal(frame));
        Ok(())
    }

    fn set_packet_bytes(&mut self, bytes: usize) {
        self.packet_bytes = bytes.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX);
    }

    fn delay_samples(&self) -> usize {
        self.kind.delay_samples()
    }

    fn reset(&mut self) {
        (self.encoder, self.decoder) = (Encoder::new(self.kind), Decoder::new(self.kind));
    }
}
