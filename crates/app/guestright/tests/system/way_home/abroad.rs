//! The town, a home elsewhere on the Internet, a second access point, and a walker that talks all the time.

use super::capture::Capture;
use super::is_up;
use crate::town::Program;
use crate::town::services::AccessLog;
use crate::town::{PATIENCE, Rules, Town, look, session, succeeded, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_netns::LinkOptions;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The home's address on the Internet, and its gateway's port.
pub(super) const HOME_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 40, 2);
pub(super) const TUNNEL_PORT: u16 = 51_820;
pub(super) const SECOND_ACCESS_POINT: &str = "10.12.0.1";
pub(super) const WALKER_MAC: &str = "02:00:5e:10:00:21";
/// A question for a name (RFC 1035 §4.1): example, type A, class IN.
const QUESTION: &[u8] = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x00\x00\x01\x00\x01";

pub(crate) struct Abroad {
    pub(crate) town: Town,
    /// Who came to the web server, and who asked for names.
    pub(super) web: AccessLog,
    pub(super) names: AccessLog,
}

/// A program of the walker's that began to talk before the visit and never stops.
pub(super) struct Chatter {
    done: Arc<AtomicBool>,
    quiet: Arc<AtomicBool>,
    tries: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Chatter {
    pub(super) fn pause(&self) {
        self.quiet.store(true, Ordering::Relaxed);
    }

    pub(super) fn go_on(&self) {
        self.quiet.store(false, Ordering::Relaxed);
    }

    /// How often it has tried.
    pub(super) fn tries(&self) -> u64 {
        self.tries.load(Ordering::Relaxed)
    }

    /// The same in all.
    pub(super) fn stop(self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.tries.load(Ordering::Relaxed)
    }
}

impl Abroad {
    /// Builds everything; no program runs yet.
    pub(crate) fn build(log: &'static str) -> Self {
        // A visitor that is killed and comes again is served when its old session is over: when an interval and a half is.
        let mut town = Town::build(Rules { log, ..Rules::SHORT });
        for host in ["away", "second"] {
            town.world.add_host(host).unwrap();
        }
        let world = &town.world;
        world.sysctl("net", "net.ipv4.ip_forward", "1").unwrap();
        let wire = LinkOptions { segmentation_offload: false, ..LinkOptions::default() };
        for (host, number) in [("away", 40), ("second", 50)] {
            let port = format!("to-{host}");
            world.link(("net", &port), (host, "uplink"), &wire).unwrap();
            world.address("net", &port, &format!("198.18.{number}.1/24")).unwrap();
            world.address(host, "uplink", &format!("198.18.{number}.2/24")).unwrap();
            world.route(host, "default", &format!("198.18.{number}.1")).unwrap();
        }
        world.add_bridge("second", "guests").unwrap();
        world.address("second", "guests", &format!("{SECOND_ACCESS_POINT}/24")).unwrap();
        world.hardware_address("member", "wlan0", WALKER_MAC).unwrap();
        // The walker's link is a radio: what leaves it is single frames.
        for (host, interface) in
            [("member", "wlan0"), ("router", "port21"), ("router", "uplink"), ("net", "to-router")]
        {
            let off =
                ["-K", interface, "tso", "off", "gso", "off", "gro", "off", "tx-udp-segmentation", "off"];
            world.run(host, "ethtool", &off).unwrap();
        }
        let this = Self { town, web: AccessLog::default(), names: AccessLog::default() };
        this.found();
        this.town.serve_tcp("net", crate::town::WEB, &this.web);
        this.serve_names();
        this.serve_echo();
        this
    }

