//! A visitor's computer on the real kernel: what its kill switch lets out, and what its meter counts.
//!
//! ```text
//!   w ── wlan0 ═══ visitors ── v ── wan0 ═══ eth0 ── net
//!   └─── gr-home ═════════════════════════ tunnel ── h      a cable in the place of a tunnel
//! ```

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test says what broke by panicking")]

mod testbed;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use guestright_firewall::{
    Changes, FirewallError, Guard, KillSwitch, Passage, Surroundings, VisitorMeter, clean_up,
};

use guestright_netns::LinkOptions;
use guestright_netns::testing::until;
use socket2::{Domain, Socket, Type};
use testbed::{MARK, Testbed, V, passage, surroundings};

#[test]
fn nothing_but_the_tunnel_and_the_protocol_reaches_the_access_point() {
    let Some(testbed) = Testbed::inside("nothing_but_the_tunnel_and_the_protocol_reaches_the_access_point")
    else {
        return;
    };
    let switch = testbed.close();
    testbed.on("w", || switch.open_tunnel()).unwrap();
    testbed.listen_at_the_access_point();
    let sent = [
        // (who, to whom, from the interface to the access point?, mark)
        ("datagrams", "192.0.2.1:9", true, None),
        ("datagrams", "10.77.0.1:9999", false, None),
        ("datagrams", "10.77.0.255:9999", false, None),
        ("datagrams", "224.0.0.251:5353", true, None),
        ("datagrams", "203.0.113.5:51820", true, None),
        ("datagrams", "203.0.113.5:51821", false, Some(MARK)),
        ("datagrams", "192.0.2.1:51820", false, Some(MARK)),
        ("dns", "192.0.2.1:53", false, Some(MARK)),
        ("datagrams", "10.77.0.99:7273", false, None),
        ("ipv6", "[fd00:77::1]:9", false, None),
        ("ipv6", "[fd00:77::1]:53", false, None),
        ("ipv6", "[ff02::fb%wlan0]:5353", true, None),
    ];
    for (kind, to, bound, mark) in sent {
        let before = testbed.held(&switch, kind);
        let error = testbed.send("w", to, bound, mark).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{to}: {error}");
        assert!(testbed.held(&switch, kind) > before, "{to} was held back as {kind}");
    }
    let error = testbed.send("w", "[2001:db8::1]:9", false, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HostUnreachable, "IPv6 has no way at all: {error}");
    for (kind, program) in [
        ("ping", "ping -n -c 1 -W 1 10.77.0.1"),
        ("ping", "ping -n -c 1 -W 1 -I wlan0 192.0.2.1"),
        ("connections", "curl -s --max-time 1 http://10.77.0.1/"),
        ("connections", "curl -s --max-time 1 --interface wlan0 http://192.0.2.1/"),
        ("ipv6", "ping -6 -n -c 1 -W 1 fd00:77::1"),
    ] {
        let before = testbed.held(&switch, kind);
        let run = testbed.world.run("w", "sh", &["-c", program]);
        assert!(run.is_err(), "{program}: {run:?}");
        assert!(testbed.held(&switch, kind) > before, "{program} was held back as {kind}");
    }
    assert_eq!(testbed.received_packets(), 0, "the access point has heard nothing yet: {}", testbed.judge());

    // The other way, nobody is let in.
    let before = testbed.held(&switch, "incoming");
    let inside = testbed.udp("w", "0.0.0.0:9999");
    testbed.send("v", "10.77.0.2:9999", false, None).unwrap();
    testbed.until_held(&switch, "incoming", before + 1);
    inside.set_nonblocking(true).unwrap();
    assert_eq!(inside.recv(&mut [0; 10]).unwrap_err().kind(), ErrorKind::WouldBlock);

    // What has to pass does, there and back.
    testbed.exchange(("w", None), ("v", "10.77.0.1:7273"), "10.77.0.2");
    testbed.exchange(("w", Some(MARK)), ("net", "203.0.113.5:51820"), "10.77.0.2");
    assert_eq!(testbed.received_packets(), 2, "and it has heard these: {}", testbed.judge());
    testbed.exchange(("w", None), ("h", "192.0.2.1:9"), "10.99.0.2");
    assert_eq!(testbed.received_packets(), 2, "what goes home goes elsewhere");
    testbed.on("w", || switch.open()).unwrap();
}

