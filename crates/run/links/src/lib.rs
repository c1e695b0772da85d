//! Sealed links between homes of any teams.

mod links;

pub use links::{LinkEvent, Linked, Links, Up};
