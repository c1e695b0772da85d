//! When a receiver would begin its buffer anew.
//!
//! The time from a packet's timestamp to its arrival has a floor, which jitter only raises. The floor itself moves when
//! two clocks run at different speeds (50 ppm are 60 ms after 20 minutes), when the path changes, or when a sender's
//! timestamps slip. Every receiver follows that; a buffer that is anchored once would discard a good call.

use guestright_units::Time;

/// How long the floor is looked for, µs.
const WINDOW_US: u64 = 2_000_000;
/// How far it may move before the buffer is begun anew, µs.
const MOVE_MAX_US: i64 = 20_000;
/// A packet this near to the floor is one to begin with, µs.
const NEAR_US: i64 = 5_000;

/// Follows the floor of the delay of one stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Floor {
    /// Arrival and unwrapped timestamp of the packet before.
    last: Option<(Time, i64)>,
    /// Delay of the packet before against the first one.
    transit_us: i64,
    window: Option<Time>,
    floor_us: i64,
    /// The floor when the buffer began; `None` until the first window is over.
    anchor_us: Option<i64>,
    is_due: bool,
}

impl Floor {
    /// Takes a packet; whether the buffer begins anew with it. One that others have overtaken says nothing.
    pub(super) fn update(&mut self, arrival: Time, ticks: i64, clock_rate_hz: u32) -> bool {
        let Some((before, last_ticks)) = self.last else {
            (self.last, self.window, self.floor_us) = (Some((arrival, ticks)), Some(arrival), 0);
            return false;
        };
        if ticks <= last_ticks {
            return false;
        }
        self.last = Some((arrival, ticks));
        let media_us = i128::from(ticks - last_ticks) * 1_000_000 / i128::from(clock_rate_hz.max(1));
        let late_us = i128::from(arrival.0) - i128::from(before.0) - media_us;
        let late_us = i64::try_from(late_us).unwrap_or(i64::MAX);
        self.transit_us = self.transit_us.saturating_add(late_us);
        self.floor_us = self.floor_us.min(self.transit_us);
        if self.window.is_none_or(|start| arrival.0.saturating_sub(start.0) >= WINDOW_US) {
            let anchor = *self.anchor_us.get_or_insert(self.floor_us);
            self.is_due = self.floor_us.saturating_sub(anchor).saturating_abs() > MOVE_MAX_US;
            if self.is_due {
                self.anchor_us = Some(self.floor_us);
            }
            (self.window, self.floor_us) = (Some(arrival), self.transit_us);
        }
        let is_near = self.anchor_us.is_some_and(|anchor| self.transit_us.saturating_sub(anchor) <= NEAR_US);
        let anew = self.is_due && is_near;
        self.is_due &= !anew;
        anew
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the buffer of 50 packets a second begins anew whose clock runs `ppm` slow, with this jitter.
    fn restarts(seconds: u64, ppm: i64, jitter_ms: u64) -> usize {
        let mut floor = Floor::default();
        let anew = |index: &u64| {
            let media_us = index * 20_000;
            let skew_us = i64::try_from(media_us).unwrap() * ppm / 1_000_000;
            let jitter_us = index * 7 % 10 * jitter_ms * 100;
            let at = Time((1_000_000_000 + media_us + jitter_us).checked_add_signed(skew_us).unwrap());
            floor.update(at, i64::try_from(index * 160).unwrap(), 8_000)
        };
        (0..seconds * 50).filter(anew).count()
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

    #[test]
    fn overtaken_packets_say_nothing() {
        let mut floor = Floor::default();
        for (arrival_ms, number) in [(0, 0), (40, 2), (3_000, 1), (3_001, 3)] {
            assert!(!floor.update(Time(arrival_ms * 1_000), number * 160, 8_000));
        }
        assert_eq!(floor.last, Some((Time(3_001_000), 480)));
    }
}
