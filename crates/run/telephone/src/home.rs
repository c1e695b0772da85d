//! Where home is, and what we are called there.

use crate::TelephoneError;
use guestright_sip::agent::PORT;
use guestright_tunnel::wireguard::Config;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// What is known of the way home before it was looked for.
#[derive(Clone, Debug)]
pub struct AccountSettings {
    /// The member's key: its file's name is the user's, unless one is given.
    pub key: PathBuf,
    pub user: Option<String>,
    /// The home's address inside the tunnel.
    pub home: Option<SocketAddr>,
    /// WireGuard's configuration of the way home; without it, the file of the key's name that ends in .conf.
    pub tunnel: Option<PathBuf>,
    /// Do without a home.
    pub direct: bool,
    /// This computer's own address.
    pub address: Option<IpAddr>,
}

/// Who we are at home, where we are, and where home is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub user: String,
    pub own: IpAddr,
    /// None where calls go straight to the address dialled.
    pub home: Option<SocketAddr>,
}

impl Account {
    /// Completes what is known. `callee` is who is to be called: without a home, that address says which of ours is used.
    ///
    /// # Errors
    /// There is no home where one is needed, or no way to it.
    pub fn find(settings: &AccountSettings, callee: Option<&str>) -> Result<Self, TelephoneError> {
        let home = home(settings)?;
        let user = match &settings.user {
            Some(user) => user.clone(),
            None => settings.key.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let towards = callee.filter(|_| settings.direct).and_then(address_in);
        let own = match (settings.address, home.or(towards)) {
            (Some(own), _) => own,
            (None, Some(peer)) => own_address(peer)?,
            (None, None) => return Err(TelephoneError::NoOwnAddress),
        };
        Ok(Self { user, own, home })
    }
}

/// `ADDRESS` or `ADDRESS:PORT`.
///
/// # Errors
/// What was expected.
pub fn parse_home(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    let ip: IpAddr = text.parse().map_err(|_| "expected an address, and perhaps a port".to_owned())?;
    Ok(SocketAddr::new(ip, PORT))
}

/// The address in `sip:name@address`, if there is one.
fn address_in(name: &str) -> Option<SocketAddr> {
    let host = name.rsplit_once('@')?.1.split(';').next()?;
    parse_home(host).ok()
}

fn home(settings: &AccountSettings) -> Result<Option<SocketAddr>, TelephoneError> {
    if settings.direct || settings.home.is_some() {
        return Ok(settings.home);
    }
    let file = settings.tunnel.clone().unwrap_or_else(|| settings.key.with_extension("conf"));
    if !file.exists() {
        return Err(TelephoneError::HomeUnknown(file));
    }
    // The gateway is its members' resolver, unless its owner has named another one.
    let config = read_tunnel(&file)?;
    let gateway = config.interface.dns.iter().find(|address| address.is_ipv4());
    let gateway = gateway.ok_or(TelephoneError::HomeUnnamed(file))?;
    Ok(Some(SocketAddr::new(*gateway, PORT)))
}

/// Reads WireGuard's configuration.
///
/// # Errors
/// It cannot be read, or is none.
pub fn read_tunnel(path: &Path) -> Result<Config, TelephoneError> {
    let bytes = guestright_keys::read_to_limit(path, Config::LEN_MAX).map_err(TelephoneError::Unreadable)?;
    let bytes = Zeroizing::new(bytes);
    let text = std::str::from_utf8(&bytes).map_err(|_| TelephoneError::NotText(path.to_owned()))?;
    Config::parse(text).map_err(|source| TelephoneError::Tunnel { path: path.to_owned(), source })
}

/// The address with which this computer sends to a peer. Nothing is sent.
///
/// # Errors
/// There is no route.
pub fn own_address(peer: SocketAddr) -> Result<IpAddr, TelephoneError> {
    let any: IpAddr =
        if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let connect = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(peer)?;
        Ok(socket.local_addr()?.ip())
    };
    connect().map_err(|source: io::Error| TelephoneError::NoWay { to: peer.ip(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_needs_no_port() {
        assert_eq!(parse_home("10.9.0.1"), Ok("10.9.0.1:5060".parse().unwrap()));
        assert_eq!(parse_home("10.9.0.1:5070"), Ok("10.9.0.1:5070".parse().unwrap()));
        assert_eq!(parse_home("::1"), Ok("[::1]:5060".parse().unwrap()));
        assert!(parse_home("home").is_err());
    }

    #[test]
    fn a_way_to_a_peer_begins_with_an_address_of_ours() {
        assert_eq!(own_address("127.0.0.1:9".parse().unwrap()).unwrap(), IpAddr::from([127, 0, 0, 1]));
    }
}
