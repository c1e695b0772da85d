//! `guestright-lab tunnel esp`: one end of a pair of ESP associations with keys that both ends know beforehand.

use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_cli::signals::Signals;
use guestright_ends::esp::EspEnd;
use guestright_ends::esp::settings::EndSettings;
use guestright_tunnel::esp_settings::EspSettings;
use guestright_tunnel::{Endpoint, EspEndpoint};
use std::path::PathBuf;

/// Run one end of an ESP tunnel with fixed keys, until Ctrl-C
///
/// For the laboratory: who has the keys of today can read what was carried yesterday. The interface gets the addresses
/// and the MTU of the file; routes beyond the networks of its own addresses are not set. The file beside it with the
/// next sequence number belongs to the keys: with an older copy of it, numbers would be used twice.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab tunnel esp-keys --suite aes-128-gcm one.toml two.toml
  guestright-lab tunnel esp --config one.toml")]
pub(crate) struct Esp {
    /// The settings file of this end, as `guestright-lab tunnel esp-keys` writes it
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Print the commands that make a Linux kernel this end, keys included, and stop
    #[arg(long)]
    kernel_commands: bool,
    /// Hand packets over one by one, for measurements
    #[arg(long)]
    without_offload: bool,
}

impl Esp {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let end = EndSettings::read(&self.config)?;
        let esp = EspSettings::try_from(&end.esp).map_err(Failure::config)?;
        if self.kernel_commands {
            let ends = end.kernel_ends()?;
            write!(out, "{}", *guestright_tunnel::esp_settings::xfrm_commands(&esp, &ends))?;
            return Ok(());
        }
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::network)?;
        runtime.block_on(async {
            let mut signals = Signals::register().map_err(Failure::network)?;
            let mut running = EspEnd::start(&end, &esp, &self.config, !self.without_offload)?;
            let (suite, mode, address) = (esp.suite(), esp.mode.name(), end.listen);
            let (name, encapsulation) = (running.name(), esp.encapsulation.name());
            writeln!(out, "{name} is up: {suite}, {mode}, {encapsulation}, {address}; Ctrl-C ends it")?;
            out.flush()?;
            tokio::select! {
                () = signals.recv() => {}
                () = running.run() => {}
            }
            let (endpoint, stopped) = running.stop();
            summary(out, &endpoint)?;
            Ok(stopped?)
        })
    }
}

fn summary(out: &mut Output, endpoint: &EspEndpoint) -> Outcome {
    let counters = endpoint.counters();
    writeln!(out, "{} packets in, {} out", counters.received, counters.sent)?;
    for (reason, count) in counters.drops() {
        writeln!(out, "{count} dropped: {}", reason.name())?;
    }
    for (kind, count) in endpoint.drops().iter().filter(|(_, count)| *count > 0) {
        writeln!(out, "{count} of what came in: {}", kind.name())?;
    }
    Ok(())
}
