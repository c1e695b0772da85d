//! An access point and its home: what they leave behind, what they keep, and how one does without the other.

use crate::town::Program;
use crate::town::services::AccessLog;
use crate::town::{Rules, Town, closed, inside, session, succeeded, until};
use rustix::process::Signal;
use serde_json::Value;

/// What a household's own firewall may have in the kernel before ours comes.
const FOREIGN: &str = "table inet household {
    set friends { type ipv4_addr; elements = { 192.168.1.10, 192.168.1.11 } }
    chain forward { type filter hook forward priority 10; policy accept; ip saddr @friends accept; }
}
table ip nat4 {
    chain postrouting { type nat hook postrouting priority 110; policy accept; oifname \"elsewhere\" masquerade; }
}
";

fn town() -> Town {
    let town = Town::build(Rules::default());
    town.serve_tcp("net", crate::town::WEB, &AccessLog::default());
    town.nft(FOREIGN);
    town
}

#[test]
fn off_and_sigterm_put_everything_back_byte_for_byte() {
    if !inside("accesspoint::off_and_sigterm_put_everything_back_byte_for_byte") {
        return;
    }
    let town = town();
    let before = town.condition();
    assert!(before.contains("table inet household"), "{before}");
    let (_home, mut ap) = town.open();
    for how in ["off", "SIGTERM", "SIGINT"] {
        if !ap.is_running() {
            ap = town.start("ap");
            town.until_status("the access point to reach its home", |status| status["home_up"] == true);
        }
        let (visit, _) = town.arrive("resident", "house", "resident");
        assert_eq!(town.download("resident", 10_000).unwrap(), 10_000);
        let during = town.condition();
        assert!(
            during.contains("table inet guestright") && during.contains("table inet household"),
            "{during}"
        );
        match how {
            "off" => drop(succeeded(&town.run(&["ap", "off", "--config", "house/ap.toml"]))),
            "SIGTERM" => ap.signal(Signal::TERM),
            _ => ap.signal(Signal::INT),
        }
        assert!(ap.wait().success(), "{how}: {}", ap.log());
        assert_eq!(town.condition(), before, "after {how}");
        let ended = visit.hear("to end", |event| event["event"] == "ended");
        assert!(ended["signed"].as_u64().unwrap() >= 10_000, "what was carried is signed for: {ended}");
        assert!(!town.is_online("resident"), "after {how} nobody is served");
    }
    let idle = succeeded(&town.run(&["ap", "off", "--config", "house/ap.toml"]));
    assert!(idle.contains("nothing to do"), "{idle}");
    assert_eq!(town.condition(), before, "off again changes nothing");
}

#[test]
fn who_is_served_when_the_access_point_stops_is_told_so() {
    if !inside("accesspoint::who_is_served_when_the_access_point_stops_is_told_so") {
        return;
    }
    let town = town();
    let mut wrong = Vec::new();
    let _home = town.start("home");
    for transport in ["tcp", "udp"].repeat(2) {
        let mut ap = town.start("ap");
        town.until_status("the access point to reach its home", |status| status["home_up"] == true);
        let visit = town.visit("resident", "house", "resident", &["--transport", transport]);
        visit.hear("to be granted service", |event| event["event"] == "granted");
        let ip = town.address_of("resident");
        town.until_status("the firewall to open", |status| session(status, &ip)["open"] == true);
        town.download("resident", 10_000).unwrap();
        ap.signal(Signal::TERM);
        let ended = visit.hear("to end", |event| event["event"] == "ended");
        assert!(ap.wait().success());
        if ended["code"] != "closed" {
            wrong.push(format!("{transport}: {ended}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_killed_access_point_is_cleaned_up_after_by_off_or_by_the_next_start() {
    if !inside("accesspoint::a_killed_access_point_is_cleaned_up_after_by_off_or_by_the_next_start") {
        return;
    }
    let town = town();
    let before = town.condition();
    let (_home, mut ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    ap.kill();
    assert_ne!(town.condition(), before, "a killed program cannot clean up");
    succeeded(&town.run_on("router", &["ap", "off", "--config", "house/ap.toml"]));
    assert_eq!(town.condition(), before, "off cleans up after it");
    drop(visit);

    let mut ap = town.start("ap");
    ap.kill();
    let left = town.condition();
    let mut ap = town.start("ap");
    assert_eq!(town.condition().matches("table inet guestright ").count(), 1, "one table, not two");
    assert_eq!(
        town.condition().matches("table inet guestright ").count(),
        left.matches("table inet guestright ").count()
    );
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    let (_visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 10_000).unwrap(), 10_000, "the next start serves");
    ap.signal(Signal::TERM);
    assert!(ap.wait().success(), "{}", ap.log());
    assert_eq!(town.condition(), before, "and cleans up after both");
}

#[test]
fn a_signal_during_or_right_after_the_start_puts_everything_back() {
    if !inside("accesspoint::a_signal_during_or_right_after_the_start_puts_everything_back") {
        return;
    }
    let town = town();
    let before = town.condition();
    let settings = town.path("house/ap.toml");
    let mut wrong = Vec::new();
    for (when, ready) in [("during", false), ("right after", true)].repeat(8) {
        let mut command = town.world.command("router", env!("CARGO_BIN_EXE_guestright")).unwrap();
        let mut ap = Program::start(command.args(["ap", "--config"]).arg(&settings), &town.path("ap.log"));
        if ready {
            ap.hear_line("to say that it is ready", |_| true);
        } else {
            until("its rules to appear", || town.condition() != before);
        }
        ap.signal(Signal::TERM);
        let status = ap.wait();
        if !status.success() || town.condition() != before {
            let left = if town.condition() == before { "nothing" } else { "its rules" };
            wrong.push(format!("SIGTERM {when} the start: {status}, and {left} left"));
            succeeded(&town.run_on("router", &["ap", "off", "--config", "house/ap.toml"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_home_that_is_told_to_end_right_after_its_start_ends_in_order() {
    if !inside("accesspoint::a_home_that_is_told_to_end_right_after_its_start_ends_in_order") {
        return;
    }
    let town = town();
    for attempt in 0..5 {
        let mut home = town.start("home");
        home.signal(Signal::TERM);
        assert!(home.wait().success(), "attempt {attempt}: killed instead");
    }
}

#[test]
fn a_second_access_point_is_refused_and_the_first_goes_on() {
    if !inside("accesspoint::a_second_access_point_is_refused_and_the_first_goes_on") {
        return;
    }
    let town = town();
    let (_home, _ap) = town.open();
    let (_visit, _) = town.arrive("member", "guests", "member");
    let second = town.run_on("router", &["ap", "--config", "house/ap.toml"]);
    let words = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(
        !second.status.success() && words.contains("ap-state"),
        "names the state that is in use: {words}"
    );
    assert_eq!(town.download("member", 10_000).unwrap(), 10_000, "the first goes on");
    assert_eq!(session(&town.status(), &town.address_of("member"))["open"], true);
}

#[test]
fn a_dry_run_prints_rules_that_the_kernel_takes_and_changes_nothing() {
    if !inside("accesspoint::a_dry_run_prints_rules_that_the_kernel_takes_and_changes_nothing") {
        return;
    }
    let town = town();
    let before = town.condition();
    let rules = succeeded(&town.run_on("router", &["ap", "--dry-run", "--config", "house/ap.toml"]));
    assert_eq!(town.condition(), before);
    assert!(!town.path("house/ap-state").exists(), "no state either");
    let file = town.path("rules.nft");
    std::fs::write(&file, &rules).unwrap();
    town.world.run("router", "nft", &["--check", "-f", file.to_str().unwrap()]).unwrap();
    for words in ["create table inet guestright", "\"guests\"", "\"uplink\"", "203.0.113.0/24", "7273"] {
        assert!(rules.contains(words), "{words} is missing: {rules}");
    }
    let (_home, _ap) = town.open();
    let applied = town.world.run("router", "nft", &["list", "table", "inet", "guestright"]).unwrap();
    let chains = |text: &str| text.lines().filter(|line| line.trim_start().starts_with("chain ")).count();
    assert_eq!(chains(&applied), chains(&rules), "what is shown is what is applied");
}

#[test]
fn status_tells_a_program_everything_in_json() {
    if !inside("accesspoint::status_tells_a_program_everything_in_json") {
        return;
    }
    let town = town();
    let (_home, _ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    // More than half of what it may leave unsigned, so that a receipt is asked for at once.
    town.download("member", 150_000).unwrap();
    let ip = town.address_of("member");
    let status =
        town.until_status("a receipt", |status| session(status, &ip)["signed"].as_u64() >= Some(10_000));
    #[rustfmt::skip]
    let all = ["allowance", "blocked_devices", "calls", "certificate", "certificate_refused", "closed", "dropped", "home_reason",
        "home_up", "layers", "left_while_away", "mended", "phones", "refused", "retention", "sessions", "splash", "team", "trouble",
        "undelivered"];
    assert_eq!(names(&status), all);
    assert_eq!((&status["phones"], &status["splash"]), (&Value::Null, &Value::Null), "they are off");
    let open = ["class", "counted", "ip", "mac", "member", "open", "signed", "started", "team", "tunnel"];
    let served = session(&status, &ip);
    assert_eq!(names(&served), open);
    let hexadecimal = |value: &Value| {
        let text = value.as_str().unwrap();
        text.len() == 48 && text.chars().all(|c| c.is_ascii_hexdigit())
    };
    assert!([&status["team"], &served["team"], &served["member"]].into_iter().all(hexadecimal), "{status}");
    assert_ne!(status["team"], served["team"]);
    assert_eq!(
        (&served["tunnel"], names(&status["allowance"])),
        (&Value::Null, vec!["home_contacts", "used"])
    );
    assert_eq!((&served["open"], &served["class"]), (&Value::Bool(true), &"lowest".into()));
    assert!(served["signed"].as_u64() <= served["counted"].as_u64(), "{served}");
    assert!(
        served["started"].as_str().unwrap().ends_with('Z') && served["mac"].as_str().unwrap().len() == 17
    );
    #[rustfmt::skip]
    let dropped = ["allowance", "barred", "between_visitors", "closed", "flood", "from_elsewhere", "household4", "invalid", "ipv6",
        "not_granted", "spoofed", "to_router", "unsigned"];
    assert_eq!(names(&status["dropped"]), dropped);
    assert_eq!(names(&status["layers"]), ["leases", "owned_table", "routing", "static_filter"]);
    assert_eq!((&status["trouble"], names(&status["mended"])), (&Value::Null, vec![]));
    assert!(status["dropped"].as_object().unwrap().values().all(Value::is_u64), "{status}");
    town.leave(visit);
    let status = town.until_status("the session to end", |status| !closed(status, &ip).is_null());
    let over = closed(&status, &ip);
    assert_eq!(names(&over).len(), open.len() + 1, "{over}");
    assert_eq!(
        (&over["end"], &over["open"], &over["signed"]),
        (&"closed".into(), &false.into(), &over["counted"])
    );
    let text = succeeded(&town.run(&["ap", "status", "--config", "house/ap.toml"]));
    assert!(text.contains(&ip) && text.contains("connected"), "a person reads it too: {text}");
}

fn names(value: &Value) -> Vec<&str> {
    let mut names: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_revoked_member_is_refused_once_home_has_the_list() {
    if !inside("accesspoint::a_revoked_member_is_refused_once_home_has_the_list") {
        return;
    }
    let town = town();
    let (mut home, _ap) = town.open();
    let (visit, class) = town.arrive("resident", "house", "resident");
    assert_eq!(class, "own");
    assert_eq!(town.download("resident", 10_000).unwrap(), 10_000);
    town.leave(visit);
    let ip = town.address_of("resident");
    let status = town.until_status("the session to end", |status| !closed(status, &ip).is_null());
    assert!(closed(&status, &ip)["signed"].as_u64() >= Some(10_000), "{status}");
    assert_eq!(
        (&status["undelivered"], &knowledge(&town)["receipts"]),
        (&0.into(), &0.into()),
        "nobody owes itself"
    );
    succeeded(&town.run(&["team", "member", "revoke", "resident", "--dir", "house"]));
    let settings = town.path("house/home.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, format!("revocations = \"revocations\"\n{text}")).unwrap();
    home.signal(Signal::TERM);
    assert!(home.wait().success(), "{}", home.log());
    let _home = town.start("home");
    town.until_status("the access point to reach its home again", |status| status["home_up"] == true);
    let mut visit = town.visit("resident", "house", "resident", &[]);
    let answer =
        visit.hear("to be answered", |event| event["event"] == "granted" || event["event"] == "ended");
    // By the access point, or by the home if its list is still on the way.
    assert!(["certificate", "refused"].contains(&answer["code"].as_str().unwrap()), "{answer}");
    assert!(answer["reason"].as_str().unwrap().contains("revoked"), "{answer}");
    assert_eq!(visit.wait().code(), Some(69), "{}", visit.log());
    assert!(!town.is_online("resident"));
    let listed = succeeded(&town.run(&["team", "member", "list", "--json", "--dir", "house"]));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let resident = listed.as_array().unwrap().iter().find(|row| row["name"] == "resident").unwrap();
    assert_eq!(resident["valid"], false, "{resident}");
}

/// What a home knows, without who is connected.
fn knowledge(town: &Town) -> Value {
    let mut status = town.ask("home");
    for transient in ["peers", "refused"] {
        assert!(status.as_object_mut().unwrap().remove(transient).is_some(), "home does not answer");
    }
    status
}

/// A whole visit; returns what was signed for.
fn visit_and_pay(town: &Town, host: &str, name: &str, bytes: usize) -> u64 {
    let (visit, class) = town.arrive(host, "guests", name);
    assert_eq!(class, "lowest");
    assert_eq!(town.download(host, bytes).unwrap(), bytes);
    let ended = town.leave(visit);
    let signed = ended["signed"].as_u64().unwrap();
    assert!(signed >= bytes as u64, "{ended}");
    let ip = town.address_of(host);
    let status = town.until_status("the session to end", |status| closed(status, &ip)["signed"] == signed);
    assert_eq!(closed(&status, &ip)["counted"], signed, "both counted the same");
    signed
}

#[test]
fn no_receipt_is_lost_when_home_or_access_point_is_killed() {
    if !inside("accesspoint::no_receipt_is_lost_when_home_or_access_point_is_killed") {
        return;
    }
    let town = town();
    let (mut home, mut ap) = town.open();
    let mut owed = visit_and_pay(&town, "member", "member", 300_000);
    town.until_status("receipts to be acknowledged", |status| status["undelivered"] == 0);
    home.kill();
    town.until_status("the access point to notice", |status| status["home_up"] == false);
    let (visit, class) = town.arrive("resident", "house", "resident");
    assert_eq!(class, "lowest", "without its home an access point does not favour even its own");
    assert_eq!(town.download("resident", 1_000).unwrap(), 1_000);
    town.leave(visit);
    owed += visit_and_pay(&town, "hostile", "second", 200_000);
    assert_eq!(town.status()["undelivered"], 1, "the receipt waits for home");
    let mut home = town.start("home");
    town.until_status("receipts to be delivered", |status| status["undelivered"] == 0);
    let known = knowledge(&town);
    assert_eq!((&known["owed_to_us"], &known["receipts"]), (&owed.into(), &2.into()), "{known}");

    home.kill();
    town.until_status("the access point to notice", |status| status["home_up"] == false);
    owed += visit_and_pay(&town, "member", "member", 100_000);
    ap.kill();
    let (_ap, mut home) = (town.start("ap"), town.start("home"));
    let delivered = |status: &Value| status["home_up"] == true && status["undelivered"] == 0;
    town.until_status("what the killed access point kept to be delivered", delivered);
    until("home to know it", || knowledge(&town)["owed_to_us"] == owed);

    let team =
        guestright_keys::read_certificate(&town.path("guests/member.cert")).unwrap().team_id().to_string();
    let sponsor = ["home", "sponsor", &team, "--megabytes", "500", "--config", "house/home.toml"];
    let sponsored = format!("team {} may be served 500 MB here, beyond what is given away\n", &team[..8]);
    assert_eq!(succeeded(&town.run(&sponsor)), sponsored);
    let before = knowledge(&town);
    assert_eq!(before["receipts"], 3, "{before}");
    assert_eq!(before["credit"]["sponsored"], serde_json::json!([{ "team": team, "left": 500_000_000 }]));
    home.signal(Signal::TERM);
    assert!(home.wait().success());
    let _home = town.start("home");
    assert_eq!(knowledge(&town), before, "a new start rebuilds the same graph");
    let status = succeeded(&town.run(&["home", "status", "--config", "house/home.toml"]));
    assert!(status.contains(&format!("sponsored    500 MB left for {}\n", &team[..8])), "{status}");
    let why = succeeded(&town.run(&["home", "why", &team, "--json", "--config", "house/home.toml"]));
    let why: Value = serde_json::from_str(&why).unwrap();
    assert_eq!(why["team"], team.as_str());
    assert!(!why["reason"].as_str().unwrap().is_empty(), "{why}");
}

#[test]
fn the_household_ends_a_guests_session_which_may_come_again() {
    if !inside("accesspoint::the_household_ends_a_guests_session_which_may_come_again") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_tcp("net", crate::town::WEB, &crate::town::services::AccessLog::default());
    let (_home, _ap) = town.open();
    let (mut visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 500_000).unwrap(), 500_000);
    let end = |address: &str| town.run(&["ap", "end", address, "--config", "house/ap.toml"]);
    let nobody = end("10.11.0.99");
    assert!(!nobody.status.success());
    let error = String::from_utf8_lossy(&nobody.stderr).into_owned();
    assert!(error.contains("nobody at 10.11.0.99 has a session"), "{error}");
    let address = town.address_of("member");
    assert_eq!(succeeded(&end(&address)), format!("ended the session at {address}\n"));
    let ended = visit.hear("to be told", |event| event["event"] == "ended");
    assert!(
        ended["reason"].as_str().unwrap().starts_with("this household has ended your session"),
        "{ended}"
    );
    visit.wait();
    town.until_status("the session to be gone", |status| status["sessions"].as_array().unwrap().is_empty());
    assert!(!town.is_online("member"));
    let (_again, _) = town.arrive("member", "guests", "member");
    assert!(town.is_online("member"));
}
