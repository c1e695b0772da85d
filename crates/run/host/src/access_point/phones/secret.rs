//! The secret that hostapd and this program share.

use crate::private;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use guestright_error::{OrFail as _, RunError};
use rand::Rng as _;
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use zeroize::Zeroizing;

/// RFC 2865, section 3, wants 16 octets at least; hostapd takes the rest of a line, so nothing that ends one.
const LENGTH: std::ops::RangeInclusive<usize> = 16..=128;
/// 192 bits.
const CHANCE_BYTES: usize = 24;

pub(super) fn read_or_make(file: &Path) -> Result<Zeroizing<String>, RunError> {
    match std::fs::read_to_string(file) {
        Ok(text) => check(file, &Zeroizing::new(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => make(file),
        Err(error) => Err(error).or_config(|| format!("read {}", file.display())),
    }
}

fn make(file: &Path) -> Result<Zeroizing<String>, RunError> {
    let mut chance = Zeroizing::new([0; CHANCE_BYTES]);
    guestright_clock::rng().fill_bytes(&mut *chance);
    let secret = Zeroizing::new(URL_SAFE_NO_PAD.encode(*chance));
    if let Some(directory) = file.parent() {
        private::make_private_directory(directory)?;
    }
    private::create_private(file, secret.as_bytes())?;
    Ok(secret)
}

fn check(file: &Path, text: &str) -> Result<Zeroizing<String>, RunError> {
    let mode = std::fs::metadata(file).map(|metadata| metadata.permissions());
    if mode.map(|mode: Permissions| mode.mode() & 0o077).is_ok_and(|others| others != 0) {
        let sentence = format!("others than its owner may read {}", file.display());
        return Err(RunError::config(sentence).with_hint(format!("run: chmod 600 {}", file.display())));
    }
    let secret = text.trim();
    if !LENGTH.contains(&secret.len()) || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        let sentence =
            format!("{} has no secret: that is 16 to 128 visible ASCII characters", file.display());
        let hint = "remove the file, then this program makes another; hostapd's file needs the same";
        return Err(RunError::config(sentence).with_hint(hint));
    }
    Ok(Zeroizing::new(secret.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_for_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("state/radius.secret");
        let made = read_or_make(&file).unwrap();
        assert!(made.len() >= 32, "{} characters", made.len());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(read_or_make(&file).unwrap(), made);
        assert_ne!(read_or_make(&directory.path().join("other")).unwrap(), made);
    }

    #[test]
    fn what_is_no_secret_or_none_any_more_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("radius.secret");
        let read = |text: &str, mode| {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            read_or_make(&file).map(|secret| secret.to_string()).map_err(|error| error.sentence())
        };
        let refused = read("correct horse battery\n", 0o600).unwrap_err();
        assert!(refused.contains("no secret"), "it has blanks: {refused}");
        assert_eq!(read("correct-horse-battery\n", 0o600), Ok("correct-horse-battery".to_owned()));
        assert!(read("correct-horse-battery\n", 0o640).unwrap_err().contains("others"));
        for text in ["", "short", &"x".repeat(129), "sixteen-letters\u{e4}"] {
            assert!(read(text, 0o600).is_err(), "{text:?}");
        }
    }
}
