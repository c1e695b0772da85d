//! What one station without a grant takes from the household and from others, however much it sends.

use crate::town::client::{Client, Transport, certify, conn, secret};
use crate::town::services::AccessLog;
use crate::town::{Program, Rules, Town, WEB, closed, inside, session, until};
use guestright_identity::Role;
use guestright_receipt::Bundle;
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of names that all strangers together get in a second, and at once (`Limits` of the firewall).
const NAMES_PER_SECOND: u64 = 100_000;
const NAME: usize = 1_200;
const ADDRESSES: u8 = 60;

fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 11, 0, 100 + u8::try_from(number % usize::from(ADDRESSES)).unwrap())
}

fn connections_tracked(town: &Town) -> u64 {
    let text = town.world.run("router", "cat", &["/proc/sys/net/netfilter/nf_conntrack_count"]).unwrap();
    text.trim().parse().unwrap()
}

/// Processor time of a program, in hundredths of a second (proc(5), fields 14 and 15).
pub(crate) fn ticks(pid: Pid) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    let fields = text.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(2);
    fields.map(|field| field.parse::<u64>().unwrap()).sum()
}

/// Everything that a station can send, from all its addresses.
#[derive(Default)]
struct Flood {
    stop: AtomicBool,
    sent: AtomicU64,
    /// Bytes of names that were answered.
    named: AtomicU64,
}

impl Flood {
    /// To the resolver, to the protocol's port, or to every port of many addresses of the Internet.
    fn run(&self, kind: usize) {
        let open = |number| UdpSocket::bind((address(number), 0)).unwrap();
        let sockets: Vec<_> = (0..usize::from(ADDRESSES)).map(open).collect();
        sockets.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        let mut answer = [0; 2_000];
        for number in 0_u32.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let socket = &sockets[number as usize % sockets.len()];
            let to = match kind {
                0 => ([10, 11, 0, 1].into(), 53),
                1 => ([10, 11, 0, 1].into(), 7_273),
                _ => (
                    Ipv4Addr::from_bits(0xc000_0200 + number % 200),
                    u16::try_from(number % 60_000 + 1).unwrap(),
                ),
            };
            let _ = socket.send_to(&[0x41; 60], to); // What does not leave is as good as lost.
            while let Ok(length) = socket.recv(&mut answer) {
                self.named.fetch_add(length as u64, Ordering::Relaxed);
            }
            self.sent.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn one_station_that_floods_takes_no_more_than_its_share() {
    if !inside("attacks::one_station_that_floods_takes_no_more_than_its_share") {
        return;
    }
    let town = Town::build(Rules { splash: true, ..Rules::default() });
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (_home, ap) = town.open();
    let (_visit, _) = town.arrive("member", "guests", "member");
    let lines: String = (0..usize::from(ADDRESSES))
        .map(|number| format!("address add {}/24 dev wlan0\n", address(number)))
        .collect();
    std::fs::write(town.path("addresses"), lines).unwrap();
    town.world.run("hostile", "ip", &["-batch", town.path("addresses").to_str().unwrap()]).unwrap();
    // A resolver that answers whatever it is asked, as one that works together with the station would.
    let resolver = town.world.within("router", || UdpSocket::bind("10.11.0.1:53")).unwrap().unwrap();
    thread::spawn(move || {
        let mut question = [0; 600];
        while let Ok((_, from)) = resolver.recv_from(&mut question) {
            let _ = resolver.send_to(&[7; NAME], from);
        }
    });
    let (before, cpu, began) = (connections_tracked(&town), ticks(ap.pid()), Instant::now());
    let flood = Flood::default();
    thread::scope(|scope| {
        for kind in 0..3 {
            let (town, flood) = (&town, &flood);
            scope.spawn(move || town.world.within("hostile", || flood.run(kind)).unwrap());
        }
        until("the flood to be a flood", || flood.sent.load(Ordering::Relaxed) > 50_000);
        let arrived = Instant::now();
        let (resident, _) = town.arrive("resident", "house", "resident");
        println!("somebody else got on {} ms after asking", arrived.elapsed().as_millis());
        // It takes several receipts, each asked for and given while the flood goes on.
        assert_eq!(town.download("member", 1_000_000).unwrap(), 1_000_000, "who was served is served");
        until("more of it", || flood.sent.load(Ordering::Relaxed) > 200_000);
        thread::sleep(crate::faults::at_line_rate().unwrap_or_default().saturating_sub(began.elapsed()));
        let mine = session(&town.status(), &town.address_of("member"));
        assert_eq!((&mine["open"], mine["end"].is_null()), (&true.into(), true), "{mine}");
        flood.stop.store(true, Ordering::Relaxed);
        drop(resident);
    });
    let took = began.elapsed();
    let tracked = connections_tracked(&town).saturating_sub(before);
    let (sent, named) = (flood.sent.into_inner(), flood.named.into_inner());
    let share = (ticks(ap.pid()) - cpu) as f64 / took.as_secs_f64();
    println!(
        "{sent} packets in {took:?}: {named} bytes of names, {tracked} connections tracked, {share:.0} % of a core"
    );
    let most = NAMES_PER_SECOND * (took.as_secs() + 3);
    assert!(named <= most, "{named} bytes of names in {took:?}, {most} at most");
    assert!(named >= NAME as u64, "a name is answered");
    assert!(tracked <= 1_000, "{tracked} connections are tracked");
}

#[test]
fn idle_connections_of_one_address_lock_nobody_out_of_the_home() {
    if !inside("attacks::idle_connections_of_one_address_lock_nobody_out_of_the_home") {
        return;
    }
    let town = Town::build(Rules { splash: true, ..Rules::default() });
    let _home = town.start("home");
    let (stop, opened) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let knock = || {
                let mut idle = VecDeque::new();
                while !stop.load(Ordering::Relaxed) {
                    idle.extend(TcpStream::connect("192.168.1.1:7274"));
                    if idle.len() > 300 {
                        idle.pop_front();
                    }
                    opened.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(10));
                }
            };
            town.world.within("pc", knock).unwrap();
        });
        until("more connections than there are places", || opened.load(Ordering::Relaxed) > 100);
        let began = Instant::now();
        let _ap = town.start("ap");
        town.until_status("the access point to reach its home", |status| status["home_up"] == true);
        println!("the access point reached its home in {} ms", began.elapsed().as_millis());
        stop.store(true, Ordering::Relaxed);
    });
}

