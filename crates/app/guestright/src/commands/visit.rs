//! `guestright visit`: a member on somebody else's network.

mod memory;
mod meter;
mod run;
mod status;
mod transport;
mod way;

use crate::settings::PROTOCOL_PORT;
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::PassphraseArgs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Be a guest: ask the access point of this network for service, and sign for what you use
///
/// The access point is the default gateway unless you name one. You sign no more than your own meter counted plus a
/// small tolerance; Ctrl-C says goodbye and signs the last receipt.
///
/// With --home everything that this computer sends goes home through a tunnel, and nothing else reaches the access
/// point's network: a kill switch holds it back. If the program is killed, the switch stays closed, and this computer
/// offline, until the next `guestright visit` or `guestright visit off`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright visit --key alice.key --certificate alice.cert --home 203.0.113.5:7274 --tunnel alice.conf
  guestright visit status
  guestright visit off")]
pub(crate) struct Visit {
    /// Your secret key
    #[arg(long, default_value = "member.key")]
    key: PathBuf,
    /// Your certificate
    #[arg(long, default_value = "member.cert")]
    certificate: PathBuf,
    /// Your team's home: receipts that show what others owe your team come from there, and what you sign goes there
    #[arg(long, value_name = "ADDRESS:PORT")]
    home: Option<SocketAddr>,
    /// WireGuard's configuration of the way home; with --home otherwise the file of your key's name that ends in .conf
    #[arg(long, value_name = "FILE", conflicts_with = "no_tunnel")]
    tunnel: Option<PathBuf>,
    /// Leave the tunnel out: the access point sees everything that programs do not encrypt themselves
    #[arg(long)]
    no_tunnel: bool,
    /// The access point; otherwise the default gateway
    #[arg(long, value_name = "ADDRESS")]
    access_point: Option<Ipv4Addr>,
    /// The access point's port
    #[arg(long, default_value_t = PROTOCOL_PORT)]
    port: u16,
    /// The interface to the access point; otherwise that of the default route
    #[arg(long)]
    interface: Option<String>,
    /// Speak to the access point over this
    #[arg(long, value_enum, default_value = "tcp")]
    transport: Transport,
    /// Where receipts are kept between visits
    #[arg(long, default_value = "visit-state", global = true)]
    state: PathBuf,
    /// How often the home is asked for new receipts, in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    update_seconds: u64,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    #[command(subcommand)]
    command: Option<status::VisitCommand>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Transport {
    /// One connection
    Tcp,
    /// Datagrams
    Udp,
}

/// Where the access point is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    access_point: Ipv4Addr,
    interface: String,
}

impl Visit {
    pub(crate) fn run(self, out: &mut impl Write) -> Outcome {
        if let Some(command) = &self.command {
            return command.run(&self.state, out);
        }
        let place = self.place()?;
        let credentials = self.passphrase.credentials(&self.key, &self.certificate).map_err(|failure| {
            failure
                .hint("name your files with --key and --certificate; `guestright team member add` makes them")
        })?;
        guestright_cli::files::state_directory(&self.state)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(run::run(&self, place, credentials, out))
    }

    /// The configuration of the way home, if there is to be a tunnel.
    fn tunnel_file(&self) -> Result<Option<PathBuf>, Failure> {
        if self.no_tunnel || (self.tunnel.is_none() && self.home.is_none()) {
            return Ok(None);
        }
        let file = self.tunnel.clone().unwrap_or_else(|| self.key.with_extension("conf"));
        if file.exists() {
            return Ok(Some(file));
        }
        Err(Failure::config(anyhow!("there is no configuration of a way home: {}", file.display())).hint(
            "`guestright team member add` makes one if the team has a gateway; name it with --tunnel, or go without a \
             tunnel: --no-tunnel",
        ))
    }

    /// The access point and the interface to it: as told, or those of the default route.
    fn place(&self) -> Result<Place, Failure> {
        if let (Some(access_point), Some(interface)) = (self.access_point, self.interface.clone()) {
            return Ok(Place { access_point, interface });
        }
        let (gateway, interface) =
            default_route(&std::fs::read_to_string("/proc/net/route")?).ok_or_else(|| {
                Failure::network(anyhow!(
                    "this computer has no default route, so there is no access point to ask"
                ))
                .hint("join the network first, or give --access-point and --interface")
            })?;
        let access_point = self.access_point.unwrap_or(gateway);
        Ok(Place { access_point, interface: self.interface.clone().unwrap_or(interface) })
    }
}

/// Where a running visit is asked.
fn socket(state: &Path) -> PathBuf {
    state.join("visit.sock")
}

/// The gateway and the interface of the default route with the lowest metric, from the kernel's table
/// (proc(5), `/proc/net/route`: destination, gateway and mask are hexadecimal in the computer's byte order).
fn default_route(table: &str) -> Option<(Ipv4Addr, String)> {
    let routes = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        let metric: u32 = fields.get(6)?.parse().ok()?;
        let gateway = Ipv4Addr::from(number(2)?.to_ne_bytes());
        let is_default = number(1)? == 0 && number(7)? == 0 && !gateway.is_unspecified();
        let interface = (*fields.first()?).to_owned();
        is_default.then_some((metric, gateway, interface))
    });
    routes.min_by_key(|(metric, ..)| *metric).map(|(_, gateway, interface)| (gateway, interface))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_route_with_the_lowest_metric_wins() {
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
            wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n\
            eth0\t00000000\t010B0A0A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
            eth0\t000B0A0A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n";
        let want = if cfg!(target_endian = "little") { [10, 10, 11, 1] } else { [1, 11, 10, 10] };
        assert_eq!(default_route(table), Some((Ipv4Addr::from(want), "eth0".to_owned())));
        assert_eq!(default_route("Iface\n"), None);
    }
}
