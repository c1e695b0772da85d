//! The firewall of one access point, from up to down.

mod layers;
mod tunnels;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::elements::Lease;
use crate::lookup::{interface_addresses, require_interface};
use crate::nftables::Nftables;
use crate::ruleset::{self, ALLOWANCE_USED};
use crate::shaping::{self, Trees, class_handle};
use crate::state::{State, clean_up};
use crate::{Class, FirewallError, MacAddress, Settings, Warning, elements, offloading, tool};
use layers::Rules;
use tunnels::Tunnel;

pub use layers::{Comparison, Layers};

/// Bytes carried for one visitor, at layer 3: IPv4 headers and what they carry, not Ethernet's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// From the visitor to the Internet.
    pub up: u64,
    /// From the Internet to the visitor.
    pub down: u64,
}

impl Traffic {
    /// What is left of so many bytes, both ways together.
    fn left_of(self, most: u64) -> u64 {
        most.saturating_sub(self.up.saturating_add(self.down))
    }
}

impl std::ops::Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { up: self.up + other.up, down: self.down + other.down }
    }
}

/// An access point's firewall, in force. Taken down when dropped, if not before.
///
/// Five layers hold, each for itself ([`Layers`]): grants that the kernel ends unless they are renewed; routing that
/// prohibits what our table has not marked; a static filter before both; a table that nobody else can change, where
/// the kernel has such; and [`Firewall::reconcile`], which puts back what is gone.
#[derive(Debug)]
pub struct Firewall {
    settings: Settings,
    state: State,
    state_file: PathBuf,
    kernel: Nftables,
    trees: Trees,
    warnings: Vec<Warning>,
    layers: Layers,
    /// The rules of our table as the kernel has them.
    rules: Rules,
    visitors: BTreeMap<Ipv4Addr, Visitor>,
    /// Of each visitor at most one.
    tunnels: BTreeMap<Ipv4Addr, Tunnel>,
    is_up: bool,
}

#[derive(Clone, Copy, Debug)]
struct Visitor {
    mac: MacAddress,
    slot: u16,
    class: Class,
    /// How many bytes may pass in all.
    most: u64,
    /// What tables counted that are gone.
    before: Traffic,
    /// What was counted when it was last read.
    read: Traffic,
}

impl Visitor {
    /// For how long, and for how many bytes more, its gates are open.
    fn lease(&self, time: Duration) -> Lease {
        Lease { time, bytes: (self.before + self.read).left_of(self.most) }
    }
}

/// A gate that is to be kept open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The visitor's address.
    pub address: Ipv4Addr,
    /// The home of its tunnel, if only that is granted.
    pub home: Option<Ipv4Addr>,
    /// How many bytes may pass since it was granted, both ways together. What is beyond waits outside.
    pub most: u64,
}

/// Asks the kernel whether it would take the ruleset, and changes nothing.
///
/// # Errors
/// Settings that cannot be, or the kernel's objection.
pub fn check(settings: &Settings) -> Result<(), FirewallError> {
    let ruleset = ruleset::render(settings)?;
    tool::run("nft", &["--check", "-f", "-"], &ruleset).map(|_| ())
}

impl Firewall {
    /// Puts the firewall in force: writes the state file, puts up the layers that prohibit, then the ruleset as one
    /// transaction and the queues, and at last lets the two interfaces forward. What a crashed run left behind stays in
    /// force until it is replaced, so that nothing is open in between.
    ///
    /// # Errors
    /// Settings that cannot be, a table of our name that is not ours, another process of ours running, or the
    /// system refuses; then everything is as it was.
    pub fn up(settings: Settings, state_file: &Path) -> Result<Self, FirewallError> {
        settings.check()?;
        require_interface(&settings.visitor_interface)?;
        require_interface(&settings.uplink_interface)?;
        let addresses = interface_addresses(&settings.visitor_interface)?;
        if !addresses.iter().any(|(address, _)| *address == settings.access_point) {
            return Err(FirewallError::NoAddress {
                address: settings.access_point,
                prefix: settings.visitor_network.1,
                interface: settings.visitor_interface,
            });
        }
        offloading::refuse(&settings)?;
        let state = layers::take_over(&settings, state_file)?;
        let (trees, warnings) = shaping::plan(&settings)?;
        let queues = trees.iter().map(|tree| tree.interface.clone()).collect();
        let state = state.with_queues(queues);
        state.write(state_file)?;
        // From here on, dropping cleans up.
        let mut firewall = Self {
            state_file: state_file.to_owned(),
            kernel: Nftables::open()?,
            trees,
            warnings,
            layers: Layers::default(),
            rules: Rules::default(),
            visitors: BTreeMap::new(),
            tunnels: BTreeMap::new(),
            is_up: true,
            settings,
            state,
        };
        firewall.put_up()?;
        for warning in &firewall.warnings {
            tracing::warn!("{warning}");
        }
        Ok(firewall)
    }

