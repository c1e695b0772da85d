//! Grants for visitors that have nothing but a tunnel, and what was learned of those that have no grant.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use super::{Firewall, Grant, Reading, Traffic};
use crate::nftables::{Element, Found, Nftables, Order, Set};
use crate::shaping::class_handle;
use crate::{Class, FirewallError, Flow, MacAddress, elements};
use guestright_airtime::Counted;

/// Who passes: a visitor, and its tunnel's home if only that is granted.
pub type Passing = (MacAddress, Ipv4Addr, Option<Ipv4Addr>);

/// A visitor's tunnel that is let through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tunnel {
    pub(super) home: Ipv4Addr,
    pub(super) grant: Grant,
}

impl Firewall {
    /// Lets a visitor's tunnel to one home through for `most` bytes, both counts at nothing. Granting the same again only sets its
    /// class. Beside it the visitor may have a grant for everything, which then goes first.
    ///
    /// # Errors
    /// Tunnels are turned off, an address that no visitor can have, that another one has, or that has another tunnel;
    /// too many visitors; or the system refuses, and then nothing is granted.
    pub fn grant_tunnel(
        &mut self,
        mac: MacAddress,
        address: Ipv4Addr,
        home: Ipv4Addr,
        class: Class,
        most: u64,
    ) -> Result<(), FirewallError> {
        if self.settings.tunnels.is_none() {
            let got = "nothing".to_owned();
            return Err(FirewallError::Setting { name: "tunnels", got, want: "ports and allowances" });
        }
        if !self.settings.may_be_visitor(address) {
            return Err(FirewallError::NotAVisitor { got: address });
        }
        self.check_holder(mac, address)?;
        if let Some(tunnel) = self.tunnels.get(&address) {
            if tunnel.home != home {
                return Err(FirewallError::AddressTaken { address, holder: tunnel.grant.mac, got: mac });
            }
            return self.set_tunnel_class(address, class);
        }
        self.check_room()?;
        let tunnel = Tunnel { home, grant: Grant::new(mac, self.free_slot()?, class, most) };
        self.add_leaves(tunnel.grant.leaf)?;
        let orders = tunnel.grant(address, self.settings.lease());
        if let Err(error) = self.kernel.transact(&self.settings.table, &orders) {
            self.remove_leaves(tunnel.grant.leaf.slot);
            return Err(error);
        }
        self.tunnels.insert(address, tunnel);
        Ok(())
    }

    /// Serves a granted tunnel in another class.
    ///
    /// # Errors
    /// No such tunnel, or the system refuses.
    pub fn set_tunnel_class(&mut self, address: Ipv4Addr, class: Class) -> Result<(), FirewallError> {
        let before = self.tunnels.get(&address).map(|tunnel| tunnel.grant.leaf);
        let before = before.ok_or(FirewallError::NotGranted { address, got: None })?;
        let leaf = self.reclassify("tunnel_class", address, before, class)?;
        if let Some(tunnel) = self.tunnels.get_mut(&address) {
            tunnel.grant.leaf = leaf;
        }
        Ok(())
    }

    /// Stops a granted tunnel both ways at once and returns what was carried in all. What is left of the visitor's
    /// allowance is open to it again. Else as [`Firewall::close`].
    ///
    /// # Errors
    /// As [`Firewall::close`].
    pub fn close_tunnel(
        &mut self,
        mac: MacAddress,
        address: Ipv4Addr,
        home: Ipv4Addr,
    ) -> Result<Traffic, FirewallError> {
        let table = &self.settings.table;
        let tunnel = match self.tunnels.get(&address) {
            Some(tunnel) if tunnel.grant.mac == mac && tunnel.home == home => *tunnel,
            _ => return Err(FirewallError::NotGranted { address, got: Some(mac) }),
        };
        self.kernel.transact(table, &tunnel.shut(address))?;
        let counts = read_counts(&mut self.kernel, table)?;
        let used = tunnel.grant.before + counts.get(&(address, home)).copied().unwrap_or_default().into();
        self.kernel.transact(table, &tunnel.forget(address))?;
        self.tunnels.remove(&address);
        self.remove_leaves(tunnel.grant.leaf.slot);
        Ok(used)
    }

