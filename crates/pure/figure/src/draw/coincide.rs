//! Series that lie on each other, and what is done so that both are seen.

use crate::chart::{Chart, Marks, Series, Work};
use crate::scale::Scaled;

/// Nearer than this to each other, in pixels, two points are one to the eye.
const NEAR: f64 = 2.0;
/// Longer series are drawn as they are: to compare each point with each other one takes its time.
const POINTS_MAX: usize = 2_000;

/// The series that another one hides, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Below {
    /// The place of the series below.
    pub(super) index: usize,
    /// Whether all points coincide, and not only half of them or more.
    pub(super) whole: bool,
    /// Which one above it this is, from 1.
    pub(super) rank: usize,
}

/// For each series of ours the one drawn before that lies below it, if there is one.
pub(super) fn coincident(chart: &Chart, x: &Scaled, y: &Scaled) -> Vec<Option<Below>> {
    let mut found: Vec<Option<Below>> = Vec::new();
    for (index, series) in chart.series.iter().enumerate() {
        let earlier = (0..index).filter(|other| found[*other].is_none());
        let below = earlier.filter_map(|other| {
            let share = shared(&chart.series[other], series, x, y)?;
            Some((other, share))
        });
        // Whole coincidence goes before a part, and the first series before a later one.
        let below = below.min_by_key(|(other, whole)| (!*whole, *other));
        let rank = |below: usize| found.iter().flatten().filter(|one| one.index == below).count() + 1;
        found.push(below.map(|(below, whole)| Below { index: below, whole, rank: rank(below) }));
    }
    found
}

/// Whether all points coincide; nothing if less than half of them do, or they cannot hide each other.
fn shared(one: &Series, other: &Series, x: &Scaled, y: &Scaled) -> Option<bool> {
    let hides = |series: &Series| series.work == Work::Ours && series.marks != Marks::Bars;
    if !hides(one) || !hides(other) {
        return None;
    }
    let positions = |series: &Series| -> Vec<(f64, f64)> {
        series.points.iter().filter_map(|point| Some((x.position(point.x)?, y.position(point.y)?))).collect()
    };
    let (one, other) = (positions(one), positions(other));
    if one.len().max(other.len()) > POINTS_MAX {
        return None;
    }
    let near = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0).abs() < NEAR && (a.1 - b.1).abs() < NEAR;
    // Both go from left to right as a rule, so that the search goes on where it was.
    let mut from = 0;
    let mut count = 0;
    for point in &other {
        if let Some(step) = one[from..].iter().position(|below| near(below, point)) {
            (from, count) = (from + step, count + 1);
        }
    }
    let long_enough = other.len() >= 2 && one.len() >= 2;
    (long_enough && 2 * count >= other.len()).then_some(count == other.len() && other.len() == one.len())
}

impl Below {
    /// What the legend adds to the name of the series above.
    pub(super) fn words(self, chart: &Chart) -> String {
        let name = &chart.series[self.index].name;
        let how = if self.whole { "coincides" } else { "coincides in part" };
        if name.is_empty() { String::new() } else { format!(" ({how} with {name})") }
    }

    /// Dashes through which everything below is seen: of 16 pixels 8 for the first above, 4 for the second, then 2.
    pub(super) fn dashes(self) -> String {
        let dash = 8_usize >> (self.rank - 1).min(2);
        format!(" stroke-dasharray=\"{dash} {}\"", 16 - dash)
    }
}
