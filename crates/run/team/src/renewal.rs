//! The key by which the home renews certificates, and the team's warrant for it (design note 0012).

use crate::directory::{TeamKey, remove, revocation_list, revoke_keys};
use crate::life::{DAY, span};
use guestright_error::RunError;
use guestright_host::home::renewing_files::{KEY, WARRANT};
use guestright_host::private::make_private_directory;
use guestright_identity::{KeyId, SecretKey, Warrant};
use guestright_units::UnixSeconds;
use std::path::{Path, PathBuf};

/// The directory in the team's.
pub const DIRECTORY: &str = "renewal";

/// For how long a home usually may renew.
pub const DAYS: u64 = 1_095;
/// How long a renewed certificate usually holds at most: a leap year, in seconds…
const LONGEST: u64 = 366 * DAY;
/// …and as [`parse_seconds`](crate::life::parse_seconds) reads it.
pub const LONGEST_TEXT: &str = "366d";

/// What the home may do.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// For how many seconds it may renew.
    pub life: u64,
    /// How many seconds a renewed certificate holds at most.
    pub longest: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self { life: DAYS * DAY, longest: LONGEST }
    }
}

/// A renewing key with its warrant.
#[derive(Debug)]
pub struct Made {
    pub directory: PathBuf,
    pub id: KeyId,
    pub not_after: UnixSeconds,
}

/// Makes a renewing key and its warrant; or, to `extend`, gives the key that is there another warrant.
///
/// # Errors
/// There is a key already, or none to extend; the terms cannot be; or nothing can be written.
pub fn make(dir: &Path, team: &SecretKey, terms: Terms, extend: bool) -> Result<Made, RunError> {
    let (key_path, warrant_path, directory) = paths(dir);
    let mut rng = guestright_clock::rng();
    let key = if extend {
        guestright_keys::read_secret(&key_path, || None).map_err(|error| {
            RunError::config(error).with_hint("make a renewing key first: the same without --extend")
        })?
    } else {
        SecretKey::generate(team.public().suite(), &mut rng)
    };
    // Certificates are backdated by as much, and may be renewed for all of their life.
    let (from, to) = span(guestright_clock::unix_seconds(), terms.life);
    let warrant = Warrant::issue(team, key.public(), from, to, terms.longest).map_err(RunError::user)?;
    if !extend {
        make_private_directory(&directory)?;
        guestright_keys::write_secret(&key_path, &key, None, &mut rng).map_err(|error| {
            RunError::config(error).with_hint(
                "this team has a renewing key: --extend gives it another time, `guestright team renewal revoke` ends it",
            )
        })?;
    }
    guestright_keys::write_warrant(&warrant_path, &warrant).map_err(RunError::config)?;
    Ok(Made { directory, id: key.public().id(), not_after: to })
}

/// A renewing key that counts no more.
#[derive(Debug)]
pub struct Revoked {
    pub id: KeyId,
    pub since: UnixSeconds,
    /// The team's list, which the home needs.
    pub list: PathBuf,
}

/// Revokes the renewing key, and removes it and its warrant.
///
/// # Errors
/// There is none, or the list cannot be written.
pub fn revoke(dir: &Path, team: TeamKey<'_>) -> Result<Revoked, RunError> {
    let (key_path, warrant_path, directory) = paths(dir);
    let warrant = guestright_keys::read_warrant(&warrant_path).map_err(|error| {
        RunError::config(error)
            .with_hint("there is no renewing key to revoke; `guestright team renewal init` makes one")
    })?;
    let id = warrant.renewing().id();
    let since = revoke_keys(dir, &team()?, [id])?.since;
    // On the list first: what is left of the key then harms nobody.
    for path in [&key_path, &warrant_path] {
        remove(path)?;
    }
    let _ = std::fs::remove_dir(&directory); // It may hold what is not ours.
    Ok(Revoked { id, since, list: revocation_list(dir) })
}

fn paths(dir: &Path) -> (PathBuf, PathBuf, PathBuf) {
    let directory = dir.join(DIRECTORY);
    (directory.join(KEY), directory.join(WARRANT), directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::life::parse_seconds;

    #[test]
    fn the_command_and_a_setup_let_certificates_hold_as_long() {
        assert_eq!(parse_seconds(LONGEST_TEXT), Ok(Terms::default().longest));
    }
}
