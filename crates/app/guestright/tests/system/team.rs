//! Members that get a way home: configuration, QR code, addresses, and what the gateway is told.

use crate::town::desk;
use crate::town::succeeded;
use guestright_identity::{AccessPoints, Delegation};
use guestright_testbed::Desk;
use guestright_tunnel::wireguard::{Config, PublicKey};
use guestright_units::Bytes;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A folder with a team and a gateway in it.
fn founded(network: &str) -> Desk {
    let desk = desk();
    desk.run("team init --dir family");
    desk.run(&format!("team gateway init --dir family --endpoint home.example.org:4711 {network}"));
    desk
}

/// What the gateway knows of a member.
fn known(desk: &Desk, name: &str) -> toml::Table {
    desk.read(&format!("family/gateway/{name}.toml")).parse().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// What a scanner of QR codes reads in an image.
fn scan(image: &Path) -> String {
    let mut command = Command::new("zbarimg");
    let output = command.args(["--quiet", "--raw", "-Sdisable", "-Sqrcode.enable"]).arg(image).output();
    let output = output.expect("zbarimg of the package zbar-tools");
    let text = succeeded(&output);
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

/// A portable bitmap (pbm(5)) of a code that was printed as half blocks.
fn picture(printed: &str) -> Vec<u8> {
    const SCALE: usize = 4;
    let is_code = |line: &&str| line.chars().all(|half| " ▀▄█".contains(half)) && line.chars().count() > 20;
    let lines: Vec<Vec<char>> = printed.lines().filter(is_code).map(|line| line.chars().collect()).collect();
    let mut rows = Vec::new();
    for line in &lines {
        rows.push(line.iter().map(|half| matches!(half, ' ' | '▄')).collect::<Vec<bool>>());
        rows.push(line.iter().map(|half| matches!(half, ' ' | '▀')).collect());
    }
    let (width, height) = (lines[0].len() * SCALE, rows.len() * SCALE);
    let pixels = |row: &Vec<bool>| {
        let line: String = row.iter().map(|dark| if *dark { "1" } else { "0" }.repeat(SCALE)).collect();
        format!("{line}\n").repeat(SCALE)
    };
    format!("P1\n{width} {height}\n{}", rows.iter().map(pixels).collect::<String>()).into_bytes()
}

#[test]
fn a_stock_app_can_scan_the_configuration_and_read_it() {
    let desk = founded("--network 10.73.5.0/24");
    let stdout = desk.run("team member add alice --dir family --qr --qr-png alice.png --qr-svg alice.svg");
    let config = desk.read("family/alice.conf");
    assert!(stdout.contains(&config), "{stdout}");
    assert_eq!(scan(&desk.path("alice.png")), config);
    fs::write(desk.path("printed.pbm"), picture(&stdout)).unwrap();
    assert_eq!(scan(&desk.path("printed.pbm")), config, "{stdout}");
    assert!(desk.read("alice.svg").starts_with("<svg xmlns="));
    for private in
        ["family/alice.conf", "family/gateway/alice.toml", "family/gateway/gateway.key", "alice.png"]
    {
        assert_eq!(mode(&desk.path(private)), 0o600, "{private}");
    }
    let parsed = Config::parse(&config).unwrap();
    let peer = &parsed.peers[0];
    assert_eq!(parsed.interface.addresses[0].to_string(), "10.73.5.2/32");
    assert_eq!(parsed.interface.dns[0].to_string(), "10.73.5.1");
    assert_eq!(peer.endpoint.as_ref().unwrap().to_string(), "home.example.org:4711");
    assert_eq!(peer.persistent_keepalive, Some(25));
    let everything: Vec<_> = peer.allowed_ips.iter().map(ToString::to_string).collect();
    assert_eq!(everything, ["0.0.0.0/0", "::/0"]);
    // What the gateway knows fits what the member has.
    let gateway_has = known(&desk, "alice");
    assert_eq!(
        gateway_has["public_key"].as_str().unwrap(),
        parsed.interface.private_key.public().to_string()
    );
    assert_eq!(
        gateway_has["preshared_key"].as_str().unwrap(),
        peer.preshared_key.as_ref().unwrap().to_base64().as_str()
    );
    let gateway: guestright_tunnel::wireguard::PrivateKey =
        desk.read("family/gateway/gateway.key").trim().parse().unwrap();
    assert_eq!(peer.public_key, gateway.public());
    // It can be shown again.
    assert!(desk.run("team member show alice --dir family --qr-png again.png").contains(&config));
    assert_eq!(scan(&desk.path("again.png")), config);
    let shown = desk.json("team member show alice --dir family --json");
    assert_eq!(shown["configuration"].as_str(), Some(config.as_str()));
}

#[test]
fn a_member_delegates_unless_it_says_otherwise() {
    let desk = founded("");
    desk.run("team member add alice --dir family --qr");
    let other = "ab".repeat(24);
    desk.run(&format!("team member add bob --dir family --qr --bytes-per-day 5000 --only-at {other}"));
    desk.run("team member add carol --dir family --qr --no-delegation");
    let delegation = |name: &str| {
        use base64::Engine;
        let text = known(&desk, name)["delegation"].as_str().unwrap().to_owned();
        Delegation::parse(&base64::engine::general_purpose::STANDARD.decode(text).unwrap()).unwrap()
    };
    let certificate =
        |path: &str| guestright_keys::read_certificate(&desk.path(&format!("family/{path}.cert"))).unwrap();
    let alice = delegation("alice");
    assert_eq!(alice.member(), certificate("alice").subject());
    assert_eq!(alice.delegate(), certificate("gateway/alice").subject());
    assert_eq!(certificate("gateway/alice").team_id(), certificate("alice").team_id());
    assert_eq!(alice.terms().access_points, AccessPoints::Any);
    assert_eq!(alice.terms().bytes_per_day, Bytes(1_000_000_000));
    let bob = delegation("bob");
    assert_eq!(bob.terms().bytes_per_day, Bytes(5_000));
    assert!(bob.allows(other.parse().unwrap()) && !bob.allows(certificate("bob").team_id()));
    assert!(known(&desk, "carol").get("delegation").is_none());
    assert!(!desk.path("family/gateway/carol.key").exists());
}

#[test]
fn addresses_do_not_collide_and_revoked_ones_are_not_given_again() {
    let desk = founded("--network 10.73.5.0/28");
    let add = |name: &str| {
        let added = desk.json(&format!("team member add {name} --dir family --qr --json"));
        added["tunnel"]["address"].as_str().unwrap().to_owned()
    };
    assert_eq!((add("a"), add("b")), ("10.73.5.2".into(), "10.73.5.3".into()));
    assert!(desk.run("team member revoke b --dir family").contains("guestright home reload"));
    assert!(known(&desk, "b").contains_key("revoked"));
    assert_eq!(add("c"), "10.73.5.4");
    // Many at once: each gets an address of its own.
    let running: Vec<_> = (0..6)
        .map(|number| desk.command(&format!("team member add m{number} --dir family --qr --json")))
        .map(|mut command| command.stdout(std::process::Stdio::piped()).spawn().unwrap())
        .collect();
    for child in running {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let list = desk.json("team member list --dir family --json");
    let mut addresses: Vec<_> =
        list.as_array().unwrap().iter().filter_map(|row| row["address"].as_str()).collect();
    assert_eq!(addresses.len(), 9);
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 9, "{list}");
    assert!(desk.run("team member list --dir family").contains("10.73.5.10"));
}

#[test]
fn mistakes_are_named_and_leave_nothing_behind() {
    let desk = founded("--network 10.73.5.0/30");
    desk.run("team member add alice --dir family --qr");
    desk.run("team init --dir other");
    for (line, wants) in [
        ("team gateway init --dir family --endpoint h:1", "this team has a gateway"),
        ("team gateway init --dir nowhere --endpoint h:1", "no team's directory"),
        ("team gateway init --dir other --endpoint home", "such as home.example.org:51820"),
        ("team gateway init --dir other --endpoint h:1 --network 8.8.8.0/24", "private IPv4 network"),
        ("team member add bob --dir family --qr", "every address of 10.73.5.0/30 is taken"),
        ("team member add bob --dir other --qr", "guestright team gateway init"),
        ("team member add bob --dir family --qr --role home", "leave out --qr"),
        ("team member add bob --dir family --qr-png x.png", "add --qr"),
        ("team member add gateway --dir family", "will not do"),
        ("team member show bob --dir family", "--qr"),
    ] {
        let stderr = desk.fail(line).1;
        assert!(stderr.contains(wants), "{line}: {stderr}");
        let (key, cert) = (desk.path("family/bob.key"), desk.path("other/bob.key"));
        assert!(!key.exists() && !cert.exists(), "{line}");
    }
    let key: PublicKey = known(&desk, "alice")["public_key"].as_str().unwrap().parse().unwrap();
    let secret = Config::parse(&desk.read("family/alice.conf")).unwrap().interface.private_key;
    assert_eq!(secret.public(), key);
    let listed =
        desk.run("team member list --dir family") + &desk.run("team member list --dir family --json");
    assert!(!listed.contains(secret.to_base64().as_str()));
}

#[test]
fn a_name_may_be_in_any_script() {
    let desk = founded("--network 10.73.5.0/24");
    // The same letters from two keyboards: one composes, the other does not.
    for (typed, name) in
        [("Ελένη", "Ελένη"), ("Zoe\u{308}", "Zo\u{eb}"), ("Ольга", "Ольга"), ("李明", "李明")]
    {
        let added = desk.json(&format!("team member add {typed} --dir family --qr --json"));
        assert_eq!(added["name"], name);
        assert_eq!(added["tunnel"]["path"], format!("family/{name}.conf"));
        assert!(known(&desk, name)["address"].is_str());
        let shown = desk.json(&format!("team member show {typed} --dir family --json"));
        assert_eq!(shown["address"], added["tunnel"]["address"]);
        let card = desk.run(&format!("call card --certificate family/{name}.cert"));
        let contact = guestright_directory::Contact::parse(card.lines().next().unwrap()).unwrap();
        assert_eq!(contact.name, name);
    }
    let names: Vec<_> = desk
        .json("team member list --dir family --json")
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    desk.run("team member revoke Zoe\u{308} --dir family");
    assert!(known(&desk, "Zo\u{eb}").contains_key("revoked"));
    let (code, words) = desk.fail("team member add p\u{430}ul --dir family");
    assert!(code == 1 && words.contains("several scripts"), "a Cyrillic letter among Latin ones: {words}");
    let (code, words) = desk.fail("team member add Νίκος --dir family --ikev2");
    assert!(code == 1 && words.contains("letters of ASCII"), "{words}");
}
