//! A call goes on while the walker moves from one access point to another: how much speech is lost.
//!
//! The walker and a host on the Internet, behind the walker's home, talk like a call does: 50 datagrams a second each
//! way, with their numbers in them. What is missing in a direction around a move, times 20 ms, is the speech that was
//! lost. It is printed. `GUESTRIGHT_MOVES=12` moves so often and judges what it cost; without it this shows that speech
//! goes on after each move, however busy the computer is.

use super::abroad::{Abroad, SECOND_ACCESS_POINT};
use super::{ACCESS_POINT, until};
use crate::town::look;
use guestright_netns::LinkOptions;
use guestright_testbed::inside_within;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two packets of speech.
const FRAME: Duration = Duration::from_millis(20);
/// What a move may cost, where that is measured.
const LOST_MAX: Duration = Duration::from_secs(1);
/// So long both directions have to go on after a move before the next one.
const SETTLED: Duration = Duration::from_millis(600);
const SERVER: &str = "192.0.2.1:5004";

/// Before each move an access point may have to notice that the walker is gone.
const LIFE_MAX: Duration = Duration::from_secs(900);

/// Two programs that talk to each other.
struct Talk {
    done: Arc<AtomicBool>,
    /// What came at the server, and what came at the walker.
    received: [Arc<Mutex<Vec<Received>>>; 2],
    threads: Vec<JoinHandle<()>>,
}

/// A packet that came.
#[derive(Clone, Copy, Debug)]
struct Received {
    number: u32,
    at: Instant,
}

/// What a move cost in one direction.
#[derive(Clone, Copy, Debug)]
struct Loss {
    packets: u32,
    /// The longest time in which nothing came.
    gap: Duration,
}

impl Loss {
    fn speech(self) -> Duration {
        FRAME * self.packets
    }
}

impl Talk {
    fn begin(abroad: &Abroad) -> Self {
        let world = &abroad.town.world;
        let bind = |host: &str, at: &str| {
            let socket = world.within(host, || UdpSocket::bind(at)).unwrap().unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            Arc::new(socket)
        };
        let (walker, server) = (bind("member", "0.0.0.0:0"), bind("net", SERVER));
        // The server talks to where it hears the walker from: the home's address.
        let back: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
        let to_server = Arc::new(Mutex::new(Some(SERVER.parse().unwrap())));
        let mut this = Self { done: Arc::default(), received: Default::default(), threads: Vec::new() };
        this.listen(0, Arc::clone(&server), Some(Arc::clone(&back)));
        this.listen(1, Arc::clone(&walker), None);
        this.speak(walker, to_server);
        this.speak(server, back);
        this
    }

    fn speak(&mut self, socket: Arc<UdpSocket>, to: Arc<Mutex<Option<SocketAddr>>>) {
        let done = Arc::clone(&self.done);
        self.threads.push(thread::spawn(move || {
            let began = Instant::now();
            let mut number = 0_u32;
            while !done.load(Ordering::Relaxed) {
                if let Some(to) = *to.lock().unwrap() {
                    let mut packet = [0x55; 172];
                    packet[..4].copy_from_slice(&number.to_be_bytes());
                    // In between there is no network.
                    let _ = socket.send_to(&packet, to);
                }
                number += 1;
                thread::sleep((FRAME * number).saturating_sub(began.elapsed()));
            }
        }));
    }

    fn listen(
        &mut self,
        direction: usize,
        socket: Arc<UdpSocket>,
        back: Option<Arc<Mutex<Option<SocketAddr>>>>,
    ) {
        let (done, received) = (Arc::clone(&self.done), Arc::clone(&self.received[direction]));
        self.threads.push(thread::spawn(move || {
            let mut buffer = [0; 300];
            while !done.load(Ordering::Relaxed) {
                let Ok((_, from)) = socket.recv_from(&mut buffer) else { continue };
                let number = u32::from_be_bytes(buffer[..4].try_into().unwrap());
                received.lock().unwrap().push(Received { number, at: Instant::now() });
                if let Some(back) = &back {
                    *back.lock().unwrap() = Some(from);
                }
            }
        }));
    }

    /// Whether both directions have gone on without a gap since then, and for long enough.
    fn is_settled(&self, since: Instant) -> bool {
        self.received.iter().all(|shared| {
            let received = shared.lock().unwrap();
            let recent: Vec<_> =
                received.iter().rev().take_while(|packet| packet.at.elapsed() < SETTLED).collect();
            let whole = recent.windows(2).all(|pair| pair[0].number == pair[1].number + 1);
            let enough = FRAME * u32::try_from(recent.len()).unwrap() * 10 > SETTLED * 8;
            whole && enough && since.elapsed() > SETTLED
        })
    }

