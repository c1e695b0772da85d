//! What the kernel knows about neighbours and interfaces.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::Path;

use guestright_command::CommandError;
use netlink_packet_core::{DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_REQUEST};
use rustix::net::netdevice::name_to_index;
use serde_json::Value;

use crate::netlink::{Answer, Netlink, nested, refused, unreadable};
use crate::settings::check_interface;
use crate::{FirewallError, MacAddress, tool};

/// The hardware address that the kernel last heard `address` answer with on `interface`, if any.
///
/// Reads the kernel's table directly (proc(5), `/proc/net/arp`): this is asked for every message of a stranger.
///
/// # Errors
/// A bad interface name, or a table that cannot be read.
pub fn neighbour(address: Ipv4Addr, interface: &str) -> Result<Option<MacAddress>, FirewallError> {
    check_interface("interface", interface)?;
    let table = std::fs::read_to_string(ARP_TABLE)
        .map_err(|error| FirewallError::File { path: ARP_TABLE.to_owned(), reason: error.to_string() })?;
    Ok(find_neighbour(&table, address, interface))
}

/// Has the kernel ask the link for the hardware address of `address`; [`neighbour`] knows it when somebody has answered.
///
/// The kernel learns the hardware address of whoever asks for ours, and of whom it sends something to. A second device behind a
/// repeater does neither before it speaks by datagram: the repeater knows us already, on account of the first.
///
/// # Errors
/// A bad interface name, no such interface, or the kernel refuses.
pub fn resolve(address: Ipv4Addr, interface: &str) -> Result<(), FirewallError> {
    const WHAT: &str = "ask for a hardware address";
    check_interface("interface", interface)?;
    let mut netlink = Netlink::open(None)?;
    let index = name_to_index(netlink.descriptor(), interface)
        .map_err(|_| FirewallError::NoInterface { name: interface.to_owned() })?;
    let mut message = Vec::new();
    let attributes = nested(&[DefaultNla::new(NDA_DST, address.octets().to_vec())]);
    let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
    netlink.append(&mut message, RTM_NEWNEIGH, [&neighbour_header(index), &attributes], flags);
    netlink.send(&message).map_err(|error| refused(WHAT, error))?;
    let mut outcome = Err(unreadable(WHAT));
    netlink
        .receive(netlink.sequence(), |_, answer| {
            outcome = match answer {
                Answer::Error(code) => Err(refused(WHAT, std::io::Error::from_raw_os_error(code))),
                Answer::Done | Answer::Object(_) => Ok(()),
            }
        })
        .map_err(|error| refused(WHAT, error))?;
    outcome
}

/// `struct ndmsg` (linux/neighbour.h): the family, the interface, no state, and that it is used (`NTF_USE`), at which the kernel
/// begins to ask.
fn neighbour_header(index: u32) -> [u8; 12] {
    const AF_INET: u8 = 2;
    const NTF_USE: u8 = 1;
    let [a, b, c, d] = index.to_ne_bytes();
    [AF_INET, 0, 0, 0, a, b, c, d, 0, 0, NTF_USE, 0]
}

/// Every address that the kernel knows on `interface`, with its hardware address.
///
/// # Errors
/// A bad interface name, or a table that cannot be read.
pub fn neighbours(interface: &str) -> Result<BTreeMap<Ipv4Addr, MacAddress>, FirewallError> {
    check_interface("interface", interface)?;
    let table = std::fs::read_to_string(ARP_TABLE)
        .map_err(|error| FirewallError::File { path: ARP_TABLE.to_owned(), reason: error.to_string() })?;
    Ok(read_neighbours(&table, interface).collect())
}

/// A directory for each interface, and `all` and `default` (Linux, networking/ip-sysctl).
const INTERFACES: &str = "/proc/sys/net/ipv4/conf";
const ARP_TABLE: &str = "/proc/thread-self/net/arp";
/// linux/rtnetlink.h and linux/neighbour.h.
const RTM_NEWNEIGH: u16 = 28;
const NDA_DST: u16 = 1;
/// The entry is complete (`ATF_COM`, linux/if_arp.h).
const COMPLETE: u32 = 2;

fn find_neighbour(table: &str, address: Ipv4Addr, interface: &str) -> Option<MacAddress> {
    read_neighbours(table, interface).find(|(ip, _)| *ip == address).map(|(_, mac)| mac)
}

