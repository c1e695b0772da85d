//! For the fuzzer: what the kernel's tables, the tools and our own files say, as texts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::num::NonZeroU16;

use crate::state::State;
use crate::{Flow, MacAddress, connections, lookup, nftables, stations};

/// The complete neighbours on an interface in a text like `/proc/net/arp`.
pub fn neighbours(table: &str, interface: &str) -> Vec<(Ipv4Addr, MacAddress)> {
    lookup::read_neighbours(table, interface).collect()
}

/// The ports of these flows in a text like `/proc/net/nf_conntrack`.
pub fn translated(table: &[u8], flows: &BTreeSet<Flow>) -> BTreeMap<Flow, NonZeroU16> {
    connections::find(table, flows).unwrap_or_default()
}

/// The address and prefix length that an answer of the kernel's tells of.
pub fn address(answer: &[u8]) -> Option<(Ipv4Addr, u8)> {
    lookup::read_address(answer).map(|found| (found.address, found.prefix))
}

/// How many elements of sets and how many counters a datagram of the kernel's nftables tells of.
pub fn answers(datagram: &[u8]) -> (usize, usize) {
    nftables::read_datagram(datagram)
}

/// How many access points and stations a datagram of the kernel's nl80211 tells of.
pub fn radios(datagram: &[u8]) -> (usize, usize) {
    stations::read_datagram(datagram)
}

/// A state file as it would be written again; nothing if it is none.
pub fn state(text: &str) -> Option<String> {
    let state: State = serde_json::from_str(text).ok()?;
    serde_json::to_string(&state).ok()
}
