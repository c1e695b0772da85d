//! From facts and answers to choices: nothing is left open.

use crate::answers::{INTERFACE_NAME_MAX, owe_name, vlan_name};
use crate::{
    Answers, Facts, HomeAnswer, Init, Kind, Manager, PlanError, Radio, Splash, Subnet, TeamAnswer, WifiAnswer,
};
use std::net::Ipv4Addr;

/// The bridge's name unless another is wanted.
const BRIDGE: &str = "br-guest";
const SSID: &str = "guestright";
/// What WireGuard usually listens at.
const TUNNEL_PORT: u16 = 51_820;
/// Where members' networks lie (design note 0003): 10.64.0.0/10. Guests' begin at 10.73.0.0/24.
const GUESTS_FIRST: Ipv4Addr = Ipv4Addr::new(10, 73, 0, 0);
const MEMBERS_FIRST: Ipv4Addr = Ipv4Addr::new(10, 64, 0, 0);
/// Where an access point serves its page over TLS (`access_point::splash::SECURED_PORT`).
const SPLASH_SECURED_PORT: u16 = 7_281;
const SSID_MAX: usize = 32; // IEEE 802.11-2020, 9.4.2.2.

/// Every choice that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    pub uplink: String,
    /// The wires that guests arrive at.
    pub ports: Vec<String>,
    /// With this tag.
    pub vlan: Option<u16>,
    pub bridge: String,
    pub network: Subnet,
    pub members_network: Subnet,
    pub wifi: Option<Wifi>,
    pub names: Names,
    pub team: TeamChoice,
    pub home: HomeChoice,
    pub home_networks: Vec<Subnet>,
    pub household_networks: Vec<Subnet>,
    /// Bits per second, down and up, for all guests together.
    pub shaping: Option<(u64, u64)>,
    pub allowance_bytes_per_day: Option<u64>,
    pub splash: Option<Splash>,
}

/// The guests' Wi-Fi from this computer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wifi {
    pub interface: String,
    pub ssid: String,
    pub country: Option<String>,
    pub channel: u8,
}

/// Who gives guests addresses and names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// A dnsmasq of our own.
    Dnsmasq,
    /// systemd-networkd's DHCP server, and systemd-resolved.
    Networkd,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeamChoice {
    New { members: Vec<String>, keep_key: bool },
    Join { code: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomeChoice {
    Here {
        /// `name:port`; without one there is no gateway.
        endpoint: Option<String>,
        port_mapping: bool,
    },
    At(String),
}

impl Choices {
    /// Makes every choice that the answers leave open, and refuses what cannot be.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn choose(facts: &Facts, answers: &Answers) -> Result<Self, PlanError> {
        let uplink = choose_uplink(facts, answers)?;
        let bridge = answers.bridge.clone().unwrap_or_else(|| BRIDGE.to_owned());
        check_interface_name("bridge", &bridge)?;
        if facts.interface(&bridge).is_some() {
            return Err(PlanError::NameIsTaken { name: bridge });
        }
        let wifi = choose_wifi(facts, answers, &uplink)?;
        let ports = choose_ports(facts, answers, &uplink)?;
        if ports.is_empty() && wifi.is_none() {
            return Err(PlanError::NowhereToArrive);
        }
        let network = choose_network(facts, answers.network, GUESTS_FIRST, &[])?;
        let members_first = Ipv4Addr::from_bits(MEMBERS_FIRST.to_bits() | (seeded(facts.seed) << 8));
        let members_network = choose_network(facts, answers.members_network, members_first, &[network])?;
        require(facts, "nft", "nftables")?;
        require(facts, "ip", "iproute2")?;
        if facts.manager == (Manager::Ifupdown { reads_directory: false }) {
            return Err(PlanError::NoInterfacesDirectory);
        }
        let shaping = match (answers.down_bits_per_second, answers.up_bits_per_second) {
            (Some(down), Some(up)) => Some((down, up)),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(PlanError::HalfShaping),
        };
        Ok(Self {
            uplink,
            ports,
            vlan: answers.vlan,
            bridge,
            network,
            members_network,
            wifi,
            names: choose_names(facts)?,
            team: choose_team(&answers.team)?,
            home: choose_home(facts, &answers.home)?,
            home_networks: answers.home_networks.clone(),
            household_networks: answers.household_networks.clone(),
            shaping,
            allowance_bytes_per_day: answers.allowance_bytes_per_day,
            splash: choose_splash(answers.splash.clone())?,
        })
    }

    /// The answers that lead to these choices, with nothing left open.
    #[must_use]
    pub fn answers(&self) -> Answers {
        Answers {
            uplink: Some(self.uplink.clone()),
            ports: Some(self.ports.clone()),
            vlan: self.vlan,
            bridge: Some(self.bridge.clone()),
            network: Some(self.network),
            members_network: Some(self.members_network),
            wifi: self.wifi.clone().map_or(WifiAnswer::Off, |wifi| WifiAnswer::On {
                interface: Some(wifi.interface),
                ssid: Some(wifi.ssid),
                country: wifi.country,
                channel: Some(wifi.channel),
            }),
            team: match self.team.clone() {
                TeamChoice::New { members, keep_key } => TeamAnswer::New { members, keep_key },
                TeamChoice::Join { code } => TeamAnswer::Join { code },
            },
            home: match self.home.clone() {
                HomeChoice::Here { endpoint, port_mapping } => HomeAnswer::Here { endpoint, port_mapping },
                HomeChoice::At(address) => HomeAnswer::At(address),
            },
            home_networks: self.home_networks.clone(),
            household_networks: self.household_networks.clone(),
            down_bits_per_second: self.shaping.map(|(down, _)| down),
            up_bits_per_second: self.shaping.map(|(_, up)| up),
            allowance_bytes_per_day: self.allowance_bytes_per_day,
            splash: self.splash.clone(),
        }
    }

    /// What DHCP option 114 says (RFC 8910), where there is a certificate: the address of the API. Without one phones find the
    /// page by their probes.
    pub(crate) fn announcement(&self) -> Option<(&str, String)> {
        let name = &self.splash.as_ref()?.certificate.as_ref()?.name;
        Some((name, format!("https://{name}:{SPLASH_SECURED_PORT}/api")))
    }

    /// The household's own address on the guests' network.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.network.at(1)
    }

    /// Where members come home, if they can: only a new team's founder makes a gateway.
    #[must_use]
    pub fn gateway_endpoint(&self) -> Option<&str> {
        match (&self.team, &self.home) {
            (TeamChoice::New { .. }, HomeChoice::Here { endpoint, .. }) => endpoint.as_deref(),
            (TeamChoice::New { .. } | TeamChoice::Join { .. }, _) => None,
        }
    }

    #[must_use]
    pub fn has_home(&self) -> bool {
        matches!(self.home, HomeChoice::Here { .. })
    }

    /// The interfaces that guests' frames come in by, below the bridge.
    #[must_use]
    pub fn guest_links(&self) -> Vec<String> {
        match self.vlan {
            None => self.ports.clone(),
            Some(id) => (0..self.ports.len()).map(|index| vlan_name(id, index)).collect(),
        }
    }
}

