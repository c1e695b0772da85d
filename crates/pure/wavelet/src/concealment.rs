//! Something to play in the place of a lost frame: the last period of the voice again, fading.

use crate::FRAME_SAMPLES;

/// Periods are looked for between 2.5 ms (400 Hz) and 20 ms (50 Hz).
const PERIOD_MIN: usize = 20;
const PERIOD_MAX: usize = 160;
/// Two times this much speech is compared.
const COMPARED: usize = 160;
const HISTORY: usize = FRAME_SAMPLES;
/// The repetition is as loud as the speech for 20 ms, and gone after 100 ms.
const FULL: usize = 160;
const GONE: usize = 800;
/// Speech after a gap is faded in over 5 ms.
const BLENDED: usize = 40;

/// The newest speech, and what is made of it.
#[derive(Clone, Debug)]
pub(crate) struct Concealment {
    history: [i16; HISTORY],
    gap: Option<Gap>,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    period: usize,
    filled: usize,
}

impl Concealment {
    pub(crate) fn new() -> Self {
        Self { history: [0; HISTORY], gap: None }
    }

    /// Takes a decoded frame. With `blend`, one after a gap begins as the gap would have gone on.
    pub(crate) fn accept(&mut self, samples: &mut [i16; FRAME_SAMPLES], blend: bool) {
        if let Some(gap) = self.gap.take()
            && blend
        {
            for (at, sample) in samples.iter_mut().take(BLENDED).enumerate() {
                let (old, new) = (i32::from(self.repeated(gap, at)), i32::from(*sample));
                *sample = part(old * whole(BLENDED - at) + new * whole(at), whole(BLENDED));
            }
        }
        self.history.copy_from_slice(samples);
    }

    /// Fills a frame.
    pub(crate) fn missing(&mut self, samples: &mut [i16; FRAME_SAMPLES]) {
        let mut gap = self.gap.unwrap_or_else(|| Gap { period: self.period(), filled: 0 });
        for (at, sample) in samples.iter_mut().enumerate() {
            *sample = self.repeated(gap, at);
        }
        gap.filled = (gap.filled + FRAME_SAMPLES).min(GONE);
        self.gap = Some(gap);
    }

    /// What would follow after what was filled, `at` samples on.
    pub(crate) fn ahead(&self, at: usize) -> i16 {
        self.gap.map_or(0, |gap| self.repeated(gap, at))
    }

    fn repeated(&self, gap: Gap, at: usize) -> i16 {
        let since = gap.filled + at;
        let sample = self.history[HISTORY - gap.period + since % gap.period];
        let loud = GONE.saturating_sub(since.max(FULL));
        part(i32::from(sample) * whole(loud), whole(GONE - FULL))
    }

    /// The lag at which the newest speech is most like itself.
    fn period(&self) -> usize {
        let newest = &self.history[HISTORY - COMPARED..];
        let likeness = |lag: usize| {
            let older = &self.history[HISTORY - COMPARED - lag..HISTORY - lag];
            let (mut product, mut energy) = (0_i64, 1_i64);
            for (one, other) in newest.iter().zip(older) {
                product += i64::from(*one) * i64::from(*other);
                energy += i64::from(*other) * i64::from(*other);
            }
            // The square of the product over the energy, with the sign of the product, in whole numbers.
            i128::from(product) * i128::from(product.abs()) / i128::from(energy)
        };
        let mut best = (PERIOD_MAX, i128::MIN);
        for lag in PERIOD_MIN..=PERIOD_MAX {
            let like = likeness(lag);
            if like > best.1 {
                best = (lag, like);
            }
        }
        best.0
    }
}

/// Lengths here are below a thousand.
fn whole(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(0)
}

/// Between two samples, so a sample.
fn part(sum: i32, of: i32) -> i16 {
    i16::try_from(sum / of).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_voice_goes_on_in_its_own_period_and_fades() {
        let mut concealment = Concealment::new();
        let voice = |at: usize| if at.is_multiple_of(57) { 9_000 } else { i16::try_from(at % 57).unwrap() };
        concealment.accept(&mut std::array::from_fn(voice), true);
        let mut first = [0; FRAME_SAMPLES];
        concealment.missing(&mut first);
        let peaks =
            |samples: &[i16]| (0..samples.len()).filter(|at| samples[*at] > 4_000).collect::<Vec<_>>();
        // 320 is in the sixth period, 35 after its beginning.
        assert_eq!(peaks(&first), [22, 79, 136, 193, 250, 307]);
        assert!(first[22] == 9_000 && first[307] < 8_000);
        let mut later = [0; FRAME_SAMPLES];
        concealment.missing(&mut later);
        assert!(later.iter().max() < first.iter().max());
        concealment.missing(&mut later);
        assert_eq!(later[160..], [0; 160]);
    }

    #[test]
    fn speech_after_a_gap_does_not_click() {
        let mut concealment = Concealment::new();
        concealment.accept(&mut [8_000; FRAME_SAMPLES], true);
        let mut frame = [0; FRAME_SAMPLES];
        concealment.missing(&mut frame);
        let mut next = [-8_000; FRAME_SAMPLES];
        concealment.accept(&mut next, true);
        let largest = next.windows(2).map(|two| (i32::from(two[0]) - i32::from(two[1])).abs()).max();
        assert!(largest < Some(500) && next[FRAME_SAMPLES - 1] == -8_000, "{largest:?}");
    }
}
