//! `guestright home block` and `unblock`: whom the household serves no more.

use crate::reloaded;
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_firewall::MacAddress;
use guestright_units::UnixSeconds;
use serde_json::Value;

/// Serve members of a team no more, whatever is owed to it, or one device; without either: show who is blocked
///
/// A session of the team that is open ends when half of what was set aside for it is used, under a policy of the papers within five minutes;
/// `guestright ap end` ends one at once. What the team has had stays owed, and the block stays over a restart. A team can be left for a new one, which
/// is served out of what is given away to everybody, as all new ones are.
///
/// A device's session ends at once, at every access point of the household, and it begins no other there, tries nothing and does not join the Wi-Fi as a
/// phone. A hardware address is changed easily, and many phones change theirs by themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home block 3f1c08aa --config home.toml
  guestright home block --device 02:00:5e:10:00:15
  guestright home block")]
pub(super) struct Block {
    /// The team: its 48 hexadecimal digits, or the first few as the tables show them
    #[arg(conflicts_with = "device")]
    team: Option<String>,
    /// The device: its hardware address, as `guestright status --json` and `guestright ap status --json` show it
    #[arg(long, value_name = "MAC")]
    device: Option<MacAddress>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Serve members of a team again that was blocked, or a device
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home unblock 3f1c08aa --config home.toml
  guestright home unblock --device 02:00:5e:10:00:15")]
pub(super) struct Unblock {
    /// The team: its 48 hexadecimal digits, or the first few as the tables show them
    #[arg(required_unless_present = "device", conflicts_with = "device")]
    team: Option<String>,
    /// The device: its hardware address, as `guestright status --json` and `guestright ap status --json` show it
    #[arg(long, value_name = "MAC")]
    device: Option<MacAddress>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Block {
    /// The question to the running home.
    pub(super) fn question(&self) -> String {
        question("block", self.team.as_deref(), self.device)
    }

    pub(super) fn print(&self, answer: &Value, out: &mut Output) -> Outcome {
        let team = "is served no more; to end an open session at once: guestright ap end";
        print(answer, self.json, [team, "is served no more", "was blocked already"], out)
    }
}

impl Unblock {
    /// The question to the running home.
    pub(super) fn question(&self) -> String {
        question("unblock", self.team.as_deref(), self.device)
    }

    pub(super) fn print(&self, answer: &Value, out: &mut Output) -> Outcome {
        print(answer, self.json, ["is served again", "is served again", "was not blocked"], out)
    }
}

fn question(verb: &str, team: Option<&str>, device: Option<MacAddress>) -> String {
    match (team, device) {
        (_, Some(device)) => format!("{verb}-device {device}"),
        (Some(team), None) => format!("{verb} {team}"),
        (None, None) => verb.to_owned(),
    }
}

/// What was done to a team or a device, or the list.
fn print(answer: &Value, json: bool, [team, device, was]: [&str; 3], out: &mut Output) -> Outcome {
    reloaded::accepted(answer)?;
    if json {
        return Ok(writeln!(out, "{answer}")?);
    }
    let what = |done| if answer["changed"] == true { done } else { was };
    if !answer["team"].is_null() {
        return Ok(writeln!(out, "team {} {}", short(&answer["team"]), what(team))?);
    }
    if let Some(mac) = answer["device"].as_str() {
        writeln!(out, "device {mac} {}", what(device))?;
        return print_access_points(&answer["access_points"], out);
    }
    let lists = [("blocked", "team"), ("devices", "device")]
        .map(|(list, field)| answer[list].as_array().into_iter().flatten().map(move |line| (field, line)));
    let mut is_empty = true;
    for (field, line) in lists.into_iter().flatten() {
        let since = UnixSeconds(line["since"].as_u64().unwrap_or_default());
        writeln!(out, "{}  since {since}", line[field].as_str().unwrap_or("-"))?;
        is_empty = false;
    }
    if is_empty {
        writeln!(out, "nobody is blocked")?;
    }
    Ok(())
}

/// What each access point did with the list of devices.
fn print_access_points(all: &Value, out: &mut Output) -> Outcome {
    let all = all.as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        writeln!(out, "no access point is connected; each has the list as soon as it is")?;
    }
    for one in all {
        let key = short(&one["key"]);
        if let Some(reason) = one["failed"].as_str() {
            writeln!(out, "access point {key}: {reason}")?;
        } else if one["silent"] == true {
            writeln!(
                out,
                "access point {key} has not answered and may not know of it: if it is older than this home, update it"
            )?;
        } else {
            writeln!(out, "access point {key} has the list; sessions that ended by it: {}", one["ended"])?;
        }
    }
    Ok(())
}

fn short(id: &Value) -> &str {
    id.as_str().and_then(|id| id.get(..8)).unwrap_or("-")
}
