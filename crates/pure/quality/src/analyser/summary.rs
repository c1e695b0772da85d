//! The whole stream.

use serde::Serialize;

use super::rows::{WorstRow, measured};
use super::{Analyser, Stretch};
use crate::codec::Codec;
use crate::delay::DelaySummary;
use crate::interval::Interval;
use crate::jitter::Jitter;
use crate::judge::{Judgement, Measured};
use crate::labelled::LabelledLoss;
use crate::loss::{Loss, ratio};

/// What became of the packets of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets that were handed in, whatever became of them.
    pub packets: u64,
    /// Octets of payload in them.
    pub payload_bytes: u64,
    /// Packets that arrived in their place of the sequence.
    pub received: u64,
    /// Packets that arrived more than once, beyond the first time.
    pub duplicates: u64,
    /// Packets that others had overtaken, and that still counted as received.
    pub reordered: u64,
    /// Packets that came after their loss had been counted.
    pub stale: u64,
    /// Packets whose number belonged to no sequence.
    pub strays: u64,
    /// How often the sender began a new sequence.
    pub restarts: u64,
    /// Long times without any packet, for which there are no rows.
    pub silences: u64,
    /// Packets that came too late for the dejitter buffer.
    pub late: u64,
    /// Packets that came when the dejitter buffer was full.
    pub overflow: u64,
    /// Packets that are missing where whoever watches dropped some: nobody knows whether the network lost them too.
    pub unseen: u64,
    /// Rows that nobody fetched in time.
    pub rows_dropped: u64,
}

/// Talkspurts: stretches of speech between silences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Talkspurts {
    /// How many began. A stream without markers and silences is one.
    pub count: u64,
    /// In how many something was not heard.
    pub with_loss: u64,
    /// The mean over talkspurts of the share that was not heard, each counting the same. `None`: there was none.
    pub mean_loss: Option<f64>,
    /// The largest share that was not heard.
    pub worst_loss: Option<f64>,
}

/// What a stream amounts to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The codec that was assumed, if any.
    pub codec: Option<Codec>,
    /// Sound in one packet, ms, as stated or learnt.
    pub packet_ms: f64,
    /// From the first packet to the last, seconds.
    pub duration_s: f64,
    /// What became of the packets.
    pub counts: Counts,
    /// Losses of the network.
    pub network: Loss,
    /// Share of what arrived that the dejitter buffer discards; `None` if nothing arrived.
    pub dejitter_loss: Option<f64>,
    /// Losses at the ear.
    pub playout: Loss,
    /// Loss by talkspurt.
    pub talkspurts: Talkspurts,
    /// Changes of the delay between packets (RFC 3550), of which no clock error is part.
    pub jitter: Jitter,
    /// One-way delay of the network; `None` if packets carry none.
    pub delay: Option<DelaySummary>,
    /// The rating of the whole stream by its mean loss and delay, or why there is none.
    pub judgement: Judgement,
    /// The mean of the rows' scores. `None`: no row had one.
    pub mean_row_mos: Option<Interval>,
    /// The second that was worst; `None` if no second has a score.
    pub worst_row: Option<WorstRow>,
    /// The ten seconds in which losses impaired it most; shorter if the stream was. `None`: nothing was expected.
    pub worst_stretch: Option<Stretch>,
    /// What it lost behind each of three usual buffers.
    pub labelled: [LabelledLoss; 3],
}

impl Summary {
    /// What the rating rests on.
    pub fn measured(&self, assumed_delay_ms: Option<Interval>) -> Measured {
        measured(
            &self.network,
            &self.playout,
            self.delay.as_ref().map(|delay| delay.mean_ms),
            assumed_delay_ms,
        )
    }
}

pub(super) fn summarise(analyser: &Analyser) -> Summary {
    let (network, playout) = (analyser.network.loss(), analyser.playout.loss());
    let delay = analyser.delay.summary();
    let measured = measured(&network, &playout, delay.as_ref().map(|d| d.mean_ms), analyser.config.delay_ms);
    Summary {
        codec: analyser.config.codec,
        packet_ms: analyser.packet_ms(),
        duration_s: analyser.clock.map_or(0.0, |clock| clock.last.since(clock.first).as_seconds()),
        counts: analyser.counts,
        dejitter_loss: ratio(playout.lost - network.lost, network.expected - network.lost),
        network,
        playout,
        talkspurts: analyser.spurts.talkspurts(),
        jitter: analyser.jitter.jitter(),
        delay,
        judgement: analyser.judge().judge(&measured),
        mean_row_mos: analyser.worst.mean(),
        worst_row: analyser.worst.worst(),
        worst_stretch: analyser.worst_stretch.worst(analyser.config.codec),
        labelled: analyser.labelled.losses(),
    }
}

/// Adds up talkspurts in the order of sequence numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpurtMeter {
    expected: u64,
    unplayed: u64,
    closed: u64,
    with_loss: u64,
    sum: f64,
    worst: f64,
}

impl SpurtMeter {
    pub(super) fn push(&mut self, starts: bool, unplayed: bool) {
        if starts {
            self.close();
        }
        self.expected += 1;
        self.unplayed += u64::from(unplayed);
    }

    fn close(&mut self) {
        if let Some(share) = ratio(self.unplayed, self.expected) {
            self.closed += 1;
            self.with_loss += u64::from(self.unplayed > 0);
            self.sum += share;
            self.worst = self.worst.max(share);
        }
        (self.expected, self.unplayed) = (0, 0);
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(super) fn talkspurts(mut self) -> Talkspurts {
        self.close();
        let any = self.closed > 0;
        Talkspurts {
            count: self.closed,
            with_loss: self.with_loss,
            mean_loss: any.then(|| self.sum / self.closed as f64),
            worst_loss: any.then_some(self.worst),
        }
    }
}
