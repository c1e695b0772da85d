//! A hole in the household's NAT: PCP (RFC 6887), NAT-PMP (RFC 6886) and UPnP's Internet Gateway Device.
//!
//! In: ports of this computer that others should reach. Out: the address at which they do, what the household's
//! router answered, and what is in the way if nobody does.
//!
//! - [`examine`] asks the router in all three protocols, maps nothing, and says what it heard.
//! - [`keep`] maps ports in a thread of its own, renews them, and takes them away when it is dropped.
//! - [`Reach`] tells whether an address can be reached from the Internet at all: a router behind another NAT maps
//!   ports gladly and in vain.
//!
//! Everything that comes from the network is checked against what was asked, has a limit, and has to come from the
//! router. The parsers in [`wire`] and [`upnp`] have no input or output.

mod error;
mod examine;
mod keep;
mod reach;
mod route;
mod router;
mod talk;
pub mod upnp;
pub mod wire;

pub use error::PortmapError;
pub use examine::{Answer, Examination, examine};
pub use keep::{Event, Keeper, keep};
pub use reach::Reach;
pub use route::{DefaultRoute, Uplink, default_route, own_address, uplink};
pub use router::{Mapping, Method, Timeouts, Wanted};
pub use wire::Protocol;
