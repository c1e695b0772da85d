//! A hostile access point: random scripts of everything that one can do, against a visit with a tunnel.
//!
//! Each script is drawn from its seed: dishonest messages, forged packets, connections to the visitor's services, routes
//! and addresses as a DHCP server gives them, links that go down. One visit lives through all of them, while the visitor's
//! own programs talk to everybody. After each script its captured frames are judged: nothing may have left but the tunnel
//! and the protocol, and nobody may have reached a service.
//!
//! `GUESTRIGHT_SEED=17` plays this one script alone.

mod claims;
mod packets;
mod protocol;
mod script;

use super::abroad::{Abroad, HOME_ADDRESS, TUNNEL_PORT};
use super::capture::{Capture, Frame};
use super::{ACCESS_POINT, Program, inside, until};
use crate::town::Town;
use crate::town::services::AccessLog;
use guestright_roaming::message::Code;
use guestright_testbed::inside_within;
use packets::Wire;
use protocol::Speaker;
use rustix::net::{AddressFamily, SocketType, connect, socket};
use script::{Change, Manner, TRICKS, Trick, script};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::Range;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

const VISITOR: Ipv4Addr = Ipv4Addr::new(10, 11, 0, 21);
/// A second address of the access point's, to which default routes may lead.
const SECOND: Ipv4Addr = Ipv4Addr::new(10, 11, 0, 2);
/// The home's address in the tunnel.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 73, 6, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Services of the visitor's, which no foreigner may reach.
const TCP_SERVICES: [u16; 2] = [8_080, 22];
const UDP_SERVICES: [u16; 3] = [5_353, 51_820, 7_273];
/// In each script the visitor's programs talk to everybody so often at least.
const TALKS_MIN: u64 = 10;

#[test]
fn in_25_random_scripts_nothing_leaves_and_nobody_comes_in() {
    if inside("way_home::hostile_access_point::in_25_random_scripts_nothing_leaves_and_nobody_comes_in") {
        play(seeds(0..25));
    }
}

#[test]
#[ignore = "takes minutes"]
fn in_1000_random_scripts_nothing_leaves_and_nobody_comes_in() {
    const LIFE_MAX: Duration = Duration::from_secs(1_800);
    let name = "way_home::hostile_access_point::in_1000_random_scripts_nothing_leaves_and_nobody_comes_in";
    if inside_within(name, LIFE_MAX) {
        play(seeds(0..1_000));
    }
}

#[test]
fn whoever_leaves_has_left_whatever_the_access_point_does() {
    if !inside("way_home::hostile_access_point::whoever_leaves_has_left_whatever_the_access_point_does") {
        return;
    }
    let abroad = Abroad::build("info");
    let _stage = Stage::set(&abroad);
    let _home = abroad.start_quiet_home();
    let speaker = Speaker::start(&abroad.town);
    let before = abroad.condition();
    for manner in [Manner::HangsUp, Manner::Scolds(Code::Unpaid), Manner::Scolds(Code::Refused)] {
        speaker.answer(manner);
        let visit = abroad.visit(&[]);
        abroad.until_home(&visit);
        // Without an error, and with nothing left closed.
        let ended = abroad.town.leave(visit);
        println!("{manner:?}: {ended}");
        assert_eq!(abroad.condition(), before, "{manner:?}");
    }
}

/// These, or the one that is asked for.
fn seeds(usual: Range<u64>) -> Range<u64> {
    let one = std::env::var("GUESTRIGHT_SEED").ok().map(|text| text.parse().unwrap());
    one.map_or(usual, |seed| seed..seed + 1)
}

