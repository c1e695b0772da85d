//! Where home is, and what we are called there.

use super::LineArgs;
use anyhow::{Context, anyhow};
use guestright_cli::failure::Failure;
use guestright_sip::agent::PORT;
use guestright_tunnel::wireguard::Config;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use zeroize::Zeroizing;

/// Where we are, and where home is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) user: String,
    pub(super) own: IpAddr,
    /// None with --direct.
    pub(super) home: Option<SocketAddr>,
}

impl Place {
    /// From the arguments; `towards` is where a direct call goes.
    pub(super) fn find(line: &LineArgs, towards: Option<SocketAddr>) -> Result<Self, Failure> {
        let home = home(line)?;
        let user = match &line.user {
            Some(user) => user.clone(),
            None => line.key.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let own = match (line.address, home.or(towards)) {
            (Some(own), _) => own,
            (None, Some(peer)) => own_address(peer).map_err(Failure::network)?,
            (None, None) => {
                return Err(Failure::user(anyhow!("without a home it takes an address to listen on"))
                    .hint("give --address"));
            }
        };
        Ok(Self { user, own, home })
    }
}

/// `ADDRESS` or `ADDRESS:PORT`.
pub(super) fn parse_home(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    let ip: IpAddr = text.parse().map_err(|_| "expected an address, and perhaps a port".to_owned())?;
    Ok(SocketAddr::new(ip, PORT))
}

fn home(line: &LineArgs) -> Result<Option<SocketAddr>, Failure> {
    if line.direct || line.home.is_some() {
        return Ok(line.home);
    }
    let file = line.tunnel.clone().unwrap_or_else(|| line.key.with_extension("conf"));
    if !file.exists() {
        return Err(Failure::config(anyhow!(
            "it is not known where home is: there is no {}",
            file.display()
        ))
        .hint("name its address inside the tunnel, --home, or the tunnel's configuration, --tunnel"));
    }
    // The gateway is its members' resolver, unless its owner has named another one.
    let config = read_tunnel(&file)?;
    let gateway = config.interface.dns.iter().find(|address| address.is_ipv4());
    let gateway = gateway.ok_or_else(|| {
        Failure::config(anyhow!("{} has no `DNS`, so it does not say where home is", file.display()))
            .hint("name the home's address inside the tunnel: --home")
    })?;
    Ok(Some(SocketAddr::new(*gateway, PORT)))
}

/// Reads WireGuard's configuration.
pub(super) fn read_tunnel(path: &Path) -> Result<Config, Failure> {
    let text =
        Zeroizing::new(guestright_keys::read_to_limit(path, Config::LEN_MAX).map_err(Failure::config)?);
    let text = std::str::from_utf8(&text);
    let text = text.map_err(|_| Failure::config(anyhow!("{} is no text", path.display())))?;
    Config::parse(text).with_context(|| format!("read {}", path.display())).map_err(Failure::config)
}

/// The address with which this computer sends to a peer. Nothing is sent.
pub(super) fn own_address(peer: SocketAddr) -> anyhow::Result<IpAddr> {
    let any: SocketAddr = if peer.is_ipv4() { "0.0.0.0:0".parse()? } else { "[::]:0".parse()? };
    let socket = UdpSocket::bind(any)?;
    socket.connect(peer).with_context(|| format!("there is no way to {}; is the tunnel up?", peer.ip()))?;
    Ok(socket.local_addr()?.ip())
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
