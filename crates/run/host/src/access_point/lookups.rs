//! Whose address that is: the hardware address of somebody who has spoken.

use super::inbox::{Meter, Pace};
use crate::log_pace::LogPace;
use guestright_firewall as firewall;
use guestright_units::Time;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::time::Instant;

/// So often the link is asked whose an address is; each time the kernel asks three times at most, by broadcast (`mcast_solicit` in
/// arp(7)).
const ASKED: Pace = Pace { per_second: 20, burst: 40 };
/// For so long an address is not asked for again: the kernel asks on by itself, and whoever repeats it takes nothing from others.
const ASKING: Duration = Duration::from_secs(1);
/// So many addresses are remembered that are asked for. The pace allows fewer.
const ASKING_MAX: usize = 256;

/// Looks hardware addresses up.
pub(super) struct Lookups {
    asked: Meter,
    /// What is asked for, and since when.
    asking: BTreeMap<Ipv4Addr, Instant>,
    /// What could not be looked up; strangers can cause it as often as they like.
    lines: LogPace,
}

impl Default for Lookups {
    fn default() -> Self {
        let asked = Meter::new(ASKED, Instant::now());
        Self { asked, asking: BTreeMap::new(), lines: LogPace::default() }
    }
}

impl Lookups {
    /// What the kernel knows. Where it knows nothing it is made to ask the link, and the answer is there when the visitor repeats what it
    /// has said: made-up addresses cost no more than so many questions a second.
    pub(super) fn hardware_address(&mut self, ip: Ipv4Addr, interface: &str, now: Time) -> Option<[u8; 6]> {
        let found = firewall::neighbour(ip, interface).and_then(|found| match found {
            None if self.may_ask(ip, Instant::now()) => firewall::resolve(ip, interface).map(|()| None),
            found => Ok(found),
        });
        let found = found.unwrap_or_else(|error| {
            match self.lines.next(now) {
                Some(unsaid) => {
                    tracing::warn!(%error, unsaid, "a visitor's hardware address could not be looked up");
                }
                None => tracing::debug!(%error, "a visitor's hardware address could not be looked up"),
            }
            None
        });
        found.map(firewall::MacAddress::bytes)
    }

    fn may_ask(&mut self, ip: Ipv4Addr, now: Instant) -> bool {
        self.asking.retain(|_, since| now.duration_since(*since) < ASKING);
        let is_new = !self.asking.contains_key(&ip) && self.asking.len() < ASKING_MAX;
        let may = is_new && self.asked.due() <= now;
        if may {
            self.asked.count(now);
            self.asking.insert(ip, now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_repeats_itself_takes_no_questions_from_others() {
        let mut lookups = Lookups::default();
        let now = Instant::now();
        let address = |last| Ipv4Addr::new(10, 0, 0, last);
        let asked = (0..200).filter(|_| lookups.may_ask(address(1), now)).count();
        assert_eq!(asked, 1);
        let burst = usize::try_from(ASKED.burst).unwrap();
        let others = (2..=200).filter(|last| lookups.may_ask(address(*last), now)).count();
        assert_eq!(others, burst - 1, "made-up addresses have a pace");
        assert!(lookups.may_ask(address(1), now + ASKING), "the next question");
        assert!(!lookups.may_ask(address(1), now + ASKING + ASKING / 2));
    }
}
