//! What the household decides about its firewall, checked before any of it reaches a ruleset.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

use crate::FirewallError;
use crate::ruleset::PRIVATE;

/// The kernel's limit on interface names, without the terminating zero (`IFNAMSIZ` is 16).
const INTERFACE_NAME_MAX: usize = 15;
const TABLE_NAME: &str = "guestright";
const TABLE_NAME_MAX: usize = 32;
const DNS: u16 = 53;
const DHCP: [u16; 2] = [67, 68];
const TUNNEL_PORTS_MAX: usize = 16;
const LEASE_MS: u64 = 5_000;

/// What the firewall guards and lets through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Our nftables table (family `inet`): `guestright`, or a name that begins with `guestright_`.
    pub table: String,
    /// The interface that visitors arrive on.
    pub visitor_interface: String,
    /// The interface towards the Internet.
    pub uplink_interface: String,
    /// The address at which visitors speak to the access point; the only one of the router's they may reach.
    pub access_point: Ipv4Addr,
    /// The network that visitors have addresses of, and its prefix length, from 16 to 30.
    pub visitor_network: (Ipv4Addr, u8),
    /// The port of our protocol, UDP and TCP.
    pub protocol_port: u16,
    /// Networks that visitors never reach, besides all private ones; for a household with public addresses.
    /// IPv6 ones change nothing, for visitors get no IPv6 at all.
    pub household: Vec<(IpAddr, u8)>,
    /// Rates to keep visitors below; `None` for as much as there is.
    pub shaping: Option<Shaping>,
    /// What visitors may have that have nothing but a tunnel; `None` for nothing.
    #[serde(default)]
    pub tunnels: Option<Tunnels>,
    /// Where stations without a grant are led that ask for a page of the web; `None` for nowhere.
    #[serde(default)]
    pub page: Option<Page>,
    /// How long a grant lasts in the kernel unless it is renewed, in milliseconds.
    pub lease_ms: u64,
    /// Whether the table is to be one that nobody else can change, where the kernel has such (6.9 and later).
    pub own_table: bool,
    /// What one visitor may ask of the router.
    pub limits: Limits,
}

/// What passes without a grant, to and from the ports of tunnels: enough for a visitor's home to be found and asked.
///
/// An hour begins with the first packet that is counted, for each visitor, each home and all. Bytes are those of IPv4
/// packets, both ways together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tunnels {
    /// The ports of homes' tunnels, UDP; at most 16.
    pub ports: BTreeSet<u16>,
    /// Bytes an hour for one visitor's address.
    pub allowance_bytes: u64,
    /// Bytes an hour for one home's address.
    pub per_home_bytes: u64,
    /// Bytes an hour in all.
    pub per_hour_bytes: u64,
}

impl Default for Tunnels {
    /// WireGuard's usual port; 128 KiB, 1 MiB, 8 MiB.
    fn default() -> Self {
        Self {
            ports: [51_820].into(),
            allowance_bytes: 128 << 10,
            per_home_bytes: 1 << 20,
            per_hour_bytes: 8 << 20,
        }
    }
}

/// The access point's own page, at [`Settings::access_point`].
///
/// What stations without a grant send to port 80 of any address outside comes there. Everybody may ask it directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Its TCP port.
    pub port: u16,
    /// Its TCP port for TLS, where nobody is led.
    pub secured_port: Option<u16>,
}

impl Page {
    /// The ports that are open.
    pub(crate) fn ports(self) -> impl Iterator<Item = u16> {
        [Some(self.port), self.secured_port].into_iter().flatten()
    }
}

/// The rates that all visitors share, in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shaping {
    /// Towards visitors.
    pub down_bits_per_second: u64,
    /// Towards the Internet.
    pub up_bits_per_second: u64,
}

