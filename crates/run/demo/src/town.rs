//! The town: who lives where, and the wires between them.
//!
//! ```text
//!   pc1 ── V1 ══ guests: W1, S, N     V2 ══ guests: W2, W3     V3 ══ guests: W4, F
//!          (ap + home of team 1)      (ap + home of team 2)    (ap + home of team 3)
//!          (exit of W2 and W4)        (exit of W1 and S)       (exit of W3)
//!               \                           |                        /
//!          198.51.100.0/25          203.0.113.0/25         192.0.2.128/25
//!                           \               |               /
//!                          the Internet, web server at 192.0.2.1
//! ```
//!
//! Addresses are those that RFC 5737 sets aside for examples; nothing of this is on the computer's own network.

use guestright_netns::{LinkOptions, NetnsError, World};
use std::net::{Ipv4Addr, SocketAddrV4};

/// The web server's address.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// A computer in V1's household, which no visitor may reach.
pub(crate) const HOUSEHOLD_PC: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 10);
/// V1's own address in its household.
pub(crate) const HOUSEHOLD_ROUTER: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 1);
/// Where visitors stay.
pub(crate) const GUESTS: &str = "guests";
/// The way to the Internet.
pub(crate) const UPLINK: &str = "uplink";

/// A household with an access point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Household {
    /// The name of its host.
    pub(crate) name: &'static str,
    pub(crate) team: &'static str,
    /// Its address on the Internet.
    pub(crate) address: Ipv4Addr,
    /// What it gives away in a day, if that is not what households give away by default.
    pub(crate) allowance: Option<u64>,
    network: u8,
}

impl Household {
    /// Where roaming members of the household find its gateway.
    pub(crate) fn gateway(self) -> SocketAddrV4 {
        SocketAddrV4::new(self.address, 51_820)
    }

    /// The network of its roaming members.
    pub(crate) fn members(self) -> String {
        format!("10.{}.0.0/24", 64 + self.network)
    }
}

pub(crate) const V1: Household = Household {
    name: "v1",
    team: "team1",
    address: Ipv4Addr::new(198, 51, 100, 2),
    allowance: None,
    network: 11,
};
pub(crate) const V2: Household = Household {
    name: "v2",
    team: "team2",
    address: Ipv4Addr::new(203, 0, 113, 2),
    allowance: None,
    network: 12,
};
/// Gives away so little that one sees the end of it.
pub(crate) const V3: Household = Household {
    name: "v3",
    team: "team3",
    address: Ipv4Addr::new(192, 0, 2, 130),
    allowance: Some(8_000_000),
    network: 13,
};

/// Somebody on a household's guest network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guest {
    /// The name of its host.
    pub(crate) name: &'static str,
    /// Where it is.
    pub(crate) at: Household,
    number: u8,
}

pub(crate) const W1: Guest = Guest { name: "w1", at: V1, number: 21 };
pub(crate) const W2: Guest = Guest { name: "w2", at: V2, number: 22 };
pub(crate) const NEWCOMER: Guest = Guest { name: "newcomer", at: V1, number: 23 };
pub(crate) const W3: Guest = Guest { name: "w3", at: V2, number: 26 };
pub(crate) const W4: Guest = Guest { name: "w4", at: V3, number: 27 };
/// Comes under one name after the other.
pub(crate) const FREE_RIDER: Guest = Guest { name: "freerider", at: V3, number: 24 };
/// Has a stock WireGuard client and no program of ours.
pub(crate) const STOCK: Guest = Guest { name: "stock", at: V1, number: 25 };

impl Guest {
    /// Its address on the guest network.
    pub(crate) fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.at.network, 0, self.number)
    }

    /// The access point's address there.
    pub(crate) fn gateway(self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.at.network, 0, 1)
    }
}

/// Builds the town.
pub(crate) fn build() -> Result<World, NetnsError> {
    let mut world = World::new("demo-")?;
    let wire = LinkOptions::default();
    world.add_host("internet")?;
    world.address("internet", "lo", &format!("{SERVER}/32"))?;
    for (household, port) in [(V1, "to-v1"), (V2, "to-v2"), (V3, "to-v3")] {
        world.add_host(household.name)?;
        world.link(("internet", port), (household.name, UPLINK), &wire)?;
        let [a, b, c, d] = household.address.octets();
        let gateway = Ipv4Addr::new(a, b, c, (d & 128) + 1);
        world.address("internet", port, &format!("{gateway}/25"))?;
        world.address(household.name, UPLINK, &format!("{}/25", household.address))?;
        world.up("internet", port)?;
        world.up(household.name, UPLINK)?;
        world.route(household.name, "default", &gateway.to_string())?;
        world.add_bridge(household.name, GUESTS)?;
        world.address(household.name, GUESTS, &format!("10.{}.0.1/24", household.network))?;
        world.up(household.name, GUESTS)?;
    }
    world.sysctl("internet", "net.ipv4.ip_forward", "1")?;
    world.add_host("pc1")?;
    world.link(("v1", "lan"), ("pc1", "eth0"), &wire)?;
    for (host, interface, address) in [("v1", "lan", HOUSEHOLD_ROUTER), ("pc1", "eth0", HOUSEHOLD_PC)] {
        world.address(host, interface, &format!("{address}/24"))?;
        world.up(host, interface)?;
    }
    world.route("pc1", "default", &HOUSEHOLD_ROUTER.to_string())?;
    for guest in [W1, W2, W3, W4, NEWCOMER, FREE_RIDER, STOCK] {
        add_guest(&mut world, guest, &wire)?;
    }
    Ok(world)
}

fn add_guest(world: &mut World, guest: Guest, wire: &LinkOptions) -> Result<(), NetnsError> {
    let household = guest.at.name;
    let port = format!("port{}", guest.number);
    world.add_host(guest.name)?;
    world.link((household, &port), (guest.name, "wlan0"), wire)?;
    world.attach(household, &port, GUESTS, true)?;
    world.address(guest.name, "wlan0", &format!("{}/24", guest.address()))?;
    world.up(household, &port)?;
    world.up(guest.name, "wlan0")?;
    world.route(guest.name, "default", &guest.gateway().to_string())
}
