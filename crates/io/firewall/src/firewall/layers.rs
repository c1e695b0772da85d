//! The layers that keep guests out, put up, compared with what should be, and put back.

use std::path::Path;

use super::Firewall;
use crate::changes::OwnSets;
use crate::lookup::{interface_addresses, interface_exists, own_addresses, require_interface};
use crate::nftables::Nftables;
use crate::policy_routing::Prohibition;
use crate::ruleset::{self, Marks};
use crate::shaping::{Leaf, Tree, class_handle};
use crate::state::{State, left_behind};
use crate::{Changes, FirewallError, Settings, Warning, elements, offloading, static_filter, tool};

/// Which of the layers are in force that not every kernel has, or that may be lost for a while. Grants that end by
/// themselves are always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Routing prohibits what our table has not marked.
    pub routing: bool,
    /// A static filter guards the router's own ports and the household.
    pub static_filter: bool,
    /// Nobody else can change our table.
    pub owned_table: bool,
}

/// What of the firewall can be put back, as [`Comparison::mended`] names it.
pub const MENDED: [&str; 7] = [
    "routing rules",
    "a bridge's new port",
    "the static filter",
    "the nftables table",
    "grants that were not ours",
    "queues",
    "forwarding",
];

/// What a comparison with what should be has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// What was put back, in words.
    pub mended: Vec<&'static str>,
    /// Why something could not be looked at. It is taken for being as it was: to look takes processes, which a computer
    /// that is at its limits does not have, and what holds needs none.
    pub unseen: Option<FirewallError>,
}

impl Comparison {
    /// What was seen, or what stands for it where nothing was.
    fn look<T>(&mut self, seen: Result<T, FirewallError>, otherwise: T) -> T {
        seen.unwrap_or_else(|error| {
            self.unseen.get_or_insert(error);
            otherwise
        })
    }
}

/// Chains, rules and the household's networks of our table, as the kernel tells them: to see whether somebody has
/// changed them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    all: Vec<Vec<u8>>,
}

impl Rules {
    fn read(kernel: &mut Nftables, table: &str) -> Result<Self, FirewallError> {
        let mut all = kernel.rules(table)?;
        if !all.is_empty() {
            all.extend(kernel.elements(table, "household")?.into_iter().map(|found| found.into_key()));
        }
        Ok(Self { all })
    }
}

/// What is about to be changed, in the place of what an ended run left behind. That stays in force where it is for the
/// same interfaces, so that nothing opens in between; else it is undone.
pub(super) fn take_over(settings: &Settings, state_file: &Path) -> Result<State, FirewallError> {
    let new = || {
        let forward = [settings.visitor_interface.as_str(), settings.uplink_interface.as_str()];
        let state = State::new(&settings.table, &forward, Vec::new())?;
        Ok::<_, FirewallError>(state.with_prohibition(Prohibition::new(settings)?))
    };
    let Some(earlier) = left_behind(state_file)? else {
        if elements::table_exists(&settings.table)? {
            return Err(FirewallError::TableTaken { table: settings.table.clone() });
        }
        return new();
    };
    match new()?.succeeding(&earlier) {
        Some(state) => {
            earlier.clear_queues()?;
            Ok(state)
        }
        None => {
            earlier.undo()?;
            new()
        }
    }
}

impl Firewall {
    /// Puts everything in force, what prohibits first.
    pub(super) fn put_up(&mut self) -> Result<(), FirewallError> {
        if let Some(prohibition) = self.state.prohibition() {
            prohibition.up()?;
        }
        self.layers.routing = true;
        self.put_static_filter()?;
        self.put_table()?;
        for tree in self.trees.iter() {
            tree.up()?;
        }
        self.state.forward()
    }

    fn put_static_filter(&mut self) -> Result<(), FirewallError> {
        let own = own_addresses()?;
        self.layers.static_filter = true;
        let guarded: Vec<String> = self.guarded();
        for interface in guarded.iter().filter(|interface| interface_exists(interface)) {
            if let Err(error) = static_filter::replace(interface, &self.settings, &own) {
                self.layers.static_filter = false;
                self.warn(Warning::NoStaticFilter { reason: error.to_string() });
            }
        }
        Ok(())
    }

    fn guarded(&self) -> Vec<String> {
        self.state.prohibition().into_iter().flat_map(Prohibition::guarded).cloned().collect()
    }

