//! What there is on the computer.

use crate::Subnet;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// What there is on the computer, as far as a plan depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub init: Init,
    /// Who sets up the network when the computer starts.
    pub manager: Manager,
    /// The interface of the default route, if there is one.
    pub uplink: Option<String>,
    /// The uplink's own address.
    pub uplink_address: Option<Ipv4Addr>,
    pub interfaces: Vec<Interface>,
    /// Every network that the computer has an address in, or a route to, with its interface.
    pub networks: Vec<(String, Subnet)>,
    pub radios: Vec<Radio>,
    /// The programs that were looked for and are there.
    pub programs: BTreeSet<String>,
    /// Whether systemd-resolved runs.
    pub has_resolved: bool,
    /// UDP ports at which some program listens at every address (0.0.0.0 or ::).
    pub taken_ports: BTreeSet<u16>,
    /// Where this program is.
    pub program: PathBuf,
    /// Units of ours that a package brought together with this program; they are below [`paths::PACKAGED_UNITS`].
    ///
    /// [`paths::PACKAGED_UNITS`]: crate::paths::PACKAGED_UNITS
    pub packaged_units: BTreeSet<String>,
    /// For what is to differ from household to household.
    pub seed: u64,
}

/// What starts programs with the computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    Systemd,
    /// Nothing that we know, as in a container.
    Unknown,
}

/// Who sets up the network when the computer starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    Networkd,
    NetworkManager,
    /// ifupdown. `reads_directory`: /etc/network/interfaces has a line that reads interfaces.d.
    Ifupdown {
        reads_directory: bool,
    },
    /// Nobody that we know.
    Unknown,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub kind: Kind,
    /// Its IPv4 addresses.
    pub addresses: Vec<Subnet>,
    /// The bridge that it is a port of.
    pub bridge: Option<String>,
    pub is_up: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A wire, or what looks like one.
    Wired,
    Wireless,
    Bridge,
    /// Loopback, a tunnel, a VLAN: nothing that guests arrive at by themselves.
    Other,
}

/// A radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Radio {
    pub interface: String,
    /// Whether its driver can be an access point.
    pub can_be_access_point: bool,
    /// The 2.4 GHz channels that may be used here, by number.
    pub channels: BTreeSet<u8>,
}

impl Facts {
    #[must_use]
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }

    #[must_use]
    pub fn has(&self, program: &str) -> bool {
        self.programs.contains(program)
    }

    /// The facts as if these interfaces, which an earlier setup or its programs made, were not there, nor the listeners
    /// that it started: so a plan is the same before and after it was carried out.
    #[must_use]
    pub fn without(mut self, interfaces: &[String]) -> Self {
        let is_ours = |name: &String| interfaces.contains(name);
        self.interfaces.retain(|interface| !is_ours(&interface.name));
        self.networks.retain(|(interface, _)| !is_ours(interface));
        for interface in &mut self.interfaces {
            interface.bridge.take_if(|bridge| is_ours(bridge));
        }
        self.taken_ports.clear();
        self
    }

    /// The wires that guests could arrive at: not the uplink, without an address, on no bridge.
    #[must_use]
    pub fn candidates(&self, uplink: &str) -> Vec<&Interface> {
        let is_free = |interface: &&Interface| {
            interface.kind == Kind::Wired
                && interface.name != uplink
                && interface.addresses.is_empty()
                && interface.bridge.is_none()
        };
        self.interfaces.iter().filter(is_free).collect()
    }

    /// The radios that guests could arrive at.
    #[must_use]
    pub fn free_radios(&self, uplink: &str) -> Vec<&Radio> {
        let is_free = |radio: &&Radio| {
            let interface = self.interface(&radio.interface);
            radio.can_be_access_point
                && radio.interface != uplink
                && interface.is_some_and(|it| it.addresses.is_empty() && it.bridge.is_none())
        };
        self.radios.iter().filter(is_free).collect()
    }
}