/// Limits that keep one station from exhausting the router, the program or the others' share of both.
///
/// A station is a hardware address. Bytes are those of IPv4 packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Packets from one station with a grant to the access point's services, per second.
    pub packets_per_second_max: u32,
    /// New TCP connections from one station to the access point, per second.
    pub connections_per_second_max: u32,
    /// ICMP messages from one station to the access point, per second.
    pub pings_per_second_max: u32,
    /// Packets of our protocol from one station without a grant, per second, in the long run.
    pub stranger_packets_per_second_max: u32,
    /// Bytes of our protocol from one station without a grant, per second, in the long run.
    pub stranger_bytes_per_second_max: u32,
    /// Questions for names from one station without a grant, per second, in the long run.
    pub stranger_names_per_second_max: u32,
    /// Bytes of such questions within an hour from the first on.
    pub stranger_names_bytes_per_hour_max: u32,
    /// Bytes of the answers to all who have no grant, together, per second.
    pub strangers_names_bytes_per_second_max: u32,
    /// Packets from one station to the access point's page, per second, in the long run.
    pub page_packets_per_second_max: u32,
    /// Connections of one station that are led to the page from elsewhere, per second, in the long run.
    pub page_redirects_per_second_max: u32,
    /// Open flows of one granted visitor through the router: its share of the connection tracking table.
    pub flows_max: u32,
    /// Rejections sent to ungranted visitors, all of them together, per second; beyond it we are silent.
    pub rejections_per_second_max: u32,
    /// Visitors granted at one time.
    pub visitors_max: u16,
}

impl Default for Limits {
    /// What a visitor needs, several times over: asking takes some 15 kB with all receipts, a name 100 bytes.
    fn default() -> Self {
        Self {
            packets_per_second_max: 200,
            connections_per_second_max: 20,
            pings_per_second_max: 10,
            stranger_packets_per_second_max: 50,
            stranger_bytes_per_second_max: 32_000,
            stranger_names_per_second_max: 10,
            stranger_names_bytes_per_hour_max: 256_000,
            strangers_names_bytes_per_second_max: 100_000,
            page_packets_per_second_max: 50,
            page_redirects_per_second_max: 10,
            flows_max: 1_024,
            rejections_per_second_max: 100,
            visitors_max: 1_024,
        }
    }
}

impl Shaping {
    /// # Errors
    /// [`FirewallError::Setting`]: a rate that no line has.
    pub fn check(&self) -> Result<(), FirewallError> {
        let rates = [
            ("shaping.down_bits_per_second", self.down_bits_per_second),
            ("shaping.up_bits_per_second", self.up_bits_per_second),
        ];
        match rates.into_iter().find(|(_, rate)| !(64_000..=100_000_000_000).contains(rate)) {
            Some((name, rate)) => Err(wrong(name, rate, "from 64,000 to 100,000,000,000 bits per second")),
            None => Ok(()),
        }
    }
}

impl Settings {
    /// Settings with our table's usual name, the usual limits, no extra household networks and no shaping.
    #[must_use]
    pub fn new(
        visitor_interface: &str,
        uplink_interface: &str,
        access_point: Ipv4Addr,
        visitor_network: (Ipv4Addr, u8),
        protocol_port: u16,
    ) -> Self {
        Self {
            table: TABLE_NAME.to_owned(),
            visitor_interface: visitor_interface.to_owned(),
            uplink_interface: uplink_interface.to_owned(),
            access_point,
            visitor_network,
            protocol_port,
            household: Vec::new(),
            shaping: None,
            tunnels: None,
            page: None,
            lease_ms: LEASE_MS,
            own_table: true,
            limits: Limits::default(),
        }
    }

    /// Refuses what cannot work, and anything that could be read as more than one word of a ruleset.
    ///
    /// # Errors
    /// [`FirewallError::Setting`] names the setting, its value and what it may be.
    pub fn check(&self) -> Result<(), FirewallError> {
        check_table(&self.table)?;
        check_interface("visitor_interface", &self.visitor_interface)?;
        check_interface("uplink_interface", &self.uplink_interface)?;
        if self.visitor_interface == self.uplink_interface {
            let want = "another interface than visitor_interface";
            return Err(wrong("uplink_interface", &self.uplink_interface, want));
        }
        self.check_visitor_network()?;
        if self.protocol_port == 0 || self.protocol_port == DNS || DHCP.contains(&self.protocol_port) {
            let want = "a port from 1 to 65535 that is not DNS's (53) or DHCP's (67, 68)";
            return Err(wrong("protocol_port", self.protocol_port, want));
        }
        for network in &self.household {
            self.check_household(*network)?;
        }
        if !(100..=3_600_000).contains(&self.lease_ms) {
            return Err(wrong("lease_ms", self.lease_ms, "from 100 to 3,600,000 milliseconds"));
        }
        self.tunnels.iter().try_for_each(|tunnels| self.check_tunnels(tunnels))?;
        self.page.iter().try_for_each(|page| self.check_page(*page))?;
        self.check_rates()
    }

