//! Addresses, networks, and where peers are.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use ipnet::IpNet;

/// An address and the length of the network around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network(IpNet);

/// A computer, by address or by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// Its address, of either version.
    Address(IpAddr),
    /// Its name in the DNS: letters, digits, `-`, `_` and dots, 253 at most.
    Name(String),
}

/// Where a peer is to be found, as `Endpoint` says it: `203.0.113.1:51820`, `[2001:db8::1]:51820`,
/// `home.example.org:51820`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// The computer.
    pub host: Host,
    /// The UDP port; never 0.
    pub port: u16,
}

impl Network {
    /// The network of `prefix` bits around `address`; `None` if there are not so many bits.
    #[must_use]
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        IpNet::new(address, prefix).ok().map(Self)
    }

    /// One address alone.
    #[must_use]
    pub fn host(address: IpAddr) -> Self {
        Self(address.into())
    }

    /// The address, whose last bits need not be 0.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.0.addr()
    }

    /// How many bits all addresses of the network have in common.
    #[must_use]
    pub fn prefix(&self) -> u8 {
        self.0.prefix_len()
    }

    /// The network's first address, with the same length.
    #[must_use]
    pub fn first(&self) -> Self {
        Self(self.0.trunc())
    }

    /// Whether `address` is one of the network's.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

impl FromStr for Network {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANT: &str = "an address, or an address, `/` and how many bits the network has";
        let Some((address, prefix)) = text.split_once('/') else {
            return Ok(Self::host(text.parse().map_err(|_| WANT)?));
        };
        let digits = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = prefix.parse().ok().filter(|_| digits).ok_or(WANT)?;
        Self::new(address.parse().map_err(|_| WANT)?, prefix).ok_or(WANT)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl HostPort {
    /// The address and port, if the computer is given by address.
    #[must_use]
    pub fn socket_address(&self) -> Option<SocketAddr> {
        match self.host {
            Host::Address(address) => Some(SocketAddr::new(address, self.port)),
            Host::Name(_) => None,
        }
    }
}

impl From<SocketAddr> for HostPort {
    fn from(address: SocketAddr) -> Self {
        Self { host: Host::Address(address.ip()), port: address.port() }
    }
}

impl FromStr for HostPort {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANT: &str = "an address or a name, `:` and a port, such as home.example.org:51820";
        let (host, port) = text.rsplit_once(':').ok_or(WANT)?;
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| digits && *port != 0).ok_or(WANT)?;
        let host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(inner) => Host::Address(IpAddr::V6(inner.parse().map_err(|_| WANT)?)),
            None => match host.parse::<Ipv4Addr>() {
                Ok(address) => Host::Address(address.into()),
                Err(_) if is_name(host) => Host::Name(host.to_owned()),
                Err(_) => return Err(WANT),
            },
        };
        Ok(Self { host, port })
    }
}

/// Whether a name could stand in the DNS (RFC 1035 §2.3.4, and `_`, which people use). A name that is all digits and
/// dots is a mistyped address.
pub(super) fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.len() <= 253 && !numeric && text.strip_suffix('.').unwrap_or(text).split('.').all(label)
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(address) => SocketAddr::new(*address, self.port).fmt(f),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}
