//! Files of secret keys.

use crate::{KeysError, file};
use guestright_identity::{KeyFile, KeyFileError, SecretKey};
use rand::CryptoRng;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use zeroize::Zeroizing;

/// The same as [`KeyFile::parse`] reads.
const TEXT_LEN_MAX: usize = 16 * 1_024;

/// Writes a new key file that its owner alone can read, encrypted if there is a passphrase (which takes 64 MiB and
/// a moment; `rng` gives the salt). The directory must exist; the file must not.
///
/// # Errors
/// [`KeysError::Exists`] or [`KeysError::System`].
pub fn write_secret(
    path: &Path,
    key: &SecretKey,
    passphrase: Option<&str>,
    rng: &mut impl CryptoRng,
) -> Result<(), KeysError> {
    let text = match passphrase {
        Some(passphrase) => KeyFile::encrypted(key, passphrase, rng),
        None => KeyFile::plain(key),
    };
    file::create(path, text.as_bytes(), 0o600)
}

/// Reads a key file. `ask` is called if the key is encrypted, and only then; it may say `None` when there is nobody
/// to ask.
///
/// The file must belong to the user that we run as, or to root, and nobody else may read or change it.
///
/// # Errors
/// [`KeysError::TooOpen`], `OtherOwner`, `PassphraseNeeded`, `WrongPassphrase`, `BadKeyFile`, or why it cannot be
/// read.
pub fn read_secret(
    path: &Path,
    ask: impl FnOnce() -> Option<Zeroizing<String>>,
) -> Result<SecretKey, KeysError> {
    let opened = file::open(path)?;
    check_owner(&opened, path)?;
    let bytes = Zeroizing::new(file::read_open(&opened, path, TEXT_LEN_MAX)?);
    let text = std::str::from_utf8(&bytes).map_err(|error| KeysError::BadKeyFile {
        path: path.to_owned(),
        reason: format!("it is not text: {error}"),
    })?;
    let parsed = match KeyFile::parse(text, None) {
        Err(KeyFileError::PassphraseNeeded) => match ask() {
            Some(passphrase) => KeyFile::parse(text, Some(&passphrase)),
            None => Err(KeyFileError::PassphraseNeeded),
        },
        parsed => parsed,
    };
    parsed.map_err(|error| {
        let path = path.to_owned();
        match error {
            KeyFileError::PassphraseNeeded => KeysError::PassphraseNeeded { path },
            KeyFileError::WrongPassphrase => KeysError::WrongPassphrase { path },
            KeyFileError::Malformed(_) => KeysError::BadKeyFile { path, reason: error.to_string() },
        }
    })
}

/// Reads a file with another secret in it, text of at most `max` bytes, under the same conditions as
/// [`read_secret`]: it belongs to the user that we run as, or to root, and nobody else may read or change it.
///
/// # Errors
/// [`KeysError::TooOpen`], `OtherOwner`, `TooLarge`, `BadKeyFile` if it is not text, or why it cannot be read.
pub fn read_secret_text(path: &Path, max: usize) -> Result<Zeroizing<String>, KeysError> {
    let opened = file::open(path)?;
    check_owner(&opened, path)?;
    let bytes = Zeroizing::new(file::read_open(&opened, path, max)?);
    let text = std::str::from_utf8(&bytes).map_err(|error| KeysError::BadKeyFile {
        path: path.to_owned(),
        reason: format!("it is not text: {error}"),
    })?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Asks the open file, not its name, which could stand for another file by now.
fn check_owner(file: &File, path: &Path) -> Result<(), KeysError> {
    let metadata = file.metadata().map_err(|error| KeysError::system("read", path, &error))?;
    check(path, metadata.uid(), metadata.mode(), rustix::process::geteuid().as_raw())
}

fn check(path: &Path, owner: u32, mode: u32, want: u32) -> Result<(), KeysError> {
    let path = path.to_owned();
    if owner != want && owner != 0 {
        return Err(KeysError::OtherOwner { path, got: owner, want });
    }
    let mode = mode & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeysError::TooOpen { path, mode });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_and_root_are_trusted_with_a_key() {
        let path = Path::new("member.key");
        #[rustfmt::skip]
        let cases = [
            (1_000, 0o100_600, 1_000, None),
            (1_000, 0o100_400, 1_000, None),
            (0,     0o100_600, 1_000, None),
            (1_001, 0o100_600, 1_000, Some("belongs to user 1001, this program runs as user 1000; run `chown 1000 member.key`")),
            (1_000, 0o100_600, 0,     Some("belongs to user 1000, this program runs as user 0; run `chown 0 member.key`")),
            (1_000, 0o100_640, 1_000, Some("(mode 640); run `chmod 600 member.key`")),
            (1_000, 0o100_602, 1_000, Some("(mode 602); run `chmod 600 member.key`")),
        ];
        for (owner, mode, user, want) in cases {
            let got = check(path, owner, mode, user).err().map(|error| error.to_string());
            assert_eq!(got.is_some(), want.is_some(), "{got:?}");
            assert!(got.unwrap_or_default().contains(want.unwrap_or_default()), "{want:?}");
        }
    }
}
