//! Three buffers at once, each with a label, because what a receiver has nobody on the path knows.
//!
//! A capture shows when packets passed, and not what the receiver's buffer made of that. The three span what is usual:
//! one that hardly waits, one that waits long, and one that adapts.

use crate::adaptive::AdaptiveBuffer;
use crate::dejitter::{Anchor, BufferConfig, DejitterBuffer, Fate};
use crate::judge::{Judge, Judgement, Measured};
use crate::loss::{Loss, LossPattern, ratio};
use guestright_units::{Micros, Time};
use serde::Serialize;

/// Their labels, in the order in which they are given.
pub const LABELLED_BUFFERS: [LabelledBuffer; 3] =
    [LabelledBuffer::Fixed50, LabelledBuffer::Fixed200, LabelledBuffer::Adaptive500];

/// One of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum LabelledBuffer {
    /// Plays a packet 50 ms after the first one's way would have it, and holds 100 ms.
    #[serde(rename = "fixed 50 ms")]
    Fixed50,
    /// The same with 200 ms, and holds 400 ms.
    #[serde(rename = "fixed 200 ms")]
    Fixed200,
    /// Follows the jitter, and waits 500 ms at most.
    #[serde(rename = "adaptive 500 ms")]
    Adaptive500,
}

impl LabelledBuffer {
    /// What people read.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Fixed50 => "fixed 50 ms",
            Self::Fixed200 => "fixed 200 ms",
            Self::Adaptive500 => "adaptive 500 ms",
        }
    }
}

/// What a stream lost in one of the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LabelledLoss {
    /// Which one.
    pub buffer: LabelledBuffer,
    /// Losses at the ear: the network's, and what this buffer discards.
    pub playout: Loss,
    /// The delay that it adds, ms: of an adaptive one the mean.
    pub playout_ms: f64,
}

impl LabelledLoss {
    /// How good the stream is behind this buffer, where `measured` and `judge` are those of the whole stream behind the
    /// usual one.
    pub fn judgement(&self, judge: &Judge, network: &Loss, measured: &Measured) -> Judgement {
        let discarded = self.playout.lost - network.lost.min(self.playout.lost);
        let dejitter_loss = ratio(discarded, network.expected - network.lost).unwrap_or(0.0);
        let judge = Judge { playout_ms: self.playout_ms, ..*judge };
        judge.judge(&Measured { dejitter_loss, burst_ratio: self.playout.burst_ratio, ..*measured })
    }
}

/// All three, beside each other.
#[derive(Clone, Debug)]
pub struct Buffers {
    fixed: [DejitterBuffer; 2],
    adaptive: AdaptiveBuffer,
    playout: [LossPattern; 3],
}

/// Which of the buffers discarded a packet.
pub(crate) type Discarded = [bool; 3];

const fn fixed(delay_ms: u64) -> BufferConfig {
    BufferConfig { capacity: Micros(delay_ms * 2_000), anchor: Anchor::HalfTime, follows: true }
}

impl Buffers {
    /// Empty ones for a stream with so many timestamp ticks per second.
    pub fn new(clock_rate_hz: u32) -> Self {
        Self {
            fixed: [50, 200].map(|delay_ms| DejitterBuffer::new(fixed(delay_ms), clock_rate_hz)),
            adaptive: AdaptiveBuffer::new(Micros(500_000), clock_rate_hz),
            playout: Default::default(),
        }
    }

    pub(crate) fn push(&mut self, arrival: Time, timestamp: u32, ticks: u32, talkspurt: bool) -> Discarded {
        let [short, long] =
            self.fixed.each_mut().map(|buffer| buffer.push(arrival, timestamp, ticks, talkspurt));
        [short, long, self.adaptive.push(arrival, timestamp, talkspurt)].map(|fate| fate != Fate::Played)
    }

    pub(crate) fn restart(&mut self) {
        self.fixed.iter_mut().for_each(DejitterBuffer::restart);
        self.adaptive.restart();
    }

    pub(crate) fn settle(&mut self, lost: bool, discarded: Discarded) {
        for (playout, discarded) in self.playout.iter_mut().zip(discarded) {
            playout.push(lost || discarded);
        }
    }

    /// What each of them amounts to so far.
    pub fn losses(&self) -> [LabelledLoss; 3] {
        let waits = [50.0, 200.0, self.adaptive.mean_wait_ms().unwrap_or(0.0)];
        std::array::from_fn(|index| LabelledLoss {
            buffer: LABELLED_BUFFERS[index],
            playout: self.playout[index].loss(),
            playout_ms: waits[index],
        })
    }
}
