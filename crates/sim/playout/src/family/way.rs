//! What the network does in each interval, one direction.

use super::{Call, Family, exponential, millis, whole};
use crate::trace::Way;
use guestright_engine::{Stream, Streams};
use guestright_units::{Micros, Time};
use rand::RngExt as _;

/// The intervals of a call.
pub(super) struct Slots<'a> {
    pub(super) call: &'a Call,
    /// Whether something is sent in each.
    pub(super) speech: &'a [bool],
}

/// A spike comes so often on average.
const SPIKE_EVERY_MS: f64 = 5_000.0;
/// Bits of a packet of [`Family::LimitedBandwidth`].
const LIMITED_BITS: f64 = 140.0 * 8.0;
/// Its rate in bits per ms.
const LIMITED_RATE: f64 = 50.0;
/// Its queue in packets.
const LIMITED_QUEUE: f64 = 16.0;
/// A packet of 200 bytes (G.711 with all headers) at 300 kb/s takes so many ms.
const INTERNATIONAL_SEND_MS: f64 = 1_600.0 / 300.0;
/// Jitter of [`Family::Clean`] in ms.
const CLEAN_MS: f64 = 2.0;

impl Slots<'_> {
    /// The way of the packets.
    pub(super) fn way(&self, chance: &Streams, direction: u64) -> Way {
        self.make(chance, direction, self.speech)
    }

    /// A way on which nothing else is sent.
    pub(super) fn quiet_way(&self, chance: &Streams, direction: u64) -> Way {
        self.make(chance, direction, &vec![false; self.speech.len()])
    }

    fn make(&self, chance: &Streams, direction: u64, load: &[bool]) -> Way {
        let mut delays = self.delays(&mut chance.stream("delay", direction), load);
        if !self.overtakes() {
            keep_order(&mut delays, millis(self.call.interval));
        }
        let mut loss = Loss { chance: chance.stream("loss", direction), is_bad: false };
        let fates = delays.into_iter().enumerate().map(|(slot, delay)| {
            let is_lost = self.is_lost(slot, &mut loss);
            delay.filter(|_| !is_lost).map(|delay| Micros(whole(delay * 1e3 + 0.5)))
        });
        Way::new(Time(0), self.call.interval, fates.collect())
    }

    /// netem lets a packet with a shorter delay overtake; a queue does not.
    fn overtakes(&self) -> bool {
        matches!(self.call.family, Family::Moderate | Family::International | Family::SpikyLoss)
    }

    /// What each slot takes in ms; nothing where the queue is full.
    fn delays(&self, chance: &mut Stream, load: &[bool]) -> Vec<Option<f64>> {
        let (base, jitter) = (millis(self.call.round_trip) / 2.0, millis(self.call.jitter));
        let (step, count) = (millis(self.call.interval), load.len());
        let mut state = State::default();
        let mut one = |slot: usize, is_load: bool| match self.call.family {
            Family::Clean => Some(base + CLEAN_MS * chance.random::<f64>()),
            Family::Gamma => Some(base + gamma(chance, jitter)),
            Family::Spikes => Some(base + gamma(chance, jitter / 4.0) + state.spike(chance, step)),
            Family::Steps => Some(base + gamma(chance, jitter / 4.0) + stepped(slot, count)),
            Family::Moderate => Some(pareto(chance, 100.0, 25.0)),
            Family::International => Some(state.international(chance)),
            Family::SpikyLoss => {
                let (mean, spread) = if self.is_bad_third(slot) { (100.0, 20.0) } else { (50.0, 10.0) };
                Some(mean + spread * state.correlated(chance))
            }
            Family::BurstyLoss | Family::SimpleLoss => Some(base),
            Family::LimitedBandwidth => state.queue(is_load, step).map(|wait| base + wait),
        };
        load.iter().enumerate().map(|(slot, is_load)| one(slot, *is_load)).collect()
    }

    /// Between 10 and 20 s of each 30 s.
    fn is_bad_third(&self, slot: usize) -> bool {
        let at = slot as u64 * self.call.interval.0 % 30_000_000;
        (10_000_000..20_000_000).contains(&at)
    }

    fn is_lost(&self, slot: usize, loss: &mut Loss) -> bool {
        match self.call.family {
            Family::Moderate => loss.random(0.05),
            Family::International => loss.gilbert(0.03, 0.25),
            // Outside of the bad third there is no loss, and a burst that was going on is over.
            Family::SpikyLoss if self.is_bad_third(slot) => loss.gilbert(0.11, 0.25),
            Family::BurstyLoss => loss.gilbert(0.04, 0.35),
            Family::SimpleLoss => loss.random(0.1),
            Family::SpikyLoss
            | Family::Clean
            | Family::Gamma
            | Family::Spikes
            | Family::Steps
            | Family::LimitedBandwidth => {
                loss.is_bad = false;
                false
            }
        }
    }
}

