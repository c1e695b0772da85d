//! What Android would read: the message by Python's email, the tree by the rules of AOSP's `PpsMoParser`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roxmltree::{Document, Node};

use crate::judge::{is_well_formed, python, read, run, text};
use crate::phone::{AUTHORITY, CERTIFICATE, HOSTILE, KEY, REALM, phone, seed};
use guestright_profile::{Phone, android};

/// The message in the base64 around it; then each part's type, coding and content.
const PARTS: &str = r#"
import sys, base64, email, email.policy
outer = email.message_from_bytes(base64.b64decode(sys.stdin.buffer.read()), policy=email.policy.default)
print(*(type(defect).__name__ for defect in outer.defects))
print(outer.get_content_type(), outer["Content-Transfer-Encoding"])
for part in outer.iter_parts():
    assert not part.defects, part.defects
    print(part.get_content_type(), part["Content-Transfer-Encoding"], part.get_payload(decode=True).hex())
"#;

/// Every part of a file, by its type.
fn parts(phone: &Phone) -> BTreeMap<String, Vec<u8>> {
    let printed = python(PARTS, android::wifi_config(phone, &seed()).unwrap().as_bytes());
    let mut lines = printed.lines();
    // MIME allows no coding of a multipart message (RFC 2045, section 6.4), and Android takes none without it.
    assert_eq!(lines.next(), Some("InvalidMultipartContentTransferEncodingDefect"));
    assert_eq!(lines.next(), Some("multipart/mixed base64"));
    let part = |line: &str| {
        let [kind, "base64", content] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        (kind.to_owned(), data_encoding::HEXLOWER.decode(content.as_bytes()).unwrap())
    };
    let parts: BTreeMap<_, _> = lines.map(part).collect();
    let kinds: Vec<&str> = parts.keys().map(String::as_str).collect();
    let wanted = ["application/x-passpoint-profile", "application/x-pkcs12", "application/x-x509-ca-cert"];
    assert_eq!(kinds, wanted);
    parts
}

/// The tree as AOSP sees it: a node has one name, and either one value or nodes of different names. Anything else is
/// refused (`buildPpsNode`).
fn leaves(profile: &[u8]) -> BTreeMap<String, String> {
    fn walk(node: Node<'_, '_>, path: &str, found: &mut BTreeMap<String, String>) {
        let elements: Vec<_> = node.children().filter(Node::is_element).collect();
        let text = |tag| {
            let mut all = elements.iter().filter(|inner| inner.tag_name().name() == tag);
            let first = all.next().map(|inner| inner.text().unwrap_or_default().to_owned());
            assert!(all.next().is_none(), "{tag} twice in {path}");
            first
        };
        let path = format!("{path}/{}", text("NodeName").unwrap());
        let inner: Vec<_> = elements.iter().filter(|inner| inner.tag_name().name() == "Node").collect();
        let others =
            elements.iter().filter(|inner| !matches!(inner.tag_name().name(), "Node" | "NodeName" | "Value"));
        assert!(
            others
                .clone()
                .all(|it| it.tag_name().name() == "RTProperties" && path == "/PerProviderSubscription")
        );
        match text("Value") {
            Some(value) => {
                assert!(inner.is_empty(), "{path} has a value and nodes");
                assert_eq!(found.insert(path.clone(), value), None, "{path} twice");
            }
            None => {
                assert!(!inner.is_empty(), "{path} has nothing");
                inner.into_iter().for_each(|inner| walk(*inner, &path, found));
            }
        }
    }
    let profile = std::str::from_utf8(profile).unwrap();
    let document = Document::parse(profile).unwrap();
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "MgmtTree");
    let elements: Vec<_> = root.children().filter(Node::is_element).collect();
    let tags: Vec<&str> = elements.iter().map(|element| element.tag_name().name()).collect();
    assert_eq!(tags, ["VerDTD", "Node"]);
    let kind =
        elements[1].descendants().find(|node| node.tag_name().name() == "DDFName").and_then(|it| it.text());
    assert_eq!(kind, Some("urn:wfa:mo:hotspot2dot0-perprovidersubscription:1.0"));
    let mut found = BTreeMap::new();
    walk(elements[1], "", &mut found);
    found
}

