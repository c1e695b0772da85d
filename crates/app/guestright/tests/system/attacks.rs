//! What one station without a grant takes from the household and from others, however much it sends.

use crate::town::services::AccessLog;
use crate::town::{Rules, Town, WEB, inside, session, until};
use rustix::process::Pid;
use std::collections::VecDeque;
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
fn ticks(pid: Pid) -> u64 {
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
    let town = Town::build(Rules::default());
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
        assert_eq!(town.download("member", 100_000).unwrap(), 100_000, "who was served is served");
        until("more of it", || flood.sent.load(Ordering::Relaxed) > 200_000);
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
    let town = Town::build(Rules::default());
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