    /// Makes the home with its gateway, the walker's way there, and the second access point's team.
    fn found(&self) {
        let town = &self.town;
        let endpoint = format!("{HOME_ADDRESS}:{TUNNEL_PORT}");
        let init = ["team", "gateway", "init", "--dir", "guests", "--network", "10.73.6.0/24", "--endpoint"];
        succeeded(&town.run(&[&init[..], &[&endpoint]].concat()));
        succeeded(&town.run(&["team", "member", "add", "walker", "--qr", "--dir", "guests"]));
        succeeded(&town.run(&["team", "member", "add", "home", "--role", "home", "--dir", "guests"]));
        let home = "key = \"home.key\"\ncertificate = \"home.cert\"\nstate = \"home-state\"\nlisten = \"0.0.0.0:7274\"\n\
                    [gateway]\nuplink_interface = \"uplink\"\ndns_upstream = \"192.0.2.1\"\n";
        std::fs::write(town.path("guests/home.toml"), home).unwrap();
        town.found("other", &[("second", "access-point"), ("home", "home")]);
        // Who visits again and again without giving is served all the same.
        let home = std::fs::read_to_string(town.path("house/home.toml")).unwrap();
        let home = home.split_once("[policy]").unwrap().0.to_owned()
            + "[policy]\nkind = \"quota\"\nquota_bytes = 0\n";
        for team in ["house", "other"] {
            std::fs::write(town.path(team).join("home.toml"), &home).unwrap();
        }
        let ap = std::fs::read_to_string(town.path("house/ap.toml")).unwrap();
        std::fs::write(town.path("other/ap.toml"), ap.replace("router.", "second.")).unwrap();
    }

    fn serve_names(&self) {
        let socket = self.town.world.within("net", || UdpSocket::bind("192.0.2.1:53")).unwrap().unwrap();
        let queries = self.names.clone();
        thread::spawn(move || {
            let mut buffer = [0; 2_000];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                queries.add(from, &buffer[..length]);
                buffer[2] |= 0x80; // An answer, and it says nothing.
                let _ = socket.send_to(&buffer[..length], from);
            }
        });
    }