impl Wifi {
    /// The second network of the same radio, for those who can encrypt.
    #[must_use]
    pub fn owe_interface(&self) -> String {
        owe_name(&self.interface)
    }

    /// The interfaces of both networks, which are ports of the bridge.
    #[must_use]
    pub fn ports(&self) -> [String; 2] {
        [self.interface.clone(), self.owe_interface()]
    }
}

/// One of the networks of 256 addresses in 10.64.0.0/10, by its index.
fn seeded(seed: u64) -> u32 {
    u32::try_from(seed % (1 << 14)).unwrap_or_default()
}

fn choose_uplink(facts: &Facts, answers: &Answers) -> Result<String, PlanError> {
    let name = answers.uplink.clone().or_else(|| facts.uplink.clone()).ok_or(PlanError::NoUplink)?;
    check_interface_name("uplink", &name)?;
    if facts.interface(&name).is_none() {
        return Err(PlanError::NoInterface { name });
    }
    Ok(name)
}

fn choose_ports(facts: &Facts, answers: &Answers, uplink: &str) -> Result<Vec<String>, PlanError> {
    let Some(ports) = &answers.ports else {
        if answers.vlan.is_some() {
            return Err(PlanError::VlanWithoutPort);
        }
        return Ok(facts.candidates(uplink).into_iter().map(|interface| interface.name.clone()).collect());
    };
    for name in ports {
        check_interface_name("ports", name)?;
        let interface = facts.interface(name).ok_or_else(|| PlanError::NoInterface { name: name.clone() })?;
        let name = name.clone();
        if interface.kind != Kind::Wired {
            return Err(PlanError::PortIsNoWire { name });
        }
        if answers.vlan.is_some() {
            continue; // Only what has the tag is the guests'.
        }
        if name == uplink {
            return Err(PlanError::PortIsUplink { name });
        }
        if let Some(address) = interface.addresses.first() {
            return Err(PlanError::PortHasAddress { name, address: address.to_string() });
        }
        if let Some(bridge) = interface.bridge.clone() {
            return Err(PlanError::PortHasBridge { name, bridge });
        }
    }
    check_vlan(facts, answers.vlan, ports)?;
    Ok(ports.clone())
}