    fn until_settled(&self, since: Instant) {
        until("speech in both directions", || self.is_settled(since));
    }

    /// What was lost since then: outward (at the server), and homeward (at the walker).
    fn lost_since(&self, since: Instant) -> [Loss; 2] {
        [0, 1].map(|direction| {
            let received = self.received[direction].lock().unwrap();
            let begin = received.partition_point(|packet| packet.at < since).saturating_sub(1);
            let tail = &received[begin..];
            let numbers = tail.last().unwrap().number - tail[0].number + 1;
            let gap = tail.windows(2).map(|pair| pair[1].at - pair[0].at).max().unwrap();
            Loss { packets: numbers - u32::try_from(tail.len()).unwrap(), gap }
        })
    }

    fn end(self) {
        self.done.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

/// How the walker moves.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// One radio: its link goes to another access point, and it has another address and gateway then.
    OneRadio,
    /// Two: the one is gone before the other one is there.
    BreakBeforeMake,
    /// Two: the other one is there, and preferred, some time before the one is gone.
    MakeBeforeBreak,
}

/// The second radio, at the second access point, down.
fn add_radio(abroad: &Abroad) {
    let world = &abroad.town.world;
    world.link(("second", "port31"), ("member", "wlan1"), &LinkOptions::default()).unwrap();
    world.attach("second", "port31", "guests", true).unwrap();
    world.run("member", "ip", &["link", "set", "wlan1", "down"]).unwrap();
}

/// What a DHCP client does on a radio that has joined a network.
fn join(abroad: &Abroad, interface: &str, network: Ipv4Addr, metric: &str) {
    let world = &abroad.town.world;
    let [a, b, c, _] = network.octets();
    let (address, gateway) = (format!("{a}.{b}.{c}.21/24"), format!("{a}.{b}.{c}.1"));
    world.run("member", "ip", &["link", "set", interface, "up"]).unwrap();
    world.run("member", "ip", &["address", "replace", &address, "dev", interface]).unwrap();
    let route = ["route", "replace", "default", "via", &gateway, "dev", interface, "metric", metric];
    world.run("member", "ip", &route).unwrap();
}

fn leave(abroad: &Abroad, interface: &str) {
    let world = &abroad.town.world;
    world.run("member", "ip", &["link", "set", interface, "down"]).unwrap();
    world.run("member", "ip", &["-4", "address", "flush", "dev", interface]).unwrap();
}

/// Moves to the second access point, or back to the first one; when the old link was gone.
fn go(abroad: &Abroad, how: Move, second: bool, number: u32) -> Instant {
    let world = &abroad.town.world;
    let networks = [ACCESS_POINT, SECOND_ACCESS_POINT.parse().unwrap()];
    let network = networks[usize::from(second)];
    let (old, new) = if second { ("wlan0", "wlan1") } else { ("wlan1", "wlan0") };
    // The network that was joined last is preferred.
    let metric = (1_000 - number).to_string();
    match how {
        Move::OneRadio => {
            let (from, to) = if second { ("router", "second") } else { ("second", "router") };
            let namespace = world.namespace(to).unwrap();
            let began = Instant::now();
            world.run(from, "ip", &["link", "set", "port21", "netns", &namespace]).unwrap();
            world.run("member", "ip", &["-4", "address", "flush", "dev", "wlan0"]).unwrap();
            world.up(to, "port21").unwrap();
            world.attach(to, "port21", "guests", true).unwrap();
            join(abroad, "wlan0", network, &metric);
            began
        }
        Move::BreakBeforeMake => {
            let began = Instant::now();
            leave(abroad, old);
            join(abroad, new, network, &metric);
            began
        }
        Move::MakeBeforeBreak => {
            let began = Instant::now();
            join(abroad, new, network, &metric);
            thread::sleep(Duration::from_millis(500));
            leave(abroad, old);
            began
        }
    }
}

/// What access points let through before they have granted service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// A little of every tunnel, so that homes can be found: then speech goes on at once.
    Tunnels,
    /// Nothing: then the session has to be there first.
    Nothing,
}

fn forbid_tunnels(abroad: &Abroad) {
    for team in ["house", "other"] {
        let file = abroad.town.path(team).join("ap.toml");
        let text = std::fs::read_to_string(&file).unwrap() + "[tunnels]\nenabled = false\n";
        std::fs::write(&file, text).unwrap();
    }
}

