//! ITU-T G.711: a sample is a byte.

use crate::concealing::{Coder, Concealing};
use crate::{CodecError, Kind};
use audio_codec_algorithms::{decode_alaw, decode_ulaw, encode_alaw, encode_ulaw};

/// One of the two laws.
#[derive(Debug)]
pub(crate) struct Law {
    encode: fn(i16) -> u8,
    decode: fn(u8) -> i16,
}

pub(crate) fn mu_law() -> Concealing<Law> {
    Concealing::new(Kind::Pcmu.format(), Law { encode: encode_ulaw, decode: decode_ulaw })
}

pub(crate) fn a_law() -> Concealing<Law> {
    Concealing::new(Kind::Pcma.format(), Law { encode: encode_alaw, decode: decode_alaw })
}

impl Coder for Law {
    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<(), CodecError> {
        payload.iter_mut().zip(samples).for_each(|(byte, sample)| *byte = (self.encode)(*sample));
        Ok(())
    }

    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<(), CodecError> {
        samples.iter_mut().zip(payload).for_each(|(sample, byte)| *sample = (self.decode)(*byte));
        Ok(())
    }

    fn delay_samples(&self) -> usize {
        0
    }

    fn reset(&mut self) {}
}
