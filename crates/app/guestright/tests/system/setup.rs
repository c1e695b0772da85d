//! `guestright setup` on a computer with two interfaces: it serves guests, goes on after a kill, and is taken back.
//!
//! ```text
//!   phone ── eth1  router  eth0 ── net: a web server and names at 192.0.2.1
//! ```
//!
//! `/etc` and `/var` are copies in memory, the second one without files: what this computer does meanwhile is not seen.
//! No systemd runs, as in a container.

mod join;

use super::town::services::{AccessLog, download_some, serve_tcp};
use super::town::{PATIENCE, Program, WEB, inside, succeeded, until};
use guestright_netns::{LinkOptions, World};
use guestright_testbed::inside_within;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Setups and what takes them back, again and again: on a busy computer that takes minutes.
const LIFE_MAX: Duration = Duration::from_secs(900);
/// Mounts the copies, in the sandbox. What changes while it is read is no failure: only what is unpacked counts.
const COPY: &str = "mkdir -p /run/copy && cd / &&
{ tar -c --one-file-system etc; find var -xdev -maxdepth 2 '(' -type d -o -type l ')' -print0 |
  tar -c --null --no-recursion --files-from -; } | tar -x --ignore-zeros --same-owner -p -C /run/copy &&
mount --bind /run/copy/etc /etc && mount --bind /run/copy/var /var";

const ANSWERS: &str = "[team]\nmembers = [\"alice\"]\n[wifi]\nenabled = false\n\
                       [home]\nendpoint = \"198.51.100.2\"\nport_mapping = false\n";

/// The computer that is set up, a guest's, and the Internet.
struct Site {
    world: World,
    directory: PathBuf,
    _names: guestright_netns::Process,
}

impl Site {
    fn build() -> Self {
        let mut world = World::new("set-").unwrap();
        for host in ["net", "router", "phone"] {
            world.add_host(host).unwrap();
            world.sysctl(host, "net.ipv6.conf.default.accept_dad", "0").unwrap();
        }
        let wire = LinkOptions::default();
        world.link(("net", "to-router"), ("router", "eth0"), &wire).unwrap();
        world.link(("router", "eth1"), ("phone", "eth0"), &wire).unwrap();
        world.address("net", "lo", "192.0.2.1/32").unwrap();
        world.address("net", "to-router", "198.51.100.1/24").unwrap();
        world.address("router", "eth0", "198.51.100.2/24").unwrap();
        world.route("router", "default", "198.51.100.1").unwrap();
        // What the kernel does of itself when a link has a carrier is done before anybody looks.
        until("the router's links to be up", || {
            let shown = world.run("router", "ip", &["-br", "address", "show"]).unwrap();
            let is_up = |line: &str| line.contains(" UP ") && line.contains(" fe80:");
            shown.lines().filter(|line| line.starts_with("eth") && is_up(line)).count() == 2
        });
        assert!(Command::new("sh").args(["-c", COPY]).status().unwrap().success());
        // The way out asks for names where every household does.
        let _ = fs::remove_file("/etc/resolv.conf");
        fs::write("/etc/resolv.conf", "nameserver 192.0.2.1\n").unwrap();
        let directory = PathBuf::from("/run/site");
        fs::create_dir(&directory).unwrap();
        let names = [
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--no-resolv",
            "--no-hosts",
            "--bind-interfaces",
        ];
        let names = names.into_iter().chain([
            "--listen-address=192.0.2.1",
            "--address=/#/192.0.2.1",
            "--user=root",
            "--pid-file",
        ]);
        let names = world.spawn("net", "dnsmasq", names, &directory.join("names.log")).unwrap();
        until("the Internet to answer for names", || {
            world.run("net", "dig", &["+short", "+tries=1", "+time=1", "@192.0.2.1", "example.org"]).is_ok()
        });
        fs::write(directory.join("answers.toml"), ANSWERS).unwrap();
        Self { world, directory, _names: names }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A command in a host's network, with this computer's files.
    fn command(&self, host: &str, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.world.namespace(host).unwrap())).arg(program);
        command.current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    fn guestright(&self, host: &str, line: &str) -> Command {
        let mut command = self.command(host, env!("CARGO_BIN_EXE_guestright"));
        command.args(line.split_whitespace());
        command
    }

    fn run(&self, host: &str, line: &str) -> Output {
        self.guestright(host, line).output().unwrap()
    }

    fn set_up(&self) -> Value {
        serde_json::from_str(&succeeded(&self.run("router", "setup --answers answers.toml --yes --json")))
            .unwrap()
    }