    /// The networks that visitors never reach: private ones, their own and the household's, IPv4 only.
    pub(crate) fn never_reached(&self) -> Vec<Ipv4Net> {
        let private = PRIVATE.iter().map(|network| network.parse().expect("it is a constant"));
        let household = self.household.iter().filter_map(|(address, prefix)| match address {
            IpAddr::V4(address) => Some((*address, *prefix)),
            IpAddr::V6(_) => None,
        });
        let ours = [self.visitor_network].into_iter().chain(household);
        private.chain(ours.filter_map(|(address, prefix)| Ipv4Net::new(address, prefix).ok())).collect()
    }

    /// How long a grant lasts unless it is renewed.
    pub(crate) fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }

    /// Whether a visitor may have this address: in the network, and neither its first, its last nor ours.
    pub(crate) fn may_be_visitor(&self, address: Ipv4Addr) -> bool {
        let (network, prefix) = self.visitor_network;
        contains(network, prefix, address)
            && address != self.access_point
            && address != network
            && address != last(network, prefix)
    }

    fn check_visitor_network(&self) -> Result<(), FirewallError> {
        let (network, prefix) = self.visitor_network;
        let got = format!("{network}/{prefix}");
        if !(16..=30).contains(&prefix) {
            return Err(wrong("visitor_network", got, "a prefix length from 16 to 30"));
        }
        if first(network, prefix) != network {
            return Err(wrong(
                "visitor_network",
                got,
                "the network's first address, such as 10.77.0.0 for a /24",
            ));
        }
        let special = network.octets()[0];
        if special == 0 || special == 127 || special >= 224 {
            return Err(wrong("visitor_network", got, "a network that computers can have addresses of"));
        }
        let inside = contains(network, prefix, self.access_point);
        if !inside || self.access_point == network || self.access_point == last(network, prefix) {
            let want = "an address in visitor_network, not its first or last";
            return Err(wrong("access_point", self.access_point, want));
        }
        Ok(())
    }

    fn check_household(&self, (address, prefix): (IpAddr, u8)) -> Result<(), FirewallError> {
        let got = format!("{address}/{prefix}");
        let prefix_max = if address.is_ipv4() { 32 } else { 128 };
        if prefix == 0 || prefix > prefix_max {
            let want = "a prefix length from 1 to 32 (IPv4) or 128 (IPv6)";
            return Err(wrong("household", got, want));
        }
        let IpAddr::V4(address) = address else {
            return Ok(());
        };
        if first(address, prefix) != address {
            return Err(wrong("household", got, "a network's first address, such as 198.51.100.0 for a /24"));
        }
        let (network, other) = self.visitor_network;
        if contains(network, other, address) || contains(address, prefix, network) {
            return Err(wrong("household", got, "a network that does not overlap visitor_network"));
        }
        Ok(())
    }

    fn check_tunnels(&self, tunnels: &Tunnels) -> Result<(), FirewallError> {
        let ports = &tunnels.ports;
        let reserved = [0, DNS, self.protocol_port];
        if !(1..=TUNNEL_PORTS_MAX).contains(&ports.len()) || reserved.iter().any(|port| ports.contains(port))
        {
            let want = "1 to 16 ports, none of them 0, DNS's (53) or protocol_port";
            return Err(wrong("tunnels.ports", format!("{ports:?}"), want));
        }
        let bounded = [
            ("tunnels.allowance_bytes", tunnels.allowance_bytes),
            ("tunnels.per_home_bytes", tunnels.per_home_bytes),
            ("tunnels.per_hour_bytes", tunnels.per_hour_bytes),
        ];
        match bounded.into_iter().find(|(_, bytes)| !(1_500..=1 << 40).contains(bytes)) {
            Some((name, got)) => Err(wrong(name, got, "from 1,500 (one packet) to 2^40 bytes")),
            None => Ok(()),
        }
    }

    fn check_page(&self, page: Page) -> Result<(), FirewallError> {
        let reserved = [0, DNS, self.protocol_port];
        if page.ports().any(|port| reserved.contains(&port)) || page.secured_port == Some(page.port) {
            let got = format!("{:?}", page.ports().collect::<Vec<_>>());
            return Err(wrong("page", got, "other ports than 0, DNS's (53), protocol_port and each other"));
        }
        Ok(())
    }

    fn check_rates(&self) -> Result<(), FirewallError> {
        self.shaping.iter().try_for_each(Shaping::check)?;
        let limits = self.limits;
        let bounded = [
            ("limits.packets_per_second_max", limits.packets_per_second_max),
            ("limits.connections_per_second_max", limits.connections_per_second_max),
            ("limits.pings_per_second_max", limits.pings_per_second_max),
            ("limits.stranger_packets_per_second_max", limits.stranger_packets_per_second_max),
            ("limits.stranger_bytes_per_second_max", limits.stranger_bytes_per_second_max),
            ("limits.stranger_names_per_second_max", limits.stranger_names_per_second_max),
            ("limits.stranger_names_bytes_per_hour_max", limits.stranger_names_bytes_per_hour_max),
            ("limits.strangers_names_bytes_per_second_max", limits.strangers_names_bytes_per_second_max),
            ("limits.page_packets_per_second_max", limits.page_packets_per_second_max),
            ("limits.page_redirects_per_second_max", limits.page_redirects_per_second_max),
            ("limits.flows_max", limits.flows_max),
            ("limits.rejections_per_second_max", limits.rejections_per_second_max),
            ("limits.visitors_max", u32::from(limits.visitors_max)),
        ];
        match bounded.into_iter().find(|(_, limit)| !(1..=1_000_000).contains(limit)) {
            Some((name, got)) => Err(wrong(name, got, "from 1 to 1,000,000")),
            None if limits.visitors_max > 32_768 => {
                Err(wrong("limits.visitors_max", limits.visitors_max, "at most 32,768"))
            }
            None => Ok(()),
        }
    }
}

