//! `guestright up`: a laptop's day, from network to network.
//!
//! ```text
//!   laptop ── one of ── router, second, library, school, bakery, office: access points of ours
//!                       cafe, station, airport: networks without one; hotel: one with a portal of its own
//!             all ── net ── away (home of the team guests, gateway); servers at 192.0.2.1
//! ```

mod air;
mod flushed;
mod moved_home;
mod networks;

use super::abroad::{Abroad, HOME_ADDRESS};
use crate::town::client::now;
use crate::town::look;
use crate::town::services::AccessLog;
use crate::town::{PATIENCE, Program, inside, session, succeeded, until};
use air::{Chatter, Watch};
use guestright_netns::testing::pause_after;
use guestright_testbed::inside_within;
use guestright_units::UnixSeconds;
use networks::{
    AIRPORT, BAKERY, CAFE, HOTEL, LIBRARY, NETWORKS, Network, OFFICE, ROUTER, SCHOOL, SECOND, STATION,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use rustix::time::Timespec;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Where the portal asks for a word before it lets anybody through.
const PORTAL: &str = "10.14.0.1:2050";
/// The longest day, but for what its home is gone for.
const DAY_MAX: Duration = Duration::from_secs(900);
/// After its home was gone for however long, the laptop is online again within this: an access point that got no receipt is
/// asked again after 60 s at most, the tunnel is tried every 15 s, the home's program every 5 s.
const ONLINE_AGAIN_MAX: Duration = Duration::from_secs(60).saturating_add(PATIENCE);

struct Day {
    abroad: Abroad,
    at: Option<Network>,
    /// Every network that it was in.
    joined: Vec<Network>,
    began: Instant,
}

impl Day {
    fn build() -> Self {
        let mut abroad = Abroad::build("info");
        networks::build(&mut abroad);
        let day = Self { abroad, at: Some(ROUTER), joined: Vec::new(), began: Instant::now() };
        day.leave_network();
        day.settings();
        day.mask_resolver();
        day
    }

    /// What `up` would write, with directories of this test's.
    fn settings(&self) {
        let directory = self.abroad.town.path("laptop");
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("visit.toml"), "state = \"state\"\ncontrol = \"door/control.sock\"\n")
            .unwrap();
    }

    /// The laptop's resolver is its network's, not that of the computer that runs this.
    fn mask_resolver(&self) {
        let file = self.resolver_file();
        std::fs::write(&file, "").unwrap();
        // Where /etc/resolv.conf is a link into /run, there is none in here.
        if Path::new("/etc/resolv.conf").exists() {
            let arguments = ["--bind", file.to_str().unwrap(), "/etc/resolv.conf"];
            assert!(Command::new("mount").args(arguments).status().unwrap().success());
        }
    }

    fn resolver_file(&self) -> PathBuf {
        self.abroad.town.path("resolv.conf")
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
        look::at(&self.abroad.town.path("laptop/door/control.sock"), "status")
    }

    /// Waits until it stands so, and says what it says then.
    fn until_it_is(&self, state: &str) -> Value {
        self.until_status(PATIENCE, state, |status| status["standing"]["state"] == state)
    }

    fn until_status(&self, patience: Duration, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let log = || std::fs::read_to_string(self.abroad.town.path("laptop/state/log")).unwrap_or_default();
        let deadline = Instant::now() + patience;
        loop {
            let look = Instant::now();
            let status = self.status();
            if wanted(&status) {
                println!("{:.1} s: {}", self.began.elapsed().as_secs_f64(), status["standing"]["sentence"]);
                return status;
            }
            assert!(look < deadline, "waited in vain for {what}: {status}\n{}", log());
            pause_after(look);
        }
    }

    /// Online as this network lets it be, served or not, and it says so; the Internet sees the home's address.
    fn until_online(&self) {
        self.until_online_within(PATIENCE);
    }

    fn until_online_within(&self, patience: Duration) {
        let network = self.at.unwrap();
        let sentence = match network.team() {
            Some(team) => {
                let file = self.abroad.town.path(team).join(format!("{}.cert", network.host));
                let team = guestright_keys::read_certificate(&file).unwrap().team_id();
                format!("online through your home; team {} serves in class", team.short())
            }
            None => "online through your home; this network has no guestright access point".to_owned(),
        };
        self.until_status(patience, &sentence, |status| {
            let shown = status["standing"]["sentence"].as_str();
            status["standing"]["state"] == "online"
                && status["access_point"] == network.gateway().to_string()
                && shown.is_some_and(|shown| shown.starts_with(&sentence))
                && status["session"].is_object() == network.team().is_some()
        });
        // A computer that is busy may sign too late for what its programs send all the time; then it is served again.
        until("it to be online as it says", || self.abroad.town.is_online("member"));
        assert_eq!(self.abroad.web.all().last().unwrap().0, HOME_ADDRESS);
    }

    /// The radio is on, and has no network.
    fn leave_network(&self) {
        self.abroad.town.world.run("member", "ip", &["-4", "address", "flush", "dev", "wlan0"]).unwrap();
    }

    /// What a radio and a DHCP client do.
    fn join(&mut self, network: Network) {
        let world = &self.abroad.town.world;
        if let Some(old) = self.at.filter(|old| *old != network) {
            let namespace = world.namespace(network.host).unwrap();
            world.run(old.host, "ip", &["link", "set", "port21", "netns", &namespace]).unwrap();
        }
        world.up(network.host, "port21").unwrap();
        world.attach(network.host, "port21", "guests", true).unwrap();
        world.run("member", "ip", &["-4", "address", "flush", "dev", "wlan0"]).unwrap();
        world.up("member", "wlan0").unwrap();
        world.address("member", "wlan0", &format!("{}/24", network.own())).unwrap();
        world
            .run("member", "ip", &["route", "replace", "default", "via", &network.gateway().to_string()])
            .unwrap();
        std::fs::write(self.resolver_file(), format!("nameserver {}\n", network.gateway())).unwrap();
        self.at = Some(network);
        self.joined.push(network);
        println!("joined the network of {}", network.host);
    }

    /// The process that stays. One that it is about to start has its words for a moment.
    fn daemon(&self) -> Pid {
        let script = "for p in /proc/[0-9]*; do grep -qza [f]oreground $p/cmdline 2>/dev/null && basename $p; done; true";
        let mut pids: Vec<i32> = Vec::new();
        until("one process to stay, and one alone", || {
            let found = self.abroad.town.world.run("member", "sh", &["-c", script]).unwrap();
            pids = found.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
            pids.len() == 1
        });
        Pid::from_raw(pids[0]).unwrap()
    }

    /// When the access point of the first network began to serve it.
    fn served_since(&self) -> Option<String> {
        let served = session(&self.abroad.town.status(), "10.11.0.21");
        served["started"].as_str().map(str::to_owned)
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
                chain pages {{ type nat hook prerouting priority dstnat; iifname guests tcp dport 80 dnat to {PORTAL}; }}
                chain rest {{ type filter hook forward priority 0; policy drop; ct state established accept; }}
            }}"
        );
        networks::apply(&day.abroad, "hotel", &rules);
        let listener = day.abroad.town.world.within("hotel", || TcpListener::bind(PORTAL)).unwrap().unwrap();
        let (visited, is_open) = (AccessLog::default(), Arc::new(AtomicBool::new(false)));
        let (log, opened) = (visited.clone(), Arc::clone(&is_open));
        thread::spawn(move || {
            while let Ok((mut stream, from)) = listener.accept() {
                let mut question = [0; 1_000];
                let length = stream.read(&mut question).unwrap_or(0);
                log.add(from, &question[..length]);
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
    networks::apply(&day.abroad, "hotel", "delete table ip portal");
    day.until_online();
    assert!(portal.visited.all().iter().all(|(from, _)| *from == HOTEL.own()));
    let none = day.command(&["portal", "--print"]);
    assert!(
        !none.status.success() && String::from_utf8_lossy(&none.stderr).contains("no portal"),
        "{none:?}"
    );
}

/// Ends it as nobody can expect, and waits until nothing of it runs.
fn kill(program: Pid) {
    let process = pidfd_open(program, PidfdFlags::empty()).unwrap();
    kill_process(program, Signal::KILL).unwrap();
    until("the killed program to be gone", || {
        poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&Timespec::default())).unwrap() == 1
    });
}

