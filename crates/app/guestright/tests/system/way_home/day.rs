//! `guestright up`: a laptop's day, from network to network.
//!
//! ```text
//!   laptop ── one of ── router, second: access points of ours
//!                       cafe: a network without one; hotel: one with a portal of its own
//!             all ── net ── away (home of the team guests, gateway); servers at 192.0.2.1
//! ```

use super::abroad::{Abroad, HOME_ADDRESS, TUNNEL_PORT};
use super::capture::{Capture, Frame};
use crate::town::services::AccessLog;
use crate::town::{PATIENCE, Program, inside, succeeded, until};
use guestright_netns::LinkOptions;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A network that the laptop joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    /// The host that it is of.
    host: &'static str,
    /// Its bridge.
    bridge: &'static str,
    gateway: &'static str,
    own: &'static str,
}

const FIRST: Network =
    Network { host: "router", bridge: "guests", gateway: "10.11.0.1", own: "10.11.0.21/24" };
const SECOND: Network =
    Network { host: "second", bridge: "guests", gateway: "10.12.0.1", own: "10.12.0.21/24" };
const CAFE: Network = Network { host: "cafe", bridge: "lan", gateway: "10.13.0.1", own: "10.13.0.21/24" };
const HOTEL: Network = Network { host: "hotel", bridge: "lan", gateway: "10.14.0.1", own: "10.14.0.21/24" };

/// Where the portal asks for a word before it lets anybody through.
const PORTAL: &str = "10.14.0.1:2050";

/// The search's question as an IPv4 packet: 28 bytes of headers, 12 of DNS, `guestright.invalid`, type and class.
const QUESTION_LEN: usize = 28 + 12 + 20 + 4;

struct Day {
    abroad: Abroad,
    at: Option<Network>,
}

impl Day {
    fn build() -> Self {
        let mut abroad = Abroad::build("info");
        for (host, number) in [("cafe", 60), ("hotel", 70)] {
            let wire = LinkOptions::default();
            let world = &mut abroad.town.world;
            world.add_host(host).unwrap();
            let port = format!("to-{host}");
            world.link(("net", &port), (host, "uplink"), &wire).unwrap();
            world.address("net", &port, &format!("198.18.{number}.1/24")).unwrap();
            world.address(host, "uplink", &format!("198.18.{number}.2/24")).unwrap();
            world.route(host, "default", &format!("198.18.{number}.1")).unwrap();
            world.add_bridge(host, "lan").unwrap();
            world.sysctl(host, "net.ipv4.ip_forward", "1").unwrap();
        }
        let day = Self { abroad, at: Some(FIRST) };
        for network in [CAFE, HOTEL] {
            let world = &day.abroad.town.world;
            world.address(network.host, "lan", &format!("{}/24", network.gateway)).unwrap();
            let nat = "table ip nat { chain out { type nat hook postrouting priority srcnat; oifname uplink masquerade; }; }";
            day.nft(network.host, nat);
        }
        day.leave_network();
        day.settings();
        day
    }

    /// Applies a ruleset on a host.
    fn nft(&self, host: &str, text: &str) {
        let file = self.abroad.town.path("day.nft");
        std::fs::write(&file, text).unwrap();
        self.abroad.town.world.run(host, "nft", &["-f", file.to_str().unwrap()]).unwrap();
    }

