//! ITU-T G.722 at 64 kbit/s: two bands, six bits for the lower and two for the upper in each byte.
//!
//! Our own, from the Recommendation (11/88, clauses 3 and 6; tables by their numbers there). The kept crate,
//! `ezk-g722` 0.1.2, begins with steps of 0 in place of 32 and 8, so that its output differs from the reference, makes a
//! vector for each packet, and brings a framework for media along. RTP's clock for G.722 runs at 8 kHz: see
//! [`Format::clock_rate_hz`](crate::Format::clock_rate_hz).

mod band;

use crate::concealing::{Coder, Concealing};
use crate::{CodecError, Kind, sample};
use band::{Band, HIGH, LOW, saturate};

/// Table 11: the quadrature mirror filter, every second coefficient.
const FILTER: [i32; 12] = [3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11];

/// Table 14: the decision levels of the lower band's quantiser, in 1/8 of the step.
const DECISIONS: [i32; 29] = [
    35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714, 786, 858, 940, 1023, 1121, 1219,
    1339, 1458, 1612, 1765, 1980, 2195, 2557, 2919,
];
/// Table 15: the codes between these levels, for negative and for positive differences.
const CODES_NEGATIVE: [u8; 30] = [
    63, 62, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7,
    6, 5, 4,
];
const CODES_POSITIVE: [u8; 30] = [
    61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36,
    35, 34, 33, 32,
];
/// Table 17, QM6: what a code of six bits stands for.
const LEVELS_6: [i32; 64] = [
    -136, -136, -136, -136, -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232, -9360,
    -8576, -7856, -7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776, -2400, -2032, -1688,
    -1360, -1040, -728, 24808, 21904, 19008, 16704, 14984, 13512, 12280, 11192, 10232, 9360, 8576, 7856,
    7192, 6576, 6000, 5456, 4944, 4464, 4008, 3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728, 432, 136,
    -432, -136,
];
/// Table 18, QM4: what its upper four bits stand for. The predictors know no more.
const LEVELS_4: [i32; 16] =
    [0, -20456, -12896, -8968, -6288, -4240, -2584, -1200, 20456, 12896, 8968, 6288, 4240, 2584, 1200, 0];
/// Tables 13 and 12, RL4 and WL: how the lower step adapts, by the upper four bits.
const WEIGHTS_LOW: [i32; 16] =
    [-60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60];
/// Table 22, QM2, and tables 20 and 21, RH2 and WH: the same for the upper band's two bits.
const LEVELS_2: [i32; 4] = [-7408, -1616, 7408, 1616];
const WEIGHTS_HIGH: [i32; 4] = [798, -214, 798, -214];
/// Block 1H: the only decision level of the upper band, in 1/8 of the step.
const DECISION_HIGH: i32 = 564;

/// The sum of both directions' filters: 22 samples.
const DELAY_SAMPLES: usize = 22;

/// Both directions.
#[derive(Debug)]
pub(crate) struct G722 {
    encoder: Half,
    decoder: Half,
}

#[derive(Clone, Debug)]
struct Half {
    low: Band,
    high: Band,
    /// The filter's last samples, oldest first.
    filter: [i32; 24],
}

pub(crate) fn g722() -> Concealing<G722> {
    Concealing::new(Kind::G722.format(), G722 { encoder: Half::new(), decoder: Half::new() })
}

impl Coder for G722 {
    const FRAME_SAMPLES: usize = 2;

    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<(), CodecError> {
        for (byte, two) in payload.iter_mut().zip(samples.chunks_exact(2)) {
            *byte = self.encoder.encode(i32::from(two[0]), i32::from(two[1]));
        }
        Ok(())
    }

    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<(), CodecError> {
        for (byte, two) in payload.iter().zip(samples.chunks_exact_mut(2)) {
            two.copy_from_slice(&self.decoder.decode(*byte));
        }
        Ok(())
    }

    fn delay_samples(&self) -> usize {
        DELAY_SAMPLES
    }

    fn reset(&mut self) {
        (self.encoder, self.decoder) = (Half::new(), Half::new());
    }
}

impl Half {
    fn new() -> Self {
        Self { low: Band::new(32), high: Band::new(8), filter: [0; 24] }
    }

    fn encode(&mut self, first: i32, second: i32) -> u8 {
        let (odd, even) = self.filter(first, second);
        let low = self.encode_low((even + odd) >> 14);
        let high = self.encode_high((even - odd) >> 14);
        high << 6 | low
    }

    fn encode_low(&mut self, value: i32) -> u8 {
        let difference = saturate(value - self.low.expected); // SUBTRA
        let size = if difference >= 0 { difference } else { -(difference + 1) };
        let step = self.low.step;
        let at = DECISIONS.iter().position(|level| size < (level * step) >> 12).unwrap_or(DECISIONS.len()); // QUANTL
        let code = if difference < 0 { CODES_NEGATIVE[at] } else { CODES_POSITIVE[at] };
        let upper = usize::from(code >> 2);
        self.low.advance(WEIGHTS_LOW[upper], self.low.difference(LEVELS_4[upper]), LOW);
        code
    }

    fn encode_high(&mut self, value: i32) -> u8 {
        let difference = saturate(value - self.high.expected);
        let size = if difference >= 0 { difference } else { -(difference + 1) };
        let is_large = size >= (DECISION_HIGH * self.high.step) >> 12; // QUANTH
        let code: u8 = match (difference < 0, is_large) {
            (true, true) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) => 3,
        };
        self.decode_high(code);
        code
    }

    /// What the upper band's quantiser gave, and one sample further.
    fn decode_high(&mut self, code: u8) -> i32 {
        let code = usize::from(code & 3);
        let difference = self.high.difference(LEVELS_2[code]);
        self.high.advance(WEIGHTS_HIGH[code], difference, HIGH);
        difference
    }

    fn decode(&mut self, byte: u8) -> [i16; 2] {
        let code = usize::from(byte & 0x3f);
        let low = limit(self.low.expected + self.low.difference(LEVELS_6[code]));
        self.low.advance(WEIGHTS_LOW[code >> 2], self.low.difference(LEVELS_4[code >> 2]), LOW);
        let expected = self.high.expected;
        let high = limit(expected + self.decode_high(byte >> 6));
        let (odd, even) = self.filter(low + high, low - high);
        [sample::saturate(even >> 11), sample::saturate(odd >> 11)]
    }

    /// The quadrature mirror filter, the same in both directions.
    fn filter(&mut self, first: i32, second: i32) -> (i32, i32) {
        self.filter.copy_within(2.., 0);
        (self.filter[22], self.filter[23]) = (first, second);
        let (mut odd, mut even) = (0, 0);
        for (at, two) in self.filter.chunks_exact(2).enumerate() {
            odd += two[0] * FILTER[at];
            even += two[1] * FILTER[11 - at];
        }
        (odd, even)
    }
}

/// LIMIT: 15 bits.
fn limit(value: i32) -> i32 {
    value.clamp(-16_384, 16_383)
}
