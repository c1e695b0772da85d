//! When a receiver would begin its buffer anew.
//!
//! The time from a packet's timestamp to its arrival has a floor, which jitter only raises. The floor itself moves when
//! two clocks run at different speeds (50 ppm are 60 ms after 20 minutes), when the path changes, or when a sender's
//! timestamps slip. Every receiver follows that; a buffer that is anchored once would discard a good call.

use crate::stamp::Stamp;

/// How long the floor is looked for, in nanoseconds.
const WINDOW: u64 = 2_000_000_000;
/// How far it may move before the buffer is begun anew.
const MOVE_MAX: i64 = 20_000_000;
/// A packet this near to the floor is one to begin with.
const NEAR: i64 = 5_000_000;

/// Follows the floor of the delay of one stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drift {
    /// Arrival and timestamp of the packet before.
    last: Option<(Stamp, u32)>,
    /// Delay of the packet before against the first one, in nanoseconds.
    transit: i64,
    window: Option<Stamp>,
    floor: i64,
    /// The floor when the buffer began; `None` until the first window is over.
    anchor: Option<i64>,
    due: bool,
    pub(super) restarts: u64,
}

impl Drift {
    /// Takes a packet; whether the buffer begins anew with it.
    pub(super) fn take(&mut self, at: Stamp, timestamp: u32, clock_rate: u32) -> bool {
        let Some((last_at, last_timestamp)) = self.last.replace((at, timestamp)) else {
            (self.window, self.floor) = (Some(at), 0);
            return false;
        };
        let ticks = i64::from(timestamp.wrapping_sub(last_timestamp).cast_signed());
        let media = ticks * 1_000_000_000 / i64::from(clock_rate.max(1));
        self.transit = self.transit.saturating_add(at.nanos_since(last_at)).saturating_sub(media);
        self.floor = self.floor.min(self.transit);
        if self.window.is_none_or(|start| at.0.saturating_sub(start.0) >= WINDOW) {
            let anchor = *self.anchor.get_or_insert(self.floor);
            self.due = self.floor.saturating_sub(anchor).saturating_abs() > MOVE_MAX;
            if self.due {
                self.anchor = Some(self.floor);
            }
            (self.window, self.floor) = (Some(at), self.transit);
        }
        let anew = self.due && self.anchor.is_some_and(|anchor| self.transit.saturating_sub(anchor) <= NEAR);
        if anew {
            self.due = false;
            self.restarts += 1;
        }
        anew
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Restarts of a stream of 50 packets a second whose clock runs `ppm` fast, with this jitter.
    fn restarts(seconds: u64, ppm: i64, jitter_ms: u64) -> u64 {
        let mut drift = Drift::default();
        for index in 0..seconds * 50 {
            let media = index * 20_000_000;
            let skew = i64::try_from(media).unwrap() / 1_000_000 * ppm;
            let jitter = index * 7 % 10 * jitter_ms * 100_000;
            let at = Stamp((1_000_000_000_000_u64 + media + jitter).checked_add_signed(skew).unwrap());
            drift.take(at, u32::try_from((index * 160) & 0xffff_ffff).unwrap(), 8_000);
        }
        drift.restarts
    }

    #[test]
    fn follows_clocks_and_not_jitter() {
        #[rustfmt::skip]
        let cases = [
            ("a good call",      (3_600, 0, 0),     0..=0),
            ("much jitter",      (600, 0, 100),     0..=0),
            ("a fast clock",     (3_600, 50, 10),   7..=9),
            ("a slow clock",     (3_600, -50, 10),  7..=9),
        ];
        for (name, (seconds, ppm, jitter), want) in cases {
            let got = restarts(seconds, ppm, jitter);
            assert!(want.contains(&got), "{name}: {got}");
        }
    }
}
