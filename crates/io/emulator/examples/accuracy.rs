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

#[path = "../tests/harness/town.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod town;

use guestright_emulator::{Lateness, Side, make_urgent};
use guestright_netns::Sandbox;
use std::time::{Duration, Instant};
use town::{Delay, Town};

const DELAY: Duration = Duration::from_millis(20);
/// IPv4 and UDP.
const HEADERS: usize = 28;
/// How long each rate is measured.
const LONG: Duration = Duration::from_secs(4);

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

/// From the call that sends to the call that has received, less the delay that was asked for.
fn paced(bytes: usize, mbps: usize) {
    let town = Town::build(Delay::of(DELAY, None));
    let (near, far) = town.udp(Duration::from_secs(1));
    let started = Instant::now();
    let every = Duration::from_nanos((bytes * 8 * 1_000 / mbps) as u64);
    let count = u64::try_from(LONG.as_nanos() / every.as_nanos()).unwrap();
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
        near.send(&packet).unwrap();
    }
    let (added, early) = listener.join().unwrap();
    let (_, account) = town.emulator.stop().unwrap();
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
    let town = Town::build(Delay::of(Duration::ZERO, None));
    let (near, _far) = town.udp(Duration::from_secs(1));
    let started = Instant::now();
    let packet = vec![0; bytes - HEADERS];
    let mut sent = 0_u64;
    while started.elapsed() < LONG {
        sent += u64::from(near.send(&packet).is_ok());
    }
    let seconds = started.elapsed().as_secs_f64();
    let (_, account) = town.emulator.stop().unwrap();
    let left = account.left[Side::Far as usize];
    println!(
        "{bytes} bytes without a pause: {:.0} packets/s sent, {:.0} packets/s carried ({:.0} Mb/s)",
        sent as f64 / seconds,
        left as f64 / seconds,
        left as f64 * bytes as f64 * 8e-6 / seconds
    );
}
