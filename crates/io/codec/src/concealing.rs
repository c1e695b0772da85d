//! Codecs that cannot conceal a loss themselves, and [`Concealment`] after them.

use crate::{
    Activity, Codec, CodecError, Concealment, Encoded, Format, PACKET_SAMPLES_MAX, PAYLOAD_BYTES_MAX,
};
use std::fmt::Debug;

/// The two directions of such a codec. The lengths were checked before.
pub(crate) trait Coder: Debug + Send {
    /// The samples of a frame.
    const FRAME_SAMPLES: usize = 1;
    /// The bytes that they become.
    const FRAME_BYTES: usize = 1;

    /// How many bytes these samples become; `None` if they are no whole number of frames.
    fn bytes(&self, samples: usize) -> Option<usize> {
        samples
            .is_multiple_of(Self::FRAME_SAMPLES)
            .then_some(samples / Self::FRAME_SAMPLES * Self::FRAME_BYTES)
    }

    /// How many samples this payload becomes; `None` if no payload of this codec is so long.
    fn samples(&self, bytes: usize) -> Option<usize> {
        bytes.is_multiple_of(Self::FRAME_BYTES).then_some(bytes / Self::FRAME_BYTES * Self::FRAME_SAMPLES)
    }

    /// Encodes all of `samples` into all of `payload`.
    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<(), CodecError>;
    /// Decodes all of `payload` into all of `samples`. Changes nothing if it fails.
    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<(), CodecError>;
    /// What the coder itself delays by, in samples.
    fn delay_samples(&self) -> usize;
    fn reset(&mut self);
}

/// Each whole frame of samples, with the bytes that it becomes.
pub(crate) fn frames<'a, const SAMPLES: usize, const BYTES: usize>(
    samples: &'a [i16],
    payload: &'a mut [u8],
) -> impl Iterator<Item = (&'a [i16; SAMPLES], &'a mut [u8; BYTES])> {
    samples.as_chunks().0.iter().zip(payload.as_chunks_mut().0)
}

/// A [`Coder`] as a [`Codec`].
#[derive(Debug)]
pub(crate) struct Concealing<C> {
    format: &'static Format,
    coder: C,
    concealment: Concealment,
}

impl<C> Concealing<C> {
    pub(crate) fn new(format: &'static Format, coder: C) -> Self {
        Self { format, coder, concealment: Concealment::new(format.sample_rate_hz > 8_000) }
    }
}

impl<C: Coder> Codec for Concealing<C> {
    fn format(&self) -> &'static Format {
        self.format
    }

    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<Encoded, CodecError> {
        let (codec, got, want) = (self.format.name, samples.len(), self.format.frame_samples);
        let bytes = self.coder.bytes(got).filter(|bytes| *bytes > 0 && *bytes <= PAYLOAD_BYTES_MAX);
        let bytes = bytes.ok_or(CodecError::Samples { codec, got, want })?;
        let got = payload.len();
        let payload = payload.get_mut(..bytes).ok_or(CodecError::Room { got, want: bytes })?;
        self.coder.encode(samples, payload)?;
        Ok(Encoded { bytes, activity: Activity::Speech })
    }

    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<usize, CodecError> {
        let length = CodecError::Length { codec: self.format.name, got: payload.len() };
        let count = if payload.len() <= PAYLOAD_BYTES_MAX { self.coder.samples(payload.len()) } else { None };
        let count = count.filter(|count| (1..=PACKET_SAMPLES_MAX).contains(count)).ok_or(length)?;
        let got = samples.len();
        let samples = samples.get_mut(..count).ok_or(CodecError::Room { got, want: count })?;
        self.coder.decode(payload, samples)?;
        self.concealment.received(samples);
        Ok(count)
    }

    fn conceal(&mut self, samples: &mut [i16]) -> Result<(), CodecError> {
        self.concealment.missing(samples);
        Ok(())
    }

    fn delay_samples(&self) -> usize {
        self.coder.delay_samples() + self.concealment.delay_samples()
    }

    fn reset(&mut self) {
        self.coder.reset();
        self.concealment.reset();
    }
}
