use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals::Signals;
use guestright_ends::wireguard::{self, WireguardEnd};
use guestright_tunnel::Endpoint;
use std::path::PathBuf;

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
        let config = wireguard::read(&self.config)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::network)?;
        runtime.block_on(async {
            let mut signals = Signals::register().map_err(Failure::network)?;
            let mut running = WireguardEnd::start(&config, &self.interface, !self.without_offload)?;
            let (name, port, key) = (running.name(), running.port(), running.endpoint().public_key());
            writeln!(out, "{name} is up: {key}, UDP port {port}; Ctrl-C ends it")?;
            tokio::select! {
                () = signals.recv() => {}
                () = running.lost() => {}
            }
            summary(out, running.endpoint())?;
            Ok(running.stop()?)
        })
    }
}

fn summary(out: &mut Output, endpoint: &dyn Endpoint) -> Outcome {
    let counters = endpoint.counters();
    writeln!(out, "{} packets in, {} out", counters.received, counters.sent)?;
    for (reason, count) in counters.drops() {
        writeln!(out, "{count} dropped: {}", reason.name())?;
    }
    Ok(())
}
