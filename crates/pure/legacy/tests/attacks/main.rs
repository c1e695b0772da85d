//! How BoAT's printed protection breaks, attack by attack, each beside the same attempt against BoAT's protection today.
//!
//! An attacker sees all datagrams, and can hold, drop, change, repeat and invent any. It has no key, unless a test says so.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod bias;
mod clock;
mod equality;
mod forgery;
mod header;
mod pair;
mod recording;
mod reflection;
mod replay;
mod shutdown;
mod wire;
