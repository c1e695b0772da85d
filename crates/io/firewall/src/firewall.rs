//! The firewall of one access point, from up to down.

mod layers;
mod tunnels;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::elements::Lease;
use crate::lookup::{interface_addresses, require_interface};
use crate::nftables::{Nftables, Set};
use crate::ruleset::{self, ALLOWANCE_USED};
use crate::shaping::{self, Leaf, SLOTS_MAX, Trees, class_handle};
use crate::state::{State, clean_up};
use crate::traffic_control::TrafficControl;
use crate::{Class, FirewallError, MacAddress, Settings, Shaping, Warning, elements, offloading, tool};
use guestright_airtime::Counted;
use layers::Rules;
use tunnels::Tunnel;

pub use layers::{Comparison, Layers, MENDED};
pub use tunnels::Passing;

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

impl From<Counted> for Traffic {
    fn from(Counted { up, down }: Counted) -> Self {
        Self { up: up.bytes, down: down.bytes }
    }
}

/// What one reading of the kernel's counters says of one who passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What was carried so far.
    pub used: Traffic,
    /// What the kernel has counted since the gate was opened, or since the table was put back: it may be less than before.
    pub counted: Counted,
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
    control: TrafficControl,
    trees: Trees,
    warnings: Vec<Warning>,
    layers: Layers,
    /// The rules of our table as the kernel has them.
    rules: Rules,
    visitors: BTreeMap<Ipv4Addr, Grant>,
    /// Of each visitor at most one.
    tunnels: BTreeMap<Ipv4Addr, Tunnel>,
    draining: Vec<Draining>,
    is_up: bool,
}

/// The leaf that a visitor had in another class. No packet goes there any more; those that wait in it still leave.
#[derive(Clone, Copy, Debug)]
struct Draining {
    slot: u16,
    until: Instant,
}

/// How long the leaf of another class stays. A full queue is empty after half a second at its ceiling, or 5 s on a line of
/// 2 Mbit/s; but others of the lowest class share that.
const DRAINING: Duration = Duration::from_secs(10);

/// What was granted to a visitor, or to its tunnel.
#[derive(Clone, Copy, Debug)]
struct Grant {
    mac: MacAddress,
    leaf: Leaf,
    /// How many bytes may pass in all.
    most: u64,
    /// What tables counted that are gone.
    before: Traffic,
    /// What was counted when it was last read.
    read: Traffic,
}

/// A queue passes so many windows a second. A receipt for half a window is there after a few hundredths of a second, so
/// that whoever signs does not meet the end of the window, where packets are dropped.
const WINDOWS_PER_SECOND: u64 = 16;

fn pace(window: u64) -> u64 {
    window.saturating_mul(8 * WINDOWS_PER_SECOND)
}

impl Grant {
    /// Nothing was counted yet, and nothing signed: as much may pass as may be unsigned.
    fn new(mac: MacAddress, slot: u16, class: Class, most: u64) -> Self {
        let (before, read) = <(Traffic, Traffic)>::default();
        Self { mac, leaf: Leaf { slot, class, pace: pace(most) }, most, before, read }
    }

    /// What was carried for it as it was last read.
    fn used(&self) -> Traffic {
        self.before + self.read
    }

    /// For how long, and for how many bytes more, its gates are open.
    fn lease(&self, time: Duration) -> Lease {
        Lease { time, bytes: self.used().left_of(self.most) }
    }

    /// The queue that a window of so many bytes should have, if it differs by so much that it is worth a change.
    fn faster(&self, window: u64) -> Option<Leaf> {
        let pace = pace(window);
        (pace / 3 * 2 >= self.leaf.pace).then_some(Leaf { pace, ..self.leaf })
    }

    /// Takes in what the kernel counts now; nothing if it has no counter.
    fn read(&mut self, counted: Option<&Counted>) -> Reading {
        let counted = counted.copied().unwrap_or_default();
        self.read = counted.into();
        Reading { used: self.used(), counted }
    }

    /// The table that counted is gone; the next counts from nothing on.
    fn counts_anew(&mut self) {
        self.before = self.used();
        self.read = Traffic::default();
    }
}

