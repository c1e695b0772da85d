//! A member's way home for the IKEv2 and L2TP clients that phones and computers have built in.

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_team::ike_access::Access;
use serde_json::{Value, json};

/// The IKEv2 access of a new member.
#[derive(Debug, clap::Args)]
pub(super) struct IkeArgs {
    /// Let it come home with a built-in IKEv2 or L2TP client too: print what to enter there
    #[arg(long)]
    ikev2: bool,
}

impl IkeArgs {
    pub(super) fn is_wanted(&self) -> bool {
        self.ikev2
    }
}

/// What JSON output says of a member's access.
pub(super) fn json(access: &Access) -> Value {
    json!({ "server": access.server, "remote_id": access.identity, "local_id": access.name,
        "secret": access.secret.as_str(), "address": access.address })
}

/// Prints what to enter.
pub(super) fn print(access: &Access, out: &mut Output) -> Outcome {
    let Access { server, identity, name, secret, .. } = access;
    writeln!(out, "\nfor a built-in IKEv2 client (`[gateway.ikev2]` in home.toml lets it in):")?;
    writeln!(out, "  server                          {server}")?;
    writeln!(out, "  remote ID, identity of server   {identity}")?;
    writeln!(out, "  local ID, IPsec identifier      {name}")?;
    writeln!(out, "  pre-shared key, or password     {}", secret.as_str())?;
    writeln!(out, "whoever has the key comes home as this member; two devices at once need two names")?;
    Ok(())
}
