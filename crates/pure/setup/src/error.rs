//! What stands in the way of a plan.

/// Why there is no plan. The sentence says what is the matter; [`PlanError::hint`] what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("this computer has no default route, so the way to the Internet is unknown")]
    NoUplink,
    #[error("there is no interface {name}")]
    NoInterface { name: String },
    #[error("{name} is the uplink, and guests cannot arrive there too")]
    PortIsUplink { name: String },
    #[error("{name} has the address {address}; guests need an interface with nothing else on it")]
    PortHasAddress { name: String, address: String },
    #[error("{name} is a port of {bridge} already")]
    PortHasBridge { name: String, bridge: String },
    #[error("{name} is no wire that guests could arrive at")]
    PortIsNoWire { name: String },
    #[error("guests have nowhere to arrive: no wire is free, and no free radio can be an access point")]
    NowhereToArrive,
    #[error("a VLAN needs the wire that it is on")]
    VlanWithoutPort,
    #[error("{got} is no VLAN: it is a number from 1 to 4094")]
    Vlan { got: u16 },
    #[error("there is an interface {name} already, and it is not ours")]
    NameIsTaken { name: String },
    #[error("{network} overlaps with {other}, which this computer knows at {interface}")]
    NetworkCollides { network: String, other: String, interface: String },
    #[error("every network that was tried overlaps with one that this computer knows")]
    NoFreeNetwork,
    #[error("{network} will not do for guests: it has to be private, with a prefix from 16 to 28")]
    NetworkUnfit { network: String },
    #[error("no free radio here can be an access point")]
    NoRadio,
    #[error("{name} is no free radio that can be an access point")]
    RadioUnfit { name: String },
    #[error("channel {got} may not be used by {name} here")]
    Channel { got: u8, name: String },
    #[error("`{what}` is {got:?}; it has to be {want}")]
    Wrong { what: &'static str, got: String, want: &'static str },
    #[error("nothing here can give guests addresses and names")]
    NoDhcp,
    #[error(
        "another program listens at every address of this computer at UDP port {port}, so guests cannot be answered there"
    )]
    PortTaken { port: u16 },
    #[error("`{program}` is not installed")]
    Missing { program: &'static str, package: &'static str },
    #[error("/etc/network/interfaces does not read /etc/network/interfaces.d")]
    NoInterfacesDirectory,
    #[error("only one of `down_bits_per_second` and `up_bits_per_second` is given")]
    HalfShaping,
}

impl PlanError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoUplink => "connect it to the Internet first, or name the interface: uplink = \"eth0\"".to_owned(),
            Self::NoInterface { .. } | Self::PortIsNoWire { .. } => "`ip link` lists them".to_owned(),
            Self::PortIsUplink { .. } => {
                "name another wire; or with `vlan` guests arrive there under a tag".to_owned()
            }
            Self::PortHasAddress { .. } => {
                "name a wire that the household does not use; or with `vlan` guests arrive there under a tag".to_owned()
            }
            Self::PortHasBridge { .. } => "take it off that bridge, or name another wire".to_owned(),
            Self::NowhereToArrive => {
                "connect another interface or a radio, or name a wire and the VLAN that guests have on it: \
                 ports = [\"eth0\"], vlan = 73"
                    .to_owned()
            }
            Self::VlanWithoutPort => "name it: ports = [\"eth0\"]".to_owned(),
            Self::Vlan { .. } => "the number is the one that the switch or the radio gives to guests".to_owned(),
            Self::NameIsTaken { .. } => "name another one: bridge = \"br-guest2\"".to_owned(),
            Self::NetworkCollides { .. } => "name another network, or none and let setup choose".to_owned(),
            Self::NoFreeNetwork => "name one: network = \"172.20.5.0/24\"".to_owned(),
            Self::NetworkUnfit { .. } => "for example network = \"10.73.0.0/24\"".to_owned(),
            Self::NoRadio | Self::RadioUnfit { .. } => {
                "`iw list` shows what each can do (AP); or say `enabled = false` in [wifi], and put an access point on a guests' wire"
                    .to_owned()
            }
            Self::Channel { .. } => "`iw list` shows the channels; without `channel` setup chooses".to_owned(),
            Self::Wrong { .. } | Self::HalfShaping => "mend the answer".to_owned(),
            Self::NoDhcp => "install dnsmasq (`apt install dnsmasq-base`)".to_owned(),
            Self::PortTaken { port: 53 } => {
                "if it is dnsmasq: add the line `bind-dynamic` to /etc/dnsmasq.conf and restart it".to_owned()
            }
            Self::PortTaken { .. } => {
                "bind that program to the household's interface, or stop it".to_owned()
            }
            Self::Missing { package, .. } => format!("apt install {package}"),
            Self::NoInterfacesDirectory => {
                "add the line `source /etc/network/interfaces.d/*` to it".to_owned()
            }
        }
    }
}
