//! Moon, Kurose, Towsley, "Packet audio playout delay adjustment: performance bounds and algorithms", Multimedia Systems
//! 6 (1998): a quantile of the last delays, and a mode for spikes.

use super::{Arrival, BASE_SPAN, Policy, WindowMinimum};
use std::collections::VecDeque;

/// Holds a talkspurt for a quantile of the last delays. While a delay is far above that, it plays as the first packet of a
/// talkspurt comes, and learns nothing.
#[derive(Clone, Debug)]
pub struct Moon {
    quantile: f64,
    window: usize,
    last: VecDeque<i64>,
    /// The same values in order.
    sorted: Vec<i64>,
    base: WindowMinimum,
    held: i64,
    is_spike: bool,
}

impl Moon {
    /// Delays that are remembered: 20 s of packets of 20 ms.
    pub const WINDOW: usize = 1_000;
    /// A delay of that many times the quantile begins a spike; below [`Moon::TAIL`] times it is over.
    pub const HEAD: i64 = 4;
    /// See [`Moon::HEAD`].
    pub const TAIL: i64 = 2;

    /// Over the last [`Moon::WINDOW`] packets. The paper uses 0.99; values are brought between 0.5 and 1.
    #[must_use]
    pub fn new(quantile: f64) -> Self {
        Self {
            quantile: quantile.clamp(0.5, 1.0),
            window: Self::WINDOW,
            last: VecDeque::new(),
            sorted: Vec::new(),
            base: WindowMinimum::new(BASE_SPAN),
            held: 0,
            is_spike: false,
        }
    }

    fn learn(&mut self, delay: i64) {
        if self.last.len() == self.window
            && let Some(oldest) = self.last.pop_front()
            && let Ok(index) = self.sorted.binary_search(&oldest)
        {
            self.sorted.remove(index);
        }
        self.last.push_back(delay);
        let index = self.sorted.partition_point(|value| *value < delay);
        self.sorted.insert(index, delay);
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place among at most a thousand"
    )]
    fn at_quantile(&self) -> Option<i64> {
        let rank = (self.sorted.len() as f64 * self.quantile).ceil() as usize;
        self.sorted.get(rank.saturating_sub(1)).copied()
    }
}

impl Default for Moon {
    fn default() -> Self {
        Self::new(0.99)
    }
}

impl Policy for Moon {
    fn name(&self) -> &'static str {
        "moon"
    }

    fn arrived(&mut self, arrival: &Arrival) {
        let delay = arrival.delay();
        let base = self.base.add(delay, arrival.arrived);
        // Multiples make sense only of the part above the fastest packet: the rest may be two clocks' offset.
        let (above, held) = (delay - base, (self.held - base).max(5_000));
        if self.is_spike {
            self.is_spike = above > held.saturating_mul(Self::TAIL);
        } else if !self.last.is_empty() && above > held.saturating_mul(Self::HEAD) {
            self.is_spike = true;
        }
        if !self.is_spike {
            self.learn(delay);
            self.held = self.at_quantile().unwrap_or(delay);
        }
    }

    fn play_after(&mut self, first: &Arrival) -> i64 {
        if self.is_spike { first.delay() } else { self.at_quantile().unwrap_or_else(|| first.delay()) }
    }

    fn restart(&mut self) {
        *self = Self::new(self.quantile);
    }
}
