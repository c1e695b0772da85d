//! Whose address that is: the hardware address of somebody who has spoken.

use super::inbox::{Meter, Pace};
use guestright_firewall as firewall;
use std::net::Ipv4Addr;
use tokio::time::Instant;

/// So often the link is asked whose an address is; each time the kernel asks three times at most, by broadcast (`mcast_solicit` in
/// arp(7)).
const ASKED: Pace = Pace { per_second: 20, burst: 40 };

/// Looks hardware addresses up.
pub(super) struct Lookups {
    asked: Meter,
}

impl Default for Lookups {
    fn default() -> Self {
        Self { asked: Meter::new(ASKED, Instant::now()) }
    }
}

impl Lookups {
    /// What the kernel knows. Where it knows nothing it is made to ask the link, and the answer is there when the visitor repeats what it
    /// has said: made-up addresses cost no more than so many questions a second.
    pub(super) fn hardware_address(&mut self, ip: Ipv4Addr, interface: &str) -> Option<[u8; 6]> {
        let found = firewall::neighbour(ip, interface).and_then(|found| match found {
            None if self.may_ask() => firewall::resolve(ip, interface).map(|()| None),
            found => Ok(found),
        });
        let found = found.unwrap_or_else(|error| {
            tracing::warn!(%error, "a visitor's hardware address could not be looked up");
            None
        });
        found.map(firewall::MacAddress::bytes)
    }

    fn may_ask(&mut self) -> bool {
        let now = Instant::now();
        let may = self.asked.due() <= now;
        if may {
            self.asked.count(now);
        }
        may
    }
}
