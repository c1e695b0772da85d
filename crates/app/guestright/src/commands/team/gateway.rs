//! `guestright team gateway`: the gateway through which the team's roaming members come home.

use crate::gateway_files;
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_team::gateway::{Wish, make};
use guestright_tunnel::wireguard::HostPort;
use serde_json::json;
use std::net::IpAddr;
use std::path::PathBuf;

/// Make the gateway through which roaming members come home
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Gateway {
    #[command(subcommand)]
    command: GatewayCommand,
}

const EXAMPLE: &str = "Example:
  guestright team gateway init --endpoint home.example.org:51820 --dir family
  guestright team member add alice --qr --dir family";

#[derive(Debug, clap::Subcommand)]
enum GatewayCommand {
    Init(Init),
}

/// Make gateway/ in the team's directory: a WireGuard key, and where members find it
///
/// Give the directory to the computer that runs the team's home, and name it in home.toml, section `[gateway]`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
struct Init {
    /// Where members find the gateway: the household's name or address on the Internet, and a UDP port
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint)]
    endpoint: HostPort,
    /// The port that the home listens at, if the household's router translates it; otherwise the endpoint's
    #[arg(long)]
    port: Option<u16>,
    /// The network of the members; otherwise a random one out of 10.64.0.0/10
    #[arg(long, value_name = "ADDRESS/LENGTH", value_parser = network)]
    network: Option<String>,
    /// Whom members ask for names; otherwise the gateway, which asks the household's resolver
    #[arg(long, value_name = "ADDRESS")]
    dns: Vec<IpAddr>,
    /// The largest packet inside the tunnel, in bytes
    #[arg(long, default_value_t = gateway_files::MTU)]
    mtu: u16,
    /// The team's directory
    #[arg(long, default_value = "team")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn endpoint(text: &str) -> Result<HostPort, String> {
    text.parse().map_err(|want| format!("it should be {want}"))
}

fn network(text: &str) -> Result<String, String> {
    gateway_files::parse_network(text).map_err(|want| format!("it should be {want}"))?;
    Ok(text.to_owned())
}

impl Gateway {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        match self.command {
            GatewayCommand::Init(command) => command.run(out),
        }
    }
}

impl Init {
    fn run(self, out: &mut Output) -> Outcome {
        let Self { endpoint, port, network, dns, mtu, .. } = self;
        let files = make(&self.dir, Wish { endpoint, port, network, dns, mtu })?;
        let file = &files.file;
        let (path, public) = (files.path().display().to_string(), files.private_key()?.public().to_string());
        if self.json {
            let answer = json!({ "directory": path, "endpoint": file.endpoint, "port": file.port,
                "network": file.network, "address": files.address(), "dns": files.dns(), "public_key": public });
            writeln!(out, "{answer}")?;
            return Ok(());
        }
        writeln!(out, "made a gateway for {} at {}", file.network, file.endpoint)?;
        writeln!(out, "its key is {public}")?;
        writeln!(
            out,
            "give {path} to the computer that runs the home, and name it in home.toml, section [gateway]"
        )?;
        writeln!(
            out,
            "then let members in: guestright team member add NAME --qr --dir {}",
            self.dir.display()
        )?;
        Ok(())
    }
}
