//! What passes a network interface now.
//!
//! In: the name of an interface. Out: IP packets with UDP in them, each with its time ([`Packets`]), and how many the
//! kernel had no room for ([`Drops`]).
//!
//! - A filter in the kernel lets nothing but UDP through, and on the loopback interface each packet once.
//! - Nothing is received before the filter is in force and the socket is bound to the interface.
//! - Opening needs `CAP_NET_RAW`, and all else needs nothing: privileges can be given up in between.

mod error;
mod filter;
mod receive;
mod socket;

pub use error::PacketsError;
pub use receive::{BATCH, Packet};
pub use socket::{Bell, Drops, Packets, SNAP_MAX, Woken, now_ns};
