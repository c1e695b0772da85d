//! `guestright team renewal`: the key by which the home renews certificates.

use super::TeamArgs;
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_team::life::{DAY, parse_seconds};
use guestright_team::renewal::{self, DAYS, DIRECTORY, LONGEST_TEXT, Made, Revoked, Terms};
use serde_json::json;

/// Let the team's home renew certificates, so that they need no founder
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Renewal {
    #[command(subcommand)]
    command: RenewalCommand,
}

const EXAMPLE: &str = "Example:
  guestright team renewal init --dir family
  guestright team renewal init --extend --dir family
  guestright team renewal revoke --dir family";

#[derive(Debug, clap::Subcommand)]
enum RenewalCommand {
    Init(Init),
    Revoke(Revoke),
}

/// Make a renewing key, and the team's warrant for it, in renewal/ of the team's directory
///
/// Give the directory to the computer that runs the team's home, and name it in home.toml: renewal = "renewal". The home then
/// gives members, access points and itself certificates with another life, before theirs end. Whoever steals the renewing
/// key can prolong what you have certified, and nothing else.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
struct Init {
    /// For how many days the home may renew; nothing that it renews lives longer
    #[arg(long, default_value_t = DAYS, value_parser = clap::value_parser!(u64).range(1..=3650))]
    days: u64,
    /// The same more finely: 12h, 400d
    #[arg(long, value_name = "DURATION", conflicts_with = "days", value_parser = parse_seconds)]
    life: Option<u64>,
    /// How long a renewed certificate holds at most; never longer than the one that it renews
    #[arg(long, value_name = "DURATION", default_value = LONGEST_TEXT, value_parser = parse_seconds)]
    longest: u64,
    /// Give the key that is there a warrant for another time
    #[arg(long)]
    extend: bool,
    #[command(flatten)]
    team: TeamArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Take it back: what the renewing key has renewed does not count any more
///
/// Writes the team's revocation list anew, and removes renewal/. Give the list to the home. Whoever has a renewed certificate
/// needs one from you: `guestright team member renew NAME`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
struct Revoke {
    #[command(flatten)]
    team: TeamArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Renewal {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        match self.command {
            RenewalCommand::Init(command) => command.run(out),
            RenewalCommand::Revoke(command) => command.run(out),
        }
    }
}

impl Init {
    fn run(self, out: &mut Output) -> Outcome {
        let terms = Terms { life: self.life.unwrap_or(self.days * DAY), longest: self.longest };
        let made = renewal::make(&self.team.dir, &self.team.key()?, terms, self.extend)?;
        let Made { directory, id, not_after } = made;
        if self.json {
            let answer = json!({ "directory": directory, "id": id.to_string(),
                "not_after": not_after.to_string(), "life_max_seconds": terms.longest });
            return Ok(writeln!(out, "{answer}")?);
        }
        let shown = directory.display();
        writeln!(out, "the home may renew the team's certificates until {not_after}")?;
        writeln!(
            out,
            "give it {shown}, name it in home.toml: renewal = \"{DIRECTORY}\", and say `guestright home reload`"
        )?;
        Ok(())
    }
}

impl Revoke {
    fn run(self, out: &mut Output) -> Outcome {
        let key = || self.team.signing_key();
        let Revoked { id, since, list } = renewal::revoke(&self.team.dir, &key)?;
        if self.json {
            let answer = json!({ "id": id.to_string(), "since": since.to_string(), "revocations": list });
            return Ok(writeln!(out, "{answer}")?);
        }
        writeln!(out, "revoked the renewing key: what it renewed does not count from {since} on")?;
        writeln!(
            out,
            "give {} to the home, take `renewal` out of home.toml, and say `guestright home reload`",
            list.display()
        )?;
        writeln!(out, "then give everybody another certificate: guestright team member renew NAME")?;
        Ok(())
    }
}
