//! Who had which address when: found while it is kept, and gone from the disk afterwards.

use crate::town::services::AccessLog;
use crate::town::{Rules, Town, WEB, guestright, inside, succeeded, until, until_within};
use guestright_store::addresses::{AddressLimits, Addresses, Moment};
use guestright_units::UnixSeconds;
use rustix::process::Signal;
use serde_json::Value;
use std::process::Output;
use std::time::Duration;

const HOUR: u64 = 3_600;
/// What is due is removed every minute.
const REMOVED_WITHIN: Duration = Duration::from_secs(90);

fn town() -> Town {
    let town = Town::build(Rules { splash: true, ..Rules::default() });
    town.serve_tcp("net", WEB, &AccessLog::default());
    let path = town.path("house/ap.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}trial = \"2 MB\"\n[retention]\naddresses = \"1h\"\n")).unwrap();
    town
}

fn ap(town: &Town, arguments: &[&str]) -> Output {
    let settings = town.path("house/ap.toml");
    guestright().arg("ap").args(arguments).arg("--config").arg(settings).output().unwrap()
}

/// Who was there at a time, or had an address then.
fn who(town: &Town, at: u64, address: &[&str]) -> Vec<Value> {
    let at = at.to_string();
    let output = ap(town, &[&["who", "--json", "--at", &at], address].concat());
    let answer: Value = serde_json::from_str(&succeeded(&output)).unwrap();
    answer["records"].as_array().unwrap().clone()
}

fn time(record: &Value, name: &str) -> u64 {
    record[name].as_str().unwrap().parse::<UnixSeconds>().unwrap().0
}

/// The hardware address of a visitor.
fn mac(town: &Town, host: &str) -> String {
    town.world
        .run(host, "cat", &["/sys/class/net/wlan0/address"])
        .unwrap_or_else(|_| {
            let shown = town.world.run(host, "ip", &["-o", "link", "show", "wlan0"]).unwrap();
            shown.split("link/ether ").nth(1).unwrap()[..17].to_owned()
        })
        .trim()
        .to_owned()
}

/// Whether any file of the access point's state has these bytes.
fn state_has(town: &Town, mac: &str) -> bool {
    let bytes: Vec<u8> = mac.split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(bytes.len(), 6, "{mac}");
    let files = std::fs::read_dir(town.path("house/ap-state")).unwrap();
    let files = files.map(|file| file.unwrap().path()).filter(|path| path.is_file());
    files
        .filter_map(|path| std::fs::read(path).ok())
        .any(|file| file.windows(6).any(|window| window == bytes))
}

/// So much time passes for the records that were left, while nobody is there and the clock on the wall stands still.
fn pass_seconds(town: &Town, seconds: u64) {
    let path = town.path("house/ap-state/addresses.sqlite");
    let wall = guestright_clock::unix_seconds();
    let limits = AddressLimits { keep_seconds: 1_000 * HOUR, records_max: 1_000 };
    let mut records = Addresses::open(&path, limits, Moment { wall, steady_seconds: 0 }).unwrap();
    assert_eq!(records.pass_time(Moment { wall, steady_seconds: seconds }), Ok(0));
}