fn profile(phone: &Phone) -> BTreeMap<String, String> {
    let profile = &parts(phone)["application/x-passpoint-profile"];
    assert!(is_well_formed(profile));
    leaves(profile)
}

#[test]
fn the_profile_has_what_androids_parser_knows_and_nothing_else() {
    let leaves = profile(&phone());
    let fingerprint =
        run("openssl", &["x509", "-inform", "DER", "-noout", "-fingerprint", "-sha256"], CERTIFICATE);
    let fingerprint = String::from_utf8(fingerprint.stdout).unwrap();
    let fingerprint = fingerprint.trim().split('=').nth(1).unwrap().replace(':', "").to_lowercase();
    let root = "/PerProviderSubscription/i001";
    let wanted: BTreeMap<String, String> = [
        ("HomeSP/FriendlyName", "Family Miller"),
        ("HomeSP/FQDN", REALM),
        ("HomeSP/RoamingConsortiumOI", "021122"),
        ("Credential/CreationDate", "2026-11-20T12:02:03Z"),
        ("Credential/ExpirationDate", "2027-11-20T12:02:03Z"),
        ("Credential/Realm", REALM),
        ("Credential/DigitalCertificate/CertificateType", "x509v3"),
        ("Credential/DigitalCertificate/CertSHA256Fingerprint", &fingerprint),
    ]
    .into_iter()
    .map(|(path, value)| (format!("{root}/{path}"), value.to_owned()))
    .collect();
    assert_eq!(leaves, wanted);
    let without = profile(&Phone { consortiums: Vec::new(), ..phone() });
    assert_eq!(without.len(), wanted.len() - 1);
}

/// `domain_suffix_match` of the provider's domain is what Android checks the server by.
#[test]
fn the_domain_is_a_suffix_of_the_servers_name() {
    let domain = &profile(&phone())["/PerProviderSubscription/i001/HomeSP/FQDN"];
    assert!(phone().server.ends_with(&format!(".{domain}")));
    for server in ["home.example.org", "xk7f2.guestright.invalid", "k7f2.guestright.invalid.example.org"] {
        let wrong = Phone { server: server.to_owned(), ..phone() };
        assert!(
            android::wifi_config(&wrong, &seed()).unwrap_err().to_string().contains("Android"),
            "{server}"
        );
    }
}

#[test]
fn certificates_and_key_are_those_of_the_phone_without_a_password() {
    let parts = parts(&phone());
    assert_eq!(parts["application/x-x509-ca-cert"], AUTHORITY);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("phone.p12");
    std::fs::write(&path, &parts["application/x-pkcs12"]).unwrap();
    let key = read("openssl", &["pkcs12", "-in", text(&path), "-passin", "pass:", "-noenc", "-nocerts"], b"");
    let key = run("openssl", &["pkcs8", "-topk8", "-nocrypt", "-outform", "DER"], key.as_bytes()).stdout;
    assert_eq!(key, KEY);
}

/// AOSP reads lines: the first boundary has to be a line of its own, the last one too (`parseMimeMultipartMessage`).
#[test]
fn boundaries_are_lines() {
    let file = android::wifi_config(&phone(), &seed()).unwrap();
    assert!(file.lines().all(|line| line.len() <= 76));
    let message = STANDARD.decode(file.replace('\n', "")).unwrap();
    let message = String::from_utf8(message).unwrap();
    let boundaries: Vec<&str> = message.lines().filter(|line| line.starts_with("--")).collect();
    let between = "--{guestright}";
    assert_eq!(boundaries, [between, between, between, "--{guestright}--"]);
}

#[test]
fn hostile_names_come_back_on_one_line() {
    for name in HOSTILE {
        let leaves = profile(&Phone { team: name.to_owned(), ..phone() });
        let words: Vec<&str> = name.split_whitespace().collect();
        assert_eq!(leaves["/PerProviderSubscription/i001/HomeSP/FriendlyName"], words.join(" "));
        assert_eq!(leaves.len(), 8);
    }
}
