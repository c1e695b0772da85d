//! Conversations between a home and a phone, over ways that lose, repeat and reorder.

#![expect(clippy::unwrap_used, reason = "a test stops where something is not there")]

mod certificates;
mod crowd;
mod hostile;
mod phone;
mod refusals;
mod successes;
mod world;
