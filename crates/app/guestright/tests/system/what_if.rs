//! Would I be served, and who would have been: questions that change nothing.

use crate::town::services::AccessLog;
use crate::town::{Rules, Town, inside, succeeded, until};
use serde_json::Value;

fn town(policy: &'static str) -> Town {
    let town = Town::build(Rules { policy, ..Rules::default() });
    town.serve_tcp("net", crate::town::WEB, &AccessLog::default());
    town
}

/// The answer to `guestright ask` of a visitor.
fn ask(town: &Town, host: &str, certificate: &str, more: &[&str]) -> Value {
    let arguments = [&["ask", "--json", "--certificate", certificate], more].concat();
    serde_json::from_str(&succeeded(&town.run_on(host, &arguments))).unwrap()
}

/// Who passes, and by which queues. What is counted, and who has knocked, is not in it.
fn gates(town: &Town) -> String {
    let script = "for set in granted online served window up down tunnel_granted tunnel_open tunnel_held; do \
                    nft list set inet guestright $set; done; nft list map inet guestright class; \
                    for side in uplink guests; do tc class show dev $side; done";
    town.world.run("router", "sh", &["-ec", script]).unwrap()
}

#[test]
fn a_guest_learns_whether_it_would_be_served_and_nothing_is_opened_or_kept() {
    if !inside("what_if::a_guest_learns_whether_it_would_be_served_and_nothing_is_opened_or_kept") {
        return;
    }
    let town = town("credit");
    let (_home, _ap) = town.open();
    let before = (gates(&town), town.ask("home")["credit"]["allowance"]["left"].clone());
    for transport in ["tcp", "udp"] {
        let stranger = ask(&town, "member", "guests/member.cert", &["--transport", transport]);
        assert_eq!(
            (&stranger["would_serve"], &stranger["class"]),
            (&true.into(), &"lowest".into()),
            "{stranger}"
        );
        assert_eq!(stranger["volume"], 4_000_000, "{stranger}");
        assert!(stranger["reason"].as_str().unwrap().contains("gives away"), "{stranger}");
    }
    let own = ask(&town, "resident", "house/resident.cert", &[]);
    assert_eq!((&own["class"], &own["volume"]), (&"own".into(), &Value::Null), "{own}");
    let sentence = succeeded(&town.run_on("member", &["ask", "--certificate", "guests/member.cert"]));
    assert!(
        sentence.starts_with("Yes: the access point 10.11.0.1 would serve you 4.0 MB in class lowest"),
        "{sentence}"
    );
    let status = town.status();
    assert_eq!(status["sessions"].as_array().unwrap().len(), 0, "{status}");
    assert!(!town.is_online("member"));
    assert_eq!((gates(&town), town.ask("home")["credit"]["allowance"]["left"].clone()), before);
}

#[test]
fn who_would_get_nothing_is_told_why_and_the_home_that_is_away_too() {
    if !inside("what_if::who_would_get_nothing_is_told_why_and_the_home_that_is_away_too") {
        return;
    }
    let town = town("credit");
    let settings = town.path("house/home.toml");
    let nothing = std::fs::read_to_string(&settings).unwrap().replace(
        "[credit]\nallowance_bytes_per_day = 1000000000000",
        "[credit]\nallowance_bytes_per_day = 0\nfounding_bytes = 0",
    );
    std::fs::write(&settings, nothing).unwrap();
    let (mut home, _ap) = town.open();
    let no = ask(&town, "member", "guests/member.cert", &[]);
    assert_eq!((&no["would_serve"], &no["class"]), (&false.into(), &Value::Null), "{no}");
    assert!(no["reason"].as_str().unwrap().contains("has given away what it gives away"), "{no}");
    let sentence = succeeded(&town.run_on("member", &["ask", "--certificate", "guests/member.cert"]));
    assert!(sentence.starts_with("No: "), "{sentence}");
    // An access point's own certificate is nobody's who could be a guest.
    let wrong = ask(&town, "member", "house/router.cert", &[]);
    assert_eq!(wrong["would_serve"], false, "{wrong}");
    home.kill();
    town.until_status("the access point to lose its home", |status| status["home_up"] == false);
    let alone = ask(&town, "member", "guests/member.cert", &[]);
    assert_eq!(alone["class"], "lowest", "{alone}");
    assert!(alone["reason"].as_str().unwrap().contains("cannot be asked"), "{alone}");
}

