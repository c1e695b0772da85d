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

impl Default for HomeAnswer {
    fn default() -> Self {
        Self::Here { endpoint: None, port_mapping: true }
    }
}
