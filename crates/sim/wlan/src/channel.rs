use crate::config::StationId;
use crate::output::ChannelStats;
use crate::station::{Frame, To};

/// Later than everything else, in ns.
pub(crate) const NEVER: u64 = u64::MAX;

/// A station's share in the contention for a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender {
    pub(crate) station: StationId,
    /// When its first slot begins, if the medium stays idle; ns.
    pub(crate) start: u64,
    /// Its slots do not begin before this, however long the medium is idle; ns.
    pub(crate) earliest: u64,
    /// Slots of backoff that remain from `start` on.
    pub(crate) slots: u32,
    /// Whether it has a frame to send.
    pub(crate) wants: bool,
    /// Whether it has no backoff to count, but waits for an idle medium only.
    pub(crate) is_immediate: bool,
}

impl Contender {
    pub(crate) const fn new(station: StationId) -> Self {
        Self { station, start: 0, earliest: 0, slots: 0, wants: false, is_immediate: false }
    }

    /// When it will send; `NEVER` without a frame.
    #[inline]
    pub(crate) const fn access_at(&self, slot: u64) -> u64 {
        if self.wants { self.start + self.slots as u64 * slot } else { NEVER }
    }

    /// Counts the slots down that have passed since `start`. Those that have begun only do not count.
    #[inline]
    pub(crate) fn count_down(&mut self, now: u64, slot: u64) {
        let passed = now.saturating_sub(self.start) / slot;
        let passed = u32::try_from(passed).unwrap_or(u32::MAX).min(self.slots);
        self.slots -= passed;
        self.start += u64::from(passed) * slot;
    }
}

/// A transmission of somebody who shared the access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loser {
    pub(crate) station: StationId,
    pub(crate) frame: Frame,
    /// When it begins, which others may have noticed too late; ns.
    pub(crate) begin: u64,
    /// When its last frame ends; ns.
    pub(crate) end: u64,
}

/// How the exchange of the one who can be heard went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There is nobody.
    Nobody,
    GoesOn,
    Done,
    /// A broadcast that was hit by bit errors.
    BroadcastLost,
    Failed {
        /// Whether the data frame failed that was behind an RTS.
        is_long: bool,
        /// The end of the frame that was not answered; ns.
        end: u64,
    },
}

/// What is going on from the first frame on until the medium is idle again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) sender: StationId,
    pub(crate) frame: Frame,
    pub(crate) outcome: Outcome,
    /// Until when others are on the air who began at the same time; ns.
    pub(crate) others_until: u64,
    /// Whether others could not read the last frame because of another one: they wait for EIFS.
    pub(crate) is_bad: bool,
    /// The last frame, which its sender does not wait for.
    pub(crate) last: LastFrame,
    pub(crate) is_retry: bool,
}

/// The last frame of an exchange, which each bystander reads well or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastFrame {
    pub(crate) from: StationId,
    pub(crate) to: To,
    pub(crate) bytes: u32,
    /// For how long the medium is reserved behind it for those who could read it (NAV), although nothing follows; ns.
    pub(crate) reserved: u64,
    /// Whether it was hit by bit errors at the one that it was for.
    pub(crate) is_hit: bool,
}

/// A channel, and all stations on it.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) number: u8,
    pub(crate) contenders: Vec<Contender>,
    pub(crate) is_busy: bool,
    /// Since when it is busy or idle; ns.
    pub(crate) since: u64,
    /// When the next access is planned, and the number of that plan.
    pub(crate) planned: u64,
    pub(crate) epoch: u32,
    pub(crate) exchange: Option<Exchange>,
    pub(crate) losers: Vec<Loser>,
    pub(crate) stats: ChannelStats,
}

impl Channel {
    pub(crate) const fn new(number: u8) -> Self {
        Self {
            number,
            contenders: Vec::new(),
            is_busy: false,
            since: 0,
            planned: NEVER,
            epoch: 0,
            exchange: None,
            losers: Vec::new(),
            stats: ChannelStats { accesses: 0, collisions: 0, busy: guestright_engine::Nanos(0) },
        }
    }

    /// The first access of all.
    #[inline]
    pub(crate) fn next_access(&self, slot: u64) -> u64 {
        self.contenders.iter().map(|contender| contender.access_at(slot)).min().unwrap_or(NEVER)
    }

    /// The medium is idle from `now` on: slots begin `space` later.
    #[inline]
    pub(crate) fn start_counting(&mut self, now: u64, space: u64) {
        for contender in &mut self.contenders {
            contender.start = (now + space).max(contender.earliest);
        }
    }
}
