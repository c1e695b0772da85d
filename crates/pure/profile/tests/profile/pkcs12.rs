//! OpenSSL 3 and Python's cryptography open the files.

use crate::judge::{python, read, run, text};
use crate::phone::{CERTIFICATE, KEY, seed};
use guestright_profile::{PrivateKey, Secret, pkcs12};
use guestright_units::Seed;

fn file(password: Option<&Secret>, seed: &Seed) -> Vec<u8> {
    pkcs12::encode("b3x9q-w2m6t", CERTIFICATE, &PrivateKey::from_pkcs8(KEY), password, seed).to_vec()
}

#[test]
fn openssl_reads_the_same_key_and_certificate_without_its_legacy_provider() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("phone.p12");
    let secret = Secret::password(&seed());
    for (password, given) in
        [(None, "pass:".to_owned()), (Some(&secret), format!("pass:{}", secret.expose()))]
    {
        std::fs::write(&path, file(password, &seed())).unwrap();
        let common = ["pkcs12", "-in", text(&path), "-passin", &given, "-noenc"];
        let key = read("openssl", &[&common[..], &["-nocerts"]].concat(), b"");
        let key = run("openssl", &["pkcs8", "-topk8", "-nocrypt", "-outform", "DER"], key.as_bytes()).stdout;
        assert_eq!(key, KEY);
        let certificate = read("openssl", &[&common[..], &["-nokeys"]].concat(), b"");
        let certificate = run("openssl", &["x509", "-outform", "DER"], certificate.as_bytes()).stdout;
        assert_eq!(certificate, CERTIFICATE);
    }
}

#[test]
fn openssl_sees_what_iphones_and_androids_can_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("phone.p12");
    std::fs::write(&path, file(None, &seed())).unwrap();
    let output = run("openssl", &["pkcs12", "-in", text(&path), "-passin", "pass:", "-info", "-noout"], b"");
    let info = String::from_utf8(output.stderr).unwrap();
    assert!(info.contains("MAC: sha1, Iteration 2048"), "{info}");
    assert_eq!(info.matches("pbeWithSHA1And3-KeyTripleDES-CBC, Iteration 2048").count(), 2, "{info}");
    // One name for both: Android counts names, and takes one.
    let output = read("openssl", &["pkcs12", "-in", text(&path), "-passin", "pass:", "-noenc"], b"");
    assert_eq!(output.matches("friendlyName: b3x9q-w2m6t").count(), 2, "{output}");
    let ids: Vec<&str> = output.lines().filter(|line| line.contains("localKeyID")).collect();
    assert!(ids.len() == 2 && ids[0] == ids[1], "{output}");
}

#[test]
fn a_wrong_password_opens_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("phone.p12");
    std::fs::write(&path, file(Some(&Secret::new("right")), &seed())).unwrap();
    for wrong in ["pass:wrong", "pass:", "pass:Right"] {
        assert!(
            !run("openssl", &["pkcs12", "-in", text(&path), "-passin", wrong, "-noout"], b"")
                .status
                .success()
        );
    }
}

/// The same salts for another key would be a mistake.
#[test]
fn seeds_make_files_differ_and_nothing_else_does() {
    assert_eq!(file(None, &seed()), file(None, &seed()));
    let (one, other) = (file(None, &seed()), file(None, &Seed::from_number(20)));
    assert_ne!(one, other);
    assert_eq!(one.len(), other.len());
}

#[test]
fn the_certificate_and_the_key_are_encrypted() {
    let file = file(None, &seed());
    for plain in [CERTIFICATE, KEY] {
        assert!(!file.windows(16).any(|window| window == &plain[40..56]));
    }
}

#[test]
fn python_reads_passwords_in_any_writing() {
    let secret = Secret::new("pässwörd 😀");
    let script = "import sys\nfrom cryptography.hazmat.primitives.serialization import pkcs12\n\
        key, certificate, more = pkcs12.load_key_and_certificates(sys.stdin.buffer.read(), 'pässwörd 😀'.encode())\n\
        print(key.curve.name, certificate.subject.rfc4514_string(), len(more))";
    assert_eq!(python(script, &file(Some(&secret), &seed())), "secp256r1 CN=b3x9q-w2m6t 0\n");
}
