//! Key, certificate and revocation files on disk.
//!
//! In: paths, keys, certificates. Out: the same, and [`KeysError`]s that name the file and say what to do.
//!
//! Invariants: a secret key's file is its owner's alone (mode 0600), is never overwritten, and is refused if others
//! can read or change it; certificate and revocation files are replaced as a whole or not at all; no file is read
//! beyond its limit; what was written is on the disk when the call returns.

mod armour;
mod error;
mod file;
mod secret;
mod signed;

pub use armour::{ArmourError, Label};
pub use error::KeysError;
pub use file::{read_to_limit, replace_private, sync_directory};
pub use secret::{read_secret, read_secret_text, write_secret};
pub use signed::{
    read_certificate, read_revocations, read_warrant, write_certificate, write_revocations, write_warrant,
};