/// Refuses an interface name that is not one plain word.
pub(crate) fn check_interface(name: &'static str, got: &str) -> Result<(), FirewallError> {
    let plain = |each: char| each.is_ascii_alphanumeric() || "-_.".contains(each);
    let fits = (1..=INTERFACE_NAME_MAX).contains(&got.len())
        && got.starts_with(|each: char| each.is_ascii_alphanumeric())
        && got.chars().all(plain);
    if !fits {
        let want = "an interface name: 1 to 15 letters, digits, '-', '_' or '.', first a letter or digit";
        return Err(wrong(name, format!("{got:?}"), want));
    }
    if got == "lo" {
        return Err(wrong(name, got, "a network interface, not the computer's loopback"));
    }
    Ok(())
}

pub(crate) fn check_table(got: &str) -> Result<(), FirewallError> {
    let rest = got.strip_prefix(TABLE_NAME);
    let plain = |each: char| each.is_ascii_lowercase() || each.is_ascii_digit() || each == '_';
    let fits = got.len() <= TABLE_NAME_MAX
        && rest.is_some_and(|rest| (rest.is_empty() || rest.starts_with('_')) && rest.chars().all(plain));
    if fits {
        return Ok(());
    }
    let want = "`guestright`, or `guestright_` and small letters, digits, '_', 32 characters at most";
    Err(wrong("table", format!("{got:?}"), want))
}

pub(crate) fn wrong(name: &'static str, got: impl ToString, want: &'static str) -> FirewallError {
    FirewallError::Setting { name, got: got.to_string(), want }
}

/// A prefix length above 32 counts as 32; [`Settings::check`] refuses it.
fn network_of(address: Ipv4Addr, prefix: u8) -> Ipv4Net {
    Ipv4Net::new(address, prefix.min(32)).expect("at most 32 bits")
}

pub(crate) fn first(address: Ipv4Addr, prefix: u8) -> Ipv4Addr {
    network_of(address, prefix).network()
}

pub(crate) fn last(address: Ipv4Addr, prefix: u8) -> Ipv4Addr {
    network_of(address, prefix).broadcast()
}

