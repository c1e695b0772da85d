mod enrol;
mod gateway;
mod ikev2;
pub(crate) mod invite;
mod name;
mod record;

use crate::gateway_files::{self, GatewayFiles};
use anyhow::Context;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::{self, PassphraseArgs};
use guestright_cli::output::Output;
use guestright_clock::Clock;
use guestright_identity::{Certificate, IdentityError, RevocationList, Role, SecretKey, Suite};
use guestright_units::UnixSeconds;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Make a team, and keys for its members, access points and home
///
/// The team's secret key stays in its directory, best on a computer that is not on the network. Members, access
/// points and the home get keys of their own and certificates that the team signs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team init --dir family
  guestright team member add alice --dir family
  guestright team member add router --role access-point --dir family
  guestright team gateway init --endpoint home.example.org:51820 --dir family
  guestright team member add bob --qr --dir family")]
pub(crate) struct Team {
    #[command(subcommand)]
    command: TeamCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TeamCommand {
    Init(Init),
    Member(Member),
    Gateway(gateway::Gateway),
    Invite(invite::Invite),
    Backup(Backup),
    Restore(Restore),
}

/// Make a team: its key, in a new directory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team init --dir family --encrypt")]
struct Init {
    /// The team's directory
    #[arg(long, default_value = "team")]
    dir: PathBuf,
    /// The signature suite; a team has one for ever
    #[arg(long, default_value = "ed25519", value_parser = live_suite)]
    suite: Suite,
    /// Encrypt the team's key with a passphrase; --passphrase-file says so too
    #[arg(long)]
    encrypt: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

/// Add, list or revoke members, access points and homes
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member list --dir family")]
struct Member {
    #[command(subcommand)]
    command: MemberCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MemberCommand {
    Add(Add),
    List(List),
    Record(record::Record),
    Show(enrol::Show),
    Revoke(Revoke),
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RoleName {
    Member,
    AccessPoint,
    Home,
}

/// Make a key and its certificate: NAME.key and NAME.cert in the team's directory
///
/// With --qr the member gets a way home as well: an address at the team's gateway (`guestright team gateway init`
/// makes one), NAME.conf for stock WireGuard apps and for `guestright visit --tunnel`, and NAME.toml in gateway/ for
/// the home. Give gateway/ to the home again and say `guestright home reload`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member add alice --dir family --days 90
  guestright team member add bob --dir family --qr --qr-png bob.png --bytes-per-day 500000000")]
struct Add {
    /// A name for the files: letters of one script, digits and dashes
    name: String,
    /// What the key is for
    #[arg(long, value_enum, default_value = "member")]
    role: RoleName,
    /// For how many days the certificate holds; short lives need fewer revocations
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=3650))]
    days: u64,
    #[command(flatten)]
    team: TeamArgs,
    #[command(flatten)]
    tunnel: enrol::TunnelArgs,
    #[command(flatten)]
    ike: ikev2::IkeArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// List the team's certificates
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member list --dir family --json")]
struct List {
    /// The team's directory
    #[arg(long, default_value = "team")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Revoke a key: what it signs from now on does not count
///
/// Writes the team's revocation list anew. Give it to the team's home (`revocations` in home.toml), which passes it on.
/// If the member has a tunnel, its file in gateway/ says so too; `guestright home reload` cuts it off.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member revoke alice --dir family")]
struct Revoke {
    /// The name under which it was added
    #[arg(value_parser = name::normal)]
    name: String,
    #[command(flatten)]
    team: TeamArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Write the team's key to a file, encrypted with a passphrase
///
/// --passphrase-file gives both the passphrase of the backup and, if the team's key is encrypted, that of the key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team backup family-backup.key --dir family")]
struct Backup {
    /// The file to make
    file: PathBuf,
    #[command(flatten)]
    team: TeamArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Make a team's directory from a backup of its key
///
/// The key in the new directory is not encrypted, unless you say --encrypt.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team restore family-backup.key --dir family")]
struct Restore {
    /// The backup
    file: PathBuf,
    /// The directory to make
    #[arg(long, default_value = "team")]
    dir: PathBuf,
    /// Encrypt the key in the new directory with a passphrase
    #[arg(long)]
    encrypt: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A team's directory, with its key in it.
#[derive(Debug, clap::Args)]
struct TeamArgs {
    /// The team's directory
    #[arg(long, default_value = "team")]
    dir: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl TeamArgs {
    fn key(&self) -> Result<SecretKey, Failure> {
        self.passphrase.read_secret(&team_key(&self.dir)).map_err(no_team)
    }
}

fn live_suite(text: &str) -> Result<Suite, String> {
    let suite: Suite = text.parse()?;
    if suite.is_legacy() { Err(format!("{suite} is for measurements, not for a team")) } else { Ok(suite) }
}

impl Team {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        match self.command {
            TeamCommand::Init(command) => command.run(out),
            TeamCommand::Member(Member { command: MemberCommand::Add(command) }) => command.run(out),
            TeamCommand::Member(Member { command: MemberCommand::List(command) }) => command.run(out),
            TeamCommand::Member(Member { command: MemberCommand::Record(command) }) => command.run(out),
            TeamCommand::Member(Member { command: MemberCommand::Show(command) }) => command.run(out),
            TeamCommand::Member(Member { command: MemberCommand::Revoke(command) }) => command.run(out),
            TeamCommand::Gateway(command) => command.run(out),
            TeamCommand::Invite(command) => command.run(out),
            TeamCommand::Backup(command) => command.run(out),
            TeamCommand::Restore(command) => command.run(out),
        }
    }
}

impl Init {
    fn run(self, out: &mut Output) -> Outcome {
        files::state_directory(&self.dir)?;
        let mut rng = guestright_clock::rng();
        let key = SecretKey::generate(self.suite, &mut rng);
        let encrypt = self.encrypt || self.passphrase.is_given();
        let passphrase = encrypt.then(|| self.passphrase.new_passphrase()).transpose()?;
        let path = team_key(&self.dir);
        guestright_keys::write_secret(&path, &key, passphrase.as_deref(), &mut rng).map_err(|error| {
            Failure::config(error).hint("one directory holds one team; give another with --dir")
        })?;
        let team = key.public().team_id();
        if self.json {
            writeln!(
                out,
                "{}",
                json!({ "team": team.to_string(), "suite": self.suite.name(), "key": path })
            )?;
        } else {
            writeln!(out, "made team {team}")?;
            writeln!(out, "its key is {}: keep a backup of it, and give it to nobody", path.display())?;
        }
        Ok(())
    }
}

impl Add {
    fn run(mut self, out: &mut Output) -> Outcome {
        self.name = name::check(&self.name)?;
        let team = self.team.key()?;
        let reservation = self.tunnel.reserve(&self.team.dir, &self.name, self.role.role())?;
        let ike = self.ike.find_gateway(&self.team.dir, &self.name, self.role.role())?;
        let mut rng = guestright_clock::rng();
        let key = SecretKey::generate(team.public().suite(), &mut rng);
        let now = Clock::start().now().unix_seconds();
        // Other clocks may be a little behind ours.
        let (from, to) = (now.minus(600), now.plus(self.days * 86_400));
        let role = self.role.role();
        let certificate = Certificate::issue(&team, key.public(), role, from, to);
        let (key_path, certificate_path) = member_files(&self.team.dir, &self.name);
        guestright_keys::write_secret(&key_path, &key, None, &mut rng)
            .map_err(|error| Failure::config(error).hint("every name is given once; choose another"))?;
        guestright_keys::write_certificate(&certificate_path, &certificate).map_err(Failure::config)?;
        let member = enrol::NewMember {
            dir: &self.team.dir,
            name: &self.name,
            team: &team,
            key: &key,
            certificate: &certificate,
        };
        let tunnel = reservation.map(|reserved| self.tunnel.enrol(reserved, member)).transpose()?;
        let ike = ike.map(|gateway| gateway.enrol(&self.name, certificate.subject_id())).transpose()?;
        let id = certificate.subject_id().to_string();
        if self.json {
            let role = role.to_string();
            let mut answer = json!({ "name": self.name, "role": role, "id": id, "not_after": to.to_string(),
                "key": key_path, "certificate": certificate_path });
            if let Some(tunnel) = &tunnel {
                answer["tunnel"] = tunnel.json();
            }
            if let Some(ike) = &ike {
                answer["ikev2"] = ike.json();
            }
            writeln!(out, "{answer}")?;
        } else {
            let (key, certificate) = (key_path.display(), certificate_path.display());
            writeln!(out, "added {} as {role}, until {to}", self.name)?;
            writeln!(out, "give it {key} and {certificate}; keep {key} secret from everybody else")?;
            tunnel.iter().try_for_each(|tunnel| tunnel.print(out))?;
            ike.iter().try_for_each(|ike| ike.print(out))?;
        }
        tunnel.map_or(Ok(()), |tunnel| tunnel.draw(self.tunnel.images()))
    }
}

impl List {
    fn run(self, out: &mut Output) -> Outcome {
        let revoked = revocations(&self.dir)?;
        let now = Clock::start().now().unix_seconds();
        let addresses = enrol::addresses(&self.dir)?;
        let mut rows = Vec::new();
        for (name, certificate) in certificates(&self.dir)? {
            let list = revoked.as_ref().map_or(Ok(()), |list| list.check(certificate.subject_id(), now));
            let holds = certificate.check(certificate.role(), now).and(list);
            rows.push((name, certificate, holds));
        }
        if self.json {
            let row = |(name, certificate, holds): &(String, Certificate, Result<(), IdentityError>)| {
                json!({ "name": name, "team": certificate.team_id().to_string(), "role": certificate.role().to_string(),
                    "id": certificate.subject_id().to_string(),
                    "not_after": certificate.not_after().to_string(), "address": addresses.get(name),
                    "valid": holds.is_ok(), "reason": holds.as_ref().err().map(ToString::to_string) })
            };
            writeln!(out, "{}", serde_json::Value::Array(rows.iter().map(row).collect()))?;
            return Ok(());
        }
        if let Some((_, certificate, _)) = rows.first() {
            writeln!(out, "team {}\n", certificate.team_id())?;
        }
        writeln!(out, "{:<20} {:<13} {:<10} {:<21} {:<15} state", "name", "role", "id", "until", "address")?;
        for (name, certificate, holds) in rows {
            let state = holds.map_or_else(|error| error.to_string(), |()| "holds".to_owned());
            let id = certificate.subject_id().to_string();
            let (role, until) = (certificate.role().to_string(), certificate.not_after().to_string());
            let address = addresses.get(&name).map_or_else(|| "-".to_owned(), ToString::to_string);
            writeln!(out, "{name:<20} {role:<13} {:<10} {until:<21} {address:<15} {state}", &id[..8])?;
        }
        Ok(())
    }
}

impl Revoke {
    fn run(self, out: &mut Output) -> Outcome {
        let (_, path) = member_files(&self.team.dir, &self.name);
        let certificate = guestright_keys::read_certificate(&path).map_err(Failure::config)?;
        let team = self.team.key()?;
        let now = Clock::start().now().unix_seconds();
        let old = revocations(&self.team.dir)?;
        let mut revoked: BTreeMap<_, UnixSeconds> =
            old.as_ref().map(|list| list.revoked().clone()).unwrap_or_default();
        revoked.entry(certificate.subject_id()).or_insert(now);
        let sequence = old.map_or(1, |list| list.sequence() + 1);
        let list = RevocationList::issue(&team, sequence, now, revoked).map_err(Failure::user)?;
        let path = self.team.dir.join("revocations");
        guestright_keys::write_revocations(&path, &list).map_err(Failure::config)?;
        let by_ike = ikev2::revoke(&self.team.dir, &self.name, &now.to_string())?;
        let has_tunnel = enrol::revoke(&self.team.dir, &self.name, &now.to_string())? || by_ike;
        if self.json {
            let id = certificate.subject_id().to_string();
            let answer = json!({ "name": self.name, "id": id, "since": now.to_string(), "list": path,
                "sequence": sequence, "tunnel": has_tunnel });
            return Ok(writeln!(out, "{answer}")?);
        }
        writeln!(out, "revoked {}: what it signs from {now} on does not count", self.name)?;
        writeln!(
            out,
            "the list is {}; give it to the team's home and say `guestright home reload`",
            path.display()
        )?;
        if has_tunnel {
            writeln!(
                out,
                "its tunnel is shut after `guestright home reload`, where the home has this gateway/"
            )?;
        }
        Ok(())
    }
}

impl Backup {
    fn run(self, out: &mut Output) -> Outcome {
        let team = self.team.key()?;
        let passphrase = self.team.passphrase.new_passphrase()?;
        let mut rng = guestright_clock::rng();
        guestright_keys::write_secret(&self.file, &team, Some(&passphrase), &mut rng)
            .map_err(Failure::config)?;
        if self.json {
            writeln!(out, "{}", json!({ "file": self.file, "team": team.public().team_id().to_string() }))?;
        } else {
            writeln!(out, "wrote {}: with its passphrase it is the whole team", self.file.display())?;
        }
        Ok(())
    }
}

impl Restore {
    fn run(self, out: &mut Output) -> Outcome {
        let team = self.passphrase.read_secret(&self.file)?;
        files::state_directory(&self.dir)?;
        let mut rng = guestright_clock::rng();
        let passphrase = self.encrypt.then(|| self.passphrase.new_passphrase()).transpose()?;
        guestright_keys::write_secret(&team_key(&self.dir), &team, passphrase.as_deref(), &mut rng)
            .map_err(Failure::config)?;
        let id = team.public().team_id();
        if self.json {
            writeln!(out, "{}", json!({ "team": id.to_string(), "directory": self.dir }))?;
        } else {
            writeln!(out, "restored team {id} in {}", self.dir.display())?;
        }
        Ok(())
    }
}

impl RoleName {
    fn role(self) -> Role {
        match self {
            Self::Member => Role::Member,
            Self::AccessPoint => Role::AccessPoint,
            Self::Home => Role::Home,
        }
    }
}

fn team_key(dir: &Path) -> PathBuf {
    dir.join("team.key")
}

/// The team's gateway, if it has one.
fn gateway(dir: &Path) -> Result<Option<GatewayFiles>, Failure> {
    let directory = dir.join(gateway_files::DIRECTORY);
    Ok(directory.exists().then(|| GatewayFiles::open(&directory)).transpose()?)
}

fn member_files(dir: &Path, name: &str) -> (PathBuf, PathBuf) {
    (dir.join(format!("{name}.key")), dir.join(format!("{name}.cert")))
}

fn revocations(dir: &Path) -> Result<Option<RevocationList>, Failure> {
    let path = dir.join("revocations");
    if !path.exists() {
        return Ok(None);
    }
    guestright_keys::read_revocations(&path).map(Some).map_err(Failure::config)
}

fn certificates(dir: &Path) -> Result<Vec<(String, Certificate)>, Failure> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("read {}", dir.display()));
    let mut found = Vec::new();
    for entry in
        entries.map_err(|error| Failure::config(error).hint("make a team with `guestright team init`"))?
    {
        let path = entry.map_err(Failure::config)?.path();
        if path.extension().is_some_and(|extension| extension == "cert") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, guestright_keys::read_certificate(&path).map_err(Failure::config)?));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

fn no_team(failure: Failure) -> Failure {
    failure.hint("is this a team's directory? --dir names it, and `guestright team init` makes one")
}

/// Whether a new member may have this name.
pub(super) fn is_name(name: &str) -> bool {
    name::check(name).is_ok()
}
