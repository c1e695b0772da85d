mod enrol;
mod gateway;
mod ikev2;
mod invite;
mod life;
mod phone;
mod record;
mod renew;
mod renewal;
mod whole;

#[cfg(feature = "page")]
pub(crate) use phone::read_home;

use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::PassphraseArgs;
use guestright_cli::output::Output;
use guestright_error::RunError;
use guestright_identity::{Role, SecretKey, Suite};
use guestright_team::directory::team_key;
use guestright_team::member::{self, Added, Listed, Revocation};
use guestright_team::way_home::{Tunnel, has_tunnel};
use guestright_team::{backup, name, own_key};
use serde_json::json;
use std::path::PathBuf;

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
  guestright team member add bob --qr --dir family
  guestright team member add carol --phone --page --dir family
  guestright team renewal init --dir family
  guestright team backup family.backup --all --dir family --home home.toml")]
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
    Renewal(renewal::Renewal),
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

/// Add, list, renew, replace or remove members, access points and homes
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
    Renew(renew::Renew),
    Replace(renew::Replace),
    Revoke(Revoke),
    Remove(renew::Remove),
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
/// the home. Give gateway/ to the home again and say `guestright home reload`. Somebody who was added before keeps key and
/// certificate, and gets the way home.
///
/// With --phone it gets what a stock phone imports, with no app: a certificate by which the team's home recognises it on
/// participating Wi-Fi, and the tunnel home. The home has to run on this computer. Say it again for a certificate that ends: the
/// new file takes the place of the old one on the phone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member add alice --dir family --days 90
  guestright team member add bob --dir family --qr --qr-png bob.png --bytes-per-day 500000000
  guestright team member add carol --dir family --phone --page --home home.toml")]
struct Add {
    /// A name for the files: letters of one script, digits and dashes
    name: String,
    /// What the key is for
    #[arg(long, value_enum, default_value = "member")]
    role: RoleName,
    #[command(flatten)]
    life: life::LifeArgs,
    #[command(flatten)]
    team: TeamArgs,
    #[command(flatten)]
    tunnel: enrol::TunnelArgs,
    #[command(flatten)]
    ike: ikev2::IkeArgs,
    #[command(flatten)]
    phone: phone::PhoneArgs,
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
/// If the member has a tunnel, its file in gateway/ says so too; `guestright home reload` cuts it off. Its phone is let in no more:
/// at once if the home runs here, else when the home has the list.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member revoke alice --dir family")]
struct Revoke {
    #[command(flatten)]
    one: OneArgs,
}

/// A key of the team, by its name.
#[derive(Debug, clap::Args)]
struct OneArgs {
    /// The name under which it was added
    #[arg(value_parser = name::normal)]
    name: String,
    #[command(flatten)]
    team: TeamArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Write the team's key, or with --all everything, to a file, encrypted with a passphrase
///
/// --all takes the team's directory: key, certificates, lists, gateway, renewing key. --home takes the home besides: its settings
/// with all files that they name, its accounts and receipts, also while it runs. --ap takes an access point's settings, key and
/// certificate. --passphrase-file gives both the passphrase of the backup and, if the team's key is encrypted, that of the key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team backup family-backup.key --dir family
  guestright team backup household.backup --all --dir family --home home.toml --ap ap.toml")]
struct Backup {
    /// The file to make
    file: PathBuf,
    /// Everything, and not the team's key alone
    #[arg(long)]
    all: bool,
    /// The home's settings file: take the home too
    #[arg(long, value_name = "FILE", requires = "all")]
    home: Option<PathBuf>,
    /// The access point's settings file: take its key and certificate too
    #[arg(long, value_name = "FILE", requires = "all")]
    ap: Option<PathBuf>,
    /// Do not encrypt it: whoever reads the file has the team
    #[arg(long, requires = "all")]
    plain: bool,
    #[command(flatten)]
    team: TeamArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Make a team's directory from a backup of its key, or put everything back from a backup of everything
///
/// A backup of a key makes a directory with the key alone, encrypted with the backup's passphrase unless you say --plain. A backup
/// of everything puts each file back where it was, or below --dir, --home and --ap. Nothing that is there is overwritten unless you
/// say --replace.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team restore family-backup.key --dir family
  guestright team restore household.backup
  guestright team restore household.backup --dir family --home home.toml")]
struct Restore {
    /// The backup
    file: PathBuf,
    /// The directory to make; otherwise `team`, or where it was
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Where the home's settings file goes, with what was beside it; otherwise where it was
    #[arg(long, value_name = "FILE")]
    home: Option<PathBuf>,
    /// Where the access point's settings file goes, with what was beside it; otherwise where it was
    #[arg(long, value_name = "FILE")]
    ap: Option<PathBuf>,
    /// Overwrite what is there
    #[arg(long)]
    replace: bool,
    /// Do not encrypt the key in the new directory: whoever reads the file has the team
    #[arg(long)]
    plain: bool,
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

