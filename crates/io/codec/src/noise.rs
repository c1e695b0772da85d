//! Comfort noise: what a pause sounds like, in a few bytes (RFC 3389).
//!
//! For codecs without discontinuous transmission of their own. The sender measures a pause with [`NoiseMeter`] and
//! sends its payload (payload type 13 for clocks of 8 kHz) once, and again when the noise changes; the receiver plays
//! [`Noise`] until speech comes.

use crate::{CodecError, sample};

/// How many reflection coefficients are read; the rest is left out, as section 3 of the RFC allows.
pub const COEFFICIENTS_MAX: usize = 10;
/// The longest payload that [`NoiseMeter`] writes.
pub const NOISE_BYTES_MAX: usize = 1 + COEFFICIENTS_MAX;
/// Where a full 16-bit sample is, the level 0 dBov (section 3.1).
const OVERLOAD: f32 = 32_768.0;

/// Plays the noise of a pause.
#[derive(Clone, Debug)]
pub struct Noise {
    /// The loudness wanted, as a root mean square in samples.
    target: f32,
    /// The loudness now. It glides, so that a change of level is not heard as a step.
    level: f32,
    coefficients: [f32; COEFFICIENTS_MAX],
    order: usize,
    /// What the filter makes louder.
    gain: f32,
    lattice: [f32; COEFFICIENTS_MAX + 1],
    seed: u32,
}

impl Noise {
    /// Silence, until the first payload. The noise of two sides differs if their seeds do.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        Self {
            target: 0.0,
            level: 0.0,
            coefficients: [0.0; COEFFICIENTS_MAX],
            order: 0,
            gain: 1.0,
            lattice: [0.0; COEFFICIENTS_MAX + 1],
            seed,
        }
    }

    /// Takes a payload.
    ///
    /// # Errors
    ///
    /// [`CodecError::Length`] for an empty one. The level's upper bit, which has to be 0, is ignored.
    pub fn describe(&mut self, payload: &[u8]) -> Result<(), CodecError> {
        let Some((level, coefficients)) = payload.split_first() else {
            return Err(CodecError::Length { codec: "cn", got: 0 });
        };
        self.target = OVERLOAD * 10_f32.powf(-f32::from(level & 0x7f) / 20.0);
        self.order = coefficients.len().min(COEFFICIENTS_MAX);
        self.gain = 1.0;
        for (to, from) in self.coefficients.iter_mut().zip(coefficients) {
            // Section 3.2: 258 (N - 127) / 32768, and 255 is not used.
            *to = 258.0 * (f32::from((*from).min(254)) - 127.0) / 32_768.0;
            self.gain *= (1.0 - *to * *to).max(0.0);
        }
        self.gain = self.gain.sqrt();
        Ok(())
    }

    /// Whether there was a payload at all.
    #[must_use]
    pub fn is_described(&self) -> bool {
        self.target > 0.0
    }

    /// Fills `samples` with noise.
    pub fn play(&mut self, samples: &mut [i16]) {
        for sample in samples {
            self.level += (self.target - self.level) / 256.0;
            // Uniform in -1..1: its root mean square is 1/sqrt(3).
            let white = self.random() * 3_f32.sqrt() * self.gain;
            *sample = sample::from_float(self.synthesise(white) * self.level);
        }
    }

    /// The all-pole lattice filter of the reflection coefficients.
    fn synthesise(&mut self, white: f32) -> f32 {
        let mut forward = white;
        for at in (0..self.order).rev() {
            let (k, backward) = (self.coefficients[at], self.lattice[at]);
            forward -= k * backward;
            self.lattice[at + 1] = backward + k * forward;
        }
        self.lattice[0] = forward;
        forward
    }

    /// A number in -1..1; xorshift32, which is good enough to be heard as noise.
    fn random(&mut self) -> f32 {
        let mut x = self.seed | u32::from(self.seed == 0);
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.seed = x;
        f32::from((x >> 16) as u16) / 32_768.0 - 1.0
    }
}

/// Measures the noise of a pause: level and colour of the last second or so.
#[derive(Clone, Debug)]
pub struct NoiseMeter {
    order: usize,
    /// Autocorrelation for distances 0 to the order, and the number of samples in it.
    correlation: [f32; COEFFICIENTS_MAX + 1],
    weight: f32,
}

impl NoiseMeter {
    /// Measures `order` coefficients; 0 measures the level alone. More than [`COEFFICIENTS_MAX`] is that many.
    #[must_use]
    pub fn new(order: usize) -> Self {
        Self { order: order.min(COEFFICIENTS_MAX), correlation: [0.0; COEFFICIENTS_MAX + 1], weight: 0.0 }
    }

    /// Takes a packet of the pause. Earlier ones count less and less: half after some seven packets.
    pub fn measure(&mut self, samples: &[i16]) {
        const KEPT: f32 = 0.9;
        self.weight = self.weight * KEPT + sample::ratio(samples.len(), 1);
        for (distance, sum) in self.correlation.iter_mut().enumerate() {
            let pairs = samples.iter().zip(samples.iter().skip(distance));
            *sum = *sum * KEPT + pairs.map(|(one, other)| f32::from(*one) * f32::from(*other)).sum::<f32>();
        }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        *self = Self::new(self.order);
    }

