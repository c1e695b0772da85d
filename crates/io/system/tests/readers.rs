//! What is written is understood by the programs that read it.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test says what broke by panicking")]

use guestright_command::{find_program, system_command};
use guestright_setup::{
    Answers, Change, Choices, Facts, HomeAnswer, Init, Interface, Kind, Manager, Plan, Radio, WifiAnswer,
    paths,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The plan of a computer with everything, below a directory that is no root: files by their names.
fn written(manager: Manager, directory: &Path) -> Vec<(PathBuf, PathBuf)> {
    let interface = |name: &str, kind| Interface {
        name: name.to_owned(),
        kind,
        addresses: Vec::new(),
        bridge: None,
        is_up: true,
    };
    let facts = Facts {
        init: Init::Systemd,
        manager,
        uplink: Some("eth0".to_owned()),
        uplink_address: None,
        interfaces: vec![
            interface("eth0", Kind::Wired),
            interface("eth1", Kind::Wired),
            interface("wlan0", Kind::Wireless),
        ],
        networks: Vec::new(),
        radios: vec![Radio {
            interface: "wlan0".to_owned(),
            can_be_access_point: true,
            channels: BTreeSet::from([6]),
        }],
        programs: ["nft", "ip", "dnsmasq", "hostapd"].map(str::to_owned).into(),
        has_resolved: false,
        taken_ports: BTreeSet::new(),
        program: "/bin/true".into(),
        packaged_units: BTreeSet::new(),
        seed: 0,
    };
    let wifi = WifiAnswer::On {
        interface: None,
        ssid: Some("\u{393}\u{3b5}\u{3b9}\u{3c4}\u{3bf}\u{3bd}\u{3b9}\u{3ac}".to_owned()),
        country: Some("GR".to_owned()),
        channel: None,
    };
    let home = HomeAnswer::Here { endpoint: Some("home.example.org".to_owned()), port_mapping: true };
    let choices = Choices::choose(&facts, &Answers { wifi, home, ..Answers::default() }).unwrap();
    let mut files = Vec::new();
    for step in Plan::new(&facts, &choices).steps {
        if let Change::File { path, text, .. } = step.change {
            let real = directory.join(path.strip_prefix("/").unwrap());
            std::fs::create_dir_all(real.parent().unwrap()).unwrap();
            std::fs::write(&real, text).unwrap();
            files.push((path, real));
        }
    }
    files
}

fn of(files: &[(PathBuf, PathBuf)], name: &str) -> PathBuf {
    files.iter().find(|(path, _)| path == Path::new(name)).unwrap().1.clone()
}

/// Whether a program is there; where CI runs, all of them have to be.
fn has(program: &str) -> bool {
    let found = find_program(program).is_some();
    assert!(found || std::env::var_os("CI").is_none(), "{program} is not installed");
    if !found {
        eprintln!("without {program} nothing is known about its file");
    }
    found
}

fn output_of(program: &str, arguments: &[&str]) -> (bool, String) {
    let output = system_command(program).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn dnsmasq_and_hostapd_understand_their_files() {
    let directory = tempfile::tempdir().unwrap();
    let files = written(Manager::Unknown, directory.path());
    if has("dnsmasq") {
        let file = of(&files, paths::DHCP);
        let check = format!("--conf-file={}", file.display());
        let (is_good, text) = output_of("dnsmasq", &["--test", &check]);
        assert!(is_good, "{text}");
        let broken = std::fs::read_to_string(&file).unwrap().replace("domain-needed", "domain-neded");
        std::fs::write(&file, broken).unwrap();
        assert!(!output_of("dnsmasq", &["--test", &check]).0, "it would say so");
    }
    if has("hostapd") {
        let file = of(&files, paths::WIFI);
        // There is no such radio here; but first it reads the file, and says in which line it is wrong.
        let (_, text) = output_of("hostapd", &[file.to_str().unwrap()]);
        assert!(!text.contains("Line ") && !text.contains("errors found"), "{text}");
        assert!(text.contains("wlan0"), "it came as far as the radio: {text}");
        let broken = std::fs::read_to_string(&file).unwrap().replace("wpa_key_mgmt=OWE", "wpa_key_mgmt=OVE");
        std::fs::write(&file, broken).unwrap();
        assert!(
            output_of("hostapd", &[file.to_str().unwrap()]).1.contains("errors found"),
            "it would say so"
        );
    }
}

#[test]
fn systemd_understands_its_units_and_the_networks() {
    if !has("systemd-analyze") {
        return;
    }
    for manager in [Manager::Unknown, Manager::Networkd] {
        let directory = tempfile::tempdir().unwrap();
        let files = written(manager, directory.path());
        let units = files.iter().filter(|(path, _)| path.extension().is_some_and(|ext| ext == "service"));
        let units: Vec<_> = units.map(|(_, real)| real.to_str().unwrap().to_owned()).collect();
        assert!(units.len() >= 4, "{units:?}");
        let arguments: Vec<_> = ["verify", "--man=no", "--recursive-errors=no"]
            .into_iter()
            .chain(units.iter().map(String::as_str))
            .collect();
        let (is_good, text) = output_of("systemd-analyze", &arguments);
        let about_ours: Vec<_> = text.lines().filter(|line| line.contains("guestright")).collect();
        assert!(is_good && about_ours.is_empty(), "{text}");
    }
}
