//! Calls through one home and through two, and what people try who are not in them.
#![expect(clippy::unwrap_used, reason = "tests")]

mod hostile;
mod keys;
mod latching;
mod passing;
mod stage;
