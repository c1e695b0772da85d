//! Word of the kernel that the network has changed.

use netlink_packet_core::{NetlinkBuffer, NlasIterator};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::netdevice::index_to_name;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::FirewallError;
use crate::lookup::{AF_INET, RTM_NEWNEIGH};
use crate::nftables::HEADER;

/// What a visitor looks at: links, neighbours (another computer behind the same address), IPv4 addresses, IPv4 routes
/// (`RTMGRP_LINK`, `RTMGRP_NEIGH`, `RTMGRP_IPV4_IFADDR` and `RTMGRP_IPV4_ROUTE` in linux/rtnetlink.h).
const SURROUNDINGS: u32 = 0x1 | 0x4 | 0x10 | 0x40;
/// What a closed switch consists of besides its table: routes and rules of both families, and links, which take routes with
/// them (`RTMGRP_LINK`, `RTMGRP_IPV4_ROUTE`, `RTMGRP_IPV4_RULE`, `RTMGRP_IPV6_ROUTE`, `RTNLGRP_IPV6_RULE`).
const SWITCH: u32 = 0x1 | 0x40 | 0x80 | 0x400 | 1 << 18;
/// What an access point's layers consist of: links, queues and filters, IPv4 addresses and routes, rules of both families,
/// and whether interfaces forward (`RTNLGRP_LINK`, `_TC`, `_IPV4_IFADDR`, `_IPV4_ROUTE`, `_IPV4_RULE`, `_IPV6_RULE` and
/// `_IPV4_NETCONF`).
const LAYERS: u32 = 1 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 18 | 1 << 23;
/// Neighbours (`RTMGRP_NEIGH` in linux/rtnetlink.h).
const NEIGHBOURS: u32 = 0x4;
/// Everything of nftables (`NFNLGRP_NFTABLES` in linux/netfilter/nfnetlink.h).
const NFTABLES: u32 = 1 << 6;
/// Messages about what changes all the time, by an access point's own doing: classes of queues
/// (`RTM_NEWTCLASS`, `RTM_DELTCLASS`), and generations and traces of nftables.
const PASSING: [u16; 5] = [40, 41, 0xa0f, 0xa10, 0xa11];
/// An element of a set of nftables has come or gone. Most are an access point's own doing, too.
const ELEMENTS: [u16; 2] = [0xa0c, 0xa0e];
/// The first attribute of such a message is the name of the table (linux/netfilter/nf_tables.h).
const NFTA_SET_ELEM_LIST_TABLE: u16 = 1;

/// The largest datagram that the kernel sends fills pages, 32 KiB at most.
const DATAGRAM_MAX: usize = 64 * 1024;

