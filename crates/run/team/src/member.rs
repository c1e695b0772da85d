//! Members, access points and homes of a team: added, listed, given another life, revoked, removed.

use crate::directory::{
    self, TeamKey, certificate_of, certificates, check_not_revoked, gateway, member_files, remove,
    revocation_list, revocations, revoke_keys,
};
use crate::ike_access::{self, IkeGateway};
use crate::life::span;
use crate::phone::{self, ReadHome};
use crate::way_home::{self, NewMember, Reservation, Tunnel, TunnelWish, config_path};
use guestright_clock::unix_seconds;
use guestright_error::RunError;
use guestright_host::ike_files;
use guestright_identity::{Certificate, IdentityError, KeyId, Role, SecretKey};
use guestright_units::UnixSeconds;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Somebody as it is to be.
#[derive(Clone, Debug)]
pub struct Wish {
    /// As [`crate::name::check`] gives it.
    pub name: String,
    pub role: Role,
    /// For how many seconds its certificate holds.
    pub life: u64,
    /// A way home by WireGuard.
    pub tunnel: Option<TunnelWish>,
    /// A way home by IKEv2 or L2TP.
    pub ikev2: bool,
}

/// Somebody who was added. Not `Debug`: it holds secrets.
#[expect(missing_debug_implementations, reason = "its tunnel holds the member's secret")]
pub struct Added {
    pub key_path: PathBuf,
    pub certificate_path: PathBuf,
    pub certificate: Certificate,
    pub tunnel: Option<Tunnel>,
    pub ike: Option<ike_access::Access>,
}

/// Makes key, certificate, and the ways home that were asked for.
///
/// # Errors
/// Somebody has the name, a way home is not for this role or not to be had, or a file cannot be written.
pub fn add(dir: &Path, team: &SecretKey, wish: &Wish) -> Result<Added, RunError> {
    let Wish { name, role, .. } = wish;
    let reserve = |tunnel| Ok::<_, RunError>((Reservation::new(dir, name, *role)?, tunnel));
    let reserved = wish.tunnel.as_ref().map(reserve).transpose()?;
    let ike = wish.ikev2.then(|| IkeGateway::find(dir, name, *role)).transpose()?;
    let mut rng = guestright_clock::rng();
    let key = SecretKey::generate(team.public().suite(), &mut rng);
    let (from, to) = span(unix_seconds(), wish.life);
    let certificate = Certificate::issue(team, key.public(), *role, from, to);
    let (key_path, certificate_path) = member_files(dir, name);
    guestright_keys::write_secret(&key_path, &key, None, &mut rng).map_err(|error| {
        RunError::config(error).with_hint(format!(
            "somebody has this name: choose another, or `guestright team member renew {name}`, `replace {name}`, \
             `remove {name}`; --qr gives {name} a way home"
        ))
    })?;
    guestright_keys::write_certificate(&certificate_path, &certificate).map_err(RunError::config)?;
    let member = NewMember { dir, name, team, key: &key, certificate: &certificate };
    let enrol =
        |(reservation, tunnel): (Reservation, &TunnelWish)| reservation.enrol(tunnel.terms.as_ref(), member);
    let tunnel = reserved.map(enrol).transpose()?;
    let ike = ike.map(|gateway| gateway.enrol(name, certificate.subject_id())).transpose()?;
    Ok(Added { key_path, certificate_path, certificate, tunnel, ike })
}

/// Whether somebody was added under this name.
pub fn is_added(dir: &Path, name: &str) -> bool {
    member_files(dir, name).1.exists()
}

/// The certificate of a member that was added before, for something that `option` asks for.
///
/// # Errors
/// Nobody was added under this name, it is no member, or it is revoked.
pub fn roaming_certificate(dir: &Path, name: &str, option: &str) -> Result<Certificate, RunError> {
    let certificate = certificate_of(dir, name)?;
    let role = certificate.role();
    if role != Role::Member {
        return Err(RunError::user(format!("only a member roams; {name} is a {role}"))
            .with_hint(format!("leave out {option}")));
    }
    check_not_revoked(dir, name, certificate.subject_id())?;
    Ok(certificate)
}

/// Makes a tunnel for a member that was added before, and keeps its key and its certificate.
///
/// # Errors
/// It has a tunnel, its key is not in the team's directory any more, or a file cannot be written.
pub fn give_tunnel(
    dir: &Path,
    team: TeamKey<'_>,
    name: &str,
    certificate: &Certificate,
    wish: &TunnelWish,
) -> Result<Tunnel, RunError> {
    let reservation = Reservation::new(dir, name, certificate.role())?;
    let (key_path, _) = member_files(dir, name);
    let key = guestright_keys::read_secret(&key_path, || None).map_err(|error| {
        RunError::config(error).with_hint(format!(
            "put {name}'s key back for this: its word to its home is signed with it; or give it a new one: guestright \
             team member replace {name}"
        ))
    })?;
    let member = NewMember { dir, name, team: &team()?, key: &key, certificate };
    reservation.enrol(wish.terms.as_ref(), member)
}

