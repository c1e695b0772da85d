//! Tunnels on the real kernel: TUN devices and sockets in network namespaces, against ourselves and against
//! `wireguard-go`.
//!
//! Every test starts itself again inside a sandbox, so whatever happens leaves nothing behind.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says what broke by panicking, and prints what it measured"
)]

mod testbed;

use guestright_netns::testing::{PATIENCE, eventually, until};
use guestright_tunnel::{DropReason, Endpoint};
use guestright_wireguard::Peer;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};
use testbed::{End, INSIDE_CLIENT, INSIDE_SERVER, PORT, SERVER, Testbed, client_peer, key, server_peer};

/// The other implementation, from Debian's package wireguard-go.
const REFERENCE: &str = "wireguard-go";

/// Datagrams of a flood that are sent at once, and how long it may then wait for the server to look at one.
const JUNK_AT_ONCE: u32 = 500;
const JUNK_PAUSE_MAX: Duration = Duration::from_millis(100);

/// Seconds within which the answer to a ping comes that has to come, on a crowded computer too.
const PING_WITHIN: &str = "60";

#[test]
fn two_ends_carry_everything_and_leave_nothing() {
    let Some(testbed) = Testbed::inside("two_ends_carry_everything_and_leave_nothing") else {
        return;
    };
    let (client, server) = testbed.pair();
    until("a ping comes back", || testbed.ping("client", &[&INSIDE_SERVER.to_string()]));
    let before = testbed.world.counters("server", "eth0").unwrap();
    testbed.carry("client", "server", INSIDE_SERVER, 10);
    testbed.carry("server", "client", INSIDE_CLIENT, 10);
    let after = testbed.world.counters("server", "eth0").unwrap();
    let frames = after.received_frames + after.sent_frames - before.received_frames - before.sent_frames;
    let bytes = after.received_bytes + after.sent_bytes - before.received_bytes - before.sent_bytes;
    assert!(bytes / frames <= 1_514, "no super-frames: {bytes} bytes in {frames} frames");
    for end in [&client, &server] {
        assert_eq!(end.core.counters().drops().collect::<Vec<_>>(), [], "nothing was dropped");
        assert_eq!(end.pump.counters(), guestright_tun::PumpCounters::default());
        let status = end.core.status().remove(0);
        assert!(status.agreed.is_some() && status.received.0 > 10 << 20 && status.sent.0 > 10 << 20);
    }
    let seen = server.core.status().remove(0).address.unwrap();
    assert_eq!(seen.ip(), Ipv4Addr::new(198, 51, 100, 1), "the server sees the client behind the NAT");
    let links = || testbed.world.run("client", "ip", &["link"]).unwrap();
    assert!(links().contains("tunnel0"));
    assert_eq!(pump_threads(), 4);
    client.pump.stop().unwrap();
    server.pump.stop().unwrap();
    // The kernel lists a thread until a moment after it was joined.
    eventually(0, pump_threads);
    assert!(!links().contains("tunnel0"), "no interface is left");
}

#[test]
fn bursts_of_voice_arrive_whole_and_in_order() {
    let Some(testbed) = Testbed::inside("bursts_of_voice_arrive_whole_and_in_order") else {
        return;
    };
    let (client, server) = testbed.pair();
    until("a ping comes back", || testbed.ping("client", &[&INSIDE_SERVER.to_string()]));
    let receiver = testbed.on("server", || UdpSocket::bind((INSIDE_SERVER, 7_000)).unwrap());
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    let calls = [0, 1, 2].map(|_| testbed.on("client", || UdpSocket::bind((INSIDE_CLIENT, 0)).unwrap()));
    for round in 0..200_u32 {
        // Two calls with the same codec and one with another, whose packets become longer and shorter.
        for number in 0..8_u8 {
            for (call, socket) in (0_u8..).zip(&calls) {
                let length = if call < 2 { 32 } else { 20 + usize::from(number) * 3 % 13 };
                let mut packet = vec![call; length];
                packet[..4].copy_from_slice(&(round * 8 + u32::from(number)).to_be_bytes());
                socket.send_to(&packet, (INSIDE_SERVER, 7_000)).unwrap();
            }
        }
        let mut next = [round * 8; 3];
        for _ in 0..24 {
            let mut packet = [0; 2_000];
            let length = receiver.recv(&mut packet).unwrap();
            let call = usize::from(packet[4]);
            let number = u32::from_be_bytes([packet[0], packet[1], packet[2], packet[3]]);
            assert!(packet[4..length].iter().all(|byte| usize::from(*byte) == call), "round {round}");
            assert_eq!(number, next[call], "call {call} in order");
            let want = if call < 2 { 32 } else { 20 + usize::try_from(number % 8).unwrap() * 3 % 13 };
            assert_eq!(length, want, "call {call}, packet {number}");
            next[call] += 1;
        }
    }
    assert_eq!(server.core.counters().drops().count() + client.core.counters().drops().count(), 0);
}

