//! Gaps in speech, filled with what came before them.
//!
//! The manner of ITU-T G.711 Appendix I (09/99), written from its description: the last pitch period is repeated, its
//! ends blended over a quarter of a period. After 10 ms and again after 20 ms one more period is added to what is
//! repeated, so that it does not buzz. From 10 ms on it fades by 20 % for each 10 ms, to silence at 60 ms. The speech
//! after the gap is blended with what would have been repeated on: over a quarter of a period, and 4 ms more for each
//! 10 ms of gap, at most 10 ms. To blend the beginning of a gap, all output is held back by 3.75 ms.
//!
//! Differences: gaps have any length, not only multiples of 10 ms (the fade goes on evenly, and stages change where 10
//! and 20 ms are over), and at other rates than 8 kHz all lengths grow with the rate.

use crate::sample;

/// Pitch periods are looked for between 5 ms (200 Hz) and 15 ms (66 Hz); samples at 8 kHz.
const PITCH_MIN: usize = 40;
const PITCH_MAX: usize = 120;
/// A quarter of the longest period: the longest blending at the beginning, and the delay.
const OVERLAP_MAX: usize = PITCH_MAX / 4;
/// Three of the longest periods and the quarter before them.
const HISTORY: usize = PITCH_MAX * 3 + OVERLAP_MAX;
/// How much speech is compared to find the pitch: 20 ms.
const CORRELATED: usize = 160;
/// 10 ms.
const STAGE: usize = 80;
/// 4 ms: what the blending after a gap grows by for each further stage.
const GROWTH: usize = 32;
/// Below this energy there is no pitch to speak of.
const ENERGY_MIN: f32 = 250.0;
/// Rates up to 16 kHz.
const SCALE_MAX: usize = 2;

/// Fills gaps in one stream of decoded speech, and holds it back by [`Concealment::delay_samples`].
#[derive(Clone, Debug)]
pub struct Concealment {
    /// 1 at 8 kHz, 2 at 16 kHz.
    scale: usize,
    /// The newest samples, the last ones not yet played.
    history: [i16; HISTORY * SCALE_MAX],
    gap: Option<Gap>,
}

/// What is being repeated.
#[derive(Clone, Debug)]
struct Gap {
    /// The history as it was when the gap began, its end blended.
    speech: [f32; HISTORY * SCALE_MAX],
    /// The last quarter of a period as it was before any blending.
    last_quarter: [f32; OVERLAP_MAX * SCALE_MAX],
    pitch: usize,
    /// A quarter of the pitch.
    overlap: usize,
    /// How many periods are repeated: 1 to 3.
    periods: usize,
    /// Where in them we are.
    offset: usize,
    /// Samples made up so far.
    filled: usize,
}

impl Concealment {
    /// For a stream at 8 kHz (`false`) or 16 kHz (`true`).
    #[must_use]
    pub fn new(wide: bool) -> Self {
        Self { scale: if wide { 2 } else { 1 }, history: [0; HISTORY * SCALE_MAX], gap: None }
    }

    /// By how much the output comes later than the input: 3.75 ms.
    #[must_use]
    pub fn delay_samples(&self) -> usize {
        OVERLAP_MAX * self.scale
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.history.fill(0);
        self.gap = None;
    }

    /// Takes decoded speech and puts what is to be played in its place.
    pub fn received(&mut self, samples: &mut [i16]) {
        if let Some(mut gap) = self.gap.take() {
            gap.leave(samples, self.scale);
        }
        self.pass(samples);
    }

    /// Fills `samples`, for which there is no speech.
    pub fn missing(&mut self, samples: &mut [i16]) {
        let mut gap = match self.gap.take() {
            Some(gap) => gap,
            None => {
                let gap = Gap::new(self.recent(), self.scale);
                self.blend_unplayed(&gap);
                gap
            }
        };
        gap.fill(samples, self.scale);
        self.gap = Some(gap);
        self.pass(samples);
    }

    fn recent(&self) -> &[i16] {
        self.history.get(..HISTORY * self.scale).unwrap_or(&self.history)
    }

    /// The beginning of a gap: the last quarter of a period has not been played yet.
    fn blend_unplayed(&mut self, gap: &Gap) {
        let length = HISTORY * self.scale;
        let from = length - gap.overlap;
        for (old, new) in self.history[from..length].iter_mut().zip(&gap.speech[from..length]) {
            *old = sample::from_float(*new);
        }
    }

    /// Puts samples into the history and the same number of earlier ones out.
    fn pass(&mut self, samples: &mut [i16]) {
        let (length, delay, count) = (HISTORY * self.scale, self.delay_samples(), samples.len());
        let mut unplayed = [0; OVERLAP_MAX * SCALE_MAX];
        unplayed[..delay].copy_from_slice(&self.history[length - delay..length]);
        if count >= length {
            self.history[..length].copy_from_slice(&samples[count - length..]);
        } else {
            self.history.copy_within(count..length, 0);
            self.history[length - count..length].copy_from_slice(samples);
        }
        if count > delay {
            samples.copy_within(..count - delay, delay);
            samples[..delay].copy_from_slice(&unplayed[..delay]);
        } else {
            samples.copy_from_slice(&unplayed[..count]);
        }
    }
}