#[test]
fn a_guest_is_found_for_the_time_it_was_there_and_is_gone_from_the_disk_an_hour_later() {
    if !inside(
        "retention::a_guest_is_found_for_the_time_it_was_there_and_is_gone_from_the_disk_an_hour_later",
    ) {
        return;
    }
    let town = town();
    let (_home, mut access_point) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 100_000).unwrap(), 100_000);
    let ip = town.address_of("member");
    let mac = mac(&town, "member");
    let now = guestright_clock::unix_seconds().0;
    until("what it carried to be in its record", || {
        who(&town, now, &[]).iter().any(|record| record["carried"].as_u64() >= Some(100_000))
    });
    let online = who(&town, now, &[]);
    assert_eq!(online.len(), 1, "{online:?}");
    let record = &online[0];
    let team = town.status()["sessions"][0]["team"].clone();
    assert_eq!(
        (&record["ip"], &record["mac"], &record["team"]),
        (&ip.as_str().into(), &mac.as_str().into(), &team)
    );
    assert!(record["ended"].is_null(), "{record}");
    let printed = succeeded(&ap(&town, &["who", &ip]));
    assert!(printed.contains(&mac) && printed.contains("to now"), "{printed}");
    let began = time(record, "began");
    town.leave(visit);
    until("the end to be noted", || {
        who(&town, began, &[&ip]).iter().all(|record| !record["ended"].is_null())
    });
    let ended = time(&who(&town, began, &[&ip])[0], "ended");
    assert!((began..=guestright_clock::unix_seconds().0).contains(&ended));
    assert_eq!(who(&town, ended, &[&ip]).len(), 1);
    for (at, address) in [(began - 1, &ip), (ended + 1, &ip), (began, &town.address_of("resident"))] {
        assert!(who(&town, at, &[address]).is_empty(), "{address} at {at}");
    }
    let exported = town.path("addresses.jsonl");
    succeeded(&ap(&town, &["export-addresses", "--out", exported.to_str().unwrap()]));
    let lines = std::fs::read_to_string(&exported).unwrap();
    assert_eq!(
        lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["mac"].clone())
            .collect::<Vec<_>>(),
        [mac.as_str()]
    );

    // A little less than an hour later it is there, and then the running program removes it.
    access_point.signal(Signal::INT);
    assert!(access_point.wait().success());
    assert_eq!(who(&town, began, &[&ip]).len(), 1, "of a program that does not run");
    pass_seconds(&town, HOUR - 20);
    let mut access_point = town.start("ap");
    assert!(state_has(&town, &mac));
    until_within(REMOVED_WITHIN, "the record to be removed", || !state_has(&town, &mac));
    assert!(who(&town, began, &[&ip]).is_empty());

    // Another visit becomes due while nothing runs.
    let (visit, _) = town.arrive("member", "guests", "member");
    town.leave(visit);
    access_point.signal(Signal::INT);
    assert!(access_point.wait().success());
    assert!(state_has(&town, &mac));
    pass_seconds(&town, HOUR + 1);
    let _access_point = town.start("ap");
    assert!(!state_has(&town, &mac), "removed before it serves");
}

#[test]
fn what_is_forgotten_or_switched_off_is_gone_while_guests_are_served() {
    if !inside("retention::what_is_forgotten_or_switched_off_is_gone_while_guests_are_served") {
        return;
    }
    let town = town();
    let (_home, _access_point) = town.open();
    let mac = mac(&town, "member");
    let (visit, _) = town.arrive("member", "guests", "member");
    let team = town.status()["sessions"][0]["team"].as_str().unwrap().to_owned();
    assert!(state_has(&town, &mac));
    let forgotten = succeeded(&ap(&town, &["forget", &team[..8]]));
    assert!(forgotten.starts_with("removed 1 record "), "{forgotten}");
    assert!(!state_has(&town, &mac) && town.status()["retention"]["records"] == 0);
    assert_eq!(town.download("member", 100_000).unwrap(), 100_000, "it is served as before");
    town.leave(visit);
    assert!(!state_has(&town, &mac), "its end makes no record");

    let (visit, _) = town.arrive("member", "guests", "member");
    until("a record of the new session", || state_has(&town, &mac));
    let path = town.path("house/ap.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"1h\"", "\"off\"")).unwrap();
    let reloaded = succeeded(&ap(&town, &["reload"]));
    assert!(reloaded.contains("retention.addresses"), "{reloaded}");
    until("the file to be gone", || !town.path("house/ap-state/addresses.sqlite").exists());
    assert!(!state_has(&town, &mac) && town.status()["retention"].is_null());
    assert_eq!(town.download("member", 100_000).unwrap(), 100_000);
    let refused = ap(&town, &["who"]);
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("it is not kept who had which address"),
        "{refused:?}"
    );

    // Switched on, it has those who are there.
    std::fs::write(&path, &text).unwrap();
    succeeded(&ap(&town, &["reload"]));
    until("a record of the session that is open", || state_has(&town, &mac));
    town.leave(visit);
}

