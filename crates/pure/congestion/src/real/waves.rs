//! Which wave a segment belongs to, and in which waves the path set the pace.

use crate::controller::Sent;

/// Reports come within a round trip of a wave's end, and a wave lasts about one: so many are remembered.
const REMEMBERED: u32 = 64;

/// The sender's side of waves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waves {
    /// The wave that is being sent.
    number: u32,
    /// Bytes of that wave that were sent, and how many it is to have.
    sent: u64,
    size: u64,
    /// Bit n: whether the window was full in wave `number - n`.
    full: u64,
    /// Bit n: whether the application had nothing more to send in it.
    drained: u64,
    /// Whether the segment that was sent last belongs to no wave.
    outside: bool,
}

impl Waves {
    /// The wave of the segment that was sent last.
    pub(super) fn stamp(&self) -> Option<u32> {
        (!self.outside).then_some(self.number)
    }

    /// A segment leaves that belongs to no wave.
    pub(super) const fn on_sent_outside(&mut self) {
        self.outside = true;
    }

    /// A segment leaves, with that window.
    pub(super) const fn on_sent(&mut self, sent: &Sent, window: u64, segment: u64) {
        self.outside = false;
        let alone = sent.in_flight <= sent.bytes;
        if self.sent >= self.size || (alone && self.sent > 0) {
            self.number = self.number.wrapping_add(1);
            self.sent = 0;
            self.size = window;
            self.full <<= 1;
            self.drained <<= 1;
        }
        self.sent = self.sent.saturating_add(sent.bytes);
        if sent.in_flight.saturating_add(segment) > window {
            self.full |= 1;
        }
        if sent.last {
            self.drained |= 1;
        }
    }

    /// Whether the path, not the application, set the pace of wave `number`: the window was full in it, and there was always
    /// more to send, if not `though_drained`. `otherwise` if that is not known any more.
    pub(super) const fn was_path_limited(&self, number: u32, though_drained: bool, otherwise: bool) -> bool {
        let age = self.number.wrapping_sub(number);
        let limited = if though_drained { self.full } else { self.full & !self.drained };
        if age >= REMEMBERED { otherwise } else { (limited >> age) & 1 == 1 }
    }
}