fn play(seeds: Range<u64>) {
    let abroad = Abroad::build("info");
    let stage = Stage::set(&abroad);
    let (chatter, callers) = (abroad.chatter(), Callers::start(&abroad.town));
    let capture = abroad.capture("port21");
    let mut wire = Wire::open(&abroad.town);
    let speaker = Speaker::start(&abroad.town);
    let before = stage.show_that_all_is_open(&capture, &speaker, &mut wire);

    let home = abroad.start_quiet_home();
    let mut visit = abroad.visit(&[]);
    abroad.until_home(&visit);
    let mut judge = Judge::new(&abroad, capture, &stage);
    let began = Instant::now();
    let (sent, count) = (wire.sent, seeds.end - seeds.start);
    for seed in seeds {
        let (talks, calls) = (chatter.tries(), callers.calls());
        judge.begin(seed);
        stage.perform(seed, &speaker, &mut wire);
        until("the visitor's programs to have tried, too", || {
            chatter.tries() >= talks + TALKS_MIN && callers.calls() > calls
        });
        judge.judge(&mut visit);
    }
    let took = began.elapsed();
    speaker.answer(Manner::Properly { interval_us: 5_000_000 });
    stage.put_back();
    abroad.until_online("the last trick was played", Instant::now());
    judge.capture.end();
    judge.judge(&mut visit);
    let (tally, packets) = (speaker.tally(), wire.sent - sent);
    abroad.town.leave(visit);
    drop(home);
    let (talks, calls) = (chatter.stop(), callers.stop());
    println!("{count} scripts of {TRICKS} tricks in {took:?}: {tally:?}, {packets} packets by hand");
    println!("{} frames judged; {talks} rounds of chatter, {calls} calls", judge.frames);
    println!("before the switch was closed, {before} frames had left in the clear");
    // It was a conversation, and the services were tried, in proportion to the scripts.
    assert!(tally.granted * 20 >= count && tally.receipts * 20 >= count, "{tally:?}");
    assert!(
        tally.connections >= count && tally.datagrams >= count && packets >= count * 5,
        "{tally:?}, {packets}"
    );
    assert!(talks >= count * TALKS_MIN && calls >= count, "{talks}, {calls}");
}

/// The access point's and the visitor's computers, as far as the product has no part in them.
struct Stage<'a> {
    abroad: &'a Abroad,
    /// Who reached a service of the visitor's.
    reached: AccessLog,
}

impl<'a> Stage<'a> {
    fn set(abroad: &'a Abroad) -> Self {
        let world = &abroad.town.world;
        world.sysctl("router", "net.ipv4.ip_forward", "1").unwrap();
        world.address("router", "guests", &format!("{SECOND}/24")).unwrap();
        world.route("net", "10.11.0.0/24", "198.51.100.2").unwrap();
        let stage = Self { abroad, reached: AccessLog::default() };
        stage.serve();
        stage
    }

    /// Services that write down who comes, and every byte that comes.
    fn serve(&self) {
        for port in TCP_SERVICES {
            let open = || TcpListener::bind(("::", port)).unwrap();
            let listener = self.abroad.town.world.within("member", open).unwrap();
            let reached = self.reached.clone();
            thread::spawn(move || {
                while let Ok((mut stream, from)) = listener.accept() {
                    reached.add(from, b"");
                    let reached = reached.clone();
                    thread::spawn(move || {
                        let mut buffer = [0; 100];
                        while let Ok(length @ 1..) = stream.read(&mut buffer) {
                            reached.add(from, &buffer[..length]);
                        }
                    });
                }
            });
        }
        for port in UDP_SERVICES {
            let address = format!("[::]:{port}");
            self.abroad.town.serve_udp("member", &address, &self.reached);
        }
    }