/// The computer is switched off at the wall, and on again: nothing is left in the kernel, and the files say on.
fn restart_the_computer(day: &mut Day) -> Program {
    kill(day.daemon());
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

/// The home is gone for so long, and then it is back.
fn outlast_an_outage(day: &Day, home: &mut Program, watch: &mut Watch, outage: Duration) {
    home.kill();
    let gone = day.until_it_is("no-handshake");
    assert!(gone["standing"]["sentence"].as_str().unwrap().contains("198.18.40.2"), "{gone}");
    let (began, mut words) = (Instant::now(), BTreeMap::<String, u32>::new());
    while began.elapsed() < outage {
        thread::sleep(Duration::from_secs(1));
        let status = day.status();
        assert_eq!(status["standing"]["online"], false, "after {:?}: {status}", began.elapsed());
        *words.entry(status["standing"]["state"].as_str().unwrap().to_owned()).or_default() += 1;
        watch.judge();
    }
    println!("{words:?}");
    // On a crowded computer the access point may get a receipt too late: that is nearer than the home, and is told first.
    let is_known = |word: &str| ["no-handshake", "not-paid", "asking"].contains(&word);
    assert!(words.keys().all(|word| is_known(word)), "{words:?}");
    assert!(!day.abroad.town.is_online("member"));
    *home = day.abroad.start_quiet_home();
    let began = Instant::now();
    day.until_online_within(ONLINE_AGAIN_MAX);
    println!("online {:?} after its home is back, which was gone for {outage:?}", began.elapsed());
}

/// The clock is set ahead, and back before it is believed. The laptop's program has noticed each when it writes so in its
/// log, which it does with every receipt.
fn set_the_clock(day: &Day) {
    let ahead = UnixSeconds(now().0 + 200 * 86_400).to_string()[..10].to_owned();
    let is_ahead = || {
        let log = std::fs::read_to_string(day.abroad.town.path("laptop/state/log")).unwrap();
        let mut dates = log.lines().filter(|line| line.starts_with("20")).filter_map(|line| line.get(..10));
        dates.next_back().is_some_and(|date| *date >= *ahead)
    };
    day.set_clock("+200d");
    until("the clock to be seen ahead", is_ahead);
    day.until_online();
    day.set_clock("+0");
    until("the clock to be seen as it was", || !is_ahead());
    day.until_online();
}

/// Ten networks, one after the other, and what happens to people in them. The home is gone for `outage`.
fn go_through_the_day(outage: Duration) {
    let mut day = Day::build();
    day.set_clock("+0");
    let (_house, mut first_ap) = day.abroad.town.open();
    let (_second_home, _second_ap) = day.abroad.open_second();
    let mut others = networks::open(&day.abroad);
    let mut home = day.abroad.start_quiet_home();
    let before = day.abroad.condition();
    let chatter = Chatter::begin(&day);

    before_there_is_a_network(&day);
    let mut watch = Watch::begin(&day);

    day.join(ROUTER);
    day.until_online();
    // The terminal is closed: that is a hangup for whoever is left.
    let since = day.served_since().expect("it is served");
    kill_process(day.daemon(), Signal::HUP).unwrap();
    until("another session", || day.served_since().is_some_and(|anew| anew != since));
    day.until_online();
    // The access point dies, and comes back.
    first_ap.kill();
    until("it to be offline", || !day.abroad.town.is_online("member"));
    first_ap = day.abroad.town.start("ap");
    day.until_online();

    day.join(CAFE);
    day.until_online();
    day.join(SECOND);
    day.until_online();
    past_a_portal(&mut day);
    day.join(LIBRARY);
    day.until_online();
    outlast_an_outage(&day, &mut home, &mut watch, outage);
    day.join(STATION);
    day.until_online();

    day.join(SCHOOL);
    day.until_online();
    set_the_clock(&day);

    // The line behind an access point dies, and the laptop moves away.
    day.join(BAKERY);
    day.until_online();
    day.abroad.town.world.run("net", "ip", &["link", "set", &BAKERY.line(), "down"]).unwrap();
    day.until_it_is("no-handshake");
    day.join(OFFICE);
    day.until_online();

    let judged = watch.stop();
    let mut unit = restart_the_computer(&mut day);
    let watch = Watch::begin(&day);
    day.join(AIRPORT);
    day.until_online();
    assert!(NETWORKS.iter().all(|network| day.joined.contains(network)), "{:?}", day.joined);

    // Switched off: everything is as before, and stays so.
    let judged = judged + watch.stop();
    let sent = chatter.stop();
    let off = succeeded(&day.command(&["down"]));
    assert!(off.contains("switched off"), "{off}");
    day.leave_network();
    assert_eq!(day.abroad.condition(), before, "nothing is left behind");
    day.join(ROUTER);
    assert_eq!(day.status()["standing"]["state"], "off");
    assert!(succeeded(&day.command(&["up"])).contains("online"));
    unit.signal(Signal::TERM);
    assert!(unit.wait().success());

    println!("{judged} frames judged, while a program tried {sent} times");
    assert!(sent > 1_000 && judged > 300);
    for program in [&mut first_ap, &mut home].into_iter().chain(&mut others) {
        assert!(program.is_running());
    }
}

/// For how long the home is gone in a usual day: `GUESTRIGHT_DAY_OUTAGE_SECONDS`, else until it is noticed.
fn usual_outage() -> Duration {
    let seconds = std::env::var("GUESTRIGHT_DAY_OUTAGE_SECONDS");
    Duration::from_secs(seconds.map_or(0, |text| text.parse().unwrap()))
}

#[test]
fn a_laptop_goes_through_its_day() {
    let outage = usual_outage();
    if inside_within("way_home::day::a_laptop_goes_through_its_day", DAY_MAX + outage) {
        go_through_the_day(outage);
    }
}

#[test]
#[ignore = "takes more than an hour"]
fn a_laptop_goes_through_a_day_whose_home_is_gone_for_an_hour() {
    let outage = Duration::from_secs(3_600);
    let name = "way_home::day::a_laptop_goes_through_a_day_whose_home_is_gone_for_an_hour";
    if inside_within(name, DAY_MAX + outage) {
        go_through_the_day(outage);
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
    day.join(ROUTER);
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
    let off = succeeded(&day.command(&["down"]));
    assert!(off.contains("switched off: the tunnel is gone"), "{off}");
    let gone = day.command(&["status"]);
    assert!(gone.status.code() == Some(69), "{gone:?}");
}

#[test]
fn a_full_access_point_is_asked_again_until_it_has_room() {
    if !inside("way_home::day::a_full_access_point_is_asked_again_until_it_has_room") {
        return;
    }
    let mut day = Day::build();
    day.set_clock("+0");
    let file = day.abroad.town.path("house/ap.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("sessions_max = 1\n{settings}")).unwrap();
    let (_house, _ap) = day.abroad.town.open();
    let _home = day.abroad.start_quiet_home();
    let (resident, _) = day.abroad.town.arrive("resident", "house", "resident");
    day.join(ROUTER);
    let key = day.abroad.town.path("guests/walker.key");
    let home = format!("{HOME_ADDRESS}");
    succeeded(&day.command(&["up", "--key", key.to_str().unwrap(), "--home", &home]));
    let busy = day.until_it_is("busy");
    let words = busy["standing"]["sentence"].as_str().unwrap();
    assert!(words.contains("all places are taken") && words.contains("Asking again in"), "{words}");
    assert!(!day.abroad.town.is_online("member"));
    day.abroad.town.leave(resident);
    day.until_online();
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
    // Who gives the old files once more does not go back to the old certificate.
    let again = succeeded(&day.command(&["up", "--key", key.to_str().unwrap(), "--home", &home]));
    assert!(again.contains("ends later than this one: it stays"), "{again}");
    assert!(guestright_keys::read_certificate(&file).unwrap().not_after() >= last.not_after());
    succeeded(&day.command(&["down"]));
}
