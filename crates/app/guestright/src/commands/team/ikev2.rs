//! A member's way home for the IKEv2 and L2TP clients that phones and computers have built in.

use crate::ike_files;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_identity::{KeyId, Role};
use guestright_team::directory::gateway;
use guestright_team::ike_access::{self, IkeGateway};
use serde_json::{Value, json};
use std::path::Path;

/// The IKEv2 access of a new member.
#[derive(Debug, clap::Args)]
pub(super) struct IkeArgs {
    /// Let it come home with a built-in IKEv2 or L2TP client too: print what to enter there
    #[arg(long)]
    ikev2: bool,
}

impl IkeArgs {
    /// A phone has one, where the home lets it in.
    pub(super) fn want(&mut self) {
        self.ikev2 = true;
    }

    /// For a device that takes the place of another one: with access if that has it.
    pub(super) fn again(dir: &Path, name: &str) -> Result<Self, Failure> {
        let ikev2 = gateway(dir)?.is_some_and(|files| ike_files::path(&files, name).exists());
        Ok(Self { ikev2 })
    }

    /// Finds the gateway, if the member gets access; before anything is written.
    pub(super) fn find_gateway(
        &self,
        dir: &Path,
        name: &str,
        role: Role,
    ) -> Result<Option<IkeGateway>, Failure> {
        if !self.ikev2 {
            return Ok(None);
        }
        Ok(Some(IkeGateway::find(dir, name, role)?))
    }
}

/// What a member has to enter, to be shown.
pub(super) struct Access(ike_access::Access);

impl Access {
    /// Writes the member's file at the gateway.
    pub(super) fn give(gateway: IkeGateway, name: &str, key: KeyId) -> Result<Self, Failure> {
        Ok(Self(gateway.enrol(name, key)?))
    }

    /// What JSON output says of it.
    pub(super) fn json(&self) -> Value {
        let Self(it) = self;
        json!({ "server": it.server, "remote_id": it.identity, "local_id": it.name,
            "secret": it.secret.as_str(), "address": it.address })
    }

    /// Prints what to enter.
    pub(super) fn print(&self, out: &mut Output) -> Outcome {
        let ike_access::Access { server, identity, name, secret, .. } = &self.0;
        writeln!(out, "\nfor a built-in IKEv2 client (`[gateway.ikev2]` in home.toml lets it in):")?;
        writeln!(out, "  server                          {server}")?;
        writeln!(out, "  remote ID, identity of server   {identity}")?;
        writeln!(out, "  local ID, IPsec identifier      {name}")?;
        writeln!(out, "  pre-shared key, or password     {}", secret.as_str())?;
        writeln!(out, "whoever has the key comes home as this member; two devices at once need two names")?;
        Ok(())
    }
}
