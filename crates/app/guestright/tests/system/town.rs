//! A household on the real kernel, its visitors and an Internet.
//!
//! ```text
//!   pc ── lan ── router ══ guests: member, resident, hostile
//!               (ap, home)
//!                  │ uplink 198.51.100.0/24
//!                 net, servers at 192.0.2.1
//! ```

pub(crate) mod baresip;
pub(crate) mod bind;
pub(crate) mod client;
pub(crate) mod look;
pub(crate) mod quick;
pub(crate) mod services;

pub(crate) use guestright_testbed::{
    PATIENCE, Program, inside, inside_for_sandboxes, succeeded, until, until_within,
};

use guestright_netns::testing::pause_after;
use guestright_netns::{LinkOptions, World};
use guestright_testbed::Desk;
use serde_json::Value;
use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// Where visitors speak to the access point.
pub(crate) const ACCESS_POINT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 11, 0, 1)), 7_273);
/// The web server of the Internet.
pub(crate) const WEB: &str = "192.0.2.1:80";
/// Visitors and the last number of their addresses, 10.11.0.x and fd00:12::x.
const VISITORS: [(&str, u8); 3] = [("member", 21), ("resident", 22), ("hostile", 66)];

/// The program under test.
pub(crate) fn guestright() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_guestright"));
    command.stdin(Stdio::null());
    command
}

/// A folder in which the program is run, without a network.
pub(crate) fn desk() -> Desk {
    Desk::new(env!("CARGO_BIN_EXE_guestright"))
}

/// The settings that tests differ in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// A visitor has half of it for a receipt, and a lease lasts as long: a test that waits for neither leaves time
    /// enough for a computer that is busy with something else.
    pub(crate) interval_ms: u64,
    pub(crate) when_home_is_away: &'static str,
    pub(crate) log: &'static str,
    /// How the home decides.
    pub(crate) policy: &'static str,
    /// Whether strangers are led to a page.
    pub(crate) splash: bool,
}

impl Rules {
    /// For tests that wait until a receipt is due or a lease has passed.
    pub(crate) const SHORT: Self = Self::with_interval(10_000);

    pub(crate) const fn with_interval(interval_ms: u64) -> Self {
        Self { interval_ms, when_home_is_away: "lowest", log: "info", policy: "credit", splash: false }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::with_interval(20_000)
    }
}

/// The household and whoever is there. Dropping it ends everything.
#[derive(Debug)]
pub(crate) struct Town {
    pub(crate) world: World,
    pub(crate) directory: PathBuf,
    rules: Rules,
}

