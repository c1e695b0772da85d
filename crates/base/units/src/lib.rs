//! Words that every room shares.
//!
//! Units live in types: a [`Time`] is a point, [`Micros`] and [`Nanos`] are spans, [`Bytes`] a size, [`BitsPerSecond`] a rate.
//! [`TeamId`] names a team. [`Seed`] is chance that was handed in. No behaviour beyond their arithmetic.

#![warn(missing_docs)]

mod chance;
mod nanos;
mod rate;
mod team;
mod time;

pub use chance::Seed;
pub use nanos::Nanos;
pub use rate::{BitsPerSecond, Bytes};
pub use team::{ParseTeamIdError, TeamId};
pub use time::{Micros, ParseUnixSecondsError, Time, UnixSeconds};

/// The example of the README is tried as those of the documentation are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
