//! `guestright visit status` and `guestright visit off`.

use crate::commands::validity;
use crate::{control, reloaded};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::visit::{CleanedUp, clean_up, is_guarded, running, socket, switch_file};
use guestright_units::Bytes;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a visit may take to stop: the last bytes are signed for first.
const STOP_MAX: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Subcommand)]
pub(super) enum VisitCommand {
    Status(Status),
    Off(Off),
}

/// Show the session, the tunnel, what was held back, and what the access point can see
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright visit status --json")]
pub(super) struct Status {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// End the visit and open its kill switch, also after a crash
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright visit off")]
pub(super) struct Off {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl VisitCommand {
    /// `state` as it was given; otherwise it is that of the visit in this network, wherever this is called from.
    pub(super) fn run(&self, state: Option<PathBuf>, out: &mut Output) -> Outcome {
        let state = state.or_else(running).unwrap_or_else(|| super::STATE.into());
        match self {
            Self::Status(Status { json }) => {
                let Some(status) = control::ask(&socket(&state), "status")? else {
                    return Err(nobody(&state));
                };
                if *json { Ok(writeln!(out, "{status}")?) } else { print(&status, out) }
            }
            Self::Off(Off { json }) => off(&state, *json, out),
        }
    }
}

/// Nobody visits with this directory; a closed switch is worth a word.
fn nobody(state: &Path) -> Failure {
    let failure = Failure::network(anyhow!("no visit runs with {}", state.display()));
    if switch_file(state).exists() {
        failure.hint(
            "a visit was killed and its kill switch is closed: visit again, or open it with `guestright visit off`",
        )
    } else if is_guarded() {
        failure.hint(UNKNOWN)
    } else {
        failure
            .hint("begin one with `guestright visit`; if its directory is another one, name it with --state")
    }
}

/// What to do where a switch is closed and nobody says by which visit.
const UNKNOWN: &str = "a kill switch is closed here all the same, by a visit that kept its state elsewhere: name its \
                       directory with --state";

fn off(state: &Path, json: bool, out: &mut Output) -> Outcome {
    if control::ask(&socket(state), "stop")?.is_some() {
        if !control::wait_until_gone(&socket(state), STOP_MAX) {
            return Err(Failure::network(anyhow!("the visit was asked to stop and still runs")));
        }
        return reloaded::done(json, "ended", "the visit has ended, and the kill switch is open", out);
    }
    let CleanedUp { switch, counters } = clean_up(state)?;
    if switch {
        return reloaded::done(
            json,
            "opened",
            "the kill switch is open, and the tunnel of a killed visit is gone",
            out,
        );
    }
    if is_guarded() {
        return Err(Failure::network(anyhow!("no visit runs with {}", state.display())).hint(UNKNOWN));
    }
    if counters {
        return reloaded::done(json, "cleaned up", "the counters of a killed visit are gone", out);
    }
    let sentence = "nothing to do: no visit is running, and none has left anything behind";
    reloaded::done(json, "nothing", sentence, out)
}

/// The session, the tunnel, what was held back, and what the access point can see.
pub(crate) fn print(status: &Value, out: &mut Output) -> Outcome {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let bytes = |value: &Value| Bytes(value.as_u64().unwrap_or_default()).to_string();
    writeln!(out, "access point  {} on {}", text(&status["access_point"]), text(&status["interface"]))?;
    validity::print(&status["certificate"], "certificate", 14, out)?;
    let session = &status["session"];
    if session.is_null() {
        writeln!(out, "session       none at the moment")?;
    } else {
        let team = text(&session["provider"]);
        writeln!(
            out,
            "session       team {} serves in class {}; {} signed for, {} counted",
            team.get(..8).unwrap_or(&team),
            text(&session["class"]),
            bytes(&session["signed"]),
            bytes(&session["counted"]),
        )?;
    }
    let tunnel = &status["tunnel"];
    if tunnel.is_null() {
        writeln!(out, "tunnel        none")?;
    } else {
        let ago = match tunnel["handshake_seconds_ago"].as_f64() {
            Some(seconds) => format!("last handshake {seconds:.0} s ago"),
            None => "no handshake yet".to_owned(),
        };
        let (received, sent) = (bytes(&tunnel["received"]), bytes(&tunnel["sent"]));
        writeln!(
            out,
            "tunnel        to {}, {ago}; {received} received, {sent} sent",
            text(&tunnel["endpoint"])
        )?;
    }
    for (kind, count) in status["held_back"].as_object().into_iter().flatten() {
        if count != 0 {
            writeln!(out, "held back     {count} packets × {kind}")?;
        }
    }
    writeln!(out, "what the access point can see:")?;
    for seen in status["visible"].as_array().into_iter().flatten() {
        writeln!(out, "  - {}", text(seen))?;
    }
    Ok(())
}
