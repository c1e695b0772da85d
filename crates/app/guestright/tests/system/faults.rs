//! An access point while something else breaks: nobody without a grant gets anywhere, nobody is carried for nothing, and
//! everything comes back by itself. Strangers are led to the splash page all the time, which changes none of it.

use crate::town::services::AccessLog;
use crate::town::{Rules, Town, WEB, inside, session, until};
use guestright_testbed::inside_within;
use rustix::process::{Pid, Signal};
use std::cell::{Cell, RefCell};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The household's own rules, as Debian's service loads them; and a router that forwards whatever comes.
const HOUSEHOLD: &str = "flush ruleset
table ip nat {
 chain out { type nat hook postrouting priority srcnat; policy accept; oifname uplink masquerade; }
}
";
/// A computer of the household, a port of the router's own, the Internet.
const TARGETS: [(&str, &str); 3] =
    [("pc", "192.168.1.10:7998"), ("router", "198.51.100.2:7997"), ("net", "192.0.2.1:7999")];

/// At line rate the tests take minutes.
const LIFE_MAX: Duration = Duration::from_secs(900);
/// After so long an access point looks at nothing any more that it has just put back.
const SETTLED: Duration = Duration::from_millis(1_500);
/// For tests that wait until a receipt is due or a lease has passed, where strangers are led to a page.
const SHORT: Rules = Rules { splash: true, ..Rules::SHORT };
/// The kernel counts in ticks how long a gate stays open.
const TICK_MAX: Duration = Duration::from_millis(100);

/// For how long a stranger goes on trying after each fault, or floods, at line rate: `GUESTRIGHT_FAULT_SECONDS`, else not at all.
pub(crate) fn at_line_rate() -> Option<Duration> {
    std::env::var("GUESTRIGHT_FAULT_SECONDS").ok().map(|text| Duration::from_secs(text.parse().unwrap()))
}

/// A station without a grant that tries all the time, and who counts what of it arrives.
struct Stranger {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    sent: Arc<AtomicU64>,
    judges: [UdpSocket; 3],
}

