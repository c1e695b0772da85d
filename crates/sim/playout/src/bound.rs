//! The least mean playout delay for each number of late packets, in hindsight (S. B. Moon, J. Kurose, D. Towsley, "Packet
//! audio playout delay adjustment: performance bounds and algorithms", Multimedia Systems 6, 1998).
//!
//! Every talkspurt has one delay, or is left out. If `j` packets of it are to be played, its delay is at least the `j`th
//! smallest of its packets' delays. It does not begin before the one before has ended, so its delay is also at least what
//! is left of that one's. The programme goes through the talkspurts; for each number of packets late so far and each time
//! at which the last talkspurt may end, it keeps the least sum of delays. Of two ends with the same number late, a later
//! one with no smaller sum is forgotten; ends that hinder no talkspurt to come are one.
//!
//! With `n` packets that came, `l` allowed to be late and `e` ends kept at a time, it takes `O(n l e)` time and `O(l e)`
//! memory. Without talkspurts that collide `e` is 1, and it is the recursion of the paper.

/// A talkspurt, as the bound sees it. Times are in µs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Talkspurt {
    /// When its first packet was made, by the sender's clock.
    pub first: i64,
    /// When the sound of its last packet ends, by the same clock.
    pub end: i64,
    /// Delays of the packets that came, in rising order.
    pub delays: Vec<i64>,
}

/// The least sums of delays for each number of late packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Packets that came.
    came: usize,
    /// For each number of late packets: the least sum of the others' delays.
    sums: Vec<Option<i128>>,
}

/// For one number of late packets: ends of the last talkspurt that rise, with sums that fall.
type Front = Vec<(i64, i128)>;

/// Nothing is being played.
const FREE: i64 = i64::MIN;

impl Bound {
    /// For up to `late_max` late packets.
    #[must_use]
    pub fn new(talkspurts: &[Talkspurt], late_max: usize) -> Self {
        let came = talkspurts.iter().map(|spurt| spurt.delays.len()).sum();
        let late_max = late_max.min(came);
        let mut fronts: Vec<Front> = vec![Vec::new(); late_max + 1];
        fronts[0].push((FREE, 0));
        for (index, spurt) in talkspurts.iter().enumerate() {
            let hinders = first_hindered(&talkspurts[index + 1..]);
            let mut next: Vec<Front> = vec![Vec::new(); late_max + 1];
            for (late, front) in fronts.iter().enumerate() {
                for &(free_from, sum) in front {
                    extend(&mut next, spurt, (late, free_from, sum), hinders);
                }
            }
            next.iter_mut().for_each(keep_best);
            fronts = next;
        }
        let sums = fronts.iter().map(|front| front.iter().map(|(_, sum)| *sum).min()).collect();
        Self { came, sums }
    }

    /// Packets that came.
    #[must_use]
    pub const fn came(&self) -> usize {
        self.came
    }

    /// The least mean delay of what is played with exactly `late` packets late, in µs. `None` if nothing is left, no
    /// choice makes that many late, or more than was asked for.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "sums of delays of one call in µs are far below 2^52")]
    pub fn mean_us(&self, late: usize) -> Option<f64> {
        let sum = self.sums.get(late).copied().flatten()?;
        let played = self.came.checked_sub(late).filter(|played| *played > 0)?;
        Some(sum as f64 / played as f64)
    }

    /// The least mean delay with at most `late` packets late, in µs.
    #[must_use]
    pub fn at_most(&self, late: usize) -> Option<f64> {
        (0..=late).filter_map(|late| self.mean_us(late)).min_by(f64::total_cmp)
    }
}

/// An end up to here hinders none of the talkspurts to come: none has a packet that could be played sooner.
fn first_hindered(rest: &[Talkspurt]) -> i64 {
    let first = |spurt: &Talkspurt| spurt.delays.first().map(|least| spurt.first + least);
    rest.iter().filter_map(first).min().unwrap_or(i64::MAX)
}

/// Every useful delay of a talkspurt after one state, and leaving it out.
fn extend(next: &mut [Front], spurt: &Talkspurt, (late, free_from, sum): (usize, i64, i128), hinders: i64) {
    let came = spurt.delays.len();
    let may_be_late = next.len() - 1 - late;
    if came <= may_be_late {
        next[late + came].push((free_from, sum));
    }
    let least = free_from.saturating_sub(spurt.first);
    let mut played = came.saturating_sub(may_be_late).max(1);
    while played <= came {
        let delay = spurt.delays[played - 1].max(least);
        // All that come no later are played as well.
        played = spurt.delays.partition_point(|other| *other <= delay);
        let end = spurt.end + delay;
        let end = if end <= hinders { FREE } else { end };
        next[late + came - played].push((end, sum + i128::from(delay) * played as i128));
        played += 1;
    }
}

