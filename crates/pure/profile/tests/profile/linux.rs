//! wpa_supplicant reads its file and joins with it; Python reads NetworkManager's, as GLib would.

use std::path::Path;
use std::process::Stdio;

use guestright_netns::testing;

use crate::judge::{Running, command, python, read, run, text};
use crate::phone::{AUTHORITY, HOSTILE, REALM, SERVER, SERVER_KEY, phone, seed};
use guestright_profile::{Phone, Ssid, TlsVersions, network_manager, supplicant};

/// What wpa_supplicant says about a file, before it finds that the interface is not there.
fn supplicant_reads(directory: &Path, configuration: &str) -> String {
    let path = directory.join("wpa_supplicant.conf");
    std::fs::write(&path, configuration).unwrap();
    let arguments = ["-c", text(&path), "-i", "gr-nowhere", "-D", "wired", "-dd"];
    let output = run("wpa_supplicant", &arguments, b"");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn wpa_supplicant_reads_every_line() {
    let directory = tempfile::tempdir().unwrap();
    let ssid = Ssid::new("\"} # 😀").unwrap();
    for phone in [phone(), Phone { consortiums: Vec::new(), tls: TlsVersions::Only12, ssid, ..phone() }] {
        let file = supplicant::configuration(&phone, &seed()).unwrap();
        let log = supplicant_reads(directory.path(), &file);
        assert!(
            !log.contains("Failed to read or parse") && log.contains("Could not get interface flags"),
            "{log}"
        );
        for word in ["start of a new cred block", "blob 'guestright-authority'", "blob 'guestright-identity'"]
        {
            assert!(log.contains(word), "{word}: {log}");
        }
        assert!(log.contains("key_mgmt: 0x81") && log.contains("ieee80211w=1"), "{log}");
        let lines: Vec<&str> =
            file.lines().filter(|line| line.starts_with('\t') && line.contains('=')).collect();
        assert!(lines.len() > 15);
        for line in lines {
            let (name, _) = line.split_once('=').unwrap();
            let broken = file.replacen(&format!("{name}="), &format!("{name}x="), 1);
            let log = supplicant_reads(directory.path(), &broken);
            assert!(log.contains("Failed to read or parse"), "it would say so: {line}");
        }
    }
}

/// hostapd as the home's server, on loopback alone.
fn serve(directory: &Path) -> Running {
    let file = |name: &str| text(&directory.join(name)).to_owned();
    let pem = |name: &str, arguments: &[&str], der: &[u8]| {
        std::fs::write(directory.join(name), read("openssl", arguments, der)).unwrap();
    };
    pem("authority.pem", &["x509", "-inform", "DER"], AUTHORITY);
    pem("server.pem", &["x509", "-inform", "DER"], SERVER);
    pem("server-key.pem", &["pkey", "-inform", "DER"], SERVER_KEY);
    std::fs::write(directory.join("users"), "* TLS\n").unwrap();
    std::fs::write(directory.join("clients"), "127.0.0.1/32 radius-secret\n").unwrap();
    let settings = format!(
        "interface=gr-eap\ndriver=none\nlogger_stdout=-1\nieee8021x=1\neap_server=1\ntls_flags=[ENABLE-TLSv1.3]\n\
             eap_user_file={}\nca_cert={}\nserver_cert={}\nprivate_key={}\nradius_server_clients={}\n\
             radius_server_auth_port=1812\n",
        file("users"),
        file("authority.pem"),
        file("server.pem"),
        file("server-key.pem"),
        file("clients")
    );
    std::fs::write(directory.join("hostapd.conf"), settings).unwrap();
    let log = std::fs::OpenOptions::new().create(true).append(true).open(directory.join("log")).unwrap();
    let server = command("hostapd")
        .arg(file("hostapd.conf"))
        .stdin(Stdio::null())
        .stderr(log.try_clone().unwrap())
        .stdout(log)
        .spawn()
        .unwrap();
    let server = Running(server);
    testing::until("hostapd serves", || {
        std::fs::read_to_string(directory.join("log")).unwrap().contains("AP-ENABLED")
    });
    server
}

/// What eapol_test, which is wpa_supplicant without a radio, says when it joins with our file.
fn join(directory: &Path, configuration: &str) -> (bool, String) {
    let path = directory.join("eapol.conf");
    std::fs::write(&path, configuration).unwrap();
    let arguments = ["-c", text(&path), "-a", "127.0.0.1", "-p", "1812", "-s", "radius-secret", "-t", "20"];
    let output = run("eapol_test", &arguments, b"");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The whole way: the file's own certificates, key and names, against a server with the home's certificate.
#[test]
fn a_computer_joins_with_its_file_by_both_versions_of_tls() {
    if !testing::inside("linux::a_computer_joins_with_its_file_by_both_versions_of_tls") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let _server = serve(directory.path());
    for (tls, version) in [(TlsVersions::UpTo13, "TLSv1.3"), (TlsVersions::Only12, "TLSv1.2")] {
        let phone = Phone { tls, ..phone() };
        let (joined, log) = join(directory.path(), &supplicant::configuration(&phone, &seed()).unwrap());
        assert!(joined && log.contains("MPPE keys OK: 1  mismatch: 0"), "{log}");
        assert!(log.contains(version), "{version}: {log}");
        assert!(log.contains(&format!("anonymous@{REALM}")), "{log}");
    }
    // A server of another name, even one that the same authority has certified, is not believed.
    let other = Phone { server: format!("other.{REALM}"), ..phone() };
    let (joined, log) = join(directory.path(), &supplicant::configuration(&other, &seed()).unwrap());
    assert!(!joined && log.contains("Domain mismatch"), "{log}");
    // Nor is one of another authority.
    let other = Phone { authority: SERVER.to_vec(), ..phone() };
    let (joined, log) = join(directory.path(), &supplicant::configuration(&other, &seed()).unwrap());
    assert!(!joined && log.contains("self-signed certificate in certificate chain"), "{log}");
}

/// Sections and keys, with GKeyFile's escapes undone (`g_key_file_parse_value_as_string`).
const KEYFILE: &str = r##"
import sys, configparser, json
parser = configparser.RawConfigParser(strict=True, delimiters=("=",), comment_prefixes=("#",))
parser.optionxform = str
parser.read_string(sys.stdin.read())
def value(text):
    out, letters = "", iter(text)
    for letter in letters:
        out += {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}[next(letters)] if letter == "\\" else letter
    return out
print(json.dumps({name: {key: value(text) for key, text in parser[name].items()} for name in parser.sections()}))
"##;

#[test]
fn network_manager_would_read_what_was_meant() {
    for name in HOSTILE {
        let phone = Phone { team: name.to_owned(), ..phone() };
        let directory = " \\a\nb".replace(' ', "/etc/");
        let connection = network_manager::connection(&phone, &directory, &seed()).unwrap();
        let read: serde_json::Value =
            serde_json::from_str(&python(KEYFILE, connection.keyfile.as_bytes())).unwrap();
        let sections: Vec<&String> = read.as_object().unwrap().keys().collect();
        assert_eq!(sections, ["802-1x", "connection", "ipv4", "ipv6", "wifi", "wifi-security"]);
        let words: Vec<&str> = name.split_whitespace().collect();
        assert_eq!(read["connection"]["id"], format!("{} (guestright)", words.join(" ")));
        let ssid: String = phone.ssid.as_bytes().iter().map(|byte| format!("{byte};")).collect();
        assert_eq!(read["wifi"]["ssid"], ssid);
        let eap = &read["802-1x"];
        assert_eq!(eap["ca-cert"], format!("{directory}/authority.pem"));
        assert_eq!((&eap["client-cert"], &eap["eap"]), (&eap["private-key"], &"tls;".into()));
        assert_eq!(eap["domain-match"], phone.server);
        let password = eap["private-key-password"].as_str().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("phone.p12");
        std::fs::write(&path, &*connection.identity).unwrap();
        let given = format!("pass:{password}");
        assert!(
            run("openssl", &["pkcs12", "-in", text(&path), "-passin", &given, "-noout"], b"")
                .status
                .success()
        );
    }
}

#[test]
fn certificates_are_in_a_folder_with_a_whole_path() {
    for wrong in ["", "certs", "/etc/", "./a"] {
        assert!(network_manager::connection(&phone(), wrong, &seed()).is_err(), "{wrong}");
    }
}
