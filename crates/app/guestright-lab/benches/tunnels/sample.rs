//! Medians and spreads.

use serde::Serialize;

/// What several repetitions gave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None` if nothing was measured.
    pub(crate) fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.into_iter().filter(|sample| sample.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Some(Self { median, min, max })
    }

    /// The median, with smallest and largest where there is more than one sample.
    pub(crate) fn text(self, digits: usize) -> String {
        if self.min < self.max {
            format!("{:.digits$} ({:.digits$}-{:.digits$})", self.median, self.min, self.max)
        } else {
            format!("{:.digits$}", self.median)
        }
    }
}

/// A spread for a table, or a dash.
pub(crate) fn cell(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or_else(|| "-".to_owned(), |spread| spread.text(digits))
}

/// The value at a share of sorted samples, for example 0.99.
pub(crate) fn percentile(sorted: &[u32], share: f64) -> u32 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0)
}