    /// What `up` would write, with directories of this test's.
    fn settings(&self) {
        let directory = self.abroad.town.path("laptop");
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("visit.toml"), "state = \"state\"\ncontrol = \"door/control.sock\"\n")
            .unwrap();
    }

    /// The program on the laptop.
    fn command(&self, arguments: &[&str]) -> Output {
        let config = self.abroad.town.path("laptop/visit.toml");
        let mut command = self.abroad.town.world.command("member", env!("CARGO_BIN_EXE_guestright")).unwrap();
        command.args(["--log", "debug"]).args(arguments).arg("--config").arg(config);
        command.envs(self.clock()).stdin(Stdio::null()).output().unwrap()
    }

    /// A clock that can be set (libfaketime reads the file again and again).
    fn clock(&self) -> [(&'static str, String); 4] {
        let file = self.abroad.town.path("clock").display().to_string();
        [
            ("LD_PRELOAD", "/usr/$LIB/faketime/libfaketime.so.1".to_owned()),
            ("FAKETIME_TIMESTAMP_FILE", file),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }

    fn set_clock(&self, offset: &str) {
        std::fs::write(self.abroad.town.path("clock"), offset).unwrap();
    }

    fn status(&self) -> Value {
        let output = self.command(&["status", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    /// Waits until it stands so, and says what it says then.
    fn until_it_is(&self, state: &str) -> Value {
        let mut status = Value::Null;
        let log = || std::fs::read_to_string(self.abroad.town.path("laptop/state/log")).unwrap_or_default();
        let deadline = Instant::now() + PATIENCE;
        while status["standing"]["state"] != state {
            assert!(Instant::now() < deadline, "waited in vain for {state}: {status}\n{}", log());
            status = self.status();
        }
        println!("{state}: {}", status["standing"]["sentence"]);
        status
    }

    /// Online, whoever serves: the Internet is there, and sees the home's address.
    fn until_online(&self, served: bool) {
        until("it to be online as it should", || {
            let status = self.until_it_is("online");
            status["session"].is_object() == served
        });
        assert!(self.abroad.town.is_online("member"));
        assert_eq!(self.abroad.web.all().last().unwrap().0, HOME_ADDRESS);
    }

    /// The radio is on, and has no network.
    fn leave_network(&self) {
        self.abroad.town.world.run("member", "ip", &["-4", "address", "flush", "dev", "wlan0"]).unwrap();
    }

    /// What a radio and a DHCP client do.
    fn join(&mut self, network: Network) {
        let world = &self.abroad.town.world;
        if let Some(old) = self.at.filter(|old| old.host != network.host) {
            let namespace = world.namespace(network.host).unwrap();
            world.run(old.host, "ip", &["link", "set", "port21", "netns", &namespace]).unwrap();
        }
        world.up(network.host, "port21").unwrap();
        world.attach(network.host, "port21", network.bridge, true).unwrap();
        world.run("member", "ip", &["-4", "address", "flush", "dev", "wlan0"]).unwrap();
        world.up("member", "wlan0").unwrap();
        world.address("member", "wlan0", network.own).unwrap();
        world.run("member", "ip", &["route", "replace", "default", "via", network.gateway]).unwrap();
        self.at = Some(network);
        println!("joined the network of {}", network.host);
    }

    /// The process that stays.
    fn daemon(&self) -> Pid {
        let script = "for p in /proc/[0-9]*; do grep -qza [f]oreground $p/cmdline 2>/dev/null && basename $p; done; true";
        let found = self.abroad.town.world.run("member", "sh", &["-c", script]).unwrap();
        let pids: Vec<i32> = found.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        assert_eq!(pids.len(), 1, "one stays: {found}");
        Pid::from_raw(pids[0]).unwrap()
    }

    /// Everything that the laptop puts on the air.
    fn capture(&self) -> Capture {
        self.abroad.capture_on("member", "wlan0")
    }
}

/// A program on the laptop that talks to everybody, all day long.
struct Chatter {
    done: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Chatter {
    fn begin(day: &Day) -> Self {
        let open = || (UdpSocket::bind("0.0.0.0:0").unwrap(), UdpSocket::bind("[::]:0").unwrap());
        let (v4, v6) = day.abroad.town.world.within("member", open).unwrap();
        v4.set_broadcast(true).unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&done);
        let thread = thread::spawn(move || {
            let to = |address: &str| address.parse::<SocketAddr>().unwrap();
            let mut tries = 0;
            while !until.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
                let gateways = [FIRST, SECOND, CAFE, HOTEL].map(|network| network.gateway);
                for gateway in gateways {
                    for port in [9, 53, 80] {
                        let _ = v4.send_to(b"chatter", to(&format!("{gateway}:{port}")));
                    }
                }
                for address in ["192.0.2.1:9", "192.0.2.80:80", "255.255.255.255:9", "224.0.0.251:5353"] {
                    let _ = v4.send_to(b"chatter", to(address));
                }
                for address in ["[2001:db8::1]:9", "[ff02::fb]:5353"] {
                    let _ = v6.send_to(b"chatter", to(address));
                }
                tries += 1;
            }
            tries
        });
        Self { done, thread }
    }

    /// How often it has tried.
    fn stop(self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// A portal: whatever page is asked for, it answers with its own, and nothing else passes, until `/let-me-in` is asked for.
struct HotelPortal {
    visited: AccessLog,
    is_open: Arc<AtomicBool>,
}

impl HotelPortal {
    fn open(day: &Day) -> Self {
        let rules = format!(
            "table ip portal {{
                chain pages {{ type nat hook prerouting priority dstnat; iifname lan tcp dport 80 dnat to {PORTAL}; }}
                chain rest {{ type filter hook forward priority 0; policy drop; ct state established accept; }}
            }}"
        );
        day.nft("hotel", &rules);
        let listener = day.abroad.town.world.within("hotel", || TcpListener::bind(PORTAL)).unwrap().unwrap();
        let (visited, is_open) = (AccessLog::default(), Arc::new(AtomicBool::new(false)));
        let (log, opened) = (visited.clone(), Arc::clone(&is_open));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut question = [0; 1_000];
                let length = stream.read(&mut question).unwrap_or(0);
                log.add(stream.peer_addr().unwrap(), &question[..length]);
                let asks_in = question.starts_with(b"GET /let-me-in");
                let answer = if asks_in {
                    "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nwelcome".to_owned()
                } else {
                    format!("HTTP/1.1 302 Found\r\nLocation: http://{PORTAL}/\r\nContent-Length: 0\r\n\r\n")
                };
                let _ = stream.write_all(answer.as_bytes());
                opened.fetch_or(asks_in, Ordering::Relaxed);
            }
        });
        Self { visited, is_open }
    }
}