    /// The same for the library, which wants it when something is to be signed.
    fn signing_key(&self) -> Result<SecretKey, RunError> {
        Ok(self.key()?)
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
            TeamCommand::Member(Member { command: MemberCommand::Renew(command) }) => command.run(out),
            TeamCommand::Member(Member { command: MemberCommand::Replace(command) }) => command.run(out),
            TeamCommand::Member(Member { command: MemberCommand::Remove(command) }) => command.run(out),
            TeamCommand::Renewal(command) => command.run(out),
            TeamCommand::Gateway(command) => command.run(out),
            TeamCommand::Invite(command) => command.run(out),
            TeamCommand::Backup(command) => command.run(out),
            TeamCommand::Restore(command) => command.run(out),
        }
    }
}

impl Init {
    fn run(self, out: &mut Output) -> Outcome {
        let encrypt = self.encrypt || self.passphrase.is_given();
        let passphrase = encrypt.then(|| self.passphrase.new_passphrase()).transpose()?;
        let own_key::Made { key, path } = own_key::make(&self.dir, self.suite, passphrase.as_deref())?;
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
        if self.phone.is_wanted() {
            return self.add_phone(out);
        }
        if self.tunnel.is_wanted() && member::is_added(&self.team.dir, &self.name) {
            return self.add_tunnel(out);
        }
        let team = self.team.key()?;
        self.tunnel.check_images()?;
        let added = member::add(&self.team.dir, &team, &self.wish())?;
        print_added(&added, &self.name, self.json, out)?;
        added.tunnel.map_or(Ok(()), |tunnel| self.tunnel.images().draw(&tunnel))
    }

    fn wish(&self) -> member::Wish {
        member::Wish {
            name: self.name.clone(),
            role: self.role.role(),
            life: self.life.seconds(),
            tunnel: self.tunnel.is_wanted().then(|| self.tunnel.wish()),
            ikev2: self.ike.is_wanted(),
        }
    }