    /// Puts everything back as it was: forwarding, queues, table, and last what prohibits. Visits end uncounted: close
    /// them first.
    ///
    /// # Errors
    /// The system refuses; the state file stays, and [`clean_up`] may be tried again.
    pub fn down(mut self) -> Result<(), FirewallError> {
        self.is_up = false;
        self.release();
        clean_up(&self.state_file)
    }

    /// Ends with everything in force, as a killed process does: nobody without a grant passes, and grants end by
    /// themselves. The next [`Firewall::up`] takes over; [`clean_up`] puts everything back.
    pub fn abandon(mut self) {
        self.is_up = false;
    }

    /// What is not as the settings asked.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Lets a visitor through to the Internet for `most` bytes, both counts at nothing. Granting the same pair again only
    /// sets its class.
    ///
    /// # Errors
    /// An address that no visitor can have, or that another one has; too many visitors; or the system
    /// refuses, and then nothing is granted.
    pub fn grant(
        &mut self,
        mac: MacAddress,
        address: Ipv4Addr,
        class: Class,
        most: u64,
    ) -> Result<(), FirewallError> {
        if !self.settings.may_be_visitor(address) {
            return Err(FirewallError::NotAVisitor { got: address });
        }
        self.check_holder(mac, address)?;
        if self.visitors.contains_key(&address) {
            return self.set_class(address, class);
        }
        let slot = self.free_slot()?;
        self.add_leaves(slot, class)?;
        let (before, read) = <(Traffic, Traffic)>::default();
        let visitor = Visitor { mac, slot, class, most, before, read };
        let lease = visitor.lease(self.settings.lease());
        let orders = elements::grant(mac, address, class_handle(slot), lease);
        if let Err(error) = self.kernel.transact(&self.settings.table, &orders) {
            self.remove_leaves(slot);
            return Err(error);
        }
        self.visitors.insert(address, visitor);
        Ok(())
    }

    /// Keeps the gates of these granted visitors and tunnels open for another lease ([`Settings::lease_ms`]), as far as what
    /// was last read leaves something of what may pass. Those that are not granted stay shut.
    ///
    /// # Errors
    /// The kernel refuses: then they shut when their leases are over.
    pub fn renew(&mut self, gates: &[Gate]) -> Result<(), FirewallError> {
        let lease = self.settings.lease();
        let mut orders = Vec::new();
        for Gate { address, home, most } in gates {
            match home {
                None => {
                    if let Some(visitor) = self.visitors.get_mut(address) {
                        visitor.most = *most;
                        orders.extend(elements::renew(visitor.mac, *address, visitor.lease(lease)));
                    }
                }
                Some(home) => {
                    let tunnel = self.tunnels.get_mut(address).filter(|tunnel| tunnel.home == *home);
                    if let Some(tunnel) = tunnel {
                        tunnel.most = *most;
                        orders.extend(tunnel.renew(*address, lease));
                    }
                }
            }
        }
        if orders.is_empty() { Ok(()) } else { self.kernel.transact(&self.settings.table, &orders) }
    }

    /// Moves a granted visitor to another class. Flows and counts go on.
    ///
    /// # Errors
    /// No such visitor, or the system refuses.
    pub fn set_class(&mut self, address: Ipv4Addr, class: Class) -> Result<(), FirewallError> {
        let visitor =
            self.visitors.get_mut(&address).ok_or(FirewallError::NotGranted { address, got: None })?;
        if visitor.class == class {
            return Ok(());
        }
        for tree in self.trees.iter() {
            tree.change(visitor.slot, class)?;
        }
        visitor.class = class;
        Ok(())
    }

