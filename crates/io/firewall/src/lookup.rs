//! What the kernel knows about neighbours and interfaces.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::Path;

use guestright_command::CommandError;
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NlasIterator};
use rustix::net::netdevice::name_to_index;

use crate::netlink::{Netlink, nested, refused};
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
    let mut netlink = Netlink::open(None)?;
    let header = neighbour_header(interface_index(&netlink, interface)?);
    let attributes = nested(&[DefaultNla::new(NDA_DST, address.octets().to_vec())]);
    netlink
        .request(RTM_NEWNEIGH, [&header, &attributes], NLM_F_CREATE)
        .map_err(|error| refused("ask for a hardware address", error))
}

/// The number of an interface.
fn interface_index(netlink: &Netlink, name: &str) -> Result<u32, FirewallError> {
    check_interface("interface", name)?;
    name_to_index(netlink.descriptor(), name)
        .map_err(|_| FirewallError::NoInterface { name: name.to_owned() })
}

/// `struct ndmsg` (linux/neighbour.h): the family, the interface, no state, and that it is used (`NTF_USE`), at which the kernel
/// begins to ask.
fn neighbour_header(index: u32) -> [u8; 12] {
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
/// linux/rtnetlink.h, linux/neighbour.h, linux/if_addr.h and linux/socket.h.
const RTM_GETADDR: u16 = 22;
const IFA_LOCAL: u16 = 2;
pub(crate) const AF_INET: u8 = 2;
pub(crate) const RTM_NEWNEIGH: u16 = 28;
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
/// A bad interface name, no such interface, or the kernel does not tell.
pub fn interface_address(name: &str) -> Result<Option<(Ipv4Addr, u8)>, FirewallError> {
    Ok(interface_addresses(name)?.into_iter().next())
}

/// Every IPv4 address of an interface.
pub(crate) fn interface_addresses(name: &str) -> Result<Vec<(Ipv4Addr, u8)>, FirewallError> {
    let mut netlink = Netlink::open(None)?;
    let index = interface_index(&netlink, name)?;
    let all = all_addresses(&mut netlink)?.into_iter().filter(|address| address.index == index);
    Ok(all.map(|Assigned { address, prefix, .. }| (address, prefix)).collect())
}

/// Every IPv4 address of this computer but loopback's, in order.
pub(crate) fn own_addresses() -> Result<Vec<Ipv4Addr>, FirewallError> {
    let all = all_addresses(&mut Netlink::open(None)?)?.into_iter().map(|assigned| assigned.address);
    let addresses: BTreeSet<_> = all.filter(|address| !address.is_loopback()).collect();
    Ok(addresses.into_iter().collect())
}

/// An address of an interface.
pub(crate) struct Assigned {
    index: u32,
    pub(crate) address: Ipv4Addr,
    pub(crate) prefix: u8,
}

/// All IPv4 addresses of this network, asked of the kernel: a program to ask costs a start and each comparison milliseconds.
fn all_addresses(netlink: &mut Netlink) -> Result<Vec<Assigned>, FirewallError> {
    // `struct ifaddrmsg` (linux/if_addr.h): the family, and nothing to choose by.
    let header = [AF_INET, 0, 0, 0, 0, 0, 0, 0];
    let mut found = Vec::new();
    netlink
        .dump(RTM_GETADDR, &header, |answer| found.extend(read_address(answer)))
        .map_err(|error| refused("ask for addresses", error))?;
    Ok(found)
}

/// The address that an answer tells of: at the interface itself (`IFA_LOCAL`), which a point-to-point link has two of.
pub(crate) fn read_address(answer: &[u8]) -> Option<Assigned> {
    let (header, attributes) = answer.split_first_chunk::<8>()?;
    let [AF_INET, prefix @ 0..=32, _, _, index @ ..] = *header else { return None };
    let mut attributes = NlasIterator::new(attributes).map_while(Result::ok);
    let local = attributes.find(|attribute| attribute.kind() == IFA_LOCAL)?;
    let address = Ipv4Addr::from(*local.value().first_chunk()?);
    Some(Assigned { index: u32::from_ne_bytes(index), address, prefix })
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
    fn reads_the_address_at_the_interface_itself() {
        let attribute = |kind: u16, value: &[u8]| {
            let length = u16::try_from(4 + value.len()).unwrap();
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat()
        };
        let header = |family: u8, prefix: u8| [&[family, prefix, 0, 0][..], &7_u32.to_ne_bytes()].concat();
        let (far, near) = (attribute(1, &[10, 0, 0, 2]), attribute(2, &[10, 0, 0, 1]));
        let read = |parts: &[&[u8]]| {
            read_address(&parts.concat()).map(|found| (found.index, found.address, found.prefix))
        };
        let found = Some((7, Ipv4Addr::new(10, 0, 0, 1), 24));
        assert_eq!(read(&[&header(2, 24), &far, &near]), found);
        assert_eq!(read(&[&header(2, 24), &far]), None, "the other end's");
        assert_eq!(read(&[&header(10, 24), &near]), None, "IPv6");
        assert_eq!(read(&[&header(2, 33), &near]), None, "no prefix is as long");
        assert_eq!(read(&[&header(2, 24), &near[..6]]), None, "cut off");
        assert_eq!(read(&[&[2, 24]]), None);
    }

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
