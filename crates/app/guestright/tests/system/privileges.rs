//! What the running programs could do if somebody took them over: no more than their work takes.

use crate::town::services::AccessLog;
use crate::town::{Program, Rules, Town, WEB, inside, succeeded};
use std::path::Path;
use std::process::Command;

/// Bits of capabilities(7).
const DAC_OVERRIDE: u64 = 1 << 1;
const NET_ADMIN: u64 = 1 << 12;
/// Whom units run the programs as in the tests.
const USER: &str = "65534";

/// Every thread of a program has these capabilities at the most that it can have, cannot get others, and is filtered.
fn assert_confined(what: &str, program: &Program, capabilities: u64) {
    let tasks = format!("/proc/{}/task", program.pid().as_raw_nonzero());
    let mut threads = 0;
    for task in std::fs::read_dir(&tasks).unwrap() {
        // A thread of the pool may have ended since.
        let Ok(status) = std::fs::read_to_string(task.unwrap().path().join("status")) else { continue };
        let field = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.unwrap_or_else(|| panic!("proc(5) has {name}")).trim().to_owned()
        };
        for name in ["CapPrm", "CapEff", "CapBnd"] {
            assert_eq!(u64::from_str_radix(&field(name), 16), Ok(capabilities), "{what}, {name}: {status}");
        }
        let locks = [field("NoNewPrivs"), field("Seccomp")];
        assert_eq!(locks, ["1", "2"], "{what}: {status}");
        threads += 1;
    }
    println!("{what}: {threads} threads with {capabilities:#x}");
    assert!(threads > 0);
}

#[test]
fn every_thread_has_what_its_work_takes_and_nothing_else() {
    if !inside("privileges::every_thread_has_what_its_work_takes_and_nothing_else") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (home, ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 100_000).unwrap(), 100_000);
    assert_confined("a home without a gateway", &home, 0);
    assert_confined("an access point", &ap, NET_ADMIN);
    assert_confined("a visitor", &visit, NET_ADMIN);
    // Classic BPF and the table's owner take no more.
    let layers = town.status()["layers"].clone();
    assert!(layers.as_object().unwrap().values().all(|is_up| *is_up == true), "{layers}");
    town.leave(visit);
}

/// Gives a file, or a directory with all that is in it, to somebody.
fn give(owner: &str, path: &Path) {
    let status = Command::new("chown").args(["-R", owner]).arg(path).status();
    assert!(status.unwrap().success(), "in a user namespace there is no other user: run the tests as root");
}

/// One of the household's programs as its unit starts it: as another user, with these capabilities at the most.
fn start_as_unit(town: &Town, command: &str, capabilities: &str) -> Program {
    let settings = town.path(&format!("house/{command}.toml"));
    let mut full = town.world.command("router", "setpriv").unwrap();
    full.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--no-new-privs"]);
    for sets in ["--inh-caps", "--ambient-caps", "--bounding-set"] {
        full.args([sets, capabilities]);
    }
    full.arg(env!("CARGO_BIN_EXE_guestright")).args([command, "--config"]).arg(settings);
    let program = Program::start(&mut full, &town.path(&format!("{command}.log")));
    program.hear_line("to say that it is ready", |_| true);
    program
}

#[test]
fn an_ordinary_user_with_one_capability_runs_access_point_and_gateway() {
    if !inside("privileges::an_ordinary_user_with_one_capability_runs_access_point_and_gateway") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_tcp("net", WEB, &AccessLog::default());
    let endpoint = "198.51.100.2:51820";
    let init =
        ["team", "gateway", "init", "--dir", "house", "--network", "10.73.5.0/24", "--endpoint", endpoint];
    succeeded(&town.run(&init));
    let settings = town.path("house/home.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    let gateway =
        "[gateway]\nuplink_interface = \"uplink\"\ndns_upstream = \"192.0.2.1\"\nbackend = \"userspace\"\n";
    std::fs::write(&settings, text + gateway).unwrap();
    give(USER, &town.path("house"));
    let before = town.condition();

    let home = start_as_unit(&town, "home", "-all,+net_admin");
    let ap = start_as_unit(&town, "ap", "-all,+net_admin");
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 100_000).unwrap(), 100_000);
    assert_eq!(town.ask("home")["gateway"]["backend"], "userspace");
    assert_confined("a home with a gateway", &home, NET_ADMIN);
    assert_confined("an access point", &ap, NET_ADMIN);
    town.leave(visit);
    for (command, mut program) in [("ap", ap), ("home", home)] {
        program.signal(rustix::process::Signal::TERM);
        assert!(program.wait().success(), "{command}: {}", program.log());
    }
    assert_eq!(town.condition(), before, "everything is as it was");
}

#[test]
fn a_home_without_a_gateway_serves_as_a_user_with_no_capability() {
    if !inside("privileges::a_home_without_a_gateway_serves_as_a_user_with_no_capability") {
        return;
    }
    let town = Town::build(Rules::default());
    give(USER, &town.path("house"));
    // A key is read by nobody but its owner; the state lies in a directory of another user.
    give("0", &town.path("house/router.key"));
    let home = start_as_unit(&town, "home", "-all");
    let ap = town.start("ap");
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_confined("a home", &home, 0);
    assert_confined("root's access point among somebody's files", &ap, NET_ADMIN | DAC_OVERRIDE);
    town.leave(visit);
}

/// What `systemd-analyze security` says of a unit, from 0 (safe) to 10.
fn exposure(unit: &Path) -> f64 {
    let output = Command::new("systemd-analyze").args(["security", "--offline=yes"]).arg(unit).output();
    let text = succeeded(&output.expect("systemd-analyze of the package systemd"));
    let verdict = text.lines().rfind(|line| line.contains("Overall exposure level")).unwrap_or_default();
    let level = verdict.rsplit(": ").next().and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    level.unwrap_or_else(|| panic!("no exposure in {text}"))
}

#[test]
fn units_expose_little() {
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/systemd");
    let [ap, home] = ["guestright-ap.service", "guestright-home.service"].map(|unit| units.join(unit));
    // As somebody with a gateway puts the files.
    let installed = tempfile::tempdir().unwrap();
    let gateway = installed.path().join("guestright-home.service");
    let more = installed.path().join("guestright-home.service.d");
    std::fs::create_dir(&more).unwrap();
    std::fs::copy(&home, &gateway).unwrap();
    std::fs::copy(units.join("guestright-home-gateway.conf"), more.join("gateway.conf")).unwrap();
    let levels = [&ap, &home, &gateway].map(|unit| exposure(unit));
    println!("exposure of access point, home, and home with a gateway: {levels:?}");
    assert!(levels.iter().all(|level| *level <= 2.5), "{levels:?}");
    assert!(levels[2] > levels[1], "the file for the gateway is read: {levels:?}");
}
