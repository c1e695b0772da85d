//! Two networks on the real kernel, with an emulated one between them.

#![expect(clippy::unwrap_used, reason = "a test says what broke by panicking")]

#[path = "harness/town.rs"]
mod town;

use guestright_netns::testing::{PATIENCE, inside};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};
use town::{Delay, Town};

#[test]
fn packets_come_through_whole_in_order_and_not_before_their_time() {
    if !inside("packets_come_through_whole_in_order_and_not_before_their_time") {
        return;
    }
    let delay = Duration::from_millis(15);
    let town = Town::build(Delay::of(delay, None));
    let (near, far) = town.udp(PATIENCE);
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
    let (network, account) = town.emulator.stop().unwrap();
    assert!(account.left.iter().sum::<u64>() <= network.seen - network.seen / 20, "{account:?}");
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