/// Whether the air may have this frame of the laptop's, in whatever network.
fn may_leave(frame: &Frame) -> bool {
    let gateways = [FIRST, SECOND, CAFE, HOTEL].map(|network| network.gateway.parse::<Ipv4Addr>().unwrap());
    match frame {
        Frame::Arp => true,
        Frame::Ip4 { protocol: 17, to, length, .. } => {
            // The tunnel, the protocol with whoever is the gateway, and the question for a name that nobody has.
            *to == (HOME_ADDRESS, TUNNEL_PORT)
                || gateways.contains(&to.0) && (to.1 == 7_273 || (to.1, *length) == (53, QUESTION_LEN))
        }
        Frame::Ip4 { protocol: 6, to, .. } => {
            gateways.contains(&to.0) && to.1 == 7_273
                || *to == (Ipv4Addr::new(192, 0, 2, 80), 80)
                || SocketAddr::from(*to) == PORTAL.parse().unwrap()
        }
        Frame::Ip4 { .. } | Frame::Ip6 | Frame::Other(_) => false,
    }
}

/// The morning: no network yet. The member's files are given once.
fn before_there_is_a_network(day: &Day) {
    let files = ["guests/walker.key", "guests/walker.cert", "guests/walker.conf"]
        .map(|file| day.abroad.town.path(file));
    let [key, certificate, tunnel] = files.each_ref().map(|file| file.to_str().unwrap());
    let up = day.command(&["up", "--key", key, "--certificate", certificate, "--tunnel", tunnel]);
    assert!(succeeded(&up).contains("there is no network"), "{up:?}");
    let no = succeeded(&day.command(&["status"]));
    assert!(no.starts_with("offline: there is no network"), "{no}");
}

