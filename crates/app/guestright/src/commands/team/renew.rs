//! `guestright team member renew`, `remove` and `replace`: another life, no place any more, another device.

use super::life::LifeArgs;
use super::renewal::remove;
use super::{Add, OneArgs, TeamArgs, enrol, ikev2, member_files, name::normal, phone, record};
use crate::gateway_files::GatewayFiles;
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_clock::Clock;
use guestright_identity::{Certificate, IdentityError, KeyId, Role, SecretKey};
use serde_json::json;
use std::path::Path;

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

/// The certificate of somebody who was added.
pub(super) fn certificate_of(dir: &Path, name: &str) -> Result<Certificate, Failure> {
    let (_, path) = member_files(dir, name);
    if !super::is_name(name) || !path.exists() {
        return Err(Failure::config(anyhow!("nobody was added as {name:?}"))
            .hint(format!("`guestright team member list --dir {}` shows who was", dir.display())));
    }
    guestright_keys::read_certificate(&path).map_err(Failure::config)
}

/// Refuses a key that is on the team's list.
pub(super) fn check_not_revoked(dir: &Path, name: &str, id: KeyId) -> Result<(), Failure> {
    let now = Clock::start().now().unix_seconds();
    let list = super::revocations(dir)?;
    match list.map_or(Ok(()), |list| list.check(id, now)) {
        Err(IdentityError::Revoked { since }) => {
            Err(Failure::config(anyhow!("{name}'s key was revoked at {since}"))
                .hint(format!("a new key gets a new certificate: guestright team member replace {name}")))
        }
        _ => Ok(()),
    }
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
            let of_gateway = match super::gateway(dir)? {
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

/// Renews what the home has of a member. Says whether there is anything.
fn renew_at_gateway(
    dir: &Path,
    files: &GatewayFiles,
    name: &str,
    team: &SecretKey,
    key: Option<&SecretKey>,
    certificate: &Certificate,
) -> Result<bool, Failure> {
    let _lock = files.lock()?;
    let Some(mut peer) = files.peer_file(name)? else { return Ok(false) };
    peer.certificate = enrol::digest_of(certificate);
    let (_, delegate_path) = files.delegate_paths(name);
    if peer.delegation.is_some() && delegate_path.exists() {
        let delegate = guestright_keys::read_certificate(&delegate_path).map_err(Failure::config)?;
        let (from, to) = (certificate.not_before(), certificate.not_after());
        let renewed = Certificate::issue(team, delegate.subject(), Role::Member, from, to);
        guestright_keys::write_certificate(&delegate_path, &renewed).map_err(Failure::config)?;
        if let Some(key) = key {
            let terms = peer.delegation()?.map(|delegation| delegation.terms().clone());
            if let Some(terms) = terms {
                peer.set_delegation(&enrol::delegate_again(key, delegate.subject(), terms, from)?);
            }
        }
    }
    files.write_peer(name, &peer)?;
    if let (Some(key), Some(home)) = (key, record::home(dir)?)
        && files.record_path(name).exists()
    {
        record::write(files, &home, &record::addresses(files, name)?, name, key, certificate)?;
    }
    Ok(true)
}

/// What a member had at the gateway: all of it goes.
fn forget_at_gateway(dir: &Path, name: &str) -> Result<bool, Failure> {
    let Some(files) = super::gateway(dir)? else { return Ok(false) };
    let _lock = files.lock()?;
    let (key, certificate) = files.delegate_paths(name);
    let peer = files.path().join(format!("{name}.toml"));
    let ike = crate::ike_files::path(&files, name);
    let had = peer.exists() || ike.exists();
    for path in [peer, key, certificate, files.record_path(name), ike] {
        remove(&path)?;
    }
    Ok(had)
}

/// Revokes first, then removes: whatever happens in between, the old key is of no use.
fn revoke_and_forget(team: &TeamArgs, name: &str) -> Result<(KeyId, bool), Failure> {
    let certificate = certificate_of(&team.dir, name)?;
    let since = super::revoke_keys(team, [certificate.subject_id()])?.since.to_string();
    // The home may have this gateway/ as a link to ours, and read it in between.
    ikev2::revoke(&team.dir, name, &since)?;
    enrol::revoke(&team.dir, name, &since)?;
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