    /// A phone joins the network: it asks for an address, and takes what it is given.
    fn lease(&self) -> String {
        let script = self.path("lease.sh");
        let text = "#!/bin/sh\ncase $1 in\nbound | renew)\n\
                    ip address replace \"$ip/$mask\" dev \"$interface\"\n\
                    ip route replace default via \"$router\" dev \"$interface\"\n\
                    echo \"$dns\" >/run/site/phone.dns\n;;\nesac\n";
        fs::write(&script, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&script, mode).unwrap();
        let mut client = self.command("phone", "busybox");
        client.args(["udhcpc", "-i", "eth0", "-n", "-q", "-f", "-t", "20", "-T", "1", "-s"]).arg(&script);
        succeeded(&client.output().unwrap());
        let address =
            self.world.run("phone", "ip", &["-4", "-br", "address", "show", "dev", "eth0"]).unwrap();
        address.split_whitespace().nth(2).unwrap().to_owned()
    }

    fn name(&self, server: &str, name: &str) -> String {
        let mut dig = self.command("phone", "dig");
        dig.args(["+short", "+tries=10", "+time=3", &format!("@{server}"), name]);
        succeeded(&dig.output().unwrap()).trim().to_owned()
    }

    fn can_fetch(&self) -> bool {
        self.world.within("phone", || download_some(1_000, Duration::from_secs(2)) == 1_000).unwrap()
    }

    /// A visit with these files; it has been granted.
    fn visit(&self, key: &str) -> Program {
        let line =
            format!("visit --json --no-tunnel --key {key}.key --certificate {key}.cert --state phone-state");
        let visit = Program::start(&mut self.guestright("phone", &line), &self.path("visit.log"));
        visit.hear("to be granted service", |event| event["event"] == "granted");
        visit
    }

    /// Everything that setup, or what it starts, could change: files with bytes, modes and owners, links, addresses,
    /// routes, rules, queues, what is switched in the kernel, and who is running.
    fn condition(&self) -> Condition {
        let mut lines = Vec::new();
        for directory in ["/etc", "/var/lib", "/run/systemd", "/var/log", "/usr/local"] {
            list(Path::new(directory), &mut lines);
        }
        // What this test itself makes in /run is named. Its guests have the same /run, and note there where they visit.
        let names = fs::read_dir("/run").unwrap().map(|entry| entry.unwrap().path().display().to_string());
        lines.extend(names.filter(|name| name != "/run/guestright"));
        lines.sort();
        let shell = |script: &str| {
            let mut shell = self.command("router", "sh");
            succeeded(&shell.args(["-c", script]).output().unwrap())
        };
        lines.push(shell(
            "nft list ruleset; sysctl --all --pattern '^net[.]ipv[46][.]ip_forward' 2>/dev/null; \
             ps -eo args | grep -E '[d]nsmasq --conf-file=/etc|[g]uestright (ap|home)' || true",
        ));
        let links = shell(
            "ip -details link show; ip address show; ip route show table all; ip rule show; tc qdisc show; \
             bridge link show; sysctl --all --pattern '^net[.]ipv[46][.]conf' 2>/dev/null",
        );
        Condition { files: lines.join("\n"), links }
    }

    /// Everything is as it was at once, but for what the kernel does of itself after a link has changed.
    fn assert_same(&self, before: &Condition, when: &str) {
        let mut after = self.condition();
        assert_same(&after.files, &before.files, when);
        let deadline = Instant::now() + PATIENCE;
        while after.links != before.links && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
            after = self.condition();
        }
        assert_same(&after.links, &before.links, when);
        assert_same(&after.files, &before.files, when);
    }
}

/// What there is on the router.
struct Condition {
    /// Files, programs, the firewall.
    files: String,
    /// Links, addresses, routes, queues: the kernel takes its time with some of it.
    links: String,
}

fn list(directory: &Path, lines: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_symlink() {
            fs::read_link(&path).unwrap().display().to_string()
        } else if metadata.is_file() && metadata.len() < 1 << 20 {
            use std::hash::{DefaultHasher, Hash as _, Hasher as _};
            let mut hasher = DefaultHasher::new();
            fs::read(&path).unwrap().hash(&mut hasher);
            format!("{:016x}", hasher.finish())
        } else {
            String::new()
        };
        let (mode, uid, gid) = (metadata.mode(), metadata.uid(), metadata.gid());
        let size = if metadata.is_file() { metadata.len() } else { 0 };
        lines.push(format!("{} {mode:o} {uid}:{gid} {size} {content}", path.display()));
        if metadata.is_dir() {
            list(&path, lines);
        }
    }
}

/// What differs, if anything does: the whole is too long to read.
fn assert_same(after: &str, before: &str, when: &str) {
    let only = |these: &str, those: &str| -> Vec<String> {
        let those: std::collections::BTreeSet<_> = those.lines().collect();
        these.lines().filter(|line| !those.contains(line)).map(str::to_owned).collect()
    };
    assert!(after == before, "{when}: new {:#?}, gone {:#?}", only(after, before), only(before, after));
}

