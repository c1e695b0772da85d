//! Texts of the kernel, of its tools and of our own files: they come from this computer, and may be in a form that nobody
//! has thought of.

use crate::seeds::Seed;
use guestright_firewall::{Flow, fuzzing};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4};

const HOME: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 2), 51_820);

fn flows() -> BTreeSet<Flow> {
    let visitor = |last| SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, last), 5_000);
    [2, 3].map(|last| Flow { visitor: visitor(last), home: HOME }).into()
}

/// A table of neighbours, of connections, an address as netlink says it, and a state file: all of these bytes.
pub fn tables(bytes: &[u8]) {
    let found = fuzzing::translated(bytes, &flows());
    assert!(found.keys().all(|flow| flows().contains(flow)), "a flow that nobody asked for");
    let text = String::from_utf8_lossy(bytes);
    for (address, mac) in fuzzing::neighbours(&text, "guests") {
        let written = [address.to_string(), mac.to_string()];
        assert!(text.contains(&written[0]), "{written:?} is not in the table");
    }
    if let Some((address, prefix)) = fuzzing::address(bytes) {
        let is_in = bytes.windows(4).skip(8).any(|octets| octets == address.octets());
        assert!(is_in, "{address} is not in the answer");
        assert_eq!(bytes.get(..2), Some(&[2, prefix][..]), "the family and the length of the prefix");
    }
    if let Some(state) = fuzzing::state(&text) {
        assert_eq!(fuzzing::state(&state), Some(state.clone()), "a state file in other words");
    }
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let texts = [
        (
            "neighbours",
            "IP address       HW type     Flags       HW address            Mask     Device\n\
             10.0.0.5         0x1         0x2         02:00:00:00:00:05     *        guests\n\
             10.0.0.6         0x1         0x0         00:00:00:00:00:00     *        guests\n",
        ),
        (
            "connections",
            "ipv4     2 udp      17 119 src=10.77.0.2 dst=203.0.113.2 sport=5000 dport=51820 src=203.0.113.2 \
             dst=203.0.113.1 sport=51820 dport=40001 [ASSURED] mark=0 use=2\n\
             udp      17 29 src=10.77.0.3 dst=203.0.113.2 sport=5000 dport=51820 [UNREPLIED] src=203.0.113.2 \
             dst=203.0.113.1 sport=51820 dport=5000 mark=0 use=1\n",
        ),
    ];
    seeds.extend(texts.map(|(name, text)| ("tables", name.to_owned(), text.as_bytes().to_vec())));
    seeds.push(("tables", "addresses".to_owned(), ADDRESS.to_vec()));
    seeds.push(("tables", "state".to_owned(), STATE.as_bytes().to_vec()));
}

/// An address of a point-to-point link: `struct ifaddrmsg` (linux/if_addr.h) with a prefix of 24 and the interface 7, then the other end's
/// address (`IFA_ADDRESS`) and the interface's own (`IFA_LOCAL`).
const ADDRESS: [u8; 24] = [2, 24, 0, 0, 7, 0, 0, 0, 8, 0, 1, 0, 10, 11, 0, 2, 8, 0, 2, 0, 10, 11, 0, 1];

/// A state file of a kill switch.
const STATE: &str = include_str!("tables/state.json");
