//! Directories and files that only their owner may use.

use guestright_channel::Credentials;
use guestright_error::{OrFail as _, RunError};
use guestright_identity::Role;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Makes a directory that only its owner may enter, unless it is there.
///
/// # Errors
/// It cannot be made.
pub fn make_private_directory(path: &Path) -> Result<(), RunError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.or_config(|| format!("make {}", path.display()))
}

/// Whether the certificate is for a program of this role.
pub(crate) fn check(credentials: &Credentials, role: Role) -> Result<(), RunError> {
    let got = credentials.certificate.role();
    if got != role {
        let (got, want) = (with_article(got), with_article(role));
        return Err(RunError::config(format!("the certificate is for {got}, not for {want}")));
    }
    Ok(())
}

fn with_article(role: Role) -> String {
    let article = if role == Role::AccessPoint { "an" } else { "a" };
    format!("{article} {role}")
}

/// Makes a file that its owner alone can read; it must not be there.
///
/// # Errors
/// It is there, or cannot be written.
pub fn create_private(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    let create = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    create().or_config(|| format!("make {}", path.display()))
}

/// Writes a file that its owner alone can read, all of it or nothing.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    guestright_keys::replace_private(path, bytes).map_err(RunError::config)
}

/// What is in a file; nothing if it is not there.
///
/// # Errors
/// It is there and cannot be read.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, RunError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RunError::config(format!("read {}: {error}", path.display()))),
    }
}

/// Removes a file for good, also over a loss of power, unless it is gone.
///
/// # Errors
/// It is there and cannot be removed.
pub fn remove(path: &Path) -> Result<(), RunError> {
    let fail = |error| RunError::config(format!("remove {}: {error}", path.display()));
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| guestright_keys::sync_directory(path)).map_err(fail),
    }
}
