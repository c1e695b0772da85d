//! What can go wrong with a file, in words that name it and say what to do.

use crate::ArmourError;
use guestright_identity::IdentityError;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a file could not be read or written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeysError {
    /// The system refused.
    #[error("cannot {doing} {}: {reason}{hint}", path.display())]
    System {
        /// What we wanted to do.
        doing: &'static str,
        path: PathBuf,
        /// The system's words.
        reason: String,
        /// What to do about it, when we know; starts with a semicolon.
        hint: &'static str,
    },
    /// There is a file already, and a secret key is never overwritten.
    #[error("{} exists already and a key is never overwritten; move it away or choose another name", path.display())]
    Exists { path: PathBuf },
    /// It is a directory, a pipe or a device.
    #[error("{} is not a file; name the file itself", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// Others can read or change a secret key.
    #[error("other users can read or change the key {path} (mode {mode:03o}); run `chmod 600 {path}`", path = path.display())]
    TooOpen {
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A secret key is somebody else's, who could change it.
    #[error(
        "the key {path} belongs to user {got}, this program runs as user {want}; \
         run `chown {want} {path}` or run the program as its owner",
        path = path.display()
    )]
    OtherOwner {
        path: PathBuf,
        got: u32,
        /// Who we are.
        want: u32,
    },
    /// The file is larger than any valid one.
    #[error("{} has more than {max} bytes, more than any file of its kind; is it the right one?", path.display())]
    TooLarge { path: PathBuf, max: usize },
    /// The text is not what it should be.
    #[error("{}: {reason}; is it the right file, and whole?", path.display())]
    Armour {
        path: PathBuf,
        /// What is wrong with it.
        reason: ArmourError,
    },
    /// The text is right and what it wraps is not.
    #[error("the {what} in {} is refused: {reason}", path.display())]
    Refused {
        /// A certificate or a revocation list.
        what: &'static str,
        path: PathBuf,
        /// What is wrong with it.
        reason: IdentityError,
    },
    /// A secret key's file is not one.
    #[error("{} cannot be used: {reason}", path.display())]
    BadKeyFile {
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The key is encrypted and nobody gave a passphrase.
    #[error("the key {} is encrypted; give its passphrase", path.display())]
    PassphraseNeeded { path: PathBuf },
    /// The passphrase is another one's.
    #[error("the passphrase does not open the key {}; try again", path.display())]
    WrongPassphrase { path: PathBuf },
}

impl KeysError {
    pub(crate) fn system(doing: &'static str, path: &Path, error: &std::io::Error) -> Self {
        let hints = [
            (ErrorKind::NotFound, "; check the name, and that its directory exists"),
            (
                ErrorKind::PermissionDenied,
                "; check who owns it and its directory, and as whom this program runs",
            ),
            (ErrorKind::StorageFull, "; make room on that disk"),
        ];
        let known = hints.iter().find(|(kind, _)| *kind == error.kind());
        let hint = known.map_or("", |(_, hint)| hint);
        Self::System { doing, path: path.to_owned(), reason: error.to_string(), hint }
    }
}
