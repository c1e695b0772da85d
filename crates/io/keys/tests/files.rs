//! What the files promise, seen from outside.

#![expect(clippy::unwrap_used, reason = "a test may end at once")]

use guestright_identity::{Certificate, IdentityError, KeyId, RevocationList, Role, SecretKey, Suite};
use guestright_keys::{
    KeysError, Label, read_certificate, read_revocations, read_secret, read_to_limit, write_certificate,
    write_revocations, write_secret,
};
use guestright_units::UnixSeconds;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use zeroize::Zeroizing;

fn rng() -> StdRng {
    StdRng::seed_from_u64(1)
}

fn key() -> SecretKey {
    SecretKey::generate(Suite::Ed25519, &mut rng())
}

fn certificate(not_after: u64) -> Certificate {
    Certificate::issue(&key(), key().public(), Role::Member, UnixSeconds(1), UnixSeconds(not_after))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(directory: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn a_key_file_is_its_owners_alone_and_is_read_without_asking() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("member.key");
    write_secret(&path, &key(), None, &mut rng()).unwrap();
    assert_eq!(mode(&path), 0o600);
    let read = read_secret(&path, || panic!("nothing to ask")).unwrap();
    assert_eq!(read.public(), key().public());
}

#[test]
fn an_encrypted_key_opens_with_its_passphrase_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("team.key");
    write_secret(&path, &key(), Some("correct horse"), &mut rng()).unwrap();
    let read = |passphrase: Option<&str>| {
        let asked = passphrase.map(|text| Zeroizing::new(text.to_owned()));
        read_secret(&path, || asked).map(|key| key.public().clone())
    };
    assert_eq!(read(Some("correct horse")), Ok(key().public().clone()));
    assert_eq!(read(Some("horse")), Err(KeysError::WrongPassphrase { path: path.clone() }));
    assert_eq!(read(None), Err(KeysError::PassphraseNeeded { path: path.clone() }));
}

#[test]
fn a_key_is_never_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("member.key");
    fs::write(&path, "precious").unwrap();
    let refused = KeysError::Exists { path: path.clone() };
    assert_eq!(write_secret(&path, &key(), None, &mut rng()), Err(refused.clone()));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    let link = directory.path().join("link.key");
    std::os::unix::fs::symlink(directory.path().join("nowhere"), &link).unwrap();
    let refused = KeysError::Exists { path: link.clone() };
    assert_eq!(write_secret(&link, &key(), None, &mut rng()), Err(refused));
}

#[test]
fn a_key_that_others_can_read_or_change_is_refused_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("member.key");
    write_secret(&path, &key(), None, &mut rng()).unwrap();
    for mode in [0o640, 0o604, 0o620, 0o602, 0o777, 0o601] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let error = read_secret(&path, || None).unwrap_err();
        assert_eq!(error, KeysError::TooOpen { path: path.clone(), mode });
        let remedy = format!("run `chmod 600 {}`", path.display());
        assert!(error.to_string().contains(&remedy), "{error}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    assert!(read_secret(&path, || None).is_ok());
}

#[test]
fn what_is_not_a_key_file_is_refused_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("member.key");
    for text in [b"".as_slice(), b"hello", b"\xff\xfe"] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let error = read_secret(&path, || None).unwrap_err();
        assert!(matches!(error, KeysError::BadKeyFile { .. }), "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
    let error = read_secret(directory.path(), || None).unwrap_err();
    assert!(matches!(error, KeysError::NotAFile { .. }), "{error}");
    let nowhere = directory.path().join("no/such.key");
    for error in [
        read_secret(&nowhere, || None).unwrap_err(),
        write_secret(&nowhere, &key(), None, &mut rng()).unwrap_err(),
    ] {
        assert!(error.to_string().ends_with("check the name, and that its directory exists"), "{error}");
    }
}

#[test]
fn certificates_and_lists_are_replaced_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (directory.path().join("member.cert"), directory.path().join("team.revocations"));
    for number in [8, 9] {
        write_certificate(&one, &certificate(number)).unwrap();
        assert_eq!(read_certificate(&one), Ok(certificate(number)));
        let revoked = BTreeMap::from([(KeyId([7; 24]), UnixSeconds(3))]);
        let list = RevocationList::issue(&key(), number, UnixSeconds(4), revoked).unwrap();
        write_revocations(&two, &list).unwrap();
        assert_eq!(read_revocations(&two), Ok(list));
    }
    assert_eq!(names(directory.path()), ["member.cert", "team.revocations"]);
}

#[test]
fn a_list_as_long_as_allowed_fits_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("team.revocations");
    let id = |number: u64| {
        let mut id = [0xff; 24];
        id[..8].copy_from_slice(&number.to_be_bytes());
        (KeyId(id), UnixSeconds(u64::MAX))
    };
    let revoked = (0..RevocationList::ENTRIES_MAX as u64).map(id).collect();
    let list = RevocationList::issue(&key(), u64::MAX, UnixSeconds(4), revoked).unwrap();
    write_revocations(&path, &list).unwrap();
    assert_eq!(read_revocations(&path), Ok(list));
}

#[test]
fn a_failed_replacement_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("member.cert");
    fs::create_dir(&path).unwrap();
    let error = write_certificate(&path, &certificate(9)).unwrap_err();
    assert!(matches!(error, KeysError::System { .. }), "{error}");
    assert_eq!(names(directory.path()), ["member.cert"]);
}

#[test]
fn spoilt_files_are_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("member.cert");
    let mut bytes = certificate(9).as_bytes().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, Label::Certificate.armour(&bytes)).unwrap();
    let reason = IdentityError::BadSignature;
    let what = "certificate";
    assert_eq!(read_certificate(&path), Err(KeysError::Refused { what, path: path.clone(), reason }));
    let error = read_revocations(&path).unwrap_err();
    assert!(matches!(error, KeysError::Armour { .. }), "{error}");
    fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
    let error = read_certificate(&path).unwrap_err();
    assert!(matches!(error, KeysError::TooLarge { .. }), "{error}");
}

#[test]
fn no_file_is_read_beyond_its_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan");
    fs::write(&path, "12345").unwrap();
    assert_eq!(read_to_limit(&path, 5), Ok(b"12345".to_vec()));
    assert_eq!(read_to_limit(&path, 4), Err(KeysError::TooLarge { path: path.clone(), max: 4 }));
    assert!(matches!(read_to_limit(directory.path(), 4), Err(KeysError::NotAFile { .. })));
}
