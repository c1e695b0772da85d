//! Members' words on where their home is, for others who call them (design note 0004, section 4).
//!
//! The founder makes members' keys, so the founder's computer can sign for them, as long as the keys are still there.

use crate::gateway_files::{self, GatewayFiles};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_directory::Address;
use guestright_identity::Role;
use guestright_team::directory::{certificates, member_files};
use guestright_team::home_record::{home, write};
use guestright_units::UnixSeconds;
use serde_json::json;
use std::path::PathBuf;

/// Sign anew where members' home is, so that others can call them
///
/// `member add --qr` signs for a new member if the team has a certificate of a home by then. This signs for all members
/// with a tunnel whose keys are still in the team's directory: after the home moved, got another certificate, or when
/// the old word is about to end.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member record --dir family
  guestright team member record alice --address home.example.org --dir family")]
pub(super) struct Record {
    /// Members; otherwise all
    names: Vec<String>,
    /// Where other homes find this one; otherwise the gateway's host and port 7275. May be given again
    #[arg(long, value_name = "HOST[:PORT]")]
    address: Vec<Address>,
    /// The team's directory
    #[arg(long, default_value = "team")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Record {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        let files = GatewayFiles::open(&self.dir.join(gateway_files::DIRECTORY))?;
        let Some(home) = home(&self.dir)? else {
            let dir = self.dir.display();
            return Err(Failure::config(anyhow!("{dir} has no certificate of a home that holds"))
                .hint(format!("guestright team member add home --role home --dir {dir}")));
        };
        let mut signed = Vec::new();
        for (name, certificate) in certificates(&self.dir)? {
            let (key, _) = member_files(&self.dir, &name);
            if !self.names.is_empty() && !self.names.contains(&name) {
                continue;
            }
            let has_tunnel = certificate.role() == Role::Member && files.peer_file(&name)?.is_some();
            if !has_tunnel || !key.exists() {
                continue;
            }
            let key = guestright_keys::read_secret(&key, || None).map_err(Failure::config)?;
            let until = write(&files, &home, &self.address, &name, &key, &certificate)?;
            signed.push((name, until));
        }
        let missing = self.names.iter().find(|name| !signed.iter().any(|(done, _)| done == *name));
        if signed.is_empty() || missing.is_some() {
            let who = missing.map_or_else(|| "nobody".to_owned(), |name| format!("{name} is no member that"));
            let dir = self.dir.display();
            return Err(Failure::config(anyhow!("{who} has both a tunnel and a key in {dir}"))
                .hint("`guestright team member add NAME --qr` makes both"));
        }
        if self.json {
            let row = |(name, until): &(String, UnixSeconds)| json!({ "name": name, "not_after": until.to_string() });
            return Ok(writeln!(out, "{}", serde_json::Value::Array(signed.iter().map(row).collect()))?);
        }
        for (name, until) in &signed {
            writeln!(out, "{name} can be called until {until}")?;
        }
        Ok(())
    }
}