/// A thread that learns when this network namespace changes (rtnetlink(7)). It needs no privilege for links, addresses
/// and routes, and ends when this is dropped.
///
/// What exactly has changed is not said: whoever wants to know looks. So nothing that gets lost, or that comes in
/// another form in a later kernel, can mislead anybody.
#[derive(Debug)]
pub struct Changes {
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Changes {
    /// Begins to listen, in the network namespace of the calling thread, for links, neighbours, addresses and routes.
    /// `on_change` is called in the other thread, once for all changes that have come together, and should not take long.
    ///
    /// # Errors
    /// The kernel has no such socket for us, or no thread can be had.
    pub fn watch(on_change: impl Fn() + Send + 'static) -> Result<Self, FirewallError> {
        Self::begin(vec![(None, SURROUNDINGS)], Filter::Everything, on_change)
    }

    /// The same for what [`KillSwitch::put_back`](crate::KillSwitch::put_back) puts back. This needs an
    /// administrator's rights.
    ///
    /// # Errors
    /// As [`Changes::watch`].
    pub fn watch_switch(on_change: impl Fn() + Send + 'static) -> Result<Self, FirewallError> {
        Self::begin(vec![(None, SWITCH), (Some(netlink::NETFILTER), NFTABLES)], Filter::Everything, on_change)
    }

    /// The same for IPv4 neighbours on this interface: `on_change` is called when somebody has come there, or has
    /// answered the kernel after a pause. Of somebody who is known and speaks, the kernel says nothing until packets go there.
    ///
    /// # Errors
    /// As [`Changes::watch`].
    pub fn watch_stations(
        interface: &str,
        on_change: impl Fn() + Send + 'static,
    ) -> Result<Self, FirewallError> {
        Self::begin(vec![(None, NEIGHBOURS)], Filter::Stations(interface.to_owned()), on_change)
    }

    /// The same for what [`Firewall::reconcile`](crate::Firewall::reconcile) puts back.
    ///
    /// # Errors
    /// As [`Changes::watch`].
    pub(crate) fn watch_layers(
        sets: OwnSets,
        on_change: impl Fn() + Send + 'static,
    ) -> Result<Self, FirewallError> {
        Self::begin(vec![(None, LAYERS), (Some(netlink::NETFILTER), NFTABLES)], Filter::Sets(sets), on_change)
    }

    fn begin(
        groups: Vec<(Option<Protocol>, u32)>,
        filter: Filter,
        on_change: impl Fn() + Send + 'static,
    ) -> Result<Self, FirewallError> {
        let failed = |error: io::Error| FirewallError::Changes { reason: error.to_string() };
        // NETLINK_ROUTE is protocol 0, for which there is no name.
        let sockets = groups.into_iter().map(|(protocol, groups)| open(protocol, groups));
        let sockets: Vec<_> = sockets.collect::<Result<_, Errno>>().map_err(|error| failed(error.into()))?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let bell = Arc::new(bell.map_err(|error| failed(error.into()))?);
        let thread_bell = Arc::clone(&bell);
        let work = move || {
            while wait(&sockets, &thread_bell) {
                // Every socket is read, also where the first has something to say.
                if sockets.iter().filter(|socket| drain(socket, &filter)).count() > 0 {
                    on_change();
                }
            }
        };
        let thread = std::thread::Builder::new().name("changes".to_owned()).spawn(work).map_err(failed)?;
        Ok(Self { bell, thread: Some(thread) })
    }
}

fn open(protocol: Option<Protocol>, groups: u32) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    Ok(socket)
}

impl Drop for Changes {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // A panic has been printed already; here is nobody to do more about it.
            let _ = thread.join();
        }
    }
}

/// Waits for something to read; false when it is time to end.
fn wait(sockets: &[OwnedFd], bell: &OwnedFd) -> bool {
    let sockets = sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN));
    let mut wanted: Vec<_> = [PollFd::new(bell, PollFlags::IN)].into_iter().chain(sockets).collect();
    match poll(&mut wanted, None) {
        Ok(_) => wanted.first().is_none_or(|bell| bell.revents().is_empty()),
        Err(Errno::INTR) => true,
        Err(error) => {
            tracing::warn!(%error, "changes of the network are not noticed any more");
            false
        }
    }
}

/// Reads everything; whether there was anything that matters.
fn drain(socket: &OwnedFd, filter: &Filter) -> bool {
    let mut any = false;
    let mut buffer = vec![0; DATAGRAM_MAX];
    loop {
        match recv(socket, &mut buffer, RecvFlags::DONTWAIT) {
            Ok((length, _)) => any |= matters(buffer.get(..length).unwrap_or_default(), filter, socket),
            // A kernel that had too much to say has said enough.
            Err(Errno::NOBUFS) => any = true,
            Err(Errno::INTR) => {}
            Err(_) => return any,
        }
    }
}

