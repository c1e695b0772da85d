//! The committed test vectors still hold.

#![expect(clippy::unwrap_used, reason = "the files are ours")]

use guestright_credit::{Message as HoldMessage, Terms};
use guestright_identity::{
    AccessPoints, Certificate, Delegation, KeyId, PublicKey, RevocationList, SecretKey, Suite,
};
use guestright_receipt::{Bundle, Receipt, Registers, Rules, UncheckedReceipt};
use guestright_roaming::Message;
use guestright_roaming::message::Acknowledgement;
use guestright_units::{Bytes, UnixSeconds};
use guestright_vectors::actors::NOW;
use guestright_vectors::{self as vectors, field, hex, refusal};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors")
}

/// What the implementation in Python says; it must have nothing to complain of.
fn in_python(arguments: &[&Path]) -> String {
    let script = folder().join("check.py");
    let output = Command::new("python3").arg(script).args(arguments).output();
    let output = output.expect("python3 has to be installed: sh scripts/setup.sh test");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn committed(name: &str) -> Value {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn list(file: &Value, name: &str) -> Vec<Value> {
    let list = file[name].as_array().unwrap().clone();
    assert!(!list.is_empty());
    list
}

fn suite(object: &Value) -> Suite {
    object["suite"].as_str().unwrap().parse().unwrap()
}

fn number(object: &Value, name: &str) -> u64 {
    object[name].as_u64().unwrap()
}

#[test]
fn the_committed_files_are_what_the_generator_makes() {
    for (name, made) in vectors::files() {
        assert!(
            committed(name) == made,
            "{name} is stale: cargo run -p guestright-vectors --example vectors"
        );
    }
}

#[test]
fn keys_have_their_public_halves_and_names() {
    for vector in list(&committed("keys.json"), "keys") {
        let secret = SecretKey::from_bytes(suite(&vector), &field(&vector, "secret")).unwrap();
        check_key(&vector, secret.public());
    }
}

fn check_key(vector: &Value, key: &PublicKey) {
    assert_eq!(hex(key.as_bytes()), vector["public"]);
    assert_eq!(key.id().to_string(), vector["id"]);
    assert_eq!(Some(key.suite().algorithm()), vector["algorithm"].as_i64());
}

fn check_certificate(vector: &Value) -> Certificate {
    let certificate = Certificate::parse(&field(vector, "encoded")).unwrap();
    check_key(&vector["team"], certificate.team());
    check_key(&vector["subject"], certificate.subject());
    assert_eq!(certificate.role().to_string(), vector["role"]);
    assert_eq!(certificate.not_before().0, number(vector, "not_before"));
    assert_eq!(certificate.not_after().0, number(vector, "not_after"));
    assert_eq!(certificate.reference().to_string(), vector["reference"]);
    certificate
}

fn check_receipt(vector: &Value, certificate: &Certificate) -> Receipt {
    let rules = Rules { legacy_suites: true, ..Rules::default() };
    let encoded = field(vector, "encoded");
    let receipt = rules.verify(UncheckedReceipt::parse(&encoded).unwrap(), certificate, NOW).unwrap();
    assert_eq!(receipt.as_bytes(), encoded);
    assert_eq!(receipt.provider().to_string(), vector["provider"]);
    assert_eq!(receipt.consumer().to_string(), vector["consumer"]);
    assert_eq!(receipt.started().0, number(vector, "started"));
    assert_eq!(receipt.weight().0, number(vector, "weight"));
    let hold = receipt.hold().map(|hold| (hex(&hold.id.0).into(), hold.weight.0));
    assert_eq!(hold, vector.get("hold").map(|id| (id.clone(), number(vector, "hold_weight"))));
    receipt
}

#[test]
fn certificates_are_read_and_written_again() {
    for vector in list(&committed("certificates.json"), "certificates") {
        let certificate = check_certificate(&vector);
        assert_eq!(certificate.as_bytes(), field(&vector, "encoded"));
    }
}

#[test]
fn revocation_lists_are_read_and_written_again() {
    for vector in list(&committed("revocations.json"), "revocations") {
        let read = RevocationList::parse(&field(&vector, "encoded")).unwrap();
        assert_eq!(
            (read.sequence(), read.issued().0),
            (number(&vector, "sequence"), number(&vector, "issued"))
        );
        let entry = |entry: &Value| {
            let id = vectors::unhex(entry[0].as_str().unwrap());
            (KeyId(id.try_into().unwrap()), UnixSeconds(entry[1].as_u64().unwrap()))
        };
        let want: BTreeMap<_, _> = vector["revoked"].as_array().unwrap().iter().map(entry).collect();
        assert_eq!(read.revoked(), &want);
    }
}

#[test]
fn delegations_are_read_and_written_again() {
    for vector in list(&committed("delegations.json"), "delegations") {
        let encoded = field(&vector, "encoded");
        let read = Delegation::parse(&encoded).unwrap();
        check_key(&vector["member"], read.member());
        check_key(&vector["delegate"], read.delegate());
        let terms = read.terms();
        assert_eq!(terms.bytes_per_day.0, number(&vector, "bytes_per_day"));
        assert_eq!(terms.not_before.0, number(&vector, "not_before"));
        assert_eq!(terms.not_after.0, number(&vector, "not_after"));
        let teams = match &terms.access_points {
            AccessPoints::Any => Vec::new(),
            AccessPoints::Of(teams) => teams.iter().map(|team| Value::from(team.to_string())).collect(),
        };
        assert_eq!(Some(&teams), vector["teams"].as_array());
        assert_eq!(read.as_bytes(), encoded);
    }
}

#[test]
fn receipts_count_and_the_larger_weight_counts_more() {
    let file = committed("receipts.json");
    for vector in list(&file, "receipts") {
        let certificate = Certificate::parse(&field(&vector, "certificate")).unwrap();
        let receipt = check_receipt(&vector, &certificate);
        assert_eq!(receipt.weight(), Bytes(number(&vector, "weight")));
    }
    let certificate =
        |encoded: &Value| Certificate::parse(&vectors::unhex(encoded.as_str().unwrap())).unwrap();
    let certificates: Vec<_> = list(&file, "certificates").iter().map(certificate).collect();
    for vector in list(&file, "supersession") {
        let mut registers = Registers::default();
        for encoded in list(&vector, "receipts") {
            let encoded = vectors::unhex(encoded.as_str().unwrap());
            let unchecked = UncheckedReceipt::parse(&encoded).unwrap();
            let own = certificates.iter().find(|known| known.reference() == unchecked.certificate()).unwrap();
            let _ = registers.admit(Rules::default().verify(unchecked, own, NOW).unwrap());
        }
        let counts: Vec<Value> = registers.iter().map(|receipt| hex(receipt.as_bytes()).into()).collect();
        assert_eq!(counts, list(&vector, "counts"), "{}", vector["name"]);
    }
}

#[test]
fn bundles_terms_and_messages_are_read_and_written_again() {
    for vector in list(&committed("bundles.json"), "bundles") {
        let encoded = field(&vector, "encoded");
        assert_eq!(Bundle::parse(&encoded).unwrap().emit(), encoded);
    }
    for vector in list(&committed("acknowledgements.json"), "acknowledgements") {
        let certificate = Certificate::parse(&field(&vector, "certificate")).unwrap();
        let terms = Acknowledgement::open(&field(&vector, "encoded"), &certificate).unwrap();
        assert_eq!(terms.class.name(), vector["class"]);
    }
    for vector in list(&committed("messages.json"), "messages") {
        let bytes = field(&vector, "bytes");
        let message = Message::parse(&bytes).unwrap();
        assert_eq!(message.method(), vector["method"]);
        assert_eq!(message.emit(), bytes);
    }
}

#[test]
fn terms_of_holds_have_their_names_and_messages_are_read_and_written_again() {
    let file = committed("holds.json");
    for vector in list(&file, "terms") {
        let terms = Terms::parse(&field(&vector, "encoded")).unwrap();
        let between: Vec<Value> = terms.between.iter().map(|team| team.to_string().into()).collect();
        assert_eq!(hex(&terms.id().0), vector["id"], "{}", vector["name"]);
        assert_eq!(
            (Some(&between), terms.amount.0),
            (vector["between"].as_array(), number(&vector, "amount"))
        );
    }
    for vector in list(&file, "messages") {
        let encoded = field(&vector, "encoded");
        let message = HoldMessage::parse(&encoded).unwrap();
        assert_eq!(message.emit(), encoded);
        assert_eq!(hex(&message.id().0), vector["id"], "{}", vector["name"]);
    }
}

#[test]
fn what_has_to_be_refused_is_refused_for_its_reason() {
    for vector in list(&committed("negative.json"), "refused") {
        assert_eq!(refusal(&vector), vector["kind"], "{}: {}", vector["object"], vector["name"]);
    }
}

#[cfg(feature = "legacy-suites")]
#[test]
fn the_laboratory_still_verifies_what_it_signed_once() {
    let suites = list(&committed("legacy.json"), "suites");
    assert_eq!(suites.len(), 4);
    for vector in suites {
        for whose in ["team", "member"] {
            let secret = SecretKey::from_bytes(suite(&vector), &field(&vector[whose], "secret")).unwrap();
            check_key(&vector[whose], secret.public());
        }
        let certificate = check_certificate(&vector["certificate"]);
        check_receipt(&vector["receipt"], &certificate);
    }
}

#[test]
fn an_implementation_in_python_reads_every_vector() {
    let text = in_python(&[]);
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(text.contains(&name), "{name}: {text}");
    }
    assert!(text.contains("every vector holds"), "{text}");
}

#[test]
fn an_implementation_in_python_has_the_same_verdict_on_5000_mutations() {
    let file = vectors::mutations(5_000, &committed("legacy.json"));
    let cases = list(&file, "cases");
    assert_eq!(cases.len(), 5_000);
    let kinds: BTreeSet<&str> = cases.iter().map(|case| case["verdict"].as_str().unwrap()).collect();
    let mut wanted = BTreeSet::from([
        "accepted",
        "bad-key",
        "body",
        "certificate",
        "exceeded",
        "expired-certificate",
        "forged",
        "future-dated",
        "malformed",
        "not-canonical",
        "not-entitled",
        "oversized",
        "self-trade",
        "terms",
        "too-many",
        "too-old",
        "truncated",
        "unknown-certificate",
        "unknown-suite",
        "wrong-suite",
    ]);
    if cfg!(feature = "legacy-suites") {
        wanted.insert("legacy-suite");
    }
    assert_eq!(kinds, wanted, "each kind that there is, and no other");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutations.json");
    std::fs::write(&path, file.to_string()).unwrap();
    let text = in_python(&[&path]);
    assert!(text.contains("5000 cases, 0 with another verdict"), "{text}");
}
