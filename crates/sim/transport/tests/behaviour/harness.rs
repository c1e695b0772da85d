//! What several of these tests need.

pub(crate) mod between;
pub(crate) mod by_hand;
pub(crate) mod dumbbell;
pub(crate) mod offers;
pub(crate) mod two_events;
pub(crate) mod wire;