fn check_vlan(facts: &Facts, vlan: Option<u16>, ports: &[String]) -> Result<(), PlanError> {
    let Some(id) = vlan else { return Ok(()) };
    if ports.is_empty() {
        return Err(PlanError::VlanWithoutPort);
    }
    if !(1..=4_094).contains(&id) {
        return Err(PlanError::Vlan { got: id });
    }
    let taken =
        (0..ports.len()).map(|index| vlan_name(id, index)).find(|name| facts.interface(name).is_some());
    taken.map_or(Ok(()), |name| Err(PlanError::NameIsTaken { name }))
}

/// What is written into files as it is has to be one line, and nothing that ends a text.
fn choose_splash(splash: Option<Splash>) -> Result<Option<Splash>, PlanError> {
    let Some(splash) = splash else { return Ok(None) };
    let is_plain =
        |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_control() || c == '"' || c == '\\');
    let certificate = splash.certificate.as_ref();
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    let checks = [
        ("splash.household", Some(&splash.household), "a line of text without quotes"),
        ("splash.trial", splash.trial.as_ref(), "a line of text without quotes"),
        ("splash.certificate", certificate.map(|it| &it.chain), "a path"),
        ("splash.certificate_key", certificate.map(|it| &it.key), "a path"),
        ("splash.name", certificate.map(|it| &it.name), "a name of the DNS"),
    ];
    for (what, text, want) in checks {
        let Some(got) = text else { continue };
        if !is_plain(got) || (what == "splash.name" && !is_name(got)) {
            return Err(PlanError::Wrong { what, got: got.clone(), want });
        }
    }
    Ok(Some(splash))
}

fn choose_network(
    facts: &Facts,
    wanted: Option<Subnet>,
    first: Ipv4Addr,
    more: &[Subnet],
) -> Result<Subnet, PlanError> {
    let own = more.iter().map(|subnet| ("the guests' bridge", *subnet));
    let known: Vec<_> =
        facts.networks.iter().map(|(name, subnet)| (name.as_str(), *subnet)).chain(own).collect();
    // A default route leads everywhere and is nobody's network.
    let collision =
        |network: Subnet| known.iter().find(|(_, other)| other.prefix() > 0 && other.overlaps(network));
    if let Some(network) = wanted {
        if !network.first().is_private() || !(16..=28).contains(&network.prefix()) {
            return Err(PlanError::NetworkUnfit { network: network.to_string() });
        }
        return collision(network).map_or(Ok(network), |(interface, other)| {
            let (network, other) = (network.to_string(), other.to_string());
            Err(PlanError::NetworkCollides { network, other, interface: (*interface).to_owned() })
        });
    }
    let steps = (0..256).map(|step| Ipv4Addr::from_bits(first.to_bits() + (step << 8)));
    let elsewhere = (0..256).map(|step| Ipv4Addr::from_bits(0xAC10_0000 | (step << 12))); // 172.16.0.0/12
    let last = (0..256).map(|step| Ipv4Addr::from_bits(0xC0A8_0000 | (step << 8))); // 192.168.0.0/16
    let mut candidates = steps.chain(elsewhere).chain(last).filter_map(|address| Subnet::new(address, 24));
    candidates
        .find(|network| network.first().is_private() && collision(*network).is_none())
        .ok_or(PlanError::NoFreeNetwork)
}

fn choose_names(facts: &Facts) -> Result<Names, PlanError> {
    let names = if facts.has("dnsmasq") {
        Names::Dnsmasq
    } else if facts.init == Init::Systemd && facts.manager == Manager::Networkd && facts.has_resolved {
        Names::Networkd
    } else {
        return Err(PlanError::NoDhcp);
    };
    // At one address beside a program that has taken them all the kernel lets nobody in. DHCP's port can be shared.
    if facts.taken_ports.contains(&53) { Err(PlanError::PortTaken { port: 53 }) } else { Ok(names) }
}

fn choose_wifi(facts: &Facts, answers: &Answers, uplink: &str) -> Result<Option<Wifi>, PlanError> {
    let free = facts.free_radios(uplink);
    let (interface, ssid, country, channel) = match answers.wifi.clone() {
        WifiAnswer::Off => return Ok(None),
        WifiAnswer::IfPossible if free.is_empty() || !facts.has("hostapd") => return Ok(None),
        WifiAnswer::IfPossible => (None, None, None, None),
        WifiAnswer::On { interface, ssid, country, channel } => (interface, ssid, country, channel),
    };
    require(facts, "hostapd", "hostapd")?;
    let radio = match interface {
        None => free.first().copied().ok_or(PlanError::NoRadio)?,
        Some(name) => {
            let found = free.into_iter().find(|radio| radio.interface == name);
            found.ok_or(PlanError::RadioUnfit { name })?
        }
    };
    let ssid = ssid.unwrap_or_else(|| SSID.to_owned());
    if ssid.is_empty() || ssid.len() > SSID_MAX || ssid.chars().any(char::is_control) {
        return Err(PlanError::Wrong { what: "ssid", got: ssid, want: "1 to 32 bytes of text" });
    }
    if let Some(got) = country.as_ref().filter(|text| !is_country(text)) {
        let got = got.clone();
        return Err(PlanError::Wrong { what: "country", got, want: "two capital letters, such as DE" });
    }
    check_interface_name("wifi.interface", &radio.interface)?;
    let channel = choose_channel(radio, channel)?;
    Ok(Some(Wifi { interface: radio.interface.clone(), ssid, country, channel }))
}

