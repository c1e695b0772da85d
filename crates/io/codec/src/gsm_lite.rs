//! GSM 06.10 without long-term prediction: "GSM lite" of PGPfone 2.1, 29 bytes for 160 samples at any rate.
//!
//! The frame is that of GSM 06.10 (RFC 3551, section 4.5.8.1) without lag and gain of each of the four parts: 4 bits 1101,
//! 36 bits of filter, and for each part 2 bits of grid, 6 of block maximum and 13 pulses of 3; the last four bits of the
//! last byte are 0. That is what PGPfone's encoder writes (`gsm.c`, read for the layout). Its decoder takes the last pulse
//! of the first part from one bit further on, which is a mistake that is not repeated here. It then predicts with the least gain, 0.1, from 40 samples
//! ago, and so does ours.
//!
//! Everything is written from the standard (ETSI EN 300 961), in floating point: it says what decoders hear, not to the
//! last bit of it.

mod filter;
mod pulses;

use crate::concealing::{Coder, Concealing};
use crate::{CodecError, Kind};
use filter::{Filter, PARTS};
use pulses::{PART_SAMPLES, Part};

const FRAME_SAMPLES: usize = 160;
const FRAME_BYTES: usize = 29;
const MAGIC: u32 = 0xd;
/// What the decoder predicts with.
const GAIN: f32 = 3_277.0 / 32_768.0;
/// Pre-emphasis and its undoing (section 5.2.3).
const EMPHASIS: f32 = 28_180.0 / 32_768.0;
/// The pole of the filter that takes a constant out (section 5.2.2).
const OFFSET_POLE: f32 = 32_735.0 / 32_768.0;

#[derive(Debug, Default)]
pub(crate) struct GsmLite {
    encoder: Encoder,
    decoder: Decoder,
}

#[derive(Debug)]
struct Encoder {
    last_sample: f32,
    last_centred: f32,
    filter: Filter,
    residual: [f32; PART_SAMPLES],
}

#[derive(Debug)]
struct Decoder {
    filter: Filter,
    residual: [f32; PART_SAMPLES],
    last_sample: f32,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { last_sample: 0.0, last_centred: 0.0, filter: Filter::default(), residual: [0.0; PART_SAMPLES] }
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self { filter: Filter::default(), residual: [0.0; PART_SAMPLES], last_sample: 0.0 }
    }
}

pub(crate) fn gsm_lite() -> Concealing<GsmLite> {
    Concealing::new(Kind::GsmLite.format(), GsmLite::default())
}

impl Coder for GsmLite {
    const FRAME_SAMPLES: usize = FRAME_SAMPLES;
    const FRAME_BYTES: usize = FRAME_BYTES;

    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<(), CodecError> {
        let frames = samples.as_chunks::<FRAME_SAMPLES>().0.iter();
        for (frame, bytes) in frames.zip(payload.as_chunks_mut::<FRAME_BYTES>().0) {
            self.encoder.encode(frame, bytes);
        }
        Ok(())
    }

    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<(), CodecError> {
        let frames = payload.as_chunks::<FRAME_BYTES>().0;
        if frames.iter().any(|frame| u32::from(frame[0] >> 4) != MAGIC) {
            return Err(CodecError::Payload {
                codec: Kind::GsmLite.format().name,
                why: "a frame does not begin with the bits 1101",
            });
        }
        for (frame, samples) in frames.iter().zip(samples.as_chunks_mut::<FRAME_SAMPLES>().0) {
            self.decoder.decode(frame, samples);
        }
        Ok(())
    }

    fn delay_samples(&self) -> usize {
        0
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

impl Encoder {
    fn encode(&mut self, samples: &[i16; FRAME_SAMPLES], bytes: &mut [u8; FRAME_BYTES]) {
        let mut signal = samples.map(|sample| {
            // The standard's numbers have 13 bits in the upper ones of 15.
            let sample = f32::from(sample) / 2.0;
            let centred = sample - self.last_sample + OFFSET_POLE * self.last_centred;
            let emphasized = centred - EMPHASIS * self.last_centred;
            (self.last_sample, self.last_centred) = (sample, centred);
            emphasized
        });
        let ratios = filter::analyse(&signal);
        self.filter.remove_prediction(&ratios, &mut signal);

        let mut writer = Writer { bytes, bits: 0 };
        writer.bits(MAGIC, 4);
        for (ratio, bits) in ratios.iter().zip(filter::BITS) {
            writer.bits(*ratio, bits);
        }
        for part in signal.as_chunks::<PART_SAMPLES>().0 {
            let predicted = self.residual.map(|sample| GAIN * sample);
            let coded = Part::new(&std::array::from_fn(|at| part[at] - predicted[at]));
            let decoded = coded.samples();
            self.residual = std::array::from_fn(|at| predicted[at] + decoded[at]);
            writer.bits(coded.grid, 2);
            writer.bits(coded.maximum, 6);
            coded.pulses.iter().for_each(|pulse| writer.bits(*pulse, 3));
        }
        writer.bits(0, 4);
    }
}

impl Decoder {
    fn decode(&mut self, bytes: &[u8; FRAME_BYTES], samples: &mut [i16; FRAME_SAMPLES]) {
        let mut reader = Reader { bytes, bits: 4 };
        let ratios = filter::BITS.map(|bits| reader.bits(bits));
        let mut signal = [0.0; FRAME_SAMPLES];
        for part in signal.as_chunks_mut::<PART_SAMPLES>().0.iter_mut().take(PARTS) {
            let (grid, maximum) = (reader.bits(2), reader.bits(6));
            let coded = Part { grid, maximum, pulses: std::array::from_fn(|_| reader.bits(3)) };
            let decoded = coded.samples();
            self.residual = std::array::from_fn(|at| GAIN * self.residual[at] + decoded[at]);
            *part = self.residual;
        }
        self.filter.put_back(&ratios, &mut signal);
        for (sample, value) in samples.iter_mut().zip(signal) {
            self.last_sample = (value + EMPHASIS * self.last_sample).clamp(-32_768.0, 32_767.0);
            *sample = whole(2.0 * self.last_sample);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a float becomes the nearest sample that there is")]
fn whole(value: f32) -> i16 {
    value.round() as i16
}

/// Numbers one after the other, the highest bit first.
struct Writer<'a> {
    bytes: &'a mut [u8; FRAME_BYTES],
    bits: usize,
}

impl Writer<'_> {
    fn bits(&mut self, value: u32, count: u32) {
        for shift in (0..count).rev() {
            let (at, mask) = (self.bits / 8, 0x80 >> (self.bits % 8));
            if let Some(byte) = self.bytes.get_mut(at) {
                *byte = if value >> shift & 1 == 1 { *byte | mask } else { *byte & !mask };
            }
            self.bits += 1;
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8; FRAME_BYTES],
    bits: usize,
}

impl Reader<'_> {
    fn bits(&mut self, count: u32) -> u32 {
        (0..count).fold(0, |value, _| {
            let byte = self.bytes.get(self.bits / 8).copied().unwrap_or(0);
            let bit = byte >> (7 - self.bits % 8) & 1;
            self.bits += 1;
            value << 1 | u32::from(bit)
        })
    }
}
