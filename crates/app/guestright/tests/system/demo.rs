//! The demo: it shows what it should, to everybody, and nothing of it is left however it ends.

use crate::town::Program;
use crate::town::{PATIENCE, inside_for_sandboxes};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A line in the middle of the demo, when programs, rules and sessions are there.
const MIDDLE: &str = "W1 of team 2 comes to V1";

/// Where a demo's standard error goes.
const LOG: &str = "/run/demo.log";

/// Other tests run beside it: half of this for a receipt is enough for a program that waits for its turn.
const INTERVAL: [&str; 2] = ["--interval-ms", "3000"];

/// The demo, as a person outside any sandbox starts it, in a process group of its own.
fn demo(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .arg("demo")
        .args(INTERVAL)
        .env_remove("GUESTRIGHT_SANDBOX")
        .current_dir("/")
        .stdin(Stdio::null())
        .process_group(0);
    command
}

fn own_demo() -> Command {
    demo(env!("CARGO_BIN_EXE_guestright"), &[])
}

/// What there is in this sandbox that a demo could leave: processes, namespaces, mounts, links, rules.
fn surroundings() -> BTreeSet<String> {
    let show = |program: &str, arguments: &[&str]| {
        let output =
            Command::new(program).args(arguments).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        text.lines().map(|line| format!("{program}: {line}")).collect::<Vec<_>>()
    };
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let run = std::fs::read_dir("/run").unwrap().map(|entry| entry.unwrap().path().display().to_string());
    let processes = living().into_iter().filter(|line| !line.starts_with("1 "));
    let mut all: BTreeSet<_> = processes.chain(run).chain(mounts.lines().map(str::to_owned)).collect();
    all.extend(show("ip", &["netns", "list"]));
    all.extend(show("ip", &["-br", "link"]));
    all.extend(show("nft", &["list", "ruleset"]));
    all
}

/// The processes of this sandbox that have not ended, and what they are.
fn living() -> Vec<String> {
    let numbers = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name());
    let numbers = numbers.filter_map(|name| name.to_str()?.parse::<u32>().ok());
    let shown = numbers.filter_map(|number| {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let line = std::fs::read(format!("/proc/{number}/cmdline")).ok()?;
        // The state follows the name in parentheses: proc_pid_stat(5).
        let state = stat.rsplit(") ").next()?.chars().next()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        (!matches!(state, 'Z' | 'X')).then(|| format!("{number} {line}"))
    });
    shown.collect()
}

fn nothing_is_left(before: &BTreeSet<String>) {
    let left = || surroundings().symmetric_difference(before).cloned().collect::<Vec<_>>();
    let deadline = Instant::now() + PATIENCE;
    while !left().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(left(), Vec::<String>::new(), "something is left");
}

/// Runs a demo to its end and checks everything that it says.
fn holds(mut command: Command) {
    let began = Instant::now();
    let output = command.arg("--json").output().unwrap();
    let took = began.elapsed();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_str(&stdout)
        .unwrap_or_else(|error| panic!("{error}: {}: {stdout}{stderr}", output.status));
    let checks = result["checks"].as_array().unwrap();
    let failed: Vec<_> = checks.iter().filter(|check| check["holds"] != true).collect();
    println!("{} checks in {:.1} s", checks.len(), took.as_secs_f64());
    assert!(checks.len() >= 18 && failed.is_empty(), "{result:#}");
    for wanted in [
        "W4's class rises at V3, which owes team 2, which owes team 1",
        "fresh names get what a household gives away in a day, and no more",
        "W4 is served on credit where nothing is left to give away",
        "the accounts of all three homes agree",
    ] {
        assert!(checks.iter().any(|check| check["claim"] == wanted), "{wanted}: {result:#}");
    }
    assert_eq!((&result["holds"], output.status.success()), (&true.into(), true));
    let sessions = result["sessions"].as_array().unwrap();
    let carried = |session: &Value| session["carried"].as_u64().unwrap();
    assert!(sessions.len() >= 6 && sessions.iter().map(carried).sum::<u64>() > 100_000_000, "{result:#}");
}

