use crate::{AudioError, sample};
use rubato::audioadapter_buffers::direct::InterleavedSlice;
use rubato::{
    Adjustable, Async, FixedAsync, Resampler as _, SincInterpolationParameters, SincInterpolationType,
    WindowFunction,
};
use std::collections::VecDeque;

/// The lowest rate that is converted, in Hz.
pub const RATE_HZ_MIN: u32 = 1_000;
/// The highest rate that is converted, in Hz.
pub const RATE_HZ_MAX: u32 = 384_000;
/// How far the ratio may be adjusted: by 1 %.
const ADJUSTMENT_MAX: f64 = 1.01;
/// How much is converted at once: 5 ms.
const CHUNKS_PER_SECOND: u32 = 200;

/// Converts samples of one channel from one rate to another, in a stream. The ratio can be adjusted a little at any time.
#[derive(Debug)]
pub struct Resampler {
    from_hz: u32,
    to_hz: u32,
    inner: Async<f32>,
    chunk: usize,
    /// What does not fill a chunk yet.
    input: Vec<f32>,
    scratch: Vec<f32>,
    output: VecDeque<f32>,
    /// How much of the filter's start is still to be thrown away.
    start: usize,
    /// Samples taken, and made of them.
    taken: usize,
    made: usize,
}

/// The filter's length in samples of the input: longer where the rate is reduced, since it is cut off lower.
const fn filter_length(ratio: f64) -> usize {
    if ratio < 0.5 { 256 } else { 128 }
}

/// By how many samples of the output the filter is late. The library's own number is one more, and rounded down: it does
/// not count that the first output lies one step after the beginning.
fn delay(ratio: f64) -> f64 {
    (sample::count(filter_length(ratio)) / 2.0 * ratio - 1.0).max(0.0)
}

pub(crate) fn check_rate(rate_hz: u32) -> Result<(), AudioError> {
    let fits = (RATE_HZ_MIN..=RATE_HZ_MAX).contains(&rate_hz);
    if fits { Ok(()) } else { Err(AudioError::Rate { got: rate_hz }) }
}

impl Resampler {
    /// From one rate to another, both in Hz.
    ///
    /// # Errors
    ///
    /// [`AudioError::Rate`] for rates below [`RATE_HZ_MIN`] or above [`RATE_HZ_MAX`].
    pub fn new(from_hz: u32, to_hz: u32) -> Result<Self, AudioError> {
        check_rate(from_hz)?;
        check_rate(to_hz)?;
        let ratio = f64::from(to_hz) / f64::from(from_hz);
        let chunk = usize::try_from(from_hz / CHUNKS_PER_SECOND).unwrap_or(5).max(1);
        let parameters =
            SincInterpolationParameters::new(filter_length(ratio), WindowFunction::BlackmanHarris2)
                .interpolation(SincInterpolationType::Linear)
                .oversampling_factor(256);
        let inner = Async::new_sinc(ratio, ADJUSTMENT_MAX, &parameters, chunk, 1, FixedAsync::Input)
            .map_err(|_| AudioError::Rate { got: from_hz })?;
        let (room, start) = (inner.output_frames_max(), sample::whole(delay(ratio)));
        Ok(Self {
            from_hz,
            to_hz,
            inner,
            chunk,
            input: Vec::with_capacity(chunk),
            scratch: vec![0.0; room],
            output: VecDeque::with_capacity(room * 4),
            start,
            taken: 0,
            made: 0,
        })
    }

    /// Takes samples.
    pub fn push(&mut self, samples: impl IntoIterator<Item = i16>) {
        self.push_floats(samples.into_iter().map(sample::to_float));
    }

    pub(crate) fn push_floats(&mut self, samples: impl Iterator<Item = f32>) {
        for value in samples {
            self.taken += 1;
            self.input.push(value);
            if self.input.len() == self.chunk {
                self.convert();
            }
        }
    }

    /// Gives converted samples and says how many there were.
    pub fn pull(&mut self, samples: &mut [i16]) -> usize {
        let count = self.output.len().min(samples.len());
        for (sample, value) in samples.iter_mut().zip(self.output.drain(..count)) {
            *sample = sample::from_float(value);
        }
        count
    }