#[test]
fn speaks_with_the_reference() {
    let Some(testbed) = Testbed::inside("speaks_with_the_reference") else {
        return;
    };
    for ours in ["client", "server"] {
        let theirs = if ours == "client" { "server" } else { "client" };
        let mut reference = reference(&testbed, theirs);
        let peer = if ours == "client" { server_peer() } else { client_peer() };
        let end = testbed.end(ours, &key(if ours == "client" { 2 } else { 1 }), &[peer]);
        // The side that knows where the other is begins.
        until("a ping comes back", || testbed.ping("client", &[&INSIDE_SERVER.to_string()]));
        testbed.carry("client", "server", INSIDE_SERVER, 10);
        testbed.carry("server", "client", INSIDE_CLIENT, 10);
        let handshakes =
            testbed.world.run(theirs, "wg", &["show", "reference0", "latest-handshakes"]).unwrap();
        assert!(!handshakes.trim().ends_with("\t0"), "it says so too: {handshakes}");
        assert_eq!(end.core.counters().drops().collect::<Vec<_>>(), [], "ours at the {ours}");
        end.pump.stop().unwrap();
        reference.terminate().unwrap();
        reference.wait().unwrap();
    }
}

#[test]
fn a_flow_survives_that_its_client_moves() {
    let Some(testbed) = Testbed::inside("a_flow_survives_that_its_client_moves") else {
        return;
    };
    let (client, server) = testbed.pair();
    until("a ping comes back", || testbed.ping("client", &[&INSIDE_SERVER.to_string()]));
    let before = server.core.status().remove(0).address.unwrap();
    let flow = testbed.flow("client", "server", INSIDE_SERVER, 60);
    let carried = server.core.counters().received;
    until("half of it has gone", || server.core.counters().received > carried + 20_000);
    // The router is another one now: other addresses on both of its sides.
    testbed.world.run("router", "ip", &["address", "add", "198.51.100.9/24", "dev", "wan0"]).unwrap();
    let rules = "flush chain ip nat out; add rule ip nat out oifname wan0 snat to 198.51.100.9";
    testbed.world.run("router", "nft", &[rules]).unwrap();
    for (host, arguments) in [
        ("router", ["address", "add", "10.30.0.1/24", "dev", "lan0"]),
        ("client", ["address", "add", "10.30.0.2/24", "dev", "eth0"]),
        ("client", ["route", "replace", "default", "via", "10.30.0.1"]),
        ("client", ["address", "delete", "10.10.0.2/24", "dev", "eth0"]),
    ] {
        testbed.world.run(host, "ip", &arguments).unwrap();
    }
    flow.join().unwrap();
    // All of the flow may have been on its way when the client moved: the server has seen the new address once something
    // has come back to it.
    until("a ping comes back", || testbed.ping("client", &[&INSIDE_SERVER.to_string()]));
    let after = server.core.status().remove(0).address.unwrap();
    assert_ne!(before.ip(), after.ip());
    assert_eq!(after.ip(), Ipv4Addr::new(198, 51, 100, 9));
    drop((client, server));
}

#[test]
fn a_restarted_end_is_back_and_need_not_wait_to_be_spoken_to() {
    let Some(testbed) = Testbed::inside("a_restarted_end_is_back_and_need_not_wait_to_be_spoken_to") else {
        return;
    };
    let (client, mut server) = testbed.pair();
    let ping = || testbed.ping("client", &[&INSIDE_SERVER.to_string()]);
    until("a ping comes back", ping);
    for initiating in [false, true] {
        let last = server.core.status().remove(0).address;
        server.pump.stop().unwrap();
        let known = Peer { address: last.filter(|_| initiating), ..client_peer() };
        server = testbed.end("server", &key(1), &[known]);
        let mut took = Duration::ZERO;
        if initiating {
            server.core.initiate(&client_peer().public_key).unwrap();
            server.pump.kick();
            // Nobody speaks to it: keys are agreed on because it has begun.
            took += until("both to agree on keys", || server.core.status().remove(0).agreed.is_some());
        }
        took += until("a ping comes back", ping);
        println!("back after {took:?}, the server initiating: {initiating}");
    }
    drop(client);
}

