//! For tests of this crate and of those that bring a [`Seal`](super::Seal): a network in virtual time, and a seal that
//! protects nothing but has keys that must match.

mod network;
mod null;

pub use network::{Outcome, Played, Schedule, run};
pub use null::{NullSeal, Ready};
