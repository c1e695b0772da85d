//! `guestright team member renew`, `remove` and `replace`: another life, no place any more, another device.

pub(super) use guestright_team::directory::{certificate_of, check_not_revoked};

use super::life::LifeArgs;
use super::{Add, OneArgs, TeamArgs, enrol, ikev2, member_files, phone};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_clock::Clock;
use guestright_identity::{Certificate, KeyId, Role};
use guestright_team::directory::{gateway, remove};
use guestright_team::ike_access;
use guestright_team::name::normal;
use guestright_team::way_home::{self, forget_at_gateway, renew_at_gateway};
use serde_json::json;

/// Give members, access points or homes a certificate with another life, for the keys that they have
///
/// Writes NAME.cert anew; give it to the device, where the program takes it up by itself within half a minute if it is put in
/// place of the old one. A member's word to its home is renewed with it, if NAME.key is still here.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member renew alice router home --dir family --days 90")]
pub(super) struct Renew {
    /// The names under which they were added
    #[arg(required = true, value_parser = normal)]
    names: Vec<String>,
    #[command(flatten)]
    life: LifeArgs,
    #[command(flatten)]
    team: TeamArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Revoke a key and free its name: its files go from the team's directory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member remove alice --dir family")]
pub(super) struct Remove {
    #[command(flatten)]
    one: OneArgs,
}

/// Give somebody a new device under the same name: a new key and certificate; the old key is revoked
///
/// Whoever had a way home gets a new one, with another WireGuard key and QR code.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team member replace alice --dir family")]
pub(super) struct Replace {
    /// The name under which the old device was added
    #[arg(value_parser = normal)]
    name: String,
    #[command(flatten)]
    life: LifeArgs,
    #[command(flatten)]
    team: TeamArgs,
    #[command(flatten)]
    images: enrol::Images,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Renew {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        let dir = &self.team.dir;
        let mut old = Vec::new();
        for name in &self.names {
            let certificate = certificate_of(dir, name)?;
            check_not_revoked(dir, name, certificate.subject_id())?;
            old.push((name, certificate));
        }
        let team = self.team.key()?;
        let (from, to) = self.life.starting(Clock::start().now().unix_seconds());
        let mut rows = Vec::new();
        for (name, old) in old {
            let certificate = Certificate::issue(&team, old.subject(), old.role(), from, to);
            let (key_path, path) = member_files(dir, name);
            guestright_keys::write_certificate(&path, &certificate).map_err(Failure::config)?;
            let key = match key_path.exists() {
                true => Some(guestright_keys::read_secret(&key_path, || None).map_err(Failure::config)?),
                false => None,
            };
            let of_gateway = match gateway(dir)? {
                Some(files) if certificate.role() == Role::Member => {
                    renew_at_gateway(dir, &files, name, &team, key.as_ref(), &certificate)?
                }
                _ => false,
            };
            rows.push((name, certificate, path, of_gateway));
        }
        if self.json {
            let row = |(name, certificate, path, of_gateway): &(&String, Certificate, _, bool)| {
                json!({ "name": name, "role": certificate.role().to_string(), "certificate": path,
                    "not_after": certificate.not_after().to_string(), "gateway": of_gateway })
            };
            return Ok(writeln!(out, "{}", serde_json::Value::Array(rows.iter().map(row).collect()))?);
        }
        for (name, certificate, path, of_gateway) in rows {
            let (role, to) = (certificate.role(), certificate.not_after());
            writeln!(out, "renewed {name} as {role}, until {to}: give the device {}", path.display())?;
            if of_gateway {
                writeln!(
                    out,
                    "its word to its home is new too: give gateway/ to the home, and say `guestright home reload`"
                )?;
            }
        }
        Ok(())
    }
}

/// Revokes first, then removes: whatever happens in between, the old key is of no use.
fn revoke_and_forget(team: &TeamArgs, name: &str) -> Result<(KeyId, bool), Failure> {
    let certificate = certificate_of(&team.dir, name)?;
    let since = team.revoke_keys([certificate.subject_id()])?.since.to_string();
    // The home may have this gateway/ as a link to ours, and read it in between.
    ike_access::revoke(&team.dir, name, &since)?;
    way_home::revoke(&team.dir, name, &since)?;
    // At once if the home runs here, else with the list.
    phone::revoke(&team.dir, name, &since)?;
    phone::forget(&team.dir, name)?;
    let had = forget_at_gateway(&team.dir, name)?;
    let (key_path, certificate_path) = member_files(&team.dir, name);
    for path in [key_path, team.dir.join(format!("{name}.conf")), certificate_path] {
        remove(&path)?;
    }
    Ok((certificate.subject_id(), had))
}

impl Remove {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        let OneArgs { name, team, json } = self.one;
        let (id, had) = revoke_and_forget(&team, &name)?;
        let list = team.dir.join("revocations");
        if json {
            let answer = json!({ "name": name, "id": id.to_string(), "revocations": list, "gateway": had });
            return Ok(writeln!(out, "{answer}")?);
        }
        writeln!(out, "removed {name}: its key is revoked, and the name is free")?;
        writeln!(out, "give {} to the home, and say `guestright home reload`", list.display())?;
        if had {
            writeln!(out, "where the home has a copy of gateway/, remove the files of {name} there too")?;
        }
        Ok(())
    }
}

impl Replace {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        let dir = self.team.dir.clone();
        let role = certificate_of(&dir, &self.name)?.role();
        // Before anything is revoked: the passphrase may be wrong, or an image in the way.
        self.team.key()?;
        let tunnel = enrol::TunnelArgs::again(&dir, &self.name, self.images)?;
        let ike = ikev2::IkeArgs::again(&dir, &self.name)?;
        let had_phone = phone::record(&dir, &self.name)?.is_some();
        let (id, _) = revoke_and_forget(&self.team, &self.name)?;
        if !self.json {
            writeln!(
                out,
                "revoked the old key, {}: give {} to the home",
                &id.to_string()[..8],
                dir.join("revocations").display()
            )?;
        }
        let (life, name) = (self.life, self.name.clone());
        let phone = phone::PhoneArgs::none();
        Add {
            name: self.name,
            role: role.into(),
            life,
            team: self.team,
            tunnel,
            ike,
            phone,
            json: self.json,
        }
        .run(out)?;
        if had_phone && !self.json {
            writeln!(
                out,
                "it had a phone: make what the new one imports with `guestright team member add {name} --phone`"
            )?;
        }
        Ok(())
    }
}
