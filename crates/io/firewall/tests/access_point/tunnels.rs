//! Visitors that have nothing but a tunnel: allowances, grants, and what both ends of a tunnel learn and count.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::Duration;

use guestright_airtime::{Count, Counted};
use guestright_firewall::{
    Class, Firewall, FirewallError, Flow, Reading, Settings, Traffic, TunnelMeter, Tunnels,
    check_connections, translated_ports,
};

use guestright_netns::testing::eventually;

use crate::HEADERS;
use crate::testbed::{ALL, Testbed, W1, W2, mac};

const HOME: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 2);
const TUNNEL: u16 = 51_820;
/// Datagrams of 1,000 bytes and their headers.
const PACKET: u64 = 1_000 + HEADERS;

fn home() -> SocketAddrV4 {
    SocketAddrV4::new(HOME, TUNNEL)
}

fn up(testbed: &Testbed, tunnels: Tunnels) -> Firewall {
    testbed.up_with(Settings { tunnels: Some(tunnels), ..testbed.settings() })
}

/// Sends up to `most` datagrams and waits for each one's echo; gives how many came back before one did not.
fn echoed(client: &UdpSocket, to: SocketAddrV4, most: u64) -> u64 {
    client.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let one = |_: &u64| client.send_to(&[0; 1_000], to).and_then(|_| client.recv(&mut [0; 2_000])).is_ok();
    (0..most).take_while(one).count() as u64
}

fn used(testbed: &Testbed, firewall: &mut Firewall) -> u64 {
    testbed.on("ap", || firewall.drops_and_allowance()).unwrap().1
}