#[test]
fn large_packets_find_no_black_hole() {
    let Some(testbed) = Testbed::inside("large_packets_find_no_black_hole") else {
        return;
    };
    let (client, server) = testbed.pair();
    until("a ping comes back", || testbed.ping("client", &[&INSIDE_SERVER.to_string()]));
    testbed.world.run("server", "ip", &["route", "add", "10.20.0.0/24", "dev", "tunnel0"]).unwrap();
    let receiver = testbed.on("server", || UdpSocket::bind((INSIDE_SERVER, 7_000)).unwrap());
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    // 1,500 bytes in all, not to be fragmented: on the computer itself, and from one behind it by ICMP.
    for (host, whose) in [("client", "the kernel's"), ("behind", "by ICMP")] {
        let sender = testbed.unfragmented(host, (INSIDE_SERVER, 7_000));
        until(&format!("it is said that 1,500 bytes are too much, {whose}"), || {
            sender.send(&[0; 1_472]).is_err_and(|error| error.raw_os_error() == Some(libc::EMSGSIZE))
        });
        // What was said of the packets before may be said again here.
        until("1,420 bytes are not too much", || sender.send(&[5; 1_392]).is_ok());
        let mut buffer = [0; 2_000];
        assert_eq!(receiver.recv(&mut buffer).unwrap(), 1_392, "1,420 bytes in all arrive from the {host}");
    }
    testbed.carry("behind", "server", INSIDE_SERVER, 5);
    testbed.carry("server", "behind", Ipv4Addr::new(10, 20, 0, 2), 5);
    // Now the way is narrower than what the tunnel sends: in its middle, and then at the client itself.
    for narrow in [["router", "wan0"], ["client", "eth0"]] {
        for [host, interface] in
            [narrow, if narrow[0] == "router" { ["server", "eth0"] } else { ["router", "lan0"] }]
        {
            testbed.world.run(host, "ip", &["link", "set", interface, "mtu", "1400"]).unwrap();
        }
        assert!(
            testbed
                .ping("client", &["-W", PING_WITHIN, "-M", "do", "-s", "1392", &INSIDE_SERVER.to_string()]),
            "{narrow:?}"
        );
        testbed.carry("client", "server", INSIDE_SERVER, 5);
        testbed.carry("server", "client", INSIDE_CLIENT, 5);
    }
    assert!(client.pump.counters().split > 0, "segments that need fragments went one by one");
    assert_eq!((client.pump.counters().unsent, server.pump.counters().unsent), (0, 0));
}

#[test]
fn floods_of_junk_stop_nothing() {
    let Some(testbed) = Testbed::inside("floods_of_junk_stop_nothing") else {
        return;
    };
    let (client, server) = testbed.pair();
    until("a ping comes back", || testbed.ping("client", &[&INSIDE_SERVER.to_string()]));
    let flood = testbed.on("router", || UdpSocket::bind("198.51.100.1:0").unwrap());
    flood.connect(SERVER).unwrap();
    let flow = testbed.flow("client", "server", INSIDE_SERVER, 10);
    let started = Instant::now();
    let mut sent = 0_u32;
    let dropped = || server.core.counters().drops().map(|(_, count)| count).sum::<u64>();
    let mut before = dropped();
    while started.elapsed() < Duration::from_secs(2) || !flow.is_finished() {
        assert!(started.elapsed() < PATIENCE, "the flow ends");
        let mut junk = [sent.to_le_bytes()[0]; 200];
        junk[..8].copy_from_slice(&[
            u8::try_from(sent % 6).unwrap(),
            0,
            0,
            0,
            9,
            9,
            9,
            sent.to_le_bytes()[1],
        ]);
        let length = [0, 3, 16, 31, 32, 64, 92, 148, 200][usize::try_from(sent).unwrap() % 9];
        let _ = flood.send(&junk[..length]); // Full buffers are part of a flood.
        sent += 1;
        // More than the server's socket has room for; then the server has its turn, also where it shares the processor with
        // this loop.
        if sent.is_multiple_of(JUNK_AT_ONCE) {
            let paused = Instant::now();
            while dropped() == before && paused.elapsed() < JUNK_PAUSE_MAX {
                std::thread::sleep(Duration::from_millis(1));
            }
            before = dropped();
        }
    }
    flow.join().unwrap();
    let counters = server.core.counters();
    println!("{sent} sent, {counters:?}");
    for reason in [DropReason::Malformed, DropReason::UnknownPeer, DropReason::NotAuthentic] {
        assert!(counters.dropped(reason) > 100, "{}: {counters:?}", reason.name());
    }
    until("a ping comes back", || testbed.ping("client", &[&INSIDE_SERVER.to_string()]));
    drop(client);
}

