//! The firewall of a home gateway: members' packets, out of their tunnels, to the Internet and the home network.
//!
//! A member is known by its address in the gateway's network; its tunnel vouches for the address. Most arrive on the
//! gateway's own device; clients of IPsec and L2TP on others, or, with ESP in the kernel, on the uplink itself.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::lookup::{require_interface, route_interface};
use crate::ruleset::PRIVATE;
use crate::settings::{check_interface, check_table, contains, first, last, wrong};
use crate::state::{self, State, clean_up, left_behind};
use crate::{FirewallError, elements, tool};

/// Our table, unless told otherwise.
const TABLE: &str = "guestright_gateway";
/// The largest segment for members on other devices than ours: what fits into 1,400 bytes, the packets of IPsec and
/// L2TP clients, without 20 bytes of IP and 20 of TCP (RFC 6691).
const OTHER_SEGMENT: u16 = 1_360;
/// No more networks of a household, or further devices.
const LIST_MAX: usize = 64;

/// Why packets are dropped: one named counter each.
const DROPS: [(&str, &str); 6] = [
    ("elsewhere", "from members, out of another interface than the uplink, not to the home network"),
    ("ipv6", "IPv6, whatever it was"),
    ("private", "from members to private addresses that are not the home network's"),
    ("spoofed", "with a member's source address, not out of a tunnel, or the other way round"),
    ("to_gateway", "from members to the gateway itself, other than what is open"),
    ("unasked", "to members, from others, without a member having asked"),
];

/// What a gateway's firewall guards and lets through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewaySettings {
    /// Our nftables table (family `inet`): a name that begins with `guestright_`.
    pub table: String,
    /// The device that members' packets come out of.
    pub interface: String,
    /// The interface towards the Internet.
    pub uplink_interface: String,
    /// The network that members have addresses of, and its prefix length, from 16 to 30.
    pub network: (Ipv4Addr, u8),
    /// The gateway's own address in it.
    pub address: Ipv4Addr,
    /// Networks that members may reach besides the Internet, and their prefix lengths.
    pub home_networks: Vec<(Ipv4Addr, u8)>,
    /// Who answers members that ask `address` for names; `None` if a resolver on this computer does so itself.
    pub resolver: Option<Ipv4Addr>,
    /// Further devices of members: names, or beginnings of names followed by `*`.
    pub other_devices: Vec<String>,
    /// Whether packets that the kernel's own IPsec has opened are members' too.
    pub kernel_ipsec: bool,
    /// The home's own port (TCP), which its members' programs reach from inside at any address of this computer.
    pub home_port: Option<u16>,
    /// The port (TCP) of the household's page at `address`.
    pub page_port: Option<u16>,
    /// Where members' telephones reach the home, at `address`.
    pub voice: Option<VoicePorts>,
}

/// What members' telephones need of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoicePorts {
    /// SIP, over UDP and TCP.
    pub sip: u16,
    /// The first port of media (UDP), and the last.
    pub media: (u16, u16),
}

/// A gateway's firewall, in force. Taken down when dropped, if not before.
#[derive(Debug)]
pub struct GatewayFirewall {
    table: String,
    state_file: PathBuf,
    is_up: bool,
}

impl GatewaySettings {
    /// Settings with our table's usual name, no home network and no other devices.
    #[must_use]
    pub fn new(interface: &str, uplink_interface: &str, address: Ipv4Addr, prefix: u8) -> Self {
        Self {
            table: TABLE.to_owned(),
            interface: interface.to_owned(),
            uplink_interface: uplink_interface.to_owned(),
            network: (first(address, prefix), prefix),
            address,
            home_networks: Vec::new(),
            resolver: None,
            other_devices: Vec::new(),
            kernel_ipsec: false,
            home_port: None,
            page_port: None,
            voice: None,
        }
    }