/// A home's first visitors may take so much before anybody has to have given something.
const BOOTSTRAP: u64 = 1_000_000;
/// What an access point gives away in a day while its home does not answer.
const AWAY: u64 = 200_000;

/// The access point and its home with other settings than usual.
fn set(town: &Town) {
    let replace = |file: &str, old: &str, new: &str| {
        let path = town.path(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{file} has {old}");
        std::fs::write(path, text.replace(old, new)).unwrap();
    };
    let bootstrap = format!("bootstrap_bytes = {BOOTSTRAP}");
    replace("house/home.toml", "bootstrap_bytes = 1000000000000", &bootstrap);
    replace("house/ap.toml", "flush_ms = 300", &format!("flush_ms = 300\naway_bytes_per_day = {AWAY}"));
}

/// How a visit ends that is not granted, or is and then ends: its last words.
fn end(visit: &Program) -> Value {
    visit.hear("to end", |event| event["event"] == "ended")
}

#[test]
fn a_home_that_is_kept_busy_makes_its_access_point_no_kinder() {
    if !inside("attacks::a_home_that_is_kept_busy_makes_its_access_point_no_kinder") {
        return;
    }
    // By the papers' rule, which refuses who has taken and not given.
    let town = Town::build(Rules { policy: "srm", splash: true, ..Rules::default() });
    set(&town);
    town.found("others", &[("stranger", "member")]);
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (home, _ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 3_000_000).unwrap(), 3_000_000);
    town.leave(visit);
    town.until_home_is_owed(3_000_000);
    let refused = end(&town.visit("member", "guests", "member", &[]));
    assert_eq!(refused["code"], "refused", "who has taken and not given: {refused}");

    home.signal(Signal::STOP); // It takes messages, and answers none.
    let refused = end(&town.visit("member", "guests", "member", &[]));
    let reason = refused["reason"].as_str().unwrap_or_default();
    assert!(refused["code"] == "refused" && reason.contains("refused when it last did"), "{refused}");
    // The same team with another member's key.
    let refused = end(&town.visit("member", "guests", "second", &[]));
    assert_eq!(refused["code"], "refused", "{refused}");
    // Of whom it knows nothing, it serves some, for so many bytes in all.
    let (visit, class) = town.arrive("hostile", "others", "stranger");
    assert_eq!(class, "lowest");
    // It tries again and again until it is over: a download may give up before all is used up.
    let (address, began) = (town.address_of("hostile"), Instant::now());
    let mut downloads = 0;
    while closed(&town.status(), &address).is_null() && began.elapsed() < crate::town::PATIENCE {
        downloads += 1;
        let _ = town.download_within("hostile", 2_000_000, Duration::from_secs(2));
    }
    let over = end(&visit);
    assert!(over["reason"].as_str().is_some_and(|reason| reason.contains("used up")), "{over}");
    let over = closed(&town.status(), &address);
    let counted = over["counted"].as_u64().unwrap();
    println!("{counted} bytes were carried without the home, in {downloads} downloads");
    // Between two readings somewhat more may pass, up to what is unsigned.
    assert!((AWAY / 2..=AWAY + 300_000).contains(&counted), "{over}");
    home.signal(Signal::CONT);
}

