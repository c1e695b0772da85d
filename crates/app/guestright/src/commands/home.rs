//! `guestright home`: the team server.

mod run;

use crate::control;
use crate::failure::{Failure, Outcome};
use crate::files::PassphraseArgs;
use crate::settings::{self, HomeSettings};
use anyhow::anyhow;
use guestright_units::Bytes;
use std::io::Write;
use std::path::PathBuf;

/// Run the team's home: keeps its receipts, decides for its access points, serves its roaming members
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE, after_long_help = long_help())]
pub(crate) struct Home {
    /// The settings file
    #[arg(long, default_value = "home.toml", global = true)]
    config: PathBuf,
    /// Print the settings with all defaults and stop
    #[arg(long)]
    show_config: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    #[command(subcommand)]
    command: Option<HomeCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum HomeCommand {
    Status(Status),
    Why(Why),
}

/// Show what the running home knows
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home status --config home.toml --json")]
struct Status {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show how a team would be served now, and the chains of debts behind it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home why 3f1c08aa --config home.toml")]
struct Why {
    /// The team: its 48 hexadecimal digits, or the first few as the tables show them
    team: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLE: &str = "Example:
  guestright home --config home.toml
  guestright home status --config home.toml --json";

const SETTINGS: &str = r#"A settings file:

  key = "home.key"
  certificate = "home.cert"
  state = "home-state"         # the receipts are in here
  listen = "0.0.0.0:7274"
  revocations = "revocations"  # optional
  receipts_max = 1000000
  [policy]
  kind = "srm"                 # the paper's rule; or netflow, quota, gmf
  bootstrap_bytes = 100000000  # serve strangers until so much is owed to us
"#;

impl Home {
    pub(crate) fn run(self, out: &mut impl Write) -> Outcome {
        let settings: HomeSettings = settings::read(&self.config)?;
        if self.show_config {
            write!(out, "{}", toml::to_string(&settings)?)?;
            return Ok(());
        }
        let state = settings::beside(&self.config, &settings.state);
        let ask = |question: &str| {
            let nobody = || Failure::network(anyhow!("no home runs with {}", self.config.display()));
            control::ask(&state.join("home.sock"), question)?.ok_or_else(nobody)
        };
        match self.command {
            None => run::run(&settings, &self.config, &self.passphrase, out),
            Some(HomeCommand::Status(Status { json: true })) => Ok(writeln!(out, "{}", ask("status")?)?),
            Some(HomeCommand::Status(Status { json: false })) => print_status(&ask("status")?, out),
            Some(HomeCommand::Why(Why { team, json })) => {
                let answer = ask(&format!("why {team}"))?;
                if json {
                    return Ok(writeln!(out, "{answer}")?);
                }
                if let Some(error) = answer["error"].as_str() {
                    return Err(Failure::user(anyhow!("{error}")));
                }
                for line in answer["lines"].as_array().into_iter().flatten() {
                    writeln!(out, "{}", line.as_str().unwrap_or_default())?;
                }
                Ok(())
            }
        }
    }
}

fn print_status(status: &serde_json::Value, out: &mut impl Write) -> Outcome {
    writeln!(out, "team         {}", status["team"].as_str().unwrap_or_default())?;
    for (name, key) in [("receipts", "receipts"), ("teams", "teams"), ("debts", "edges")] {
        writeln!(out, "{name:<12} {}", status[key])?;
    }
    for (name, key) in [("owed to us", "owed_to_us"), ("owed by us", "owed_by_us")] {
        writeln!(out, "{name:<12} {}", Bytes(status[key].as_u64().unwrap_or_default()))?;
    }
    for peer in status["peers"].as_array().into_iter().flatten() {
        writeln!(out, "connected    {}", peer.as_str().unwrap_or_default())?;
    }
    for (kind, count) in status["refused"].as_object().into_iter().flatten() {
        writeln!(out, "refused      {count} × {kind}")?;
    }
    Ok(())
}

/// What `--help` shows below the options.
fn long_help() -> String {
    format!("{SETTINGS}\n{EXAMPLE}")
}
