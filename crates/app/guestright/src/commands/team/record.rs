//! Members' words on where their home is, for others who call them (design note 0004, section 4).
//!
//! The founder makes members' keys, so the founder's computer can sign for them, as long as the keys are still there.

use crate::gateway_files::{self, GatewayFiles};
use anyhow::{Context, anyhow};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_clock::Clock;
use guestright_directory::{Address, Statement};
use guestright_identity::{Certificate, Role, SecretKey};
use guestright_units::UnixSeconds;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Sign anew where members' home is, so that others can call them
///
/// `member add --qr` signs for a new member if the team has a certificate of a home by then. This signs for all members
/// with a tunnel whose keys are still in the team's directory: after the home moved, got another certificate, or when
/// the old word is about to end.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member record --dir family
  guestright team member record alice --address home.example.org --dir family")]
pub(super) struct Record {
    /// Members; otherwise all
    names: Vec<String>,
    /// Where other homes find this one; otherwise the gateway's host and port 7275. May be given again
    #[arg(long, value_name = "HOST[:PORT]")]
    address: Vec<Address>,
    /// The team's directory
    #[arg(long, default_value = "team")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Record {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        let files = GatewayFiles::open(&self.dir.join(gateway_files::DIRECTORY))?;
        let Some(home) = home(&self.dir)? else {
            let dir = self.dir.display();
            return Err(Failure::config(anyhow!("{dir} has no certificate of a home that holds"))
                .hint(format!("guestright team member add home --role home --dir {dir}")));
        };
        let mut signed = Vec::new();
        for (name, certificate) in super::certificates(&self.dir)? {
            let (key, _) = super::member_files(&self.dir, &name);
            if !self.names.is_empty() && !self.names.contains(&name) {
                continue;
            }
            let has_tunnel = certificate.role() == Role::Member && files.peer_file(&name)?.is_some();
            if !has_tunnel || !key.exists() {
                continue;
            }
            let key = guestright_keys::read_secret(&key, || None).map_err(Failure::config)?;
            let until = write(&files, &home, &self.address, &name, &key, &certificate)?;
            signed.push((name, until));
        }
        let missing = self.names.iter().find(|name| !signed.iter().any(|(done, _)| done == *name));
        if signed.is_empty() || missing.is_some() {
            let who = missing.map_or_else(|| "nobody".to_owned(), |name| format!("{name} is no member that"));
            let dir = self.dir.display();
            return Err(Failure::config(anyhow!("{who} has both a tunnel and a key in {dir}"))
                .hint("`guestright team member add NAME --qr` makes both"));
        }
        if self.json {
            let row = |(name, until): &(String, UnixSeconds)| json!({ "name": name, "not_after": until.to_string() });
            return Ok(writeln!(out, "{}", serde_json::Value::Array(signed.iter().map(row).collect()))?);
        }
        for (name, until) in &signed {
            writeln!(out, "{name} can be called until {until}")?;
        }
        Ok(())
    }
}

/// The certificate of the team's home: of several that hold, the newest.
pub(super) fn home(dir: &Path) -> Result<Option<Certificate>, Failure> {
    let now = Clock::start().now().unix_seconds();
    let revoked = super::revocations(dir)?;
    let holds = |certificate: &Certificate| {
        let list = revoked.as_ref().map_or(Ok(()), |list| list.check_certificate(certificate, now));
        certificate.check(Role::Home, now).and(list).is_ok()
    };
    let homes = super::certificates(dir)?.into_iter().map(|(_, certificate)| certificate);
    Ok(homes.filter(holds).max_by_key(Certificate::not_before))
}

/// Where a member's record says that its home is.
pub(super) fn addresses(files: &GatewayFiles, name: &str) -> Result<Vec<Address>, Failure> {
    let path = files.record_path(name);
    let bytes = guestright_keys::read_to_limit(&path, guestright_directory::Record::LEN_MAX)
        .map_err(Failure::config)?;
    let record = guestright_directory::Record::parse(&bytes)
        .with_context(|| format!("read {}", path.display()))
        .map_err(Failure::config)?;
    Ok(record.statement().addresses.clone())
}

/// Signs a member's record and writes it into the gateway's directory; returns the second until which it counts.
pub(super) fn write(
    files: &GatewayFiles,
    home: &Certificate,
    addresses: &[Address],
    name: &str,
    key: &SecretKey,
    certificate: &Certificate,
) -> Result<UnixSeconds, Failure> {
    let now = Clock::start().now().unix_seconds();
    let addresses = if addresses.is_empty() {
        vec![gateway_files::link_address(&files.endpoint).map_err(Failure::config)?]
    } else {
        addresses.to_vec()
    };
    let not_after = now
        .plus(guestright_directory::Record::LIFE_MAX - 1)
        .min(certificate.not_after())
        .min(home.not_after());
    let statement = Statement {
        home: home.subject_id(),
        home_team: home.team_id(),
        addresses,
        sequence: now.0,
        not_before: now,
        not_after,
    };
    let record = guestright_directory::Record::sign(key, certificate, statement)
        .with_context(|| format!("sign where the home of {name} is"))
        .map_err(Failure::config)?;
    let path = files.record_path(name);
    let replace = |path: &Path| -> std::io::Result<()> {
        let beside = path.with_extension("record.new");
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(record.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    };
    replace(&path).with_context(|| format!("write {}", path.display())).map_err(Failure::config)?;
    Ok(not_after)
}
