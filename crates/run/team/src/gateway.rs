//! The gateway through which the team's roaming members come home, made.

use crate::directory::team_key;
use guestright_error::RunError;
use guestright_host::gateway_files::{self, GatewayFile, GatewayFiles};
use guestright_tunnel::wireguard::{HostPort, PrivateKey};
use rand::RngExt as _;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use zeroize::Zeroizing;

/// What a gateway is to be.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Where members find it.
    pub endpoint: HostPort,
    /// The port that it listens at; otherwise the endpoint's.
    pub port: Option<u16>,
    /// The network of its members, `address/length`; otherwise a random one out of 10.64.0.0/10.
    pub network: Option<String>,
    /// Name servers of the members; if empty, the gateway.
    pub dns: Vec<IpAddr>,
    pub mtu: u16,
}

/// Makes `gateway/` in the team's directory.
///
/// # Errors
/// It is no team's directory, there is a gateway already, or a file cannot be written.
pub fn make(dir: &Path, wish: Wish) -> Result<GatewayFiles, RunError> {
    if !team_key(dir).exists() {
        return Err(RunError::config(format!("{} is no team's directory", dir.display()))
            .with_hint("--dir names it, and `guestright team init` makes one"));
    }
    let mut rng = guestright_clock::rng();
    let random = Ipv4Addr::new(10, rng.random_range(64..128), rng.random(), 0);
    let file = GatewayFile {
        port: wish.port.unwrap_or(wish.endpoint.port),
        endpoint: wish.endpoint.to_string(),
        network: wish.network.unwrap_or_else(|| format!("{random}/24")),
        dns: wish.dns,
        mtu: wish.mtu,
        keepalive_seconds: gateway_files::KEEPALIVE,
    };
    let secret = Zeroizing::new(guestright_clock::seed().0);
    GatewayFiles::create(&dir.join(gateway_files::DIRECTORY), &file, &PrivateKey::from_random(*secret))
}