#[test]
fn a_deleted_interface_is_an_error_and_a_closed_port_is_none() {
    let Some(testbed) = Testbed::inside("a_deleted_interface_is_an_error_and_a_closed_port_is_none") else {
        return;
    };
    // Nobody listens at the server: the router's ICMP comes back, and changes nothing.
    let End { core, pump } = testbed.end("client", &key(2), &[server_peer()]);
    assert!(!testbed.ping("client", &[&INSIDE_SERVER.to_string()]));
    let server = testbed.end("server", &key(1), &[client_peer()]);
    until("a ping comes back", || testbed.ping("client", &[&INSIDE_SERVER.to_string()]));
    testbed.world.run("server", "ip", &["link", "set", "tunnel0", "down"]).unwrap();
    assert!(!testbed.ping("client", &[&INSIDE_SERVER.to_string()]), "down");
    testbed.world.run("server", "ip", &["link", "set", "tunnel0", "up"]).unwrap();
    until("a ping comes back", || testbed.ping("client", &[&INSIDE_SERVER.to_string()]));
    drop((core, pump, server));
    let (sender, hears) = std::sync::mpsc::channel();
    let endpoint = std::sync::Arc::new(guestright_wireguard::Userspace::new(&key(3), Default::default()));
    let (device, socket) = testbed.on("client", || {
        let device =
            guestright_tun::Device::open(&guestright_tun::DeviceSettings::new("tunnel1", 1_400)).unwrap();
        (device, guestright_tun::Socket::open(&guestright_tun::SocketSettings::default()).unwrap())
    });
    let sender = std::sync::Mutex::new(sender);
    let pump = guestright_tun::Pump::start(device, socket, endpoint, move |error| {
        sender.lock().unwrap().send(error).unwrap();
    });
    testbed.world.run("client", "ip", &["link", "delete", "tunnel1"]).unwrap();
    let error = hears.recv_timeout(PATIENCE).unwrap();
    assert!(
        matches!(&error, guestright_tun::TunError::DeviceLost { name, .. } if name == "tunnel1"),
        "{error}"
    );
    assert_eq!(pump.unwrap().stop(), Err(error));
}

/// How many threads of this process pump: two for each end.
fn pump_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    tasks.filter_map(|task| name(task.ok()?)).filter(|name| name.starts_with("tunnel-")).count()
}

/// `wireguard-go` on a host, as that side of the tunnel.
fn reference(testbed: &Testbed, host: &str) -> guestright_netns::Process {
    let process = testbed.spawn(host, REFERENCE, &["-f", "reference0"]);
    let (own, peer, inside) = match host {
        "server" => (key(1), client_peer(), INSIDE_SERVER),
        _ => (key(2), server_peer(), INSIDE_CLIENT),
    };
    until("the interface is there", || {
        testbed.world.run(host, "ip", &["link", "show", "reference0"]).is_ok()
    });
    let networks: Vec<String> = peer.allowed_ips.iter().map(ToString::to_string).collect();
    let mut text = format!("[Interface]\nPrivateKey = {}\n", own.to_base64().as_str());
    if host == "server" {
        text += &format!("ListenPort = {PORT}\n");
    }
    text += &format!("[Peer]\nPublicKey = {}\nAllowedIPs = {}\n", peer.public_key, networks.join(", "));
    if host == "client" {
        text += &format!("Endpoint = {SERVER}\n");
    }
    let file = testbed.folder.join(format!("{host}.conf"));
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    until("it takes its configuration", || {
        testbed.world.run(host, "wg", &["setconf", "reference0", file]).is_ok()
    });
    testbed.world.run(host, "ip", &["address", "add", &format!("{inside}/24"), "dev", "reference0"]).unwrap();
    testbed.world.run(host, "ip", &["link", "set", "reference0", "mtu", "1420", "up"]).unwrap();
    process
}
