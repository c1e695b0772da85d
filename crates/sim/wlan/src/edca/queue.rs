use super::CategoryStats;
use super::config::SNAP_BYTES;
use super::flow::Msdus;
use crate::output::Msdu;
use guestright_airtime::{Access, amsdu_subframe_bytes};
use guestright_engine::{Instant, Stream};
use rand::Rng;
use std::collections::VecDeque;

/// An MPDU that waits or is on the air.
#[derive(Debug)]
pub(super) struct Mpdu {
    pub(super) to: u16,
    /// With header and FCS.
    pub(super) bytes: u32,
    pub(super) msdus: Msdus,
    /// Its number, from the first time on that it is sent.
    pub(super) number: Option<u32>,
    pub(super) attempts: u32,
    /// Whether the receiver has it, whatever the sender knows.
    pub(super) is_received: bool,
}

/// One category of a station: its queue, and its part in the contention.
#[derive(Debug)]
pub(super) struct Category {
    pub(super) access: Access,
    pub(super) stats: CategoryStats,
    pub(super) mpdus: VecDeque<Mpdu>,
    queued: usize,
    cw: u32,
    aifs: u64,
    /// When its first slot begins, if the medium stays idle; ns.
    pub(super) start: u64,
    /// Slots of backoff that remain from `start` on.
    pub(super) slots: u32,
    /// Whether it has no backoff to count, but waits for an idle medium only.
    is_immediate: bool,
    backoffs: Stream,
}

impl Category {
    pub(super) fn new(access: Access, aifs: u64, backoffs: Stream) -> Self {
        Self {
            access,
            stats: CategoryStats::default(),
            mpdus: VecDeque::new(),
            queued: 0,
            cw: access.cw_min,
            aifs,
            start: aifs,
            slots: 0,
            is_immediate: false,
            backoffs,
        }
    }

    pub(super) const fn queued(&self) -> usize {
        self.queued
    }

    pub(super) fn wants(&self) -> bool {
        !self.mpdus.is_empty()
    }

    /// Puts an MSDU behind the others; `false` if there is no room.
    pub(super) fn push(&mut self, msdu: Msdu, bytes: u32, queue_max: usize, now: Instant) -> bool {
        if self.queued >= queue_max {
            self.stats.queue_full += 1;
            return false;
        }
        let msdus = vec![(msdu, now)];
        self.mpdus.push_back(Mpdu {
            to: msdu.to.0,
            bytes,
            msdus,
            number: None,
            attempts: 0,
            is_received: false,
        });
        self.queued += 1;
        self.stats.accepted += 1;
        true
    }

    /// Takes MPDU `number` for `to` out of the queue.
    pub(super) fn remove(&mut self, to: u16, number: u32) -> Option<Mpdu> {
        let at = self.mpdus.iter().position(|mpdu| mpdu.to == to && mpdu.number == Some(number))?;
        let mpdu = self.mpdus.remove(at)?;
        self.queued -= mpdu.msdus.len();
        Some(mpdu)
    }

    pub(super) fn find(&mut self, to: u16, number: u32) -> Option<&mut Mpdu> {
        self.mpdus.iter_mut().find(|mpdu| mpdu.to == to && mpdu.number == Some(number))
    }

    /// Makes an A-MSDU of the MSDU at `at` and those for the same receiver behind it that were not sent yet, as far as they fit.
    pub(super) fn merge(&mut self, at: usize, header: u32, amsdu_max: u32, mpdu_max: u32) {
        let subframe = |msdu: &Msdu| amsdu_subframe_bytes(msdu.bytes + SNAP_BYTES);
        let to = self.mpdus[at].to;
        let mut padded: u32 = self.mpdus[at].msdus.iter().map(|(msdu, _)| subframe(msdu)).sum();
        let mut next = at + 1;
        while next < self.mpdus.len() {
            let other = &self.mpdus[next];
            if other.to != to {
                next += 1;
                continue;
            }
            // Only the last MSDU is not padded.
            let Some((msdu, _)) = other.msdus.first().filter(|_| other.number.is_none()) else { return };
            let body = padded + 14 + msdu.bytes + SNAP_BYTES;
            if body > amsdu_max || header + body > mpdu_max {
                return;
            }
            padded += subframe(msdu);
            let Some(other) = self.mpdus.remove(next) else { return };
            self.mpdus[at].msdus.extend(other.msdus);
            self.mpdus[at].bytes = header + body;
        }
    }

    /// When it will send, if the medium stays idle; only if it wants to.
    pub(super) fn access_at(&self, slot: u64) -> Option<u64> {
        self.wants().then(|| self.start + u64::from(self.slots) * slot)
    }

    /// Counts the slots down that have passed since `start`. Those that have begun only do not count.
    pub(super) fn count_down(&mut self, now: u64, slot: u64) {
        let passed = now.saturating_sub(self.start) / slot;
        let passed = u32::try_from(passed).unwrap_or(u32::MAX).min(self.slots);
        self.slots -= passed;
        self.start += u64::from(passed) * slot;
    }

    /// A packet came to an idle medium and no backoff is left: it goes when AIFS is over, or at once.
    pub(super) fn begin_idle(&mut self, now: u64) {
        if self.slots == 0 && self.start < now {
            self.start = now;
        }
        self.is_immediate = self.slots == 0;
    }

    /// A packet came while the medium is busy: it needs a backoff (10.23.2.2).
    pub(super) fn begin_busy(&mut self) {
        if self.slots == 0 {
            self.draw();
        }
    }

    /// The medium becomes busy.
    pub(super) fn freeze(&mut self, now: u64, slot: u64) {
        self.count_down(now, slot);
        if self.wants() && self.is_immediate && self.start > now {
            self.draw();
        }
        self.is_immediate = false;
    }

    /// The medium is idle from `now` on; those who wait for EIFS have `more` to wait.
    pub(super) fn resume(&mut self, now: u64, more: u64) {
        self.start = now + self.aifs + more;
    }

    /// Its transmission succeeded, or nothing is to be sent any more.
    pub(super) fn succeed(&mut self) {
        self.cw = self.access.cw_min;
        self.draw();
    }

    /// Its transmission failed, or a more urgent category won.
    pub(super) fn fail(&mut self) {
        self.cw = (self.cw * 2 + 1).min(self.access.cw_max);
        self.draw();
    }

    /// An MPDU was given up: the window is the first one again, and the next backoff is from it (10.23.2.2).
    pub(super) fn forget(&mut self) {
        self.succeed();
    }

    fn draw(&mut self) {
        // The high half of the product; no slot is likelier than another by more than 2^-16 of its share.
        let product = u64::from(self.backoffs.next_u32()) * u64::from(self.cw + 1);
        self.slots = u32::try_from(product >> 32).expect("below the contention window");
        self.is_immediate = false;
    }
}