#[test]
fn nobody_comes_in_from_the_ports_that_answers_come_from() {
    let Some(testbed) = Testbed::inside("nobody_comes_in_from_the_ports_that_answers_come_from") else {
        return;
    };
    let service = testbed.udp("w", "10.77.0.2:5353");
    let listener = testbed.on("w", || TcpListener::bind("10.77.0.2:8080")).unwrap();
    let intruders = [
        testbed.udp("v", "10.77.0.1:7273"),
        testbed.udp("net", "203.0.113.5:51820"), // Whom the access point lets pass under the home's address.
    ];
    let knock = || {
        let arrived = intruders.iter().map(|intruder| {
            intruder.send_to(b"intruder", "10.77.0.2:5353").unwrap();
            service.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            service.recv(&mut [0; 20]).is_ok()
        });
        let arrived: Vec<_> = arrived.collect();
        let connected = testbed.on("v", || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_reuse_address(true).unwrap();
            socket.bind(&"10.77.0.1:7273".parse::<SocketAddr>().unwrap().into()).unwrap();
            let to = "10.77.0.2:8080".parse::<SocketAddr>().unwrap().into();
            socket.connect_timeout(&to, Duration::from_millis(300)).is_ok()
        });
        (arrived, connected)
    };
    assert_eq!(knock(), (vec![true, true], true), "without the switch everybody comes in");
    let switch = testbed.close();
    testbed.on("w", || switch.open_tunnel()).unwrap();
    let before = testbed.held(&switch, "incoming");
    assert_eq!(knock(), (vec![false, false], false), "behind it nobody does");
    assert!(testbed.held(&switch, "incoming") >= before + 3, "and they are counted");
    // What the visitor itself begins is answered.
    drop(intruders);
    testbed.exchange(("w", None), ("v", "10.77.0.1:7273"), "10.77.0.2");
    testbed.exchange(("w", Some(MARK)), ("net", "203.0.113.5:51820"), "10.77.0.2");
    drop(listener);
    testbed.on("w", || switch.open()).unwrap();
}

#[test]
fn names_are_asked_for_at_home_whoever_is_asked() {
    let Some(testbed) = Testbed::inside("names_are_asked_for_at_home_whoever_is_asked") else {
        return;
    };
    // Connection tracking is on already, and a resolver on this computer has a conversation with the access point's.
    testbed.nft(
        "w",
        "table inet own {\nchain c {\ntype filter hook output priority 0; ct state new accept; }\n}\n",
    );
    let theirs = testbed.udp("v", "10.77.0.1:53");
    let stub = testbed.udp("w", "0.0.0.0:0");
    stub.connect("10.77.0.1:53").unwrap();
    stub.send(b"before").unwrap();
    let (_, from) = theirs.recv_from(&mut [0; 20]).unwrap();
    theirs.send_to(b"answer", from).unwrap();
    stub.recv(&mut [0; 20]).unwrap();

    let switch = testbed.close();
    testbed.on("w", || switch.open_tunnel()).unwrap();
    testbed.listen_at_the_access_point();
    let home = testbed.udp("h", "10.99.0.1:53");
    let mut buffer = [0; 20];
    for resolver in ["10.77.0.1:53", "192.0.2.53:53", "10.77.0.7:53"] {
        let client = testbed.udp("w", "0.0.0.0:0");
        client.connect(resolver).unwrap();
        client.send(b"question").unwrap();
        let (length, from) = home.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from.ip().to_string().as_str()), (&b"question"[..], "10.99.0.2"));
        home.send_to(b"answer", from).unwrap();
        assert_eq!(client.recv(&mut buffer).unwrap(), 6, "{resolver} seems to answer");
    }
    stub.send(b"after").unwrap();
    let (length, from) = home.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"after", "the old conversation goes home too");
    home.send_to(b"answer", from).unwrap();
    assert_eq!(stub.recv(&mut buffer).unwrap(), 6);
    // Whoever asks a resolver on this computer gets to it.
    let local = testbed.udp("w", "127.0.0.53:53");
    let client = testbed.udp("w", "0.0.0.0:0");
    client.send_to(b"local", "127.0.0.53:53").unwrap();
    assert_eq!(local.recv(&mut buffer).unwrap(), 5);
    assert_eq!(testbed.received_packets(), 0, "the access point has heard nothing: {}", testbed.judge());
    testbed.on("w", || switch.open()).unwrap();
}

