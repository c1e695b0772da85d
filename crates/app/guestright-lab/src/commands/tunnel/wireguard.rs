use anyhow::{Context, anyhow};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals::Signals;
use guestright_tun::{Device, DeviceSettings, Pump, Socket, SocketSettings, TunError};
use guestright_tunnel::Endpoint;
use guestright_tunnel::wireguard::{Config, Host, HostPort};
use guestright_units::Micros;
use guestright_wireguard::{Peer, Userspace, UserspaceSettings};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;
use zeroize::Zeroizing;

/// If nothing comes back for so long, the other end may have been restarted.
const IMPATIENT_AFTER: Micros = Micros::from_seconds(5);

/// Run one end of WireGuard in this program, from the file of a stock app, until Ctrl-C
///
/// The interface gets the addresses and the MTU of the file. Routes beyond the networks of its own addresses, and
/// DNS, are not set.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab tunnel wireguard --config home.conf --interface wg0")]
pub(crate) struct Wireguard {
    /// The configuration, as stock apps and wg-quick read it
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The name of the interface that is made
    #[arg(long, value_name = "NAME", default_value = "wg0")]
    interface: String,
    /// Hand packets over one by one, for measurements
    #[arg(long)]
    without_offload: bool,
}

impl Wireguard {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let config = self.read().map_err(Failure::config)?;
        let endpoint = Arc::new(endpoint(&config)?);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::network)?;
        runtime.block_on(async {
            let mut signals = Signals::register().map_err(Failure::network)?;
            let device = Device::open(&self.device(&config)).map_err(Failure::network)?;
            let socket = self.socket(&config).map_err(Failure::network)?;
            let (name, port) = (device.name().to_owned(), socket.address().map_err(Failure::network)?.port());
            let (lost, mut is_lost) = mpsc::unbounded_channel();
            let handle = Arc::clone(&endpoint);
            let pump = Pump::start(device, socket, endpoint, move |error| _ = lost.send(error));
            let pump = pump.map_err(Failure::network)?;
            writeln!(out, "{name} is up: {}, UDP port {port}; Ctrl-C ends it", handle.public_key())?;
            tokio::select! {
                () = signals.recv() => {}
                _ = is_lost.recv() => {}
            }
            summary(out, &*handle)?;
            pump.stop().map_err(Failure::network)
        })
    }

    fn read(&self) -> anyhow::Result<Config> {
        let path = self.config.display();
        let text =
            Zeroizing::new(std::fs::read_to_string(&self.config).with_context(|| format!("read {path}"))?);
        Config::parse(&text).with_context(|| format!("{path}"))
    }

    fn device(&self, config: &Config) -> DeviceSettings {
        let mtu = config.interface.mtu.unwrap_or(DeviceSettings::WIREGUARD_MTU);
        let addresses = &config.interface.addresses;
        DeviceSettings {
            addresses: addresses.iter().map(|network| (network.address(), network.prefix())).collect(),
            offload: !self.without_offload,
            ..DeviceSettings::new(&self.interface, mtu)
        }
    }

    /// For IPv4 and IPv6; for IPv4 alone where the kernel has no IPv6.
    fn socket(&self, config: &Config) -> Result<Socket, TunError> {
        let port = config.interface.listen_port.unwrap_or(0);
        let settings = |bind: SocketAddr| SocketSettings {
            bind,
            mark: config.interface.fwmark,
            offload: !self.without_offload,
        };
        Socket::open(&settings((Ipv6Addr::UNSPECIFIED, port).into()))
            .or_else(|_| Socket::open(&settings((Ipv4Addr::UNSPECIFIED, port).into())))
    }
}

/// The end with the peers of the file.
fn endpoint(config: &Config) -> Result<Userspace, Failure> {
    let settings = UserspaceSettings { impatient_after: Some(IMPATIENT_AFTER) };
    let endpoint = Userspace::new(&config.interface.private_key, settings);
    for known in &config.peers {
        let mut peer = Peer::from(known);
        if let Some(HostPort { host: Host::Name(name), port }) = &known.endpoint {
            let mut found = (name.as_str(), *port).to_socket_addrs().map_err(Failure::network)?;
            let none = || Failure::network(anyhow!("{name} has no address"));
            peer.address = Some(found.next().ok_or_else(none)?);
        }
        endpoint.set_peer(&peer).map_err(Failure::config)?;
    }
    Ok(endpoint)
}

fn summary(out: &mut Output, endpoint: &dyn Endpoint) -> Outcome {
    let counters = endpoint.counters();
    writeln!(out, "{} packets in, {} out", counters.received, counters.sent)?;
    for (reason, count) in counters.drops() {
        writeln!(out, "{count} dropped: {}", reason.name())?;
    }
    Ok(())
}