    /// Without a kill switch each detector detects, so that its silence means something. Returns how many frames left in
    /// the clear. Connections that are made here are there when the switch is closed.
    fn show_that_all_is_open(&self, capture: &Capture, speaker: &Speaker, wire: &mut Wire) -> usize {
        let town = &self.abroad.town;
        let clear = || capture.frames().iter().filter(|(_, frame)| !is_allowed(frame)).count();
        until("frames in the clear", || clear() > 100);
        let comes = |what: &str, from: std::net::IpAddr, act: &mut dyn FnMut()| {
            self.reached.clear();
            until(what, || {
                act();
                self.reached.all().iter().any(|(who, _)| *who == from)
            });
        };
        for to in TCP_SERVICES {
            comes("a connection from the protocol's port", ACCESS_POINT.into(), &mut || {
                speaker.connect(town, 7_273, to, false);
            });
        }
        let six: std::net::Ipv6Addr = "fd00:12::1".parse().unwrap();
        comes("a connection over IPv6", six.into(), &mut || speaker.connect(town, 0, 22, true));
        for to in UDP_SERVICES {
            comes("a datagram from the protocol's port", ACCESS_POINT.into(), &mut || speaker.datagram(to));
            for (claimed, address) in
                [(script::Claimed::Home, HOME_ADDRESS), (script::Claimed::Server, SERVER)]
            {
                let packet = script::Packet::Udp { from: claimed, to, flow: false };
                comes("a forged datagram", address.into(), &mut || wire.send(&packet));
            }
            comes("a forged datagram over IPv6", six.into(), &mut || wire.send(&script::Packet::Udp6 { to }));
        }
        let pieces = [true, false].map(|first| script::Packet::Fragment {
            from: script::Claimed::AccessPoint,
            to: 5_353,
            first,
        });
        self.reached.clear();
        until("a datagram in pieces", || {
            pieces.iter().for_each(|piece| wire.send(piece));
            self.reached.all().iter().any(|(_, bytes)| bytes == &[7; 48])
        });
        comes("a connection that stays", ACCESS_POINT.into(), &mut || speaker.connect(town, 0, 8_080, false));
        speaker.keep_connection();
        self.reached.clear();
        until("something to be said on it", || speaker.say_on_old_connection());
        until("something on it", || self.reached.all().iter().any(|(_, bytes)| bytes == b"old"));

        clear()
    }

    /// What came before the switch was closed may still wait to be written down: each service takes one after the other, so
    /// all of it is once somebody who came later is there, too.
    fn leave_out_what_is_past(&self) {
        let town = &self.abroad.town;
        let own = || self.reached.all().iter().filter(|(from, _)| from.is_loopback()).count();
        for port in TCP_SERVICES {
            let before = own();
            let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            let _connection = town.world.within("member", connect).unwrap();
            until("the visitor to reach its own service", || own() > before);
        }
        for port in UDP_SERVICES {
            let before = own();
            let send = || {
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                socket.send_to(b"here", (Ipv4Addr::LOCALHOST, port)).unwrap();
            };
            town.world.within("member", send).unwrap();
            until("the visitor to reach its own service", || own() > before);
        }
        until("the web server to be reached by way of the home", || town.is_online("member"));
        until("a name to be asked for by way of the home", || self.abroad.resolves("192.0.2.99:53"));
        for log in [&self.reached, &self.abroad.web, &self.abroad.names] {
            log.clear();
        }
    }

    fn perform(&self, seed: u64, speaker: &Speaker, wire: &mut Wire) {
        let (mut is_changed, mut is_upset) = (false, false);
        for (trick, pause) in script(seed) {
            is_upset |= matches!(trick, Trick::Upheaval(_));
            is_changed |= matches!(trick, Trick::Network(_) | Trick::Own(_) | Trick::Upheaval(_));
            self.play(&trick, speaker, wire);
            thread::sleep(pause);
        }
        if is_changed {
            self.put_back();
        }
        if is_upset {
            speaker.answer(Manner::Properly { interval_us: 5_000_000 });
            let before = speaker.tally().questions;
            // Who lost a connection notices it when the next receipt is due.
            speaker.close();
            until("the visit to ask again", || speaker.tally().questions > before);
        }
    }

    fn play(&self, trick: &Trick, speaker: &Speaker, wire: &mut Wire) {
        let town = &self.abroad.town;
        match trick {
            Trick::Upheaval(trick) => self.play(trick, speaker, wire),
            Trick::Answer(manner) => speaker.answer(*manner),
            Trick::Request { weight, session, last, way, copies } => {
                speaker.request(*weight, *session, *last, *way, *copies);
            }
            Trick::Error { code, way } => speaker.error(*code, *way),
            Trick::Repeat { back, way } => speaker.repeat(*back, *way),
            Trick::Junk { junk, way } => speaker.junk(junk, *way),
            Trick::Close => speaker.close(),
            Trick::Connect { from, to, ipv6 } => speaker.connect(town, *from, *to, *ipv6),
            Trick::Old => drop(speaker.say_on_old_connection()),
            Trick::Datagram { to } => speaker.datagram(*to),
            Trick::Forge { packet, copies } => (0..*copies).for_each(|_| wire.send(packet)),
            Trick::Network(change) => self.change("member", "wlan0", change),
            Trick::Own(change) => self.change("router", "port21", change),
        }
    }

