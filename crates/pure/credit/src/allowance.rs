//! What a home gives away a day: to strangers, to debtors, and whatever was not signed for.

use guestright_units::{Bytes, Micros, Time};

/// A slice is never made smaller than this, if there is as much.
const SLICE_MIN: u64 = 1_000_000;
/// What is spent is written this far ahead, so that few slices wait for a disk. After a crash it counts as spent.
const STEP: u64 = 8_000_000;
const DAY: u64 = 86_400_000_000;

/// How much a home gives away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowanceConfig {
    /// Refilled evenly, and as much as there can be.
    pub per_day: Bytes,
    /// Once more than that, when the home is founded.
    pub founding: Bytes,
}

impl Default for AllowanceConfig {
    /// 200 MB a day and 100 MB once: design note 0010 and the figures behind it.
    fn default() -> Self {
        Self { per_day: Bytes(200_000_000), founding: Bytes(100_000_000) }
    }
}

/// What has to be kept of an [`Allowance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowanceState {
    /// How much is left.
    pub left: Bytes,
    /// When that was.
    pub at: Time,
}

/// A token bucket of bytes.
///
/// In any span of `t` days it gives at most `per_day * (t + 1) + founding`, whatever crashes, and however the clock is
/// set: time that goes back refills nothing until it has passed again, and while the program is away at most one
/// bucket is refilled.
#[derive(Clone, Debug)]
pub struct Allowance {
    config: AllowanceConfig,
    state: AllowanceState,
    /// Kept as spent, and not yet spent.
    ahead: u64,
    /// What refilling has not made a whole byte of, in bytes times microseconds of a day.
    rest: u64,
}

impl Allowance {
    /// A bucket as it was kept, or a full one at the founding of a home.
    pub fn new(config: AllowanceConfig, kept: Option<AllowanceState>, now: Time) -> Self {
        let founded = AllowanceState { left: config.per_day.saturating_add(config.founding), at: now };
        let mut allowance = Self { config, state: kept.unwrap_or(founded), ahead: 0, rest: 0 };
        allowance.refill(now);
        allowance
    }

    /// From now on so much is given away in a day. What was given today stays given: if it is less than before, as much less
    /// is left; if it is more, that comes by refilling. The founding bytes are given once, at the founding.
    pub fn reconfigure(&mut self, config: AllowanceConfig) {
        let less = self.config.per_day.saturating_sub(config.per_day).0;
        let ahead = self.ahead.min(less);
        self.ahead -= ahead;
        self.state.left = self.state.left.saturating_sub(Bytes(less - ahead));
        self.config = config;
    }

    /// How much is left.
    pub fn left(&mut self, now: Time) -> Bytes {
        self.refill(now);
        Bytes(self.state.left.0.saturating_add(self.ahead))
    }

    /// Takes a slice of at most `want`: half of what is left at most, and a megabyte if that is more.
    ///
    /// If a state comes with it, it has to be durable before the slice is used.
    pub fn take(&mut self, want: Bytes, now: Time) -> (Bytes, Option<AllowanceState>) {
        let Bytes(slice) = self.next_slice(want, now);
        if slice <= self.ahead {
            self.ahead -= slice;
            return (Bytes(slice), None);
        }
        let written = (slice - self.ahead).saturating_add(STEP).min(self.state.left.0);
        self.state.left.0 -= written;
        self.ahead = self.ahead + written - slice;
        (Bytes(slice), Some(self.state))
    }

    /// What [`take`](Self::take) would take.
    pub fn next_slice(&mut self, want: Bytes, now: Time) -> Bytes {
        let left = self.left(now).0;
        Bytes(want.0.min((left / 2).max(SLICE_MIN)).min(left))
    }

    /// Puts back what of a slice was not used.
    pub fn put_back(&mut self, unused: Bytes) {
        let room = self.config.per_day.saturating_sub(self.state.left).0;
        self.ahead = self.ahead.saturating_add(unused.0).min(room.max(self.ahead));
    }