#[test]
fn a_killed_run_leaves_the_switch_closed_and_the_next_takes_over_without_a_gap() {
    let test = "a_killed_run_leaves_the_switch_closed_and_the_next_takes_over_without_a_gap";
    let Some(testbed) = Testbed::inside(test) else { return };
    let condition = testbed.condition();
    std::mem::forget(testbed.close()); // As kill -9 does.
    testbed.listen_at_the_access_point();
    let chatty = testbed.socket("w", true, None, false);
    let error = chatty.send_to(b"x", &"192.0.2.1:9".parse::<SocketAddr>().unwrap().into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    let error = testbed.send("w", "192.0.2.1:9", false, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HostUnreachable, "{error}");

    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let (mut sent, mut passed) = (0_u64, 0_u64);
            while !done.load(Ordering::Relaxed) {
                let to = "192.0.2.1:9".parse::<SocketAddr>().unwrap().into();
                passed += u64::from(chatty.send_to(b"x", &to).is_ok());
                sent += 1;
            }
            (sent, passed)
        });
        for _ in 0..20 {
            std::mem::forget(testbed.close());
        }
        let mut switch = testbed.close();
        let other = Surroundings { access_point: Ipv4Addr::new(10, 77, 0, 3), ..surroundings() };
        for _ in 0..20 {
            testbed.on("w", || switch.move_to(other.clone())).unwrap();
            testbed.on("w", || switch.move_to(surroundings())).unwrap();
        }
        assert!(testbed.held(&switch, "datagrams") > 0, "what was held back before is not forgotten");
        done.store(true, Ordering::Relaxed);
        let (sent, passed) = sending.join().unwrap();
        assert!(sent > 1_000, "{sent}");
        assert_eq!((passed, testbed.received_packets()), (0, 0), "of {sent}: {}", testbed.judge());
        std::mem::forget(switch);
    });
    testbed.on("w", || clean_up(&testbed.state_file())).unwrap();
    assert_eq!(testbed.condition(), condition, "everything is as it was before");
    assert!(!testbed.state_file().exists());
}

#[test]
fn opening_puts_everything_back_as_it_was() {
    let Some(testbed) = Testbed::inside("opening_puts_everything_back_as_it_was") else { return };
    testbed
        .world
        .run("w", "ip", &["rule", "add", "preference", "100", "from", "10.1.2.3", "table", "77"])
        .unwrap();
    let condition = testbed.condition();
    let switch = testbed.close();
    testbed.on("w", || switch.open_tunnel()).unwrap();
    assert_ne!(testbed.condition(), condition);
    testbed.on("w", || switch.open()).unwrap();
    assert_eq!(testbed.condition(), condition);

    // A table that is somebody else's is left alone.
    testbed.nft("w", "table inet guestright_guard { }");
    let theirs = testbed.condition();
    let refused = testbed.on("w", || KillSwitch::close(passage(), surroundings(), &testbed.state_file()));
    assert!(matches!(refused, Err(FirewallError::TableTaken { .. })), "{refused:?}");
    let nowhere = Surroundings { interface: "wlan9".to_owned(), ..surroundings() };
    let refused = testbed.on("w", || KillSwitch::close(passage(), nowhere, &testbed.state_file()));
    assert_eq!(refused.unwrap_err(), FirewallError::NoInterface { name: "wlan9".to_owned() });
    assert_eq!(testbed.condition(), theirs);
}