impl Gap {
    fn new(history: &[i16], scale: usize) -> Self {
        let length = history.len();
        let mut speech = [0.0; HISTORY * SCALE_MAX];
        for (to, from) in speech.iter_mut().zip(history) {
            *to = f32::from(*from);
        }
        let pitch = pitch(&speech[..length], scale);
        let overlap = pitch / 4;
        let mut last_quarter = [0.0; OVERLAP_MAX * SCALE_MAX];
        last_quarter[..overlap].copy_from_slice(&speech[length - overlap..length]);
        let mut gap = Self { speech, last_quarter, pitch, overlap, periods: 1, offset: 0, filled: 0 };
        gap.join_ends(length);
        gap
    }

    /// Blends the end of what is repeated into what comes before its beginning, so that it can be repeated.
    fn join_ends(&mut self, length: usize) {
        let before = length - self.periods * self.pitch - self.overlap;
        for at in 0..self.overlap {
            let rising = sample::ratio(at + 1, self.overlap);
            self.speech[length - self.overlap + at] =
                self.last_quarter[at] * (1.0 - rising) + self.speech[before + at] * rising;
        }
    }

    fn fill(&mut self, samples: &mut [i16], scale: usize) {
        let stage = STAGE * scale;
        let mut rest = samples;
        while !rest.is_empty() {
            if self.filled > 0 && self.filled.is_multiple_of(stage) && self.periods < 3 {
                rest = self.fill_while_lengthening(rest, scale);
                continue;
            }
            let until = if self.periods < 3 { stage - self.filled % stage } else { rest.len() };
            let (now, later) = rest.split_at_mut(until.min(rest.len()));
            for sample in now {
                *sample = sample::from_float(self.next(scale) * self.gain(scale));
                self.filled += 1;
            }
            rest = later;
        }
    }

    /// A stage is over: one period more is repeated from here on, blended with what was repeated until now.
    fn fill_while_lengthening<'a>(&mut self, samples: &'a mut [i16], scale: usize) -> &'a mut [i16] {
        let mut shorter = self.clone();
        while self.offset > self.pitch {
            self.offset -= self.pitch;
        }
        self.periods += 1;
        self.join_ends(HISTORY * scale);
        let length = self.overlap.min(samples.len());
        let (now, later) = samples.split_at_mut(length);
        for (at, sample) in now.iter_mut().enumerate() {
            let rising = sample::ratio(at + 1, self.overlap);
            let value = shorter.next(scale) * (1.0 - rising) + self.next(scale) * rising;
            *sample = sample::from_float(value * self.gain(scale));
            self.filled += 1;
        }
        later
    }

    /// Speech again: its beginning is blended with what would have been repeated on.
    fn leave(&mut self, samples: &mut [i16], scale: usize) {
        let (stage, stages) = (STAGE * scale, self.filled / (STAGE * scale));
        let wanted = self.overlap + stages.saturating_sub(1) * GROWTH * scale;
        let length = wanted.min(stage).min(samples.len());
        let gain = self.gain(scale);
        for (at, sample) in samples.iter_mut().take(length).enumerate() {
            let rising = sample::ratio(at + 1, length);
            *sample =
                sample::from_float(self.next(scale) * gain * (1.0 - rising) + f32::from(*sample) * rising);
        }
    }

    /// The next sample of what is repeated.
    fn next(&mut self, scale: usize) -> f32 {
        let repeated = self.periods * self.pitch;
        let value = self.speech[HISTORY * scale - repeated + self.offset];
        self.offset = if self.offset + 1 == repeated { 0 } else { self.offset + 1 };
        value
    }

    /// 1 for 10 ms, then down to 0 at 60 ms.
    fn gain(&self, scale: usize) -> f32 {
        let stage = STAGE * scale;
        (1.0 - 0.2 * sample::ratio(self.filled.saturating_sub(stage), stage)).max(0.0)
    }
}

/// The distance at which the last 20 ms resemble what came before them most: first over every second sample and
/// distance, then closely around the best.
fn pitch(speech: &[f32], scale: usize) -> usize {
    let (least, most) = (PITCH_MIN * scale, PITCH_MAX * scale);
    let best = |distances: &mut dyn Iterator<Item = usize>, step: usize| {
        let mut found = (most, f32::MIN);
        for distance in distances {
            let likeness = likeness(speech, distance, step, scale);
            if likeness > found.1 {
                found = (distance, likeness);
            }
        }
        found.0
    };
    let coarse = best(&mut (least..=most).rev().step_by(2 * scale), 2 * scale);
    let around = 2 * scale - 1;
    best(&mut (coarse.saturating_sub(around).max(least)..=(coarse + around).min(most)).rev(), 1)
}

