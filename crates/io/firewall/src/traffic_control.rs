//! The kernel's traffic control over one netlink socket: the class and the queue of each visitor.
//!
//! Trees are put up by `tc`, once. What is done for each grant goes through this socket, for the reasons that grants
//! themselves do not start a process.

use std::io;

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE, NlasIterator};
use netlink_packet_route::tc::{TcHandle, TcHeader};
use rustix::net::netdevice::name_to_index;

use crate::FirewallError;
use crate::netlink::{Netlink, emitted, nested, refused, zero_terminated};

/// Messages about traffic control and their attributes (linux/rtnetlink.h), and attributes of an HTB class
/// (linux/pkt_sched.h).
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const RTM_NEWTCLASS: u16 = 40;
const RTM_DELTCLASS: u16 = 41;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
/// Frames have Ethernet's headers, and need no table of how long each takes.
const TC_LINKLAYER_ETHERNET: u8 = 1;
/// The kernel counts times of the packet scheduler in so many nanoseconds.
const TICK_NS: u64 = 64;

/// What a class of HTB may have: rates in bits a second, the rest in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// What it has in any case.
    pub(crate) rate: u64,
    /// What it has at most.
    pub(crate) ceiling: u64,
    pub(crate) burst: u64,
    pub(crate) ceiling_burst: u64,
    /// What it sends before others of its kind come.
    pub(crate) quantum: u64,
}

/// The parent of a queue that is at an interface's root (linux/pkt_sched.h).
pub(crate) const TC_H_ROOT: u32 = 0xffff_ffff;

/// A queue of an interface, as the kernel names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    pub(crate) handle: u32,
    pub(crate) parent: u32,
    pub(crate) kind: String,
}

/// A queue and the number of its interface, in an answer of the kernel's: `struct tcmsg` (linux/rtnetlink.h), and attributes.
fn read_queue(answer: &[u8]) -> Option<(u32, Queue)> {
    let (header, attributes) = answer.split_first_chunk::<20>()?;
    let number = |at: usize| header.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    let mut attributes = NlasIterator::new(attributes).map_while(Result::ok);
    let kind = attributes.find(|attribute| attribute.kind() == TCA_KIND)?;
    let kind = kind.value().split(|byte| *byte == 0).next().unwrap_or_default();
    let kind = String::from_utf8_lossy(kind).into_owned();
    Some((number(4)?, Queue { handle: number(8)?, parent: number(12)?, kind }))
}

/// A socket to the kernel's traffic control, in the network namespace where it was opened.
#[derive(Debug)]
pub(crate) struct TrafficControl {
    socket: Netlink,
}

impl TrafficControl {
    /// Opens the socket.
    ///
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn open() -> Result<Self, FirewallError> {
        Ok(Self { socket: Netlink::open(None)? })
    }

    /// Puts a class on an interface, in the place of one that may be there: its queue is kept.
    ///
    /// # Errors
    /// No such interface or parent, or the kernel refuses.
    pub(crate) fn put_class(
        &mut self,
        interface: &str,
        parent: u32,
        class: u32,
        terms: &Terms,
    ) -> Result<(), FirewallError> {
        let header = self.header(interface, parent, class)?;
        let options = nested(&[
            DefaultNla::new(TCA_HTB_PARMS, terms.parameters()),
            DefaultNla::new(TCA_HTB_RATE64, (terms.rate / 8).to_ne_bytes().to_vec()),
            DefaultNla::new(TCA_HTB_CEIL64, (terms.ceiling / 8).to_ne_bytes().to_vec()),
        ]);
        self.request(RTM_NEWTCLASS, &header, &of_kind("htb", options), NLM_F_CREATE)
            .map_err(|error| refused(&format!("put a visitor's class on {interface}"), error))
    }

    /// Puts a queue of so many packets behind a class, first in, first out.
    ///
    /// # Errors
    /// No such interface or class, or the kernel refuses.
    pub(crate) fn put_queue(
        &mut self,
        interface: &str,
        class: u32,
        packets_max: u32,
    ) -> Result<(), FirewallError> {
        let header = self.header(interface, class, 0)?;
        let limit = of_kind("pfifo", packets_max.to_ne_bytes().to_vec());
        self.request(RTM_NEWQDISC, &header, &limit, NLM_F_CREATE | NLM_F_REPLACE)
            .map_err(|error| refused(&format!("put a visitor's queue on {interface}"), error))
    }

