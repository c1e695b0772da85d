//! IMA ADPCM: a sample is four bits, and each packet says where the decoder has to begin.

use crate::concealing::{Coder, Concealing};
use crate::{CodecError, Kind};
use audio_codec_algorithms::{AdpcmImaState, decode_adpcm_ima, encode_adpcm_ima};

/// Predictor, step and a byte that is 0.
const HEADER_BYTES: usize = 4;
/// Predictor and step.
const STATE_BYTES: usize = 3;
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
    /// As in RTP without the byte that is 0, and the state at the end of the packet (Speak Freely 7.6, `sfmike.c`).
    StateLast,
    /// The same with the state first (PGPfone 2.1).
    StateFirst,
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

pub(crate) fn speak_freely() -> Concealing<Ima> {
    let ima = Ima { layout: Layout::StateLast, encoder: AdpcmImaState::new() };
    Concealing::new(Kind::AdpcmSpeakFreely.format(), ima)
}

pub(crate) fn pgpfone() -> Concealing<Ima> {
    let ima = Ima { layout: Layout::StateFirst, encoder: AdpcmImaState::new() };
    Concealing::new(Kind::AdpcmPgpfone.format(), ima)
}

impl Coder for Ima {
    fn bytes(&self, samples: usize) -> Option<usize> {
        let fits = match self.layout {
            Layout::Dvi4 | Layout::StateLast | Layout::StateFirst => samples > 0 && samples.is_multiple_of(2),
            Layout::Block => samples == Kind::Ima.format().frame_samples,
        };
        fits.then_some(self.layout.state_bytes() + samples / 2)
    }

    fn samples(&self, bytes: usize) -> Option<usize> {
        let halves = bytes.checked_sub(self.layout.state_bytes())?.checked_mul(2)?;
        match self.layout {
            Layout::Dvi4 | Layout::StateLast | Layout::StateFirst => Some(halves),
            Layout::Block => Some(halves + 1),
        }
    }

    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<(), CodecError> {
        let state = &mut self.encoder;
        let rest = match (self.layout, samples.split_first()) {
            (Layout::Block, Some((first, rest))) => {
                state.predictor = *first;
                rest
            }
            _ => samples,
        };
        let [high, low] = state.predictor.to_be_bytes();
        let (header, bytes) = self.layout.split_mut(payload);
        match (self.layout, header) {
            (Layout::Block, [first, second, step, zero]) => {
                (*first, *second, *step, *zero) = (low, high, state.step_index, 0);
            }
            (_, [first, second, step, rest @ ..]) => {
                (*first, *second, *step) = (high, low, state.step_index);
                rest.fill(0);
            }
            _ => return Ok(()),
        }
        for (byte, two) in bytes.iter_mut().zip(rest.chunks_exact(2)) {
            let (first, second) = (encode_adpcm_ima(two[0], state), encode_adpcm_ima(two[1], state));
            *byte = match self.layout {
                Layout::Dvi4 | Layout::StateLast | Layout::StateFirst => first << 4 | second & 0x0f,
                Layout::Block => second << 4 | first & 0x0f,
            };
        }
        Ok(())
    }

    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<(), CodecError> {
        let (header, bytes) = self.layout.split(payload);
        let [first, second, step_index, ..] = *header else {
            return Err(CodecError::Length { codec: self.name(), got: payload.len() });
        };
        if step_index > STEP_MAX {
            return Err(CodecError::Payload { codec: self.name(), why: "its step is beyond the table" });
        }
        let predictor = match self.layout {
            Layout::Dvi4 | Layout::StateLast | Layout::StateFirst => i16::from_be_bytes([first, second]),
            Layout::Block => i16::from_le_bytes([first, second]),
        };
        let mut state = AdpcmImaState { predictor, step_index };
        let mut to = samples.iter_mut();
        if self.layout == Layout::Block
            && let Some(first) = to.next()
        {
            *first = predictor;
        }
        for byte in bytes {
            let halves = match self.layout {
                Layout::Dvi4 | Layout::StateLast | Layout::StateFirst => [byte >> 4, byte & 0x0f],
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

impl Layout {
    fn state_bytes(self) -> usize {
        match self {
            Self::Dvi4 | Self::Block => HEADER_BYTES,
            Self::StateLast | Self::StateFirst => STATE_BYTES,
        }
    }

    /// The state and the samples. The state is empty if there is no room for it.
    fn split(self, payload: &[u8]) -> (&[u8], &[u8]) {
        let split = match self {
            Self::Dvi4 | Self::Block | Self::StateFirst => payload.split_at_checked(self.state_bytes()),
            Self::StateLast => {
                let middle = payload.len().checked_sub(STATE_BYTES);
                middle.map(|middle| payload.split_at(middle)).map(|(samples, state)| (state, samples))
            }
        };
        split.unwrap_or_default()
    }

    fn split_mut(self, payload: &mut [u8]) -> (&mut [u8], &mut [u8]) {
        let split = match self {
            Self::Dvi4 | Self::Block | Self::StateFirst => payload.split_at_mut_checked(self.state_bytes()),
            Self::StateLast => {
                let middle = payload.len().saturating_sub(STATE_BYTES);
                payload.split_at_mut_checked(middle).map(|(samples, state)| (state, samples))
            }
        };
        split.unwrap_or_default()
    }
}

impl Ima {
    fn name(&self) -> &'static str {
        let kind = match self.layout {
            Layout::Dvi4 => Kind::Dvi4,
            Layout::Block => Kind::Ima,
            Layout::StateLast => Kind::AdpcmSpeakFreely,
            Layout::StateFirst => Kind::AdpcmPgpfone,
        };
        kind.format().name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, open};

    /// Speak Freely's 486 + 3 bytes and PGPfone's 3 + 4 x 80, with the state that the packet begins with.
    #[test]
    fn the_old_tools_put_the_state_at_either_end() {
        let samples: Vec<i16> = (0..972).map(|at| if at / 20 % 2 == 0 { 3_000 } else { -3_000 }).collect();
        let packets = |kind: Kind, count: usize| {
            let mut codec = open(kind, &Settings::default()).unwrap();
            let mut payload = [0; 600];
            let lengths = [0; 2].map(|_: usize| codec.encode(&samples[..count], &mut payload).unwrap().bytes);
            (lengths, payload)
        };
        let (lengths, last) = packets(Kind::AdpcmSpeakFreely, 972);
        assert_eq!(lengths, [489, 489]);
        let (lengths, first) = packets(Kind::AdpcmPgpfone, 640);
        assert_eq!(lengths, [323, 323]);
        let (_, rtp) = packets(Kind::Dvi4, 640);
        assert_eq!((&first[..3], &first[3..323]), (&rtp[..3], &rtp[4..324]));
        let (_, rtp) = packets(Kind::Dvi4, 972);
        assert_eq!((&last[486..489], &last[..486]), (&rtp[..3], &rtp[4..490]));
        assert!(last[488] > 0, "a second packet begins with a step that is not the first");
    }
}