    /// Somebody who was added before gets a way home, or is shown the one that there is.
    fn add_tunnel(self, out: &mut Output) -> Outcome {
        let (dir, name) = (&self.team.dir, &self.name);
        let certificate = member::roaming_certificate(dir, name, "--qr")?;
        if has_tunnel(dir, name)? {
            return enrol::show(name, dir, self.tunnel.images(), self.json, out);
        }
        self.tunnel.check_images()?;
        let key = || self.team.signing_key();
        let tunnel = member::give_tunnel(dir, &key, name, &certificate, &self.tunnel.wish())?;
        if self.json {
            let id = certificate.subject_id().to_string();
            let answer = json!({ "name": name, "role": certificate.role().to_string(), "id": id,
                "not_after": certificate.not_after().to_string(), "tunnel": enrol::json(&tunnel) });
            writeln!(out, "{answer}")?;
        } else {
            writeln!(out, "{name} keeps its key and its certificate, and has a way home now")?;
            enrol::print(&tunnel, out)?;
        }
        self.tunnel.images().draw(&tunnel)
    }
}

/// Says what somebody has been given.
fn print_added(added: &Added, name: &str, json: bool, out: &mut Output) -> Outcome {
    let Added { key_path, certificate_path, certificate, tunnel, ike } = added;
    let (role, to) = (certificate.role().to_string(), certificate.not_after());
    if json {
        let id = certificate.subject_id().to_string();
        let mut answer = json!({ "name": name, "role": role, "id": id, "not_after": to.to_string(),
            "key": key_path, "certificate": certificate_path });
        if let Some(tunnel) = tunnel {
            answer["tunnel"] = enrol::json(tunnel);
        }
        if let Some(ike) = ike {
            answer["ikev2"] = ikev2::json(ike);
        }
        return Ok(writeln!(out, "{answer}")?);
    }
    let (key, certificate) = (key_path.display(), certificate_path.display());
    writeln!(out, "added {name} as {role}, until {to}")?;
    writeln!(out, "give it {key} and {certificate}; keep {key} secret from everybody else")?;
    tunnel.iter().try_for_each(|tunnel: &Tunnel| enrol::print(tunnel, out))?;
    ike.iter().try_for_each(|ike| ikev2::print(ike, out))
}

impl List {
    fn run(self, out: &mut Output) -> Outcome {
        let rows = member::list(&self.dir)?;
        if self.json {
            let row = |listed: &Listed| {
                let Listed { name, certificate, holds, address, phone } = listed;
                let phone = phone.as_ref().map(|phone| {
                    json!({ "label": phone.label, "serial": phone.serial, "not_after": phone.not_after,
                        "revoked": phone.revoked })
                });
                json!({ "name": name, "team": certificate.team_id().to_string(), "role": certificate.role().to_string(),
                    "id": certificate.subject_id().to_string(),
                    "not_after": certificate.not_after().to_string(), "address": address,
                    "valid": holds.is_ok(), "reason": holds.as_ref().err().map(ToString::to_string),
                    "phone": phone })
            };
            writeln!(out, "{}", serde_json::Value::Array(rows.iter().map(row).collect()))?;
            return Ok(());
        }
        if let Some(Listed { certificate, .. }) = rows.first() {
            writeln!(out, "team {}\n", certificate.team_id())?;
        }
        writeln!(out, "{:<20} {:<13} {:<10} {:<21} {:<15} state", "name", "role", "id", "until", "address")?;
        for row in rows {
            let state = row.state();
            let Listed { name, certificate, address, .. } = row;
            let id = certificate.subject_id().to_string();
            let (role, until) = (certificate.role().to_string(), certificate.not_after().to_string());
            let address = address.map_or_else(|| "-".to_owned(), |address| address.to_string());
            writeln!(out, "{name:<20} {role:<13} {:<10} {until:<21} {address:<15} {state}", &id[..8])?;
        }
        Ok(())
    }
}

impl Revoke {
    fn run(self, out: &mut Output) -> Outcome {
        let OneArgs { name, team, json } = self.one;
        let key = || team.signing_key();
        let revoked = member::revoke(&team.dir, &key, &name, phone::read_home)?;
        let Revocation { id, since, list, sequence, had_tunnel, phone } = revoked;
        if json {
            let answer = json!({ "name": name, "id": id.to_string(), "since": since.to_string(), "list": list,
                "sequence": sequence, "tunnel": had_tunnel, "phone": phone::revoked_json(phone) });
            return Ok(writeln!(out, "{answer}")?);
        }
        writeln!(out, "revoked {name}: what it signs from {since} on does not count")?;
        writeln!(
            out,
            "the list is {}; give it to the team's home and say `guestright home reload`",
            list.display()
        )?;
        if phone.is_shut() {
            writeln!(out, "its tunnel is shut")?;
        } else if had_tunnel {
            writeln!(
                out,
                "its tunnel is shut after `guestright home reload`, where the home has this gateway/"
            )?;
        }
        phone::print_revoked(phone, &name, out)
    }
}

impl Backup {
    fn run(self, out: &mut Output) -> Outcome {
        if self.all {
            return self.all(out);
        }
        let team = self.team.key()?;
        own_key::back_up(&self.file, &team, &self.team.passphrase.new_passphrase()?)?;
        if self.json {
            writeln!(out, "{}", json!({ "file": self.file, "team": team.public().team_id().to_string() }))?;
        } else {
            writeln!(out, "wrote {}: with its passphrase it is the whole team", self.file.display())?;
        }
        Ok(())
    }

    fn all(self, out: &mut Output) -> Outcome {
        let Self { team: TeamArgs { dir, passphrase }, .. } = &self;
        if !team_key(dir).exists() {
            return Err(no_team(Failure::config(anyhow!("{} is not there", team_key(dir).display()))));
        }
        let passphrase = (!self.plain).then(|| passphrase.new_passphrase()).transpose()?;
        let wanted = whole::Wanted { team: dir, home: self.home.as_deref(), ap: self.ap.as_deref() };
        whole::back_up(&self.file, &wanted, passphrase.as_deref(), self.json, out)
    }
}

impl Restore {
    fn run(self, out: &mut Output) -> Outcome {
        if backup::is_whole(&self.file)? {
            let destinations = backup::Destinations { team: self.dir, home: self.home, ap: self.ap };
            return whole::restore(&self.file, &destinations, &self.passphrase, self.replace, self.json, out);
        }
        let dir = self.dir.unwrap_or_else(|| PathBuf::from("team"));
        let ask = self.passphrase.asker(&self.file)?;
        let own_key::Restored { team, is_encrypted } = own_key::restore(&self.file, &dir, ask, self.plain)?;
        if self.json {
            let answer = json!({ "team": team.to_string(), "directory": dir, "encrypted": is_encrypted });
            return Ok(writeln!(out, "{answer}")?);
        }
        writeln!(out, "restored team {team} in {}", dir.display())?;
        if is_encrypted {
            writeln!(out, "its key has the passphrase of the backup")?;
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

fn no_team(failure: Failure) -> Failure {
    failure.hint("is this a team's directory? --dir names it, and `guestright team init` makes one")
}
