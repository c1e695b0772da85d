//! Two networks on the real kernel, with an emulated one between them.

#![expect(clippy::unwrap_used, reason = "a test says what broke by panicking")]

use guestright_emulator::{Device, Emulator, Network, Side};
use guestright_netns::{Sandbox, World};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// Nothing waits for it unless something is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// Hands every packet over after a delay, except that of every `drops` the last one vanishes.
#[derive(Debug)]
struct Delay {
    delay: Duration,
    drops: Option<u64>,
    seen: u64,
    on_the_way: VecDeque<(Duration, Side, Vec<u8>)>,
}

impl Delay {
    fn of(delay: Duration, drops: Option<u64>) -> Self {
        Self { delay, drops, seen: 0, on_the_way: VecDeque::new() }
    }
}

impl Network for Delay {
    fn enter(&mut self, side: Side, packet: &[u8], now: Duration) {
        self.seen += 1;
        if self.drops.is_none_or(|drops| !self.seen.is_multiple_of(drops)) {
            self.on_the_way.push_back((now + self.delay, side.other(), packet.to_vec()));
        }
    }

    fn due(&self) -> Option<Duration> {
        self.on_the_way.front().map(|(due, ..)| *due)
    }

    fn leave(&mut self, now: Duration, packet: &mut Vec<u8>) -> Option<(Side, Duration)> {
        let (due, side, bytes) = self.on_the_way.pop_front_if(|(due, ..)| *due <= now)?;
        *packet = bytes;
        Some((side, due))
    }
}

/// Two hosts, 198.18.0.1 and 198.19.0.1, and the emulator between them.
struct Town {
    world: World,
    emulator: Emulator<Delay>,
    started: Instant,
}

impl Town {
    fn build(network: Delay) -> Self {
        let mut world = World::new("emu-").unwrap();
        let mut devices = Vec::new();
        for (host, own, other) in [("near", "198.18.0.1", "198.19.0.1"), ("far", "198.19.0.1", "198.18.0.1")]
        {
            world.add_host(host).unwrap();
            let _ = world.sysctl(host, "net.ipv6.conf.all.disable_ipv6", "1");
            devices.push(world.within(host, || Device::open("path0")).unwrap().unwrap());
            world.address(host, "path0", &format!("{own}/32")).unwrap();
            world.run(host, "ip", &["link", "set", "path0", "up", "txqueuelen", "10000"]).unwrap();
            world.run(host, "ip", &["route", "add", other, "dev", "path0"]).unwrap();
        }
        let (far, near) = (devices.pop().unwrap(), devices.pop().unwrap());
        let started = Instant::now();
        let emulator = Emulator::start(near, far, network, started).unwrap();
        Self { world, emulator, started }
    }

    fn udp(&self) -> (UdpSocket, UdpSocket) {
        let near = self.world.within("near", || UdpSocket::bind("198.18.0.1:7000")).unwrap().unwrap();
        let far = self.world.within("far", || UdpSocket::bind("198.19.0.1:7000")).unwrap().unwrap();
        near.connect("198.19.0.1:7000").unwrap();
        far.set_read_timeout(Some(PATIENCE)).unwrap();
        (near, far)
    }
}

fn inside(test: &str) -> bool {
    if Sandbox::inside() {
        Sandbox::prepare().unwrap();
        return true;
    }
    let mode = Sandbox::probe().expect("this computer can make sandboxes");
    let program = std::env::current_exe().unwrap();
    let mut command = Sandbox::command(mode, &program, ["--exact", test, "--nocapture"]);
    assert!(command.status().unwrap().success(), "{test} failed inside its sandbox");
    false
}

#[test]
fn packets_come_through_whole_in_order_and_not_before_their_time() {
    if !inside("packets_come_through_whole_in_order_and_not_before_their_time") {
        return;
    }
    let delay = Duration::from_millis(15);
    let town = Town::build(Delay::of(delay, None));
    let (near, far) = town.udp();
    for number in 0..100_u8 {
        let (sent, length) = (Instant::now(), 1 + usize::from(number) * 14);
        near.send(&vec![number; length]).unwrap();
        let mut buffer = [0; 2_000];
        let got = far.recv(&mut buffer).unwrap();
        assert!(sent.elapsed() >= delay, "packet {number} after {:?}", sent.elapsed());
        assert_eq!(buffer[..got], vec![number; length]);
    }
    let (network, account) = town.emulator.stop().unwrap();
    assert!(network.on_the_way.is_empty());
    assert_eq!((account.entered, account.left), ([100, 0], [0, 100]));
    assert_eq!((account.refused, account.lateness.count()), (0, 100));
    assert!(account.urgency.is_some() && town.started.elapsed() > delay * 100);
}

#[test]
fn tcp_survives_a_network_that_loses_packets() {
    if !inside("tcp_survives_a_network_that_loses_packets") {
        return;
    }
    let town = Town::build(Delay::of(Duration::from_millis(2), Some(20)));
    let listener = town.world.within("far", || TcpListener::bind("198.19.0.1:7000")).unwrap().unwrap();
    let content: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    let mut near = town.world.within("near", || TcpStream::connect("198.19.0.1:7000")).unwrap().unwrap();
    let (mut far, _) = listener.accept().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            near.write_all(&content).unwrap();
            near.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let mut got = Vec::new();
        far.read_to_end(&mut got).unwrap();
        assert!(got == content, "{} of {} bytes, or others", got.len(), content.len());
    });
    let again = guestright_emulator::tcp::info(&near).unwrap().retransmitted;
    assert!(again > 0, "every twentieth packet was lost");
    let seen = town.emulator.with(|network, _| network.seen);
    let account = town.emulator.account();
    assert!(account.left.iter().sum::<u64>() <= seen - seen / 20, "{account:?}");
}

/// When somebody deletes the interface it ends, and says so.
#[test]
fn a_device_that_is_gone_ends_it() {
    if !inside("a_device_that_is_gone_ends_it") {
        return;
    }
    let town = Town::build(Delay::of(Duration::ZERO, None));
    town.world.run("near", "ip", &["link", "delete", "path0"]).unwrap();
    let until = Instant::now() + PATIENCE;
    while town.emulator.is_running() {
        assert!(Instant::now() < until, "it goes on without its device");
        std::thread::yield_now();
    }
    let error = town.emulator.stop().unwrap_err().to_string();
    assert!(error.contains("path0") && error.contains("deleted"), "{error}");
}
