//! Python reads the configuration for ChromeOS, and OpenSSL what is in it.

use crate::judge::{python, run};
use crate::phone::{AUTHORITY, CERTIFICATE, HOSTILE, ike, phone, seed};
use guestright_profile::{IkeAuthentication, Phone, Ssid, TlsVersions, onc};
use serde_json::{Value, json};

fn read(phone: &Phone) -> Value {
    let text = onc::configuration(phone, &seed()).unwrap();
    let script = "import sys, json; print(json.dumps(json.load(sys.stdin)))";
    serde_json::from_str(&python(script, text.as_bytes())).unwrap()
}

/// Names and types of `onc_spec.md`; references are to what is there.
#[test]
fn the_network_refers_to_the_certificates() {
    let configuration = read(&phone());
    assert_eq!(configuration["Type"], "UnencryptedConfiguration");
    let certificates = configuration["Certificates"].as_array().unwrap();
    let [authority, identity] = certificates.as_slice() else { panic!("{certificates:?}") };
    assert_eq!((&authority["Type"], &identity["Type"]), (&json!("Authority"), &json!("Client")));
    let networks = configuration["NetworkConfigurations"].as_array().unwrap();
    let [wifi, tunnel] = networks.as_slice() else { panic!("{networks:?}") };
    assert_eq!(
        wifi["WiFi"],
        json!({
            "SSID": "guestright", "HexSSID": "67756573747269676874", "Security": "WPA-EAP",
            "AutoConnect": true, "HiddenSSID": false,
            "EAP": {
                "Outer": "EAP-TLS", "Identity": "anonymous@k7f2.guestright.invalid", "SaveCredentials": true,
                "ServerCARefs": [authority["GUID"]], "UseSystemCAs": false,
                "DomainSuffixMatch": ["home.k7f2.guestright.invalid"],
                "ClientCertType": "Ref", "ClientCertRef": identity["GUID"],
            },
        })
    );
    assert_eq!(
        tunnel["VPN"],
        json!({
            "Type": "IPsec", "Host": "home.example.org",
            "IPsec": {
                "IKEVersion": 2, "AuthenticationType": "PSK", "PSK": "abcdefghijkmnpqrstuvwxyz",
                "SaveCredentials": true, "LocalIdentity": "alice", "RemoteIdentity": "home.guestright",
            },
        })
    );
    assert!(networks.iter().all(|network| network["GUID"].is_string() && network["Name"].is_string()));
}

#[test]
fn certificates_are_those_of_the_phone() {
    let text = onc::configuration(&phone(), &seed()).unwrap();
    let script = "import sys, json, base64\nfrom cryptography import x509\n\
        from cryptography.hazmat.primitives.serialization import Encoding, pkcs12\n\
        authority, identity = json.load(sys.stdin)['Certificates']\n\
        print(x509.load_pem_x509_certificate(authority['X509'].encode()).public_bytes(Encoding.DER).hex())\n\
        key, certificate, _ = pkcs12.load_key_and_certificates(base64.b64decode(identity['PKCS12']), b'')\n\
        print(certificate.public_bytes(Encoding.DER).hex(), key.public_key() == certificate.public_key())";
    let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes);
    assert_eq!(python(script, text.as_bytes()), format!("{}\n{} True\n", hex(AUTHORITY), hex(CERTIFICATE)));
}

#[test]
fn there_is_a_tunnel_only_by_a_shared_secret() {
    let networks = |phone: &Phone| read(phone)["NetworkConfigurations"].as_array().unwrap().len();
    assert_eq!(networks(&phone()), 2);
    assert_eq!(networks(&Phone { ike: None, ..phone() }), 1);
    assert_eq!(networks(&Phone { ike: Some(ike(IkeAuthentication::Certificate)), ..phone() }), 1);
    let old = read(&Phone { tls: TlsVersions::Only12, ..phone() });
    assert_eq!(old["NetworkConfigurations"][0]["WiFi"]["EAP"]["TLSVersionMax"], "1.2");
}

#[test]
fn hostile_names_come_back_as_they_were() {
    for name in HOSTILE {
        let ssid = Ssid::new("\"}, {\"😀").unwrap();
        let configuration = read(&Phone { team: name.to_owned(), ssid, ..phone() });
        let networks = configuration["NetworkConfigurations"].as_array().unwrap();
        assert_eq!(networks[0]["WiFi"]["SSID"], "\"}, {\"😀");
        let words: Vec<&str> = name.split_whitespace().collect();
        assert_eq!(networks[1]["Name"], format!("{} (home)", words.join(" ")));
    }
    assert!(!run("python3", &["-m", "json.tool"], b"{").status.success(), "it would say so");
}
