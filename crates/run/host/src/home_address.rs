//! Where the own home is: a name or an address, and a port.

use crate::HOME_PORT;
use guestright_directory::{Address, AddressError, Host};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::str::FromStr;
use std::time::Duration;

/// A name is looked up for so long.
const LOOKUP_MAX: Duration = Duration::from_secs(5);
/// So many addresses of a name are tried, one after the other.
const ADDRESSES_MAX: usize = 4;
const PORT: NonZeroU16 = NonZeroU16::new(HOME_PORT).expect("the port is not zero");

/// The home of a team, for its own programs. Without a port it is [`HOME_PORT`].
///
/// A name is looked up for every attempt to reach the home, so that who moves to another address is found again.
///
/// ```
/// use guestright_host::HomeAddress;
///
/// let home: HomeAddress = "home.example".parse().unwrap();
/// assert_eq!(home.to_string(), "home.example:7274");
/// assert!("home.example:x".parse::<HomeAddress>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HomeAddress(Address);

impl HomeAddress {
    /// The name, if it is one.
    pub fn name(&self) -> Option<&str> {
        match self.0.host() {
            Host::Name(name) => Some(name.as_str()),
            Host::V4(_) | Host::V6(_) => None,
        }
    }

    /// The addresses at this moment, at most four, never none.
    ///
    /// # Errors
    /// Nobody knows the name, or says so in time.
    pub(crate) async fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        let port = self.0.port().get();
        let name = match self.0.host() {
            Host::V4(ip) => return Ok(vec![(*ip, port).into()]),
            Host::V6(ip) => return Ok(vec![(*ip, port).into()]),
            Host::Name(name) => name.as_str(),
        };
        let looking = tokio::time::timeout(LOOKUP_MAX, tokio::net::lookup_host((name, port)));
        let found: Vec<_> = looking.await??.take(ADDRESSES_MAX).collect();
        let none = || io::Error::new(io::ErrorKind::NotFound, format!("{name} has no address"));
        if found.is_empty() { Err(none()) } else { Ok(found) }
    }
}

impl From<SocketAddr> for HomeAddress {
    /// # Panics
    /// The address is nobody's: unspecified, multicast or broadcast, or without a port.
    fn from(address: SocketAddr) -> Self {
        address.to_string().parse().expect("the address of a host")
    }
}

impl FromStr for HomeAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Address::parse(text, PORT).map(Self)
    }
}

impl TryFrom<String> for HomeAddress {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<HomeAddress> for String {
    fn from(home: HomeAddress) -> Self {
        home.to_string()
    }
}

impl fmt::Display for HomeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn names_are_looked_up_and_addresses_are_taken_as_they_are() {
        for (text, want) in [("127.0.0.1:99", "127.0.0.1:99"), ("[::1]", "[::1]:7274")] {
            let home: HomeAddress = text.parse().unwrap();
            assert_eq!((home.name(), home.resolve().await.unwrap()), (None, vec![want.parse().unwrap()]));
        }
        let home: HomeAddress = "localhost".parse().unwrap();
        assert_eq!(home.name(), Some("localhost"));
        let found = home.resolve().await.unwrap();
        assert!(
            found.iter().all(|address| address.ip().is_loopback() && address.port() == 7_274),
            "{found:?}"
        );
        // RFC 6761 section 6.4: nobody ever has such a name.
        let nobody: HomeAddress = "home.invalid".parse().unwrap();
        assert!(nobody.resolve().await.is_err());
    }
}
