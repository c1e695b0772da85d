//! One end of a tunnel by itself, for measuring and for computers whose kernel has none.

mod esp;
mod esp_keys;
mod wireguard;

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;

/// Run one end of a tunnel by itself
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright-lab tunnel esp-keys --suite aes-128-gcm one.toml two.toml
  guestright-lab tunnel esp --config one.toml
  guestright-lab tunnel wireguard --config home.conf --interface wg0")]
pub(crate) struct Tunnel {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Esp(esp::Esp),
    EspKeys(esp_keys::EspKeys),
    Wireguard(wireguard::Wireguard),
}

impl Tunnel {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        match self.command {
            Command::Esp(command) => command.run(out),
            Command::EspKeys(command) => command.run(out),
            Command::Wireguard(command) => command.run(out),
        }
    }
}
