//! Packets and bytes of those who pass, direction by direction, for the meter of calls.

use super::Firewall;
use crate::elements::read_set;
use crate::{FirewallError, MacAddress};
use guestright_airtime::Counted;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// A visitor, and its tunnel's home if only that is granted.
pub type Passing = (MacAddress, Ipv4Addr, Option<Ipv4Addr>);

impl Firewall {
    /// What the kernel has counted of each who passes since its gate was opened, or since the table was put back: it may be
    /// less than before.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn counted(&mut self) -> Result<Vec<(Passing, Counted)>, FirewallError> {
        let table = &self.settings.table;
        let mut visitors = BTreeMap::<Ipv4Addr, Counted>::new();
        for (found, count) in read_set(&mut self.kernel, table, "up")? {
            visitors.entry(found.address()?).or_default().up = count;
        }
        for (found, count) in read_set(&mut self.kernel, table, "down")? {
            visitors.entry(found.address()?).or_default().down = count;
        }
        let of = |(address, counted)| Some(((self.visitors.get(&address)?.mac, address, None), counted));
        let mut all: Vec<_> = visitors.into_iter().filter_map(of).collect();
        if self.tunnels.is_empty() {
            return Ok(all); // There may be no such sets.
        }
        let mut tunnels = BTreeMap::<(Ipv4Addr, Ipv4Addr), Counted>::new();
        for (found, count) in read_set(&mut self.kernel, table, "tunnel_up")? {
            tunnels.entry(found.addresses()?).or_default().up = count;
        }
        for (found, count) in read_set(&mut self.kernel, table, "tunnel_down")? {
            tunnels.entry(found.addresses()?).or_default().down = count;
        }
        all.extend(tunnels.into_iter().filter_map(|((address, home), counted)| {
            let tunnel = self.tunnels.get(&address).filter(|tunnel| tunnel.home == home)?;
            Some(((tunnel.grant.mac, address, Some(home)), counted))
        }));
        Ok(all)
    }
}
