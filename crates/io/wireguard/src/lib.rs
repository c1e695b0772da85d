//! WireGuard as an endpoint, or the kernel's.
//!
//! In: our key and [`Peer`]s, which may come and go while it runs. Out: a [`Tunnel`] with the same operations and the
//! same status, whether the kernel carries the packets ([`Kernel`]) or this program ([`Userspace`], which the program
//! puts between a TUN device and a socket).
//!
//! - What is protocol is done by the library `boringtun` (design note 0003, "Which WireGuard core"), or the kernel.
//! - A peer is where its last authentic datagram came from; it may roam.
//! - What an inner packet may come from, and which peer it goes to, is decided by the longest network in the peers'
//!   `allowed_ips`, as WireGuard does.
//! - Nothing that arrives ends anything: it is counted by [`DropReason`](guestright_tunnel::DropReason) and dropped.
//! - Neither `Debug` nor an error nor a command line shows a secret key.

mod error;
mod kernel;
mod peer;
#[cfg(feature = "userspace")]
mod routes;
mod tunnel;
#[cfg(feature = "userspace")]
mod userspace;
#[cfg(not(feature = "userspace"))]
mod without_userspace;

pub use error::WireGuardError;
pub use kernel::{Kernel, KernelSettings, Support};
pub use peer::{Peer, Status};
pub use tunnel::Tunnel;
#[cfg(feature = "userspace")]
pub use userspace::{Userspace, UserspaceSettings};
#[cfg(not(feature = "userspace"))]
pub use without_userspace::Userspace;

/// What a datagram has around it on its way: the headers of IPv4 (RFC 791) and UDP (RFC 768).
const OUTER_HEADERS: u64 = 20 + 8;
