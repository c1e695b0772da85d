//! Grants for visitors that have nothing but a tunnel, and what was learned of those that have no grant.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};

use serde_json::Value;

use super::{Firewall, Traffic};
use crate::shaping::class_id;
use crate::{Class, FirewallError, Flow, MacAddress, elements, tool};

/// A visitor's tunnel that is let through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tunnel {
    pub(super) mac: MacAddress,
    pub(super) home: Ipv4Addr,
    pub(super) slot: u16,
    pub(super) class: Class,
}

impl Firewall {
    /// Lets a visitor's tunnel to one home through, both counts at nothing. Granting the same again only sets its
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
                return Err(FirewallError::AddressTaken { address, holder: tunnel.mac, got: mac });
            }
            return self.set_tunnel_class(address, class);
        }
        let slot = self.free_slot()?;
        self.add_leaves(slot, class)?;
        let order = grant(&self.settings.table, mac, address, home, &class_id(slot));
        if let Err(error) = tool::nft(&order) {
            self.remove_leaves(slot);
            return Err(error);
        }
        self.tunnels.insert(address, Tunnel { mac, home, slot, class });
        Ok(())
    }

    /// Serves a granted tunnel in another class.
    ///
    /// # Errors
    /// No such tunnel, or the system refuses.
    pub fn set_tunnel_class(&mut self, address: Ipv4Addr, class: Class) -> Result<(), FirewallError> {
        let none = FirewallError::NotGranted { address, got: None };
        let tunnel = self.tunnels.get_mut(&address).ok_or(none)?;
        for tree in self.trees.iter() {
            tree.change(tunnel.slot, class)?;
        }
        tunnel.class = class;
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
            Some(tunnel) if tunnel.mac == mac && tunnel.home == home => *tunnel,
            _ => return Err(FirewallError::NotGranted { address, got: Some(mac) }),
        };
        tool::nft(&shut(table, mac, address, home))?;
        let counts = read_counts(table)?;
        let (up, down) = counts.get(&(address, home)).copied().unwrap_or_default();
        tool::nft(&forget(table, address, home))?;
        self.tunnels.remove(&address);
        self.remove_leaves(tunnel.slot);
        Ok(Traffic { up, down })
    }

    /// What was carried for each granted tunnel so far: by visitor and home.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn tunnel_traffic(
        &self,
    ) -> Result<BTreeMap<(MacAddress, Ipv4Addr, Ipv4Addr), Traffic>, FirewallError> {
        if self.tunnels.is_empty() {
            return Ok(BTreeMap::new()); // Mostly; it saves running two programs.
        }
        let counts = read_counts(&self.settings.table)?;
        let of = |(&address, tunnel): (&Ipv4Addr, &Tunnel)| {
            let (up, down) = counts.get(&(address, tunnel.home)).copied().unwrap_or_default();
            ((tunnel.mac, address, tunnel.home), Traffic { up, down })
        };
        Ok(self.tunnels.iter().map(of).collect())
    }

    /// The tunnels without a grant that a home has answered within the last minute.
    ///
    /// # Errors
    /// They could not be read.
    pub fn flows(&self) -> Result<BTreeSet<Flow>, FirewallError> {
        if self.settings.tunnels.is_none() {
            return Ok(BTreeSet::new());
        }
        let arguments = ["set", "inet", &self.settings.table, "tunnel_flows"];
        let all = list(&arguments, read_flow)?.into_iter().collect::<BTreeSet<Flow>>();
        let granted = |flow: &Flow| {
            let tunnel = self.tunnels.get(flow.visitor.ip());
            tunnel.is_some_and(|tunnel| tunnel.home == *flow.home.ip())
        };
        Ok(all.into_iter().filter(|flow| !granted(flow)).collect())
    }

    /// An address has one holder, whatever is granted to it.
    pub(super) fn check_holder(&self, got: MacAddress, address: Ipv4Addr) -> Result<(), FirewallError> {
        let visitor = self.visitors.get(&address).map(|visitor| visitor.mac);
        let tunnel = self.tunnels.get(&address).map(|tunnel| tunnel.mac);
        match visitor.into_iter().chain(tunnel).find(|holder| *holder != got) {
            Some(holder) => Err(FirewallError::AddressTaken { address, holder, got }),
            None => Ok(()),
        }
    }
}

