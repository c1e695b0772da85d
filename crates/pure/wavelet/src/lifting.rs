//! The wavelet transform of a frame for itself: Cohen-Daubechies-Feauveau 9/7 by lifting, five levels, periodic.
//!
//! Steps: Daubechies and Sweldens, "Factoring wavelet transforms into lifting steps", J. Fourier Anal. Appl. 4 (1998),
//! section 7.7. The gains make it nearly orthonormal.

use crate::FRAME_SAMPLES;

const LEVELS: usize = 5;
const ALPHA: f32 = -1.586_134_3;
const BETA: f32 = -0.052_980_12;
const GAMMA: f32 = 0.882_911_1;
const DELTA: f32 = 0.443_506_85;
const ZETA: f32 = 1.149_604_4;

/// From samples to coefficients in place: 10 of the lowest band, then 10, 20, 40, 80 and 160 of the bands above it.
pub(crate) fn forward(values: &mut [f32; FRAME_SAMPLES]) {
    let mut whole = [0.0; FRAME_SAMPLES];
    for level in 0..LEVELS {
        let length = FRAME_SAMPLES >> level;
        whole[..length].copy_from_slice(&values[..length]);
        let (low, high) = values[..length].split_at_mut(length / 2);
        for (at, two) in whole[..length].as_chunks::<2>().0.iter().enumerate() {
            (low[at], high[at]) = (two[0], two[1]);
        }
        lift_high(low, high, ALPHA);
        lift_low(low, high, BETA);
        lift_high(low, high, GAMMA);
        lift_low(low, high, DELTA);
        low.iter_mut().for_each(|value| *value *= ZETA);
        high.iter_mut().for_each(|value| *value /= ZETA);
    }
}

pub(crate) fn backward(values: &mut [f32; FRAME_SAMPLES]) {
    let mut whole = [0.0; FRAME_SAMPLES];
    for level in (0..LEVELS).rev() {
        let length = FRAME_SAMPLES >> level;
        let (low, high) = values[..length].split_at_mut(length / 2);
        low.iter_mut().for_each(|value| *value /= ZETA);
        high.iter_mut().for_each(|value| *value *= ZETA);
        lift_low(low, high, -DELTA);
        lift_high(low, high, -GAMMA);
        lift_low(low, high, -BETA);
        lift_high(low, high, -ALPHA);
        for (at, two) in whole[..length].as_chunks_mut::<2>().0.iter_mut().enumerate() {
            *two = [low[at], high[at]];
        }
        values[..length].copy_from_slice(&whole[..length]);
    }
}

/// What is between two low values changes by them.
fn lift_high(low: &[f32], high: &mut [f32], by: f32) {
    let last = high.len() - 1;
    for at in 0..last {
        high[at] += by * (low[at] + low[at + 1]);
    }
    high[last] += by * (low[last] + low[0]);
}

fn lift_low(low: &mut [f32], high: &[f32], by: f32) {
    low[0] += by * (high[high.len() - 1] + high[0]);
    for at in 1..low.len() {
        low[at] += by * (high[at - 1] + high[at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back() {
        let mut seed = 1_u32;
        let mut values = [0.0; FRAME_SAMPLES];
        for value in &mut values {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *value = f32::from((seed >> 16) as u16) - 32_768.0;
        }
        let before = values;
        forward(&mut values);
        assert!(values.iter().zip(&before).any(|(one, other)| (one - other).abs() > 1_000.0));
        backward(&mut values);
        assert!(values.iter().zip(&before).all(|(one, other)| (one - other).abs() < 0.05));
    }

    #[test]
    fn a_constant_is_all_in_the_lowest_band() {
        let mut values = [100.0; FRAME_SAMPLES];
        forward(&mut values);
        // Five levels of the square root of two.
        assert!(values[..10].iter().all(|value| (value - 565.685).abs() < 0.1), "{:?}", &values[..10]);
        assert!(values[10..].iter().all(|value| value.abs() < 0.1));
    }

    #[test]
    fn energy_is_nearly_kept() {
        let mut values = [0.0; FRAME_SAMPLES];
        let mut seed = 7_u32;
        for value in &mut values {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *value = f32::from((seed >> 16) as u16) - 32_768.0;
        }
        let energy = |values: &[f32]| values.iter().map(|value| value * value).sum::<f32>();
        let before = energy(&values);
        forward(&mut values);
        assert!((0.9..1.1).contains(&(energy(&values) / before)), "{}", energy(&values) / before);
    }
}
