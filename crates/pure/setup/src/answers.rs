//! What the person wants.

use crate::Subnet;

/// What the person wants. What is left open is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// The interface to the Internet; otherwise that of the default route.
    pub uplink: Option<String>,
    /// The wires that guests arrive at; otherwise all that are free.
    pub ports: Option<Vec<String>>,
    /// Guests arrive with this VLAN tag at the wires, whose other traffic stays what it is.
    pub vlan: Option<u16>,
    /// The guests' bridge.
    pub bridge: Option<String>,
    /// The guests' network; otherwise the first that collides with nothing.
    pub network: Option<Subnet>,
    /// The network of members that come home through a tunnel; otherwise one that collides with nothing.
    pub members_network: Option<Subnet>,
    pub wifi: WifiAnswer,
    pub team: TeamAnswer,
    pub home: HomeAnswer,
    /// Networks at home that roaming members reach, besides the Internet.
    pub home_networks: Vec<Subnet>,
    /// Public networks of the household that guests must not reach; private ones are closed anyway.
    pub household_networks: Vec<Subnet>,
    /// What all guests together may have of the line.
    pub down_bits_per_second: Option<u64>,
    pub up_bits_per_second: Option<u64>,
    /// What the household gives away in a day.
    pub allowance_bytes_per_day: Option<u64>,
    /// The page for guests without a program of ours; otherwise there is none.
    pub splash: Option<Splash>,
}

/// What the household says on its page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splash {
    /// How it calls itself.
    pub household: String,
    /// What a station may try in a day, such as `20 MB`.
    pub trial: Option<String>,
    pub certificate: Option<SplashCertificate>,
}

/// A name with a certificate that phones trust, and where its files are. Somebody else renews them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplashCertificate {
    pub name: String,
    pub chain: String,
    pub key: String,
}

impl Answers {
    /// These answers, with what they leave open answered as it was `earlier`.
    #[must_use]
    pub fn or_earlier(self, earlier: &Self) -> Self {
        let earlier = earlier.clone();
        let list = |own: Vec<Subnet>, earlier| if own.is_empty() { earlier } else { own };
        Self {
            uplink: self.uplink.or(earlier.uplink),
            ports: self.ports.or(earlier.ports),
            vlan: self.vlan.or(earlier.vlan),
            bridge: self.bridge.or(earlier.bridge),
            network: self.network.or(earlier.network),
            members_network: self.members_network.or(earlier.members_network),
            wifi: self.wifi.or_earlier(earlier.wifi),
            team: if self.team == TeamAnswer::default() { earlier.team } else { self.team },
            home: self.home.or_earlier(earlier.home),
            home_networks: list(self.home_networks, earlier.home_networks),
            household_networks: list(self.household_networks, earlier.household_networks),
            down_bits_per_second: self.down_bits_per_second.or(earlier.down_bits_per_second),
            up_bits_per_second: self.up_bits_per_second.or(earlier.up_bits_per_second),
            allowance_bytes_per_day: self.allowance_bytes_per_day.or(earlier.allowance_bytes_per_day),
            splash: self.splash.or(earlier.splash),
        }
    }

    /// The interfaces that are there only because these answers were carried out. They have to leave nothing open.
    #[must_use]
    pub fn own_interfaces(&self) -> Vec<String> {
        let wires = self.ports.as_ref().map_or(0, Vec::len);
        let vlans = self.vlan.into_iter().flat_map(|id| (0..wires).map(move |index| vlan_name(id, index)));
        let wifi = match &self.wifi {
            WifiAnswer::On { interface: Some(name), .. } => Some(owe_name(name)),
            WifiAnswer::On { interface: None, .. } | WifiAnswer::Off | WifiAnswer::IfPossible => None,
        };
        self.bridge.iter().cloned().chain([GATEWAY.to_owned()]).chain(vlans).chain(wifi).collect()
    }
}

/// The device of a home's gateway, unless its settings name another.
const GATEWAY: &str = "gr-home";
/// The longest name of an interface (IFNAMSIZ of Linux, without the end).
pub(crate) const INTERFACE_NAME_MAX: usize = 15;

/// What arrives at the wire of this index with the tag `id`.
pub(crate) fn vlan_name(id: u16, index: usize) -> String {
    if index == 0 { format!("guest{id}") } else { format!("guest{id}-{index}") }
}

/// The second network of a radio, for those who can encrypt.
pub(crate) fn owe_name(interface: &str) -> String {
    let longest = INTERFACE_NAME_MAX - "-owe".len();
    let short: String = interface.chars().take(longest).collect();
    format!("{short}-owe")
}

/// The guests' Wi-Fi.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WifiAnswer {
    /// The first free radio, if there is one that can.
    #[default]
    IfPossible,
    /// None from this computer.
    Off,
    On {
        /// The radio; otherwise the first free one.
        interface: Option<String>,
        ssid: Option<String>,
        /// ISO 3166-1, two letters. Without it the radio keeps to what is allowed everywhere.
        country: Option<String>,
        channel: Option<u8>,
    },
}

impl WifiAnswer {
    fn or_earlier(self, earlier: Self) -> Self {
        match (self, earlier) {
            (Self::IfPossible, earlier) => earlier,
            (
                Self::On { interface, ssid, country, channel },
                Self::On {
                    interface: interface_then,
                    ssid: ssid_then,
                    country: country_then,
                    channel: channel_then,
                },
            ) => Self::On {
                interface: interface.or(interface_then),
                ssid: ssid.or(ssid_then),
                country: country.or(country_then),
                channel: channel.or(channel_then),
            },
            (own, Self::On { .. } | Self::Off | Self::IfPossible) => own,
        }
    }
}

/// The team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeamAnswer {
    /// A new one, made here.
    New {
        /// Members who get keys at once.
        members: Vec<String>,
        /// The team's key is to stay on this computer.
        keep_key: bool,
    },
    /// An existing one, by a code from `guestright team invite`.
    Join { code: String },
}

impl Default for TeamAnswer {
    fn default() -> Self {
        Self::New { members: Vec::new(), keep_key: false }
    }
}

/// Where the team's home is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomeAnswer {
    /// On this computer.
    Here {
        /// Under which name or address members and other homes find it. Without one there is no way home.
        endpoint: Option<String>,
        /// Whether the household's router is asked to let the home's ports through.
        port_mapping: bool,
    },
    /// At this address, on another computer.
    At(String),
}

impl HomeAnswer {
    fn or_earlier(self, earlier: Self) -> Self {
        match (self, earlier) {
            (Self::Here { endpoint: None, port_mapping: true }, earlier) => earlier,
            (Self::Here { endpoint: None, port_mapping }, Self::Here { endpoint, .. }) => {
                Self::Here { endpoint, port_mapping }
            }
            (own, Self::Here { .. } | Self::At(_)) => own,
        }
    }
}

impl Default for HomeAnswer {
    fn default() -> Self {
        Self::Here { endpoint: None, port_mapping: true }
    }
}
