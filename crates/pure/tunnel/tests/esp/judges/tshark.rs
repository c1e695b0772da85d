//! tshark decrypts every packet and finds every check value right.
//!
//! Wireshark 4.0 knows neither ChaCha20-Poly1305 nor extended sequence numbers in ESP; those are for Scapy to judge.

use std::path::Path;
use std::process::Command;

use guestright_tunnel::esp::Suite;
use guestright_tunnel::overhead::Mode;
use guestright_wire::ip;

use super::{Case, cases, hex};
use crate::support::{keys, payload, spi};

const SUITES: [Suite; 5] = [
    Suite::TripleDesCbcHmacSha1,
    Suite::Aes128CbcHmacMd5,
    Suite::Aes128CbcHmacSha1,
    Suite::Aes128Gcm,
    Suite::Aes256Gcm,
];

const FIELDS: [&str; 5] =
    ["esp.icv_good", "esp.protocol", "esp.contained_data", "esp.pad_len", "udp.dstport"];

#[test]
fn decrypts_and_verifies_every_packet() {
    let cases = cases(&SUITES, false);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("esp.pcap");
    std::fs::write(&file, pcap(&cases)).unwrap();
    let lines = judge(&file);
    assert_eq!(lines.len(), cases.len(), "tshark left out packets");
    for (line, case) in lines.iter().zip(&cases) {
        let (next_header, _) = payload(case.mode, &case.inner);
        assert_eq!(line[0], "1", "{}: the check value is wrong", case.name());
        assert_eq!(line[1], format!("0x{next_header:02x}"), "{}: the next header is wrong", case.name());
        let ports: Vec<&str> = line[4].split(',').collect();
        assert_eq!(ports.last(), Some(&"40002"), "{}: the packet inside was not understood", case.name());
        assert_eq!(ports.contains(&"1701"), case.mode == Mode::L2tp, "{}", case.name());
    }
}

#[test]
fn finds_a_changed_packet() {
    let mut cases = cases(&SUITES, false);
    for case in &mut cases {
        let at = case.whole.len() - 1;
        case.whole[at] ^= 1;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("esp.pcap");
    std::fs::write(&file, pcap(&cases)).unwrap();
    for (line, case) in judge(&file).iter().zip(&cases) {
        assert_ne!(line[0], "1", "{}: tshark takes everything for right", case.name());
    }
}

/// One line of fields per packet.
fn judge(file: &Path) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(file);
    command.args(["-o", "esp.enable_encryption_decode:TRUE", "-o", "esp.enable_authentication_check:TRUE"]);
    command.args(["-o", "udp.check_checksum:TRUE"]);
    for suite in SUITES {
        command.args(["-o", &association(suite)]);
    }
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark has to be installed: sh scripts/setup.sh test");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark failed: {error}");
    let text = String::from_utf8(output.stdout).expect("tshark writes UTF-8");
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

/// A line of Wireshark's table of associations.
fn association(suite: Suite) -> String {
    let (cipher, hash) = match suite {
        Suite::TripleDesCbcHmacSha1 => ("TripleDES-CBC [RFC2451]", "HMAC-SHA-1-96 [RFC2404]"),
        Suite::Aes128CbcHmacMd5 => ("AES-CBC [RFC3602]", "HMAC-MD5-96 [RFC2403]"),
        Suite::Aes128CbcHmacSha1 => ("AES-CBC [RFC3602]", "HMAC-SHA-1-96 [RFC2404]"),
        Suite::Aes128Gcm | Suite::Aes256Gcm => ("AES-GCM with 16 octet ICV [RFC4106]", "NULL"),
        Suite::ChaCha20Poly1305 => unreachable!("Wireshark 4.0 does not know it"),
    };
    let keys = keys(suite);
    let key = |bytes: &[u8]| if bytes.is_empty() { String::new() } else { format!("0x{}", hex(bytes)) };
    let (encryption, authentication) = (key(keys.encryption()), key(keys.authentication()));
    let spi = spi(suite);
    format!(
        "uat:esp_sa:\"IPv4\",\"*\",\"*\",\"{spi:#010x}\",\"{cipher}\",\"{encryption}\",\"{hash}\",\"{authentication}\""
    )
}

/// A capture file of IP packets without a link layer (LINKTYPE_RAW).
fn pcap(cases: &[Case]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65_535, 101] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (second, case) in (1_u32..).zip(cases) {
        let length = u32::try_from(case.whole.len()).expect("a packet is short");
        for word in [second, 0, length, length] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&case.whole);
    }
    assert!(ip::Ipv4Header::parse(&cases[0].whole).is_ok());
    file
}
