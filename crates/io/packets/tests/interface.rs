//! On interfaces of a network of its own.

use guestright_netns::testing::inside;
use guestright_netns::{LinkOptions, World};
use guestright_packets::{Packets, PacketsError, Woken, now_ns};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// All that comes until a packet ends with `last`: the bytes behind the headers of IP and UDP.
fn until(packets: &mut Packets, header: usize, last: &[u8]) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    while all.last().is_none_or(|payload| payload != last) {
        assert_eq!(packets.wait(PATIENCE).expect("it is there"), Woken::Packets);
        packets.fetch().expect("it is there");
        for packet in packets.fetched() {
            assert_eq!(packet.bytes.len(), packet.length as usize);
            let at_ns = packet.at_ns.expect("a time was asked for");
            assert!(at_ns.abs_diff(now_ns()) < 60_000_000_000, "{at_ns}");
            all.push(packet.bytes[header..].to_vec());
        }
    }
    all
}

#[test]
fn only_udp_of_its_interface_comes_and_on_loopback_once() {
    if !inside("only_udp_of_its_interface_comes_and_on_loopback_once") {
        return;
    }
    let mut world = World::new("packets-").unwrap();
    for host in ["a", "b"] {
        world.add_host(host).unwrap();
    }
    world.link(("a", "eth0"), ("b", "eth0"), &LinkOptions::default()).unwrap();
    for (host, number) in [("a", 1), ("b", 2)] {
        world.address(host, "eth0", &format!("10.1.0.{number}/24")).unwrap();
        world.address(host, "eth0", &format!("fd00:1::{number}/64")).unwrap();
    }
    world
        .within("b", || {
            let mut wire = Packets::open("eth0", 1 << 20).unwrap();
            let mut own = Packets::open("lo", 1 << 20).unwrap();
            let v4 = UdpSocket::bind("10.1.0.2:1000").unwrap();
            let v6 = UdpSocket::bind("[fd00:1::2]:1000").unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            v4.send_to(b"one", "10.1.0.1:1000").unwrap();
            v4.send_to(b"two", "10.1.0.1:1000").unwrap();
            assert_eq!(until(&mut wire, 28, b"two"), [b"one", b"two"]);
            v6.send_to(b"three", "[fd00:1::1]:1000").unwrap();
            assert_eq!(until(&mut wire, 48, b"three"), [b"three"]);
            // What is larger than the wire goes in fragments, of which each is UDP's.
            v6.send_to(&[7; 2_000], "[fd00:1::1]:1000").unwrap();
            v4.send_to(&[7; 2_000], "10.1.0.1:1000").unwrap();
            v4.send_to(b"four", "10.1.0.1:1000").unwrap();
            let lengths: Vec<usize> = until(&mut wire, 28, b"four").iter().map(Vec::len).collect();
            assert_eq!(lengths.len(), 5, "{lengths:?}");
            let local = UdpSocket::bind("127.0.0.1:0").unwrap();
            for payload in [b"five", b"last"] {
                local.send_to(payload, local.local_addr().unwrap()).unwrap();
            }
            assert_eq!(until(&mut own, 28, b"last"), [b"five", b"last"]);
            assert_eq!((own.drops().unwrap(), wire.drops().unwrap()), (None, None));
        })
        .unwrap();
}

#[test]
fn what_the_kernel_has_no_room_for_is_counted_once() {
    if !inside("what_the_kernel_has_no_room_for_is_counted_once") {
        return;
    }
    let mut world = World::new("drops-").unwrap();
    world.add_host("a").unwrap();
    world
        .within("a", || {
            let mut packets = Packets::open("lo", 1).unwrap();
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let before = now_ns();
            for _ in 0..500 {
                socket.send_to(&[0; 172], socket.local_addr().unwrap()).unwrap();
            }
            let mut kept = 0;
            loop {
                let count = packets.fetch().unwrap();
                if count == 0 {
                    break;
                }
                kept += count as u64;
            }
            let drops = packets.drops().unwrap().unwrap();
            assert_eq!(drops.count + kept, 500);
            assert!(kept < 20 && drops.from_ns <= before && drops.to_ns >= before, "{kept} {drops:?}");
            assert_eq!(packets.drops().unwrap(), None);
        })
        .unwrap();
}

#[test]
fn says_what_is_wrong_and_a_bell_ends_a_wait() {
    if !inside("says_what_is_wrong_and_a_bell_ends_a_wait") {
        return;
    }
    let error = Packets::open("nosuch0", 1).unwrap_err();
    assert!(matches!(&error, PacketsError::NoInterface { got } if got == "nosuch0"), "{error}");
    let mut world = World::new("bell-").unwrap();
    world.add_host("a").unwrap();
    world
        .within("a", || {
            let packets = Packets::open("lo", 1 << 20).unwrap();
            assert_eq!(packets.wait(Duration::from_millis(20)).unwrap(), Woken::Timeout);
            let bell = packets.bell();
            let ringer = std::thread::spawn(move || bell.ring());
            assert_eq!(packets.wait(PATIENCE).unwrap(), Woken::Bell);
            ringer.join().unwrap();
        })
        .unwrap();
}
