//! `guestright home block` and `unblock`: whom the household serves no more.

use crate::reloaded;
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_units::UnixSeconds;
use serde_json::Value;

/// Serve members of a team no more, whatever is owed to it; without a team: show who is blocked
///
/// A session that is open ends when half of what was set aside for it is used, under a policy of the papers within five minutes; `guestright ap end`
/// ends one at once. What the team has had stays owed, and the block stays over a restart. A team can be left for a new one, which is served out of
/// what is given away to everybody, as all new ones are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home block 3f1c08aa --config home.toml
  guestright home block")]
pub(super) struct Block {
    /// The team: its 48 hexadecimal digits, or the first few as the tables show them
    team: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Serve members of a team again that was blocked
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home unblock 3f1c08aa --config home.toml")]
pub(super) struct Unblock {
    /// The team: its 48 hexadecimal digits, or the first few as the tables show them
    team: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Block {
    /// The question to the running home.
    pub(super) fn question(&self) -> String {
        self.team.as_ref().map_or_else(|| "block".to_owned(), |team| format!("block {team}"))
    }

    pub(super) fn print(&self, answer: &Value, out: &mut Output) -> Outcome {
        print(
            answer,
            self.json,
            ["is served no more; to end an open session at once: guestright ap end", "was blocked already"],
            out,
        )
    }
}

impl Unblock {
    /// The question to the running home.
    pub(super) fn question(&self) -> String {
        format!("unblock {}", self.team)
    }

    pub(super) fn print(&self, answer: &Value, out: &mut Output) -> Outcome {
        print(answer, self.json, ["is served again", "was not blocked"], out)
    }
}

/// What was done to a team, or the list.
fn print(answer: &Value, json: bool, [done, was]: [&str; 2], out: &mut Output) -> Outcome {
    reloaded::accepted(answer)?;
    if json {
        return Ok(writeln!(out, "{answer}")?);
    }
    let short = |team: &Value| team.as_str().and_then(|team| team.get(..8)).unwrap_or("-").to_owned();
    if !answer["team"].is_null() {
        let what = if answer["changed"] == true { done } else { was };
        return Ok(writeln!(out, "team {} {what}", short(&answer["team"]))?);
    }
    let blocked = answer["blocked"].as_array().map(Vec::as_slice).unwrap_or_default();
    if blocked.is_empty() {
        return Ok(writeln!(out, "nobody is blocked")?);
    }
    for line in blocked {
        let since = UnixSeconds(line["since"].as_u64().unwrap_or_default());
        writeln!(out, "{}  since {since}", line["team"].as_str().unwrap_or("-"))?;
    }
    Ok(())
}
