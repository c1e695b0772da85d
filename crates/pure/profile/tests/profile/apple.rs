//! Python's plistlib and xmllint read the profiles, and every key has the type that Apple's schema gives it.

use std::collections::BTreeMap;

use crate::judge::{is_well_formed, python};
use crate::phone::{AUTHORITY, HOSTILE, ike, phone, seed};
use guestright_profile::{Elsewhere, IkeAuthentication, Phone, Secret, Ssid, TlsVersions, Uuid, apple};
use guestright_units::Seed;

/// Every leaf: its path, its type, its value as JSON.
const FLATTEN: &str = r#"
import sys, plistlib, json, datetime
def walk(path, value):
    if isinstance(value, dict):
        kind = value.get("PayloadType", "")
        for key, inner in value.items():
            walk(path + "/" + key, inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            kind = inner.get("PayloadIdentifier", "").rsplit(".", 1)[-1] if path == "/PayloadContent" else ""
            walk("/" + kind if kind else path + "[]", inner)
    else:
        kind = {bool: "boolean", int: "integer", float: "real", str: "string", bytes: "data",
                datetime.datetime: "date"}[type(value)]
        text = value.hex() if kind == "data" else value.isoformat() if kind == "date" else value
        print(path, kind, json.dumps(text, ensure_ascii=False), sep="\t")
walk("", plistlib.loads(sys.stdin.buffer.read(), fmt=plistlib.FMT_XML))
"#;

/// Keys and types of `mdm/profiles/*.yaml` in apple/device-management, commit b6202ca (October 2024): those that we write.
#[rustfmt::skip]
const SCHEMA: &[(&str, &str, &str)] = &[
    // CommonPayloadKeys.yaml and TopLevel.yaml
    ("*", "PayloadType", "string"), ("*", "PayloadVersion", "integer"), ("*", "PayloadIdentifier", "string"),
    ("*", "PayloadUUID", "string"), ("*", "PayloadDisplayName", "string"),
    ("", "PayloadDescription", "string"), ("", "PayloadOrganization", "string"), ("", "RemovalDate", "date"),
    // com.apple.security.root.yaml, com.apple.security.pkcs12.yaml
    ("authority", "PayloadCertificateFileName", "string"), ("authority", "PayloadContent", "data"),
    ("identity", "PayloadCertificateFileName", "string"), ("identity", "PayloadContent", "data"),
    ("identity", "Password", "string"),
    // com.apple.wifi.managed.yaml
    ("wifi", "SSID_STR", "string"), ("wifi", "HIDDEN_NETWORK", "boolean"),
    ("passpoint", "IsHotspot", "boolean"), ("passpoint", "ServiceProviderRoamingEnabled", "boolean"),
    ("passpoint", "DisplayedOperatorName", "string"), ("passpoint", "DomainName", "string"),
    ("passpoint", "NAIRealmNames[]", "string"), ("passpoint", "RoamingConsortiumOIs[]", "string"),
    ("wifi|passpoint", "AutoJoin", "boolean"), ("wifi|passpoint", "CaptiveBypass", "boolean"),
    ("wifi|passpoint", "ProxyType", "string"), ("wifi|passpoint", "EncryptionType", "string"),
    ("wifi|passpoint", "PayloadCertificateUUID", "string"),
    ("wifi|passpoint", "EAPClientConfiguration/AcceptEAPTypes[]", "integer"),
    ("wifi|passpoint", "EAPClientConfiguration/UserName", "string"),
    ("wifi|passpoint", "EAPClientConfiguration/TLSCertificateIsRequired", "boolean"),
    ("wifi|passpoint", "EAPClientConfiguration/TLSTrustedServerNames[]", "string"),
    ("wifi|passpoint", "EAPClientConfiguration/PayloadCertificateAnchorUUID[]", "string"),
    ("wifi|passpoint", "EAPClientConfiguration/TLSMinimumVersion", "string"),
    ("wifi|passpoint", "EAPClientConfiguration/TLSMaximumVersion", "string"),
    // com.apple.vpn.managed.yaml
    ("tunnel", "UserDefinedName", "string"), ("tunnel", "VPNType", "string"),
    ("tunnel", "IKEv2/RemoteAddress", "string"), ("tunnel", "IKEv2/RemoteIdentifier", "string"),
    ("tunnel", "IKEv2/LocalIdentifier", "string"), ("tunnel", "IKEv2/AuthenticationMethod", "string"),
    ("tunnel", "IKEv2/SharedSecret", "string"), ("tunnel", "IKEv2/ExtendedAuthEnabled", "integer"),
    ("tunnel", "IKEv2/AuthName", "string"), ("tunnel", "IKEv2/AuthPassword", "string"),
    ("tunnel", "IKEv2/PayloadCertificateUUID", "string"), ("tunnel", "IKEv2/CertificateType", "string"),
    ("tunnel", "IKEv2/ServerCertificateIssuerCommonName", "string"),
    ("tunnel", "IKEv2/ServerCertificateCommonName", "string"),
    ("tunnel", "IKEv2/EnablePFS", "integer"), ("tunnel", "IKEv2/DisableMOBIKE", "integer"),
    ("tunnel", "IKEv2/DeadPeerDetectionRate", "string"), ("tunnel", "IKEv2/OnDemandEnabled", "integer"),
    ("tunnel", "IKEv2/IKESecurityAssociationParameters/EncryptionAlgorithm", "string"),
    ("tunnel", "IKEv2/IKESecurityAssociationParameters/IntegrityAlgorithm", "string"),
    ("tunnel", "IKEv2/IKESecurityAssociationParameters/DiffieHellmanGroup", "integer"),
    ("tunnel", "IKEv2/ChildSecurityAssociationParameters/EncryptionAlgorithm", "string"),
    ("tunnel", "IKEv2/ChildSecurityAssociationParameters/IntegrityAlgorithm", "string"),
    ("tunnel", "IKEv2/ChildSecurityAssociationParameters/DiffieHellmanGroup", "integer"),
    ("tunnel", "IKEv2/OnDemandRules[]/Action", "string"), ("tunnel", "IKEv2/OnDemandRules[]/InterfaceTypeMatch", "string"),
    ("tunnel", "IKEv2/OnDemandRules[]/SSIDMatch[]", "string"), ("tunnel", "IKEv2/OnDemandRules[]/DNSDomainMatch[]", "string"),
    ("tunnel", "IKEv2/OnDemandRules[]/URLStringProbe", "string"),
];

/// Where the schema has a list of what may stand there.
#[rustfmt::skip]
const RANGES: &[(&str, &[&str])] = &[
    ("/PayloadType", &["Configuration"]), ("/PayloadVersion", &["1"]),
    ("EncryptionType", &["WEP", "WPA", "WPA2", "WPA3", "Any", "None"]), ("ProxyType", &["None", "Manual", "Auto"]),
    ("AcceptEAPTypes[]", &["13", "17", "18", "21", "23", "25", "43"]),
    ("EAPClientConfiguration/TLSMinimumVersion", &["1.0", "1.1", "1.2", "1.3"]),
    ("EAPClientConfiguration/TLSMaximumVersion", &["1.0", "1.1", "1.2", "1.3"]),
    ("VPNType", &["VPN", "L2TP", "IPSec", "IKEv2", "AlwaysOn", "TransparentProxy"]),
    ("AuthenticationMethod", &["None", "SharedSecret", "Certificate"]),
    ("CertificateType", &["RSA", "ECDSA256", "ECDSA384", "ECDSA521", "RSA-PSS"]),
    ("DeadPeerDetectionRate", &["None", "Low", "Medium", "High"]),
    ("ExtendedAuthEnabled", &["0", "1"]), ("OnDemandEnabled", &["0", "1"]), ("EnablePFS", &["0", "1"]),
    ("DisableMOBIKE", &["0", "1"]),
    ("EncryptionAlgorithm", &["AES-128", "AES-256", "AES-128-GCM", "AES-256-GCM", "ChaCha20Poly1305"]),
    ("IntegrityAlgorithm", &["SHA2-256", "SHA2-384", "SHA2-512"]),
    ("DiffieHellmanGroup", &["14", "15", "16", "17", "18", "19", "20", "21", "31", "32"]),
    ("OnDemandRules[]/Action", &["Allow", "Connect", "Disconnect", "EvaluateConnection", "Ignore"]),
    ("InterfaceTypeMatch", &["Ethernet", "WiFi", "Cellular"]),
];

/// What the schema wants to be there.
#[rustfmt::skip]
const REQUIRED: &[(&str, &[&str])] = &[
    ("*", &["PayloadType", "PayloadVersion", "PayloadIdentifier", "PayloadUUID"]),
    ("wifi|passpoint", &["EAPClientConfiguration/AcceptEAPTypes[]"]),
    ("tunnel", &["UserDefinedName", "VPNType", "IKEv2/RemoteAddress", "IKEv2/LocalIdentifier",
        "IKEv2/RemoteIdentifier", "IKEv2/AuthenticationMethod", "IKEv2/OnDemandRules[]/Action"]),
    ("authority", &["PayloadContent"]), ("identity", &["PayloadContent"]),
];

/// Values by path, and the type of each.
type Leaves = BTreeMap<String, Vec<(String, String)>>;

fn leaves(phone: &Phone) -> Leaves {
    let text = apple::mobileconfig(phone, &seed()).unwrap();
    assert!(is_well_formed(text.as_bytes()), "{}", text.as_str());
    let mut leaves = Leaves::new();
    for line in python(FLATTEN, text.as_bytes()).lines() {
        let [path, kind, value] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let value: serde_json::Value = serde_json::from_str(value).unwrap();
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        leaves.entry(path.to_owned()).or_default().push((kind.to_owned(), value));
    }
    leaves
}

fn values<'a>(leaves: &'a Leaves, path: &str) -> Vec<&'a str> {
    leaves.get(path).into_iter().flatten().map(|(_, value)| value.as_str()).collect()
}

