//! What BBR believes of the path.

use super::{BbrPhase, UNIT};
use crate::controller::{RateSample, WINDOW_MAX};
use crate::scale::mul_div;
use guestright_units::{Micros, Time};

/// Rounds that the bandwidth is the largest of.
const ROUNDS: usize = 10;
/// How long a least round-trip time holds.
const LEAST_HOLDS: Micros = Micros(10_000_000);
/// 2^50 bit/s.
const RATE_MAX: u64 = 1 << 50;

/// Bottleneck bandwidth and round-trip propagation time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Path {
    /// The largest rate of each of the last rounds that had one, that of round `r` at `r % ROUNDS`.
    rates: [u64; ROUNDS],
    /// The largest of them.
    bandwidth: u64,
    round: u64,
    /// The last round that had a rate. Rounds in which the application set the pace make no older rate go.
    rated: u64,
    /// A round is over when a segment is acknowledged that was sent with so many bytes delivered.
    round_ends: u64,
    /// Samples of segments that were sent with no more than so many bytes delivered say little of the bandwidth.
    ignored: Option<u64>,
    least: Option<(Micros, Time)>,
}

impl Path {
    /// BtlBw in bit/s.
    pub(super) const fn bandwidth(&self) -> u64 {
        self.bandwidth
    }

    pub(super) const fn least_round_trip(&self) -> Option<Micros> {
        match self.least {
            Some((least, _)) => Some(least),
            None => None,
        }
    }

    /// What is on its way was sent slowly on purpose, up to `delivered`.
    pub(super) const fn ignore_until(&mut self, delivered: u64) {
        self.ignored = Some(delivered);
    }

    /// Whether a round trip ends with this sample.
    pub(super) fn on_sample(&mut self, sample: &RateSample) -> bool {
        let over = sample.prior_delivered >= self.round_ends && sample.delivered > 0;
        if over {
            self.round_ends = sample.delivered;
            self.round += 1;
        }
        if sample.interval.0 == 0 {
            return over;
        }
        let seen = rate(sample.bytes, sample.interval);
        let ignored = self.ignored.is_some_and(|until| sample.prior_delivered <= until);
        if !(sample.application_limited || ignored) || seen >= self.bandwidth() {
            self.rate(seen);
        }
        over
    }

    fn rate(&mut self, seen: u64) {
        if self.rated < self.round {
            for passed in 1..=(self.round - self.rated).min(ROUNDS as u64) {
                self.rates[slot(self.rated + passed)] = 0;
            }
            self.rated = self.round;
            self.bandwidth = self.rates.iter().copied().fold(0, u64::max);
        }
        let rate = &mut self.rates[slot(self.round)];
        *rate = (*rate).max(seen);
        self.bandwidth = self.bandwidth.max(seen);
    }

    /// A round is to begin now.
    pub(super) const fn next_round(&mut self, delivered: u64) {
        self.round_ends = delivered;
    }

    /// Whether the least round-trip time was too old.
    pub(super) fn on_round_trip(&mut self, round_trip: Option<Micros>, now: Time) -> bool {
        let expired = self.least.is_some_and(|(_, at)| now.since(at) > LEAST_HOLDS);
        if let Some(round_trip) = round_trip
            && (expired || self.least.is_none_or(|(least, _)| round_trip <= least))
        {
            self.least = Some((Micros(round_trip.0.max(1)), now));
        }
        expired
    }

    /// The least round-trip time was just looked for.
    pub(super) fn refresh(&mut self, now: Time) {
        self.least = self.least.map(|(least, _)| (least, now));
    }

    /// What the pipe holds with `gain` (in 256ths), and three segments; in bytes.
    pub(super) fn pipe(&self, gain: u64, pipe: Pipe) -> u64 {
        let Some(least) = self.least_round_trip() else { return pipe.initial };
        let bandwidth = self.bandwidth();
        if bandwidth == 0 {
            return pipe.initial;
        }
        let bytes = mul_div(bandwidth.saturating_mul(gain), least.0, 8_000_000 * UNIT).min(WINDOW_MAX);
        // In whole segments, an even number of them; Linux: so that delayed acknowledgements come out even.
        let mut segments = bytes.div_ceil(pipe.segment) + 3;
        segments += segments % 2;
        if pipe.phase == (BbrPhase::ProbeBw { gain: 0 }) {
            segments += 2;
        }
        (segments * pipe.segment).min(WINDOW_MAX)
    }
}

/// What of the state the pipe depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pipe {
    pub(super) segment: u64,
    pub(super) initial: u64,
    pub(super) phase: BbrPhase,
}

impl Pipe {
    /// Never fewer than four segments.
    pub(super) const fn least(self) -> u64 {
        4 * self.segment
    }
}

fn slot(round: u64) -> usize {
    usize::try_from(round % ROUNDS as u64).unwrap_or(0)
}

/// Bytes in a time, in bit/s.
pub(super) fn rate(bytes: u64, interval: Micros) -> u64 {
    mul_div(bytes, 8_000_000, interval.0.max(1)).min(RATE_MAX)
}