    /// How many samples could be pulled now.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.output.len()
    }

    /// How many samples have to be pushed before something can come out.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.chunk - self.input.len()
    }

    /// No more will be pushed: what the filter still holds comes out. All in all there are as many samples as the ratio
    /// says.
    pub fn finish(&mut self) {
        let wanted = self.wanted();
        while self.made < wanted {
            self.input.resize(self.chunk, 0.0);
            self.convert();
        }
        let excess = (self.made - wanted).min(self.output.len());
        self.output.truncate(self.output.len() - excess);
        self.made = wanted;
    }

    /// Makes more samples of the same (above 1) or fewer, by at most 1 %.
    pub fn adjust(&mut self, relative: f64) {
        let relative =
            if relative.is_finite() { relative.clamp(1.0 / ADJUSTMENT_MAX, ADJUSTMENT_MAX) } else { 1.0 };
        self.inner
            .set_resample_ratio_relative(relative, true)
            .expect("within what the resampler was made for");
    }

    /// How many samples there are to be for those that were taken, rounded up. In whole numbers, where nothing is lost.
    fn wanted(&self) -> usize {
        let taken = u128::try_from(self.taken).unwrap_or(u128::MAX);
        let wanted = taken.saturating_mul(self.to_hz.into()).div_ceil(self.from_hz.into());
        usize::try_from(wanted).unwrap_or(usize::MAX)
    }

    fn convert(&mut self) {
        let room = self.scratch.len();
        let from = InterleavedSlice::new(&self.input, 1, self.chunk).expect("a chunk");
        let mut to = InterleavedSlice::new_mut(&mut self.scratch, 1, room).expect("room for the most");
        let (_, made) =
            self.inner.process_into_buffer(&from, &mut to, None).expect("a whole chunk, and enough room");
        self.input.clear();
        let skipped = made.min(self.start);
        self.start -= skipped;
        self.made += made - skipped;
        self.output.extend(&self.scratch[skipped..made]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sine(rate_hz: u32, hertz: f64, count: usize) -> Vec<i16> {
        shifted_sine(rate_hz, hertz, count, 0.0)
    }

    fn shifted_sine(rate_hz: u32, hertz: f64, count: usize, shift: f64) -> Vec<i16> {
        let value = |at: usize| {
            (std::f64::consts::TAU * hertz * (sample::count(at) + shift) / f64::from(rate_hz)).sin()
        };
        #[expect(clippy::cast_possible_truncation, reason = "-1..1")]
        (0..count).map(|at| sample::from_float(value(at) as f32 * 0.5)).collect()
    }

    fn convert(from_hz: u32, to_hz: u32, samples: &[i16]) -> Vec<i16> {
        let mut resampler = Resampler::new(from_hz, to_hz).unwrap();
        resampler.push(samples.iter().copied());
        resampler.finish();
        let mut output = vec![0; resampler.ready()];
        assert_eq!(resampler.pull(&mut output), output.len());
        output
    }

    fn snr(wanted: &[i16], got: &[i16]) -> f64 {
        let signal: f64 = wanted.iter().map(|sample| f64::from(*sample).powi(2)).sum();
        let noise: f64 =
            wanted.iter().zip(got).map(|(one, other)| (f64::from(*one) - f64::from(*other)).powi(2)).sum();
        10.0 * (signal / noise).log10()
    }

    #[test]
    fn a_sine_is_the_same_sine_at_another_rate_and_nothing_is_shifted() {
        for (from, to) in [
            (8_000, 48_000),
            (48_000, 8_000),
            (44_100, 8_000),
            (8_000, 44_100),
            (22_050, 16_000),
            (16_000, 8_000),
        ] {
            let got = convert(from, to, &sine(from, 1_000.0, usize::try_from(from).unwrap()));
            assert_eq!(got.len(), usize::try_from(to).unwrap(), "{from} to {to}");
            // The filter's delay is no whole number of samples: up to half a one is left over.
            let exact = delay(f64::from(to) / f64::from(from));
            let shift = exact.round() - exact;
            assert!(shift.abs() <= 0.5);
            let wanted = shifted_sine(to, 1_000.0, got.len(), shift);
            let edge = wanted.len() / 20;
            let snr = snr(&wanted[edge..wanted.len() - edge], &got[edge..got.len() - edge]);
            assert!(snr > 50.0, "{from} to {to}: {snr} dB");
        }
    }

    #[test]
    fn what_the_lower_rate_cannot_have_is_filtered_out() {
        let got = convert(48_000, 8_000, &sine(48_000, 5_500.0, 48_000));
        let loudest = got[400..7_600].iter().map(|sample| sample.unsigned_abs()).max().unwrap();
        assert!(loudest < 60, "{loudest} of 16,384");
    }

    #[test]
    fn an_adjusted_ratio_makes_more_or_less() {
        for relative in [1.005, 0.995] {
            let mut resampler = Resampler::new(48_000, 8_000).unwrap();
            resampler.adjust(relative);
            resampler.push(std::iter::repeat_n(0, 480_000));
            let made = sample::count(resampler.ready());
            assert!((made / (80_000.0 * relative) - 1.0).abs() < 0.001, "{made} for {relative}");
        }
    }

    #[test]
    fn any_two_rates_or_an_error() {
        for from in [0, 999, 1_000, 1_001, 7_999, 384_000, 384_001, u32::MAX] {
            for to in [0, 1_000, 8_000, 384_000, 400_000] {
                let fits = |rate| (1_000..=384_000).contains(&rate);
                match Resampler::new(from, to) {
                    Ok(mut resampler) => {
                        assert!(fits(from) && fits(to));
                        resampler.push([1; 999]);
                        resampler.finish();
                        let wanted = (999.0 * f64::from(to) / f64::from(from)).ceil();
                        assert_eq!(resampler.ready(), sample::whole(wanted), "{from} to {to}");
                    }
                    Err(error) => assert!(!(fits(from) && fits(to)), "{error}"),
                }
            }
        }
    }
}