    fn change(&self, host: &str, link: &str, change: &Change) {
        match change {
            Change::Route(network) => {
                self.ip(host, &format!("route replace {network} via {ACCESS_POINT} dev {link}"))
            }
            Change::Address(address) => self.ip(host, &format!("address add {address} dev {link}")),
            Change::Gateway(gateway) => {
                self.ip(host, &format!("route replace default via {gateway} dev {link}"))
            }
            Change::Mtu(mtu) => self.ip(host, &format!("link set {link} mtu {mtu}")),
            Change::Down(time) => {
                self.ip(host, &format!("link set {link} down"));
                thread::sleep(*time);
                self.ip(host, &format!("link set {link} up"));
            }
            Change::Hardware(number) => {
                self.ip(host, &format!("link set guests address 02:00:5e:10:01:{number:02x}"));
            }
            Change::Block(time) => {
                self.abroad.town.world.sysctl(host, "net.ipv4.ip_forward", "0").unwrap();
                thread::sleep(*time);
                self.abroad.town.world.sysctl(host, "net.ipv4.ip_forward", "1").unwrap();
            }
        }
    }

    /// What a DHCP client does once the network is there again.
    fn put_back(&self) {
        self.ip("router", "link set port21 up");
        self.ip(
            "member",
            "link set wlan0 up mtu 1500\n\
             address delete 192.0.2.7/24 dev wlan0\n\
             address delete 10.73.6.77/24 dev wlan0\n\
             address delete 10.11.0.77/24 dev wlan0\n\
             address delete 198.18.40.7/24 dev wlan0\n\
             address replace 10.11.0.21/24 dev wlan0\n\
             address replace fd00:12::21/64 dev wlan0\n\
             route delete 0.0.0.0/1\n\
             route delete 128.0.0.0/1\n\
             route delete 192.0.2.0/24\n\
             route delete 192.0.2.1/32\n\
             route delete 198.18.40.2/32\n\
             route delete 10.73.6.0/24\n\
             route delete 224.0.0.0/4\n\
             route replace default via 10.11.0.1 dev wlan0\n",
        );
    }