/// A portal: nothing passes but the person's own browser, and only to see the page.
fn past_a_portal(day: &mut Day) {
    let portal = HotelPortal::open(day);
    day.join(HOTEL);
    let status = day.until_it_is("portal");
    assert_eq!(status["standing"]["portal"]["url"], format!("http://{PORTAL}/"));
    assert!(!day.abroad.town.is_online("member"));
    let proxy: SocketAddr = status["standing"]["portal"]["proxy"].as_str().unwrap().parse().unwrap();
    let browse = || {
        let mut stream = TcpStream::connect(proxy).unwrap();
        write!(stream, "GET http://{PORTAL}/let-me-in HTTP/1.1\r\nHost: {PORTAL}\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).map(|_| page)
    };
    let page = day.abroad.town.world.within("member", browse).unwrap().unwrap();
    assert!(page.ends_with("welcome"), "{page}");
    let printed = succeeded(&day.command(&["portal", "--print"]));
    assert!(printed.contains(PORTAL) && printed.contains("proxy"), "{printed}");
    assert!(portal.is_open.load(Ordering::Relaxed));
    day.nft("hotel", "delete table ip portal");
    day.until_online(false);
    assert!(portal.visited.all().iter().all(|(from, _)| *from == Ipv4Addr::new(10, 14, 0, 21)));
    let none = day.command(&["portal", "--print"]);
    assert!(
        !none.status.success() && String::from_utf8_lossy(&none.stderr).contains("no portal"),
        "{none:?}"
    );
}

/// The computer is switched off at the wall, and on again: nothing is left in the kernel, and the files say on.
fn restart_the_computer(day: &mut Day) -> Program {
    kill_process(day.daemon(), Signal::KILL).unwrap();
    let reboot = "nft delete table inet guestright_guard; ip link delete gr-visit; ip rule del preference 7272; \
                  ip rule del preference 7273; ip -6 rule del preference 7272; ip -6 rule del preference 7273; \
                  ip route flush table 26482; ip -6 route flush table 26482; nft delete table inet guestright_meter; true";
    day.leave_network();
    day.abroad.town.world.run("member", "sh", &["-c", reboot]).unwrap();
    let config = day.abroad.town.path("laptop/visit.toml");
    let mut unit = day.abroad.town.world.command("member", env!("CARGO_BIN_EXE_guestright")).unwrap();
    unit.args(["up", "--foreground", "--config"]).arg(&config);
    let unit = Program::start(&mut unit, &day.abroad.town.path("unit.log"));
    unit.hear_line("to say that there is no network", |line| line.contains("there is no network"));
    unit
}

#[test]
fn a_laptop_goes_through_its_day() {
    if !inside("way_home::day::a_laptop_goes_through_its_day") {
        return;
    }
    let mut day = Day::build();
    day.set_clock("+0");
    let (_house, mut first_ap) = day.abroad.town.open();
    let (_second_home, _second_ap) = day.abroad.open_second();
    let mut home = day.abroad.start_home();
    let before = day.abroad.condition();
    let chatter = Chatter::begin(&day);

    before_there_is_a_network(&day);
    let capture = day.capture();

    day.join(FIRST);
    day.until_online(true);
    // The terminal is closed: that is a hangup for whoever is left.
    kill_process(day.daemon(), Signal::HUP).unwrap();
    day.until_online(true);

    day.join(CAFE);
    day.until_online(false);
    let words = succeeded(&day.command(&["status"]));
    assert!(words.contains("no guestright access point"), "{words}");

    day.join(SECOND);
    day.until_online(true);

    past_a_portal(&mut day);

    // The home is gone for a while; then it is back.
    day.join(FIRST);
    day.until_online(true);
    home.kill();
    let gone = day.until_it_is("no-handshake");
    assert!(gone["standing"]["sentence"].as_str().unwrap().contains("198.18.40.2"), "{gone}");
    home = day.abroad.start_home();
    day.until_online(true);

    // The clock jumps a year ahead, and back.
    day.set_clock("+200d");
    assert!(day.abroad.town.is_online("member"));
    day.set_clock("+0");
    day.until_online(true);

    // An access point dies, and comes back; the line behind another one dies, and the laptop moves away.
    first_ap.kill();
    until("it to be offline", || !day.abroad.town.is_online("member"));
    first_ap = day.abroad.town.start("ap");
    day.until_online(true);
    day.join(SECOND);
    day.until_online(true);
    day.abroad.town.world.run("net", "ip", &["link", "set", "to-second", "down"]).unwrap();
    day.until_it_is("no-handshake");
    day.join(CAFE);
    day.until_online(false);

    let mut frames = capture.stop();
    let mut unit = restart_the_computer(&mut day);
    let capture = day.capture();
    day.join(FIRST);
    day.until_online(true);

    // Switched off: everything is as before, and stays so.
    frames.extend(capture.stop());
    let sent = chatter.stop();
    let off = succeeded(&day.command(&["down"]));
    assert!(off.contains("switched off"), "{off}");
    day.leave_network();
    assert_eq!(day.abroad.condition(), before, "nothing is left behind");
    day.join(FIRST);
    assert_eq!(day.status()["standing"]["state"], "off");
    assert!(succeeded(&day.command(&["up"])).contains("online"));
    unit.signal(Signal::TERM);
    assert!(unit.wait().success());

    let wrong: Vec<_> = frames.iter().map(|(_, frame)| frame).filter(|frame| !may_leave(frame)).collect();
    println!("{} frames judged, while a program tried {sent} times", frames.len());
    assert!(sent > 1_000 && frames.len() > 300);
    assert!(wrong.is_empty(), "{} frames: {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    for program in [&mut first_ap, &mut home] {
        assert!(program.is_running());
    }
}

#[test]
fn a_refused_laptop_waits_and_says_so_and_mistakes_are_told() {
    if !inside("way_home::day::a_refused_laptop_waits_and_says_so_and_mistakes_are_told") {
        return;
    }
    let mut day = Day::build();
    day.set_clock("+0");
    // Nothing is given away, and nothing is owed.
    let settings = std::fs::read_to_string(day.abroad.town.path("house/home.toml")).unwrap();
    let settings = settings.split_once("[credit]").unwrap().0.to_owned()
        + "[credit]\nallowance_bytes_per_day = 0\nfounding_bytes = 0\n";
    std::fs::write(day.abroad.town.path("house/home.toml"), settings).unwrap();
    let (_house, _ap) = day.abroad.town.open();
    let _home = day.abroad.start_home();
    let first = day.command(&["up"]);
    let words = String::from_utf8_lossy(&first.stderr).into_owned();
    assert!(first.status.code() == Some(78) && words.contains("--key"), "{words}");
    day.join(FIRST);
    let key = day.abroad.town.path("guests/walker.key");
    let home = format!("{HOME_ADDRESS}");
    let up = succeeded(&day.command(&["up", "--key", key.to_str().unwrap(), "--home", &home]));
    assert!(up.contains("the access point does not serve us") && up.contains("Asking again in"), "{up}");
    let status = day.until_it_is("refused");
    assert_eq!(status["standing"]["online"], false);
    // A reload with a mistake leaves things as they are.
    let file = day.abroad.town.path("laptop/visit.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{good}nonsense = 1\n")).unwrap();
    kill_process(day.daemon(), Signal::HUP).unwrap();
    until("the mistake to be told", || {
        let log = std::fs::read_to_string(day.abroad.town.path("laptop/state/log")).unwrap();
        log.contains("nonsense") && log.contains("as before")
    });
    std::fs::write(&file, good).unwrap();
    day.until_it_is("refused");
    succeeded(&day.command(&["down"]));
    let gone = day.command(&["status"]);
    assert!(gone.status.code() == Some(69), "{gone:?}");
}

