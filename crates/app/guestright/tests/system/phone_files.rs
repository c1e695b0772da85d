//! A member's phone without an app: what the home makes for it, how it is fetched at home, and how it is let in no more.

use crate::town::{Program, Rules, Town, inside, succeeded, until_within};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The home's address in the household's network, where `pc` is.
const PAGE: &str = "192.168.1.1:7276";

struct Household {
    town: Town,
    home: Program,
}

impl Household {
    /// A household whose home runs, with a gateway, and this in `[phones]`.
    fn open(phones: &str) -> Self {
        let town = Town::build(Rules::default());
        let this = |line: &str| succeeded(&town.run(&line.split(' ').collect::<Vec<_>>()));
        this("team gateway init --endpoint 198.51.100.2:51820 --network 10.73.5.0/24 --dir house");
        this("team member revoke resident --dir house");
        let path = town.path("house/home.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        let more = format!("[gateway]\nuplink_interface = \"uplink\"\n[phones]\n{phones}");
        std::fs::write(&path, format!("revocations = \"revocations\"\n{settings}{more}")).unwrap();
        let home = town.start("home");
        Self { town, home }
    }

    fn run(&self, line: &str) -> String {
        succeeded(&self.town.run(&line.split(' ').collect::<Vec<_>>()))
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.run(&format!("{line} --json"))).unwrap()
    }

    fn refused(&self, line: &str) -> String {
        let output = self.town.run(&line.split(' ').collect::<Vec<_>>());
        assert!(!output.status.success(), "{line}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn phones(&self) -> Value {
        self.town.ask("home")["phones"].clone()
    }

    /// What curl gets on a host: the status, and the body.
    fn fetch(&self, host: &str, link: &str) -> (String, Vec<u8>) {
        let body = self.town.path("fetched");
        let mut curl = self.town.world.command(host, "curl").unwrap();
        curl.args(["--silent", "--max-time", "5", "--write-out", "%{http_code} %{content_type}"]);
        let output = curl.arg("--output").arg(&body).arg(link).output().unwrap();
        let status = String::from_utf8(output.stdout).unwrap();
        (status, std::fs::read(&body).unwrap_or_default())
    }
}

