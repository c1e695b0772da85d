//! The team's own key: made, copied to another place, put back.

use crate::directory::team_key;
use guestright_error::RunError;
use guestright_host::private::make_private_directory;
use guestright_identity::{SecretKey, Suite};
use guestright_units::TeamId;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A team that has just been made.
#[derive(Debug)]
pub struct Made {
    pub key: SecretKey,
    /// The file of its key.
    pub path: PathBuf,
}

/// Makes a team: its directory, and its key there. With a passphrase the key is encrypted.
///
/// # Errors
/// There is a team in the directory, or nothing can be written there.
pub fn make(dir: &Path, suite: Suite, passphrase: Option<&str>) -> Result<Made, RunError> {
    make_private_directory(dir)?;
    let mut rng = guestright_clock::rng();
    let key = SecretKey::generate(suite, &mut rng);
    let path = team_key(dir);
    guestright_keys::write_secret(&path, &key, passphrase, &mut rng).map_err(|error| {
        RunError::config(error).with_hint("one directory holds one team; give another with --dir")
    })?;
    Ok(Made { key, path })
}

/// Writes the key into a new file, encrypted.
///
/// # Errors
/// The file is there, or cannot be written.
pub fn back_up(file: &Path, team: &SecretKey, passphrase: &str) -> Result<(), RunError> {
    let mut rng = guestright_clock::rng();
    guestright_keys::write_secret(file, team, Some(passphrase), &mut rng).map_err(RunError::config)
}

/// What was put back.
#[derive(Clone, Copy, Debug)]
pub struct Restored {
    pub team: TeamId,
    pub is_encrypted: bool,
}

/// Makes a team's directory of a backup of its key. The key has the backup's passphrase again, unless it is to be `plain`.
///
/// # Errors
/// The backup cannot be read, there is a team in the directory, or nothing can be written there.
pub fn restore(
    file: &Path,
    dir: &Path,
    ask: impl Fn() -> Option<Zeroizing<String>>,
    plain: bool,
) -> Result<Restored, RunError> {
    let mut passphrase = None;
    let given = || {
        passphrase = ask();
        passphrase.clone()
    };
    let team = guestright_keys::read_secret(file, given).map_err(RunError::config)?;
    make_private_directory(dir)?;
    let passphrase = passphrase.filter(|_| !plain);
    let again = passphrase.as_deref().map(String::as_str);
    guestright_keys::write_secret(&team_key(dir), &team, again, &mut guestright_clock::rng())
        .map_err(RunError::config)?;
    Ok(Restored { team: team.public().team_id(), is_encrypted: passphrase.is_some() })
}