    /// What was carried for each granted tunnel so far: by visitor and home.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn tunnel_traffic(
        &mut self,
    ) -> Result<BTreeMap<(MacAddress, Ipv4Addr, Ipv4Addr), Traffic>, FirewallError> {
        Ok(self.read_tunnels()?.into_iter().map(|(tunnel, reading)| (tunnel, reading.used)).collect())
    }

    pub(super) fn read_tunnels(
        &mut self,
    ) -> Result<BTreeMap<(MacAddress, Ipv4Addr, Ipv4Addr), Reading>, FirewallError> {
        if self.tunnels.is_empty() {
            return Ok(BTreeMap::new()); // Mostly; and there may be no such sets.
        }
        let counts = read_counts(&mut self.kernel, &self.settings.table)?;
        let of = |(&address, tunnel): (&Ipv4Addr, &mut Tunnel)| {
            let reading = tunnel.grant.read(counts.get(&(address, tunnel.home)));
            ((tunnel.grant.mac, address, tunnel.home), reading)
        };
        Ok(self.tunnels.iter_mut().map(of).collect())
    }

    /// The tunnels without a grant that a home has answered within the last minute.
    ///
    /// # Errors
    /// They could not be read.
    pub fn flows(&mut self) -> Result<BTreeSet<Flow>, FirewallError> {
        if self.settings.tunnels.is_none() {
            return Ok(BTreeSet::new());
        }
        let found = self.kernel.elements(&self.settings.table, "tunnel_flows")?;
        let flow = |found: &Found| found.ends().map(|(visitor, home)| Flow { visitor, home });
        let all: BTreeSet<Flow> = found.iter().map(flow).collect::<Result<_, _>>()?;
        let granted = |flow: &Flow| {
            let tunnel = self.tunnels.get(flow.visitor.ip());
            tunnel.is_some_and(|tunnel| tunnel.home == *flow.home.ip())
        };
        Ok(all.into_iter().filter(|flow| !granted(flow)).collect())
    }

    /// An address has one holder, whatever is granted to it.
    pub(super) fn check_holder(&self, got: MacAddress, address: Ipv4Addr) -> Result<(), FirewallError> {
        let visitor = self.visitors.get(&address).map(|visitor| visitor.mac);
        let tunnel = self.tunnels.get(&address).map(|tunnel| tunnel.grant.mac);
        match visitor.into_iter().chain(tunnel).find(|holder| *holder != got) {
            Some(holder) => Err(FirewallError::AddressTaken { address, holder, got }),
            None => Ok(()),
        }
    }
}

impl Tunnel {
    /// One transaction that lets the tunnel of this visitor through until the lease is over, with both counts at nothing.
    pub(super) fn grant(&self, address: Ipv4Addr, time: Duration) -> Vec<Order> {
        let class = Element::new().address(address).class(class_handle(self.grant.leaf.slot));
        let [up, down] = self.counted(address);
        let rest = [up, down, ("tunnel_class", class)].into_iter().chain(self.held(address));
        rest.map(|(set, element)| Order::Add(set, element)).chain(self.renew(address, time)).collect()
    }

    /// Orders that keep its gates open for another lease.
    pub(super) fn renew(&self, address: Ipv4Addr, time: Duration) -> Vec<Order> {
        elements::renewed(self.gates(address), self.windows(address), self.grant.lease(time))
    }

    fn windows(&self, address: Ipv4Addr) -> [(Set, Element); 2] {
        let pair = || Element::new().address(address).address(self.home);
        [("tunnel_window", pair()), ("tunnel_window_end", pair())]
    }

    /// One transaction that stops it both ways, counts kept; a second attempt finds something to remove.
    fn shut(&self, address: Ipv4Addr) -> Vec<Order> {
        elements::removed(self.gates(address).into_iter().chain(self.held(address)))
    }

    /// One transaction that forgets it once its gates are shut.
    fn forget(&self, address: Ipv4Addr) -> Vec<Order> {
        let class = Element::new().address(address).class(class_handle(self.grant.leaf.slot));
        let rest = self.windows(address).into_iter().chain([("tunnel_class", class)]);
        elements::removed(self.counted(address).into_iter().chain(rest))
    }

    fn gates(&self, address: Ipv4Addr) -> [(Set, Element); 2] {
        let pair = || Element::new().address(address).address(self.home);
        let triple = Element::new().hardware(self.grant.mac).address(address).address(self.home);
        [("tunnel_open", pair()), ("tunnel_granted", triple)]
    }

    /// Whose address it is.
    fn held(&self, address: Ipv4Addr) -> [(Set, Element); 2] {
        let pair = elements::pair(self.grant.mac, address);
        [("tunnel_holders", pair), ("tunnel_held", Element::new().address(address))]
    }

    fn counted(&self, address: Ipv4Addr) -> [(Set, Element); 2] {
        let pair = || Element::new().address(address).address(self.home);
        [("tunnel_up", pair()), ("tunnel_down", pair())]
    }
}

type Counts = BTreeMap<(Ipv4Addr, Ipv4Addr), Counted>;

fn read_counts(kernel: &mut Nftables, table: &str) -> Result<Counts, FirewallError> {
    elements::read_directions(kernel, table, ["tunnel_up", "tunnel_down"], Found::addresses)
}
