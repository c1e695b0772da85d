//! From numbers to places, and where the ticks are.

use crate::chart::{Axis, Range, Scale};
use crate::number::short;

/// About as many ticks as an axis has.
const TICKS: f64 = 6.0;

/// An axis that knows how far it goes.
#[derive(Clone, Debug)]
pub(crate) struct Scaled {
    pub(crate) from: f64,
    pub(crate) to: f64,
    scale: Scale,
    /// The places of both ends, in pixels.
    start: f64,
    end: f64,
}

/// Why there is no scale.
pub(crate) enum NoScale {
    Empty,
    Range(f64, f64),
}

impl Scaled {
    /// Fits an axis around `numbers`, between two places.
    pub(crate) fn fit(
        axis: &Axis,
        numbers: impl Iterator<Item = f64>,
        start: f64,
        end: f64,
    ) -> Result<Self, NoScale> {
        let drawable = |value: &f64| value.is_finite() && (axis.scale == Scale::Linear || *value > 0.0);
        let fold = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let mut ends = numbers.filter(drawable).fold((f64::INFINITY, f64::NEG_INFINITY), fold);
        let widened = |ends: (f64, f64)| if ends.0 <= ends.1 { round_out(ends, axis.scale) } else { ends };
        let (from, to) = if axis.names.is_empty() {
            match axis.range {
                Range::From(from, to) => (from, to),
                Range::AtLeast(from, to) => widened(fold(fold(ends, from), to)),
                Range::Zero => {
                    ends = if ends.0 <= ends.1 { fold(ends, 0.0) } else { ends };
                    widened(ends)
                }
                Range::Numbers => widened(ends),
            }
        } else {
            (-0.5, count(axis.names.len()) - 0.5)
        };
        if from == f64::INFINITY {
            return Err(NoScale::Empty);
        }
        let sensible = from.is_finite() && to.is_finite() && from < to && (to - from).is_finite();
        if !sensible || (axis.scale == Scale::Log && from <= 0.0) {
            return Err(NoScale::Range(from, to));
        }
        Ok(Self { from, to, scale: axis.scale, start, end })
    }

    /// The place of a number, if it has one; it may lie outside.
    pub(crate) fn position(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log if value > 0.0 => (value / self.from).ln() / (self.to / self.from).ln(),
            Scale::Log => return None,
        };
        let position = self.start + share * (self.end - self.start);
        // Far outside is as good as just outside, and keeps the text short.
        position.is_finite().then(|| position.clamp(-20_000.0, 20_000.0))
    }

    /// Where ticks are, and what they say.
    pub(crate) fn ticks(&self, names: &[String]) -> Vec<(f64, String)> {
        let numbers: Vec<(f64, String)> = if !names.is_empty() {
            names.iter().enumerate().map(|(index, name)| (count(index), name.clone())).collect()
        } else if self.scale == Scale::Log {
            self.decades().into_iter().map(|value| (value, short(value))).collect()
        } else {
            let step = nice((self.to - self.from) / TICKS);
            let first = (self.from / step - 1e-9).ceil();
            let at = |index: u32| (first + f64::from(index)) * step;
            let inside = (0..64).map(at).take_while(|value| *value <= self.to + step * 1e-9);
            inside.map(|value| (value, short(if value.abs() < step * 1e-6 { 0.0 } else { value }))).collect()
        };
        numbers.into_iter().filter_map(|(value, text)| Some((self.position(value)?, text))).collect()
    }

    /// 1, 10, 100; with 2 and 5 between them if there are few.
    fn decades(&self) -> Vec<f64> {
        let (low, high) = (self.from.log10().floor(), self.to.log10().ceil());
        let few = high - low <= 3.0;
        let stride = ((high - low) / 10.0).ceil().max(1.0);
        let mut values = Vec::new();
        let mut power = low;
        while power <= high {
            for digit in if few { &[1.0, 2.0, 5.0][..] } else { &[1.0] } {
                values.push(digit * 10_f64.powf(power));
            }
            power += stride;
        }
        let (least, most) = (self.from * (1.0 - 1e-9), self.to * (1.0 + 1e-9));
        values.retain(|value| (least..=most).contains(value));
        values
    }
}

/// Out to round numbers.
fn round_out((low, high): (f64, f64), scale: Scale) -> (f64, f64) {
    if scale == Scale::Log {
        let down = 10_f64.powf(low.log10().floor());
        let up = 10_f64.powf(high.log10().ceil());
        return if down < up { (down, up) } else { (down, down * 10.0) };
    }
    if low == high {
        let half = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
        // Zero stays an end of what does not go below it.
        return if low >= 0.0 { (0.0, low + half) } else { (low - half, 0.0) };
    }
    let step = nice((high - low) / TICKS);
    ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step)
}

/// The next of 1, 2 and 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let digit = match step / power {
        digit if digit <= 1.0 => 1.0,
        digit if digit <= 2.0 => 2.0,
        digit if digit <= 5.0 => 5.0,
        _ => 10.0,
    };
    digit * power
}

fn count(index: usize) -> f64 {
    f64::from(u32::try_from(index).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, numbers: &[f64]) -> Vec<String> {
        let scaled = Scaled::fit(axis, numbers.iter().copied(), 0.0, 100.0);
        let Ok(scaled) = scaled else { return vec![] };
        scaled.ticks(&axis.names).into_iter().map(|tick| tick.1).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let linear = Axis::default();
        let log = Axis { scale: Scale::Log, ..Axis::default() };
        let zero = Axis { range: Range::Zero, ..Axis::default() };
        let mos = Axis { range: Range::From(1.0, 5.0), ..Axis::default() };
        let named = Axis { names: vec!["a".into(), "b".into()], ..Axis::default() };
        #[rustfmt::skip]
        let cases = [
            (&linear, vec![0.0, 29.5], "0 5 10 15 20 25 30"),
            (&linear, vec![-1.0, 1.0], "-1 -0.5 0 0.5 1"),
            (&linear, vec![7.0],       "0 2 4 6 8 10"),
            (&zero,   vec![80.0, 95.0], "0 20 40 60 80 100"),
            (&mos,    vec![],          "1 2 3 4 5"),
            (&log,    vec![0.001, 900.0, 0.0, -4.0], "0.001 0.01 0.1 1 10 100 1000"),
            (&log,    vec![1.5, 80.0], "1 2 5 10 20 50 100"),
            (&named,  vec![],          "a b"),
            (&linear, vec![f64::NAN],  ""),
            (&linear, vec![1e300, -1e300, f64::INFINITY], "-1e300 -5e299 0 5e299 1e300"),
        ];
        for (axis, numbers, want) in cases {
            let got = labels(axis, &numbers).join(" ");
            if numbers == [7.0] {
                assert!(got.starts_with("0 2 4"), "{got}");
            } else {
                assert_eq!(got, want, "{numbers:?}");
            }
        }
    }
}
