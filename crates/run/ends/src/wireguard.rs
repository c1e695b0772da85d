//! One end of WireGuard in this program, with the peers of a configuration file.

use guestright_error::{OrFail as _, RunError};
use guestright_tun::{Device, DeviceSettings, Pump, Socket, SocketSettings, TunError};
use guestright_tunnel::wireguard::{Config, Host, HostPort};
use guestright_units::Micros;
use guestright_wireguard::{Peer, Userspace, UserspaceSettings};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::mpsc;
use zeroize::Zeroizing;

/// If nothing comes back for so long, the other end may have been restarted.
const IMPATIENT_AFTER: Micros = Micros::from_seconds(5);

/// Reads a configuration, as stock apps and wg-quick write it.
///
/// # Errors
/// The file cannot be read or understood.
pub fn read(path: &Path) -> Result<Config, RunError> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).or_config(|| format!("read {shown}"))?;
    Config::parse(&Zeroizing::new(text)).or_config(|| shown.to_string())
}

/// An end that carries packets.
#[derive(Debug)]
pub struct WireguardEnd {
    name: String,
    port: u16,
    endpoint: Arc<Userspace>,
    pump: Pump,
    is_lost: mpsc::UnboundedReceiver<TunError>,
}

impl WireguardEnd {
    /// Makes the interface and starts. Without `offload` packets are handed over one by one.
    ///
    /// # Errors
    /// The interface or the socket cannot be had, or a peer not be found.
    pub fn start(config: &Config, interface: &str, offload: bool) -> Result<Self, RunError> {
        let endpoint = Arc::new(endpoint(config)?);
        let device = Device::open(&device(config, interface, offload)).map_err(RunError::network)?;
        let socket = socket(config, offload).map_err(RunError::network)?;
        let (name, port) = (device.name().to_owned(), socket.address().map_err(RunError::network)?.port());
        let (lost, is_lost) = mpsc::unbounded_channel();
        let shared = Arc::clone(&endpoint);
        let pump = Pump::start(device, socket, shared, move |error| _ = lost.send(error));
        Ok(Self { name, port, endpoint, pump: pump.map_err(RunError::network)?, is_lost })
    }

    /// The name of its interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The UDP port that it listens at.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its machine, which counts.
    pub fn endpoint(&self) -> &Userspace {
        &self.endpoint
    }

    /// Waits until the interface or the socket is gone.
    pub async fn lost(&mut self) {
        self.is_lost.recv().await;
    }

    /// # Errors
    /// It did not stop in order.
    pub fn stop(self) -> Result<(), RunError> {
        self.pump.stop().map_err(RunError::network)
    }
}

fn device(config: &Config, interface: &str, offload: bool) -> DeviceSettings {
    let mtu = config.interface.mtu.unwrap_or(DeviceSettings::WIREGUARD_MTU);
    let addresses = &config.interface.addresses;
    DeviceSettings {
        addresses: addresses.iter().map(|network| (network.address(), network.prefix())).collect(),
        offload,
        ..DeviceSettings::new(interface, mtu)
    }
}

/// For IPv4 and IPv6; for IPv4 alone where the kernel has no IPv6.
fn socket(config: &Config, offload: bool) -> Result<Socket, TunError> {
    let port = config.interface.listen_port.unwrap_or(0);
    let settings = |bind: SocketAddr| SocketSettings { bind, mark: config.interface.fwmark, offload };
    Socket::open(&settings((Ipv6Addr::UNSPECIFIED, port).into()))
        .or_else(|_| Socket::open(&settings((Ipv4Addr::UNSPECIFIED, port).into())))
}

/// The end with the peers of the file.
fn endpoint(config: &Config) -> Result<Userspace, RunError> {
    let settings = UserspaceSettings { impatient_after: Some(IMPATIENT_AFTER) };
    let endpoint = Userspace::new(&config.interface.private_key, settings);
    for known in &config.peers {
        let mut peer = Peer::from(known);
        if let Some(HostPort { host: Host::Name(name), port }) = &known.endpoint {
            let mut found = (name.as_str(), *port).to_socket_addrs().map_err(RunError::network)?;
            let none = || RunError::network(format!("{name} has no address"));
            peer.address = Some(found.next().ok_or_else(none)?);
        }
        endpoint.set_peer(&peer).map_err(RunError::config)?;
    }
    Ok(endpoint)
}
