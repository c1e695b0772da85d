//! Members' words on where their home is, for others who call them (design note 0004, section 4).
//!
//! The founder makes members' keys, so the founder's computer can sign for them, as long as the keys are still there.

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_directory::Address;
use guestright_team::home_record;
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
        let signed = home_record::sign(&self.dir, &self.names, &self.address)?;
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
