//! What the filter leaves, as one pulse of three samples (EN 300 961, sections 5.2.13 to 5.2.17).

pub(super) const PART_SAMPLES: usize = 40;
const PULSES: usize = 13;
const GRIDS: usize = 4;
/// The weighting filter (table 5.4).
const WEIGHTS: [f32; 11] =
    [-134.0, -374.0, 0.0, 2_054.0, 5_741.0, 8_192.0, 5_741.0, 2_054.0, 0.0, -374.0, -134.0];
const WEIGHT_UNIT: f32 = 8_192.0;

/// A part, coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Where the first pulse is.
    pub(super) grid: u32,
    /// The largest pulse, in a logarithmic scale of 64 steps.
    pub(super) maximum: u32,
    /// The pulses, 0 to 7, from the largest below 0 to the largest above it.
    pub(super) pulses: [u32; PULSES],
}

impl Part {
    pub(super) fn new(residual: &[f32; PART_SAMPLES]) -> Self {
        let weighted: [f32; PART_SAMPLES] = std::array::from_fn(|at| {
            let terms = WEIGHTS.iter().enumerate().filter_map(|(tap, weight)| {
                Some(weight * residual.get((at + tap).checked_sub(WEIGHTS.len() / 2)?)?)
            });
            terms.sum::<f32>() / WEIGHT_UNIT
        });
        let on = |grid: usize| std::array::from_fn::<f32, PULSES, _>(|at| weighted[grid + 3 * at]);
        let energy = |grid: usize| on(grid).iter().map(|sample| sample * sample).sum::<f32>();
        let grid = (1..GRIDS).fold(0, |best, grid| if energy(grid) > energy(best) { grid } else { best });
        let samples = on(grid);
        let maximum = coded_maximum(samples.iter().fold(0.0, |most, sample| sample.abs().max(most)));
        let step = decoded_maximum(maximum);
        let pulses = samples.map(|sample| pulse(sample, step));
        Self { grid: u32::try_from(grid).unwrap_or(0), maximum, pulses }
    }

    /// What a decoder makes of it.
    pub(super) fn samples(&self) -> [f32; PART_SAMPLES] {
        let mut samples = [0.0; PART_SAMPLES];
        let step = decoded_maximum(self.maximum);
        let positions = samples.iter_mut().skip(usize::try_from(self.grid).unwrap_or(0)).step_by(3);
        for (sample, pulse) in positions.zip(self.pulses) {
            *sample = f32::from(i16::try_from(pulse * 2).unwrap_or(0) - 7) / 8.0 * step;
        }
        samples
    }
}

/// Eight steps to an octave, from 512 on; below that 32 to a step.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 15 bits")]
fn coded_maximum(maximum: f32) -> u32 {
    let maximum = maximum.min(32_767.0) as u32;
    let octave = (maximum >> 9).checked_ilog2().map_or(0, |octave| octave + 1);
    (maximum >> (octave + 5)) + (octave << 3)
}

/// The upper end of the step.
#[expect(clippy::cast_precision_loss, reason = "15 bits")]
fn decoded_maximum(coded: u32) -> f32 {
    let octave = (coded >> 3).saturating_sub(1);
    let within = coded - (octave << 3);
    ((within + 1) << (octave + 5)) as f32 - 1.0
}

/// The nearest of eight.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to three bits")]
fn pulse(sample: f32, step: f32) -> u32 {
    (sample / step * 4.0 + 4.0).floor().clamp(0.0, 7.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EN 300 961, table 3.5: the ends of the steps and what is decoded of them.
    #[test]
    fn maxima_are_those_of_the_table() {
        let cases = [
            (0.0, 0, 31.0),
            (31.0, 0, 31.0),
            (32.0, 1, 63.0),
            (511.0, 15, 511.0),
            (512.0, 16, 575.0),
            (1_023.0, 23, 1_023.0),
            (1_024.0, 24, 1_151.0),
            (32_767.0, 63, 32_767.0),
        ];
        for (maximum, coded, decoded) in cases {
            assert_eq!((coded_maximum(maximum), decoded_maximum(coded)), (coded, decoded), "{maximum}");
        }
    }

    #[test]
    fn a_pulse_is_found_on_its_grid() {
        for position in 0..PART_SAMPLES {
            let mut residual = [0.0; PART_SAMPLES];
            residual[position] = 4_000.0;
            let decoded = Part::new(&residual).samples();
            let loudest =
                (0..PART_SAMPLES).max_by(|one, other| decoded[*one].total_cmp(&decoded[*other])).unwrap();
            assert!(loudest.abs_diff(position) <= 1, "a pulse at {position} is heard at {loudest}");
        }
    }
}