fn is_of(pattern: &str, payload: &str) -> bool {
    pattern == "*" || pattern.split('|').any(|one| one == payload)
}

/// The payload that a path is in, and the rest of it.
fn split(path: &str) -> (&str, &str) {
    let inner = path.strip_prefix('/').unwrap();
    match inner.split_once('/') {
        Some((payload @ ("authority" | "identity" | "wifi" | "passpoint" | "tunnel"), rest)) => {
            (payload, rest)
        }
        _ => ("", inner),
    }
}

fn assert_is_of_the_schema(leaves: &Leaves) {
    for (path, entries) in leaves {
        let (payload, key) = split(path);
        let wanted = SCHEMA.iter().find(|(pattern, name, _)| is_of(pattern, payload) && *name == key);
        let (_, _, wanted) = wanted.unwrap_or_else(|| panic!("{path} is not in the schema"));
        for (kind, value) in entries {
            assert_eq!(kind, wanted, "{path}");
            let range = RANGES
                .iter()
                .find(|(end, _)| path.ends_with(end) && (payload.is_empty() || !end.starts_with('/')));
            assert!(range.is_none_or(|(_, range)| range.contains(&value.as_str())), "{path}: {value}");
        }
    }
    let payloads: std::collections::BTreeSet<&str> = leaves.keys().map(|path| split(path).0).collect();
    for payload in payloads {
        for key in REQUIRED.iter().filter(|(pattern, _)| is_of(pattern, payload)).flat_map(|(_, keys)| *keys)
        {
            let path = if payload.is_empty() { format!("/{key}") } else { format!("/{payload}/{key}") };
            assert!(leaves.contains_key(&path), "{path} is missing");
        }
    }
}

