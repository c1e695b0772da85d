//! Settings, revocation lists and receipts of programs that run: taken and handed over while guests are served.

use crate::town::services::{AccessLog, begin_download};
use crate::town::{PATIENCE, Program, Rules, Town, closed, guestright, inside, session, succeeded, until};
use rustix::process::Signal;
use serde_json::Value;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixDatagram;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn town() -> Town {
    let town = Town::build(Rules::default());
    town.serve_tcp("net", crate::town::WEB, &AccessLog::default());
    town
}

/// Changes a settings file of the household.
fn edit(town: &Town, file: &str, before: &str, now: &str) {
    let path = town.path(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(before), "{before} is not in {text}");
    std::fs::write(&path, text.replace(before, now)).unwrap();
}

fn reload(town: &Town, command: &str, more: &[&str]) -> Output {
    let settings = town.path(&format!("house/{command}.toml"));
    guestright().args([command, "reload", "--config"]).arg(settings).args(more).output().unwrap()
}

fn interval_of(visit: &Program, us: u64) {
    visit.hear("the new terms", |event| event["event"] == "granted" && event["interval_us"] == us);
}

/// Downloads until the settings were changed and four megabytes after that: the change comes in the middle, however long
/// it takes, and nothing is cut off.
fn download_until(town: &Town, changed: &AtomicBool) {
    let begin = || begin_download(100_000_000, PATIENCE);
    let mut stream = town.world.within("member", begin).unwrap().unwrap();
    let (mut buffer, mut came, mut came_since) = (vec![0; 65_536], 0, 0);
    while came_since < 4_000_000 {
        // Slowly from then on, so that the rest lasts for longer than the change takes on a crowded computer.
        let is_over = changed.load(Ordering::Acquire);
        if !is_over && came > 10_000_000 {
            std::thread::sleep(Duration::from_millis(50));
        }
        let length = stream.read(&mut buffer).expect("nothing is cut off");
        assert!(length > 0, "the server has sent everything: {came} bytes");
        came += length;
        came_since += if is_over { length } else { 0 };
    }
}

/// What the kernel has of the guests' queues.
fn queues(town: &Town) -> String {
    town.world.run("router", "tc", &["class", "show", "dev", "guests"]).unwrap()
}

#[test]
fn a_guest_downloads_while_the_access_point_takes_new_settings() {
    if !inside("reload::a_guest_downloads_while_the_access_point_takes_new_settings") {
        return;
    }
    let town = town();
    let (_home, mut ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    let ip = town.address_of("member");
    let counted = |least: u64| {
        town.until_status("bytes to come", |status| session(status, &ip)["counted"].as_u64() >= Some(least));
    };
    assert!(queues(&town).contains("rate 200Mbit"), "{}", queues(&town));
    let changed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let download = scope.spawn(|| download_until(&town, &changed));
        counted(1_000_000);
        edit(&town, "house/ap.toml", "interval_ms = 20000", "interval_ms = 15000\nsessions_max = 7");
        edit(&town, "house/ap.toml", "down_bits_per_second = 200000000", "down_bits_per_second = 100000000");
        edit(&town, "house/ap.toml", "state =", "port = 7999\nstate =");
        let answer = succeeded(&reload(&town, "ap", &[]));
        assert_eq!(
            answer,
            "in force now: interval_ms, sessions_max, shaping.down_bits_per_second\n\
             in force only after a restart: port\n"
        );
        changed.store(true, Ordering::Release);
        download.join().unwrap();
    });
    interval_of(&visit, 15_000_000);
    let classes = queues(&town);
    assert!(classes.contains("rate 100Mbit") && !classes.contains("rate 200Mbit"), "{classes}");
    // The guest's own leaf has the lowest class's ceiling of the new rate, an eighth.
    assert!(classes.contains("ceil 12500Kbit"), "{classes}");

    // What is wrong changes nothing, and is said with its reason.
    edit(&town, "house/ap.toml", "interval_ms = 15000", "interval_ms = 3");
    let refused = reload(&town, "ap", &["--json"]);
    assert_eq!(refused.status.code(), Some(78));
    let error: Value = serde_json::from_slice(&refused.stderr).unwrap();
    assert_eq!(error["error"]["code"], 78);
    let sentence = error["error"]["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("nothing was changed") && sentence.contains("interval_ms is 3"),
        "{sentence}"
    );
    edit(&town, "house/ap.toml", "interval_ms = 3", "intervall_ms = 3");
    let refused = reload(&town, "ap", &[]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(78) && words.contains("intervall_ms"), "{words}");

    // SIGHUP says the same, and ends nobody.
    edit(&town, "house/ap.toml", "intervall_ms = 3", "interval_ms = 10000");
    ap.signal(Signal::HUP);
    interval_of(&visit, 10_000_000);
    assert_eq!(town.download("member", 100_000).unwrap(), 100_000);
    assert!(ap.is_running());
    assert_eq!(closed(&town.status(), &ip), Value::Null, "one session from beginning to end");
    // Shaping that was not there needs other rules.
    let text = std::fs::read_to_string(town.path("house/ap.toml")).unwrap();
    std::fs::write(town.path("house/ap.toml"), text.split("[shaping]").next().unwrap()).unwrap();
    let answer: Value = serde_json::from_slice(&reload(&town, "ap", &["--json"]).stdout).unwrap();
    let waiting = ["port", "shaping.down_bits_per_second", "shaping.up_bits_per_second"];
    assert_eq!(answer, serde_json::json!({ "changed": [], "waiting": waiting }));
    town.leave(visit);
}