#[test]
fn a_computer_is_set_up_by_a_file_serves_a_phone_and_is_as_it_was_after_undo() {
    if !inside("setup::a_computer_is_set_up_by_a_file_serves_a_phone_and_is_as_it_was_after_undo") {
        return;
    }
    let site = Site::build();
    serve_tcp(&site.world, "net", WEB, &AccessLog::default());
    let before = site.condition();

    // Nothing is done unless somebody agrees, or when it is only shown.
    let shown = succeeded(&site.run("router", "setup --answers answers.toml --dry-run"));
    assert!(
        shown.contains("give br-guest the address 10.73.0.1/24") && shown.contains("--undo: "),
        "{shown}"
    );
    let refused = site.run("router", "setup --answers answers.toml");
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && words.contains("--yes"), "{words}");
    site.assert_same(&before, "after it was only shown");

    let done = site.set_up();
    assert_eq!((done["state"].as_str(), done["choices"]["ports"][0].as_str()), (Some("done"), Some("eth1")));
    assert!(site.lease().starts_with("10.73.0."));
    let dns = fs::read_to_string(site.path("phone.dns")).unwrap();
    assert_eq!(site.name(dns.trim(), "example.org"), "192.0.2.1");
    assert!(!site.can_fetch(), "nobody is served before it signs");
    let mut visit = site.visit("/etc/guestright/team/alice");
    until("the phone to be served", || site.can_fetch());
    let home = succeeded(&site.run("router", "home status --config /etc/guestright/home.toml"));
    assert!(home.contains("renewing key"), "nobody has to remember when certificates end: {home}");

    // Again, with the same answers and without: nothing changes, and the guest stays.
    let mut settings = Vec::new();
    list(Path::new("/etc"), &mut settings);
    assert_eq!(site.set_up()["state"], "unchanged");
    let again = succeeded(&site.run("router", "setup --yes"));
    assert!(again.contains("nothing to do: everything is set up"), "{again}");
    let other = site.run("router", "setup --network 10.99.0.0/24 --yes");
    assert!(String::from_utf8_lossy(&other.stderr).contains("other answers"));
    let mut settings_again = Vec::new();
    list(Path::new("/etc"), &mut settings_again);
    assert_eq!(settings_again, settings);
    assert!(visit.is_running(), "{}", visit.log());
    until("the same visit to be served", || site.can_fetch());

    // What does not survive a restart is started again, and what a person changed stays.
    let mut file = fs::read_to_string("/etc/guestright/ap.toml").unwrap();
    file.push_str("# mine\n");
    fs::write("/etc/guestright/ap.toml", &file).unwrap();
    drop(visit);
    succeeded(&site.run("router", "ap off --config /etc/guestright/ap.toml"));
    site.world.run("router", "ip", &["link", "delete", "br-guest"]).unwrap();
    let started = succeeded(&site.run("router", "setup --start"));
    assert!(
        started.contains("done: make the bridge br-guest") && started.contains("left as you changed it"),
        "{started}"
    );
    assert_eq!(fs::read_to_string("/etc/guestright/ap.toml").unwrap(), file);
    site.lease();
    let visit = site.visit("/etc/guestright/team/alice");
    until("the phone to be served again", || site.can_fetch());
    drop(visit);

    let refused = site.run("router", "setup --undo");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--yes"), "keys are not removed unasked");
    let undone = succeeded(&site.run("router", "setup --undo --yes"));
    assert!(undone.contains("as it was before setup"), "{undone}");
    site.assert_same(&before, "after undo");
    assert!(succeeded(&site.run("router", "setup --undo --yes")).contains("nothing to do"));
}

#[test]
fn a_setup_that_was_killed_is_gone_on_with_or_taken_back() {
    if !inside_within("setup::a_setup_that_was_killed_is_gone_on_with_or_taken_back", LIFE_MAX) {
        return;
    }
    let site = Site::build();
    let before = site.condition();
    for lines in [1, 3, 6, 8, 11, 14, 16] {
        let mut setup = site.guestright("router", "setup --answers answers.toml --yes");
        let mut setup = setup.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Killed as soon as it has noted so much: whatever it is doing then.
        until("the journal to grow", || {
            let journal = fs::read_to_string("/var/lib/guestright-setup/journal").unwrap_or_default();
            journal.lines().count() >= lines || setup.try_wait().unwrap().is_some()
        });
        let _ = setup.kill();
        setup.wait().unwrap();
        if lines % 2 == 0 {
            let went_on = succeeded(&site.run("router", "setup --yes"));
            assert!(
                went_on.contains("this computer serves guests") || went_on.contains("everything is set up"),
                "{went_on}"
            );
            assert_eq!(site.set_up()["state"], "unchanged");
        }
        succeeded(&site.run("router", "setup --undo --yes"));
        site.assert_same(&before, &format!("killed after {lines} lines"));
    }
}
