//! `guestright home everybody`: serve whoever comes, for a while.

use crate::reloaded;
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_team::life::parse_seconds;
use guestright_units::UnixSeconds;
use serde_json::Value;

/// Serve everybody for a while, whatever is owed, in the lowest class; without options: show until when
///
/// For an emergency, a feast, a power cut next door. Members of other households sign for it as ever, and owe it; it is not taken from
/// what you give away a day. Whoever is blocked stays blocked, and certificates are checked as ever.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home everybody --for 12h --config home.toml
  guestright home everybody --stop")]
pub(super) struct Everybody {
    /// How long: a number and s, m, h or d, a week at most
    #[arg(long = "for", value_name = "SPAN", value_parser = parse_seconds, conflicts_with = "stop")]
    span: Option<u64>,
    /// No longer
    #[arg(long)]
    stop: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Everybody {
    /// The question to the running home.
    pub(super) fn question(&self) -> String {
        match self.span {
            Some(seconds) => format!("everybody {seconds}"),
            None if self.stop => "everybody stop".to_owned(),
            None => "everybody".to_owned(),
        }
    }

    pub(super) fn print(&self, answer: &Value, out: &mut Output) -> Outcome {
        reloaded::accepted(answer)?;
        if self.json {
            return Ok(writeln!(out, "{answer}")?);
        }
        match answer["until"].as_u64().map(UnixSeconds) {
            Some(until) => writeln!(out, "everybody is served until {until}")?,
            None => writeln!(out, "who is served is decided as ever")?,
        }
        Ok(())
    }
}
