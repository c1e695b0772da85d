//! The networks of the day: a table, and how each is built and opened.

use super::super::abroad::Abroad;
use crate::town::{Program, look, succeeded, until};
use guestright_netns::LinkOptions;
use std::net::Ipv4Addr;

/// A network that the laptop joins: a host with a bridge of its own, and a line to the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    pub(super) host: &'static str,
    /// Its subnets are 10.number.0.0/24, and 198.18.number.0/24 on its line.
    number: u8,
    pub(super) access: Access,
}

/// What a network lets the laptop do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// It has an access point of this team, which serves.
    Team(&'static str),
    /// Everything, as most networks do.
    Open,
    /// Nothing, until a page of its own was seen.
    Portal,
}

pub(super) const ROUTER: Network = Network::new("router", 11, Access::Team("house"));
pub(super) const SECOND: Network = Network::new("second", 12, Access::Team("other"));
pub(super) const CAFE: Network = Network::new("cafe", 13, Access::Open);
pub(super) const HOTEL: Network = Network::new("hotel", 14, Access::Portal);
pub(super) const LIBRARY: Network = Network::new("library", 15, Access::Team("house"));
pub(super) const STATION: Network = Network::new("station", 16, Access::Open);
pub(super) const SCHOOL: Network = Network::new("school", 17, Access::Team("other"));
pub(super) const BAKERY: Network = Network::new("bakery", 18, Access::Team("house"));
pub(super) const OFFICE: Network = Network::new("office", 19, Access::Team("other"));
pub(super) const AIRPORT: Network = Network::new("airport", 20, Access::Open);

/// All of them. The town and what is abroad bring the first two, and start their access points.
pub(super) const NETWORKS: [Network; 10] =
    [ROUTER, SECOND, CAFE, HOTEL, LIBRARY, STATION, SCHOOL, BAKERY, OFFICE, AIRPORT];
const BUILT_HERE: usize = 2;

/// Where the teams' homes are for access points elsewhere.
const HOMES: [(&str, &str); 2] = [("house", "198.51.100.2:7274"), ("other", "198.18.50.2:7274")];

impl Network {
    const fn new(host: &'static str, number: u8, access: Access) -> Self {
        Self { host, number, access }
    }

    pub(super) const fn gateway(self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.number, 0, 1)
    }

    /// The laptop's address here.
    pub(super) const fn own(self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.number, 0, 21)
    }

    /// Whose access point it has.
    pub(super) fn team(self) -> Option<&'static str> {
        match self.access {
            Access::Team(team) => Some(team),
            Access::Open | Access::Portal => None,
        }
    }

    /// The end of its line at the Internet's side.
    pub(super) fn line(self) -> String {
        format!("to-{}", self.host)
    }
}

/// Whether some network has this gateway.
pub(super) fn is_gateway(address: Ipv4Addr) -> bool {
    NETWORKS.iter().any(|network| network.gateway() == address)
}

/// Builds those that are not there yet. No access point runs.
pub(super) fn build(abroad: &mut Abroad) {
    for network in &NETWORKS[BUILT_HERE..] {
        add(abroad, *network);
        match network.access {
            Access::Team(team) => admit(abroad, network.host, team),
            Access::Open | Access::Portal => masquerade(abroad, network.host),
        }
    }
    // Access points elsewhere ask these homes.
    for (team, _) in HOMES {
        let file = abroad.town.path(team).join("home.toml");
        let settings = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("listen = \"0.0.0.0:7274\"\n{settings}")).unwrap();
    }
}

fn add(abroad: &mut Abroad, network: Network) {
    let (host, number, port) = (network.host, network.number, network.line());
    let world = &mut abroad.town.world;
    world.add_host(host).unwrap();
    world.link(("net", &port), (host, "uplink"), &LinkOptions::default()).unwrap();
    world.address("net", &port, &format!("198.18.{number}.1/24")).unwrap();
    world.address(host, "uplink", &format!("198.18.{number}.2/24")).unwrap();
    world.route(host, "default", &format!("198.18.{number}.1")).unwrap();
    world.add_bridge(host, "guests").unwrap();
    world.address(host, "guests", &format!("{}/24", network.gateway())).unwrap();
}

/// A household that shares its line like any other.
fn masquerade(abroad: &Abroad, host: &str) {
    abroad.town.world.sysctl(host, "net.ipv4.ip_forward", "1").unwrap();
    let nat = "table ip nat { chain out { type nat hook postrouting priority srcnat; oifname uplink masquerade; }; }";
    apply(abroad, host, nat);
}

/// Makes a team's access point on a host.
fn admit(abroad: &Abroad, host: &str, team: &str) {
    let town = &abroad.town;
    succeeded(&town.run(&["team", "member", "add", host, "--role", "access-point", "--dir", team]));
    let (_, home) = HOMES.iter().find(|(name, _)| *name == team).unwrap();
    let settings = std::fs::read_to_string(town.path("house/ap.toml")).unwrap();
    let settings = settings
        .replace("router.", &format!("{host}."))
        .replace("ap-state", &format!("{host}-state"))
        .replace("127.0.0.1:7274", home);
    std::fs::write(town.path(&settings_file(host, team)), settings).unwrap();
}

fn settings_file(host: &str, team: &str) -> String {
    format!("{team}/{host}.toml")
}

/// Starts the access points made here, whose teams' homes run, and waits until each knows its home.
pub(super) fn open(abroad: &Abroad) -> Vec<Program> {
    let ours = NETWORKS[BUILT_HERE..].iter().filter_map(|network| Some((network.host, network.team()?)));
    let starting: Vec<_> = ours
        .map(|(host, team)| {
            let file = settings_file(host, team);
            (abroad.begin("info", host, "ap", &file, &format!("{host}.log")), file)
        })
        .collect();
    let ready = |(program, file): (Program, String)| {
        program.hear_line("to say that it is ready", |_| true);
        until("it to reach its home", || {
            look::ask("ap", &abroad.town.path(&file), "status")["home_up"] == true
        });
        program
    };
    starting.into_iter().map(ready).collect()
}

/// Applies a ruleset on a host.
pub(super) fn apply(abroad: &Abroad, host: &str, rules: &str) {
    let file = abroad.town.path("day.nft");
    std::fs::write(&file, rules).unwrap();
    abroad.town.world.run(host, "nft", &["-f", file.to_str().unwrap()]).unwrap();
}
