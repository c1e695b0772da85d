//! `guestright team member renew`, `remove` and `replace`: another life, no place any more, another device.

use super::life::LifeArgs;
use super::{OneArgs, TeamArgs, enrol, phone, print_added};
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_team::member::{self, Belongings, Removed, Renewed};
use guestright_team::name::normal;
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
        let key = || self.team.signing_key();
        let rows = member::renew(&self.team.dir, &key, self.names, self.life.seconds())?;
        if self.json {
            let row = |row: &Renewed| {
                let Renewed { name, certificate, path, at_gateway } = row;
                json!({ "name": name, "role": certificate.role().to_string(), "certificate": path,
                    "not_after": certificate.not_after().to_string(), "gateway": at_gateway })
            };
            return Ok(writeln!(out, "{}", serde_json::Value::Array(rows.iter().map(row).collect()))?);
        }
        for Renewed { name, certificate, path, at_gateway } in rows {
            let (role, to) = (certificate.role(), certificate.not_after());
            writeln!(out, "renewed {name} as {role}, until {to}: give the device {}", path.display())?;
            if at_gateway {
                writeln!(
                    out,
                    "its word to its home is new too: give gateway/ to the home, and say `guestright home reload`"
                )?;
            }
        }
        Ok(())
    }
}

impl Remove {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        let OneArgs { name, team, json } = self.one;
        let key = || team.signing_key();
        let removed = member::revoke_and_remove(&team.dir, &key, &name, phone::read_home)?;
        let Removed { id, list, at_gateway } = removed;
        if json {
            let answer =
                json!({ "name": name, "id": id.to_string(), "revocations": list, "gateway": at_gateway });
            return Ok(writeln!(out, "{answer}")?);
        }
        writeln!(out, "removed {name}: its key is revoked, and the name is free")?;
        writeln!(out, "give {} to the home, and say `guestright home reload`", list.display())?;
        if at_gateway {
            writeln!(out, "where the home has a copy of gateway/, remove the files of {name} there too")?;
        }
        Ok(())
    }
}

impl Replace {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        let (dir, name) = (&self.team.dir, self.name);
        let Belongings { role, tunnel, ikev2, has_phone } = member::belongings(dir, &name)?;
        // Before anything is revoked: the passphrase may be wrong, or an image in the way.
        let team = self.team.key()?;
        self.images.check(tunnel.is_some())?;
        let key = || Ok(team.clone());
        let Removed { id, list, .. } = member::revoke_and_remove(dir, &key, &name, phone::read_home)?;
        if !self.json {
            writeln!(
                out,
                "revoked the old key, {}: give {} to the home",
                &id.to_string()[..8],
                list.display()
            )?;
        }
        let wish = member::Wish { name, role, life: self.life.seconds(), tunnel, ikev2 };
        let added = member::add(dir, &team, &wish)?;
        let name = wish.name;
        print_added(&added, &name, self.json, out)?;
        added.tunnel.map_or(Ok(()), |tunnel| self.images.draw(&tunnel))?;
        if has_phone && !self.json {
            writeln!(
                out,
                "it had a phone: make what the new one imports with `guestright team member add {name} --phone`"
            )?;
        }
        Ok(())
    }
}
