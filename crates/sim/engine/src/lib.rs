//! The simulator's engine: events in the order of time, packets, seeded chance.
//!
//! - [`Instant`] and [`Nanos`] are integers: no run depends on how floating point rounds.
//! - A [`Queue`] gives events in the order of their time; events at the same time come in the order in which they were
//!   scheduled. A part of a simulation that has events of its own sees an [`Agenda`] of them, whatever else is in the
//!   queue.
//! - A [`Pool`] keeps packets and gives out small keys. Once it has grown, it allocates nothing.
//! - [`Streams`] makes one stream of chance for each component out of one seed, so that a component that draws more
//!   often does not change what the others draw.
//!
//! The same seed gives the same run, on every computer.

mod chance;
mod pool;
mod queue;
mod time;

pub use chance::{Stream, Streams};
pub use guestright_units::Nanos;
pub use pool::{Key, Pool};
pub use queue::{Agenda, Part, Queue};
pub use time::Instant;
