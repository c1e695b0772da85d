//! A member's way home for the IKEv2 and L2TP clients that phones and computers have built in.

use crate::gateway_files::{self, GatewayFiles, key_name};
use crate::ike_files::{self, IkeFile};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_identity::{KeyId, Role};
use serde_json::{Value, json};
use std::path::Path;
use zeroize::Zeroizing;

/// What a secret is made of: no two that look alike, 32 in all, so that each stands for 5 bits.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// 120 bits: whoever hears a handshake from its middle can guess at leisure.
const SECRET_LENGTH: usize = 24;

/// The IKEv2 access of a new member.
#[derive(Debug, clap::Args)]
pub(super) struct IkeArgs {
    /// Let it come home with a built-in IKEv2 or L2TP client too: print what to enter there
    #[arg(long)]
    ikev2: bool,
}

/// The gateway at which a new member will have a place.
#[derive(Debug)]
pub(super) struct IkeGateway {
    files: GatewayFiles,
}

/// What a member has to enter.
#[derive(Debug)]
pub(super) struct Access {
    server: String,
    identity: String,
    name: String,
    secret: Zeroizing<String>,
    address: std::net::Ipv4Addr,
}

impl IkeArgs {
    /// A phone has one, where the home lets it in.
    pub(super) fn want(&mut self) {
        self.ikev2 = true;
    }

    /// For a device that takes the place of another one: with access if that has it.
    pub(super) fn again(dir: &Path, name: &str) -> Result<Self, Failure> {
        let ikev2 = super::gateway(dir)?.is_some_and(|files| ike_files::path(&files, name).exists());
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
        if role != Role::Member {
            let error = anyhow!("only a member roams; {name} is to be a {role}");
            return Err(Failure::user(error).hint("leave out --ikev2"));
        }
        if !name.is_ascii() {
            let error =
                anyhow!("IKEv2 clients identify themselves in letters of ASCII, and {name:?} has others");
            return Err(
                Failure::user(error).hint("add this device under a name in a to z, or leave out --ikev2")
            );
        }
        let files = GatewayFiles::open(&dir.join(gateway_files::DIRECTORY))?;
        let path = ike_files::path(&files, name);
        if path.exists() {
            let error = anyhow!("{name} has access already: {}", path.display());
            return Err(Failure::config(error).hint("every name is given once; choose another"));
        }
        Ok(Some(IkeGateway { files }))
    }
}

impl IkeGateway {
    /// Writes the member's file at the gateway.
    pub(super) fn enrol(self, name: &str, key: KeyId) -> Result<Access, Failure> {
        let seed = Zeroizing::new(guestright_clock::seed().0);
        let letters = seed.iter().take(SECRET_LENGTH).map(|byte| char::from(LETTERS[usize::from(byte % 32)]));
        let secret = Zeroizing::new(letters.collect::<String>());
        // Only now: until a moment ago the lock was held to give the member its address for WireGuard.
        let _lock = self.files.lock()?;
        let address = ike_files::free_address(&self.files)?;
        let file = IkeFile { address, secret: secret.to_string(), key_id: key_name(key), revoked: None };
        ike_files::create(&self.files, name, &file)?;
        self.files.hand_over()?;
        let (server, identity) = (ike_files::host(&self.files), ike_files::identity(&self.files));
        Ok(Access { server, identity, name: name.to_owned(), secret, address })
    }
}

impl Access {
    /// What JSON output says of it.
    pub(super) fn json(&self) -> Value {
        json!({ "server": self.server, "remote_id": self.identity, "local_id": self.name,
            "secret": self.secret.as_str(), "address": self.address })
    }

    /// Prints what to enter.
    pub(super) fn print(&self, out: &mut Output) -> Outcome {
        let Self { server, identity, name, secret, .. } = self;
        writeln!(out, "\nfor a built-in IKEv2 client (`[gateway.ikev2]` in home.toml lets it in):")?;
        writeln!(out, "  server                          {server}")?;
        writeln!(out, "  remote ID, identity of server   {identity}")?;
        writeln!(out, "  local ID, IPsec identifier      {name}")?;
        writeln!(out, "  pre-shared key, or password     {}", secret.as_str())?;
        writeln!(out, "whoever has the key comes home as this member; two devices at once need two names")?;
        Ok(())
    }
}

/// Lets a member in no more. Says whether it was let in.
pub(super) fn revoke(dir: &Path, name: &str, since: &str) -> Result<bool, Failure> {
    let Some(files) = super::gateway(dir)? else { return Ok(false) };
    let _lock = files.lock()?;
    Ok(ike_files::revoke(&files, name, since)?)
}
