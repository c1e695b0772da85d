//! `guestright visit`: a member on somebody else's network.

pub(crate) mod status;

use crate::loops;
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::MemberArgs;
use guestright_cli::output::Output;
use guestright_host::{HomeAddress, PROTOCOL_PORT, visit};
use guestright_privileges::Needs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

/// Where a visit keeps what it keeps, unless it is told otherwise.
const STATE: &str = "visit-state";

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
    #[command(flatten)]
    member: MemberArgs,
    /// Your team's home, by name or address: receipts that show what others owe your team come from there, and what you sign goes there
    #[arg(long, value_name = "NAME[:PORT]")]
    home: Option<HomeAddress>,
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
    /// Where receipts are kept between visits [default: visit-state; for status and off the visit that runs]
    #[arg(long, global = true)]
    state: Option<PathBuf>,
    /// How often the home is asked for new receipts, in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    update_seconds: u64,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<status::VisitCommand>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Transport {
    /// One connection
    Tcp,
    /// Datagrams
    Udp,
}

impl Transport {
    pub(super) fn for_loop(self) -> visit::Transport {
        match self {
            Self::Tcp => visit::Transport::Tcp,
            Self::Udp => visit::Transport::Udp,
        }
    }
}

impl Visit {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        if let Some(command) = &self.command {
            return command.run(self.state, out);
        }
        let credentials = self.member.credentials()?;
        let settings = self.settings()?;
        // Whoever may not change the network counts by its interface, and goes without a tunnel.
        let files = [Some(&settings.state), Some(&settings.certificate), settings.tunnel.as_ref()]
            .map(|file| file.map(PathBuf::as_path));
        let files: Vec<_> = files.into_iter().flatten().collect();
        let needs = Needs { network: true, ..Needs::default() }.with_files(&files);
        loops::run(needs, async |stop| visit::run(&settings, credentials, stop, out).await)
    }

    fn settings(self) -> Result<visit::Settings, Failure> {
        Ok(visit::Settings {
            tunnel: self.tunnel_file()?,
            certificate: self.member.certificate().to_path_buf(),
            state: self.state.unwrap_or_else(|| STATE.into()),
            home: self.home,
            access_point: self.access_point,
            port: self.port,
            interface: self.interface,
            transport: self.transport.for_loop(),
            update_every: Duration::from_secs(self.update_seconds),
            json: self.json,
            stay: None,
        })
    }

    /// The configuration of the way home, if there is to be a tunnel.
    fn tunnel_file(&self) -> Result<Option<PathBuf>, Failure> {
        if self.no_tunnel || (self.tunnel.is_none() && self.home.is_none()) {
            return Ok(None);
        }
        let file = self.tunnel.clone().unwrap_or_else(|| self.member.key().with_extension("conf"));
        if file.exists() {
            return Ok(Some(file));
        }
        Err(Failure::config(anyhow!("there is no configuration of a way home: {}", file.display())).hint(
            "`guestright team member add` makes one if the team has a gateway; name it with --tunnel, or go without a \
             tunnel: --no-tunnel",
        ))
    }
}
