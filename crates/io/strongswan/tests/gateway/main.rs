//! A gateway of ours and stock strongSwan clients, on the real kernel.
//!
//! Every test starts itself again inside a sandbox, so whatever happens leaves nothing behind.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says what broke by panicking, and prints what it measured"
)]

mod stock;
mod testbed;

use std::time::Instant;

use guestright_strongswan::{DataPlane, Profile, Secret, Settings};

use guestright_netns::testing::until;
use stock::ClientSettings;
use testbed::{ALICE, BOB, HOME, IDENTITY, TEAM_SECRET, Testbed, member};

fn alice() -> ClientSettings<'static> {
    ClientSettings::psk(HOME, IDENTITY, ALICE.0, ALICE.1)
}

#[test]
fn a_stock_client_behind_a_nat_exits_at_home_with_every_modern_suite() {
    let Some(testbed) = Testbed::inside("a_stock_client_behind_a_nat_exits_at_home_with_every_modern_suite")
    else {
        return;
    };
    let gateway = testbed.gateway(testbed.settings());
    let client = testbed.client("client");
    for (esp, want) in [
        ("aes128gcm16", "AES_GCM_16-128"),
        ("aes256gcm16-ecp256", "AES_GCM_16-256"),
        ("aes128-sha256", "AES_CBC-128-HMAC_SHA2_256_128"),
        ("chacha20poly1305", "CHACHA20_POLY1305"),
    ] {
        client.configure(&ClientSettings { esp, ..alice() });
        client.connect().unwrap();
        testbed.check_exit("client", esp);
        let status = gateway.status().unwrap();
        let [peer] = status.peers.as_slice() else { panic!("{status:?}") };
        assert_eq!((peer.name.as_str(), peer.suite.as_str(), peer.version), (ALICE.0, want, 2));
        assert_eq!(peer.addresses, [std::net::IpAddr::from([10, 78, 0, 254])]);
        assert!(peer.received_bytes > 0 && peer.sent_bytes > 0, "{peer:?}");
        assert_eq!(status.data_plane, DataPlane::Userspace, "this kernel has no ESP");
        client.disconnect();
        until("the gateway to forget it", || gateway.status().unwrap().peers.is_empty());
    }
}

#[test]
fn names_are_known_however_they_are_written() {
    let Some(testbed) = Testbed::inside("names_are_known_however_they_are_written") else { return };
    let _gateway = testbed.gateway(testbed.settings());
    let client = testbed.client("client");
    for naming in ["alice", "email:alice", "keyid:alice"] {
        client.configure(&ClientSettings { local: format!("auth = psk\n id = {naming}\n"), ..alice() });
        client.connect().unwrap_or_else(|log| panic!("{naming}: {log}"));
        client.disconnect();
    }
}

#[test]
fn the_papers_suites_need_the_legacy_profile() {
    let Some(testbed) = Testbed::inside("the_papers_suites_need_the_legacy_profile") else { return };
    let paper = format!("paper.{IDENTITY}");
    let client = testbed.client("client");
    let v1 = |ike, esp| ClientSettings {
        version: 1,
        ike,
        esp,
        gateway_id: &paper,
        local: "auth = psk\n id = paper.alice\n".to_owned(),
        secrets: format!("ike-1 {{ secret = \"{TEAM_SECRET}\" }}"),
        ..alice()
    };
    let gateway = testbed.gateway(testbed.settings());
    client.configure(&v1("aes128-md5-modp1024", "aes128-md5"));
    let refused = client.connect().unwrap_err();
    assert!(refused.contains("NO_PROPOSAL_CHOSEN"), "{refused}");
    drop(gateway);

    let team_secret = Some(Secret::new(TEAM_SECRET).unwrap());
    let legacy = Settings { profile: Profile::LegacyPaper, team_secret, ..testbed.settings() };
    let gateway = testbed.gateway(legacy);
    for (ike, esp, want) in [
        ("aes128-md5-modp1024", "aes128-md5", "AES_CBC-128-HMAC_MD5_96"),
        ("3des-sha1-modp1024", "3des-sha1", "3DES_CBC-HMAC_SHA1_96"),
    ] {
        client.configure(&v1(ike, esp));
        client.connect().unwrap();
        testbed.check_exit("client", esp);
        let status = gateway.status().unwrap();
        assert_eq!((status.peers[0].suite.as_str(), status.peers[0].version), (want, 1), "{status:?}");
        client.disconnect();
        until("the gateway to forget it", || gateway.status().unwrap().peers.is_empty());
    }
    // What the whole team knows is no member's secret.
    client.configure(&ClientSettings::psk(HOME, IDENTITY, ALICE.0, TEAM_SECRET));
    let refused = client.connect().unwrap_err();
    assert!(refused.contains("AUTHENTICATION_FAILED"), "{refused}");
}