    /// The payload for what was heard. Its length is the order and 1.
    ///
    /// # Errors
    ///
    /// [`CodecError::Room`] if it does not fit.
    pub fn payload(&self, payload: &mut [u8]) -> Result<usize, CodecError> {
        let (got, want) = (payload.len(), self.order + 1);
        let Some((level, coefficients)) = payload.get_mut(..want).and_then(<[u8]>::split_first_mut) else {
            return Err(CodecError::Room { got, want });
        };
        let power = if self.weight > 0.0 { self.correlation[0] / self.weight } else { 0.0 };
        *level = to_byte(-20.0 * (power.sqrt() / OVERLOAD).max(f32::MIN_POSITIVE).log10(), 127);
        for (byte, k) in coefficients.iter_mut().zip(self.reflections()) {
            *byte = to_byte(k * 32_768.0 / 258.0 + 127.0, 254);
        }
        Ok(want)
    }

    /// Levinson and Durbin's recursion.
    fn reflections(&self) -> [f32; COEFFICIENTS_MAX] {
        let mut reflections = [0.0; COEFFICIENTS_MAX];
        let mut predictor = [0.0; COEFFICIENTS_MAX + 1];
        // White noise 40 dB below, so that the recursion stays stable for pure tones.
        let mut error = self.correlation[0] * 1.0001;
        if error <= 0.0 {
            return reflections;
        }
        for at in 0..self.order {
            let sum: f32 = (0..at).map(|other| predictor[other] * self.correlation[at - other]).sum();
            let k = (-(self.correlation[at + 1] + sum) / error).clamp(-0.999, 0.999);
            let before = predictor;
            predictor[at] = k;
            for other in 0..at {
                predictor[other] += k * before[at - 1 - other];
            }
            error *= 1.0 - k * k;
            reflections[at] = k;
        }
        reflections
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range of a byte")]
fn to_byte(value: f32, most: u8) -> u8 {
    value.round().clamp(0.0, f32::from(most)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level_dbov(samples: &[i16]) -> f32 {
        let power: f32 = samples.iter().map(|sample| f32::from(*sample).powi(2)).sum::<f32>()
            / sample::ratio(samples.len(), 1);
        20.0 * (power.sqrt() / OVERLOAD).log10()
    }

    #[test]
    fn noise_has_the_level_that_the_payload_says() {
        for level in [20_u8, 40, 60, 70] {
            for coefficients in [&[][..], &[127, 127], &[200, 90, 130], &[60; 12]] {
                let mut noise = Noise::new(7);
                noise.describe(&[&[level], coefficients].concat()).unwrap();
                let mut samples = [0; 16_000];
                noise.play(&mut samples);
                let got = level_dbov(&samples[8_000..]);
                assert!((got + f32::from(level)).abs() < 1.5, "{got} dBov for {level}, {coefficients:?}");
            }
        }
    }

    #[test]
    fn what_was_measured_sounds_the_same_when_it_is_measured_again() {
        let mut noise = Noise::new(3);
        let sent = [45_u8, 180, 100, 140, 127];
        noise.describe(&sent).unwrap();
        let mut meter = NoiseMeter::new(4);
        let mut samples = [0; 1_600];
        for _ in 0..200 {
            noise.play(&mut samples);
            meter.measure(&samples);
        }
        let mut payload = [0; NOISE_BYTES_MAX];
        assert_eq!(meter.payload(&mut payload), Ok(5));
        for (at, (got, want)) in payload.iter().zip(sent).enumerate() {
            assert!(got.abs_diff(want) <= 6, "byte {at}: {payload:?} instead of {sent:?}");
        }
    }

    #[test]
    fn silence_is_the_lowest_level() {
        let mut meter = NoiseMeter::new(0);
        let mut payload = [0; 1];
        assert_eq!(meter.payload(&mut payload), Ok(1));
        assert_eq!(payload, [127]);
        meter.measure(&[0; 160]);
        assert_eq!(meter.payload(&mut payload), Ok(1));
        assert_eq!(payload, [127]);
        assert_eq!(meter.payload(&mut []), Err(CodecError::Room { got: 0, want: 1 }));
    }

    #[test]
    fn any_payload_gives_noise_that_stays_within_bounds() {
        for level in 0..=255 {
            for byte in [0, 1, 127, 254, 255] {
                let mut noise = Noise::new(1);
                noise.describe(&[[level].as_slice(), &[byte; 40]].concat()).unwrap();
                let mut samples = [0; 2_000];
                noise.play(&mut samples);
                assert!(noise.lattice.iter().all(|value| value.is_finite()), "{level}, {byte}");
            }
        }
        assert_eq!(Noise::new(1).describe(&[]), Err(CodecError::Length { codec: "cn", got: 0 }));
    }
}
