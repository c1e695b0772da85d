//! Loss events and the intervals between them (section 5).

use guestright_units::{Micros, Time};

/// Intervals that count (section 5.4).
const INTERVALS: usize = 8;
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Packets that come after a hole make it a loss (NDUPACK, section 5.1).
const LATER: usize = 3;
/// Discounting leaves that much of an old interval (section 5.5).
const DISCOUNT_MIN: f64 = 0.25;
/// Loss events within one hole that are told apart; the rest of it belongs to the last one.
const EVENTS_MAX: u32 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrival {
    sequence: u64,
    at: Time,
}

/// The loss history of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct LossHistory {
    /// The last packet before which nothing is open, and those that came after it, in the order of their numbers. At most
    /// `LATER + 2`.
    arrivals: Vec<Arrival>,
    /// Closed intervals in packets, the latest first.
    closed: Vec<f64>,
    /// How much each of `closed` counts beside its weight.
    discounts: Vec<f64>,
    /// The first lost packet of the last event, and when it would have come.
    event: Option<(u64, Time)>,
    /// Packets lost in the last event.
    lost: u64,
    discounting: bool,
    short_intervals: bool,
}

impl LossHistory {
    /// That of a new flow; with history discounting (section 5.5) or without; with the rule for short intervals of small
    /// packets (RFC 4828, section 3) or without: an interval that is over within two round trips counts as its packets
    /// divided by those of them that were lost.
    #[must_use]
    pub fn new(discounting: bool, short_intervals: bool) -> Self {
        Self {
            arrivals: Vec::with_capacity(LATER + 2),
            closed: Vec::with_capacity(INTERVALS + 1),
            discounts: Vec::with_capacity(INTERVALS + 1),
            event: None,
            lost: 0,
            discounting,
            short_intervals,
        }
    }

    /// Whether something was lost at all.
    #[must_use]
    pub const fn has_losses(&self) -> bool {
        self.event.is_some()
    }

    /// A packet came in. `round_trip`: losses within it are one event. `first_interval`: what stands for the interval before
    /// the first loss, in packets; asked for once. Whether there is a new loss event.
    pub fn on_packet(
        &mut self,
        sequence: u64,
        marked: bool,
        at: Time,
        round_trip: Micros,
        first_interval: impl FnOnce() -> f64,
    ) -> bool {
        let index = self.arrivals.partition_point(|arrival| arrival.sequence < sequence);
        let settled = self.arrivals.first().is_some_and(|first| sequence <= first.sequence);
        if settled || self.arrivals.get(index).is_some_and(|arrival| arrival.sequence == sequence) {
            return false;
        }
        self.arrivals.insert(index, Arrival { sequence, at });
        let mut first_interval = Some(first_interval);
        let mut new = false;
        if marked {
            new |= self.lose(sequence, at, round_trip, &mut first_interval);
            self.lost = self.lost.saturating_add(1);
        }
        while let [settled, next, rest @ ..] = self.arrivals.as_slice() {
            let hole = next.sequence - settled.sequence > 1;
            if hole && rest.len() + 1 < LATER {
                break;
            }
            let (settled, next) = (*settled, *next);
            if hole {
                new |= self.lose_between(settled, next, round_trip, &mut first_interval);
            }
            self.arrivals.remove(0);
        }
        new
    }

