//! Files of what a team signed: anybody may read them, and they prove themselves.

use crate::{KeysError, Label, file};
use guestright_identity::{Certificate, IdentityError, RevocationList, Warrant};
use std::path::Path;

/// Writes a certificate file, in place of the one that is there.
///
/// # Errors
/// [`KeysError::System`]; the old file is then as it was.
pub fn write_certificate(path: &Path, certificate: &Certificate) -> Result<(), KeysError> {
    write(path, Label::Certificate, certificate.as_bytes())
}

/// Reads a certificate file and checks its team's signature. Whether it is valid *now* is asked with
/// [`Certificate::check`].
///
/// # Errors
/// [`KeysError::Armour`] or `Refused`, or why it cannot be read.
pub fn read_certificate(path: &Path) -> Result<Certificate, KeysError> {
    read(path, Label::Certificate, "certificate", Certificate::LEN_MAX, Certificate::parse)
}

/// Writes a team's revocation list, in place of the one that is there.
///
/// # Errors
/// [`KeysError::System`]; the old file is then as it was.
pub fn write_revocations(path: &Path, list: &RevocationList) -> Result<(), KeysError> {
    write(path, Label::Revocations, list.as_bytes())
}

/// Reads a team's revocation list and checks its signature.
///
/// # Errors
/// [`KeysError::Armour`] or `Refused`, or why it cannot be read.
pub fn read_revocations(path: &Path) -> Result<RevocationList, KeysError> {
    read(path, Label::Revocations, "revocation list", RevocationList::LEN_MAX, RevocationList::parse)
}

/// Writes the warrant of a renewing key, in place of the one that is there.
///
/// # Errors
/// [`KeysError::System`]; the old file is then as it was.
pub fn write_warrant(path: &Path, warrant: &Warrant) -> Result<(), KeysError> {
    write(path, Label::Warrant, warrant.as_bytes())
}

/// Reads the warrant of a renewing key and checks its team's signature.
///
/// # Errors
/// [`KeysError::Armour`] or `Refused`, or why it cannot be read.
pub fn read_warrant(path: &Path) -> Result<Warrant, KeysError> {
    read(path, Label::Warrant, "warrant", Warrant::LEN_MAX, Warrant::parse)
}

fn write(path: &Path, label: Label, bytes: &[u8]) -> Result<(), KeysError> {
    file::replace(path, label.armour(bytes).as_bytes(), 0o644)
}

fn read<T>(
    path: &Path,
    label: Label,
    what: &'static str,
    bytes_max: usize,
    parse: impl FnOnce(&[u8]) -> Result<T, IdentityError>,
) -> Result<T, KeysError> {
    let bytes = file::read_to_limit(path, Label::text_len_max(bytes_max))?;
    // What is not text has no first line.
    let text = String::from_utf8_lossy(&bytes);
    let bytes =
        label.unarmour(&text).map_err(|reason| KeysError::Armour { path: path.to_owned(), reason })?;
    parse(&bytes).map_err(|reason| KeysError::Refused { what, path: path.to_owned(), reason })
}
