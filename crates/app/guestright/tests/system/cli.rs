//! The command line: help, errors that say what to do, teams, receipts, and secrets that stay secret.

use crate::town::Program;
use crate::town::client::{Client, Member, Transport, now};
use crate::town::desk;
use crate::town::services::AccessLog;
use crate::town::{Rules, Town, inside, session};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use guestright_receipt::{Bundle, Receipt};
use guestright_testbed::{Desk, help};
use guestright_units::Bytes;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_command_has_a_help_with_an_example() {
    let desk = desk();
    // The help of these is that of guestright-lab, and looked at in its tests.
    let seen = help::walk(&desk, "guestright", &["lab", "tunnel"]);
    for wanted in
        ["team member revoke", "ap off", "home why", "receipt import", "visit", "demo", "doctor", "manual"]
    {
        assert!(seen.iter().any(|path| path == wanted), "{wanted} is missing among {seen:?}");
    }
    assert!(desk.run("--version").starts_with("guestright "));
    let (code, words) = desk.fail("no-such-command");
    assert!(code == 2 && words.contains("no-such-command"), "{code} {words}");
}

/// A program in a folder of its own: a second name of the one under test, so that nothing else is beside it.
fn alone() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("guestright");
    std::fs::hard_link(env!("CARGO_BIN_EXE_guestright"), &program).unwrap();
    (folder, program)
}

/// A guestright-lab that says where it is and what it was told, and ends with 7.
fn put_lab(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join("guestright-lab");
    std::fs::write(&path, "#!/bin/sh\nprintf '<%s>' \"$0\" \"$@\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

fn run_with_path(program: &Path, path: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let path = format!("{}:/usr/bin:/bin", path.display());
    let output = Command::new(program).args(arguments).env("PATH", path).output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), stdout, stderr)
}

#[test]
fn lab_and_tunnel_are_handed_over_with_their_arguments_unchanged() {
    let (folder, program) = alone();
    let elsewhere = folder.path().join("elsewhere");
    put_lab(&elsewhere);
    let cases: [(&[&str], &[&str]); 7] = [
        (&["lab"], &[]),
        (&["lab", "--help"], &["--help"]),
        (&["lab", "run", "a b", "--quick", "--", "-x", ""], &["run", "a b", "--quick", "--", "-x", ""]),
        (&["tunnel", "esp", "--config", "one.toml"], &["tunnel", "esp", "--config", "one.toml"]),
        (&["tunnel", "--help"], &["tunnel", "--help"]),
        (&["--log", "debug", "lab", "list"], &["--log", "debug", "list"]),
        (&["lab", "list", "--log", "debug"], &["list", "--log", "debug"]),
    ];
    let check = |directory: &Path| {
        for (arguments, want) in &cases {
            let mut expected = format!("<{}>", directory.join("guestright-lab").display());
            expected.extend(want.iter().map(|word| format!("<{word}>")));
            let got = run_with_path(&program, &elsewhere, arguments);
            assert_eq!(got, (Some(7), expected, String::new()), "{arguments:?}");
        }
    };
    check(&elsewhere);
    // Whoever installed both together means that one.
    put_lab(folder.path());
    check(folder.path());
}

#[test]
fn where_guestright_lab_is_not_installed_that_is_said() {
    let (folder, program) = alone();
    for command in ["lab", "tunnel"] {
        let (code, stdout, stderr) = run_with_path(&program, folder.path(), &[command, "list"]);
        assert_eq!((code, stdout.as_str()), (Some(69), ""), "{stderr}");
        assert!(stderr.starts_with("guestright: the program guestright-lab"), "{stderr}");
        assert!(
            stderr.contains("is not installed\n  what to do: install the package guestright-lab"),
            "{stderr}"
        );
    }
    let (code, help, _) = run_with_path(&program, folder.path(), &["help"]);
    assert!(code == Some(0) && help.contains("\n  lab ") && help.contains("\n  tunnel "), "{help}");
}

