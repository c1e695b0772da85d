//! The whole community on this computer: three households, an Internet, members, a newcomer, a free-rider, in network
//! namespaces, and what is claimed of it.
//!
//! In: the program `guestright`, a directory for its files, and a sandbox whose network nobody else uses. Out: an [`Event`]
//! for each thing that was seen, and a [`Report`](report::Report) of every claim with what was seen of it.
//!
//! Invariants: everything is real, the programs, the kernel's packet filter and queues, the sockets, the receipts; a claim
//! holds only by what another program said. The town ends with its [`Cast`].

mod cast;
mod chain;
mod error;
pub mod internet;
pub mod report;
mod stock;
mod story;
mod telephone;
mod town;

pub use cast::Cast;
pub use error::DemoError;
pub use story::{Event, Story, Watch};