    fn static_filter_is_in_force(&self) -> Result<bool, FirewallError> {
        let own = own_addresses()?;
        for interface in self.guarded().iter().filter(|interface| interface_exists(interface)) {
            if !static_filter::is_in_force(interface, &self.settings, &own)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn guard(&mut self, prohibition: Prohibition) -> Result<(), FirewallError> {
        self.state = self.state.clone().with_prohibition(prohibition.clone());
        self.state.write(&self.state_file)?;
        prohibition.up()?;
        self.put_static_filter()
    }

    /// Makes our table anew, in the place of one that may be there.
    fn put_table(&mut self) -> Result<(), FirewallError> {
        let table = self.settings.table.clone();
        let marks = Marks { down: self.trees.down.is_some(), up: self.trees.up.is_some() };
        let ruleset = ruleset::render_marked(&self.settings, marks) + &self.state.note();
        let is_there = elements::table_exists(&table)?;
        self.layers.owned_table = false;
        if self.settings.own_table {
            match self.put_owned_table(&ruleset, is_there) {
                Ok(()) => self.layers.owned_table = true,
                Err(error) => self.warn(Warning::NoOwner { reason: error.to_string() }),
            }
        }
        if !self.layers.owned_table {
            let is_there = elements::table_exists(&table)?;
            let delete = if is_there { format!("delete table inet {table}\n") } else { String::new() };
            tool::nft(&(delete + &ruleset))?;
        }
        self.rules = Rules::read(&mut self.kernel, &table)?;
        Ok(())
    }

    /// Not one transaction: until it is whole, the other layers hold alone.
    fn put_owned_table(&mut self, ruleset: &str, is_there: bool) -> Result<(), FirewallError> {
        let table = self.settings.table.clone();
        if is_there {
            self.kernel.delete_table(&table)?;
        }
        self.kernel.make_persistent_table(&table)?;
        tool::nft(&ruleset::flat(ruleset, &table))?;
        self.kernel.own_table(&table)
    }

    fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Makes the table anyone's, so that it can be removed as text says it.
    pub(super) fn release(&mut self) {
        if self.layers.owned_table
            && let Err(error) = self.kernel.delete_table(&self.settings.table)
        {
            tracing::warn!(%error, "our table could not be removed");
        }
    }

    /// Begins to listen for changes of all that [`Firewall::reconcile`] puts back, in the network namespace of the calling thread,
    /// until the result is dropped. `on_change` is called as [`Changes::watch`] calls it.
    ///
    /// # Errors
    /// As [`Changes::watch`].
    pub fn watch(&self, on_change: impl Fn() + Send + 'static) -> Result<Changes, FirewallError> {
        let sets = OwnSets { table: self.settings.table.clone(), port: self.kernel.port()? };
        Changes::watch_layers(sets, on_change)
    }

    /// Which layers are in force.
    #[must_use]
    pub fn layers(&self) -> Layers {
        self.layers
    }

    /// Whether marks still count against a strict reverse path filter, which would drop all that is granted without them. The one
    /// part of the layers that [`Firewall::watch`] does not learn of; this reads two files.
    #[must_use]
    pub fn marks_count(&self) -> bool {
        self.state.prohibition().is_none_or(Prohibition::marks_count)
    }

    /// Packets that the static filter has dropped: to the router's other ports, to the household, or not IPv4.
    ///
    /// # Errors
    /// The count could not be read.
    pub fn barred(&self) -> Result<u64, FirewallError> {
        self.guarded()
            .iter()
            .filter(|interface| interface_exists(interface))
            .map(|it| static_filter::drops(it))
            .sum()
    }

    /// Compares everything with what should be, and puts back what is not so.
    ///
    /// That takes other programs and, on a busy computer, longer than a lease: `meanwhile` is called between its parts, and
    /// may renew, grant and close.
    ///
    /// # Errors
    /// [`FirewallError::NoInterface`] or [`FirewallError::NoAddress`] while an interface or the access point's address is
    /// not there: the layers hold, and it is worth trying again. Anything else could not be put back.
    pub fn reconcile(&mut self, mut meanwhile: impl FnMut(&mut Self)) -> Result<Comparison, FirewallError> {
        let mut found = Comparison::default();
        if let Some(prohibition) = self.state.prohibition().cloned()
            && !found.look(prohibition.is_up(), true)
        {
            self.layers.routing = false;
            prohibition.up()?;
            self.layers.routing = true;
            found.mended.push("routing rules");
        }
        meanwhile(self);
        require_interface(&self.settings.visitor_interface)?;
        require_interface(&self.settings.uplink_interface)?;
        let with_new_ports = self.state.prohibition().map_or(Ok(None), Prohibition::with_new_ports);
        if let Some(prohibition) = found.look(with_new_ports, None) {
            self.guard(prohibition)?;
            found.mended.push("a bridge's new port");
        }
        meanwhile(self);
        if self.layers.static_filter && !found.look(self.static_filter_is_in_force(), true) {
            self.put_static_filter()?;
            found.mended.push("the static filter");
        }
        meanwhile(self);
        let rules = Rules::read(&mut self.kernel, &self.settings.table).map(|rules| rules == self.rules);
        if !found.look(rules, true) {
            self.put_table()?;
            self.grant_again()?;
            found.mended.push("the nftables table");
        }
        match offloading::refuse(&self.settings) {
            Err(error @ FirewallError::Offloaded { .. }) => return Err(error),
            seen => found.look(seen, ()),
        }
        if self.remove_foreign_grants()? {
            found.mended.push("grants that were not ours");
        }
        meanwhile(self);
        for tree in self.trees.iter().cloned().collect::<Vec<_>>() {
            if !found.look(tree.is_up(), true) {
                self.put_queue_back(&tree)?;
                found.mended.push("queues");
            }
            meanwhile(self);
        }
        if !self.state.forwards() {
            self.state.forward()?;
            found.mended.push("forwarding");
        }
        let Settings { visitor_interface, access_point, visitor_network, .. } = &self.settings;
        let has_address = interface_addresses(visitor_interface)
            .map(|addresses| addresses.iter().any(|(address, _)| address == access_point));
        if found.look(has_address, true) {
            return Ok(found);
        }
        let (address, prefix, interface) = (*access_point, visitor_network.1, visitor_interface.clone());
        Err(FirewallError::NoAddress { address, prefix, interface })
    }

    /// Stops forwarding, for whoever cannot keep the layers in force.
    pub fn stop_forwarding(&self) {
        self.state.stop_forwarding();
    }

    /// Every grant into a new table, which counts from nothing on.
    fn grant_again(&mut self) -> Result<(), FirewallError> {
        let lease = self.settings.lease();
        let mut orders = Vec::new();
        for (address, grant) in &mut self.visitors {
            grant.counts_anew();
            let class = class_handle(grant.leaf.slot);
            orders.extend(elements::grant(grant.mac, *address, class, grant.lease(lease)));
        }
        for (address, tunnel) in &mut self.tunnels {
            tunnel.grant.counts_anew();
            orders.extend(tunnel.grant(*address, lease));
        }
        if orders.is_empty() { Ok(()) } else { self.kernel.transact(&self.settings.table, &orders) }
    }

    /// Removes gates that nobody here has opened.
    fn remove_foreign_grants(&mut self) -> Result<bool, FirewallError> {
        let table = &self.settings.table;
        let mut orders = Vec::new();
        for found in self.kernel.elements(table, "granted")? {
            let (mac, address) = found.station()?;
            if self.visitors.get(&address).is_none_or(|visitor| visitor.mac.bytes() != mac) {
                orders.extend(elements::removed([("granted", found.into_element())]));
            }
        }
        for found in self.kernel.elements(table, "online")? {
            if !self.visitors.contains_key(&found.address()?) {
                orders.extend(elements::removed([("online", found.into_element())]));
            }
        }
        if orders.is_empty() {
            return Ok(false);
        }
        self.kernel.transact(table, &orders)?;
        Ok(true)
    }

    /// The queues of an interface that was made anew.
    fn put_queue_back(&mut self, tree: &Tree) -> Result<(), FirewallError> {
        tree.up()?;
        let leaves: Vec<Leaf> = self.leaves().collect();
        leaves.into_iter().try_for_each(|leaf| tree.add(&mut self.control, leaf))
    }
}

#[cfg(test)]
mod tests {
    use super::MENDED;

    #[test]
    fn whatever_is_put_back_is_on_the_list() {
        let source = include_str!("layers.rs");
        let code = source.split("#[cfg(test)]").next().unwrap();
        let put_back: Vec<_> =
            code.split(".mended.push(\"").skip(1).map(|after| after.split('"').next().unwrap()).collect();
        assert_eq!(put_back, MENDED);
    }
}
