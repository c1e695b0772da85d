//! A network between two kernels' networks, driven in real time.
//!
//! In: two TUN devices, each in a network of its own, and a [`Network`] that says what becomes of every packet and when.
//! Out: packets at the other side, at the time that the network said, and an account of how late each was
//! ([`Lateness`]).
//!
//! - The network is a machine without clock or socket, for example the links and queues of a simulator. This crate
//!   knows none of them: it has the devices, the clock, and a wait that ends in time.
//! - One thread reads, asks, waits and writes. It asks the kernel for a fixed priority ([`Urgency`]), without which other
//!   programs make packets late; whether it was granted is told.
//! - [`tcp`] chooses what the kernel's TCP does on a socket, and reads back what it did.

mod device;
mod error;
mod lateness;
mod runner;
pub mod tcp;
mod urgency;
mod wait;

pub use device::Device;
pub use error::EmulatorError;
pub use lateness::Lateness;
pub use runner::{Account, Emulator, Network, Side};
pub use urgency::{Urgency, make_urgent};
pub use wait::{Bell, Ready, Wait};
