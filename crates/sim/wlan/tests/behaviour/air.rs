//! What several of these tests need.

pub(crate) mod saturated;
pub(crate) mod scene;
