//! A home whose provider gives it another address: its name follows it, and the laptop follows the name.

use super::networks::{self, CAFE};
use super::{Day, PATIENCE, succeeded, until};
use crate::town::{bind, inside};
use std::net::IpAddr;

const NAME: &str = "home.members.example";
/// Addresses that count as public; nothing leaves the test's own networks.
const SERVER: &str = "100.128.40.1";
const ADDRESSES: [&str; 2] = ["100.128.40.2", "100.128.40.3"];

/// What a provider does: the home's line has this address and no other.
fn give_address(day: &Day, address: &str) {
    let world = &day.abroad.town.world;
    world.run("away", "ip", &["-4", "address", "flush", "dev", "uplink"]).unwrap();
    world.address("away", "uplink", &format!("{address}/24")).unwrap();
    world.run("away", "ip", &["route", "replace", "default", "via", SERVER]).unwrap();
}

/// The home has put this address into the DNS.
fn until_in_the_dns(day: &Day, address: &str) {
    let town = &day.abroad.town;
    until("the home's name to be in the DNS", || {
        bind::dig(town, "net", SERVER, "A", NAME) == format!("{address}\n")
    });
    let words = succeeded(&town.run(&["home", "status", "--config", "guests/home.toml"]));
    assert!(words.contains(NAME), "{words}");
}

/// The laptop is online through the home, which has this address, and speaks with the home's program.
fn until_online_at(day: &Day, address: &str) {
    until("the laptop to be online through its home", || {
        let seen: IpAddr = address.parse().unwrap();
        day.abroad.town.is_online("member") && day.abroad.web.all().last().unwrap().0 == seen
    });
    day.until_status(PATIENCE, "online, and in touch with its home", |status| {
        status["standing"]["state"] == "online" && status["home_up"] == true
    });
}

#[test]
fn a_laptop_follows_its_home_to_another_address() {
    if !inside("way_home::day::moved_home::a_laptop_follows_its_home_to_another_address") {
        return;
    }
    let mut day = Day::build();
    day.set_clock("+0");
    let town = &day.abroad.town;
    town.world.address("net", "to-away", &format!("{SERVER}/24")).unwrap();
    give_address(&day, ADDRESSES[0]);
    let _bind = bind::start(town, "net");
    bind::write_key(&town.path("guests/update.key"));
    let settings = std::fs::read_to_string(town.path("guests/home.toml")).unwrap();
    let named = format!(
        "{settings}[dynamic_dns]\nname = \"{NAME}\"\nserver = \"{SERVER}:{}\"\nkey_file = \"update.key\"\n",
        bind::PORT
    );
    // The home asks it too, for members in the tunnel.
    let named = named.replace("dns_upstream = \"192.0.2.1\"", &format!("dns_upstream = \"{SERVER}\""));
    assert!(named.contains(&format!("dns_upstream = \"{SERVER}\"")));
    std::fs::write(town.path("guests/home.toml"), named).unwrap();
    let tunnel = std::fs::read_to_string(town.path("guests/walker.conf")).unwrap();
    let by_name = tunnel.replace("198.18.40.2:", &format!("{NAME}:"));
    assert_ne!(by_name, tunnel);
    std::fs::write(town.path("guests/walker.conf"), by_name).unwrap();
    // The network's resolver knows the zone, and so does the one that the home asks.
    for (host, from) in [(CAFE.host, "guests"), ("net", "to-away")] {
        let names = format!(
            "table ip names {{ chain in {{ type nat hook prerouting priority dstnat; iifname {from} udp dport 53 dnat to {SERVER}:{}; }}; }}",
            bind::PORT
        );
        networks::apply(&day.abroad, host, &names);
    }

    let home = day.abroad.start_home();
    until_in_the_dns(&day, ADDRESSES[0]);
    day.join(CAFE);
    let files = ["guests/walker.key", "guests/walker.conf"].map(|file| day.abroad.town.path(file));
    let [key, tunnel] = files.each_ref().map(|file| file.to_str().unwrap());
    succeeded(&day.command(&["up", "--key", key, "--tunnel", tunnel]));
    until_online_at(&day, ADDRESSES[0]);

    give_address(&day, ADDRESSES[1]);
    until_in_the_dns(&day, ADDRESSES[1]);
    until_online_at(&day, ADDRESSES[1]);
    until("the home to say so", || {
        let words = day.abroad.town.run(&["home", "status", "--config", "guests/home.toml"]);
        succeeded(&words).contains(&format!("{NAME} is at {}", ADDRESSES[1]))
    });
    assert!(!home.log().contains(bind::SECRET));
    succeeded(&day.command(&["down"]));
}