#[test]
fn the_page_of_terms_says_what_is_kept_and_shows_the_households_file_anew_after_a_reload() {
    if !inside(
        "retention::the_page_of_terms_says_what_is_kept_and_shows_the_households_file_anew_after_a_reload",
    ) {
        return;
    }
    let town = town();
    let path = town.path("house/ap.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let write = |keep: &str| {
        let text = text.replace("trial =", "terms_file = \"terms.txt\"\ntrial =");
        std::fs::write(&path, text.replace("\"1h\"", keep)).unwrap();
    };
    write("\"2d\"");
    let terms = town.path("house/terms.txt");
    std::fs::write(&terms, "No <mail> servers.\n").unwrap();
    let (_home, _access_point) = town.open();
    let page = |language: &str| {
        let url = format!("http://10.11.0.1:7280/terms/{language}");
        town.world.run("member", "curl", &["--silent", "--fail", "--max-time", "20", &url]).unwrap()
    };
    for language in ["en", "de", "fr", "ar"] {
        let html = page(language);
        assert!(html.contains("No &lt;mail&gt; servers.") && html.contains("<bdi>48</bdi>"), "{html}");
    }
    std::fs::write(&terms, b"Gr\xfc\xdfe").unwrap();
    let refused = ap(&town, &["reload"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is no UTF-8 from byte 3 on"), "{refused:?}");
    assert!(page("en").contains("No &lt;mail&gt; servers."), "the old page stays");
    std::fs::write(&terms, "Be kind.\n").unwrap();
    write("\"off\"");
    succeeded(&ap(&town, &["reload"]));
    let html = page("en");
    assert!(
        html.contains("Be kind.") && html.contains("It is not kept who had which address here."),
        "{html}"
    );
}

fn home(town: &Town, arguments: &[&str]) -> Output {
    let settings = town.path("house/home.toml");
    guestright().arg("home").args(arguments).arg("--config").arg(settings).output().unwrap()
}

#[test]
fn a_home_shows_all_that_it_keeps_about_a_team_and_forgets_what_nobody_loses_by() {
    if !inside("retention::a_home_shows_all_that_it_keeps_about_a_team_and_forgets_what_nobody_loses_by") {
        return;
    }
    let town = town();
    let (_home, _access_point) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    let team = town.status()["sessions"][0]["team"].as_str().unwrap().to_owned();
    assert_eq!(town.download("member", 2_000_000).unwrap(), 2_000_000);
    town.leave(visit);
    town.until_home_is_owed(2_000_000);
    succeeded(&home(&town, &["sponsor", &team, "--megabytes", "7"]));
    succeeded(&home(&town, &["block", &team]));
    let about = || -> Value {
        serde_json::from_str(&succeeded(&home(&town, &["export", "--about", &team[..8]]))).unwrap()
    };
    let kept = about();
    assert_eq!((&kept["team"], &kept["sponsored"]), (&team.as_str().into(), &7_000_000.into()), "{kept}");
    assert!(kept["blocked_since"].is_string() && kept["next"].is_null(), "{kept}");
    let receipts = &kept["receipts"];
    let owed = town.ask("home")["owed_to_us"].as_u64().unwrap();
    assert_eq!((&receipts["count"], &receipts["it_was_served_bytes"]), (&1.into(), &owed.into()), "{kept}");
    // They are as they are stored: the program's own check takes them.
    let file = town.path("about.txt");
    let bundles =
        receipts["bundles"].as_array().unwrap().iter().map(|it| format!("{}\n", it.as_str().unwrap()));
    std::fs::write(&file, bundles.collect::<String>()).unwrap();
    assert!(succeeded(&town.run(&["receipt", "verify", file.to_str().unwrap()])).contains("1 good, 0 bad"));

    let forgotten = succeeded(&home(&town, &["forget", &team[..8]]));
    assert!(forgotten.contains("sponsored") && forgotten.contains("stays: receipts: "), "{forgotten}");
    let left = about();
    assert!(left["sponsored"].is_null() && left["blocked_since"] == kept["blocked_since"], "{left}");
    assert_eq!((&left["receipts"], &left["account"]), (receipts, &kept["account"]), "nobody loses a debt");
    let refused = home(&town, &["forget", "ffffffff"]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no team is known"), "{refused:?}");
}

#[test]
fn a_full_disk_stops_no_guest_and_is_named_until_there_is_room() {
    if !inside("retention::a_full_disk_stops_no_guest_and_is_named_until_there_is_room") {
        return;
    }
    let town = town();
    let state = town.path("house/ap-state");
    std::fs::create_dir(&state).unwrap();
    let mount = ["-t", "tmpfs", "-o", "mode=700,size=1m", "small", state.to_str().unwrap()];
    assert!(std::process::Command::new("mount").args(mount).status().unwrap().success());
    let (_home, _access_point) = town.open();
    let filler = state.join("filler");
    // As much as there is room for.
    std::fs::write(&filler, vec![1; 2_000_000]).unwrap_err();
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 500_000).unwrap(), 500_000);
    let status =
        town.until_status("the disk to be named", |status| status["retention"]["trouble"].is_string());
    let trouble = status["retention"]["trouble"].as_str().unwrap();
    assert!(trouble.contains("no space is left for the address records"), "{trouble}");
    town.leave(visit);
    std::fs::remove_file(&filler).unwrap();
    until_within(REMOVED_WITHIN, "the trouble to be over", || {
        town.status()["retention"]["trouble"].is_null()
    });
    let (visit, _) = town.arrive("member", "guests", "member");
    let ip = town.address_of("member");
    until("a record again", || !who(&town, guestright_clock::unix_seconds().0, &[&ip]).is_empty());
    town.leave(visit);
}
