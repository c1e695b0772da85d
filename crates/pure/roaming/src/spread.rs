//! When receipts of several sessions are asked for: an equal step apart.
//!
//! A request, a receipt and its acknowledgement are a few hundred bytes on the air and a verification on the processor. Those
//! of guests that came together would come together in each interval, and a call's packets would wait for all of them at once.

use guestright_units::{Micros, Time};

/// The offset within an interval of `span` of number `index` of `of` sessions, in the unit of `span`. The lab's access points
/// spread emulated verifications by the same.
#[must_use]
pub fn even_offset(span: u64, index: u64, of: u64) -> u64 {
    // Below `span`, since `index` is below `of`.
    let offset = u128::from(span) * u128::from(index) / u128::from(of.max(1));
    u64::try_from(offset).unwrap_or(u64::MAX)
}

/// When a receipt that is due at `latest` is asked for: never later, and a quarter of the interval earlier at most. After four
/// intervals without a change every session has its own offset. A session alone is asked at the latest.
pub(crate) fn request_at(latest: Time, interval: Micros, index: usize, of: usize) -> Time {
    if of < 2 || interval.0 == 0 {
        return latest;
    }
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let offset = even_offset(interval.0, number(index), number(of));
    let early = (latest.0 % interval.0 + interval.0 - offset % interval.0) % interval.0;
    Time(latest.0.saturating_sub(early.min(interval.0 / 4)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERVAL: Micros = Micros::from_seconds(5);

    #[test]
    fn one_alone_is_asked_at_the_latest() {
        assert_eq!(request_at(Time(7_000_123), INTERVAL, 0, 1), Time(7_000_123));
    }

    proptest! {
        /// However they began, all have offsets an equal step apart after four intervals.
        #[test]
        fn requests_come_to_be_an_equal_step_apart(begins in prop::collection::vec(0_u64..100_000_000, 2..20)) {
            let of = begins.len();
            let mut offsets: Vec<u64> = begins.iter().enumerate().map(|(index, begin)| {
                let mut at = Time(INTERVAL.0 + begin);
                for _ in 0..4 {
                    let next = request_at(at + INTERVAL, INTERVAL, index, of);
                    assert!(next <= at + INTERVAL && next >= at + Micros(INTERVAL.0 / 4 * 3));
                    at = next;
                }
                at.0 % INTERVAL.0
            }).collect();
            offsets.sort_unstable();
            let step = INTERVAL.0 / of as u64;
            for pair in offsets.windows(2) {
                prop_assert!((pair[1] - pair[0]).abs_diff(step) <= 1, "{offsets:?}");
            }
        }
    }
}