#[test]
fn a_home_takes_what_it_gives_away_and_says_what_waits() {
    if !inside("reload::a_home_takes_what_it_gives_away_and_says_what_waits") {
        return;
    }
    let town = town();
    let (mut home, _ap) = town.open();
    let per_day = || town.ask("home")["credit"]["allowance"]["per_day"].as_u64();
    edit(
        &town,
        "house/home.toml",
        "allowance_bytes_per_day = 1000000000000",
        "allowance_bytes_per_day = 5000000",
    );
    edit(&town, "house/home.toml", "state =", "receipts_max = 1000\nstate =");
    let answer = succeeded(&reload(&town, "home", &[]));
    assert!(answer.starts_with("in force now: credit.allowance_bytes_per_day\n"), "{answer}");
    assert!(answer.contains("in force only after a restart: receipts_max\n"), "{answer}");
    assert_eq!(per_day(), Some(5_000_000));
    edit(&town, "house/home.toml", "allowance_bytes_per_day = 5000000", "allowance_bytes_per_day = 6000000");
    home.signal(Signal::HUP);
    until("the home to take it", || per_day() == Some(6_000_000));
    edit(&town, "house/home.toml", "state =", "revocations = \"nowhere\"\nstate =");
    let refused = reload(&town, "home", &[]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(78) && words.contains("nowhere"), "{words}");
    assert!(home.is_running());
}

#[test]
fn who_is_revoked_is_served_no_longer_without_a_restart_and_without_the_home() {
    if !inside("reload::who_is_revoked_is_served_no_longer_without_a_restart_and_without_the_home") {
        return;
    }
    let town = town();
    let (mut home, mut ap) = town.open();
    let (resident, _) = town.arrive("resident", "house", "resident");
    let (member, _) = town.arrive("member", "guests", "member");
    succeeded(&town.run(&["team", "member", "revoke", "resident", "--dir", "house"]));
    edit(&town, "house/home.toml", "state =", "revocations = \"revocations\"\nstate =");
    let answer = succeeded(&reload(&town, "home", &[]));
    assert!(answer.starts_with("in force now: revocations\n"), "{answer}");
    let why = |visit: &Program| {
        let ended = visit.hear("to be served no longer", |event| event["event"] == "ended");
        ended["reason"].as_str().unwrap().to_owned()
    };
    let reason = why(&resident);
    assert!(reason.contains("your team has revoked your certificate"), "{reason}");
    assert!(!town.is_online("resident"), "it");
    assert_eq!(town.download("member", 1).unwrap(), 1, "and nobody else");
    let again = |how: &str| {
        let reason = why(&town.visit("resident", "house", "resident", &[]));
        assert!(reason.contains("revoked"), "{how}: {reason}");
    };
    again("at once");
    drop(member);
    // The access point keeps the list, for when there is no home to ask.
    home.kill();
    ap.signal(Signal::TERM);
    assert!(ap.wait().success(), "{}", ap.log());
    let _ap = town.start("ap");
    again("without its home, after a restart");
    assert!(town.status()["refused"]["revoked"].as_u64() >= Some(1), "{}", town.status());
}

