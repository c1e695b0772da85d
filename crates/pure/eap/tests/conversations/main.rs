//! Conversations between a home and a phone, over ways that lose, repeat and reorder.

mod certificates;
mod crowd;
mod hostile;
mod phone;
mod refusals;
mod successes;
mod world;
