//! The household's page in Debian's Chromium, over real programs: `web/tests/town/run.mjs` looks at every view and does everything.

use crate::town::services::AccessLog;
use crate::town::{Rules, Town, WEB, inside, succeeded, until};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;

const DOOR: &str = "127.0.0.1:7277";

/// A household with a gateway, and with the team's key at its home.
fn town() -> Town {
    let town = Town::build(Rules::default());
    town.serve_tcp("net", WEB, &AccessLog::default());
    let endpoint = ["--endpoint", "198.51.100.2:51820", "--network", "10.73.5.0/24"];
    succeeded(&town.run(&[&["team", "gateway", "init", "--dir", "house"], &endpoint[..]].concat()));
    succeeded(&town.run(&["team", "member", "add", "bob", "--qr", "--dir", "house"]));
    succeeded(&town.run(&["team", "member", "revoke", "resident", "--dir", "house"]));
    let file = town.path("house/home.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let more = "[gateway]\nuplink_interface = \"uplink\"\n[web]\nteam = \".\"\n[phones]\npage = \"192.168.1.1:7276\"\n";
    std::fs::write(&file, format!("revocations = \"revocations\"\n{text}{more}")).unwrap();
    town
}

fn drive(size: &str) {
    let town = town();
    let (_home, _ap) = town.open();
    let _visits = [town.arrive("member", "guests", "member"), town.arrive("hostile", "guests", "second")];
    town.download("member", 3_000_000).unwrap();
    town.until_home_is_owed(3_000_000);
    let enable = ["home", "web", "--enable", "--at", DOOR, "--json", "--config", "house/home.toml"];
    let answer: Value = serde_json::from_str(&succeeded(&town.run_on("router", &enable))).unwrap();
    let code = answer["link"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();

    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../web");
    let mut node = town.world.command("router", "node").unwrap();
    node.args(["tests/town/run.mjs", &format!("http://{DOOR}"), &code, size]).current_dir(web);
    let mut node = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = node.stdin.take().unwrap();
    let mut visits = Vec::new();
    for line in BufReader::new(node.stdout.take().unwrap()).lines().map(Result::unwrap) {
        println!("{line}");
        if line == "next" {
            visits.push(town.arrive("member", "guests", "member"));
            stdin.write_all(b"\n").unwrap();
        }
    }
    assert!(node.wait().unwrap().success());

    // What the page has said is what the programs do.
    assert_eq!(visits.len(), 1);
    until("the guest's visit to be over", || town.status()["sessions"].as_array().is_some_and(Vec::is_empty));
    let home = town.ask("home");
    assert_eq!(home["credit"]["allowance"]["per_day"], 7_000_000, "{home}");
    let ask = town.run_on("member", &["ask", "--certificate", "guests/member.cert", "--json"]);
    let answer: Value = serde_json::from_str(&succeeded(&ask)).unwrap();
    assert_eq!(answer["would_serve"], false, "{answer}");
    let members = succeeded(&town.run(&["team", "member", "list", "--dir", "house"]));
    let line = members.lines().find(|line| line.contains(&format!("ida-{size}"))).unwrap();
    assert!(line.contains("revoked"), "{members}");
}

#[test]
#[ignore = "it takes Node, Debian's Chromium and the built page: cargo xtask page"]
fn every_view_and_action_works_on_a_phone() {
    if inside("browser::every_view_and_action_works_on_a_phone") {
        drive("phone");
    }
}

#[test]
#[ignore = "it takes Node, Debian's Chromium and the built page: cargo xtask page"]
fn every_view_and_action_works_at_a_desk() {
    if inside("browser::every_view_and_action_works_at_a_desk") {
        drive("desk");
    }
}