#[test]
fn each_session_has_one_line_in_the_log_and_nobodys_address_is_in_it() {
    if !inside("reload::each_session_has_one_line_in_the_log_and_nobodys_address_is_in_it") {
        return;
    }
    let town = town();
    let (mut home, mut ap) = town.open();
    let (visit, class) = town.arrive("member", "guests", "member");
    town.download("member", 300_000).unwrap();
    town.leave(visit);
    let lines = |log: String| -> Vec<String> {
        log.lines().filter(|line| line.contains(" session ")).map(str::to_owned).collect()
    };
    until("both to know of the end", || [&ap, &home].iter().all(|program| !lines(program.log()).is_empty()));
    for (program, reason) in [(&mut ap, "reason=closed"), (&mut home, "reason=\"paid\"")] {
        let log = program.log();
        let answer = lines(log.clone());
        assert_eq!(answer.len(), 1, "{log}");
        for part in ["started=20", "ended=20", "team=", "class=", "bytes=3", reason] {
            assert!(answer[0].contains(part), "{part} is not in {}", answer[0]);
        }
        assert!(!log.contains("10.11.0.21"), "no address at this level: {log}");
    }
    assert!(lines(ap.log())[0].contains(&format!("class=\"{class}\"")), "{}", ap.log());
}

/// A field of an entry in the journal's own protocol: `NAME=value`, or the name, eight bytes of length, and the value.
fn value(entry: &str, name: &str) -> Option<String> {
    let rest = entry.split_inclusive('\n').scan(0, |at, line| {
        let begins = *at;
        *at += line.len();
        Some((begins, line))
    });
    let (at, line) = rest.into_iter().find(|(_, line)| {
        line.trim_end() == name || line.split_once('=').is_some_and(|(field, _)| field == name)
    })?;
    match line.split_once('=') {
        Some((_, value)) => Some(value.trim_end().to_owned()),
        // The values here are short: seven of the eight bytes are nothing.
        None => entry[at + line.len()..].get(8..)?.lines().next().map(str::to_owned),
    }
}

#[test]
fn under_systemd_the_journal_gets_a_field_for_each_fact() {
    if !inside("reload::under_systemd_the_journal_gets_a_field_for_each_fact") {
        return;
    }
    std::fs::create_dir_all("/run/systemd/journal").unwrap();
    let journal = UnixDatagram::bind("/run/systemd/journal/socket").unwrap();
    journal.set_read_timeout(Some(PATIENCE)).unwrap();
    let town = town();
    let _home = town.start("home");
    std::fs::write(town.path("ap.log"), "").unwrap();
    let stream = std::fs::metadata(town.path("ap.log")).unwrap();
    let stream = format!("{}:{}", stream.dev(), stream.ino());
    let ap = town.start_with("ap", &[("JOURNAL_STREAM", &stream)]);
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    let (visit, _) = town.arrive("member", "guests", "member");
    town.leave(visit);
    let mut buffer = vec![0; 65_536];
    let entry = loop {
        let count = journal.recv(&mut buffer).expect("an entry about the session");
        let entry = String::from_utf8_lossy(&buffer[..count]).into_owned();
        if value(&entry, "MESSAGE").as_deref() == Some("session") {
            break entry;
        }
    };
    assert_eq!(value(&entry, "PRIORITY").as_deref(), Some("5"), "{entry}");
    // The number by which docs/metrics.md knows the end of a session.
    let kinds =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/metrics.md")).unwrap();
    let id = kinds.lines().find_map(|line| line.strip_prefix("| `")?.strip_suffix("` | session |"));
    assert_eq!(value(&entry, "MESSAGE_ID").as_deref(), Some(id.unwrap()), "{entry}");
    assert_eq!(value(&entry, "GUESTRIGHT_REASON").as_deref(), Some("closed"), "{entry}");
    for field in ["STARTED", "ENDED", "TEAM", "CLASS", "BYTES"] {
        assert!(value(&entry, &format!("GUESTRIGHT_{field}")).is_some(), "{field} is not in {entry}");
    }
    assert_eq!(ap.log(), "", "nothing is said twice");
}

#[test]
fn receipts_are_exported_while_the_home_runs() {
    if !inside("reload::receipts_are_exported_while_the_home_runs") {
        return;
    }
    let town = town();
    let (mut home, mut ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    town.download("member", 200_000).unwrap();
    town.leave(visit);
    town.until_home_is_owed(200_000);
    let export = |store: &str| succeeded(&town.run(&["receipt", "export", store]));
    let running = ["house/home-state/receipts.sqlite", "house/ap-state/receipts.sqlite"].map(export);
    std::fs::write(town.path("exported.txt"), &running[0]).unwrap();
    let verified = succeeded(&town.run(&["receipt", "verify", "exported.txt"]));
    assert!(verified.ends_with("1 good, 0 bad\n"), "{verified}");
    for program in [&mut ap, &mut home] {
        program.signal(Signal::TERM);
        assert!(program.wait().success());
    }
    let stopped = ["house/home-state/receipts.sqlite", "house/ap-state/receipts.sqlite"].map(export);
    assert_eq!(running, stopped, "the same, whoever reads it");
}