    /// Refuses what cannot work, and anything that could be read as more than one word of a ruleset.
    ///
    /// # Errors
    /// [`FirewallError::Setting`] names the setting, its value and what it may be.
    pub fn check(&self) -> Result<(), FirewallError> {
        check_table(&self.table)?;
        check_interface("interface", &self.interface)?;
        check_interface("uplink_interface", &self.uplink_interface)?;
        if self.interface == self.uplink_interface {
            return Err(wrong(
                "uplink_interface",
                &self.uplink_interface,
                "another interface than the tunnel's",
            ));
        }
        let (network, prefix) = self.network;
        let got = format!("{network}/{prefix}");
        if !(16..=30).contains(&prefix) || first(network, prefix) != network {
            return Err(wrong("network", got, "a network's first address and a prefix length from 16 to 30"));
        }
        let special = network.octets()[0];
        if special == 0 || special == 127 || special >= 224 {
            return Err(wrong("network", got, "a network that computers can have addresses of"));
        }
        let inside = contains(network, prefix, self.address);
        if !inside || self.address == network || self.address == last(network, prefix) {
            return Err(wrong("address", self.address, "an address in the network, not its first or last"));
        }
        if self.home_networks.len() > LIST_MAX || self.other_devices.len() > LIST_MAX {
            return Err(wrong(
                "home_networks",
                self.home_networks.len(),
                "at most 64, and as many other devices",
            ));
        }
        for &(address, length) in &self.home_networks {
            let fits = (1..=32).contains(&length) && first(address, length) == address;
            let apart = !contains(network, prefix, address) && !contains(address, length, network);
            if !fits || !apart {
                let want = "a network's first address, such as 192.168.1.0 for a /24, apart from the members' network";
                return Err(wrong("home_networks", format!("{address}/{length}"), want));
            }
        }
        if self.resolver.is_some_and(|resolver| resolver.is_loopback() || resolver.is_unspecified()) {
            return Err(wrong(
                "resolver",
                format!("{:?}", self.resolver),
                "an address that packets can be sent on to",
            ));
        }
        if let Some(VoicePorts { sip, media: (first, last) }) = self.voice
            && (sip == 0 || first < 1_024 || first > last)
        {
            let got = format!("{sip} and {first}-{last}");
            return Err(wrong("voice", got, "a port, and a range of ports from 1024 up"));
        }
        for device in &self.other_devices {
            check_interface("other_devices", device.strip_suffix('*').unwrap_or(device))?;
        }
        Ok(())
    }
}

/// The ruleset that these settings lead to, as `nft -f` reads it.
///
/// # Errors
/// Settings that cannot be.
pub fn render_gateway(settings: &GatewaySettings) -> Result<String, FirewallError> {
    settings.check()?;
    let counters = DROPS.map(|(name, what)| format!("\tcounter {name} {{ comment \"{what}\"; }}\n")).concat();
    let networks = settings.home_networks.iter().map(|(address, prefix)| format!("{address}/{prefix}"));
    let networks = networks.collect::<Vec<_>>().join(", ");
    let elements = if networks.is_empty() { String::new() } else { format!(" elements = {{ {networks} }};") };
    let table = &settings.table;
    Ok(format!(
        "create table inet {table}
table inet {table} {{
{counters}
	# What members reach besides the Internet.
	set home {{ type ipv4_addr; flags interval; auto-merge;{elements} }}
	set private {{ type ipv4_addr; flags interval; auto-merge; elements = {{ {} }}; }}
{}{}{}}}
",
        PRIVATE.join(", "),
        input(settings),
        forward(settings),
        translation(settings)
    ))
}

/// Rules that send members' packets to `chain`: those that come out of a tunnel, with a member's address. What has
/// only one of both is dropped.
fn classify(settings: &GatewaySettings, chain: &str) -> String {
    let GatewaySettings { interface, network: (network, prefix), .. } = settings;
    let mut rules = format!(
        "\t\tiifname \"{interface}\" meta nfproto ipv6 counter name \"ipv6\" drop
\t\tiifname \"{interface}\" ip saddr != {network}/{prefix} counter name \"spoofed\" drop
\t\tiifname \"{interface}\" goto {chain}\n"
    );
    for device in &settings.other_devices {
        rules += &format!("\t\tiifname \"{device}\" ip saddr {network}/{prefix} goto {chain}\n");
    }
    if settings.kernel_ipsec {
        rules += &format!("\t\tmeta secpath exists ip saddr {network}/{prefix} goto {chain}\n");
    }
    rules
}

/// What members may say to the gateway itself: it is part of the home network by the addresses that it has there.
fn input(settings: &GatewaySettings) -> String {
    let address = settings.address;
    let resolvers = match settings.resolver {
        Some(resolver) => format!("{{ {address}, {resolver} }}"),
        None => address.to_string(),
    };
    // Who is at an address of members is known by the tunnel alone: telephones log in by that.
    let spoofed = match settings.voice {
        Some(_) => {
            let (network, prefix) = settings.network;
            format!("\t\tiifname != \"lo\" ip saddr {network}/{prefix} counter name \"spoofed\" drop\n")
        }
        None => String::new(),
    };
    let voice = match settings.voice {
        Some(VoicePorts { sip, media: (first, last) }) => format!(
            "\t\tip daddr {address} meta l4proto {{ tcp, udp }} th dport {sip} accept
\t\tip daddr {address} udp dport {first}-{last} accept\n"
        ),
        None => String::new(),
    };
    let home_port =
        settings.home_port.map(|port| format!("\t\ttcp dport {port} accept\n")).unwrap_or_default();
    let page = match settings.page_port {
        Some(port) => format!("\t\tip daddr {address} tcp dport {port} accept\n"),
        None => String::new(),
    };
    format!(
        "
	chain input {{
		type filter hook input priority filter; policy accept;
{}{spoofed}	}}

	chain to_gateway {{
		ct state established,related accept
		icmp type echo-request accept
		ip daddr {resolvers} meta l4proto {{ tcp, udp }} th dport 53 accept
		ip daddr @home accept
{home_port}{page}{voice}		counter name \"to_gateway\" drop
	}}
",
        classify(settings, "to_gateway")
    )
}