#[test]
fn a_switch_is_closed_before_there_is_a_network_and_for_interfaces_that_come_later() {
    let test = "a_switch_is_closed_before_there_is_a_network_and_for_interfaces_that_come_later";
    let Some(testbed) = Testbed::inside(test) else { return };
    let condition = testbed.condition();
    let inner = vec!["virbr*".to_owned()];
    let passage = Passage { guard: Guard::AllBut(inner), ..passage() };
    let mut switch = testbed.on("w", || KillSwitch::close(passage, None, &testbed.state_file())).unwrap();
    testbed.listen_at_the_access_point();
    // Nobody has said a word of this interface, or of the one that comes now.
    for (to, mark) in [("10.77.0.1:9999", None), ("10.77.0.255:9", None), ("10.77.0.1:7273", None)] {
        assert!(testbed.send("w", to, true, mark).is_err(), "{to}");
    }
    testbed.world.link(("w", "usb0"), ("v", "usb-end"), &LinkOptions::default()).unwrap();
    testbed.world.address("w", "usb0", "10.78.0.2/24").unwrap();
    assert!(testbed.send("w", "10.78.0.1:9", false, None).is_err());
    // A network of this computer's own is none of anybody else's.
    testbed.world.link(("w", "virbr0"), ("h", "guest"), &LinkOptions::default()).unwrap();
    testbed.world.address("w", "virbr0", "10.79.0.1/24").unwrap();
    testbed.world.address("h", "guest", "10.79.0.2/24").unwrap();
    testbed.exchange(("w", None), ("h", "10.79.0.2:9"), "10.79.0.1");
    assert_eq!(testbed.received_packets(), 0, "{}", testbed.judge());
    // And the home's own door opens with the network.
    testbed.on("w", || switch.move_to(surroundings())).unwrap();
    testbed.exchange(("w", Some(MARK)), ("net", "203.0.113.5:51820"), "10.77.0.2");
    testbed.on("w", || switch.open()).unwrap();
    for (host, interface) in [("w", "usb0"), ("w", "virbr0")] {
        testbed.world.run(host, "ip", &["link", "delete", interface]).unwrap();
    }
    assert_eq!(testbed.condition(), condition, "everything is as it was before");
}

#[test]
fn marked_connections_reach_a_portal_while_it_is_open_and_nothing_else_does() {
    let test = "marked_connections_reach_a_portal_while_it_is_open_and_nothing_else_does";
    let Some(testbed) = Testbed::inside(test) else { return };
    let mut switch = testbed.close();
    let portal = testbed.on("v", || TcpListener::bind("10.77.0.1:80")).unwrap();
    let connect = |mark: Option<u32>| {
        testbed.on("w", || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            if let Some(mark) = mark {
                socket.set_mark(mark).unwrap();
            }
            let address: SocketAddr = "10.77.0.1:80".parse().unwrap();
            socket.connect_timeout(&address.into(), Duration::from_millis(500)).map(|()| socket)
        })
    };
    assert!(connect(Some(MARK)).is_err(), "it is closed until it is opened");
    testbed.on("w", || switch.move_to(Surroundings { portal: true, ..surroundings() })).unwrap();
    let mut ours = connect(Some(MARK)).unwrap();
    let (mut theirs, _) = portal.accept().unwrap();
    theirs.write_all(b"welcome").unwrap();
    ours.read_exact(&mut [0; 7]).unwrap();
    testbed.exchange(("w", Some(MARK)), ("v", "10.77.0.1:53"), "10.77.0.2");
    // Everybody else's are held back, and so is whatever else is marked, or comes from there by itself.
    assert!(connect(None).is_err());
    for (to, mark) in [("10.77.0.1:53", None), ("10.77.0.1:54", Some(MARK)), ("192.0.2.1:443", Some(MARK))] {
        assert!(testbed.send("w", to, true, mark).is_err(), "{to} {mark:?}");
    }
    let before = testbed.held(&switch, "incoming");
    testbed.send("v", "10.77.0.2:9", false, None).unwrap();
    testbed.until_held(&switch, "incoming", before + 1);
    testbed.on("w", || switch.move_to(surroundings())).unwrap();
    assert!(connect(Some(MARK)).is_err(), "it is closed again");
    theirs.write_all(b"more").unwrap();
    ours.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(ours.read(&mut [0; 7]).is_err(), "also for a connection that there was");
}

