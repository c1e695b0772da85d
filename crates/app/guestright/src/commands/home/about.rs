//! `guestright home export` and `forget`: what the household keeps about another team.

use crate::reloaded;
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::home::{about, socket};
use serde_json::Value;
use std::path::Path;

/// Print what the household keeps about another team, as JSON: for its people, who may ask for it
///
/// Account, what is set aside and reserved, since when it is blocked, refusals, and the receipts in which it served or was served, as they
/// are stored (`receipt verify` reads the bundles). Who had which address is at the access point: `guestright ap export-addresses`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home export --about 3f1c08aa --config home.toml > about-3f1c08aa.json")]
pub(super) struct Export {
    /// The team: its 48 hexadecimal digits, or the first few as the tables show them
    #[arg(long, value_name = "TEAM")]
    about: String,
    /// Print JSON, as it does anyway
    #[arg(long)]
    json: bool,
}

/// Forget what is kept about another team, but for what somebody would lose by
///
/// What was set aside for it, and that it was turned away, is forgotten. Receipts and accounts stay, for they are what people owe each other;
/// it says what stays and why.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home forget 3f1c08aa --config home.toml")]
pub(super) struct Forget {
    /// The team: its 48 hexadecimal digits, or the first few as the tables show them
    team: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Export {
    pub(super) fn run(self, state: &Path, config: &Path, out: &mut Output) -> Outcome {
        let nobody = || Failure::network(anyhow!("no home runs with {}", config.display()));
        let kept = about::fetch(&socket(state), &self.about)?.ok_or_else(nobody)?;
        if self.json {
            return Ok(writeln!(out, "{kept}")?);
        }
        Ok(writeln!(out, "{kept:#}")?)
    }
}

impl Forget {
    /// The question to the running home.
    pub(super) fn question(&self) -> String {
        format!("forget {}", self.team)
    }

    pub(super) fn print(&self, answer: &Value, out: &mut Output) -> Outcome {
        reloaded::accepted(answer)?;
        if self.json {
            return Ok(writeln!(out, "{answer}")?);
        }
        for line in about::sentences(answer) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}
