//! Whatever ends a setup, and whenever: it can be gone on with, and taking it back leaves what was there before.

#![allow(clippy::unwrap_used, reason = "a test says what broke by panicking")]

use guestright_netns::testing::{eventually, inside};
use guestright_setup::{Change, Owner, Port, Reload, Service, Step, TeamWork, paths};
use guestright_system::{Done, Executor, Maker, Owners, SystemError};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small computer: files below a directory, links in this namespace.
struct Computer {
    root: tempfile::TempDir,
    /// Whether this kernel has them: that of a container or of a user's own may lack them.
    has_vlans: bool,
}

struct Keys;

impl Maker for Keys {
    fn make(&mut self, _: &TeamWork, directory: &Path, owners: Owners) -> Result<(), String> {
        assert!(owners.guestright.is_some(), "the user is made before the keys");
        fs::write(directory.join("team.key"), "secret").map_err(|error| error.to_string())?;
        fs::create_dir(directory.join("gateway")).map_err(|error| error.to_string())
    }
}

/// Which of several things is checked for: to stop at one point, counted from 0.
fn stop_at(point: usize) -> impl FnMut() -> bool {
    let mut passed = 0;
    move || {
        passed += 1;
        passed > point
    }
}

impl Computer {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let etc = root.path().join("etc");
        fs::create_dir(&etc).unwrap();
        let files = [
            (
                "passwd",
                "root:x:0:0:root:/root:/bin/bash\nmail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n",
                0o644,
            ),
            ("passwd-", "root:x:0:0:root:/root:/bin/bash\n", 0o600),
            ("group", "root:x:0:\nmail:x:8:\n", 0o644),
            ("shadow", "root:*:19000:0:99999:7:::\nmail:*:19000:0:99999:7:::\n", 0o640),
            ("gshadow", "root:*::\nmail:*::\n", 0o640),
        ];
        for (name, text, mode) in files {
            fs::write(etc.join(name), text).unwrap();
            fs::set_permissions(etc.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink("passwd", etc.join("a-link")).unwrap();
        fs::create_dir_all(root.path().join("var/lib")).unwrap();
        // Addresses of IPv6 can be used at once: what is there does not change by itself.
        fs::write("/proc/sys/net/ipv6/conf/default/accept_dad", "0").unwrap();
        for (port, far) in [("port0", "far0"), ("port1", "far1")] {
            run(&["ip", "link", "add", port, "type", "veth", "peer", "name", far]);
            run(&["ip", "link", "set", port, "up"]);
            run(&["ip", "link", "set", far, "up"]);
        }
        // The kernel looks at carriers behind our backs: what is there is as it stays only after that.
        eventually(["UP"; 4].map(str::to_owned), link_states);
        // A link that was never up has no queue; nothing but its first time up changes that.
        run(&["ip", "link", "set", "port0", "down"]);
        eventually(["DOWN", "LOWERLAYERDOWN", "UP", "UP"].map(str::to_owned), link_states);
        let vlan = ["link", "add", "link", "port0", "name", "v", "type", "vlan", "id", "5"];
        let has_vlans = Command::new("ip").args(vlan).output().unwrap().status.success();
        if has_vlans {
            run(&["ip", "link", "delete", "v"]);
        }
        Self { root, has_vlans }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn open(&self) -> Option<Executor> {
        Executor::open(self.root.path()).unwrap()
    }

    fn apply(&self, stop: &mut dyn FnMut() -> bool) -> Result<Vec<Done>, SystemError> {
        let mut executor = Executor::begin(self.root.path(), "answers")?;
        Ok(executor.apply(&self.steps(), &mut Keys, stop)?.steps)
    }

    fn undo(&self) {
        if let Some(executor) = self.open() {
            executor.undo(&mut || false).unwrap();
        }
    }

    /// Everything that setup could change: files with bytes, modes and owners; links, addresses, routes, rules.
    fn condition(&self) -> String {
        let mut lines = Vec::new();
        list(self.root.path(), self.root.path(), &mut lines);
        for command in [
            &["ip", "-details", "link", "show"][..],
            &["ip", "address", "show"],
            &["ip", "route", "show", "table", "all"],
        ] {
            lines.push(run(command));
        }
        lines.join("\n")
    }

    /// Waits until the condition is this one: carriers follow a change of links a moment later.
    fn eventually_is(&self, wanted: &str, when: &str) {
        eventually((when, wanted.to_owned()), || (when, self.condition()));
    }

    /// One step of each kind, as a plan has them.
    fn steps(&self) -> Vec<Step> {
        let file = |path: &str, mode, owner, text: &str| Change::File {
            path: path.into(),
            mode,
            owner,
            text: text.to_owned(),
        };
        let directory = |path: &str, mode, owner| Change::Directory { path: path.into(), mode, owner };
        let ready = self.path("etc/passwd").display().to_string();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let changes = vec![
            file(paths::SYSUSERS, 0o644, Owner::Root, "u guestright - \"guestright\" /var/lib/guestright\n"),
            Change::User,
            Change::Bridge { name: "br-guest".into() },
            Change::Port(Port { interface: "port0".into(), bridge: "br-guest".into() }),
            Change::Port(Port { interface: "port1".into(), bridge: "br-guest".into() }),
            Change::Address { interface: "br-guest".into(), address: [10, 73, 0, 1].into(), prefix: 24 },
            file("/etc/systemd/network/10-x.netdev", 0o644, Owner::Root, "[NetDev]\n"),
            Change::Reload(Reload::Networkd),
            directory(paths::SETTINGS, 0o755, Owner::Root),
            Change::Team {
                path: paths::TEAM.into(),
                work: TeamWork::Join { code: String::new(), has_home: true },
            },
            file(paths::HOME, 0o640, Owner::Guestright, "key = \"team/home.key\"\n"),
            directory(paths::STATE, 0o700, Owner::Guestright),
            Change::Symlink { path: "/etc/systemd/system/w/a.service".into(), target: "/a.service".into() },
            Change::Service(Service {
                unit: "a".to_owned(),
                by_systemd: false,
                command: words(&["tail", "-f", &ready]),
                clean_up: Some(words(&["rm", "-f", &self.path("var/left-behind").display().to_string()])),
                says_when_ready: true,
                isolated_ports: Vec::new(),
            }),
        ];
        let vlan = Change::Vlan { name: "guest73".into(), parent: "far0".into(), id: 73 };
        let port = Change::Port(Port { interface: "guest73".into(), bridge: "br-guest".into() });
        let vlans = if self.has_vlans { vec![vlan, port] } else { Vec::new() };
        let changes = changes.into_iter().chain(vlans);
        changes.map(|change| Step { says: "x".into(), back: "y".into(), change }).collect()
    }
}

fn list(root: &Path, directory: &Path, lines: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_symlink() {
            fs::read_link(&path).unwrap().display().to_string()
        } else if metadata.is_file() {
            String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
        } else {
            String::new()
        };
        let name = path.strip_prefix(root).unwrap().display();
        let (mode, uid, gid) = (metadata.mode(), metadata.uid(), metadata.gid());
        lines.push(format!("{name} {mode:o} {uid}:{gid} {content:?}"));
        if metadata.is_dir() {
            list(root, &path, lines);
        }
    }
}

fn run(command: &[&str]) -> String {
    let output = Command::new(command[0]).args(&command[1..]).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What the kernel says of each port and its far end.
fn link_states() -> [String; 4] {
    ["port0", "far0", "port1", "far1"].map(|link| {
        let shown = run(&["ip", "-brief", "link", "show", "dev", link]);
        shown.split_whitespace().nth(1).unwrap_or_default().to_owned()
    })
}

fn tails() -> usize {
    let output = Command::new("pgrep").args(["-c", "-x", "-r", "R,S", "tail"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap()
}

#[test]
fn everything_is_taken_back_byte_for_byte_wherever_it_was_ended() {
    if !inside("everything_is_taken_back_byte_for_byte_wherever_it_was_ended") {
        return;
    }
    let computer = Computer::new();
    let before = computer.condition();
    let mut points = 0;
    for point in 0.. {
        let outcome = computer.apply(&mut stop_at(point));
        // What a program that was ended has left besides.
        fs::write(computer.path("var/left-behind"), "").unwrap();
        let is_finished = outcome.is_ok();
        assert!(is_finished || outcome == Err(SystemError::Stopped), "{outcome:?}");
        if is_finished {
            assert_eq!(tails(), 1);
            assert_ne!(computer.condition(), before);
        }
        // Going back may be ended too, at every place.
        for point in 0.. {
            let Some(executor) = computer.open() else { break };
            match executor.undo(&mut stop_at(point % 40)) {
                Ok(_) => break,
                Err(error) => assert_eq!(error, SystemError::Stopped),
            }
        }
        let _ = fs::remove_file(computer.path("var/left-behind"));
        computer.eventually_is(&before, &format!("ended at {point}"));
        assert_eq!(tails(), 0, "ended at {point}");
        if is_finished {
            points = point;
            break;
        }
    }
    assert!(points > 30, "there are as many places where it can end as it does things: {points}");
}

#[test]
fn it_goes_on_wherever_it_was_ended_and_a_second_time_changes_nothing() {
    if !inside("it_goes_on_wherever_it_was_ended_and_a_second_time_changes_nothing") {
        return;
    }
    let computer = Computer::new();
    let before = computer.condition();
    computer.apply(&mut || false).unwrap();
    let whole = without_chance(&computer.condition());
    computer.undo();
    for point in (0..40).step_by(3) {
        let _ = computer.apply(&mut stop_at(point));
        computer.apply(&mut || false).unwrap();
        assert_eq!(without_chance(&computer.condition()), whole, "ended at {point}");
        let again = computer.apply(&mut || false).unwrap();
        assert!(again.iter().all(|done| *done == Done::AlreadySo), "{again:?}");
        computer.undo();
        computer.eventually_is(&before, &format!("ended at {point}"));
    }
}

/// Files but for the journal, and addresses of IPv4: without what is different each time, as the bridge's hardware address, and
/// the address that comes from it.
fn without_chance(condition: &str) -> String {
    let is_file =
        |line: &str| line.split(' ').nth(1).is_some_and(|mode| mode.len() == 6 && mode.starts_with("100"));
    let is_journal = |line: &str| line.starts_with("var/lib/guestright-setup/journal");
    let is_same = |line: &&str| is_file(line) && !is_journal(line) || line.contains("inet ");
    condition.lines().filter(is_same).collect()
}

#[test]
fn what_a_person_edited_stays_and_what_is_not_ours_is_not_touched() {
    if !inside("what_a_person_edited_stays_and_what_is_not_ours_is_not_touched") {
        return;
    }
    let computer = Computer::new();
    computer.apply(&mut || false).unwrap();
    let file = computer.path("etc/guestright/home.toml");
    fs::write(&file, "mine").unwrap();
    run(&["ip", "link", "delete", "br-guest"]);
    let again = computer.apply(&mut || false).unwrap();
    assert_eq!(again.iter().filter(|done| **done == Done::Edited).count(), 1);
    assert!(
        again.iter().filter(|done| **done == Done::Changed).count() >= 3,
        "the links are made again: {again:?}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    // A file of somebody else's in a directory that we made only on the way to ours.
    fs::write(computer.path("etc/systemd/network/theirs.network"), "theirs").unwrap();
    computer.undo();
    assert!(computer.path("etc/systemd/network/theirs.network").exists() && !file.exists());

    // A file, a link in the way: nothing is begun.
    fs::create_dir_all(computer.path("etc/guestright")).unwrap();
    fs::write(&file, "from before").unwrap();
    let executor = Executor::begin(computer.root.path(), "").unwrap();
    let refused = executor.check_clear(&computer.steps()).unwrap_err();
    assert_eq!(refused, SystemError::InTheWay { path: paths::HOME.into() });
    fs::remove_file(&file).unwrap();
    run(&["ip", "link", "add", "br-guest", "type", "bridge"]);
    let refused = executor.check_clear(&computer.steps()).unwrap_err();
    assert_eq!(refused, SystemError::LinkInTheWay { name: "br-guest".to_owned() });
    assert_eq!(Executor::begin(computer.root.path(), "").unwrap_err(), SystemError::Busy, "one at a time");
    // A child of a setup that was killed may hold it for a moment.
    let release = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(executor);
    });
    let executor = Executor::begin(computer.root.path(), "").unwrap();
    release.join().unwrap();
    executor.undo(&mut || false).unwrap();
    assert!(fs::symlink_metadata(computer.path("etc/guestright")).is_ok(), "it was there before");
}

#[test]
fn a_torn_journal_and_a_half_written_file_are_what_a_power_cut_leaves() {
    if !inside("a_torn_journal_and_a_half_written_file_are_what_a_power_cut_leaves") {
        return;
    }
    let computer = Computer::new();
    let before = computer.condition();
    let _ = computer.apply(&mut stop_at(24));
    let journal = computer.path("var/lib/guestright-setup/journal");
    let mut text = fs::read_to_string(&journal).unwrap();
    assert!(text.ends_with('\n'));
    text.push_str("{\"record\":\"path\",\"path\":\"/etc/pas");
    fs::write(&journal, &text).unwrap();
    fs::write(computer.path("etc/systemd/network/.10-x.netdev.guestright-new"), "[Net").unwrap();
    computer.undo();
    computer.eventually_is(&before, "after a power cut");
    // Ended before the first line.
    fs::create_dir_all(computer.path("var/lib/guestright-setup")).unwrap();
    assert!(computer.open().is_none());
    assert!(!computer.path("var/lib/guestright-setup").exists());
    // Another version's journal is left alone.
    fs::create_dir_all(computer.path("var/lib/guestright-setup")).unwrap();
    fs::write(&journal, "{\"record\":\"begun\",\"version\":2,\"answers\":\"\"}\n").unwrap();
    assert!(matches!(Executor::open(computer.root.path()), Err(SystemError::Journal { .. })));
}
