//! The machine that hostapd asks, in virtual time: with homes that answer, or late, or not; with links that lose and
//! repeat; with stations that mean harm.

#![expect(clippy::unwrap_used, reason = "a stage that falls over has to say so")]

mod accounting;
mod answers;
mod hostile;
mod links;
mod stage;
mod tls;