/// Forgets every state that has a better one: no later an end, no larger a sum.
fn keep_best(front: &mut Front) {
    front.sort_unstable();
    let mut least = None;
    front.retain(|(_, sum)| {
        let is_better = least.is_none_or(|least| *sum < least);
        if is_better {
            least = Some(*sum);
        }
        is_better
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Talkspurts at these times with these delays; each packet is 2 long, and they follow each other without a gap.
    fn spurts(of: &[(i64, &[i64])]) -> Vec<Talkspurt> {
        let one = |(first, delays): &(i64, &[i64])| {
            let mut sorted = delays.to_vec();
            sorted.sort_unstable();
            Talkspurt { first: *first, end: first + 2 * delays.len() as i64, delays: sorted }
        };
        of.iter().map(one).collect()
    }

    #[test]
    fn one_talkspurt_by_hand() {
        let bound = Bound::new(&spurts(&[(0, &[30, 10, 12])]), 3);
        assert_eq!([0, 1, 2, 3].map(|late| bound.mean_us(late)), [Some(30.0), Some(12.0), Some(10.0), None]);
        assert_eq!((bound.at_most(1), bound.came()), (Some(12.0), 3));
    }

    /// Leaving out the one long delay of the long talkspurt saves more than those of the short one.
    #[test]
    fn the_best_packet_to_lose_is_found_among_all() {
        let far = spurts(&[(0, &[10, 10, 10, 90]), (1_000, &[10, 80])]);
        let bound = Bound::new(&far, 2);
        let want = [(4.0 * 90.0 + 2.0 * 80.0) / 6.0, (3.0 * 10.0 + 2.0 * 80.0) / 5.0, 10.0];
        assert_eq!([0, 1, 2].map(|late| bound.mean_us(late)), want.map(Some));
    }

    /// The first one ends at 4 + 50; the second cannot begin before, though it could at 10 + 5.
    #[test]
    fn a_talkspurt_waits_for_the_end_of_the_one_before() {
        let bound = Bound::new(&spurts(&[(0, &[50, 50]), (10, &[5, 5])]), 0);
        assert_eq!(bound.mean_us(0), Some((50.0 + 50.0 + 44.0 + 44.0) / 4.0));
        // With two late, it is better to leave out the first altogether.
        let bound = Bound::new(&spurts(&[(0, &[50, 50]), (10, &[5, 5])]), 2);
        assert_eq!(bound.mean_us(2), Some(5.0));
    }

    #[test]
    fn nothing_has_no_bound() {
        assert_eq!(Bound::new(&[], 5).mean_us(0), None);
        assert_eq!(Bound::new(&spurts(&[(0, &[])]), 0).at_most(0), None);
    }

    /// Every whole delay for every talkspurt, and leaving each out: the least sum for each number late.
    fn by_force(spurts: &[Talkspurt], delay_max: i64) -> Vec<Option<i128>> {
        fn go(
            spurts: &[Talkspurt],
            free_from: i64,
            late: usize,
            sum: i128,
            delay_max: i64,
            best: &mut Vec<Option<i128>>,
        ) {
            let Some((spurt, rest)) = spurts.split_first() else {
                best[late] = Some(best[late].map_or(sum, |before| before.min(sum)));
                return;
            };
            let came = spurt.delays.len();
            go(rest, free_from, late + came, sum, delay_max, best);
            for delay in 0..=delay_max {
                let played = spurt.delays.iter().filter(|other| **other <= delay).count();
                if spurt.first + delay >= free_from && played > 0 {
                    let sum = sum + i128::from(delay) * played as i128;
                    go(rest, spurt.end + delay, late + came - played, sum, delay_max, best);
                }
            }
        }
        let came: usize = spurts.iter().map(|spurt| spurt.delays.len()).sum();
        let mut best = vec![None; came + 1];
        go(spurts, FREE, 0, 0, delay_max, &mut best);
        best
    }

    /// Gaps and delays so small that talkspurts collide often.
    fn small() -> impl Strategy<Value = Vec<Talkspurt>> {
        prop::collection::vec((0_i64..6, prop::collection::vec(0_i64..8, 0..4)), 1..5).prop_map(|list| {
            let mut from = 0;
            let one = |(gap, mut delays): (i64, Vec<i64>)| {
                delays.sort_unstable();
                let first = from + gap;
                from = first + 2 * delays.len() as i64;
                Talkspurt { first, end: from, delays }
            };
            list.into_iter().map(one).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// The programme against trying everything. A talkspurt may have to wait for all those before it: 4 of them.
        #[test]
        fn is_what_trying_everything_finds(spurts in small()) {
            let came = spurts.iter().map(|spurt| spurt.delays.len()).sum::<usize>();
            let bound = Bound::new(&spurts, came);
            let want = by_force(&spurts, 16);
            prop_assert_eq!(&bound.sums, &want[..=came], "{:?}", &spurts);
        }

        /// A smaller limit changes nothing below it.
        #[test]
        fn a_limit_only_cuts_off(spurts in small(), limit in 0_usize..8) {
            let all = Bound::new(&spurts, usize::MAX);
            let some = Bound::new(&spurts, limit);
            for (late, sum) in some.sums.iter().enumerate() {
                prop_assert_eq!(*sum, all.sums[late]);
            }
        }
    }
}