pub(crate) fn read_neighbours(table: &str, interface: &str) -> impl Iterator<Item = (Ipv4Addr, MacAddress)> {
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [ip, _kind, flags, mac, _mask, device] = fields.as_slice() else { return None };
        let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).ok()?;
        let fits = *device == interface && flags & COMPLETE != 0;
        fits.then(|| Some((ip.parse().ok()?, mac.parse().ok()?))).flatten()
    })
}

/// The first IPv4 address of an interface and its prefix length, if it has one.
///
/// # Errors
/// A bad interface name, no such interface, or `ip` failed.
pub fn interface_address(name: &str) -> Result<Option<(Ipv4Addr, u8)>, FirewallError> {
    Ok(interface_addresses(name)?.into_iter().next())
}

/// Every IPv4 address of an interface.
pub(crate) fn interface_addresses(name: &str) -> Result<Vec<(Ipv4Addr, u8)>, FirewallError> {
    require_interface(name)?;
    let found = tool::json("ip", &["-j", "-4", "address", "show", "dev", name])?;
    Ok(read_addresses(&found).collect())
}

/// The addresses in what `ip -j address` says, with their prefix lengths.
pub(crate) fn read_addresses(found: &Value) -> impl Iterator<Item = (Ipv4Addr, u8)> {
    let entries = found.as_array().into_iter().flatten();
    let addresses = entries.filter_map(|entry| entry["addr_info"].as_array()).flatten();
    addresses.filter_map(|entry| {
        let address = entry["local"].as_str()?.parse().ok()?;
        Some((address, u8::try_from(entry["prefixlen"].as_u64()?).ok()?))
    })
}

/// Every IPv4 address of this computer but loopback's, in order.
pub(crate) fn own_addresses() -> Result<Vec<Ipv4Addr>, FirewallError> {
    let found = tool::json("ip", &["-j", "-4", "address", "show"])?;
    let addresses = read_addresses(&found).map(|(address, _)| address);
    let addresses: BTreeSet<_> = addresses.filter(|address| !address.is_loopback()).collect();
    Ok(addresses.into_iter().collect())
}

/// The interface that packets to `address` leave by; `None` if there is no way, or it is this computer's own address.
pub(crate) fn route_interface(address: Ipv4Addr) -> Result<Option<String>, FirewallError> {
    let found = tool::json("ip", &["-j", "-4", "route", "get", &address.to_string()]);
    let found = match found {
        Ok(found) => found,
        Err(FirewallError::Command(CommandError::Failed { stderr, .. }))
            if stderr.contains("unreachable") =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let interface = found[0]["dev"].as_str().filter(|interface| *interface != "lo");
    Ok(interface.map(str::to_owned))
}

/// The interfaces of this thread's network but loopback's, in order.
#[must_use]
pub fn interfaces() -> Vec<String> {
    let found = std::fs::read_dir(INTERFACES).into_iter().flatten().flatten();
    let names = found.filter_map(|entry| entry.file_name().into_string().ok());
    let names: BTreeSet<_> =
        names.filter(|name| !["all", "default", "lo"].contains(&name.as_str())).collect();
    names.into_iter().collect()
}

/// Whether this thread's network has such an interface. (`/sys` may show another network's; this does not.)
pub(crate) fn interface_exists(name: &str) -> bool {
    Path::new(INTERFACES).join(name).exists()
}

/// # Errors
/// A bad name, or no such interface.
pub fn require_interface(name: &str) -> Result<(), FirewallError> {
    check_interface("interface", name)?;
    if interface_exists(name) { Ok(()) } else { Err(FirewallError::NoInterface { name: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_only_complete_neighbours_on_the_interface() {
        let table = "IP address       HW type     Flags       HW address            Mask     Device\n\
            10.0.0.5         0x1         0x2         02:00:00:00:00:05     *        guest\n\
            10.0.0.6         0x1         0x0         00:00:00:00:00:00     *        guest\n\
            10.0.0.7         0x1         0x2         02:00:00:00:00:07     *        lan\n";
        let find = |last: u8| find_neighbour(table, Ipv4Addr::new(10, 0, 0, last), "guest");
        assert_eq!(find(5).map(|mac| mac.to_string()).as_deref(), Some("02:00:00:00:00:05"));
        assert_eq!([find(6), find(7), find(8)], [None, None, None]);
    }
}
