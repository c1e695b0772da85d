use crate::{AudioError, Sink, Source};
use std::sync::{Arc, Mutex, PoisonError};

/// Speech from memory.
#[derive(Clone, Debug)]
pub struct SampleSource {
    rate_hz: u32,
    samples: Arc<[i16]>,
    at: usize,
    repeats: bool,
}

impl SampleSource {
    /// Plays `samples` once, or again and again.
    #[must_use]
    pub fn new(rate_hz: u32, samples: Arc<[i16]>, repeats: bool) -> Self {
        Self { rate_hz, samples, at: 0, repeats }
    }
}

impl Source for SampleSource {
    fn rate_hz(&self) -> u32 {
        self.rate_hz
    }

    fn read(&mut self, samples: &mut [i16]) -> Result<usize, AudioError> {
        let mut done = 0;
        while done < samples.len() {
            if self.at == self.samples.len() {
                if !self.repeats || self.samples.is_empty() {
                    break;
                }
                self.at = 0;
            }
            let count = (samples.len() - done).min(self.samples.len() - self.at);
            samples[done..done + count].copy_from_slice(&self.samples[self.at..self.at + count]);
            (self.at, done) = (self.at + count, done + count);
        }
        samples[done..].fill(0);
        Ok(done)
    }
}

/// Speech into memory. Clones share what they took.
#[derive(Clone, Debug)]
pub struct SampleSink {
    rate_hz: u32,
    samples_max: usize,
    samples: Arc<Mutex<Vec<i16>>>,
}

impl SampleSink {
    /// Keeps the first `samples_max` samples, and nothing after them.
    #[must_use]
    pub fn new(rate_hz: u32, samples_max: usize) -> Self {
        Self { rate_hz, samples_max, samples: Arc::default() }
    }

    /// What was taken until now.
    #[must_use]
    pub fn samples(&self) -> Vec<i16> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sink for SampleSink {
    fn rate_hz(&self) -> u32 {
        self.rate_hz
    }

    fn write(&mut self, samples: &[i16]) -> Result<(), AudioError> {
        let mut kept = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.samples_max.saturating_sub(kept.len());
        kept.extend_from_slice(&samples[..samples.len().min(room)]);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), AudioError> {
        Ok(())
    }
}

/// A sine without an end: the simplest thing to hear whether a call works.
#[derive(Clone, Debug)]
pub struct Tone {
    rate_hz: u32,
    phase: f32,
    step: f32,
    amplitude: f32,
}

impl Tone {
    /// A tone of `hertz` at `level_dbov` (0 would be full scale).
    ///
    /// # Errors
    ///
    /// [`AudioError::Rate`] for a rate that is none.
    pub fn new(rate_hz: u32, hertz: f32, level_dbov: f32) -> Result<Self, AudioError> {
        crate::resampler::check_rate(rate_hz)?;
        // A sine's root mean square is 3 dB below its peak.
        let amplitude = (10_f32.powf(level_dbov / 20.0) * 2_f32.sqrt()).clamp(0.0, 1.0);
        #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^24")]
        let step = (hertz / rate_hz as f32).clamp(0.0, 0.5);
        Ok(Self { rate_hz, phase: 0.0, step, amplitude })
    }
}

impl Source for Tone {
    fn rate_hz(&self) -> u32 {
        self.rate_hz
    }

    fn read(&mut self, samples: &mut [i16]) -> Result<usize, AudioError> {
        for sample in samples.iter_mut() {
            *sample = crate::sample::from_float((self.phase * std::f32::consts::TAU).sin() * self.amplitude);
            self.phase = (self.phase + self.step).fract();
        }
        Ok(samples.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    #[test]
    fn samples_end_once_or_begin_again() {
        let samples: Arc<[i16]> = Arc::new([1, 2, 3]);
        let mut once = SampleSource::new(8_000, Arc::clone(&samples), false);
        let mut got = [9; 5];
        assert_eq!((once.read(&mut got), got), (Ok(3), [1, 2, 3, 0, 0]));
        assert_eq!((once.read(&mut got), got), (Ok(0), [0; 5]));
        let mut again = SampleSource::new(8_000, samples, true);
        assert_eq!((again.read(&mut got), got), (Ok(5), [1, 2, 3, 1, 2]));
        assert_eq!((again.read(&mut got), got), (Ok(5), [3, 1, 2, 3, 1]));
        let mut empty = SampleSource::new(8_000, Arc::new([]), true);
        assert_eq!(empty.read(&mut got), Ok(0));
    }

    #[test]
    fn a_sink_in_memory_has_an_end() {
        let mut sink = SampleSink::new(8_000, 4);
        sink.write(&[1, 2, 3]).unwrap();
        sink.write(&[4, 5, 6]).unwrap();
        assert_eq!(sink.samples(), [1, 2, 3, 4]);
    }

    #[test]
    fn a_tone_has_its_level() {
        let mut tone = Tone::new(16_000, 440.0, -20.0).unwrap();
        let mut samples = [0; 16_000];
        assert_eq!(tone.read(&mut samples), Ok(16_000));
        assert!((Level::of(&samples).rms_dbov + 20.0).abs() < 0.1);
        let crossings = samples.windows(2).filter(|two| two[0] < 0 && two[1] >= 0).count();
        assert!((439..=441).contains(&crossings), "{crossings} Hz");
        assert_eq!(Tone::new(0, 440.0, -20.0).map(drop), Err(AudioError::Rate { got: 0 }));
    }
}
