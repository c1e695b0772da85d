//! `guestright team renewal`: the key by which the home renews certificates.

pub(super) use guestright_team::directory::remove;

use super::{TeamArgs, life};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files;
use guestright_cli::output::Output;
use guestright_clock::Clock;
use guestright_host::home::renewing_files::{KEY, WARRANT};
use guestright_identity::{SecretKey, Warrant};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The directory in the team's.
pub(crate) const DIRECTORY: &str = "renewal";

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
    #[arg(long, default_value_t = 1_095, value_parser = clap::value_parser!(u64).range(1..=3650))]
    days: u64,
    /// The same more finely: 12h, 400d
    #[arg(long, value_name = "DURATION", conflicts_with = "days", value_parser = life::seconds)]
    life: Option<u64>,
    /// How long a renewed certificate holds at most; never longer than the one that it renews
    #[arg(long, value_name = "DURATION", default_value = "366d", value_parser = life::seconds)]
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

fn paths(dir: &Path) -> (PathBuf, PathBuf, PathBuf) {
    let directory = dir.join(DIRECTORY);
    (directory.join(KEY), directory.join(WARRANT), directory)
}

impl Init {
    fn run(self, out: &mut Output) -> Outcome {
        let team = self.team.key()?;
        let (key_path, warrant_path, directory) = paths(&self.team.dir);
        let mut rng = guestright_clock::rng();
        let key = if self.extend {
            guestright_keys::read_secret(&key_path, || None).map_err(|error| {
                Failure::config(error).hint("make a renewing key first: the same without --extend")
            })?
        } else {
            SecretKey::generate(team.public().suite(), &mut rng)
        };
        let now = Clock::start().now().unix_seconds();
        let (from, to) = life::span(now, self.life.unwrap_or(self.days * 86_400));
        // Certificates are backdated by as much, and may be renewed for all of their life.
        let life_max = self.longest;
        let warrant = Warrant::issue(&team, key.public(), from, to, life_max).map_err(Failure::user)?;
        if !self.extend {
            files::state_directory(&directory)?;
            guestright_keys::write_secret(&key_path, &key, None, &mut rng).map_err(|error| {
                Failure::config(error).hint(
                    "this team has a renewing key: --extend gives it another time, `guestright team renewal revoke` ends it",
                )
            })?;
        }
        guestright_keys::write_warrant(&warrant_path, &warrant).map_err(Failure::config)?;
        let id = key.public().id().to_string();
        if self.json {
            let answer = json!({ "directory": directory, "id": id, "not_after": to.to_string(),
                "life_max_seconds": life_max });
            return Ok(writeln!(out, "{answer}")?);
        }
        let shown = directory.display();
        writeln!(out, "the home may renew the team's certificates until {to}")?;
        writeln!(
            out,
            "give it {shown}, name it in home.toml: renewal = \"{DIRECTORY}\", and say `guestright home reload`"
        )?;
        Ok(())
    }
}

impl Revoke {
    fn run(self, out: &mut Output) -> Outcome {
        let (key_path, warrant_path, directory) = paths(&self.team.dir);
        let warrant = guestright_keys::read_warrant(&warrant_path).map_err(|error| {
            Failure::config(error)
                .hint("there is no renewing key to revoke; `guestright team renewal init` makes one")
        })?;
        let id = warrant.renewing().id();
        let since = self.team.revoke_keys([id])?.since;
        // On the list first: what is left of the key then harms nobody.
        for path in [&key_path, &warrant_path] {
            remove(path)?;
        }
        let _ = std::fs::remove_dir(&directory); // It may hold what is not ours.
        let list = self.team.dir.join("revocations");
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
