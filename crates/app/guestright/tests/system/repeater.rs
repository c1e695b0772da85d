//! Guests behind a repeater: the access point sees their addresses, but one hardware address for all of them.
//!
//! ```text
//!   guest1 ┐
//!   guest2 ┼─ repeater ══ guests ══ router (ap, home)
//!   guest3 ┘  answers ARP for both sides (RFC 1027), as Wi-Fi repeaters without four addresses in a frame do
//! ```

use crate::town::services::AccessLog;
use crate::town::{Program, Rules, Town, WEB, inside, succeeded};
use guestright_netns::LinkOptions;
use serde_json::Value;

/// The repeater's own number, behind which come those of its guests.
const REPEATER: u8 = 40;

/// The name of a guest behind the repeater.
fn guest(number: u8) -> String {
    format!("guest{number}")
}

fn address(number: u8) -> String {
    format!("10.11.0.{}", REPEATER + number)
}

/// Adds a repeater with so many guests to the town, each with a key of team `guests`.
fn extend(town: &mut Town, guests: u8) {
    let Town { world, .. } = town;
    let wire = LinkOptions::default();
    world.add_host("repeater").unwrap();
    world.link(("router", "port-repeater"), ("repeater", "wlan0"), &wire).unwrap();
    world.attach("router", "port-repeater", "guests", true).unwrap();
    world.address("repeater", "wlan0", &format!("{}/24", address(0))).unwrap();
    world.route("repeater", "default", "10.11.0.1").unwrap();
    world.add_bridge("repeater", "lan").unwrap();
    world.sysctl("repeater", "net.ipv4.ip_forward", "1").unwrap();
    for interface in ["wlan0", "lan"] {
        world.sysctl("repeater", &format!("net.ipv4.conf.{interface}.proxy_arp"), "1").unwrap();
        world.sysctl("repeater", &format!("net.ipv4.neigh.{interface}.proxy_delay"), "0").unwrap();
        world.sysctl("repeater", &format!("net.ipv4.conf.{interface}.send_redirects"), "0").unwrap();
    }
    for number in 1..=guests {
        let (name, port) = (guest(number), format!("port{number}"));
        world.add_host(&name).unwrap();
        world.link(("repeater", &port), (&name, "wlan0"), &wire).unwrap();
        world.attach("repeater", &port, "lan", true).unwrap();
        world.address(&name, "wlan0", &format!("{}/24", address(number))).unwrap();
        world.route(&name, "default", "10.11.0.1").unwrap();
        let to_guest = format!("{}/32", address(number));
        world.run("repeater", "ip", &["route", "add", &to_guest, "dev", "lan"]).unwrap();
    }
    for number in 1..=guests {
        let arguments = ["team", "member", "add", &guest(number), "--role", "member", "--dir", "guests"];
        succeeded(&town.run(&arguments));
    }
}

/// A guest's visit that has been granted. One that is not answered asks six times, and ends before it is.
fn arrive(town: &Town, number: u8, transport: &str) -> Program {
    let name = guest(number);
    let visit = town.visit(&name, "guests", &name, &["--transport", transport]);
    visit.hear("to be granted service", |event| event["event"] == "granted");
    visit
}

fn open_sessions(status: &Value) -> Vec<&Value> {
    status["sessions"].as_array().into_iter().flatten().filter(|session| session["open"] == true).collect()
}

#[test]
fn guests_behind_one_hardware_address_are_all_served() {
    if !inside("repeater::guests_behind_one_hardware_address_are_all_served") {
        return;
    }
    let mut town = Town::build(Rules::default());
    extend(&mut town, 4);
    town.serve_tcp("net", WEB, &AccessLog::default());
    let (_home, _ap) = town.open();
    let mut visits = Vec::new();
    for (number, transport) in [(1, "udp"), (2, "udp"), (3, "tcp"), (4, "udp")] {
        visits.push(arrive(&town, number, transport));
    }
    let status = town.until_status("all gates to open", |status| open_sessions(status).len() == visits.len());
    let hardware: Vec<_> = open_sessions(&status).iter().map(|session| session["mac"].clone()).collect();
    assert!(hardware.windows(2).all(|pair| pair[0] == pair[1]), "{hardware:?}");
    for number in 1..=4 {
        assert_eq!(town.download(&guest(number), 10_000).unwrap(), 10_000, "guest {number}");
    }
    for visit in visits {
        let ended = town.leave(visit);
        assert!(ended["signed"].as_u64() >= Some(10_000), "{ended}");
    }
}

/// A guest's own router, which shares its one address.
const SHARED_ADDRESS: &str = "add table ip shared
add chain ip shared out { type nat hook postrouting priority srcnat; }
add rule ip shared out oifname wlan0 masquerade
";

#[test]
fn of_guests_behind_one_address_the_second_learns_why_it_waits() {
    if !inside("repeater::of_guests_behind_one_address_the_second_learns_why_it_waits") {
        return;
    }
    let mut town = Town::build(Rules::default());
    extend(&mut town, 2);
    let rules = town.path("shared.nft");
    std::fs::write(&rules, SHARED_ADDRESS).unwrap();
    town.world.run("repeater", "nft", &["-f", rules.to_str().unwrap()]).unwrap();
    let (_home, _ap) = town.open();
    let first = arrive(&town, 1, "tcp");
    town.until_status("the gate to open", |status| open_sessions(status).len() == 1);
    let name = guest(2);
    let second = town.visit(&name, "guests", &name, &[]);
    let busy = second.hear("to learn why it waits", |event| event["event"] == "busy");
    assert!(busy["reason"].as_str().unwrap().contains("one is served at a time"), "{busy}");
    town.leave(first);
    second.hear("to be served once the first has left", |event| event["event"] == "granted");
    town.leave(second);
}