/// Whether one of these messages is about more than what changes all the time. What cannot be read matters.
fn matters(mut messages: &[u8], filter: &Filter, socket: &OwnedFd) -> bool {
    while !messages.is_empty() {
        let Ok(message) = NetlinkBuffer::new_checked(messages) else { return true };
        let kind = message.message_type();
        let matters = match filter {
            Filter::Stations(interface) => {
                kind == RTM_NEWNEIGH
                    && neighbour_index(message.payload())
                        .is_none_or(|index| index_to_name(socket, index).is_ok_and(|name| name == *interface))
            }
            Filter::Sets(sets) if ELEMENTS.contains(&kind) => {
                sets.were_changed_by_another(message.port_number(), message.payload())
            }
            Filter::Everything | Filter::Sets(_) => !ELEMENTS.contains(&kind) && !PASSING.contains(&kind),
        };
        if matters {
            return true;
        }
        let length = usize::try_from(message.length()).unwrap_or(usize::MAX);
        messages = messages.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    false
}

/// On which interface an IPv4 neighbour is (`struct ndmsg` in linux/neighbour.h); nothing if that cannot be read. The interface
/// 0, which there is not, stands for neighbours of other families: a bridge's ports, and IPv6.
fn neighbour_index(message: &[u8]) -> Option<u32> {
    let index = message.get(4..)?.first_chunk().map(|index| u32::from_ne_bytes(*index))?;
    Some(if message.first() == Some(&AF_INET) { index } else { 0 })
}

/// Which changes matter.
#[derive(Debug)]
enum Filter {
    /// All but elements of sets and what changes all the time.
    Everything,
    /// Of elements, those that another program has changed in an access point's own sets.
    Sets(OwnSets),
    /// Neighbours on the interface of this name alone. Its number changes when it is made anew.
    Stations(String),
}

/// The sets of an access point's table, which it changes all the time, and another program should not.
#[derive(Debug)]
pub(crate) struct OwnSets {
    pub(crate) table: String,
    /// The netlink port from which the access point changes them. What the kernel does by itself has none.
    pub(crate) port: u32,
}

impl OwnSets {
    /// Whether a message about an element, from this port, is about one of these sets and not the access point's doing.
    fn were_changed_by_another(&self, port: u32, message: &[u8]) -> bool {
        if [0, self.port].contains(&port) {
            return false;
        }
        let attributes = message.get(HEADER..).unwrap_or_default();
        let table = NlasIterator::new(attributes).next().and_then(Result::ok);
        let Some(table) = table.filter(|first| first.kind() == NFTA_SET_ELEM_LIST_TABLE) else { return true };
        table.value().strip_suffix(&[0]).is_none_or(|name| name == self.table.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message about an element of a set of this table, changed from this port.
    fn element(port: u32, table: &str) -> Vec<u8> {
        let mut payload = vec![2, 0, 0, 0];
        payload.extend((u16::try_from(table.len() + 5).unwrap()).to_ne_bytes());
        payload.extend(NFTA_SET_ELEM_LIST_TABLE.to_ne_bytes());
        payload.extend(table.as_bytes());
        payload.push(0);
        let length = u32::try_from(16 + payload.len()).unwrap();
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(0xa0c_u16.to_ne_bytes());
        message.extend([0; 6]);
        message.extend(port.to_ne_bytes());
        message.extend(payload);
        message.resize(message.len().next_multiple_of(4), 0);
        message
    }

    /// A socket whose network has no other interface than loopback's, which has the number 1 in every network.
    fn socket() -> OwnedFd {
        open(None, 0).unwrap()
    }

    #[test]
    fn elements_matter_where_another_program_puts_them_into_the_own_table() {
        let filter = Filter::Sets(OwnSets { table: "guestright".to_owned(), port: 7 });
        let matters = |bytes: &[u8], filter: &Filter| matters(bytes, filter, &socket());
        let of = |port, table| matters(&element(port, table), &filter);
        assert!(of(8, "guestright"));
        assert!(!of(7, "guestright"), "the access point's own doing");
        assert!(!of(0, "guestright"), "the kernel's own doing");
        assert!(!of(8, "fw4"), "another table");
        let mut cut = element(8, "guestright");
        cut.truncate(22);
        cut[0] = 22;
        assert!(matters(&cut, &filter), "what cannot be read");
        assert!(!matters(&element(8, "guestright"), &Filter::Everything));
    }

    #[test]
    fn neighbours_matter_where_they_are_stations() {
        let neighbour = |kind: u16, family: u8, index: u32| {
            let mut message = 28_u32.to_ne_bytes().to_vec();
            message.extend(kind.to_ne_bytes());
            message.extend([0; 10]);
            message.extend([family, 0, 0, 0]);
            message.extend(index.to_ne_bytes());
            message.extend([0; 4]);
            message
        };
        let matters = |bytes: &[u8], interface: &str| {
            matters(bytes, &Filter::Stations(interface.to_owned()), &socket())
        };
        assert!(matters(&neighbour(28, 2, 1), "lo"));
        assert!(!matters(&neighbour(28, 2, 1), "guests"), "on another interface");
        assert!(!matters(&neighbour(29, 2, 1), "lo"), "one that has gone");
        assert!(!matters(&neighbour(28, 10, 1), "lo"), "IPv6");
        assert!(!matters(&neighbour(16, 2, 1), "lo"), "a link");
        let cut = [20_u32.to_ne_bytes().as_slice(), &28_u16.to_ne_bytes(), &[0; 14]].concat();
        assert!(matters(&cut, "lo"), "what cannot be read");
    }
}