    /// Removes a class and what waits behind it.
    ///
    /// # Errors
    /// No such interface or class, or the kernel refuses.
    pub(crate) fn delete_class(&mut self, interface: &str, class: u32) -> Result<(), FirewallError> {
        let header = self.header(interface, 0, class)?;
        self.request(RTM_DELTCLASS, &header, &[], 0)
            .map_err(|error| refused(&format!("remove a visitor's class from {interface}"), error))
    }

    /// The queues of an interface that somebody has asked for, and what its root has.
    ///
    /// # Errors
    /// No such interface, or the kernel does not tell.
    pub(crate) fn queues(&mut self, interface: &str) -> Result<Vec<Queue>, FirewallError> {
        let header = self.header(interface, 0, 0)?;
        let mut found = Vec::new();
        self.socket
            .dump(RTM_GETQDISC, &emitted(&header), |answer| {
                let queue = read_queue(answer).filter(|(of, _)| *of == header.index.cast_unsigned());
                found.extend(queue.map(|(_, queue)| queue));
            })
            .map_err(|error| refused(&format!("ask for the queues of {interface}"), error))?;
        Ok(found)
    }

    fn header(&self, interface: &str, parent: u32, handle: u32) -> Result<TcHeader, FirewallError> {
        let index = name_to_index(self.socket.descriptor(), interface)
            .map_err(|error| refused(&format!("find {interface}"), error.into()))?;
        let (parent, handle) = (TcHandle::from(parent), TcHandle::from(handle));
        Ok(TcHeader { index: index.cast_signed(), parent, handle, ..TcHeader::default() })
    }

    fn request(&mut self, kind: u16, header: &TcHeader, attributes: &[u8], flags: u16) -> io::Result<()> {
        self.socket.request(kind, [&emitted(header), attributes], flags)
    }
}

/// The attributes of a class or a queue: what it is, and its options.
fn of_kind(name: &str, options: Vec<u8>) -> Vec<u8> {
    nested(&[DefaultNla::new(TCA_KIND, zero_terminated(name)), DefaultNla::new(TCA_OPTIONS, options)])
}

impl Terms {
    /// `struct tc_htb_opt` of linux/pkt_sched.h, in this computer's byte order.
    fn parameters(&self) -> Vec<u8> {
        let ticks = |bytes: u64, rate: u64| {
            let nanoseconds = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate.max(1));
            u32::try_from(nanoseconds / u128::from(TICK_NS)).unwrap_or(u32::MAX)
        };
        let mut parameters = Vec::new();
        for rate in [self.rate, self.ceiling] {
            // `struct tc_ratespec`: cell_log, linklayer, overhead, cell_align, mpu, and bytes a second.
            parameters.extend([0, TC_LINKLAYER_ETHERNET]);
            parameters.extend([0; 6]);
            parameters.extend(u32::try_from(rate / 8).unwrap_or(u32::MAX).to_ne_bytes());
        }
        let quantum = u32::try_from(self.quantum).unwrap_or(u32::MAX);
        let (level, priority) = (0_u32, 0_u32);
        let burst = ticks(self.burst, self.rate);
        let ceiling_burst = ticks(self.ceiling_burst, self.ceiling);
        for number in [burst, ceiling_burst, quantum, level, priority] {
            parameters.extend(number.to_ne_bytes());
        }
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_queues_and_whose_they_are() {
        let answer = |kind: &[u8]| {
            let length = u16::try_from(4 + kind.len()).unwrap();
            let header = [0, 7, 0x4752_0000, TC_H_ROOT, 2].map(u32::to_ne_bytes).concat();
            [&header[..], &length.to_ne_bytes(), &TCA_KIND.to_ne_bytes(), kind].concat()
        };
        let queue = Queue { handle: 0x4752_0000, parent: TC_H_ROOT, kind: "htb".to_owned() };
        assert_eq!(read_queue(&answer(b"htb\0")), Some((7, queue)));
        assert_eq!(read_queue(&answer(b"htb\0")[..20]), None, "without a kind");
        assert_eq!(read_queue(&[0; 19]), None, "cut off");
    }

    #[test]
    fn parameters_are_as_long_as_the_kernels_struct() {
        let terms = Terms {
            rate: 8_000_000,
            ceiling: 64_000_000_000,
            burst: 3_028,
            ceiling_burst: 16_000,
            quantum: 12_112,
        };
        let parameters = terms.parameters();
        assert_eq!(parameters.len(), 44);
        let number = |at: usize| u32::from_ne_bytes(parameters[at..at + 4].try_into().unwrap());
        assert_eq!(
            (number(8), number(20)),
            (1_000_000, u32::MAX),
            "what does not fit is in attributes of its own"
        );
        assert_eq!(number(24), 3_028 * 1_000 / 64, "a megabyte a second: a microsecond for each byte");
    }
}