fn likeness(speech: &[f32], distance: usize, step: usize, scale: usize) -> f32 {
    let from = speech.len() - CORRELATED * scale;
    let (mut product, mut energy) = (0.0, 0.0);
    for at in (from..speech.len()).step_by(step) {
        let earlier = speech[at - distance];
        product += speech[at] * earlier;
        energy += earlier * earlier;
    }
    product / energy.max(ENERGY_MIN).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A voice of one pitch, with harmonics.
    fn voice(pitch: usize, count: usize) -> Vec<i16> {
        (0..count)
            .map(|at| {
                let phase = sample::ratio(at % pitch, pitch) * std::f32::consts::TAU;
                sample::from_float(6_000.0 * phase.sin() + 2_000.0 * (3.0 * phase).sin())
            })
            .collect()
    }

    #[test]
    fn without_a_gap_speech_passes_unchanged_but_later() {
        for (wide, delay) in [(false, 30), (true, 60)] {
            for size in [1, 7, 30, 80, 160, 331, 2_000] {
                let mut concealment = Concealment::new(wide);
                let speech = voice(97, 4_000);
                let mut output = Vec::new();
                for packet in speech.chunks(size) {
                    let mut samples = packet.to_vec();
                    concealment.received(&mut samples);
                    output.extend(samples);
                }
                assert_eq!(concealment.delay_samples(), delay);
                assert_eq!(output[delay..], speech[..speech.len() - delay], "packets of {size}");
                assert!(output[..delay].iter().all(|sample| *sample == 0));
            }
        }
    }

    #[test]
    fn the_pitch_is_found() {
        for scale in [1, 2] {
            for pitch_now in [41, 50, 63, 77, 100, 119] {
                let speech: Vec<f32> = voice(pitch_now * scale, HISTORY * scale)
                    .iter()
                    .map(|sample| f32::from(*sample))
                    .collect();
                let found = pitch(&speech, scale);
                assert_eq!(found % (pitch_now * scale), 0, "{found} for {pitch_now} at scale {scale}");
            }
        }
    }

    #[test]
    fn a_steady_voice_goes_on_through_a_gap_of_ten_milliseconds() {
        let speech = voice(77, 1_600);
        let mut concealment = Concealment::new(false);
        let mut output = speech.clone();
        for (index, packet) in output.chunks_mut(80).enumerate() {
            if index == 10 { concealment.missing(packet) } else { concealment.received(packet) }
        }
        for (at, (got, want)) in output[30..].iter().zip(&speech).enumerate() {
            assert!((i32::from(*got) - i32::from(*want)).abs() <= 2, "sample {at}: {got} instead of {want}");
        }
    }

    #[test]
    fn a_long_gap_fades_to_silence_at_sixty_milliseconds_whatever_the_packets() {
        for size in [80, 100, 160, 180, 240, 480] {
            let mut concealment = Concealment::new(false);
            concealment.received(&mut voice(77, 960));
            let mut output = vec![0; 1_440];
            output.chunks_mut(size).for_each(|packet| concealment.missing(packet));
            let loudest = |range: std::ops::Range<usize>| {
                output[range].iter().map(|sample| sample.unsigned_abs()).max().unwrap_or(0)
            };
            let (begin, middle) = (loudest(30..110), loudest(300..380));
            assert!(begin > 5_000 && middle < begin / 2 && middle > begin / 5, "{size}: {begin}, {middle}");
            assert!(output[510..].iter().all(|sample| *sample == 0), "{size}: not silent after 60 ms");
        }
    }

    #[test]
    fn the_packet_size_makes_no_difference_within_a_gap() {
        let fill = |size: usize| {
            let mut concealment = Concealment::new(false);
            concealment.received(&mut voice(63, 960));
            let mut output = vec![0; 480];
            output.chunks_mut(size).for_each(|packet| concealment.missing(packet));
            output
        };
        let whole = fill(480);
        for size in [80, 160, 240] {
            assert_eq!(fill(size), whole, "packets of {size}");
        }
    }

    #[test]
    fn nothing_jumps_where_a_gap_begins_and_ends() {
        for gap in [80, 160, 320] {
            let mut speech = voice(90, 3_200);
            let steepest = |all: &[i16]| {
                all.windows(2).map(|two| (i32::from(two[1]) - i32::from(two[0])).abs()).max().unwrap_or(0)
            };
            let before = steepest(&speech);
            let mut concealment = Concealment::new(false);
            concealment.received(&mut speech[..1_600]);
            concealment.missing(&mut speech[1_600..1_600 + gap]);
            concealment.received(&mut speech[1_600 + gap..]);
            let after = steepest(&speech[30..]);
            assert!(after <= before * 3 / 2, "gap of {gap}: {after} from sample to sample, before {before}");
        }
    }

    #[test]
    fn the_loudest_and_the_emptiest_history_are_no_trouble() {
        for value in [i16::MIN, 0, i16::MAX] {
            let mut concealment = Concealment::new(true);
            concealment.missing(&mut [0; 37]);
            concealment.received(&mut [value; 1_000]);
            concealment.missing(&mut [0; 5_760]);
            concealment.received(&mut [value; 3]);
            concealment.missing(&mut []);
        }
    }
}
