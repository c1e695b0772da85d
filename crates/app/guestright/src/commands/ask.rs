//! `guestright ask`: would this access point serve me?

use crate::commands::visit::Transport;
use crate::loops;
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_error::OrFail as _;
use guestright_host::PROTOCOL_PORT;
use guestright_host::visit::{AskSettings, ask};
use guestright_keys::read_certificate;
use guestright_privileges::Needs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Ask this network's access point whether it would serve you, how much and why, before you use anything
///
/// Nothing is opened, reserved or signed, and it needs no secret key. The access point is the default gateway unless you name one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright ask --certificate alice.cert
  guestright ask --certificate alice.cert --json")]
pub(crate) struct Ask {
    /// Your certificate
    #[arg(long, default_value = "member.cert")]
    certificate: PathBuf,
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
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Ask {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let certificate = read_certificate(&self.certificate)
            .or_config(|| "read your certificate, which --certificate names".to_owned())?;
        let (access_point, interface) = (self.access_point, self.interface);
        let transport = self.transport.for_loop();
        let settings = AskSettings { access_point, port: self.port, interface, transport };
        let json = self.json;
        loops::run(Needs::default(), async |mut stop| {
            let foretold = tokio::select! {
                foretold = ask(&settings, &certificate) => foretold?,
                () = stop.requested() => return Ok(()),
            };
            let line = if json { foretold.to_json().to_string() } else { foretold.sentence() };
            writeln!(out, "{line}")
        })
    }
}
