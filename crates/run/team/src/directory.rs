//! The files in a team's directory: keys, certificates, the list of what is revoked, and the gateway's.

use guestright_error::{OrFail as _, RunError};
use guestright_host::gateway_files::{self, GatewayFiles};
pub(crate) use guestright_host::private::remove;
use guestright_identity::{Certificate, IdentityError, KeyId, RevocationList, SecretKey};
use guestright_units::UnixSeconds;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where a team's secret key is.
pub fn team_key(dir: &Path) -> PathBuf {
    dir.join("team.key")
}

/// Gives the team's key when something is to be signed: its passphrase may be asked for then, and not before.
pub type TeamKey<'a> = &'a dyn Fn() -> Result<SecretKey, RunError>;

/// Where the team's list of revoked keys is.
pub fn revocation_list(dir: &Path) -> PathBuf {
    dir.join("revocations")
}

/// The team's gateway, if it has one.
///
/// # Errors
/// Its files cannot be read.
pub(crate) fn gateway(dir: &Path) -> Result<Option<GatewayFiles>, RunError> {
    let directory = dir.join(gateway_files::DIRECTORY);
    directory.exists().then(|| GatewayFiles::open(&directory)).transpose()
}

/// The key and the certificate of somebody who was added.
pub fn member_files(dir: &Path, name: &str) -> (PathBuf, PathBuf) {
    (dir.join(format!("{name}.key")), dir.join(format!("{name}.cert")))
}

/// The team's list, if anything was ever revoked.
///
/// # Errors
/// It cannot be read.
pub(crate) fn revocations(dir: &Path) -> Result<Option<RevocationList>, RunError> {
    let path = revocation_list(dir);
    if !path.exists() {
        return Ok(None);
    }
    guestright_keys::read_revocations(&path).map(Some).map_err(RunError::config)
}

/// All certificates in a team's directory, by name.
///
/// # Errors
/// The directory or a certificate cannot be read.
pub(crate) fn certificates(dir: &Path) -> Result<Vec<(String, Certificate)>, RunError> {
    let entries = std::fs::read_dir(dir);
    let may_not = entries.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
    let hint = if may_not { "use sudo" } else { "make a team with `guestright team init`" };
    let entries = entries.or_config(|| format!("read {}", dir.display()));
    let mut found = Vec::new();
    for entry in entries.map_err(|error| error.with_hint(hint))? {
        let path = entry.map_err(RunError::config)?.path();
        if path.extension().is_some_and(|extension| extension == "cert") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, guestright_keys::read_certificate(&path).map_err(RunError::config)?));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// What was put on the team's revocation list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Revoked {
    pub(crate) since: UnixSeconds,
    /// The list's number.
    pub(crate) sequence: u64,
}

/// Puts keys on the team's revocation list, from now on.
///
/// # Errors
/// The list cannot be read or written.
pub(crate) fn revoke_keys(
    dir: &Path,
    team: &SecretKey,
    keys: impl IntoIterator<Item = KeyId>,
) -> Result<Revoked, RunError> {
    let now = guestright_clock::unix_seconds();
    let old = revocations(dir)?;
    let mut revoked: BTreeMap<_, UnixSeconds> =
        old.as_ref().map(|list| list.revoked().clone()).unwrap_or_default();
    for key in keys {
        revoked.entry(key).or_insert(now);
    }
    let sequence = old.map_or(1, |list| list.sequence() + 1);
    let list = RevocationList::issue(team, sequence, now, revoked).map_err(RunError::user)?;
    guestright_keys::write_revocations(&revocation_list(dir), &list).map_err(RunError::config)?;
    Ok(Revoked { since: now, sequence })
}

/// The certificate of somebody who was added.
///
/// # Errors
/// Nobody was added under this name.
pub(crate) fn certificate_of(dir: &Path, name: &str) -> Result<Certificate, RunError> {
    let (_, path) = member_files(dir, name);
    if crate::name::check(name).is_err() || !path.exists() {
        return Err(RunError::config(format!("nobody was added as {name:?}"))
            .with_hint(format!("`guestright team member list --dir {}` shows who was", dir.display())));
    }
    guestright_keys::read_certificate(&path).map_err(RunError::config)
}

/// Refuses a key that is on the team's list.
///
/// # Errors
/// It is on the list.
pub(crate) fn check_not_revoked(dir: &Path, name: &str, id: KeyId) -> Result<(), RunError> {
    let now = guestright_clock::unix_seconds();
    let list = revocations(dir)?;
    match list.map_or(Ok(()), |list| list.check(id, now)) {
        Err(IdentityError::Revoked { since }) => Err(RunError::config(format!(
            "{name}'s key was revoked at {since}"
        ))
        .with_hint(format!("a new key gets a new certificate: guestright team member replace {name}"))),
        _ => Ok(()),
    }
}
