//! Sealed links between homes of any teams.

mod table;

pub use table::{LinkEvent, Linked, Links, Up};