#[test]
fn what_another_program_takes_from_the_switch_is_put_back() {
    let test = "what_another_program_takes_from_the_switch_is_put_back";
    let Some(testbed) = Testbed::inside(test) else { return };
    let mut switch = testbed.close();
    testbed.on("w", || switch.open_tunnel()).unwrap();
    let table = MARK.to_string();
    let of_ours = || {
        let script = format!(
            "nft --stateless list table inet guestright_guard; ip rule; ip -6 rule; ip route show table {table}; \
             ip -6 route show table {table}"
        );
        testbed.world.run("w", "sh", &["-c", &format!("{script}; true")]).unwrap()
    };
    let closed = of_ours();
    let mut put_back = || testbed.on("w", || switch.put_back(true)).unwrap();
    assert!(!put_back(), "nothing was changed");
    let guard = ["inet", "guestright_guard"];
    let attacks: [(&str, Vec<&str>); 7] = [
        ("nft", [&["flush", "table"][..], &guard].concat()),
        ("nft", [&["flush", "chain"][..], &guard, &["leaving"]].concat()),
        ("nft", [&["delete", "table"][..], &guard].concat()),
        ("nft", [&["insert", "rule"][..], &guard, &["leaving", "accept"]].concat()),
        ("ip", vec!["-4", "rule", "delete", "preference", "7273"]),
        ("ip", vec!["-6", "rule", "delete", "preference", "7272"]),
        ("ip", vec!["-4", "route", "flush", "table", &table]),
    ];
    for (program, arguments) in attacks {
        testbed.world.run("w", program, &arguments).unwrap();
        assert_ne!(of_ours(), closed, "{arguments:?} does something");
        assert!(put_back(), "{arguments:?} is noticed");
        assert_eq!(of_ours(), closed, "{arguments:?} is undone");
        assert!(!put_back(), "{arguments:?} is undone whole");
    }
    // A household's firewall that is loaded anew flushes everybody's tables, and keeps its own.
    testbed.nft("w", "flush ruleset\ntable inet household { chain mine { }; }");
    assert!(put_back());
    assert_eq!(of_ours(), closed);
    testbed.nft("w", "delete table inet household");
    assert!(!put_back(), "other tables are none of ours");
    testbed.on("w", || switch.open()).unwrap();
}

#[test]
fn the_switch_follows_its_home() {
    let Some(testbed) = Testbed::inside("the_switch_follows_its_home") else { return };
    let mut switch = testbed.close();
    testbed.world.address("net", "eth0", "203.0.113.6/24").unwrap();
    let [old, new] = ["203.0.113.5:51820", "203.0.113.6:51820"];
    assert!(testbed.send("w", new, false, Some(MARK)).is_err());
    let SocketAddr::V4(address) = new.parse().unwrap() else { unreachable!() };
    testbed.on("w", || switch.follow_home(address)).unwrap();
    testbed.exchange(("w", Some(MARK)), ("net", new), "10.77.0.2");
    assert!(testbed.send("w", old, false, Some(MARK)).is_err(), "the old address is closed");
}

#[test]
fn a_strict_reverse_path_filter_lets_the_tunnel_be() {
    let Some(testbed) = Testbed::inside("a_strict_reverse_path_filter_lets_the_tunnel_be") else { return };
    testbed.world.sysctl("w", "net.ipv4.conf.all.rp_filter", "1").unwrap();
    let passage = Passage { resolver: Some(Ipv4Addr::new(10, 99, 0, 1)), ..passage() };
    let switch =
        testbed.on("w", || KillSwitch::close(passage, surroundings(), &testbed.state_file())).unwrap();
    testbed.on("w", || switch.open_tunnel()).unwrap();
    testbed.exchange(("w", Some(MARK)), ("net", "203.0.113.5:51820"), "10.77.0.2");
    testbed.exchange(("w", None), ("h", "192.0.2.1:9"), "10.99.0.2");
    let home = testbed.udp("h", "10.99.0.1:53");
    let client = testbed.udp("w", "0.0.0.0:0");
    client.connect("10.77.0.1:53").unwrap();
    client.send(b"question").unwrap();
    let (_, from) = home.recv_from(&mut [0; 20]).unwrap();
    home.send_to(b"answer", from).unwrap();
    client.recv(&mut [0; 20]).unwrap();
}

