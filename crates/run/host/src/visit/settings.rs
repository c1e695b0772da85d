//! What a visit needs to know, and where its access point is.

use crate::HomeAddress;
use guestright_error::RunError;
use guestright_portmap::PortmapError;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

/// What a visit needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory for what is kept between visits, receipts among it.
    pub state: PathBuf,
    /// The file of the own certificate, written anew when that is renewed.
    pub certificate: PathBuf,
    /// The team's home: receipts that show what others owe the team come from there, and signed ones go there.
    pub home: Option<HomeAddress>,
    /// WireGuard's configuration of the way home; without it there is no tunnel.
    pub tunnel: Option<PathBuf>,
    /// The access point; otherwise the default gateway.
    pub access_point: Option<Ipv4Addr>,
    /// The access point's port.
    pub port: u16,
    /// The interface to the access point; otherwise that of the default route.
    pub interface: Option<String>,
    pub transport: Transport,
    /// How often the home is asked for new receipts.
    pub update_every: Duration,
    /// Whether events are written as JSON, one in a line, and not as sentences.
    pub json: bool,
    /// Stays on, whatever an access point says, until the person switches it off; otherwise the visit ends with what the
    /// access point says.
    pub stay: Option<Stay>,
}

/// What a visit that stays on needs to know besides.
#[derive(Clone, Debug, Default)]
pub struct Stay {
    /// Interfaces of networks inside this computer, which the kill switch leaves alone; a name may end in `*`.
    pub local_interfaces: Vec<String>,
}

/// What carries messages to the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// One TCP connection; datagrams where none comes about.
    Tcp,
    Udp,
}

/// Where the access point is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AccessNetwork {
    pub(super) access_point: Ipv4Addr,
    pub(super) interface: String,
}

impl Settings {
    /// The access point and the interface to it: as given, or those of the default route.
    pub(super) fn access_network(&self) -> Result<AccessNetwork, RunError> {
        AccessNetwork::find(self.access_point, self.interface.as_deref())
    }
}

impl AccessNetwork {
    /// As given, or those of the default route.
    pub(super) fn find(given: Option<Ipv4Addr>, interface: Option<&str>) -> Result<Self, RunError> {
        if let (Some(access_point), Some(interface)) = (given, interface.map(str::to_owned)) {
            return Ok(AccessNetwork { access_point, interface });
        }
        let route = guestright_portmap::default_route().map_err(|error| {
            if matches!(error, PortmapError::NoRouter) {
                RunError::network("this computer has no default route, so there is no access point to ask")
                    .with_hint("join the network first, or give --access-point and --interface")
            } else {
                RunError::network(error)
            }
        })?;
        let access_point = given.unwrap_or(route.gateway);
        Ok(AccessNetwork { access_point, interface: interface.map_or(route.interface, str::to_owned) })
    }
}