/// Waits until the access point that the walker is to come to next has closed the session that it left there without
/// goodbye: walkers do not come back sooner, or wait for it, and this is about the access points that they come to.
fn until_forgotten(abroad: &Abroad, team: &str) {
    let settings = abroad.town.path(team).join("ap.toml");
    until("the session that was left to be over", || {
        let status = look::ask("ap", &settings, "status");
        // A session of the tunnel alone, which its home signs for, may go on.
        let is_its_own = |session: &Value| session["tunnel"].is_null();
        status["sessions"].as_array().is_some_and(|sessions| !sessions.iter().any(is_its_own))
    });
}

fn moves(how: Move, before: Before, count: u32) {
    let measured = std::env::var("GUESTRIGHT_MOVES").ok().map(|text| text.parse().unwrap());
    let count = measured.unwrap_or(count);
    let abroad = Abroad::build("info");
    add_radio(&abroad);
    if before == Before::Nothing {
        forbid_tunnels(&abroad);
    }
    let (_house, _ap) = abroad.town.open();
    let _second = abroad.open_second();
    let _home = abroad.start_home();
    let visit = abroad.visit(&[]);
    abroad.until_home(&visit);
    let talk = Talk::begin(&abroad);
    talk.until_settled(Instant::now());
    let mut lost: [Vec<Loss>; 2] = Default::default();
    for number in 1..=count {
        let began = go(&abroad, how, number % 2 == 1, number);
        let linked = began.elapsed();
        visit.hear("to notice the move", |event| event["event"] == "moved");
        visit.hear("to be granted service", |event| event["event"] == "granted");
        let granted = began.elapsed();
        talk.until_settled(Instant::now());
        let both = talk.lost_since(began);
        println!(
            "{how:?} {number}, before {before:?}: lost {:?} outward, {:?} homeward; gaps {:.0?}, {:.0?}; linked after {linked:.0?}, \
             granted after {granted:.0?}",
            both[0].speech(),
            both[1].speech(),
            both[0].gap,
            both[1].gap
        );
        lost.iter_mut().zip(both).for_each(|(lost, loss)| lost.push(loss));
        if number < count {
            until_forgotten(&abroad, if number % 2 == 1 { "house" } else { "other" });
        }
    }
    talk.end();
    for (direction, lost) in ["outward", "homeward"].into_iter().zip(&mut lost) {
        lost.sort_unstable_by_key(|loss| loss.packets);
        let (median, most) = (lost[lost.len() / 2].speech(), lost[lost.len() - 1].speech());
        println!(
            "{how:?} after {before:?}, {direction}: {median:?} of speech lost at the median of {count} moves, {most:?} at most"
        );
        assert!(measured.is_none() || median < LOST_MAX, "{how:?}, {direction}: {median:?}");
    }
    abroad.town.leave(visit);
}

#[test]
fn a_call_goes_on_when_its_radio_joins_another_access_point() {
    if inside_within("way_home::moving::a_call_goes_on_when_its_radio_joins_another_access_point", LIFE_MAX) {
        moves(Move::OneRadio, Before::Tunnels, 4);
    }
}

#[test]
fn a_call_goes_on_when_its_radio_joins_one_that_lets_nothing_pass_ungranted() {
    if inside_within(
        "way_home::moving::a_call_goes_on_when_its_radio_joins_one_that_lets_nothing_pass_ungranted",
        LIFE_MAX,
    ) {
        moves(Move::OneRadio, Before::Nothing, 12);
    }
}

#[test]
fn a_call_goes_on_when_one_network_is_gone_before_the_next_is_there() {
    if inside_within(
        "way_home::moving::a_call_goes_on_when_one_network_is_gone_before_the_next_is_there",
        LIFE_MAX,
    ) {
        moves(Move::BreakBeforeMake, Before::Tunnels, 4);
    }
}

#[test]
fn a_call_goes_on_when_one_is_gone_and_the_next_lets_nothing_pass_ungranted() {
    if inside_within(
        "way_home::moving::a_call_goes_on_when_one_is_gone_and_the_next_lets_nothing_pass_ungranted",
        LIFE_MAX,
    ) {
        moves(Move::BreakBeforeMake, Before::Nothing, 4);
    }
}

#[test]
fn a_call_goes_on_when_the_next_network_is_there_first() {
    if inside_within("way_home::moving::a_call_goes_on_when_the_next_network_is_there_first", LIFE_MAX) {
        moves(Move::MakeBeforeBreak, Before::Tunnels, 4);
    }
}

#[test]
fn a_call_goes_on_when_the_next_is_there_first_and_lets_nothing_pass_ungranted() {
    if inside_within(
        "way_home::moving::a_call_goes_on_when_the_next_is_there_first_and_lets_nothing_pass_ungranted",
        LIFE_MAX,
    ) {
        moves(Move::MakeBeforeBreak, Before::Nothing, 4);
    }
}
