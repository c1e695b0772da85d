mod enrol;
mod gateway;
mod ikev2;
mod invite;
mod life;
mod phone;
mod record;
mod renew;
pub(crate) mod renewal;
mod whole;

use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::{self, PassphraseArgs};
use guestright_cli::output::Output;
use guestright_clock::Clock;
use guestright_identity::{Certificate, IdentityError, KeyId, Role, SecretKey, Suite};
use guestright_team::directory::{Revoked, certificates, gateway, member_files, revocations, team_key};
use guestright_team::{backup, directory, ike_access, name, way_home};
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

    /// Puts keys on the team's revocation list, from now on.
    fn revoke_keys(&self, keys: impl IntoIterator<Item = KeyId>) -> Result<Revoked, Failure> {
        Ok(directory::revoke_keys(&self.dir, &self.key()?, keys)?)
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

/// A new member.
struct Made {
    key_path: PathBuf,
    certificate_path: PathBuf,
    certificate: Certificate,
    tunnel: Option<enrol::Tunnel>,
    ike: Option<ikev2::Access>,
}

impl Add {
    fn run(mut self, out: &mut Output) -> Outcome {
        self.name = name::check(&self.name)?;
        if self.phone.is_wanted() {
            return self.add_phone(out);
        }
        if self.tunnel.is_wanted() && member_files(&self.team.dir, &self.name).1.exists() {
            return self.add_tunnel(out);
        }
        let made = self.make()?;
        let (role, id) = (self.role.role(), made.certificate.subject_id().to_string());
        let to = made.certificate.not_after();
        if self.json {
            let role = role.to_string();
            let mut answer = json!({ "name": self.name, "role": role, "id": id, "not_after": to.to_string(),
                "key": made.key_path, "certificate": made.certificate_path });
            if let Some(tunnel) = &made.tunnel {
                answer["tunnel"] = tunnel.json();
            }
            if let Some(ike) = &made.ike {
                answer["ikev2"] = ike.json();
            }
            writeln!(out, "{answer}")?;
        } else {
            let (key, certificate) = (made.key_path.display(), made.certificate_path.display());
            writeln!(out, "added {} as {role}, until {to}", self.name)?;
            writeln!(out, "give it {key} and {certificate}; keep {key} secret from everybody else")?;
            made.tunnel.iter().try_for_each(|tunnel| tunnel.print(out))?;
            made.ike.iter().try_for_each(|ike| ike.print(out))?;
        }
        made.tunnel.map_or(Ok(()), |tunnel| tunnel.draw(self.tunnel.images()))
    }

    /// Makes key, certificate, and the ways home that were asked for.
    fn make(&self) -> Result<Made, Failure> {
        let team = self.team.key()?;
        let role = self.role.role();
        let reservation = self.tunnel.reserve(&self.team.dir, &self.name, role)?;
        let ike = self.ike.find_gateway(&self.team.dir, &self.name, role)?;
        let mut rng = guestright_clock::rng();
        let key = SecretKey::generate(team.public().suite(), &mut rng);
        let now = Clock::start().now().unix_seconds();
        let (from, to) = self.life.starting(now);
        let certificate = Certificate::issue(&team, key.public(), role, from, to);
        let (key_path, certificate_path) = member_files(&self.team.dir, &self.name);
        guestright_keys::write_secret(&key_path, &key, None, &mut rng)
            .map_err(|error| {
                let name = &self.name;
                Failure::config(error).hint(format!(
                    "somebody has this name: choose another, or `guestright team member renew {name}`, `replace {name}`, \
                     `remove {name}`; --qr gives {name} a way home"
                ))
            })?;
        guestright_keys::write_certificate(&certificate_path, &certificate).map_err(Failure::config)?;
        let member = way_home::NewMember {
            dir: &self.team.dir,
            name: &self.name,
            team: &team,
            key: &key,
            certificate: &certificate,
        };
        let tunnel = reservation.map(|reserved| self.tunnel.enrol(reserved, member)).transpose()?;
        let ike = ike
            .map(|gateway| ikev2::Access::give(gateway, &self.name, certificate.subject_id()))
            .transpose()?;
        Ok(Made { key_path, certificate_path, certificate, tunnel, ike })
    }

    /// Somebody who was added before gets a way home, or is shown the one that there is.
    fn add_tunnel(self, out: &mut Output) -> Outcome {
        let (dir, name) = (&self.team.dir, &self.name);
        let certificate = renew::certificate_of(dir, name)?;
        if certificate.role() != Role::Member {
            let role = certificate.role();
            return Err(
                Failure::user(anyhow!("only a member roams; {name} is a {role}")).hint("leave out --qr")
            );
        }
        renew::check_not_revoked(dir, name, certificate.subject_id())?;
        if way_home::has_tunnel(dir, name)? {
            let show = enrol::Show::of(name, dir, self.tunnel.into_images(), self.json);
            return show.run(out);
        }
        let tunnel = self.give_tunnel(&certificate)?;
        if self.json {
            let id = certificate.subject_id().to_string();
            let mut answer = json!({ "name": name, "role": certificate.role().to_string(), "id": id,
                "not_after": certificate.not_after().to_string() });
            if let Some(tunnel) = &tunnel {
                answer["tunnel"] = tunnel.json();
            }
            writeln!(out, "{answer}")?;
        } else {
            writeln!(out, "{name} keeps its key and its certificate, and has a way home now")?;
            tunnel.iter().try_for_each(|tunnel| tunnel.print(out))?;
        }
        tunnel.map_or(Ok(()), |tunnel| tunnel.draw(self.tunnel.images()))
    }

    /// Makes a tunnel for somebody who was added before.
    fn give_tunnel(&self, certificate: &Certificate) -> Result<Option<enrol::Tunnel>, Failure> {
        let (dir, name) = (&self.team.dir, &self.name);
        let reservation = self.tunnel.reserve(dir, name, certificate.role())?;
        let (key_path, _) = member_files(dir, name);
        let key = guestright_keys::read_secret(&key_path, || None).map_err(|error| {
            Failure::config(error).hint(format!(
                "put {name}'s key back for this: its word to its home is signed with it; or give it a new one: guestright \
                 team member replace {name}"
            ))
        })?;
        let team = self.team.key()?;
        let member = way_home::NewMember { dir, name, team: &team, key: &key, certificate };
        reservation.map(|reserved| self.tunnel.enrol(reserved, member)).transpose()
    }
}

/// One line of the list: name, certificate, whether it holds, and the phone if there is one.
type Row = (String, Certificate, Result<(), IdentityError>, Option<phone::Record>);

impl List {
    fn run(self, out: &mut Output) -> Outcome {
        let revoked = revocations(&self.dir)?;
        let now = Clock::start().now().unix_seconds();
        let addresses = way_home::addresses(&self.dir)?;
        let mut rows = Vec::new();
        for (name, certificate) in certificates(&self.dir)? {
            let list = revoked.as_ref().map_or(Ok(()), |list| list.check_certificate(&certificate, now));
            let holds = certificate.check(certificate.role(), now).and(list);
            let phone = phone::record(&self.dir, &name)?;
            rows.push((name, certificate, holds, phone));
        }
        if self.json {
            let row = |(name, certificate, holds, phone): &Row| {
                let phone = phone.as_ref().map(|phone| {
                    json!({ "label": phone.label, "serial": phone.serial, "not_after": phone.not_after,
                        "revoked": phone.revoked })
                });
                json!({ "name": name, "team": certificate.team_id().to_string(), "role": certificate.role().to_string(),
                    "id": certificate.subject_id().to_string(),
                    "not_after": certificate.not_after().to_string(), "address": addresses.get(name),
                    "valid": holds.is_ok(), "reason": holds.as_ref().err().map(ToString::to_string),
                    "phone": phone })
            };
            writeln!(out, "{}", serde_json::Value::Array(rows.iter().map(row).collect()))?;
            return Ok(());
        }
        if let Some((_, certificate, ..)) = rows.first() {
            writeln!(out, "team {}\n", certificate.team_id())?;
        }
        writeln!(out, "{:<20} {:<13} {:<10} {:<21} {:<15} state", "name", "role", "id", "until", "address")?;
        for (name, certificate, holds, phone) in rows {
            let mut state = holds.map_or_else(|error| error.to_string(), |()| "holds".to_owned());
            match phone {
                Some(phone::Record { revoked: Some(since), .. }) => {
                    state.push_str(&format!(", phone revoked at {since}"));
                }
                Some(phone) => state.push_str(&format!(", phone until {}", phone.not_after)),
                None => {}
            }
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
        let OneArgs { name, team, json } = self.one;
        let (_, path) = member_files(&team.dir, &name);
        let certificate = guestright_keys::read_certificate(&path).map_err(Failure::config)?;
        let Revoked { since, sequence } = team.revoke_keys([certificate.subject_id()])?;
        let path = team.dir.join("revocations");
        let by_ike = ike_access::revoke(&team.dir, &name, &since.to_string())?;
        let has_tunnel = way_home::revoke(&team.dir, &name, &since.to_string())? || by_ike;
        let phone = phone::revoke(&team.dir, &name, &since.to_string())?;
        if json {
            let id = certificate.subject_id().to_string();
            let answer = json!({ "name": name, "id": id, "since": since.to_string(), "list": path,
                "sequence": sequence, "tunnel": has_tunnel, "phone": phone.json() });
            return Ok(writeln!(out, "{answer}")?);
        }
        writeln!(out, "revoked {name}: what it signs from {since} on does not count")?;
        writeln!(
            out,
            "the list is {}; give it to the team's home and say `guestright home reload`",
            path.display()
        )?;
        if phone.is_shut() {
            writeln!(out, "its tunnel is shut")?;
        } else if has_tunnel {
            writeln!(
                out,
                "its tunnel is shut after `guestright home reload`, where the home has this gateway/"
            )?;
        }
        phone.print(&name, out)
    }
}

impl Backup {
    fn run(self, out: &mut Output) -> Outcome {
        if self.all {
            let Self { team: TeamArgs { dir, passphrase }, .. } = &self;
            if !team_key(dir).exists() {
                return Err(no_team(Failure::config(anyhow!("{} is not there", team_key(dir).display()))));
            }
            let passphrase = (!self.plain).then(|| passphrase.new_passphrase()).transpose()?;
            let wanted = whole::Wanted { team: dir, home: self.home.as_deref(), ap: self.ap.as_deref() };
            return whole::back_up(&self.file, &wanted, passphrase.as_deref(), self.json, out);
        }
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
        if backup::is_whole(&self.file)? {
            let destinations = backup::Destinations { team: self.dir, home: self.home, ap: self.ap };
            return whole::restore(&self.file, &destinations, &self.passphrase, self.replace, self.json, out);
        }
        let dir = self.dir.unwrap_or_else(|| PathBuf::from("team"));
        let ask = self.passphrase.asker(&self.file)?;
        let mut passphrase = None;
        let given = || {
            passphrase = ask();
            passphrase.clone()
        };
        let team = guestright_keys::read_secret(&self.file, given).map_err(Failure::config)?;
        files::state_directory(&dir)?;
        let mut rng = guestright_clock::rng();
        let passphrase = passphrase.filter(|_| !self.plain);
        guestright_keys::write_secret(
            &team_key(&dir),
            &team,
            passphrase.as_deref().map(String::as_str),
            &mut rng,
        )
        .map_err(Failure::config)?;
        let id = team.public().team_id();
        if self.json {
            let encrypted = passphrase.is_some();
            writeln!(out, "{}", json!({ "team": id.to_string(), "directory": dir, "encrypted": encrypted }))?;
        } else {
            writeln!(out, "restored team {id} in {}", dir.display())?;
            if passphrase.is_some() {
                writeln!(out, "its key has the passphrase of the backup")?;
            }
        }
        Ok(())
    }
}

impl From<Role> for RoleName {
    fn from(role: Role) -> Self {
        match role {
            Role::Member => Self::Member,
            Role::AccessPoint => Self::AccessPoint,
            Role::Home => Self::Home,
        }
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

/// Whether a new member may have this name.
pub(super) fn is_name(name: &str) -> bool {
    name::check(name).is_ok()
}