/// One of each kind.
fn phones() -> [Phone; 5] {
    let with = |authentication| Phone { ike: Some(ike(authentication)), ..phone() };
    let mut everywhere = phone();
    everywhere.ike.as_mut().unwrap().on_demand.elsewhere = Elsewhere::Tunnel;
    [
        phone(),
        everywhere,
        with(IkeAuthentication::Password(Secret::new("secret-of-alice"))),
        with(IkeAuthentication::Certificate),
        Phone { ike: None, consortiums: Vec::new(), tls: TlsVersions::Only12, ..phone() },
    ]
}

#[test]
fn every_key_has_the_type_that_apple_gives_it() {
    for phone in phones() {
        let leaves = leaves(&phone);
        assert_is_of_the_schema(&leaves);
        let kinds: Vec<&str> = ["authority", "identity", "wifi", "passpoint", "tunnel"]
            .into_iter()
            .flat_map(|payload| values(&leaves, &format!("/{payload}/PayloadType")))
            .collect();
        let wifi = "com.apple.wifi.managed";
        let wanted =
            ["com.apple.security.root", "com.apple.security.pkcs12", wifi, wifi, "com.apple.vpn.managed"];
        assert_eq!(kinds, wanted[..if phone.ike.is_some() { 5 } else { 4 }]);
    }
}

