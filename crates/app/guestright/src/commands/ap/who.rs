//! `guestright ap who`, `export-addresses` and `forget`: who had which address when.

use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::access_point::retention::{self, Keep, Query};
use guestright_units::UnixSeconds;
use serde_json::json;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Show who had an address at a time, or everybody who was online then
///
/// Only what `[retention] addresses` in ap.toml has kept. Seen from the Internet, all guests without a tunnel have the household's one
/// address, and no ports are kept: of several who were online at a time, the records do not say who did something.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright ap who 10.77.0.12 --at 2026-11-20T21:30:00+01:00 --config ap.toml
  guestright ap who --at 1795207800 --json --config ap.toml")]
pub(super) struct Who {
    /// The address in the guests' network; otherwise everybody
    address: Option<Ipv4Addr>,
    /// The time: RFC 3339, or seconds since 1970; otherwise now
    #[arg(long, value_name = "TIME")]
    at: Option<UnixSeconds>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Write all that is kept of who had which address, a line of JSON for each session
///
/// For somebody who has a right to it: it has addresses of people. Look through it before you give it away.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright ap export-addresses --out addresses.jsonl --config ap.toml")]
pub(super) struct ExportAddresses {
    /// The file to write, for its owner alone; otherwise standard output
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Remove what is kept of who had an address, or of the members of a team
///
/// It is gone from the disk then. A session that is open goes on and gets no new record. Receipts are at the home: `guestright home forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright ap forget 10.77.0.12 --config ap.toml
  guestright ap forget 3f1c08aa --config ap.toml
  guestright ap forget --all --config ap.toml")]
pub(super) struct Forget {
    /// An address, or a team: its 48 hexadecimal digits, or the first eight or more
    #[arg(value_name = "ADDRESS|TEAM", required_unless_present = "all")]
    which: Option<String>,
    /// Remove all of it
    #[arg(long, conflicts_with = "which")]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Who {
    pub(super) fn run(self, state: &Path, keep: Option<Keep>, out: &mut Output) -> Outcome {
        let at = self.at.unwrap_or_else(guestright_clock::unix_seconds);
        let records = retention::fetch(state, keep, Query { at: Some(at), ip: self.address })?;
        if self.json {
            return Ok(writeln!(out, "{}", json!({ "at": at.to_string(), "records": records }))?);
        }
        if records.is_empty() {
            let whom = self.address.map_or_else(|| "nobody".to_owned(), |ip| format!("nobody at {ip}"));
            return Ok(writeln!(out, "{whom} was online at {at}, as far as it is kept")?);
        }
        for record in &records {
            writeln!(out, "{}", retention::sentence(record))?;
        }
        Ok(())
    }
}

impl ExportAddresses {
    pub(super) fn run(self, state: &Path, keep: Option<Keep>, out: &mut Output) -> Outcome {
        let records = retention::fetch(state, keep, Query::default())?;
        let text: String = records.iter().map(|record| format!("{record}\n")).collect();
        let Some(file) = self.out else { return Ok(write!(out, "{text}")?) };
        guestright_host::private::create_private(&file, text.as_bytes())?;
        let count = records.len();
        if self.json {
            return Ok(writeln!(out, "{}", json!({ "records": count, "file": file }))?);
        }
        Ok(writeln!(out, "wrote {count} records to {}", file.display())?)
    }
}

impl Forget {
    pub(super) fn run(self, state: &Path, keep: Option<Keep>, out: &mut Output) -> Result<(), Failure> {
        let which = self.which.as_deref().unwrap_or("--all");
        let forgotten = retention::forget(state, keep, which)?;
        if self.json {
            return Ok(writeln!(out, "{}", json!({ "forgotten": forgotten }))?);
        }
        let records = if forgotten == 1 { "record" } else { "records" };
        Ok(writeln!(out, "removed {forgotten} {records} of who had which address")?)
    }
}
