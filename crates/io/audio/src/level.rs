/// The lowest level that is told: below it, everything is silence.
const FLOOR_DBOV: f32 = -96.0;

/// How loud some samples are, in dB relative to the overload point (a square wave at full scale is 0 dBov).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Root mean square: how loud it sounds.
    pub rms_dbov: f32,
    /// The largest sample: how near it is to being cut off.
    pub peak_dbov: f32,
}

impl Level {
    /// Of these samples; -96 dBov for none and for silence.
    #[must_use]
    pub fn of(samples: &[i16]) -> Self {
        let square = |sample: &i16| f64::from(*sample) * f64::from(*sample);
        let mean = samples.iter().map(square).sum::<f64>() / crate::sample::count(samples.len().max(1));
        let peak = samples.iter().map(|sample| sample.unsigned_abs()).max().unwrap_or(0);
        Self { rms_dbov: dbov(mean.sqrt()), peak_dbov: dbov(f64::from(peak)) }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a level needs no more digits")]
fn dbov(value: f64) -> f32 {
    ((20.0 * (value / 32_768.0).max(f64::MIN_POSITIVE).log10()) as f32).max(FLOOR_DBOV)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_relative_to_full_scale() {
        let near = |got: f32, want: f32| (got - want).abs() < 0.01;
        let full = Level::of(&[i16::MIN; 10]);
        assert!(near(full.rms_dbov, 0.0) && near(full.peak_dbov, 0.0));
        let half = Level::of(&[16_384, -16_384]);
        assert!(near(half.rms_dbov, -6.02) && near(half.peak_dbov, -6.02));
        let click = Level::of(&[0, 0, 0, -32_768]);
        assert!(near(click.rms_dbov, -6.02) && near(click.peak_dbov, 0.0));
        assert_eq!(Level::of(&[]), Level { rms_dbov: FLOOR_DBOV, peak_dbov: FLOOR_DBOV });
        assert_eq!(Level::of(&[0; 160]), Level::of(&[]));
    }
}