fn is_country(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// One of the three that do not overlap, unless another is wanted.
fn choose_channel(radio: &Radio, wanted: Option<u8>) -> Result<u8, PlanError> {
    if let Some(channel) = wanted {
        let name = radio.interface.clone();
        return if radio.channels.contains(&channel) {
            Ok(channel)
        } else {
            Err(PlanError::Channel { got: channel, name })
        };
    }
    let usual = [6, 1, 11].into_iter().find(|channel| radio.channels.contains(channel));
    usual.or_else(|| radio.channels.first().copied()).ok_or(PlanError::NoRadio)
}

fn choose_team(answer: &TeamAnswer) -> Result<TeamChoice, PlanError> {
    match answer.clone() {
        TeamAnswer::Join { code } => Ok(TeamChoice::Join { code }),
        TeamAnswer::New { members, keep_key } => {
            const RESERVED: [&str; 4] = ["home", "router", "team", "gateway"];
            let twice = (1..members.len()).find(|index| members[..*index].contains(&members[*index]));
            let reserved = members.iter().position(|name| RESERVED.contains(&name.as_str()));
            if let Some(index) = twice.or(reserved) {
                let want = "names of people, each once, and none of home, router, team, gateway";
                return Err(PlanError::Wrong { what: "members", got: members[index].clone(), want });
            }
            Ok(TeamChoice::New { members, keep_key })
        }
    }
}

fn choose_home(facts: &Facts, answer: &HomeAnswer) -> Result<HomeChoice, PlanError> {
    match answer.clone() {
        HomeAnswer::At(address) => {
            check_host("home", &address)?;
            Ok(HomeChoice::At(address))
        }
        HomeAnswer::Here { endpoint, port_mapping } => {
            let own = facts.uplink_address.filter(|address| is_public(*address)).map(|own| own.to_string());
            let endpoint = endpoint.or(own).map(|host| with_port(&host));
            endpoint.as_deref().map_or(Ok(()), |endpoint| check_host("endpoint", endpoint))?;
            Ok(HomeChoice::Here { endpoint, port_mapping })
        }
    }
}

/// Whether the Internet could know this address: of no network that is private or set aside (RFC 6890).
fn is_public(address: Ipv4Addr) -> bool {
    let shared = address.octets()[0] == 100 && address.octets()[1] & 0xC0 == 64; // RFC 6598.
    let aside =
        address.is_private() || address.is_loopback() || address.is_link_local() || address.is_unspecified();
    !(aside || shared || address.is_documentation() || address.is_multicast() || address.is_broadcast())
}

fn with_port(host: &str) -> String {
    let has_port = host.rsplit_once(':').is_some_and(|(before, port)| {
        !port.is_empty()
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && !before.contains(':') | before.ends_with(']')
    });
    if has_port { host.to_owned() } else { format!("{host}:{TUNNEL_PORT}") }
}

/// What ends up in files that others read has nothing in it that could end a line or a string.
fn check_host(what: &'static str, text: &str) -> Result<(), PlanError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    if !text.is_empty() && text.len() <= 260 && text.chars().all(fits) {
        return Ok(());
    }
    Err(PlanError::Wrong {
        what,
        got: text.to_owned(),
        want: "a name or an address, such as home.example.org",
    })
}

fn check_interface_name(what: &'static str, name: &str) -> Result<(), PlanError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let dots = matches!(name, "." | "..");
    if !name.is_empty()
        && name.len() <= INTERFACE_NAME_MAX
        && name.chars().all(fits)
        && !dots
        && !name.starts_with('-')
    {
        return Ok(());
    }
    Err(PlanError::Wrong {
        what,
        got: name.to_owned(),
        want: "a name of at most 15 letters, digits, dots and dashes",
    })
}

fn require(facts: &Facts, program: &'static str, package: &'static str) -> Result<(), PlanError> {
    if facts.has(program) { Ok(()) } else { Err(PlanError::Missing { program, package }) }
}
