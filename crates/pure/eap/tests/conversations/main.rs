//! Conversations between a home and a phone, over ways that lose, repeat and reorder.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test picks out what it is about, and stops where it is not there"
)]

mod certificates;
mod crowd;
mod hostile;
mod phone;
mod refusals;
mod successes;
mod world;
