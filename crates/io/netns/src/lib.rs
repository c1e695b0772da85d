//! Hosts in network namespaces on this computer.
//!
//! In: names of hosts, links between them, programs to run. Out: a small world of real kernels' networks in
//! which real programs talk over real sockets, or an error that says what this computer lacks.
//!
//! - [`Sandbox`] starts a program inside namespaces of its own (network, mounts, process ids; also users, if
//!   we are not root). Everything made inside belongs to the kernel's bookkeeping of that one process:
//!   however it ends, `kill -9` included, nothing is left behind.
//! - [`World`] builds hosts inside: links, bridges, addresses, routes, processes. It also works outside a
//!   sandbox for root; what it made is then removed when it is dropped.
//! - `testing`, a feature, is for tests that start themselves again inside a sandbox.
//!
//! ```no_run
//! use guestright_netns::{LinkOptions, Sandbox, World};
//!
//! # fn main() -> Result<(), guestright_netns::NetnsError> {
//! if !Sandbox::inside() {
//!     let mode = Sandbox::probe()?;
//!     let program = std::env::current_exe().expect("a running program has a file");
//!     return Err(Sandbox::enter(mode, &program, ["demo"])); // This process becomes the sandbox.
//! }
//! Sandbox::prepare()?;
//! let mut world = World::new("gr-")?;
//! world.add_host("visitor")?;
//! world.add_host("router")?;
//! world.link(("visitor", "eth0"), ("router", "lan0"), &LinkOptions::default())?;
//! world.address("visitor", "eth0", "10.77.0.2/24")?;
//! world.address("router", "lan0", "10.77.0.1/24")?;
//! # Ok(())
//! # }
//! ```

mod error;
mod process;
mod sandbox;
#[cfg(feature = "testing")]
pub mod testing;
mod tool;
mod world;

pub use error::NetnsError;
pub use process::Process;
pub use sandbox::{Mode, Sandbox};
pub use world::{LinkCounters, LinkOptions, World};
