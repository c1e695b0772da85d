//! A backup of everything: made while the home runs, restored after everything was deleted.

use crate::town::services::AccessLog;
use crate::town::{Rules, Town, desk, inside, succeeded, until};
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn split(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

/// All files below a directory but those of today, with what is in them.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.is_file() {
            found.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// All that was there is there again, but for what says how the network was on that day.
fn as_before(town: &Town, listed: &[(PathBuf, Vec<u8>)]) {
    let is_of_today = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        ["sock", "sqlite", "wal"].iter().any(|end| name.ends_with(end)) || name.ends_with("firewall.json")
    };
    let restored = files(&town.path("house"));
    for (path, content) in listed.iter().filter(|(path, _)| !is_of_today(path)) {
        if path.starts_with(town.path("house/ap-state")) {
            continue; // Its receipts are at home.
        }
        let again = restored.iter().find(|(other, _)| other == path);
        assert!(again.is_some_and(|(_, other)| other == content), "{} is not as it was", path.display());
    }
}

#[test]
fn everything_is_deleted_and_restored_and_a_guest_is_served_with_accounts_as_before() {
    if !inside("backup::everything_is_deleted_and_restored_and_a_guest_is_served_with_accounts_as_before") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_tcp("net", crate::town::WEB, &AccessLog::default());
    let run = |line: &str| succeeded(&town.run(&split(line)));
    run("team renewal init --dir house");
    run("team gateway init --endpoint 198.51.100.2:51820 --dir house");
    run("team member add eve --dir house --qr");
    run("team member revoke eve --dir house");
    let settings = std::fs::read_to_string(town.path("house/home.toml")).unwrap();
    let named = "revocations = \"revocations\"\nrenewal = \"renewal\"\n";
    std::fs::write(town.path("house/home.toml"), format!("{named}{settings}")).unwrap();
    let (mut home, mut ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    town.download("member", 300_000).unwrap();
    town.leave(visit);
    town.until_home_is_owed(300_000);
    let accounts = || -> Value {
        let words = run("home accounts --json --config house/home.toml");
        serde_json::from_str(&words).unwrap()
    };
    let before = accounts();
    assert!(before.to_string().contains("given"), "{before}");
    std::fs::write(town.path("passphrase"), "correct horse\n").unwrap();
    // While the home runs.
    let made = run(
        "team backup household.backup --all --dir house --home house/home.toml --ap house/ap.toml --passphrase-file passphrase",
    );
    assert!(made.contains("household.backup"), "{made}");
    assert!(home.is_running() && !town.path("house/home-state/receipts.copy").exists());
    let kept = std::fs::read(town.path("household.backup")).unwrap();
    for (path, secret) in town.secrets() {
        if path.starts_with(town.path("house")) {
            let found = kept.windows(secret.len()).any(|window| window == secret);
            assert!(!found, "{} is in it unencrypted", path.display());
        }
    }
    let listed = files(&town.path("house"));

    for program in [&mut ap, &mut home] {
        program.signal(Signal::TERM);
        assert!(program.wait().success());
    }
    std::fs::rename(town.path("house"), town.path("lost")).unwrap();
    // A wrong passphrase is one sentence, and nothing is made.
    std::fs::write(town.path("wrong"), "cow\n").unwrap();
    let refused = town.run(&split("team restore household.backup --passphrase-file wrong"));
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(78));
    assert!(words.contains("the passphrase does not open it") && words.lines().count() == 1, "{words}");
    assert!(!town.path("house").exists());
    run("team restore household.backup --passphrase-file passphrase");
    as_before(&town, &listed);
    // Over what is there only if one says so.
    let refused = town.run(&split("team restore household.backup --passphrase-file passphrase"));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--replace"));
    run("team restore household.backup --replace --passphrase-file passphrase");

    let (_home, _ap) = town.open();
    assert_eq!(accounts(), before, "accounts are as before");
    assert!(town.ask("home")["renewing_key"]["key"].is_string());
    let refused = town.run(&split("team restore household.backup --replace --passphrase-file passphrase"));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a home runs"));
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 50_000).unwrap(), 50_000, "and a guest is served");
    town.leave(visit);
    town.until_home_is_owed(350_000);
}

#[test]
fn a_backup_goes_elsewhere_keeps_the_team_working_and_is_never_half() {
    let desk = desk();
    desk.run("team init --dir family");
    desk.run("team member add alice --dir family");
    desk.run("team member add home --role home --dir family");
    desk.write("family/home.toml", "key = \"home.key\"\ncertificate = \"home.cert\"\n");
    desk.run("team backup all.backup --all --plain --dir family --home family/home.toml");
    let (code, words) = desk.fail("team backup all.backup --all --plain --dir family");
    assert!(code == 78 && words.contains("exists already"), "{words}");
    let target = desk.path("new/place");
    std::fs::create_dir_all(&target).unwrap();
    desk.run("team restore all.backup --dir new/team --home new/place/home.toml");
    assert!(target.join("home.toml").exists() && target.join("home.key").exists());
    desk.run("team member add bob --dir new/team");
    let (alice, again) = (desk.read("family/alice.key"), desk.read("new/team/alice.key"));
    assert_eq!(alice, again);
    // Of a file that was cut nothing is restored.
    let whole = std::fs::read(desk.path("all.backup")).unwrap();
    std::fs::write(desk.path("cut.backup"), &whole[..whole.len() - 10]).unwrap();
    let (code, words) = desk.fail("team restore cut.backup --dir other --home other/home.toml");
    assert!(code == 78 && words.contains("ends too early"), "{words}");
    assert!(!desk.path("other").exists());
    // A passphrase is asked for unless one says that none is wanted.
    let (_, words) = desk.fail("team backup secret.backup --all --dir family");
    assert!(words.contains("--passphrase-file") && !desk.path("secret.backup").exists(), "{words}");
}

/// Killed at any moment there is no file, or the whole.
#[test]
fn a_backup_that_is_killed_leaves_no_half_file_under_its_name() {
    let desk = desk();
    desk.run("team init --dir family");
    std::fs::write(desk.path("family/large"), vec![7; 60_000_000]).unwrap();
    let mut seen = [0, 0];
    for _ in 0..12 {
        let mut command = desk.command("team backup all.backup --all --plain --dir family");
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        until("it to begin to write", || {
            let names = std::fs::read_dir(desk.path("")).unwrap().map(|entry| entry.unwrap().file_name());
            names.into_iter().any(|name| name.to_string_lossy().starts_with("all.backup"))
        });
        child.kill().unwrap();
        child.wait().unwrap();
        if desk.path("all.backup").exists() {
            desk.run("team restore all.backup --dir restored");
            std::fs::remove_dir_all(desk.path("restored")).unwrap();
            std::fs::remove_file(desk.path("all.backup")).unwrap();
            seen[1] += 1;
        } else {
            seen[0] += 1;
        }
        for entry in std::fs::read_dir(desk.path("")).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::remove_file(path).unwrap();
            }
        }
    }
    println!("killed before the end {} times, whole {} times", seen[0], seen[1]);
    assert!(seen[0] > 0, "it was never killed in the middle");
}
