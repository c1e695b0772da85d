//! CoDel: drops when packets have waited too long for too long (RFC 8289).
//!
//! The time that each packet has waited is looked at when it leaves. If it was above `target` for `interval` without a
//! break, one packet is dropped, and then the next `interval / sqrt(count)` later for as long as it stays above. The
//! names are those of the pseudo-code in RFC 8289, section 5. Packets that may be marked are marked instead and go on (as
//! in Linux; RFC 8290, section 5.2).

use super::store::{Fifo, Store, Waiting};
use super::{Dropped, Ecn};
use crate::error::SettingsError;
use crate::link_number::LinkNumber;
use guestright_engine::{Instant, Nanos};

/// CoDel's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDelSettings {
    /// The wait that is always acceptable (RFC 8289, section 5: 5 ms).
    pub target: Nanos,
    /// For how long the wait may be above (RFC 8289, section 5: 100 ms, the worst of common round trips).
    pub interval: Nanos,
    /// Nothing is dropped while no more bytes than this wait behind (RFC 8289, section 5: one packet of the largest size).
    pub mtu: u32,
    /// Whether packets that may be marked are marked instead of dropped.
    pub ecn: bool,
    /// L4S packets that have waited longer are marked, each one (a step, `CE_THRESHOLD` of RFC 8290, section 5.2;
    /// 1 ms is usual).
    pub ce_threshold: Option<Nanos>,
}

/// The longest `interval` and `target`: ten minutes.
const SPAN_MAX: Nanos = Nanos::from_seconds(600);

impl CoDelSettings {
    /// The values of RFC 8289: 5 ms and 100 ms, packets of 1514 bytes, no marks.
    #[must_use]
    pub const fn rfc8289() -> Self {
        Self {
            target: Nanos::from_millis(5),
            interval: Nanos::from_millis(100),
            mtu: 1_514,
            ecn: false,
            ce_threshold: None,
        }
    }

    pub(super) fn check(&self, number: LinkNumber) -> Result<(), SettingsError> {
        if self.target.0 == 0 || self.interval < self.target || self.interval > SPAN_MAX {
            return Err(SettingsError::CoDel {
                link: number.0,
                target: self.target.0,
                interval: self.interval.0,
                max: SPAN_MAX.0,
            });
        }
        Ok(())
    }

    /// When the next is dropped after the `count`th was at `at` (RFC 8289, section 5, `control_law`).
    fn control_law(&self, at: Instant, count: u32) -> Instant {
        // Division and square root of IEEE 754 are the same everywhere; spans are below 2^53 ns.
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 600 s in ns"
        )]
        let span = (self.interval.0 as f64 / f64::from(count.max(1)).sqrt()) as u64;
        at + Nanos(span.max(1))
    }
}

impl Default for CoDelSettings {
    fn default() -> Self {
        Self::rfc8289()
    }
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CoDel {
    /// When the wait will have been too long for an interval.
    first_above: Option<Instant>,
    drop_next: Instant,
    /// Drops since the state was entered.
    count: u32,
    /// `count` when the state was entered last.
    last_count: u32,
    dropping: bool,
}

impl CoDel {
    /// The packet that goes next.
    pub(super) fn dequeue(
        &mut self,
        settings: &CoDelSettings,
        store: &mut Store,
        fifo: &mut Fifo,
        now: Instant,
        dropped: &mut impl Dropped,
    ) -> Option<Waiting> {
        let (mut waiting, mut ok_to_drop) = self.look(settings, store, fifo, now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                let mut packet = waiting?;
                if mark(settings, &mut packet) {
                    self.drop_next = settings.control_law(self.drop_next, self.count);
                    return Some(step(settings, packet, now));
                }
                dropped.drop_packet(packet.packet);
                (waiting, ok_to_drop) = self.look(settings, store, fifo, now);
                if ok_to_drop {
                    self.drop_next = settings.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let mut packet = waiting?;
            if mark(settings, &mut packet) {
                waiting = Some(packet);
            } else {
                dropped.drop_packet(packet.packet);
                (waiting, _) = self.look(settings, store, fifo, now);
            }
            self.enter(settings, now);
        }
        waiting.map(|packet| step(settings, packet, now))
    }

    /// Takes the first packet and tells whether one may be dropped (`dodequeue`).
    fn look(
        &mut self,
        settings: &CoDelSettings,
        store: &mut Store,
        fifo: &mut Fifo,
        now: Instant,
    ) -> (Option<Waiting>, bool) {
        let Some(waiting) = fifo.pop(store) else {
            self.first_above = None;
            return (None, false);
        };
        if now.since(waiting.since) < settings.target || fifo.bytes() <= u64::from(settings.mtu) {
            self.first_above = None;
            return (Some(waiting), false);
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + settings.interval);
                (Some(waiting), false)
            }
            Some(at) => (Some(waiting), now >= at),
        }
    }

    /// Enters the dropping state; with the rate at which it was left, if that was not long ago.
    fn enter(&mut self, settings: &CoDelSettings, now: Instant) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < settings.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = settings.control_law(now, self.count);
        self.last_count = self.count;
    }
}

/// Marks a packet that may be marked; false: it has to be dropped.
const fn mark(settings: &CoDelSettings, waiting: &mut Waiting) -> bool {
    let markable = settings.ecn && !matches!(waiting.packet.ecn, Ecn::Not);
    waiting.marked |= markable;
    markable
}

/// Marks an L4S packet that has waited longer than the step.
fn step(settings: &CoDelSettings, mut waiting: Waiting, now: Instant) -> Waiting {
    let late = settings.ce_threshold.is_some_and(|threshold| now.since(waiting.since) > threshold);
    waiting.marked |= late && waiting.packet.ecn == Ecn::L4s;
    waiting
}
