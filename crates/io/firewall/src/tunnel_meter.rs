//! A home's count of the datagrams of its members' tunnels.
//!
//! A home signs for what it saw: the IPv4 packets of a tunnel, headers included, both ways, which are the bytes that
//! an access point counts for it. Each address and port from which a tunnel comes is counted by itself.
//!
//! - Only peers that were answered are counted. WireGuard answers nobody who has no key, so a stranger that makes up
//!   addresses fills no table. A peer's very first packet is not counted.
//! - IKE answers anybody. Of IPsec's tunnels, which come to UDP port 4500, those are counted that were sent a packet of ESP:
//!   for that keys were agreed on. What begins with four zero bytes there is IKE's (RFC 3948, section 2.2).
//! - What is lost on the way is counted at one end only, and what the home's kernel handles as one super-frame is one
//!   packet here: 28 bytes less for each datagram after the first, about 2 % of full ones. Who signs allows for it.
//! - A peer that is silent for ten minutes is forgotten, and begins at nothing.
//!
//! The table only counts: it accepts everything and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};

use crate::nftables::Nftables;
use crate::state::{State, clean_up};
use crate::{FirewallError, elements, tool};

const TABLE: &str = "guestright_calls";
/// Peers that are counted at a time.
const PEERS_MAX: u32 = 65_535;
/// Where IPsec's tunnels come to: never anything else in UDP (RFC 3948, section 2).
const IPSEC_PORT: u16 = 4_500;

/// Bytes counted for each peer, both ways.
type Counts = BTreeMap<SocketAddrV4, u64>;

/// Counts the datagrams of each peer. Removed when dropped, if not before.
#[derive(Debug)]
pub struct TunnelMeter {
    state_file: PathBuf,
    ipsec: bool,
    is_up: bool,
}

/// What was counted of tunnels of each kind: from one address and port there may come one of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TunnelCounts {
    /// To and from the ports that the meter was given.
    pub ports: Counts,
    /// Of IPsec's.
    pub ipsec: Counts,
}

impl TunnelMeter {
    /// Begins to count what comes to and goes from these UDP ports of this computer, and from IPsec's if that is wanted. What a
    /// crashed run left behind is cleaned up first.
    ///
    /// # Errors
    /// No port, port 0 or IPsec's, a table of our name that is not ours, or the system refuses.
    pub fn up(ports: &BTreeSet<u16>, ipsec: bool, state_file: &Path) -> Result<Self, FirewallError> {
        if ports.is_empty() || ports.contains(&0) || ipsec && ports.contains(&IPSEC_PORT) {
            let got = format!("{ports:?}");
            return Err(FirewallError::Setting {
                name: "ports",
                got,
                want: "one port or more, none of them 0 or IPsec's",
            });
        }
        clean_up(state_file)?;
        if elements::table_exists(TABLE)? {
            return Err(FirewallError::TableTaken { table: TABLE.to_owned() });
        }
        State::new(TABLE, &[], Vec::new())?.write(state_file)?;
        let meter = Self { state_file: state_file.to_owned(), ipsec, is_up: true };
        tool::nft(&render(ports, ipsec))?; // On failure, dropping cleans up.
        Ok(meter)
    }

    /// What was counted so far.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn read(&self) -> Result<TunnelCounts, FirewallError> {
        let mut kernel = Nftables::open()?;
        let ports = counts(&mut kernel, ["in", "out"])?;
        let ipsec = if self.ipsec { counts(&mut kernel, ["ipsec_in", "ipsec_out"])? } else { Counts::new() };
        Ok(TunnelCounts { ports, ipsec })
    }

    /// Stops counting and removes the table.
    ///
    /// # Errors
    /// The system refuses; the state file stays, and [`clean_up`] may be tried again.
    pub fn down(mut self) -> Result<(), FirewallError> {
        self.is_up = false;
        clean_up(&self.state_file)
    }
}

impl Drop for TunnelMeter {
    fn drop(&mut self) {
        if !self.is_up {
            return;
        }
        if let Err(error) = clean_up(&self.state_file) {
            tracing::warn!(%error, "the meter of the tunnels could not be removed");
        }
    }
}

fn counts(kernel: &mut Nftables, sets: [&'static str; 2]) -> Result<Counts, FirewallError> {
    let mut counts = Counts::new();
    for set in sets {
        for peer in kernel.elements(TABLE, set)? {
            let count = counts.entry(peer.end()?).or_default();
            *count = count.saturating_add(peer.count.bytes);
        }
    }
    Ok(counts)
}

/// Counts in after everything that may drop, out likewise; fragments are joined or not cut yet.
fn render(ports: &BTreeSet<u16>, ipsec: bool) -> String {
    let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
    let ports = ports.join(", ");
    let set = format!("type ipv4_addr . inet_service; size {PEERS_MAX}; flags dynamic,timeout; timeout 10m;");
    let sets = |kind: &str| {
        format!(
            "	set {kind}answered {{ {set} }}
	set {kind}in {{ {set} counter; }}
	set {kind}out {{ {set} counter; }}
"
        )
    };
    let (mut more_sets, mut input, mut output) = (String::new(), String::new(), String::new());
    if ipsec {
        more_sets = sets("ipsec_");
        let counted = "ip daddr . udp dport @ipsec_answered update @ipsec_out { ip daddr . udp dport }";
        input = format!(
            "		meta nfproto ipv4 udp dport {IPSEC_PORT} ip saddr . udp sport @ipsec_answered update @ipsec_in {{ ip saddr . udp sport }}
"
        );
        output = format!(
            "		meta nfproto ipv4 udp sport {IPSEC_PORT} @th,64,32 != 0 update @ipsec_answered {{ ip daddr . udp dport }}
		meta nfproto ipv4 udp sport {IPSEC_PORT} {counted}
"
        );
    }
    format!(
        "create table inet {TABLE}
table inet {TABLE} {{
	# Looking a peer up in a set that counts would count.
{}{more_sets}	chain input {{
		type filter hook input priority 300; policy accept;
		meta nfproto ipv4 udp dport {{ {ports} }} ip saddr . udp sport @answered update @in {{ ip saddr . udp sport }}
{input}	}}
	chain output {{
		type filter hook output priority 300; policy accept;
		meta nfproto ipv4 udp sport {{ {ports} }} update @answered {{ ip daddr . udp dport }} update @out {{ ip daddr . udp dport }}
{output}	}}
}}
",
        sets("")
    )
}