impl Town {
    /// Builds the town and founds two teams: `house`, whose household it is, and `guests`. No program runs yet.
    pub(crate) fn build(rules: Rules) -> Self {
        let mut world = World::new("sys-").unwrap();
        for host in ["net", "router", "pc"].into_iter().chain(VISITORS.map(|(name, _)| name)) {
            world.add_host(host).unwrap();
            // Addresses can be used at once: nobody else is here who could have them.
            world.sysctl(host, "net.ipv6.conf.default.accept_dad", "0").unwrap();
        }
        let wire = LinkOptions::default();
        world.link(("net", "to-router"), ("router", "uplink"), &wire).unwrap();
        world.link(("router", "lan"), ("pc", "eth0"), &wire).unwrap();
        world.add_bridge("router", "guests").unwrap();
        for (name, number) in VISITORS {
            let port = format!("port{number}");
            world.link(("router", &port), (name, "wlan0"), &wire).unwrap();
            world.attach("router", &port, "guests", true).unwrap();
            world.address(name, "wlan0", &format!("10.11.0.{number}/24")).unwrap();
            world.address(name, "wlan0", &format!("fd00:12::{number}/64")).unwrap();
        }
        for (host, interface, address) in [
            ("net", "lo", "192.0.2.1/32"),
            ("net", "to-router", "198.51.100.1/24"),
            ("router", "uplink", "198.51.100.2/24"),
            ("router", "lan", "192.168.1.1/24"),
            ("router", "lan", "203.0.113.1/24"),
            ("router", "lan", "fd00:11::1/64"),
            ("router", "lan", "2001:db8:11::1/64"),
            ("router", "guests", "10.11.0.1/24"),
            ("router", "guests", "fd00:12::1/64"),
            ("router", "guests", "2001:db8:12::1/64"),
            ("pc", "eth0", "192.168.1.10/24"),
            ("pc", "eth0", "203.0.113.10/24"),
            ("pc", "eth0", "fd00:11::10/64"),
            ("pc", "eth0", "2001:db8:11::10/64"),
        ] {
            world.address(host, interface, address).unwrap();
        }
        world.route("router", "default", "198.51.100.1").unwrap();
        world.route("pc", "default", "192.168.1.1").unwrap();
        world.run("pc", "ip", &["-6", "route", "add", "default", "via", "fd00:11::1"]).unwrap();
        for (name, _) in VISITORS {
            world.route(name, "default", "10.11.0.1").unwrap();
            world.run(name, "ip", &["-6", "route", "add", "default", "via", "fd00:12::1"]).unwrap();
        }
        let town = Self { world, directory: PathBuf::from("/run/town"), rules };
        std::fs::create_dir(&town.directory).unwrap();
        let house = [("router", "access-point"), ("home", "home"), ("resident", "member")];
        town.found("house", &house);
        town.found("guests", &[("member", "member"), ("second", "member")]);
        town.write_settings();
        town
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Runs the program to its end, outside the town.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Output {
        guestright().args(arguments).current_dir(&self.directory).output().unwrap()
    }

    /// Runs the program to its end, on a host.
    pub(crate) fn run_on(&self, host: &str, arguments: &[&str]) -> Output {
        let mut command = self.world.command(host, env!("CARGO_BIN_EXE_guestright")).unwrap();
        command.args(arguments).current_dir(&self.directory).stdin(Stdio::null()).output().unwrap()
    }

    /// Makes a team and its members' keys with the program's own commands.
    pub(crate) fn found(&self, team: &str, members: &[(&str, &str)]) {
        succeeded(&self.run(&["team", "init", "--dir", team]));
        for (name, role) in members {
            succeeded(&self.run(&["team", "member", "add", name, "--role", role, "--dir", team]));
        }
    }

    fn write_settings(&self) {
        let Rules { interval_ms, when_home_is_away, .. } = self.rules;
        let policy = self.rules.policy;
        let home = format!(
            "key = \"home.key\"\ncertificate = \"home.cert\"\nstate = \"home-state\"\n[credit]\n\
             allowance_bytes_per_day = 1000000000000\n[policy]\nkind = \"{policy}\"\n\
             bootstrap_bytes = 1000000000000\n"
        );
        let ap = format!(
            "key = \"router.key\"\ncertificate = \"router.cert\"\nstate = \"ap-state\"\nhome = \"127.0.0.1:7274\"\n\
             visitor_interface = \"guests\"\nuplink_interface = \"uplink\"\ninterval_ms = {interval_ms}\n\
             flush_ms = 300\nwhen_home_is_away = \"{when_home_is_away}\"\n\
             household_networks = [\"203.0.113.0/24\"]\n[shaping]\ndown_bits_per_second = 200000000\n\
             up_bits_per_second = 50000000\n"
        );
        let splash = if self.rules.splash { "[splash]\nhousehold = \"The Rivers\"\n" } else { "" };
        let ap = ap + splash;
        std::fs::write(self.path("house/home.toml"), home).unwrap();
        std::fs::write(self.path("house/ap.toml"), ap).unwrap();
    }

    /// Starts a program of the household and waits for its first line, which says that it is ready.
    pub(crate) fn start(&self, command: &str) -> Program {
        self.start_with(command, &[])
    }

    /// The same, with these in the program's environment.
    pub(crate) fn start_with(&self, command: &str, environment: &[(&str, &str)]) -> Program {
        let settings = self.path(&format!("house/{command}.toml"));
        // A program of another build may stand in for ours: one for another processor, by what runs it.
        let other = std::env::var(format!("GUESTRIGHT_TEST_{}", command.to_uppercase())).ok();
        let mut words = other.as_deref().unwrap_or(env!("CARGO_BIN_EXE_guestright")).split(' ');
        let mut full = self.world.command("router", words.next().unwrap()).unwrap();
        full.args(words).envs(environment.iter().copied());
        full.args(["--log", self.rules.log, command, "--config"]).arg(settings);
        let program = Program::start(&mut full, &self.path(&format!("{command}.log")));
        program.hear_line("to say that it is ready", |_| true);
        program
    }

    /// Starts home and access point, and waits until they know each other.
    pub(crate) fn open(&self) -> (Program, Program) {
        let home = self.start("home");
        let ap = self.start("ap");
        self.until_status("the access point to reach its home", |status| status["home_up"] == true);
        (home, ap)
    }

    /// What `ap status --json` or `home status --json` prints; null if nobody answers.
    pub(crate) fn ask(&self, command: &str) -> Value {
        look::ask(command, &self.path(&format!("house/{command}.toml")), "status")
    }

    pub(crate) fn status(&self) -> Value {
        let status = self.ask("ap");
        assert!(status.is_object(), "the access point does not answer");
        status
    }

    /// Waits until the access point's status is as wanted.
    pub(crate) fn until_status(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let look = Instant::now();
            let status = self.ask("ap");
            if wanted(&status) {
                return status;
            }
            assert!(look < deadline, "waited in vain for {what}: {status}");
            pause_after(look);
        }
    }