#[test]
fn the_demo_holds_and_leaves_nothing() {
    if !inside_for_sandboxes("demo::the_demo_holds_and_leaves_nothing") {
        return;
    }
    let before = surroundings();
    holds(own_demo());
    nothing_is_left(&before);
}

/// Debian opens the device of TUN to everybody; some machines do not. Only this sandbox sees the difference.
fn let_everybody_make_tunnels() {
    let mode = std::fs::metadata("/dev/net/tun").unwrap().permissions().mode();
    if mode & 0o006 == 0o006 {
        return;
    }
    let steps: [&[&str]; 3] = [
        &["mknod", "--mode=666", "/mnt/tun", "c", "10", "200"],
        &["chmod", "666", "/mnt/tun"],
        &["mount", "--bind", "/mnt/tun", "/dev/net/tun"],
    ];
    for step in steps {
        assert!(Command::new(step[0]).args(&step[1..]).status().unwrap().success(), "{step:?}");
    }
}

#[test]
fn the_demo_holds_for_a_user_without_any_privilege() {
    if !inside_for_sandboxes("demo::the_demo_holds_for_a_user_without_any_privilege") {
        return;
    }
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap();
    let users: u64 = map.split_whitespace().nth(2).unwrap().parse().unwrap();
    let command = if users == 1 {
        own_demo() // Outside this sandbox we are an unprivileged user ourselves.
    } else {
        // Where the program was built others may not enter.
        let mount = ["-t", "tmpfs", "-o", "mode=755,size=512m", "nobody", "/mnt"];
        assert!(Command::new("mount").args(mount).status().unwrap().success());
        std::fs::copy(env!("CARGO_BIN_EXE_guestright"), "/mnt/guestright").unwrap();
        let_everybody_make_tunnels();
        let who = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set=-all"];
        demo("setpriv", &[who.as_slice(), &["/mnt/guestright"]].concat())
    };
    let before = surroundings();
    holds(command);
    nothing_is_left(&before);
}

#[test]
fn a_killed_demo_leaves_nothing_and_the_next_one_works() {
    if !inside_for_sandboxes("demo::a_killed_demo_leaves_nothing_and_the_next_one_works") {
        return;
    }
    File::create(LOG).unwrap();
    let before = surroundings();
    let mut killed = in_the_middle();
    killed.kill();
    nothing_is_left(&before);
    // As from the keyboard: the signal reaches everything in the terminal's foreground.
    let mut next = in_the_middle();
    rustix::process::kill_process_group(next.pid(), Signal::INT).unwrap();
    let status = next.wait();
    assert!(!status.success(), "an interrupted demo has shown nothing");
    assert!(next.log().contains("interrupted"), "and says so: {}", next.log());
    nothing_is_left(&before);
}

#[test]
fn a_signal_to_the_demo_alone_ends_all_of_it() {
    if !inside_for_sandboxes("demo::a_signal_to_the_demo_alone_ends_all_of_it") {
        return;
    }
    File::create(LOG).unwrap();
    let before = surroundings();
    for signal in [Signal::INT, Signal::TERM] {
        let mut demo = in_the_middle();
        demo.signal(signal);
        assert!(!demo.wait().success(), "{signal:?}");
        nothing_is_left(&before);
    }
}

/// A demo that has come to its middle, with programs, rules and namespaces.
fn in_the_middle() -> Program {
    let demo = Program::start(&mut own_demo(), Path::new(LOG));
    demo.hear_line("to come to the middle", |line| line.contains(MIDDLE));
    let programs = living().iter().filter(|line| line.contains("--config")).count();
    assert!(programs >= 6, "three households have two programs each: {:?}", living());
    demo
}
