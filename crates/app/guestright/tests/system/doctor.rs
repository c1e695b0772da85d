//! What the doctor finds out about a role, on hosts that have what it needs and on others.

use crate::town::{Rules, Town, inside, until};
use serde_json::Value;
use std::net::UdpSocket;

/// What is found on a host, and whether the program says that all is well.
fn findings(town: &Town, host: &str, line: &str) -> (Vec<Value>, Option<i32>) {
    let arguments: Vec<_> = ["doctor"].into_iter().chain(line.split(' ')).chain(["--json"]).collect();
    let output = town.run_on(host, &arguments);
    let found = serde_json::from_slice(&output.stdout);
    let found = found.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (found, output.status.code())
}

fn is_good(found: &[Value], what: &str) -> bool {
    let finding = found.iter().find(|finding| finding["what"] == what);
    finding.unwrap_or_else(|| panic!("{what} is not looked at: {found:?}"))["good"] == true
}

fn needed_and_missing(found: &[Value]) -> Vec<&str> {
    let missing = found.iter().filter(|finding| finding["needed"] == true && finding["good"] == false);
    missing.map(|finding| finding["what"].as_str().unwrap()).collect()
}

#[test]
fn a_router_is_looked_at_for_all_that_an_access_point_needs() {
    if !inside("doctor::a_router_is_looked_at_for_all_that_an_access_point_needs") {
        return;
    }
    let town = Town::build(Rules::default());
    let look = || findings(&town, "router", "--for ap --config house/ap.toml");
    let (found, code) = look();
    assert_eq!(needed_and_missing(&found), ["DHCP for guests", "DNS for guests"]);
    assert_eq!(code, Some(1));
    for what in ["clock", "rights", "settings", "key and certificate", "its last day", "interfaces", "ports"]
    {
        assert!(is_good(&found, what), "{what}: {found:?}");
    }
    let text = town.run_on("router", &["doctor", "--for", "ap", "--config", "house/ap.toml"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.ends_with("this computer cannot be an access point yet: what is marked \"NO\" is missing\n"),
        "{text}"
    );
    assert!(!text.contains("everything"), "{text}");

    // Both servers, and the programs: the ports are theirs.
    let _dhcp = town.world.within("router", || UdpSocket::bind("0.0.0.0:67")).unwrap().unwrap();
    let names = town.world.within("router", || UdpSocket::bind("10.11.0.1:53")).unwrap().unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, from)) = names.recv_from(&mut buffer) {
            let _ = names.send_to(&buffer[..length], from);
        }
    });
    let _programs = town.open();
    // The doctor waits two seconds for the resolver: on a crowded computer that may be too short once.
    let mut last = None;
    until("the doctor to be content", || needed_and_missing(&last.insert(look()).0).is_empty());
    let (found, code) = last.unwrap();
    assert_eq!((needed_and_missing(&found), code), (vec![], Some(0)));
    assert!(is_good(&found, "the team's home") && is_good(&found, "ports"));

    // What is wrong is named: a certificate of another role, a setting, an interface.
    let settings = std::fs::read_to_string(town.path("house/ap.toml")).unwrap();
    for (before, now, what) in [
        ("router.", "resident.", "key and certificate"),
        ("interval_ms = 20000", "interval_ms = 1", "settings"),
        ("\"guests\"", "\"nowhere\"", "interfaces"),
    ] {
        std::fs::write(town.path("house/wrong.toml"), settings.replace(before, now)).unwrap();
        let (found, code) = findings(&town, "router", "--for ap --config house/wrong.toml");
        assert!(needed_and_missing(&found).contains(&what) && code == Some(1), "{what}: {found:?}");
    }
}

#[test]
fn a_home_a_guest_and_a_telephone_are_looked_at_too() {
    if !inside("doctor::a_home_a_guest_and_a_telephone_are_looked_at_too") {
        return;
    }
    let town = Town::build(Rules::default());
    let (found, code) = findings(&town, "router", "--for home --config house/home.toml");
    assert_eq!((needed_and_missing(&found), code), (vec![], Some(0)));
    let _taken =
        town.world.within("router", || std::net::TcpListener::bind("0.0.0.0:7274")).unwrap().unwrap();
    let (found, code) = findings(&town, "router", "--for home --config house/home.toml");
    assert_eq!((needed_and_missing(&found), code), (vec!["ports"], Some(1)));

    let member = "--key guests/member.key --certificate guests/member.cert";
    let (found, _) = findings(&town, "member", &format!("--for visit {member}"));
    for what in ["key and certificate", "network", "rights", "nftables"] {
        assert!(is_good(&found, what), "{what}: {found:?}");
    }
    assert!(!is_good(&found, "access point here") && !is_good(&found, "way home"), "{found:?}");
    let (found, code) = findings(&town, "member", &format!("--for call {member}"));
    assert_eq!((needed_and_missing(&found), code), (vec!["way home"], Some(1)), "{found:?}");
}