fn links(page: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(page).unwrap();
    let begins = text.match_indices("href=\"").map(|(at, found)| &text[at + found.len()..]);
    begins.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

fn openssl(arguments: &[&str], directory: &Path) -> String {
    let output = Command::new("openssl").args(arguments).current_dir(directory).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_members_phone_gets_every_file_and_the_home_knows_it_at_once() {
    if !inside("phone_files::a_members_phone_gets_every_file_and_the_home_knows_it_at_once") {
        return;
    }
    let mut house = Household::open("household = \"The Millers\"\n");
    assert_eq!(house.phones()["phones"], serde_json::json!([]), "nothing is there before");
    let made = house.json("team member add alice --phone --dir house --home house/home.toml");
    let phones = house.phones();
    assert_eq!(phones["phones"][0]["label"], made["label"], "{phones}");
    assert_eq!(phones["phones"][0]["member"], "alice");
    assert_eq!(made["gateway_read"], true, "the home has read its new member too");
    let members = house.town.ask("home")["gateway"]["members"].clone();
    assert!(members.to_string().contains("alice"), "{members}");

    let directory = house.town.path("house/alice-phone");
    let label = made["label"].as_str().unwrap().to_owned();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
        // Access points see a label, and no name.
        let content = std::fs::read(&path).unwrap();
        assert!(!content.windows(5).any(|window| window == b"alice"), "{}", path.display());
    }
    names.sort();
    let own = format!("{label}.p12");
    let mut want = [
        "android.wifi-config",
        "apple.mobileconfig",
        "authority.pem",
        "certificate.p12",
        "chromeos.onc",
        "network-manager.nmconnection",
        "wpa_supplicant.conf",
        own.as_str(),
    ];
    want.sort_unstable();
    assert_eq!(names, want);
    // A second program's word on it.
    let password = format!("pass:{}", made["password"].as_str().unwrap());
    let read =
        ["pkcs12", "-in", "certificate.p12", "-passin", &password, "-nodes", "-out", "/run/town/phone.pem"];
    openssl(&read, &directory);
    openssl(
        &["verify", "-CAfile", "authority.pem", "-purpose", "sslclient", "/run/town/phone.pem"],
        &directory,
    );
    let subject = openssl(&["x509", "-in", "/run/town/phone.pem", "-noout", "-subject"], &directory);
    assert!(subject.contains(&label), "{subject}");

    // It is listed, and survives a start of the home.
    let list = house.json("team member list --dir house");
    let alice = list.as_array().unwrap().iter().find(|row| row["name"] == "alice").unwrap();
    assert_eq!(alice["phone"]["label"], made["label"]);
    assert!(house.run("team member list --dir house").contains(", phone until "));
    house.home.signal(rustix::process::Signal::TERM);
    assert!(house.home.wait().success());
    let refused = house.refused("team member add bob --phone --dir house --home house/home.toml");
    assert!(refused.contains("no home runs") && !house.town.path("house/bob.key").exists(), "{refused}");
    house.home = house.town.start("home");
    assert_eq!(house.phones()["phones"], phones["phones"]);

    // Again: another certificate beside the old one, or in its place.
    let again = house.json("team member add alice --phone --dir house --home house/home.toml");
    assert_ne!(again["serial"], made["serial"]);
    assert_eq!(house.phones()["phones"][0]["certificates"], 2);
    house.json("team member add alice --phone --anew --dir house --home house/home.toml");
    assert_eq!(house.phones()["phones"][0]["certificates"], 1);
}

#[test]
fn a_revoked_members_phone_is_let_in_no_more() {
    if !inside("phone_files::a_revoked_members_phone_is_let_in_no_more") {
        return;
    }
    let mut house = Household::open("");
    for name in ["alice", "bob"] {
        house.run(&format!("team member add {name} --phone --dir house --home house/home.toml"));
    }
    // At once where the home runs.
    let revoked = house.json("team member revoke alice --dir house");
    assert_eq!(revoked["phone"]["revoked_at_home"], true, "{revoked}");
    assert_eq!(house.phones()["phones"][0]["revoked"], true);
    assert!(!house.town.path("house/alice-phone").exists());
    assert!(house.run("team member list --dir house").contains(", phone revoked at "));
    // Else with the list.
    house.home.signal(rustix::process::Signal::TERM);
    assert!(house.home.wait().success());
    let revoked = house.run("team member revoke bob --dir house");
    assert!(revoked.contains("as soon as the home has the list"), "{revoked}");
    house.home = house.town.start("home");
    let phones = house.phones();
    assert!(phones["phones"].as_array().unwrap().iter().all(|phone| phone["revoked"] == true), "{phones}");
    let refused = house.refused("team member add bob --phone --dir house --home house/home.toml");
    assert!(refused.contains("revoked"), "{refused}");
    // A new device under the same name.
    let replaced = house.run("team member replace bob --dir house");
    assert!(replaced.contains("team member add bob --phone"), "{replaced}");
    house.run("team member add bob --phone --dir house --home house/home.toml");
    assert_eq!(house.phones()["phones"][1]["certificates"], 1);
}

#[test]
fn a_phone_fetches_its_files_at_home_once() {
    if !inside("phone_files::a_phone_fetches_its_files_at_home_once") {
        return;
    }
    let house = Household::open(&format!("page = \"{PAGE}\"\npage_seconds = 6\n"));
    let is_open = || house.phones()["page"].is_string();
    assert!(!is_open(), "nothing listens before somebody is to see it");
    let printed = house.run("team member add alice --phone --page --dir house --home house/home.toml");
    let link = printed.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    assert!(link.starts_with(&format!("http://{PAGE}/p/")) && printed.contains('█'), "{printed}");
    assert!(!house.town.path("house/alice-phone").exists(), "no file lies about");
    assert!(is_open());
    let (status, page) = house.fetch("pc", link);
    assert_eq!(status, "200 text/html; charset=utf-8");
    let files = links(&page);
    let text = String::from_utf8_lossy(&page).into_owned();
    assert_eq!(files.len(), 6, "five systems and WireGuard: {text}");
    let fetch = |at: usize, host: &str| house.fetch(host, &format!("http://{PAGE}{}", files[at]));
    let (status, apple) = fetch(0, "pc");
    assert_eq!(status, "200 application/x-apple-aspen-config");
    assert!(apple.starts_with(b"<?xml"));
    let (status, _) = fetch(1, "pc");
    assert_eq!(status, "200 application/x-wifi-config");
    let (_, tunnel) = fetch(5, "pc");
    assert_eq!(tunnel, std::fs::read(house.town.path("house/alice.conf")).unwrap());
    // Others at home have nothing of it, though they have seen the link: it is the first one's.
    let (status, _) = house.fetch("router", &format!("http://{PAGE}{}", files[0]));
    assert_eq!(status, "404 text/plain; charset=utf-8");
    let (status, _) = house.fetch("router", link);
    assert_eq!(status, "404 text/plain; charset=utf-8");
    // From outside there is nothing, at whatever address.
    for address in ["198.51.100.2:7276", PAGE] {
        let (status, _) = house.fetch("net", &link.replace(PAGE, address));
        assert_eq!(status, "000 ", "{address}");
    }
    // After a while there is nothing for anybody.
    until_within(Duration::from_secs(20), "the page to be closed", || !is_open());
    let (status, _) = house.fetch("pc", link);
    assert_eq!(status, "000 ", "nothing listens");
    // A link that has ended leads nowhere, also while another one works; and a revoked member's does at once.
    let printed = house.run("team member add bob --phone --page --dir house --home house/home.toml");
    let other = printed.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    assert_eq!(house.fetch("pc", link).0, "404 text/plain; charset=utf-8");
    house.run("team member revoke bob --dir house");
    assert_eq!(house.fetch("pc", other).0, "404 text/plain; charset=utf-8");
}

#[test]
fn a_page_is_never_on_a_public_address() {
    if !inside("phone_files::a_page_is_never_on_a_public_address") {
        return;
    }
    // This computer is a router: its own address on the way out is its provider's.
    let house = Household::open("");
    let refused = house.refused("team member add alice --phone --page --dir house --home house/home.toml");
    assert!(refused.contains("198.51.100.2 is no address of a household's own network"), "{refused}");
    assert!(refused.contains("page = "), "{refused}");
    drop(house.home);
    for address in ["0.0.0.0:7276", "198.51.100.2:7276"] {
        let path = house.town.path("house/home.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        let settings: String = settings
            .lines()
            .filter(|line| !line.starts_with("page ="))
            .fold(String::new(), |text, line| text + line + "\n");
        std::fs::write(&path, format!("{settings}page = \"{address}\"\n")).unwrap();
        let output = house.town.run_on("router", &["home", "--config", "house/home.toml"]);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && words.contains("is no address of a household's own network"),
            "{words}"
        );
    }
}