/// What passes through the gateway.
fn forward(settings: &GatewaySettings) -> String {
    let GatewaySettings { interface, uplink_interface: uplink, network: (network, prefix), .. } = settings;
    let resolver = match settings.resolver {
        Some(resolver) => {
            format!("\t\tct status dnat ip daddr {resolver} meta l4proto {{ tcp, udp }} th dport 53 accept\n")
        }
        None => String::new(),
    };
    format!(
        "
	chain forward {{
		type filter hook forward priority filter; policy accept;
{}		ip saddr {network}/{prefix} counter name \"spoofed\" drop
		ip daddr {network}/{prefix} goto to_member
		oifname \"{interface}\" counter name \"ipv6\" drop
	}}

	# No segment is larger than what fits into the tunnel (RFC 4459 section 3.2 names the black hole).
	chain from_member {{
		tcp flags syn tcp option maxseg size set rt mtu
		iifname != \"{interface}\" tcp flags syn tcp option maxseg size set {OTHER_SEGMENT}
		ip daddr {network}/{prefix} accept
{resolver}		ip daddr @home accept
		ip daddr @private counter name \"private\" drop
		oifname \"{uplink}\" accept
		counter name \"elsewhere\" drop
	}}

	chain to_member {{
		tcp flags syn tcp option maxseg size set rt mtu
		oifname != \"{interface}\" tcp flags syn tcp option maxseg size set {OTHER_SEGMENT}
		ct state established,related accept
		counter name \"unasked\" drop
	}}
",
        classify(settings, "from_member")
    )
}

/// The home's address for what leaves, and the home's resolver for who asks the gateway.
fn translation(settings: &GatewaySettings) -> String {
    let GatewaySettings { network: (network, prefix), address, .. } = settings;
    let asking = match settings.resolver {
        Some(resolver) => format!(
            "		ip saddr {network}/{prefix} ip daddr {address} meta l4proto {{ tcp, udp }} th dport 53 dnat ip to {resolver}\n"
        ),
        None => String::new(),
    };
    format!(
        "
	chain prerouting {{
		type nat hook prerouting priority dstnat; policy accept;
{asking}	}}

	chain postrouting {{
		type nat hook postrouting priority srcnat; policy accept;
		ip saddr {network}/{prefix} ip daddr != {network}/{prefix} masquerade
	}}
"
    )
}

impl GatewayFirewall {
    /// Puts the firewall in force: writes the state file, applies the ruleset as one transaction, and lets the
    /// interfaces forward: the tunnel's device, which has to be there, the uplink, and those that the home networks
    /// are on. What a crashed run left behind is replaced in the same transaction, so that members' flows are translated
    /// all the time; where it was for other interfaces, it is cleaned up first.
    ///
    /// # Errors
    /// Settings that cannot be, a table of our name that is not ours, another process of ours running, or the system
    /// refuses; then everything is as it was.
    pub fn up(settings: &GatewaySettings, state_file: &Path) -> Result<Self, FirewallError> {
        let rules = render_gateway(settings)?;
        require_interface(&settings.interface)?;
        require_interface(&settings.uplink_interface)?;
        let mut forward = vec![settings.interface.clone(), settings.uplink_interface.clone()];
        for (network, _) in &settings.home_networks {
            // The first address of a network is nobody's, but the way to it is the way to all of them.
            if let Some(interface) = route_interface(*network)?
                && !forward.contains(&interface)
            {
                forward.push(interface);
            }
        }
        let forward: Vec<&str> = forward.iter().map(String::as_str).collect();
        let state = replace_or_begin(settings, &forward, &rules, state_file)?;
        // From here on, dropping cleans up.
        let this = Self { table: settings.table.clone(), state_file: state_file.to_owned(), is_up: true };
        tool::nft(&state.note())?;
        state.forward()?;
        Ok(this)
    }

    /// Refuses where another process of ours has a firewall in force, before anything that it needs is touched. What
    /// an ended run left behind stays: without it, its members' flows would not be translated until [`up`](Self::up).
    ///
    /// # Errors
    /// As [`clean_up`].
    pub fn check_unused(state_file: &Path) -> Result<(), FirewallError> {
        left_behind(state_file).map(drop)
    }

