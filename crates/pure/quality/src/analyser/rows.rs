//! One second of a stream.

use guestright_units::Micros;
use serde::Serialize;

use super::AnalyserConfig;
use crate::delay::DelayMeter;
use crate::interval::Interval;
use crate::jitter::Jitter;
use crate::judge::{Judge, Judgement, Measured};
use crate::loss::{Loss, LossPattern, ratio};

/// What one interval was like. Every figure is of this interval alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its number, from 0.
    pub index: u64,
    /// Its start, in seconds since the first packet.
    pub start_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// Packets that arrived in this time, without duplicates.
    pub received: u64,
    /// Of those, how many came too late for the dejitter buffer.
    pub late: u64,
    /// Of those, how many came when the buffer was full.
    pub overflow: u64,
    /// Losses of the network among the packets that were due in this time.
    pub network: Loss,
    /// Losses at the ear: the network's, and what the buffer discards.
    pub playout: Loss,
    /// Runs of packets not heard that began in this time. One that goes on over its end counts once.
    pub runs_begun: u64,
    /// Jitter; RFC 3550's is the running estimate at the end of this time.
    pub jitter: Jitter,
    /// Mean one-way delay of the network in ms; `None` if packets carry none.
    pub delay_ms: Option<Interval>,
    /// The rating, or why there is none.
    pub judgement: Judgement,
}

/// The worst row by its conversation, or by its listening score if there is no other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstRow {
    /// Its start, in seconds since the first packet.
    pub start_s: f64,
    /// Its mean opinion score.
    pub mos: Interval,
}

#[derive(Clone, Debug)]
pub(super) struct RowSums {
    pub(super) index: u64,
    pub(super) received: u64,
    pub(super) late: u64,
    pub(super) overflow: u64,
    pub(super) network: LossPattern,
    pub(super) playout: LossPattern,
    pub(super) runs_begun: u64,
    pub(super) delay: DelayMeter,
    /// Known once the next row has begun.
    pub(super) jitter: Option<Jitter>,
}

impl RowSums {
    pub(super) fn new(index: u64) -> Self {
        Self {
            index,
            received: 0,
            late: 0,
            overflow: 0,
            network: LossPattern::default(),
            playout: LossPattern::default(),
            runs_begun: 0,
            delay: DelayMeter::default(),
            jitter: None,
        }
    }

    /// Whether nothing arrived, and nothing is known to be missing.
    pub(super) fn is_empty(&self) -> bool {
        self.received == 0 && self.network.expected() == 0
    }
}

pub(super) fn row(
    sums: &RowSums,
    start: Micros,
    length: Micros,
    config: &AnalyserConfig,
    judge: &Judge,
) -> Row {
    let (network, playout) = (sums.network.loss(), sums.playout.loss());
    let delay_ms = sums.delay.mean_ms();
    let measured = measured(&network, &playout, delay_ms, config.delay_ms);
    Row {
        index: sums.index,
        start_s: start.as_seconds(),
        length_s: length.as_seconds(),
        received: sums.received,
        late: sums.late,
        overflow: sums.overflow,
        network,
        playout,
        runs_begun: sums.runs_begun,
        jitter: sums.jitter.unwrap_or_default(),
        delay_ms,
        judgement: judge.judge(&measured),
    }
}

/// Dejitter loss is what is heard too little among what arrived.
pub(super) fn measured(
    network: &Loss,
    playout: &Loss,
    delay_ms: Option<Interval>,
    assumed_ms: Option<Interval>,
) -> Measured {
    let discarded = playout.lost - network.lost;
    Measured {
        network_loss: network.rate,
        dejitter_loss: ratio(discarded, network.expected - network.lost).unwrap_or(0.0),
        burst_ratio: playout.burst_ratio,
        network_delay_ms: delay_ms.or(assumed_ms),
        delay_assumed: delay_ms.is_none() && assumed_ms.is_some(),
    }
}

/// Follows the mean of the scores and the worst row.
#[derive(Clone, Debug, Default)]
pub(super) struct Worst {
    conversation: Scores,
    listening: Scores,
}

#[derive(Clone, Debug, Default)]
struct Scores {
    rows: u64,
    low: f64,
    high: f64,
    worst: Option<WorstRow>,
}

impl Scores {
    fn follow(&mut self, mos: Interval, start_s: f64) {
        self.rows += 1;
        self.low += mos.low;
        self.high += mos.high;
        if self.worst.as_ref().is_none_or(|worst| mos.low < worst.mos.low) {
            self.worst = Some(WorstRow { start_s, mos });
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn mean(&self) -> Option<Interval> {
        let rows = self.rows as f64;
        (self.rows > 0).then(|| Interval::new(self.low / rows, self.high / rows))
    }
}

impl Worst {
    pub(super) fn follow(&mut self, row: &Row) {
        if let Ok(opinion) = &row.judgement.conversation {
            self.conversation.follow(opinion.mos, row.start_s);
        }
        if let Ok(opinion) = &row.judgement.listening {
            self.listening.follow(opinion.mos, row.start_s);
        }
    }

    fn scores(&self) -> &Scores {
        if self.conversation.rows > 0 { &self.conversation } else { &self.listening }
    }

    pub(super) fn mean(&self) -> Option<Interval> {
        self.scores().mean()
    }

    pub(super) fn worst(&self) -> Option<WorstRow> {
        self.scores().worst.clone()
    }
}