#[test]
fn a_home_decides_its_past_again_while_it_runs_and_when_it_does_not() {
    if !inside("what_if::a_home_decides_its_past_again_while_it_runs_and_when_it_does_not") {
        return;
    }
    let town = town("credit");
    let (home, _ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 2_000_000).unwrap(), 2_000_000);
    town.leave(visit);
    town.until_home_is_owed(2_000_000);
    std::fs::write(town.path("stricter.toml"), "[credit]\nallowance_bytes_per_day = 0\nfounding_bytes = 0\n")
        .unwrap();
    let simulate = |more: &[&str]| {
        let first = ["home", "simulate", "--policy", "stricter.toml", "--config", "house/home.toml"];
        succeeded(&town.run(&[&first, more].concat()))
    };
    let running: Value = serde_json::from_str(&simulate(&["--json", "--figure", "change.svg"])).unwrap();
    let rows = running["rows"].as_array().unwrap();
    let row = |class: Value| rows.iter().find(|row| row["class"] == class).unwrap();
    assert_eq!(row("lowest".into())["before"]["sessions"], 1, "{running}");
    assert_eq!(row(Value::Null)["after"]["sessions"], 1, "{running}");
    assert_eq!(running["complete"], true);
    assert_eq!(running["changed"].as_array().unwrap().len(), 1, "{running}");
    assert!(std::fs::read_to_string(town.path("change.svg")).unwrap().starts_with("<svg"));
    let text = simulate(&[]);
    assert!(text.contains("refused instead of lowest"), "{text}");
    println!("{text}");

    drop(home);
    until("the home to be gone", || town.ask("home").is_null());
    let mut closed: Value = serde_json::from_str(&simulate(&["--json"])).unwrap();
    closed["since"] = running["since"].clone();
    assert_eq!(closed, running, "the store says what the home said");
    // And the home that comes back finds it as it was.
    let _home = town.start("home");
    assert!(town.ask("home")["receipts"].as_u64() >= Some(1));
    std::fs::write(town.path("stricter.toml"), "[credit]\nallowance = 0\n").unwrap();
    let wrong = town.run(&["home", "simulate", "--policy", "stricter.toml", "--config", "house/home.toml"]);
    let words = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        !wrong.status.success() && words.contains("line 2") && words.contains("allowance_bytes_per_day"),
        "{words}"
    );
}

#[test]
fn who_is_blocked_is_told_so_over_a_restart_until_it_is_not() {
    if !inside("what_if::who_is_blocked_is_told_so_over_a_restart_until_it_is_not") {
        return;
    }
    let town = town("credit");
    let (mut home, _ap) = town.open();
    let certificate = guestright_keys::read_certificate(&town.path("guests/member.cert")).unwrap();
    let team = certificate.team_id().to_string();
    let block = |arguments: &[&str]| {
        succeeded(&town.run(&[&["home"], arguments, &["--config", "house/home.toml"]].concat()))
    };
    assert_eq!(block(&["block"]), "nobody is blocked\n");
    let done =
        format!("team {} is served no more; to end an open session at once: guestright ap end\n", &team[..8]);
    assert_eq!(block(&["block", &team]), done);
    assert_eq!(block(&["block", &team]), format!("team {} was blocked already\n", &team[..8]));
    let refused = || {
        let no = ask(&town, "member", "guests/member.cert", &[]);
        assert_eq!(
            (&no["would_serve"], no["reason"].as_str()),
            (&false.into(), Some("this household does not serve your team")),
            "{no}"
        );
    };
    refused();
    assert_eq!(ask(&town, "resident", "house/resident.cert", &[])["class"], "own");
    home.signal(rustix::process::Signal::TERM);
    assert!(home.wait().success());
    let _home = town.start("home");
    town.until_status("the access point to have its home back", |status| status["home_up"] == true);
    refused();
    let listed: Value = serde_json::from_str(&block(&["block", "--json"])).unwrap();
    assert_eq!(listed["blocked"][0]["team"], team.as_str(), "{listed}");
    // Whoever is kept out by mistake would be the household itself.
    let own =
        guestright_keys::read_certificate(&town.path("house/resident.cert")).unwrap().team_id().to_string();
    let itself = town.run(&["home", "block", &own, "--config", "house/home.toml"]);
    assert!(!itself.status.success());
    assert!(String::from_utf8_lossy(&itself.stderr).contains("that is the own team"), "{itself:?}");
    assert_eq!(block(&["unblock", &team[..8]]), format!("team {} is served again\n", &team[..8]));
    let again = ask(&town, "member", "guests/member.cert", &[]);
    assert_eq!(again["would_serve"], true, "{again}");
}