    /// Packets dropped so far, by reason.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn drops(&self) -> Result<BTreeMap<String, u64>, FirewallError> {
        elements::read_packets(&self.table)
    }

    /// Puts everything back as it was.
    ///
    /// # Errors
    /// The system refuses; the state file stays, and [`clean_up`] may be tried again.
    pub fn down(mut self) -> Result<(), FirewallError> {
        self.is_up = false;
        clean_up(&self.state_file)
    }
}

impl Drop for GatewayFirewall {
    fn drop(&mut self) {
        if self.is_up
            && let Err(error) = clean_up(&self.state_file)
        {
            tracing::warn!(%error, "the gateway's firewall could not be taken down");
        }
    }
}

/// Applies the ruleset, in the place of ours where an ended run has left it, and says what to undo.
fn replace_or_begin(
    settings: &GatewaySettings,
    forward: &[&str],
    rules: &str,
    state_file: &Path,
) -> Result<State, FirewallError> {
    let earlier = left_behind(state_file)?;
    let is_there = elements::table_exists(&settings.table)?;
    let new = || State::new(&settings.table, forward, Vec::new());
    if let Some(earlier) = earlier.filter(|_| is_there)
        && let Some(state) = new()?.replacing(&earlier)
    {
        state.write(state_file)?;
        if let Err(error) = tool::nft(&format!("delete table inet {}\n{rules}", settings.table)) {
            earlier.write(state_file)?;
            return Err(error);
        }
        return Ok(state);
    }
    clean_up(state_file)?;
    if elements::table_exists(&settings.table)? {
        return Err(FirewallError::TableTaken { table: settings.table.clone() });
    }
    let state = new()?;
    state.write(state_file)?;
    if let Err(error) = tool::nft(rules) {
        state::remove(state_file)?;
        return Err(error);
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> GatewaySettings {
        let mut settings = GatewaySettings::new("gr-home", "wan0", Ipv4Addr::new(10, 64, 17, 1), 24);
        settings.home_networks =
            vec![(Ipv4Addr::new(192, 168, 1, 0), 24), (Ipv4Addr::new(203, 0, 113, 8), 29)];
        settings.resolver = Some(Ipv4Addr::new(192, 0, 2, 53));
        settings.other_devices = vec!["ipsec*".to_owned(), "ppp*".to_owned()];
        settings.kernel_ipsec = true;
        settings.voice = Some(VoicePorts { sip: 5_060, media: (20_000, 29_999) });
        settings
    }

    #[test]
    fn renders_the_ruleset_in_the_golden_file() {
        let rendered = render_gateway(&good()).unwrap();
        crate::golden::assert_is_golden("gateway.nft", &rendered);
    }

    #[test]
    fn refuses_what_cannot_work() {
        type Spoil = fn(&mut GatewaySettings);
        #[rustfmt::skip]
        let cases: [(&str, Spoil); 16] = [
            ("table", |s| s.table = "filter".into()),
            ("interface", |s| s.interface = "gr\" accept; #".into()),
            ("interface", |s| s.interface = "gr*".into()),
            ("uplink_interface", |s| s.uplink_interface = "gr-home".into()),
            ("network", |s| s.network.1 = 8),
            ("network", |s| s.network.0 = Ipv4Addr::new(10, 64, 17, 9)),
            ("network", |s| s.network.0 = Ipv4Addr::new(224, 0, 0, 0)),
            ("address", |s| s.address = Ipv4Addr::new(10, 64, 18, 1)),
            ("address", |s| s.address = Ipv4Addr::new(10, 64, 17, 255)),
            ("home_networks", |s| s.home_networks[0].1 = 16),
            ("home_networks", |s| s.home_networks = vec![(Ipv4Addr::new(10, 0, 0, 0), 8)]),
            ("home_networks", |s| s.home_networks = vec![(Ipv4Addr::new(192, 168, 1, 0), 24); 65]),
            ("resolver", |s| s.resolver = Some(Ipv4Addr::LOCALHOST)),
            ("other_devices", |s| s.other_devices = vec!["*".into()]),
            ("voice", |s| s.voice = Some(VoicePorts { sip: 0, media: (20_000, 29_999) })),
            ("voice", |s| s.voice = Some(VoicePorts { sip: 5_060, media: (20_000, 19_999) })),
        ];
        for (setting, spoil) in cases {
            let mut settings = good();
            assert_eq!(settings.check(), Ok(()));
            spoil(&mut settings);
            crate::testing::assert_refuses(settings.check(), setting, &settings);
        }
    }
}
