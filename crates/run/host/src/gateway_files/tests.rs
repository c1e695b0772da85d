//! Addresses, members, and what is refused.

use super::*;
use guestright_error::Fault as _;

fn files(network: &str) -> (tempfile::TempDir, GatewayFiles) {
    let directory = tempfile::tempdir().unwrap();
    let file = GatewayFile {
        endpoint: "home.example.org:51820".into(),
        port: PORT,
        network: network.into(),
        dns: Vec::new(),
        mtu: MTU,
        keepalive_seconds: KEEPALIVE,
    };
    let path = directory.path().join("gateway");
    GatewayFiles::create(&path, &file, &PrivateKey::from_random([7; 32])).unwrap();
    let files = GatewayFiles::open(&path).unwrap();
    (directory, files)
}

fn peer(address: Ipv4Addr, number: u8) -> PeerFile {
    PeerFile {
        public_key: PublicKey([number; 32]).to_string(),
        preshared_key: PresharedKey::from_bytes([number; 32]).to_base64().to_string(),
        address,
        key_id: "00".into(),
        certificate: "00".into(),
        revoked: None,
        delegation: None,
    }
}

#[test]
fn addresses_are_given_once_until_there_are_no_more() {
    let (_directory, files) = files("10.64.17.0/29");
    assert_eq!(files.address(), Ipv4Addr::new(10, 64, 17, 1));
    create_private(&files.path().join("laptop.ike"), b"address = \"10.64.17.6\"\nsecret = \"x\"\n").unwrap();
    for number in 2..=5 {
        let address = files.free_address().unwrap();
        assert_eq!(address, Ipv4Addr::new(10, 64, 17, number));
        let mut peer = peer(address, number);
        peer.revoked = (number == 3).then(|| "2026-01-01T00:00:00Z".to_owned());
        files.create_peer(&format!("member{number}"), &peer).unwrap();
    }
    let full = files.free_address().unwrap_err().sentence();
    assert!(full.contains("every address of 10.64.17.0/29 is taken"), "{full}");
    let members = files.members().unwrap();
    assert_eq!(members.iter().filter(|member| member.is_revoked).count(), 1);
    assert_eq!(members.len(), 4);
}

#[test]
fn two_members_with_one_address_or_key_are_refused() {
    for (address, number) in [(3, 1), (2, 2), (1, 2), (9, 2)] {
        let (_directory, files) = files("10.64.17.0/29");
        files.create_peer("a", &peer(Ipv4Addr::new(10, 64, 17, 2), 1)).unwrap();
        files.create_peer("b", &peer(Ipv4Addr::new(10, 64, 17, address), number)).unwrap();
        let refused = files.members().unwrap_err().sentence();
        assert!(refused.contains("b.toml"), "{refused}");
    }
}

#[test]
fn what_others_can_read_is_no_secret_and_no_error_shows_one() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, files) = files("10.64.17.0/24");
    assert_eq!(files.private_key().unwrap(), PrivateKey::from_random([7; 32]));
    let mut broken = peer(Ipv4Addr::new(10, 64, 17, 2), 1);
    let secret = broken.preshared_key.clone();
    broken.preshared_key.push('x');
    files.create_peer("a", &broken).unwrap();
    let refused = files.members().unwrap_err().sentence();
    assert!(refused.contains("`preshared_key`") && !refused.contains(&secret[..10]), "{refused}");
    let path = files.peer_path("a");
    fs::write(&path, format!("preshared_key = {}\n", secret.as_str())).unwrap();
    let refused = files.members().unwrap_err().sentence();
    assert!(refused.contains("a.toml") && !refused.contains(&secret[..10]), "{refused}");
    fs::set_permissions(files.key_path(), fs::Permissions::from_mode(0o640)).unwrap();
    let refused = files.private_key().unwrap_err();
    assert!(refused.hint().unwrap().contains("chmod 600"), "{refused}");
}

#[test]
fn a_network_is_private_and_written_by_its_first_address() {
    for good in ["10.64.17.0/24", "192.168.4.0/30", "172.16.0.0/16", "100.64.0.0/16"] {
        assert!(parse_network(good).is_ok(), "{good}");
    }
    for bad in
        ["10.64.17.1/24", "10.0.0.0/8", "10.64.17.0/31", "198.51.100.0/24", "fd00::/64", "10.64.17.0", "x"]
    {
        assert!(parse_network(bad).is_err(), "{bad}");
    }
}