#[test]
fn nobody_else_gets_in() {
    let Some(testbed) = Testbed::inside("nobody_else_gets_in") else { return };
    let gateway = testbed.gateway(testbed.settings());
    let client = testbed.client("client");
    let cases = [
        ("a wrong secret", ALICE.0, "not-alices-secret"),
        ("another's secret", ALICE.0, BOB.1),
        ("an unknown name", "mallory", ALICE.1),
        ("no name", "%any", ALICE.1),
    ];
    for (what, name, secret) in cases {
        client.configure(&ClientSettings::psk(HOME, IDENTITY, name, secret));
        let refused = client.connect().expect_err(what);
        assert!(refused.contains("AUTHENTICATION_FAILED"), "{what}: {refused}");
        assert!(gateway.status().unwrap().peers.is_empty(), "{what}");
    }
    client.configure(&ClientSettings { ike: "3des-sha1-modp1024", ..alice() });
    let refused = client.connect().unwrap_err();
    assert!(refused.contains("NO_PROPOSAL_CHOSEN"), "{refused}");
}

#[test]
fn members_come_and_go_without_disturbing_others() {
    let Some(testbed) = Testbed::inside("members_come_and_go_without_disturbing_others") else { return };
    let gateway = testbed.gateway(Settings { members: vec![member(&ALICE)], ..testbed.settings() });
    let (client, other) = (testbed.client("client"), testbed.client("other"));
    client.configure(&alice());
    client.connect().unwrap();
    let bob = ClientSettings::psk(HOME, IDENTITY, BOB.0, BOB.1);
    other.configure(&bob);
    other.connect().unwrap_err();

    gateway.set_members(vec![member(&ALICE), member(&BOB)]).unwrap();
    other.configure(&bob);
    other.connect().unwrap();
    testbed.check_exit("other", "bob");
    let names = || gateway.status().unwrap().peers.into_iter().map(|peer| peer.name).collect::<Vec<_>>();
    assert_eq!(names().len(), 2);

    let before = gateway.status().unwrap().charon;
    gateway.set_members(vec![member(&BOB)]).unwrap();
    until("alice to be out", || names() == [BOB.0]);
    testbed.check_exit("other", "bob");
    client.configure(&alice());
    client.connect().unwrap_err();
    assert_eq!(gateway.status().unwrap().charon, before, "the same charon does it");
}

#[test]
fn a_killed_client_comes_back_to_the_same_address() {
    let Some(testbed) = Testbed::inside("a_killed_client_comes_back_to_the_same_address") else { return };
    let gateway = testbed.gateway(testbed.settings());
    let mut client = testbed.client("client");
    for _ in 0..2 {
        client.configure(&alice());
        client.connect().unwrap();
        testbed.check_exit("client", "back");
        assert_eq!(gateway.status().unwrap().peers.len(), 1, "the earlier one is replaced");
        client.restart(&testbed.world, "client");
    }
}

#[test]
fn a_client_is_found_at_its_other_port() {
    let Some(testbed) = Testbed::inside("a_client_is_found_at_its_other_port") else { return };
    let gateway = testbed.gateway(testbed.settings());
    testbed.translate(5_000..=5_099);
    let client = testbed.client("client");
    client.configure(&alice());
    client.connect().unwrap();
    client.until_it_knows_its_port();
    let peer = || gateway.status().unwrap().peers.pop().unwrap();
    let before = peer();
    assert!((5_000..=5_099).contains(&before.port), "{before:?}");

    testbed.translate(6_000..=6_099);
    let is_found = || (6_000..=6_099).contains(&peer().port);
    until("the client to be found at its other port", || testbed.is_online("client") && is_found());
    testbed.check_exit("client", "from its other port");
    assert_eq!(peer().carried[0].pair, before.carried[0].pair, "it did not have to connect again");
}

