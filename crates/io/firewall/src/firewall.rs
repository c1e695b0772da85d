//! The firewall of one access point, from up to down.

mod tunnels;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::lookup::{interface_addresses, require_interface};
use crate::ruleset::{self, ALLOWANCE_USED, Marks};
use crate::shaping::{self, Trees, class_id};
use crate::state::{self, State, clean_up};
use crate::{Class, FirewallError, MacAddress, Settings, Warning, elements, tool};
use tunnels::Tunnel;

/// Bytes carried for one visitor, at layer 3: IPv4 headers and what they carry, not Ethernet's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// From the visitor to the Internet.
    pub up: u64,
    /// From the Internet to the visitor.
    pub down: u64,
}

/// An access point's firewall, in force. Taken down when dropped, if not before.
#[derive(Debug)]
pub struct Firewall {
    settings: Settings,
    state_file: PathBuf,
    trees: Trees,
    warnings: Vec<Warning>,
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
    /// Puts the firewall in force: writes the state file, applies the ruleset as one transaction, builds the
    /// queues, and lets the two interfaces forward. What a crashed run left behind is cleaned up first.
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
        clean_up(state_file)?;
        if elements::table_exists(&settings.table)? {
            return Err(FirewallError::TableTaken { table: settings.table });
        }
        let (trees, warnings) = shaping::plan(&settings)?;
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        let queues = trees.iter().map(|tree| tree.interface.clone()).collect();
        let forward = [settings.visitor_interface.as_str(), settings.uplink_interface.as_str()];
        let state = State::new(&settings.table, &forward, queues)?;
        state.write(state_file)?;
        let marks = Marks { down: trees.down.is_some(), up: trees.up.is_some() };
        if let Err(error) = tool::nft(&ruleset::render_marked(&settings, marks)) {
            // Nothing was made; a table of that name now would be somebody else's.
            state::remove(state_file)?;
            return Err(error);
        }
        // From here on, dropping cleans up.
        let firewall = Self {
            settings,
            state_file: state_file.to_owned(),
            trees,
            warnings,
            visitors: BTreeMap::new(),
            tunnels: BTreeMap::new(),
            is_up: true,
        };
        for tree in firewall.trees.iter() {
            tree.up()?;
        }
        state.forward()?;
        Ok(firewall)
    }

    /// Puts everything back as it was: forwarding, queues, table. Visits end uncounted: close them first.
    ///
    /// # Errors
    /// The system refuses; the state file stays, and [`clean_up`] may be tried again.
    pub fn down(mut self) -> Result<(), FirewallError> {
        self.is_up = false;
        clean_up(&self.state_file)
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

    /// Lets a visitor through to the Internet, both counts at nothing. Granting the same pair again only sets
    /// its class.
    ///
    /// # Errors
    /// An address that no visitor can have, or that another one has; too many visitors; or the system
    /// refuses, and then nothing is granted.
    pub fn grant(&mut self, mac: MacAddress, address: Ipv4Addr, class: Class) -> Result<(), FirewallError> {
        if !self.settings.may_be_visitor(address) {
            return Err(FirewallError::NotAVisitor { got: address });
        }
        self.check_holder(mac, address)?;
        if self.visitors.contains_key(&address) {
            return self.set_class(address, class);
        }
        let slot = self.free_slot()?;
        self.add_leaves(slot, class)?;
        let order = elements::grant(&self.settings.table, mac, address, &class_id(slot));
        if let Err(error) = tool::nft(&order) {
            self.remove_leaves(slot);
            return Err(error);
        }
        self.visitors.insert(address, Visitor { mac, slot, class });
        Ok(())
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
    /// counted: a packet would have to spend the milliseconds between the two programs inside the chains to
    /// be missed.
    ///
    /// # Errors
    /// No such visitor, or the system refuses. If it refuses after the gates are shut, the visitor is stopped
    /// and still listed; closing again reads the counts.
    pub fn close(&mut self, mac: MacAddress, address: Ipv4Addr) -> Result<Traffic, FirewallError> {
        let table = &self.settings.table;
        let visitor = match self.visitors.get(&address) {
            Some(visitor) if visitor.mac == mac => *visitor,
            _ => {
                return Err(FirewallError::NotGranted { address, got: Some(mac) });
            }
        };
        tool::nft(&elements::shut(table, mac, address))?;
        let counts = elements::read_counts(table)?;
        let (up, down) = counts.get(&address).copied().unwrap_or_default();
        tool::nft(&elements::forget(table, address))?;
        self.visitors.remove(&address);
        self.remove_leaves(visitor.slot);
        Ok(Traffic { up, down })
    }

    /// What was carried for each granted visitor so far.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn traffic(&self) -> Result<BTreeMap<(MacAddress, Ipv4Addr), Traffic>, FirewallError> {
        let counts = elements::read_counts(&self.settings.table)?;
        let of = |(address, visitor): (&Ipv4Addr, &Visitor)| {
            let (up, down) = counts.get(address).copied().unwrap_or_default();
            ((visitor.mac, *address), Traffic { up, down })
        };
        Ok(self.visitors.iter().map(of).collect())
    }

    /// Packets dropped so far, by reason. `not_granted` counts rejected ones too.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn drops(&self) -> Result<BTreeMap<String, u64>, FirewallError> {
        Ok(self.drops_and_allowance()?.0)
    }

    /// The same, and the bytes that tunnels without a grant have had of their allowances since the start.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn drops_and_allowance(&self) -> Result<(BTreeMap<String, u64>, u64), FirewallError> {
        let counters = elements::read_both(&self.settings.table)?;
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

    /// Removes a visitor's leaves. One that cannot be removed does no harm but to whoever gets its slot next.
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
        if let Err(error) = clean_up(&self.state_file) {
            tracing::warn!(%error, "the firewall could not be taken down");
        }
    }
}