    /// A bucket that holds more than a day's bytes, as it does after the founding, is not refilled.
    fn refill(&mut self, now: Time) {
        let passed = now.since(self.state.at).min(Micros(DAY)).0;
        if passed == 0 {
            return;
        }
        self.state.at = self.state.at.max(now);
        let per_day = self.config.per_day.0;
        let product = u128::from(per_day) * u128::from(passed) + u128::from(self.rest);
        let whole = u64::try_from(product / u128::from(DAY)).unwrap_or(u64::MAX);
        self.rest = u64::try_from(product % u128::from(DAY)).unwrap_or(0);
        let full = per_day.saturating_sub(self.ahead);
        let left = self.state.left.0;
        self.state.left.0 = left.max(left.saturating_add(whole).min(full));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONFIG: AllowanceConfig =
        AllowanceConfig { per_day: Bytes(200_000_000), founding: Bytes(100_000_000) };

    fn day(days: u64) -> Time {
        Time(days * DAY)
    }

    #[test]
    fn a_new_home_gives_the_founding_bytes_once() {
        let mut allowance = Allowance::new(CONFIG, None, day(1));
        let (first, state) = allowance.take(Bytes(u64::MAX), day(1));
        assert_eq!(first, Bytes(150_000_000));
        // The step ahead is spent after a crash.
        let mut again = Allowance::new(CONFIG, state, day(1));
        assert_eq!(again.left(day(1)), Bytes(142_000_000));
        assert_eq!(again.left(day(2)), Bytes(200_000_000));
    }

    #[test]
    fn small_slices_wait_for_no_disk() {
        let mut allowance = Allowance::new(CONFIG, None, day(1));
        let writes = (0..100).filter(|_| allowance.take(Bytes(1_000_000), day(1)).1.is_some()).count();
        assert!((11..=13).contains(&writes), "{writes}");
    }

    #[test]
    fn the_last_megabyte_is_one_slice() {
        let mut allowance =
            Allowance::new(CONFIG, Some(AllowanceState { left: Bytes(1_500_000), at: day(1) }), day(1));
        assert_eq!(allowance.take(Bytes(5_000_000), day(1)).0, Bytes(1_000_000));
        assert_eq!(allowance.take(Bytes(5_000_000), day(1)).0, Bytes(500_000));
        assert_eq!(allowance.take(Bytes(5_000_000), day(1)).0, Bytes(0));
    }

    #[test]
    fn many_small_refills_are_one_large_one() {
        let kept = Some(AllowanceState { left: Bytes(0), at: day(1) });
        let mut often = Allowance::new(CONFIG, kept, day(1));
        for step in 0..=1_000 {
            often.left(Time(day(1).0 + DAY / 1_000 * step / 2));
        }
        let mut once = Allowance::new(CONFIG, kept, day(1));
        let later = Time(day(1).0 + DAY / 2);
        assert_eq!(often.left(later), once.left(later));
    }

    #[test]
    fn a_jump_ahead_refills_one_bucket_and_the_way_back_and_forth_nothing() {
        let empty = Some(AllowanceState { left: Bytes(0), at: day(10) });
        let mut allowance = Allowance::new(CONFIG, empty, day(400));
        let mut taken = 0;
        let mut kept = empty;
        for (step, days) in [400, 10, 400, 300, 399, 12].into_iter().enumerate() {
            if step % 2 == 1 {
                allowance = Allowance::new(CONFIG, kept, day(days));
            }
            for _ in 0..400 {
                let (slice, state) = allowance.take(Bytes(u64::MAX), day(days));
                kept = state.or(kept);
                taken += slice.0;
            }
        }
        assert_eq!(taken, CONFIG.per_day.0);
    }

    proptest! {
        /// The promise, in any window: whatever is asked for and put back, whatever crashes, however the clock is set.
        #[test]
        fn no_more_is_given_than_a_day_and_what_was_refilled(
            steps in prop::collection::vec((0_u8..10, 0_u64..400_000_000, 0_u64..2 * DAY), 1..60)
        ) {
            let mut now = day(3);
            let mut kept = None;
            let mut allowance = Allowance::new(CONFIG, kept, now);
            // What was used, and the time that has really passed, after each step.
            let mut sums = vec![(0_u64, 0_u64)];
            for (what, bytes, micros) in steps {
                let (mut used, mut passed) = sums[sums.len() - 1];
                match what {
                    0 => now = Time(now.0.saturating_sub(micros)),
                    1 | 2 => (now, passed) = (Time(now.0 + micros), passed + micros),
                    3 => allowance = Allowance::new(CONFIG, kept, now),
                    _ => {
                        let (slice, state) = allowance.take(Bytes(bytes), now);
                        kept = state.or(kept);
                        let unused = if what < 7 { 0 } else { slice.0 / 3 };
                        allowance.put_back(Bytes(unused));
                        used += slice.0 - unused;
                    }
                }
                sums.push((used, passed));
            }
            for (begin, &(used_before, passed_before)) in sums.iter().enumerate() {
                for &(used, passed) in &sums[begin..] {
                    let (used, passed) = (used - used_before, passed - passed_before);
                    let refilled = u128::from(CONFIG.per_day.0) * u128::from(passed) / u128::from(DAY);
                    let bound = u128::from(CONFIG.per_day.0 + CONFIG.founding.0) + refilled;
                    // A part of a byte may be left from before the window.
                    prop_assert!(u128::from(used) <= bound + 1, "{used} of {bound}");
                }
            }
        }
    }
}