#[test]
fn a_killed_charon_is_started_again_and_clients_recover() {
    let Some(testbed) = Testbed::inside("a_killed_charon_is_started_again_and_clients_recover") else {
        return;
    };
    let gateway = testbed.gateway(testbed.settings());
    let client = testbed.impatient_client("client");
    client.configure(&alice());
    client.connect().unwrap();
    testbed.check_exit("client", "before");
    let charon = gateway.status().unwrap().charon.unwrap();
    let killed = Instant::now();
    testbed::kill(charon);
    until("the client to be back", || testbed.is_online("client"));
    println!("recovered from a killed charon after {:?}", killed.elapsed());
    let status = gateway.status().unwrap();
    assert_ne!(status.charon, Some(charon));
    assert_eq!(status.restarts, 1);
}

#[test]
fn the_next_start_replaces_what_a_killed_one_left() {
    testbed::keep_if_left();
    let name = "the_next_start_replaces_what_a_killed_one_left";
    let Some(testbed) = Testbed::inside(name) else { return };
    // It goes on, and has the ports.
    let first = testbed.left_gateway(name);
    let left = first.charon;
    assert!(testbed::runs(left));
    let second = testbed.gateway(testbed.settings());
    let charon = second.status().unwrap().charon.unwrap();
    assert_ne!(charon, left);
    assert!(!testbed::runs(left), "the earlier charon still runs");
    drop(second);
    until("the second to end with its gateway", || !testbed::runs(charon));
}

#[test]
fn a_phone_logs_in_by_name_and_password() {
    let Some(testbed) = Testbed::inside("a_phone_logs_in_by_name_and_password") else { return };
    let certificate = Some(testbed.certificate());
    let gateway = testbed.gateway(Settings { certificate, ..testbed.settings() });
    let client = testbed.client("client");
    let authority = testbed.path("root.crt");
    let remote = format!("auth = pubkey\n cacerts = {}", authority.display());
    let phone = |name: &str, secret: &str| ClientSettings {
        local: format!("auth = eap-mschapv2\n id = 10.10.0.2\n eap_id = {name}\n"),
        secrets: format!("eap-1 {{ id = {name}\n secret = \"{secret}\" }}"),
        remote: &remote,
        ..alice()
    };
    for (name, secret) in [(ALICE.0, "not-alices-secret"), (ALICE.0, BOB.1), ("mallory", ALICE.1)] {
        client.configure(&phone(name, secret));
        client.connect().expect_err(name);
        assert!(gateway.status().unwrap().peers.is_empty());
    }
    for (name, secret, last) in [BOB, ALICE] {
        client.configure(&phone(name, secret));
        client.connect().unwrap_or_else(|log| panic!("{name}: {log}"));
        testbed.check_exit("client", "EAP");
        let status = gateway.status().unwrap();
        let [peer] = status.peers.as_slice() else { panic!("{status:?}") };
        assert_eq!(peer.name, name);
        assert_eq!(peer.addresses, [std::net::IpAddr::from([10, 78, 0, last])]);
        client.disconnect();
        until("the gateway to forget it", || gateway.status().unwrap().peers.is_empty());
    }
}

#[test]
fn secrets_are_in_no_file_and_in_no_log() {
    let Some(testbed) = Testbed::inside("secrets_are_in_no_file_and_in_no_log") else { return };
    let gateway = testbed.gateway(testbed.settings());
    let client = testbed.client("client");
    client.configure(&alice());
    client.connect().unwrap();
    let charon = gateway.status().unwrap().charon.unwrap();
    let command_line = std::fs::read(format!("/proc/{charon}/cmdline")).unwrap();
    let environment = std::fs::read(format!("/proc/{charon}/environ")).unwrap();
    let mut contents = vec![command_line, environment, testbed.log()];
    for entry in std::fs::read_dir(testbed.settings().directory).unwrap() {
        let path = entry.unwrap().path();
        contents.push(std::fs::read(&path).unwrap_or_default());
    }
    assert!(contents.iter().any(|bytes| contains(bytes, b"alice")), "charon's own log was looked at");
    for secret in [ALICE.1, BOB.1] {
        assert!(!contents.iter().any(|bytes| contains(bytes, secret.as_bytes())), "a secret got out");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(testbed.settings().directory).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o700, "others may enter");
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