    /// Commands of ip(8) on a host; those that make no sense at the moment do nothing.
    fn ip(&self, host: &str, lines: &str) {
        let run = || {
            let mut command = Command::new("ip");
            command
                .args(["-force", "-batch", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
            child.wait().unwrap();
        };
        self.abroad.town.world.within(host, run).unwrap();
    }
}

/// As a capture counts.
fn now_us() -> u64 {
    u64::try_from(SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap()
}

/// Whether the access point may see this frame of the visitor's.
fn is_allowed(frame: &Frame) -> bool {
    match frame {
        Frame::Arp => true,
        Frame::Ip4 { protocol, from: (_, own), to, .. } => {
            let protocol_7273 =
                [ACCESS_POINT, SECOND].iter().any(|access_point| *to == (*access_point, 7_273));
            match protocol {
                // A large datagram of the tunnel leaves in pieces where the link takes only small packets, and only the
                // first says its port. No program here sends pieces of its own, and none that are large.
                17 if UDP_SERVICES.contains(own) => false,
                17 => *to == (HOME_ADDRESS, TUNNEL_PORT) || *to == (HOME_ADDRESS, 0) || protocol_7273,
                6 => protocol_7273 && !TCP_SERVICES.contains(own),
                _ => false,
            }
        }
        Frame::Ip6 | Frame::Other(_) => false,
    }
}

/// Programs of the visitor's that try to connect to everybody, all the time.
struct Callers {
    done: Arc<AtomicBool>,
    calls: Arc<AtomicU64>,
    thread: thread::JoinHandle<()>,
}

impl Callers {
    fn start(town: &Town) -> Self {
        let namespace = town.world.namespace("member").unwrap();
        let (done, calls) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (until, count) = (Arc::clone(&done), Arc::clone(&calls));
        let to: Vec<SocketAddr> = [
            "192.0.2.1:80",
            "203.0.113.9:443",
            "10.11.0.1:53",
            "10.11.0.2:443",
            "198.18.40.2:22",
            "[fd00:12::1]:443",
        ]
        .map(|address| address.parse().unwrap())
        .to_vec();
        let path = format!("/var/run/netns/{namespace}");
        let thread = thread::spawn(move || {
            let file = std::fs::File::open(path).unwrap();
            let network = rustix::thread::LinkNameSpaceType::Network;
            rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), Some(network))
                .unwrap();
            let mut open = std::collections::VecDeque::new();
            while !until.load(Ordering::Relaxed) {
                for to in &to {
                    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
                    let made = socket(family, SocketType::STREAM, None).unwrap();
                    rustix::io::ioctl_fionbio(&made, true).unwrap();
                    // It comes about by the tunnel, or not at all.
                    let _ = connect(&made, to);
                    open.push_back(made);
                    count.fetch_add(1, Ordering::Relaxed);
                }
                // Each has time to send its SYN again, and there are never too many.
                while open.len() > 300 {
                    open.pop_front();
                }
                thread::sleep(Duration::from_millis(25));
            }
        });
        Self { done, calls, thread }
    }

    /// How often they have tried.
    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The same in all.
    fn stop(self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.calls.load(Ordering::Relaxed)
    }
}

/// Watches what leaves and who comes.
struct Judge<'a> {
    abroad: &'a Abroad,
    capture: Capture,
    reached: AccessLog,
    /// From here on everything counts, in microseconds since 1970.
    since: u64,
    /// How far the capture is judged.
    at: usize,
    /// When each script began, in microseconds since 1970.
    scripts: Vec<(u64, u64)>,
    frames: usize,
}

impl<'a> Judge<'a> {
    /// The visit is up: from here on everything counts.
    fn new(abroad: &'a Abroad, capture: Capture, stage: &Stage<'_>) -> Self {
        let since = now_us();
        stage.leave_out_what_is_past();
        let reached = stage.reached.clone();
        Self { abroad, capture, reached, since, at: 0, scripts: Vec::new(), frames: 0 }
    }

    fn begin(&mut self, seed: u64) {
        self.scripts.push((now_us(), seed));
    }

    fn judge(&mut self, visit: &mut Program) {
        let &(_, seed) = self.scripts.last().unwrap();
        let replay = |seed: u64| format!("GUESTRIGHT_SEED={seed} plays it again: {:#?}", script(seed));
        let mut frames = self.capture.frames_from(&mut self.at);
        frames.retain(|(time, _)| *time >= self.since);
        self.capture.forget(self.at);
        self.frames += frames.len();
        if let Some((time, frame)) = frames.iter().find(|(_, frame)| !is_allowed(frame)) {
            let clear = frames.iter().filter(|(_, frame)| !is_allowed(frame)).count();
            let during =
                self.scripts.iter().rev().find(|(began, _)| began <= time).map_or(seed, |(_, seed)| *seed);
            panic!(
                "{clear} frames left in the clear, the first during script {during}: {frame:?}. {}",
                replay(during)
            );
        }
        let reached = self.reached.all();
        assert!(
            reached.is_empty(),
            "services were reached in script {seed} by {reached:?}. {}",
            replay(seed)
        );
        for log in [&self.abroad.web, &self.abroad.names] {
            let direct: Vec<_> = log.all().into_iter().filter(|(from, _)| *from != HOME_ADDRESS).collect();
            assert!(
                direct.is_empty(),
                "not by way of the home in script {seed}: {direct:?}. {}",
                replay(seed)
            );
            log.clear();
        }
        assert!(visit.is_running(), "script {seed} ended the visit: {}. {}", visit.log(), replay(seed));
    }
}