#[test]
fn a_neighbour_who_sends_in_a_visitors_name_costs_it_a_moment() {
    if !inside("attacks::a_neighbour_who_sends_in_a_visitors_name_costs_it_a_moment") {
        return;
    }
    // What nobody signs for ends the session, an interval and a half after the last receipt at the latest.
    let town = Town::build(Rules { splash: true, ..Rules::SHORT });
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (_home, _ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    let ip = town.address_of("member");
    let mac = town.world.run("member", "cat", &["/sys/class/net/wlan0/address"]).unwrap();
    let steal = format!(
        "ip link set wlan0 address {}; ip address flush dev wlan0 scope global; \
         ip address add {ip}/24 dev wlan0; ip route add default via 10.11.0.1",
        mac.trim()
    );
    town.world.run("hostile", "sh", &["-c", &steal]).unwrap();
    let socket = town.world.within("hostile", || UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    let began = Instant::now();
    let mut sent = 0_u64;
    let unpaid = loop {
        // More than may be unsigned in one go, for asking how it stands takes long on a busy computer.
        for _ in 0..1_000 {
            sent += socket.send_to(&[0; 1_400], "192.0.2.1:7999").map_or(0, |length| length as u64);
        }
        let over = closed(&town.status(), &ip);
        if over.is_object() {
            break over;
        }
        assert!(began.elapsed() < crate::town::PATIENCE, "{}", town.status());
    };
    println!("{sent} bytes in the visitor's name; {unpaid}");
    let carried = unpaid["counted"].as_u64().unwrap() - unpaid["signed"].as_u64().unwrap();
    assert!(sent > 1_000_000, "it sent a lot");
    assert!(carried <= 256 * 1_024 + 64 * 1_024, "{carried} bytes for nothing");
    drop(visit);
    // Others of its team are let in meanwhile, and so is the visitor once the neighbour is gone.
    let (other, _) = town.arrive("resident", "guests", "second");
    town.leave(other);
    town.world.run("hostile", "ip", &["link", "set", "wlan0", "down"]).unwrap();
    let (_visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 1_000_000).unwrap(), 1_000_000);
}

#[test]
fn who_never_stops_asking_over_connections_costs_a_share_and_nobodys_session() {
    if !inside("attacks::who_never_stops_asking_over_connections_costs_a_share_and_nobodys_session") {
        return;
    }
    /// What a stranger may have looked at: so many a second, and once (`inbox.rs`).
    const LOOKED_AT: u64 = 20;
    let town = Town::build(Rules { splash: true, ..Rules::default() });
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (_home, ap) = town.open();
    let (_visit, _) = town.arrive("member", "guests", "member");
    let team = secret(1);
    let question = conn(&certify(&team, &secret(2), Role::Member), 7, Bundle::default()).emit().repeat(50);
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let handled = |town: &Town| {
        let refused = town.status()["refused"].clone();
        refused.as_object().into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum::<u64>()
    };
    let (before, cpu, began) = (handled(&town), ticks(ap.pid()), Instant::now());
    thread::scope(|scope| {
        for _ in 0..8 {
            let (town, stop, sent, question) = (&town, &stop, &sent, &question);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let Client::Tcp(mut stream) = Client::new(town, "hostile", Transport::Tcp) else {
                        return;
                    };
                    stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
                    while !stop.load(Ordering::Relaxed) && stream.write_all(question).is_ok() {
                        sent.fetch_add(50, Ordering::Relaxed);
                    }
                }
            });
        }
        until("many questions", || sent.load(Ordering::Relaxed) > 500 && began.elapsed().as_secs() >= 3);
        // Of what nobody has signed for, no more than a quarter of it passes.
        assert_eq!(town.download("member", 1_000_000).unwrap(), 1_000_000);
        let mine = session(&town.status(), &town.address_of("member"));
        assert_eq!(mine["open"], true, "who signs is served: {mine}");
        assert!(mine["signed"].as_u64() >= Some(700_000), "it has signed meanwhile: {mine}");
        stop.store(true, Ordering::Relaxed);
    });
    let took = began.elapsed();
    let looked_at = handled(&town) - before;
    let share = (ticks(ap.pid()) - cpu) as f64 / took.as_secs_f64();
    println!("{} questions in {took:?}, {looked_at} looked at, {share:.0} % of a core", sent.into_inner());
    assert!(looked_at <= LOOKED_AT * (took.as_secs() + 3), "{looked_at} in {took:?}");
}