    /// Waits until the household's home has receipts over so much.
    pub(crate) fn until_home_is_owed(&self, bytes: u64) {
        until("the receipts to be at home", || self.ask("home")["owed_to_us"].as_u64() >= Some(bytes));
    }

    /// Lets a visitor visit with the key of `team` and `name`; it says what happens as lines of JSON.
    pub(crate) fn visit(&self, host: &str, team: &str, name: &str, more: &[&str]) -> Program {
        self.visit_with(host, team, name, more, &[])
    }

    /// The same with more in its environment.
    pub(crate) fn visit_with(
        &self,
        host: &str,
        team: &str,
        name: &str,
        more: &[&str],
        environment: &[(&str, &str)],
    ) -> Program {
        let mut command = self.world.command(host, env!("CARGO_BIN_EXE_guestright")).unwrap();
        command.envs(environment.iter().copied());
        command.args(["--log", self.rules.log, "visit", "--json", "--key"]);
        command.arg(self.path(&format!("{team}/{name}.key")));
        command.arg("--certificate").arg(self.path(&format!("{team}/{name}.cert")));
        command.arg("--state").arg(self.path(&format!("{name}-state"))).args(more);
        Program::start(&mut command, &self.path(&format!("{host}-visit.log")))
    }

    /// A visit that has been granted, and its class.
    pub(crate) fn arrive(&self, host: &str, team: &str, name: &str) -> (Program, String) {
        let visit = self.visit(host, team, name, &[]);
        let granted = visit.hear("to be granted service", |event| event["event"] == "granted");
        let ip = self.address_of(host);
        self.until_status("the firewall to open", |status| session(status, &ip)["open"] == true);
        (visit, granted["class"].as_str().unwrap().to_owned())
    }

    /// Ends a visit as Ctrl-C does, and returns what it says at the end.
    pub(crate) fn leave(&self, mut visit: Program) -> Value {
        visit.signal(rustix::process::Signal::INT);
        let ended = visit.hear("to leave", |event| event["event"] == "ended");
        assert!(visit.wait().success(), "{ended}");
        ended
    }

    pub(crate) fn address_of(&self, host: &str) -> String {
        let (_, number) = VISITORS.iter().find(|(name, _)| *name == host).unwrap();
        format!("10.11.0.{number}")
    }

    /// Everything that an access point may change on its router: ruleset, queues, forwarding.
    pub(crate) fn condition(&self) -> String {
        let script = "nft list ruleset; tc qdisc show; cd /proc/sys/net/ipv4; \
                      grep . ip_forward conf/*/forwarding conf/*/accept_redirects conf/*/send_redirects";
        self.world.run("router", "sh", &["-c", script]).unwrap()
    }

    /// Applies a ruleset text on the router.
    pub(crate) fn nft(&self, text: &str) {
        let file = self.path("foreign.nft");
        std::fs::write(&file, text).unwrap();
        self.world.run("router", "nft", &["-f", file.to_str().unwrap()]).unwrap();
    }

    /// The secrets of every key file, by file.
    pub(crate) fn secrets(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files =
            ["house", "guests"].into_iter().flat_map(|team| std::fs::read_dir(self.path(team)).unwrap());
        let keys = files.map(|entry| entry.unwrap().path()).filter(|path| is_key(path));
        keys.map(|path| {
            let secret = guestright_keys::read_secret(&path, || None).unwrap();
            (path, secret.to_bytes().to_vec())
        })
        .collect()
    }
}

fn is_key(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "key")
}

/// The open session of an address; null if it has none.
pub(crate) fn session(status: &Value, ip: &str) -> Value {
    let mut sessions = status["sessions"].as_array().into_iter().flatten();
    sessions.find(|session| session["ip"] == ip).cloned().unwrap_or_default()
}

/// The last session of an address that has ended; null if there is none.
pub(crate) fn closed(status: &Value, ip: &str) -> Value {
    let sessions = status["closed"].as_array().into_iter().flatten();
    sessions.rev().find(|session| session["ip"] == ip).cloned().unwrap_or_default()
}
