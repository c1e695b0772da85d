//! For tests of this crate and of crates that bring a [`Seal`](crate::Seal) of their own: a network in virtual time, and a
//! seal that protects nothing but has keys that must match. In no program: see the feature `testing`.

mod network;
mod null;

pub use network::{Outcome, Played, Schedule, run};
pub use null::{NullSeal, Ready};
