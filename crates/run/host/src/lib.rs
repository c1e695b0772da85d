//! The loops of an access point ([`access_point`]), a home ([`home`]) and a visitor ([`visit`]).
//!
//! In: settings, read and checked, credentials, the wish to stop ([`Stop`]), and whom to tell what happens. Out: a
//! future that ends when the loop has, with everything that it changed on this computer put back; while it runs, it
//! answers questions at a socket in its state directory ([`control`]).
//!
//! Invariants: one loop owns its machine and is the only one that calls it; what others can send waits in queues with
//! limits, and whoever sends too fast waits itself; a loop never waits for a task that may be waiting for it.

pub mod absent;
pub mod access_point;
pub mod archive;
pub mod control;
pub mod daemon;
pub mod examine;
pub mod export;
pub mod gateway_files;
#[cfg(feature = "history")]
pub mod history;
pub mod home;
mod home_address;
mod home_channel;
pub mod ike_files;
mod interface;
mod listen;
mod log_pace;
pub mod notify;
pub mod private;
mod probe;
pub mod receipts;
mod refusals;
mod reload;
pub mod renewal;
mod resolver;
#[cfg(feature = "metrics")]
mod scrape;
mod stop;
#[cfg(test)]
mod testing;
#[cfg(feature = "visit")]
pub mod visit;

pub use guestright_command::system_command;
pub use home_address::HomeAddress;
pub use probe::{Prober, Probes, probe};
pub use reload::{Fresh, Reload, Reloader, Reread, reload};
pub use stop::{Stop, Stopper, stop};

/// What people ask of a program that runs for long.
#[derive(Debug)]
pub struct Requests<S> {
    pub stop: Stop,
    pub reload: Reload<S>,
    /// Whether it still goes round.
    pub probes: Probes,
}

/// The port of the protocol on the visitors' link, UDP and TCP.
pub const PROTOCOL_PORT: u16 = 7273;
/// The port at which a home awaits the programs of its team.
pub const HOME_PORT: u16 = 7274;

/// Questions at the control socket that may wait for a loop.
const QUESTIONS_MAX: usize = 16;
