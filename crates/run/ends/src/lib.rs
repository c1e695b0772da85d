//! One end of a tunnel by itself: ESP with keys that both ends know beforehand, or WireGuard in this program.
//!
//! In: a settings file of one end ([`esp::settings`], or that of a stock WireGuard app), and a runtime. Out: an interface that
//! carries packets until the end is stopped, and the counts of its endpoint.
//!
//! Invariants: a sequence number is written down before it is used, so that none is used twice with the same keys; a file
//! with keys is never overwritten.

pub mod esp;
pub mod wireguard;
