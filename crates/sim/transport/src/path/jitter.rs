//! Breaks ties at random.

use guestright_engine::{Instant, Nanos, Streams};
use rand::Rng;

/// A little time, another one each time.
///
/// Marsaglia's xorshift (Journal of Statistical Software 8(14), 2003; shifts 13, 7, 17): a few instructions for each packet
/// and hop. Nothing is asked of it but that it takes no side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jitter {
    state: u64,
    /// All times are below this, in nanoseconds; 0: none.
    below: u64,
}

impl Jitter {
    pub(super) fn new(below: Nanos, streams: &Streams) -> Self {
        // Zero would stay zero.
        let state = streams.stream("jitter", 0).next_u64() | 1;
        Self { state, below: below.0.min(u64::from(u32::MAX)) }
    }

    /// A little later.
    #[inline]
    pub(super) const fn after(&mut self, at: Instant) -> Instant {
        if self.below == 0 {
            return at;
        }
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        Instant(at.0 + (((self.state >> 32) * self.below) >> 32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_units::Seed;

    #[test]
    fn takes_each_time_equally_often_and_none_beyond() {
        let mut jitter = Jitter::new(Nanos(8), &Streams::new(Seed::from_number(1)));
        let mut counts = [0_u32; 8];
        for _ in 0..80_000 {
            counts[usize::try_from(jitter.after(Instant(5)).0 - 5).expect("few")] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn none_is_none() {
        let mut jitter = Jitter::new(Nanos(0), &Streams::new(Seed::from_number(1)));
        assert!((0..100).all(|at| jitter.after(Instant(at)) == Instant(at)));
    }
}
