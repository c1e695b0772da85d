//! IMA ADPCM: a sample is four bits, and each packet says where the decoder has to begin.

use crate::concealing::{Coder, Concealing};
use crate::{CodecError, Kind};
use audio_codec_algorithms::{AdpcmImaState, decode_adpcm_ima, encode_adpcm_ima};

/// Predictor, step and a byte that is 0.
const HEADER_BYTES: usize = 4;
/// The last row of the table of steps.
const STEP_MAX: u8 = 88;

/// How samples lie in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// RFC 3551, section 4.5.1: the predictor before the first sample, big-endian; the first sample is in the upper half
    /// of its byte.
    Dvi4,
    /// A block of the IMA's Recommended Practices, as WAV files have it: the first sample itself, little-endian; the
    /// second is in the lower half of its byte.
    Block,
}

#[derive(Debug)]
pub(crate) struct Ima {
    layout: Layout,
    encoder: AdpcmImaState,
}

pub(crate) fn dvi4() -> Concealing<Ima> {
    Concealing::new(Kind::Dvi4.format(), Ima { layout: Layout::Dvi4, encoder: AdpcmImaState::new() })
}

pub(crate) fn ima() -> Concealing<Ima> {
    Concealing::new(Kind::Ima.format(), Ima { layout: Layout::Block, encoder: AdpcmImaState::new() })
}

impl Coder for Ima {
    fn bytes(&self, samples: usize) -> Option<usize> {
        let fits = match self.layout {
            Layout::Dvi4 => samples > 0 && samples.is_multiple_of(2),
            Layout::Block => samples == Kind::Ima.format().frame_samples,
        };
        fits.then_some(HEADER_BYTES + samples / 2)
    }

    fn samples(&self, bytes: usize) -> Option<usize> {
        let halves = bytes.checked_sub(HEADER_BYTES)?.checked_mul(2)?;
        match self.layout {
            Layout::Dvi4 => Some(halves),
            Layout::Block => Some(halves + 1),
        }
    }

    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<(), CodecError> {
        let Some((header, bytes)) = payload.split_first_chunk_mut::<HEADER_BYTES>() else { return Ok(()) };
        let state = &mut self.encoder;
        let rest = match (self.layout, samples.split_first()) {
            (Layout::Dvi4, _) => {
                header[..2].copy_from_slice(&state.predictor.to_be_bytes());
                samples
            }
            (Layout::Block, None) => return Ok(()),
            (Layout::Block, Some((first, rest))) => {
                state.predictor = *first;
                header[..2].copy_from_slice(&first.to_le_bytes());
                rest
            }
        };
        (header[2], header[3]) = (state.step_index, 0);
        for (byte, two) in bytes.iter_mut().zip(rest.chunks_exact(2)) {
            let (first, second) = (encode_adpcm_ima(two[0], state), encode_adpcm_ima(two[1], state));
            *byte = match self.layout {
                Layout::Dvi4 => first << 4 | second & 0x0f,
                Layout::Block => second << 4 | first & 0x0f,
            };
        }
        Ok(())
    }

    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<(), CodecError> {
        let Some(([high, low, step_index, _], bytes)) = payload.split_first_chunk::<HEADER_BYTES>() else {
            return Err(CodecError::Length { codec: self.name(), got: payload.len() });
        };
        if *step_index > STEP_MAX {
            return Err(CodecError::Payload { codec: self.name(), why: "its step is beyond the table" });
        }
        let predictor = match self.layout {
            Layout::Dvi4 => i16::from_be_bytes([*high, *low]),
            Layout::Block => i16::from_le_bytes([*high, *low]),
        };
        let mut state = AdpcmImaState { predictor, step_index: *step_index };
        let mut to = samples.iter_mut();
        if self.layout == Layout::Block
            && let Some(first) = to.next()
        {
            *first = predictor;
        }
        for byte in bytes {
            let halves = match self.layout {
                Layout::Dvi4 => [byte >> 4, byte & 0x0f],
                Layout::Block => [byte & 0x0f, byte >> 4],
            };
            for (half, sample) in halves.into_iter().zip(to.by_ref().take(2)) {
                *sample = decode_adpcm_ima(half, &mut state);
            }
        }
        Ok(())
    }

    fn delay_samples(&self) -> usize {
        0
    }

    fn reset(&mut self) {
        self.encoder = AdpcmImaState::new();
    }
}

impl Ima {
    fn name(&self) -> &'static str {
        match self.layout {
            Layout::Dvi4 => Kind::Dvi4.format().name,
            Layout::Block => Kind::Ima.format().name,
        }
    }
}