    /// All packets between two arrivals are lost; when each would have come is interpolated (section 5.2).
    fn lose_between(
        &mut self,
        before: Arrival,
        after: Arrival,
        round_trip: Micros,
        first_interval: &mut Option<impl FnOnce() -> f64>,
    ) -> bool {
        let packets = u128::from(after.sequence - before.sequence);
        let time = u128::from(after.at.since(before.at).0);
        let mut new = false;
        let mut lost = before.sequence + 1;
        for _ in 0..EVENTS_MAX {
            let into = time * u128::from(lost - before.sequence) / packets;
            let at = before.at + Micros(u64::try_from(into).unwrap_or(u64::MAX));
            new |= self.lose(lost, at, round_trip, first_interval);
            // The next one that is a round trip later than the event's first.
            let Some((_, began)) = self.event else { break };
            let ends = u128::from((began + round_trip).since(before.at).0);
            let skipped = (ends * packets).checked_div(time).unwrap_or(packets);
            let next =
                before.sequence.saturating_add(u64::try_from(skipped).unwrap_or(u64::MAX)).saturating_add(1);
            let next = next.max(lost + 1).min(after.sequence);
            self.lost = self.lost.saturating_add(next - lost);
            lost = next;
            if lost == after.sequence {
                break;
            }
        }
        new
    }

    /// One packet is lost. Whether that is a new event.
    fn lose(
        &mut self,
        sequence: u64,
        at: Time,
        round_trip: Micros,
        first_interval: &mut Option<impl FnOnce() -> f64>,
    ) -> bool {
        match self.event {
            // Of an event before the last, or of the last.
            Some((first, began)) if sequence <= first || at <= began + round_trip => return false,
            Some((first, began)) => {
                let packets = approximate(sequence - first);
                let short = at.since(began).0 <= round_trip.0.saturating_mul(2);
                let lost = if self.short_intervals && short { self.lost.max(1) } else { 1 };
                self.close((packets / approximate(lost)).max(1.0));
            }
            None => {
                let packets = first_interval.take().map_or(1.0, |first_interval| first_interval());
                self.close(packets.max(1.0));
            }
        }
        self.event = Some((sequence, at));
        self.lost = 0;
        true
    }

    fn close(&mut self, interval: f64) {
        let discount = self.discount();
        for old in &mut self.discounts {
            *old *= discount;
        }
        self.closed.insert(0, interval);
        self.discounts.insert(0, 1.0);
        self.closed.truncate(INTERVALS);
        self.discounts.truncate(INTERVALS);
    }

    /// Packets since the last event, those with it.
    fn open(&self) -> f64 {
        let latest = self.arrivals.last().map_or(0, |arrival| arrival.sequence);
        self.event.map_or(0.0, |(first, _)| approximate(latest.saturating_add(1).saturating_sub(first)))
    }

    /// The weighted mean of the closed intervals alone.
    fn closed_mean(&self) -> f64 {
        let (mut total, mut weights) = (0.0, 0.0);
        for ((interval, weight), discount) in self.closed.iter().zip(WEIGHTS).zip(&self.discounts) {
            total += interval * weight * discount;
            weights += weight * discount;
        }
        if weights > 0.0 { total / weights } else { 0.0 }
    }

    /// How much the closed intervals count now: less if the open one is more than twice their mean.
    fn discount(&self) -> f64 {
        let (open, mean) = (self.open(), self.closed_mean());
        if self.discounting && mean > 0.0 && open > 2.0 * mean {
            (2.0 * mean / open).max(DISCOUNT_MIN)
        } else {
            1.0
        }
    }

    /// The mean interval in packets: with the open one if that makes it longer (section 5.4). `None` before the first loss.
    #[must_use]
    pub fn mean_interval(&self) -> Option<f64> {
        self.event?;
        let discount = self.discount();
        let (mut total, mut weights) = (self.open(), 1.0);
        for ((interval, weight), old) in self.closed.iter().zip(&WEIGHTS[1..]).zip(&self.discounts) {
            total += interval * weight * old * discount;
            weights += weight * old * discount;
        }
        Some(self.closed_mean().max(total / weights).max(1.0))
    }

    /// `p`: loss events per packet, 0 before the first.
    #[must_use]
    pub fn loss_event_rate(&self) -> f64 {
        self.mean_interval().map_or(0.0, |mean| 1.0 / mean)
    }
}

/// Counts of packets are far below 2^52.
#[expect(clippy::cast_precision_loss, reason = "an error of 10^-16 of a mean")]
fn approximate(packets: u64) -> f64 {
    packets as f64
}
