//! How many messages each member and each other home may send.

use crate::peer::Party;
use guestright_units::Time;
use std::collections::BTreeMap;

/// The allowances of all who have sent something lately.
#[derive(Debug)]
pub(super) struct Rates {
    rate_max: u32,
    burst_max: u32,
    buckets: BTreeMap<Party, Bucket>,
}

impl Rates {
    /// So many messages a second of each party, and so many at once.
    pub(super) fn new(rate_max: u32, burst_max: u32) -> Self {
        Self { rate_max, burst_max, buckets: BTreeMap::new() }
    }

    /// Whether one more message of this party may be looked at.
    pub(super) fn admit(&mut self, party: &Party, now: Time) -> bool {
        let (rate, burst) = (self.rate_max, self.burst_max);
        let bucket = self.buckets.entry(party.clone()).or_insert_with(|| Bucket::new(burst, now));
        bucket.admit(rate, burst, now)
    }

    /// Forgets who has its whole allowance again: it is what everybody begins with.
    pub(super) fn forget_full(&mut self, now: Time) {
        let (rate, burst) = (self.rate_max, self.burst_max);
        self.buckets.retain(|_, bucket| !bucket.is_full(rate, burst, now));
    }
}

/// An allowance of messages.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// In millionths of a message.
    level: u64,
    filled: Time,
}

impl Bucket {
    fn new(burst: u32, now: Time) -> Self {
        Self { level: u64::from(burst) * 1_000_000, filled: now }
    }

    /// Takes one message's worth, if there is that much.
    fn admit(&mut self, rate: u32, burst: u32, now: Time) -> bool {
        self.level = self.level_at(rate, burst, now);
        self.filled = now;
        let enough = self.level >= 1_000_000;
        self.level -= if enough { 1_000_000 } else { 0 };
        enough
    }

    fn is_full(&self, rate: u32, burst: u32, now: Time) -> bool {
        self.level_at(rate, burst, now) == u64::from(burst) * 1_000_000
    }

    fn level_at(&self, rate: u32, burst: u32, now: Time) -> u64 {
        let more = now.since(self.filled).0.saturating_mul(u64::from(rate));
        self.level.saturating_add(more).min(u64::from(burst) * 1_000_000)
    }
}
