//! Quantiles of spans of time, fast and in fixed memory.
//!
//! Spans are counted in classes: microsecond by microsecond up to 128 µs, then 64 classes for each doubling. A quantile
//! is off by less than 0.8 %. Only integers are used, so that it costs a few nanoseconds; [`crate::DelayMeter`] takes
//! intervals instead.

use guestright_units::Micros;

/// Classes for each doubling, as a power of two.
const FINE_BITS: u32 = 6;

/// Spans of up to 2^36 µs, 19 hours, are told apart.
const OCTAVES: usize = 30;

const CLASSES: usize = (OCTAVES + 1) << FINE_BITS;

/// Spans by their length.
#[derive(Clone, Debug)]
pub struct SpanQuantiles {
    classes: Box<[u64]>,
    count: u64,
}

impl Default for SpanQuantiles {
    fn default() -> Self {
        Self { classes: vec![0; CLASSES].into(), count: 0 }
    }
}

impl SpanQuantiles {
    /// Counts one span.
    #[inline]
    pub fn add(&mut self, span: Micros) {
        self.classes[class_of(span.0)] += 1;
        self.count += 1;
    }

    /// How many were counted.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// A span in ms that `share` (0 to 1) of them are not longer than: the middle of its class. `None`: there are none.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        let rank = (share.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0);
        let mut seen = 0;
        let class = self.classes.iter().position(|count| {
            seen += count;
            seen as f64 >= rank
        })?;
        let (least, width) = limits_of(class);
        Some((least as f64 + (width - 1) as f64 / 2.0) / 1e3)
    }
}

/// The class of a span: its highest seven bits, and how far they are shifted.
fn class_of(span_us: u64) -> usize {
    let octave = (63 - (span_us | 1).leading_zeros()).saturating_sub(FINE_BITS);
    let class = (u64::from(octave) << FINE_BITS) + (span_us >> octave);
    usize::try_from(class).unwrap_or(usize::MAX).min(CLASSES - 1)
}

/// The least span of a class in µs, and how many microseconds it has.
const fn limits_of(class: usize) -> (u64, u64) {
    let class = class as u64;
    let octave = (class >> FINE_BITS).saturating_sub(1);
    ((class - (octave << FINE_BITS)) << octave, 1 << octave)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_spans_are_exact_and_classes_join() {
        for span in 0..128 {
            assert_eq!(limits_of(class_of(span)), (span, 1));
        }
        let mut end = 0;
        for class in 0..CLASSES {
            let (least, width) = limits_of(class);
            assert_eq!((least, class_of(least), class_of(least + width - 1)), (end, class, class));
            end = least + width;
        }
        assert_eq!(class_of(u64::MAX), CLASSES - 1);
    }

    #[test]
    fn of_nothing_there_is_no_quantile() {
        assert_eq!(SpanQuantiles::default().quantile_ms(0.5), None);
    }

    proptest! {
        #[test]
        fn quantiles_are_within_their_bound(mut spans in prop::collection::vec(1_u64..100_000_000, 1..300), share in 0.0..=1.0_f64) {
            let mut quantiles = SpanQuantiles::default();
            spans.iter().for_each(|span| quantiles.add(Micros(*span)));
            spans.sort_unstable();
            let rank = (share * spans.len() as f64).ceil().max(1.0);
            let position = (1..=spans.len()).find(|n| *n as f64 >= rank).unwrap();
            let want = spans[position - 1] as f64 / 1e3;
            let got = quantiles.quantile_ms(share).unwrap();
            prop_assert!((got - want).abs() <= want * 0.008, "{} {}", got, want);
            prop_assert_eq!(quantiles.count(), spans.len() as u64);
        }
    }
}
