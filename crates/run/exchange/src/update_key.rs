//! Keys for updates of the DNS.

use guestright_dns::TsigKey;
use guestright_error::{OrFail as _, RunError};
use std::path::Path;

/// A key file is not longer.
const KEY_FILE_MAX: usize = 4_096;

/// Reads a key for updates, which has to be the owner's file alone (mode 600), as `tsig-keygen` writes it.
///
/// # Errors
/// The file cannot be read, others can read it, or it is no such key.
pub fn update_key(file: &Path) -> Result<TsigKey, RunError> {
    let what = || format!("read the key for updates in {}", file.display());
    let text = guestright_keys::read_secret_text(file, KEY_FILE_MAX).or_config(what)?;
    TsigKey::parse(&text).or_config(what)
}
