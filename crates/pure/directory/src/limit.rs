//! How often somebody may: token buckets, and a bounded table of them.

use guestright_ordered::OrderedMap;
use guestright_units::{Micros, Time};

/// So many at once, and one more after each span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) burst: u32,
    pub(crate) every: Micros,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// When it is full again.
    full_at: Time,
}

/// A pace for each of a bounded number of askers. Where there is no more room, those that have asked longest ago are
/// forgotten if their buckets are full; otherwise a newcomer has to wait.
#[derive(Clone, Debug)]
pub(crate) struct Paces<K> {
    pace: Pace,
    max: usize,
    buckets: OrderedMap<K, Bucket>,
}

impl<K: Ord + Clone> Paces<K> {
    pub(crate) fn new(pace: Pace, max: usize) -> Self {
        Self { pace, max, buckets: OrderedMap::new() }
    }

    /// Takes one, or says how long to wait.
    pub(crate) fn try_acquire(&mut self, key: &K, now: Time) -> Result<(), Micros> {
        if !self.buckets.contains_key(key) && self.buckets.len() >= self.max {
            self.buckets.retain(|_, bucket| bucket.full_at > now);
            if self.buckets.len() >= self.max {
                return Err(self.pace.every);
            }
        }
        let bucket = self.buckets.entry(key.clone()).or_insert(Bucket { full_at: now });
        let full_at = Time(bucket.full_at.0.max(now.0)) + self.pace.every;
        let depth = Micros(self.pace.every.0.saturating_mul(u64::from(self.pace.burst)));
        if full_at.since(now) > depth {
            return Err(Micros(full_at.since(now).0 - depth.0));
        }
        bucket.full_at = full_at;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_at_once_and_then_one_by_one() {
        let pace = Pace { burst: 3, every: Micros(100) };
        let mut paces = Paces::new(pace, 2);
        let now = Time(1_000);
        assert_eq!([(); 4].map(|()| paces.try_acquire(&1, now).is_ok()), [true, true, true, false]);
        assert_eq!(paces.try_acquire(&1, Time(1_040)), Err(Micros(60)));
        assert_eq!(paces.try_acquire(&1, Time(1_100)), Ok(()));
        assert_eq!(paces.try_acquire(&1, Time(1_100)), Err(Micros(100)));
        assert_eq!(paces.try_acquire(&2, now), Ok(()));
        assert_eq!(paces.try_acquire(&3, now), Err(Micros(100)), "there is no room");
        assert_eq!(paces.try_acquire(&3, Time(1_100)), Ok(()), "2 has not asked for long");
        assert_eq!(paces.try_acquire(&3, Time(u64::MAX)), Ok(()));
    }
}
