//! nftables and tc for an access point: default deny, NAT, counters, service classes.
//!
//! In: [`Settings`], and then orders: grant, change class, close. Out: bytes carried for each visitor,
//! packets dropped and why, and a computer that is as it was once the firewall comes down.
//!
//! - [`render`] is the whole ruleset as text; [`Firewall::up`] applies it as one transaction.
//! - Visitors are denied everything but the access point's own address (DNS, DHCP, a little ping, our
//!   protocol) until granted, and then get the Internet only: no private network, no IPv6, no other visitor,
//!   ever.
//! - A visitor is a pair of hardware and IPv4 address. While a pair is granted, no other hardware address may
//!   use that IPv4 address, not even towards the access point.
//! - With [`Page`], what a station without a grant asks of port 80 is answered by the access point; the household's networks
//!   stay silent, and port 443 is refused.
//! - Bytes are counted at the forward hook, at layer 3: each packet once, IPv4 header included.
//! - What is about to be changed is written to a state file first, so that a crash can be cleaned up after.
//! - [`VisitorMeter`] is the visitor's own count of the same bytes.
//! - [`TunnelMeter`] is a home's count of the datagrams of its members' tunnels.
//! - [`GatewayFirewall`] lets a home's members out of their tunnels, to the Internet and the home network.
//! - [`KillSwitch`] sends a visitor's own traffic into a tunnel, and keeps the rest off the access point's network.
//! - [`Changes`] tells at once that links, addresses, routes or neighbours are others than before.
//!
//! Everything here blocks for milliseconds (it runs `nft`, `tc` and `ip`): call it from a worker thread. It
//! acts on the network namespace of the calling thread.
//!
//! What it does not do: other tables stay in force, so a household firewall that drops forwarded packets must
//! let the visitor interface's pass. Visitors on one bridge reach each other below IPv4, where only client
//! isolation helps. A flow begun under an earlier grant of the same IPv4 address goes on under the next one,
//! whoever has it.

mod changes;
mod class;
mod connections;
mod elements;
mod error;
mod firewall;
mod forwarding;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gateway;
#[cfg(test)]
mod golden;
mod killswitch;
mod lookup;
mod mac;
mod meter;
mod netlink;
mod nftables;
mod offloading;
mod policy_routing;
mod routing;
mod ruleset;
mod settings;
mod shaping;
mod state;
mod static_filter;
mod stations;
#[cfg(test)]
mod testing;
mod tool;
mod traffic_control;
mod trial;
mod tunnel_meter;

pub use changes::Changes;
pub use class::Class;
pub use connections::{Flow, check_connections, translated_ports};
pub use error::FirewallError;
pub use firewall::{Comparison, Firewall, Gate, Layers, MENDED, Passing, Reading, Traffic, check};
pub use gateway::{GatewayFirewall, GatewaySettings, VoicePorts, render_gateway};
pub use killswitch::{Guard, KillSwitch, Passage, Surroundings};
pub use lookup::{interface_address, interfaces, neighbour, neighbours, require_interface, resolve};
pub use mac::MacAddress;
pub use meter::VisitorMeter;
pub use ruleset::render;
pub use settings::{Limits, Page, Settings, Shaping, Tunnels};
pub use shaping::Warning;
pub use state::clean_up;
pub use stations::{Radios, Station};
pub use trial::{Trial, try_layers};
pub use tunnel_meter::{TunnelCounts, TunnelMeter};
