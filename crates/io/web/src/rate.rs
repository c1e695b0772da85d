//! How often somebody may ask: a token bucket for each peer, and a limit of how many buckets there are.

use crate::Peer;
use guestright_units::{Micros, Time};
use std::collections::BTreeMap;

/// A bucket of `burst_max` requests that fills by one in each `refill`.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How many may come at once.
    pub burst_max: u32,
    /// One more may come after so long.
    pub refill: Micros,
    /// How many peers have a bucket of their own. Whoever comes when all are in use shares one with all such.
    pub peers_max: usize,
}

/// Buckets of all peers.
#[derive(Debug)]
pub struct Rates {
    config: Config,
    /// When each bucket will be full again. One that is full need not be remembered.
    full_at: BTreeMap<Peer, Time>,
    others_full_at: Time,
}

impl Rates {
    pub fn new(config: Config) -> Self {
        Self { config, full_at: BTreeMap::new(), others_full_at: Time(0) }
    }

    /// Whether the peer may ask now; if so, that counts as one.
    pub fn admit(&mut self, peer: Peer, now: Time) -> bool {
        let config = self.config;
        let full_at = self.bucket(peer, now);
        match Self::after_one_more(config, *full_at, now) {
            Some(later) => {
                *full_at = later;
                true
            }
            None => false,
        }
    }

    /// Whether the peer could ask now. Counts nothing.
    pub fn could_ask(&self, peer: Peer, now: Time) -> bool {
        let has_room = self.full_at.len() < self.config.peers_max;
        let full_at =
            self.full_at.get(&peer).copied().unwrap_or(if has_room { Time(0) } else { self.others_full_at });
        Self::after_one_more(self.config, full_at, now).is_some()
    }

    /// The bucket's time, one request later: `None` if it is empty (generic cell rate algorithm, ITU-T I.371, annex A).
    fn after_one_more(config: Config, full_at: Time, now: Time) -> Option<Time> {
        let later = full_at.max(now) + config.refill;
        let depth = Micros(config.refill.0.saturating_mul(u64::from(config.burst_max)));
        (later.since(now) <= depth).then_some(later)
    }

    fn bucket(&mut self, peer: Peer, now: Time) -> &mut Time {
        if !self.full_at.contains_key(&peer) && self.full_at.len() >= self.config.peers_max {
            self.full_at.retain(|_, full_at| *full_at > now);
            // Nobody's bucket makes room for another's: a full table could else be emptied by whoever has many addresses.
            if self.full_at.len() >= self.config.peers_max {
                return &mut self.others_full_at;
            }
        }
        self.full_at.entry(peer).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    const CONFIG: Config = Config { burst_max: 50, refill: Micros(20_000), peers_max: 4 };

    fn peer(number: u8) -> Peer {
        Peer::from(std::net::IpAddr::from(Ipv4Addr::new(192, 0, 2, number)))
    }

    fn admitted(rates: &mut Rates, peer: Peer, times: u32, now: Time) -> u32 {
        (0..times).map(|_| u32::from(rates.admit(peer, now))).sum()
    }

    #[test]
    fn fifty_at_once_and_then_fifty_a_second() {
        let mut rates = Rates::new(CONFIG);
        let second = |n: u64| Time(n * 1_000_000);
        assert_eq!(admitted(&mut rates, peer(1), 10_000, second(5)), 50);
        assert!(!rates.could_ask(peer(1), second(5)) && rates.could_ask(peer(2), second(5)));
        assert_eq!(admitted(&mut rates, peer(1), 10_000, Time(5_019_999)), 0);
        assert_eq!(admitted(&mut rates, peer(1), 10_000, second(6)), 50);
        assert_eq!(admitted(&mut rates, peer(2), 10_000, second(6)), 50, "another's bucket is its own");
    }

    #[test]
    fn whoever_has_many_addresses_gets_one_bucket_more_and_no_others() {
        let mut rates = Rates::new(CONFIG);
        let now = Time(1);
        for number in 1..=4 {
            assert_eq!(admitted(&mut rates, peer(number), 10, now), 10);
        }
        let sum: u32 = (5..=255).map(|number| admitted(&mut rates, peer(number), 50, now)).sum();
        assert_eq!(sum, 50, "all others share one");
        assert_eq!(admitted(&mut rates, peer(1), 50, now), 40, "and who was there keeps its own");
        assert_eq!(admitted(&mut rates, peer(9), 50, Time(2_000_000)), 50, "idle ones make room");
    }

    proptest! {
        /// Over any time, nobody gets more than the burst and the refill.
        #[test]
        fn nobody_gets_more_than_its_share(gaps in prop::collection::vec(0_u64..60_000, 1..400)) {
            let mut rates = Rates::new(CONFIG);
            let (mut now, mut got) = (Time(0), 0_u64);
            for gap in gaps {
                now = now + Micros(gap);
                got += u64::from(rates.admit(peer(1), now));
                prop_assert!(got <= 50 + now.0 / 20_000);
            }
        }
    }
}
