//! The ten seconds that were worst.
//!
//! A mean over a call hides what people remember of it. Which ten seconds were worst is decided by losses alone: the
//! delay may become known only when the stream is over.

use std::collections::VecDeque;

use serde::Serialize;

use super::Row;
use crate::codec::Codec;
use crate::interval::Interval;
use crate::judge::Measured;
use crate::loss::ratio;

/// How many rows a stretch has.
const ROWS: usize = 10;
/// What is taken for a codec without a published robustness factor: that of G.711 without concealment (ITU-T G.113,
/// Table I.4). It ranks stretches, and is in no figure.
const BPL: f64 = 4.3;

/// Some seconds in a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stretch {
    /// Its start, in seconds since the first packet.
    pub start_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// Packets that were due.
    pub expected: u64,
    /// Of those, how many the network lost.
    pub lost: u64,
    /// Of those due, how many were not heard: lost, or discarded by the buffer.
    pub unplayed: u64,
    /// The burst ratio of those.
    pub burst_ratio: Option<f64>,
    /// Mean of the seconds' one-way delays, ms; `None` if packets carry none.
    pub delay_ms: Option<Interval>,
}

impl Stretch {
    /// What a rating of it rests on.
    pub fn measured(&self, assumed_ms: Option<Interval>) -> Measured {
        let discarded = self.unplayed - self.lost.min(self.unplayed);
        Measured {
            network_loss: ratio(self.lost, self.expected),
            dejitter_loss: ratio(discarded, self.expected - self.lost).unwrap_or(0.0),
            burst_ratio: self.burst_ratio,
            network_delay_ms: self.delay_ms.or(assumed_ms),
            delay_assumed: self.delay_ms.is_none() && assumed_ms.is_some(),
        }
    }

    /// The share of `Ie,eff` that losses add (ITU-T G.107, clause 7.5).
    fn impairment(&self, codec: Option<Codec>) -> f64 {
        let bpl = codec.and_then(|codec| codec.facts().bpl).map_or(BPL, |bpl| bpl.value);
        let percent = ratio(self.unplayed, self.expected).unwrap_or(0.0) * 100.0;
        percent / (percent / self.burst_ratio.unwrap_or(1.0).max(1.0) + bpl)
    }
}

/// Follows the rows.
#[derive(Clone, Debug, Default)]
pub(super) struct WorstStretch {
    rows: VecDeque<Seconds>,
    worst: Option<Stretch>,
}

#[derive(Clone, Copy, Debug)]
struct Seconds {
    start_s: f64,
    length_s: f64,
    expected: u64,
    lost: u64,
    unplayed: u64,
    runs_begun: u64,
    delay_ms: Option<Interval>,
}

impl WorstStretch {
    pub(super) fn follow(&mut self, row: &Row, codec: Option<Codec>) {
        // Seconds were left out in between: what lies on both sides is no stretch.
        let goes_on = |last: &Seconds| row.start_s - last.start_s < 1.5 * row.length_s;
        if self.rows.back().is_some_and(|last| !goes_on(last)) {
            self.worst = self.worst(codec);
            self.rows.clear();
        }
        if self.rows.len() == ROWS {
            self.rows.pop_front();
        }
        self.rows.push_back(Seconds {
            start_s: row.start_s,
            length_s: row.length_s,
            expected: row.network.expected,
            lost: row.network.lost,
            unplayed: row.playout.lost,
            runs_begun: row.runs_begun,
            delay_ms: row.delay_ms,
        });
        if self.rows.len() == ROWS {
            self.worst = self.worst(codec);
        }
    }

    /// The worst so far: also one that is shorter, if there is no other.
    pub(super) fn worst(&self, codec: Option<Codec>) -> Option<Stretch> {
        let current = self.current().filter(|current| current.expected > 0);
        let current = current.filter(|_| self.worst.is_none() || self.rows.len() == ROWS);
        match (self.worst, current) {
            (Some(worst), Some(current)) => {
                let is_worse = current.impairment(codec) > worst.impairment(codec);
                Some(if is_worse { current } else { worst })
            }
            (worst, current) => worst.or(current),
        }
    }

    fn current(&self) -> Option<Stretch> {
        let (first, last) = (self.rows.front()?, self.rows.back()?);
        let sum = |count: fn(&Seconds) -> u64| self.rows.iter().map(count).sum::<u64>();
        let (expected, unplayed) = (sum(|row| row.expected), sum(|row| row.unplayed));
        // A run that began before is one of this stretch too.
        let runs = sum(|row| row.runs_begun).max(u64::from(unplayed > 0));
        let burst_ratio = match (ratio(unplayed, runs), ratio(unplayed, expected)) {
            (Some(run), Some(rate)) if rate < 1.0 => Some(run * (1.0 - rate)),
            _ => None,
        };
        Some(Stretch {
            start_s: first.start_s,
            length_s: last.start_s + last.length_s - first.start_s,
            expected,
            lost: sum(|row| row.lost),
            unplayed,
            burst_ratio,
            delay_ms: self.delay(),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "ten rows")]
    fn delay(&self) -> Option<Interval> {
        let delays: Vec<Interval> = self.rows.iter().filter_map(|row| row.delay_ms).collect();
        let mean = |end: fn(&Interval) -> f64| delays.iter().map(end).sum::<f64>() / delays.len() as f64;
        (!delays.is_empty()).then(|| Interval::new(mean(|delay| delay.low), mean(|delay| delay.high)))
    }
}
