//! What became of it all.

use crate::link::LinkStats;
use crate::tcp::{ReceiverStats, SenderStats};
use guestright_engine::{Instant, Nanos};

/// A run up to now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathReport {
    /// Until when.
    pub now: Instant,
    /// The calls, in the order in which they were added.
    pub calls: Vec<FlowReport>,
    /// The file transfers, in the order in which they were added.
    pub transfers: Vec<FlowReport>,
    /// The links between routers: from R1 to R2, R2 to R1, R2 to R3, R3 to R2.
    pub routers: [LinkStats; 4],
    /// Packets that arrived at the end of a link.
    pub hops: u64,
    /// Events that were scheduled.
    pub events: u64,
}

impl PathReport {
    /// What was counted since an earlier report of the same path, and what holds now. `queue_max` is that of the whole run.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let flows = |now: &[FlowReport], before: &[FlowReport]| {
            now.iter().zip(before).map(|(now, before)| now.since(before)).collect()
        };
        Self {
            calls: flows(&self.calls, &before.calls),
            transfers: flows(&self.transfers, &before.transfers),
            routers: std::array::from_fn(|line| self.routers[line].since(&before.routers[line])),
            ..*self
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowReport {
    /// Packets that the application made.
    pub made: u64,
    /// Packets of speech that the application threw away before they were sent.
    pub thrown: u64,
    /// Packets that the application has got.
    pub delivered: u64,
    /// Bytes that the application has got, in order and each once.
    pub delivered_bytes: u64,
    /// Packets with payload that were put on the wire.
    pub sent: u64,
    /// Of these, those with bytes that were sent before.
    pub again: u64,
    /// Of those with payload, those that arrived.
    pub arrived: u64,
    /// Packets with payload that a host's link dropped, at the source or before the sink.
    pub dropped_access: u64,
    /// Packets with payload that R1 dropped.
    pub dropped_first: u64,
    /// Packets with payload that R2 dropped.
    pub dropped_second: u64,
    /// Packets with payload that were lost on the sink's link.
    pub errors: u64,
    /// Packets without payload that the source sent, a SYN for example.
    pub empty_sent: u64,
    /// Packets that the sink sent: acknowledgements.
    pub back_sent: u64,
    /// Of these, those that arrived.
    pub back_arrived: u64,
    /// Of these, those that were dropped or lost.
    pub back_lost: u64,
    /// When the first packet was heard.
    pub first_delivered: Option<Instant>,
    /// When the last packet was heard.
    pub last_delivered: Option<Instant>,
    /// What its sender has done, if it is a TCP.
    pub sender: Option<SenderStats>,
    /// What its receiver has done, if it is a TCP.
    pub receiver: Option<ReceiverStats>,
    /// The smoothed round-trip time at the end, if it is a TCP and had one.
    pub round_trip: Option<Nanos>,
    /// The retransmission timeout at the end without its doublings, if it is a TCP.
    pub timeout: Option<Nanos>,
}

impl FlowReport {
    /// What was counted since an earlier report of the same flow, and what holds now.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            made: self.made - before.made,
            thrown: self.thrown - before.thrown,
            delivered: self.delivered - before.delivered,
            delivered_bytes: self.delivered_bytes - before.delivered_bytes,
            sent: self.sent - before.sent,
            again: self.again - before.again,
            arrived: self.arrived - before.arrived,
            dropped_access: self.dropped_access - before.dropped_access,
            dropped_first: self.dropped_first - before.dropped_first,
            dropped_second: self.dropped_second - before.dropped_second,
            errors: self.errors - before.errors,
            empty_sent: self.empty_sent - before.empty_sent,
            back_sent: self.back_sent - before.back_sent,
            back_arrived: self.back_arrived - before.back_arrived,
            back_lost: self.back_lost - before.back_lost,
            sender: self.sender.zip(before.sender).map(|(now, before)| now.since(&before)).or(self.sender),
            ..*self
        }
    }

    /// Packets with payload that were dropped or lost.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.dropped_access + self.dropped_first + self.dropped_second + self.errors
    }

    /// Packets with payload that are on their way.
    #[must_use]
    pub const fn on_the_way(&self) -> u64 {
        self.sent - self.arrived - self.lost()
    }
}

/// What is counted for each packet of a flow, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Tally {
    pub(super) sent: u64,
    pub(super) arrived: u64,
    pub(super) back_sent: u64,
    pub(super) back_arrived: u64,
    delivered: u64,
    /// Means something once a packet was heard.
    first_delivered: Instant,
    last_delivered: Instant,
}

impl Tally {
    pub(super) const NONE: Self = Self {
        sent: 0,
        arrived: 0,
        back_sent: 0,
        back_arrived: 0,
        delivered: 0,
        first_delivered: Instant::NEVER,
        last_delivered: Instant::NEVER,
    };

    /// The application gets a packet.
    #[inline]
    pub(super) fn hear(&mut self, now: Instant) {
        if self.delivered == 0 {
            self.first_delivered = now;
        }
        self.delivered += 1;
        self.last_delivered = now;
    }

    pub(super) fn fill(&self, report: &mut FlowReport) {
        report.sent = self.sent;
        report.arrived = self.arrived;
        report.back_sent = self.back_sent;
        report.back_arrived = self.back_arrived;
        report.delivered = self.delivered;
        report.first_delivered = (self.delivered > 0).then_some(self.first_delivered);
        report.last_delivered = (self.delivered > 0).then_some(self.last_delivered);
    }
}
