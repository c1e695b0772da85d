//! Where monitoring programs fetch metrics: a socket beside a program's state, and a port if the household wants one (design note
//! 0015).
//!
//! In: [`Settings`] of the doors, and a [`Source`], which a loop answers. Out: [`Doors`], open until they are closed, and
//! [`Metrics`], for a page that shows the same.
//!
//! Invariants: a loop is asked only while somebody waits for its answer, and at most once a second, however many ask. Nothing but
//! the metrics is behind these doors.

mod doors;
mod metrics;
mod process;

pub use doors::{Doors, DoorsError, MayEnter, Settings};
pub use guestright_metrics::text::Format;
pub use guestright_web::{BindError, Exposition, Refusal};
pub use metrics::{Metrics, Source};
pub use process::process;