    fn serve_echo(&self) {
        let listener = self.town.world.within("net", || TcpListener::bind("192.0.2.1:7")).unwrap().unwrap();
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                thread::spawn(move || {
                    let mut buffer = [0; 100];
                    while let Ok(length @ 1..) = stream.read(&mut buffer) {
                        if stream.write_all(&buffer[..length]).is_err() {
                            return;
                        }
                    }
                });
            }
        });
    }

    /// A program on a host, and its log.
    fn start(&self, host: &str, command: &str, settings: &str, log: &str) -> Program {
        self.start_logging("trace", host, command, settings, log)
    }

    fn start_logging(&self, level: &str, host: &str, command: &str, settings: &str, log: &str) -> Program {
        let program = self.begin(level, host, command, settings, log);
        program.hear_line("to say that it is ready", |_| true);
        program
    }

    /// The same, without waiting for its first line.
    pub(super) fn begin(&self, level: &str, host: &str, command: &str, settings: &str, log: &str) -> Program {
        let mut full = self.town.world.command(host, env!("CARGO_BIN_EXE_guestright")).unwrap();
        full.args(["--log", level, command, "--config"]).arg(self.town.path(settings));
        Program::start(&mut full, &self.town.path(log))
    }

    pub(crate) fn start_home(&self) -> Program {
        self.start("away", "home", "guests/home.toml", "away.log")
    }

    /// The same for a long run, whose packets would fill the disk with words.
    pub(super) fn start_quiet_home(&self) -> Program {
        self.start_logging("info", "away", "home", "guests/home.toml", "away.log")
    }

    /// Opens the second access point and its home.
    pub(super) fn open_second(&self) -> (Program, Program) {
        let home = self.start("second", "home", "other/home.toml", "second-home.log");
        let ap = self.start("second", "ap", "other/ap.toml", "second-ap.log");
        until("the second access point to reach its home", || {
            look::ask("ap", &self.town.path("other/ap.toml"), "status")["home_up"] == true
        });
        (home, ap)
    }

    pub(super) fn visit(&self, more: &[&str]) -> Program {
        self.visit_with(more, &[])
    }

    pub(super) fn visit_with(&self, more: &[&str], environment: &[(&str, &str)]) -> Program {
        self.visit_asking("1", more, environment)
    }

    /// A visit whose own program asks its home once and not again: its tunnel is silent while nobody else talks.
    pub(crate) fn silent_visit(&self) -> Program {
        self.visit_asking("3600", &[], &[])
    }

    fn visit_asking(&self, every_seconds: &str, more: &[&str], environment: &[(&str, &str)]) -> Program {
        let home = format!("{HOME_ADDRESS}:7274");
        let arguments = ["--home", &home, "--update-seconds", every_seconds];
        self.town.visit_with("member", "guests", "walker", &[&arguments[..], more].concat(), environment)
    }

    pub(crate) fn until_home(&self, visit: &Program) {
        is_up(visit);
        visit.hear("to reach its home", |event| event["event"] == "home" && event["up"] == true);
    }

    pub(super) fn until_session(&self, visit: &Program, began: Instant) {
        visit.hear("to be granted service again", |event| event["event"] == "granted");
        println!("granted again after {:?}", began.elapsed());
    }

    /// Waits until the walker reaches the Internet, and says how long it took.
    pub(super) fn until_online(&self, what: &str, began: Instant) {
        until("the walker to be online", || self.town.is_online("member"));
        println!("{what}: online after {:?}", began.elapsed());
        assert_eq!(self.web.all().last().unwrap().0, HOME_ADDRESS);
    }

    /// Downloads until the access point has claimed so much.
    pub(super) fn until_counted(&self, bytes: u64) {
        until("enough to be signed for", || {
            self.town.download("member", 300_000).unwrap();
            self.status()["session"]["signed"].as_u64() > Some(bytes)
        });
    }

    /// Waits until nobody counts any more, and compares what both have counted. Neither count goes back, so in silence
    /// counts that disagree disagree for good; one that comes late to a busy computer is waited for.
    pub(super) fn both_count_the_same(&self) {
        let ours = || self.status()["session"]["counted"].as_u64();
        let theirs = || session(&self.town.status(), "10.11.0.21")["counted"].as_u64();
        // The visitor's count begins with the grant, the access point's with the first receipt; a few frames are no packets
        // (ARP); and what waited for a signature was sent, but not carried.
        let agree = |ours: u64, theirs: u64| {
            let held_back = self.town.status()["dropped"]["unsigned"].as_u64().unwrap() * 1_500;
            let most = theirs * 5 / 1_000 + held_back;
            println!("the visitor counted {ours}, the access point {theirs}; {held_back} held back");
            ours >= theirs && ours - theirs < most
        };
        let mut last = (None, None);
        until("both to count the same in silence", || {
            thread::sleep(Duration::from_millis(300));
            let now = (ours(), theirs());
            let is_silent = now == std::mem::replace(&mut last, now);
            matches!(now, (Some(ours), Some(theirs)) if is_silent && agree(ours, theirs))
        });
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Output {
        self.town.run_on("member", arguments)
    }

    /// What `visit status --json` says.
    pub(super) fn status(&self) -> Value {
        look::at(&self.town.path("walker-state/visit.sock"), "status")
    }

    /// Whether a resolver of this address seems to answer the walker.
    pub(super) fn resolves(&self, resolver: &str) -> bool {
        let ask = || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket.connect(resolver).unwrap();
            socket.send(QUESTION).unwrap();
            socket.recv(&mut [0; 100]).is_ok_and(|length| length == QUESTION.len())
        };
        self.town.world.within("member", ask).unwrap()
    }

    /// A connection through the tunnel.
    pub(super) fn flow(&self) -> TcpStream {
        let connect = || TcpStream::connect_timeout(&"192.0.2.1:7".parse().unwrap(), PATIENCE);
        let flow = self.town.world.within("member", connect).unwrap().unwrap();
        flow.set_read_timeout(Some(PATIENCE)).unwrap();
        flow
    }

    /// Lets a program of the walker's talk to everybody, all the time.
    pub(super) fn chatter(&self) -> Chatter {
        let open = || {
            let v4 = UdpSocket::bind("0.0.0.0:0").unwrap();
            let here = UdpSocket::bind("10.11.0.21:0").unwrap();
            let resolver = UdpSocket::bind("0.0.0.0:0").unwrap();
            resolver.connect("10.11.0.1:53").unwrap();
            v4.set_broadcast(true).unwrap();
            (v4, here, resolver, UdpSocket::bind("[::]:0").unwrap())
        };
        let (v4, here, resolver, v6) = self.town.world.within("member", open).unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let quiet = Arc::new(AtomicBool::new(false));
        let (until, silent) = (Arc::clone(&done), Arc::clone(&quiet));
        let tries = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&tries);
        let thread = thread::spawn(move || {
            let to = |address: &str| address.parse::<SocketAddr>().unwrap();
            while !until.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
                if silent.load(Ordering::Relaxed) {
                    continue;
                }
                for address in ["192.0.2.1:9", "10.11.0.1:9", "10.11.0.255:9", "224.0.0.251:5353"] {
                    let _ = v4.send_to(b"chatter", to(address));
                    let _ = here.send_to(b"chatter", to(address));
                }
                let _ = resolver.send(QUESTION);
                for address in ["[fd00:12::1]:9", "[2001:db8::1]:9", "[fd00:12::1]:53"] {
                    let _ = v6.send_to(b"chatter", to(address));
                }
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Chatter { done, quiet, tries, thread }
    }

    /// Captures what the walker sends and receives at the router's end of its link.
    pub(super) fn capture(&self, interface: &str) -> Capture {
        self.capture_on("router", interface)
    }

    /// The same at an interface of any host.
    pub(super) fn capture_on(&self, host: &str, interface: &str) -> Capture {
        let file = self.town.path("capture.pcap");
        let log = self.town.path("tcpdump.log");
        let walker = format!("ether src {WALKER_MAC}");
        let file_name = file.to_str().unwrap();
        let arguments =
            ["-Z", "root", "-i", interface, "-U", "-n", "-s", "100", "-B", "16384", "-w", file_name, &walker];
        Capture::new(self.town.world.spawn(host, "tcpdump", arguments, &log).unwrap(), file)
    }

    /// The walker leaves the first access point's network and joins the second's.
    pub(super) fn walk_on(&self) {
        let world = &self.town.world;
        let second = world.namespace("second").unwrap();
        world.run("router", "ip", &["link", "set", "port21", "netns", &second]).unwrap();
        world.up("second", "port21").unwrap();
        world.attach("second", "port21", "guests", true).unwrap();
        world.run("member", "ip", &["-4", "address", "flush", "dev", "wlan0"]).unwrap();
        world.address("member", "wlan0", "10.12.0.21/24").unwrap();
        world.route("member", "default", SECOND_ACCESS_POINT).unwrap();
    }

    /// Everything on the walker's computer that a visit may change.
    pub(super) fn condition(&self) -> String {
        let script = "nft list ruleset; ip rule; ip -6 rule; ip route show table all; ip -o link | cut -d: -f2; \
                      cat /proc/sys/net/ipv4/conf/all/src_valid_mark";
        self.town.world.run("member", "sh", &["-c", script]).unwrap()
    }

    /// Looks through every log of the run for every secret, however it may be written.
    pub(super) fn no_log_shows_a_secret(&self) {
        let directory =
            |name: &str| std::fs::read_dir(self.town.path(name)).unwrap().map(|entry| entry.unwrap().path());
        let mut secrets: Vec<(PathBuf, Vec<u8>)> = self.town.secrets();
        for file in directory("guests").chain(directory("guests/gateway")) {
            let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap_or_default()).into_owned();
            // Public keys may be logged.
            for line in text.lines().filter(|line| !line.to_lowercase().contains("public")) {
                let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || "+/=".contains(c)));
                for key in words.filter(|word| word.len() == 44 && word.ends_with('=')) {
                    secrets.push((file.clone(), STANDARD.decode(key).unwrap()));
                }
            }
        }
        let config = |(file, _): &&(PathBuf, Vec<u8>)| file.ends_with("walker.conf");
        assert_eq!(
            secrets.iter().filter(config).count(),
            2,
            "the walker's private key and the preshared one"
        );
        assert!(secrets.len() > 9, "{} secrets", secrets.len());
        let logs: Vec<_> =
            directory(".").filter(|file| file.extension().is_some_and(|end| end == "log")).collect();
        assert!(logs.len() >= 4, "{logs:?}");
        for log in logs {
            let text = std::fs::read_to_string(&log).unwrap();
            for (file, secret) in &secrets {
                for written in crate::cli::writings(secret) {
                    assert!(
                        !text.contains(&written),
                        "{} shows a secret of {}",
                        log.display(),
                        file.display()
                    );
                }
            }
        }
    }
}