impl Stranger {
    fn come(town: &Town) -> Self {
        town.nft(HOUSEHOLD);
        town.world.sysctl("router", "net.ipv4.ip_forward", "1").unwrap();
        let judges = TARGETS.map(|(host, address)| {
            let judge = town.world.within(host, || UdpSocket::bind(address)).unwrap().unwrap();
            judge.set_nonblocking(true).unwrap();
            judge
        });
        let socket = town.world.within("hostile", || UdpSocket::bind("0.0.0.0:5000")).unwrap().unwrap();
        let stop = Arc::<AtomicBool>::default();
        let sent = Arc::<AtomicU64>::default();
        let (stopped, tried, is_fast) = (Arc::clone(&stop), Arc::clone(&sent), at_line_rate().is_some());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                for _ in 0..20 {
                    for (_, target) in TARGETS {
                        let _ = socket.send_to(b"stranger", target); // Refusals come back as errors.
                    }
                }
                tried.fetch_add(60, Ordering::Relaxed);
                if !is_fast {
                    thread::sleep(Duration::from_millis(1)); // At a rate that leaves the programs some time.
                }
            }
        });
        let this = Self { stop, thread: Some(thread), sent, judges };
        until("the stranger to reach everything", || this.judges.iter().all(arrives));
        this
    }

    fn forget(&self) {
        self.judges.iter().for_each(|judge| while arrives(judge) {});
    }

    fn assert_nothing_arrived(&self, when: &str) {
        if let Some(time) = at_line_rate() {
            let before = self.sent.load(Ordering::Relaxed);
            thread::sleep(time);
            println!("{} packets in {time:?} {when}", self.sent.load(Ordering::Relaxed) - before);
        }
        for (judge, (_, target)) in self.judges.iter().zip(TARGETS) {
            assert!(!arrives(judge), "a stranger reached {target} {when}");
        }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// Somebody who asks a server of the Internet again and again, and the server. Each question has its number.
struct Asker {
    socket: UdpSocket,
    /// When each question was sent.
    sent: RefCell<Vec<Instant>>,
    /// The last question that was answered.
    answered: Cell<usize>,
}

impl Asker {
    fn new(town: &Town, host: &str) -> Self {
        let server = town.world.within("net", || UdpSocket::bind("192.0.2.1:7996")).unwrap().unwrap();
        thread::spawn(move || {
            let mut number = [0; size_of::<usize>()];
            while let Ok((_, from)) = server.recv_from(&mut number) {
                let _ = server.send_to(&number, from);
            }
        });
        let socket = town.world.within(host, || UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let this = Self { socket, sent: RefCell::default(), answered: Cell::default() };
        // A question that comes while a lease is renewed late is dropped.
        until("a question to be answered", || this.is_answered());
        this
    }

    fn is_answered(&self) -> bool {
        let number = self.sent.borrow().len();
        self.sent.borrow_mut().push(Instant::now());
        let _ = self.socket.send_to(&number.to_be_bytes(), "192.0.2.1:7996");
        let mut answer = [0; size_of::<usize>()];
        while self.socket.recv(&mut answer).is_ok() {
            let answered = usize::from_be_bytes(answer); // An earlier one's may come late.
            self.answered.set(answered.max(self.answered.get()));
            if answered == number {
                return true;
            }
        }
        false
    }

    /// When the last question was sent that was answered, before there were no answers for some seconds. At least until
    /// then it goes on. The gates were open after that moment, however late everybody here is.
    fn last_answered(&self, at_least_until: Instant) -> Instant {
        let (began, mut last) = (Instant::now(), Instant::now());
        while last.elapsed() < Duration::from_secs(2) || Instant::now() < at_least_until {
            if self.is_answered() {
                last = Instant::now();
                thread::sleep(Duration::from_millis(5)); // Or it would use up what may be unsigned.
            }
            assert!(began.elapsed() < crate::town::PATIENCE, "it is answered all the time");
        }
        self.sent.borrow()[self.answered.get()]
    }

    /// The longest time without an answer, until `stop`.
    fn longest_gap(&self, stop: &AtomicBool) -> Duration {
        let (mut answered, mut longest) = (Instant::now(), Duration::ZERO);
        while !stop.load(Ordering::Relaxed) {
            let is_answered = self.is_answered();
            longest = longest.max(answered.elapsed());
            if is_answered {
                answered = Instant::now();
            }
            thread::sleep(Duration::from_millis(20));
        }
        longest
    }
}

/// Waits until every thread of a process has stopped.
fn until_stopped(process: Pid) {
    let tasks = format!("/proc/{}/task", process.as_raw_nonzero());
    let is_stopped = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    until("the process to stop", || std::fs::read_dir(&tasks).unwrap().all(|task| is_stopped(task.unwrap())));
}

/// Puts a script in a program's place, for everybody who is started from now on: the program itself, after `first` if there
/// is the file `/run/town/fault`. Whoever runs already has mounts of its own.
fn replace(program: &str, first: &str) {
    let script = format!(
        "set -e; real=$(command -v {program}); cp \"$real\" /run/town/{program}\n\
         printf '%s\\n' '#!/bin/sh' '! [ -e /run/town/fault ] || {{ {first}; }}' 'exec /run/town/{program} \"$@\"' \
         > /run/town/replaced\n\
         chmod +x /run/town/replaced; mount --bind /run/town/replaced \"$real\""
    );
    let status = std::process::Command::new("sh").args(["-c", &script]).status().unwrap();
    assert!(status.success(), "`{script}`: {status}");
}

fn arrives(judge: &UdpSocket) -> bool {
    judge.recv(&mut [0; 10]).is_ok()
}

#[test]
fn nothing_opens_and_everything_comes_back_whatever_is_removed() {
    if !inside_within("faults::nothing_opens_and_everything_comes_back_whatever_is_removed", LIFE_MAX) {
        return;
    }
    let town = Town::build(Rules { splash: true, ..Rules::default() });
    town.serve_tcp("net", WEB, &AccessLog::default());
    let stranger = Stranger::come(&town);
    let (_home, mut ap) = town.open();
    let (_visit, _) = town.arrive("member", "guests", "member");
    stranger.forget();
    let faults: [(&str, &str); 7] = [
        ("nft -f /run/town/household.nft", ""),
        ("for rule in 70 71 72 73 74 75; do ip rule del preference $rule; done", "routing rules"),
        ("ip route flush table 7274", "routing rules"),
        ("echo 0 > /proc/sys/net/ipv4/conf/guests/src_valid_mark", "routing rules"),
        ("tc qdisc del dev guests clsact", "the static filter"),
        ("tc qdisc del dev $(ls /proc/sys/net/ipv4/conf | grep -m 1 ^port) clsact", "the static filter"),
        ("echo 0 > /proc/sys/net/ipv4/conf/guests/forwarding", "forwarding"),
    ];
    std::fs::write(town.path("household.nft"), HOUSEHOLD).unwrap();
    let mended = |what: &str| town.status()["mended"][what].as_u64().unwrap_or_default();
    for (fault, what) in faults {
        let before = mended(what);
        town.world.run("router", "sh", &["-c", fault]).unwrap();
        let began = Instant::now();
        if !what.is_empty() {
            until(&format!("`{fault}` to be mended"), || mended(what) > before);
        }
        println!("{:>5} ms after `{fault}`", began.elapsed().as_millis());
        // What it has put back itself has been looked at, so that the next fault is noticed for itself.
        thread::sleep(SETTLED);
        // A flood at line rate may keep the access point from a core for longer than a lease.
        let is_served = || town.download("member", 10_000).is_ok();
        assert!(at_line_rate().is_some() || is_served(), "after `{fault}`");
        until("the member to be served", is_served);
        stranger.assert_nothing_arrived(&format!("during `{fault}`"));
    }
    // The interface goes, and comes back as hostapd or netifd make it.
    town.world.run("router", "ip", &["link", "del", "guests"]).unwrap();
    town.until_status("the trouble to be said", |status| {
        status["trouble"].as_str().is_some_and(|trouble| trouble.contains("no interface \"guests\""))
    });
    let script = "ip link add guests type bridge; ip link set guests up; ip address add 10.11.0.1/24 dev guests; \
                  for port in /proc/sys/net/ipv4/conf/port*; do ip link set ${port##*/} master guests; done";
    town.world.run("router", "sh", &["-c", script]).unwrap();
    town.until_status("the trouble to be over", |status| status["trouble"].is_null());
    until("a new visit to be possible", || {
        town.is_online("member") || {
            let status = town.status();
            session(&status, &town.address_of("member")).is_null()
        }
    });
    stranger.assert_nothing_arrived("while the interface was made anew");
    assert!(ap.is_running(), "{}", ap.log());
}

#[test]
fn who_is_stopped_or_killed_serves_nobody_for_nothing() {
    if !inside_within("faults::who_is_stopped_or_killed_serves_nobody_for_nothing", LIFE_MAX) {
        return;
    }
    let town = Town::build(SHORT);
    town.serve_tcp("net", WEB, &AccessLog::default());
    let stranger = Stranger::come(&town);
    let (_home, mut ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    assert!(town.is_online("member"));
    stranger.forget();

    let asker = Asker::new(&town, "member");
    // A receipt is never older than an interval, and a lease never longer.
    let interval = Duration::from_millis(SHORT.interval_ms);
    let assert_offline = |signal: &str, began: Instant| {
        let last = asker.last_answered(began + interval + Duration::from_secs(3));
        let took = last.saturating_duration_since(began);
        println!("the last question was let through {} ms after {signal}", took.as_millis());
        assert!(took <= interval + TICK_MAX, "{took:?} after {signal}");
    };
    ap.signal(Signal::STOP);
    until_stopped(ap.pid());
    assert_offline("SIGSTOP", Instant::now());
    stranger.assert_nothing_arrived("while the access point was stopped");
    ap.signal(Signal::CONT);
    if at_line_rate().is_none() {
        // After a minute without a word it has given up.
        until("the member to be served again", || town.is_online("member"));
    }
    stranger.assert_nothing_arrived("when it went on");

    if at_line_rate().is_none() {
        until("a question to be answered again", || asker.is_answered());
        ap.kill();
        assert_offline("SIGKILL", Instant::now());
    } else {
        ap.kill();
    }
    town.nft(HOUSEHOLD); // Whose table it was is gone, so nobody owns it.
    stranger.assert_nothing_arrived("after the access point was killed");
    drop(visit);
    let _ap = town.start("ap");
    let (_visit, _) = town.arrive("resident", "house", "resident");
    assert_eq!(town.download("resident", 10_000).unwrap(), 10_000, "the next one serves");
    stranger.assert_nothing_arrived("while the next one started");
}

#[test]
fn a_closed_session_is_closed_without_nft_and_without_descriptors() {
    if !inside("faults::a_closed_session_is_closed_without_nft_and_without_descriptors") {
        return;
    }
    let town = Town::build(SHORT);
    town.serve_tcp("net", WEB, &AccessLog::default());
    let stranger = Stranger::come(&town);
    replace("nft", "exit 1");
    let (_home, mut ap) = town.open();
    let (mut visit, _) = town.arrive("member", "guests", "member");
    assert!(town.is_online("member"));
    stranger.forget();
    std::fs::write(town.path("fault"), "").unwrap();
    assert!(!town.world.command("router", "nft").unwrap().arg("--version").status().unwrap().success());
    stranger.assert_nothing_arrived("while nft failed");
    let open = std::fs::read_dir(format!("/proc/{}/fd", ap.pid().as_raw_nonzero())).unwrap().count();
    let limit = format!("--nofile={open}:");
    town.world.run("router", "prlimit", &["--pid", &ap.pid().as_raw_nonzero().to_string(), &limit]).unwrap();
    stranger.assert_nothing_arrived("while no descriptor was left");
    visit.kill(); // It signs nothing more.
    let began = Instant::now();
    until("the session to be closed", || !town.is_online("member"));
    println!("offline {} ms after the last receipt", began.elapsed().as_millis());
    stranger.assert_nothing_arrived("while a session was closed");
    // Strangers who want connections that nobody can accept make no noise.
    town.world
        .within("hostile", || {
            for _ in 0..50 {
                let _ = std::net::TcpStream::connect_timeout(
                    &crate::town::ACCESS_POINT,
                    Duration::from_millis(50),
                );
            }
        })
        .unwrap();
    assert!(ap.is_running(), "{}", ap.log());
    assert!(ap.log().len() < 20_000, "{} bytes of log", ap.log().len());
    town.world
        .run("router", "prlimit", &["--pid", &ap.pid().as_raw_nonzero().to_string(), "--nofile=1024:"])
        .unwrap();
    std::fs::remove_file(town.path("fault")).unwrap();
    town.until_status("the trouble to be over", |status| status["trouble"].is_null());
    let (_visit, _) = town.arrive("resident", "house", "resident");
    assert_eq!(town.download("resident", 10_000).unwrap(), 10_000, "others are served as before");
}

#[test]
fn looking_at_the_layers_for_longer_than_a_lease_cuts_nobody_off() {
    if !inside("faults::looking_at_the_layers_for_longer_than_a_lease_cuts_nobody_off") {
        return;
    }
    let town = Town::build(Rules::with_interval(8_000));
    town.serve_tcp("net", WEB, &AccessLog::default());
    // Each `ip` takes two seconds, as on a computer that is busy with something else, and is counted.
    replace("ip", "echo >> /run/town/calls; sleep 2");
    let (_home, _ap) = town.open();
    let (_visit, _) = town.arrive("member", "guests", "member");
    let asker = Asker::new(&town, "member");
    std::fs::write(town.path("fault"), "").unwrap();
    let stop = Arc::<AtomicBool>::default();
    let asking = thread::spawn({
        let stop = Arc::clone(&stop);
        move || asker.longest_gap(&stop)
    });
    // Something is removed, so that the layers are looked at now: five of these, no more than three without a pause. If they
    // are being looked at already, they are looked at again.
    town.world.run("router", "tc", &["qdisc", "del", "dev", "guests", "clsact"]).unwrap();
    let began = Instant::now();
    town.until_status("it to be mended", |status| status["mended"]["the static filter"].as_u64() > Some(0));
    println!("mended after {:?}", began.elapsed());
    until("it to have looked twice", || {
        std::fs::read_to_string(town.path("calls")).is_ok_and(|calls| calls.lines().count() >= 10)
    });
    stop.store(true, Ordering::Relaxed);
    let longest = asking.join().unwrap();
    println!("the longest time without an answer was {longest:?}");
    std::fs::remove_file(town.path("fault")).unwrap();
    // The gates would have been shut for six seconds; on a busy computer a lease is renewed late now and then.
    assert!(
        longest < Duration::from_secs(4),
        "no answer for {longest:?} while the access point looked at its layers"
    );
}

#[test]
fn a_clock_that_is_set_ahead_and_back_ends_nobodys_service() {
    if !inside("faults::a_clock_that_is_set_ahead_and_back_ends_nobodys_service") {
        return;
    }
    let town = Town::build(Rules::with_interval(4_000));
    town.serve_tcp("net", WEB, &AccessLog::default());
    let offset = |text: &str| std::fs::write(town.path("offset"), text).unwrap();
    offset("+0");
    let _home = town.start("home");
    let ap = town.start_with(
        "ap",
        &[
            ("LD_PRELOAD", "/usr/$LIB/faketime/libfaketime.so.1"),
            ("FAKETIME_TIMESTAMP_FILE", town.path("offset").to_str().unwrap()),
            ("FAKETIME_NO_CACHE", "1"),
            ("DONT_FAKE_MONOTONIC", "1"),
        ],
    );
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    let (_visit, _) = town.arrive("member", "guests", "member");
    let signed = |ip: &str| session(&town.status(), ip)["signed"].as_u64().unwrap_or_default();
    let ip = town.address_of("member");
    // A day ahead, and further: a time that stays for half a minute is believed, so each holds for a round only.
    for round in 1..=3 {
        offset(&format!("+{round}d"));
        let before = signed(&ip);
        town.download("member", 100_000).unwrap();
        until("another receipt", || signed(&ip) > before);
        // Who comes now is served as well.
        let (resident, _) = town.arrive("resident", "house", "resident");
        assert_eq!(town.download("resident", 10_000).unwrap(), 10_000, "round {round}");
        town.leave(resident);
    }
    offset("+0");
    let (resident, _) = town.arrive("resident", "house", "resident");
    assert_eq!(town.download("resident", 10_000).unwrap(), 10_000);
    assert_eq!(session(&town.status(), &ip)["open"], true, "{}", ap.log());
    drop(resident);
}