#[test]
fn a_tunnel_without_a_grant_stops_at_its_allowance() {
    let Some(testbed) = Testbed::inside("tunnels::a_tunnel_without_a_grant_stops_at_its_allowance", true)
    else {
        return;
    };
    let mut firewall = up(&testbed, Tunnels::default());
    let server = testbed.echo("net", "203.0.113.2:51820");
    // Both use the same port, so one of them has to be given another.
    let clients = [("w1", W1), ("w2", W2)].map(|(host, ip)| (testbed.udp(host, &format!("{ip}:5000")), ip));
    for (client, ip) in &clients {
        let passed = echoed(client, home(), 1_000);
        // The last echo that passes may be the packet before the last that fits.
        assert!(
            (131_072 / PACKET / 2 - 1..=131_072 / PACKET / 2).contains(&passed),
            "{passed} came back to {ip}"
        );
    }
    let used = used(&testbed, &mut firewall);
    assert!((2 * (131_072 - 2 * PACKET)..=2 * 131_072).contains(&used), "{used}");
    assert!(testbed.drops(&mut firewall)["allowance"] >= 2);

    let flow = |ip| Flow { visitor: SocketAddrV4::new(ip, 5_000), home: home() };
    let flows = testbed.on("ap", || firewall.flows()).unwrap();
    assert_eq!(flows, BTreeSet::from([flow(W1), flow(W2)]));
    let ports = testbed.on("ap", || translated_ports(&flows)).unwrap();
    assert_ne!(ports[&flow(W1)], ports[&flow(W2)]);
    let seen: BTreeSet<u16> = server.senders().iter().map(|sender| sender.port()).collect();
    assert_eq!(seen, ports.values().map(|port| port.get()).collect(), "as the home sees them");
    testbed.on("ap", check_connections).unwrap();
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn an_allowance_leads_to_homes_only() {
    let Some(testbed) = Testbed::inside("tunnels::an_allowance_leads_to_homes_only", true) else { return };
    let mut firewall = up(&testbed, Tunnels::default());
    let household = [testbed.udp("home", "192.168.1.2:51820"), testbed.udp("net", "198.51.100.9:51820")];
    let router = [testbed.udp("ap", "203.0.113.1:51820"), testbed.udp("ap", "10.77.0.1:51820")];
    let silent = testbed.udp("net", "203.0.113.2:51820");
    let other = testbed.udp("net", "203.0.113.2:51821");
    let client = testbed.udp("w1", "10.77.0.2:5000");
    for to in
        ["192.168.1.2:51820", "198.51.100.9:51820", "203.0.113.1:51820", "10.77.0.1:51820", "10.77.0.3:51820"]
    {
        client.send_to(b"x", to).unwrap();
    }
    client.send_to(b"first", home()).unwrap();
    let (_, outer) = silent.recv_from(&mut [0; 10]).unwrap();
    assert!(
        testbed.on("ap", || firewall.flows()).unwrap().is_empty(),
        "a home that is silent is not one to call"
    );
    // From elsewhere, or to the visitor's own address, there is no way in.
    other.send_to(b"x", outer).unwrap();
    testbed.world.route("net", "10.77.0.0/24", "203.0.113.1").unwrap();
    silent.send_to(b"x", "10.77.0.2:5001").unwrap();
    testbed.wait_for_drops(&mut firewall, &[("kept_out", 3), ("closed", 1)]);
    silent.send_to(b"answer", outer).unwrap();
    let mut buffer = [0; 10];
    // Rejections of what went elsewhere may come first, as errors of the socket.
    while client.recv(&mut buffer).unwrap_or_default() != 6 {}
    assert_eq!(&buffer[..6], b"answer");
    let flow = Flow { visitor: SocketAddrV4::new(W1, 5_000), home: home() };
    assert_eq!(testbed.on("ap", || firewall.flows()).unwrap(), BTreeSet::from([flow]));
    for socket in household.iter().chain(&router) {
        socket.set_nonblocking(true).unwrap();
        assert!(socket.recv(&mut buffer).is_err(), "somebody came to {socket:?}");
    }
    assert!(client.send_to(b"x", "203.0.113.2:51821").is_ok());
    testbed.wait_for_drops(&mut firewall, &[("not_granted", 1)]);
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn who_has_no_grant_is_led_nowhere_by_a_redirection_of_a_tunnels_port() {
    let name = "tunnels::who_has_no_grant_is_led_nowhere_by_a_redirection_of_a_tunnels_port";
    let Some(testbed) = Testbed::inside(name, true) else { return };
    let mut firewall = up(&testbed, Tunnels::default());
    // What goes to a tunnel's port is tracked, without a grant too, and a rule of the household's gives it another.
    testbed.nft(
        "ap",
        "table ip household { chain redirected { type nat hook prerouting priority dstnat; \
         udp dport 51820 dnat to 203.0.113.2:5300; }; }",
    );
    let server = testbed.udp("net", "203.0.113.2:5300");
    let client = testbed.udp("w1", "10.77.0.2:5000");
    for _ in 0..2 {
        // The second packet is of a flow that is there already, if the first has made one.
        client.send_to(b"x", home()).unwrap();
    }
    testbed.wait_for_drops(&mut firewall, &[("not_granted", 2)]);
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::Own, ALL)).unwrap();
    // The rejections are errors of the socket.
    while client.send_to(b"granted", home()).is_err() {}
    let mut buffer = [0; 10];
    let (length, _) = server.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"granted", "nothing of before the grant arrived");
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn allowances_of_a_home_and_of_an_hour_hold_for_all_together() {
    let name = "tunnels::allowances_of_a_home_and_of_an_hour_hold_for_all_together";
    let Some(testbed) = Testbed::inside(name, true) else { return };
    let limits = Tunnels { per_home_bytes: 40_000, per_hour_bytes: 100_000, ..Tunnels::default() };
    let mut firewall = up(&testbed, limits);
    for number in 1..=4 {
        testbed.world.address("net", "lo", &format!("192.0.2.{number}/32")).unwrap();
    }
    let _servers: Vec<_> =
        (1..=4).map(|number| testbed.echo("net", &format!("192.0.2.{number}:51820"))).collect();
    let to = |number| SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, number), TUNNEL);
    // One station with many addresses, and one home: its allowance is shared.
    let mut passed = 0;
    for number in 100..120 {
        testbed.world.address("w1", "eth0", &format!("10.77.0.{number}/24")).unwrap();
        passed += echoed(&testbed.udp("w1", &format!("10.77.0.{number}:5000")), to(1), 5);
    }
    assert!((18..=19).contains(&passed), "{passed} datagrams went to one home and back");
    assert!(used(&testbed, &mut firewall) <= 40_000);
    // Many made-up homes that nobody answers for: all together have the hour's.
    let client = testbed.udp("w2", "10.77.0.3:5000");
    for number in 2..=4 {
        echoed(&client, to(number), 1_000);
    }
    let all = used(&testbed, &mut firewall);
    assert!((100_000 - 2 * PACKET..=100_000).contains(&all), "{all}");
    assert_eq!(echoed(&testbed.udp("w2", "10.77.0.3:5001"), to(4), 1), 0, "nothing is left of this hour");
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn a_stations_many_ports_are_few_flows() {
    let Some(testbed) = Testbed::inside("tunnels::a_stations_many_ports_are_few_flows", true) else { return };
    let mut firewall = up(&testbed, Tunnels::default());
    let _server = testbed.echo("net", "203.0.113.2:51820");
    let clients: Vec<_> =
        (0..12).map(|port| testbed.udp("w1", &format!("10.77.0.2:{}", 6_000 + port))).collect();
    let passed: u64 = clients.iter().map(|client| echoed(client, home(), 1)).sum();
    assert_eq!(passed, 8);
    assert_eq!(testbed.on("ap", || firewall.flows()).unwrap().len(), 8);
    assert_eq!(testbed.drops(&mut firewall)["flood"], 4);
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn a_granted_tunnel_leads_to_its_home_and_is_counted_to_the_byte() {
    let name = "tunnels::a_granted_tunnel_leads_to_its_home_and_is_counted_to_the_byte";
    let Some(testbed) = Testbed::inside(name, true) else { return };
    testbed.world.address("net", "lo", "192.0.2.1/32").unwrap();
    let mut firewall = up(&testbed, Tunnels::default());
    let _servers =
        ["203.0.113.2:51820", "192.0.2.1:51820", "203.0.113.2:7000"].map(|at| testbed.echo("net", at));
    let client = testbed.udp("w1", "10.77.0.2:5000");
    testbed.on("ap", || firewall.grant_tunnel(mac(1), W1, HOME, Class::Middle, ALL)).unwrap();
    let taken = testbed.on("ap", || firewall.grant_tunnel(mac(2), W1, HOME, Class::Middle, ALL));
    assert_eq!(taken, Err(FirewallError::AddressTaken { address: W1, holder: mac(1), got: mac(2) }));
    let taken = testbed.on("ap", || firewall.grant(mac(2), W1, Class::Middle, ALL));
    assert_eq!(taken, Err(FirewallError::AddressTaken { address: W1, holder: mac(1), got: mac(2) }));
    // More than any allowance, from any port; and none of it is taken from one.
    assert_eq!(echoed(&client, home(), 700), 700);
    assert_eq!(echoed(&testbed.udp("w1", "10.77.0.2:5001"), home(), 700), 700);
    assert_eq!(used(&testbed, &mut firewall), 0);
    let counted = Traffic { up: 1_400 * PACKET, down: 1_400 * PACKET };
    let traffic = testbed.on("ap", || firewall.tunnel_traffic()).unwrap();
    assert_eq!(traffic.into_iter().collect::<Vec<_>>(), [((mac(1), W1, HOME), counted)]);
    assert_eq!(testbed.classes("visitors")["4752:100"].bytes, 1_400 * (PACKET + 14), "in a queue of its own");
    // Another home has the allowance, another port nothing.
    assert!((62..=63).contains(&echoed(
        &client,
        SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), TUNNEL),
        1_000
    )));
    assert_eq!(echoed(&client, SocketAddrV4::new(HOME, 7_000), 1), 0);

    // A grant for everything goes first, and goes by itself.
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::High, ALL)).unwrap();
    assert_eq!(echoed(&client, home(), 10), 10);
    // One reading has the packets of both beside their bytes.
    let reading = |packets| {
        let count = Count { packets, bytes: packets * PACKET };
        Reading {
            used: Traffic { up: count.bytes, down: count.bytes },
            counted: Counted { up: count, down: count },
        }
    };
    let read = testbed.on("ap", || firewall.read()).unwrap();
    assert_eq!(read, [((mac(1), W1, None), reading(10)), ((mac(1), W1, Some(HOME)), reading(1_400))]);
    let last = testbed.on("ap", || firewall.close(mac(1), W1)).unwrap();
    assert_eq!(last, Traffic { up: 10 * PACKET, down: 10 * PACKET });
    assert_eq!(echoed(&client, home(), 1), 1, "the tunnel's grant is still there");
    let last = testbed.on("ap", || firewall.close_tunnel(mac(1), W1, HOME)).unwrap();
    assert_eq!(last, Traffic { up: 1_401 * PACKET, down: 1_401 * PACKET });
    assert_eq!(echoed(&client, home(), 1), 0, "its allowance was spent on the other home");
    assert!(testbed.on("ap", || firewall.tunnel_traffic()).unwrap().is_empty());
    let again = testbed.on("ap", || firewall.close_tunnel(mac(1), W1, HOME));
    assert_eq!(again, Err(FirewallError::NotGranted { address: W1, got: Some(mac(1)) }));
    testbed.on("ap", || firewall.grant_tunnel(mac(1), W1, HOME, Class::Middle, ALL)).unwrap();
    // Nobody else may use the address.
    testbed.world.address("w2", "eth0", "10.77.0.2/24").unwrap();
    testbed.udp("w2", "10.77.0.2:5002").send_to(&[0; 10], home()).unwrap();
    testbed.wait_for_drops(&mut firewall, &[("spoofed", 1)]);
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn a_home_counts_what_the_access_point_counts() {
    let Some(testbed) = Testbed::inside("tunnels::a_home_counts_what_the_access_point_counts", true) else {
        return;
    };
    let state_file = testbed.folder.join("tunnels.json");
    let ports = BTreeSet::from([TUNNEL]);
    let before = testbed.on("net", || TunnelMeter::up(&ports, true, &state_file)).unwrap();
    std::mem::forget(before); // A crash; the next one cleans up.
    let meter = testbed.on("net", || TunnelMeter::up(&ports, true, &state_file)).unwrap();
    let mut firewall = up(&testbed, Tunnels::default());
    testbed.on("ap", || firewall.grant_tunnel(mac(1), W1, HOME, Class::Middle, ALL)).unwrap();
    let server = testbed.echo("net", "203.0.113.2:51820");
    let client = testbed.udp("w1", "10.77.0.2:5000");
    assert_eq!(echoed(&client, home(), 1), 1);
    let peer = server.senders()[0];
    let counted = |peer: std::net::SocketAddr| {
        let counts = testbed.on("net", || meter.read()).unwrap();
        counts
            .ports
            .into_iter()
            .find(|(known, _)| std::net::SocketAddr::from(*known) == peer)
            .map(|(_, bytes)| bytes)
    };
    // The first packet comes from somebody who was not answered yet.
    eventually(Some(PACKET), || counted(peer));
    assert_eq!(echoed(&client, home(), 200), 200);
    let traffic = testbed.on("ap", || firewall.tunnel_traffic()).unwrap();
    let there = traffic[&(mac(1), W1, HOME)];
    eventually(Some(there.up + there.down - PACKET), || counted(peer));
    // Who is not answered is not counted, however much it sends.
    drop(server);
    let silent = testbed.udp("net", "203.0.113.2:51820");
    let stranger = testbed.udp("ap", "203.0.113.1:6000");
    for _ in 0..10 {
        stranger.send_to(&[0; 1_000], home()).unwrap();
    }
    (0..10).for_each(|_| assert_eq!(silent.recv(&mut [0; 2_000]).unwrap(), 1_000));
    assert_eq!(counted("203.0.113.1:6000".parse().unwrap()), None);
    testbed.on("net", || meter.down()).unwrap();
    assert_eq!(testbed.world.run("net", "nft", &["list", "ruleset"]).unwrap(), "");
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn a_home_counts_ipsecs_tunnels_and_not_who_only_asks_for_one() {
    let Some(testbed) =
        Testbed::inside("tunnels::a_home_counts_ipsecs_tunnels_and_not_who_only_asks_for_one", true)
    else {
        return;
    };
    let ports = BTreeSet::from([TUNNEL]);
    let state_file = testbed.folder.join("tunnels.json");
    assert!(
        matches!(TunnelMeter::up(&[4_500].into(), true, &state_file), Err(FirewallError::Setting { .. })),
        "it has a count of its own"
    );
    let meter = testbed.on("net", || TunnelMeter::up(&ports, true, &state_file)).unwrap();
    let _server = testbed.echo("net", "203.0.113.2:4500");
    let client = testbed.udp("ap", "203.0.113.1:6000");
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let say = |first: u8| {
        let mut message = [0; 1_000];
        message[0] = first;
        client.send_to(&message, "203.0.113.2:4500").unwrap();
        assert_eq!(client.recv(&mut [0; 2_000]).unwrap(), 1_000);
    };
    let counted = || testbed.on("net", || meter.read()).unwrap();
    // A key exchange, which anybody can begin, and give up.
    (0..3).for_each(|_| say(0));
    assert_eq!(counted(), guestright_firewall::TunnelCounts::default());
    // A packet of a tunnel: what came before the answer is not counted.
    say(7);
    let peer: SocketAddrV4 = "203.0.113.1:6000".parse().unwrap();
    eventually(Some(PACKET), || counted().ipsec.get(&peer).copied());
    // From then on all is counted, new keys too.
    say(7);
    say(0);
    eventually(Some(5 * PACKET), || counted().ipsec.get(&peer).copied());
    assert!(counted().ports.is_empty(), "the other tunnels' counts are their own");
    testbed.on("net", || meter.down()).unwrap();
}
