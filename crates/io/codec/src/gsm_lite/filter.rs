//! The short-term filter: eight reflection coefficients, as log area ratios (EN 300 961, sections 5.2.4 to 5.2.10).

const ORDER: usize = 8;
const FRAME_SAMPLES: usize = super::FRAME_SAMPLES;
/// Parts of a frame that have pulses of their own.
pub(super) const PARTS: usize = 4;

/// Bits of each ratio.
pub(super) const BITS: [u32; ORDER] = [6, 6, 5, 5, 4, 4, 3, 3];
/// Table 3.1: scale, offset and least value.
const SCALE: [f32; ORDER] = [20.0, 20.0, 20.0, 20.0, 13.637, 15.0, 8.334, 8.824];
const OFFSET: [f32; ORDER] = [0.0, 0.0, 4.0, -5.0, 0.184, -3.5, -0.666, -2.235];
const LEAST: [f32; ORDER] = [-32.0, -32.0, -16.0, -16.0, -8.0, -8.0, -4.0, -4.0];

/// How far from the last frame's ratios to this one's, and until where (section 5.2.9.1).
const STEPS: [(f32, usize); PARTS] = [(0.25, 13), (0.5, 27), (0.75, 40), (1.0, FRAME_SAMPLES)];

/// The filter of one direction.
#[derive(Debug, Default)]
pub(super) struct Filter {
    last: [f32; ORDER],
    memory: [f32; ORDER],
}

/// The coded ratios of a frame.
pub(super) fn analyse(signal: &[f32; FRAME_SAMPLES]) -> [u32; ORDER] {
    let mut products = [0.0; ORDER + 1];
    for (lag, product) in products.iter_mut().enumerate() {
        *product = signal[lag..].iter().zip(signal).map(|(one, other)| one * other).sum();
    }
    let reflections = reflections(&products);
    std::array::from_fn(|at| {
        let value = (SCALE[at] * ratio(reflections[at]) + OFFSET[at]).round() - LEAST[at];
        coded(value, BITS[at])
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the bits that it has"
)]
fn coded(value: f32, bits: u32) -> u32 {
    (value.max(0.0) as u32).min((1 << bits) - 1)
}

/// Schur's recursion (section 5.2.5).
fn reflections(products: &[f32; ORDER + 1]) -> [f32; ORDER] {
    let mut result = [0.0; ORDER];
    let (mut upper, mut lower) = (*products, *products);
    for (order, reflection) in result.iter_mut().enumerate() {
        if upper[0] <= 0.0 || lower[1].abs() >= upper[0] {
            break;
        }
        *reflection = -lower[1] / upper[0];
        let before = upper;
        for at in 0..ORDER - order {
            upper[at] = before[at] + *reflection * lower[at + 1];
            lower[at] = lower[at + 1] + *reflection * before[at];
        }
    }
    result
}

/// Section 5.2.6.
fn ratio(reflection: f32) -> f32 {
    let size = reflection.abs();
    let ratio = if size < 0.675 {
        size
    } else if size < 0.95 {
        2.0 * size - 0.675
    } else {
        8.0 * size - 6.375
    };
    ratio.copysign(reflection)
}

/// Section 5.2.9.2.
fn reflection(ratio: f32) -> f32 {
    let size = ratio.abs();
    let reflection = if size < 0.675 {
        size
    } else if size < 1.225 {
        0.5 * size + 0.3375
    } else {
        0.125 * size + 0.796_875
    };
    reflection.min(0.999).copysign(ratio)
}

#[expect(clippy::cast_precision_loss, reason = "six bits")]
fn decoded(ratios: &[u32; ORDER]) -> [f32; ORDER] {
    std::array::from_fn(|at| (ratios[at] as f32 + LEAST[at] - OFFSET[at]) / SCALE[at])
}

impl Filter {
    /// From speech to what the filter cannot say.
    pub(super) fn remove_prediction(&mut self, ratios: &[u32; ORDER], signal: &mut [f32; FRAME_SAMPLES]) {
        self.run(ratios, signal, |memory, reflections, sample| {
            let (mut forward, mut backward) = (sample, sample);
            for (memory, reflection) in memory.iter_mut().zip(reflections) {
                let before = std::mem::replace(memory, backward);
                backward = before + reflection * forward;
                forward += reflection * before;
            }
            forward
        });
    }

    pub(super) fn put_back(&mut self, ratios: &[u32; ORDER], signal: &mut [f32; FRAME_SAMPLES]) {
        self.run(ratios, signal, |memory, reflections, sample| {
            let mut sample = sample;
            for at in (0..ORDER).rev() {
                sample -= reflections[at] * memory[at];
                if let Some(next) = at.checked_add(1).filter(|next| *next < ORDER) {
                    memory[next] = memory[at] + reflections[at] * sample;
                }
            }
            memory[0] = sample;
            sample
        });
    }

    fn run(
        &mut self,
        ratios: &[u32; ORDER],
        signal: &mut [f32; FRAME_SAMPLES],
        step: impl Fn(&mut [f32; ORDER], &[f32; ORDER], f32) -> f32,
    ) {
        let ratios = decoded(ratios);
        let mut from = 0;
        for (part, until) in STEPS {
            let reflections: [f32; ORDER] =
                std::array::from_fn(|at| reflection(self.last[at] + part * (ratios[at] - self.last[at])));
            for sample in &mut signal[from..until] {
                *sample = step(&mut self.memory, &reflections, *sample).clamp(-32_768.0, 32_767.0);
            }
            from = until;
        }
        self.last = ratios;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_filter_takes_out_it_puts_back() {
        let (mut there, mut back) = (Filter::default(), Filter::default());
        for frame in 0_u16..4 {
            let signal: [f32; FRAME_SAMPLES] = std::array::from_fn(|at| {
                let angle = 0.05 + f32::from(frame) * 0.02;
                4_000.0 * (angle * f32::from(u16::try_from(at).unwrap())).sin()
            });
            let ratios = analyse(&signal);
            let mut residual = signal;
            there.remove_prediction(&ratios, &mut residual);
            let energy = |signal: &[f32]| signal.iter().map(|sample| sample * sample).sum::<f32>();
            assert!(energy(&residual) < energy(&signal) / 4.0, "frame {frame}: nothing was predicted");
            back.put_back(&ratios, &mut residual);
            assert!(
                residual.iter().zip(&signal).all(|(one, other)| (one - other).abs() < 1.0),
                "frame {frame}"
            );
        }
    }
}
