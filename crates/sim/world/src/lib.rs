//! The papers' testbeds in virtual time.
//!
//! In: settings and a seed. Out: one number for each metric. [`testbeds`] lists what there is; each testbed says itself
//! what its settings and metrics are. The same settings and seed give the same numbers on every computer.

mod bound;
mod cpu;
mod meter;
mod mixed;
mod overhead;
mod playout;
mod radio;
mod receipts;
mod saturation;
mod streams;
mod sums;
pub mod tcp;
mod town;
pub mod transports;
mod voice;
mod whole;

pub use bound::Bound;
pub use mixed::Mixed;
pub use overhead::Overhead;
pub use playout::Playout;
pub use saturation::Saturation;
pub use streams::Streams;
pub use tcp::Tcp;
pub use town::Town;
pub use transports::Transports;
pub use voice::Voice;

use guestright_experiment::Testbed;

/// Every testbed, by the name that plans use.
#[must_use]
pub fn testbeds() -> &'static [&'static dyn Testbed] {
    &[&Voice, &Overhead, &Streams, &Tcp, &Saturation, &Bound, &Transports, &Playout, &Town, &Mixed]
}

#[cfg(test)]
mod tests;