/// One of a team, as it stands.
#[derive(Debug)]
pub struct Listed {
    pub name: String,
    pub certificate: Certificate,
    /// Whether the certificate counts now, and why not.
    pub holds: Result<(), IdentityError>,
    /// Its address at the gateway.
    pub address: Option<Ipv4Addr>,
    pub phone: Option<phone::Record>,
}

impl Listed {
    /// How it stands, in words.
    pub fn state(&self) -> String {
        let mut state = self.holds.as_ref().map_or_else(ToString::to_string, |()| "holds".to_owned());
        match &self.phone {
            Some(phone::Record { revoked: Some(since), .. }) => {
                state.push_str(&format!(", phone revoked at {since}"));
            }
            Some(phone) => state.push_str(&format!(", phone until {}", phone.not_after)),
            None => {}
        }
        state
    }
}

/// Everybody whose certificate is in a team's directory, by name.
///
/// # Errors
/// A file cannot be read.
pub fn list(dir: &Path) -> Result<Vec<Listed>, RunError> {
    let (revoked, now) = (revocations(dir)?, unix_seconds());
    let mut addresses = way_home::addresses(dir)?;
    let listed = |(name, certificate): (String, Certificate)| {
        let list = revoked.as_ref().map_or(Ok(()), |list| list.check_certificate(&certificate, now));
        let holds = certificate.check(certificate.role(), now).and(list);
        let (address, phone) = (addresses.remove(&name), phone::record(dir, &name)?);
        Ok(Listed { name, certificate, holds, address, phone })
    };
    certificates(dir)?.into_iter().map(listed).collect()
}

/// A certificate with another life.
#[derive(Debug)]
pub struct Renewed {
    pub name: String,
    pub certificate: Certificate,
    pub path: PathBuf,
    /// Whether the home's files are new too.
    pub at_gateway: bool,
}

/// Gives these certificates another life of so many seconds, and members' words to their home with them.
///
/// # Errors
/// Nobody was added under one of the names, or its key is revoked: then nothing was renewed. Or a file cannot be written.
pub fn renew(dir: &Path, team: TeamKey<'_>, names: Vec<String>, life: u64) -> Result<Vec<Renewed>, RunError> {
    let mut old = Vec::new();
    for name in names {
        let certificate = certificate_of(dir, &name)?;
        check_not_revoked(dir, &name, certificate.subject_id())?;
        old.push((name, certificate));
    }
    let team = team()?;
    let (from, to) = span(unix_seconds(), life);
    let renew = |(name, old): (String, Certificate)| {
        let certificate = Certificate::issue(&team, old.subject(), old.role(), from, to);
        let (key_path, path) = member_files(dir, &name);
        guestright_keys::write_certificate(&path, &certificate).map_err(RunError::config)?;
        let read = || guestright_keys::read_secret(&key_path, || None).map_err(RunError::config);
        let key = key_path.exists().then(read).transpose()?;
        let at_gateway = match gateway(dir)? {
            Some(files) if certificate.role() == Role::Member => {
                way_home::renew_at_gateway(dir, &files, &name, &team, key.as_ref(), &certificate)?
            }
            _ => false,
        };
        Ok(Renewed { name, certificate, path, at_gateway })
    };
    old.into_iter().map(renew).collect()
}

/// A key that counts no more, and what became of what belonged to it.
#[derive(Debug)]
pub struct Revocation {
    pub id: KeyId,
    pub since: UnixSeconds,
    /// The team's list, which the home needs, and its number.
    pub list: PathBuf,
    pub sequence: u64,
    /// Whether there was a way home, by WireGuard or IKEv2.
    pub had_tunnel: bool,
    pub phone: phone::Revoked,
}

/// Puts somebody's key on the team's list, and shuts its ways home and its phone.
///
/// # Errors
/// There is no certificate of this name, or a file cannot be written.
pub fn revoke(
    dir: &Path,
    team: TeamKey<'_>,
    name: &str,
    read_home: ReadHome,
) -> Result<Revocation, RunError> {
    let (_, path) = member_files(dir, name);
    let certificate = guestright_keys::read_certificate(&path).map_err(RunError::config)?;
    let id = certificate.subject_id();
    let directory::Revoked { since, sequence } = revoke_keys(dir, &team()?, [id])?;
    let text = since.to_string();
    // The home may have this gateway/ as a link to ours, and read it in between.
    let by_ike = ike_access::revoke(dir, name, &text)?;
    let had_tunnel = way_home::revoke(dir, name, &text)? || by_ike;
    // At once if the home runs here, else with the list.
    let phone = phone::revoke(dir, name, &text, read_home)?;
    Ok(Revocation { id, since, list: revocation_list(dir), sequence, had_tunnel, phone })
}