#[test]
fn references_lead_to_the_payloads_that_they_mean() {
    let with = Phone { ike: Some(ike(IkeAuthentication::Certificate)), ..phone() };
    let leaves = leaves(&with);
    let authority = values(&leaves, "/authority/PayloadUUID");
    let identity = values(&leaves, "/identity/PayloadUUID");
    for payload in ["wifi", "passpoint"] {
        let anchors = format!("/{payload}/EAPClientConfiguration/PayloadCertificateAnchorUUID[]");
        assert_eq!(values(&leaves, &anchors), authority);
        assert_eq!(values(&leaves, &format!("/{payload}/PayloadCertificateUUID")), identity);
    }
    assert_eq!(values(&leaves, "/tunnel/IKEv2/PayloadCertificateUUID"), identity);
    let uuids: std::collections::BTreeSet<&str> = leaves
        .iter()
        .filter(|(path, _)| path.ends_with("PayloadUUID"))
        .map(|(_, it)| it[0].1.as_str())
        .collect();
    assert_eq!(uuids.len(), 6, "each has its own");
    assert_eq!(values(&leaves, "/authority/PayloadContent"), [data_of(AUTHORITY)]);
}

fn data_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_key_in_a_profile_opens_with_the_password_beside_it() {
    let text = apple::mobileconfig(&phone(), &seed()).unwrap();
    let script = "import sys, plistlib\nfrom cryptography.hazmat.primitives.serialization import pkcs12\n\
        for payload in plistlib.loads(sys.stdin.buffer.read())['PayloadContent']:\n\
        \tif payload['PayloadType'] == 'com.apple.security.pkcs12':\n\
        \t\tkey, certificate, _ = pkcs12.load_key_and_certificates(payload['PayloadContent'], payload['Password'].encode())\n\
        \t\tprint(certificate.subject.rfc4514_string(), certificate.public_key() == key.public_key())";
    assert_eq!(python(script, text.as_bytes()), "CN=b3x9q-w2m6t True\n");
}

/// Identifiers and UUIDs say whether a profile takes the place of another one.
#[test]
fn a_renewed_profile_takes_the_place_of_the_old_one_and_no_other_does() {
    let names = |phone: &Phone| {
        let leaves = leaves(phone);
        let is_name = |path: &&String| path.ends_with("PayloadUUID") || path.ends_with("PayloadIdentifier");
        leaves.keys().filter(is_name).map(|path| leaves[path][0].1.clone()).collect::<Vec<_>>()
    };
    let renewed = Phone { not_after: phone().not_after.plus(86_400), label: "other".to_owned(), ..phone() };
    assert_eq!(names(&phone()), names(&renewed));
    let other = names(&Phone { uuid: Uuid::from_random([7; 16]), ..phone() });
    assert!(names(&phone()).iter().all(|name| !other.contains(name)));
}