pub(crate) fn contains(network: Ipv4Addr, prefix: u8, address: Ipv4Addr) -> bool {
    network_of(network, prefix).contains(&address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_cannot_work() {
        type Spoil = fn(&mut Settings);
        #[rustfmt::skip]
        let cases: [(&str, Spoil); 34] = [
            ("table", |s| s.table = "filter".into()),
            ("table", |s| s.table = "guestright { }; flush ruleset".into()),
            ("table", |s| s.table = "guestright_\u{fc}".into()),
            ("visitor_interface", |s| s.visitor_interface = String::new()),
            ("visitor_interface", |s| s.visitor_interface = "a\" accept; #".into()),
            ("visitor_interface", |s| s.visitor_interface = "br*".into()),
            ("visitor_interface", |s| s.visitor_interface = "-br".into()),
            ("visitor_interface", |s| s.visitor_interface = "..".into()),
            ("visitor_interface", |s| s.visitor_interface = "lo".into()),
            ("visitor_interface", |s| s.visitor_interface = "sixteen-letters0".into()),
            ("uplink_interface", |s| s.uplink_interface = "wan\n0".into()),
            ("uplink_interface", |s| s.uplink_interface = "br0".into()),
            ("visitor_network", |s| s.visitor_network.1 = 33),
            ("visitor_network", |s| s.visitor_network.1 = 8),
            ("visitor_network", |s| s.visitor_network.0 = Ipv4Addr::new(10, 77, 0, 9)),
            ("visitor_network", |s| s.visitor_network.0 = Ipv4Addr::new(127, 0, 0, 0)),
            ("access_point", |s| s.access_point = Ipv4Addr::new(10, 78, 0, 1)),
            ("access_point", |s| s.access_point = Ipv4Addr::new(10, 77, 0, 255)),
            ("protocol_port", |s| s.protocol_port = 0),
            ("protocol_port", |s| s.protocol_port = 53),
            ("household", |s| s.household = vec![(Ipv4Addr::new(198, 51, 100, 0).into(), 33)]),
            ("household", |s| s.household = vec![(Ipv4Addr::UNSPECIFIED.into(), 0)]),
            ("household", |s| s.household = vec![(Ipv4Addr::new(10, 0, 0, 0).into(), 8)]),
            ("household", |s| s.household = vec![("2001:db8::".parse().unwrap(), 129)]),
            ("shaping.up_bits_per_second", |s| {
                s.shaping = Some(Shaping { down_bits_per_second: 1_000_000, up_bits_per_second: 1 });
            }),
            ("tunnels.ports", |s| s.tunnels = Some(Tunnels { ports: [].into(), ..Tunnels::default() })),
            ("tunnels.ports", |s| s.tunnels = Some(Tunnels { ports: [4_500].into(), ..Tunnels::default() })),
            ("tunnels.ports", |s| s.tunnels = Some(Tunnels { ports: (1_000..1_017).collect(), ..Tunnels::default() })),
            ("tunnels.per_home_bytes", |s| s.tunnels = Some(Tunnels { per_home_bytes: 0, ..Tunnels::default() })),
            ("page", |s| s.page = Some(Page { port: 0, secured_port: None })),
            ("page", |s| s.page = Some(Page { port: 4_500, secured_port: None })),
            ("page", |s| s.page = Some(Page { port: 80, secured_port: Some(80) })),
            ("limits.flows_max", |s| s.limits.flows_max = 0),
            ("limits.visitors_max", |s| s.limits.visitors_max = 40_000),
        ];
        for (setting, spoil) in cases {
            let mut settings = good();
            assert_eq!(settings.check(), Ok(()));
            spoil(&mut settings);
            crate::testing::assert_refuses(settings.check(), setting, &settings);
        }
    }

    #[test]
    fn reserved_addresses_are_no_visitors() {
        let settings = good();
        for (host, may) in [(0, false), (1, false), (2, true), (254, true), (255, false)] {
            assert_eq!(settings.may_be_visitor(Ipv4Addr::new(10, 77, 0, host)), may, "{host}");
        }
        assert!(!settings.may_be_visitor(Ipv4Addr::new(10, 77, 1, 2)));
    }

    fn good() -> Settings {
        let network = (Ipv4Addr::new(10, 77, 0, 0), 24);
        Settings::new("br0", "wan0", Ipv4Addr::new(10, 77, 0, 1), network, 4_500)
    }
}
