//! A router joins a team by a code: its keys never leave it, and the code works once.

use super::Site;
use crate::town::services::{AccessLog, serve_tcp};
use crate::town::{Program, WEB, inside, succeeded, until};
use std::fs;
use std::io::Write as _;
use std::net::TcpStream;

/// The founder's computer waits; it has printed this code.
fn invite(site: &Site, more: &str) -> (Program, String) {
    let line = format!("team invite --name cabin --dir family --address 198.51.100.1 --json {more}");
    let invite = Program::start(&mut site.guestright("net", &line), &site.path("invite.log"));
    let waiting = invite.hear("to print a code", |event| event["event"] == "waiting");
    (invite, waiting["code"].as_str().unwrap().to_owned())
}

#[test]
fn a_router_joins_by_a_code_that_works_once_and_serves_the_teams_members() {
    if !inside("setup::join::a_router_joins_by_a_code_that_works_once_and_serves_the_teams_members") {
        return;
    }
    let site = Site::build();
    serve_tcp(&site.world, "net", WEB, &AccessLog::default());
    succeeded(&site.run("net", "team init --dir family"));
    succeeded(&site.run("net", "team member add bea --dir family"));
    let before = site.condition();
    let (mut invite, code) = invite(&site, "");

    // Whoever does not know the secret gets nothing, and keeps nobody out.
    let scan = || TcpStream::connect("198.51.100.1:7279").unwrap();
    let silent = site.world.within("router", scan).unwrap();
    let mut rubbish = site.world.within("router", scan).unwrap();
    rubbish.write_all(&[0, 48].repeat(100)).unwrap();
    let (address, secret) = code.split_once('/').unwrap();
    let other = if secret.starts_with('a') { "b" } else { "a" };
    let wrong = format!("{address}/{other}{}", &secret[1..]);
    let refused = site.run("router", &format!("setup --join {wrong} --no-wifi --yes --json"));
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && words.contains("still waiting"), "{words}");
    succeeded(&site.run("router", "setup --undo --yes"));
    site.assert_same(&before, "after the wrong code");

    succeeded(&site.run("router", &format!("setup --join {code} --no-wifi --yes --json")));
    let certified = invite.rest();
    assert_eq!(certified.len(), 2, "an access point and a home: {certified:?}");
    assert!(invite.wait().success(), "{}", invite.log());
    drop(silent);
    assert!(!fs::exists("/etc/guestright/team/team.key").unwrap(), "the team's key stays where it is");
    let keys =
        ["home.key", "router.key"].map(|name| fs::read(format!("/etc/guestright/team/{name}")).unwrap());
    for entry in fs::read_dir(site.path("family")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!keys.contains(&bytes), "a router's key is on the founder's computer");
    }

    site.lease();
    let visit = site.visit("family/bea");
    until("a member of the team to be served", || site.can_fetch());
    drop(visit);

    // The founder sees the two, and the name is taken; the code is void.
    let list = succeeded(&site.run("net", "team member list --dir family"));
    assert!(list.contains("cabin-ap") && list.contains("cabin-home"), "{list}");
    let again = site.run("net", "team invite --name cabin --dir family --address 198.51.100.1");
    assert_eq!(again.status.code(), Some(78));
    succeeded(&site.run("router", "setup --undo --yes"));
    let whole = site.run("router", &format!("setup --join {} --no-wifi --yes", &code[..code.len() - 3]));
    assert!(String::from_utf8_lossy(&whole.stderr).contains("is no code"), "{whole:?}");
    site.assert_same(&before, "after what is no code");
    let void = site.run("router", &format!("setup --join {code} --no-wifi --yes"));
    assert!(!void.status.success());
    succeeded(&site.run("router", "setup --undo --yes"));
    site.assert_same(&before, "after undo");
}