/// One transaction that lets a tunnel through, with both counts at nothing.
fn grant(table: &str, mac: MacAddress, address: Ipv4Addr, home: Ipv4Addr, class_id: &str) -> String {
    format!(
        "add element inet {table} tunnel_up {{ {address} . {home} }}
add element inet {table} tunnel_down {{ {address} . {home} }}
add element inet {table} tunnel_class {{ {address} : {class_id} }}
{}",
        gates("add", table, mac, address, home)
    )
}

/// One transaction that stops a tunnel both ways, counts kept; a second attempt finds something to delete.
fn shut(table: &str, mac: MacAddress, address: Ipv4Addr, home: Ipv4Addr) -> String {
    gates("add", table, mac, address, home) + &gates("delete", table, mac, address, home)
}

fn gates(verb: &str, table: &str, mac: MacAddress, address: Ipv4Addr, home: Ipv4Addr) -> String {
    format!(
        "{verb} element inet {table} tunnel_holders {{ {mac} . {address} }}
{verb} element inet {table} tunnel_held {{ {address} }}
{verb} element inet {table} tunnel_open {{ {address} . {home} }}
{verb} element inet {table} tunnel_granted {{ {mac} . {address} . {home} }}
"
    )
}

/// One transaction that forgets a tunnel whose gate is shut.
fn forget(table: &str, address: Ipv4Addr, home: Ipv4Addr) -> String {
    format!(
        "delete element inet {table} tunnel_class {{ {address} }}
delete element inet {table} tunnel_up {{ {address} . {home} }}
delete element inet {table} tunnel_down {{ {address} . {home} }}
"
    )
}

type Counts = BTreeMap<(Ipv4Addr, Ipv4Addr), (u64, u64)>;

fn read_counts(table: &str) -> Result<Counts, FirewallError> {
    let count = |element: &Value| {
        let [address, home] = element["elem"]["val"]["concat"].as_array()?.as_slice() else { return None };
        let pair = (address.as_str()?.parse().ok()?, home.as_str()?.parse().ok()?);
        Some((pair, element["elem"]["counter"]["bytes"].as_u64()?))
    };
    let mut counts = Counts::new();
    for (pair, bytes) in list(&["set", "inet", table, "tunnel_up"], count)? {
        counts.entry(pair).or_default().0 = bytes;
    }
    for (pair, bytes) in list(&["set", "inet", table, "tunnel_down"], count)? {
        counts.entry(pair).or_default().1 = bytes;
    }
    Ok(counts)
}

fn list<T>(arguments: &[&str], read: impl Fn(&Value) -> Option<T>) -> Result<Vec<T>, FirewallError> {
    elements::read_elements(arguments)?
        .iter()
        .map(|each| {
            let strange = || tool::unreadable("nft -j list", arguments, &format!("cannot read {each}"));
            read(each).ok_or_else(strange)
        })
        .collect()
}

fn read_flow(element: &Value) -> Option<Flow> {
    // With a time that runs out there is an object around the value.
    let value = if element["elem"].is_object() { &element["elem"]["val"] } else { element };
    let [visitor, visitor_port, home, home_port] = value["concat"].as_array()?.as_slice() else {
        return None;
    };
    let end = |address: &Value, port: &Value| {
        let port = u16::try_from(port.as_u64()?).ok()?;
        Some(SocketAddrV4::new(address.as_str()?.parse().ok()?, port))
    };
    Some(Flow { visitor: end(visitor, visitor_port)?, home: end(home, home_port)? })
}