#[test]
fn datagrams_cut_from_super_frames_are_counted_as_they_fly() {
    let Some(testbed) = Testbed::inside("datagrams_cut_from_super_frames_are_counted_as_they_fly") else {
        return;
    };
    // The kernel's UDP_SEGMENT (udp(7)), and what a link without offload makes of it.
    const SEND: &str = "import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    s.sendto(bytes(int(sys.argv[1]) * 20), ('203.0.113.5', 51820))
";
    // The kernels' own questions of IPv6, which come when they like, would be among what is counted.
    for (host, interface) in [("w", "wlan0"), ("v", "visitors")] {
        testbed.world.sysctl(host, &format!("net.ipv6.conf.{interface}.disable_ipv6"), "1").unwrap();
    }
    let meter = testbed.on("w", || VisitorMeter::up("wlan0", V, &testbed.folder.join("meter.json"))).unwrap();
    testbed.listen_at_the_access_point();
    for (size, count) in [(1_400, 50), (100, 50)] {
        let before = testbed.on("w", || meter.read()).unwrap();
        let there = testbed.received_bytes();
        let (size_text, count_text) = (size.to_string(), count.to_string());
        testbed.world.run("w", "python3", &["-c", SEND, &size_text, &count_text]).unwrap();
        let wanted = count * 20 * (size + 28);
        until("the access point to have heard all", || testbed.received_bytes() - there >= wanted);
        let after = testbed.on("w", || meter.read()).unwrap();
        assert_eq!(testbed.received_bytes() - there, wanted, "the access point counts datagrams");
        let counted = after.up - before.up;
        // A question and an answer of ARP may be among the frames.
        assert!((wanted..=wanted + 4 * 28).contains(&counted), "{counted}, not {wanted}");
    }
    testbed.on("w", || meter.down()).unwrap();
}

#[test]
fn whatever_may_mean_another_access_point_is_told_at_once() {
    let Some(testbed) = Testbed::inside("whatever_may_mean_another_access_point_is_told_at_once") else {
        return;
    };
    let notifications = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&notifications);
    let on_change = move || _ = count.fetch_add(1, Ordering::SeqCst);
    let changes = testbed.on("w", || Changes::watch(on_change)).unwrap();
    for command in [
        "link set wlan0 down",
        "link set wlan0 up",
        "address add 10.78.0.2/24 dev wlan0",
        "route replace default via 10.78.0.1 dev wlan0",
        "neighbour replace 10.78.0.1 lladdr 02:00:5e:10:00:99 dev wlan0",
        "neighbour replace 10.78.0.1 lladdr 02:00:5e:10:00:98 dev wlan0",
        "route delete default",
    ] {
        let before = notifications.load(Ordering::SeqCst);
        testbed.world.run("w", "ip", &command.split(' ').collect::<Vec<_>>()).unwrap();
        until(command, || notifications.load(Ordering::SeqCst) > before);
    }
    // Far more at once than the kernel keeps for us is still news, and not an error.
    let before = notifications.load(Ordering::SeqCst);
    let many = "for n in $(seq 1 250); do for m in 1 2 3 4; do echo address add 10.78.$m.$n/32 dev wlan0; done; done \
                | ip -batch -";
    testbed.world.run("w", "sh", &["-c", many]).unwrap();
    until("word of many changes", || notifications.load(Ordering::SeqCst) > before);
    drop(changes);
    let after = notifications.load(Ordering::SeqCst);
    testbed.world.run("w", "ip", &["link", "set", "wlan0", "down"]).unwrap();
    assert_eq!(notifications.load(Ordering::SeqCst), after, "nothing is told after the end");
}
