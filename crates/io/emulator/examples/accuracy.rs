//! How much the emulator adds to a delay that it is to make, and how many packets it carries in a second.
//!
//! ```text
//! cargo run --release -p guestright-emulator --example accuracy
//! ```
//!
//! Packets of 200 and of 1,500 bytes go through a network that hands each over 20 ms later, at 2, 5 and 10 Mb/s; then as
//! many as the computer makes. What is printed holds for this computer and for how busy it is.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints what it measured, or panics"
)]

use guestright_emulator::{Device, Emulator, Lateness, Network, Side, make_urgent};
use guestright_netns::{Sandbox, World};
use std::collections::VecDeque;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

const DELAY: Duration = Duration::from_millis(20);
/// IPv4 and UDP.
const HEADERS: usize = 28;
/// How long each rate is measured.
const LONG: Duration = Duration::from_secs(4);

struct Delay {
    delay: Duration,
    on_the_way: VecDeque<(Duration, Side, Vec<u8>)>,
}

impl Network for Delay {
    fn enter(&mut self, side: Side, packet: &[u8], now: Duration) {
        self.on_the_way.push_back((now + self.delay, side.other(), packet.to_vec()));
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

fn main() {
    if !Sandbox::inside() {
        let mode = Sandbox::probe().unwrap();
        let program = std::env::current_exe().unwrap();
        let error = Sandbox::enter(mode, &program, std::env::args_os().skip(1));
        panic!("{error}");
    }
    Sandbox::prepare().unwrap();
    for (bytes, mbps) in [(200, 2), (200, 5), (200, 10), (1_500, 2), (1_500, 10)] {
        paced(bytes, mbps);
    }
    for bytes in [200, 1_500] {
        flooded(bytes);
    }
}

struct Ends {
    /// Its hosts are there as long as it is.
    _world: World,
    emulator: Emulator<Delay>,
    near: UdpSocket,
    far: UdpSocket,
}

fn ends(delay: Duration) -> Ends {
    let mut world = World::new("acc-").unwrap();
    let mut devices = Vec::new();
    for (host, own, other) in [("near", "198.18.0.1", "198.19.0.1"), ("far", "198.19.0.1", "198.18.0.1")] {
        world.add_host(host).unwrap();
        devices.push(world.within(host, || Device::open("path0")).unwrap().unwrap());
        world.address(host, "path0", &format!("{own}/32")).unwrap();
        world.run(host, "ip", &["link", "set", "path0", "up", "txqueuelen", "10000"]).unwrap();
        world.run(host, "ip", &["route", "add", other, "dev", "path0"]).unwrap();
    }
    let (far, near) = (devices.pop().unwrap(), devices.pop().unwrap());
    let network = Delay { delay, on_the_way: VecDeque::new() };
    let emulator = Emulator::start(near, far, network, Instant::now()).unwrap();
    let near = world.within("near", || UdpSocket::bind("198.18.0.1:7000")).unwrap().unwrap();
    let far = world.within("far", || UdpSocket::bind("198.19.0.1:7000")).unwrap().unwrap();
    near.connect("198.19.0.1:7000").unwrap();
    Ends { _world: world, emulator, near, far }
}

/// From the call that sends to the call that has received, less the delay that was asked for.
fn paced(bytes: usize, mbps: usize) {
    let ends = ends(DELAY);
    let started = Instant::now();
    let every = Duration::from_nanos((bytes * 8 * 1_000 / mbps) as u64);
    let count = u64::try_from(LONG.as_nanos() / every.as_nanos()).unwrap();
    let far = ends.far.try_clone().unwrap();
    far.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let listener = std::thread::spawn(move || {
        make_urgent(20);
        let (mut added, mut early) = (Lateness::default(), 0);
        let mut buffer = [0; 2_000];
        while far.recv(&mut buffer).is_ok() {
            let sent = Duration::from_nanos(u64::from_be_bytes(*buffer.first_chunk().unwrap()));
            match (started.elapsed() - sent).checked_sub(DELAY) {
                Some(late) => added.note(late),
                None => early += 1,
            }
        }
        (added, early)
    });
    make_urgent(20);
    let mut packet = vec![0; bytes - HEADERS];
    for number in 0..count {
        let due = started + every * u32::try_from(number).unwrap();
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        packet[..8].copy_from_slice(&u64::try_from(started.elapsed().as_nanos()).unwrap().to_be_bytes());
        ends.near.send(&packet).unwrap();
    }
    let (added, early) = listener.join().unwrap();
    let (_, account) = ends.emulator.stop().unwrap();
    let micros = |late: Option<Duration>| late.map_or(0, |late| late.as_micros());
    println!(
        "{bytes} bytes at {mbps} Mb/s: {} of {count} came, {early} too early; added µs: mean {}, half {}, 99 % {}, \
         999 ‰ {}, most {}; of these the emulator's own: half {}, 99 % {}, most {}; {:?}",
        added.count(),
        micros(added.mean()),
        micros(added.quantile(500)),
        micros(added.quantile(990)),
        micros(added.quantile(999)),
        added.max().as_micros(),
        micros(account.lateness.quantile(500)),
        micros(account.lateness.quantile(990)),
        account.lateness.max().as_micros(),
        account.urgency.unwrap(),
    );
}

/// As many as can be sent: how many come out.
fn flooded(bytes: usize) {
    let ends = ends(Duration::ZERO);
    let started = Instant::now();
    let packet = vec![0; bytes - HEADERS];
    let mut sent = 0_u64;
    while started.elapsed() < LONG {
        sent += u64::from(ends.near.send(&packet).is_ok());
    }
    let seconds = started.elapsed().as_secs_f64();
    let (_, account) = ends.emulator.stop().unwrap();
    let left = account.left[Side::Far as usize];
    println!(
        "{bytes} bytes without a pause: {:.0} packets/s sent, {:.0} packets/s carried ({:.0} Mb/s)",
        sent as f64 / seconds,
        left as f64 / seconds,
        left as f64 * bytes as f64 * 8e-6 / seconds
    );
}