/// Design note 0014: whoever waits for the tunnel must not be waited for by it.
#[test]
fn nothing_on_participating_wifi_waits_for_an_answer_from_the_internet() {
    for phone in phones() {
        let leaves = leaves(&phone);
        for payload in ["wifi", "passpoint"] {
            let bypass = values(&leaves, &format!("/{payload}/CaptiveBypass"));
            assert_eq!(bypass, [if phone.ike.is_some() { "true" } else { "false" }]);
        }
        let text = apple::mobileconfig(&phone, &seed()).unwrap();
        let rules = "import sys, plistlib, json\n\
            for payload in plistlib.loads(sys.stdin.buffer.read())['PayloadContent']:\n\
            \tfor rule in payload.get('IKEv2', {}).get('OnDemandRules', []):\n\
            \t\tprint(json.dumps(rule, sort_keys=True))";
        let rules = python(rules, text.as_bytes());
        let Some(ike) = &phone.ike else {
            assert_eq!(rules, "");
            continue;
        };
        let probe = r#"{"Action": "Connect", "InterfaceTypeMatch": "WiFi", "URLStringProbe": "http://captive.apple.com/hotspot-detect.html"}"#;
        let mut wanted = vec![
            r#"{"Action": "Disconnect", "InterfaceTypeMatch": "WiFi", "SSIDMatch": ["Miller's \"home\" <3"]}"#,
            r#"{"Action": "Connect", "InterfaceTypeMatch": "WiFi", "SSIDMatch": ["guestright"]}"#,
            r#"{"Action": "Connect", "DNSDomainMatch": ["here.guestright.invalid"], "InterfaceTypeMatch": "WiFi"}"#,
            r#"{"Action": "Ignore"}"#,
        ];
        if ike.on_demand.elsewhere == Elsewhere::Tunnel {
            wanted.insert(3, probe);
        }
        assert_eq!(rules.lines().collect::<Vec<_>>(), wanted);
    }
}

#[test]
fn hostile_names_come_back_as_they_were() {
    for name in HOSTILE {
        let ssid = Ssid::new("</string>\"& 😀").unwrap();
        let phone = Phone { team: name.to_owned(), authority_name: name.to_owned(), ssid, ..phone() };
        let leaves = leaves(&phone);
        assert_is_of_the_schema(&leaves);
        assert_eq!(values(&leaves, "/PayloadOrganization"), [name]);
        assert_eq!(values(&leaves, "/authority/PayloadDisplayName"), [name]);
        assert_eq!(values(&leaves, "/wifi/SSID_STR"), ["</string>\"& 😀"]);
        let words: Vec<&str> = name.split_whitespace().collect();
        assert_eq!(values(&leaves, "/passpoint/DisplayedOperatorName"), [words.join(" ")]);
    }
}

#[test]
fn another_seed_makes_another_password() {
    let one = apple::mobileconfig(&phone(), &seed()).unwrap();
    assert_ne!(one, apple::mobileconfig(&phone(), &Seed::from_number(20)).unwrap());
}

/// What the profile asks of IKE and ESP is among what the home's gateway offers.
#[test]
fn the_homes_gateway_takes_the_suites_of_the_profile() {
    let leaves = leaves(&phone());
    let wanted = [
        ("EncryptionAlgorithm", "AES-256-GCM"),
        ("IntegrityAlgorithm", "SHA2-256"),
        ("DiffieHellmanGroup", "19"),
    ];
    for association in ["IKESecurityAssociationParameters", "ChildSecurityAssociationParameters"] {
        for (key, value) in wanted {
            assert_eq!(values(&leaves, &format!("/tunnel/IKEv2/{association}/{key}")), [value]);
        }
    }
    let offers = |suites: &[&str], wanted: &[&str]| {
        suites.iter().any(|suite| wanted.iter().all(|word| suite.split('-').any(|part| part == *word)))
    };
    // With an authenticated cipher the integrity algorithm is that of the PRF (RFC 5282, section 8); group 19 is P-256.
    assert!(offers(&guestright_strongswan::IKE_MODERN, &["aes256gcm16", "prfsha256", "ecp256"]));
    assert!(offers(&guestright_strongswan::ESP_MODERN, &["aes256gcm16", "ecp256"]));
}
