//! The machine as its peers see it: bytes in, bytes out.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod browser;
mod hostile;
mod pages;
mod peers;
mod routes;
mod states;
mod terms;