/// A gate that is to be kept open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The visitor's address.
    pub address: Ipv4Addr,
    /// The home of its tunnel, if only that is granted.
    pub home: Option<Ipv4Addr>,
    /// How many bytes may pass since it was granted, both ways together. What is beyond is dropped.
    pub most: u64,
    /// How many of them may be unsigned. The queue passes sixteen times as many a second at most.
    pub window: u64,
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
            control: TrafficControl::open()?,
            trees,
            warnings,
            layers: Layers::default(),
            rules: Rules::default(),
            visitors: BTreeMap::new(),
            tunnels: BTreeMap::new(),
            draining: Vec::new(),
            is_up: true,
            settings,
            state,
        };
        firewall.put_up()?;
        for warning in &firewall.warnings {
            tracing::warn!(name: "firewall_warning", "{warning}");
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

    /// From now on grants last so long, and visitors have this share of the line. Nobody loses a grant, a count or a packet that
    /// waits; queues keep their lengths.
    ///
    /// # Errors
    /// Settings that cannot be; shaping where there was none or none where there was, which the rules would have to be made
    /// anew for; or the system refuses. Then all is as it was.
    pub fn reconfigure(&mut self, lease_ms: u64, shaping: Option<Shaping>) -> Result<(), FirewallError> {
        let mut settings = self.settings.clone();
        (settings.lease_ms, settings.shaping) = (lease_ms, shaping);
        settings.check()?;
        let rates = match (self.settings.shaping, shaping) {
            (Some(_), Some(rates)) => rates,
            (None, None) => {
                self.settings = settings;
                return Ok(());
            }
            (before, _) => {
                let got = if before.is_some() { "nothing" } else { "rates" }.to_owned();
                let want = "rates before and after, or none before and after";
                return Err(FirewallError::Setting { name: "shaping", got, want });
            }
        };
        let before = self.trees.rates();
        let result = self.set_rates([rates.down_bits_per_second, rates.up_bits_per_second]);
        match result {
            Ok(()) => self.settings = settings,
            Err(_) => {
                if let Err(error) = self.set_rates(before) {
                    tracing::warn!(%error, "visitors' queues could not be put back to their rates");
                }
            }
        }
        result
    }

    fn set_rates(&mut self, [down, up]: [u64; 2]) -> Result<(), FirewallError> {
        self.trees.set_rates([down, up]);
        let leaves: Vec<Leaf> = self.leaves().collect();
        for tree in self.trees.iter() {
            tree.change_rate()?;
            leaves.iter().try_for_each(|leaf| tree.change(&mut self.control, *leaf))?;
        }
        Ok(())
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
        self.check_room()?;
        let grant = Grant::new(mac, self.free_slot()?, class, most);
        self.add_leaves(grant.leaf)?;
        let lease = grant.lease(self.settings.lease());
        let orders = elements::grant(mac, address, class_handle(grant.leaf.slot), lease);
        if let Err(error) = self.kernel.transact(&self.settings.table, &orders) {
            self.remove_leaves(grant.leaf.slot);
            return Err(error);
        }
        self.visitors.insert(address, grant);
        Ok(())
    }

    /// Keeps the gates of these granted visitors and tunnels open for another lease ([`Settings::lease_ms`]), as far as what
    /// was last read leaves something of what may pass. Those that are not granted stay shut.
    ///
    /// # Errors
    /// The kernel refuses: then they shut when their leases are over.
    pub fn renew(&mut self, gates: &[Gate]) -> Result<(), FirewallError> {
        self.remove_drained();
        let lease = self.settings.lease();
        let mut orders = Vec::new();
        for Gate { address, home, most, window } in gates {
            let grant = match home {
                None => self.visitors.get_mut(address),
                Some(home) => {
                    let tunnel = self.tunnels.get_mut(address).filter(|tunnel| tunnel.home == *home);
                    tunnel.map(|tunnel| &mut tunnel.grant)
                }
            };
            let Some(grant) = grant else { continue };
            grant.most = *most;
            if let Some(leaf) = grant.faster(*window) {
                match self.trees.iter().try_for_each(|tree| tree.change(&mut self.control, leaf)) {
                    Ok(()) => grant.leaf = leaf,
                    Err(error) => tracing::debug!(%error, "a visitor's queue stays as slow as it was"),
                }
            }
            orders.extend(match home {
                None => elements::renew(grant.mac, *address, grant.lease(lease)),
                Some(home) => Tunnel { home: *home, grant: *grant }.renew(*address, lease),
            });
        }
        if orders.is_empty() { Ok(()) } else { self.kernel.transact(&self.settings.table, &orders) }
    }

    /// Moves a granted visitor to another class. Flows and counts go on, and what waits in a queue is not lost.
    ///
    /// # Errors
    /// No such visitor, or the system refuses.
    pub fn set_class(&mut self, address: Ipv4Addr, class: Class) -> Result<(), FirewallError> {
        let before = self.visitors.get(&address).map(|grant| grant.leaf);
        let before = before.ok_or(FirewallError::NotGranted { address, got: None })?;
        let leaf = self.reclassify("class", address, before, class)?;
        if let Some(grant) = self.visitors.get_mut(&address) {
            grant.leaf = leaf;
        }
        Ok(())
    }

    /// The leaf of another class: the same one, or below another parent a new one.
    fn reclassify(
        &mut self,
        set: Set,
        address: Ipv4Addr,
        before: Leaf,
        class: Class,
    ) -> Result<Leaf, FirewallError> {
        let mut leaf = Leaf { class, ..before };
        if leaf == before {
            return Ok(leaf);
        }
        if shaping::same_parent(before.class, class) {
            self.trees.iter().try_for_each(|tree| tree.change(&mut self.control, leaf))?;
            return Ok(leaf);
        }
        leaf.slot = self.free_slot()?;
        self.add_leaves(leaf)?;
        let orders = elements::reclassify(set, address, class_handle(before.slot), class_handle(leaf.slot));
        if let Err(error) = self.kernel.transact(&self.settings.table, &orders) {
            self.remove_leaves(leaf.slot);
            return Err(error);
        }
        self.draining.push(Draining { slot: before.slot, until: Instant::now() + DRAINING });
        Ok(leaf)
    }

    /// Removes the leaves that nobody has any more and that had their time.
    fn remove_drained(&mut self) {
        let now = Instant::now();
        let (over, left): (Vec<_>, _) = self.draining.iter().partition(|draining| draining.until <= now);
        self.draining = left;
        for Draining { slot, .. } in over {
            self.remove_leaves(slot);
        }
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
        let grant = match self.visitors.get(&address) {
            Some(grant) if grant.mac == mac => *grant,
            _ => return Err(FirewallError::NotGranted { address, got: Some(mac) }),
        };
        self.kernel.transact(table, &elements::shut(mac, address))?;
        let counts = elements::read_counts(&mut self.kernel, table)?;
        let used = grant.before + counts.get(&address).copied().unwrap_or_default().into();
        self.kernel.transact(table, &elements::forget(address, class_handle(grant.leaf.slot)))?;
        self.visitors.remove(&address);
        self.remove_leaves(grant.leaf.slot);
        Ok(used)
    }

    /// Everybody who passes: visitors and then tunnels, from one reading of each counter.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn read(&mut self) -> Result<Vec<(Passing, Reading)>, FirewallError> {
        let visitors = self.read_visitors()?.into_iter();
        let visitors = visitors.map(|((mac, address), reading)| ((mac, address, None), reading));
        let tunnels = self.read_tunnels()?.into_iter();
        let tunnels = tunnels.map(|((mac, address, home), reading)| ((mac, address, Some(home)), reading));
        Ok(visitors.chain(tunnels).collect())
    }

    /// What was carried for each granted visitor so far.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn traffic(&mut self) -> Result<BTreeMap<(MacAddress, Ipv4Addr), Traffic>, FirewallError> {
        Ok(self.read_visitors()?.into_iter().map(|(visitor, reading)| (visitor, reading.used)).collect())
    }

    fn read_visitors(&mut self) -> Result<BTreeMap<(MacAddress, Ipv4Addr), Reading>, FirewallError> {
        let counts = elements::read_counts(&mut self.kernel, &self.settings.table)?;
        let of = |(address, grant): (&Ipv4Addr, &mut Grant)| {
            ((grant.mac, *address), grant.read(counts.get(address)))
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

    /// Room for one more visitor or tunnel.
    fn check_room(&self) -> Result<(), FirewallError> {
        let max = self.settings.limits.visitors_max;
        let is_room = self.leaves().count() < usize::from(max);
        if is_room { Ok(()) } else { Err(FirewallError::Full { max }) }
    }

    /// The first slot without a leaf. There are twice as many as visitors, so that each may have one that drains; if there is
    /// none left, the one that has drained for the longest time goes.
    fn free_slot(&mut self) -> Result<u16, FirewallError> {
        self.remove_drained();
        let max = self.settings.limits.visitors_max;
        loop {
            let draining = self.draining.iter().map(|draining| draining.slot);
            let used: BTreeSet<u16> = self.leaves().map(|leaf| leaf.slot).chain(draining).collect();
            let mut slots = 0..max.saturating_mul(2).min(SLOTS_MAX);
            if let Some(free) = slots.find(|slot| !used.contains(slot)) {
                return Ok(free);
            }
            if self.draining.is_empty() {
                return Err(FirewallError::Full { max });
            }
            let oldest = self.draining.remove(0);
            self.remove_leaves(oldest.slot);
        }
    }

    fn leaves(&self) -> impl Iterator<Item = Leaf> {
        let tunnels = self.tunnels.values().map(|tunnel| tunnel.grant.leaf);
        self.visitors.values().map(|grant| grant.leaf).chain(tunnels)
    }

    fn add_leaves(&mut self, leaf: Leaf) -> Result<(), FirewallError> {
        let added = self.trees.iter().try_for_each(|tree| tree.add(&mut self.control, leaf));
        if added.is_err() {
            self.remove_leaves(leaf.slot);
        }
        added
    }

    /// Removes a visitor's leaves. One that cannot be removed is replaced by that of whoever gets its slot next.
    fn remove_leaves(&mut self, slot: u16) {
        for tree in self.trees.iter() {
            if let Err(error) = tree.remove(&mut self.control, slot) {
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