/// What goes on from one slot to the next.
#[derive(Default)]
struct State {
    spike_ms: f64,
    queue_ms: f64,
    last: Option<f64>,
    overtook: Option<f64>,
}

impl State {
    /// A spike goes down by a packet's length with each packet: all come at the same time.
    fn spike(&mut self, chance: &mut Stream, step: f64) -> f64 {
        self.spike_ms = (self.spike_ms - step).max(0.0);
        let (is_new, height) = (chance.random::<f64>() < step / SPIKE_EVERY_MS, chance.random::<f64>());
        if is_new {
            self.spike_ms = self.spike_ms.max(100.0 + 300.0 * height);
        }
        self.spike_ms
    }

    /// netem's jitter without a distribution, and with a correlation of 50 %: -1 to 1.
    fn correlated(&mut self, chance: &mut Stream) -> f64 {
        let fresh = chance.random::<f64>();
        let value = self.last.map_or(fresh, |last| (fresh + last) / 2.0);
        self.last = Some(value);
        2.0 * value - 1.0
    }

    /// 5 % are sent at once (`reorder 5% 50%`), the others are late by their jitter.
    fn international(&mut self, chance: &mut Stream) -> f64 {
        let fresh = chance.random::<f64>();
        let value = self.overtook.map_or(fresh, |last| (fresh + last) / 2.0);
        self.overtook = Some(value);
        let delay = pareto(chance, 250.0, 100.0);
        // Two evenly distributed numbers, averaged, are below 0.05 / 2 seldom: the threshold is that of netem, and so is
        // the share, which is below 5 %.
        if value < 0.05 { INTERNATIONAL_SEND_MS } else { INTERNATIONAL_SEND_MS + delay }
    }

    /// The wait in a queue, and sending; nothing if the queue is full.
    fn queue(&mut self, is_load: bool, step: f64) -> Option<f64> {
        let send = LIMITED_BITS / LIMITED_RATE;
        let waits = self.queue_ms;
        let is_full = waits > LIMITED_QUEUE * send;
        if is_load && !is_full {
            self.queue_ms += send;
        }
        self.queue_ms = (self.queue_ms - step).max(0.0);
        (!is_full).then_some(waits + send)
    }
}

struct Loss {
    chance: Stream,
    is_bad: bool,
}

impl Loss {
    fn random(&mut self, share: f64) -> bool {
        self.chance.random::<f64>() < share
    }

    /// Gilbert's model: a burst begins with probability `p` and ends with `r`; all of it is lost.
    fn gilbert(&mut self, p: f64, r: f64) -> bool {
        let drawn = self.chance.random::<f64>();
        self.is_bad = if self.is_bad { drawn >= r } else { drawn < p };
        self.is_bad
    }
}

/// A gamma distribution of shape 2: two exponential ones.
fn gamma(chance: &mut Stream, mean: f64) -> f64 {
    exponential(chance, mean / 2.0) + exponential(chance, mean / 2.0)
}

/// netem's Pareto distribution: shape 3, mean 0, scaled by 4/3, no more than 4 spreads out.
fn pareto(chance: &mut Stream, mean: f64, spread: f64) -> f64 {
    let drawn = 1.0 / libm::cbrt(1.0 - chance.random::<f64>());
    let deviation = ((drawn - 1.5) * 4.0 / 3.0).min(4.0);
    (mean + spread * deviation).max(0.0)
}

/// The delay of [`Family::Steps`] above its base.
#[expect(clippy::cast_precision_loss, reason = "slots of one call")]
fn stepped(slot: usize, count: usize) -> f64 {
    let share = slot as f64 / count.max(1) as f64;
    let is_middle = (1.0 / 3.0..2.0 / 3.0).contains(&share);
    40.0 * share + if is_middle { 80.0 } else { 0.0 }
}

/// No packet comes before the one sent before it.
fn keep_order(delays: &mut [Option<f64>], step: f64) {
    let mut least = 0.0_f64;
    for delay in delays {
        if let Some(delay) = delay {
            *delay = delay.max(least);
            least = *delay;
        }
        least = (least - step).max(0.0);
    }
}
