//! Datagrams that look like RTCP and cannot be read.
//!
//! Two bytes say that a datagram is RTCP (RFC 5761, section 4), and one of 32 datagrams of anything has two such bytes by
//! chance. So what cannot be read is taken for ciphered RTCP only where a stream of RTP passes: between its sockets, or
//! those one port higher (RFC 3550, section 11). Whether one does may become known later.

use super::Flow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Unread {
    by_sockets: BTreeMap<(SocketAddr, SocketAddr), u64>,
}

impl Unread {
    /// Counts a datagram; between more than `max` pairs of sockets the later ones are left out.
    pub(super) fn add(&mut self, from: SocketAddr, to: SocketAddr, max: usize) {
        if self.by_sockets.len() < max || self.by_sockets.contains_key(&(from, to)) {
            *self.by_sockets.entry((from, to)).or_default() += 1;
        }
    }

    /// How many of them belong to one of the streams, in either direction.
    pub(super) fn beside<'a>(&self, streams: impl Iterator<Item = &'a Flow>) -> u64 {
        let both = |flow: &Flow| [(flow.from, flow.to), (flow.to, flow.from)];
        let sockets: BTreeSet<_> = streams.flat_map(both).collect();
        let belongs = |&(from, to): &(SocketAddr, SocketAddr)| {
            let media = [(from, to), (below(from), below(to)), (below(from), to), (from, below(to))];
            media.iter().any(|pair| sockets.contains(pair))
        };
        self.by_sockets.iter().filter(|(pair, _)| belongs(pair)).map(|(_, count)| count).sum()
    }
}

/// The same address, one port lower.
fn below(mut address: SocketAddr) -> SocketAddr {
    address.set_port(address.port().saturating_sub(1));
    address
}
