//! A router with OpenWrt: settings from UCI, and a firewall of fw4's shape beside ours.

use crate::town::services::AccessLog;
use crate::town::{Program, Rules, Town, guestright, inside, succeeded, until};
use rustix::process::Signal;
use serde_json::Value;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A ruleset with the hooks, priorities and policies of OpenWrt's firewall4 (its `ruleset.uc`, June 2026) for three zones:
/// lan, wan and guest, of which guest may reach wan, and of the router what guests need.
const FW4: &str = include_str!("openwrt/fw4.nft");
/// How `fw4 reload` begins: its own table, made if it is not there, and emptied, in the same transaction as what follows.
const RELOAD: &str = "table inet fw4\nflush table inet fw4\n";
/// How `fw4 stop` ends.
const STOP: &str = "table inet fw4\ndelete table inet fw4\n";

fn town() -> Town {
    town_with(&AccessLog::default())
}

/// The same; the log is of the service that is downloaded from.
fn town_with(log: &AccessLog) -> Town {
    let town = Town::build(Rules::default());
    town.serve_tcp("net", crate::town::WEB, log);
    // Every router with OpenWrt forwards, whoever runs on it.
    town.world.sysctl("router", "net.ipv4.ip_forward", "1").unwrap();
    town
}

/// fw4's rules with its verdict maps written out. A packet that is being judged while the kernel replaces a rule can miss
/// what that rule's map held (the elements go with the transaction, the rule only when nobody reads it any more), and fw4's
/// last rule then resets the connection: of everybody, with or without us, once in many reloads. Without maps there is no
/// such moment, so whatever is cut then is cut by us.
fn without_maps() -> String {
    let written_out = |line| match line {
        line if str::contains(line, " vmap ") => {
            "ct state established,related accept\nct state invalid drop\n".to_owned()
        }
        line => format!("{line}\n"),
    };
    FW4.lines().map(written_out).collect()
}

fn load_fw4(town: &Town, rules: &str) {
    town.nft(&format!("{RELOAD}{rules}"));
}

fn has_fw4(town: &Town) -> bool {
    town.condition().contains("table inet fw4")
}

/// A member of another team is online and a stranger is not, before, while and after something happens to fw4: again and
/// again, as long as 40 downloads take. Returns how many downloads were reset and begun again.
fn holds_while(town: &Town, log: &AccessLog, what: &str, happens: impl Fn() + Sync) -> u32 {
    let online = |when: &str| {
        assert_eq!(town.download("member", 10_000).unwrap(), 10_000, "{when} {what}: the guest is online");
        assert!(!town.is_online("hostile"), "{when} {what}: the stranger stays out");
    };
    online("before");
    let done = AtomicBool::new(false);
    let resets = thread::scope(|scope| {
        let guest = scope.spawn(|| {
            let resets = downloads_with_resets(town, log, 40);
            done.store(true, Ordering::Release);
            resets
        });
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                assert!(!town.is_online("hostile"), "during {what}: the stranger stays out");
            }
        });
        let mut times = 0;
        while !done.load(Ordering::Acquire) || times < 3 {
            happens();
            times += 1;
        }
        guest.join().unwrap().unwrap_or_else(|error| panic!("during {what}: {error}"))
    });
    online("after");
    resets
}