/// Somebody whose name is free again.
#[derive(Debug)]
pub struct Removed {
    pub id: KeyId,
    pub list: PathBuf,
    /// Whether the gateway had files of it.
    pub at_gateway: bool,
}

/// Revokes first, then removes: whatever happens in between, the old key is of no use.
///
/// # Errors
/// Nobody was added under this name, or a file cannot be written or removed.
pub fn revoke_and_remove(
    dir: &Path,
    team: TeamKey<'_>,
    name: &str,
    read_home: ReadHome,
) -> Result<Removed, RunError> {
    certificate_of(dir, name)?;
    let Revocation { id, list, .. } = revoke(dir, team, name, read_home)?;
    phone::forget(dir, name)?;
    let at_gateway = way_home::forget_at_gateway(dir, name)?;
    let (key_path, certificate_path) = member_files(dir, name);
    for path in [key_path, config_path(dir, name), certificate_path] {
        remove(&path)?;
    }
    Ok(Removed { id, list, at_gateway })
}

/// What a device has that another one is to replace.
#[derive(Clone, Debug)]
pub struct Belongings {
    pub role: Role,
    pub tunnel: Option<TunnelWish>,
    pub ikev2: bool,
    pub has_phone: bool,
}

/// What somebody has.
///
/// # Errors
/// Nobody was added under this name, or a file cannot be read.
pub fn belongings(dir: &Path, name: &str) -> Result<Belongings, RunError> {
    let role = certificate_of(dir, name)?.role();
    let tunnel = TunnelWish::of_member(dir, name)?;
    let ikev2 = gateway(dir)?.is_some_and(|files| ike_files::path(&files, name).exists());
    Ok(Belongings { role, tunnel, ikev2, has_phone: phone::record(dir, name)?.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::life::DAY;
    use crate::own_key;
    use guestright_error::Fault as _;
    use guestright_identity::Suite;

    fn no_home(_: &Path) -> Result<phone::HomeSettings, RunError> {
        panic!("nobody has a phone")
    }

    fn wish(name: &str, role: Role) -> Wish {
        Wish { name: name.to_owned(), role, life: DAY, tunnel: None, ikev2: false }
    }

    #[test]
    fn a_name_is_free_again_when_its_key_is_revoked_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let dir = directory.path();
        let team = own_key::make(dir, Suite::Ed25519, None).unwrap().key;
        let key = || Ok(team.clone());
        let alice = add(dir, &team, &wish("alice", Role::Member)).unwrap().certificate;
        let taken = add(dir, &team, &wish("alice", Role::Home)).err().unwrap();
        assert!(taken.hint().unwrap().starts_with("somebody has this name"), "{}", taken.sentence());
        let removed = revoke_and_remove(dir, &key, "alice", no_home).unwrap();
        assert_eq!((removed.id, removed.at_gateway), (alice.subject_id(), false));
        assert!(revocations(dir).unwrap().unwrap().revoked().contains_key(&alice.subject_id()));
        let again = add(dir, &team, &wish("alice", Role::Member)).unwrap().certificate;
        let rows = list(dir).unwrap();
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((row.name.as_str(), row.state().as_str()), ("alice", "holds"));
        assert_eq!(row.certificate, again);
        assert_ne!(again.subject_id(), alice.subject_id());
    }

    #[test]
    fn nobody_is_renewed_if_one_of_them_is_revoked() {
        let directory = tempfile::tempdir().unwrap();
        let dir = directory.path();
        let team = own_key::make(dir, Suite::Ed25519, None).unwrap().key;
        let key = || Ok(team.clone());
        let router = add(dir, &team, &wish("router", Role::AccessPoint)).unwrap().certificate;
        add(dir, &team, &wish("alice", Role::Member)).unwrap();
        revoke(dir, &key, "alice", no_home).unwrap();
        let both = vec!["router".to_owned(), "alice".to_owned()];
        let refused = renew(dir, &key, both, 2 * DAY).unwrap_err().sentence();
        assert!(refused.starts_with("alice's key was revoked"), "{refused}");
        assert_eq!(certificate_of(dir, "router").unwrap(), router);
        let renewed = renew(dir, &key, vec!["router".to_owned()], 2 * DAY).unwrap().remove(0);
        assert!(renewed.certificate.not_after() > router.not_after() && !renewed.at_gateway);
        let states: Vec<_> = list(dir).unwrap().iter().map(Listed::state).collect();
        assert!(states[0].contains("revoked") && states[1] == "holds", "{states:?}");
    }
}