#[test]
fn a_laptop_that_stays_on_renews_its_certificate() {
    if !inside("way_home::day::a_laptop_that_stays_on_renews_its_certificate") {
        return;
    }
    let mut day = Day::build();
    day.set_clock("+0");
    let town = &day.abroad.town;
    // It is asked from a third of this life on.
    succeeded(&town.run(&["team", "member", "renew", "walker", "--life", "50s", "--dir", "guests"]));
    succeeded(&town.run(&["team", "renewal", "init", "--dir", "guests"]));
    let settings = std::fs::read_to_string(town.path("guests/home.toml")).unwrap();
    std::fs::write(town.path("guests/home.toml"), format!("renewal = \"renewal\"\n{settings}")).unwrap();
    let _home = day.abroad.start_home();
    day.join(CAFE);
    let key = day.abroad.town.path("guests/walker.key");
    let home = format!("{HOME_ADDRESS}");
    succeeded(&day.command(&["up", "--key", key.to_str().unwrap(), "--home", &home]));
    day.until_it_is("online");
    let daemon = day.daemon();
    let file = day.abroad.town.path("laptop/visit/member.cert");
    let mut last = guestright_keys::read_certificate(&file).unwrap();
    assert!(last.warrant().is_none(), "the team itself signed this one");
    let deadline = Instant::now() + PATIENCE + Duration::from_secs(60);
    for times in 1..=2 {
        while day.status()["certificate"]["renewals"].as_u64().unwrap_or_default() < times {
            assert!(Instant::now() < deadline, "waited in vain: {}", day.status());
            thread::sleep(Duration::from_millis(200));
        }
        let renewed = guestright_keys::read_certificate(&file).unwrap();
        assert!(renewed.warrant().is_some() && renewed.not_after() > last.not_after());
        assert_eq!(renewed.subject(), last.subject());
        last = renewed;
    }
    let status = day.until_it_is("online");
    assert!(status["certificate"]["warning"].is_null(), "{status}");
    assert_eq!(day.daemon(), daemon, "nothing was restarted");
    succeeded(&day.command(&["down"]));
}
