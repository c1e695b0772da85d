//! Debian's hostapd reads the access point's file and starts with it, with no radio; and reports to the port that it names.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use guestright_netns::testing;
use zeroize::Zeroizing;

use crate::golden::assert_is_golden;
use crate::judge::{Running, command, run, text};
use crate::phone::{HOSTILE, REALM};
use guestright_profile::hostapd::{AccessPoint, Passpoint, Radio, Radius, Security};
use guestright_profile::{ConsortiumId, Secret, Ssid};

fn access_point() -> AccessPoint {
    AccessPoint {
        interface: "wlan0".to_owned(),
        bridge: Some("br-guest".to_owned()),
        radio: Some(Radio { country: Some("DE".to_owned()), channel: 6 }),
        ssid: Ssid::common(),
        security: Security::Wpa2AndWpa3,
        radius: Radius {
            identifier: "ap-7f3a".to_owned(),
            authentication_port: 1812,
            accounting_port: 1813,
            orders_port: 3799,
            secret: Secret::new("radius-secret-24-letters"),
            knows_message_authenticator: false,
        },
        passpoint: Some(Passpoint {
            operator: "Family Miller".to_owned(),
            realms: vec![REALM.to_owned(), "m4p9.guestright.invalid".to_owned()],
            domain: REALM.to_owned(),
            consortiums: vec![ConsortiumId::new(&[0x02, 0x11, 0x22]).unwrap()],
        }),
    }
}

/// The rest is as the file has it: only the radio is none.
fn without_radio(file: &str) -> String {
    let file = file.replace("driver=nl80211\n", "driver=none\n");
    let radio = |line: &&str| {
        !["country_code", "ieee80211d", "hw_mode", "channel", "bridge="].iter().any(|it| line.starts_with(it))
    };
    file.lines().filter(radio).map(|line| format!("{line}\n")).collect()
}

/// What hostapd says about a file before it looks for the radio. It says in which line something is wrong.
fn complaints(directory: &Path, file: &str) -> String {
    let path = directory.join("hostapd.conf");
    std::fs::write(&path, file).unwrap();
    // In a namespace there is no radio, so it ends after the file. If it should not, that is an error too.
    let output = run("timeout", &["20", "hostapd", text(&path)], b"");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn files_are_as_they_should_be() {
    assert_is_golden("hostapd.conf", &access_point().render().unwrap());
    let section = AccessPoint {
        radio: None,
        security: Security::Wpa3,
        passpoint: None,
        bridge: None,
        ..access_point()
    };
    assert_is_golden("hostapd-section.conf", &section.render().unwrap());
}

#[test]
fn hostapd_understands_every_line() {
    if !testing::inside("hostapd::hostapd_understands_every_line") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut many = access_point();
    let realms = (0..23).map(|number| format!("t{number}.guestright.invalid")).collect();
    many.passpoint.as_mut().unwrap().realms = realms;
    let open = "interface=wlan0\ndriver=nl80211\nhw_mode=g\nchannel=6\nssid=open\n\n";
    let section = AccessPoint {
        radio: None,
        security: Security::Wpa3,
        interface: "wlan0p".to_owned(),
        ..access_point()
    };
    let section = Zeroizing::new(format!("{open}{}", section.render().unwrap().as_str()));
    for file in [access_point().render().unwrap(), many.render().unwrap(), section] {
        let text = complaints(directory.path(), &file);
        assert!(!text.contains("Line ") && !text.contains("errors found"), "{text}");
        assert!(text.contains("nl80211"), "it came as far as the radio: {text}");
    }
    let file = access_point().render().unwrap();
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        let (name, _) = line.split_once('=').unwrap();
        let broken = file.replacen(&format!("\n{name}="), &format!("\n{name}_x="), 1);
        let text = complaints(directory.path(), &broken);
        assert!(text.contains("errors found"), "it would say so: {line}: {text}");
    }
}

#[test]
fn hostapd_starts_and_reports_where_it_is_told_to() {
    if !testing::inside("hostapd::hostapd_starts_and_reports_where_it_is_told_to") {
        return;
    }
    #[expect(clippy::disallowed_types, reason = "stands for `guestright ap`, on loopback in a namespace")]
    let accounting = std::net::UdpSocket::bind("127.0.0.1:1813").unwrap();
    accounting.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for name in HOSTILE {
        let mut access_point = access_point();
        access_point.passpoint.as_mut().unwrap().operator = name.to_owned();
        let path = directory.path().join("hostapd.conf");
        std::fs::write(&path, without_radio(&access_point.render().unwrap())).unwrap();
        let log = directory.path().join("log");
        let log = std::fs::OpenOptions::new().create(true).write(true).truncate(true).open(log).unwrap();
        let daemon = command("hostapd").arg(&path).stdin(Stdio::null()).stdout(log).spawn().unwrap();
        let _daemon = Running(daemon);
        let log = || std::fs::read_to_string(directory.path().join("log")).unwrap();
        testing::until("hostapd is up", || log().contains("AP-ENABLED") || log().contains("errors found"));
        assert!(log().contains("AP-ENABLED"), "{name}: {}", log());
        let mut packet = [0; 4_096];
        let (length, _) = accounting.recv_from(&mut packet).unwrap();
        let packet = &packet[..length];
        // Accounting-Request (4) with NAS-Identifier (32), RFC 2866.
        assert_eq!(packet[0], 4);
        assert!(packet.windows(9).any(|window| window == b"\x20\x09ap-7f3a"), "{packet:?}");
    }
}

#[test]
fn an_access_point_that_cannot_be_is_refused() {
    let radius = |secret: &str| Radius { secret: Secret::new(secret), ..access_point().radius };
    let with = |passpoint: Passpoint| AccessPoint { passpoint: Some(passpoint), ..access_point() };
    let passpoint = || access_point().passpoint.unwrap();
    let wrong = [
        AccessPoint { interface: "wlan0\nssid=x".to_owned(), ..access_point() },
        AccessPoint { bridge: Some("a b".to_owned()), ..access_point() },
        AccessPoint { radio: Some(Radio { country: Some("d\n".to_owned()), channel: 1 }), ..access_point() },
        AccessPoint { radius: radius("too-short"), ..access_point() },
        AccessPoint { radius: radius("sixteen letters\nssid=x"), ..access_point() },
        with(Passpoint { realms: vec!["a.b,13".to_owned()], ..passpoint() }),
        with(Passpoint { realms: vec!["a.b".to_owned(); 101], ..passpoint() }),
        with(Passpoint { domain: "nodot".to_owned(), ..passpoint() }),
    ];
    for access_point in wrong {
        assert!(access_point.render().is_err(), "{access_point:?}");
    }
    assert!(!format!("{:?}", access_point()).contains("radius-secret"));
    let new = Radius { knows_message_authenticator: true, ..access_point().radius };
    let file = AccessPoint { radius: new, ..access_point() }.render().unwrap();
    assert!(file.contains("radius_require_message_authenticator=1\n"));
}
