//! Orders that change our table while it is in force, and questions to it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::nftables::{Count, Element, Found, Nftables, Order, Set};
use crate::{FirewallError, MacAddress};
use guestright_airtime::Counted;

/// For how long and for how many bytes gates are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) time: Duration,
    pub(crate) bytes: u64,
}

/// One transaction that lets a visitor through until the lease is over, with both counts at nothing.
pub(crate) fn grant(mac: MacAddress, address: Ipv4Addr, class: u32, lease: Lease) -> Vec<Order> {
    let one = || Element::new().address(address);
    let counted = ["up", "down"].map(|set| Order::Add(set, one()));
    let rest = [Order::Add("class", one().class(class)), Order::Add("served", pair(mac, address))];
    counted.into_iter().chain(rest).chain(renew(mac, address, lease)).collect()
}

/// An address and its holder.
pub(crate) fn pair(mac: MacAddress, address: Ipv4Addr) -> Element {
    Element::new().hardware(mac).address(address)
}

/// A visitor's gates: who passes up, and to whom passes down.
fn gates(mac: MacAddress, address: Ipv4Addr) -> [(Set, Element); 2] {
    [("online", Element::new().address(address)), ("granted", pair(mac, address))]
}

/// Orders that keep a visitor's gates open for another lease.
pub(crate) fn renew(mac: MacAddress, address: Ipv4Addr, lease: Lease) -> Vec<Order> {
    renewed(gates(mac, address), windows(address), lease)
}

/// What says how much may pass, in two halves.
fn windows(address: Ipv4Addr) -> [(Set, Element); 2] {
    ["window", "window_end"].map(|set| (set, Element::new().address(address)))
}

/// The same for any gates, and the two elements that say how much may pass: half of it freely, then the rest, of which
/// some is dropped. The kernel leaves an element that is there as it is, so each is removed and added in the same
/// transaction, and added before it, in case that it has expired.
pub(crate) fn renewed(
    gates: impl IntoIterator<Item = (Set, Element)>,
    [(begin, free), (end, rest)]: [(Set, Element); 2],
    lease: Lease,
) -> Vec<Order> {
    let gates = gates.into_iter().map(|(set, gate)| (set, gate.clone(), gate.expires_after(lease.time)));
    let half = lease.bytes / 2;
    let windows =
        [(begin, free.clone(), free.good_for(lease.bytes - half)), (end, rest.clone(), rest.good_for(half))];
    let all = gates.chain(windows);
    all.flat_map(|(set, old, new)| {
        [Order::Add(set, old.clone()), Order::Delete(set, old), Order::Add(set, new)]
    })
    .collect()
}

/// One transaction that stops a visitor's packets both ways, counts kept.
pub(crate) fn shut(mac: MacAddress, address: Ipv4Addr) -> Vec<Order> {
    removed(gates(mac, address).into_iter().chain([("served", pair(mac, address))]))
}

/// Orders that remove elements. They are added before, so that a second attempt finds something to remove; nothing is
/// ever open in between.
pub(crate) fn removed(elements: impl IntoIterator<Item = (Set, Element)>) -> Vec<Order> {
    let one =
        |(set, element): (Set, Element)| [Order::Add(set, element.clone()), Order::Delete(set, element)];
    elements.into_iter().flat_map(one).collect()
}

/// One transaction that forgets a visitor whose gate is shut.
pub(crate) fn forget(address: Ipv4Addr, class: u32) -> Vec<Order> {
    let one = || Element::new().address(address);
    let rest = [("class", one().class(class)), ("up", one()), ("down", one())];
    removed(rest.into_iter().chain(windows(address)))
}

/// One transaction that marks a visitor's packets with another class.
pub(crate) fn reclassify(set: Set, address: Ipv4Addr, before: u32, after: u32) -> Vec<Order> {
    let of = |class| Element::new().address(address).class(class);
    removed([(set, of(before))]).into_iter().chain([Order::Add(set, of(after))]).collect()
}

/// Whether there is such a table.
pub(crate) fn table_exists(table: &str) -> Result<bool, FirewallError> {
    Nftables::open()?.table_exists(table)
}

/// What was counted for each address, up and down.
pub(crate) fn read_counts(
    kernel: &mut Nftables,
    table: &str,
) -> Result<BTreeMap<Ipv4Addr, Counted>, FirewallError> {
    read_directions(kernel, table, ["up", "down"], Found::address)
}

/// The same from two sets whose elements have these keys.
pub(crate) fn read_directions<K: Ord>(
    kernel: &mut Nftables,
    table: &str,
    [up, down]: [Set; 2],
    key: impl Fn(&Found) -> Result<K, FirewallError>,
) -> Result<BTreeMap<K, Counted>, FirewallError> {
    let mut counts = BTreeMap::<_, Counted>::new();
    for found in kernel.elements(table, up)? {
        counts.entry(key(&found)?).or_default().up = found.count.into();
    }
    for found in kernel.elements(table, down)? {
        counts.entry(key(&found)?).or_default().down = found.count.into();
    }
    Ok(counts)
}

/// What every named counter of a table has counted.
pub(crate) fn read_counters(table: &str) -> Result<BTreeMap<String, Count>, FirewallError> {
    Nftables::open()?.counters(table)
}

/// The packets that every named counter of a table has counted.
pub(crate) fn read_packets(table: &str) -> Result<BTreeMap<String, u64>, FirewallError> {
    Ok(read_counters(table)?.into_iter().map(|(name, count)| (name, count.packets)).collect())
}