    /// Stops a visitor's packets, of running flows too, both ways at once, and returns what was carried in
    /// all.
    ///
    /// The gates are shut in one transaction and the counts read after it, so every packet that passed is
    /// counted: a packet would have to spend the time between the two inside the chains to be missed.
    ///
    /// # Errors
    /// No such visitor, or the system refuses. Until it does what it is told the visitor is listed, and closing may be
    /// tried again; without [`Firewall::renew`] the gates shut when the lease is over.
    pub fn close(&mut self, mac: MacAddress, address: Ipv4Addr) -> Result<Traffic, FirewallError> {
        let table = &self.settings.table;
        let visitor = match self.visitors.get(&address) {
            Some(visitor) if visitor.mac == mac => *visitor,
            _ => {
                return Err(FirewallError::NotGranted { address, got: Some(mac) });
            }
        };
        self.kernel.transact(table, &elements::shut(mac, address))?;
        let counts = elements::read_counts(&mut self.kernel, table)?;
        let used = visitor.before + counts.get(&address).copied().unwrap_or_default();
        self.kernel.transact(table, &elements::forget(address, class_handle(visitor.slot)))?;
        self.visitors.remove(&address);
        self.remove_leaves(visitor.slot);
        Ok(used)
    }

    /// What was carried for each granted visitor so far.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn traffic(&mut self) -> Result<BTreeMap<(MacAddress, Ipv4Addr), Traffic>, FirewallError> {
        let counts = elements::read_counts(&mut self.kernel, &self.settings.table)?;
        let of = |(address, visitor): (&Ipv4Addr, &mut Visitor)| {
            visitor.read = counts.get(address).copied().unwrap_or_default();
            ((visitor.mac, *address), visitor.before + visitor.read)
        };
        Ok(self.visitors.iter_mut().map(of).collect())
    }

    /// Packets dropped so far, by reason. `not_granted` counts rejected ones too. What the static filter drops is not
    /// among them: [`Firewall::barred`].
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn drops(&mut self) -> Result<BTreeMap<String, u64>, FirewallError> {
        Ok(self.drops_and_allowance()?.0)
    }

    /// The same, and the bytes that tunnels without a grant have had of their allowances since the start.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn drops_and_allowance(&mut self) -> Result<(BTreeMap<String, u64>, u64), FirewallError> {
        let counters = self.kernel.counters(&self.settings.table)?;
        let used = counters.get(ALLOWANCE_USED).map_or(0, |count| count.bytes);
        let drops = counters.into_iter().filter(|(name, _)| name != ALLOWANCE_USED);
        Ok((drops.map(|(name, count)| (name, count.packets)).collect(), used))
    }

    fn free_slot(&self) -> Result<u16, FirewallError> {
        let max = self.settings.limits.visitors_max;
        let tunnels = self.tunnels.values().map(|tunnel| tunnel.slot);
        let used: BTreeSet<u16> = self.visitors.values().map(|visitor| visitor.slot).chain(tunnels).collect();
        (0..max).find(|slot| !used.contains(slot)).ok_or(FirewallError::Full { max })
    }

    fn add_leaves(&self, slot: u16, class: Class) -> Result<(), FirewallError> {
        for tree in self.trees.iter() {
            if let Err(error) = tree.add(slot, class) {
                self.remove_leaves(slot);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes a visitor's leaves. One that cannot be removed is replaced by that of whoever gets its slot next.
    fn remove_leaves(&self, slot: u16) {
        for tree in self.trees.iter() {
            if let Err(error) = tree.remove(slot) {
                tracing::debug!(%error, "a visitor's queue could not be removed");
            }
        }
    }
}

impl Drop for Firewall {
    fn drop(&mut self) {
        if !self.is_up {
            return;
        }
        self.release();
        if let Err(error) = clean_up(&self.state_file) {
            tracing::warn!(%error, "the firewall could not be taken down");
        }
    }
}