/// Downloads half a megabyte `downloads` times, beginning again what was reset, and returns how often that was. When a packet of
/// the service's was answered with a reset, only the service knows, and the guest hears nothing any more.
///
/// # Errors
/// What else went wrong, or the last reset when there were more than ten for each download.
fn downloads_with_resets(town: &Town, log: &AccessLog, downloads: u32) -> io::Result<u32> {
    const BYTES: usize = 500_000;
    let is_reset = |kind| matches!(kind, io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused);
    let (mut whole, mut resets) = (0, 0);
    while whole < downloads {
        let cut = log.cut();
        match town.download("member", BYTES) {
            Ok(BYTES) => whole += 1,
            Ok(bytes) => {
                return Err(io::Error::other(format!(
                    "the connection ended in order after {bytes} of {BYTES} bytes"
                )));
            }
            Err(error)
                if (is_reset(error.kind())
                    || error.kind() == io::ErrorKind::WouldBlock && log.cut() > cut)
                    && resets < 10 * downloads =>
            {
                resets += 1;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(resets)
}

#[test]
fn fw4_alone_would_let_everybody_out() {
    if !inside("openwrt::fw4_alone_would_let_everybody_out") {
        return;
    }
    let town = town();
    load_fw4(&town, FW4);
    // So that whoever is kept out below is kept out by us.
    for visitor in ["hostile", "member"] {
        assert_eq!(town.download(visitor, 1).unwrap(), 1, "{visitor}");
    }
}

#[test]
fn fw4_is_loaded_before_us_and_reloaded_while_guests_are_online() {
    if !inside("openwrt::fw4_is_loaded_before_us_and_reloaded_while_guests_are_online") {
        return;
    }
    let log = AccessLog::default();
    let town = town_with(&log);
    load_fw4(&town, FW4);
    let before = town.condition();
    let (_home, mut ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    reload_and_restart(&town, &log, FW4);
    assert_eq!(reload_and_restart(&town, &log, &without_maps()), 0, "nothing of ours cuts a connection");
    load_fw4(&town, FW4);
    let status = town.status();
    assert_eq!(status["mended"], serde_json::json!({}), "fw4 touches nothing of ours: {status}");
    assert_eq!(status["trouble"], Value::Null, "{status}");
    town.leave(visit);
    ap.signal(Signal::TERM);
    assert!(ap.wait().success(), "{}", ap.log());
    assert_eq!(town.condition(), before, "and we touch nothing of fw4's");
}

/// Returns how many downloads were reset meanwhile.
fn reload_and_restart(town: &Town, log: &AccessLog, rules: &str) -> u32 {
    load_fw4(town, rules);
    let reloaded = holds_while(town, log, "`fw4 reload`", || load_fw4(town, rules));
    let restarted = holds_while(town, log, "`fw4 restart`", || {
        town.nft(STOP);
        load_fw4(town, rules);
    });
    println!("fw4 reset {reloaded} downloads by reloads and {restarted} by restarts");
    reloaded + restarted
}

#[test]
fn fw4_is_loaded_after_us_while_guests_are_online() {
    if !inside("openwrt::fw4_is_loaded_after_us_while_guests_are_online") {
        return;
    }
    let log = AccessLog::default();
    let town = town_with(&log);
    let (_home, mut ap) = town.open();
    let (_visit, _) = town.arrive("member", "guests", "member");
    assert!(!has_fw4(&town));
    assert_eq!(holds_while(&town, &log, "`fw4 start`", || load_fw4(&town, &without_maps())), 0);
    holds_while(&town, &log, "`fw4 start`", || load_fw4(&town, FW4));
    assert!(has_fw4(&town));
    assert_eq!(town.status()["mended"], serde_json::json!({}));
    // Without fw4 the household's own rules are gone; ours are not.
    town.nft(STOP);
    assert!(!town.is_online("hostile"));
    ap.signal(Signal::TERM);
    assert!(ap.wait().success(), "{}", ap.log());
    assert!(!town.condition().contains("table inet guestright"), "{}", town.condition());
}

/// The household's settings as OpenWrt's file has them.
fn uci(town: &Town, enabled: u8) -> String {
    let house = town.path("house");
    let house = house.display();
    format!(
        "config service 'service'\n\toption wait_for_clock '0'\n\n\
         config home 'home'\n\toption enabled '{enabled}'\n\toption key '{house}/home.key'\n\
         \toption certificate '{house}/home.cert'\n\toption state '{house}/home-state'\n\n\
         config home_credit\n\toption allowance_bytes_per_day '1000000000000'\n\n\
         config ap 'ap'\n\toption enabled '{enabled}'\n\toption key '{house}/router.key'\n\
         \toption certificate '{house}/router.cert'\n\toption state '{house}/ap-state'\n\toption home '127.0.0.1:7274'\n\
         \toption visitor_interface 'guests'\n\toption uplink_interface 'uplink'\n\toption interval_ms '20000'\n\
         \toption flush_ms '300'\n\tlist household_networks '203.0.113.0/24'\n\n\
         config ap_shaping\n\toption down_bits_per_second '200000000'\n\toption up_bits_per_second '50000000'\n"
    )
}

fn write_uci(town: &Town, text: &str) -> String {
    let file = town.path("guestright.uci");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn start(town: &Town, role: &str, file: &str) -> Program {
    let mut command = town.world.command("router", env!("CARGO_BIN_EXE_guestright")).unwrap();
    command.args(["--log", "info", role, "--uci", file]);
    let program = Program::start(&mut command, &town.path(&format!("{role}.log")));
    program.hear_line("to say that it is ready", |_| true);
    program
}

#[test]
fn home_and_access_point_run_from_one_file_of_openwrts() {
    if !inside("openwrt::home_and_access_point_run_from_one_file_of_openwrts") {
        return;
    }
    let town = town();
    let file = write_uci(&town, &uci(&town, 0));
    for (role, what) in [("ap", "the access point"), ("home", "the home")] {
        let idle = succeeded(&town.run_on("router", &[role, "--uci", &file]));
        assert_eq!(idle, format!("{what} is not enabled in {file}\n"), "procd is not to start it again");
    }
    let rules = succeeded(&town.run_on("router", &["ap", "--dry-run", "--uci", &file]));
    assert_eq!(rules, succeeded(&town.run_on("router", &["ap", "--dry-run", "--config", "house/ap.toml"])));

    write_uci(&town, &uci(&town, 1));
    let (_home, ap) = (start(&town, "home", &file), start(&town, "ap", &file));
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    let (_visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 10_000).unwrap(), 10_000);
    let status = |role: &str| {
        let output = guestright().args([role, "status", "--json", "--uci", &file]).output().unwrap();
        serde_json::from_str::<Value>(&succeeded(&output)).unwrap()
    };
    assert_eq!(status("ap")["sessions"][0]["ip"], town.address_of("member").as_str());
    assert_eq!(status("ap")["team"], status("home")["team"]);

    // `uci commit` puts another file in its place, and procd sends a signal.
    let changed = uci(&town, 1).replace("interval_ms '20000'", "interval_ms '15000'");
    std::fs::write(town.path("new"), &changed).unwrap();
    std::fs::rename(town.path("new"), &file).unwrap();
    ap.signal(Signal::HUP);
    until("the access point to take it", || ap.log().contains("interval_ms"));
    let reload = ["ap", "reload", "--uci", &file];
    assert_eq!(succeeded(&town.run(&reload)), "the settings in force are as before\n");
    write_uci(&town, &changed.replace("interval_ms '15000'", "interval_ms 'soon'"));
    let refused = town.run(&reload);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && words.contains("interval_ms is \"soon\""), "{words}");
    assert_eq!(town.download("member", 10_000).unwrap(), 10_000, "nobody was cut off");
    write_uci(&town, &changed);
    succeeded(&town.run(&["ap", "off", "--uci", &file]));
    assert!(!town.condition().contains("table inet guestright"), "{}", town.condition());
}

/// What the feed's CI runs after the packages are installed.
#[test]
fn the_packages_own_tests_pass_and_notice_another_version() {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/openwrt/guestright");
    let program = Path::new(env!("CARGO_BIN_EXE_guestright")).parent().unwrap();
    let run = |script: &str, arguments: &[&str], version: &str| {
        let mut command = Command::new("busybox");
        command.arg("ash").arg(packaging.join(script)).args(arguments).env("PKG_NAME", "guestright");
        command.env("UCI", packaging.join("files/guestright.config")).env("PKG_VERSION", version);
        command.env("PATH", format!("{}:/usr/bin:/bin", program.display())).output().unwrap()
    };
    let version = env!("CARGO_PKG_VERSION");
    let tested = succeeded(&run("test.sh", &["guestright", version], version));
    assert!(tested.contains("br-guest") && tested.contains("not enabled"), "{tested}");
    succeeded(&run("test-version.sh", &[], version));
    assert!(!run("test.sh", &["guestright", "9.9"], "9.9").status.success());
    assert!(!run("test-version.sh", &[], "9.9").status.success());
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("guestright");
    #[rustfmt::skip]
    let cases = [
        ("config ap\n\toption enabled '1'\n\toption kye 'x'\n", "line 3: kye: unknown field `kye`"),
        ("config app\n", "line 1: nobody reads sections of type \"app\""),
        ("config ap\n\toption enabled 'x\n", "line 2: ' begins a quotation that nothing ends"),
        ("config ap\n\toption enabled '2'\n", "line 2: enabled is \"2\"; write 1 or 0"),
    ];
    for (text, want) in cases {
        std::fs::write(&file, text).unwrap();
        let refused = guestright().args(["ap", "--uci"]).arg(&file).output().unwrap();
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && words.contains(want), "{text:?}: {words}");
        assert!(words.contains(file.to_str().unwrap()), "{words}");
    }
    let both = guestright().args(["ap", "status", "--uci", "a", "--config", "b"]).output().unwrap();
    assert!(String::from_utf8_lossy(&both.stderr).contains("cannot be used with"), "one file, not two");
}
