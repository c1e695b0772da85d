//! The kernel's table of connections: as which port a visitor's flow leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read as _};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU16;

use crate::{FirewallError, tool};

const TABLE: &str = "/proc/thread-self/net/nf_conntrack";
/// No more of the table is read: some 300,000 connections of about 200 bytes.
const TABLE_LEN_MAX: u64 = 64 << 20;

/// A visitor's tunnel, as it is before translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// The visitor's end.
    pub visitor: SocketAddrV4,
    /// The home's end.
    pub home: SocketAddrV4,
}

/// The ports from which the homes see these flows come. One that the kernel no longer knows is missing.
///
/// Reads `/proc/net/nf_conntrack`, or asks the program `conntrack` where the kernel has no such file or shows it to root
/// alone and we are not.
///
/// # Errors
/// Neither is there.
pub fn translated_ports(flows: &BTreeSet<Flow>) -> Result<BTreeMap<Flow, NonZeroU16>, FirewallError> {
    if flows.is_empty() {
        return Ok(BTreeMap::new());
    }
    let broken =
        |error: std::io::Error| FirewallError::File { path: TABLE.to_owned(), reason: error.to_string() };
    match File::open(TABLE) {
        Ok(table) => find(BufReader::new(table.take(TABLE_LEN_MAX)), flows).map_err(broken),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
            let text = tool::run("conntrack", &["-L", "-f", "ipv4", "-p", "udp"], "")?;
            find(text.as_bytes(), flows).map_err(broken)
        }
        Err(error) => Err(broken(error)),
    }
}

/// Whether the kernel's table can be read.
///
/// # Errors
/// Why not, and what to do.
pub fn check_connections() -> Result<(), FirewallError> {
    let nobody = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    translated_ports(&[Flow { visitor: nobody, home: nobody }].into()).map(drop)
}

pub(crate) fn find(
    table: impl BufRead,
    flows: &BTreeSet<Flow>,
) -> Result<BTreeMap<Flow, NonZeroU16>, std::io::Error> {
    let mut found = BTreeMap::new();
    for line in table.lines() {
        if let Some((flow, port)) = read(&line?).filter(|(flow, _)| flows.contains(flow)) {
            found.insert(flow, port);
            if found.len() == flows.len() {
                break;
            }
        }
    }
    Ok(found)
}

/// One connection: the first `src=`, `dst=`, `sport=`, `dport=` are of its first packet, the second four of an answer.
fn read(line: &str) -> Option<(Flow, NonZeroU16)> {
    if !line.split_whitespace().any(|word| word == "udp") {
        return None;
    }
    let second = |name: &str| line.split_whitespace().filter_map(|word| word.strip_prefix(name)).nth(1);
    let first = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name));
    let end = |address: &str, port: &str| {
        Some(SocketAddrV4::new(first(address)?.parse().ok()?, first(port)?.parse().ok()?))
    };
    let flow = Flow { visitor: end("src=", "sport=")?, home: end("dst=", "dport=")? };
    Some((flow, second("dport=")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_port_that_a_flow_was_given() {
        let table = "\
ipv4     2 tcp      6 431999 ESTABLISHED src=10.77.0.2 dst=203.0.113.2 sport=5000 dport=51820 src=203.0.113.2 dst=203.0.113.1 sport=51820 dport=1 [ASSURED] mark=0 use=2
ipv6     10 udp      17 29 src=fe80::1 dst=fe80::2 sport=5000 dport=51820 src=fe80::2 dst=fe80::1 sport=51820 dport=5000 use=2
ipv4     2 udp      17 119 src=10.77.0.2 dst=203.0.113.2 sport=5000 dport=51820 src=203.0.113.2 dst=203.0.113.1 sport=51820 dport=40001 [ASSURED] mark=0 use=2
udp      17 29 src=10.77.0.3 dst=203.0.113.2 sport=5000 dport=51820 [UNREPLIED] src=203.0.113.2 dst=203.0.113.1 sport=51820 dport=5000 mark=0 use=1
ipv4     2 udp      17 29 src=10.77.0.4 dst=203.0.113.2 sport=5000 dport=51820 src=203.0.113.2 dst=203.0.113.1 sport=51820 dport=0 use=1
ipv4     2 unknown  2 500 src=10.77.0.5 dst=224.0.0.22 [UNREPLIED] src=224.0.0.22 dst=10.77.0.5 mark=0 use=1
rubbish
";
        let home = "203.0.113.2:51820".parse().unwrap();
        let flow = |visitor: &str| Flow { visitor: visitor.parse().unwrap(), home };
        let wanted = ["10.77.0.2:5000", "10.77.0.3:5000", "10.77.0.4:5000", "10.77.0.9:5000"].map(flow);
        let found = find(table.as_bytes(), &wanted.into()).unwrap();
        let ports: Vec<_> = wanted.iter().map(|flow| found.get(flow).map(|port| port.get())).collect();
        assert_eq!(ports, [Some(40_001), Some(5_000), None, None]);
    }
}