/// A team with a router, a home and a member, and settings for both programs.
fn household() -> Desk {
    let desk = desk();
    desk.run("team init --dir family");
    for (name, role) in [("router", "access-point"), ("home", "home"), ("alice", "member")] {
        desk.run(&format!("team member add {name} --role {role} --dir family"));
    }
    desk.write(
        "family/home.toml",
        "key = \"home.key\"\ncertificate = \"home.cert\"\nlisten = \"127.0.0.1:0\"\n\
         [links]\nlisten = \"127.0.0.1:0\"\n",
    );
    desk.write(
        "family/ap.toml",
        "key = \"router.key\"\ncertificate = \"router.cert\"\nhome = \"127.0.0.1:7274\"\n\
         visitor_interface = \"lo0\"\nuplink_interface = \"lo1\"\n",
    );
    desk
}

#[test]
fn errors_name_the_file_and_what_to_do() {
    let desk = household();
    let settings = desk.read("family/ap.toml");
    desk.write("family/typo.toml", &format!("{settings}shapign = 3\n"));
    desk.write("family/type.toml", &settings.replace("\"127.0.0.1:7274\"", "\"seven homes\""));
    desk.write("family/other.toml", &settings.replace("router.cert", "alice.cert"));
    desk.write("family/role.toml", &settings.replace("router", "alice"));
    desk.write("family/gone.toml", &settings.replace("router.key", "nobody.key"));
    desk.write("family/garbage.toml", &settings.replace("router.key", "ap.toml"));
    desk.write("family/away.toml", &format!("{settings}when_home_is_away = \"best\"\n"));
    desk.write("family/network.toml", &format!("{settings}household_networks = [\"here\"]\n"));
    std::fs::copy(desk.path("family/router.key"), desk.path("family/open.key")).unwrap();
    std::fs::set_permissions(desk.path("family/open.key"), PermissionsExt::from_mode(0o644)).unwrap();
    desk.write("family/open.toml", &settings.replace("router.key", "open.key"));
    std::fs::set_permissions(desk.path("family/garbage.toml"), PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::set_permissions(desk.path("family/ap.toml"), PermissionsExt::from_mode(0o600)).unwrap();
    let visit = "visit --access-point 192.0.2.1 --interface lo";
    #[rustfmt::skip]
    let cases: [(&str, i32, &[&str]); 19] = [
        ("ap --config family/missing.toml",      78, &["read family/missing.toml", "No such file", "what to do"]),
        ("home --config family/missing.toml",    78, &["read family/missing.toml", "what to do"]),
        ("ap --config family/typo.toml",         78, &["family/typo.toml", "line 6", "shapign", "what to do"]),
        ("ap --config family/type.toml",         78, &["family/type.toml", "line 3", "what to do"]),
        ("ap --config family/other.toml",        78, &["family/alice.cert is not the certificate of family/router.key", "what to do"]),
        ("ap --config family/role.toml",         78, &["for a member, not for an access point"]),
        ("ap --config family/gone.toml",         78, &["family/nobody.key", "No such file"]),
        ("ap --config family/garbage.toml",      78, &["family/ap.toml cannot be used", "not a guestright key file"]),
        ("ap --config family/away.toml",         78, &["when_home_is_away"]),
        ("ap --dry-run --config family/network.toml", 78, &["household_networks", "address/length", "what to do"]),
        ("ap --dry-run --config family/ap.toml", 69, &["lo0"]),
        ("ap --config family/open.toml",         78, &["family/open.key (mode 644)", "run `chmod 600 family/open.key`"]),
        ("ap status --config family/ap.toml",    69, &["no access point runs with family/ap.toml"]),
        ("home status --config family/home.toml", 69, &["no home runs with family/home.toml"]),
        ("team member add alice --dir family",   78, &["family/alice.key exists already", "choose another"]),
        ("team member add ../x --dir family",     1, &["\"../x\" will not do"]),
        ("team init --dir family",               78, &["family/team.key exists already", "--dir"]),
        ("receipt export nothing.sqlite",        78, &["there is no store nothing.sqlite"]),
        ("receipt verify nothing.txt",           78, &["read nothing.txt"]),
    ];
    for (line, code, words) in cases {
        let (got, stderr) = desk.fail(line);
        assert_eq!(got, code, "guestright {line}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "guestright {line} does not say {word:?}: {stderr}");
        }
    }
    let (_, stderr) = desk.fail(&format!("{visit} --key family/open.key --certificate family/alice.cert"));
    assert!(stderr.contains("chmod 600 family/open.key"), "{stderr}");
    let (_, stderr) = desk.fail(&format!("{visit} --key family/alice.key --certificate family/router.cert"));
    assert!(stderr.contains("family/router.cert is not the certificate of family/alice.key"), "{stderr}");
}

#[test]
fn settings_are_shown_with_their_defaults() {
    let desk = household();
    let shown = desk.run("ap --show-config --config family/ap.toml");
    assert!(
        shown.contains("interval_ms = 5000") && shown.contains("when_home_is_away = \"lowest\""),
        "{shown}"
    );
    desk.write("family/again.toml", &shown);
    assert_eq!(desk.run("ap --show-config --config family/again.toml"), shown, "what is shown can be read");
    let home = desk.run("home --show-config --config family/home.toml");
    assert!(home.contains("receipts_max = 1000000"), "{home}");
    assert!(home.contains("[links]\nenabled = true\nlisten = \"127.0.0.1:0\"\n"), "{home}");
}

#[test]
fn a_team_goes_through_its_whole_life() {
    let desk = desk();
    desk.write("passphrase", "correct horse\n");
    desk.write("wrong", "battery staple\n");
    let made = desk.json("team init --dir family --encrypt --passphrase-file passphrase --json");
    let team = made["team"].as_str().unwrap().to_owned();
    assert_eq!((team.len(), made["suite"].as_str()), (48, Some("ed25519")));
    let mode = std::fs::metadata(desk.path("family/team.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (_, stderr) = desk.fail("team member add alice --dir family");
    assert!(stderr.contains("family/team.key is encrypted"), "{stderr}");
    let (code, stderr) = desk.fail("team member add alice --dir family --passphrase-file wrong");
    assert!(code == 78 && stderr.contains("does not open the key family/team.key"), "{stderr}");
    desk.write("empty", "");
    let (_, stderr) = desk.fail("team member add alice --dir family --passphrase-file empty");
    assert!(stderr.contains("empty has no passphrase"), "{stderr}");
    let add = |name: &str, more: &str| {
        desk.json(&format!("team member add {name} --dir family --passphrase-file passphrase --json {more}"))
    };
    let alice = add("alice", "--days 90");
    add("router", "--role access-point");
    add("home", "--role home");
    let list = || desk.json("team member list --dir family --json");
    let row = |list: &Value, name: &str| {
        let rows = list.as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).cloned().unwrap()
    };
    let rows = list();
    assert_eq!(rows.as_array().unwrap().len(), 3);
    let listed = row(&rows, "alice");
    assert_eq!(
        (&listed["id"], &listed["role"], &listed["valid"]),
        (&alice["id"], &"member".into(), &true.into())
    );
    assert_eq!(row(&rows, "router")["role"], "access point");

    desk.run("team member revoke alice --dir family --passphrase-file passphrase");
    let rows = list();
    let (gone, stays) = (row(&rows, "alice"), row(&rows, "router"));
    assert!(gone["valid"] == false && gone["reason"].as_str().unwrap().contains("revoked"), "{gone}");
    assert_eq!(stays["valid"], true);
    assert!(desk.run("team member list --dir family").contains("revoked"));

    desk.run("team init --dir open");
    let open = desk.run("team member add bob --dir open");
    assert!(open.contains("bob.key"), "{open}");
    desk.run("team backup copy.key --dir open --passphrase-file passphrase");
    let (_, stderr) = desk.fail("team restore copy.key --dir again");
    assert!(stderr.contains("copy.key is encrypted"), "{stderr}");
    let (_, stderr) = desk.fail("team restore copy.key --dir again --passphrase-file wrong");
    assert!(stderr.contains("does not open"), "{stderr}");
    desk.run("team restore copy.key --dir again --passphrase-file passphrase");
    let (_, stderr) = desk.fail("team member add carol --dir again");
    assert!(stderr.contains("team.key is encrypted"), "it has the passphrase of the backup: {stderr}");
    desk.run("team member add carol --dir again --passphrase-file passphrase");
    let (bob, carol) =
        (certificate(&desk.path("open/bob.cert")), certificate(&desk.path("again/carol.cert")));
    assert_eq!(bob.team_id(), carol.team_id(), "a restored team is the same team");
    assert_ne!(bob.team_id().to_string(), team);
}

#[test]
fn an_encrypted_team_can_be_backed_up_with_its_passphrase() {
    let desk = desk();
    desk.write("passphrase", "correct horse\n");
    desk.run("team init --dir family --encrypt --passphrase-file passphrase");
    desk.run("team backup copy.key --dir family --passphrase-file passphrase");
    desk.run("team restore copy.key --dir again --passphrase-file passphrase --plain");
    desk.run("team member add alice --dir again");
    desk.run("team member add alice --dir family --passphrase-file passphrase");
    let teams = ["again/alice.cert", "family/alice.cert"].map(|path| certificate(&desk.path(path)).team_id());
    assert_eq!(teams[0], teams[1]);
}

#[test]
fn a_home_starts_with_the_passphrase_of_its_key() {
    if !inside("cli::a_home_starts_with_the_passphrase_of_its_key") {
        return;
    }
    let desk = household();
    let path = desk.path("family/home.key");
    let key = guestright_keys::read_secret(&path, || None).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut rng = StdRng::seed_from_u64(1);
    guestright_keys::write_secret(&path, &key, Some("correct horse"), &mut rng).unwrap();
    desk.write("passphrase", "correct horse\n");
    desk.write("wrong", "battery staple\n");
    let (code, stderr) = desk.fail("home --config family/home.toml");
    assert!(code == 78 && stderr.contains("family/home.key is encrypted"), "{stderr}");
    let (code, stderr) = desk.fail("home --config family/home.toml --passphrase-file wrong");
    assert!(code == 78 && stderr.contains("does not open the key family/home.key"), "{stderr}");
    let mut command = desk.command("home --config family/home.toml --passphrase-file passphrase");
    let mut home = Program::start(&mut command, &desk.path("home.log"));
    home.hear_line("to be ready", |line| line.starts_with("home of team"));
    assert_eq!(desk.json("home status --config family/home.toml --json")["receipts"], 0);
    home.signal(Signal::TERM);
    assert!(home.wait().success(), "{}", home.log());
}

fn certificate(path: &Path) -> guestright_identity::Certificate {
    guestright_keys::read_certificate(path).unwrap()
}

#[test]
fn receipts_go_round_and_a_tampered_one_is_named_and_left_out() {
    const SESSIONS: usize = 150;
    let desk = desk();
    let (member, provider) = (Member::new(1, 2), Member::new(3, 4).certificate.team_id());
    // One reading of the clock: two sessions of the same second would be one.
    let latest = now();
    let receipt = |number: usize| {
        let weight = Bytes(1_000 + number as u64);
        Receipt::sign(&member.key, &member.certificate, provider, latest.minus(number as u64), weight)
            .as_bytes()
            .to_vec()
    };
    let line = |receipts: Vec<Vec<u8>>| {
        let certificates = vec![member.certificate.as_bytes().to_vec()];
        STANDARD.encode(Bundle { certificates, receipts, revocations: Vec::new() }.emit()) + "\n"
    };
    let all: Vec<_> = (0..SESSIONS).map(receipt).collect();
    desk.write("first.txt", &all.chunks(64).map(|chunk| line(chunk.to_vec())).collect::<String>());
    let taken = desk.run("receipt import first.txt --store a.sqlite");
    assert!(taken.contains("150 taken in, 0 known already, 0 left out"), "{taken}");
    desk.run("receipt export a.sqlite --out second.txt");
    assert_eq!(desk.run("receipt export a.sqlite"), desk.read("second.txt"));
    let verified = desk.run("receipt verify second.txt");
    assert!(verified.ends_with("150 good, 0 bad\n"), "{verified}");
    let rows = desk.run("receipt verify second.txt --json");
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert!(rows.len() == SESSIONS && rows.iter().all(|row| row["valid"] == true && row["weight"].is_u64()));
    let taken = desk.run("receipt import second.txt --store b.sqlite");
    assert!(taken.contains("150 taken in"), "{taken}");
    let again = desk.run("receipt import second.txt --store b.sqlite");
    assert!(again.contains("0 taken in, 150 known already, 0 left out"), "{again}");
    assert_eq!(desk.run("receipt export b.sqlite"), desk.read("second.txt"), "the same store, the same file");

    let mut forged = all[7].clone();
    *forged.last_mut().unwrap() ^= 1;
    let tampered = [line(all[..3].to_vec()), line(vec![all[3].clone(), forged, all[4].clone()])].concat();
    desk.write("tampered.txt", &tampered);
    let output = desk.try_run("receipt verify tampered.txt");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout.contains("BAD   line 2") && stdout.contains("5 good, 1 bad"), "{stdout}");
    assert!(stderr.contains("1 receipts do not count"), "{stderr}");
    let taken = desk.run("receipt import tampered.txt --store c.sqlite");
    assert!(
        taken.contains("left out, line 2") && taken.contains("5 taken in, 0 known already, 1 left out"),
        "{taken}"
    );

    desk.write("rubbish.txt", &[line(all[..3].to_vec()), "not base64!\n".to_owned()].concat());
    let (_, rejected) = desk.fail("receipt verify rubbish.txt");
    assert!(rejected.contains("rubbish.txt, line 2"), "{rejected}");
}

#[test]
fn a_wrong_file_is_the_configurations_fault_and_a_database_that_cannot_be_opened_the_systems() {
    let desk = household();
    assert_eq!(desk.fail("home --config family/none.toml").0, 78);
    assert_eq!(desk.fail("home status --config family/home.toml").0, 69);
    std::fs::create_dir_all(desk.path("family/home-state/receipts.sqlite")).unwrap();
    let (code, words) = desk.fail("home --config family/home.toml");
    assert!(code == 69 && words.contains("receipts.sqlite"), "{code}: {words}");
}

#[test]
fn doctor_completions_and_manual_are_for_programs_too() {
    let desk = desk();
    let findings = desk.json("doctor --json");
    let findings = findings.as_array().unwrap();
    assert!(findings.len() >= 5);
    for finding in findings {
        assert!(finding["what"].is_string() && finding["says"].is_string(), "{finding}");
        assert_eq!(
            finding["good"] == true,
            finding["to_do"].is_null(),
            "what is good needs nothing done: {finding}"
        );
    }
    let found = |what: &str| {
        findings.iter().find(|finding| finding["what"].as_str().unwrap().contains(what)).unwrap()
    };
    assert_eq!((&found("nftables")["good"], &found("namespaces")["good"]), (&true.into(), &true.into()));
    // Kernels that the tests run on have all layers of the firewall, but for an owned table before Linux 6.9.
    for layer in ["grants that end", "policy routing", "static filter"] {
        assert_eq!(found(layer)["good"], true, "{}", found(layer));
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    let is_new = (numbers.next().unwrap(), numbers.next().unwrap()) >= (6, 9);
    assert_eq!(found("owned table")["good"], is_new, "{release}: {}", found("owned table"));
    let text = desk.run("doctor");
    assert_eq!(text.contains("this computer can do everything"), !text.contains("\nno "), "{text}");
    for shell in ["bash", "zsh", "fish"] {
        let script = desk.run(&format!("completions {shell}"));
        assert!(script.contains("guestright") && script.contains("revoke"), "{shell}");
    }
    std::fs::create_dir(desk.path("man")).unwrap();
    desk.run("manual man");
    let pages: Vec<_> =
        std::fs::read_dir(desk.path("man")).unwrap().map(|page| page.unwrap().path()).collect();
    for wanted in
        ["guestright.1", "guestright-ap.1", "guestright-team-member-add.1", "guestright-receipt-verify.1"]
    {
        assert!(pages.contains(&desk.path("man").join(wanted)), "{wanted} is missing among {pages:?}");
    }
    assert!(pages.iter().all(|page| std::fs::read_to_string(page).unwrap().contains(".TH ")));
}

#[test]
fn a_directory_for_the_manual_that_is_not_there_is_named() {
    let (_, stderr) = desk().fail("manual nowhere");
    assert!(stderr.contains("nowhere"), "{stderr}");
}

/// Every way in which bytes are likely to be written.
pub(crate) fn writings(secret: &[u8]) -> Vec<String> {
    let hexadecimal: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let list = secret.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
    let base64 = [STANDARD.encode(secret), STANDARD_NO_PAD.encode(secret), URL_SAFE_NO_PAD.encode(secret)];
    [base64.as_slice(), &[hexadecimal.to_uppercase(), hexadecimal, list]].concat()
}

#[test]
fn no_log_shows_a_secret() {
    if !inside("cli::no_log_shows_a_secret") {
        return;
    }
    let town = Town::build(Rules { log: "trace", ..Rules::default() });
    town.serve_tcp("net", crate::town::WEB, &AccessLog::default());
    let (mut home, mut ap) = town.open();
    let (mut visit, _) = town.arrive("member", "guests", "member");
    // More than half of what it may leave unsigned, so that a receipt is asked for at once.
    town.download("member", 150_000).unwrap();
    let ip = town.address_of("member");
    town.until_status("a receipt", |status| session(status, &ip)["signed"].as_u64() >= Some(10_000));
    for transport in [Transport::Tcp, Transport::Udp] {
        let mut stranger = Client::new(&town, "hostile", transport);
        stranger.send(b"GET / HTTP/1.1\r\n\r\n");
        stranger.receive_error().unwrap();
    }
    for program in [&mut visit, &mut ap, &mut home] {
        program.signal(Signal::TERM);
        assert!(program.wait().success());
    }
    let logs = [("ap", ap.log()), ("home", home.log()), ("visit", visit.log())];
    let words = [("opened a session", 0), ("a connection was ended", 0), ("decided", 1)];
    for (words, which) in words {
        let (program, log) = &logs[which];
        assert!(log.contains(words), "{program} logs at this level: {log}");
    }
    let secrets = town.secrets();
    assert!(secrets.len() >= 6, "{} keys", secrets.len());
    for (program, log) in &logs {
        for (file, secret) in &secrets {
            let text = std::fs::read_to_string(file).unwrap();
            let armoured =
                text.lines().filter(|line| !line.starts_with('-') && line.len() > 20).map(str::to_owned);
            for written in writings(secret).into_iter().chain(armoured) {
                assert!(!log.contains(&written), "{program} shows the secret of {}", file.display());
            }
        }
    }
}

#[test]
fn the_search_for_secrets_finds_one() {
    let secret: Vec<u8> = (0..32).collect();
    for line in
        ["key: [0, 1, 2, 3", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", "000102030405060708090a0b"]
    {
        assert!(
            writings(&secret).iter().any(|written| written.contains(line.trim_start_matches("key: ["))),
            "{line}"
        );
    }
}
